"""Defines `thread_resources`, in which libraries look up the mesh of a block `with mesh:`.

JAX: jax/_src/mesh.py:thread_resources
"""

from __future__ import annotations

import sys
from typing import Any

from ..base import missing_names
from ..runtime.beside_jax import module_of_jax


def __getattr__(name: str) -> Any:
    if name != "thread_resources":
        raise AttributeError(f"module 'jitkit.interpreters.pxla' has no attribute {name!r}")
    return module_of_jax("jax._src.mesh").thread_resources


missing_names.explain("interpreters.pxla", sys.modules[__name__])
