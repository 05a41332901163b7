"""XLA's own random numbers: rng_bit_generator, whose state is an argument and a result, and rng_uniform, whose state is
hidden.

Most programs use `jitkit.random`; its keys of the implementation `rbg` use the first.

JAX: jax/_src/lax/lax.py:rng_bit_generator
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from .utils import canonicalize_shape, refuse_sharding


class RandomAlgorithm(enum.IntEnum):
    """The algorithms of `rng_bit_generator`; each platform chooses one for RNG_DEFAULT."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


_UNSIGNED = tuple(map(np.dtype, ("uint8", "uint16", "uint32", "uint64")))
_IN_STABLEHLO = {0: "DEFAULT", 1: "THREE_FRY", 2: "PHILOX"}

# --- rng_bit_generator: a key -> the next key, and bits ------------------------------------------------------------------

rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True)


@rng_bit_generator_p.def_abstract_eval
def _(key: ShapedArray, *, shape: tuple[int, ...], dtype: Any, **params: Any) -> list[ShapedArray]:
    if (key.shape, str(key.dtype)) not in (((4,), "uint32"), ((2,), "uint64")):
        raise TypeError(f"rng_bit_generator: a key is uint32[4] or uint64[2], got {key.str_short()}")
    return [ShapedArray(key.shape, key.dtype), ShapedArray(shape, dtype)]


@register_lowering(rng_bit_generator_p)
def _(ctx: LoweringContext, key: str, *, dtype: Any, algorithm: int, **params: Any) -> list[str]:
    """Lowering rule. XLA wants a key of two 64-bit words, and draws at least 32 bits for a number: narrower ones are
    their lowest bits.
    """
    key_aval, bits = ctx.avals_out
    halves, words = ShapedArray((2, 2), np.uint32), ShapedArray((2,), np.uint64)
    is_halved = key_aval.dtype == np.uint32
    drawn = bits if np.dtype(dtype).itemsize >= 4 else bits.update(dtype=np.dtype(np.uint32))
    if is_halved:
        key = ctx.emit_op(f"stablehlo.reshape {key}", [key_aval], halves)
        key = ctx.emit_op(f"stablehlo.bitcast_convert {key}", [halves], words)
    pair = ctx.emit_text(
        f"stablehlo.rng_bit_generator {key}, algorithm = {_IN_STABLEHLO[algorithm]} : "
        f"({type_of(words)}) -> ({type_of(words)}, {type_of(drawn)})",
        results=2,
    )
    after = f"{pair}#0"
    if is_halved:
        after = ctx.emit_op(f"stablehlo.bitcast_convert {after}", [words], halves)
        after = ctx.emit_op(f"stablehlo.reshape {after}", [halves], key_aval)
    return [after, ctx.convert(f"{pair}#1", drawn, dtype)]


@register_batcher(rng_bit_generator_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, shape: tuple[int, ...], **params: Any) -> Any:
    """Batching rule: draw the bits of the whole batch from one stream, of the first key."""
    keys = moveaxis(vals[0], dims[0] or 0, 0)
    key, bits = rng_bit_generator_p.bind(keys[0], shape=(axis.size, *shape), **params)
    return [keys.at[0].set(key), bits], [0, 0]


def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: None = None,
) -> tuple[Any, Any]:
    """Return the next key, and random bits of a shape.

    Args:
      key: uint32[4] or uint64[2]; raise TypeError for another.
      dtype: an unsigned type of 8 to 64 bits; raise TypeError for another.
      algorithm: computes bits from the key. With RNG_DEFAULT each platform chooses one, so the bits differ between platforms.
    """
    shape = canonicalize_shape(shape)
    dtype = np.dtype(dtypes.check_and_canonicalize_user_dtype(dtype, "rng_bit_generator"))
    refuse_sharding("rng_bit_generator", out_sharding)
    if dtype not in _UNSIGNED:
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtype}")
    key, bits = rng_bit_generator_p.bind(key, shape=shape, dtype=dtype, algorithm=algorithm, out_sharding=None)
    return key, bits


# --- rng_uniform: other numbers at each call -----------------------------------------------------------------------------

rng_uniform_p = Primitive("rng_uniform")


@rng_uniform_p.def_abstract_eval
def _(a: ShapedArray, b: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(f"Arguments to rng_uniform must have identical dtypes, got {a.dtype} and {b.dtype}.")
    if a.shape or b.shape:
        raise ValueError(f"Arguments to rng_uniform must be scalars; got shapes {a.shape} and {b.shape}.")
    return ShapedArray(shape, a.dtype, weak_type=a.weak_type and b.weak_type)


@register_lowering(rng_uniform_p)
def _(ctx: LoweringContext, a: str, b: str, *, shape: tuple[int, ...]) -> str:
    (out,) = ctx.avals_out
    sizes = ctx.constant(np.array(shape, np.int64))
    avals = [*ctx.avals_in, ShapedArray((len(shape),), np.int64)]
    return ctx.emit_op(f"stablehlo.rng {a}, {b}, {sizes}, distribution = UNIFORM", avals, out)


def rng_uniform(a: Any, b: Any, shape: Any) -> Any:
    """Return random numbers between the scalars `a` and `b`; XLA keeps the state, so each call gives others. Raise
    ValueError for different dtypes, and for arrays with axes.
    """
    return rng_uniform_p.bind(a, b, shape=tuple(shape))
