"""The beta distribution of shapes `a` and `b`, between `loc` and `loc + scale`.

JAX: jax/_src/scipy/stats/beta.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import logical_or, where
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import betainc, betaln, xlog1py, xlogy


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density; nan for shapes and scales that are not positive."""
    x, a, b, loc, scale = promoted("beta.logpdf", x, a, b, loc, scale)
    one, zero = constant(x, 1), constant(a, 0)
    normalizer = lax.neg(betaln(a, b))
    y = lax.div(lax.sub(x, loc), scale)
    log_powers = lax.add(xlogy(lax.sub(a, one), y), xlog1py(lax.sub(b, one), lax.neg(y)))
    log_density = lax.sub(lax.add(normalizer, log_powers), lax.log(scale))
    is_outside = logical_or(lax.gt(x, lax.add(loc, scale)), lax.lt(x, loc))
    result = where(is_outside, -np.inf, log_density)
    is_wrong = logical_or(logical_or(lax.le(a, zero), lax.le(b, zero)), lax.le(scale, zero))
    return where(is_wrong, np.nan, result)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, a, b, loc, scale = promoted("beta.cdf", x, a, b, loc, scale)
    return betainc(a, b, _from_0_to_1(x, loc, scale))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `cdf`."""
    return lax.log(cdf(x, a, b, loc, scale))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    x, a, b, loc, scale = promoted("beta.sf", x, a, b, loc, scale)
    return betainc(b, a, 1 - _from_0_to_1(x, loc, scale))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `sf`."""
    return lax.log(sf(x, a, b, loc, scale))


def _from_0_to_1(x: Any, loc: Any, scale: Any) -> Any:
    return lax.clamp(constant(x, 0), lax.div(lax.sub(x, loc), scale), constant(x, 1))
