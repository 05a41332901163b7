"""Brings matrices into the forms of Schur and Hessenberg by a unitary change of basis: A = Q U Q^H.

JAX: jax/_src/lax/linalg.py:schur
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import ShapedArray
from ...interpreters.mlir import LoweringContext, register_lowering
from ..utils import Shape
from . import lapack
from .lapack import linalg_primitive

# --- schur: U is an upper triangle; of a real matrix, one with blocks of two rows for pairs of complex eigenvalues ------------


def _schur_shapes(shape: Shape, compute_schur_vectors: bool, **_: Any) -> list[Shape]:
    if shape[0] != shape[1]:
        raise ValueError(f"The input to schur must be a square matrix. Got shape {shape}.")
    return [shape] * (1 + compute_schur_vectors)


schur_p = linalg_primitive(
    "schur",
    (2,),
    _schur_shapes,
    lambda dtype, compute_schur_vectors, **_: [dtype] * (1 + compute_schur_vectors),
    multiple_results=True,
)


@register_lowering(schur_p)
def _(
    ctx: LoweringContext,
    x: str,
    *,
    compute_schur_vectors: bool,
    sort_eig_vals: bool,
    select_callable: Callable[..., Any] | None,
) -> list[str]:
    if sort_eig_vals:
        raise NotImplementedError("The sort feature of LAPACK's gees routine is not implemented.")
    [aval], info = ctx.avals_in, lapack.info_of(ctx.avals_in[0])
    parts = [ShapedArray(aval.shape[:-1], aval.dtype)] * (1 if aval.dtype.kind == "c" else 2)  # eigenvalues
    results = [aval, aval, *parts, info, info]
    options = {"mode": "V" if compute_schur_vectors else "N", "sort": "N"}
    form, vectors, *_, failed = lapack.call(ctx, "gees", [x], [aval], results, {0: 0}, options)
    return lapack.nan_where_failed(
        ctx, failed, info, list(zip((form, vectors), ctx.avals_out, strict=False))[: len(ctx.avals_out)]
    )


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Any]:
    """Return U and Q with x = Q U Q^H, where Q is unitary and U a triangle; without `compute_schur_vectors`, U alone.

    For a real matrix, U may have numbers right below its diagonal: a block of two rows for each pair of complex
    eigenvalues. Raise NotImplementedError with `sort_eig_vals`, as in JAX; `select_callable` does nothing.
    """
    found: list[Any] = schur_p.bind(
        x, compute_schur_vectors=compute_schur_vectors, sort_eig_vals=sort_eig_vals, select_callable=select_callable
    )
    return found


# --- hessenberg: U has numbers on its upper triangle, and right below the diagonal --------------------------------------------


def _hessenberg_shapes(shape: Shape) -> list[Shape]:
    if shape[0] != shape[1]:
        raise ValueError(f"Argument to Hessenberg reduction must have shape [..., n, n], got shape {shape}")
    return [shape, (shape[0] - 1,)]


hessenberg_p = linalg_primitive("hessenberg", (2,), _hessenberg_shapes, multiple_results=True)


@register_lowering(hessenberg_p)
def _(ctx: LoweringContext, a: str) -> list[str]:
    [aval], info = ctx.avals_in, lapack.info_of(ctx.avals_in[0])
    rows = {"high": np.int32(aval.shape[-1]), "low": np.int32(1)}
    form, taus, failed = lapack.call(ctx, "gehrd", [a], [aval], [*ctx.avals_out, info], {0: 0}, rows)
    return lapack.nan_where_failed(ctx, failed, info, list(zip((form, taus), ctx.avals_out, strict=True)))


def hessenberg(a: Any) -> list[Any]:
    """Return Hessenberg's form as LAPACK stores it: U in its place; below it, and in a second array, the reflections
    whose product is Q, for `householder_product`.
    """
    found: list[Any] = hessenberg_p.bind(a)
    return found
