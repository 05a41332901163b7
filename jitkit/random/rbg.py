"""key of four words -> bits, by XLA's own generator: `rbg` and `unsafe_rbg`, faster than Threefry on accelerators.

XLA has an operation for random bits, `lax.rng_bit_generator`, whose algorithm each platform chooses (Philox on CPU). So
the same key gives other bits on another platform. The bits of a batch of keys are one stream, that of the first key, as
in JAX.

New keys are made by Threefry, from each half of a key by itself (`rbg`), or by the operation (`unsafe_rbg`: nobody has
shown that such keys are independent).

JAX: jax/_src/random/rbg.py:rbg_prng_impl
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from .prng import PRNGImpl
from .threefry2x32 import UINT_DTYPES, threefry_fold_in, threefry_seed, threefry_split

_HASHES = 10  # rows of bits for each key of `unsafe_rbg`; one of them is the key


def _stream(keys: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return bits of shape `(*batch, *shape)` for keys of shape `(*batch, 4)`, from the stream of the first key."""
    batch = keys.shape[:-1]
    first = keys[(0,) * len(batch)]
    params = {
        "shape": (*batch, *shape),
        "dtype": np.dtype(dtype),
        "algorithm": lax.RandomAlgorithm.RNG_DEFAULT,
        "out_sharding": None,
    }
    return lax.rng_bit_generator_p.bind(first, **params)[1]


# --- the two implementations --------------------------------------------------------------------------------------------


def _rbg_seed(seeds: Any) -> Any:
    """Return the key of a seed: its two words from Threefry, twice."""
    half = threefry_seed(seeds)
    return lax.concatenate([half, half], half.ndim - 1)


def _rbg_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """Return new keys: each half of a key is split by Threefry."""
    batch = keys.shape[:-1]
    halves = threefry_split(lax.reshape(keys, (*batch, 2, 2)), shape)
    return jnp.moveaxis(halves, len(batch), -2).reshape(*batch, *shape, 4)


def _rbg_fold_in(keys: Any, data: Any) -> Any:
    """Return new keys: the data are folded into each half of a key by Threefry."""
    batch = jnp.broadcast_shapes(keys.shape[:-1], data.shape)
    halves = jnp.broadcast_to(lax.reshape(keys, (*keys.shape[:-1], 2, 2)), (*batch, 2, 2))
    data = jnp.broadcast_to(lax.expand_dims(data, [data.ndim]), (*batch, 2))
    return lax.reshape(threefry_fold_in(halves, data), (*batch, 4))


def _rbg_random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Return the bits of XLA's generator. Raise TypeError for another width than 8, 16, 32 or 64."""
    if bit_width not in UINT_DTYPES:
        raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
    return _stream(keys, shape, UINT_DTYPES[bit_width])


def _unsafe_rbg_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """Return new keys: of the rows of four words in the keys' stream, the first of every ten."""
    batch = keys.shape[:-1]
    rows = _stream(keys, (_HASHES * math.prod(shape), 4), np.uint32)
    return lax.slice_in_dim(rows, 0, None, _HASHES, len(batch)).reshape(*batch, *shape, 4)


def _unsafe_rbg_fold_in(keys: Any, data: Any) -> Any:
    """Return new keys: `keys`, combined by exclusive or with the tenth row of four words in the stream of the seed `data`."""
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
