"""Gumbel's distribution of the least of many numbers: its tail is on the left.

JAX: jax/_src/scipy/stats/gumbel_l.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import xlog1py, xlogy


def _standard(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any]:
    """Return whether the scale is positive, (x - loc) / scale, and the scale."""
    x, loc, scale = promoted(f"gumbel_l.{name}", x, loc, scale)
    is_defined = lax.gt(scale, constant(scale, 0))
    return is_defined, lax.div(lax.sub(x, loc), scale), scale


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density; nan unless `scale` is positive."""
    is_defined, z, scale = _standard("logpdf", x, loc, scale)
    per_scale = xlogy(-1, scale)
    return jnp.where(is_defined, lax.add(per_scale, lax.sub(z, lax.exp(z))), np.nan)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the cumulative distribution function."""
    is_defined, z, _ = _standard("logcdf", x, loc, scale)
    return jnp.where(is_defined, lax.log(-lax.expm1(lax.neg(lax.exp(z)))), np.nan)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    return lax.exp(logcdf(x, loc, scale))


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile: the value below which a fraction p lies; nan unless p is between 0 and 1."""
    p, loc, scale = promoted("gumbel_l.ppf", p, loc, scale)
    is_inside = lax.bitwise_and(lax.gt(p, constant(p, 0)), lax.lt(p, constant(p, 1)))
    distance = lax.mul(scale, lax.log(xlog1py(-1, lax.neg(p))))
    return jnp.where(is_inside, lax.add(loc, distance), np.nan)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    return jnp.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function."""
    is_defined, z, _ = _standard("logsf", x, loc, scale)
    return jnp.where(is_defined, lax.neg(lax.exp(z)), np.nan)
