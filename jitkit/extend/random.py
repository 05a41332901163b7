"""Implementations of random keys: ours, the hash of one, and the definition of new ones, under the names of
`jax.extend.random`

JAX: jax/_src/random/threefry2x32.py:threefry_2x32
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..base import missing_names
from ..random.prng import PRNGImpl, random_seed
from ..random.rbg import rbg_prng_impl, unsafe_rbg_prng_impl
from ..random.threefry2x32 import threefry2x32_p, threefry_2x32, threefry_prng_impl

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[[Any], Any],
    split: Callable[[Any, tuple[int, ...]], Any],
    random_bits: Callable[[Any, int, tuple[int, ...]], Any],
    fold_in: Callable[[Any, Any], Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> PRNGImpl:
    """Return an implementation for `jax.random.key(seed, impl=...)`, made of these parts; see `PRNGImpl`."""
    return PRNGImpl(key_shape, seed, split, random_bits, fold_in, name, tag)


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """Return a key of an implementation for a seed, or an array of keys for an array of seeds."""
    return random_seed(seed, impl=impl)


missing_names.explain("extend.random", sys.modules[__name__])
