"""The normal distribution, restricted to the interval from `loc + a * scale` to `loc + b * scale`.

The probability of an interval is the difference of two tails, of those on the side where they are small, so that no
digits are lost.

JAX: jax/_src/scipy/stats/truncnorm.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...pjit.jit import jit
from ..arguments import promoted
from ..special import log_ndtr, logsumexp, ndtr
from . import norm


def _log_difference(x: Any, y: Any) -> Any:
    """Return log(exp(x) - exp(y))."""
    return logsumexp(jnp.array([x, y]), b=jnp.array([jnp.ones_like(x), -jnp.ones_like(y)]), axis=0)


def _log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the standard normal distribution's probability between a and b."""
    a, b = jnp.broadcast_arrays(jnp.array(a), jnp.array(b))
    is_left, is_right = b <= 0, a > 0
    is_central = ~(is_left | is_right)
    low, high = jnp.where(is_right, -b, a), jnp.where(is_right, -a, b)
    in_tail = _log_difference(log_ndtr(high), log_ndtr(low))
    in_center = jnp.log1p(-ndtr(a) - ndtr(-b))
    return jnp.where(is_central, in_center, in_tail)


@jit
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density; nan unless a is less than b."""
    x, a, b, loc, scale = promoted("truncnorm.logpdf", x, a, b, loc, scale)
    out = lax.sub(norm.logpdf(x, loc, scale), _log_mass(a, b))
    scaled = lax.div(lax.sub(x, loc), scale)
    out = jnp.where((scaled < a) | (scaled > b), -np.inf, out)
    return jnp.where(a >= b, np.nan, out)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, a, b, loc, scale))


@jit
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function."""
    x, a, b, loc, scale = promoted("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


@jit
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    return lax.exp(logsf(x, a, b, loc, scale))


@jit
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the cumulative distribution function."""
    x, a, b, loc, scale = promoted("truncnorm.logcdf", x, a, b, loc, scale)
    x, a, b = jnp.broadcast_arrays(x, a, b)
    x = lax.div(lax.sub(x, loc), scale)
    total = _log_mass(a, b)
    below = _log_mass(a, x) - total
    above = _log_mass(x, b) - total
    is_where = [x >= b, x <= a, below > -0.1, x > a]
    below = jnp.select(is_where, [0, -np.inf, jnp.log1p(-jnp.exp(above)), below])
    return jnp.where(a >= b, np.nan, below)


@jit
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    return lax.exp(logcdf(x, a, b, loc, scale))
