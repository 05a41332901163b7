"""Applies functions to parts of arrays: along an axis, over several axes in turn, at each position.

JAX: jax/_src/numpy/lax_numpy.py:apply_along_axis
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..interpreters.vmap import vmap
from ..lax.utils import canonicalize_axis, canonicalize_shape
from .ranges import arange
from .shaping import expand_dims
from .util import check_arraylike, ensure_arraylike


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Return `func1d(vector, *args, **kwargs)` for each vector along `axis`; the result's axes take the place of `axis`."""
    check_arraylike("apply_along_axis", arr)
    rank = np.ndim(arr)
    axis = canonicalize_axis(axis, rank)

    def function(x: Any) -> Any:
        return func1d(x, *args, **kwargs)

    for i in range(1, rank - axis):
        function = vmap(function, in_axes=i, out_axes=-1)
    for _ in range(axis):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(arr)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """Return `func(a, axis)`, applied for each of the axes in turn; an axis that `func` removes is put back with size
    1. Raise ValueError if `func` returns an array of another rank.
    """
    a = ensure_arraylike("apply_over_axes", a)
    for axis in axes:
        result = func(a, axis)
        if result.ndim not in (a.ndim, a.ndim - 1):
            raise ValueError("function is not returning an array of the correct shape")
        a = result if result.ndim == a.ndim else expand_dims(result, axis)
    return a


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Return `function(i, j, ...)` at each position of an array of this shape. It is called once, under `vmap`: i, j,
    ... are scalars of `dtype`.
    """
    sizes = canonicalize_shape(shape, "shape argument of jnp.fromfunction()")
    for i in range(len(sizes)):
        function = vmap(function, in_axes=tuple(0 if i == j else None for j in range(len(sizes)))[::-1])
    return function(*(arange(size, dtype=dtype) for size in sizes), **kwargs)
