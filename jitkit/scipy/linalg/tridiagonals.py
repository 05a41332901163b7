"""Finds the eigenvalues and eigenvectors of one symmetric matrix with numbers on three diagonals only.

Eigenvalues are found by bisection, all at the same time: a Sturm sequence counts those below a number. Eigenvectors are
found from random vectors by inverse iteration; those of close eigenvalues are made orthogonal to each other. J. Demmel,
"Applied numerical linear algebra", 5.3.4.

JAX: jax/_src/scipy/linalg.py:eigh_tridiagonal
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax, random
from ... import numpy as jnp
from ...core import dtypes
from ...pjit.jit import jit

_UNROLLED = 16  # steps of a Sturm sequence in one iteration of its loop
_MARGIN = 2.1  # a safety factor of the rounding errors by which Gershgorin's interval is widened
_MOST_ITERATIONS = 5  # LAPACK's xSTEIN makes as many
_GROWTH = 1.1  # the iteration ends when no vector grew by this factor in its last step
_ACCEPTED = (np.float32, np.float64, np.complex64, np.complex128)


@jit(static_argnames=("eigvals_only", "select", "select_range"))
def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Return the eigenvalues, ascending, and a matrix whose columns are eigenvectors; with `eigvals_only`, the
    eigenvalues alone.

    Args:
      d: the diagonal, a vector.
      e: the numbers beside it, one fewer.
      select: "a": all eigenvalues; "i": those from the first to the last index in `select_range`, both included.
      tol: the tolerated error of eigenvalues; by default, and at least, eps times the norm of the matrix.
      key: a random key for the first vectors of the iteration.

    Raises:
      TypeError: for vectors of different dtypes, or of others than float32, float64 and their complex dtypes.
      ValueError: for another `select`, or without a range that `select` needs.
      NotImplementedError: for `select="v"`, as in JAX.
    """
    if not eigvals_only and key is None:
        key = random.key(42)
    alpha, beta = jnp.asarray(d), jnp.asarray(e)
    if alpha.dtype != beta.dtype:
        raise TypeError(f"diagonal and off-diagonal values must have same dtype, got {alpha.dtype} and {beta.dtype}")
    if alpha.dtype not in _ACCEPTED:
        raise TypeError(
            "Only float32 and float64 inputs are supported as inputs to jax.scipy.linalg.eigh_tridiagonal, got "
            f"{alpha.dtype} and {beta.dtype}"
        )
    n = alpha.shape[0]
    if n <= 1:
        values = jnp.real(alpha)
        return values if eigvals_only else (values, jnp.eye(n, dtype=alpha.dtype))
    if dtypes.issubdtype(alpha.dtype, np.complexfloating):
        alpha = jnp.real(alpha)
        squares = jnp.real(beta * jnp.conj(beta))
        sizes = jnp.sqrt(squares)
    else:
        sizes, squares = jnp.abs(beta), jnp.square(beta)
    values = _eigenvalues(alpha, sizes, squares, select, select_range, tol)
    return values if eigvals_only else (values, _eigenvectors(alpha, beta, values, key).T)


def _indices(n: int, select: str, select_range: Any) -> Any:
    if select == "a":
        return jnp.arange(n, dtype=np.int32)
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select != "i":
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    if select_range is None:
        raise ValueError("for select='i', select_range must be specified.")
    if select_range[0] > select_range[1]:
        raise ValueError("Got empty index range in select_range.")
    return jnp.arange(select_range[0], select_range[1] + 1, dtype=np.int32)


def _eigenvalues(alpha: Any, sizes: Any, squares: Any, select: str, select_range: Any, tol: float | None) -> Any:
    """Return the selected eigenvalues, from the diagonal, the numbers beside it in absolute value, and the squares of these."""
    n, info = alpha.shape[0], np.finfo(alpha.dtype)
    radii = jnp.concatenate([sizes[:1], sizes[:-1] + sizes[1:], sizes[-1:]], axis=0)
    greatest, least = jnp.amax(alpha + radii), jnp.amin(alpha - radii)  # Gershgorin's bounds
    norm = jnp.maximum(jnp.abs(least), jnp.abs(greatest))
    one = np.ones([], dtype=alpha.dtype)
    pivot = np.maximum(one / info.max, (one + info.eps) * info.tiny) * jnp.maximum(1, jnp.amax(squares))
    first_pivot = jnp.square(info.eps * sizes[0])
    accepted = info.eps * norm
    if tol is not None:
        accepted = jnp.maximum(tol, accepted)
    indices = _indices(n, select, select_range)
    slack = jnp.array(n, alpha.dtype) * _MARGIN * info.eps * norm
    lower = least - slack - 2 * _MARGIN * pivot
    upper = greatest + slack + _MARGIN * pivot
    shape = np.shape(indices)
    lower, upper = jnp.broadcast_to(lower, shape=shape), jnp.broadcast_to(upper, shape=shape)
    middle = 0.5 * (upper + lower)
    pivot, first_pivot = jnp.broadcast_to(pivot, shape), jnp.broadcast_to(first_pivot, shape)

    def is_wide(state: Any) -> Any:
        i, lower, _, upper = state
        return jnp.logical_and(jnp.less(i, info.nmant + 1), jnp.less(accepted, jnp.amax(upper - lower)))

    def halve(state: Any) -> Any:
        i, lower, middle, upper = state
        counts = _count_below(alpha, squares, pivot, first_pivot, middle)
        lower = jnp.where(counts <= indices, middle, lower)
        upper = jnp.where(counts > indices, middle, upper)
        middle = 0.5 * (lower + upper)
        return i + 1, lower, middle, upper

    return lax.while_loop(is_wide, halve, (0, lower, middle, upper))[2]


def _count_below(alpha: Any, squares: Any, pivot: Any, first_pivot: Any, x: Any) -> Any:
    """Return the number of eigenvalues below x, by counting the negative pivots in the elimination of T - x."""
    n = alpha.shape[0]
    zeros, ones = jnp.zeros(x.shape, dtype=np.int32), jnp.ones(x.shape, dtype=np.int32)
    q = alpha[0] - x
    count = jnp.where(q < 0, ones, zeros)
    q = jnp.where(alpha[0] == x, first_pivot, q)

    def steps(state: Any, number: int) -> Any:
        start, q, count = state
        for j in range(number):
            i = start + j
            q = alpha[i] - squares[i - 1] / q - x
            count = jnp.where(q <= pivot, count + 1, count)
            q = jnp.where(q <= pivot, jnp.minimum(q, -pivot), q)
        return start + number, q, count

    state = steps((1, q, count), (n - 1) % _UNROLLED)
    return lax.while_loop(lambda state: jnp.less(state[0], n), lambda state: steps(state, _UNROLLED), state)[2]


def _eigenvectors(alpha: Any, beta: Any, values: Any, key: Any) -> Any:
    """Return a row for each eigenvalue: x = (T - value)^-1 x / |...|, from a random x, until x stops growing."""
    n, k = alpha.shape[0], values.shape[0]
    left, right = jnp.pad(jnp.conj(beta), (1, 0)), jnp.pad(beta, (0, 1))
    orthogonal = _orthogonalizer(values, n)
    dtype = np.result_type(alpha.dtype, beta.dtype)
    rows = random.normal(key, (k, n), dtype=np.finfo(dtype).dtype).astype(dtype)
    rows = rows / jnp.linalg.norm(rows, axis=-1, keepdims=True).astype(dtype)
    shifted = alpha[None, :] - values[:, None]
    left, right = jnp.broadcast_to(left[None, :], (k, n)), jnp.broadcast_to(right[None, :], (k, n))

    def iterate(state: Any) -> Any:
        i, rows, size, _ = state
        diagonals = (left.astype(dtype), shifted.astype(dtype), right.astype(dtype))
        rows = lax.linalg.tridiagonal_solve(*diagonals, rows[:, :, None].astype(dtype), perturb_singular=True)
        rows = jnp.squeeze(rows, axis=-1)
        new_size = jnp.linalg.norm(rows, axis=-1, keepdims=True)
        rows = rows / new_size.astype(rows.dtype)
        new_size = jnp.squeeze(new_size, axis=-1)
        rows = orthogonal(rows)
        return i + 1, rows, new_size, size

    def grows(state: Any) -> Any:
        i, _, size, size_before = state
        return jnp.logical_and(i < _MOST_ITERATIONS, jnp.any(size >= _GROWTH * size_before))

    sizes = (jnp.ones(k, dtype=values.dtype), jnp.zeros(k, dtype=values.dtype))
    return lax.while_loop(grows, iterate, (0, rows, *sizes))[1]


def _orthogonalizer(values: Any, n: int) -> Any:
    """Return a function that makes the rows of close eigenvalues orthogonal to each other: only the space of all their
    eigenvectors is well defined, not each vector.
    """
    k = values.shape[0]
    gaps = values[1:] - values[:-1]
    norm = jnp.maximum(jnp.abs(values[0]), jnp.abs(values[-1]))
    is_close = gaps < jnp.sqrt(np.finfo(values.dtype).eps) * norm
    to_left = jnp.pad(is_close, (1, 0), constant_values=False)
    to_right = jnp.pad(is_close, (0, 1), constant_values=False)
    is_first = jnp.logical_and(jnp.logical_not(to_left), to_right)
    is_last = jnp.logical_and(to_left, jnp.logical_not(to_right))
    most = k // 2 + 1
    starts = jnp.nonzero(is_first, size=most)[0]
    ends = jnp.nonzero(is_last, size=most)[0] + 1
    clusters = jnp.sum(is_first)
    places = jnp.arange(k)

    def one_cluster(i: Any, rows: Any) -> Any:
        start, end = starts[i], ends[i]
        count = end - start
        padded = jnp.pad(rows, ((0, k), (0, 0)))
        block = lax.dynamic_slice(padded, (start, 0), (k, n))
        mask = (places < count).astype(rows.dtype)
        q, _ = jnp.linalg.qr((block * mask[:, None]).T)
        made = q.T * mask[:, None]
        moved = lax.dynamic_update_slice(jnp.zeros((2 * k, n), dtype=rows.dtype), made, (start, 0))[:k, :]
        inside = (places >= start) & (places < end)
        return jnp.where(inside[:, None], moved, rows)

    return lambda rows: lax.fori_loop(0, clusters, one_cluster, rows)
