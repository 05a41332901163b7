"""Systems of linear equations whose matrix is a triangle, and any others, whose matrix is made of two.

JAX: jax/_src/lax/linalg.py:triangular_solve
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...interpreters.batching import AxisData, Dims, Vals, bdim_at_front, moveaxis, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering, type_of
from ..creation import iota
from ..shaping import expand_dims, reshape
from ..sorting import sort_key_val
from ..utils import Shape, is_a
from . import lapack
from .factoring import lu
from .lapack import for_each, linalg_primitive

# --- triangular_solve: the X of op(A) X = B, or X op(A) = B -------------------------------------------------------------------


def _solution_shape(a: Shape, b: Shape, left_side: bool, **_: Any) -> list[Shape]:
    if a[0] != a[1]:
        raise ValueError(f"The first input to triangular_solve must be a square matrix. Got shape {a}.")
    if a[-1] != b[-2 if left_side else -1]:
        raise ValueError(f"Incompatible shapes for arguments to triangular_solve: {a} and {b}.")
    return [b]


triangular_solve_p = linalg_primitive("triangular_solve", (2, 2), _solution_shape)


@register_lowering(triangular_solve_p)
def _(
    ctx: LoweringContext,
    a: str,
    b: str,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> str:
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    if conjugate_a and not transpose_a:
        a, conjugate_a = ctx.emit_text(f"chlo.conj {a} : {type_of(aval)} -> {type_of(aval)}"), False
    if ctx.module.platform == "cpu" and lapack.has_routines(aval.dtype):
        characters = {
            "diag": "U" if unit_diagonal else "N",
            "side": "L" if left_side else "R",
            "trans_x": ("C" if conjugate_a else "T") if transpose_a else "N",
            "uplo": "L" if lower else "U",
        }
        return lapack.call(ctx, "trsm", [a, b], ctx.avals_in, ctx.avals_out, {1: 0}, characters)[0]
    transpose = ("ADJOINT" if conjugate_a else "TRANSPOSE") if transpose_a else "NO_TRANSPOSE"
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    said = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items())
    types = ", ".join(map(type_of, ctx.avals_in))
    return ctx.emit_text(
        f'"stablehlo.triangular_solve"({a}, {b}) <{{{said}, transpose_a = #stablehlo<transpose {transpose}>}}> : '
        f"({types}) -> {type_of(out)}"
    )


@register_batcher(triangular_solve_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, left_side: bool, **params: Any) -> Any:
    """A batch of right sides of one matrix are so many more columns."""
    (a, b), (dim, b_dim) = vals, dims
    if dim is not None or b_dim is None:
        operands = [bdim_at_front(x, d, axis.size) for x, d in zip(vals, dims, strict=True)]
        return triangular_solve_p.bind(*operands, left_side=left_side, **params), 0
    place = b.ndim - (1 if left_side else 2)
    b = moveaxis(b, b_dim, place)
    start = b.ndim - (2 if left_side else 3)
    sizes = (*b.shape[:start], b.shape[start] * b.shape[start + 1], *b.shape[start + 2 :])
    out = triangular_solve_p.bind(a, reshape(b, sizes), left_side=left_side, **params)
    return reshape(out, b.shape), place


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The X for which op(a) @ X = b (`left_side`), or else X @ op(a) = b.

    Of `a` only one triangle is read, the upper one unless `lower`; with `unit_diagonal` its diagonal is taken to be 1. `op`
    transposes, conjugates, both or neither. `b` may be vectors, with an axis less than `a`.
    """
    conjugate_a = conjugate_a and is_a(a.dtype, np.complexfloating)
    is_vector = np.ndim(b) == np.ndim(a) - 1
    if is_vector:
        b = expand_dims(b, (-1 if left_side else -2,))
    out = triangular_solve_p.bind(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    if is_vector:
        return out[..., 0] if left_side else out[..., 0, :]
    return out


# --- lu_solve, solve: two triangles -----------------------------------------------------------------------------------------


def lu_solve(factors: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """The X for which A @ X = B, where `lu(A)` gave factors and permutation. All have the same batch axes.

    With `trans`, A is transposed (1), and conjugated, too (2).
    """
    return for_each(functools.partial(_lu_solve, trans), factors.ndim - 2, factors, permutation, b)


def _lu_solve(trans: int, factors: Any, permutation: Any, b: Any) -> Any:
    def triangle(x: Any, lower: bool) -> Any:
        turned = {"transpose_a": trans > 0, "conjugate_a": trans == 2}
        return triangular_solve(factors, x, left_side=True, lower=lower, unit_diagonal=lower, **turned)

    if trans == 0:
        return triangle(triangle(b[permutation, :], True), False)
    _, inverse = sort_key_val(permutation, iota(np.int32, permutation.shape[0]))
    return triangle(triangle(b, False), True)[inverse, :]


def solve(a: Any, b: Any) -> Any:
    """The X for which A @ X = B: square matrices, and matrices with the same batch axes."""
    factors, _, permutation = lu(a)
    return lu_solve(factors, permutation, b)
