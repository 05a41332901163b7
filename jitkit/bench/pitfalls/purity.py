"""What a traced function reads besides its arguments is read once; what it does besides returning is done once."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import jitkit as jax
from jitkit.errors import UnexpectedTracerError

from .pair import CALLS, Counts, Pitfall

X = np.linspace(1.0, 2.5, 4, dtype=np.float32)
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
    printed = io.StringIO()

    @jax.jit
    def double(x: Any) -> Any:
        print("x =", x)  # while tracing: once, and a tracer
        return 2.0 * x

    for i in range(CALLS):
        with contextlib.redirect_stdout(printed):
            y = double(X + i)
        yield y, np.int32(printed.getvalue().count("x ="))


def printing_mended() -> Iterator[Any]:
    printed = io.StringIO()

    @jax.jit
    def double(x: Any) -> Any:
        jax.debug.print("x = {}", x)  # a part of the program: prints at every call, the values
        return 2.0 * x

    for i in range(CALLS):
        with contextlib.redirect_stdout(printed):
            y = double(X + i)
            jax.effects_barrier()  # it is printed when the program runs
        yield y, np.int32(printed.getvalue().count("x ="))


# --- an array of numpy, captured and then changed -----------------------------------------------------------------


def table_slow() -> Iterator[Any]:
    table = np.zeros(4, np.float32)

    @jax.jit
    def looked_up(x: Any) -> Any:
        return x + table  # copied into the program while tracing

    for i in range(CALLS):
        table[0] = 10.0 * i
        yield looked_up(X)


@jax.jit
def added_to(x: Any, table: Any) -> Any:
    return x + table


def table_mended() -> Iterator[Any]:
    table = np.zeros(4, np.float32)
    for i in range(CALLS):
        table[0] = 10.0 * i
        yield added_to(X, table)


# --- an attribute that changes under a static self ----------------------------------------------------------------


class Layer:
    def __init__(self) -> None:
        self.scale = 1.0

    @partial(jax.jit, static_argnums=0)
    def apply(self, x: Any) -> Any:
        return self.scale * x  # self is the same object still, so the cache is hit


def attribute_slow() -> Iterator[Any]:
    layer = Layer()
    for i in range(CALLS):
        layer.scale = 1.0 + i
        yield layer.apply(X)


def attribute_mended() -> Iterator[Any]:
    layer = Layer()
    for i in range(CALLS):
        layer.scale = 1.0 + i
        yield scaled(X, layer.scale)


# --- a tracer that outlives its trace -----------------------------------------------------------------------------


def leaked_slow() -> Iterator[Any]:
    kept = []

    @jax.jit
    def double(x: Any) -> Any:
        y = 2.0 * x
        kept.append(y)  # a tracer: it stands for a value, and has none
        return y

    for _ in range(CALLS):
        double(X)
        yield kept[-1] + 1.0


def leaked_mended() -> Iterator[Any]:
    kept = []
    double = jax.jit(lambda x: 2.0 * x)
    for _ in range(CALLS):
        kept.append(double(X))  # what is returned has a value
        yield kept[-1] + 1.0


PITFALLS = (
    Pitfall(
        "global",
        "a global that changes after the first call",
        global_slow,
        global_mended,
        Counts(1, 1),
        Counts(1, 1),
        "Fast and wrong: the program contains the value of the first call. Pass what changes as an argument.",
        wrong_from=2,
    ),
    Pitfall(
        "side-effect",
        "a counter in a traced function",
        counting_slow,
        counting_mended,
        Counts(1, 1),
        Counts(1, 1),
        "The function runs once, on tracers; later calls run the program. State goes in as an argument and comes out as a result.",
        wrong_from=2,
    ),
    Pitfall(
        "printing",
        "a print in a traced function",
        printing_slow,
        printing_mended,
        Counts(1, 1),
        Counts(1, 1),
        "It prints once, while tracing, and a tracer. `jax.debug.print` is part of the program: it prints at every call, and the "
        "values.",
        wrong_from=2,
    ),
    Pitfall(
        "stale-array",
        "a numpy array captured, and changed later",
        table_slow,
        table_mended,
        Counts(1, 1),
        Counts(1, 1),
        "Fast and wrong: the program contains a copy of the array as it was. Pass an array that changes as an argument.",
        wrong_from=2,
    ),
    Pitfall(
        "mutated-self",
        "an attribute changed under a static self",
        attribute_slow,
        attribute_mended,
        Counts(1, 1),
        Counts(1, 1),
        "Fast and wrong: the cache finds a static object by hash and equality, and neither has changed. Pass what "
        "changes as an argument, or make the object frozen.",
        wrong_from=2,
    ),
    Pitfall(
        "leaked-tracer",
        "a tracer kept, and used after the trace",
        leaked_slow,
        leaked_mended,
        Counts(0, 0),
        Counts(1, 2),
        "Inside of a jitted function there are no values yet: return what you need outside.",
        raises=UnexpectedTracerError,
    ),
)
