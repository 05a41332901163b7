"""Takes elements at positions that are data: take and take_along_axis.

JAX: jax/_src/numpy/indexing.py:take
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import lax
from ..base import edits
from ..core import dtypes
from ..lax.index_checks import GatherScatterMode
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from .arithmetic import mod
from .index_parts import index_dtype
from .promotion import broadcast_shapes, where
from .ufuncs import constant
from .util import ensure_arraylikes


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """Return the elements of `a` at `indices` along `axis`; if `axis` is None, of the flattened array.

    Args:
      mode: for indices out of bounds: "fill" (the default) gives `fill_value`, by default nan, the least signed or the greatest unsigned
        integer, or True; "clip" gives the nearest element; "wrap" wraps around.
      unique_indices, indices_are_sorted: promises that may make it faster.

    Raises:
      IndexError: for indices of an axis without elements.
      ValueError: for another mode.
      NotImplementedError: for the mode "raise", and if `out` is given.
    """
    return _take(
        a,
        indices,
        None if axis is None else operator.index(axis),
        out,
        mode,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


@jit(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.take is not supported.{edits.NO_OUT}")
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
    numbers = lax.GatherDimensionNumbers(
        (*range(axis), *range(axis + indices.ndim, a.ndim + indices.ndim - 1)), (axis,), (axis,)
    )
    return lax.gather(
        a,
        indices[..., None],
        numbers,
        (*a.shape[:axis], 1, *a.shape[axis + 1 :]),
        mode=how,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


@jit(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """Return elements at positions along `axis` that differ for each row: `out[i, j] = arr[i, indices[i, j]]` for the
    last of two axes.

    The other axes broadcast. For positions out of bounds, `mode` is "fill" (the default) or "clip", as for `take`, or
    "promise_in_bounds". Negative positions count from the end, unless `wrap_negative_indices` is False, as it is by
    default in the last mode. Raise TypeError unless the positions are integers, ValueError for another mode or number
    of axes, or sizes that do not broadcast.
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
    if mode != "promise_in_bounds" if wrap_negative_indices is None else wrap_negative_indices:
        indices = lax.convert_element_type(indices, index_dtype((size,)))  # so that adding the size cannot overflow
        indices = lax.select(indices < 0, lax.add(indices, constant(indices, size)), indices)
    return _gather_along(a, indices, axis, arr_shape, out_shape, "fill" if mode is None else mode, fill_value)


def _gather_along(
    a: Any, indices: Any, axis: int, arr_shape: tuple[int, ...], out_shape: tuple[int, ...], mode: Any, fill_value: Any
) -> Any:
    """Return elements, gathered along an axis. Axes of both the array and the positions become batching dimensions;
    axes of the array alone become axes of the windows; axes of the positions alone stay.
    """
    own = [i for i, n in enumerate(indices.shape) if i == axis or n != 1]
    positions = lax.reshape(indices, (*[out_shape[i] for i in own], 1))
    squeezed = [i for i in own if i != axis and arr_shape[i] == 1]
    windows = [i for i in range(a.ndim) if i not in own]
    a = lax.squeeze(a, squeezed)
    kept = [i for i in range(len(arr_shape)) if i not in squeezed]  # axes of `a` now
    shared = [i for i in own if i != axis and i not in squeezed]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(windows),
        collapsed_slice_dims=(kept.index(axis),),
        start_index_map=(kept.index(axis),),
        operand_batching_dims=tuple(kept.index(i) for i in shared),
        start_indices_batching_dims=tuple(own.index(i) for i in shared),
    )
    sizes = [arr_shape[i] if i in windows else min(1, arr_shape[i]) for i in kept]
    return lax.gather(a, positions, numbers, sizes, mode=mode, fill_value=fill_value)
