"""Elementwise functions: they promote the operands, and apply one primitive, or a few.

Most of them are rows of a table, and differ only in the primitive and the dtype. Rows with `promote_inexact` turn
integers into floats (`sin(1)`), those with `promote` keep the dtype (`negative`, `maximum`), those with
`promote_numeric` only turn bool into int. Each is `inlined`: one compiled program when called eagerly, its own
equations when traced.

JAX: jax/_src/numpy/ufuncs.py:sin
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..base import late_rooms
from ..core import dtypes
from ..pjit.jit import inlined, jit
from .promotion import promote, promote_inexact, promote_numeric, where
from .util import as_array, check_arraylike, ensure_arraylike

Operation = Callable[..., Any]


def refuse_ufunc_options(name: str, out: Any, where: Any) -> None:
    """Raise NotImplementedError for `out` and `where`, which NumPy's functions have, and JAX's accept by name."""
    for option, value in (("out", out), ("where", where)):
        if value is not None:
            raise NotImplementedError(
                f"{option} argument of <jnp.ufunc '{name}'>\n"
                f"Arrays do not change: {'use the result' if option == 'out' else 'choose with `jnp.where`'}."
            )


class _Methods(late_rooms.Slots):
    """Slot for the function that returns the `ufunc` of a function here. `ufunc_objects` fills it."""

    ufunc_of: Callable[[Any], Any]


methods = _Methods()
_METHODS = ("reduce", "accumulate", "at", "reduceat", "outer")


def with_ufunc_methods(function: Any, identity: Any = None, nin: int = 2) -> None:
    """Give a function the methods of numpy's ufuncs (`add.reduce`, `add.at`), whose module is imported at their first call."""
    vars(function).update(nin=nin, nout=1, nargs=nin, identity=identity)
    for name in _METHODS:
        setattr(function, name, functools.partial(_call_method, name, function))


def _call_method(name: str, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return getattr(methods.ufunc_of(function), name)(*args, **kwargs)


def _ufunc_of_one(name: str, operation: Operation, promotion: Operation, doc: str) -> Any:
    def function(x: Any, /, *, out: Any = None, where: Any = None) -> Any:
        refuse_ufunc_options(name, out, where)
        return operation(*promotion(name, x)[1])

    return inlined(_named(function, name, doc))


def _ufunc(name: str, operation: Operation, promotion: Operation, doc: str) -> Any:
    """Return a function of two operands that is a `ufunc` in JAX: it takes NumPy's `out` and `where` by name, and refuses them."""

    def function(x: Any, y: Any, /, *, out: Any = None, where: Any = None) -> Any:
        refuse_ufunc_options(name, out, where)
        return operation(*promotion(name, x, y)[1])

    return inlined(_named(function, name, doc))


def _unary(name: str, operation: Operation, promotion: Operation, doc: str) -> Any:
    def function(x: Any, /) -> Any:
        return operation(*promotion(name, x)[1])

    return inlined(_named(function, name, doc))


def _binary(name: str, operation: Operation, promotion: Operation, doc: str) -> Any:
    def function(x: Any, y: Any, /) -> Any:
        return operation(*promotion(name, x, y)[1])

    return inlined(_named(function, name, doc))


def _binary_or_bool(name: str, operation: Operation, of_bools: Operation, doc: str) -> Any:
    """Return a function that adds or multiplies; for two bools it is `of_bools`."""

    def function(x: Any, y: Any, /, *, out: Any = None, where: Any = None) -> Any:
        refuse_ufunc_options(name, out, where)
        dtype, operands = promote(name, x, y)
        return of_bools(*operands) if dtype == np.bool_ else operation(*operands)

    return inlined(_named(function, name, doc))


def _comparison(name: str, operation: Operation, doc: str) -> Any:
    """Return a comparison. Complex numbers are ordered by their real, then by their imaginary parts."""

    def function(x: Any, y: Any, /) -> Any:
        dtype, (x, y) = promote(name, x, y)
        if not dtypes.issubdtype(dtype, np.complexfloating):
            return operation(x, y)
        same_real = lax.eq(lax.real(x), lax.real(y))
        by_imag = operation(lax.imag(x), lax.imag(y))
        return lax.select(same_real, by_imag, operation(lax.real(x), lax.real(y)))

    return inlined(_named(function, name, doc))


def _logical(name: str, operation: Operation, doc: str) -> Any:
    """Return an operation on truth values: anything but zero is true."""

    def function(*args: Any) -> Any:
        return operation(*[_to_bool(x) for x in promote(name, *args)[1]])

    def unary(x: Any, /) -> Any:
        return function(x)

    def binary(x: Any, y: Any, /, *, out: Any = None, where: Any = None) -> Any:
        refuse_ufunc_options(name, out, where)
        return function(x, y)

    return inlined(_named(unary if name == "logical_not" else binary, name, doc))


def _named(function: Operation, name: str, doc: str) -> Operation:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _to_bool(x: Any) -> Any:
    x = as_array(x)
    return x if x.dtype == np.bool_ else lax.ne(x, constant(x, 0))


def constant(like: Any, value: Any) -> Any:
    """Return a scalar of the dtype of `like`, for a literal in an equation; weakly typed if `like` is a weakly typed scalar."""
    dtype = dtypes.dtype(like)
    if not dtypes.is_weakly_typed(like) or np.ndim(like) != 0:
        return dtype.type(value)
    weak = dtypes.scalar_type_of(dtype)(value)
    return weak if dtypes.dtype(weak) == dtype else lax._convert_element_type(value, dtype, weak_type=True)


# --- one operand -----------------------------------------------------------------------------------------------------

negative = _ufunc_of_one("negative", lax.neg, promote, "-x.")
sign = _unary("sign", lax.sign, promote, "-1, 0 or 1; x / |x| for complex x; nan for nan.")
invert = _unary("invert", lax.bitwise_not, promote, "Each bit flipped; of a bool, its negation.")
bitwise_not = _unary("bitwise_not", lax.bitwise_not, promote, "Each bit flipped; of a bool, its negation.")
bitwise_invert = _unary("bitwise_invert", lax.bitwise_not, promote, "Each bit flipped; of a bool, its negation.")

exp = _unary("exp", lax.exp, promote_inexact, "e ** x.")
exp2 = _unary("exp2", lax.exp2, promote_inexact, "2 ** x.")
expm1 = _unary("expm1", lax.expm1, promote_inexact, "e ** x - 1, accurate near 0.")
log = _unary("log", lax.log, promote_inexact, "The natural logarithm.")
log1p = _unary("log1p", lax.log1p, promote_inexact, "log(1 + x), accurate near 0.")
sqrt = _unary("sqrt", lax.sqrt, promote_inexact, "The square root; nan for negative x.")
cbrt = _unary("cbrt", lax.cbrt, promote_inexact, "The cube root, negative for negative x.")
sin = _unary("sin", lax.sin, promote_inexact, "The sine of x in radians.")
cos = _unary("cos", lax.cos, promote_inexact, "The cosine of x in radians.")
tan = _unary("tan", lax.tan, promote_inexact, "The tangent of x in radians.")
arcsin = _unary("arcsin", lax.asin, promote_inexact, "The angle in [-pi/2, pi/2] whose sine is x.")
arccos = _unary("arccos", lax.acos, promote_inexact, "The angle in [0, pi] whose cosine is x.")
arctan = _unary("arctan", lax.atan, promote_inexact, "The angle in [-pi/2, pi/2] whose tangent is x.")
asin = _unary("asin", lax.asin, promote_inexact, "The angle in [-pi/2, pi/2] whose sine is x.")
acos = _unary("acos", lax.acos, promote_inexact, "The angle in [0, pi] whose cosine is x.")
atan = _unary("atan", lax.atan, promote_inexact, "The angle in [-pi/2, pi/2] whose tangent is x.")
sinh = _unary("sinh", lax.sinh, promote_inexact, "The hyperbolic sine.")
cosh = _unary("cosh", lax.cosh, promote_inexact, "The hyperbolic cosine.")
tanh = _unary("tanh", lax.tanh, promote_inexact, "The hyperbolic tangent.")
arcsinh = _unary("arcsinh", lax.asinh, promote_inexact, "The inverse of the hyperbolic sine.")
arctanh = _unary("arctanh", lax.atanh, promote_inexact, "The inverse of the hyperbolic tangent.")
asinh = _unary("asinh", lax.asinh, promote_inexact, "The inverse of the hyperbolic sine.")
atanh = _unary("atanh", lax.atanh, promote_inexact, "The inverse of the hyperbolic tangent.")

# --- two operands ----------------------------------------------------------------------------------------------------

add = _binary_or_bool("add", lax.add, lax.bitwise_or, "x + y; of two bools, `or`.")
multiply = _binary_or_bool("multiply", lax.mul, lax.bitwise_and, "x * y; of two bools, `and`.")
subtract = _ufunc("subtract", lax.sub, promote, "x - y.")
true_divide = _binary("true_divide", lax.div, promote_inexact, "x / y, of integers as floats.")
float_power = _binary("float_power", lax.pow, promote_inexact, "x ** y, of integers as floats.")
arctan2 = _binary("arctan2", lax.atan2, promote_inexact, "The angle of the point (y, x), in [-pi, pi].")
nextafter = _binary("nextafter", lax.nextafter, promote_inexact, "The float next to x in the direction of y.")
minimum = _ufunc("minimum", lax.min, promote, "The smaller of x and y; nan where one is nan.")
maximum = _ufunc("maximum", lax.max, promote, "The larger of x and y; nan where one is nan.")
bitwise_and = _ufunc("bitwise_and", lax.bitwise_and, promote, "x & y, bit by bit.")
bitwise_or = _ufunc("bitwise_or", lax.bitwise_or, promote, "x | y, bit by bit.")
bitwise_xor = _ufunc("bitwise_xor", lax.bitwise_xor, promote, "x ^ y, bit by bit.")
left_shift = _binary("left_shift", lax.shift_left, promote_numeric, "x * 2 ** y, by moving bits.")
bitwise_left_shift = _binary("bitwise_left_shift", lax.shift_left, promote_numeric, "x * 2 ** y, by moving bits.")

equal = _binary("equal", lax.eq, promote, "x == y.")
not_equal = _binary("not_equal", lax.ne, promote, "x != y.")
less = _comparison("less", lax.lt, "x < y.")
less_equal = _comparison("less_equal", lax.le, "x <= y.")
greater = _comparison("greater", lax.gt, "x > y.")
greater_equal = _comparison("greater_equal", lax.ge, "x >= y.")

logical_and = _logical("logical_and", lax.bitwise_and, "Whether x and y are true (not zero).")
logical_or = _logical("logical_or", lax.bitwise_or, "Whether x or y is true (not zero).")
logical_xor = _logical("logical_xor", lax.bitwise_xor, "Whether exactly one of x and y is true (not zero).")
logical_not = _logical("logical_not", lax.bitwise_not, "Whether x is zero.")

# --- a few primitives, or one that depends on the dtype --------------------------------------------------------------


def divide(x1: Any, x2: Any, /) -> Any:
    """Return x1 / x2; integers are divided as floats."""
    return true_divide(x1, x2)


def _is_whole(dtype: Any) -> bool:
    return bool(dtype == np.bool_ or dtypes.issubdtype(dtype, np.integer))


@inlined
def atan2(x1: Any, x2: Any, /) -> Any:
    """Return the angle of the point (x2, x1), in [-pi, pi]."""
    return arctan2(*promote("atan2", x1, x2)[1])


@inlined
def positive(x: Any, /) -> Any:
    """Return +x, which is x."""
    return as_array(promote("positive", x)[1][0])


@inlined
def absolute(x: Any, /) -> Any:
    """Return |x|, which for complex x is real and of the parts' dtype."""
    x = ensure_arraylike("absolute", x)
    return x if x.dtype == np.bool_ or dtypes.issubdtype(x.dtype, np.unsignedinteger) else lax.abs(x)


@inlined
def abs(x: Any, /) -> Any:  # numpy's name
    """Return |x|, which for complex x is real and of the parts' dtype."""
    return absolute(x)


@inlined
def fabs(x: Any, /) -> Any:
    """Return |x| as a float. Raise TypeError for complex x."""
    x = ensure_arraylike("fabs", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(*promote_inexact("fabs", x)[1])


@inlined
def floor(x: Any, /) -> Any:
    """Return the largest whole number <= x, of x's dtype."""
    x = ensure_arraylike("floor", x)
    return x if _is_whole(x.dtype) else lax.floor(x)


@inlined
def ceil(x: Any, /) -> Any:
    """Return the smallest whole number >= x, of x's dtype."""
    x = ensure_arraylike("ceil", x)
    return x if _is_whole(x.dtype) else lax.ceil(x)


@jit
def trunc(x: Any) -> Any:
    """Return x without its fractional part, of x's dtype."""
    x = ensure_arraylike("trunc", x)
    if _is_whole(x.dtype):
        return x
    return where(lax.lt(x, constant(x, 0)), ceil(x), floor(x))


@jit
def rint(x: Any, /) -> Any:
    """Return x rounded to the nearest whole number, halves to even ones; integers as floats."""
    x = ensure_arraylike("rint", x)
    if _is_whole(x.dtype):
        return lax.convert_element_type(x, dtypes.default_float_dtype())
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@inlined
def square(x: Any, /) -> Any:
    """Return x * x."""
    return lax.square(*promote_numeric("square", x)[1])


@inlined
def reciprocal(x: Any, /) -> Any:
    """Return 1 / x, of integers as floats."""
    return lax.integer_pow(as_array(promote_inexact("reciprocal", x)[1][0]), -1)


@inlined
def real(val: Any, /) -> Any:
    """Return the real part; a real array is returned unchanged."""
    val = ensure_arraylike("real", val)
    return lax.real(val) if dtypes.issubdtype(val.dtype, np.complexfloating) else val


@inlined
def imag(val: Any, /) -> Any:
    """Return the imaginary part; zeros for a real array."""
    val = ensure_arraylike("imag", val)
    return lax.imag(val) if dtypes.issubdtype(val.dtype, np.complexfloating) else lax.full_like(val, 0)


@inlined
def conjugate(x: Any, /) -> Any:
    """Return the complex conjugate; a real array is returned unchanged."""
    x = ensure_arraylike("conjugate", x)
    return lax.conj(x) if dtypes.issubdtype(x.dtype, np.complexfloating) else x


def conj(x: Any, /) -> Any:
    """Return the complex conjugate; a real array is returned unchanged."""
    return conjugate(x)


@inlined
def right_shift(x1: Any, x2: Any, /) -> Any:
    """Return x1 // 2 ** x2, by moving bits; the sign of signed integers stays."""
    dtype, operands = promote_numeric("right_shift", x1, x2)
    unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
    return lax.shift_right_logical(*operands) if unsigned else lax.shift_right_arithmetic(*operands)


@inlined
def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """Return x1 // 2 ** x2, by moving bits; the sign of signed integers stays."""
    return right_shift(x1, x2)


@jit
def bitwise_count(x: Any, /) -> Any:
    """Return the number of ones among the bits of |x|, as uint8."""
    return lax.convert_element_type(lax.population_count(absolute(*promote_numeric("bitwise_count", x)[1])), np.uint8)


@jit
def arccosh(x: Any, /) -> Any:
    """Return the inverse of the hyperbolic cosine; nan for real numbers below 1."""
    result = lax.acosh(*promote_inexact("arccosh", x)[1])
    if dtypes.issubdtype(result.dtype, np.complexfloating):  # the branch with a positive real part
        result = where(real(result) < 0, lax.neg(result), result)
    return result


@inlined
def acosh(x: Any, /) -> Any:
    """Return the inverse of the hyperbolic cosine; nan for real numbers below 1."""
    check_arraylike("acosh", x)
    return arccosh(x)


for _function, _identity in (
    *((add, 0), (multiply, 1), (subtract, None), (minimum, None), (maximum, None)),
    *((bitwise_and, -1), (bitwise_or, 0), (bitwise_xor, 0)),
    *((logical_and, True), (logical_or, False), (logical_xor, False)),
):
    with_ufunc_methods(_function, _identity)
with_ufunc_methods(negative, nin=1)
