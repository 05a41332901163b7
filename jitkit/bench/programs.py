"""What is measured, written once for both libraries: each program takes the numpy of the library it is
for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SELU_ALPHA = 1.67  # of JAX's tutorial on jit; Klambauer et al. (2017) have 1.6733 and 1.0507
SELU_LAMBDA = 1.05


def selu(jnp: Any) -> Callable[[Any], Any]:
    """The scaled exponential linear unit of JAX's tutorial on jit."""

    def selu(x: Any, alpha: float = SELU_ALPHA, lmbda: float = SELU_LAMBDA) -> Any:
        return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    return selu


def add_one(jnp: Any) -> Callable[[Any], Any]:
    """As little work as a call can do, so that what is measured is the call."""

    def add_one(x: Any) -> Any:
        return x + 1.0

    return add_one


def add_all(jnp: Any) -> Callable[..., Any]:
    """One array out of eight."""

    def add_all(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        return a + b + c + d + e + f + g + h

    return add_all


def step_all(jnp: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A dict in, a dict out: a training step without the mathematics."""

    def step_all(params: dict[str, Any]) -> dict[str, Any]:
        return {name: value * 0.9 for name, value in params.items()}

    return step_all


def long_program(jnp: Any, repeats: int = 500) -> Callable[[Any, Any], Any]:
    """Straight-line code of three equations a repeat. A new function each time, so that nothing is cached."""

    def long_program(x: Any, y: Any) -> Any:
        for _ in range(repeats):
            x = jnp.sin(x) * y + x
        return x

    return long_program


def network(jnp: Any) -> Callable[[dict[str, Any], Any], Any]:
    """Two dense layers. A new function each time, so that nothing is cached."""

    def network(params: dict[str, Any], x: Any) -> Any:
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return hidden @ params["w2"] + params["b2"]

    return network


def softmax(jnp: Any) -> Callable[[Any], Any]:
    """The softmax of each row."""

    def softmax(x: Any) -> Any:
        powers = jnp.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    return softmax


def logistic_loop(lax: Any, turns: int) -> Callable[[Any], Any]:
    """The logistic map, a number of times: turns that depend on each other, so that nothing can be vectorised."""

    def logistic_loop(x: Any) -> Any:
        return lax.fori_loop(0, turns, lambda i, x: 3.7 * x * (1.0 - x), x)

    return logistic_loop


def logistic_steps(np: Any, turns: int) -> Callable[[Any], Any]:
    """`logistic_loop` as one writes it where the turns are Python's."""

    def logistic_steps(x: Any) -> Any:
        for _ in range(turns):
            x = 3.7 * x * (1.0 - x)
        return x

    return logistic_steps


def stencil(jnp: Any) -> Callable[[Any], Any]:
    """A step of heat through a plate: each inner point moves towards the mean of its four neighbours."""

    def stencil(u: Any) -> Any:
        inner = u[1:-1, 1:-1]
        return inner + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner)

    return stencil


def deviation(jnp: Any) -> Callable[[Any], Any]:
    """The standard deviation: two reductions, with a pass over the numbers in between."""

    def deviation(x: Any) -> Any:
        centred = x - jnp.mean(x)
        return jnp.sqrt(jnp.mean(centred * centred))

    return deviation


SOFTENING = 1e-2  # of gravity at small distances, so that a body does not attract itself


def n_body(jnp: Any) -> Callable[[Any, Any], Any]:
    """The acceleration of each body by all of them: (n, 3) positions and (n,) masses to (n, 3)."""

    def n_body(positions: Any, masses: Any) -> Any:
        apart = positions[None, :, :] - positions[:, None, :]
        squares = jnp.sum(apart * apart, axis=-1) + SOFTENING
        return jnp.sum(apart * (masses / (squares * jnp.sqrt(squares)))[:, :, None], axis=1)

    return n_body


def network_data(
    rows: int, inputs: int, hidden: int, outputs: int
) -> tuple[dict[str, np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Parameters of a `network`, and a batch for it, as numpy float32."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        values: np.ndarray[Any, Any] = rng.standard_normal(shape, dtype=np.float32)
        return values * np.float32(shape[0] ** -0.5)

    params = {"w1": normal(inputs, hidden), "b1": normal(hidden), "w2": normal(hidden, outputs), "b2": normal(outputs)}
    return params, normal(rows, inputs)
