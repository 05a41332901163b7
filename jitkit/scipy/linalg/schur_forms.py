"""Finds the forms of Schur and Hessenberg, and from Schur's form functions of matrices.

A = Z T Z^H with a unitary Z and a triangle T, so that f(A) = Z f(T) Z^H. The elements of f(T) are found one diagonal
after the other: Golub and Van Loan, "Matrix computations", 4th ed., 9.1.2 and 9.4. `overwrite_a` and `check_finite` are
ignored, as in `factoring`.

JAX: jax/_src/scipy/linalg.py:schur
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...numpy import abs as abs_
from ...numpy import any as any_
from ...numpy import (
    arange,
    array,
    asarray,
    block,
    conj,
    diag,
    isinf,
    matmul,
    maximum,
    minimum,
    ones,
    sqrt,
    triu,
    vectorize,
    where,
    zeros,
    zeros_like,
)
from ...numpy import linalg as numpy_linalg
from ...numpy.promotion import promote_dtypes_complex
from ...pjit.jit import jit

# --- the forms ----------------------------------------------------------------------------------------------------------------


@jit(static_argnames=("output",))
def _schur(a: Any, output: str) -> Any:
    if output == "complex":
        a = a.astype(dtypes.to_complex_dtype(a.dtype))
    return lax.linalg.schur(a)


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """Return T and Z with a = Z T Z^H, where Z is unitary. With `output="complex"` T is an upper triangle; otherwise
    the T of a real matrix has blocks of two rows on its diagonal, for pairs of complex eigenvalues. Raise ValueError
    for another `output`.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    form, vectors = _schur(a, output)
    return form, vectors


@jit
def _rsf2csf_2d(T: Any, Z: Any) -> tuple[Any, Any]:  # jaxprs show JAX's name
    T, Z = promote_dtypes_complex(T, Z)
    size, eps = T.shape[0], dtypes.finfo(T.dtype).eps
    if size == 1:
        return T, Z

    def rotate(m: Any, T: Any, Z: Any) -> tuple[Any, Any]:
        """Return T and Z, rotated so that the element left of the diagonal in row m of T is zero."""
        two = lax.dynamic_slice(T, (m - 1, m - 1), (2, 2))
        mu = numpy_linalg.eigvals(two) - T[m, m]
        r = numpy_linalg.norm(array([mu[0], T[m, m - 1]])).astype(T.dtype)
        c = mu[0] / r
        s = T[m, m - 1] / r
        rotation = array([[c.conj(), s], [-s, c]], dtype=T.dtype)

        rows = lax.dynamic_slice_in_dim(T, m - 1, 2, axis=0)
        right = arange(size) >= m - 1
        turned = rotation @ where(right, rows, 0)
        T = lax.dynamic_update_slice_in_dim(T, where(~right, rows, turned), m - 1, axis=0)

        columns = lax.dynamic_slice_in_dim(T, m - 1, 2, axis=1)
        above = arange(size)[:, np.newaxis] < m + 1
        turned = where(above, columns, 0) @ rotation.conj().T
        T = lax.dynamic_update_slice_in_dim(T, where(~above, columns, turned), m - 1, axis=1)

        vectors = lax.dynamic_slice_in_dim(Z, m - 1, 2, axis=1)
        return T, lax.dynamic_update_slice_in_dim(Z, vectors @ rotation.conj().T, m - 1, axis=1)

    def step(i: Any, both: Any) -> tuple[Any, Any]:
        m, (T, Z) = size - i, both
        is_block = abs_(T[m, m - 1]) > eps * (abs_(T[m - 1, m - 1]) + abs_(T[m, m]))
        T, Z = lax.cond(is_block, rotate, lambda m, T, Z: (T, Z), m, T, Z)
        return T.at[m, m - 1].set(0.0), Z

    T, Z = lax.fori_loop(1, size, step, (T, Z))
    return T, Z


@jit(static_argnames=("check_finite",))
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> Any:  # scipy's names
    """Return the complex form of Schur, `schur(a, "complex")`, from the real one, `schur(a)`. Raise ValueError unless
    both are square matrices of one size.
    """
    t, z = asarray(T), asarray(Z)
    for name, x in (("T", t), ("Z", z)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Input '{name}' must be square.")
    if t.shape[-1] != z.shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    return vectorize(_rsf2csf_2d, signature="(n,n),(n,n)->(n,n),(n,n)")(t, z)


@jit(static_argnames=("calc_q", "check_finite", "overwrite_a"))
def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return H with a = Q H Q^H, where Q is unitary and H is zero below its first subdiagonal; with `calc_q`, `(H, Q)`."""
    size = np.shape(a)[-1]
    if size == 0:
        return (zeros_like(a), zeros_like(a)) if calc_q else zeros_like(a)
    reflections, taus = lax.linalg.hessenberg(a)
    form = triu(reflections, -1)
    if not calc_q:
        return form
    q = lax.linalg.householder_product(reflections[..., 1:, :-1], taus)
    batch, dtype = reflections.shape[:-2], reflections.dtype
    first = [ones((*batch, 1, 1), dtype=dtype), zeros((*batch, 1, size - 1), dtype=dtype)]
    return form, block([first, [zeros((*batch, size - 1, 1), dtype=dtype), q]])


# --- functions of matrices ----------------------------------------------------------------------------------------------------


@jit
def _sqrtm_triu(T: Any) -> Any:  # jaxprs show JAX's name
    """Return the square root of an upper triangle, column after column, each from the diagonal upwards."""
    roots = sqrt(diag(T))
    root = diag(roots)

    def fill(n_above: Any, data: Any) -> tuple[Any, Any]:
        j, U = data
        i = j - 1 - n_above
        s = lax.fori_loop(i + 1, j, lambda k, total: total + U[i, k] * U[k, j], 0.0)
        value = where(T[i, j] == s, 0.0, (T[i, j] - s) / (roots[i] + roots[j]))
        return j, U.at[i, j].set(value)

    return lax.fori_loop(0, roots.size, lambda j, U: lax.fori_loop(0, j, fill, (j, U))[1], root)


@jit
def _sqrtm(A: Any) -> Any:
    T, Z = schur(A, output="complex")
    product = matmul(Z, _sqrtm_triu(T), precision=lax.Precision.HIGHEST)
    return matmul(product, conj(Z.T), precision=lax.Precision.HIGHEST)


def sqrtm(A: Any, blocksize: int = 1) -> Any:  # scipy's name
    """Return the complex matrix whose square is A. Raise NotImplementedError for blocks of more than one element, as in JAX."""
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    return _sqrtm(A)


@jit
def _algorithm_11_1_1(F: Any, T: Any) -> tuple[Any, Any]:  # jaxprs show JAX's name
    """Return f(T), from its diagonal F, and the smallest distance of two eigenvalues, or |T[0, 0]| if that is less."""
    size = T.shape[0]
    smallest = abs_(T[0, 0])

    def fill(i: Any, state: Any) -> tuple[Any, Any, Any]:
        p, F, smallest = state
        j = i + p
        s = T[i - 1, j - 1] * (F[j - 1, j - 1] - F[i - 1, i - 1])
        t_row, t_column = T[i - 1], T[:, j - 1]
        f_row, f_column = F[i - 1], F[:, j - 1]
        between = (arange(size) >= i) & (arange(size) < j - 1)
        product = where(between, t_row, 0) @ where(between, f_column, 0)
        s = s + (product - where(between, f_row, 0) @ where(between, t_column, 0))
        difference = T[j - 1, j - 1] - T[i - 1, i - 1]
        s = where(difference != 0, s / difference, s)
        return p, F.at[i - 1, j - 1].set(s), minimum(smallest, abs_(difference))

    def diagonal(p: Any, state: Any) -> Any:
        return lax.fori_loop(1, size - p + 1, fill, (p, *state))[1:]

    F, smallest = lax.fori_loop(1, size, diagonal, (F, smallest))
    return F, smallest


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:  # scipy's names
    """Return the complex matrix f(A), where `func` computes f of the eigenvalues; without `disp`, also an estimate of
    the error. The result is inexact if eigenvalues are equal or close. Raise ValueError unless A is one square matrix.
    """
    a = asarray(A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected square array_like input")
    T, Z = rsf2csf(*schur(a))
    F = diag(func(diag(T))).astype(T.dtype)
    F, smallest = _algorithm_11_1_1(F, T)
    F = Z @ F @ Z.conj().T
    if disp:
        return F
    # JAX takes the accuracy of float32 for a dtype with the letter f or F, and of float64 for all others.
    eps = dtypes.finfo(np.float32 if F.dtype.char.lower() == "f" else np.float64).eps
    smallest = where(smallest == 0.0, eps, smallest)
    is_infinite = any_(isinf(F))
    error = minimum(1, maximum(eps, (eps / smallest) * numpy_linalg.norm(triu(T, 1), 1)))
    return F, where(is_infinite, np.inf, error)
