"""Derivatives and batches: made anew at every call, unrolled, spoilt by a nan, or with residuals that fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp
from jitkit import lax

from .pair import CALLS, Counts, Pitfall

X = np.linspace(-0.9, 0.9, 40, dtype=np.float32)
COUNTS = np.concatenate([np.zeros(4), np.arange(1, 5)]).astype(np.float32)
WEIGHTS = np.linspace(0.1, 0.9, 64 * 4096, dtype=np.float32).reshape(64, 4096)
TURNS = 100
MEMORY = 4 * 2**20  # bytes; a device this small stands for one that is full


# --- the gradient of a lambda ---------------------------------------------------------------------------------


def lambdas_slow() -> Iterator[Any]:
    for i in range(CALLS):
        rate = np.float32(0.1 * i)
        yield jax.jit(jax.grad(lambda x, rate=rate: jnp.sum(jnp.sin(x) * rate)))(X)


def scaled(x: Any, rate: Any) -> Any:
    return jnp.sum(jnp.sin(x) * rate)


slope = jax.jit(jax.grad(scaled))


def lambdas_mended() -> Iterator[Any]:
    for i in range(CALLS):
        yield slope(X, np.float32(0.1 * i))


# --- jit inside of vmap inside of a loop ----------------------------------------------------------------------


def inside_slow() -> Iterator[Any]:
    for i in range(CALLS):
        rate = np.float32(0.1 * i)

        def step(x: Any, rate: Any = rate) -> Any:
            return jax.jit(lambda x: jnp.tanh(x) * rate)(x)

        yield jax.vmap(step)(X)


def step(x: Any, rate: Any) -> Any:
    return jnp.tanh(x) * rate


steps = jax.jit(jax.vmap(step, in_axes=(0, None)))


def inside_mended() -> Iterator[Any]:
    for i in range(CALLS):
        yield steps(X, np.float32(0.1 * i))


# --- a nan that where hides from the value only ---------------------------------------------------------------


@jax.jit
@jax.grad
def entropy(counts: Any) -> Any:
    p = counts / jnp.sum(counts)
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))  # 0 times the derivative of log(0)


def masked_slow() -> Iterator[Any]:
    for i in range(CALLS):
        yield entropy(COUNTS * np.float32(i + 1))


@jax.jit
@jax.grad
def safe_entropy(counts: Any) -> Any:
    p = counts / jnp.sum(counts)
    safe = jnp.where(p > 0, p, 1.0)
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(safe), 0.0))


def masked_mended() -> Iterator[Any]:
    for i in range(CALLS):
        yield safe_entropy(COUNTS * np.float32(i + 1))


# --- an unrolled loop, and its gradient -----------------------------------------------------------------------


def turn(x: Any) -> Any:
    return jnp.sin(x) * 1.1 + 0.1 * x


@jax.jit
@jax.grad
def unrolled(x: Any) -> Any:
    for _ in range(TURNS):
        x = turn(x)  # four more equations every turn, and as many again for the way back
    return x.sum()


def unrolled_slow() -> Iterator[Any]:
    for _ in range(CALLS):
        yield unrolled(X)


@jax.jit
@jax.grad
def looped(x: Any) -> Any:
    return lax.fori_loop(0, TURNS, lambda i, x: turn(x), x).sum()


def unrolled_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield looped(X)


# --- what is kept for the way back ----------------------------------------------------------------------------


def layer(x: Any, w: Any) -> Any:
    return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2)))


def through(layer: Any) -> Any:
    """Return a compiled program that computes the gradient of a loss through all layers."""

    def loss(weights: Any) -> Any:
        return lax.scan(lambda x, w: (layer(x, w), None), jnp.ones_like(weights[0]), weights)[0].sum()

    return jax.jit(jax.grad(loss)).lower(WEIGHTS).compile()


def fitted(program: Any) -> Any:
    """Return the program. Raise MemoryError if its temporaries exceed a small device's memory."""
    needed = program.memory_analysis().temp_size_in_bytes
    if needed > MEMORY:
        raise MemoryError(
            f"{needed / 2**20:.0f} MiB are needed, and the device has {MEMORY / 2**20:.0f}.\n"
            "Most of it are residuals: put `jax.checkpoint` around a layer, and the reverse pass recomputes them."
        )
    return program


def kept_slow() -> Iterator[Any]:
    program = fitted(through(layer))  # it keeps the residuals of each layer
    for _ in range(CALLS):
        yield program(WEIGHTS)


def kept_mended() -> Iterator[Any]:
    program = fitted(through(jax.checkpoint(layer)))  # keeps only the input of each layer
    for _ in range(CALLS):
        yield program(WEIGHTS)


PITFALLS = (
    Pitfall(
        "grad-lambda",
        "the gradient of a lambda in a loop",
        lambdas_slow,
        lambdas_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "`grad` of a new function is a new function. Take the gradient once, and pass what changes.",
    ),
    Pitfall(
        "jit-in-vmap",
        "a jit inside of a vmap inside of a loop",
        inside_slow,
        inside_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "`vmap` calls its function at every call, which makes a new jit each time. Put `jit` outside, around `vmap`, and once.",
    ),
    Pitfall(
        "masked-nan",
        "a where that hides a nan from the value only",
        masked_slow,
        masked_mended,
        Counts(1, 1),
        Counts(1, 1),
        "The branch that is not taken gets the cotangent 0, and 0 times infinity is nan. A second `where`, inside, makes the "
        "operand harmless.",
        wrong_from=1,
    ),
    Pitfall(
        "grad-unrolled",
        "a Python loop, unrolled there and back",
        unrolled_slow,
        unrolled_mended,
        Counts(1, 1),
        Counts(1, 1),
        f"One compilation each, but of {TURNS} turns forward and back or of two loops. `lax.fori_loop` with an int has a gradient.",
    ),
    Pitfall(
        "residuals",
        "more residuals than memory holds",
        kept_slow,
        kept_mended,
        Counts(0, 0),
        Counts(1, 1),
        "Each layer saves its residuals, which its derivative multiplies by. `jax.checkpoint` saves only the layer's "
        "input, and recomputes the rest.",
        raises=MemoryError,
    ),
)
