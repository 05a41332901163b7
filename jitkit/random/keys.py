"""Makes random keys from seeds, and new keys from keys: the functions for users.

JAX: jax/_src/random/core.py:split
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core
from .. import numpy as jnp
from ..base import config, edits, errors
from . import prng
from .prng import KeyTy, PRNGImpl, is_key_array
from .rbg import rbg_prng_impl, unsafe_rbg_prng_impl
from .threefry2x32 import threefry_prng_impl

# JAX's implementations by name; None for those that jitkit lacks.
_IMPLEMENTATIONS: dict[str, PRNGImpl | None] = {
    "philox2x32": None,
    "philox4x32": None,
    "threefry2x32": threefry_prng_impl,
    "rbg": rbg_prng_impl,
    "unsafe_rbg": unsafe_rbg_prng_impl,
    "threefry4x32": None,
}


# --- which implementation -----------------------------------------------------------------------------------


def default_prng_impl() -> PRNGImpl:
    """Return the implementation of keys if a call names none, by the option `default_prng_impl`."""
    return _resolve_impl(config.local.state.options.default_prng_impl)


def _resolve_impl(spec: Any) -> PRNGImpl:
    if spec is None:
        return default_prng_impl()
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, KeyTy):
        return spec._impl
    if not isinstance(spec, str):
        raise TypeError(f"unrecognized type {type(spec)} for specifying PRNG implementation.")
    if spec not in _IMPLEMENTATIONS:
        listed = ", ".join(f'"{name}"' for name in _IMPLEMENTATIONS)
        raise ValueError(f'unrecognized PRNG implementation "{spec}". Did you mean one of: {listed}?')
    impl = _IMPLEMENTATIONS[spec]
    if impl is None:
        raise NotImplementedError(
            f'jitkit has no PRNG implementation "{spec}", only "threefry2x32", which is JAX\'s default, "rbg" and "unsafe_rbg".'
        )
    return impl


def key_dtype(impl_spec: Any = None) -> KeyTy:
    """Return the dtype of an implementation's keys, such as `key<fry>`; for None, the default one's. Errors are as for `key`."""
    return KeyTy(_resolve_impl(impl_spec))


def _one_of(function: str, impl: Any, dtype: Any) -> Any:
    if impl is not None and dtype is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to jax.random.{function}")
    return impl if dtype is None else dtype


# --- keys of the two styles ---------------------------------------------------------------------------------


def check_key(function: str, key: Any, allow_batched: bool = False) -> tuple[Any, bool]:
    """Return the argument `key` of a function as a typed key, and whether it was given as bare uint32.

    Raises:
      TypeError: for anything but a key.
      ValueError: for an array of keys, unless `allow_batched`.
    """
    is_bare = not is_key_array(key)
    if is_bare and not (core.is_array_type(type(key)) or np.isscalar(key)):
        raise TypeError(f"unexpected PRNG key type {type(key)}{errors.about_value_of_jax(key) or edits.KEY_FIRST}")
    typed = prng.random_wrap(key, default_prng_impl()) if is_bare else key
    if typed.ndim and not allow_batched:
        raise ValueError(
            f"{function} accepts a single key, but was given a key array of shape {np.shape(key)} != (). "
            "Use jax.vmap for batching."
        )
    return typed, is_bare


def _in_style(key: Any, is_bare: bool) -> Any:
    return prng.random_unwrap(key) if is_bare else key


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Return a random key for a seed: an array without axes, of dtype `key<fry>`, `key<rbg>` or `key<urbg>`.

    Args:
      seed: an integer of at most 64 bits, of which only the lowest 32 are used unless x64 mode is on.
      impl, dtype: the implementation, by name ("threefry2x32", "rbg", "unsafe_rbg") or by the dtype of its keys; one of
        the two.

    Raises:
      TypeError: for a seed that is not an integer scalar.
      OverflowError: for a seed of more bits.
      ValueError: for None as the seed, an unknown implementation, or both `impl` and `dtype`.
      NotImplementedError: for one of JAX's implementations that jitkit lacks.
    """
    return _seeded("key", seed, _one_of("key", impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """Return a random key of the older style: a `uint32` array of shape (2,), or (4,) with `rbg` and `unsafe_rbg`.
    Prefer `key`, which also describes `seed`, `impl` and errors.
    """
    return _in_style(_seeded("PRNGKey", seed, impl), True)


def _seeded(constructor: str, seed: Any, spec: Any) -> Any:
    impl = _resolve_impl(spec)
    if seed is None:
        raise ValueError(f"None is not a valid value for jnp.array{edits.SEED}")
    if is_key_array(seed):
        raise TypeError(f"{constructor} accepts a scalar seed, but was given a PRNG key.")
    if np.ndim(seed):
        raise TypeError(
            f"{constructor} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != (). "
            "Use jax.vmap for batching"
        )
    return prng.random_seed(seed, impl)


# --- from keys to keys --------------------------------------------------------------------------------------


def split_typed(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Return new keys, as `split` does, from a typed key: for the functions of this package."""
    sizes = num if isinstance(num, Sequence) else [num]
    try:
        return prng.random_split(key, tuple(map(operator.index, sizes)))
    except TypeError as error:
        if isinstance(num, float):
            error.args = (f"{error}{edits.HOW_MANY_KEYS}",)
        raise


def split(key: Any, num: int | tuple[int, ...] = 2) -> Any:
    """Return new keys, independent of each other and of `key`, which must not be used again.

    Args:
      key: a key, of either style.
      num: their number, or the shape of their array.

    Returns:
      Keys along new leading axes, in the style of `key`: `key1, key2 = split(key)`.

    Raises:
      TypeError: for anything but a key.
      ValueError: for an array of keys.
    """
    typed, is_bare = check_key("split", key)
    return _in_style(split_typed(typed, num), is_bare)


def fold_in(key: Any, data: Any) -> Any:
    """Return a new key from a key and an integer: `fold_in(key, step)` gives each step of a loop its own.

    Args:
      key: a key, of either style.
      data: an integer that fits into uint32, or an array of another integer type, of which the lowest 32 bits are used.

    Raises:
      OverflowError: for a Python integer that does not fit.
      TypeError: if `key` is not a key, or `data` is not a scalar.
      ValueError: for an array of keys.
    """
    typed, is_bare = check_key("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array ofshape {np.shape(data)} != (). "
            "Use jax.vmap for batching."
        )
    return _in_style(prng.random_fold_in(typed, jnp.asarray(data, dtype=np.uint32)), is_bare)


def clone(key: Any) -> Any:
    """Return the same key, to say that it is used twice on purpose."""
    return prng.random_clone_p.bind(key)


# --- what keys are made of ----------------------------------------------------------------------------------


def key_data(keys: Any) -> Any:
    """Return the bits of keys: a `uint32` array with one more axis, of size 2, or 4 with `rbg` and `unsafe_rbg`."""
    typed, _ = check_key("key_data", keys, allow_batched=True)
    return prng.random_unwrap(typed)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Return keys from a `uint32` array whose last axis has size 2, or 4 with `rbg` and `unsafe_rbg`: the inverse of `key_data`.
    `impl` and `dtype` are as for `key`.

    Raises:
      TypeError: for another dtype or shape.
      ValueError, NotImplementedError: as for `key`.
    """
    return prng.random_wrap(key_bits_array, _resolve_impl(_one_of("wrap_key_data", impl, dtype)))


def key_impl(keys: Any) -> str:
    """Return the name of the implementation of keys, such as "threefry2x32"."""
    typed, _ = check_key("key_impl", keys, allow_batched=True)
    name: str = typed.dtype._impl.name
    return name
