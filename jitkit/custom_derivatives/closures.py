"""Defines closure_convert, which turns closed-over values that may be differentiated into arguments.

JAX: jax/_src/custom_derivatives.py:closure_convert
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import traceback_util
from ..base.util import merge_lists, partition_list
from ..core import Tracer, dtypes, typeof
from ..interpreters.batching import BatchTracer
from ..interpreters.partial_eval import trace_to_jaxpr
from ..jaxpr import DebugInfo, eval_jaxpr
from ..signature import api_util
from ..tree_util import PyTreeDef, tree_flatten, tree_unflatten


def _may_be_differentiated(x: Any) -> bool:
    """Return whether a value is a traced float (or complex number), or a batch that holds one."""
    while isinstance(x, BatchTracer):
        x = x.val
    return isinstance(x, Tracer) and dtypes.issubdtype(x.dtype, np.inexact)


@traceback_util.api_boundary
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return the function, traced for arguments like `example_args`, with additional arguments at the end; and the
    values for these arguments: the traced floats that it closed over.

    With it, a `custom_vjp` rule for a function that takes functions can differentiate with respect to values that these
    close over. The returned function raises TypeError for arguments of another structure than the examples.
    """
    leaves, in_tree = tree_flatten(example_args)
    out_trees: list[PyTreeDef] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        outs, out_tree = tree_flatten(fun(*tree_unflatten(in_tree, leaves)))
        out_trees.append(out_tree)
        return outs

    info = DebugInfo("closure_convert", api_util.source_of(fun))
    jaxpr = trace_to_jaxpr(flat_fun, [typeof(x) for x in leaves], info)
    may_change = list(map(_may_be_differentiated, jaxpr.consts))
    fixed, hoisted = partition_list(may_change, jaxpr.consts)

    def converted(*args: Any) -> Any:
        count = len(args) - len(hoisted)
        leaves, tree = tree_flatten(args[:count])
        if tree != in_tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree structure as the example "
                f"arguments passed when closure_convert was called. Expected {in_tree}, but got {tree}"
            )
        outs = eval_jaxpr(jaxpr, merge_lists(may_change, fixed, args[count:]), *leaves)
        return tree_unflatten(out_trees[0], outs)

    return converted, hoisted
