"""Options and places are part of the signature, too: if they change between calls, jit compiles once for each that occurs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp

from .pair import CALLS, Counts, Pitfall

X = np.linspace(1.0, 2.5, 4)  # float64, as numpy makes them


# --- x64, flipped -------------------------------------------------------------------------------------------------


@jax.jit
def mean(x: Any) -> Any:
    return jnp.sum(x) / x.shape[0]


def x64_slow() -> Iterator[Any]:
    for i in range(CALLS):
        with jax.enable_x64(i % 2 == 1):  # float32 in one call, float64 in the next
            result = mean(X)
        yield result


def x64_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        with jax.enable_x64(True):  # or once, where the program begins
            result = mean(X)
        yield result


# --- committed to a device, or not --------------------------------------------------------------------------------


@jax.jit
def doubled(x: Any) -> Any:
    return 2.0 * x


def committed_slow() -> Iterator[Any]:
    device = jax.devices()[0]
    for i in range(CALLS):
        x = jax.device_put(X, device) if i % 2 else jax.device_put(X)  # to this device; to any
        yield doubled(x)


def committed_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield doubled(jax.device_put(X))


PITFALLS = (
    Pitfall(
        "x64",
        "64-bit types, switched on and off",
        x64_slow,
        x64_mended,
        Counts(2, 2),
        Counts(1, 1),
        "The option decides the types of a program, so each setting has its own. Set it once, before anything else.",
    ),
    Pitfall(
        "committed",
        "the same array, committed to a device or not",
        committed_slow,
        committed_mended,
        Counts(1, 2),
        Counts(1, 1),
        "device_put with a device commits an array: the program must run there, and is compiled for that. Do it always, or "
        "never.",
    ),
)
