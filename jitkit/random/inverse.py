"""Turns uniform numbers into numbers of another distribution, by the inverse of its distribution function.

If u is uniform between 0 and 1, and F is a distribution function, then F^-1(u) has that distribution. If F^-1 is
infinite at 0, u starts at the smallest number that avoids this.

JAX: jax/_src/random/core.py:exponential
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..base.jax_version import since
from ..core import dtypes
from ..lax.utils import canonicalize_shape, refuse_sharding
from ..numpy.promotion import promote_dtypes_inexact
from ..numpy.util import check_arraylike
from ..pjit.jit import jit
from ..pjit.jit_call import Inline
from . import prng
from .arguments import Shape, check_safe_to_cast, constant_like, floating_dtype, shape_of_result
from .keys import check_key
from .uniform import _uniform, uniform

# --- without parameters: one row each -----------------------------------------------------------------------


def _sampler(
    name: str, inverse: Callable[[Any], Any], doc: str, minval: Callable[[Any], Any] = lambda info: 0.0
) -> Callable[..., Any]:
    """Return the function `name(key, shape, dtype)`, which applies `inverse` to numbers from `minval(finfo)` to 1.
    `doc` names the distribution, in the middle of a sentence.
    """

    def sample(key: Any, shape: Shape, dtype: Any) -> Any:
        return inverse(uniform(key, shape, dtype, minval=minval(dtypes.finfo(dtype)), maxval=1.0))

    sample.__name__ = sample.__qualname__ = f"_{name}"
    jitted = jit(sample, static_argnums=(1, 2))

    def sampler(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
        refuse_sharding(name, out_sharding)
        key, _ = check_key(name, key)
        chosen = floating_dtype(name, dtype)
        return jitted(key, canonicalize_shape(shape), chosen)

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = (
        f"Draw from {doc}\n\n`dtype` is a float dtype, by default the default one. Raise ValueError for another."
    )
    return sampler


exponential = _sampler(
    "exponential",
    lambda u: lax.neg(lax.log1p(lax.neg(u))),
    "the exponential distribution of mean 1: how long until something happens that may happen at any time.",
)
logistic = _sampler(
    "logistic",
    lambda u: lax.sub(lax.log(u), lax.log1p(lax.neg(u))),
    "the logistic distribution: below x lies 1 / (1 + exp(-x)) of it.",
    lambda info: info.tiny,
)
laplace = _sampler(
    "laplace",
    lambda u: lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u)))),
    "Laplace's distribution: the exponential one, and its mirror image.",
    lambda info: -1.0 + info.epsneg,
)
cauchy = _sampler(
    "cauchy",
    lambda u: lax.tan(lax.mul(constant_like(u, np.pi), lax.sub(u, constant_like(u, 0.5)))),
    "Cauchy's distribution, which has no mean: where a ray of random direction meets a wall.",
    lambda info: info.eps,
)

# --- gumbel -------------------------------------------------------------------------------------------------


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None, *, out_sharding: Any = None) -> Any:
    """Draw from Gumbel's distribution. `argmax(logits + gumbel)` draws a category with the probabilities
    `softmax(logits)`.

    Args:
      shape: of the result.
      dtype: a float dtype; by default float32, or float64 in x64 mode.
      mode: "low" (the default); "high" for twice as many random bits, which give rare large numbers; "highest" for a
        float32 computed from 64 bits in fixed point (for other dtypes it is "high").

    Raises:
      ValueError: for another dtype or mode.
    """
    refuse_sharding("gumbel", out_sharding)
    key, _ = check_key("gumbel", key)
    dtype = floating_dtype("gumbel", dtype)
    shape = canonicalize_shape(shape)
    mode = "low" if mode is None else mode
    if mode not in ("highest", "high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return _gumbel(key, shape, dtype, mode)


@functools.partial(jit, static_argnums=(1, 2, 3))
def _gumbel(key: Any, shape: Shape, dtype: Any, mode: str) -> Any:
    info = dtypes.finfo(dtype)
    if mode == "low":
        u = _uniform(key, minval=info.tiny, maxval=1.0, shape=shape, dtype=dtype)
        return -jnp.log(-jnp.log(u))
    if mode == "highest" and dtype == np.float32:
        return _gumbel_of_64_bits(key, shape)
    high, low = _uniform(key, minval=0.0, maxval=1.0, shape=(2, *shape), dtype=dtype)
    least = max(2 ** -(2 * info.nmant + 1), info.tiny) if since(0, 11) else info.tiny
    x = jnp.where(high >= 0.5, high, high + 2**-info.nmant * low + least)
    return -jnp.log(-jnp.log1p(-x))


def _gumbel_of_64_bits(key: Any, shape: Shape) -> Any:
    """Return Gumbel numbers from a 64-bit fixed-point u: by log1p(-u) below one half, else by log(1 - u), where 1 - u is exact."""
    bits = prng.random_bits(key, 32, (2, *shape))
    flipped = lax.bitwise_not(bits)
    low = flipped[1]
    carry = jnp.array([low == np.array((1 << 32) - 1, np.uint32), jnp.ones_like(low)], dtype=np.uint32)
    flipped = flipped + carry
    is_small = bits[0] < np.array(1 << 31, np.uint32)
    x = _float_of_fixed_point(jnp.where(is_small, bits, flipped))
    return jnp.where(is_small, -jnp.log(-jnp.log1p(-x)), -jnp.log(-jnp.log(x)))


def _float_of_fixed_point(bits: Any) -> Any:
    """Return two 32-bit words, the digits after a binary point, as a float32, rounded down."""
    info = dtypes.finfo(np.float32)
    high_zeros, low_zeros = lax.clz(bits)
    high, low = bits
    first_bits = lax.shift_left(high, high_zeros)
    next_bits = jnp.where(
        high_zeros == 32, lax.shift_left(low, low_zeros), lax.shift_right_logical(low, info.bits - high_zeros)
    )
    mantissa = lax.bitwise_or(first_bits, next_bits)
    mantissa = lax.shift_right_logical(mantissa, np.array(info.bits - info.nmant - 1, np.uint32))
    mantissa = lax.bitwise_and(mantissa, np.array((1 << info.nmant) - 1, np.uint32))
    zeros = jnp.where(high_zeros == 32, 32 + low_zeros, high_zeros)
    exponent = lax.shift_left(-info.minexp - zeros, np.array(info.nmant, np.uint32))
    every_bit = (1 << (info.bits - 2)) - (1 << (info.nmant - 1))
    exponent = lax.bitwise_and(exponent, np.array(every_bit, np.uint32))
    return lax.bitwise_or(exponent, mantissa).view(np.float32)


# --- with parameters ----------------------------------------------------------------------------------------


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from Pareto's distribution: a number is above x with probability x**-b, for x >= 1. `shape`, `dtype` and
    errors are as for `gamma`.
    """
    refuse_sharding("pareto", out_sharding)
    key, _ = check_key("pareto", key)
    dtype = floating_dtype("pareto", dtype)
    shape = shape_of_result("pareto", shape, b)
    check_safe_to_cast("pareto", dtype, b)
    return _pareto(key, b, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _pareto(key: Any, b: Any, shape: Shape, dtype: Any) -> Any:
    b = lax.convert_element_type(b, dtype)
    return lax.exp(exponential(key, shape, dtype) / b)


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from Rayleigh's distribution: `scale` times the length of a vector of two standard normal numbers. `shape`,
    `dtype` and errors are as for `gamma`.
    """
    refuse_sharding("rayleigh", out_sharding)
    key, _ = check_key("rayleigh", key)
    dtype = floating_dtype("rayleigh", dtype)
    shape = shape_of_result("rayleigh", shape, scale)
    check_safe_to_cast("rayleigh", dtype, scale)
    return _rayleigh(key, scale, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _rayleigh(key: Any, scale: Any, shape: Shape, dtype: Any) -> Any:
    u = uniform(key, shape, dtype)
    scale = jnp.broadcast_to(scale.astype(dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), constant_like(scale, -2))))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw from Weibull's distribution: a number is above x with probability exp(-(x / scale)**concentration)."""
    key, _ = check_key("weibull_min", key)
    dtype = floating_dtype("weibull_min", dtype)
    return _weibull_min(key, scale, concentration, canonicalize_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _weibull_min(key: Any, scale: Any, concentration: Any, shape: Shape, dtype: Any) -> Any:
    u = uniform(key=key, shape=shape, minval=0, maxval=1, dtype=dtype)
    return jnp.power(-jnp.log1p(-u), 1.0 / concentration) * scale


def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw numbers between `left` and `right` whose density is a triangle with its top at `mode`. `shape`, `dtype` and
    errors are as for `gamma`.
    """
    refuse_sharding("triangular", out_sharding)
    key, _ = check_key("triangular", key)
    dtype = floating_dtype("triangular", dtype)
    shape = shape_of_result("triangular", shape, left, mode, right)
    check_safe_to_cast("triangular", dtype, left, mode, right)
    return _triangular(key, left, mode, right, shape, dtype)


@functools.partial(jit, static_argnums=(4, 5), inline=Inline.JAX_EARLY)
def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape, dtype: Any) -> Any:
    left = jnp.broadcast_to(lax.convert_element_type(left, dtype), shape)
    right = jnp.broadcast_to(lax.convert_element_type(right, dtype), shape)
    mode = jnp.broadcast_to(lax.convert_element_type(mode, dtype), shape)
    below_mode = (mode - left) / (right - left)
    u = uniform(key, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return lax.select(u < below_mode, rising, falling)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw how many tries it takes until the first success, each with probability `p`: 1, 2, ... Raise ValueError
    unless `dtype` is an integer type, by default the default one.
    """
    refuse_sharding("geometric", out_sharding)
    key, _ = check_key("geometric", key)
    dtype = dtypes.check_and_canonicalize_user_dtype(int if dtype is None else dtype)
    if not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(f"dtype argument to `geometric` must be an int dtype, got {dtype}")
    check_arraylike("geometric", p)
    return _geometric(key, p, shape_of_result("geometric", shape, p), dtype, None)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _geometric(key: Any, p: Any, shape: Shape, dtype: Any, out_sharding: None) -> Any:
    [p] = promote_dtypes_inexact(p)
    u = uniform(key, shape, p.dtype)
    log_u = lax.log(jnp.where(u == 0, 1, u))
    log_failure = jnp.broadcast_to(lax.log1p(-p), shape)
    return (lax.floor(lax.div(log_u, log_failure)) + 1).astype(dtype)
