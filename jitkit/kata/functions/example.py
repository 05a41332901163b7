"""The function that `jitkit targets` compiles by default: a layer of a network, and a few steps of an iteration.

The command shows it as a user's code, so it is written as a user writes.
"""

from __future__ import annotations

from typing import Any

import jitkit.numpy as jnp
from jitkit import lax

SHAPES = "f32[256,512],f32[512,512],f32[512]"


def layer(x: Any, w: Any, b: Any) -> Any:
    """Compute a dense layer, normalised, then sharpened step by step."""
    h = jnp.tanh(x @ w + b)
    h = h - h.mean(axis=1, keepdims=True)
    h = h / jnp.sqrt((h * h).mean(axis=1, keepdims=True) + 1e-5)
    return lax.fori_loop(0, 8, lambda i, y: jnp.sin(y) * 1.1 - 0.1 * y, h)
