"""Solves Sylvester's equation: A X + X B = C.

With A = U R U^H and B = V S V^H, where R is an upper and S a lower triangle, R Y + Y S = U^H C V is solved element by element, from the
last row upwards: Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972.

JAX: jax/_src/scipy/linalg.py:solve_sylvester
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...numpy import abs as abs_
from ...numpy import any as any_
from ...numpy import arange, asarray, vectorize, where, zeros, zeros_like
from ...numpy import linalg as numpy_linalg
from ...numpy import sum as sum_
from ...numpy.promotion import promote_dtypes_inexact
from ...pjit.jit import jit
from .factoring import inv, solve
from .schur_forms import schur


def _of_triangles(R: Any, S: Any, F: Any) -> Any:
    """Return the Y with R Y + Y S = F, where R is an upper and S a lower triangle."""
    R, S, F = promote_dtypes_inexact(R, S, F)
    m, n = F.shape

    def step(found: Any, place: Any) -> tuple[Any, None]:
        i, j = place // n, place % n
        Y, right = found.reshape((m, n)), F[i, j]
        below = arange(m) > i
        by_rows = sum_(where(below, R[i, :] * Y[:, j], 0.0))
        behind = arange(n) > j
        by_columns = sum_(where(behind, Y[i, :] * S[:, j], 0.0))
        right = right - (by_rows + by_columns)
        value = right / (R[i, i] + S[j, j])
        return found.at[i * n + j].set(value), None

    places = arange(m * n - 1, -1, -1)
    found, _ = lax.scan(step, zeros((m * n,), dtype=F.dtype), places)
    return found.reshape((m, n))


@jit(static_argnames=("method",))
def _solve_sylvester_2d(A: Any, B: Any, C: Any, *, method: str, tol: float) -> Any:  # jaxprs show JAX's name
    m, n = C.shape[-2:]
    if method == "schur":
        R, U = schur(A, output="complex")
        S, V = schur(B.conj().T, output="complex")
        F = U.conj().T @ C.astype(R.dtype) @ V
        X = U @ _of_triangles(R, S.conj().T, F) @ V.conj().T
    elif method == "eigen":
        of_a, U = numpy_linalg.eig(A)
        of_b, V = numpy_linalg.eig(B)
        F = solve(U, C.astype(of_a.dtype) @ V)
        Y = F / (of_a[:, None] + of_b[None, :])
        X = U[:m, :m] @ Y[:m, :n] @ inv(V)[:n, :n]
    else:
        raise ValueError(f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".')
    if not dtypes.issubdtype(C.dtype, np.complexfloating):
        X = X.real
    sums = numpy_linalg.eigvals(A)[:, None] + numpy_linalg.eigvals(B)[None, :]
    return lax.cond(any_(abs_(sums) < tol), lambda: zeros_like(X) * np.nan, lambda: X)


@jit(static_argnames=("method",))
def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:  # scipy's names
    """Return the X for which A X + X B = C; nan if the sum of an eigenvalue of A and one of B is less than `tol` in
    size.

    Args:
      A, B, C: matrices, or batches of them, which broadcast.
      method: "schur"; or "eigen", which is faster, but needs matrices with independent eigenvectors.

    Raises:
      ValueError: for another method, and if the sizes do not fit.
    """
    A, B, C = promote_dtypes_inexact(asarray(A), asarray(B), asarray(C))
    m, n = C.shape[-2:]
    if A.shape[-2:] != (m, m) or B.shape[-2:] != (n, n):
        raise ValueError(f"Incompatible shapes for Sylvester equation:\nA: {A.shape}\nB: {B.shape}\nC: {C.shape}")
    solve_one = functools.partial(_solve_sylvester_2d, method=method, tol=tol)
    return vectorize(solve_one, signature="(m,m),(n,n),(m,n)->(m,n)")(A, B, C)
