"""Static arguments are compiled in: each new value is a new program, and jit finds a value again by its hash and `==`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp

from .pair import CALLS, Counts, Pitfall

X = np.linspace(0.1, 0.9, 8, dtype=np.float32)


# --- a static argument that changes ---------------------------------------------------------------------------


@partial(jax.jit, static_argnames="epoch")
def annealed(x: Any, epoch: int) -> Any:
    return x * 0.9**epoch


def changing_slow() -> Iterator[Any]:
    for epoch in range(CALLS):
        yield annealed(X, epoch=epoch)


@jax.jit
def annealed_by_data(x: Any, epoch: Any) -> Any:
    return x * 0.9**epoch


def changing_mended() -> Iterator[Any]:
    for epoch in range(CALLS):
        yield annealed_by_data(X, epoch)


# --- one function, jitted with other static arguments ----------------------------------------------------------


def in_digits(tens: Any, ones: Any) -> Any:
    return 10 * tens + ones


def positions_slow() -> Iterator[Any]:
    for i in range(CALLS):
        if i % 2 == 0:
            yield jax.jit(in_digits, static_argnums=0)(3, X)
        else:
            yield jax.jit(in_digits, static_argnums=1)(X, 3)  # JAX 0.10 to 0.12 give the result of the call before


@jax.jit
def with_three_tens(ones: Any) -> Any:
    return in_digits(3, ones)


@jax.jit
def with_three_ones(tens: Any) -> Any:
    return in_digits(tens, 3)


def positions_mended() -> Iterator[Any]:
    for i in range(CALLS):
        yield with_three_tens(X) if i % 2 == 0 else with_three_ones(X)


# --- a static argument that cannot be hashed ------------------------------------------------------------------


@partial(jax.jit, static_argnames="shape")
def reshaped(x: Any, shape: Any) -> Any:
    return jnp.reshape(x, shape)


def unhashable_slow() -> Iterator[Any]:
    for _ in range(CALLS):
        yield reshaped(X, shape=[2, 4])  # a list has no hash, so the cache cannot look for it


def unhashable_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield reshaped(X, shape=(2, 4))


# --- a static argument that hashes by identity ----------------------------------------------------------------


class Config:
    def __init__(self, power: int) -> None:
        self.power = power  # no __eq__, no __hash__: equal to itself only


@partial(jax.jit, static_argnames="config")
def powered(x: Any, config: Any) -> Any:
    return x**config.power


def identity_slow() -> Iterator[Any]:
    for _ in range(CALLS):
        yield powered(X, config=Config(power=3))


@dataclasses.dataclass(frozen=True)
class FrozenConfig:
    power: int  # two configs with the same power are equal, and have the same hash


def identity_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield powered(X, config=FrozenConfig(power=3))


# --- a function as a static argument --------------------------------------------------------------------------


@partial(jax.jit, static_argnames="function")
def applied(x: Any, function: Any) -> Any:
    return function(x)


def function_slow() -> Iterator[Any]:
    for _ in range(CALLS):
        yield applied(X, function=lambda v: jnp.tanh(v))


def function_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield applied(X, function=jnp.tanh)


PITFALLS = (
    Pitfall(
        "static-changes",
        "a static argument that changes with every call",
        changing_slow,
        changing_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Static is for what decides the program: shapes, flags, names. A number to compute with is data.",
    ),
    Pitfall(
        "static-positions",
        "one function, jitted with other static arguments",
        positions_slow,
        positions_mended,
        Counts(2, 2),
        Counts(2, 2),
        "In JAX 0.10 to 0.12 the key of a call holds static values and no positions: `(3, x)` and `(x, 3)` are one call, and the second is "
        "given the first one's program and numbers. jitkit tells them apart. Write a function for each.",
    ),
    Pitfall(
        "static-unhashable",
        "a static argument that cannot be hashed",
        unhashable_slow,
        unhashable_mended,
        Counts(0, 0),
        Counts(1, 1),
        "The cache finds static values by hash: pass a tuple instead of a list, a frozen dataclass instead of a dict.",
        raises=ValueError,
    ),
    Pitfall(
        "static-identity",
        "a static object that is equal to itself only",
        identity_slow,
        identity_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Without __eq__ and __hash__, two objects that read the same are different: make the class a frozen dataclass.",
    ),
    Pitfall(
        "static-function",
        "a lambda as a static argument",
        function_slow,
        function_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "A function is equal to itself only: pass one that is defined once.",
    ),
)
