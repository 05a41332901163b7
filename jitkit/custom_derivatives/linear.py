"""Defines linear_call: a linear function with a given transpose.

The equation keeps the function's jaxpr, and a thunk that traces its transpose on demand. Transposing the equation swaps
the two, so transposing twice gives the function again. The derivative of a linear function is itself.

JAX: jax/_src/custom_derivatives.py:linear_call
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import traceback_util
from ..base.util import split_list
from ..core import Primitive, typeof
from ..interpreters.ad_rules import Zero, instantiate_zeros, primitive_jvps, primitive_transposes
from ..interpreters.batching import AxisData, Dims, Vals, batch_jaxpr_if, bdim_at_front, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..jaxpr import Jaxpr, eval_jaxpr
from ..lax.control_flow.common import Body, avals_of, trace_anew
from ..lax.convert import asarray
from ..tree_util import tree_flatten, tree_unflatten, treedef_tuple

# A thunk returns a jaxpr, and the values of its first inputs, over which the function closed.
Thunk = Callable[[], tuple[Jaxpr, Sequence[Any]]]

linear_call_p = Primitive("linear_call", multiple_results=True, pure_shape_rule=False)
linear_call_p.effects = lambda params: params["callee"].effects
linear_call_p.def_abstract_eval(lambda *avals, callee, **params: callee.out_avals)
linear_call_p.def_impl(lambda *args, callee, **params: list(map(asarray, eval_jaxpr(callee, callee.consts, *args))))


@register_lowering(linear_call_p)
def _(ctx: LoweringContext, *args: str, callee: Jaxpr, **params: Any) -> list[str]:
    return ctx.lower_region(callee, args)


@register_batcher(linear_call_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, callee: Jaxpr, transpose_thunk: Thunk, **params: Any) -> Any:
    """Batching rule: make all operands and results batches, so that the transpose also takes and returns batches."""

    def batched_transpose_thunk() -> tuple[Jaxpr, Sequence[Any]]:
        transpose, consts = transpose_thunk()
        batched = [i >= len(consts) for i in range(len(transpose.invars))]
        return batch_jaxpr_if(transpose, axis, batched, True)[0], consts

    operands = [bdim_at_front(x, dim, axis.size) for x, dim in zip(vals, dims, strict=True)]
    on_batches, _ = batch_jaxpr_if(callee, axis, [True] * len(operands), True)
    outs = linear_call_p.bind(*operands, callee=on_batches, transpose_thunk=batched_transpose_thunk, **params)
    return outs, [0] * len(outs)


@traceback_util.api_boundary
def linear_call(
    fun: Callable[[Any, Any], Any], fun_transpose: Callable[[Any, Any], Any], residual_args: Any, linear_args: Any
) -> Any:
    """Return `fun(residual_args, linear_args)`, where `fun` is linear in the second argument and has the transpose
    `fun_transpose`.

        >>> def divided(x, by):
        ...     return linear_call(lambda by, x: x / by, lambda by, ct: ct / by, by, x)
        >>> jax.grad(divided)(9.0, 3.0)
        Array(0.33333334, dtype=float32, weak_type=True)

    The reverse pass calls `fun_transpose` instead of transposing `fun`. Nothing checks that it is the transpose.

    Args:
      fun: takes both arguments.
      fun_transpose: takes `residual_args` and a tree like the results of `fun`, and returns one like `linear_args`. It
        is linear in the second argument.
      residual_args: a tree of arrays, in which `fun` need not be linear; it has no derivative with respect to them.
      linear_args: a tree of arrays.

    Raises:
      TypeError: if an argument has a leaf that is not an array, or if in the reverse pass `fun_transpose` returns another
        structure.
      AssertionError: for a derivative with respect to `residual_args`, or to values that `fun` closes over.
    """
    residuals, residual_tree = tree_flatten(residual_args)
    operands, tree = tree_flatten(linear_args)
    of_residuals, of_operands = avals_of(residuals), avals_of(operands)
    in_tree = treedef_tuple((residual_tree, tree))
    traced = trace_anew(Body(fun, fun, "linear_call fun"), in_tree, [*of_residuals, *of_operands])

    @_memoize
    def transpose() -> tuple[Jaxpr, Sequence[Any]]:
        t_tree = treedef_tuple((residual_tree, traced.out_tree))
        body = Body(fun_transpose, fun_transpose, "linear_call fun_transpose")
        found = trace_anew(body, t_tree, [*of_residuals, *traced.jaxpr.out_avals])
        if found.out_tree != tree:
            raise TypeError(
                "transpose output pytree structure must match that of linear inputs, got output structure "
                f"{found.out_tree} and input structure {tree}."
            )
        return found.jaxpr, found.consts

    outs = linear_call_p.bind(
        *traced.consts, *residuals, *operands, callee=traced.jaxpr, transpose_thunk=transpose,
        num_callee_consts=len(traced.consts), num_res=len(residuals),
    )  # fmt: skip
    return tree_unflatten(traced.out_tree, outs)


def _memoize(thunk: Thunk) -> Thunk:
    found: list[tuple[Jaxpr, Sequence[Any]]] = []

    def memoized() -> tuple[Jaxpr, Sequence[Any]]:
        if not found:
            found.append(thunk())
        return found[0]

    return memoized


# --- derivatives ------------------------------------------------------------------------------------------------------


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, num_callee_consts: int, num_res: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    params |= {"num_callee_consts": num_callee_consts, "num_res": num_res}
    fixed, _ = split_list(primals, [num_callee_consts + num_res])
    still, moving = split_list(tangents, [num_callee_consts + num_res])
    if not all(type(t) is Zero for t in still):
        raise AssertionError(
            "linear_call has no derivative with respect to its residual arguments, nor to what the function closes over\n"
            "Its transpose is for its linear arguments only. Stop the others: `lax.stop_gradient(residual)`."
        )
    outs = linear_call_p.bind(*primals, **params)
    return outs, linear_call_p.bind(*fixed, *map(instantiate_zeros, moving), **params)


def _linear_call_transpose_rule(
    cts: Sequence[Any], *args: Any, callee: Jaxpr, transpose_thunk: Thunk, num_callee_consts: int, num_res: int
) -> list[Any]:
    transpose, consts = transpose_thunk()
    f_consts, residuals, operands = split_list(args, [num_callee_consts, num_res])

    def new_transpose_thunk() -> tuple[Jaxpr, Sequence[Any]]:
        return callee, f_consts

    found = linear_call_p.bind(
        *consts, *residuals, *map(instantiate_zeros, cts), callee=transpose, transpose_thunk=new_transpose_thunk,
        num_callee_consts=len(consts), num_res=num_res,
    )  # fmt: skip
    for x, ct in zip(operands, found, strict=True):
        if x.aval.shape != np.shape(ct):
            raise ValueError(f"Expected cotangent type {x.aval.str_short()} but got {typeof(ct).str_short()}")
    return [*[None] * (num_callee_consts + num_res), *found]


primitive_jvps[linear_call_p] = _jvp
primitive_transposes[linear_call_p] = _linear_call_transpose_rule
