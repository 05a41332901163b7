"""The exponential distribution: it begins at `loc`, and its mean is `loc + scale`.

JAX: jax/_src/scipy/stats/expon.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import isnan, where, zeros_like
from ..arguments import promoted


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, loc, scale = promoted("expon.logpdf", x, loc, scale)
    log_scale = lax.log(scale)
    log_density = lax.neg(lax.add(lax.div(lax.sub(x, loc), scale), log_scale))
    return where(lax.lt(x, loc), -np.inf, log_density)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, loc, scale = promoted("expon.cdf", x, loc, scale)
    exponent = lax.div(lax.sub(loc, x), scale)
    return where(lax.lt(x, loc), zeros_like(exponent), lax.neg(lax.expm1(exponent)))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `sf`."""
    x, loc, scale = promoted("expon.sf", x, loc, scale)
    exponent = lax.div(lax.sub(loc, x), scale)
    return where(lax.lt(x, loc), zeros_like(exponent), exponent)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    return lax.exp(logsf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `cdf`."""
    return lax.log1p(lax.neg(sf(x, loc, scale)))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile: the point with probability q below it; nan for q outside [0, 1]."""
    q, loc, scale = promoted("expon.ppf", q, loc, scale)
    is_no_part = isnan(q) | (q < 0) | (q > 1)
    return where(is_no_part, np.nan, lax.sub(loc, lax.mul(scale, lax.log1p(lax.neg(q)))))
