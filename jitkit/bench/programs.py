"""The measured programs, written once for both libraries. A function that takes the numpy (`jnp`) or the `lax` of a
library returns the program that its docstring describes; the others return data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SELU_ALPHA = 1.67  # JAX's tutorial on jit has this; Klambauer et al. (2017) have 1.6733 and 1.0507
SELU_LAMBDA = 1.05


def selu(jnp: Any) -> Callable[[Any], Any]:
    """Return the scaled exponential linear unit of JAX's tutorial on jit."""

    def selu(x: Any, alpha: float = SELU_ALPHA, lmbda: float = SELU_LAMBDA) -> Any:
        return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    return selu


def add_one(jnp: Any) -> Callable[[Any], Any]:
    """Return a function that adds one: a call can hardly do less, so the call itself is measured."""

    def add_one(x: Any) -> Any:
        return x + 1.0

    return add_one


def add_all(jnp: Any) -> Callable[..., Any]:
    """Return a function that adds eight arrays."""

    def add_all(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        return a + b + c + d + e + f + g + h

    return add_all


def step_all(jnp: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function from a dict to a dict: a training step without the mathematics."""

    def step_all(params: dict[str, Any]) -> dict[str, Any]:
        return {name: value * 0.9 for name, value in params.items()}

    return step_all


def long_program(jnp: Any, repeats: int = 500) -> Callable[[Any, Any], Any]:
    """Return a new function, which no cache knows: straight-line code, three equations a repeat."""

    def long_program(x: Any, y: Any) -> Any:
        for _ in range(repeats):
            x = jnp.sin(x) * y + x
        return x

    return long_program


def network(jnp: Any) -> Callable[[dict[str, Any], Any], Any]:
    """Return a new function, which no cache knows: two dense layers."""

    def network(params: dict[str, Any], x: Any) -> Any:
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return hidden @ params["w2"] + params["b2"]

    return network


def softmax(jnp: Any) -> Callable[[Any], Any]:
    """Return a function that computes the softmax of each row."""

    def softmax(x: Any) -> Any:
        powers = jnp.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    return softmax


def layer_norm(jnp: Any) -> Callable[[Any, Any, Any], Any]:
    """Return a function that normalises each row to mean 0 and deviation 1, then scales and shifts it."""

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / jnp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * scale + shift

    return layer_norm


def logistic_loop(lax: Any, turns: int) -> Callable[[Any], Any]:
    """Return a function that iterates the logistic map. Each turn depends on the one before, so nothing can be vectorised."""

    def logistic_loop(x: Any) -> Any:
        return lax.fori_loop(0, turns, lambda i, x: 3.7 * x * (1.0 - x), x)

    return logistic_loop


def logistic_steps(np: Any, turns: int) -> Callable[[Any], Any]:
    """Return a function that computes `logistic_loop` with a Python loop."""

    def logistic_steps(x: Any) -> Any:
        for _ in range(turns):
            x = 3.7 * x * (1.0 - x)
        return x

    return logistic_steps


def stencil(jnp: Any) -> Callable[[Any], Any]:
    """Return a function that computes a step of heat through a plate: each inner point moves towards the mean of its
    four neighbours. The result has no edges.
    """

    def stencil(u: Any) -> Any:
        inner = u[1:-1, 1:-1]
        return inner + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner)

    return stencil


def deviation(jnp: Any) -> Callable[[Any], Any]:
    """Return a function that computes the standard deviation: two reductions, with a pass over the numbers in between."""

    def deviation(x: Any) -> Any:
        centred = x - jnp.mean(x)
        return jnp.sqrt(jnp.mean(centred * centred))

    return deviation


SOFTENING = 1e-2  # added to each squared distance, so that a body, at distance 0 of itself, gets 0 from itself, not nan


def n_body(jnp: Any) -> Callable[[Any, Any], Any]:
    """Return a function that computes the acceleration of each body by all others, from (n, 3) positions and (n,) masses: (n, 3)."""

    def n_body(positions: Any, masses: Any) -> Any:
        apart = positions[None, :, :] - positions[:, None, :]
        squares = jnp.sum(apart * apart, axis=-1) + SOFTENING
        return jnp.sum(apart * (masses / (squares * jnp.sqrt(squares)))[:, :, None], axis=1)

    return n_body


def network_data(
    rows: int, inputs: int, hidden: int, outputs: int
) -> tuple[dict[str, np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Return parameters of a `network`, and a batch for it, as numpy float32."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        values: np.ndarray[Any, Any] = rng.standard_normal(shape, dtype=np.float32)
        return values * np.float32(shape[0] ** -0.5)

    params = {"w1": normal(inputs, hidden), "b1": normal(hidden), "w2": normal(hidden, outputs), "b2": normal(outputs)}
    return params, normal(rows, inputs)


def transformer(jnp: Any, lax: Any, heads: int = 4) -> Callable[[Any, Any, Any], Any]:
    """Return a new function, the loss of a transformer, of the parameters of each block, a sequence of vectors, and the right classes."""

    def normed(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        return centred * lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5) * scale + shift

    def attention(params: Any, x: Any) -> Any:
        length, width = x.shape
        q, k, v = [(x @ params[n]).reshape(length, heads, width // heads).transpose(1, 0, 2) for n in ("q", "k", "v")]
        scores = q @ k.transpose(0, 2, 1) / jnp.sqrt(width // heads)
        powers = jnp.exp(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9))
        shares = powers / jnp.sum(powers, axis=-1, keepdims=True)
        return (shares @ v).transpose(1, 0, 2).reshape(length, width) @ params["o"]

    def transformer(blocks: Any, x: Any, classes: Any) -> Any:
        for params in blocks:
            x = x + attention(params, normed(x, params["s1"], params["b1"]))
            hidden = jnp.tanh(normed(x, params["s2"], params["b2"]) @ params["w1"] + params["c1"])
            x = x + hidden @ params["w2"] + params["c2"]
        logits = x - jnp.log(jnp.sum(jnp.exp(x), axis=-1, keepdims=True))
        return -jnp.mean(jnp.take_along_axis(logits, classes[:, None], axis=-1))

    return transformer


def transformer_data(blocks: int, length: int = 16, width: int = 32) -> tuple[Any, Any, Any]:
    """Return parameters, vectors and classes for a `transformer`, as numpy arrays."""
    rng = np.random.default_rng(0)
    square, row = (width, width), (width,)
    shapes: dict[str, tuple[int, ...]] = {"q": square, "k": square, "v": square, "o": square}
    shapes |= {"w1": (width, 4 * width), "c1": (4 * width,), "w2": (4 * width, width), "c2": row}
    shapes |= {"s1": row, "b1": row, "s2": row, "b2": row}
    params = [
        {name: rng.standard_normal(shape, dtype=np.float32) * np.float32(0.1) for name, shape in shapes.items()}
        for _ in range(blocks)
    ]
    return params, rng.standard_normal((length, width), dtype=np.float32), np.arange(length, dtype=np.int32) % width


def tree_of_parts(leaves: int) -> dict[str, Any]:
    """Return a tree with about this many leaves, whose parts all differ: lists of several lengths, tuples, None."""
    parts = range(leaves // 5)
    return {f"part{i}": {f"w{i}": 1.0, f"b{i}": (2.0, None), "s": [3.0] * (i % 5), "t": (4.0,)} for i in parts}
