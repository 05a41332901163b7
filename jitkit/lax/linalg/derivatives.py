"""Differentiates matrix factorisations: each rule differentiates the equation of the factors, such as A = Q R: dA = dQ
R + Q dR.

Each rule uses several factorisations, so all have this module. Where the factors are not unique or not smooth, as for
equal eigenvalues, the formulas divide by zero.

Sources: I. Murray, Differentiation of the Cholesky decomposition, 2016 (cholesky); M. Giles, An extended collection of
matrix derivative results, 2008 (eigh, eig, svd); F. R. de Hoog, R. S. Anderssen and M. A. Lukas, Differentiation of
matrix functionals using triangular factorization, 2011 (lu); J. Townsend, Differentiating the QR decomposition, 2018
(qr).

JAX: jax/_src/lax/linalg.py:_thin_qr_jvp
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config
from ...base.jax_version import since
from ...interpreters.ad_rules import (
    Zero,
    defjvp,
    is_undefined,
    no_cotangents,
    primitive_jvps,
    primitive_transposes,
    zero_tangent,
)
from ..convert import convert_element_type
from ..creation import broadcasted_iota, full, iota
from ..dot_products import batch_matmul, dot
from ..elementwise import abs as abs_
from ..elementwise import add, complex, eq, imag, neg, real, sub
from ..elementwise_rules import COMPLEX
from ..joining import concatenate, pad
from ..powers import integer_pow, reciprocal
from ..precision import Precision
from ..reduction import argmax
from ..shaping import expand_dims
from ..utils import constant_like, is_a
from .factoring import cholesky_p, lu, lu_p, qr_p
from .lapack import adjoint, for_each, lower_triangle, swap_axes, symmetrize, upper_triangle
from .solving import lu_solve, solve, triangular_solve, triangular_solve_p
from .spectral import eig, eig_p, eigh_p, svd_p

Pair = tuple[Any, Any]


def _eye(dtype: Any, size: int) -> Any:
    rows = add(broadcasted_iota(np.int32, (size, size), 0), np.int32(0))
    return convert_element_type(eq(rows, broadcasted_iota(np.int32, (size, size), 1)), dtype)


def _eye_like(dtype: Any, x: Any) -> Any:
    """Return the identity for matrices like `x`, with as many axes."""
    return expand_dims(_eye(dtype, x.shape[-1]), range(x.ndim - 2))


def _diagonal(x: Any) -> Any:
    places = iota(np.int32, min(x.shape[-2:]))
    return x[..., places, places]


def _product(like: Any) -> Callable[[Any, Any], Any]:
    """Return a function for products of matrices with as many axes as `like`, as exact as possible."""
    return functools.partial(dot if like.ndim == 2 else batch_matmul, precision=Precision.HIGHEST)


def _differences(w: Any, eye: Any) -> Any:
    """Return the matrices with w_j - w_i in row i and column j, and 1 instead of 0 on the diagonal, for division."""
    with config.override(numpy_rank_promotion="allow"):
        return eye + w[..., None, :] - w[..., None]


# --- triangular_solve: X = A^-1 B, so that dX = A^-1 (dB - dA X) --------------------------------------------------------------


def _by_matrix(g: Any, x: Any, a: Any, b: Any, **params: Any) -> Any:
    is_unit, left_side = params["unit_diagonal"], params["left_side"]
    g = lower_triangle(g, -int(is_unit)) if params["lower"] else upper_triangle(g, int(is_unit))
    g = neg(g)
    g = swap_axes(g) if params["transpose_a"] else g
    g = g.conj() if params["conjugate_a"] else g
    product = _product(g)
    rows, columns = b.shape[-2:]
    # Of two products in either order, take the cheaper one.
    if left_side:
        if rows > columns:
            return triangular_solve(a, product(g, x), **params)
        return product(triangular_solve(a, g, **params), x)
    if rows < columns:
        return triangular_solve(a, product(x, g), **params)
    return product(x, triangular_solve(a, g, **params))


def _transpose_solve(ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> Sequence[Any]:
    assert is_undefined(b), "triangular_solve is linear in its right side only"
    if type(ct) is Zero:
        return no_cotangents((a, b))
    return [None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)]


defjvp(triangular_solve_p, _by_matrix, lambda g, x, a, b, **params: triangular_solve(a, g, **params))
primitive_transposes[triangular_solve_p] = _transpose_solve


# --- cholesky: A = L L^H ------------------------------------------------------------------------------------------------------


def _hermitian(x: Any) -> Any:
    """Return the Hermitian matrices with x's lower triangle."""

    def mirrored(part: Any, join: Callable[..., Any]) -> Any:
        return join(lower_triangle(part, 0 if join is add else -1), swap_axes(lower_triangle(part, -1)))

    if is_a(x.dtype, *COMPLEX):
        return complex(mirrored(real(x), add), mirrored(imag(x), sub))
    return mirrored(x, add)


def _jvp_cholesky(primals: Sequence[Any], tangents: Sequence[Any]) -> Pair:
    """JVP rule: the tangent of L is L phi(L^-1 dA L^-H), where phi takes the lower triangle and halves the diagonal.
    Since JAX 0.11 only the lower triangle of dA is read.
    """
    [x], [dx] = primals, tangents
    dx = _hermitian(dx) if since(0, 11) else dx
    factor = lower_triangle(cholesky_p.bind(x))
    right = triangular_solve(factor, dx, left_side=False, transpose_a=True, conjugate_a=True, lower=True)
    both = lower_triangle(triangular_solve(factor, right, left_side=True, transpose_a=False, lower=True))
    halved = both / expand_dims(constant_like(both, 1) + _eye(both.dtype, both.shape[-1]), range(both.ndim - 2))
    return factor, batch_matmul(factor, halved, precision=Precision.HIGHEST)


primitive_jvps[cholesky_p] = _jvp_cholesky


# --- lu: A = L U, the rows of A in the order that the values have -------------------------------------------------------------


def _change_of_factors(factors: Any, da: Any, permutation: Any) -> Any:
    """Return dL and dU, in one matrix: of L^-1 dA U^-1, the strictly lower triangle times L is dL, and the upper one times U is dU."""
    rows, columns = da.shape
    rank = min(rows, columns)
    zero = constant_like(factors, 0)
    lower = pad(lower_triangle(factors[:, :rank], -1), zero, [(0, 0, 0), (0, rows - rank, 0)])
    lower = lower + _eye(da.dtype, rows)
    rest = pad(_eye(da.dtype, columns - rank), zero, [(rank, 0, 0), (rank, 0, 0)])
    upper = pad(upper_triangle(factors[:rank, :]), zero, [(0, columns - rank, 0), (0, 0, 0)]) + rest
    left = triangular_solve(lower, da[permutation], left_side=True, transpose_a=False, lower=True, unit_diagonal=True)
    both = triangular_solve(upper, left, left_side=False, transpose_a=False, lower=False)
    with config.override(default_matmul_precision="highest"):
        return lower @ lower_triangle(both, -1) + upper_triangle(both) @ upper


def _jvp_lu(primals: Sequence[Any], tangents: Sequence[Any]) -> Pair:
    [a], [da] = primals, tangents
    factors, pivots, permutation = lu_p.bind(a)
    change = for_each(_change_of_factors, a.ndim - 2, factors, da, permutation)
    return (factors, pivots, permutation), (change, zero_tangent(pivots), zero_tangent(permutation))


primitive_jvps[lu_p] = _jvp_lu


# --- qr: A = Q R, where Q^H Q = 1 ---------------------------------------------------------------------------------------------


def _change_of_qr(q: Any, r: Any, dx: Any) -> Pair:
    """Return dQ and dR for matrices with no more columns than rows: Q^H dQ is skew, dR R^-1 triangular, and their sum
    is Q^H dA R^-1.
    """
    scaled = triangular_solve(r, dx)
    inside = adjoint(q) @ scaled
    below = lower_triangle(inside, -1)
    skew = below - adjoint(below)
    # The diagonal of a skew matrix is imaginary.
    skew = skew + _eye_like(skew.dtype, r) * (inside - inside.real.astype(inside.dtype))
    return q @ (skew - inside) + scaled, (inside - skew) @ r


def _jvp_qr(
    primals: Sequence[Any], tangents: Sequence[Any], *, pivoting: bool, full_matrices: bool, use_magma: None
) -> Pair:
    [x], [dx] = primals, tangents
    params = {"pivoting": pivoting, "full_matrices": full_matrices, "use_magma": use_magma}
    q, r, *order = qr_p.bind(x, **params)
    rows, columns = x.shape[-2:]
    if pivoting:
        dx = dx[..., order[0]]
    if rows < columns:
        # A is a square matrix, followed by columns `rest`; these columns of R are Q^H @ rest.
        rest, dx, d_rest = x[..., :, rows:], dx[..., :, :rows], dx[..., :, rows:]
        dq, dr = _change_of_qr(q, r[..., :, :rows], dx)
        dr = concatenate((dr, adjoint(dq) @ rest + adjoint(q) @ d_rest), dr.ndim - 1)
    elif full_matrices:
        needed = q[..., :, :columns]
        dq, dr = _change_of_qr(needed, r[..., :columns, :columns], dx)
        if rows > columns:
            dq, dr = _change_of_full_qr(q, needed, dq, dr)
    else:
        dq, dr = _change_of_qr(q, r, dx)
    return (q, r, *order), (dq, dr, *map(zero_tangent, order))


def _change_of_full_qr(q: Any, needed: Any, dq: Any, dr: Any) -> Pair:
    """Return dQ and dR of the full decomposition from those of the reduced one, `dq` and `dr`: the additional columns
    of Q stay orthogonal to the others, and the additional rows of R stay 0. (arXiv 2409.13374, equations 32, 33.)
    """
    rows, columns = q.shape[-2], dr.shape[-1]
    top, bottom, others = needed[..., :columns, :], needed[..., columns:, :], q[..., :, columns:]
    d_top, d_bottom = dq[..., :columns, :], dq[..., columns:, :]
    factors, _, permutation = lu(top - _eye_like(top.dtype, top))
    z_adjoint = lu_solve(factors, permutation, adjoint(bottom), trans=2)
    z = adjoint(z_adjoint)
    d_others = dq @ z_adjoint - (needed + others @ z) @ adjoint(d_bottom - z @ d_top)
    zeros = full((*dr.shape[:-2], rows - columns, columns), 0, dr.dtype)
    return concatenate((dq, d_others), dq.ndim - 1), concatenate((dr, zeros), dr.ndim - 2)


primitive_jvps[qr_p] = _jvp_qr


# --- eigh: A V = V diag(w), where V^H V = 1 -----------------------------------------------------------------------------------


def _jvp_eigh(primals: Sequence[Any], tangents: Sequence[Any], *, subset_by_index: Any, **params: Any) -> Pair:
    """JVP rule, by first-order perturbation theory: all eigenvalues must be different. Raise NotImplementedError for a
    subset of them.
    """
    [a], [da] = primals, tangents
    size = a.shape[-1]
    if subset_by_index not in (None, (0, size)):
        raise NotImplementedError("Derivatives not defined for partial eigen decomposition.")
    v, w = eigh_p.bind(symmetrize(a), subset_by_index=subset_by_index, **params)
    values = w.astype(a.dtype)
    eye = _eye(a.dtype, size)
    weights = integer_pow(_differences(values, eye), -1) - eye
    product = _product(a)
    inside = product(product(adjoint(v), da), v)
    dv = product(v, weights * inside)
    return (v, w), (dv, _diagonal(inside.real))


primitive_jvps[eigh_p] = _jvp_eigh


# --- eig: A V = V diag(w) -----------------------------------------------------------------------------------------------------


def _jvp_eig(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> Pair:
    [a], [da] = primals, tangents
    wants_vectors = compute_left_eigenvectors or compute_right_eigenvectors
    if wants_vectors and not enable_eigvec_derivs:
        raise NotImplementedError(
            "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the input that JAX cannot check "
            "(see the enable_eigvec_derivs argument to jax.lax.linalg.eig). Pass enable_eigvec_derivs=True to "
            "jax.lax.linalg.eig to opt in. See https://github.com/jax-ml/jax/issues/2748 for discussion."
        )
    w, *left, right = eig(
        a,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=True,
        enable_eigvec_derivs=enable_eigvec_derivs,
        implementation=implementation,
    )
    da = da.astype(right.dtype)
    if not wants_vectors:
        return [w], [(solve(right, da) * swap_axes(right)).sum(-1)]
    dw, d_right = _change_of_eigenvectors(w, right, da)
    d_left = [_change_of_eigenvectors(w.conj(), v, adjoint(da))[1] for v in left]
    if not compute_right_eigenvectors:
        return [w, *left], [dw, *d_left]
    return [w, *left, right], [dw, *d_left, d_right]


def _change_of_eigenvectors(w: Any, v: Any, da: Any) -> Pair:
    """Return the changes of eigenvalues and eigenvectors. Of all multiples of an eigenvector, LAPACK returns the one
    with length 1 and a real largest component, so the changed ones must have these, too.
    """
    product, eye = _product(v), _eye(w.dtype, w.shape[-1])
    weights = reciprocal(_differences(w, eye)) - eye
    inside = product(solve(v, da), v)
    dw = _diagonal(inside)
    change = product(v, weights * inside)
    rows = v.ndim - 2
    largest = expand_dims(argmax(abs_(v), rows, np.int32), (rows,))
    mask = (broadcasted_iota(np.int32, v.shape, rows) == largest).astype(v.dtype)
    multiple = complex(-(v.conj() * change).sum(-2).real, -(mask * change).sum(-2).imag / (mask * v).sum(-2).real)
    return dw, change + v * expand_dims(multiple, (rows,))


primitive_jvps[eig_p] = _jvp_eig


# --- svd: A = U diag(s) V^H ---------------------------------------------------------------------------------------------------


def _jvp_svd(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any,
    algorithm: Any = None,
) -> Pair:
    [a], [da] = primals, tangents
    with config.override(default_matmul_precision="float32"):
        s, u, vt = svd_p.bind(
            a, full_matrices=False, compute_uv=True, subset_by_index=subset_by_index, algorithm=algorithm
        )
        rows, columns = a.shape[-2:]
        if compute_uv and full_matrices and rows != columns:
            raise NotImplementedError("Singular value decomposition JVP not implemented for full matrices")
        ut, v = adjoint(u), adjoint(vt)
        as_row = s[..., None, :]
        inside = ut @ da @ v
        ds = _diagonal(inside.real)
        if not compute_uv:
            return (s,), (ds,)
        du, dv = _change_of_rotations(s, as_row, u, v, inside)
        sizes = as_row
        if rows > columns:
            outside = da @ v
            du = du + (outside - u @ (ut @ outside)) / sizes.astype(a.dtype)
        if columns > rows:
            outside = adjoint(da) @ u
            dv = dv + (outside - v @ (vt @ outside)) / sizes.astype(a.dtype)
    return (s, u, vt), (ds, du, adjoint(dv))


def _change_of_rotations(s: Any, as_row: Any, u: Any, v: Any, inside: Any) -> Pair:
    """Return how U and V change within the space that their columns span."""
    dtype = inside.dtype
    squares = (as_row + swap_axes(as_row)) * (as_row - swap_axes(as_row))
    eye = expand_dims(_eye(s.dtype, s.shape[-1]), range(squares.ndim - 2))
    weights = 1 / (squares + eye) - eye
    by_columns = as_row.astype(dtype) * inside
    by_rows = swap_axes(as_row.astype(dtype)) * inside
    is_zero = (s == 0).astype(s.dtype)
    inverse = 1 / (s + is_zero) - is_zero
    places = iota(np.int32, s.shape[-1])
    inverses = full((*s.shape, s.shape[-1]), 0, s.dtype).at[..., places, places].set(inverse)
    skew = 0.5 * (inside - adjoint(inside)) * inverses.astype(dtype)
    du = u @ (weights.astype(dtype) * (by_columns + adjoint(by_columns)) + skew)
    return du, v @ (weights.astype(dtype) * (by_rows + adjoint(by_rows)))


primitive_jvps[svd_p] = _jvp_svd
