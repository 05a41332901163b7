"""Computes `x[arrays]` by gather, and `x.at[index].set(y)` by scatter.

`plan` turns the parts of an index into the arguments of gather and scatter: an array of positions, whose last axis says
where a window starts along some axes of x; and how the axes of x, of the positions and of the result correspond. The
rules are numpy's:

- integer arrays broadcast together; ints among them take part if there is an array with axes;
- their common axes replace the axes that they consume if these are adjacent, and otherwise come first in the result;
- a slice with a step of 1 is a window; with another step it is its own index array, and the result is reversed when the
  step is negative.

JAX: jax/_src/numpy/indexing.py:_index_to_gather
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import core, lax
from ..base import edits, errors, traceback_util
from ..core import dtypes
from ..lax.gathering import GatherDimensionNumbers
from ..lax.scattering import ScatterDimensionNumbers
from .creation import asarray
from .index_parts import Kind, Part, expand_ellipsis, expand_masks, index_dtype, is_known_slice, parse, slice_indices
from .promotion import _broadcast_arrays, broadcast_to, promote_dtypes
from .ufuncs import constant


class Plan(NamedTuple):
    """The arguments of gather and scatter for an index."""

    result_shape: tuple[int, ...]  # the shape of x[index], with the axes that None inserts
    window_shape: tuple[int, ...]
    positions: Any
    dimension_numbers: GatherDimensionNumbers
    only_slices: bool  # no index array has axes, so the positions are sorted and unique
    reversed_axes: tuple[int, ...]  # axes of the result, counted without `new_axes`
    new_axes: tuple[int, ...]  # axes of the result that None inserts
    mask_axes: tuple[int, ...]  # axes of size 1, to be inserted into x for `True` and `False` as indices


class _Builder:
    """Collects the plan, part by part."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        # an array of starts, and the axis of `positions` where its own axes begin
        self.positions: list[tuple[Any, int]] = []
        self.position_shape: list[int] = []
        self.start_index_map: list[int] = []
        self.collapsed: list[int] = []
        self.offset_axes: list[int] = []
        self.window_shape: list[int] = []
        self.result_shape: list[int] = []
        self.reversed_axes: list[int] = []
        self.new_axes: list[int] = []
        self.axis_of_x = 0
        self.axis_of_result = 0  # without the new axes

    def index_arrays(self, arrays: Sequence[Any], axes: Sequence[int]) -> None:
        """Add the integer arrays, broadcast together: their common axes are the next ones of the result."""
        arrays = _broadcast_arrays(*arrays)
        shape = arrays[0].shape
        begin = len(self.position_shape)
        self.positions += [(lax.convert_element_type(a, self.dtype), begin) for a in arrays]
        self.position_shape += shape
        self.start_index_map += axes
        self.collapsed += axes
        self.result_shape += shape
        self.axis_of_result += len(shape)

    def skip_index_array(self) -> None:
        """Add an axis that an integer array consumes: its window has one element."""
        self.window_shape.append(1)
        self.axis_of_x += 1

    def scalar(self, index: Any, size: int) -> None:
        """Select one element of an axis; the result lacks this axis. Raise IndexError if the axis has no elements."""
        if size == 0:
            raise IndexError(f"index is out of bounds for axis {self.axis_of_x} with size 0")
        self.positions.append((lax.convert_element_type(index, self.dtype), len(self.position_shape)))
        self.collapsed.append(self.axis_of_x)
        self.start_index_map.append(self.axis_of_x)
        self.skip_index_array()

    def new_axis(self) -> None:
        """Add an axis of size 1, for None."""
        self.new_axes.append(len(self.result_shape))
        self.result_shape.append(1)

    def slice(self, s: slice, size: int) -> None:
        """Select part of an axis."""
        start, stop, step = slice_indices(s, size)
        length = len(range(start, stop, step))
        self.result_shape.append(length)
        if step == 1:
            if length != size:
                self.positions.append((lax.convert_element_type(start, self.dtype), len(self.position_shape)))
                self.start_index_map.append(self.axis_of_x)
            self.window_shape.append(length)
            self.offset_axes.append(self.axis_of_result)
        else:
            indices = self.dtype.type(start) + self.dtype.type(step) * lax.iota(self.dtype, length)
            if step < 0:
                self.reversed_axes.append(self.axis_of_result)
                indices = lax.rev(indices, dimensions=(0,))
            self.positions.append((indices, len(self.position_shape)))
            self.start_index_map.append(self.axis_of_x)
            self.position_shape.append(length)
            self.collapsed.append(self.axis_of_x)
            self.window_shape.append(1)
        self.axis_of_result += 1
        self.axis_of_x += 1

    def position_array(self) -> Any:
        """Return all starts in one array, with the index vector as its last axis."""
        if not self.positions:
            return np.zeros((0,), self.dtype)
        if len(self.positions) == 1:
            [(starts, _)] = self.positions
            return lax.expand_dims(starts, (starts.ndim,))
        shape = (*self.position_shape, 1)
        columns = [
            lax.broadcast_in_dim(starts, shape, tuple(range(i, i + starts.ndim))) for starts, i in self.positions
        ]
        return lax.concatenate(columns, len(shape) - 1)


def plan(parts: list[Part], shape: tuple[int, ...], normalize: bool) -> Plan:
    """Return the plan for an index without masks but `True` and `False`. With `normalize`, negative positions count
    from the end. Raise IndexError for a traced slice, and for a scalar on an axis without elements.
    """
    _check_slices(parts)
    parts = [p._replace(index=asarray(p.index)) if isinstance(p.index, list | tuple) else p for p in parts]
    advanced = [i for i, p in enumerate(parts) if p.kind in (Kind.ARRAY, Kind.INTEGER)]
    side_by_side = all(later - earlier == 1 for earlier, later in itertools.pairwise(advanced))
    parts = expand_ellipsis(parts, len(shape))
    mask_axes = tuple(i for i, p in enumerate(parts) if p.kind is Kind.BOOLEAN)
    parts, shape = _expand_scalar_masks(parts, shape)
    if normalize:
        parts = [_from_start(p, shape) for p in parts]
    together: dict[int, tuple[Any, int]] = {}  # position in the index -> integer array, axis of x
    if any(p.kind is Kind.ARRAY and np.ndim(p.index) > 0 for p in parts):
        axis = 0
        for i, p in enumerate(parts):
            if p.kind in (Kind.ARRAY, Kind.INTEGER):
                together[i] = asarray(p.index), axis
            axis += p.kind is not Kind.NEW_AXIS
    build = _Builder(index_dtype(shape))
    first = min(together) if together and side_by_side else 0
    for i, p in enumerate(parts):
        if together and i == first:
            arrays, axes = zip(*together.values(), strict=True)
            build.index_arrays(arrays, axes)
        if i in together:
            build.skip_index_array()
        elif p.kind in (Kind.ARRAY, Kind.INTEGER):
            build.scalar(p.index, shape[build.axis_of_x])
        elif p.kind is Kind.NEW_AXIS:
            build.new_axis()
        else:
            build.slice(p.index, shape[build.axis_of_x])
    numbers = GatherDimensionNumbers(
        tuple(build.offset_axes), tuple(sorted(build.collapsed)), tuple(build.start_index_map)
    )
    return Plan(
        tuple(build.result_shape),
        tuple(build.window_shape),
        build.position_array(),
        numbers,
        not together,
        tuple(build.reversed_axes),
        tuple(build.new_axes),
        mask_axes,
    )


def _check_slices(parts: list[Part]) -> None:
    for position, p in enumerate(parts):
        if p.kind is Kind.SLICE and not is_known_slice(p.index):
            raise IndexError(
                f"Slice entries must be static integers. Got {p.index} at position {position}\n"
                "The size of a result is part of its type, which must be known while tracing. For a window of known "
                "size at a traced position, use lax.dynamic_slice_in_dim(x, start, size). If the size must vary, "
                "make the argument that decides it static."
            )


def _expand_scalar_masks(parts: list[Part], shape: tuple[int, ...]) -> tuple[list[Part], tuple[int, ...]]:
    """Return the parts and the shape with an axis of size 1 inserted for each `True` or `False`, which take its one element or none."""
    sizes = list(shape)
    expanded = list(parts)
    for i, p in enumerate(parts):
        if p.kind is Kind.BOOLEAN:
            sizes.insert(i, 1)
            expanded[i] = Part(np.arange(int(p.index)), Kind.ARRAY, (i,))
    axis = 0
    for i, p in enumerate(expanded):
        expanded[i] = p._replace(axes=tuple(range(axis, axis + len(p.axes))))
        axis += len(p.axes)
    return expanded, tuple(sizes)


def _from_start(p: Part, shape: tuple[int, ...]) -> Part:
    """Return the part with positions from the start in place of negative ones."""
    if p.kind is Kind.INTEGER:
        return p._replace(index=p.index + shape[p.axes[0]] if p.index < 0 else p.index)
    if p.kind is not Kind.ARRAY:
        return p
    if dtypes.issubdtype(dtypes.dtype(p.index), np.unsignedinteger):
        return p
    size = constant(p.index, shape[p.axes[0]])
    return p._replace(index=lax.select(p.index < 0, lax.add(p.index, size), p.index))


# --- gather ----------------------------------------------------------------------------------------------------------


def gather(
    x: Any,
    parts: list[Part],
    *,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    fill_value: Any,
    normalize_indices: bool,
) -> Any:
    """Return `x[index]` by the primitive `gather`. Raise ValueError for a `fill_value` that is not a scalar,
    ConcretizationTypeError for a traced one.
    """
    how = plan(parts, x.shape, normalize_indices)
    if fill_value is not None:
        if isinstance(fill_value, core.Tracer):
            raise errors.ConcretizationTypeError(fill_value, "fill_value argument to indexed get()")
        if np.ndim(fill_value) != 0:
            raise ValueError("fill_value argument to indexed get() must be a scalar")
        fill_value = fill_value.item() if hasattr(fill_value, "item") else fill_value
    y = lax.expand_dims(x, how.mask_axes) if how.mask_axes else x
    if math.prod(how.result_shape) == 0:
        return lax.full_like(y, 0, shape=how.result_shape)
    if math.prod(how.positions.shape) != 0:
        y = lax.gather(
            y,
            how.positions,
            how.dimension_numbers,
            how.window_shape,
            mode=mode,
            fill_value=fill_value,
            unique_indices=unique_indices or how.only_slices,
            indices_are_sorted=indices_are_sorted or how.only_slices,
        )
    if how.reversed_axes:
        y = lax.rev(y, how.reversed_axes)
    return lax.expand_dims(y, how.new_axes) if how.new_axes else y


# --- scatter ---------------------------------------------------------------------------------------------------------


def _check_update_of_keys(keys: Any, y: Any, scatter: Callable[..., Any]) -> None:
    """Raise TypeError if the update is arithmetic with random keys, or would replace them by values of another dtype."""
    dtype = getattr(y, "dtype", None)
    if dtype != keys.dtype or scatter in (
        lax.scatter_add,
        lax.scatter_sub,
        lax.scatter_mul,
        lax.scatter_min,
        lax.scatter_max,
    ):
        is_known = dtype == keys.dtype or isinstance(y, int)
        first_line = (
            f"Cannot interpret {str(keys.dtype)!r} as a data type"
            if is_known
            else f"Cannot determine dtype of {keys.dtype}"
        )
        raise TypeError(first_line + edits.KEYS_ARE_NOT_NUMBERS)


def scatter_update(
    x: Any,
    index: Any,
    y: Any,
    scatter: Callable[..., Any],
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """Return x, with `y` written to `x[index]` by one of lax's scatter functions, in the dtype of x; warn if `y` cannot
    be cast to it safely. For the options see `IndexUpdateRef`.
    """
    x = asarray(x)
    if isinstance(x.dtype, dtypes.ExtendedDType):
        _check_update_of_keys(x, y, scatter)
    elif (
        isinstance(y, int)
        and dtypes.issubdtype(x.dtype, np.integer)
        and dtypes.iinfo(x.dtype).min <= y <= dtypes.iinfo(x.dtype).max
    ):
        y = asarray(y, dtype=x.dtype)
    y = asarray(y)
    parts = expand_masks(parse(index, x.shape), x.shape)
    dtype, weak_type = x.dtype, x.aval.weak_type
    if not dtypes.safe_to_cast(y, x):
        warnings.warn(
            f"scatter inputs have incompatible types: cannot safely cast value from dtype={y.dtype} to dtype={dtype} with "
            "jax_numpy_dtype_promotion=standard. In future JAX releases this will result in an error.",
            FutureWarning,
            stacklevel=traceback_util.stacklevel(),
        )
    how = plan(parts, x.shape, wrap_negative_indices)
    if math.prod(how.result_shape) == 0:  # nothing to write
        return x
    x, y = promote_dtypes(x, y)
    y = broadcast_to(y, how.result_shape)
    y = lax.squeeze(y, how.new_axes)
    if how.reversed_axes:
        y = lax.rev(y, how.reversed_axes)
    if how.mask_axes:
        x = lax.expand_dims(x, how.mask_axes)
    numbers = ScatterDimensionNumbers(
        how.dimension_numbers.offset_dims,
        how.dimension_numbers.collapsed_slice_dims,
        how.dimension_numbers.start_index_map,
    )
    out = scatter(
        x,
        how.positions,
        y,
        numbers,
        indices_are_sorted=how.only_slices or indices_are_sorted,
        unique_indices=how.only_slices or unique_indices,
        mode=mode,
    )
    if how.mask_axes:
        out = lax.squeeze(out, how.mask_axes)
    return lax._convert_element_type(out, dtype, weak_type)
