"""Factors matrices, with NumPy's names: `lax.linalg` on any dtype that can be promoted to a float.

JAX: jax/_src/numpy/linalg.py:svd
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ...pjit.jit import jit
from ..promotion import promote_dtypes_inexact
from ..taking import take_along_axis
from ..ufuncs import conj
from ..util import ensure_arraylike


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    Vh: Any


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Any
    eigenvectors: Any


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return conj(lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)))


@jit(static_argnames=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return the lower triangles whose products with their adjoints are `a`; with `upper`, these adjoints.

    Matrices with an eigenvalue that is not positive give nan. With `symmetrize_input`, `a` is first replaced by the
    mean of itself and its adjoint.
    """
    a = ensure_arraylike("jnp.linalg.cholesky", a)
    (a,) = promote_dtypes_inexact(a)
    lower = lax.linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(lower) if upper else lower


@jit(static_argnames=("mode",))
def qr(a: Any, mode: str = "reduced") -> Any:
    """Return Q and R, whose product is `a`: Q has orthonormal columns, R is an upper triangle.

    Args:
      mode: "reduced" (or "full"): Q has as many columns as `a` has rows or columns, whichever are fewer; "complete": Q is square; "r": R
        alone; "raw": LAPACK's reflections, transposed, and their factors. Raise ValueError for another mode.
    """
    a = ensure_arraylike("jnp.linalg.qr", a)
    (a,) = promote_dtypes_inexact(a)
    if mode == "raw":
        reflections, taus = lax.linalg.geqrf(a)
        return QRResult(reflections.mT, taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = lax.linalg.qr(a, pivoting=False, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@jit(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return unitary U and Vh, and the singular values S, descending: U @ diag(S) @ Vh is `a`. With `compute_uv=False`,
    return S.

    Without `full_matrices`, U and Vh have no more vectors than there are values. `hermitian` promises that `a` is
    Hermitian, which is faster. `subset_by_index` is as for `lax.linalg.svd`.
    """
    a = ensure_arraylike("jnp.linalg.svd", a)
    (a,) = promote_dtypes_inexact(a)
    if hermitian:
        return _svd_of_hermitian(a, compute_uv, subset_by_index)
    found = lax.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
    return SVDResult(*found) if compute_uv else found


def _svd_of_hermitian(a: Any, compute_uv: bool, subset_by_index: tuple[int, int] | None) -> Any:
    """Return the SVD from the eigenvalues: their absolute values are the singular values; the signs go into Vh."""
    vectors, values = lax.linalg.eigh(a, subset_by_index=subset_by_index)
    sizes = lax.abs(values)
    last = sizes.ndim - 1
    if not compute_uv:
        return lax.rev(lax.sort(sizes, dimension=-1), dimensions=[last])
    signs = lax.sign(values)
    counted = lax.broadcasted_iota(np.uint32, sizes.shape, last)
    ascending = lax.sort((sizes, counted, signs), dimension=-1, num_keys=1)
    s, order, signs = (lax.rev(x, dimensions=[last]) for x in ascending)
    u = take_along_axis(vectors, order[..., None, :], axis=-1)
    return SVDResult(u, s, adjoint(u * signs[..., None, :].astype(u.dtype)))


def svdvals(x: Any, /) -> Any:
    """Return the singular values of matrices, in descending order."""
    return svd(ensure_arraylike("jnp.linalg.svdvals", x), compute_uv=False, hermitian=False)


@jit(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:  # numpy's name
    """Return the eigenvalues of Hermitian matrices, in ascending order, and their eigenvectors, as columns.

    With `symmetrize_input`, `a` is first replaced by the mean of itself and its adjoint; otherwise the lower triangle
    is read, or with the `UPLO` "U" the upper one. Raise ValueError for another `UPLO`.
    """
    a = ensure_arraylike("jnp.linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    (a,) = promote_dtypes_inexact(a)
    vectors, values = lax.linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@jit(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:  # numpy's name
    """Return the eigenvalues of Hermitian matrices, in ascending order; arguments as for `eigh`."""
    a = ensure_arraylike("jnp.linalg.eigvalsh", a)
    (a,) = promote_dtypes_inexact(a)
    return eigh(a, UPLO, symmetrize_input=symmetrize_input).eigenvalues


def eig(a: Any) -> EigResult:
    """Return the eigenvalues of square matrices, unordered, and their eigenvectors, as columns of length 1, both
    complex. Derivatives raise NotImplementedError.
    """
    a = ensure_arraylike("jnp.linalg.eig", a)
    (a,) = promote_dtypes_inexact(a)
    return EigResult(*lax.linalg.eig(a, compute_left_eigenvectors=False))


@jit
def eigvals(a: Any) -> Any:
    """Return the eigenvalues of square matrices, unordered, as complex numbers."""
    a = ensure_arraylike("jnp.linalg.eigvals", a)
    (a,) = promote_dtypes_inexact(a)
    return lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
