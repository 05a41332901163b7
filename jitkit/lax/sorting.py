"""Sorts along one axis: any number of arrays, moved together, in the order of the keys, the first of them.

-0 and 0 count as equal, and so do all nans, which come last. The comparator on scalars is written below in lax, and
becomes the region of XLA's operation. Complex numbers are ordered by real part, then by imaginary part.

JAX: jax/_src/lax/lax.py:_sort_lt_comparator
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import edits
from ..core import Primitive, ShapedArray, Tracer, dtypes
from ..interpreters.ad_rules import Zero, primitive_jvps, zero_tangent
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher, shifted
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from ..jaxpr import pp_eqn_rules
from ..jaxpr.printer import show_params_since
from .creation import broadcasted_iota
from .elementwise import bitwise_and, bitwise_or, eq, eq_to, imag, lt_to, ne, real
from .elementwise_rules import scalar_like
from .gathering import GatherDimensionNumbers, gather
from .reducers import inline_function
from .selection import select
from .shaping import broadcast_in_dim, expand_dims, reshape
from .utils import canonicalize_axis, canonicalize_shape, is_a

# --- sort ---------------------------------------------------------------------------------------------------

sort_p = Primitive("sort", multiple_results=True)


@sort_p.def_abstract_eval
def _(*operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    if any(aval.shape != operands[0].shape for aval in operands):
        raise TypeError(
            f"Arguments to sort must have equal shapes, got: {' '.join(str(aval.shape) for aval in operands)}"
        )
    return list(operands)


def _comes_first(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Return whether x comes before y, as a bool array. Each pair has a key of x and of y, the most important first."""
    first = None
    for x, y in reversed([part for pair in pairs for part in _parts(*pair)]):
        less = lt_to(x, y)
        first = less if first is None else bitwise_or(less, bitwise_and(eq_to(x, y), first))
    return first


def _parts(x: Any, y: Any) -> list[tuple[Any, Any]]:
    """Return the pairs to compare with `<`, the most important first: for complex keys the real parts, then the
    imaginary parts; for floats the keys with all zeros made equal, and all nans; for other dtypes the keys.
    """
    if is_a(x.dtype, np.complexfloating):
        return [(_canonical(real(x)), _canonical(real(y))), (_canonical(imag(x)), _canonical(imag(y)))]
    return [(_canonical(x), _canonical(y))] if is_a(x.dtype, np.floating) else [(x, y)]


def _canonical(x: Any) -> Any:
    """Return the floats with all zeros made equal, and all nans: XLA's total order distinguishes them."""
    zero, nan = (scalar_like(x, value) for value in (0, np.nan))
    return select(ne(x, x), nan, select(eq(x, zero), zero, x))


@register_lowering(sort_p)
def _(ctx: LoweringContext, *operands: str, dimension: int, is_stable: bool, num_keys: int) -> list[str]:
    scalars = [ShapedArray((), aval.dtype) for aval in ctx.avals_in for _ in ("x", "y")]
    predicate = ShapedArray((), np.bool_)

    def comparator(*names: str) -> list[tuple[str, Any]]:
        def compare(*args: Any) -> list[Any]:
            return [_comes_first([(args[2 * i], args[2 * i + 1]) for i in range(num_keys)])]

        return [(inline_function(ctx, compare, names, scalars)[0], predicate)]

    types = ", ".join(map(type_of, ctx.avals_out))
    return ctx.emit_regions(
        f'"stablehlo.sort"({", ".join(operands)}) '
        f"<{{dimension = {dimension} : i64, is_stable = {str(bool(is_stable)).lower()}}}>",
        [(scalars, comparator)],
        f"({types}) -> ({types})",
        len(operands),
    )


def along_axis(axis: int, others: tuple[int, ...]) -> GatherDimensionNumbers:
    """Return the dimension numbers of a gather that takes, for each index, one element along the axis; the others are batch axes."""
    return GatherDimensionNumbers((), (axis,), (axis,), others, others)


def _jvp_sort(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[Sequence[Any], list[Any]]:
    """JVP rule: sort the elements' positions together with the operands, and gather the tangents at these positions."""
    shape = primals[0].shape
    index_dtype = np.uint32 if builtins.max(shape, default=0) <= np.iinfo(np.uint32).max else np.uint64
    *outs, places = sort_p.bind(
        *primals,
        broadcasted_iota(index_dtype, shape, dimension),
        dimension=dimension,
        is_stable=is_stable,
        num_keys=num_keys,
    )
    ones = (1,) * len(shape)
    axes = along_axis(dimension, tuple(np.delete(np.arange(len(shape)), dimension)))
    places = expand_dims(places, (len(shape),))
    return outs, [t if type(t) is Zero else gather(t, places, axes, ones) for t in tangents]


primitive_jvps[sort_p] = _jvp_sort


@register_batcher(sort_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, dimension: int, **params: Any) -> Any:
    to = next(dim for dim in dims if dim is not None)
    shape = next(x.shape for x, dim in zip(vals, dims, strict=True) if dim is not None)
    others = [i for i in range(len(shape)) if i != to]
    operands = [
        broadcast_in_dim(x, shape, others) if dim is None else moveaxis(x, dim, to)
        for x, dim in zip(vals, dims, strict=True)
    ]
    return sort_p.bind(*operands, dimension=shifted([dimension], to)[0], **params), [to] * len(operands)


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort an array along an axis; or several of one shape together, by the first `num_keys` of them.

    Args:
      operand: an array, or a sequence of arrays of one shape and any dtypes.
      dimension: the axis.
      is_stable: whether equal keys stay in their order.
      num_keys: how many of the arrays are keys, the most important first.

    Returns:
      The sorted array, or a tuple of the sorted arrays.

    Raises:
      TypeError: for no array, or arrays of different shapes.
      ValueError: for an axis or a number of keys out of range.
    """
    if isinstance(operand, Sequence):
        if len(operand) == 0:
            raise TypeError("Sort requires at least one operand")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(f"{num_keys=} must be between 1 and {len(operand)=}")
        dimension = canonicalize_axis(dimension, len(operand[0].shape))
        return tuple(sort_p.bind(*operand, dimension=dimension, is_stable=is_stable, num_keys=num_keys))
    if num_keys != 1:
        raise ValueError(f"{num_keys=} must equal 1 for a single operand.")
    dimension = canonicalize_axis(dimension, len(operand.shape))
    return sort_p.bind(operand, dimension=dimension, is_stable=is_stable, num_keys=1)[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Return `keys`, sorted along an axis, and `values` of the same shape, moved with them. With an iota as `values`
    this is an argsort. If `is_stable`, equal keys keep their order.
    """
    dimension = canonicalize_axis(dimension, len(keys.shape))
    sorted_keys, moved_values = sort_p.bind(keys, values, dimension=dimension, is_stable=is_stable, num_keys=1)
    return sorted_keys, moved_values


# --- top_k --------------------------------------------------------------------------------------------------

top_k_p = Primitive("top_k", multiple_results=True)
pp_eqn_rules[top_k_p] = show_params_since(0, 11, is_stable=True)


@top_k_p.def_abstract_eval
def _(operand: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if dtypes.issubdtype(operand.dtype, np.complexfloating):
        raise ValueError("top_k is not compatible with complex inputs.")
    shape = list(operand.shape)
    if shape[axis] < k:
        raise ValueError(
            f"k argument to top_k must be no larger than size along axis; got {k=} with {shape=} and {axis=}{edits.TOO_LARGE_K}"
        )
    int32_max = np.iinfo(np.int32).max
    if shape[axis] > int32_max + 1:
        raise ValueError(
            "top_k returns int32 indices, which will overflow for array dimensions larger than the maximum int32 "
            f"({int32_max}). Got operand.shape={operand.shape}"
        )
    shape[axis] = k
    return [operand.update(shape=shape), operand.update(shape=shape, dtype=np.int32)]


@register_lowering(top_k_p)
def _(ctx: LoweringContext, x: str, *, k: int, axis: int) -> list[str]:
    """Lowering rule: write CHLO's `top_k`, which works on the last axis: any other axis is swapped with it before and after."""
    [aval] = ctx.avals_in
    order = list(range(aval.ndim))
    order[axis], order[-1] = order[-1], order[axis]

    def swapped(value: ShapedArray) -> ShapedArray:
        return value.update(shape=[value.shape[i] for i in order])

    def swap(name: str, before: ShapedArray, after: ShapedArray) -> str:
        if axis == aval.ndim - 1:
            return name
        return ctx.emit_op(f"stablehlo.transpose {name}, dims = {order}", [before], after)

    operand_type, result_types = swapped(aval), [swapped(out) for out in ctx.avals_out]
    x = swap(x, aval, operand_type)
    text = f"chlo.top_k({x}, k = {k}) : {type_of(operand_type)} -> ({', '.join(map(type_of, result_types))})"
    found = ctx.emit_text(text, results=2)
    return [swap(f"{found}#{i}", result_types[i], ctx.avals_out[i]) for i in range(2)]


def _jvp_top_k(primals: Sequence[Any], tangents: Sequence[Any], *, k: int, axis: int) -> tuple[Any, Any]:
    values, places = top_k(primals[0], k, axis=axis)
    rank = places.ndim
    axes = along_axis(axis, tuple(i for i in range(rank) if i != axis))
    taken = gather(tangents[0], reshape(places, (*places.shape, 1)), axes, (1,) * rank)
    return (values, places), (taken, zero_tangent(places))


primitive_jvps[top_k_p] = _jvp_top_k


@register_batcher(top_k_p)
def _(batch: AxisData, vals: Vals, dims: Sequence[int], *, k: int, axis: int) -> Any:
    return top_k(vals[0], k, axis=shifted([axis], dims[0])[0]), [dims[0]] * 2


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """Return the `k` greatest elements along an axis, in descending order, and their indices (int32). Among equals, the
    first come first; a nan is greater than everything.

    Raises:
      ValueError: for a negative k, or one beyond the size of the axis; for an axis out of range; for complex numbers.
      TypeError: for a k that is not an integer, or is traced.
    """
    if hasattr(k, "__index__") and not isinstance(k, Tracer):  # also for an array, which a trace would make a tracer
        k = operator.index(k)
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    axis = canonicalize_axis(axis, np.ndim(operand))
    shape = list(np.shape(operand))
    shape[axis] = k
    k = canonicalize_shape(shape)[axis]
    found: list[Any] = top_k_p.bind(operand, k=k, axis=axis)
    return found
