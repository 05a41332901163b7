"""Factors matrices, and solves systems of linear equations by the factors.

scipy's options about memory, checks and drivers (`overwrite_a`, `overwrite_b`, `lwork`, `check_finite`, `debug`, `turbo`,
`lapack_driver`) are accepted and ignored: arrays are immutable, and a compiled program cannot check values and raise.

JAX: jax/_src/scipy/linalg.py:cho_factor
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from ... import lax
from ...base import traceback_util
from ...base.jax_version import since
from ...lax.linalg.factoring import geqp3_p
from ...lax.linalg.solving import check_solve_shapes, solve_columns
from ...lax.linalg.solving import lu_solve as permuted_lu_solve
from ...numpy import arange, asarray, broadcast_to, concatenate, conj, eye, matmul, real, tril, triu, vectorize, zeros
from ...numpy import linalg as numpy_linalg
from ...numpy.promotion import broadcast_shapes, promote_dtypes_inexact
from ...pjit.jit import jit

# --- Cholesky: A = L L^H ------------------------------------------------------------------------------------------------------


@jit(static_argnames=("lower",))
def _cholesky(a: Any, lower: bool) -> Any:
    (a,) = promote_dtypes_inexact(asarray(a))
    factor = lax.linalg.cholesky(a if lower else conj(a.mT), symmetrize_input=False)
    return factor if lower else conj(factor.mT)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the upper triangles U for which U^H U is `a`; with `lower`, the lower triangles L for which L L^H is `a`;
    nan if `a` is not positive definite. `a` is taken to be Hermitian: only its upper triangle is read, with `lower`
    only its lower one.
    """
    return _cholesky(a, lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """Return `cholesky(a, lower)` and `lower`, for `cho_solve`."""
    return cholesky(a, lower=lower), lower


@jit(static_argnames=("lower",))
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    c, b = promote_dtypes_inexact(asarray(c), asarray(b))
    signature = _signature("cho_solve", "c_and_lower", c, b)
    for adjoint in (not lower, lower):
        solve_once = functools.partial(
            lax.linalg.triangular_solve, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
        )
        b = vectorize(solve_once, signature=signature.format("(n,n)"))(c, b)
    return b


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return the x for which a @ x = b, from `cho_factor(a)`."""
    c, lower = c_and_lower
    return _cho_solve(c, b, lower)


def _signature(name: str, argument: str, a: Any, b: Any) -> str:
    """Return the signature of a solver for `vectorize`, with {} in place of the arguments before the right side `b`,
    which is a vector or matrices. Warn, as JAX does, if `b` is taken to be a batch of vectors.
    """
    if b.ndim == 1:
        return "{},(n)->(n)"
    if a.ndim == b.ndim + 1 and a.shape[-1] == b.shape[-1]:
        warnings.warn(
            f"jax.scipy.linalg.{name}: batched 1D solves with b.ndim > 1 are deprecated, and in the future will be treated as a "
            f"batched 2D solve. Use {name}({argument}, b[..., None]).squeeze(-1) to avoid this warning.",
            FutureWarning,
            stacklevel=traceback_util.stacklevel(),
        )
        return "{},(n)->(n)"
    return "{},(n,k)->(n,k)"


# --- LU: A = P L U ------------------------------------------------------------------------------------------------------------


@jit(static_argnames=("overwrite_a", "check_finite"))
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Return L and U in one matrix, and the row with which each row was swapped, for `lu_solve`."""
    (a,) = promote_dtypes_inexact(asarray(a))
    factors, pivots, _ = lax.linalg.lu(a)
    return factors, pivots


@jit(static_argnames=("trans", "overwrite_b", "check_finite"))
def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return the x for which a @ x = b, from `lu_factor(a)`. With `trans`, `a` is transposed (1), or transposed and conjugated (2)."""
    factors, pivots = lu_and_piv
    factors, b = promote_dtypes_inexact(asarray(factors), asarray(b))
    m, _ = factors.shape[-2:]
    permutation = lax.linalg.lu_pivots_to_permutation(pivots, m)
    signature = _signature("lu_solve", "lu_and_piv", factors, b).format("(n,n),(n)")
    solve_once = functools.partial(permuted_lu_solve, trans=trans)
    return vectorize(solve_once, signature=signature)(factors, permutation, b)


@jit(static_argnums=(1,))
def _lu(a: Any, permute_l: bool) -> Any:
    (a,) = promote_dtypes_inexact(asarray(a))
    factors, _, permutation = lax.linalg.lu(a)
    m, n = a.shape
    k = min(m, n)
    places = permutation[None, :] == arange(m, dtype=permutation.dtype)[:, None]
    p = real(asarray(places, dtype=a.dtype, copy=True))
    lower = tril(factors, -1)[:, :k] + eye(m, k, dtype=a.dtype)
    upper = triu(factors)[:k, :]
    if permute_l:
        return matmul(p, lower, precision=lax.Precision.HIGHEST), upper
    return p, lower, upper


@jit(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return `(p, l, u)`, whose product is the matrix `a`: a permutation, a lower triangle with ones on its diagonal,
    and an upper triangle. With `permute_l`, return `(p @ l, u)`.
    """
    return _lu(a, permute_l)


# --- QR, singular values, eigenvalues -----------------------------------------------------------------------------------------


@jit(static_argnames=("mode", "pivoting"))
def _qr(a: Any, mode: str, pivoting: bool) -> tuple[Any, ...]:
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    (a,) = promote_dtypes_inexact(asarray(a))
    found = lax.linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return found[1:] if mode == "r" else found


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return `(q, r)`, whose product is `a`: a matrix with orthonormal columns, and an upper triangle.

    Args:
      mode: "full": q is square; "economic": it has as many columns as `a` has rows or columns, whichever are fewer; "r":
        the result is `(r,)`. Raise ValueError for another mode.
      pivoting: whether to order the columns of `a` so that the diagonal of r descends in size; the order is a further
        result.
    """
    return _qr(a, mode, pivoting)


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """Return `(c @ q, r)`, or with `mode="left"` `(q @ c, r)`, of `qr(a, mode="economic")`: q itself is not made.

    Args:
      c: matrices, or one vector.
      pivoting: as in `qr`; the order of the columns is a third result.
      conjugate: whether to multiply by the conjugate of q.

    Raises:
      ValueError: for another mode, and if the sizes do not fit.
    """
    a, c = promote_dtypes_inexact(asarray(a), asarray(c))
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    is_left, is_vector = mode == "left", c.ndim == 1
    if is_vector:
        c = c[:, None] if is_left else c[None, :]
    m, n = a.shape[-2:]
    k = min(m, n)
    if is_left and c.shape[-2] != k:
        raise ValueError(
            f"Array shapes are not compatible for Q @ c operation: a has shape {tuple(a.shape)} so Q has {k} columns, "
            f"but c has {c.shape[-2]} rows (expected {k})."
        )
    if not is_left and c.shape[-1] != m:
        raise ValueError(
            f"Array shapes are not compatible for c @ Q operation: a has shape {tuple(a.shape)} so Q has {m} rows, "
            f"but c has {c.shape[-1]} columns (expected {m})."
        )
    batch = broadcast_shapes(a.shape[:-2], c.shape[:-2])
    a, c = (broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, c))
    places = []
    if pivoting:
        r, pivots, taus = geqp3_p.bind(a, zeros((*batch, n), dtype=np.int32), use_magma=None)
        places = [pivots - 1]
    else:
        r, taus = lax.linalg.geqrf(a)
    if m > n and is_left:
        c = concatenate([c, zeros((*batch, m - k, c.shape[-1]), dtype=c.dtype)], axis=-2)
    if conjugate:  # conj(q) c is the transpose of c^T q^H, and LAPACK multiplies q^H
        c = c.swapaxes(-1, -2)
    product = lax.linalg.ormqr(r, taus, c, left=is_left != conjugate, transpose=conjugate)
    if conjugate:
        product = product.swapaxes(-1, -2)
    if not is_left:
        product = product[..., :k]
    if is_vector:
        product = product.ravel()
    return (product, triu(r[..., :k, :]), *places)


@jit(static_argnames=("full_matrices", "compute_uv"))
def _svd(a: Any, *, full_matrices: bool, compute_uv: bool) -> Any:
    (a,) = promote_dtypes_inexact(asarray(a))
    return lax.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return `(u, s, vh)`: the singular values s, descending, with singular vectors as the columns of u and the rows of
    vh; without `compute_uv`, s alone. With `full_matrices`, u and vh are square; otherwise they have one vector for
    each singular value.
    """
    return _svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


def _eigh_generalized(a: Any, b: Any, *, lower: bool, type: int) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of two matrices: factor b = L L^H to get a problem of one matrix, L^-1 a L^-H
    or L^H a L, and transform its eigenvectors back.
    """
    factor, a = lax.linalg.cholesky(b), (a + conj(a.mT)) / 2
    solve_once = functools.partial(lax.linalg.triangular_solve, factor, lower=True)
    product = functools.partial(matmul, precision=lax.Precision.HIGHEST)
    if type == 1:
        one = solve_once(solve_once(a, left_side=True), left_side=False, transpose_a=True, conjugate_a=True)
    else:
        one = product(product(conj(factor.mT), a), factor)
    vectors, values = lax.linalg.eigh(one, lower=lower)
    if type == 3:
        return values, product(factor, vectors)
    return values, solve_once(vectors, left_side=True, transpose_a=True, conjugate_a=True)


@jit(static_argnames=("lower", "eigvals_only", "eigvals", "type"))
def _eigh(a: Any, b: Any, lower: bool, eigvals_only: bool, eigvals: None, type: int) -> Any:
    if since(0, 12):
        if type not in (1, 2, 3):
            raise ValueError("type must be 1, 2, or 3.")
    elif b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    elif type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    a, *rest = promote_dtypes_inexact(*map(asarray, (a,) if b is None else (a, b)))
    if since(0, 12):
        for name, x in zip("ab", (a, *rest), strict=False):
            if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
                raise ValueError(f"Argument {name} to linalg.eigh must have shape [..., n, n], got {x.shape}.")
    if rest:
        solve_one = functools.partial(_eigh_generalized, lower=lower, type=type)
        values, vectors = vectorize(solve_one, signature="(n,n),(n,n)->(n),(n,n)")(a, *rest)
    else:
        vectors, values = lax.linalg.eigh(a, lower=lower)
    return values if eigvals_only else (values, vectors)


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Return the eigenvalues of Hermitian matrices, in ascending order, and the eigenvectors as columns; with
    `eigvals_only`, the eigenvalues alone.

    With JAX 0.12, a positive `b` makes it a problem of two matrices: a v = w b v, or, of `type` 2 and 3, a b v = w v
    and b a v = w v. Raise NotImplementedError for scipy's `eigvals`, and with earlier versions for `b`.
    """
    return _eigh(a, b, lower, eigvals_only, eigvals, type)


# --- solve, solve_triangular, inv, det ----------------------------------------------------------------------------------------


@jit(static_argnames=("assume_a", "lower"))
def _solve(a: Any, b: Any, assume_a: str, lower: bool) -> Any:
    if assume_a != "pos":
        return numpy_linalg.solve(a, b)
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    check_solve_shapes(a, b)
    factors = cho_factor(lax.stop_gradient(a), lower=lower)

    def solve_one(product: Any, column: Any) -> Any:
        return lax.custom_linear_solve(product, column, lambda _, x: cho_solve(factors, x), symmetric=True)

    return solve_columns(a, b, solve_one)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """Return the x for which a @ x = b. With `assume_a="pos"`, `a` is Hermitian and positive, and x is found by its
    Cholesky factor. Raise ValueError for an `assume_a` that is not gen, sym, her or pos.
    """
    kinds = ["gen", "sym", "her", "pos"]
    if assume_a not in kinds:
        raise ValueError(f"Expected assume_a to be one of {kinds}; got {assume_a!r}")
    return _solve(a, b, assume_a, lower)


@jit(static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(a: Any, b: Any, trans: int | str, lower: bool, unit_diagonal: bool) -> Any:
    kind = next((i for i, letter in enumerate("NTC") if trans in (i, letter)), None)
    if kind is None:
        raise ValueError(f"Invalid 'trans' value {trans}")
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    solve_once = functools.partial(
        lax.linalg.triangular_solve,
        left_side=True,
        lower=lower,
        transpose_a=kind > 0,
        conjugate_a=kind == 2,
        unit_diagonal=unit_diagonal,
    )
    return vectorize(solve_once, signature=_signature("solve_triangular", "a", a, b).format("(n,n)"))(a, b)


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return the x for which a @ x = b, where `a` is an upper triangle (with `lower`, a lower one); the other triangle
    is not read.

    Args:
      trans: 0 or "N": `a` as it is; 1 or "T": transposed; 2 or "C": transposed and conjugated. Raise ValueError for others.
      unit_diagonal: whether to take the diagonal as 1.
    """
    return _solve_triangular(a, b, trans, lower, unit_diagonal)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the inverses of square matrices."""
    return numpy_linalg.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinants of square matrices."""
    return numpy_linalg.det(a)
