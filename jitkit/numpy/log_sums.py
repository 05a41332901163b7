"""Adds numbers given by their logarithms.

JAX: jax/_src/lax/other.py:logaddexp2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..custom_derivatives import custom_jvp
from ..lax import cumulative
from ..pjit.jit import inlined
from . import reductions
from .promotion import promote_dtypes_inexact, promote_inexact
from .ufuncs import constant, refuse_ufunc_options, with_ufunc_methods
from .util import as_array, ensure_arraylike


@inlined
def logaddexp(x1: Any, x2: Any, /, *, out: Any = None, where: Any = None) -> Any:
    """Return log(exp(x1) + exp(x2)), without overflow. Raise NotImplementedError with `out` or `where`."""
    refuse_ufunc_options("logaddexp", out, where)
    return _natural(*map(as_array, promote_inexact("logaddexp", x1, x2)[1]))


@inlined
def logaddexp2(x1: Any, x2: Any, /, *, out: Any = None, where: Any = None) -> Any:
    """Return log2(2 ** x1 + 2 ** x2), without overflow. Raise NotImplementedError with `out` or `where`."""
    refuse_ufunc_options("logaddexp2", out, where)
    return _binary(*map(as_array, promote_inexact("logaddexp2", x1, x2)[1]))


def log_sum_along(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """Return log(sum(exp(a))) over `axis`, without overflow: `logaddexp.reduce`. `dtype` is only checked."""
    if dtype is not None:
        dtypes.check_and_canonicalize_user_dtype(dtype, "jnp.logaddexp.reduce")
    (a,) = promote_dtypes_inexact(ensure_arraylike("logsumexp", a))
    where = reductions.check_where("logsumexp", where)
    axes = reductions.reduced_axes(a.ndim, axis)
    largest = reductions.max(a.real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    largest = lax.stop_gradient(lax.select(lax.is_finite(largest), largest, lax.full_like(largest, 0)))
    spread = largest if keepdims else lax.expand_dims(largest, reductions.own_axes(axes))
    sizes = lax.exp(lax.sub(a, spread.astype(a.dtype)))
    total = sizes.sum(axis=axes, keepdims=keepdims, where=where)
    out = lax.add(lax.log(total), largest.astype(total.dtype))
    return out if initial is None else _natural(initial, out)


def log2_sum_along(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """Return log2(sum(2 ** a)) over `axis`, without overflow: `logaddexp2.reduce`. `dtype` is only checked."""
    if dtype is not None:
        dtypes.check_and_canonicalize_user_dtype(dtype, "jnp.logaddexp2.reduce")
    a = ensure_arraylike("logsumexp2", a)
    where = reductions.check_where("logsumexp2", where)
    ln2 = float(np.log(2))
    initial = None if initial is None else initial * ln2
    return log_sum_along(a * ln2, axis, None, keepdims, initial, where) / ln2


with_ufunc_methods(logaddexp, identity=-np.inf)
with_ufunc_methods(logaddexp2, identity=-np.inf)

_natural = custom_jvp(cumulative.logaddexp)


@_natural.defjvp
def _logaddexp_jvp(primals: Any, tangents: Any) -> Any:
    return _sum_jvp(_natural, lax.exp, primals, tangents)


cumulative.combining.logaddexp = _natural


def _logaddexp2(x1: Any, x2: Any, /) -> Any:
    greater = lax.max(x1, x2)
    per_ln2 = constant(greater, 1 / np.log(2))
    if dtypes.issubdtype(greater.dtype, np.complexfloating):
        delta = lax.sub(lax.add(x1, x2), lax.mul(greater, constant(greater, 2)))
        out = lax.add(greater, lax.mul(per_ln2, lax.log1p(lax.exp2(delta))))
        return lax.complex(lax.real(out), _wrap_between(lax.imag(out), np.pi / np.log(2)))
    delta = lax.sub(x1, x2)
    infinite_or_nan = lax.ne(delta, delta)  # both are the same infinity, or one is nan: the plain sum is right there
    both = lax.add(x1, x2)
    above = lax.mul(per_ln2, lax.log1p(lax.exp2(lax.neg(lax.abs(delta)))))
    return lax.select(infinite_or_nan, both, lax.add(greater, above))


_logaddexp2.__name__ = "logaddexp2"
_binary = custom_jvp(_logaddexp2)


@_binary.defjvp
def _logaddexp2_jvp(primals: Any, tangents: Any) -> Any:
    return _sum_jvp(_binary, lax.exp2, primals, tangents)


def _sum_jvp(function: Any, exp: Any, primals: Any, tangents: Any) -> Any:
    """JVP rule: return the sum of the operands' tangents, each times the operand's share of the sum, exp(x - result)."""
    out = function(*primals)
    t1, t2 = (
        lax.mul(t, exp(lax.sub(_replace_infinity(x), _replace_infinity(out))))
        for x, t in zip(primals, tangents, strict=True)
    )
    return out, lax.add(t1, t2)


def _replace_infinity(x: Any) -> Any:
    """Return x with 0 in place of plus infinity, so that two infinities have a difference."""
    re = lax.real(x) if dtypes.issubdtype(dtypes.dtype(x), np.complexfloating) else x
    return lax.select(lax.eq(re, constant(re, np.inf)), lax.full_like(x, 0), x)


def _wrap_between(x: Any, bound: float) -> Any:
    """Return x, moved by a multiple of 2 * bound into [-bound, bound)."""
    a, two_a = constant(x, bound), constant(x, 2 * bound)
    rest = lax.rem(lax.add(x, a), two_a)
    return lax.sub(lax.select(lax.lt(rest, constant(x, 0)), lax.add(rest, two_a), rest), a)
