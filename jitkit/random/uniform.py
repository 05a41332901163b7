"""Turns random bits into uniform numbers: floats between two bounds, integers, and bools.

JAX: jax/_src/random/core.py:_uniform
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..core import dtypes
from ..lax.utils import canonicalize_shape, refuse_sharding
from ..numpy.util import check_arraylike
from ..pjit.jit import jit
from . import prng
from .arguments import Shape, check_shape, constant_like, floating_dtype
from .keys import check_key, split_typed
from .threefry2x32 import UINT_DTYPES

# --- bits ---------------------------------------------------------------------------------------------------


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw random bits, as unsigned integers.

    Args:
      shape: of the result.
      dtype: uint8, uint16, uint32 (the default) or uint64 (the default in x64 mode).

    Raises:
      ValueError: for another dtype.
    """
    refuse_sharding("bits", out_sharding)
    key, _ = check_key("bits", key)
    dtype = dtypes.default_uint_dtype() if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype)
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}")
    return prng.random_bits(key, dtype.itemsize * 8, canonicalize_shape(shape))


# --- uniform ------------------------------------------------------------------------------------------------


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *, out_sharding: Any = None
) -> Any:
    """Draw uniformly between two bounds.

    Args:
      shape: of the result.
      dtype: a float dtype; by default float32, or float64 in x64 mode.
      minval: the lower bound, which may be drawn; it broadcasts to `shape`.
      maxval: the upper bound, which is drawn only if the result is rounded to it.

    Raises:
      ValueError: for another dtype.
    """
    refuse_sharding("uniform", out_sharding)
    key, _ = check_key("uniform", key)
    dtype = floating_dtype("uniform", dtype)
    return _uniform(key, minval, maxval, canonicalize_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _uniform(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: Any) -> Any:
    minval, maxval = lax.convert_element_type(minval, dtype), lax.convert_element_type(maxval, dtype)
    minval, maxval = lax.broadcast_to_rank(minval, len(shape)), lax.broadcast_to_rank(maxval, len(shape))
    floats = below_one(key, shape, dtype)
    scaled = lax.add(lax.mul(floats, lax.sub(maxval, minval)), minval)
    return lax.max(minval, lax.reshape(scaled, shape))  # by rounding, the sum may be less than `minval`


def below_one(keys: Any, shape: Shape, dtype: Any) -> Any:
    """Return numbers in [0, 1), of this shape for each key: random bits become the mantissa of a number in [1, 2),
    minus 1. Raise TypeError for a dtype of another size than 8, 16, 32 or 64 bits.
    """
    info = dtypes.finfo(dtype)
    if info.bits not in UINT_DTYPES:
        raise TypeError(f"uniform only accepts 8-, 16-, 32-, or 64-bit dtypesgot {dtype}.")
    width = 8 if info.nmant < 8 else info.bits
    random_bits = prng.random_bits(keys, width, shape)
    unsigned = UINT_DTYPES[info.bits]
    if width != info.bits:
        random_bits = lax.convert_element_type(random_bits, unsigned)
    mantissa = lax.shift_right_logical(random_bits, unsigned.type(width - info.nmant))
    one = np.array(1.0, dtype).view(unsigned)[()]
    return lax.sub(lax.bitcast_convert_type(lax.bitwise_or(mantissa, one), dtype), dtype.type(1.0))


# --- randint ------------------------------------------------------------------------------------------------


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw integers uniformly from `minval` to before `maxval`.

    If the range is not a power of 2, small numbers are preferred, as in JAX: for a dtype of 32 bits (or less) and a
    range up to 2**16, by less than one part in 2**32; for a larger range, by up to one part in 2**32 / range.

    Args:
      shape: of the result.
      minval, maxval: integers that broadcast to `shape`. If the range is empty, the result is `minval`.
      dtype: an integer dtype; by default int32, or int64 in x64 mode.

    Raises:
      TypeError: for another dtype.
      ValueError: if the bounds do not broadcast to `shape`.
    """
    refuse_sharding("randint", out_sharding)
    key, _ = check_key("randint", key)
    dtype = dtypes.check_and_canonicalize_user_dtype(int if dtype is None else dtype)
    shape = canonicalize_shape(shape)
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"randint only accepts integer dtypes, got {dtype}")
    info = dtypes.iinfo(dtype)
    if info.bits >= 32:
        return _randint(key, minval, maxval, shape, dtype).astype(dtype)
    minval, maxval = (jnp.asarray(bound).astype("int32") for bound in (minval, maxval))
    minval, maxval = minval.clip(int(info.min), int(info.max)), maxval.clip(int(info.min), int(info.max) + 1)
    return _randint(key, minval, maxval, shape, np.dtype("int32")).astype(dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _randint(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: Any) -> Any:
    check_shape("randint", shape, np.shape(minval), np.shape(maxval))
    check_arraylike("randint", minval, maxval)
    minval, maxval = _integer_bound(minval), _integer_bound(maxval)
    info = dtypes.iinfo(dtype)
    # randint(key, shape, 0, 2**32, "uint32"): the bound itself does not fit
    beyond = lax.gt(maxval, _clipped_integer(jnp.array(info.max, dtype), maxval.dtype))
    minval, maxval = _clipped_integer(minval, dtype), _clipped_integer(maxval, dtype)
    minval, maxval = lax.broadcast_to_rank(minval, len(shape)), lax.broadcast_to_rank(maxval, len(shape))

    high_key, low_key = split_typed(key)
    high = prng.random_bits(high_key, info.bits, shape)
    low = prng.random_bits(low_key, info.bits, shape)

    span = lax.convert_element_type(maxval - minval, UINT_DTYPES[info.bits])
    span = lax.select(maxval <= minval, lax.full_like(span, 1), span)
    # Add one, which gives 0 for the whole range of the dtype; a remainder by 0 is the number itself.
    span = lax.select(beyond & (maxval > minval), lax.add(span, constant_like(span, 1)), span)
    return lax.add(minval, lax.convert_element_type(_remainder(high, low, span, info.bits), dtype))


def _remainder(high: Any, low: Any, span: Any, bits: int) -> Any:
    """Return `(high * 2**bits + low) % span` for spans up to `2**(bits / 2)`, with numbers of at most `bits` bits. For
    larger spans the product overflows to 0, and the result is `low % span`, as in JAX.
    """
    half = lax.rem(constant_like(span, 2 ** (bits // 2)), span)
    multiplier = lax.rem(lax.mul(half, half), span)  # 2**bits % span, or 0 for a large span
    return lax.rem(lax.add(lax.mul(lax.rem(high, span), multiplier), lax.rem(low, span)), span)


def _integer_bound(bound: Any) -> Any:
    bound = jnp.asarray(bound)
    return bound if dtypes.issubdtype(bound.dtype, np.integer) else bound.astype(int)


def _clipped_integer(x: Any, dtype: Any) -> Any:
    """Return integers in another dtype, those that do not fit as the nearest one that does."""
    old, new = dtypes.iinfo(x.dtype), dtypes.iinfo(dtype)
    low, high = max(int(old.min), int(new.min)), min(int(old.max), int(new.max))
    return jnp.clip(x, constant_like(x, low), constant_like(x, high)).astype(dtype)


# --- bernoulli, rademacher ----------------------------------------------------------------------------------


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None) -> Any:
    """Draw bools that are True with probability `p`.

    Args:
      p: probabilities, a float array that broadcasts to `shape`.
      shape: of the result; by default the shape of `p`.
      mode: "high" draws two numbers for each element, which distinguishes probabilities below 1e-7 from 0.

    Raises:
      TypeError: for `p` that is not floating.
      ValueError: for another mode, or shapes that do not fit.
    """
    refuse_sharding("bernoulli", out_sharding)
    if shape is not None:
        shape = canonicalize_shape(shape)
    if mode not in ("high", "low"):
        raise ValueError(f"got {mode=}, expected 'high' or 'low'")
    key, _ = check_key("bernoulli", key)
    dtype = dtypes.dtype(p)
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    return _bernoulli(key, lax.convert_element_type(p, dtype), shape=shape, mode=mode)


@functools.partial(jit, static_argnames=("shape", "mode"))
def _bernoulli(key: Any, p: Any, shape: Shape | None, mode: str) -> Any:
    if shape is None:
        shape = np.shape(p)
    else:
        check_shape("bernoulli", shape, np.shape(p))
    if mode == "low":
        return uniform(key, shape, p.dtype) < p
    first, second = uniform(key, (2, *shape), p.dtype)
    return second * 2 ** -dtypes.finfo(p.dtype).nmant < p - first


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw -1 or 1, with equal probability, in any dtype; by default the default integer type."""
    refuse_sharding("rademacher", out_sharding)
    key, _ = check_key("rademacher", key)
    dtype = dtypes.check_and_canonicalize_user_dtype(int if dtype is None else dtype)
    return _rademacher(key, canonicalize_shape(shape), dtype, None)


@functools.partial(jit, static_argnums=(1, 2, 3))
def _rademacher(key: Any, shape: Shape, dtype: Any, out_sharding: None) -> Any:
    samples = bernoulli(key=key, p=0.5, shape=shape).astype(dtype)
    return (2 * samples - 1).astype(dtype)
