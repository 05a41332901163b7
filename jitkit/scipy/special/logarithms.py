"""Computes x log x, entropies, sums of exponentials, and powers of Box and Cox.

JAX: jax/_src/scipy/special.py:xlogy
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...custom_derivatives import custom_jvp
from ...nn import functions
from ...numpy import expm1, isnan, log, log1p, ones_like, where, zeros_like
from ...numpy.ufuncs import constant
from ..arguments import promoted, refuse_complex


# --- x log x, and entropies ---------------------------------------------------------------------------------------------------
@custom_jvp
def xlogy(x: Any, y: Any) -> Any:
    """Return x log(y), and 0 if x is 0 and y is not nan."""
    x, y = promoted("xlogy", x, y)
    return where((x != 0.0) | isnan(y), lax.mul(x, lax.log(y)), zeros_like(x))


@xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    out = xlogy(x, y)
    return out, (dx * lax.log(y) + dy * x / y).astype(out.dtype)


@custom_jvp
def xlog1py(x: Any, y: Any) -> Any:
    """Return x log(1 + y), and 0 if x is 0 and y is not nan."""
    x, y = promoted("xlog1py", x, y)
    return where((x != 0.0) | isnan(y), lax.mul(x, lax.log1p(y)), zeros_like(x))


@xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    out = xlog1py(x, y)
    return out, (dx * lax.log1p(y) + dy * x / (1 + y)).astype(out.dtype)


@custom_jvp
def _xlogx(x: Any) -> Any:
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return _xlogx(x), dx * (lax.log(x) + 1)


def entr(x: Any) -> Any:
    """Return -x log(x), 0 for x = 0, and minus infinity for x < 0. Raise ValueError for complex numbers."""
    (x,) = promoted("entr", x)
    refuse_complex("entr", x)
    return lax.select(lax.lt(x, constant(x, 0)), lax.full_like(x, -np.inf), lax.neg(_xlogx(x)))


def rel_entr(p: Any, q: Any) -> Any:
    """Return p log(p / q) if both are positive, 0 if p = 0 <= q, else infinity. Raise ValueError for complex numbers."""
    p, q = promoted("rel_entr", p, q)
    refuse_complex("rel_entr", p)
    zero = constant(p, 0.0)
    positive = lax.bitwise_and(lax.gt(p, zero), lax.gt(q, zero))
    nothing = lax.bitwise_and(lax.eq(p, zero), lax.ge(q, zero))
    safe_p, safe_q = where(positive, p, 1), where(positive, q, 1)
    inside = lax.sub(_xlogx(safe_p), xlogy(safe_p, safe_q))
    return where(positive, inside, where(nothing, zero, np.inf))


def kl_div(p: Any, q: Any) -> Any:
    """Return `rel_entr(p, q) - p + q`. Raise ValueError for complex numbers."""
    p, q = promoted("kl_div", p, q)
    refuse_complex("kl_div", p)
    return rel_entr(p, q) - p + q


# --- sums of exponentials -----------------------------------------------------------------------------------------------------
logsumexp = functions.logsumexp


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """Return exp(x) divided by its sum along `axis`, or over all of x."""
    return functions.softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """Return the logarithm of `softmax`."""
    return functions.log_softmax(x, axis=axis)


# --- the transformation of Box and Cox ----------------------------------------------------------------------------------------


def boxcox(x: Any, lmbda: Any) -> Any:  # scipy's name
    """Return (x**lmbda - 1) / lmbda, and log(x) if lmbda is 0."""
    x, power = promoted("boxcox", x, lmbda)
    return _box_cox(log, x, power)


def boxcox1p(x: Any, lmbda: Any) -> Any:  # scipy's name
    """Return `boxcox` of 1 + x, exact for small x."""
    x, power = promoted("boxcox1p", x, lmbda)
    return _box_cox(log1p, x, power)


def _box_cox(log_of: Any, x: Any, power: Any) -> Any:
    is_zero = power == 0
    safe = where(is_zero, ones_like(power), power)
    logarithm = log_of(x)
    return where(is_zero, logarithm, expm1(safe * logarithm) / safe)
