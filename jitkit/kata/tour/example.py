"""The functions that the tour shows: those of JAX's tutorial on jit, and numpy's for comparison.

The tour shows them as a user's code, so they are written as a user writes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp


def selu(x: Any, alpha: float = 1.67, lmbda: float = 1.05) -> Any:
    """Compute the scaled exponential linear unit."""
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def selu_numpy(x: Any, alpha: float = 1.67, lmbda: float = 1.05) -> Any:
    """Compute `selu` in numpy."""
    return lmbda * np.where(x > 0, x, alpha * np.exp(x) - alpha)


def body(i: Any) -> Any:
    """Compute one turn of the loops below."""
    return i + 1


def with_a_lambda(i: Any, n: int) -> Any:
    """Jit a new lambda in each turn."""
    for _ in range(n):
        i = jax.jit(lambda v: body(v))(i)
    return i


def with_a_partial(i: Any, n: int) -> Any:
    """Jit a new partial in each turn."""
    for _ in range(n):
        i = jax.jit(partial(body))(i)
    return i


def with_the_function(i: Any, n: int) -> Any:
    """Jit one function, which jit knows from the first turn on."""
    for _ in range(n):
        i = jax.jit(body)(i)
    return i


def network(params: Any, x: Any) -> Any:
    """Compute two layers: a number for each point, positive for one kind of point and negative for the other."""
    return jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"]


def loss(params: Any, x: Any, y: Any) -> Any:
    """Return the mean loss: small where the network's output has y's sign and is far from 0."""
    return jnp.mean(jax.nn.softplus(-y * network(params, x)))


def step(params: Any, x: Any, y: Any) -> Any:
    """Take one step downhill: return the loss, and better parameters."""
    value, slopes = jax.value_and_grad(loss)(params, x, y)
    return value, jax.tree.map(lambda p, s: p - s, params, slopes)
