"""00 Hello: the solutions, as the reference has them, and why."""

from __future__ import annotations

from typing import Any

from jitkit import numpy as jnp


# --- 00.1 Your first function -------------------------------------------------------------------------------
# `jnp.maximum` becomes one equation of the program that `jit` compiles, for arrays of any shape. The 0 is an
# int: it is weakly typed, so it takes the dtype of x, where 0.0 would turn integers into floats.
#
# Usual mistakes:
#   - `np.maximum`: numpy computes at once, and while `jit` traces, x has no numbers to compute with.
#   - `if x > 0`: Python would have to choose one branch, for all elements and for all later calls.
#   - `0.0` in place of `0`: right for floats, but integers become floats.
#
# In JAX: jax/_src/nn/functions.py:relu


def relu(x: Any) -> Any:
    """Return the larger of x and 0, elementwise, with the shape and the dtype of x; nan stays nan."""
    return jnp.maximum(x, 0)
