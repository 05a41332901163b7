"""What a traced function reads besides its arguments is read once; what it does besides returning is done once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import jitkit as jax

from .pair import CALLS, Counts, Pitfall

X = np.ones(4, np.float32)
settings = {"rate": 1.0}


# --- a global, captured ---------------------------------------------------------------------------------------


@jax.jit
def scaled_by_global(x: Any) -> Any:
    return x * settings["rate"]  # read while tracing, and never again


def global_slow() -> Iterator[Any]:
    for i in range(CALLS):
        settings["rate"] = 1.0 + i
        yield scaled_by_global(X)


@jax.jit
def scaled(x: Any, rate: Any) -> Any:
    return x * rate


def global_mended() -> Iterator[Any]:
    for i in range(CALLS):
        settings["rate"] = 1.0 + i
        yield scaled(X, settings["rate"])


# --- an effect that happens once ------------------------------------------------------------------------------


def counting_slow() -> Iterator[Any]:
    calls = [0]

    @jax.jit
    def double(x: Any) -> Any:
        calls[0] += 1  # happens while tracing
        return 2.0 * x

    for _ in range(CALLS):
        yield double(X), np.int32(calls[0])


def counting_mended() -> Iterator[Any]:
    @jax.jit
    def double(x: Any, calls: Any) -> Any:
        return 2.0 * x, calls + 1  # state goes in, and comes out

    calls = jax.device_put(np.int32(0))
    for _ in range(CALLS):
        y, calls = double(X, calls)
        yield y, calls


# --- a print that shows no values -----------------------------------------------------------------------------


def printing_slow() -> Iterator[Any]:
    lines = []

    @jax.jit
    def double(x: Any) -> Any:
        lines.append(f"x = {x}")  # as print(x) would: a tracer, once
        return 2.0 * x

    for _ in range(CALLS):
        y = double(X)
        yield y, np.int32(len(lines))


def printing_mended() -> Iterator[Any]:
    lines = []
    double = jax.jit(lambda x: 2.0 * x)
    for _ in range(CALLS):
        y = double(X)
        lines.append(f"y = {y}")  # outside of the jitted function there are values
        yield y, np.int32(len(lines))


PITFALLS = (
    Pitfall(
        "global",
        "a global that changes after the first call",
        global_slow,
        global_mended,
        Counts(1, 1),
        Counts(1, 1),
        "Fast and wrong: the program has the value of the first call in it. What changes is an argument.",
        is_wrong=True,
    ),
    Pitfall(
        "side-effect",
        "a counter in a traced function",
        counting_slow,
        counting_mended,
        Counts(1, 1),
        Counts(1, 1),
        "The function runs once, on tracers; later calls run the program. State goes in as an argument and comes out as a result.",
        is_wrong=True,
    ),
    Pitfall(
        "printing",
        "a print in a traced function",
        printing_slow,
        printing_mended,
        Counts(1, 1),
        Counts(1, 1),
        "It prints once, while tracing, and a tracer. Print what the function returns.",
        is_wrong=True,
    ),
)
