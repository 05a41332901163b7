"""`ifrt_programs`: jaxlib's programs of plugins, which orbax imports

JAX: jax/extend/ifrt_programs.py:ifrt_programs
"""

from __future__ import annotations

import sys
from typing import Any

from ..base import missing_names
from ..runtime.beside_jax import module_of_jax


def __getattr__(name: str) -> Any:
    if name != "ifrt_programs":
        raise AttributeError(f"module 'jitkit.extend.ifrt_programs' has no attribute {name!r}")
    return module_of_jax("jax.extend.ifrt_programs").ifrt_programs


missing_names.explain("extend.ifrt_programs", sys.modules[__name__])
