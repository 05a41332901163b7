"""Loops: unrolled into long programs, or left in Python, with a call for each turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp
from jitkit import lax

from .pair import CALLS, Counts, Pitfall

X = np.linspace(0.1, 0.9, 40, dtype=np.float32)
TURNS = 200


def logistic(x: Any) -> Any:
    return 3.7 * x * (1.0 - x)


# --- a Python loop, unrolled ----------------------------------------------------------------------------------


@jax.jit
def iterated_in_python(x: Any) -> Any:
    for _ in range(TURNS):
        x = logistic(x)  # three more equations every turn
    return x


def unrolled_slow() -> Iterator[Any]:
    for _ in range(CALLS):
        yield iterated_in_python(X)


@jax.jit
def iterated(x: Any) -> Any:
    return lax.fori_loop(0, TURNS, lambda i, x: logistic(x), x)


def unrolled_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield iterated(X)


# --- a Python loop over a sequence ----------------------------------------------------------------------------


@jax.jit
def smoothed_in_python(xs: Any) -> Any:
    mean, means = jnp.zeros_like(xs[0]), []
    for x in xs:
        mean = 0.9 * mean + 0.1 * x
        means.append(mean)
    return jnp.stack(means)


def sequence_slow() -> Iterator[Any]:
    for _ in range(CALLS):
        yield smoothed_in_python(X)


@jax.jit
def smoothed(xs: Any) -> Any:
    def step(mean: Any, x: Any) -> Any:
        mean = 0.9 * mean + 0.1 * x
        return mean, mean

    return lax.scan(step, jnp.zeros_like(xs[0]), xs)[1]


def sequence_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield smoothed(X)


# --- a number of turns that changes ---------------------------------------------------------------------------


@partial(jax.jit, static_argnames="turns")
def iterated_statically(x: Any, turns: int) -> Any:
    for _ in range(turns):
        x = logistic(x)
    return x


def turns_slow() -> Iterator[Any]:
    for turns in range(CALLS):
        yield iterated_statically(X, turns=turns)


@jax.jit
def iterated_by_data(x: Any, turns: Any) -> Any:
    return lax.fori_loop(0, turns, lambda i, x: logistic(x), x)


def turns_mended() -> Iterator[Any]:
    for turns in range(CALLS):
        yield iterated_by_data(X, turns)


# --- tiny jits in a hot loop ----------------------------------------------------------------------------------


tiny = jax.jit(logistic)


def tiny_slow() -> Iterator[Any]:
    tiny(jax.device_put(X))
    yield  # ready, and compiled
    for _ in range(CALLS):
        x: Any = jax.device_put(X)
        for _ in range(TURNS):
            x = tiny(x)  # a call from Python every turn
        yield x


def tiny_mended() -> Iterator[Any]:
    iterated(jax.device_put(X))
    yield
    for _ in range(CALLS):
        yield iterated(jax.device_put(X))  # one call for all the turns


# --- no jit at all --------------------------------------------------------------------------------------------


def eager_slow() -> Iterator[Any]:
    logistic(jax.device_put(X))
    yield  # ready: each operation is compiled
    for _ in range(CALLS):
        x: Any = jax.device_put(X)
        for _ in range(TURNS):
            x = logistic(x)  # three operations, each a program of its own
        yield x


def eager_mended() -> Iterator[Any]:
    iterated(jax.device_put(X))
    yield
    for _ in range(CALLS):
        yield iterated(jax.device_put(X))


PITFALLS = (
    Pitfall(
        "unrolled",
        "a Python loop, unrolled",
        unrolled_slow,
        unrolled_mended,
        Counts(1, 1),
        Counts(1, 1),
        f"One compilation each, but of {3 * TURNS} equations or of a loop with 3 in it. Use `lax.fori_loop` "
        "where the turns are alike.",
    ),
    Pitfall(
        "unrolled-sequence",
        "a Python loop over the rows of an array",
        sequence_slow,
        sequence_mended,
        Counts(1, 1),
        Counts(1, 1),
        "Iterating over a traced array unrolls the loop. `lax.scan` takes rows in, gives rows out, and stays one loop.",
    ),
    Pitfall(
        "turns",
        "a Python loop whose number of turns changes",
        turns_slow,
        turns_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Each number of turns is another program. `lax.fori_loop` takes the number as data.",
    ),
    Pitfall(
        "tiny-jits",
        "a tiny jitted function in a hot loop",
        tiny_slow,
        tiny_mended,
        Counts(1, 1),
        Counts(1, 1),
        "Nothing recompiles, but each call costs microseconds of Python. Jit the loop, not its body.",
    ),
    Pitfall(
        "eager",
        "a hot loop without jit",
        eager_slow,
        eager_mended,
        Counts(0, 3),
        Counts(1, 1),
        "Each operation is a call, and writes its result to memory. Jit the loop.",
    ),
)
