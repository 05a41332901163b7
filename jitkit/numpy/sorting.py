"""Sorts arrays, wholly and partially.

JAX: jax/_src/numpy/sorting.py:sort
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..interpreters.vmap import vmap
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from .util import ensure_arraylike, ensure_arraylikes


def _refuse(name: str, kind: None, order: None) -> None:
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to specify sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


@jit(static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """Return the elements along `axis` in ascending order, nan last; with `descending`, in the reverse order. If `axis`
    is None, the array is flattened first. Raise TypeError if `kind` or `order` is given.
    """
    arr = ensure_arraylike("sort", a)
    _refuse("sort", kind, order)
    if axis is None:
        arr, axis = arr.ravel(), 0
    dimension = canonicalize_axis(axis, arr.ndim)
    result = lax.sort(arr, dimension=dimension, is_stable=stable)
    return lax.rev(result, dimensions=[dimension]) if descending else result


@jit(static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """Return the positions of the elements along `axis` in ascending order, nan last (with `descending`, the reverse);
    if `axis` is None, the array is flattened first. If `stable`, equal elements keep their order. Raise TypeError if
    `kind` or `order` is given.
    """
    arr = ensure_arraylike("argsort", a)
    _refuse("argsort", kind, order)
    if axis is None:
        arr, axis = arr.ravel(), 0
    dimension = canonicalize_axis(axis, arr.ndim)
    chosen = dtypes.default_int_dtype() if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "argsort")
    positions = lax.broadcasted_iota(chosen, arr.shape, dimension)
    if descending and stable:  # keeps equal elements in order after the last `rev`
        arr, positions = lax.rev(arr, dimensions=[dimension]), lax.rev(positions, dimensions=[dimension])
    _, indices = lax.sort_key_val(arr, positions, dimension=dimension, is_stable=stable)
    return lax.rev(indices, dimensions=[dimension]) if descending else indices


@jit(static_argnames=("axis",))
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Return the positions of the elements in ascending order of the last key; where it is equal, of the key before,
    and so on. Raise TypeError for no keys, ValueError for keys of different shapes.
    """
    arrays = ensure_arraylikes("lexsort", *keys)
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({key.shape for key in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    if arrays[0].ndim == 0:
        return lax.full((), 0, dtypes.default_int_dtype())
    axis = canonicalize_axis(axis, arrays[0].ndim)
    positions = lax.broadcasted_iota(dtypes.default_int_dtype(), arrays[0].shape, axis)
    return lax.sort((*arrays[::-1], positions), dimension=axis, num_keys=len(arrays))[-1]


# --- in part -----------------------------------------------------------------------------------------------------------------


def _last_axis(name: str, a: Any, kth: int, axis: int) -> tuple[Any, int, int]:
    """Return the array with `axis` as its last one, and `axis` and `kth`, counted from the start. Raise
    NotImplementedError for complex numbers.
    """
    arr = ensure_arraylike("partition", a)
    if dtypes.issubdtype(arr.dtype, np.complexfloating):
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    axis = canonicalize_axis(axis, arr.ndim)
    kth = canonicalize_axis(kth, arr.shape[axis])
    return arr.swapaxes(axis, -1), axis, kth


def _is_unsigned(x: Any) -> bool:
    """Return whether x is unsigned, so that `-x` would keep 0 the smallest: then `-(x + 1)` reverses the order."""
    return dtypes.issubdtype(x.dtype, np.unsignedinteger)


@jit(static_argnames=("kth", "axis"))
def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """Return the elements along `axis` with the kth in its place: smaller or equal ones before, larger or equal ones
    after it. Raise ValueError for a `kth` out of bounds, NotImplementedError for complex numbers.
    """
    arr, axis, kth = _last_axis("partition", a, kth, axis)
    least = -lax.top_k(-(arr + 1), kth + 1)[0] - 1 if _is_unsigned(arr) else -lax.top_k(-arr, kth + 1)[0]
    greatest = lax.top_k(arr, arr.shape[-1] - kth - 1)[0]
    return lax.concatenate([least, greatest], dimension=arr.ndim - 1).swapaxes(-1, axis)


@jit(static_argnames=("kth", "axis"))
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """Return the positions of the elements along `axis`: of the kth in its place, of smaller or equal ones before, of
    larger or equal ones after it. Errors are as for `partition`.
    """
    arr, axis, kth = _last_axis("argpartition", a, kth, axis)
    least = lax.top_k(-(arr + 1) if _is_unsigned(arr) else -arr, kth + 1)[1]

    def without(row: Any, positions: Any) -> Any:
        return row.at[positions].set(0)

    for _ in range(arr.ndim - 1):
        without = vmap(without)
    rest = lax.top_k(without(lax.full(arr.shape, 1.0), least), arr.shape[-1] - kth - 1)[1]
    return lax.concatenate([least, rest], dimension=arr.ndim - 1).swapaxes(-1, axis)


@jit
def sort_complex(a: Any) -> Any:
    """Return the elements along the last axis in ascending order of real parts, then of imaginary parts, as complex numbers."""
    a = lax.sort(ensure_arraylike("sort_complex", a))
    return lax.convert_element_type(a, dtypes.to_complex_dtype(a.dtype))
