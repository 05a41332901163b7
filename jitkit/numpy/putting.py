"""put, place and put_along_axis change an array in numpy; here they return a new one. Also extract, packbits, unpackbits.

JAX: jax/_src/numpy/indexing.py:put
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..lax.elementwise_rules import scalar_like
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from .creation import asarray
from .editing import compress
from .joining import tile
from .padding import pad
from .promotion import broadcast_to
from .ranges import arange
from .ranges import indices as grid_indices
from .selection import clip, unravel_index, where
from .shaping import expand_dims, ravel, swapaxes
from .util import check_arraylike, ensure_arraylike, ensure_arraylikes

_IMMUTABLE = (
    "jax.numpy.{} cannot modify arrays in-place, because JAX arrays are immutable. Pass inplace=False to instead return an updated "
    "array."
)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """Return `a` with the elements at positions `ind` of its row-major order replaced by `v`, which is repeated if it
    is too short. If one of the three is empty, return `a`.

    Args:
      mode: for positions out of bounds: None drops them, "clip" takes the nearest, "wrap" wraps around.
      inplace: must be False.

    Raises:
      ValueError: for another mode, or `inplace=True`.
      NotImplementedError: for the mode "raise".
    """
    if inplace:
        raise ValueError(_IMMUTABLE.format("put"))
    arr, places, _ = ensure_arraylikes("put", a, ind, v)
    places, values = places.ravel(), ravel(v)
    if not (arr.size and places.size and values.size):
        return arr
    values = _as_long_as(values, len(places))
    how = "promise_in_bounds"
    if mode is None:
        how = "drop"
    elif mode == "clip":
        places = clip(places, 0, arr.size - 1)
    elif mode == "wrap":
        places = places % arr.size
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    return arr.at[unravel_index(places, arr.shape)].set(values, mode=how)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """Return `arr` with the elements where `mask` holds replaced by `vals`, in order; too few `vals` are repeated.
    Raise ValueError unless `inplace` is False, if `mask` has another size, or if `vals` is empty.
    """
    data, mask, vals = ensure_arraylikes("place", arr, mask, vals)
    values = vals.ravel()
    if inplace:
        raise ValueError(_IMMUTABLE.format("place"))
    if data.size != mask.size:
        raise ValueError("place: arr and mask must be the same size")
    if not values.size:
        raise ValueError("Cannot place values from an empty array")
    if not data.size:
        return data
    places = where(mask.ravel(), size=mask.size, fill_value=mask.size)[0]
    values = _as_long_as(values, len(places))
    return data.ravel().at[places].set(values, mode="drop").reshape(data.shape)


def _as_long_as(values: Any, size: int) -> Any:
    """Return the values repeated or cut to a size."""
    if values.size < size:
        values = tile(values, -(-size // values.size))
    return values[:size]


@jit(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: str | None = None
) -> Any:
    """Return `arr` with elements replaced at positions along an axis that differ for each row, as `take_along_axis`
    reads them. If `axis` is None, the positions are those of the flattened array. `mode` is that of `IndexUpdateRef`.
    Raise ValueError unless `inplace` is False, or if shapes do not fit.
    """
    if inplace:
        raise ValueError(_IMMUTABLE.format("put_along_axis").replace("arrays are", "arraysare"))
    arr, indices, values = ensure_arraylikes("put_along_axis", arr, indices, values)
    shape, along = arr.shape, axis
    if along is None:
        arr, along = arr.ravel(), 0
    if arr.ndim != indices.ndim:
        raise ValueError(
            f"put_along_axis arguments 'arr' and 'indices' must have same ndim. Got {arr.ndim=} and {indices.ndim=}."
        )
    try:
        values = broadcast_to(values, indices.shape)
    except ValueError:
        raise ValueError(
            "put_along_axis argument 'values' must be broadcastable to 'indices'. "
            f"Got {values.shape=} and {indices.shape=}."
        ) from None
    along = canonicalize_axis(along, arr.ndim)
    index = list(grid_indices(arr.shape, sparse=True))
    index[along] = indices
    result = arr.at[tuple(index)].set(values, mode=mode)
    return result.reshape(shape) if axis is None else result


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """Return the elements where `condition` holds, in row-major order; `size` and `fill_value` are as for `compress`."""
    check_arraylike("extreact", condition, arr, fill_value)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


# --- bits ---------------------------------------------------------------------------------------------------------------


def _in_order(bits: Any, bitorder: str) -> Any:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return bits[::-1] if bitorder == "big" else bits


@jit(static_argnames=("axis", "bitorder"))
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Return bools along an axis (of all elements, if `axis` is None) as bits, eight in one uint8, the first as the
    highest unless `bitorder` is "little". An integer counts as 1 unless it is 0. The last uint8 is filled up with
    zeros. Raise TypeError for other dtypes, ValueError for another `bitorder`.
    """
    arr = ensure_arraylike("packbits", a)
    if not (dtypes.issubdtype(arr.dtype, np.integer) or dtypes.issubdtype(arr.dtype, np.bool_)):
        raise TypeError("Expected an input array of integer or boolean data type")
    _in_order(np.zeros(1), bitorder)
    arr = lax.ne(arr, scalar_like(arr, 0)).astype("uint8")
    bits = _in_order(arange(8, dtype="uint8"), bitorder)
    if axis is None:
        arr, axis = ravel(arr), 0
    arr = swapaxes(arr, axis, -1)
    remainder = arr.shape[-1] % 8
    if remainder:
        arr = lax.pad(arr, np.uint8(0), [*[(0, 0, 0)] * (arr.ndim - 1), (0, 8 - remainder, 0)])
    arr = arr.reshape((*arr.shape[:-1], arr.shape[-1] // 8, 8))
    bits = expand_dims(bits, tuple(range(arr.ndim - 1)))
    packed = (arr << bits).sum(-1).astype("uint8")
    return swapaxes(packed, axis, -1)


@jit(static_argnames=("axis", "count", "bitorder"))
def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """Return the bits of each uint8 along an axis (of all elements, if `axis` is None), each bit as a uint8, in the
    order of `packbits`. `count` cuts the bits, or fills them up with zeros, to this number. Raise TypeError for other
    dtypes, ValueError for another `bitorder`.
    """
    arr = ensure_arraylike("unpackbits", a)
    if arr.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    _in_order(np.zeros(1), bitorder)
    bits = _in_order(asarray(1) << arange(8, dtype="uint8"), bitorder)
    if axis is None:
        arr, axis = ravel(arr), 0
    arr = swapaxes(arr, axis, -1)
    unpacked = ((arr[..., None] & expand_dims(bits, tuple(range(arr.ndim)))) > 0).astype("uint8")
    unpacked = unpacked.reshape((*unpacked.shape[:-2], -1))
    if count is not None:
        if count > unpacked.shape[-1]:
            unpacked = pad(unpacked, [*[(0, 0)] * (unpacked.ndim - 1), (0, count - unpacked.shape[-1])])
        else:
            unpacked = unpacked[..., :count]
    return swapaxes(unpacked, axis, -1)
