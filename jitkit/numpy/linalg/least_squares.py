"""Solves equations with no solution, or many: pseudo-inverses, and least squares.

JAX: jax/_src/numpy/linalg.py:lstsq
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...custom_derivatives import custom_jvp
from ...pjit.jit import jit
from .. import contractions
from ..creation import array, asarray, empty, zeros
from ..promotion import promote_dtypes_inexact
from ..selection import where
from ..ufuncs import conj, divide
from ..util import ensure_arraylike, ensure_arraylikes
from .decompositions import adjoint, svd
from .norms import norm

_PRECISION = lax.Precision.HIGHEST


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """Return the pseudo-inverses of matrices, of any shape: singular values up to `rtol` times the largest count as 0.

    By default `rtol` is 10 times the greater size times eps; `rcond` is its other name; raise ValueError for both.
    `hermitian` promises that the matrices are Hermitian.
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    return _pinv(a, rtol, hermitian)


def _pinv_of(a: Any, rtol: Any = None, hermitian: bool = False) -> Any:
    a = ensure_arraylike("jnp.linalg.pinv", a)
    (a,) = promote_dtypes_inexact(a)
    m, n = a.shape[-2:]
    if m == 0 or n == 0:
        return empty((*a.shape[:-2], n, m), a.dtype)
    a = conj(a)
    if rtol is None:
        rtol = 10.0 * max(m, n) * array(dtypes.finfo(a.dtype).eps)
    rtol = asarray(rtol)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    rtol = lax.expand_dims(rtol[..., np.newaxis], range(s.ndim - rtol.ndim - 1))
    s = where(s > rtol * s[..., 0:1], s, np.inf).astype(u.dtype)
    product = contractions.matmul(vh.mT, divide(u.mT, s[..., np.newaxis]), precision=_PRECISION)
    return lax.convert_element_type(product, a.dtype)


_pinv_of.__name__ = _pinv_of.__qualname__ = "_pinv"
_pinv = custom_jvp(jit(_pinv_of, static_argnames="hermitian"), nondiff_argnums=(1, 2))


@_pinv.defjvp
def _pinv_jvp(rtol: Any, hermitian: bool, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    """JVP rule: Golub and Pereyra, The differentiation of pseudo-inverses (1973), give the tangent in equation 4.12."""
    (a,), (da,) = primals, tangents
    p = pinv(a, rtol=rtol, hermitian=hermitian)
    if hermitian:
        a, da = (a + adjoint(a)) / 2, (da + adjoint(da)) / 2

    multiply = functools.partial(contractions.matmul, precision=_PRECISION)
    if a.shape[-2] >= a.shape[-1]:  # the smaller products first
        rows = multiply(multiply(p, adjoint(p)), adjoint(da))
        columns = multiply(multiply(adjoint(da), adjoint(p)), p)
        inside = multiply(-multiply(p, da), p)
        return p, inside + rows - multiply(multiply(rows, a), p) + columns - multiply(multiply(p, a), columns)
    rows = multiply(p, multiply(adjoint(p), adjoint(da)))
    columns = multiply(adjoint(da), multiply(adjoint(p), p))
    inside = multiply(-p, multiply(da, p))
    return p, inside + rows - multiply(rows, multiply(a, p)) + columns - multiply(p, multiply(a, columns))


def lstsq(a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
    """Return the shortest x that minimises the norm of a @ x - b (for a matrix b, of each column), the squares of these
    norms, the rank of a, and its singular values.

    Args:
      a, b: one matrix, and a vector or a matrix.
      rcond: singular values below `rcond` times the largest one count as 0. By default it is eps times the greater size
        of a; a negative number stands for eps.
      numpy_resid: as in NumPy, return no squares if a has at most as many rows as columns, or x is not the only
        solution. (Not under `jit`: the rank depends on values.)

    Raises:
      ValueError: the first axes of a and b differ in size.
      TypeError: for other numbers of axes.
    """
    a, b = ensure_arraylikes("jnp.linalg.lstsq", a, b)
    if numpy_resid:
        return _lstsq(a, b, rcond, numpy_resid=True)
    found: tuple[Any, Any, Any, Any] = _jitted_lstsq(a, b, rcond)
    return found


def _lstsq(a: Any, b: Any, rcond: Any, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
    a, b = promote_dtypes_inexact(a, b)
    if a.shape[0] != b.shape[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim != 2:
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    m, n = a.shape
    if a.size == 0:
        s, rank = empty(0, dtype=a.dtype), array(0, dtype=int)
        x = zeros((n, *b.shape[1:]), dtype=a.dtype)
    else:
        eps = dtypes.finfo(a.dtype).eps
        rcond = float(eps) * max(n, m) if rcond is None else where(rcond < 0, eps, rcond)
        u, s, vt = svd(a, full_matrices=False)
        mask = (s > 0) & (s >= array(rcond, dtype=s.dtype) * s[0])
        rank = mask.sum()
        safe = where(mask, s, 1).astype(a.dtype)
        inverse = where(mask, 1 / safe, 0)[:, np.newaxis]
        x = contractions.matmul(u.conj().T, b, precision=_PRECISION)
        x = contractions.matmul(vt.conj().T, inverse * x, precision=_PRECISION)
    if numpy_resid and (rank < n or m <= n):
        residuals = asarray([])
    else:
        rest = b - contractions.matmul(a, x, precision=_PRECISION)
        residuals = norm(rest, axis=0) ** 2
    return x.ravel() if is_vector else x, residuals, rank, s


_jitted_lstsq = jit(_lstsq, static_argnames=("numpy_resid",))
