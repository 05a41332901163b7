"""Computes determinants: the product of U's diagonal, where A = P L U, with the sign of P; for small matrices, a
formula.

JAX: jax/_src/numpy/linalg.py:slogdet
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ...base import edits
from ...custom_derivatives import custom_jvp
from ...pjit.jit import jit
from .. import diagonals, reductions
from ..creation import array, asarray, ones, zeros_like
from ..cumulative import cumprod
from ..float_parts import isinf, isnan
from ..joining import concatenate, tile
from ..promotion import promote_dtypes_inexact
from ..ranges import arange, ix_
from ..selection import where
from ..ufuncs import abs as abs_
from ..ufuncs import exp, log, logical_or, real, sign
from ..util import ensure_arraylike, iscomplexobj
from .systems import solve


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    logabsdet: Any


@jit(static_argnames=("method",))
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Return the signs of determinants (for complex ones, points on the unit circle), and the logarithms of their
    absolute values; for a determinant of 0, 0 and minus infinity.

    `method` is "lu", the default, or "qr". Raise ValueError for another method, or matrices that are not square,
    NotImplementedError for complex ones with "qr".
    """
    a = ensure_arraylike("jnp.linalg.slogdet", a)
    (a,) = promote_dtypes_inexact(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {a.shape}{edits.MATRICES}")
    if method == "qr":
        return SlogdetResult(*_slogdet_qr(a))
    if method not in (None, "lu"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'.")
    return SlogdetResult(*(_slogdet_small(a) if a.shape[-1] in (1, 2) else _slogdet_lu(a)))


@custom_jvp
def _slogdet_small(a: Any) -> tuple[Any, Any]:
    value = a[..., 0, 0] if a.shape[-1] == 1 else _det_2x2_of_parts(a)
    size = abs_(value)
    return sign(value), real(log(size))


def _det_2x2_of_parts(a: Any) -> Any:
    a00, a01 = a[..., 0, 0], a[..., 0, 1]
    a10, a11 = a[..., 1, 0], a[..., 1, 1]
    return a00 * a11 - a01 * a10


@custom_jvp
def _slogdet_lu(a: Any) -> tuple[Any, Any]:
    """Return sign and logarithm from the product of U's diagonal; each swapped row changes the sign."""
    dtype = a.dtype
    factors, pivots, _ = lax.linalg.lu(a)
    diagonal = diagonals.diagonal(factors, axis1=-2, axis2=-1)
    is_zero = reductions.any(diagonal == array(0, dtype=dtype), axis=-1)
    places = lax.expand_dims(arange(a.shape[-1], dtype=pivots.dtype), range(pivots.ndim - 1))
    parity = reductions.count_nonzero(pivots != places, axis=-1)
    if iscomplexobj(a):
        direction = reductions.prod(diagonal / abs_(diagonal).astype(diagonal.dtype), axis=-1)
    else:
        direction = array(1, dtype=dtype)
        parity = parity + reductions.count_nonzero(diagonal < 0, axis=-1)
    swaps = array(-2 * (parity % 2) + 1, dtype=dtype)
    direction = where(is_zero, array(0, dtype=dtype), direction * swaps)
    logs = reductions.sum(log(abs_(diagonal)).astype(dtype), axis=-1)
    return direction, real(where(is_zero, array(-np.inf, dtype=dtype), logs))


@custom_jvp
def _slogdet_qr(a: Any) -> tuple[Any, Any]:
    """Return sign and logarithm from the product of R's diagonal; each reflection changes the sign. Raise
    NotImplementedError for complex matrices.
    """
    if iscomplexobj(a):
        raise NotImplementedError("slogdet method='qr' not implemented for complex inputs")
    reflections, taus = lax.linalg.geqrf(a)
    diagonal = diagonals.diagonal(reflections, axis1=-2, axis2=-1)
    logs = reductions.sum(log(abs_(diagonal)), axis=-1)
    direction = reductions.prod(sign(diagonal), axis=-1)
    flips = reductions.prod(where(taus[..., : a.shape[-1] - 1] != 0, -1, 1), axis=-1)
    return direction * flips.astype(direction.dtype), logs


def _slogdet_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    """JVP rule: the tangent of log|det a| is the trace of a^-1 da, where da is the tangent of a."""
    (a,), (da,) = primals, tangents
    found = tuple(slogdet(a))
    change = diagonals.trace(solve(a, da), axis1=-1, axis2=-2)
    return found, _tangents_of_slogdet(found, change)


def _slogdet_small_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    """JVP rule of log|det| for matrices of one or two rows: the determinant's tangent, divided by the determinant."""
    (a,), (da,) = primals, tangents
    found = _slogdet_small(a)
    if a.shape[-1] == 1:
        change = da[..., 0, 0] / a[..., 0, 0]
    else:
        (a00, a01), (a10, a11) = (a[..., 0, 0], a[..., 0, 1]), (a[..., 1, 0], a[..., 1, 1])
        value = a00 * a11 - a01 * a10
        parts = da[..., 0, 0] * a11 - da[..., 0, 1] * a10 - da[..., 1, 0] * a01 + da[..., 1, 1] * a00
        change = parts / value
    return found, _tangents_of_slogdet(found, change)


def _tangents_of_slogdet(found: tuple[Any, Any], change: Any) -> tuple[Any, Any]:
    """Return the tangents of sign and logarithm; `change` is the determinant's tangent, divided by the determinant."""
    if not iscomplexobj(change):
        return zeros_like(found[0]), change
    return (change - real(change).astype(change.dtype)) * found[0], real(change)


_slogdet_small.defjvp(_slogdet_small_jvp)


for _function in (_slogdet_lu, _slogdet_qr):
    _function.defjvp(_slogdet_jvp)


@jit
def det(a: Any) -> Any:
    """Return the determinants of square matrices. Raise ValueError for other shapes."""
    a = ensure_arraylike("jnp.linalg.det", a)
    (a,) = promote_dtypes_inexact(a)
    if a.shape[-2:] == (2, 2):
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    if a.shape[-2:] == (3, 3):
        return _det_3x3(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to _det() must have shape [..., n, n], got {a.shape}{edits.MATRICES}")
    return _det(a)


def _det_3x3(a: Any) -> Any:
    """Return the determinant by Sarrus' rule: the products along three diagonals, minus those along the three others."""
    total = None
    for step, columns in ((1, (0, 1, 2)), (-1, (2, 0, 1))):
        for start in columns:
            term = a[..., 0, start]
            for row in (1, 2):
                term = term * a[..., row, (start + step * row) % 3]
            total = term if total is None else total + term if step > 0 else total - term
    return total


@custom_jvp
def _det(a: Any) -> Any:
    direction, logs = slogdet(a)
    return direction * exp(logs).astype(direction.dtype)


@_det.defjvp
def _det_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (a,), (da,) = primals, tangents
    found, change = _times_cofactors(a, da)
    return found, diagonals.trace(change, axis1=-1, axis2=-2)


def _times_cofactors(a: Any, b: Any) -> tuple[Any, Any]:
    """Return det(a), and det(a) a^-1 b, which also exists if only the last number on U's diagonal is 0. If more are, b
    counts as zero.
    """
    (a,) = promote_dtypes_inexact(a)
    (b,) = promote_dtypes_inexact(b)
    if a.shape[-1] == 1:
        return a[..., 0, 0], b
    factors, pivots, permutation = lax.linalg.lu(a)
    diagonal = diagonals.diagonal(factors, axis1=-2, axis2=-1)
    places = lax.expand_dims(arange(a.shape[-1], dtype=pivots.dtype), range(pivots.ndim - 1))
    parity = reductions.count_nonzero(pivots != places, axis=-1)
    swaps = asarray(-2 * (parity % 2) + 1, dtype=a.dtype)
    products = cumprod(diagonal, axis=-1) * swaps[..., None]
    # The last row of the solution is (det / u_nn) times its right side. So u_nn is replaced by 1 / (det / u_nn), and
    # only the other rows are multiplied by det: nothing is divided by u_nn, which may be 0.
    factors = factors.at[..., -1, -1].set(1.0 / products[..., -2])
    elements = ix_(*(lax.iota(np.int32, size) for size in (*b.shape[:-2], 1)))

    def by_upper(x: Any) -> Any:
        return lax.linalg.triangular_solve(factors, x, left_side=True, lower=False)

    tried = by_upper(ones(b.shape[:-1], b.dtype))
    is_bad = reductions.any(logical_or(isnan(tried), isinf(tried)), axis=-1)
    is_bad = tile(is_bad[..., None, None], (1,) * is_bad.ndim + b.shape[-2:])
    x = where(is_bad, zeros_like(b), b)
    x = x[(*elements[:-1], permutation, slice(None))]
    x = lax.linalg.triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
    x = concatenate((x[..., :-1, :] * products[..., -1, None, None], x[..., -1:, :]), axis=-2)
    return products[..., -1], where(is_bad, zeros_like(b), by_upper(x))
