"""`apply_primitive`: runs a primitive that a library defines, compiled by its lowering rule

JAX: jax/_src/dispatch.py:apply_primitive
"""

from __future__ import annotations

import functools
from typing import Any

from ..core import Primitive
from .jit import jit


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Run a primitive on values, and return its results. Its program is compiled once for each combination of operand
    types and parameters. Libraries give this function to `def_impl` for their own primitives.
    """
    return _compiled(prim, tuple(params.items()))(*args)


@functools.lru_cache(maxsize=4096)
def _compiled(prim: Primitive, params: tuple[tuple[str, Any], ...]) -> Any:
    def apply(*args: Any) -> Any:
        return prim.bind(*args, **dict(params))

    apply.__name__ = apply.__qualname__ = prim.name
    return jit(apply)
