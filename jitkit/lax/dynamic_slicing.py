"""Reads and writes slices whose start is data: dynamic_slice and dynamic_update_slice.

The *size* of a window is known while tracing: a compiled program has only arrays of fixed shape. XLA silently moves the
start back as far as needed for the window to fit. Negative indices count from the end, as in Python; that is done here,
with a comparison and a select for each axis.

JAX: jax/_src/lax/slicing.py:dynamic_slice
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import edits
from ..base.jax_version import since
from ..base.util import safe_map
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import (
    Zero,
    instantiate_zeros,
    is_undefined,
    no_cotangents,
    primitive_jvps,
    primitive_transposes,
)
from ..interpreters.batching import AxisData, Dim, Dims, Vals, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..pjit.jit import jit
from .convert import convert_element_type
from .creation import full, full_like
from .elementwise import add, lt
from .gathering import GatherDimensionNumbers, batch_gather
from .index_checks import GatherScatterMode
from .joining import concatenate, unstack
from .scattering import ScatterDimensionNumbers, batch_scatter, scatter_p
from .selection import select
from .shaping import broadcast, broadcast_in_dim, expand_dims, squeeze
from .slicing import index_in_dim, sliding
from .utils import canonicalize_shape, check_same_dtypes

# --- dynamic_slice: a window whose corner is data, and whose size is not ------------------------------------

dynamic_slice_p = sliding.dynamic_slice_p = Primitive("dynamic_slice")


@dynamic_slice_p.def_abstract_eval
def _(operand: ShapedArray, *start_indices: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    if not all(safe_map(operator.ge, operand.shape, slice_sizes)):
        raise TypeError(
            "slice slice_sizes must be less than or equal to operand shape, "
            f"got slice_sizes {slice_sizes} for operand shape {operand.shape}.{edits.WINDOW}"
        )
    if any(size < 0 for size in slice_sizes):
        raise TypeError(f"slice slice_sizes must be greater than or equal to zero, got slice_sizes of {slice_sizes}.")
    if any(index.ndim != 0 for index in start_indices):
        raise TypeError(f"start_indices arguments to dynamic_slice must be scalars,  got indices {start_indices}")
    _check_index_dtypes("dynamic_slice", "the same type, got:", start_indices)
    return operand.update(shape=slice_sizes)


def _check_index_dtypes(name: str, what: str, start_indices: Sequence[ShapedArray]) -> None:
    names = [index.dtype.name for index in start_indices]
    if len(set(names)) > 1 or not all(dtypes.issubdtype(index.dtype, np.integer) for index in start_indices):
        raise TypeError(f"index arguments to {name} must be integers of {what} {', '.join(names)}")


@register_lowering(dynamic_slice_p)
def _(ctx: LoweringContext, x: str, *start_indices: str, slice_sizes: tuple[int, ...]) -> str:
    operands = ", ".join([x, *start_indices])
    return ctx.emit_op(
        f"stablehlo.dynamic_slice {operands}, sizes = {list(slice_sizes)}", ctx.avals_in, ctx.avals_out[0]
    )


def _jvp_dynamic_slice(
    primals: Sequence[Any], tangents: Sequence[Any], *, slice_sizes: tuple[int, ...]
) -> tuple[Any, Any]:
    (operand, *corner), t = primals, tangents[0]
    of_tangent = dynamic_slice_p.bind(t, *corner, slice_sizes=slice_sizes)
    return dynamic_slice_p.bind(operand, *corner, slice_sizes=slice_sizes), of_tangent


def _transpose_dynamic_slice(ct: Any, operand: Any, *corner: Any, slice_sizes: tuple[int, ...]) -> list[Any]:
    """Transpose rule: write the window's cotangent into zeros."""
    if type(ct) is Zero:
        return no_cotangents((operand, *corner))
    zeros = full(operand.aval.shape, 0, operand.aval.dtype)
    return [dynamic_update_slice_p.bind(zeros, ct, *corner), *[None] * len(corner)]


primitive_jvps[dynamic_slice_p] = _jvp_dynamic_slice
primitive_transposes[dynamic_slice_p] = _transpose_dynamic_slice


@register_batcher(dynamic_slice_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, slice_sizes: tuple[int, ...]) -> Any:
    """Batching rule: gather a window for each element, each from its own corner."""
    (x, *corner), (dim, *corner_dims) = vals, dims
    axes = tuple(range(len(corner)))
    indices, indices_dim = _index_vectors(axis, corner, corner_dims)
    return batch_gather(
        axis, [x, indices], [dim, indices_dim],
        dimension_numbers=GatherDimensionNumbers(offset_dims=axes, collapsed_slice_dims=(), start_index_map=axes),
        slice_sizes=slice_sizes, unique_indices=True, indices_are_sorted=True, mode=GatherScatterMode.CLIP,
        fill_value=None,
    )  # fmt: skip


def _index_vectors(axis: AxisData, corner: Sequence[Any], dims: Dims) -> tuple[Any, Dim]:
    """Return the corner's indices as an index vector, and None; or, if an index is a batch, an index vector for each
    element, and the batch axis 0.
    """
    if not corner:
        return np.array([], "int32"), None
    if all(dim is None for dim in dims):
        return concatenate([broadcast(index, (1,)) for index in corner], 0), None
    columns = [
        broadcast_in_dim(index, (axis.size, 1), () if dim is None else (0,))
        for index, dim in zip(corner, dims, strict=True)
    ]
    return concatenate(columns, 1), 0


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """Return a window of `operand`, from a corner that may be traced. A window that would stick out is moved until it
    fits.

    Args:
      operand: an array.
      start_indices: the corner: one scalar per axis, or an array of them; integers of one dtype.
      slice_sizes: the size of the window along each axis, known while tracing.
      allow_negative_indices: whether a negative index counts from the end; one bool, or one per axis.

    Returns:
      An array of shape `slice_sizes`.

    Raises:
      TypeError: for a window larger than the array, or indices that are not integer scalars of one dtype.
      ValueError: for a corner without one index per axis, or an index known to be negative that may not be.
    """
    starts = _corner(operand, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=canonicalize_shape(slice_sizes))


def _corner(operand: Any, start_indices: Any, allow_negative_indices: bool | Sequence[bool]) -> list[Any]:
    """Return the indices of a corner, counted from the start; negative ones, where allowed, are given from the end.
    Raise ValueError unless there is one for each axis, and for an index known to be negative that may not be.
    """
    if len(start_indices) != operand.ndim:
        raise ValueError(
            f"Length of slice indices must match number of operand dimensions ({len(start_indices)} vs {operand.shape})"
            f"{edits.HOW_MANY_STARTS}"
        )
    if not isinstance(start_indices, Sequence):
        if start_indices.ndim != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {start_indices.shape}")
        if isinstance(start_indices, np.ndarray):
            start_indices = list(start_indices)
        elif since(0, 11):
            start_indices = unstack(start_indices)
        else:
            start_indices = [index_in_dim(start_indices, i, keepdims=False) for i in range(operand.ndim)]
    if isinstance(allow_negative_indices, bool):
        allow_negative_indices = [allow_negative_indices] * operand.ndim
    return [_from_start(*each) for each in zip(start_indices, operand.shape, allow_negative_indices, strict=True)]


def _from_start(index: Any, size: int, allow_negative: bool) -> Any:
    dtype = dtypes.dtype(index)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return index
    if isinstance(index, (int, np.integer)):
        if index < 0 and not allow_negative:
            raise ValueError(f"Index {index} is out of bounds for dimension {size} if allow_negative_indices=False")
        return np.asarray(index + size if index < 0 else index).astype(dtype)[()]
    if not allow_negative:
        return index
    negative = index < 0 if isinstance(index, np.ndarray) else lt(index, np.zeros((), dtype)[()])
    return select(negative, add(convert_element_type(index, dtype), np.asarray(size).astype(dtype)[()]), index)


def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Any:
    """Return `operand[start_index:start_index + slice_size]` along one axis, moved until it fits. For
    `allow_negative_indices` and errors see `dynamic_slice`.
    """
    axis = int(axis)
    starts, allow_negative = _corner_in_dim(operand, start_index, axis, allow_negative_indices)
    sizes = list(operand.shape)
    sizes[axis] = operator.index(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative)


def _corner_in_dim(operand: Any, start_index: Any, axis: int, allow_negative: bool) -> tuple[list[Any], list[bool]]:
    """Return a corner that is 0 along all axes but one, and for each axis whether negative indices are allowed."""
    starts = [np.zeros((), dtypes.dtype(start_index))[()]] * operand.ndim
    allowed = [False] * operand.ndim
    starts[axis], allowed[axis] = start_index, allow_negative
    return starts, allowed


@functools.partial(jit, static_argnames=("axis", "keepdims", "allow_negative_indices"))
def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Any:
    """Return `operand[index]` along one axis, which stays with size 1 or, without `keepdims`, is removed. An index out
    of bounds is moved to the nearest element. For `allow_negative_indices` and errors see `dynamic_slice`.
    """
    result = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return result if keepdims else squeeze(result, (axis,))


# --- dynamic_update_slice: writing such a window ------------------------------------------------------------

dynamic_update_slice_p = Primitive("dynamic_update_slice")


@dynamic_update_slice_p.def_abstract_eval
def _(operand: ShapedArray, update: ShapedArray, *start_indices: ShapedArray) -> ShapedArray:
    if operand.ndim != update.ndim:
        raise TypeError(
            "dynamic_update_slice update must have the same rank as operand, "
            f"got update shape {update.shape} for operand shape {operand.shape}."
        )
    if operand.ndim != len(start_indices):
        raise TypeError(
            "dynamic_update_slice start_indices must have length equal to the rank of operand, "
            f"got indices {start_indices} for operand shape {operand.shape}."
        )
    if any(ours > size for ours, size in zip(update.shape, operand.shape, strict=True)):
        raise TypeError(
            "dynamic_update_slice update shape must be smaller than operand shape, "
            f"got update shape {update.shape} for operand shape {operand.shape}."
        )
    if any(index.ndim != 0 for index in start_indices):
        raise TypeError(f"start_indices arguments to dynamic_update_slice must be scalars, got indices {start_indices}")
    check_same_dtypes("dynamic_update_slice", operand, update)
    _check_index_dtypes("dynamic_update_slice", "the same type, got", start_indices)
    return operand.update(weak_type=all(aval.weak_type for aval in (operand, update, *start_indices)))


@register_lowering(dynamic_update_slice_p)
def _(ctx: LoweringContext, x: str, update: str, *start_indices: str) -> str:
    operands = ", ".join([x, update, *start_indices])
    return ctx.emit_op(f"stablehlo.dynamic_update_slice {operands}", ctx.avals_in, ctx.avals_out[0])


def _jvp_dynamic_update_slice(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    dots = map(instantiate_zeros, tangents[:2])
    return dynamic_update_slice_p.bind(*primals), dynamic_update_slice_p.bind(*dots, *primals[2:])


def _transpose_dynamic_update_slice(ct: Any, operand: Any, update: Any, *corner: Any) -> list[Any]:
    """Transpose rule: the operand's cotangent is the result's, with zeros in the window; the update's is the window."""
    if type(ct) is Zero:
        return no_cotangents((operand, update, *corner))
    shape = update.aval.shape if is_undefined(update) else update.shape
    zeros = full_like(ct, 0, shape=shape)
    return [
        dynamic_update_slice_p.bind(ct, zeros, *corner) if is_undefined(operand) else None,
        dynamic_slice_p.bind(ct, *corner, slice_sizes=shape) if is_undefined(update) else None,
        *[None] * len(corner),
    ]


primitive_jvps[dynamic_update_slice_p] = _jvp_dynamic_update_slice
primitive_transposes[dynamic_update_slice_p] = _transpose_dynamic_update_slice


@register_batcher(dynamic_update_slice_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    (x, update, *corner), (dim, update_dim, *corner_dims) = vals, dims
    axes = tuple(range(len(corner)))
    indices, indices_dim = _index_vectors(axis, corner, corner_dims)
    return batch_scatter(
        scatter_p, axis, [x, indices, update], [dim, indices_dim, update_dim],
        dimension_numbers=ScatterDimensionNumbers(
            update_window_dims=axes, inserted_window_dims=(), scatter_dims_to_operand_dims=axes
        ),
        indices_are_sorted=True, unique_indices=True, mode=GatherScatterMode.CLIP, update_jaxpr=None, update_consts=(),
    )  # fmt: skip


def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: bool | Sequence[bool] = True
) -> Any:
    """Return `operand` with `update` written over a window of its shape, which is moved until it fits.

    For arguments and errors see `dynamic_slice`. Raise TypeError also if `update` has another rank or dtype, or is
    larger, and ValueError if `start_indices` is an array of more than one axis.
    """
    starts = _corner(operand, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Return `operand` with `update` written along one axis from `start_index` on, moved until it fits. For
    `allow_negative_indices` and errors see `dynamic_update_slice`.
    """
    starts, allow_negative = _corner_in_dim(operand, start_index, int(axis), allow_negative_indices)
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allow_negative)


@functools.partial(jit, static_argnames=("axis", "allow_negative_indices"))
def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Return `operand` with `operand[index]` along one axis replaced by `update`, which may lack this axis. An index
    out of bounds is moved to the nearest element. For `allow_negative_indices` and errors see `dynamic_update_slice`.
    """
    axis = int(axis)
    if np.ndim(update) == np.ndim(operand) - 1:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)
