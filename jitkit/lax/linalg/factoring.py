"""Factors matrices: Cholesky (a triangle times its adjoint), LU (two triangles), QR (a unitary matrix and a triangle).

JAX: jax/_src/lax/linalg.py:lu
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import ShapedArray
from ...interpreters.mlir import LoweringContext, register_lowering, type_of
from ..control_flow import fori_loop
from ..convert import convert_element_type
from ..creation import broadcasted_iota, full
from ..dynamic_slicing import dynamic_index_in_dim
from ..elementwise import eq, sub
from ..joining import pad
from ..reducers import inline_function
from ..reduction import reduce_sum
from ..selection import select
from ..shaping import broadcast_in_dim
from ..slicing import slice
from ..utils import Shape
from . import cusolver, lapack
from .lapack import linalg_primitive

# --- cholesky: A = L L^H for a positive matrix, where L is a lower triangle ---------------------------------------------------


def _square(shape: Shape) -> list[Shape]:
    if shape[0] != shape[1]:
        raise ValueError(f"The input to cholesky must be a square matrix. Got shape {shape}.")
    return [shape]


cholesky_p = linalg_primitive("cholesky", (2,), _square)


@register_lowering(cholesky_p)
def _(ctx: LoweringContext, x: str) -> str:
    [aval] = ctx.avals_in
    platform, info = ctx.module.platform, lapack.info_of(aval)
    if platform not in ("cpu", "gpu"):
        return ctx.emit_text(f"stablehlo.cholesky {x}, lower = true : {type_of(aval)}")
    results, overwrites = [aval, info], {0: 0}
    if platform == "gpu":
        target = lapack.cusolver_target("potrf", aval)
        result, failed = lapack.write_call(ctx, target, [x], [aval], results, overwrites, {"lower": True})
    else:
        result, failed = lapack.call(ctx, "potrf", [x], [aval], results, overwrites, {"uplo": "L"})
    return lapack.nan_where_failed(ctx, failed, info, [(result, aval)])[0]


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """Return the lower triangles L for which L @ L^H is x, for Hermitian x with positive eigenvalues; nan for others.

    With `symmetrize_input`, x is first replaced by the mean of itself and its adjoint; otherwise only its lower
    triangle is read. For matrices that are not square, raise TypeError with `symmetrize_input`, else ValueError.
    """
    return lapack.lower_triangle(cholesky_p.bind(lapack.symmetrize(x) if symmetrize_input else x))


# --- lu: rows of A in another order = L U -------------------------------------------------------------------------------------

lu_p = linalg_primitive(
    "lu",
    (2,),
    lambda shape: [shape, (min(shape),), shape[:1]],
    lambda dtype: [dtype, np.int32, np.int32],
    multiple_results=True,
)


@register_lowering(lu_p)
def _(ctx: LoweringContext, x: str) -> list[str]:
    [aval], [out, pivots_aval, order_aval] = ctx.avals_in, ctx.avals_out
    info = lapack.info_of(aval)
    results = [out, pivots_aval, info]
    factors, pivots, failed = lapack.call(ctx, "getrf", [x], [aval], results, {0: 0})
    # Fortran counts from 1
    pivots = ctx.emit_text(f"stablehlo.subtract {pivots}, {ctx.splat(1, pivots_aval)} : {type_of(pivots_aval)}")
    [factors] = lapack.nan_where_failed(ctx, failed, info, [(factors, out)], "GE")
    return [factors, pivots, _write_order(ctx, pivots, pivots_aval, order_aval)]


def lu(x: Any) -> tuple[Any, Any, Any]:
    """Factor P A = L U: the matrix with permuted rows is the product of a lower and an upper triangle.

    Returns `(lu, pivots, permutation)`: both triangles in one matrix, with U's diagonal, since L's is 1; the row
    swapped with each row, in turn; and the resulting order of the rows.
    """
    factors, pivots, permutation = lu_p.bind(x)
    return factors, pivots, permutation


def _not_shorter(shape: Shape, permutation_size: int) -> list[Shape]:
    if permutation_size < shape[0]:
        raise ValueError(
            f"Output permutation size {permutation_size} has to exceed the trailing dimension of the pivots. Got pivots size "
            f"{shape[0]}"
        )
    return [(permutation_size,)]


lu_pivots_to_permutation_p = linalg_primitive("lu_pivots_to_permutation", (1,), _not_shorter, accepts=[(np.int32,)])


@register_lowering(lu_pivots_to_permutation_p)
def _(ctx: LoweringContext, pivots: str, *, permutation_size: int) -> str:
    return _write_order(ctx, pivots, *ctx.avals_in, *ctx.avals_out)


def _write_order(ctx: LoweringContext, pivots: str, aval: ShapedArray, out: ShapedArray) -> str:
    """Write a loop that turns swaps of rows into the order of the rows; return the order's name. On a GPU, where each
    iteration would be a launch, write a call instead.
    """
    if ctx.module.platform == "gpu":
        target = "cu_lu_pivots_to_permutation"
        return lapack.write_call(ctx, target, [pivots], [aval], [out], {}, by_columns=False, own_axes=1)[0]
    return inline_function(ctx, lambda swaps: [_swapped(swaps, out.shape[-1])], [pivots], [aval])[0]


def _swapped(swaps: Any, size: int) -> Any:
    """Return the numbers from 0 on, after swapping number i with number `swaps[i]`, for each i in turn."""
    axis, shape = swaps.ndim - 1, (*swaps.shape[:-1], size)
    places = broadcasted_iota(np.int32, shape, axis)
    if not swaps.shape[-1] or not size:
        return places

    def along(x: Any) -> Any:
        return broadcast_in_dim(x, shape, range(axis))

    def swap(i: Any, order: Any) -> Any:
        i = convert_element_type(i, np.int32)
        here, there = eq(places, i), eq(places, along(dynamic_index_in_dim(swaps, i, axis, keepdims=False)))
        ours, theirs = (
            along(reduce_sum(select(mask, order, full(shape, 0, np.int32)), [axis])) for mask in (here, there)
        )
        return select(there, ours, select(here, theirs, order))

    return fori_loop(np.int32(0), np.int32(swaps.shape[-1]), swap, places)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """Return the order in which `lu`'s swaps leave `permutation_size` rows. Raise ValueError for fewer rows than swaps."""
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=permutation_size)


# --- geqrf, geqp3: the reflections that make a matrix triangular; householder_product: their product --------------------------

geqrf_p = linalg_primitive("geqrf", (2,), lambda shape: [shape, (min(shape),)], multiple_results=True)
geqp3_p = linalg_primitive(
    "geqp3",
    (2, 1),
    lambda a, jpvt, **_: [a, jpvt, (min(a),)],
    lambda dtype, **_: [dtype, np.int32, dtype],
    multiple_results=True,
    accepts=[(np.floating, np.complexfloating), (np.integer,)],
    one_dtype=False,
)


@register_lowering(geqrf_p)
def _(ctx: LoweringContext, a: str) -> list[str]:
    if ctx.module.platform not in ("cpu", "gpu"):
        types = ", ".join(map(type_of, ctx.avals_out))
        found = ctx.emit_text(f"stablehlo.custom_call @Qr({a}) : ({type_of(ctx.avals_in[0])}) -> ({types})", 2)
        return [f"{found}#0", f"{found}#1"]
    return lapack.call(ctx, "geqrf", [a], ctx.avals_in, ctx.avals_out, {0: 0})


@register_lowering(geqp3_p)
def _(ctx: LoweringContext, a: str, jpvt: str, *, use_magma: bool | None) -> list[str]:
    operands, overwrites = [a, jpvt], {0: 0, 1: 1}
    if ctx.module.platform == "gpu":
        return cusolver.call_hybrid(ctx, "geqp3", operands, ctx.avals_out, overwrites, use_magma)
    return lapack.call(ctx, "geqp3", operands, ctx.avals_in, ctx.avals_out, overwrites)


def geqrf(a: Any) -> tuple[Any, Any]:
    """Return QR in LAPACK's form: R in the upper triangle; below it, and in a second array, the reflections whose product is Q."""
    reflections, taus = geqrf_p.bind(a)
    return reflections, taus


def _taller(a: Shape, taus: Shape) -> list[Shape]:
    if a[0] < a[1]:
        raise ValueError(
            f"The first argument to householder_product must have at least as many rows as columns, got shape {a}"
        )
    if taus[0] > min(a):
        raise ValueError(
            "The second argument to householder_product must not have more rows than the minimum of the first argument's "
            "rows and columns."
        )
    return [a]


householder_product_p = linalg_primitive("householder_product", (2, 1), _taller)


@register_lowering(householder_product_p)
def _(ctx: LoweringContext, a: str, taus: str) -> str:
    if ctx.module.platform not in ("cpu", "gpu"):
        text = f"stablehlo.custom_call @ProductOfElementaryHouseholderReflectors({a}, {taus})"
        return ctx.emit_op(text, ctx.avals_in, ctx.avals_out[0])
    routine = "ungqr" if ctx.avals_in[0].dtype.kind == "c" else "orgqr"
    return lapack.call(ctx, routine, [a, taus], ctx.avals_in, ctx.avals_out, {0: 0})[0]


def householder_product(a: Any, taus: Any) -> Any:
    """Return the product of the reflections from `geqrf`. Raise ValueError for fewer rows than columns, and for too many `taus`."""
    return householder_product_p.bind(a, taus)


# --- ormqr: a matrix times the product of reflections, which is not made ------------------------------------------------------


def _as_multiplied(a: Shape, taus: Shape, c: Shape, *, left: bool, transpose: bool) -> list[Shape]:
    if c[0 if left else 1] != a[0]:
        which, where = ("rows", "a. Got a") if left else ("columns", "a has rows. Got a")
        raise ValueError(
            f"ormqr with left={left} expects c to have the same number of {which} as the Householder matrix {where} shape {a} and c "
            f"shape {c}."
        )
    return [c]


ormqr_p = linalg_primitive("ormqr", (2, 1, 2), _as_multiplied)


@register_lowering(ormqr_p)
def _(ctx: LoweringContext, a: str, taus: str, c: str, *, left: bool, transpose: bool) -> str:
    options = {"left": left, "transpose": transpose}
    routine = "unmqr" if ctx.avals_in[0].dtype.kind == "c" else "ormqr"
    return lapack.call(ctx, routine, [a, taus, c], ctx.avals_in, ctx.avals_out, {2: 0}, options)[0]


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Return Q c, or c Q without `left`, for the product Q of the reflections from `geqrf`; with `transpose`, use its
    adjoint. Raise ValueError if the sizes do not fit.
    """
    return ormqr_p.bind(a, taus, c, left=left, transpose=transpose)


# --- qr -----------------------------------------------------------------------------------------------------------------------


def _qr_shapes(shape: Shape, pivoting: bool, full_matrices: bool, **_: Any) -> list[Shape]:
    m, n = shape
    k = m if full_matrices else min(m, n)
    return [(m, k), (k, n), (n,)] if pivoting else [(m, k), (k, n)]


qr_p = linalg_primitive(
    "qr",
    (2,),
    _qr_shapes,
    lambda dtype, pivoting, **_: [dtype, dtype, np.int32] if pivoting else [dtype, dtype],
    multiple_results=True,
)


@register_lowering(qr_p)
def _(ctx: LoweringContext, a: str, *, pivoting: bool, full_matrices: bool, use_magma: bool | None) -> list[str]:
    def compute(a: Any) -> list[Any]:
        return _qr(a, pivoting, full_matrices, use_magma)

    return inline_function(ctx, compute, [a], ctx.avals_in)


def _qr(a: Any, pivoting: bool, full_matrices: bool, use_magma: bool | None) -> list[Any]:
    *batch, m, n = a.shape
    if m == 0 or n == 0:
        [(_, k), _, *_] = _qr_shapes((m, n), pivoting, full_matrices)
        ones = eq(*(broadcasted_iota(np.int32, (*batch, m, k), len(batch) + i) for i in range(2)))
        order = [full((*batch, n), 0, np.int32)] * pivoting
        return [convert_element_type(ones, a.dtype), full((*batch, k, n), 0, a.dtype), *order]
    order = []
    if pivoting:
        r, places, taus = geqp3_p.bind(a, full((*batch, n), 0, np.int32), use_magma=use_magma)
        order = [sub(places, np.int32(1))]  # Fortran counts from 1
    else:
        r, taus = geqrf(a)
    if m < n:
        q = householder_product(_corner(r, m, m), taus)
    elif full_matrices:
        sides = [(0, 0, 0)] * (len(batch) + 1)
        q = householder_product(pad(r, r.dtype.type(0), [*sides, (0, m - n, 0)]), taus)
    else:
        q, r = householder_product(r, taus), _corner(r, n, n)
    return [q, lapack.upper_triangle(r), *order]


def _corner(x: Any, rows: int, columns: int) -> Any:
    """Return the first rows and columns of matrices: their upper left corners."""
    return slice(x, [0] * x.ndim, (*x.shape[:-2], rows, columns))


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> tuple[Any, ...]:
    """Return `(q, r)`, whose product is x: a matrix with orthonormal columns, and an upper triangle.

    Without `full_matrices`, q has no more columns than x has rows or columns. With `pivoting`, the columns of x are
    permuted so that the absolute values on r's diagonal descend; the permutation is a third result. On GPUs, MAGMA
    pivots if it is found, otherwise the host; `use_magma` chooses.
    """
    return tuple(qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma))
