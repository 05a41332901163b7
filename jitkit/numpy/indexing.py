"""x[index] -> slice, dynamic_slice or gather

The simplest operation that can do it is chosen, as JAX does, so that jaxprs are equal:

- ints and slices known while tracing: `slice`, then `rev`, `squeeze` and `broadcast_in_dim` for negative steps, ints and None;
- scalars that are data: `dynamic_slice`, a window of known size at a place that is data;
- arrays, or a mode that says what happens out of bounds: `gather` (`index_plan`).

JAX: jax/_src/numpy/indexing.py:rewriting_take
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..lax.index_checks import GatherScatterMode
from ..pjit import jit
from .arithmetic import mod, power
from .creation import asarray, ones_like
from .index_parts import Kind, Part, expand_ellipsis, expand_masks, index_dtype, is_known_slice, parse
from .index_plan import gather, scatter_update
from .ufuncs import constant, divide
from .util import broadcast_shapes, canonicalize_axis, check_arraylike, ensure_arraylikes, where


# --- reading ---------------------------------------------------------------------------------------------------------


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`."""
    return take_index(x, index)


def take_index(x: Any, index: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
               mode: str | GatherScatterMode | None = None, fill_value: Any = None, normalize_indices: bool = True) -> Any:
    """`x[index]`, and `x.at[index].get(...)` with its options. Indices out of bounds are clipped unless `mode` says otherwise."""
    parts = parse(index, x.shape)
    promised = mode is None or GatherScatterMode.from_any(mode) is GatherScatterMode.PROMISE_IN_BOUNDS
    if promised or GatherScatterMode.from_any(mode) is GatherScatterMode.CLIP:
        full = expand_ellipsis(parts, x.ndim)
        if is_static(full, x.shape, promised, normalize_indices):
            return _static_slice(x, full, normalize_indices)
        if _is_window(full, x.shape):
            return _dynamic_slice(x, full, normalize_indices)
    parts = expand_masks(parts, x.shape)
    return gather(x, parts, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode, fill_value=fill_value,
                          normalize_indices=normalize_indices)


def is_static(parts: list[Part], shape: tuple[int, ...], promised: bool, normalize: bool) -> bool:
    """Whether all parts are known now; with `promised`, also whether the ints are in bounds."""
    for part in parts:
        if part.kind is Kind.INTEGER:
            size = shape[part.axes[0]]
            in_bounds = (-size if normalize else 0) <= part.index < size
            if size == 0 or (promised and not in_bounds):
                return False
        elif part.kind is Kind.SLICE:
            if not is_known_slice(part.index):
                return False
        elif part.kind is not Kind.NEW_AXIS:
            return False
    return True


def _is_window(parts: list[Part], shape: tuple[int, ...]) -> bool:
    """Whether `dynamic_slice` can do it: scalars, and slices with steps of 1 or -1."""
    for part in parts:
        if part.kind is Kind.SLICE:
            if not is_known_slice(part.index) or part.index.step not in (None, 1, -1):
                return False
        elif part.kind is Kind.ARRAY:
            if isinstance(part.index, Sequence) or np.shape(part.index) != () or shape[part.axes[0]] == 0:
                return False
        elif part.kind is Kind.INTEGER:
            if shape[part.axes[0]] == 0:
                return False
        elif part.kind is not Kind.NEW_AXIS:
            return False
    return True


def _static_slice(x: Any, parts: list[Part], normalize: bool) -> Any:
    starts: list[int] = []
    limits: list[int] = []
    strides: list[int] = []
    reversed_axes: list[int] = []
    squeezed: list[int] = []
    for part in parts:
        if part.kind is Kind.NEW_AXIS:
            continue
        [axis] = part.axes
        size = x.shape[axis]
        if part.kind is Kind.INTEGER:
            start = int(part.index)
            start = min(max(start + size if normalize and start < 0 else start, 0), size - 1)
            limit, stride = start + 1, 1
            squeezed.append(axis)
        else:
            start, stop, stride = part.index.indices(size)
            if stride < 0:  # the same elements from the other end
                last = min(size, stop + 1 + abs(start - stop - 1) % abs(stride))
                start, limit, stride = last, max(last, start + 1), -stride
                reversed_axes.append(axis)
            else:
                limit = max(start, stop)
        starts.append(start)
        limits.append(limit)
        strides.append(stride)
    if any(starts) or any(stride != 1 for stride in strides) or tuple(limits) != x.shape:
        x = lax.slice(x, starts, limits, None if all(stride == 1 for stride in strides) else strides)
    return _finish(x, parts, reversed_axes, squeezed)


def _dynamic_slice(x: Any, parts: list[Part], normalize: bool) -> Any:
    starts: list[Any] = []
    sizes: list[int] = []
    reversed_axes: list[int] = []
    squeezed: list[int] = []
    for part in parts:
        if part.kind is Kind.NEW_AXIS:
            continue
        [axis] = part.axes
        if part.kind is Kind.SLICE:
            start, stop, step = part.index.indices(x.shape[axis])
            if step < 0:
                starts.append(stop + 1)
                sizes.append(max(0, start - stop))
                reversed_axes.append(axis)
            else:
                starts.append(start)
                sizes.append(max(0, stop - start))
        else:
            starts.append(asarray(part.index))
            sizes.append(1)
            squeezed.append(axis)
    if len(starts) > 1:
        dtype = index_dtype(x.shape)
        starts = [lax.convert_element_type(i, dtype) for i in starts]
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=normalize)
    return _finish(x, parts, reversed_axes, squeezed)


def _finish(x: Any, parts: list[Part], reversed_axes: list[int], squeezed: list[int]) -> Any:
    """Turn axes round, drop those of ints, and insert those of None."""
    if reversed_axes:
        x = lax.rev(x, reversed_axes)
    if squeezed:
        x = lax.squeeze(x, squeezed)
    kept = [part for part in parts if part.kind in (Kind.SLICE, Kind.NEW_AXIS)]
    new_axes = [i for i, part in enumerate(kept) if part.kind is Kind.NEW_AXIS]
    return lax.expand_dims(x, new_axes) if new_axes else x


# --- take ------------------------------------------------------------------------------------------------------------


def take(a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str | None = None, unique_indices: bool = False,
         indices_are_sorted: bool = False, fill_value: Any = None) -> Any:
    """The elements of `a` at `indices` along `axis`; of all elements in row-major order when it is None.

    Args:
      mode: of indices out of bounds: "fill" (the default) gives `fill_value` or nan, "clip" the nearest element, "wrap" counts round.
      unique_indices, indices_are_sorted: promises that may make it faster.
    """
    return _take(a, indices, None if axis is None else operator.index(axis), out, mode, unique_indices=unique_indices,
                 indices_are_sorted=indices_are_sorted, fill_value=fill_value)


@jit(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str | None = None, unique_indices: bool = False,
          indices_are_sorted: bool = False, fill_value: Any = None) -> Any:
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.take is not supported.")
    a, indices = ensure_arraylikes("take", a, indices)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = canonicalize_axis(axis, a.ndim)
    size = a.shape[axis]
    if mode is None or mode == "fill":
        how = GatherScatterMode.FILL_OR_DROP
        indices = where(indices < 0, indices + size, indices)
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    elif mode == "wrap":
        how = GatherScatterMode.PROMISE_IN_BOUNDS
        indices = mod(indices, constant(indices, size))
    elif mode == "clip":
        how = GatherScatterMode.CLIP
    else:
        raise ValueError(f"Invalid mode '{mode}' for np.take")
    if size == 0 and indices.size != 0:
        raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
    if size == 0:
        return a
    if indices.size == 0:
        return lax.full_like(a, 0, shape=(*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))
    numbers = lax.GatherDimensionNumbers((*range(axis), *range(axis + indices.ndim, a.ndim + indices.ndim - 1)), (axis,), (axis,))
    return lax.gather(a, indices[..., None], numbers, (*a.shape[:axis], 1, *a.shape[axis + 1 :]), mode=how, unique_indices=unique_indices,
                      indices_are_sorted=indices_are_sorted, fill_value=fill_value)


@jit(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1, mode: str | None = None, fill_value: Any = None, *,
                    wrap_negative_indices: bool | None = None) -> Any:
    """Elements at positions along `axis` that differ from place to place: `out[i, j] = arr[i, indices[i, j]]` for the last of two axes.

    The other axes broadcast. Positions out of bounds give nan, or `fill_value`, unless `mode` says otherwise, as for `take`.
    """
    a, indices = ensure_arraylikes("take_along_axis", arr, indices)
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise TypeError(f"take_along_axis indices must be of integer type, got {indices.dtype}")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(f"take_along_axis indices must be 1D if axis=None, got shape {indices.shape}")
        a, axis = a.ravel(), 0
    if a.ndim != indices.ndim:
        raise ValueError(f"indices and arr must have the same number of dimensions; {indices.ndim} vs. {a.ndim}")
    axis = canonicalize_axis(axis, a.ndim)
    size = a.shape[axis]
    arr_shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    out_shape = broadcast_shapes(indices.shape, arr_shape)
    if size == 0:
        return lax.full(out_shape, 0, a.dtype)
    if (mode != "promise_in_bounds" if wrap_negative_indices is None else wrap_negative_indices) and not dtypes.issubdtype(
            indices.dtype, np.unsignedinteger):
        indices = lax.select(indices < 0, lax.add(indices, constant(indices, size)), indices)
    return _gather_along(a, indices, axis, arr_shape, out_shape, "fill" if mode is None else mode, fill_value)


def _gather_along(a: Any, indices: Any, axis: int, arr_shape: tuple[int, ...], out_shape: tuple[int, ...], mode: Any,
                  fill_value: Any) -> Any:
    """Axes that both have run along; those that only one has are windows of the array, or axes of the positions."""
    own = [i for i, n in enumerate(indices.shape) if i == axis or n != 1]
    positions = lax.reshape(indices, (*[out_shape[i] for i in own], 1))
    squeezed = [i for i in own if i != axis and arr_shape[i] == 1]
    windows = [i for i in range(a.ndim) if i not in own]
    a = lax.squeeze(a, squeezed)
    kept = [i for i in range(len(arr_shape)) if i not in squeezed]  # axes of `a` now
    shared = [i for i in own if i != axis and i not in squeezed]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(windows), collapsed_slice_dims=(kept.index(axis),), start_index_map=(kept.index(axis),),
        operand_batching_dims=tuple(kept.index(i) for i in shared), start_indices_batching_dims=tuple(own.index(i) for i in shared))
    sizes = [arr_shape[i] if i in windows else min(1, arr_shape[i]) for i in kept]
    return lax.gather(a, positions, numbers, sizes, mode=mode, fill_value=fill_value)


# --- x.at[index] -----------------------------------------------------------------------------------------------------


class IndexUpdateHelper:
    """`x.at`: takes an index, and then what to do there. Nothing happens to x: each method returns a new array."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


def _update(name: str, scatter: Callable[..., Any], doc: str) -> Any:
    def method(self: IndexUpdateRef, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
               wrap_negative_indices: bool = True) -> Any:
        return scatter_update(self.array, self.index, values, scatter, indices_are_sorted=indices_are_sorted,
                              unique_indices=unique_indices, mode=mode, wrap_negative_indices=wrap_negative_indices)

    method.__name__ = name
    method.__qualname__ = f"IndexUpdateRef.{name}"
    method.__doc__ = f"{doc} Values broadcast to the shape of `x[index]`, and are converted to the dtype of x."
    return method


class IndexUpdateRef:
    """`x.at[index]`.

    All methods take `mode`, what happens to indices out of bounds ("drop" by default, "clip", "promise_in_bounds"; for `get`: "fill"),
    and the promises `indices_are_sorted` and `unique_indices`. With `wrap_negative_indices=False`, negative ones are out of bounds.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None, fill_value: Any = None,
            wrap_negative_indices: bool = True) -> Any:
        """`x[index]`, with a say in what happens out of bounds: "fill" gives `fill_value`, or nan."""
        return take_index(self.array, self.index, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
                          fill_value=fill_value, normalize_indices=wrap_negative_indices)

    set = _update("set", lax.scatter, "`x[index] = values`.")
    add = _update("add", lax.scatter_add, "`x[index] += values`, as often as an element is named.")
    subtract = _update("subtract", lax.scatter_sub, "`x[index] -= values`, as often as an element is named.")
    multiply = mul = _update("multiply", lax.scatter_mul, "`x[index] *= values`, as often as an element is named.")
    min = _update("min", lax.scatter_min, "`x[index] = minimum(x[index], values)`.")
    max = _update("max", lax.scatter_max, "`x[index] = maximum(x[index], values)`.")

    def divide(self, values: Any, **options: Any) -> Any:
        """`x[index] /= values`."""
        return divide(self.array, IndexUpdateRef(ones_like(self.array), self.index).multiply(values, **options))

    def power(self, values: Any, **options: Any) -> Any:
        """`x[index] **= values`."""
        return power(self.array, IndexUpdateRef(ones_like(self.array), self.index).multiply(values, **options))

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """`x[index] = func(x[index])`, as often as an element is named. `func` takes and returns one scalar."""

        def scatter(x: Any, positions: Any, y: Any, numbers: Any, **kwargs: Any) -> Any:
            return lax.scatter_apply(x, positions, func, numbers, update_shape=y.shape, **kwargs)

        zero = lax.full_like(self.array, 0, shape=())
        return scatter_update(self.array, self.index, zero, scatter, **options)
