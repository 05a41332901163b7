"""Triangles and diagonals: eye, tri, tril, triu, diag, trace.

JAX: jax/_src/numpy/lax_numpy.py:tril
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import lax
from ..base import edits
from ..base.jax_version import since
from ..core import dtypes
from ..lax.placing import placed
from ..lax.utils import canonicalize_axis, canonicalize_shape
from ..pjit.jit import jit
from . import reductions
from .creation import zeros_like
from .promotion import where
from .ranges import arange
from .reductions import refuse_out
from .shaping import moveaxis
from .util import check_arraylike, concrete_index, ensure_arraylike, given_array


def eye(N: int, M: int | None = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an N x M matrix, by default N x N, of zeros, with ones where column - row = k. Raise ValueError for
    negative sizes, or a k that is not a scalar integer.
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype, "eye")
    offset = ensure_arraylike("eye", k)
    if offset.shape != () or not dtypes.issubdtype(offset.dtype, np.integer):
        raise ValueError(f"k must be a scalar integer; got {k}")
    (rows,) = canonicalize_shape((N,), f"argument of 'N' jnp.eye(){edits.TWO_SIZES * isinstance(N, tuple)}")
    shape = (rows, rows if M is None else canonicalize_shape((M,), "argument of 'M' jnp.eye()")[0])
    if any(n < 0 for n in shape):
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    i = lax.broadcasted_iota(offset.dtype, shape, 0)
    j = lax.broadcasted_iota(offset.dtype, shape, 1)
    return placed((i + offset == j).astype(dtype), device)


def identity(n: int, dtype: Any = None) -> Any:
    """Return an n x n matrix with ones on its diagonal."""
    return eye(n, dtype=None if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "identity"))


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Return an N x M matrix, by default N x N, of ones where column - row <= k, and zeros elsewhere."""
    usual = dtypes.default_float_dtype() if since(0, 11) else np.dtype("float32")
    dtype = usual if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "tri")
    shape = canonicalize_shape((N, N if M is None else M))
    counted = dtypes.default_int_dtype()  # the type of k
    rows = lax.add(lax.broadcasted_iota(counted, shape, 0), counted.type(operator.index(k)))
    mask = lax.ge(rows, lax.broadcasted_iota(counted, shape, 1))
    return lax.convert_element_type(mask, dtype)


@jit(static_argnames=("k",))
def tril(m: Any, k: int = 0) -> Any:
    """Return m with zeros above the k-th diagonal of the last two axes. Raise ValueError for fewer axes."""
    m = ensure_arraylike("tril", m)
    if m.ndim < 2:
        raise ValueError("Argument to jax.numpy.tril must be at least 2D")
    mask = lax.broadcast(tri(m.shape[-2], m.shape[-1], k=k, dtype=bool), m.shape[:-2])
    return lax.select(mask, m, zeros_like(m))


@jit(static_argnames=("k",))
def triu(m: Any, k: int = 0) -> Any:
    """Return m with zeros below the k-th diagonal of the last two axes. Raise ValueError for fewer axes."""
    m = ensure_arraylike("triu", m)
    if m.ndim < 2:
        raise ValueError("Argument to jax.numpy.triu must be at least 2D")
    mask = lax.broadcast(tri(m.shape[-2], m.shape[-1], k=k - 1, dtype=bool), m.shape[:-2])
    return lax.select(mask, zeros_like(m), m)


@jit(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the elements whose index along `axis2` is that along `axis1` plus `offset`, along a new last axis in place
    of these two. Raise ValueError for less than two axes.
    """
    a = ensure_arraylike("diagonal", a)
    if a.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    offset = concrete_index(offset, "'offset' argument of jnp.diagonal()")

    def picked(a: Any) -> Any:
        rows, columns = (a.shape[canonicalize_axis(axis, a.ndim)] for axis in (axis1, axis2))
        length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
        a = moveaxis(a, (axis1, axis2), (-2, -1))
        i = arange(length)
        j = arange(abs(offset), abs(offset) + length)
        return a[..., i, j] if offset >= 0 else a[..., j, i]

    if a.ndim != 2 or a.shape[0] != a.shape[1] or offset != 0 or a.dtype == bool:
        return picked(a)
    ones = eye(a.shape[0], dtype=a.dtype)

    def summed(a: Any) -> Any:
        return lax.reduce(lax.mul(ones, a), np.array(0, a.dtype), lax.add, (0,))

    # JAX also compiles for Mosaic, which has no gather: its jaxpr has this equation.
    return lax.platform_dependent(a, default=picked, mosaic=summed)


def diag(v: Any, k: int = 0) -> Any:
    """Return the k-th diagonal of a matrix; for a vector, the matrix with this diagonal, and zeros elsewhere. Raise
    ValueError for other ranks.
    """
    check_arraylike("diag", v)
    return _diag(given_array(v), operator.index(k))


@jit(static_argnames=("k",))
def _diag(v: Any, k: int) -> Any:
    if v.ndim == 2:
        return diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    zero = lax.full_like(v, 0, shape=())
    v = lax.pad(v, zero, ((max(0, -k), max(0, k), 0),))
    return where(eye(v.shape[0], k=k, dtype=bool), v[:, None], zero)


@jit(static_argnames=("axis1", "axis2", "dtype"))
def trace(a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """Return the sum of the `diagonal` of two axes, for each index of the others. Raise ValueError if they are the same
    axis, NotImplementedError if `out` is given.
    """
    a = ensure_arraylike("trace", a)
    refuse_out("trace", out)
    if canonicalize_axis(axis1, a.ndim) == canonicalize_axis(axis2, a.ndim):
        raise ValueError(f"axis1 and axis2 can not be same. axis1={axis1} and axis2={axis2}")
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "trace")
    shape = a.shape
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    a = where(eye(shape[axis1], shape[axis2], k=offset, dtype=bool), a, zeros_like(a))
    return reductions.sum(a, axis=(-2, -1), dtype=dtype)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Return the indices, an array for each axis, of the diagonal of an array with `ndim` axes of size n. Raise
    ValueError for negative numbers.
    """
    n = concrete_index(n, "'n' argument of jnp.diag_indices()")
    ndim = concrete_index(ndim, "'ndim' argument of jnp.diag_indices()")
    if n < 0:
        raise ValueError(f"n argument to diag_indices must be nonnegative, got {n}")
    if ndim < 0:
        raise ValueError(f"ndim argument to diag_indices must be nonnegative, got {ndim}")
    return (lax.iota(dtypes.default_int_dtype(), n),) * ndim
