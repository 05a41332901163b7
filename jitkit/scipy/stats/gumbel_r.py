"""Gumbel's distribution of the greatest of many numbers: its tail is on the right.

JAX: jax/_src/scipy/stats/gumbel_r.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...nn.functions import log1mexp
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import xlogy


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density; nan unless `scale` is positive."""
    x, loc, scale = promoted("gumbel_r.logpdf", x, loc, scale)
    is_defined = lax.gt(scale, constant(scale, 0))
    z = lax.div(lax.sub(x, loc), scale)
    per_scale = xlogy(-1, scale)
    return jnp.where(is_defined, lax.add(per_scale, lax.neg(lax.add(z, lax.exp(lax.neg(z))))), np.nan)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the cumulative distribution function."""
    x, loc, scale = promoted("gumbel_r.logcdf", x, loc, scale)
    is_defined = lax.gt(scale, constant(scale, 0))
    z = lax.div(lax.sub(x, loc), scale)
    return jnp.where(is_defined, lax.neg(lax.exp(lax.neg(z))), np.nan)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    return lax.exp(logcdf(x, loc, scale))


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile: the value below which a fraction p lies; nan unless p is between 0 and 1."""
    p, loc, scale = promoted("gumbel_r.ppf", p, loc, scale)
    is_inside = lax.bitwise_and(lax.gt(p, constant(p, 0)), lax.lt(p, constant(p, 1)))
    distance = lax.mul(scale, lax.log(xlogy(-1, p)))
    return jnp.where(is_inside, lax.sub(loc, distance), np.nan)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    is_defined, below, one = _below("sf", x, loc, scale)
    return jnp.where(is_defined, lax.sub(one, lax.exp(lax.neg(lax.exp(below)))), np.nan)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function."""
    is_defined, below, _ = _below("logsf", x, loc, scale)
    return jnp.where(is_defined, log1mexp(lax.exp(below)), np.nan)


def _below(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any]:
    """Return whether the scale is positive, (loc - x) / scale, and 1 in the dtype of x."""
    x, loc, scale = promoted(f"gumbel_r.{name}", x, loc, scale)
    return lax.gt(scale, constant(scale, 0)), lax.div(lax.sub(loc, x), scale), constant(x, 1)
