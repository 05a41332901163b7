"""The gamma distribution of shape `a`, which begins at `loc`.

JAX: jax/_src/scipy/stats/gamma.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import where
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import gammainc, gammaincc, gammaln, xlogy


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, a, loc, scale = promoted("gamma.logpdf", x, a, loc, scale)
    is_inside, one = lax.ge(x, loc), constant(x, 1)
    y = where(is_inside, lax.div(lax.sub(x, loc), scale), one)
    log_power = lax.sub(xlogy(lax.sub(a, one), y), y)
    log_normalizer = lax.add(gammaln(a), lax.log(scale))
    return where(is_inside, lax.sub(log_power, log_normalizer), -np.inf)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, a, loc, scale = promoted("gamma.cdf", x, a, loc, scale)
    y = lax.div(lax.sub(x, loc), scale)
    return gammainc(a, lax.clamp(constant(x, 0), y, constant(x, np.inf)))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `cdf`."""
    return lax.log(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    x, a, loc, scale = promoted("gamma.sf", x, a, loc, scale)
    y = lax.div(lax.sub(x, loc), scale)
    return where(lax.lt(y, constant(y, 0)), 1, gammaincc(a, y))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `sf`."""
    return lax.log(sf(x, a, loc, scale))
