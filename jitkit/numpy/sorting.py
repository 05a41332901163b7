"""Sorting, and distinct values.

JAX: jax/_src/numpy/sorting.py:sort
"""

from __future__ import annotations

from typing import Any

from .. import lax
from ..core import dtypes
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
    """The elements along `axis` in ascending order, nan last; all of them when it is None."""
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
    """The positions of the elements along `axis` in ascending order; of all of them when it is None. Equal ones keep their order."""
    arr = ensure_arraylike("argsort", a)
    _refuse("argsort", kind, order)
    if axis is None:
        arr, axis = arr.ravel(), 0
    dimension = canonicalize_axis(axis, arr.ndim)
    chosen = dtypes.default_int_dtype() if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "argsort")
    positions = lax.broadcasted_iota(chosen, arr.shape, dimension)
    if descending and stable:  # what is equal is to come out in its order after the last `rev`
        arr, positions = lax.rev(arr, dimensions=[dimension]), lax.rev(positions, dimensions=[dimension])
    _, indices = lax.sort_key_val(arr, positions, dimension=dimension, is_stable=stable)
    return lax.rev(indices, dimensions=[dimension]) if descending else indices


@jit(static_argnames=("axis",))
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions in the order of the last key; of the one before it where that is equal, and so on."""
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
