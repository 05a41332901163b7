"""Cuts out slices whose start and size are known while tracing.

JAX: jax/_src/lax/slicing.py:slice
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .. import core
from ..base import config
from ..base.late_rooms import Slots
from ..core import Primitive, ShapedArray, tracer
from ..interpreters.batching import AxisData, Vals, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..runtime.array import Array
from .shaping import squeeze
from .utils import check_shapelike

# --- slice: a window known while tracing --------------------------------------------------------------------

slice_p = Primitive("slice")


class _Sliding(Slots):
    """Slot for the primitive of `dynamic_slicing`, by which eager slices are computed."""

    dynamic_slice_p: Primitive


sliding = _Sliding()


@slice_p.def_abstract_eval
def _(
    operand: ShapedArray, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None
) -> ShapedArray:
    check_shapelike("slice", "start_indices", start_indices)
    check_shapelike("slice", "limit_indices", limit_indices)
    if operand.ndim != len(start_indices):
        raise TypeError(
            "slice start_indices must have length equal to the number of dimensions of the operand, "
            f"got indices {start_indices} for operand shape {operand.shape}."
        )
    if len(start_indices) != len(limit_indices):
        raise TypeError(
            "slice limit_indices must have the same length as start_indices, "
            f"got start_indices {start_indices} and limit_indices {limit_indices}."
        )
    if any(limit > size for limit, size in zip(limit_indices, operand.shape, strict=True)):
        raise TypeError(
            "slice limit_indices must be less than or equal to operand shape, "
            f"got limit_indices {limit_indices} for operand shape {operand.shape}."
        )
    if any(start > limit for start, limit in zip(start_indices, limit_indices, strict=True)):
        raise TypeError(
            "slice limit_indices must be greater than or equal to start_indices, "
            f"got start_indices {start_indices} and limit_indices {limit_indices}."
        )
    shape = [limit - start for start, limit in zip(start_indices, limit_indices, strict=True)]
    if strides is not None:
        check_shapelike("slice", "strides", strides)
        if len(strides) != operand.ndim:
            raise TypeError(
                "slice strides must have length equal to the number of dimensions of the operand, "
                f"got strides {strides} for operand shape {operand.shape}."
            )
        shape = [(size - 1) // stride + 1 if size else 0 for size, stride in zip(shape, strides, strict=True)]
    return operand.update(shape=shape)


@register_lowering(slice_p)
def _(
    ctx: LoweringContext,
    x: str,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
) -> str:
    steps = strides or [1] * len(start_indices)
    windows = [
        f"{start}:{limit}:{step}" for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
    ]
    return ctx.emit_op(f"stablehlo.slice {x} [{', '.join(windows)}]", ctx.avals_in, ctx.avals_out[0])


@register_batcher(slice_p)
def _(axis: AxisData, vals: Vals, dims: Sequence[int], *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    [x], [dim] = vals, dims
    starts = (*start_indices[:dim], 0, *start_indices[dim:])
    limits = (*limit_indices[:dim], axis.size, *limit_indices[dim:])
    steps = None if strides is None else (*strides[:dim], 1, *strides[dim:])
    return slice(x, starts, limits, steps), dim


def _known(indices: Sequence[Any]) -> tuple[Any, ...]:
    """Return indices, with Arrays among them converted to ints."""
    return tuple(operator.index(i) if type(i) is Array else i for i in indices)


def slice(
    operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """Return the elements from `start_indices` to before `limit_indices`, along each axis every `strides`-th. Nothing
    is clamped.

    Raises:
      TypeError: indices or strides are not one per axis or are negative, or the indices do not lie within the array in order.
    """
    starts, limits = _known(start_indices), _known(limit_indices)
    checks_keys = config.local.state.options.debug_key_reuse  # the check of keys must see which part is taken
    if strides is None and core.trace_state_clean() and core.is_array_type(type(operand)) and not checks_keys:
        # An eager slice runs the program whose start is data: one program for all starts.
        shape = slice_p.abstract_eval(
            core.get_aval(operand), start_indices=starts, limit_indices=limits, strides=None
        ).shape
        return sliding.dynamic_slice_p.bind(operand, *starts, slice_sizes=shape)
    return slice_p.bind(
        operand, start_indices=starts, limit_indices=limits, strides=None if strides is None else tuple(strides)
    )


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """Return `operand[start_index:limit_index:stride]` along one axis. Negative indices count from the end; nothing is clamped."""
    start_indices, limit_indices, strides = [0] * operand.ndim, list(operand.shape), [1] * operand.ndim
    size = operand.shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = size if limit_index is None else operator.index(limit_index)
    axis = int(axis)
    start_indices[axis] = start + size if start < 0 else start
    limit_indices[axis] = limit + size if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return slice(operand, start_indices, limit_indices, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """Return `operand[index]` along one axis, which stays with size 1 or, without `keepdims`, is removed. Raise
    IndexError for an index out of bounds.
    """
    index, axis = operator.index(index), int(axis)
    size = operand.shape[axis]
    from_start = index + size if index < 0 else index
    if not 0 <= from_start < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    result = slice_in_dim(operand, from_start, from_start + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


tracer.unstacking.index_in_dim = index_in_dim
