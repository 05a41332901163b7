"""Defines the elementwise primitives: one row each.

    floor, floor_p = unary("floor", FLOAT, "stablehlo.floor", "The nearest integer below.")

A row has the name, the kinds of dtype that are accepted, the StableHLO operation (or a rule), and what is computed.
`elementwise_rules` makes the public function and the primitive from it. Rows of two operands take scalars beside
arrays, and operands of one dtype; `jitkit.numpy` promotes before it calls these. Some rows have an optional parameter:
`accuracy`, or for `mul` `out_dtype`. `conj` and `round`, whose parameter every equation has, follow the table; `powers`
and `selection` have the primitives whose operands may differ in dtype or shape.

JAX: jax/_src/lax/lax.py:standard_naryop
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..core import ShapedArray, dtypes
from ..interpreters.mlir import LoweringContext
from .accuracy import accuracy_attribute
from .elementwise_rules import (
    ANY,
    BITS,
    COMPLEX,
    EQUATABLE,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    ORDERED,
    PART_OF_COMPLEX,
    SIGNED,
    binary,
    binary_of_dtype,
    bool_dtype,
    compare,
    comparison,
    complex_dtype,
    extremum,
    one_op,
    real_dtype,
    unary,
    unary_of_accuracy,
)
from .elementwise_rules import select as emit_select
from .reducers import inline_function
from .selection import select
from .utils import is_a

# --- lowerings of more than one operation --------------------------------------------------------------


def _sign(ctx: LoweringContext, x: str) -> str:
    aval = ctx.avals_in[0]
    if not is_a(aval.dtype, np.unsignedinteger):
        return ctx.emit("stablehlo.sign", [x])
    zero = ctx.splat(0, aval)
    return emit_select(ctx, compare(ctx, "EQ", x, zero, aval), zero, ctx.splat(1, aval), aval.shape, aval)


_ONE_OVER_LOG_OF_2 = 1.4426950408889634


def _exp2(ctx: LoweringContext, x: str, accuracy: Any = None) -> str:
    scaled = ctx.emit("stablehlo.multiply", [ctx.splat(np.log(2), ctx.avals_in[0]), x])
    return ctx.emit("stablehlo.exponential", [scaled], accuracy_attribute(accuracy))


def _log2(ctx: LoweringContext, x: str) -> str:
    [aval] = ctx.avals_in
    log_of_x = ctx.emit("stablehlo.log", [x])
    if not is_a(aval.dtype, *COMPLEX):
        return ctx.emit("stablehlo.multiply", [log_of_x, ctx.splat(_ONE_OVER_LOG_OF_2, aval)])
    return inline_function(ctx, _by_log_of_2, [log_of_x], [aval])[0]


def _by_log_of_2(x: Any) -> list[Any]:
    factor = real(x).dtype.type(_ONE_OVER_LOG_OF_2)
    return [complex(mul(real(x), factor), mul(imag(x), factor))]


def _logistic(ctx: LoweringContext, x: str, accuracy: Any = None) -> str:
    one = ctx.splat(1, ctx.avals_in[0])
    exp_of_minus_x = ctx.emit("stablehlo.exponential", [ctx.emit("stablehlo.negate", [x])])
    return ctx.emit("stablehlo.divide", [one, ctx.emit("stablehlo.add", [one, exp_of_minus_x])])


def _square(ctx: LoweringContext, x: str) -> str:
    if is_a(ctx.avals_in[0].dtype, *INTEGER):
        return ctx.emit("stablehlo.multiply", [x, x])
    return str(one_op("chlo.square")(ctx, x))


def _one_minus_square(ctx: LoweringContext, x: str) -> str:
    one = ctx.splat(1, ctx.avals_in[0])  # (1 - x)(1 + x): squaring a number near 1 would lose half of its digits
    factors = ctx.emit("stablehlo.add", [one, x]), ctx.emit("stablehlo.subtract", [one, x])
    return ctx.emit("stablehlo.multiply", list(factors))


# Complex sine and cosine are computed from real and imaginary part, so that an infinite part does not make the other
# nan.


def _sine(ctx: LoweringContext, x: str, accuracy: Any = None) -> str:
    if is_a(ctx.avals_in[0].dtype, *COMPLEX):
        return inline_function(ctx, _sine_by_parts, [x], ctx.avals_in)[0]
    return ctx.emit("stablehlo.sine", [x], accuracy_attribute(accuracy))


def _cosine(ctx: LoweringContext, x: str, accuracy: Any = None) -> str:
    if is_a(ctx.avals_in[0].dtype, *COMPLEX):
        return inline_function(ctx, _cosine_by_parts, [x], ctx.avals_in)[0]
    return ctx.emit("stablehlo.cosine", [x], accuracy_attribute(accuracy))


def _sine_by_parts(x: Any) -> list[Any]:
    a, zero, sinh_b, cosh_b = _parts(x)
    imaginary = mul(cos(a), sinh_b)
    return [select(eq(a, zero), complex(zero, imaginary), complex(mul(sin(a), cosh_b), imaginary))]


def _cosine_by_parts(x: Any) -> list[Any]:
    a, zero, sinh_b, cosh_b = _parts(x)
    real_part = mul(cos(a), cosh_b)
    return [select(eq(a, zero), complex(real_part, zero), complex(real_part, mul(neg(sin(a)), sinh_b)))]


def _parts(x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the real part of x, a zero of its dtype, and the hyperbolic sine and cosine of the imaginary part."""
    a, b = real(x), imag(x)
    zero, two = a.dtype.type(0), a.dtype.type(2)
    up, down = expm1(b), expm1(neg(b))
    return a, zero, div(sub(up, down), two), div(add(add(up, down), two), two)


def _abs_dtype(x: ShapedArray) -> Any:
    if x.dtype.name in ("int2", "int4"):
        raise TypeError(
            f"abs does not accept dtype {x.dtype.name}. Support for narrow-width integers is platform-dependent "
            "and limited to a few specific operations, e.g. basic arithmetic and type casting."
        )
    return real_dtype(x)


# --- the table: one operand ----------------------------------------------------------------------------

neg, neg_p = unary("neg", NUMBER, "stablehlo.negate", "-x; of an unsigned integer, 2**bits - x.")
sign, sign_p = unary("sign", NUMBER, _sign, "-1, 0 or 1; nan of nan; x / |x| of a complex number.")
floor, floor_p = unary("floor", FLOAT, "stablehlo.floor", "The nearest integer below.")
ceil, ceil_p = unary("ceil", FLOAT, "stablehlo.ceil", "The nearest integer above.")
abs, abs_p = unary("abs", SIGNED + INEXACT, "stablehlo.abs", "The absolute value, a real number.", _abs_dtype)
is_finite, is_finite_p = unary(
    "is_finite", FLOAT, "stablehlo.is_finite", "Whether x is neither infinite nor nan.", bool_dtype
)

exp, exp_p = unary_of_accuracy("exp", INEXACT, "stablehlo.exponential", "e to the power of x.")
exp2, exp2_p = unary_of_accuracy("exp2", INEXACT, _exp2, "2 to the power of x.")
expm1, expm1_p = unary_of_accuracy(
    "expm1", INEXACT, "stablehlo.exponential_minus_one", "exp(x) - 1, exact for small x."
)
log, log_p = unary_of_accuracy("log", INEXACT, "stablehlo.log", "The natural logarithm.")
log2, log2_p = unary("log2", INEXACT, _log2, "The logarithm to base 2.")
log1p, log1p_p = unary_of_accuracy("log1p", INEXACT, "stablehlo.log_plus_one", "log(1 + x), exact for small x.")
logistic, logistic_p = unary_of_accuracy("logistic", INEXACT, _logistic, "1 / (1 + exp(-x)), the sigmoid.")

sin, sin_p = unary_of_accuracy("sin", INEXACT, _sine, "Sine, of radians.")
cos, cos_p = unary_of_accuracy("cos", INEXACT, _cosine, "Cosine, of radians.")
tan, tan_p = unary_of_accuracy("tan", INEXACT, "stablehlo.tan", "Tangent, of radians.")
asin, asin_p = unary("asin", INEXACT, "chlo.asin", "Inverse sine, in radians.")
acos, acos_p = unary("acos", INEXACT, "chlo.acos", "Inverse cosine, in radians.")
atan, atan_p = unary("atan", INEXACT, "chlo.atan", "Inverse tangent, in radians.")
sinh, sinh_p = unary("sinh", INEXACT, "chlo.sinh", "Hyperbolic sine.")
cosh, cosh_p = unary("cosh", INEXACT, "chlo.cosh", "Hyperbolic cosine.")
tanh, tanh_p = unary_of_accuracy("tanh", INEXACT, "stablehlo.tanh", "Hyperbolic tangent.")
asinh, asinh_p = unary("asinh", INEXACT, "chlo.asinh", "Inverse hyperbolic sine.")
acosh, acosh_p = unary("acosh", INEXACT, "chlo.acosh", "Inverse hyperbolic cosine.")
atanh, atanh_p = unary("atanh", INEXACT, "chlo.atanh", "Inverse hyperbolic tangent.")

sqrt, sqrt_p = unary_of_accuracy("sqrt", INEXACT, "stablehlo.sqrt", "The square root.")
rsqrt, rsqrt_p = unary_of_accuracy("rsqrt", INEXACT, "stablehlo.rsqrt", "1 / sqrt(x).")
cbrt, cbrt_p = unary_of_accuracy("cbrt", FLOAT, "stablehlo.cbrt", "The cube root, of negative numbers too.")
square, square_p = unary("square", NUMBER, _square, "x * x.")
# JAX's derivatives use this operation since JAX 0.11.
one_minus_square, one_minus_square_p = unary(
    "one_minus_square", NUMBER, _one_minus_square, "1 - x * x, exact for x near 1."
)

real, real_p = unary("real", COMPLEX, "stablehlo.real", "The real part.", real_dtype)
imag, imag_p = unary("imag", COMPLEX, "stablehlo.imag", "The imaginary part.", real_dtype)

bitwise_not, not_p = unary("not", BITS, "stablehlo.not", "Each bit flipped.", called="bitwise_not")
population_count, population_count_p = unary(
    "population_count", INTEGER, "stablehlo.popcnt", "The number of bits that are set."
)
clz, clz_p = unary("clz", INTEGER, "stablehlo.count_leading_zeros", "The zeros above the highest set bit.")

erf, erf_p = unary("erf", FLOAT, "chlo.erf", "The error function.")
erfc, erfc_p = unary("erfc", FLOAT, "chlo.erfc", "1 - erf(x).")
erf_inv, erf_inv_p = unary("erf_inv", FLOAT, "chlo.erf_inv", "The inverse of erf.")
lgamma, lgamma_p = unary("lgamma", FLOAT, "chlo.lgamma", "The logarithm of |gamma(x)|.")
digamma, digamma_p = unary("digamma", FLOAT, "chlo.digamma", "The derivative of the logarithm of gamma.")
bessel_i1e, bessel_i1e_p = unary("bessel_i1e", FLOAT, "chlo.bessel_i1e", "exp(-|x|) I1(x), of Bessel's I1.")

# --- the table: two operands ---------------------------------------------------------------------------

add, add_p = binary("add", NUMBER, "stablehlo.add", "x + y; integers wrap around.")
sub, sub_p = binary("sub", NUMBER, "stablehlo.subtract", "x - y; integers wrap around.")
mul, mul_p = binary_of_dtype("mul", NUMBER, "stablehlo.multiply", "x * y; integers wrap around.")
_mulhi, mulhi_p = binary("mulhi", INTEGER, "chlo.mulhi", "")
div, div_p = binary("div", NUMBER, "stablehlo.divide", "x / y; of integers, towards 0, and -1 for y = 0.")
rem, rem_p = binary("rem", INTEGER + FLOAT, "stablehlo.remainder", "What `div` leaves over; it has x's sign.")
max, max_p = binary("max", ANY, extremum("stablehlo.maximum", "GT"), "The larger of two; nan if either is.")
min, min_p = binary("min", ANY, extremum("stablehlo.minimum", "LT"), "The smaller of two; nan if either is.")
atan2, atan2_p = binary("atan2", INEXACT, "stablehlo.atan2", "The angle of the point (y, x), in radians.")
_nextafter, nextafter_p = binary("nextafter", FLOAT, "chlo.next_after", "")
complex, complex_p = binary(
    "complex", PART_OF_COMPLEX, "stablehlo.complex", "x + iy, of two real numbers.", complex_dtype
)
_zeta, zeta_p = binary("zeta", FLOAT, "chlo.zeta", "")
_polygamma, polygamma_p = binary("polygamma", FLOAT, "chlo.polygamma", "")

bitwise_and, and_p = binary("and", BITS, "stablehlo.and", "Bits set in both.", called="bitwise_and")
bitwise_or, or_p = binary("or", BITS, "stablehlo.or", "Bits set in either.", called="bitwise_or")
bitwise_xor, xor_p = binary("xor", BITS, "stablehlo.xor", "Bits set in one only.", called="bitwise_xor")
shift_left, shift_left_p = binary("shift_left", INTEGER, "stablehlo.shift_left", "x moved up by y bits.")
shift_right_arithmetic, shift_right_arithmetic_p = binary(
    "shift_right_arithmetic",
    INTEGER,
    "stablehlo.shift_right_arithmetic",
    "x moved down by y bits; its highest bit comes in.",
)
shift_right_logical, shift_right_logical_p = binary(
    "shift_right_logical", INTEGER, "stablehlo.shift_right_logical", "x moved down by y bits; zeros come in."
)

eq, eq_p = binary("eq", EQUATABLE, comparison("EQ"), "x == y; nan equals nothing.", bool_dtype)
ne, ne_p = binary("ne", EQUATABLE, comparison("NE"), "x != y.", bool_dtype)
ge, ge_p = binary("ge", ORDERED, comparison("GE"), "x >= y.", bool_dtype)
gt, gt_p = binary("gt", ORDERED, comparison("GT"), "x > y.", bool_dtype)
le, le_p = binary("le", ORDERED, comparison("LE"), "x <= y.", bool_dtype)
lt, lt_p = binary("lt", ORDERED, comparison("LT"), "x < y.", bool_dtype)

# Functions whose operands have names of their own.


def mulhi(x: Any, y: Any, /) -> Any:
    """Return the upper half of the product of two integers, elementwise. Raise TypeError for other dtypes."""
    return _mulhi(x, y)


def nextafter(x1: Any, x2: Any) -> Any:
    """Return the next number from x1 towards x2, elementwise. Raise TypeError for anything but a float."""
    return _nextafter(x1, x2)


def zeta(x: Any, q: Any) -> Any:
    """Return Hurwitz's zeta, elementwise: the sum of (k + q)**-x over k >= 0. Raise TypeError for anything but a float."""
    return _zeta(x, q)


def polygamma(m: Any, x: Any) -> Any:
    """Return the m-th derivative of digamma at x, elementwise. Raise TypeError for anything but a float."""
    return _polygamma(m, x)


# In the total order of floats -nan < -inf < ... < -0 < 0 < ... < inf < nan. Sorting needs a total order.
eq_to, eq_to_p = binary("eq_to", ANY, comparison("EQ", True), "x == y, in the total order.", bool_dtype)
le_to, le_to_p = binary("le_to", ORDERED, comparison("LE", True), "x <= y, in the total order.", bool_dtype)
lt_to, lt_to_p = binary("lt_to", ORDERED, comparison("LT", True), "x < y, in the total order.", bool_dtype)


# --- conj ----------------------------------------------------------------------------------------------


def _conj(ctx: LoweringContext, x: str, *, input_dtype: Any) -> str:
    aval: ShapedArray = ctx.avals_in[0]
    if not is_a(aval.dtype, *COMPLEX):
        return ctx.emit("stablehlo.complex", [x, ctx.splat(0, aval)])
    part = aval.update(dtype=real_dtype(aval))
    real_part, imag_part = (ctx.emit_op(f"stablehlo.{name} {x}", [aval], part) for name in ("real", "imag"))
    return ctx.emit("stablehlo.complex", [real_part, ctx.emit("stablehlo.negate", [imag_part], out=part)])


conj_p = unary("conj", PART_OF_COMPLEX + COMPLEX, _conj, "The complex conjugate.", complex_dtype)[1]


def conj(x: Any) -> Any:
    """Return the complex conjugate, elementwise; for real x a complex number, too. Raise TypeError for dtypes other
    than float32, float64, and complex.
    """
    return conj_p.bind(x, input_dtype=dtypes.dtype(x))


# --- round ---------------------------------------------------------------------------------------------


class RoundingMethod(enum.IntEnum):
    """How to round a number halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _round(ctx: LoweringContext, x: str, *, rounding_method: RoundingMethod) -> str:
    to_even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
    return ctx.emit("stablehlo.round_nearest_even" if to_even else "stablehlo.round_nearest_afz", [x])


round_p = unary("round", FLOAT, _round, "The nearest integer.")[1]


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """Return the nearest integer as a float, elementwise. `rounding_method` decides halfway between two.

    Raises:
      TypeError: for dtypes other than floats.
      ValueError: for an unknown method.
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))
