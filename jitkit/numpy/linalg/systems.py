"""Systems of linear equations, inverses and determinants: what LU and the singular values are good for.

JAX solves by `custom_linear_solve`, a primitive that has a derivative of its own; here a solution is what it is made of.

JAX: jax/_src/numpy/linalg.py:solve
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ...custom_derivatives import custom_jvp
from ...pjit.jit import jit
from .. import diagonals, reductions
from ..creation import array, zeros_like
from ..diagonals import eye
from ..promotion import broadcast_to, promote_dtypes_inexact
from ..ranges import arange
from ..selection import where
from ..shaping import moveaxis
from ..taking import take_along_axis
from ..ufuncs import abs as abs_
from ..ufuncs import exp, log, real, sign
from ..util import ensure_arraylike, ensure_arraylikes, iscomplexobj

# --- solve, inv -----------------------------------------------------------------------------------------------------------


@jit
def solve(a: Any, b: Any) -> Any:
    """The x for which a @ x = b; inf and nan where the matrix has no inverse.

    Args:
      a: square matrices, of shape [..., m, m].
      b: one vector, of shape [m], or matrices [..., m, n]. Batches are broadcast.

    Raises:
      ValueError: for other shapes.
    """
    a, b = ensure_arraylikes("jnp.linalg.solve", a, b)
    a, b = promote_dtypes_inexact(a, b)
    if a.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={a.shape!r}")
    if b.ndim > 1 and a.ndim == b.ndim + 1 and a.shape[-1] == b.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"Invalid shapes for solve: {a.shape}, {b.shape}. Prior to JAX v0.5.0, this would have been treated as a batched "
            "1-dimensional solve. To recover this behavior, use solve(a, b[..., None]).squeeze(-1)."
        )
    columns = b[:, None] if b.ndim == 1 else b
    for size in (a.shape[-1], columns.shape[-2]):
        if size != a.shape[-2]:
            signature = f"(m,m),{'(m)->(m)' if b.ndim == 1 else '(m,n)->(m,n)'}"
            raise ValueError(
                f"inconsistent size for core dimension 'm': {size} vs {a.shape[-2]} on vectorized function with "
                f"excluded=frozenset() and {signature=}\na is {a.shape}, of square matrices, and b is {b.shape}."
            )
    factors, _, permutation = lax.linalg.lu(a)
    x = lu_solve(factors, permutation, columns)
    return x[..., 0] if b.ndim == 1 else x


def lu_solve(factors: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """The x for which a @ x = b, where `lax.linalg.lu(a)` gave factors and permutation. `b` are matrices; batches are broadcast.

    With `trans`, a is transposed (1), and conjugated, too (2).
    """
    batch = lax.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    factors = broadcast_to(factors, (*batch, *factors.shape[-2:]))
    permutation = broadcast_to(permutation, (*batch, *permutation.shape[-1:]))
    x = broadcast_to(b, (*batch, *b.shape[-2:]))

    def triangle(x: Any, lower: bool) -> Any:
        return lax.linalg.triangular_solve(
            factors,
            x,
            left_side=True,
            lower=lower,
            unit_diagonal=lower,
            transpose_a=trans > 0,
            conjugate_a=trans == 2,
        )

    if trans == 0:
        return triangle(triangle(_rows(x, permutation), True), False)
    places = lax.broadcasted_iota(np.int32, permutation.shape, permutation.ndim - 1)
    _, inverse = lax.sort_key_val(permutation, places)
    return _rows(triangle(triangle(x, False), True), inverse)


def _rows(x: Any, order: Any) -> Any:
    """The rows of matrices in this order."""
    if order.ndim == 1:
        return x[order, :]
    return take_along_axis(x, order[..., None], axis=-2)


@jit
def inv(a: Any) -> Any:
    """The inverses of square matrices; inf and nan where there is none."""
    a = ensure_arraylike("jnp.linalg.inv", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {a.shape}.")
    return solve(a, lax.broadcast(eye(a.shape[-1], dtype=a.dtype), a.shape[:-2]))


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of an array as a matrix whose rows are its first `ind` axes."""
    a = ensure_arraylike("tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals that of the remaining "
            f"dimensions. got arr.shape={a.shape!r} with {ind=}."
        )
    return inv(a.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Any:
    """The x for which tensordot(a, x, x.ndim) = b. The `axes` of a are moved to its end before."""
    a, b = ensure_arraylikes("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, len(axes) * (a.ndim - 1,))
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got a.shape="
            f"{a.shape}, b.shape={b.shape}"
        )
    if b.size != math.prod(shape):
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got a.shape="
            f"{a.shape}, b.ndim={b.ndim}."
        )
    return solve(a.reshape(b.size, math.prod(shape)), b.ravel()).reshape(shape)


# --- determinants ---------------------------------------------------------------------------------------------------------


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


@jit(static_argnames=("method",))
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The signs of determinants (or where on the unit circle they lie), and the logarithms of their sizes.

    `method` is "lu", the default, or "qr".
    """
    a = ensure_arraylike("jnp.linalg.slogdet", a)
    (a,) = promote_dtypes_inexact(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {a.shape}")
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
    """Of the product of U's diagonal; each row that changed places changes the sign."""
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
    """Of the product of R's diagonal; each reflection changes the sign."""
    if iscomplexobj(a):
        raise NotImplementedError("slogdet method='qr' not implemented for complex inputs")
    reflections, taus = lax.linalg.geqrf(a)
    diagonal = diagonals.diagonal(reflections, axis1=-2, axis2=-1)
    logs = reductions.sum(log(abs_(diagonal)), axis=-1)
    direction = reductions.prod(sign(diagonal), axis=-1)
    flips = reductions.prod(where(taus[..., : a.shape[-1] - 1] != 0, -1, 1), axis=-1)
    return direction * flips.astype(direction.dtype), logs


def _slogdet_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    """The derivative of log det a is the trace of a^-1 da."""
    (a,), (da,) = primals, tangents
    found = tuple(slogdet(a))
    change = diagonals.trace(solve(a, da), axis1=-1, axis2=-2)
    if not iscomplexobj(a):
        return found, (zeros_like(found[0]), change)
    return found, ((change - real(change).astype(change.dtype)) * found[0], real(change))


for _function in (_slogdet_small, _slogdet_lu, _slogdet_qr):
    _function.defjvp(_slogdet_jvp)


@jit
def det(a: Any) -> Any:
    """The determinants of square matrices."""
    a = ensure_arraylike("jnp.linalg.det", a)
    (a,) = promote_dtypes_inexact(a)
    if a.shape[-2:] == (2, 2):
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    if a.shape[-2:] == (3, 3):
        return _det_3x3(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to _det() must have shape [..., n, n], got {a.shape}")
    return _det(a)


def _det_3x3(a: Any) -> Any:
    """Sarrus: the products along three diagonals, less those along the three others."""
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
    """det(a) tr(a^-1 da), which a matrix without inverse makes nan."""
    (a,), (da,) = primals, tangents
    found = _det(a)
    return found, found * diagonals.trace(solve(a, da), axis1=-1, axis2=-2)
