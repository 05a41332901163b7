"""Splits floats into sign, exponent and mantissa; tests for infinities and nan.

JAX: jax/_src/numpy/ufuncs.py:frexp
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..base import edits
from ..core import dtypes
from ..custom_derivatives import custom_jvp
from ..pjit.jit import inlined, jit
from .arithmetic import rad2deg
from .promotion import promote, promote_dtypes_inexact, promote_inexact, where
from .ufuncs import constant, greater, imag, less, real
from .util import as_array, ensure_arraylike, ensure_arraylikes

_INTEGER_OF_BITS: dict[int, np.dtype[Any]] = {16: np.dtype("int16"), 32: np.dtype("int32"), 64: np.dtype("int64")}


@inlined
def isnan(x: Any, /) -> Any:
    """Return, for each element, whether it is nan: the value that differs from itself."""
    x = ensure_arraylike("isnan", x)
    return lax.ne(x, x)


@inlined
def isfinite(x: Any, /) -> Any:
    """Return, for each element, whether it is neither infinite nor nan."""
    x = ensure_arraylike("isfinite", x)
    if dtypes.issubdtype(x.dtype, np.floating):
        return lax.is_finite(x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.full_like(x, True, dtype=np.bool_)


@jit
def isinf(x: Any, /) -> Any:
    """Return, for each element, whether it is infinite."""
    x = ensure_arraylike("isinf", x)
    if dtypes.issubdtype(x.dtype, np.floating):
        return lax.eq(lax.abs(x), x.dtype.type(np.inf))
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        re, im = lax.real(x), lax.imag(x)
        return lax.bitwise_or(lax.eq(lax.abs(re), re.dtype.type(np.inf)), lax.eq(lax.abs(im), im.dtype.type(np.inf)))
    return lax.full_like(x, False, dtype=np.bool_)


def _equals_infinity(name: str, infinity: float, x: Any, out: None) -> Any:
    x = ensure_arraylike(name, x)
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to isneginf/isposinf is not supported.{edits.NO_OUT}")
    if dtypes.issubdtype(x.dtype, np.floating):
        return lax.eq(x, x.dtype.type(infinity))
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    return lax.full_like(x, False, dtype=np.bool_)


def isposinf(x: Any, /, out: None = None) -> Any:
    """Return, for each element, whether it is plus infinity. Raise ValueError for complex x, NotImplementedError if `out` is given."""
    return _equals_infinity("isposinf", np.inf, x, out)


def isneginf(x: Any, /, out: None = None) -> Any:
    """Return, for each element, whether it is minus infinity. Raise ValueError for complex x, NotImplementedError if `out` is given."""
    return _equals_infinity("isneginf", -np.inf, x, out)


@jit
def signbit(x: Any, /) -> Any:
    """Return, for each element, whether the sign bit is set, also of -0.0 and nan; for integers whether x < 0. Raise
    ValueError for complex numbers, NotImplementedError for floats of other than 16, 32 or 64 bits.
    """
    dtype, (x,) = promote("signbit", x)
    if dtypes.issubdtype(dtype, np.integer):
        return lax.lt(x, dtype.type(0))
    if dtype == np.bool_:
        return lax.full_like(x, False, dtype=np.bool_)
    if not dtypes.issubdtype(dtype, np.floating):
        raise ValueError(f"jax.numpy.signbit is not well defined for {dtype}")
    info = dtypes.finfo(dtype)
    if info.bits not in _INTEGER_OF_BITS:
        raise NotImplementedError("jax.numpy.signbit only supports 16, 32, and 64-bit types.")
    bits = lax.bitcast_convert_type(x, _INTEGER_OF_BITS[info.bits])
    return lax.convert_element_type(bits >> info.nexp + info.nmant, np.bool_)


@jit
def copysign(x1: Any, x2: Any, /) -> Any:
    """Return |x1| with the sign of x2. Raise TypeError for complex operands."""
    dtype, (x1, x2) = promote_inexact("copysign", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError("copysign does not support complex-valued inputs")
    return where(signbit(x2), -lax.abs(x1), lax.abs(x1))


@inlined
def spacing(x: Any, /) -> Any:
    """Return the distance to the next float away from zero, with the sign of x; for float16, to the next larger float.
    Raise ValueError for complex x.
    """
    dtype, (x,) = promote_inexact("spacing", x)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    x = as_array(x)
    inf = constant(x, np.inf)
    if dtype == np.float16:
        return lax.nextafter(x, inf) - x
    result = lax.nextafter(x, copysign(inf, x)) - x
    smallest = dtypes.finfo(dtype).smallest_subnormal
    return where(result == 0, copysign(smallest, x), result)


@jit
def frexp(x: Any, /) -> tuple[Any, Any]:
    """Return m with 0.5 <= |m| < 1, and an int32 e, with x = m * 2 ** e; for 0, infinities and nan, x and 0. Raise
    TypeError for complex x.
    """
    (x,) = promote_dtypes_inexact(ensure_arraylike("frexp", x))
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise TypeError("frexp does not support complex-valued inputs")
    mantissa, exponent = _frexp(x)
    return mantissa, exponent


@custom_jvp
def _frexp(x: Any) -> tuple[Any, Any]:
    info = dtypes.finfo(x.dtype)
    mask = (1 << info.nexp) - 1
    bias = 1 - info.minexp
    bits, exponent = _without_subnormals(x)
    exponent = exponent + ((bits >> info.nmant & mask) - bias + 1)
    bits = (bits & ~(mask << info.nmant)) | (bias - 1 << info.nmant)
    mantissa = lax.bitcast_convert_type(bits, x.dtype)
    as_it_is = isinf(x) | isnan(x) | (x == 0)
    exponent = where(as_it_is, lax.full_like(exponent, 0), exponent)
    return where(as_it_is, x, mantissa), lax.convert_element_type(exponent, np.int32)


@_frexp.defjvp
def _frexp_jvp(primals: Any, tangents: Any) -> Any:
    mantissa, exponent = frexp(*primals)
    tangent = tangents[0] * lax.exp2(-exponent.astype(tangents[0].dtype))
    return (mantissa, exponent), (tangent, np.zeros(exponent.shape, dtypes.float0))


def _without_subnormals(x: Any) -> tuple[Any, Any]:
    """Return the bits of x, scaled up if it is subnormal, and the exponent of that scale."""
    info = dtypes.finfo(x.dtype)
    integer = _INTEGER_OF_BITS[info.bits]
    small = lax.abs(x) < info.tiny
    scaled = where(small, x * constant(x, 1 << info.nmant), x)
    scale = where(small, integer.type(-info.nmant), integer.type(0))
    return lax.bitcast_convert_type(scaled, integer), scale


@jit
def ldexp(x1: Any, x2: Any, /) -> Any:
    """Return x1 * 2 ** x2, for real x1 and integer x2. Raise ValueError for other dtypes."""
    x1, x2 = ensure_arraylikes("ldexp", x1, x2)
    if dtypes.issubdtype(x1.dtype, np.complexfloating) or dtypes.issubdtype(x2.dtype, np.inexact):
        raise ValueError(f"ldexp not supported for input types {(x1.dtype, x2.dtype)}")
    dtype, (x1,) = promote_inexact("ldexp", x1)
    x2 = lax.convert_element_type(x2, dtype)
    m, e = frexp(x1)
    e = (e.astype(dtype) + x2).astype(dtype)
    m = where(e > 0, m * 2, m)  # keeps 2 ** e in range for the largest results
    e = where(e > 0, e - 1, e)
    product = m * 2**e
    return where(isinf(x1) | (x1 == 0), x1, product)


@jit
def fmin(x1: Any, x2: Any) -> Any:
    """Return the smaller of x1 and x2; the other one where one is nan."""
    return where(less(x1, x2) | isnan(x2), x1, x2)


@jit
def fmax(x1: Any, x2: Any) -> Any:
    """Return the larger of x1 and x2; the other one where one is nan."""
    return where(greater(x1, x2) | isnan(x2), x1, x2)


@jit(static_argnames=("deg",))
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of complex numbers in radians, in [-pi, pi]; in degrees with `deg`; for a real number, 0 or pi."""
    z = ensure_arraylike("angle", z)
    re, im = real(z), imag(z)
    is_real_scalar = dtypes.issubdtype(z.dtype, np.floating) and z.ndim == 0
    if not dtypes.issubdtype(re.dtype, np.inexact) or is_real_scalar:
        re, im = (lax.convert_element_type(x, dtypes.default_float_dtype()) for x in (re, im))
    result = lax.atan2(im, re)
    return rad2deg(result) if deg else result


@jit
def iscomplex(x: Any) -> Any:
    """Return, for each element, whether its imaginary part is not 0."""
    i = imag(x)
    return lax.ne(i, constant(i, 0))


@jit
def isreal(x: Any) -> Any:
    """Return, for each element, whether its imaginary part is 0."""
    i = imag(x)
    return lax.eq(i, constant(i, 0))
