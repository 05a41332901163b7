"""Finds the greatest or least elements along an axis. On a TPU, which is fast at this, a few may be missing; elsewhere
XLA sorts.

F. Chern et al., "TPU-KNN: K nearest neighbor search at peak FLOP/s", 2022.

JAX: jax/_src/lax/ann.py:approx_max_k
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import Zero, primitive_jvps, zero_tangent
from ..interpreters.batching import AxisData, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from ..interpreters.mlir_module import Function
from ..pjit.jit import jit
from ..runtime.jaxlib import approximate_size
from .elementwise import add, lt
from .gathering import gather
from .index_checks import GatherScatterMode
from .selection import select
from .shaping import reshape
from .sorting import along_axis
from .utils import canonicalize_axis

approx_top_k_p = Primitive("approx_top_k", multiple_results=True)


@approx_top_k_p.def_abstract_eval
def _(
    operand: ShapedArray,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[ShapedArray]:
    if k <= 0:
        raise ValueError(f"k must be positive, got {k}")
    if not operand.shape:
        raise TypeError(f"approx_top_k operand must have >= 1 dimension, got {operand.shape}")
    shape = list(operand.shape)
    size = shape[reduction_dimension]
    if size < k:
        raise ValueError(f"k must be smaller than the size of reduction_dim {size}, got {k}")
    if not dtypes.issubdtype(operand.dtype, np.floating):
        raise ValueError("operand must be a floating type")
    if aggregate_to_topk:
        shape[reduction_dimension] = k
    else:
        override = reduction_input_size_override
        shape[reduction_dimension] = approximate_size(size, len(shape), k, recall_target, override)
    return [operand.update(shape=shape), operand.update(shape=shape, dtype=np.int32)]


@register_lowering(approx_top_k_p)
def _(
    ctx: LoweringContext,
    x: str,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[str]:
    [aval] = ctx.avals_in
    axis = canonicalize_axis(reduction_dimension, aval.ndim)
    places, scalar, place = aval.update(dtype=np.int32), aval.update(shape=()), ShapedArray((), np.int32)
    operands = [
        x,
        ctx.emit_text(f"stablehlo.iota dim = {axis} : {type_of(places)}"),
        ctx.splat(-math.inf if is_max_k else math.inf, scalar),
        ctx.splat(-1, place),
    ]
    numbers = {"reduction_dim": axis, "reduction_input_size_override": reduction_input_size_override, "top_k": k}
    options = [
        f"aggregate_to_topk = {str(bool(aggregate_to_topk)).lower()}",
        *(["is_fallback = true"] if ctx.module.platform != "tpu" else []),
        f"recall_target = {float(recall_target):.17e} : f32",
        *[f"{name} = {number} : i64" for name, number in numbers.items()],
    ]
    text = (
        f"stablehlo.custom_call @ApproxTopK({', '.join(operands)}) "
        f"{{called_computations = [@{_comparator(ctx, scalar, is_max_k).symbol}], "
        f"mhlo.backend_config = {{{', '.join(options)}}}}} : "
        f"({', '.join(map(type_of, [aval, places, scalar, place]))}) -> ({', '.join(map(type_of, ctx.avals_out))})"
    )
    found = ctx.emit_text(text, results=2)
    return [f"{found}#{i}" for i in range(2)]


def _comparator(ctx: LoweringContext, scalar: ShapedArray, is_max_k: bool) -> Function:
    """Return the module's function that decides which of two elements comes first; write it if the module has none yet."""
    module, direction = ctx.module, "GT" if is_max_k else "LT"
    key = ("approx_top_k", direction, scalar.dtype)
    if key not in module.function_of_jaxpr:
        kind = type_of(scalar)
        name = f"top_k_{direction.lower()}_{kind.removeprefix('tensor<').removesuffix('>')}_comparator"
        function = module.function_of_jaxpr[key] = Function(module, module.symbol(name), "private")
        function.arguments = [f"%arg{i}: {t}" for i, t in enumerate([kind, kind, "tensor<i32>", "tensor<i32>"])]
        function.results = ["tensor<i1>"]
        inside = LoweringContext(function, "")
        less = inside.emit_text(f"stablehlo.compare {direction}, %arg0, %arg1 : ({kind}, {kind}) -> tensor<i1>")
        inside.write(f"return {less} : tensor<i1>")
        module.functions.append(function)
    return module.function_of_jaxpr[key]


@register_batcher(approx_top_k_p)
def _(batch: AxisData, vals: Sequence[Any], dims: Sequence[int], *, reduction_dimension: int, **params: Any) -> Any:
    [x], [dim] = vals, dims
    axis = [d for d in range(x.ndim) if d != dim][reduction_dimension]
    return approx_top_k_p.bind(x, reduction_dimension=axis, **params), [dim, dim]


@jit(static_argnames=("axis",))
def take_along_axis(arr: Any, indices: Any, axis: int) -> Any:  # jaxprs show JAX's name
    """Return the elements at these positions along an axis. Negative positions count from the end. Out of bounds,
    return what `gather` fills in: nan for floats.
    """
    indices = select(lt(indices, np.int32(0)), add(indices, np.int32(arr.shape[axis])), indices)
    axes = along_axis(axis, tuple(i for i in range(arr.ndim) if i != axis))
    positions, ones = reshape(indices, (*indices.shape, 1)), (1,) * arr.ndim
    return gather(arr, positions, axes, ones, mode=GatherScatterMode.FILL_OR_DROP)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, reduction_dimension: int, **params: Any) -> Any:
    [x], [tangent] = primals, tangents
    values, places = approx_top_k_p.bind(x, reduction_dimension=reduction_dimension, **params)
    if type(tangent) is Zero:
        return (values, places), (zero_tangent(values), zero_tangent(places))
    axis = canonicalize_axis(reduction_dimension, x.ndim)
    return (values, places), (take_along_axis(tangent, places, axis), zero_tangent(places))


primitive_jvps[approx_top_k_p] = _jvp


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """Return the `k` greatest elements along an axis, in descending order, and their indices (int32). On a TPU, some may be missing.

    Args:
      operand: an array of floats.
      k: how many elements to find.
      reduction_dimension: the axis.
      recall_target: the fraction of the `k` greatest elements that a TPU is to find, on average.
      reduction_input_size_override: if positive, the size of the whole axis of which this operand is a part.
      aggregate_to_topk: if false, a TPU returns all elements that it has found on the way; XLA decides how many.

    Raises:
      ValueError: for a k below 1 or beyond the size of the axis, and for an array that is not of floats.
      TypeError: for a scalar.
    """
    found: list[Any] = approx_top_k_p.bind(
        operand,
        k=k,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        is_max_k=True,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
    )
    return found


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """Return the `k` least elements along an axis, in ascending order, and their indices. Like `approx_max_k`."""
    found: list[Any] = approx_top_k_p.bind(
        operand,
        k=k,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        is_max_k=False,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
    )
    return found
