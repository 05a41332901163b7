"""The names of `jax.experimental.layout`: the layout and the sharding of an array in memory

JAX: jax/_src/layout.py:Format
"""

from __future__ import annotations

import sys

from ..base import missing_names
from ..runtime.layouts import Format, Layout

__all__ = ["Format", "Layout"]

missing_names.explain("experimental.layout", sys.modules[__name__])
