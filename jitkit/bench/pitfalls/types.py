"""A program is compiled for the types of its arguments. If a dtype or a weak type changes between calls, jit compiles once for each type
that occurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp

from .pair import CALLS, Counts, Pitfall

# --- a Python scalar now, an array then -----------------------------------------------------------------------


@jax.jit
def halved(x: Any) -> Any:
    return x * 0.5


def weak_slow() -> Iterator[Any]:
    for i in range(CALLS):
        x = float(i) if i % 4 == 0 else jnp.float32(i)  # a Python float is weakly typed, an Array is not
        yield halved(x)


def weak_mended() -> Iterator[Any]:
    for i in range(CALLS):
        yield halved(jnp.float32(i))


# --- weak types that stick ------------------------------------------------------------------------------------


@jax.jit
def decayed(x: Any, by: Any) -> Any:
    return x - by


def carried_slow() -> Iterator[Any]:
    loss: Any = 0.0  # a Python float: weak; the result is an Array: strong
    step = jax.device_put(np.float32(0.5))
    for _ in range(CALLS):
        loss = decayed(loss, step)
        yield loss


def carried_mended() -> Iterator[Any]:
    step = jax.device_put(np.float32(0.5))
    loss = jnp.zeros_like(step)  # strong from the beginning
    for _ in range(CALLS):
        loss = decayed(loss, step)
        yield loss


# --- 1 and 1.0 ------------------------------------------------------------------------------------------------


@jax.jit
def tripled(x: Any) -> Any:
    return x * 3.0


def numbers_slow() -> Iterator[Any]:
    for i in range(CALLS):
        yield tripled(i if i % 2 else i + 0.5)  # an int, a float


def numbers_mended() -> Iterator[Any]:
    for i in range(CALLS):
        yield tripled(float(i) if i % 2 else i + 0.5)


# --- what numpy makes of a list -------------------------------------------------------------------------------


@jax.jit
def shifted(x: Any) -> Any:
    return x + 0.5


def dtypes_slow() -> Iterator[Any]:
    for i in range(CALLS):
        row = [i, 1, 2] if i % 3 else [i, 0.5, 2]
        yield shifted(np.array(row))  # of ints or of floats, as it happens


def dtypes_mended() -> Iterator[Any]:
    for i in range(CALLS):
        row = [i, 1, 2] if i % 3 else [i, 0.5, 2]
        yield shifted(np.array(row, dtype=np.float32))


PITFALLS = (
    Pitfall(
        "weak-types",
        "a Python scalar in one call, an Array in the next",
        weak_slow,
        weak_mended,
        Counts(2, 2),
        Counts(1, 1),
        "Python scalars are weakly typed, so that `x * 2.0` keeps the dtype of x. Convert at the door: jnp.float32(1.0).",
    ),
    Pitfall(
        "carried",
        "a carry that begins as a Python number",
        carried_slow,
        carried_mended,
        Counts(2, 2),
        Counts(1, 1),
        "The first call is weakly typed, the second gets the first one's strong result: two programs for one loop.",
    ),
    Pitfall(
        "int-or-float",
        "1 in one call, 1.0 in the next",
        numbers_slow,
        numbers_mended,
        Counts(2, 2),
        Counts(1, 1),
        "Python's ints and floats are different types. Write 1.0 where a float is meant.",
    ),
    Pitfall(
        "dtype-flips",
        "numpy chooses the dtype by the values",
        dtypes_slow,
        dtypes_mended,
        Counts(2, 2),
        Counts(1, 1),
        "Give the dtype where the array is made.",
    ),
)
