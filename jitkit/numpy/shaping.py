"""Rearranges one array: reshape, transpose, squeeze, flip, roll.

JAX: jax/_src/numpy/lax_numpy.py:transpose
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from .. import core, lax
from ..base import edits
from ..base.jax_version import since
from ..lax.utils import canonicalize_axis, canonicalize_shape, index_tuple
from ..pjit.jit import inlined, jit
from .creation import array, asarray
from .promotion import broadcast_to, promote_dtypes
from .reductions import static_axes
from .util import as_array, check_arraylike, concrete_index, ensure_arraylike, given_array

# --- the same elements under other axes ------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """Return the elements of `a`, in row-major order, in another shape. One size may be -1: it is inferred.

    With `order="F"` both are read in column-major order. Raise TypeError if the numbers of elements differ. As in JAX,
    a numpy array is reshaped by numpy, without an equation, and stays one; then the error is numpy's ValueError. `copy`
    is not used.
    """
    check_arraylike("reshape", a)
    if isinstance(a, np.ndarray | np.generic):
        return np.reshape(a, shape, order=cast(Any, order))
    return reshape_method(as_array(a), shape, order=order)


def reshape_method(a: Any, *args: Any, order: str = "C") -> Any:
    """Return `reshape(a, shape, order)`, called as `a.reshape(2, 3)` or `a.reshape((2, 3))`. Raise TypeError if the
    sizes do not fit, NotImplementedError for the order "A", ValueError for an unknown one.
    """
    sizes = _new_shape(a, args[0] if len(args) == 1 else args)
    if order == "C":
        return lax.reshape(a, sizes)
    if order == "F":
        return transpose(lax.reshape(a, sizes[::-1], list(range(a.ndim)[::-1])))
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


def _same_size(a: Any) -> str:
    return f"\nA reshape keeps all elements: the product of the sizes is {a.size}. One of them may be -1: it follows from the others."


def _new_shape(a: Any, shape: Any) -> tuple[int, ...]:
    given = shape
    sizes = list(canonicalize_shape(shape if np.iterable(shape) else [shape]))
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {given}{edits.SEVERAL_UNKNOWN}")
    if unknown:
        others = math.prod(n for n in sizes if n != -1)
        if others == 0 or a.size % others != 0:
            raise TypeError(
                f"cannot reshape array of shape {a.shape} (size {a.size}) into shape {given} because the product of specified "
                f"axis sizes ({others}) does not evenly divide {a.size}{_same_size(a)}"
            )
        sizes[unknown[0]] = a.size // others
    elif math.prod(sizes) != a.size:
        raise TypeError(
            f"cannot reshape array of shape {a.shape} (size {a.size}) into shape {given} (size {math.prod(sizes)}){_same_size(a)}"
        )
    return tuple(sizes)


@inlined(static_argnames=("order",))
def ravel(a: Any, order: str = "C") -> Any:
    """Return all elements in one axis, in row-major order (`order="F"`: column-major). Raise NotImplementedError for
    the orders "K" and "A", ValueError for an unknown one.
    """
    a = ensure_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape_method(a, (a.size,), order=order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Return `a` with its axes in the order `axes`, reversed by default. Raise ValueError for an axis out of bounds,
    TypeError for a missing or repeated one.
    """
    a = ensure_arraylike("transpose", a)
    order = range(a.ndim)[::-1] if axes is None else axes
    return lax.transpose(a, [canonicalize_axis(i, a.ndim) for i in order])


def permute_dims(a: Any, /, axes: tuple[int, ...]) -> Any:
    """Return `a` with its axes in the order `axes`."""
    a = ensure_arraylike("permute_dims", a)
    return lax.transpose(a, [canonicalize_axis(axis, a.ndim) for axis in axes] if since(0, 11) else axes)


def matrix_transpose(x: Any, /) -> Any:
    """Return x with its last two axes swapped. Raise ValueError for fewer than two."""
    x = ensure_arraylike("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={x.ndim!r}")
    return lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@inlined(static_argnames=("axis1", "axis2"))
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return `a` with two axes swapped. Raise IndexError for an axis out of bounds."""
    a = ensure_arraylike("swapaxes", a)
    order = np.arange(a.ndim)  # its error names the axis that is out of bounds
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return lax.transpose(a, order)


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Return `a` with the axes `source` at the positions `destination`; the others keep their order. Raise ValueError
    for axes out of bounds, and unless there is one position for each axis.
    """
    check_arraylike("moveaxis", a)
    return _moveaxis(a, index_tuple(source), index_tuple(destination))


@inlined(static_argnames=("source", "destination"))
def _moveaxis(a: Any, source: tuple[int, ...], destination: tuple[int, ...]) -> Any:
    a = as_array(a)
    source = tuple(canonicalize_axis(i, a.ndim) for i in source)
    destination = tuple(canonicalize_axis(i, a.ndim) for i in destination)
    if len(source) != len(destination):
        raise ValueError(f"Inconsistent number of elements: {len(source)} vs {len(destination)}")
    order = [i for i in range(a.ndim) if i not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        order.insert(to, axis)
    return lax.transpose(a, order)


@jit(static_argnames=("axis", "start"))
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Return `a` with `axis` moved before the axis at `start`, or to the end if `start` is `a.ndim`. Raise ValueError
    for a `start` out of bounds.
    """
    a = ensure_arraylike("rollaxis", a)
    start = concrete_index(start, "'start' argument of jnp.rollaxis()")
    axis = canonicalize_axis(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise ValueError(f"{start=} must satisfy {-a.ndim}<=start<={a.ndim}")
    start += a.ndim if start < 0 else 0
    return moveaxis(a, axis, start - 1 if start > axis else start)


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return `a` without its axes of size 1, or without the axes `axis`. Raise ValueError if one of them has another size."""
    check_arraylike("squeeze", a)
    a = given_array(a)
    return _squeeze(a, None if axis is None else index_tuple(axis))


@inlined(static_argnames=("axis",))
def _squeeze(a: Any, axis: tuple[int, ...] | None) -> Any:
    a = as_array(a)
    return lax.squeeze(a, [i for i, n in enumerate(a.shape) if n == 1] if axis is None else axis)


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """Return `a` with new axes of size 1, at these positions of the result. Raise ValueError for positions repeated or
    out of bounds.
    """
    return lax.expand_dims(ensure_arraylike("expand_dims", a), index_tuple(axis))


def _several(results: list[Any]) -> list[Any] | tuple[Any, ...]:
    return tuple(results) if since(0, 12) else results


@jit
def atleast_1d(*arys: Any) -> Any:
    """Return the argument with at least one axis. For several arguments, return a tuple (up to JAX 0.11 a list)."""
    check_arraylike("atleast_1d", *arys)
    results = [array(x, copy=False, ndmin=1) for x in arys]
    return results[0] if len(results) == 1 else _several(results)


@jit
def atleast_2d(*arys: Any) -> Any:
    """Return the argument with at least two axes, new ones in front. For several, return a tuple (up to JAX 0.11 a list)."""
    check_arraylike("atleast_2d", *arys)
    results = [array(x, copy=False, ndmin=2) for x in arys]
    return results[0] if len(results) == 1 else _several(results)


@jit
def atleast_3d(*arys: Any) -> Any:
    """Return the argument with at least three axes: (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1). For several,
    return a tuple (up to JAX 0.11 a list).
    """
    check_arraylike("atleast_3d", *arys)
    if len(arys) != 1:
        return _several([atleast_3d(x) for x in arys])
    x = asarray(arys[0])
    new_axes = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(x.ndim)
    return x if new_axes is None else lax.expand_dims(x, new_axes)


# --- another order along an axis -------------------------------------------------------------------------------------


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return `m` with its elements reversed along `axis`, or along all axes."""
    check_arraylike("flip", m)
    return _flip(given_array(m), static_axes(axis))


def fliplr(m: Any) -> Any:
    """Return `m` with the order of its columns (its second axis) reversed."""
    check_arraylike("fliplr", m)
    return _flip(given_array(m), 1)


def flipud(m: Any) -> Any:
    """Return `m` with the order of its rows (its first axis) reversed."""
    check_arraylike("flipud", m)
    return _flip(given_array(m), 0)


@jit(static_argnames=("axis",))
def _flip(m: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    if axis is None:
        return lax.rev(m, list(range(m.ndim)))
    return lax.rev(m, [canonicalize_axis(i, m.ndim) for i in index_tuple(axis)])


@jit(static_argnames=("k", "axes"))
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Return `m`, rotated by k * 90 degrees in the plane of two axes, from the first to the second. Raise ValueError if
    the axes are equal, or `m` has fewer than two.
    """
    m = ensure_arraylike("rot90", m)
    if m.ndim < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument of shape "
            f"{m.shape}, which has ndim {m.ndim}"
        )
    ax1, ax2 = (canonicalize_axis(i, m.ndim) for i in axes)
    if ax1 == ax2:
        raise ValueError("Axes must be different")
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, ax1), ax2)
    order = list(range(m.ndim))
    order[ax1], order[ax2] = order[ax2], order[ax1]
    return transpose(flip(m, ax2), order) if k == 1 else flip(transpose(m, order), ax2)


def roll(a: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return the elements, shifted cyclically along `axis` by `shift` positions. With several axes, `shift` is a number
    for all of them, or one for each. If `axis` is None, shift the flattened array, and return it in the shape of `a`.

    `shift` may be traced. Raise ValueError if it is not a scalar or a vector, or does not fit `axis`.
    """
    arr = ensure_arraylike("roll", a)
    if axis is None:
        return roll(arr.ravel(), shift, 0).reshape(arr.shape)
    axes = tuple(canonicalize_axis(i, arr.ndim) for i in index_tuple(axis))
    if isinstance(shift, core.Tracer):
        return _roll_dynamic(arr, shift, axes)
    shifts: tuple[int, ...] | None
    try:
        shifts = index_tuple(shift)
    except TypeError:
        shifts = None
    return _roll_dynamic(arr, asarray(shift), axes) if shifts is None else _roll_static(arr, shifts, axes)


@jit(static_argnums=(2,))
def _roll_dynamic(a: Any, shift: Any, axis: Sequence[int]) -> Any:
    shape = lax.broadcast_shapes(shift.shape, np.shape(axis))
    if len(shape) != 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    shifts = broadcast_to(shift, shape)
    for i, distance in zip(np.broadcast_to(axis, shape), shifts, strict=True):
        size = np.int32(a.shape[i])
        x = lax.convert_element_type(distance, np.dtype("int32"))
        x = x % lax.max(size, np.int32(1))
        a = lax.dynamic_slice_in_dim(lax.concatenate((a, a), i), size - x, a.shape[i], axis=i)
    return a


@jit(static_argnums=(1, 2))
def _roll_static(a: Any, shift: Sequence[int], axis: Sequence[int]) -> Any:
    for i, s in zip(*np.broadcast_arrays(axis, shift), strict=True):
        if a.shape[i] == 0:
            continue
        cut = int(-s % a.shape[i])
        a = lax.concatenate(
            [lax.slice_in_dim(a, cut, a.shape[i], axis=int(i)), lax.slice_in_dim(a, 0, cut, axis=int(i))], int(i)
        )
    return a


@jit(static_argnames=("n", "axis"))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the n-th differences of neighbours along `axis`, after adding `prepend` and `append` at its ends; for
    bools, whether neighbours differ. Raise ValueError for a negative n, and for a scalar unless n is 0.
    """
    arr = ensure_arraylike("diff", a)
    n = concrete_index(n, "'n' argument of jnp.diff")
    axis = concrete_index(axis, "'axis' argument of jnp.diff")
    if n == 0:
        return arr
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if arr.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonicalize_axis(axis, arr.ndim)
    ends = [None if end is None else _end_piece(end, arr.shape, axis) for end in (prepend, append)]
    pieces = [piece for piece in (ends[0], arr, ends[1]) if piece is not None]
    if len(pieces) > 1:
        arr = lax.concatenate(promote_dtypes(*pieces), axis)
    before = (slice(None),) * axis
    difference = operator.ne if arr.dtype == np.bool_ else operator.sub
    for _ in range(n):
        arr = difference(arr[(*before, slice(1, None))], arr[(*before, slice(None, -1))])
    return arr


def _end_piece(piece: Any, shape: tuple[int, ...], axis: int) -> Any:
    piece = ensure_arraylike("diff", piece)
    return piece if piece.ndim else broadcast_to(piece, (*shape[:axis], 1, *shape[axis + 1 :]))
