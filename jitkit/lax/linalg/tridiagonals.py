"""Brings Hermitian matrices into tridiagonal form, and solves tridiagonal systems of linear equations.

JAX: jax/_src/lax/linalg.py:tridiagonal_solve
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...interpreters.ad_rules import (
    Zero,
    add_tangents,
    instantiate_zeros,
    is_undefined,
    no_cotangents,
    primitive_jvps,
    primitive_transposes,
)
from ...interpreters.batching import AxisData, Dims, Vals, bdim_at_front, moveaxis, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering
from ..control_flow import scan
from ..convert import asarray
from ..creation import full_like
from ..elementwise import neg
from ..joining import concatenate
from ..reducers import inline_function
from ..shaping import reshape
from ..utils import Shape
from . import lapack
from .lapack import linalg_primitive

# --- tridiagonal: A = Q T Q^H -------------------------------------------------------------------------------------------------


def _tridiagonal_shapes(shape: Shape, **_: Any) -> list[Shape]:
    if shape[0] != shape[1] or shape[1] == 0:
        raise ValueError(f"The input to tridiagonal must be a square matrix. Got shape {shape}.")
    n, _n = shape
    return [shape, (n,), (n - 1,), (n - 1,)]


def _tridiagonal_dtypes(dtype: Any, **_: Any) -> list[Any]:
    real = np.zeros((), dtype).real.dtype
    return [dtype, real, real, dtype]


tridiagonal_p = linalg_primitive("tridiagonal", (2,), _tridiagonal_shapes, _tridiagonal_dtypes, multiple_results=True)


@register_lowering(tridiagonal_p)
def _(ctx: LoweringContext, a: str, *, lower: bool) -> list[str]:
    [aval], info = ctx.avals_in, lapack.info_of(ctx.avals_in[0])
    results = [*ctx.avals_out, info]
    if ctx.module.platform == "gpu":
        target = lapack.cusolver_target("sytrd", aval)
        *found, failed = lapack.write_call(ctx, target, [a], [aval], results, {0: 0}, {"lower": lower})
    else:
        routine = "hetrd" if aval.dtype.kind == "c" else "sytrd"
        *found, failed = lapack.call(ctx, routine, [a], [aval], results, {0: 0}, {"uplo": "L" if lower else "U"})
    return lapack.nan_where_failed(ctx, failed, info, list(zip(found, ctx.avals_out, strict=True)))


def tridiagonal(a: Any, *, lower: bool = True) -> list[Any]:
    """Factor Hermitian matrices as Q T Q^H with tridiagonal T. Return a matrix with T, the diagonal of T, the numbers
    beside it, and the factors of the reflections whose product is Q. Only the lower triangle is read, or without
    `lower` the upper one.

    In place of T's zeros, the first matrix has the reflections, as `householder_product` takes them. Raise ValueError
    for matrices that are not square, or empty.
    """
    found: list[Any] = tridiagonal_p.bind(asarray(a), lower=lower)
    return found


# --- tridiagonal_solve --------------------------------------------------------------------------------------------------------


def _solution_shape(dl: Shape, d: Shape, du: Shape, b: Shape, **_: Any) -> list[Shape]:
    if dl != d or dl != du:
        raise TypeError("tridiagonal_solve requires that all diagonal arguments have the same shape.")
    if dl != b[:-1]:
        raise TypeError(
            "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the dimensions of the diagonal arguments."
        )
    return [b]


_PERTURBED = {"cpu": "tridiagonal_solve_perturbed_ffi", "gpu": "cu_tridiagonal_solve_perturbed"}
_CUSPARSE_NEEDS = 3  # the least number of rows that cuSPARSE takes
_ROWS_A_TURN = 32

tridiagonal_solve_p = linalg_primitive("tridiagonal_solve", (1, 1, 1, 2), _solution_shape)


@register_lowering(tridiagonal_solve_p)
def _(ctx: LoweringContext, *operands: str, perturb_singular: bool) -> str:
    out, info, platform = ctx.avals_out[0], lapack.info_of(ctx.avals_out[0]), ctx.module.platform
    if perturb_singular:
        if platform not in _PERTURBED:
            raise NotImplementedError("perturb_singular=True is not supported on this platform.")
        return lapack.write_call(ctx, _PERTURBED[platform], operands, ctx.avals_in, [out], {})[0]
    if platform == "gpu" and out.shape[-2] >= _CUSPARSE_NEEDS:
        return lapack.write_call(ctx, "cusparse_gtsv2_ffi", operands, ctx.avals_in, [out], {3: 0})[0]
    if platform != "cpu":
        solve = functools.partial(lapack.for_each, _by_elimination, out.ndim - 2)
        return inline_function(ctx, lambda *values: [solve(*values)], operands, ctx.avals_in)[0]
    results = [*ctx.avals_in, info]
    *_, solution, failed = lapack.call(ctx, "gtsv", operands, ctx.avals_in, results, {i: i for i in range(4)})
    return lapack.nan_where_failed(ctx, failed, info, [(solution, out)])[0]


def _by_elimination(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """Return the solution of one system, by two passes over its rows (Thomas' algorithm): for platforms without a
    routine, and on GPUs for fewer rows than cuSPARSE takes.
    """

    def eliminate(row_above: Any, row: Any) -> Any:
        c, right = row_above
        left, middle, next_c, next_right = row
        pivot = middle - left * c
        return (next_c / pivot, (next_right - left * right) / pivot), row_above

    def substitute(below: Any, row: Any) -> Any:
        c, right = row
        return right - c * below, below

    rows = (dl[1:], d[1:], du[1:], b[1:])
    (_, last), reduced = scan(eliminate, (du[0] / d[0], b[0] / d[0]), rows, unroll=_ROWS_A_TURN)
    first, others = scan(substitute, last, reduced, reverse=True, unroll=_ROWS_A_TURN)
    return concatenate([first[None], others], 0)


@register_batcher(tridiagonal_solve_p)
def _(axis: AxisData, vals: Vals, dims: Dims, **params: Any) -> Any:
    """Batching rule: a batch of right sides of one matrix becomes more columns."""
    *diagonals, b = vals
    *diagonal_dims, b_dim = dims
    if any(dim is not None for dim in diagonal_dims) or b_dim is None:
        operands = [bdim_at_front(x, d, axis.size) for x, d in zip(vals, dims, strict=True)]
        return tridiagonal_solve_p.bind(*operands, **params), 0
    b = moveaxis(b, b_dim, b.ndim - 2)
    columns = reshape(b, (*b.shape[:-2], b.shape[-2] * b.shape[-1]))
    return reshape(tridiagonal_solve_p.bind(*diagonals, columns, **params), b.shape), b.ndim - 2


# --- derivatives: dX = A^-1 (dB - dA X) ---------------------------------------------------------------------------------------


def _product(dl: Any, d: Any, du: Any, x: Any) -> Any:
    """Return the product of the matrix with these diagonals and x."""
    y = reshape(d, (*d.shape, 1)) * x
    y = y.at[..., 1:, :].add(dl[..., 1:, None] * x[..., :-1, :])
    return y.at[..., :-1, :].add(du[..., :-1, None] * x[..., 1:, :])


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    *diagonals, _ = primals
    *changes, change = tangents
    solution = tridiagonal_solve_p.bind(*primals, **params)
    if not all(type(t) is Zero for t in changes):
        dl, d, du = map(instantiate_zeros, changes)
        change = add_tangents(change, neg(_product(dl, d, du, solution)))
    if type(change) is Zero:
        return solution, change
    return solution, tridiagonal_solve_p.bind(*diagonals, change, **params)


def _transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> Sequence[Any]:
    assert is_undefined(b), "tridiagonal_solve is linear in its right side only"
    if type(ct) is Zero:
        return no_cotangents((dl, d, du, b))
    axis = d.ndim - 1
    below = concatenate((full_like(du[..., -1:], 0), du[..., :-1]), axis)
    above = concatenate((dl[..., 1:], full_like(dl[..., :1], 0)), axis)
    return [None, None, None, tridiagonal_solve_p.bind(below, d, above, ct, **params)]


primitive_jvps[tridiagonal_solve_p] = _jvp
primitive_transposes[tridiagonal_solve_p] = _transpose


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """Return the X for which A @ X = b, with a tridiagonal A. If A is singular, X is nan on CPUs. Raise TypeError for
    shapes that do not fit.

    Args:
      dl: the numbers left of the diagonal, row after row; the first is not read.
      d: the diagonal.
      du: the numbers right of the diagonal; the last is not read.
      b: the right sides, a matrix.
      perturb_singular: whether to change pivots that are almost zero, so that the result is finite. Lowering for a platform other
        than CPUs and GPUs then raises NotImplementedError.
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)
