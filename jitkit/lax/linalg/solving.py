"""Solves systems of linear equations: with triangular matrices, and with any others, by their LU factors.

JAX: jax/_src/lax/linalg.py:triangular_solve
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...interpreters.batching import AxisData, Dims, Vals, bdim_at_front, moveaxis, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering, type_of
from ...interpreters.vmap import vmap
from ...pjit.jit import jit
from ..control_flow.solves import custom_linear_solve
from ..creation import iota
from ..dot_products import dot_general
from ..ordering import stop_gradient
from ..precision import Precision
from ..shaping import broadcast_in_dim, expand_dims, reshape
from ..sorting import sort_key_val
from ..utils import Shape, broadcast_shapes, is_a
from . import lapack
from .factoring import lu
from .lapack import linalg_primitive

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
    """Batching rule: a batch of right sides of one matrix becomes more columns."""
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
    """Return the X for which op(a) @ X = b (`left_side`), or else X @ op(a) = b.

    Only one triangle of `a` is read, the upper one unless `lower`; with `unit_diagonal` its diagonal is taken to be 1.
    `op` transposes with `transpose_a`, and conjugates with `conjugate_a`. `b` may be vectors, with one axis less than
    `a`. Raise ValueError for matrices that are not square or do not fit `b`, TypeError for different batch axes or
    dtypes.
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
    """Return the X for which A @ X = B, from the factors and permutation of `lu(A)`. Batches are broadcast; a `b` with
    one axis less holds vectors.

    With `trans`, A is transposed (1), and also conjugated (2). Raise ValueError for another `trans`, and for shapes
    that do not fit.
    """
    return _lu_solve(factors, permutation, b, trans)


@jit(static_argnums=(3,))
def _lu_solve(lu: Any, permutation: Any, b: Any, trans: int) -> Any:
    if lu.ndim < 2 or lu.shape[-1] != lu.shape[-2]:
        raise ValueError(f"last two dimensions of LU decomposition must be equal, got shape {lu.shape}")
    if b.ndim < 1:
        raise ValueError(f"b matrix must have rank >= 1, got shape {b.shape}")
    is_vector = lu.ndim == b.ndim + 1
    if b.shape[-1 if is_vector else -2] != lu.shape[-1]:
        numbers, last = ("the same number of", "last") if is_vector else ("different numbers of", "second to last")
        raise ValueError(
            f"When LU decomposition matrix and b {'have ' if is_vector else ''}{numbers} dimensions, last axis of LU decomposition "
            f"matrix (shape {lu.shape}) and {'' if is_vector else last + ' axis of '}b array (shape {b.shape}) must match"
        )
    b = b[..., None] if is_vector else b
    batch = broadcast_shapes(lu.shape[:-2], permutation.shape[:-1], b.shape[:-2])
    operands = [_spread(x, (*batch, *x.shape[x.ndim - rank :])) for x, rank in ((lu, 2), (permutation, 1), (b, 2))]
    solve_once: Callable[..., Any] = functools.partial(_two_triangles, trans)
    for _ in batch:
        solve_once = vmap(solve_once)
    x = solve_once(*operands)
    return x[..., 0] if is_vector else x


def _two_triangles(trans: int, lu: Any, permutation: Any, b: Any) -> Any:
    def triangle(x: Any, lower: bool) -> Any:
        turned = {"transpose_a": trans > 0, "conjugate_a": trans == 2}
        return triangular_solve(lu, x, left_side=True, lower=lower, unit_diagonal=lower, **turned)

    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    if trans == 0:
        return triangle(triangle(b[permutation, :], True), False)
    x = triangle(triangle(b, False), True)
    _, inverse = sort_key_val(permutation, iota(np.int32, permutation.shape[0]))
    return x[inverse, :]


def _spread(x: Any, shape: Shape) -> Any:
    """Return `x`, broadcast to a shape. Write the equation even if x has that shape, as JAX's derivatives do."""
    return broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))


def check_solve_shapes(a: Any, b: Any) -> None:
    """Raise ValueError unless `a` holds square matrices, and `b` matrices or vectors (one axis less) with as many rows."""
    if not (a.ndim >= 2 and b.ndim in (a.ndim, a.ndim - 1) and a.shape[-1] == a.shape[-2] == b.shape[a.ndim - 2]):
        raise ValueError(
            "The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or b=[..., m]; got "
            f"a={a.shape} and b={b.shape}"
        )


def solve_columns(a: Any, b: Any, solve_one: Callable[[Callable[[Any], Any], Any], Any]) -> Any:
    """Return the X for which A @ X = B, column by column. `solve_one` takes the function that multiplies A with a
    vector, and one right side.
    """

    def product(x: Any) -> Any:
        batch = broadcast_shapes(a.shape[:-2], x.shape[:-1])
        matrices, vectors = _spread(a, (*batch, *a.shape[-2:])), _spread(x, (*batch, x.shape[-1]))
        axes = [*range(len(batch))]
        numbers = ((a.ndim - 1,), (x.ndim - 1,)), (axes, axes)
        return dot_general(matrices, vectors, numbers, precision=Precision.HIGHEST)

    solution = functools.partial(solve_one, product)
    return solution(b) if a.ndim == b.ndim + 1 else vmap(solution, b.ndim - 1, max(a.ndim, b.ndim) - 1)(b)


def solve(a: Any, b: Any) -> Any:
    """Return the X for which A @ X = B, for square matrices, and matrices or vectors with the same batch axes. Raise
    ValueError for others. Its derivatives use the same factors.
    """
    check_solve_shapes(a, b)
    sizes = (*a.shape[:-1], 1)
    b = broadcast_in_dim(b, [n if m == 1 else m for n, m in zip(sizes, b.shape, strict=False)], range(b.ndim))
    factors, _, permutation = lu(stop_gradient(a))

    def solve_one(product: Callable[[Any], Any], b: Any) -> Any:
        return custom_linear_solve(
            product,
            b,
            lambda _, x: lu_solve(factors, permutation, x, trans=0),
            lambda _, x: lu_solve(factors, permutation, x, trans=1),
        )

    return solve_columns(a, b, solve_one)
