"""jit knows a function by identity: code that makes a new function each time compiles it each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import jitkit as jax

from .pair import CALLS, Counts, Pitfall


def double(x: Any) -> Any:
    return 2.0 * x


def scaled(factor: Any, x: Any) -> Any:
    return factor * x


# --- a lambda in a loop ---------------------------------------------------------------------------------------


def lambda_slow() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    for _ in range(CALLS):
        yield jax.jit(lambda v: double(v))(x)  # every turn makes another lambda


def lambda_mended() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    for _ in range(CALLS):
        yield jax.jit(double)(x)  # the same function every time


# --- a partial in a loop --------------------------------------------------------------------------------------


def partial_slow() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    for _ in range(CALLS):
        yield jax.jit(partial(scaled, 2.0))(x)  # every turn makes another partial


def partial_mended() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    double_it = jax.jit(partial(scaled, 2.0))
    for _ in range(CALLS):
        yield double_it(x)


# --- a closure in a loop --------------------------------------------------------------------------------------


def make_step(rate: float) -> Callable[[Any], Any]:
    @jax.jit
    def step(x: Any) -> Any:
        return x - rate * x  # the rate is a constant of this function, and of its program

    return step


def closure_slow() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    for i in range(CALLS):
        x = make_step(0.1 / (i + 1))(x)
        yield x


@jax.jit
def step_with_rate(x: Any, rate: Any) -> Any:
    return x - rate * x


def closure_mended() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    for i in range(CALLS):
        x = step_with_rate(x, 0.1 / (i + 1))
        yield x


# --- jit of a method, in a loop -------------------------------------------------------------------------------


class Layer:
    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def apply(self, x: Any) -> Any:
        return self.weights * x


def method_slow() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    layer = Layer(np.linspace(1.0, 2.0, 8, dtype=np.float32))
    for _ in range(CALLS):
        yield jax.jit(layer.apply)(x)  # `layer.apply` is a new bound method at every mention


def method_mended() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    layer = Layer(np.linspace(1.0, 2.0, 8, dtype=np.float32))
    apply = jax.jit(layer.apply)
    for _ in range(CALLS):
        yield apply(x)


# --- jit inside of a method -----------------------------------------------------------------------------------


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @partial(jax.jit, static_argnums=0)
    def apply(self, x: Any) -> Any:
        return self.scale * x  # self is static: each instance has a program of its own


def static_self_slow() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    for i in range(CALLS):
        yield Model(1.0 + i).apply(x)


def static_self_mended() -> Iterator[Any]:
    x = jax.device_put(np.arange(8, dtype=np.float32))
    apply = jax.jit(scaled)
    for i in range(CALLS):
        yield apply(1.0 + i, x)


PITFALLS = (
    Pitfall(
        "lambda",
        "a lambda, jitted in a loop",
        lambda_slow,
        lambda_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Two lambdas with the same code are two functions. Define the function once, outside of the loop.",
    ),
    Pitfall(
        "partial",
        "a functools.partial, jitted in a loop",
        partial_slow,
        partial_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Two partials of one function are two functions. Make the partial once.",
    ),
    Pitfall(
        "closure",
        "a function defined anew for every value it closes over",
        closure_slow,
        closure_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Pass what changes from call to call as an argument.",
    ),
    Pitfall(
        "method",
        "a bound method, jitted in a loop",
        method_slow,
        method_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "Each mention of a bound method makes a new one. Jit it once, and keep what jit returns.",
    ),
    Pitfall(
        "static-self",
        "a jitted method whose self is static",
        static_self_slow,
        static_self_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "A static self is a static argument that hashes by identity: each instance compiles. Jit a function of "
        "the instance's numbers.",
    ),
)
