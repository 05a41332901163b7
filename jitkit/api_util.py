"""The names of `jax.api_util`: functions of trees as functions of their leaves, for writing transformations

JAX: jax/_src/api_util.py:flatten_fun
"""

from __future__ import annotations

import sys
from typing import Any

from .base import missing_names
from .base.util import safe_map
from .extend.linear_util import Store, WrappedFun, transformation_with_aux2
from .jaxpr import DebugInfo
from .signature.api_util import argument_name
from .signature.shape_struct import aval_of_argument as shaped_abstractify
from .tree_util import PyTreeDef, tree_flatten, tree_unflatten

__all__ = ["argument_name", "debug_info", "flatten_fun", "flatten_fun_nokwargs", "safe_map", "shaped_abstractify"]


@transformation_with_aux2
def flatten_fun(inside: Any, store: Store, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """Return two functions: one of the leaves of `(args, kwargs)`, which returns the leaves of the result; and one that
    returns the tree of the result once the first function was called.
    """
    args, kwargs = tree_unflatten(in_tree, leaves)
    out, out_tree = tree_flatten(inside(*args, **kwargs))
    store.store(out_tree)
    return out


@transformation_with_aux2
def flatten_fun_nokwargs(inside: Any, store: Store, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """Return what `flatten_fun` returns, for a function without keyword arguments; `in_tree` is the tree of `args`."""
    out, out_tree = tree_flatten(inside(*tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return out


def debug_info(traced_for: str, fun: Any, args: Any = (), kwargs: Any = None, **more: Any) -> DebugInfo:
    """Return the names for messages: that of `fun`, and the transformation for which it is traced. Other arguments are not used."""
    inner = fun.f if isinstance(fun, WrappedFun) else fun
    return DebugInfo(traced_for, getattr(inner, "__name__", type(inner).__name__))


missing_names.explain("api_util", sys.modules[__name__])
