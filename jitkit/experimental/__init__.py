"""The names that JAX keeps in `jax.experimental`: so far `io_callback`."""

from __future__ import annotations

from ..lax.callback import io_callback as io_callback
