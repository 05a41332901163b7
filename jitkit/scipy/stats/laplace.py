"""The Laplace distribution: exponential on both sides of `loc`.

JAX: jax/_src/scipy/stats/laplace.py:logpdf
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ...base.jax_version import since
from ...numpy.ufuncs import constant
from ..arguments import promoted


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, loc, scale = promoted("laplace.logpdf", x, loc, scale)
    two = constant(x, 2)
    distance = lax.div(lax.abs(lax.sub(x, loc)), scale)
    return lax.neg(lax.add(distance, lax.log(lax.mul(two, scale))))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, loc, scale = promoted("laplace.cdf", x, loc, scale)
    half, one, zero = constant(x, 0.5), constant(x, 1), constant(x, 0)
    distance = lax.div(lax.sub(x, loc), scale)
    if since(0, 12):
        tail = lax.mul(half, lax.exp(lax.neg(lax.abs(distance))))
        return lax.select(distance < 0, tail, lax.sub(one, tail))
    below = lax.le(distance, zero)
    left = lax.mul(half, lax.exp(distance))
    return lax.select(below, left, lax.sub(one, lax.mul(half, lax.exp(lax.neg(distance)))))
