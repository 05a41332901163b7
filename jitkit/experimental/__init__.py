"""The names that JAX keeps in `jax.experimental`: so far `io_callback`."""

from __future__ import annotations

import sys

from ..base import missing_names
from ..lax.callback import io_callback as io_callback

missing_names.explain("experimental", sys.modules[__name__])
