"""Makes matrices with names, of a given size.

JAX: jax/_src/scipy/linalg.py:hilbert
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...numpy import arange, block, concatenate, dot, exp, ones, sqrt, where, zeros_like
from ...numpy import full as full_
from ...pjit.jit import jit
from ..special import comb


@jit(static_argnames=("n",))
def hilbert(n: int) -> Any:
    """Return the n x n matrix 1 / (i + j + 1)."""
    a = lax.broadcasted_iota(float, (n, 1), 0)
    return 1 / (a + a.T + 1)


@jit(static_argnames=("n",))
def invhilbert(n: int) -> Any:
    """Return the inverse of `hilbert(n)`, whose elements are whole numbers."""
    a = arange(n, dtype=dtypes.default_float_dtype())
    i, j = a[:, None], a[None, :]
    s = i + j
    return (-1.0) ** s * (s + 1.0) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(s, i) ** 2


@jit(static_argnames=("n", "kind"))
def pascal(n: int, kind: str | None = None) -> Any:
    """Return Pascal's triangle as an n x n matrix, "lower" or "upper", or lower @ upper ("symmetric", the default).
    Raise ValueError for another `kind`.
    """
    lower = _kind(kind, "on")
    a = arange(n, dtype=np.float32)
    triangle = _binom(a[:, None], a[None, :])
    return dot(triangle, triangle.T) if lower is None else triangle if lower else triangle.T


@jit(static_argnames=("n", "kind"))
def invpascal(n: int, kind: str | None = None) -> Any:
    """Return the inverse of `pascal(n, kind)`, with the same error."""
    lower = _kind(kind, "one")
    a = arange(n, dtype=dtypes.default_float_dtype())
    i, j = a[:, None], a[None, :]
    triangle = (-1.0) ** (i - j) * _binom(i, j)
    return dot(triangle.T, triangle) if lower is None else triangle if lower else triangle.T


def _kind(kind: str | None, one: str) -> bool | None:
    """Return True for the lower triangle, False for the upper one, None for the product. Raise ValueError, with JAX's
    spelling, for another kind.
    """
    kinds = {"symmetric": None, "lower": True, "upper": False}
    if kind is not None and kind not in kinds:
        raise ValueError(f"Expected kind to be {one} of: {list(kinds)}; got {kind}")
    return kinds[kind or "symmetric"]


@jit
def _binom(n: Any, k: Any) -> Any:
    all_ways, of_rest, of_chosen = lax.lgamma(n + 1.0), lax.lgamma(n - k + 1.0), lax.lgamma(k + 1.0)
    return lax.exp(all_ways - of_rest - of_chosen)


@jit(static_argnames=("n", "full"))
def helmert(n: int, full: bool = False) -> Any:
    """Return a Helmert matrix: n - 1 orthonormal rows, orthogonal to a row of ones. With `full`, that row, normalised,
    comes first. Raise ValueError unless n is positive.
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    i, j = arange(n - 1)[:, None], arange(n)[None, :]
    k = i + 1
    count = k.astype(dtypes.default_float_dtype())
    length = sqrt(count * (count + 1))
    rows = where(j <= i, 1.0 / length, where(j == k, -count / length, zeros_like(length)))
    return concatenate([full_((1, n), 1.0 / sqrt(n), dtype=rows.dtype), rows], axis=0) if full else rows


@jit(static_argnames=("n", "dtype"))
def hadamard(n: int, dtype: Any = int) -> Any:
    """Return an n x n matrix of 1 and -1 with orthogonal rows. Raise ValueError unless n is a power of 2."""
    if n < 1 or not math.log2(n).is_integer():
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    matrix = ones((1, 1), dtype=dtype)
    for _ in range(int(math.log2(n))):
        matrix = block([[matrix, matrix], [matrix, -matrix]])
    return matrix


@jit(static_argnames=("n", "scale", "dtype"))
def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """Return the n x n matrix of the discrete Fourier transform, divided by n if `scale` is "n", by the square root of
    n if it is "sqrtn". Raise ValueError for another `scale`, or a dtype that is not complex.
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    if dtype is None:
        dtype = dtypes.to_complex_dtype(dtypes.default_float_dtype())
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "dft")
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise ValueError(f"dtype must be a complex floating-point type; got {dtype}.")
    a = arange(n, dtype=dtype)
    waves = exp(-2j * np.pi * a[:, None] * a[None, :] / n)
    return waves if scale is None else waves / (sqrt(n) if scale == "sqrtn" else n)
