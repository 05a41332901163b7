"""gather: reads many windows of one array, at positions that may be traced. Indexing by integer arrays uses it.

The last axis of the indices is an *index vector*: its entry i says where the window starts along the operand's axis
`start_index_map[i]`; windows start at 0 along the other axes. All windows have the size `slice_sizes`. In the result,
the other axes of the indices select the window, and the axes `offset_dims` the position in it; `collapsed_slice_dims`
leaves out axes of size 1 of the windows. Operand and indices may also share batch axes (`operand_batching_dims`).

For `x[i]` with x of shape (n, m) and i of shape (k): offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,),
slice_sizes=(1, m).

JAX: jax/_src/lax/slicing.py:_gather_shape_rule
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import edits
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher, shifted, shifted_by_numpy
from ..interpreters.mlir import LoweringContext, register_lowering
from .convert import convert_element_type
from .creation import full_like
from .elementwise import bitwise_and, ge, le
from .index_checks import AxisChecks, GatherScatterMode, dimension_list
from .joining import concatenate
from .reducers import inline_function, integer_array
from .reduction import reduce_and
from .selection import select
from .shaping import broadcast_in_dim, expand_dims
from .utils import canonicalize_shape


class GatherDimensionNumbers(NamedTuple):
    """Says which axes of operand, indices and result correspond in a gather; see the module's text. `offset_dims`,
    `collapsed_slice_dims` and `operand_batching_dims` ascend.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


gather_p = Primitive("gather")

# --- shape rule ---------------------------------------------------------------------------------------------


@gather_p.def_abstract_eval
def _(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> ShapedArray:
    _check_axes(operand, indices, dimension_numbers)
    _check_window(operand, indices, dimension_numbers, slice_sizes)
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"indices must have an integer type{edits.INTEGER_INDICES}")
    offset_dims, collapsed, _, batching, _ = dimension_numbers
    window = iter([size for axis, size in enumerate(slice_sizes) if axis not in collapsed and axis not in batching])
    which = iter(indices.shape[:-1])
    rank = len(offset_dims) + indices.ndim - 1
    return operand.update(shape=[next(window) if axis in offset_dims else next(which) for axis in range(rank)])


def _check_axes(operand: ShapedArray, indices: ShapedArray, dnums: GatherDimensionNumbers) -> None:
    check = AxisChecks("gather")
    vector_axis = indices.ndim - 1
    if vector_axis < 0:
        raise TypeError(
            "Gather index leaf dimension must be within [0, rank(indices) + 1). "
            f"rank(indices) is {indices.ndim} and gather index leaf dimension is {vector_axis}."
        )
    check.sorted("offset_dims", dnums.offset_dims)
    check.distinct("offset_dims", dnums.offset_dims)
    rank = len(dnums.offset_dims) + indices.ndim - 1
    for i, axis in enumerate(dnums.offset_dims):
        if not 0 <= axis < rank:
            raise TypeError(
                f"Offset dimension {i} in gather op is out of bounds; got {axis}, but should have been in [0, {rank})"
            )
    if len(dnums.start_index_map) != indices.shape[-1]:
        raise TypeError(
            f"Gather op has {len(dnums.start_index_map)} elements in start_index_map and the bound of dimension "
            f"index_vector_dim={vector_axis} of indices is {indices.shape[-1]}. These two numbers must be equal."
        )
    for i, axis in enumerate(dnums.start_index_map):
        if not 0 <= axis < operand.ndim:
            raise TypeError(f"Invalid start_index_map; domain is [0, {operand.ndim}), got: {i}->{axis}.")
    check.distinct("start_index_map", dnums.start_index_map)
    check.ascending("collapsed_slice_dims", dnums.collapsed_slice_dims, operand.ndim)
    check.ascending("operand_batching_dims", dnums.operand_batching_dims, operand.ndim)
    for name in ("collapsed_slice_dims", "start_index_map"):
        check.disjoint(name, getattr(dnums, name), "operand_batching_dims", dnums.operand_batching_dims)
    check.batching(
        operand, indices, dnums.operand_batching_dims, "start_indices_batching_dims", dnums.start_indices_batching_dims
    )


def _check_window(
    operand: ShapedArray, indices: ShapedArray, dnums: GatherDimensionNumbers, slice_sizes: tuple[int, ...]
) -> None:
    offset_dims, collapsed, _, batching, _ = dnums
    if operand.ndim != len(slice_sizes):
        raise TypeError(
            "Gather op must have one slice size for every input dimension; "
            f"got: len(slice_sizes)={len(slice_sizes)}, input_shape.rank={operand.ndim}"
        )
    if len(slice_sizes) != len(offset_dims) + len(collapsed) + len(batching):
        raise TypeError(
            "All components of the offset index in a gather op must either be a offset dimension or explicitly "
            f"collapsed/batching; got len(slice_sizes)={len(slice_sizes)}, output_slice_sizes={offset_dims}, "
            f"collapsed_slice_dims={collapsed}, operand_batching_dims={batching}."
        )
    for i, (window, size) in enumerate(zip(slice_sizes, operand.shape, strict=True)):
        if indices.size and not 0 <= window <= size:
            raise TypeError(
                f"Slice size at index {i} in gather op is out of range, must be within [0, {size} + 1), got {window}."
            )
    for i, axis in enumerate(collapsed):
        if slice_sizes[axis] != 1:
            raise TypeError(
                "Gather op can only collapse slice dims with bound 1, "
                f"but bound is {slice_sizes[axis]} for index {axis} at position {i}."
            )
    for i, axis in enumerate(batching):
        if slice_sizes[axis] > 1:
            raise TypeError(
                "Gather op can only have operand batching dims with bound 0/1, "
                f"but bound is {slice_sizes[axis]} for index {axis} at position {i}."
            )


# --- lowering -----------------------------------------------------------------------------------------------


@register_lowering(gather_p)
def _(ctx: LoweringContext, operand: str, indices: str, **params: Any) -> str:
    if params["mode"] is GatherScatterMode.FILL_OR_DROP:
        [filled] = inline_function(ctx, functools.partial(_gather_and_fill, **params), [operand, indices], ctx.avals_in)
        return filled
    [out] = ctx.avals_out
    if out.size == 0:
        return ctx.splat(0, out)
    dnums: GatherDimensionNumbers = params["dimension_numbers"]
    axes = dimension_list(
        offset_dims=dnums.offset_dims,
        collapsed_slice_dims=dnums.collapsed_slice_dims,
        operand_batching_dims=dnums.operand_batching_dims,
        start_indices_batching_dims=dnums.start_indices_batching_dims,
        start_index_map=dnums.start_index_map,
    )
    vector_axis = f"index_vector_dim = {ctx.avals_in[1].ndim - 1}"
    text = (
        f'"stablehlo.gather"({operand}, {indices}) <{{'
        f"dimension_numbers = #stablehlo.gather<{', '.join(filter(None, [axes, vector_axis]))}>, "
        f"indices_are_sorted = {str(params['indices_are_sorted']).lower()}, "
        f"slice_sizes = {integer_array(params['slice_sizes'])}}}>"
    )
    return ctx.emit_op(text, ctx.avals_in, out)


def _gather_and_fill(
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    fill_value: Any,
    **params: Any,
) -> list[Any]:
    """Return `[windows]`; a window that is not completely in bounds is filled with `fill_value`. Indices are converted
    to int32 first (int64 if an axis needs it): one that is too large for that dtype has wrapped around.
    """
    index_dtype = np.dtype(np.int32 if max(operand.shape, default=0) <= np.iinfo(np.int32).max else np.int64)
    wide = convert_element_type(indices, index_dtype)
    last = np.subtract(operand.shape, slice_sizes)[list(dimension_numbers.start_index_map)].astype(index_dtype)
    vector_axis = indices.ndim - 1
    in_bounds = bitwise_and(ge(wide, index_dtype.type(0)), le(wide, last.reshape((1,) * vector_axis + last.shape)))
    windows = gather(operand, wide, dimension_numbers, slice_sizes, indices_are_sorted=indices_are_sorted)
    which_axes = tuple(axis for axis in range(windows.ndim) if axis not in dimension_numbers.offset_dims)
    valid = broadcast_in_dim(reduce_and(in_bounds, [vector_axis]), windows.shape, which_axes)
    return [select(valid, windows, full_like(windows, fill_value))]


# --- batching -----------------------------------------------------------------------------------------------


@register_batcher(gather_p)
def batch_gather(
    axis: AxisData, vals: Vals, dims: Dims, *, dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...], unique_indices: bool, indices_are_sorted: bool, **params: Any,
) -> Any:  # fmt: skip
    """Batching rule of gathers. For a batch of arrays, the window gets the whole batch axis; for a batch of indices
    there are more windows; for both, the two axes become batching dimensions.
    """
    (operand, indices), (dim, indices_dim) = vals, dims
    offset_dims, collapsed, index_map, batching, indices_batching = dimension_numbers
    offset_dims = tuple(shifted(offset_dims, 0)) if dim is None else shifted_by_numpy(offset_dims, 0)
    if dim is not None:
        operand = moveaxis(operand, dim, 0)
        collapsed, index_map, batching = (shifted_by_numpy(a, 0) for a in (collapsed, index_map, batching))
    if indices_dim is not None:
        indices, indices_batching = moveaxis(indices, indices_dim, 0), shifted_by_numpy(indices_batching, 0)
    if indices_dim is None:
        offset_dims, slice_sizes = (0, *offset_dims), (axis.size, *slice_sizes)
    elif dim is None:
        unique_indices = indices_are_sorted = False
    else:
        batching, indices_batching = (0, *batching), (0, *indices_batching)
        slice_sizes = (min(axis.size, 1), *slice_sizes)
    numbers = GatherDimensionNumbers(offset_dims, collapsed, index_map, batching, indices_batching)
    out = gather(
        operand, indices, numbers, slice_sizes,
        unique_indices=unique_indices, indices_are_sorted=indices_are_sorted, **params,
    )  # fmt: skip
    return out, 0


# --- public function ----------------------------------------------------------------------------------------


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Any:
    """Return windows of `operand` at positions that are data. Most programs write `x[indices]` or
    `x.at[indices].get(...)`.

    Args:
      operand: an array.
      start_indices: integers; the last axis is the index vector.
      dimension_numbers: which axes correspond.
      slice_sizes: the size of each window, along each axis of the operand.
      unique_indices, indices_are_sorted: promises that may make it faster.
      mode: for indices out of bounds, see `GatherScatterMode`; by default they are promised not to occur.
      fill_value: the value of windows out of bounds in the mode "fill"; by default nan, the least signed or greatest
        unsigned integer, or True.

    Raises:
      TypeError: dimension numbers, sizes and shapes do not fit together.
      ValueError: the indices are not integers, or the mode is unknown.
    """
    parsed = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if parsed is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = _default_fill_value(dtypes.dtype(operand))
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=canonicalize_shape(slice_sizes),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed,
        fill_value=fill_value,
    )


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Return the slices of `src` at the positions `idxs`, modulo the sizes: element i is `src[..., idxs[0][i],
    idxs[1][i], ...]`.

    Args:
      src: an array.
      idxs: vectors of integers of one length, one for each of `axes`.
      axes: of `src`, ascending. In the result a new first axis replaces them.

    Raises:
      TypeError: the axes are not ascending, or the vectors differ in length.
      ValueError: there are no vectors, or they are not integers.
    """
    indices = concatenate([expand_dims(i, (1,)) for i in idxs], 1)
    sizes = expand_dims(np.array([src.shape[axis] for axis in axes]), tuple(range(indices.ndim - 1)))
    return gather(
        src,
        indices % sizes,
        GatherDimensionNumbers(tuple(range(1, src.ndim - indices.shape[1] + 1)), tuple(axes), tuple(axes)),
        tuple(1 if axis in axes else size for axis, size in enumerate(src.shape)),
    )


def _default_fill_value(dtype: Any) -> Any:
    if isinstance(dtype, dtypes.ExtendedDType):
        dtype = dtype.physical_dtype
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.integer):
        return dtypes.iinfo(dtype).min or dtypes.iinfo(dtype).max
    if dtype != np.bool_:
        raise ValueError(f"Unsupported dtype for gather fill_value {dtype}")
    return True
