"""Calls return before their results are there, and data travel: when to wait, and for what."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import jitkit as jax

from .pair import CALLS, Counts, Pitfall

MATRIX = np.random.default_rng(0).standard_normal((600, 600), dtype=np.float32) / 25.0
VECTOR = np.linspace(0.0, 1.0, 4_000_000, dtype=np.float32)


# --- a stopwatch that does not wait ---------------------------------------------------------------------------


@jax.jit
def cubed(m: Any) -> Any:
    return m @ m @ m


def stopwatch_slow() -> Iterator[Any]:
    m = jax.device_put(MATRIX)
    cubed(m).block_until_ready()
    yield  # ready: the clock starts now
    for _ in range(CALLS):
        start = time.perf_counter()
        result = cubed(m)
        yield time.perf_counter() - start  # how long the dispatch took, without the computation
        result.block_until_ready()


def stopwatch_mended() -> Iterator[Any]:
    m = jax.device_put(MATRIX)
    cubed(m).block_until_ready()
    yield  # ready: the clock starts now
    for _ in range(CALLS):
        start = time.perf_counter()
        cubed(m).block_until_ready()
        yield time.perf_counter() - start  # how long it took


# --- a stopwatch that includes the compiler -------------------------------------------------------------------


@jax.jit
def squared_less(m: Any) -> Any:
    return m @ m - m


def first_call_slow() -> Iterator[Any]:
    for _ in range(CALLS):
        start = time.perf_counter()
        squared_less(MATRIX).block_until_ready()
        yield time.perf_counter() - start  # the first one: trace, lower, compile and run


def first_call_mended() -> Iterator[Any]:
    run = squared_less.lower(MATRIX).compile()
    yield  # ready: the clock starts now
    for _ in range(CALLS):
        start = time.perf_counter()
        run(MATRIX).block_until_ready()
        yield time.perf_counter() - start


# --- a donation missed ----------------------------------------------------------------------------------------


@jax.jit
def updated(x: Any) -> Any:
    return x + 1.0  # 16 MB in, another 16 MB out


def donation_slow() -> Iterator[Any]:
    x = updated(jax.device_put(VECTOR))
    yield  # ready, and compiled
    for _ in range(CALLS):
        x = updated(x)
        yield x


@partial(jax.jit, donate_argnums=0)
def updated_in_place(x: Any) -> Any:
    return x + 1.0  # the same 16 MB


def donation_mended() -> Iterator[Any]:
    x = updated_in_place(jax.device_put(VECTOR))
    yield
    for _ in range(CALLS):
        x = updated_in_place(x)
        yield x


# --- a donated array used again -----------------------------------------------------------------------------------


@partial(jax.jit, donate_argnums=0)
def decayed(x: Any) -> Any:
    return 0.9 * x


def reused_slow() -> Iterator[Any]:
    x: Any = jax.device_put(VECTOR[:1000])
    for _ in range(CALLS):
        y = decayed(x)
        yield np.asarray(y) - np.asarray(x)  # the memory of x is that of y now
        x = y


@partial(jax.jit, donate_argnums=0)
def decayed_with_change(x: Any) -> Any:
    y = 0.9 * x
    return y, y - x  # what needs the old value is computed before it is given away


def reused_mended() -> Iterator[Any]:
    x: Any = jax.device_put(VECTOR[:1000])
    for _ in range(CALLS):
        x, change = decayed_with_change(x)
        yield change


# --- element by element ---------------------------------------------------------------------------------------


@jax.jit
def squares(x: Any) -> Any:
    return x * x


def elements_slow() -> Iterator[Any]:
    x = np.arange(200, dtype=np.float32)
    float(squares(x)[0])
    yield  # ready, and compiled
    for _ in range(CALLS):
        y = squares(x)
        yield np.float32(sum(float(y[i]) for i in range(200)))  # each y[i] is an operation, and a wait


def elements_mended() -> Iterator[Any]:
    x = np.arange(200, dtype=np.float32)
    squares(x)
    yield
    for _ in range(CALLS):
        y = np.asarray(squares(x))  # one copy
        yield np.float32(sum(float(y[i]) for i in range(200)))


# --- printing every step --------------------------------------------------------------------------------------


@jax.jit
def rotated(m: Any) -> Any:
    return 1.0 - m


def reading_slow() -> Iterator[Any]:
    m, log = jax.device_put(MATRIX[:8, :8]), []
    float(rotated(m)[0, 0])
    yield  # ready, and compiled
    for _ in range(CALLS):
        for _ in range(20):
            m = rotated(m)
            log.append(f"{float(m[0, 0]):.3f}")  # printing needs the value: wait, then copy
        yield m


def reading_mended() -> Iterator[Any]:
    m, log = jax.device_put(MATRIX[:8, :8]), []
    float(rotated(m)[0, 0])
    yield
    for _ in range(CALLS):
        for _ in range(20):
            m = rotated(m)
        log.append(f"{float(m[0, 0]):.3f}")  # once in twenty steps
        yield m


PITFALLS = (
    Pitfall(
        "stopwatch",
        "timing without waiting for the result",
        stopwatch_slow,
        stopwatch_mended,
        Counts(1, 1),
        Counts(1, 1),
        "A call returns when the work has been handed over: the short time is wrong, the long one is right. "
        "Call `block_until_ready()` before the clock stops.",
        wrong_from=1,
    ),
    Pitfall(
        "first-call",
        "the first call, timed as if it were a run",
        first_call_slow,
        first_call_mended,
        Counts(1, 1),
        Counts(1, 1),
        "The first reading is wrong: that call traces and compiles. Compile ahead of time, `jit(f).lower(x).compile()`, or "
        "warm up; that takes as long, but is not taken for a run.",
        wrong_from=1,
    ),
    Pitfall(
        "donation",
        "a big array updated without donating it",
        donation_slow,
        donation_mended,
        Counts(1, 1),
        Counts(1, 1),
        "Old and new live side by side, and fresh memory is touched every time. With donate_argnums=0 the result takes "
        "the place of the argument.",
    ),
    Pitfall(
        "donated-reused",
        "an array used again after it was donated",
        reused_slow,
        reused_mended,
        Counts(0, 0),
        Counts(1, 1),
        "What is donated is gone. Compute in the same call what needs it, copy it before, or do not donate it.",
        raises=RuntimeError,
    ),
    Pitfall(
        "elements",
        "reading a result element by element",
        elements_slow,
        elements_mended,
        Counts(1, 3),
        Counts(1, 1),
        "Copy it once, with `np.asarray`, and read the copy.",
    ),
    Pitfall(
        "logging",
        "printing a value in every step",
        reading_slow,
        reading_mended,
        Counts(1, 3),
        Counts(1, 3),
        "Each print waits for the device, and nothing runs ahead. Print now and then, or after the loop.",
    ),
)
