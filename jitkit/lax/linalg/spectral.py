"""Diagonalises matrices: eigenvalues, and singular values.

JAX: jax/_src/lax/linalg.py:eigh
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ...core import ShapedArray
from ...interpreters.mlir import LoweringContext, register_lowering, type_of
from ..convert import convert_element_type
from ..creation import broadcasted_iota, full
from ..elementwise import eq
from ..reducers import inline_function
from ..utils import Shape
from . import cusolver, lapack
from .lapack import linalg_primitive


class EigImplementation(enum.Enum):
    """What computes eigenvalues of any matrix: LAPACK on CPUs; on GPUs CUSOLVER, MAGMA, or LAPACK on the host."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """What computes eigenvalues of Hermitian matrices: QR on CPUs, QR or JACOBI on GPUs. (QDWH is refused on both.)"""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


_CUSOLVERS_EIGH = {None: 0, EighImplementation.QR: 1, EighImplementation.JACOBI: 2}


class SvdAlgorithm(enum.Enum):
    """Names the algorithms for singular values. CPUs have DIVIDE_AND_CONQUER (their default) and QR. GPUs have QR,
    JACOBI and POLAR; their default is JACOBI, or QR for more than 1024 rows or columns.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _real(dtype: Any) -> Any:
    return np.zeros((), dtype).real.dtype


# --- eigh: A = V diag(w) V^H, for a Hermitian matrix ---------------------------------------------------------------------------


def _eigh_shapes(shape: Shape, subset_by_index: tuple[int, int] | None, **_: Any) -> list[Shape]:
    if shape[0] != shape[1]:
        raise ValueError(f"Argument to symmetric eigendecomposition must have shape [..., n, n], got shape {shape}")
    n = shape[0]
    count = n if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
    return [(n, count), (count,)]


eigh_p = linalg_primitive("eigh", (2,), _eigh_shapes, lambda dtype, **_: [dtype, _real(dtype)], multiple_results=True)


@register_lowering(eigh_p)
def _(
    ctx: LoweringContext,
    x: str,
    *,
    lower: bool,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: EighImplementation | None,
) -> list[str]:
    [aval], info = ctx.avals_in, lapack.info_of(ctx.avals_in[0])
    if subset_by_index not in (None, (0, aval.shape[-1])):
        raise NotImplementedError("subset_by_index not supported on CPU and GPU")
    results = [*ctx.avals_out, info]
    if ctx.module.platform == "gpu" and algorithm in _CUSOLVERS_EIGH:
        options = {"algorithm": _CUSOLVERS_EIGH[algorithm], "lower": lower}
        v, w, failed = lapack.write_call(
            ctx, lapack.cusolver_target("syevd", aval), [x], [aval], results, {0: 0}, options
        )
    elif algorithm in (None, EighImplementation.QR):
        routine = "heevd" if aval.dtype.kind == "c" else "syevd"
        characters = {"mode": "V", "uplo": "L" if lower else "U"}
        v, w, failed = lapack.call(ctx, routine, [x], [aval], results, {0: 0}, characters)
    else:
        raise NotImplementedError(f"{algorithm} is not supported on {ctx.module.platform.upper()}")
    return lapack.nan_where_failed(ctx, failed, info, list(zip((v, w), ctx.avals_out, strict=True)))


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """Return the eigenvectors of Hermitian matrices, as columns of length 1, and their eigenvalues, in ascending order.

    With `symmetrize_input`, x is first replaced by the mean of itself and its adjoint; otherwise one triangle is read,
    as `lower` says. `sort_eigenvalues` changes nothing.

    Lowering raises NotImplementedError for a `subset_by_index` of less than all, and an `implementation` that the
    platform lacks.
    """
    v, w = eigh_p.bind(
        lapack.symmetrize(x) if symmetrize_input else x,
        lower=lower,
        sort_eigenvalues=sort_eigenvalues,
        subset_by_index=subset_by_index,
        algorithm=implementation,
    )
    return v, w


# --- eig: A V = V diag(w), for any square matrix; all are complex ---------------------------------------------------------------


def _eig_shapes(
    shape: Shape, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> list[Shape]:
    if shape[0] != shape[1]:
        raise ValueError(f"The input to eig must be a square matrix. Got shape {shape}.")
    return [shape[:1]] + [shape] * (compute_left_eigenvectors + compute_right_eigenvectors)


def _eig_dtypes(dtype: Any, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any) -> list[Any]:
    return [np.result_type(dtype, np.complex64)] * (1 + compute_left_eigenvectors + compute_right_eigenvectors)


eig_p = linalg_primitive("eig", (2,), _eig_shapes, _eig_dtypes, multiple_results=True)


@register_lowering(eig_p)
def _(
    ctx: LoweringContext,
    x: str,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: EigImplementation | None,
) -> list[str]:
    [aval], w_aval, info = ctx.avals_in, ctx.avals_out[0], lapack.info_of(ctx.avals_in[0])
    wanted = {"left": compute_left_eigenvectors, "right": compute_right_eigenvectors}
    on_gpu = ctx.module.platform == "gpu"
    if on_gpu and implementation is EigImplementation.CUSOLVER and compute_left_eigenvectors:
        raise NotImplementedError("Left eigenvectors are not supported by cusolver")
    if not on_gpu and implementation not in (None, EigImplementation.LAPACK):
        raise ValueError("Only the lapack implementation is supported on CPU.")
    if on_gpu and implementation in (None, EigImplementation.CUSOLVER) and not compute_left_eigenvectors:
        w, left, right, failed = cusolver.eig(ctx, x, w_aval, wanted)
    else:
        w, left, right, failed = _geev(ctx, x, w_aval, wanted, implementation)
    vectors = ShapedArray(aval.shape, w_aval.dtype)
    found = (
        [(w, w_aval)] + [(left, vectors)] * compute_left_eigenvectors + [(right, vectors)] * compute_right_eigenvectors
    )
    return lapack.nan_where_failed(ctx, failed, info, found)


def _geev(
    ctx: LoweringContext, x: str, w_aval: ShapedArray, wanted: dict[str, bool], implementation: EigImplementation | None
) -> tuple[str, str, str, str]:
    """Write LAPACK's call; return the names of eigenvalues, left and right eigenvectors, and `info`. On a GPU, the host
    or MAGMA computes them.
    """
    [aval] = ctx.avals_in
    is_real = aval.dtype.kind != "c"
    vectors, part = ShapedArray(aval.shape, w_aval.dtype), ShapedArray(aval.shape[:-1], aval.dtype)
    results = [part] * (1 + is_real) + [vectors, vectors, lapack.info_of(aval)]
    if ctx.module.platform == "gpu":
        routine = "eig_real" if is_real else "eig_comp"
        magma = None if implementation is None else implementation is EigImplementation.MAGMA
        *parts, left, right, failed = cusolver.call_hybrid(ctx, routine, [x], results, {}, magma, wanted)
    else:
        modes = {f"compute_{side}": "V" if value else "N" for side, value in wanted.items()}
        *parts, left, right, failed = lapack.call(ctx, "geev", [x], [aval], results, {}, modes)
    w = ctx.emit_text(f"stablehlo.complex {', '.join(parts)} : {type_of(w_aval)}") if is_real else parts[0]
    return w, left, right, failed


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
) -> list[Any]:
    """Return the eigenvalues of square matrices, unordered; then the left and the right eigenvectors, as columns, if
    wanted.

    Derivatives raise NotImplementedError if there are eigenvectors, unless `enable_eigvec_derivs`. Lowering raises
    ValueError for an `implementation` that the platform lacks, NotImplementedError for left eigenvectors by CUSOLVER.
    """
    found: list[Any] = eig_p.bind(
        x,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=compute_right_eigenvectors,
        enable_eigvec_derivs=enable_eigvec_derivs,
        implementation=implementation,
    )
    return found


# --- svd: A = U diag(s) V^H -----------------------------------------------------------------------------------------------------


def _svd_shapes(
    shape: Shape, full_matrices: bool, compute_uv: bool, subset_by_index: tuple[int, int] | None, **_: Any
) -> list[Shape]:
    m, n = shape
    rank = min(m, n)
    if subset_by_index is not None:
        if full_matrices and subset_by_index != (0, rank):
            raise ValueError("full_matrices and subset_by_index cannot both be set")
        rank = min(rank, subset_by_index[1] - subset_by_index[0])
    vectors = [(m, m if full_matrices else rank), (n if full_matrices else rank, n)]
    return [(rank,), *vectors] if compute_uv else [(rank,)]


svd_p = linalg_primitive(
    "svd",
    (2,),
    _svd_shapes,
    lambda dtype, compute_uv, **_: [_real(dtype), dtype, dtype] if compute_uv else [_real(dtype)],
    multiple_results=True,
)


@register_lowering(svd_p)
def _(
    ctx: LoweringContext,
    x: str,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: SvdAlgorithm | None,
) -> list[str]:
    [aval], info = ctx.avals_in, lapack.info_of(ctx.avals_in[0])
    m, n = aval.shape[-2:]
    if subset_by_index not in (None, (0, min(m, n))):
        raise NotImplementedError("subset_by_index not implemented for CPU and GPU")
    if m == 0 or n == 0:
        avals = ctx.avals_out
        return inline_function(ctx, lambda _: [_ones_on_the_diagonal(out) for out in avals], [x], [aval])
    batch, dtype = aval.shape[:-2], aval.dtype
    shapes = _svd_shapes((m, n), bool(full_matrices), True, None)
    s, u, vt = (
        ShapedArray((*batch, *shape), kind) for shape, kind in zip(shapes, (_real(dtype), dtype, dtype), strict=True)
    )
    if ctx.module.platform == "gpu":
        if algorithm is SvdAlgorithm.DIVIDE_AND_CONQUER:
            raise NotImplementedError(
                "Divide-and-conquer SVD (SvdAlgorithm.DIVIDE_AND_CONQUER) is only supported on AMD (ROCm) GPUs, not on "
                "NVIDIA CUDA."
            )
        way = None if algorithm in (None, SvdAlgorithm.DEFAULT) else algorithm.value
        *found, failed = cusolver.svd(ctx, x, [s, u, vt], bool(full_matrices), bool(compute_uv), way)
    else:
        if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
            raise NotImplementedError("The SVD Jacobi and Polar algorithms are not implemented on CPU.")
        routine = "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"
        mode = ("A" if full_matrices else "S") if compute_uv else "N"
        _, *found, failed = lapack.call(ctx, routine, [x], [aval], [aval, s, u, vt, info], {0: 0}, {"mode": mode})
    results = list(zip(found, (s, u, vt), strict=True))
    return lapack.nan_where_failed(ctx, failed, info, results if compute_uv else results[:1])


def _ones_on_the_diagonal(aval: ShapedArray) -> Any:
    """Return the singular values (none) or vectors (identity matrices) of a matrix without elements."""
    if aval.size == 0:
        return full(aval.shape, 0, aval.dtype)
    ones = eq(*(broadcasted_iota(np.int32, aval.shape, aval.ndim - 2 + i) for i in range(2)))
    return convert_element_type(ones, aval.dtype)


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Return `(u, s, vh)`, whose product u @ diag(s) @ vh is x: two unitary matrices, and the singular values,
    descending; with `compute_uv=False` only s. Without `full_matrices`, u and vh have no more vectors than there are
    values.

    Lowering raises NotImplementedError for a `subset_by_index` of less than all values, which `full_matrices` refuses
    with ValueError, and for an `algorithm` that the platform lacks.
    """
    s, *vectors = svd_p.bind(
        x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index, algorithm=algorithm
    )
    return (vectors[0], s, vectors[1]) if compute_uv else s
