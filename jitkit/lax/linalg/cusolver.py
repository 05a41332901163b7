"""Calls the routines for NVIDIA's GPUs that have other options or results than LAPACK's; `lapack.call` calls the
others.

XLA calls them by name (cusolver_gesvd_ffi), as JAX's plugin for CUDA registers them. For what cuSOLVER cannot do, the
plugin's routines (cuhybrid_geqp3) call LAPACK on the host, or the library MAGMA.

JAX: jax/_src/lax/linalg.py:_svd_gpu_sub_lowering
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import ShapedArray
from ...interpreters.mlir import LoweringContext
from ..convert import convert_element_type
from ..creation import full_like
from ..cumulative import cumsum
from ..elementwise import bitwise_or, complex, eq, imag, ne, neg, rem
from ..joining import pad
from ..reducers import inline_function
from ..selection import select
from ..shaping import broadcast_in_dim
from ..slicing import slice
from ..utils import is_a
from .lapack import adjoint, checked_dtype, cusolver_target, info_of, write_call

_LARGEST_FOR_JACOBI = 1024  # the most rows or columns for Jacobi's method
_LARGEST_IN_A_BATCH = 32  # up to this size, Jacobi's method always gives all of U and V


def call_hybrid(
    ctx: LoweringContext,
    routine: str,
    operands: Sequence[str],
    results: Sequence[ShapedArray],
    overwrites: Mapping[int, int],
    magma: bool | None,
    options: Mapping[str, bool] | None = None,
) -> list[str]:
    """Write the call of a routine that computes on the host, or by MAGMA; return the names of its results. With None
    for `magma`, MAGMA is used if it is found. `overwrites` and `options` are as for `write_call`.
    """
    checked_dtype(ctx.avals_in[0].dtype)
    said: dict[str, str | int | bool] = {"magma": {None: "auto", True: "on", False: "off"}[magma], **(options or {})}
    return write_call(ctx, f"cuhybrid_{routine}", operands, ctx.avals_in, results, overwrites, said)


def svd(
    ctx: LoweringContext, x: str, parts: Sequence[ShapedArray], full_matrices: bool, compute_uv: bool, way: str | None
) -> list[str]:
    """Write the singular values, U, V^H and `info` of matrices; return their names. `parts` are the types of the first
    three.

    `way` names the method: "QR", "Jacobi" (rotations) or "polar" (decomposition). The default is QR if there are more
    than `_LARGEST_FOR_JACOBI` rows or columns, otherwise by rotations.
    """
    [aval], [s, u, vt] = ctx.avals_in, parts
    m, n = aval.shape[-2:]
    if way == "QR" or (way is None and max(m, n) > _LARGEST_FOR_JACOBI):
        return _svd_by_qr(ctx, x, parts, full_matrices, compute_uv)
    routine = "gesvdp" if way == "polar" else "gesvdj"
    whole = full_matrices or (routine == "gesvdj" and min(m, n) <= _LARGEST_IN_A_BATCH)
    count = [m, n] if whole else [min(m, n)] * 2
    made = [ShapedArray((*aval.shape[:-2], rows, k), aval.dtype) for rows, k in zip((m, n), count, strict=True)]
    options = {"compute_uv": compute_uv, "full_matrices": whole}
    results = [aval, s, *made, info_of(aval)]
    target = cusolver_target(routine, aval)
    _, values, left, right, failed = write_call(ctx, target, [x], [aval], results, {0: 0}, options)
    if not compute_uv:
        return [values, left, right, failed]

    def cut(left: Any, right: Any) -> list[Any]:
        """Return U and V^H without the additional columns and rows."""
        return [slice(y, [0] * y.ndim, to.shape) for y, to in ((left, u), (adjoint(right), vt))]

    left, right = inline_function(ctx, cut, [left, right], made)
    return [values, left, right, failed]


def _svd_by_qr(
    ctx: LoweringContext, x: str, parts: Sequence[ShapedArray], full_matrices: bool, compute_uv: bool
) -> list[str]:
    """Write the singular values, U, V^H and `info`, by a routine that wants no fewer rows than columns; return their
    names. A wide matrix is passed row by row, which is its transpose; U and V then change places.
    """
    [aval], [s, u, vt] = ctx.avals_in, parts
    is_wide = aval.shape[-2] < aval.shape[-1]
    if not compute_uv:
        u = vt = ShapedArray((), aval.dtype)
    vectors = [vt, u] if is_wide else [u, vt]
    options = {"compute_uv": compute_uv, "full_matrices": full_matrices, "transposed": is_wide}
    results = [aval, s, *vectors, info_of(aval)]
    _, values, first, second, failed = write_call(
        ctx, cusolver_target("gesvd", aval), [x], [aval], results, {0: 0}, options, by_columns=not is_wide
    )
    return [values, second, first, failed] if is_wide else [values, first, second, failed]


def eig(ctx: LoweringContext, x: str, w_aval: ShapedArray, wanted: Mapping[str, bool]) -> tuple[str, str, str, str]:
    """Write the eigenvalues of square matrices, left and right eigenvectors if `wanted`, and `info`; return the names."""
    [aval] = ctx.avals_in
    results = [aval, w_aval, aval, aval, info_of(aval)]
    _, w, left, right, failed = write_call(ctx, cusolver_target("geev", aval), [x], [aval], results, {}, wanted)
    if wanted["right"] and not is_a(aval.dtype, np.complexfloating):
        [right] = inline_function(ctx, lambda w, v: [unpacked(w, v)], [w, right], [w_aval, aval])
    return w, left, right, failed


def unpacked(w: Any, v: Any) -> Any:
    """Return complex eigenvectors from real columns: two conjugate eigenvalues share two columns, real and imaginary part."""
    if not w.size:
        return complex(v, full_like(v, 0))
    axis = w.ndim - 1
    in_pair = ne(imag(w), full_like(imag(w), 0))
    counted = convert_element_type(in_pair, np.int32)
    first = eq(rem(cumsum(counted, axis), full_like(counted, 2)), full_like(counted, 1))

    def along(x: Any) -> Any:
        return broadcast_in_dim(x, v.shape, [*range(axis), axis + 1])

    def shifted(left: bool) -> Any:
        step = (-1, 1, 0) if left else (1, -1, 0)
        return pad(v, v.dtype.type(0), [(0, 0, 0)] * axis + [(0, 0, 0), step])

    is_real, is_first = along(eq(counted, full_like(counted, 0))), along(first)
    re = select(bitwise_or(is_real, is_first), v, shifted(left=False))
    im = select(is_real, full_like(v, 0), select(is_first, shifted(left=True), neg(v)))
    return complex(re, im)
