"""A program is compiled for the shapes of its arguments: if they keep changing, jit compiles again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp

from .pair import CALLS, Counts, Pitfall

LENGTHS = [17, 3, 29, 8, 22, 12, 31, 5]  # the lengths of requests
assert len(LENGTHS) == CALLS, "one length a call"
VALUES = np.linspace(-1.0, 2.0, 32, dtype=np.float32)
ROWS = np.arange(236, 0, -1, dtype=np.float32).reshape(7 * 8 + 3, 4)


# --- a new length every time ----------------------------------------------------------------------------------


@jax.jit
def mean(x: Any) -> Any:
    return jnp.sum(x) / x.shape[0]


def lengths_slow() -> Iterator[Any]:
    for n in LENGTHS:
        yield mean(VALUES[:n])


@jax.jit
def mean_of_first(x: Any, n: Any) -> Any:
    return jnp.sum(jnp.where(jnp.arange(x.shape[0]) < n, x, 0.0)) / n


def lengths_mended() -> Iterator[Any]:
    for n in LENGTHS:
        size = 16 if n <= 16 else 32  # two buckets, so two programs
        padded = np.zeros(size, np.float32)
        padded[:n] = VALUES[:n]
        yield mean_of_first(padded, n)


# --- the last batch is smaller --------------------------------------------------------------------------------


@jax.jit
def largest(x: Any) -> Any:
    return jnp.max(x)


def batches_slow() -> Iterator[Any]:
    for start in range(0, len(ROWS), 8):
        yield largest(ROWS[start : start + 8])  # the last one has 3 rows


@jax.jit
def largest_of_first(x: Any, n: Any) -> Any:
    is_used = jnp.arange(x.shape[0])[:, None] < n
    return jnp.max(jnp.where(is_used, x, -jnp.inf))  # the padding must not win


def batches_mended() -> Iterator[Any]:
    for start in range(0, len(ROWS), 8):
        batch = ROWS[start : start + 8]
        padded = np.zeros((8, 4), np.float32)
        padded[: len(batch)] = batch
        yield largest_of_first(padded, len(batch))


# --- an array that grows --------------------------------------------------------------------------------------


@jax.jit
def appended(history: Any, x: Any) -> Any:
    return jnp.concatenate([history, x[None]])


def growing_slow() -> Iterator[Any]:
    history = jax.device_put(np.zeros(1, np.float32))
    for i in range(CALLS):
        history = appended(history, np.float32(i))
        yield history


@jax.jit
def written(history: Any, i: Any, x: Any) -> Any:
    return history.at[i].set(x)


def growing_mended() -> Iterator[Any]:
    history = jax.device_put(np.zeros(CALLS + 1, np.float32))
    for i in range(CALLS):
        history = written(history, np.int32(i + 1), np.float32(i))
        yield np.asarray(history)[: i + 2]  # as far as it is written


# --- indices that depend on values ----------------------------------------------------------------------------


@jax.jit
def total(x: Any) -> Any:
    return jnp.sum(x)


def mask_slow() -> Iterator[Any]:
    x = np.arange(CALLS, dtype=np.float32)
    for i in range(CALLS):
        yield total(x[x >= i])  # how many are chosen depends on their values


@jax.jit
def total_from(x: Any, threshold: Any) -> Any:
    return jnp.sum(jnp.where(x >= threshold, x, 0.0))


def mask_mended() -> Iterator[Any]:
    x = np.arange(CALLS, dtype=np.float32)
    for i in range(CALLS):
        yield total_from(x, i)


PITFALLS = (
    Pitfall(
        "lengths",
        "a new length every time",
        lengths_slow,
        lengths_mended,
        Counts(CALLS, CALLS),
        Counts(2, 2),
        "Pad to one of a few sizes (buckets), and pass the length as an argument.",
    ),
    Pitfall(
        "last-batch",
        "the last batch is smaller",
        batches_slow,
        batches_mended,
        Counts(2, 2),
        Counts(1, 1),
        "One odd batch costs a whole compilation, in every run. Fill it up, and mask what was filled in, so that no result "
        "depends on it; or leave that batch out.",
    ),
    Pitfall(
        "growing",
        "an array that grows by concatenation",
        growing_slow,
        growing_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Allocate the final size, and write into it with `.at[i].set(x)`.",
    ),
    Pitfall(
        "mask",
        "elements chosen by a condition, before the call",
        mask_slow,
        mask_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Keep all the elements, and replace the others by `jnp.where`.",
    ),
)
