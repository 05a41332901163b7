"""Removes and inserts elements; converts positions in an array to one number.

JAX: jax/_src/numpy/lax_numpy.py:delete
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import edits
from ..core import dtypes
from ..core.tracer import concrete_or_error
from ..lax.utils import canonicalize_axis
from . import reductions
from .creation import array, asarray, full, ones, zeros_like
from .joining import concatenate
from .promotion import broadcast_arrays, broadcast_shapes
from .ranges import arange, indices
from .selection import clip, where
from .shaping import expand_dims, moveaxis, ravel
from .sorting import argsort, sort
from .util import check_arraylike, ensure_arraylike, ensure_arraylikes

# --- delete and insert --------------------------------------------------------------------------------------------------------


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """Return an array without the elements, or the slices along `axis`, at `obj`: an index, a slice, an array of
    indices or a mask. If `axis` is None, the array is flattened first. With `assume_unique_indices`, indices may be
    traced.

    Raises:
      ConcretizationTypeError: for other traced indices: the number of remaining elements would depend on values.
      ValueError: for an int out of bounds, a mask of another shape, and an array of neither integers nor bools.
      IndexError: for an array with an index out of bounds.
      TypeError: for anything that is not an array.
    """
    a = ensure_arraylike("delete", arr)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = canonicalize_axis(axis, a.ndim)
    size, before = a.shape[axis], (slice(None),) * axis
    try:
        place = canonicalize_axis(operator.index(obj), size)
    except TypeError:
        pass
    else:
        return concatenate([a[(*before, slice(0, place))], a[(*before, slice(place + 1, None))]], axis=axis)
    if isinstance(obj, slice):
        obj, assume_unique_indices = arange(size)[obj], True
    if isinstance(obj, str | bytes):
        dtypes.dtype(obj)  # raises a TypeError
    check_arraylike("delete", a, obj)
    if core.has_jax_array(obj):
        obj = obj.__jax_array__()
    if assume_unique_indices and dtypes.issubdtype(dtypes.dtype(obj), np.integer):
        places = asarray(obj).ravel()
        places = sort(clip(where(places < 0, places + size, places), 0, size))
        places = places - arange(len(places), dtype=places.dtype)
        kept = arange(size - places.size, dtype=places.dtype)
        kept = kept + (kept[None, :] >= places[:, None]).sum(0, dtype=kept.dtype)
        return a[(*before, kept)]
    known = concrete_or_error(np.asarray, obj, "'obj' array argument of jnp.delete()")
    if dtypes.issubdtype(known.dtype, np.integer):
        mask = np.ones(size, dtype=bool)
        mask[known] = False
    elif known.dtype == bool:
        if known.shape != (size,):
            raise ValueError(
                "np.delete(arr, obj): for boolean indices, obj must be one-dimensional with length matching specified axis."
            )
        mask = ~known
    else:
        raise ValueError(f"np.delete(arr, obj): got obj.dtype={known.dtype}; must be integer or bool.")
    return a[(*before, mask)]


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Return an array with `values` inserted before the positions `obj` (an index, a slice, or an array of indices)
    along `axis`; if it is None, the array is flattened first. Raise ValueError for positions of more than one axis, or
    that are not integers.
    """
    a, _, values = ensure_arraylikes("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(concrete_or_error(operator.index, axis, "axis argument of jnp.insert()"), a.ndim)
    size, before = a.shape[axis], (slice(None),) * axis
    places = arange(*obj.indices(size)) if isinstance(obj, slice) else asarray(obj)
    if places.ndim > 1:
        raise ValueError(f"jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; got {obj}")
    if not dtypes.issubdtype(places.dtype, np.integer):
        if places.size or core.is_array_type(type(obj)):
            raise ValueError(f"jnp.insert(): index array must be integer typed; got {obj}")
        places = places.astype(int)
    values = array(values, ndmin=a.ndim, dtype=a.dtype, copy=False)
    if places.size == 1:
        index = ravel(places)[0]
        if places.ndim == 0:
            values = moveaxis(values, 0, axis)
        places = full(values.shape[axis], index)
    count = broadcast_shapes(places.shape, (values.shape[axis],))[0]
    out = zeros_like(a, shape=(*a.shape[:axis], size + count, *a.shape[axis + 1 :]))
    places = clip(where(places < 0, places + size, places), 0, size)
    new = places.at[argsort(places)].add(arange(count, dtype=places.dtype))
    old = where(ones(size + count, dtype=bool).at[new].set(False), size=size)[0]
    return out.at[(*before, new)].set(values).at[(*before, old)].set(a)


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Any:
    """Return the slices of `a` along `axis` for which `condition` holds. If `axis` is None, the array is flattened
    first.

    Args:
      condition: one bool per slice; slices without one are left out. It can be traced if there is a size.
      size: how many slices there will be: the chosen ones, then some of `fill_value`.

    Raises:
      ValueError: the condition does not have one axis, or the size is greater than the axis; without a size, the condition is
        true where there is no slice.
      NotImplementedError: `out` is given.
    """
    condition, a, fill_value = ensure_arraylikes("compress", condition, a, fill_value)
    condition = condition.astype(bool)
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.compress is not supported.{edits.NO_OUT}")
    if condition.ndim != 1:
        raise ValueError("condition must be a 1D array")
    axis, arr = (0, ravel(a)) if axis is None else (axis, moveaxis(a, axis, 0))
    condition, surplus = condition[: arr.shape[0]], condition[arr.shape[0] :]
    arr = arr[: condition.shape[0]]
    if size is None:
        if reductions.any(surplus):
            raise ValueError("condition contains entries that are out of bounds")
        chosen = arr[condition]
    elif not 0 <= size <= arr.shape[0]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; "
            f"got size={size} for a.shape[axis]={arr.shape[0]}"
        )
    else:
        arr = where(expand_dims(condition, range(1, arr.ndim)), arr, array(fill_value, dtype=arr.dtype))
        chosen = arr[argsort(condition, stable=True, descending=True)][:size]
    return moveaxis(chosen, 0, axis)


# --- choose, ravel_multi_index ------------------------------------------------------------------------------------------------

_MODES = "because {} was jit-compiled with mode='raise'. Use mode='wrap' or mode='clip' instead."


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Return at each position the element of `choices[i]` there, where i is the element of `a`; all broadcast together.

    Args:
      mode: what to do with an i out of bounds: raise ValueError ("raise", which cannot be traced), "wrap" or "clip".

    Raises:
      ValueError: `a` is not of integers, or the mode is unknown.
      NotImplementedError: `out` is given.
    """
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.choose is not supported.{edits.NO_OUT}")
    a, *choices = ensure_arraylikes("choose", a, *choices)
    if not dtypes.issubdtype(a.dtype, np.integer):
        raise ValueError("`a` array must be integer typed")
    count = len(choices)
    if mode == "raise":
        a = concrete_or_error(asarray, a, f"The error occurred {_MODES.format('jnp.choose')}")
        if reductions.any((a < 0) | (a >= count)):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = asarray(a) % count
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    a, *choices = broadcast_arrays(a, *choices)
    return array(choices)[(a, *indices(a.shape, sparse=True))]


def ravel_multi_index(
    multi_index: Sequence[Any], dims: Sequence[int], mode: str = "raise", order: str = "C", *, dtype: Any = None
) -> Any:
    """Return the positions in the flattened array of elements of an array of shape `dims`, from `multi_index`, their
    indices along each axis.

    Args:
      mode: what to do with indices out of bounds: raise ValueError ("raise", which cannot be traced), "clip", "wrap" or
        "ignore".
      order: "C", the last axis changes first, or "F", the first.
      dtype: of the result.

    Raises:
      ValueError: for an unknown mode or order, a dtype that is not an integer type or too small, and without `dtype` for
        indices that are not integers.
      TypeError: with `dtype`, for indices that are not integers.
      AssertionError: for another number of indices than axes.
    """
    if len(multi_index) != len(dims):
        raise AssertionError(f"len(multi_index)={len(multi_index)} != len(dims)={len(dims)}")
    sizes = tuple(concrete_or_error(operator.index, d, "in `dims` argument of ravel_multi_index().") for d in dims)
    places = list(ensure_arraylikes("ravel_multi_index", *multi_index))
    dtype = (
        dtypes.result_type(int, *places)
        if dtype is None
        else dtypes.check_and_canonicalize_user_dtype(dtype, "ravel_multi_index")
    )
    if not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(f"{dtype=} is not an integer type.")
    if math.prod(sizes) - 1 > dtypes.iinfo(dtype).max:
        raise ValueError(
            f"jnp.ravel_multi_index: {dtype=} not large enough to hold flattened index for dims={sizes!r}. Use the dtype argument "
            "to pass a suitable dtype (e.g. dtype=np.min_scalar_type(prod(dims)))."
        )
    for place in places:
        if mode == "raise":
            concrete_or_error(array, place, f"The error occurred {_MODES.format('ravel_multi_index')}")
        if not dtypes.issubdtype(place.dtype, np.integer):
            raise TypeError("only int indices permitted")
    if mode == "raise":
        if any(reductions.any((i < 0) | (i >= size)) for i, size in zip(places, sizes, strict=True)):
            raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        places = [clip(i, 0, size - 1) for i, size in zip(places, sizes, strict=True)]
    elif mode == "wrap":
        places = [i % size for i, size in zip(places, sizes, strict=True)]
    elif mode != "ignore":
        raise ValueError(f"invalid {mode=}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    if order not in ("C", "F"):
        raise ValueError(f"invalid {order=}. Expected 'C' or 'F'")
    steps = [math.prod(sizes[:i] if order == "F" else sizes[i + 1 :]) for i in range(len(sizes))]
    result = array(0, dtype=dtype)
    for place, step in zip(places, steps, strict=True):
        result = result + place.astype(dtype) * step
    return result
