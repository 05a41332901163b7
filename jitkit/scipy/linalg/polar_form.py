"""Finds the polar form of matrices: A = U P, where U has orthonormal columns and P is Hermitian without negative
eigenvalues.

The method QDWH multiplies x by a quotient of polynomials of x^H x that brings singular values between l and 1 closest
to 1, step after step: Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the matrix polar
decomposition", SIAM J. Matrix Anal. Appl. 31 (2010). The growth of l is known beforehand, and with it the coefficients
of each step.

JAX: jax/_src/tpu/linalg/qdwh.py:qdwh
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ...base import config
from ...core import dtypes
from ...numpy import array, asarray, cbrt, eye, logical_and, logical_not, vectorize, where
from ...numpy import linalg as numpy_linalg
from ...pjit.jit import jit

_STABLE_UP_TO = 100  # the largest c with which a step may use Cholesky's factors, which are faster than QR


def _coefficients(eps: float, max_steps: int) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Return the coefficients of the steps that use QR, and of the later steps, which use Cholesky's factors."""
    by_qr: list[tuple[float, ...]] = []
    by_cholesky: list[tuple[float, ...]] = []
    smallest, slack = eps, 10.0 * eps / 2.0
    while smallest + slack < 1 and len(by_qr) + len(by_cholesky) < max_steps:
        square = smallest * smallest
        d = (4 * (1 / square - 1) / square) ** (1 / 3)
        root = (1.0 + d) ** (1 / 2)
        a = root + (2 - d + 2 * (2 - square) / (square * root)) ** (1 / 2)
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        smallest = smallest * (a + b * square) / (1 + c * square)
        if c > _STABLE_UP_TO:
            root_of_c = c ** (1 / 2)
            by_qr.append(((a - b / c) / root_of_c, root_of_c, b / c))
        else:
            by_cholesky.append((a - b / c, c, b / c))
    return by_qr, by_cholesky


def _masked(x: Any, sizes: tuple[Any, Any], alternative: Any = 0) -> Any:
    """Return x with `alternative` in place of elements outside these sizes."""
    inside = [lax.broadcasted_iota(np.int32, x.shape, i) < n for i, n in enumerate(sizes)]
    return where(inside[0] & inside[1], x, alternative)


def _step_by_qr(u: Any, m: Any, n: Any, coefficients: Any) -> Any:
    factor, root_of_c, e = coefficients
    rows, columns = u.shape
    top = root_of_c * u
    below = eye(columns, dtype=dtypes.dtype(u))
    padded = lax.pad(top, array(0, top.dtype), [(0, columns, 0), (0, 0, 0)])
    q, _ = lax.linalg.qr(lax.dynamic_update_slice_in_dim(padded, below, m, 0), full_matrices=False)
    q1 = _masked(lax.slice(q, (0, 0), (rows, columns)), (m, n))
    q2 = _masked(lax.dynamic_slice_in_dim(q, m, columns, axis=0), (n, n)).T.conj()
    return e * u + factor * (q1 @ q2)


def _step_by_cholesky(u: Any, m: Any, n: Any, coefficients: Any) -> Any:
    factor, c, e = coefficients
    columns = u.shape[1]
    x = c * (u.T.conj() @ u) + eye(columns, dtype=dtypes.dtype(u))
    x = _masked(x, (n, n), eye(columns, dtype=x.dtype))
    y = lax.linalg.cholesky(x, symmetrize_input=False)
    z = lax.linalg.triangular_solve(y, u.T, left_side=True, lower=True, conjugate_a=True).conj()
    z = lax.linalg.triangular_solve(y, z, left_side=True, lower=True, transpose_a=True, conjugate_a=True).T.conj()
    return e * u + factor * z


@jit(static_argnames=("is_hermitian", "max_iterations", "eps"))
def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Return U and P with x = U P, the number of steps taken, and whether the last step changed almost nothing.

    `dynamic_shape` are the rows and columns that count, which may be unknown until the program runs; the others are
    taken for zero. `is_hermitian` does nothing, as in JAX. Raise ValueError for fewer rows than columns.
    """
    rows, columns = x.shape
    if rows < columns:
        raise ValueError("The input matrix of shape M x N must have M >= N.")
    m, n = (rows, columns) if dynamic_shape is None else dynamic_shape
    if dynamic_shape is not None:
        x = _masked(x, (m, n))
    with config.override(default_matmul_precision="float32"):
        u, p, steps, done = _qdwh(x, m, n, 10 if max_iterations is None else max_iterations, eps)
    return u, p, steps, done


def _qdwh(x: Any, m: Any, n: Any, max_steps: int, eps: float | None) -> tuple[Any, Any, Any, Any]:
    eps = float(dtypes.finfo(x.dtype).eps) if eps is None else eps
    norm_1, norm_inf = (numpy_linalg.norm(x, ord=order) for order in (1, np.inf))
    product = lax.rsqrt(norm_1) * lax.rsqrt(norm_inf)
    scale = where(norm_1 == 0, 1, product)
    u = x * scale.astype(x.dtype)
    small_change = cbrt(10.0 * eps / 2.0)
    by_qr, by_cholesky = _coefficients(eps, max_steps)

    def changes(u: Any, before: Any) -> Any:
        return numpy_linalg.norm(u - before) > small_change

    def repeat(u: Any, step: Callable[..., Any], rows: list[tuple[float, ...]], asks: bool) -> tuple[Any, Any]:
        """Return u after a step for each row of coefficients, and whether the last step changed something; True unless `asks`."""
        if not rows:
            return u, True
        table = array(rows).astype(x.dtype)

        def body(k: Any, state: Any) -> tuple[Any, Any]:
            before, _ = state
            u = step(before, m, n, lax.dynamic_index_in_dim(table, k, keepdims=False))
            return u, changes(u, before) if asks else True

        u, is_changing = lax.fori_loop(0, len(rows), body, (u, True))
        return u, is_changing

    u, _ = repeat(u, _step_by_qr, by_qr, False)
    u, is_changing = repeat(u, _step_by_cholesky, by_cholesky, True)

    def goes_on(state: Any) -> Any:
        k, _, is_changing = state
        return logical_and(is_changing, k < max_steps)

    def body(state: Any) -> tuple[Any, Any, Any]:
        k, before, _ = state
        u = _step_by_cholesky(before, m, n, (3 - 1 / 3, 3, 1 / 3))
        is_changing = changes(u, before)
        return k + 1, u, is_changing

    n_steps, u, is_changing = lax.while_loop(goes_on, body, (len(by_qr) + len(by_cholesky), u, is_changing))
    u = 1.5 * u - 0.5 * u @ (u.T.conj() @ u)
    p = u.T.conj() @ x
    return u, (p + p.T.conj()) / 2, n_steps, logical_not(is_changing)


@jit(static_argnames=("side", "method"))
def _polar_2d(a: Any, side: str, method: str, eps: Any, max_iterations: Any) -> tuple[Any, Any]:
    with config.override(default_matmul_precision="float32"):
        rows, columns = a.shape
        if method == "qdwh":
            if rows >= columns and side == "right":
                unitary, positive, _, _ = qdwh(a, is_hermitian=False, eps=eps)
                return unitary, positive
            if rows < columns and side == "left":
                unitary, positive, _, _ = qdwh(a.T.conj(), is_hermitian=False, eps=eps)
                positive = positive.T.conj()
                return unitary.T.conj(), positive
            raise NotImplementedError(
                "method='qdwh' only supports mxn matrices where m < n where side='right' and m >= n "
                f"side='left', got {a.shape} with {side=}"
            )
        if method != "svd":
            raise ValueError(f"Unknown polar decomposition method {method}.")
        u, s, vh = lax.linalg.svd(a, full_matrices=False)
        s = s.astype(u.dtype)
        unitary = u @ vh
        if side == "right":
            return unitary, (vh.T.conj() * s[None, :]) @ vh
        return unitary, (u * s[None, :]) @ u.T.conj()


@jit(static_argnames=("side", "method"))
def polar(
    a: Any, side: str = "right", *, method: str = "qdwh", eps: float | None = None, max_iterations: int | None = None
) -> Any:
    """Return U and P with a = U P or, for the side "left", a = P U.

    The method "qdwh" takes the side "right" for matrices with no more columns than rows, "left" for others, and raises
    NotImplementedError otherwise; "svd" takes both sides. `max_iterations` does nothing, as in JAX. Raise ValueError
    for another side or method, or fewer than two axes.
    """
    arr = asarray(a)
    if arr.ndim < 2:
        raise ValueError("The input `a` must be at least a 2-D array.")
    if side not in ["right", "left"]:
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    of_one = functools.partial(_polar_2d, side=side, method=method, eps=eps, max_iterations=max_iterations)
    return vectorize(of_one, signature="(m,n)->(m,n),(n,n)" if side == "right" else "(m,n)->(m,n),(m,m)")(arr)
