"""key of four words -> bits, by XLA's own generator: `rbg` and `unsafe_rbg`, faster than Threefry on accelerators.

XLA has an operation for random bits, `rng_bit_generator`, whose algorithm each platform chooses (Philox on CPU). So the same key
gives other bits on another platform. The bits of a batch of keys are one stream, that of the first key, as in JAX.

Keys are made by Threefry, of the two halves of a key apart (`rbg`), or by the operation itself (`unsafe_rbg`: nobody has shown that
such keys are independent).

JAX: jax/_src/random/rbg.py:rbg_prng_impl
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..core import Primitive, ShapedArray
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from .prng import PRNGImpl
from .threefry2x32 import UINT_DTYPES, threefry_fold_in, threefry_seed, threefry_split

_HASHES = 10  # rows of bits for each key of `unsafe_rbg`, of which one is the key

# --- rng_bit_generator: XLA's generator ---------------------------------------------------------------------------------

rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True)


@rng_bit_generator_p.def_abstract_eval
def _(key: ShapedArray, *, shape: tuple[int, ...], dtype: Any, **params: Any) -> list[ShapedArray]:
    return [ShapedArray(key.shape, key.dtype), ShapedArray(shape, dtype)]


@register_lowering(rng_bit_generator_p)
def _(ctx: LoweringContext, key: str, *, dtype: Any, **params: Any) -> list[str]:
    """XLA wants a key of two 64-bit words, and has no bits of less than 32: these are the lowest of 32."""
    key_aval, bits = ctx.avals_out
    halves, words = ShapedArray((2, 2), np.uint32), ShapedArray((2,), np.uint64)
    drawn = bits if np.dtype(dtype).itemsize >= 4 else bits.update(dtype=np.dtype(np.uint32))
    key = ctx.emit_op(f"stablehlo.reshape {key}", [key_aval], halves)
    key = ctx.emit_op(f"stablehlo.bitcast_convert {key}", [halves], words)
    pair = ctx.emit_text(
        f"stablehlo.rng_bit_generator {key}, algorithm = DEFAULT : ({type_of(words)}) -> ({type_of(words)}, {type_of(drawn)})",
        results=2,
    )
    after = ctx.emit_op(f"stablehlo.bitcast_convert {pair}#0", [words], halves)
    return [ctx.emit_op(f"stablehlo.reshape {after}", [halves], key_aval), ctx.convert(f"{pair}#1", drawn, dtype)]


@register_batcher(rng_bit_generator_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, shape: tuple[int, ...], **params: Any) -> Any:
    """One stream for all of a batch."""
    keys = moveaxis(vals[0], dims[0] or 0, 0)
    key, bits = rng_bit_generator_p.bind(keys[0], shape=(axis.size, *shape), **params)
    return [keys.at[0].set(key), bits], [0, 0]


def _stream(keys: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Bits `(*keys, *shape)` for keys `(*keys, 4)`."""
    batch = keys.shape[:-1]
    first = keys[(0,) * len(batch)]
    params = {"shape": (*batch, *shape), "dtype": np.dtype(dtype), "algorithm": 0, "out_sharding": None}
    return rng_bit_generator_p.bind(first, **params)[1]


# --- the two implementations --------------------------------------------------------------------------------------------


def _rbg_seed(seeds: Any) -> Any:
    """The key that Threefry makes of a seed, twice."""
    half = threefry_seed(seeds)
    return lax.concatenate([half, half], half.ndim - 1)


def _rbg_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """New keys of the two halves of each key."""
    batch = keys.shape[:-1]
    halves = threefry_split(lax.reshape(keys, (*batch, 2, 2)), shape)
    return jnp.moveaxis(halves, len(batch), -2).reshape(*batch, *shape, 4)


def _rbg_fold_in(keys: Any, data: Any) -> Any:
    """A new key of the two halves of each key."""
    batch = jnp.broadcast_shapes(keys.shape[:-1], data.shape)
    halves = jnp.broadcast_to(lax.reshape(keys, (*keys.shape[:-1], 2, 2)), (*batch, 2, 2))
    data = jnp.broadcast_to(lax.expand_dims(data, [data.ndim]), (*batch, 2))
    return lax.reshape(threefry_fold_in(halves, data), (*batch, 4))


def _rbg_random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """The bits of XLA's generator.

    Raises:
      TypeError: for another width than 8, 16, 32 or 64.
    """
    if bit_width not in UINT_DTYPES:
        raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
    return _stream(keys, shape, UINT_DTYPES[bit_width])


def _unsafe_rbg_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """New keys: each tenth row of four words of the stream."""
    batch = keys.shape[:-1]
    rows = _stream(keys, (_HASHES * math.prod(shape), 4), np.uint32)
    return lax.slice_in_dim(rows, 0, None, _HASHES, len(batch)).reshape(*batch, *shape, 4)


def _unsafe_rbg_fold_in(keys: Any, data: Any) -> Any:
    """A new key: its words and those of the stream of a seed, the tenth row, by exclusive or."""
    rows = _stream(_rbg_seed(data), (_HASHES, 4), np.uint32)
    return jnp.bitwise_xor(keys, rows[..., -1, :])


rbg_prng_impl = PRNGImpl(
    key_shape=(4,),
    seed=_rbg_seed,
    split=_rbg_split,
    random_bits=_rbg_random_bits,
    fold_in=_rbg_fold_in,
    name="rbg",
    tag="rbg",
)
unsafe_rbg_prng_impl = rbg_prng_impl._replace(
    split=_unsafe_rbg_split, fold_in=_unsafe_rbg_fold_in, name="unsafe_rbg", tag="urbg"
)
