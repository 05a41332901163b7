"""The Cauchy distribution around `loc`, which has no mean.

JAX: jax/_src/scipy/stats/cauchy.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import arctan
from ...numpy.ufuncs import constant
from ..arguments import promoted


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, loc, scale = promoted("cauchy.logpdf", x, loc, scale)
    scaled = lax.div(lax.sub(x, loc), scale)
    normalizer = lax.log(lax.mul(constant(x, np.pi), scale))
    return lax.neg(lax.add(normalizer, lax.log1p(lax.mul(scaled, scaled))))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, loc, scale = promoted("cauchy.cdf", x, loc, scale)
    scaled = lax.div(lax.sub(x, loc), scale)
    return lax.add(constant(x, 0.5), lax.mul(lax.div(constant(x, 1.0), constant(x, np.pi)), arctan(scaled)))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `cdf`."""
    return lax.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    x, loc, scale = promoted("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `sf`."""
    x, loc, scale = promoted("cauchy.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile: the point with probability q below it, for q between 0 and 1, which is not checked."""
    q, loc, scale = promoted("cauchy.ppf", q, loc, scale)
    unscaled = lax.tan(lax.sub(lax.mul(constant(q, np.pi), q), constant(q, np.pi / 2)))
    return lax.add(lax.mul(unscaled, scale), loc)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the point with probability q above it."""
    q, loc, scale = promoted("cauchy.isf", q, loc, scale)
    unscaled = lax.tan(lax.sub(constant(q, np.pi / 2), lax.mul(constant(q, np.pi), q)))
    return lax.add(lax.mul(unscaled, scale), loc)
