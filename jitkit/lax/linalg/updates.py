"""Adds a product to a matrix: A A^T to a symmetric one, or w w^T to one whose Cholesky factor is known.

JAX: jax/_src/lax/linalg.py:symmetric_product
"""

from __future__ import annotations

from typing import Any

from ...interpreters.mlir import LoweringContext, register_lowering
from ..control_flow import cond
from ..dot_products import batch_matmul
from ..elementwise import abs as abs_
from ..elementwise import add, eq, gt, mul, neg, rsqrt, sub
from ..elementwise_rules import FLOAT
from ..precision import Precision
from ..reducers import inline_function
from ..selection import select
from ..utils import Shape
from . import lapack
from .lapack import linalg_primitive, lower_triangle, swap_axes

# --- symmetric_product: alpha A A^T + beta C ----------------------------------------------------------------------------------


def _product_shape(a: Shape, c: Shape, **_: Any) -> list[Shape]:
    if a[0] != c[1] or c[0] != c[1]:
        raise ValueError(
            "symmetric_update expects a rectangular matrix of shape (m, n) and a square matrix of shape (n, n). "
            f"Got shapes {a} and {c}."
        )
    return [c]


symmetric_product_p = linalg_primitive("symmetric_product", (2, 2), _product_shape, accepts=(FLOAT, FLOAT))


@register_lowering(symmetric_product_p)
def _(ctx: LoweringContext, a: str, c: str, *, alpha: float, beta: float) -> str:
    [out] = ctx.avals_out
    if ctx.module.platform == "gpu":
        scalar = out.update(shape=())
        numbers = [ctx.splat(alpha, scalar), ctx.splat(beta, scalar)]
        target, avals = lapack.cusolver_target("syrk", out), [*ctx.avals_in, scalar, scalar]
        return lapack.write_call(
            ctx, target, [a, c, *numbers], avals, [out], {1: 0}, {"transpose": False}, by_columns=False, own_axes=None
        )[0]

    def compute(a: Any, c: Any) -> list[Any]:
        product = batch_matmul(a, swap_axes(a), precision=Precision.HIGHEST)
        return [alpha * product + beta * c]

    return inline_function(ctx, compute, [a, c], ctx.avals_in)[0]


def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Any:
    """Return alpha A A^T + beta C, where C is symmetric. On a GPU only the lower triangle is right, unless
    `symmetrize_output` copies it upwards. Raise ValueError if the sizes do not fit, TypeError unless both have one
    dtype of floats.
    """
    found = symmetric_product_p.bind(a_matrix, c_matrix, alpha=alpha, beta=beta)
    if not symmetrize_output:
        return found
    above = swap_axes(lower_triangle(found, -1))
    return add(lower_triangle(found), above)


# --- cholesky_update: from R with R^T R = A to that of A + w w^T --------------------------------------------------------------


def _update_shape(r: Shape, w: Shape) -> list[Shape]:
    if r[0] != r[1] or w[0] != r[1]:
        raise ValueError(
            "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the same size as input. "
            f"Got shapes {r} and {w} instead"
        )
    return [r]


cholesky_update_p = linalg_primitive(
    "cholesky_update", (2, 1), _update_shape, accepts=(FLOAT, FLOAT), takes_batches=False
)


@register_lowering(cholesky_update_p)
def _(ctx: LoweringContext, r: str, w: str) -> str:
    if ctx.module.platform == "gpu":
        target, both = "cu_cholesky_update_ffi", ctx.avals_in
        overwrites = {0: 0, 1: 1}
        return lapack.write_call(ctx, target, [r, w], both, both, overwrites, by_columns=False, own_axes=None)[0]
    return inline_function(ctx, lambda r, w: [_updated(r, w)], [r, w], ctx.avals_in)[0]


def _updated(r: Any, w: Any) -> Any:
    """Return the R' of `cholesky_update`: rotations of w with each row of R turn w into zero, and do not change R^T R + w w^T."""
    for k in range(w.shape[0]):
        row = r[k]
        cosine, sine = cond(eq(w[k], w.dtype.type(0)), _no_rotation, _rotation, row[k], w[k])
        turned = sub(mul(cosine, row), mul(sine, w))
        w = add(mul(cosine, w), mul(sine, row))
        r = r.at[k].set(turned)
    return r


def _no_rotation(x: Any, y: Any) -> tuple[Any, Any]:
    return x.dtype.type(1), x.dtype.type(0)


def _rotation(x: Any, y: Any) -> tuple[Any, Any]:
    """Return cosine and sine of the rotation that turns (x, y) to the first axis, without overflow; nan for (0, 0)."""
    size_x, size_y = abs_(x), abs_(y)
    largest = select(gt(size_x, size_y), size_x, size_y)
    x, y = x / largest, y / largest
    inverse = rsqrt(x * x + y * y)
    return mul(x, inverse), neg(mul(y, inverse))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """Return the upper triangle R' with R'^T R' = R^T R + w w^T, for one upper triangle R and one vector w. Raise
    ValueError if the sizes do not fit, TypeError for batches, or unless both have one dtype of floats.
    """
    return cholesky_update_p.bind(r_matrix, w_vector)
