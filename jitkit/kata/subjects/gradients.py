"""Programs whose gradients were nan, refused or too large for the memory, mended: functions of lab 11.

Each docstring has the version to mend.
"""

from __future__ import annotations

from typing import Any

import jitkit as jax
import jitkit.numpy as jnp
from jitkit import lax


def entropy(p: Any) -> Any:
    """Return the sum of -p log(p) over the elements of p, where 0 log(0) counts as 0.

    Its gradient is -log(p) - 1 at a positive element, and 0 at an element that is 0. Neither the gradient nor a higher derivative has
    a nan.
    The version to mend, whose value is right:

        return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))

    Args:
      p: of float32 and any shape; none of its elements is negative.

    Returns:
      A float32 scalar.
    """
    is_positive = p > 0
    safe = jnp.where(is_positive, p, 1.0)
    return -jnp.sum(jnp.where(is_positive, p * jnp.log(safe), 0.0))


def cube_root(a: Any, steps: int) -> Any:
    """Return the cube root of a by `steps` steps of Newton's method, `x - (x**3 - a) / (3 * x**2)`, from x = 1.

    It has a gradient, and its jaxpr and the jaxpr of its gradient have as many equations for 5 steps as for 500. The version to mend:

        def goes_on(state):
            return state[0] < steps

        def step(state):
            i, x = state
            return i + 1, x - (x**3 - a) / (3 * x**2)

        return lax.while_loop(goes_on, step, (0, jnp.ones_like(a)))[1]

    Args:
      a: of float32 and any shape; positive.
      steps: an int, known while tracing.

    Returns:
      An array like a.
    """

    def step(i: Any, x: Any) -> Any:
        return x - (x**3 - a) / (3 * x**2)

    return lax.fori_loop(0, steps, step, jnp.ones_like(a))


def through_layers(x: Any, weights: Any) -> Any:
    """Return x after a row of layers: for each w of `weights` in turn, `x = jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2)))`.

    It has a gradient with respect to both arguments. For the reverse pass, each layer keeps only its input x and its w:
    everything else is recomputed there. The version to mend keeps seven arrays a layer:

        def layer(x, w):
            return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2))), None

        return lax.scan(layer, x, weights)[0]

    Args:
      x: of float32, shape (n,).
      weights: of float32, shape (layers, n).

    Returns:
      An array like x.
    """

    @jax.checkpoint
    def layer(x: Any, w: Any) -> Any:
        return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2)))

    return lax.scan(lambda x, w: (layer(x, w), None), x, weights)[0]
