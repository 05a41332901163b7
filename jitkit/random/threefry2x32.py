"""key + counter -> 64 random bits: Threefry-2x32, the generator behind `random` unless a key says `rbg`.

A *counter-based* generator has no state. It is a keyed hash: element i of the result is the hash of the number i under
the key, so all elements can be computed at once, and a part of an array without the rest. The hash mixes two words of
32 bits by addition, rotation and exclusive or, for twenty rounds, and adds the key to them after every fourth (Salmon,
Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).

With the option `threefry_partitionable` off, random bits and new keys are those of JAX's older algorithm: numbers of 32
bits are hashed in pairs, one from each half of the range, so a bit depends on the size of the array, too.

On CPU, the rounds are a loop of five iterations of four rounds: a body that is compiled once. Elsewhere they are
unrolled, for a single kernel without a loop.

JAX: jax/_src/random/threefry2x32.py:threefry2x32_p
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..base import config, edits
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import defbroadcasting
from ..interpreters.mlir import LoweringContext, register_lowering
from ..jaxpr import Jaxpr
from ..lax.reducers import reducer_jaxpr, remembered
from ..lax.utils import broadcast_equal_ranks
from ..pjit.jit import jit
from .prng import PRNGImpl

UINT_DTYPES = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}

# --- threefry2x32: the hash ---------------------------------------------------------------------------------

threefry2x32_p = Primitive("threefry2x32", multiple_results=True)
defbroadcasting(threefry2x32_p)

_ROTATIONS = np.array([[13, 15, 26, 6], [17, 29, 16, 24]], np.uint32)  # found by the authors' search
_PARITY = np.uint32(0x1BD11BDA)  # prevents a key from making all three words of the schedule 0


@threefry2x32_p.def_abstract_eval
def _(*operands: ShapedArray) -> list[ShapedArray]:
    if any(x.dtype != np.uint32 for x in operands):
        raise TypeError(f"Arguments to threefry2x32 must have uint32 type, got {operands}")
    shapes = [x.shape for x in operands if x.shape]
    return [ShapedArray(broadcast_equal_ranks("threefry2x32", shapes or [()]), np.uint32)] * 2


@register_lowering(threefry2x32_p)
def _(ctx: LoweringContext, *operands: str) -> list[str]:
    """Lowering rule: write a call of a function that arrays of one shape share, since a program hashes often."""
    hash_function = _rolled if ctx.module.platform == "cpu" else _unrolled
    return ctx.call_jaxpr("threefry2x32", _hash_jaxpr(hash_function, tuple(ctx.avals_in)), operands)


def _hash_jaxpr(hash_function: Any, avals: tuple[Any, ...]) -> Jaxpr:
    return remembered(hash_function, avals, lambda: reducer_jaxpr(hash_function, avals, "lowering", hash_function))


def _schedule(key1: Any, key2: Any, x1: Any, x2: Any) -> tuple[tuple[Any, ...], tuple[Any, Any]]:
    """Return the three words of the key that are added in turn, and the counter after the first addition."""
    key3 = lax.bitwise_xor(lax.bitwise_xor(key1, key2), _PARITY)
    return (key1, key2, key3), (lax.add(x1, key1), lax.add(x2, key2))


def _rolled(key1: Any, key2: Any, x1: Any, x2: Any) -> list[Any]:
    keys, x = _schedule(key1, key2, x1, x2)

    def trip(i: Any, state: Any) -> Any:
        x, (key1, key2, key3), (rotations, next_rotations) = state
        x = _four_rounds(x, [rotations[j] for j in range(4)])
        x = _add_key(x, key1, key2, lax.convert_element_type(lax.add(i, 1), np.uint32))
        return x, (key2, key3, key1), (next_rotations, rotations)

    x, _, _ = lax.fori_loop(0, 5, trip, (x, (keys[1], keys[2], keys[0]), tuple(map(jnp.asarray, _ROTATIONS))))
    return list(x)


def _unrolled(key1: Any, key2: Any, x1: Any, x2: Any) -> list[Any]:
    keys, x = _schedule(key1, key2, x1, x2)
    for i in range(5):
        x = _four_rounds(x, _ROTATIONS[i % 2])
        x = _add_key(x, keys[(i + 1) % 3], keys[(i + 2) % 3], np.uint32(i + 1))
    return list(x)


def _four_rounds(x: tuple[Any, Any], rotations: Any) -> tuple[Any, Any]:
    a, b = x
    for by in rotations:
        a = lax.add(a, b)
        b = lax.bitwise_xor(a, _rotate_left(b, by))
    return a, b


def _add_key(x: tuple[Any, Any], key1: Any, key2: Any, trips: Any) -> tuple[Any, Any]:
    return lax.add(x[0], key1), lax.add(lax.add(x[1], key2), trips)


def _rotate_left(x: Any, by: Any) -> Any:
    return lax.bitwise_or(lax.shift_left(x, by), lax.shift_right_logical(x, lax.sub(np.uint32(32), by)))


@functools.partial(jit, inline=True)
def threefry_2x32(keypair: Any, count: Any) -> Any:
    """Return an array of uint32, hashed under a key of two uint32 words: each element of its first half together with
    the element at the same place in the second. An array of odd size is hashed with a 0 at its end. Raise TypeError for
    another dtype.
    """
    key1, key2 = keypair
    if any(dtypes.dtype(x) != np.uint32 for x in (key1, key2, count)):
        raise TypeError(
            f"threefry_2x32 requires uint32 arguments, got {[dtypes.dtype(x) for x in (key1, key2, count)]}"
        )
    flat = count.ravel()
    is_odd = flat.size % 2
    halves = jnp.split(jnp.concatenate([flat, np.zeros(1, np.uint32)]) if is_odd else flat, 2)
    words = jnp.concatenate(threefry2x32_p.bind(key1, key2, *halves))
    return lax.reshape(words[:-1] if is_odd else words, count.shape)


# --- counters -----------------------------------------------------------------------------------------------

iota_2x32_shape_p = Primitive("iota_2x32_shape", multiple_results=True)


@iota_2x32_shape_p.def_abstract_eval
def _(*, shape: tuple[int, ...]) -> list[ShapedArray]:
    return [ShapedArray(shape, np.uint32)] * 2


@register_lowering(iota_2x32_shape_p)
def _(ctx: LoweringContext, *, shape: tuple[int, ...]) -> list[str]:
    """Lowering rule: write 64-bit operations of StableHLO directly, since `lax` has no 64-bit integers without x64 mode."""
    wide = ShapedArray(shape, np.uint64)
    count = ""
    for axis in range(len(shape)):
        index = ctx.emit("stablehlo.iota", [], f"dim = {axis}", out=wide)
        stride = ctx.splat(math.prod(shape[axis + 1 :]), wide)
        index = ctx.emit("stablehlo.multiply", [stride, index], out=wide)
        count = ctx.emit("stablehlo.add", [count, index], out=wide) if count else index
    high = ctx.emit("stablehlo.shift_right_logical", [count, ctx.splat(32, wide)], out=wide)
    return [ctx.convert(x, wide, np.uint32) for x in (high, count)]


def iota_2x32_shape(shape: tuple[int, ...]) -> list[Any]:
    """Return the index of each element in an array of this shape, in row-major order: the upper and the lower 32 bits."""
    if not shape:
        return [jnp.zeros((), np.uint32)] * 2
    halves: list[Any] = iota_2x32_shape_p.bind(shape=shape)
    return halves


def _hash_of_places(keys: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return for each key the two words of the hash of each index in an array of this shape, as `(*keys, *shape)`.
    Raise ValueError for a negative size.
    """
    if min(shape, default=0) < 0:
        raise ValueError(f"negative dimensions are not allowed, got {shape}")
    return _hash_of_counters(keys, iota_2x32_shape(shape))


def _hash_of_counters(keys: Any, counters: list[Any]) -> tuple[Any, Any]:
    """Return for each key the two words of the hash of each counter, whose words are two arrays of one shape."""
    words, batch = _words(keys), keys.ndim - 1
    if batch:  # an array of keys: its axes first, then those of the counters
        words = [lax.expand_dims(word, range(batch, batch + counters[0].ndim)) for word in words]
        counters = [lax.expand_dims(counter, range(batch)) for counter in counters]
    high, low = threefry2x32_p.bind(*words, *counters)
    return high, low


def _words(keys: Any) -> list[Any]:
    """Return the first words of all keys, and their second words."""
    return [lax.index_in_dim(keys, i, keys.ndim - 1, keepdims=False) for i in range(2)]


# --- the older algorithm, with the option `threefry_partitionable` off -----------------------------------------


_MOST = 2**32 - 1  # numbers hashed under one key; if there are more, each part of the bits has its own key


def _is_partitionable() -> bool:
    return config.local.state.options.threefry_partitionable


def _hash_of_range(keys: Any, count: int) -> Any:
    """Return for each key `count` words, as `(*keys, count)`. `range(count)`, with a 0 at its end if `count` is odd, is
    cut into halves, and each number of the first half is hashed with its partner in the second. The first words of all
    hashes come before all second words.
    """
    numbers = lax.iota(np.uint32, count)
    if count % 2:
        numbers = lax.concatenate([numbers, lax.full((1,), 0, np.uint32)], 0)
    middle = numbers.size // 2
    words = _hash_of_counters(keys, [lax.slice(numbers, [0], [middle]), lax.slice(numbers, [middle], [2 * middle])])
    axis = keys.ndim - 1
    return lax.slice_in_dim(lax.concatenate(words, axis), 0, count, axis=axis)


def _split_by_range(keys: Any, shape: tuple[int, ...]) -> Any:
    """Return, for each key, an array of new keys of this shape, each of two successive words."""
    return lax.reshape(_hash_of_range(keys, 2 * math.prod(shape)), (*keys.shape[:-1], *shape, 2))


def _words_by_range(keys: Any, count: int) -> Any:
    """Return `count` words for each key: from one range, or if that is too long from several, each under a new key."""
    parts, rest = divmod(count, _MOST)
    if not parts:
        return _hash_of_range(keys, count)
    axis = keys.ndim - 1
    new = _split_by_range(keys, (parts + 1,))
    whole = _hash_of_range(lax.slice_in_dim(new, 0, parts, axis=axis), _MOST)
    last = _hash_of_range(lax.index_in_dim(new, parts, axis, keepdims=False), rest)
    return lax.concatenate([lax.reshape(whole, (*keys.shape[:-1], parts * _MOST)), last], axis)


def _bits_by_range(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Return random bits: words of 32 bits are cut into elements, the lowest bits first; an element of 64 bits is a word of
    the first half above one of the second half.
    """
    size, dtype, axis = math.prod(shape), UINT_DTYPES[bit_width], keys.ndim - 1
    bits = _words_by_range(keys, -(-bit_width * size // 32))
    if bit_width == 64:
        high, low = (
            lax.convert_element_type(lax.slice_in_dim(bits, start, start + size, axis=axis), dtype)
            for start in (0, size)
        )
        bits = lax.bitwise_or(lax.shift_left(high, dtype.type(32)), low)
    elif bit_width < 32:
        parts = 32 // bit_width
        shifts = lax.mul(np.uint32(bit_width), lax.iota(np.uint32, parts))
        cut = jnp.right_shift(lax.expand_dims(bits, [axis + 1]), shifts)
        cut = lax.reshape(cut, (*keys.shape[:-1], bits.shape[axis] * parts))
        bits = lax.convert_element_type(lax.slice_in_dim(cut, 0, size, axis=axis), dtype)
    return lax.reshape(bits, (*keys.shape[:-1], *shape))


# --- the implementation -------------------------------------------------------------------------------------


def threefry_seed(seeds: Any) -> Any:
    """Return the key of each seed: the upper 32 of its bits, which are 0 for a 32-bit seed, and the lower 32. Raise
    TypeError for anything but an integer.
    """
    if not dtypes.issubdtype(seeds.dtype, np.integer):
        raise TypeError(f"PRNG key seed must be an integer; got {seeds!r}{edits.SEED}")
    high = lax.shift_right_logical(seeds, seeds.dtype.type(32))
    with config.override(numpy_dtype_promotion="standard"):
        low = jnp.bitwise_and(seeds, np.uint32(0xFFFFFFFF))
    halves = [lax.convert_element_type(half, np.uint32) for half in (high, low)]
    return lax.concatenate([lax.expand_dims(half, [seeds.ndim]) for half in halves], seeds.ndim)


def threefry_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """Return, for each key, an array of new keys of this shape: the hashes of 0, 1, 2, ... under the key; with the
    option `threefry_partitionable` off, those of `_split_by_range`.
    """
    return _threefry_split(keys, tuple(map(int, shape)))


@functools.partial(jit, static_argnums=(1,))
def _threefry_split(key: Any, shape: tuple[int, ...]) -> Any:
    if not _is_partitionable():
        return _split_by_range(key, shape)
    high, low = _hash_of_places(key, shape)
    return jnp.stack([high, low], axis=high.ndim)


def threefry_fold_in(keys: Any, data: Any) -> Any:
    """Return a new key for each key and integer: the hash of the integer's bits under the key."""
    return _threefry_fold_in(keys, jnp.asarray(data, dtype=np.uint32))


@jit
def _threefry_fold_in(key: Any, data: Any) -> Any:
    high, low = threefry2x32_p.bind(*_words(key), *_words(threefry_seed(data)))
    return jnp.stack([high, low], axis=high.ndim)


def threefry_random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Return random bits: the hash of each element's index; for less than 64 bits, its two words combined by exclusive
    or. With the option `threefry_partitionable` off, return those of `_bits_by_range`. Raise TypeError for another
    width than 8, 16, 32 or 64.
    """
    if bit_width not in UINT_DTYPES:
        raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
    if not _is_partitionable():
        return _bits_by_range(keys, bit_width, shape)
    high, low = _hash_of_places(keys, shape)
    dtype = UINT_DTYPES[bit_width]
    if bit_width == 64:
        high, low = (lax.convert_element_type(half, dtype) for half in (high, low))
        return lax.bitwise_or(lax.shift_left(high, dtype.type(32)), low)
    bits = lax.bitwise_xor(high, low)
    return bits if bit_width == 32 else lax.convert_element_type(bits, dtype)


threefry_prng_impl = PRNGImpl(
    key_shape=(2,),
    seed=threefry_seed,
    split=threefry_split,
    random_bits=threefry_random_bits,
    fold_in=threefry_fold_in,
    name="threefry2x32",
    tag="fry",
)
