"""`jax.lib`: the version of jaxlib, which is all that JAX has left there

JAX: jax/_src/lib/__init__.py:version_str
"""

from __future__ import annotations

import sys
from typing import Any

from .base import jax_version, missing_names


def __getattr__(name: str) -> Any:
    if name != "__version__":
        raise AttributeError(f"module 'jitkit.lib' has no attribute {name!r}")
    return jax_version.installed("jaxlib")


missing_names.explain("lib", sys.modules[__name__])
