"""Makes matrices from their rows, columns and blocks, or from polynomials.

JAX: jax/_src/scipy/linalg.py:toeplitz
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...numpy import abs as abs_
from ...numpy import (
    arange,
    array,
    asarray,
    atleast_1d,
    atleast_2d,
    concatenate,
    conjugate,
    diag,
    empty,
    empty_like,
    eye,
    flip,
    minimum,
    pad,
    result_type,
    select,
    vectorize,
    zeros,
    zeros_like,
)
from ...numpy.promotion import promote_dtypes, promote_inexact
from ...numpy.util import check_arraylike
from ...pjit.jit import jit

# --- of blocks ----------------------------------------------------------------------------------------------------------------


@jit
def block_diag(*arrs: Any) -> Any:
    """Return a matrix with the arguments along its diagonal, and zeros elsewhere. A vector is one row. Raise ValueError
    for more than two axes.
    """
    blocks = promote_dtypes(*(arrs or (zeros((1, 0)),)))
    wrong = [i for i, block in enumerate(blocks) if np.ndim(block) > 2]
    if wrong:
        raise ValueError(
            f"Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got {blocks[wrong[0]]} at argument "
            f"{wrong[0]}."
        )
    matrices = [atleast_2d(block) for block in blocks]
    before, total = 0, sum(matrix.shape[1] for matrix in matrices)
    rows = []
    for matrix in matrices:
        after = total - before - matrix.shape[1]
        rows.append(lax.pad(matrix, matrices[0].dtype.type(0), ((0, 0, 0), (before, after, 0))))
        before += matrix.shape[1]
    return concatenate(rows, axis=0)


# --- whose diagonals, or antidiagonals, are constant --------------------------------------------------------------------------


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return matrices with constant diagonals, with first column `c` and first row `r` (by default the conjugate of c)."""
    check_arraylike("toeplitz", *([c] if r is None else [c, r]))
    r = conjugate(asarray(c)) if r is None else r
    return _toeplitz(atleast_1d(asarray(c)), atleast_1d(asarray(r)))


@functools.partial(vectorize, signature="(m),(n)->(m,n)")
def _toeplitz(c: Any, r: Any) -> Any:
    if not (c.size and r.size):
        return empty((c.size, r.size), dtype=dtypes.promote_types(c.dtype, r.dtype))
    return flip(_windows(concatenate((c[::-1], r[1:])), r.size), axis=0)


def hankel(c: Any, r: Any = None) -> Any:
    """Return matrices with constant antidiagonals, with first column `c` and last row `r` (by default zeros). Raise
    ValueError for scalars.
    """
    check_arraylike("hankel", *([c] if r is None else [c, r]))
    c = asarray(c)
    r = zeros_like(c) if r is None else asarray(r)
    for name, x in (("c", c), ("r", r)):
        if x.ndim == 0:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    rank = max(c.ndim, r.ndim)
    return _hankel(*(x if x.ndim == rank else lax.expand_dims(x, range(rank - x.ndim)) for x in (c, r)))


@functools.partial(vectorize, signature="(m),(n)->(m,n)")
def _hankel(c: Any, r: Any) -> Any:
    if not (c.size and r.size):
        return empty((c.size, r.size), dtype=result_type(c, r))
    return _windows(concatenate((c, r[1:])), r.size)


def _windows(x: Any, size: int) -> Any:
    """Return all runs of `size` neighbours, as rows."""
    numbers = ("NTC", "IOT", "NTC")
    return lax.conv_general_dilated_patches(
        x.reshape((1, x.size, 1)), (size,), (1,), "VALID", dimension_numbers=numbers, precision=lax.Precision.HIGHEST
    )[0]


@jit(static_argnames=("n", "mode"))
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Return the matrix whose product with a vector v of size `n` is convolve(a, v, mode). Raise ValueError for another
    mode, an n that is not positive, or an `a` without elements or axes.
    """
    n = operator.index(n)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    check_arraylike("convolution_matrix", a)
    a = asarray(a)
    if a.ndim == 0:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar.")
    m = a.shape[-1]
    if m < 1:
        raise ValueError(f"len(a) must be at least 1; got shape {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    widths = [(0, 0)] * (a.ndim - 1) + [(0, n - 1)]
    column, row = pad(a, widths), pad(flip(a, axis=-1), widths)
    size, shorter = m + n - 1, min(n, m) - 1
    before, after = {"full": (0, 0), "valid": (shorter, shorter), "same": (shorter // 2, shorter - shorter // 2)}[mode]
    return toeplitz(
        lax.slice_in_dim(column, before, size - after, axis=-1),
        lax.slice_in_dim(row, size - n - before, size - before, axis=-1),
    )


def circulant(c: Any) -> Any:
    """Return matrices with first column `c`; each further column is the one before, shifted down cyclically by one."""
    check_arraylike("circulant", c)
    return _circulant(atleast_1d(asarray(c)))


@functools.partial(vectorize, signature="(n)->(n,n)")
def _circulant(c: Any) -> Any:
    (n,) = c.shape
    return c[(arange(n)[:, None] - arange(n)[None, :]) % n]


# --- of populations and polynomials -------------------------------------------------------------------------------------------


def leslie(f: Any, s: Any) -> Any:
    """Return the matrix of a population by age: births per head `f` in the first row, and the survival rates `s` below
    the diagonal. Raise ValueError unless `f` has at least 2 elements along its last axis, and `s` one less.
    """
    check_arraylike("leslie", f, s)
    f, s = atleast_1d(f), atleast_1d(s)
    if f.shape[-1] < 2:
        raise ValueError(f"The length of f along the last axis must be at least 2; got shape {f.shape}.")
    if s.shape[-1] != f.shape[-1] - 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f; got f "
            f"shape {f.shape} and s shape {s.shape}."
        )
    return _leslie(f, s)


@functools.partial(vectorize, signature="(n),(m)->(n,n)")
def _leslie(f: Any, s: Any) -> Any:
    f, s = promote_dtypes(f, s)
    return diag(s, k=-1).at[0].set(f)


def companion(a: Any) -> Any:
    """Return the matrix whose eigenvalues are the roots of the polynomial with coefficients `a`, the highest power
    first. Raise ValueError for fewer than 2 coefficients.
    """
    a = atleast_1d(promote_inexact("companion", a)[1][0])
    if a.shape[-1] < 2:
        raise ValueError(f"The length of `a` along the last axis must be at least 2; got shape {a.shape}.")
    return _companion(a)


@functools.partial(vectorize, signature="(n)->(m,m)")
def _companion(a: Any) -> Any:
    row = -a[1:] / a[0]
    size = a.shape[0] - 1
    return eye(size, size, k=-1, dtype=row.dtype).at[0].set(row)


def fiedler(a: Any) -> Any:
    """Return the matrices |a_i - a_j| of vectors `a`."""
    check_arraylike("fiedler", a)
    a = atleast_1d(a)
    return abs_(a[..., None] - a[..., None, :])


def fiedler_companion(a: Any) -> Any:
    """Return a matrix with five diagonals whose eigenvalues are the roots of the polynomial with coefficients `a`, the
    highest power first. Raise ValueError for no coefficients.
    """
    a = atleast_1d(promote_inexact("fiedler_companion", a)[1][0])
    if a.shape[-1] == 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but got an array of shape "
            f"{a.shape}."
        )
    return _fiedler_companion(a)


@functools.partial(vectorize, signature="(n)->(m,m)")
def _fiedler_companion(a: Any) -> Any:
    n = a.shape[0] - 1
    if n == 0:
        return empty_like(a, shape=(0, 0))
    a = a / a[0]
    if n == 1:
        return -a[1:].reshape(1, 1)
    i, j = arange(n)[:, None], arange(n)[None, :]
    above, below = -a[minimum(i + 2, n)], -a[minimum(i + 1, n)]
    even, odd = i % 2 == 0, i % 2 == 1
    one, zero = array(1, dtype=a.dtype), array(0, dtype=a.dtype)
    places = [
        (i == 0) & (j == 0),
        (i == 1) & (j == 0),
        (j == i + 1) & even,
        (j == i + 2) & even,
        (j == i - 1) & even & (i >= 2),
        (j == i - 2) & odd & (i >= 3),
    ]
    return select(places, [-a[1], one, above, one, below, one], default=zero)
