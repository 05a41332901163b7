"""The chi-squared distribution with `df` degrees of freedom, beginning at `loc`: twice a gamma variable of shape df /
2.

JAX: jax/_src/scipy/stats/chi2.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...base.jax_version import since
from ...numpy import where
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import gammainc, gammaincc, xlogy


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density; up to JAX 0.11, nan at `loc` for two degrees of freedom."""
    x, df, loc, scale = promoted("chi2.logpdf", x, df, loc, scale)
    one, two = constant(x, 1), constant(x, 2)
    y, half = lax.div(lax.sub(x, loc), scale), lax.div(df, two)
    power = lax.sub(half, one)
    log_power = xlogy(power, y) if since(0, 12) else lax.mul(power, lax.log(y))
    kernel = lax.sub(log_power, lax.div(y, two))
    normalizer = lax.neg(lax.add(lax.lgamma(half), lax.div(lax.mul(lax.log(two), df), two)))
    log_density = lax.add(lax.sub(normalizer, lax.log(scale)), kernel)
    return where(lax.lt(x, loc), -np.inf, log_density)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    return gammainc(*_of_gamma("chi2.cdf", x, df, loc, scale))


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `cdf`."""
    return lax.log(cdf(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    return gammaincc(*_of_gamma("chi2.sf", x, df, loc, scale))


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of `sf`."""
    return lax.log(sf(x, df, loc, scale))


def _of_gamma(name: str, *args: Any) -> tuple[Any, Any]:
    """Return the shape of the gamma distribution that equals this one, and x at location 0 and scale 1, at least 0."""
    x, df, loc, scale = promoted(name, *args)
    two = constant(scale, 2)
    shape = lax.div(df, two)
    y = lax.div(lax.sub(x, loc), lax.mul(scale, two))
    return shape, lax.clamp(constant(x, 0), y, constant(x, np.inf))
