"""Attention, the example of README's picture and of the site's front page."""

import jitkit as jax
import jitkit.numpy as jnp


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / jnp.sqrt(64.0)
    weights = jax.nn.softmax(scores)
    return weights @ v
