"""Makes index grids: mgrid, ogrid, the indices of triangles and diagonals, and matrices filled along them.

JAX: jax/_src/numpy/index_tricks.py:mgrid
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import core
from ..base import config, errors
from .creation import array, ones, zeros
from .diagonals import diag_indices, tril, triu
from .joining import concatenate, stack, tile
from .promotion import promote_dtypes
from .ranges import arange, linspace, meshgrid
from .selection import nonzero
from .shaping import expand_dims, ravel, transpose
from .util import check_arraylike, concrete_index, ensure_arraylike, ensure_arraylikes

# --- grids -----------------------------------------------------------------------------------------------------------


class _Grid:
    """`grid[a:b:c, ...]`: returns the coordinates of a grid with an axis for each slice, like `arange` or, with an
    imaginary step, `linspace`. For several slices, `mgrid` returns one array, `ogrid` (`sparse`) an array for each
    axis, of size 1 along the others.
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self._name = name
        self._sparse = sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        if isinstance(key, slice):
            return self._axis(key)
        with config.override(numpy_dtype_promotion="standard"):
            axes = promote_dtypes(*map(self._axis, key))
        coordinates = meshgrid(*axes, indexing="ij", sparse=self._sparse)
        if self._sparse:
            return coordinates
        return stack(coordinates, 0) if coordinates else arange(0)

    def _axis(self, piece: slice) -> Any:
        return _numbers(piece, self._name)


def _numbers(piece: slice, name: str) -> Any:
    """Return `arange` of a slice's parts or, with an imaginary step, `linspace`. Raise ConcretizationTypeError for a traced part."""
    for part in ("start", "stop", "step"):
        if isinstance(value := getattr(piece, part), core.Tracer):
            raise errors.ConcretizationTypeError(value, f"slice {part} of jnp.{name}")
    start, step = piece.start or 0, piece.step or 1
    if np.iscomplex(step):
        return linspace(start, piece.stop, int(builtins.abs(step)))
    return arange(start, piece.stop, step)


mgrid = _Grid("mgrid", sparse=False)
ogrid = _Grid("ogrid", sparse=True)


class _Row:
    """`r_[a, b:c, ...]`: arrays, numbers and slices, joined along an axis.

    A string before them may say how:
    - `"axis,ndmin,place"`: along `axis`, after giving each array at least `ndmin` axes; the array's own axes begin at
      `place` among these;
    - `"r"` or `"c"`: make a result of one axis a matrix of one row or one column.
    """

    def __init__(self, name: str, axis: int, ndmin: int, place: int) -> None:
        self._name = name
        self._usual = [axis, ndmin, place]

    def __getitem__(self, key: Any) -> Any:
        items = [*key] if isinstance(key, tuple) else [key]
        (axis, ndmin, place), matrix = self._usual, -1
        if isinstance(items[0], str):
            directive, *items = items
            if directive in ("r", "c"):
                matrix = "rc".index(directive)
            else:
                given = directive.split(",")[:3]
                try:
                    axis, ndmin, place = map(int, [*given, *self._usual[len(given) :]])
                except ValueError:
                    raise ValueError(f"could not understand directive {directive!r}") from None
        out = concatenate([self._with_axes(item, ndmin, place) for item in items], axis=axis)
        return expand_dims(out, matrix) if matrix != -1 and out.ndim == 1 else out

    def _with_axes(self, item: Any, ndmin: int, place: int) -> Any:
        if isinstance(item, str):
            raise ValueError("string directive must be placed at the beginning")
        x = _numbers(item, self._name) if isinstance(item, slice) else array(item, copy=False)
        missing = ndmin - (0 if isinstance(item, slice) else x.ndim)
        x = array(x, copy=False, ndmin=ndmin)
        if place == -1 or missing <= 0:
            return x
        shift = ndmin - builtins.abs(ndmin + place + 1) % ndmin
        return transpose(x, (*range(shift, ndmin), *range(shift)))

    def __len__(self) -> int:
        return 0


r_ = _Row("r_", 0, 1, -1)
c_ = _Row("c_", -1, 2, 0)


# --- triangles -------------------------------------------------------------------------------------------------------


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Return the rows and columns of the elements of an n x m matrix, by default n x n, that are not above its k-th diagonal."""
    n, k, m = _matrix_of(n, k, m)
    i, j = nonzero(tril(ones((n, m)), k=k), size=_triangle_size(m, n, -k))
    return i, j


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Return the rows and columns of the elements of an n x m matrix, by default n x n, that are not below its k-th diagonal."""
    n, k, m = _matrix_of(n, k, m)
    i, j = nonzero(triu(ones((n, m)), k=k), size=_triangle_size(n, m, k))
    return i, j


def _matrix_of(n: int, k: int, m: int | None) -> tuple[int, int, int]:
    n = concrete_index(n, "n argument of jnp.triu_indices")
    k = concrete_index(k, "k argument of jnp.triu_indices")
    return n, k, n if m is None else concrete_index(m, "m argument of jnp.triu_indices")


def _triangle_size(n: int, m: int, k: int) -> int:
    """Return the number of elements of an n x m matrix that are not below its k-th diagonal."""
    return sum(max(0, min(m, m - i - k)) for i in range(n))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return `tril_indices` of a matrix of the shape of `arr`. Raise ValueError unless `arr` has two axes."""
    n, m = _shape_of("tril_indices_from", arr)
    return tril_indices(n, k=k, m=m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return `triu_indices` of a matrix of the shape of `arr`. Raise ValueError unless `arr` has two axes."""
    n, m = _shape_of("triu_indices_from", arr)
    return triu_indices(n, k=k, m=m)


def _shape_of(name: str, arr: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = arr.shape if hasattr(arr, "shape") else ensure_arraylike(name, arr).shape
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Any, Any]:
    """Return the rows and columns where `mask_func(ones, k)`, for example `triu`, of an n x n matrix of ones is not 0.
    `size` is their number, which is needed under a trace.
    """
    rows, columns = nonzero(mask_func(ones((n, n)), k), size=size)
    return rows, columns


# --- diagonals -------------------------------------------------------------------------------------------------------


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """Return the indices, an array for each axis, of the main diagonal of an array. Raise ValueError for axes of
    different lengths, and for less than two axes.
    """
    arr = ensure_arraylike("diag_indices_from", arr)
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], ndim=arr.ndim)


def diagflat(v: Any, k: int = 0) -> Any:
    """Return a square matrix of zeros with the elements of `v` on its k-th diagonal."""
    check_arraylike("diagflat", v)
    elements = ravel(v)
    n = len(elements) + builtins.abs(k)
    matrix = zeros(n * n, dtype=elements.dtype)
    i = arange(0, n - builtins.abs(k))
    flat = i + k + i * n if k >= 0 else i + (i - k) * n
    return matrix.at[flat].set(elements).reshape(n, n)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """Return a copy of `a` with the elements of `val`, repeated as often as needed, on its main diagonal. Raise
    NotImplementedError unless `inplace` and `wrap` are False, ValueError for less than two axes, and for three or more
    of different sizes.
    """
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    a, val = ensure_arraylikes("fill_diagonal", a, val)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(a.shape)
    diagonal = diag_indices(n, a.ndim)
    return a.at[diagonal].set(val if val.ndim == 0 else _repeated(val.ravel(), n))


def _repeated(x: Any, n: int) -> Any:
    """Return n elements: those of x, repeated or cut."""
    if x.size < n:
        x = tile(x, -(-n // x.size))
    return x[:n] if x.size > n else x
