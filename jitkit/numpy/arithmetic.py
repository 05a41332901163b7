"""Elementwise functions that are small algorithms: powers, whole-number division, remainders, the parts of a float.

A function that JAX shows as a named program (`jit[name=floor_divide ...]` in a jaxpr) is decorated with `jit` here,
too.

JAX: jax/_src/numpy/ufuncs.py:floor_divide
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from .. import core, lax
from ..base import edits
from ..base.jax_version import since
from ..core import dtypes
from ..custom_derivatives import custom_jvp
from ..pjit.jit import inlined, jit
from .promotion import (
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_inexact,
    promote_numeric,
    promote_shapes,
    where,
)
from .ufuncs import ceil, constant, floor, logical_and, maximum, minimum
from .util import check_arraylike, ensure_arraylike, ensure_arraylikes, given_array

# --- powers and logarithms -------------------------------------------------------------------------------------------


def power(x1: Any, x2: Any, /) -> Any:
    """Return x1 ** x2; for an integer exponent known while tracing, by repeated multiplication. Raise TypeError for an
    integer raised to a known negative power.
    """
    check_arraylike("power", x1, x2)
    x1, x2 = given_array(x1), given_array(x2)
    if core.is_concrete(x2):
        try:
            exponent = operator.index(x2)
        except TypeError:
            pass
        else:
            [base] = promote_dtypes_numeric(x1)
            return lax.integer_pow(base, exponent)
    return _power(x1, x2)


def pow(x1: Any, x2: Any, /) -> Any:  # numpy's name
    """Return `power(x1, x2)`: x1 ** x2. Raise TypeError for an integer raised to a known negative power."""
    return power(x1, x2)


@inlined
def _power(x1: Any, x2: Any) -> Any:
    x1, x2 = promote_shapes("power", x1, x2)
    dtype, (base, exponent) = promote_numeric("power", x1, x2)
    if dtypes.issubdtype(dtype, np.integer):
        return _integer_power(base, exponent, dtype)
    if dtypes.issubdtype(dtypes.dtype(x1), np.inexact) and dtypes.issubdtype(dtypes.dtype(x2), np.integer):
        return lax.pow(x1, x2)  # the exponent may stay an integer, which is more exact
    return lax.pow(base, exponent)


def _integer_power(base: Any, exponent: Any, dtype: Any) -> Any:
    """Return powers by repeated squaring. Only the last 6 bits of the exponent count: larger exponents overflow for
    every base but 0, 1 and -1.
    """
    zero, one = dtype.type(0), dtype.type(1)
    result = where(lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, zero)), zero, one)
    for _ in range(6):
        result = where(lax.bitwise_and(exponent, one), lax.mul(result, base), result)
        base = lax.mul(base, base)
        exponent = lax.shift_right_logical(exponent, one)
    return result


@inlined
def log2(x: Any, /) -> Any:
    """Return the logarithm of x to base 2."""
    dtype, (x,) = promote_inexact("log2", x)
    if since(0, 11):
        return lax.log2(x)
    if dtypes.issubdtype(dtype, np.complexfloating):
        r = lax.log(x)
        re, im = lax.real(r), lax.imag(r)
        ln2 = lax.log(re.dtype.type(2))
        return lax.complex(lax.div(re, ln2), lax.div(im, ln2))
    return lax.div(lax.log(x), lax.log(dtype.type(2)))


@inlined
def log10(x: Any, /) -> Any:
    """Return the logarithm of x to base 10."""
    dtype, (x,) = promote_inexact("log10", x)
    factor = np.array(math.log10(math.e), dtypes.finfo(dtype).dtype)[()]
    if dtypes.issubdtype(dtype, np.complexfloating):
        r = lax.log(x)
        re, im = lax.real(r), lax.imag(r)
        return lax.complex(lax.mul(re, factor), lax.mul(im, factor))
    return lax.mul(lax.log(x), factor)


@jit
def hypot(x1: Any, x2: Any, /) -> Any:
    """Return sqrt(x1**2 + x2**2); the squares cannot overflow. Raise ValueError for complex operands."""
    dtype, (x1, x2) = promote_inexact("hypot", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. Please convert to real values first, such as by "
            "using abs(x)"
        )
    x1, x2 = lax.abs(x1), lax.abs(x2)
    either_inf = lax.bitwise_or(lax.eq(x1, dtype.type(np.inf)), lax.eq(x2, dtype.type(np.inf)))
    x1, x2 = maximum(x1, x2), minimum(x1, x2)
    is_zero = x1 == 0
    ratio = lax.div(x2, where(x1 == 0, lax.full_like(x1, 1), x1))
    result = where(is_zero, x1, x1 * lax.sqrt(1 + lax.square(ratio)))
    return where(either_inf, constant(result, np.inf), result)


@inlined
def deg2rad(x: Any, /) -> Any:
    """Return angles in radians; x is in degrees."""
    _, (x,) = promote_inexact("deg2rad", x)
    return lax.mul(x, constant(x, np.pi / 180))


@inlined
def rad2deg(x: Any, /) -> Any:
    """Return angles in degrees; x is in radians."""
    _, (x,) = promote_inexact("rad2deg", x)
    return lax.mul(x, constant(x, 180 / np.pi))


def degrees(x: Any, /) -> Any:
    """Return angles in degrees; x is in radians."""
    return rad2deg(x)


def radians(x: Any, /) -> Any:
    """Return angles in radians; x is in degrees."""
    return deg2rad(x)


@jit
def sinc(x: Any, /) -> Any:
    """Return sin(pi x) / (pi x), and 1 at 0."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("sinc", x))
    is_zero = lax.eq(x, constant(x, 0))
    pi_x = lax.mul(constant(x, np.pi), x)
    safe = where(is_zero, constant(x, 1), pi_x)
    return where(is_zero, _sinc_maclaurin(0, pi_x), lax.div(lax.sin(safe), safe))


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _sinc_maclaurin(k: int, x: Any) -> Any:
    """Return the k-th derivative of sin(x) / x at 0, with the shape and dtype of x."""
    return x * 0 if k % 2 else x * 0 + constant(x, (-1) ** (k // 2) / (k + 1))


@_sinc_maclaurin.defjvp
def _sinc_maclaurin_jvp(k: int, primals: Any, tangents: Any) -> Any:
    return _sinc_maclaurin(k, *primals), _sinc_maclaurin(k + 1, *primals) * tangents[0]


@jit
def heaviside(x1: Any, x2: Any, /) -> Any:
    """Return 0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0, and nan where x1 is nan."""
    x1, x2 = promote_dtypes_inexact(*ensure_arraylikes("heaviside", x1, x2))
    zero = constant(x1, 0)
    negative, positive = lax.lt(x1, zero), lax.gt(x1, zero)
    return where(negative, zero, where(positive, constant(x1, 1), where(lax.ne(x1, x1), x1, x2)))


# --- division with whole results -------------------------------------------------------------------------------------


@jit
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """Return the largest integer <= x1 / x2, in their dtype. An integer divided by 0 gives a number without meaning.
    Raise TypeError for complex operands.
    """
    dtype, (x1, x2) = promote_numeric("floor_divide", x1, x2)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return lax.div(x1, x2)
    if dtypes.issubdtype(dtype, np.integer):
        quotient = lax.div(x1, x2)  # rounded to zero: one too large if the signs differ and there is a remainder
        too_large = logical_and(lax.sign(x1) != lax.sign(x2), lax.rem(x1, x2) != 0)
        return where(too_large, quotient - 1, quotient)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError("floor_divide does not support complex-valued inputs")
    return _float_divmod(x1, x2)[0]


@jit
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:  # numpy's name
    """Return `floor_divide` and `remainder`."""
    dtype, (x1, x2) = promote_numeric("divmod", x1, x2)
    if dtypes.issubdtype(dtype, np.integer):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


def _float_divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return quotient and remainder as CPython computes them: the exact remainder, corrected if its sign is not that of x2."""
    mod = lax.rem(x1, x2)
    div = lax.div(where(x2 == 0, x1, lax.sub(x1, mod)), x2)
    other_sign = lax.bitwise_and(mod != 0, lax.sign(x2) != lax.sign(mod))
    mod = lax.select(other_sign, mod + x2, mod)
    div = lax.select(other_sign, div - 1.0, div)
    return lax.round(div), mod


@jit
def remainder(x1: Any, x2: Any, /) -> Any:
    """Return the remainder of x1 divided by x2, with the sign of x2; for x2 = 0 it is nan, or 0 if both are integers."""
    dtype, (x1, x2) = promote_numeric("remainder", x1, x2)
    zero = dtype.type(0)
    if dtypes.issubdtype(dtype, np.integer):
        x2 = where(x2 == 0, lax.full_like(x2, 1), x2)
    rest = lax.rem(x1, x2)
    not_zero = lax.ne(rest, zero)
    other_sign = lax.bitwise_and(lax.ne(lax.lt(rest, zero), lax.lt(x2, zero)), not_zero)
    return lax.select(other_sign, lax.add(rest, x2), rest)


def mod(x1: Any, x2: Any, /) -> Any:
    """Return `remainder(x1, x2)`: the remainder of x1 divided by x2, with the sign of x2."""
    return remainder(x1, x2)


@jit
def fmod(x1: Any, x2: Any, /) -> Any:
    """Return the remainder of x1 divided by x2, with the sign of x1; for x2 = 0 it is nan, or 0 if both are integers."""
    x1, x2 = ensure_arraylikes("fmod", x1, x2)
    if dtypes.issubdtype(dtypes.result_type(x1, x2), np.integer):
        x2 = where(x2 == 0, lax.full_like(x2, 1), x2)
    return lax.rem(*promote_numeric("fmod", x1, x2)[1])


@jit
def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """Return x minus its integer part, and the integer part: x rounded towards 0. For an infinity these are nan and x.
    Raise NotImplementedError if `out` is given.
    """
    (x,) = promote_dtypes_inexact(ensure_arraylike("modf", x))
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.modf is not supported.{edits.NO_OUT}")
    whole = where(lax.ge(x, lax.full_like(x, 0, shape=())), floor(x), ceil(x))
    return x - whole, whole
