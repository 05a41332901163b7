"""Computes `x[index]` by slice, dynamic_slice or gather.

The simplest possible operation is chosen, so that jaxprs are equal to JAX's:

- ints and slices known while tracing: `slice`, then `rev`, `squeeze` and `broadcast_in_dim` for negative steps, ints
  and None;
- scalars that are data: `dynamic_slice`, a window of known size at a position that is data;
- arrays, or a mode for indices out of bounds: `gather` (`index_plan`).

JAX: jax/_src/numpy/indexing.py:rewriting_take
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import lax
from ..lax.index_checks import GatherScatterMode
from .creation import asarray
from .index_parts import Kind, Part, expand_ellipsis, expand_masks, index_dtype, is_known_slice, parse, slice_indices
from .index_plan import gather

# --- reading ---------------------------------------------------------------------------------------------------------


def take_index(
    x: Any,
    index: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
    normalize_indices: bool = True,
) -> Any:
    """Return `x[index]`, and `x.at[index].get(...)` with its options. Indices out of bounds are clipped unless `mode`
    says otherwise.
    """
    parts = parse(index, x.shape)
    promised = mode is None or mode in ("promise_in_bounds", GatherScatterMode.PROMISE_IN_BOUNDS)
    if promised or mode in ("clip", GatherScatterMode.CLIP):  # gather refuses another mode
        full = expand_ellipsis(parts, x.ndim)
        if is_static(full, x.shape, promised, normalize_indices):
            return _static_slice(x, _window(full, x.shape, normalize_indices))
        if _is_window(full, x.shape):
            return _dynamic_slice(x, full, normalize_indices)
    parts = expand_masks(parts, x.shape)
    return gather(
        x,
        parts,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
        fill_value=fill_value,
        normalize_indices=normalize_indices,
    )


def is_static(parts: list[Part], shape: tuple[int, ...], promised: bool, normalize: bool) -> bool:
    """Return whether all parts are None, ints, or slices known while tracing, and, with `promised`, the ints are in
    bounds. An int for an axis without elements is not static.
    """
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
    """Return whether `dynamic_slice` suffices: all parts are None, scalars, or known slices with steps of 1 or -1."""
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


class _Window(NamedTuple):
    """The operations for a static index. `limits` is None if nothing is cut off, and strides are None if all are 1."""

    limits: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None] | None  # starts, limits, strides
    reversed_axes: tuple[int, ...]
    squeezed: tuple[int, ...]
    new_axes: tuple[int, ...]


def _window(parts: list[Part], shape: tuple[int, ...], normalize: bool) -> _Window:
    starts: list[int] = []
    limits: list[int] = []
    strides: list[int] = []
    reversed_axes: list[int] = []
    squeezed: list[int] = []
    for part in parts:
        if part.kind is Kind.NEW_AXIS:
            continue
        [axis] = part.axes
        size = shape[axis]
        if part.kind is Kind.INTEGER:
            start = int(part.index)
            start = min(max(start + size if normalize and start < 0 else start, 0), size - 1)
            limit, stride = start + 1, 1
            squeezed.append(axis)
        else:
            start, stop, stride = slice_indices(part.index, size)
            if stride < 0:  # the same elements from the other end
                last = min(size, stop + 1 + abs(start - stop - 1) % abs(stride))
                start, limit, stride = last, max(last, start + 1), -stride
                reversed_axes.append(axis)
            else:
                limit = max(start, stop)
        starts.append(start)
        limits.append(limit)
        strides.append(stride)
    steps = None if all(stride == 1 for stride in strides) else tuple(strides)
    is_whole = not any(starts) and steps is None and tuple(limits) == shape
    cut = None if is_whole else (tuple(starts), tuple(limits), steps)
    return _Window(cut, tuple(reversed_axes), tuple(squeezed), _new_axes(parts))


def _static_slice(x: Any, window: _Window) -> Any:
    if window.limits is not None:
        x = lax.slice(x, *window.limits)
    return _finish(x, window.reversed_axes, window.squeezed, window.new_axes)


# The operations for `x[index]` with an index of ints, slices and None, by shape and index: parsing takes 10 us, a
# look-up 1 us.
_windows: dict[tuple[Any, ...], _Window] = {}
_WINDOWS_LIMIT = 4096


def _key_of_static(index: Any) -> Any:
    """Return a hashable stand-in for an index of ints, slices of ints, and None; raise TypeError for any other."""
    t = type(index)
    if t is int or index is None:
        return index
    if t is slice:  # slices have no hash before Python 3.12
        start, stop, step = index.start, index.stop, index.step
        if (
            (start is None or type(start) is int)
            and (stop is None or type(stop) is int)
            and (step is None or type(step) is int)
        ):
            return slice, start, stop, step
    raise TypeError(f"{index!r} is not static, or has a type that is not looked for")


def getitem(x: Any, index: Any) -> Any:
    """Return `x[index]`."""
    shape = x.shape
    try:
        key = (shape, *map(_key_of_static, index)) if type(index) is tuple else (shape, _key_of_static(index))
    except TypeError:
        key = None
    if key is None:
        return take_index(x, index)
    window = _windows.get(key)
    if window is None:
        full = expand_ellipsis(parse(index, shape), x.ndim)
        if not is_static(full, shape, promised=True, normalize=True):
            return take_index(x, index)
        if len(_windows) >= _WINDOWS_LIMIT:
            _windows.clear()
        window = _windows[key] = _window(full, shape, normalize=True)
    return _static_slice(x, window)


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
    return _finish(x, reversed_axes, squeezed, _new_axes(parts))


def _new_axes(parts: list[Part]) -> tuple[int, ...]:
    """Return the positions, in the result, of the axes that None inserts."""
    kept = [part for part in parts if part.kind in (Kind.SLICE, Kind.NEW_AXIS)]
    return tuple(i for i, part in enumerate(kept) if part.kind is Kind.NEW_AXIS)


def _finish(x: Any, reversed_axes: Sequence[int], squeezed: Sequence[int], new_axes: Sequence[int]) -> Any:
    """Return x with the axes reversed that `reversed_axes` names, those of ints removed, and those of None inserted."""
    if reversed_axes:
        x = lax.rev(x, reversed_axes)
    if squeezed:
        x = lax.squeeze(x, squeezed)
    return lax.expand_dims(x, new_axes) if new_axes else x
