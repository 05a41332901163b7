"""Derivatives of the elementwise operations: another column of the table in `elementwise`.

    defjvp(sin_p, lambda g, y, x, accuracy=None: mul(g, cos(x, accuracy=accuracy)))

A formula gives the tangent of the result from the tangent `g` of an operand, the result, and the operands. Linear
operations also have a transpose rule. Scalars broadcast, and the cotangent of a broadcast operand is a sum: these rules
need reductions and reshapes, so they have a module of their own. `max`, `min`, `select_n` and `clamp` are in
`selection_derivatives`.

JAX: jax/_src/lax/lax.py:_unbroadcast
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base.jax_version import since
from ..core import Primitive, dtypes
from ..interpreters.ad_linearize import linearize_rules
from ..interpreters.ad_rules import (
    Zero,
    defbilinear,
    defjvp,
    defjvp_zero,
    deflinear,
    is_undefined,
    no_cotangents,
    primitive_jvps,
    primitive_transposes,
)
from .accuracy import AccuracyMode
from .convert import bitcast_convert_type_p, convert_element_type
from .creation import full_like
from .elementwise import (
    abs,
    abs_p,
    acos_p,
    acosh_p,
    add,
    add_p,
    and_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cbrt_p,
    ceil_p,
    complex,
    complex_p,
    conj,
    conj_p,
    cos,
    cos_p,
    cosh,
    cosh_p,
    digamma,
    digamma_p,
    div,
    div_p,
    eq,
    eq_p,
    eq_to_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    exp,
    exp2_p,
    exp_p,
    expm1_p,
    floor,
    floor_p,
    ge,
    ge_p,
    gt_p,
    imag,
    imag_p,
    is_finite_p,
    le_p,
    le_to_p,
    lgamma_p,
    log,
    log1p_p,
    log2_p,
    log_p,
    logistic,
    logistic_p,
    lt_p,
    lt_to_p,
    mul,
    mul_p,
    mulhi_p,
    ne_p,
    neg,
    neg_p,
    not_p,
    one_minus_square,
    one_minus_square_p,
    or_p,
    polygamma,
    polygamma_p,
    real,
    real_p,
    rem_p,
    round_p,
    rsqrt,
    rsqrt_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    sign,
    sign_p,
    sin,
    sin_p,
    sinh,
    sinh_p,
    sqrt_p,
    square,
    square_p,
    sub,
    sub_p,
    tan_p,
    tanh_p,
    xor_p,
)
from .elementwise_rules import COMPLEX
from .ordering import stop_gradient
from .powers import integer_pow, reciprocal
from .reduction import reduce_sum
from .selection import clamp, select
from .shaping import broadcast_in_dim, reshape
from .utils import Shape, broadcast_shapes, constant_like, is_a, scalar_of_type

# --- one operand ------------------------------------------------------------------------------------------------------

defjvp_zero(
    *(sign_p, floor_p, ceil_p, round_p, is_finite_p, not_p, and_p, or_p, xor_p, mulhi_p),
    *(shift_left_p, shift_right_arithmetic_p, shift_right_logical_p),
    *(eq_p, ne_p, ge_p, gt_p, le_p, lt_p, eq_to_p, le_to_p, lt_to_p, bitcast_convert_type_p),
)
# The other operations: the derivative of each is a formula made of elementwise operations.
defjvp(exp_p, lambda g, y, x, accuracy=None: mul(g, y))
defjvp(exp2_p, lambda g, y, x, accuracy=None: mul(log(constant_like(x, 2)), mul(g, y)))
defjvp(expm1_p, lambda g, y, x, accuracy=None: _jvp_expm1(g, y, x, accuracy))
defjvp(log_p, lambda g, y, x, accuracy=None: div(g, x))
defjvp(log2_p, lambda g, y, x: div(g, mul(x, log(constant_like(x, 2)))))
defjvp(log1p_p, lambda g, y, x, accuracy=None: div(g, add(x, scalar_of_type(x, 1))))


def jvp_logistic(g: Any, y: Any, x: Any) -> Any:
    """Return the tangent of `y = logistic(x)`, which is 1 / (1 + exp(-x)), if the tangent of x is `g`.

    The derivative of the logistic function is y (1 - y): it needs only y, which is known. `constant_like(y, 1)` is a 1
    of y's dtype.
    """
    return mul(g, mul(y, sub(constant_like(y, 1), y)))


defjvp(logistic_p, lambda g, y, x, accuracy=None: _by(accuracy, jvp_logistic, _exact_jvp_logistic)(g, y, x))


def _jvp_expm1(g: Any, y: Any, x: Any, accuracy: Any = None) -> Any:
    if since(0, 12) or accuracy is AccuracyMode.HIGHEST:
        return mul(g, exp(x, accuracy=accuracy))
    return mul(g, add(y, scalar_of_type(y, 1)))


# With the highest accuracy, derivatives avoid the subtraction 1 - y, which loses digits near y = 1.


def _by(accuracy: Any, usual: Callable[..., Any], exact: Callable[..., Any]) -> Callable[..., Any]:
    return exact if accuracy is AccuracyMode.HIGHEST else usual


def _exact_jvp_logistic(g: Any, y: Any, x: Any) -> Any:
    return mul(g, mul(y, logistic(neg(x))))


def _exact_jvp_tanh(g: Any, y: Any, x: Any) -> Any:
    up, down = (logistic(mul(constant_like(x, n), x), accuracy=AccuracyMode.HIGHEST) for n in (2, -2))
    return mul(g, mul(constant_like(x, 4), mul(up, down)))


def _one_minus_square(x: Any) -> Any:
    return one_minus_square(x) if since(0, 11) else sub(constant_like(x, 1), square(x))


def _jvp_tanh(g: Any, y: Any, x: Any) -> Any:
    if since(0, 11):
        return mul(g, one_minus_square(y))
    return mul(add(g, mul(g, y)), sub(scalar_of_type(x, 1), y))


def _jvp_asinh(g: Any, y: Any, x: Any) -> Any:
    """Return the tangent of asinh, g / sqrt(x^2 + 1). Since JAX 0.12 x is scaled first, so that its square does not overflow."""
    dtype = dtypes.dtype(x)
    if not since(0, 12) or is_a(dtype, *COMPLEX):
        return mul(g, rsqrt(add(square(x), scalar_of_type(x, 1))))
    half = dtypes.finfo(dtype).maxexp // 2
    scaled = mul(abs(x), constant_like(x, 2.0 ** (2 - half)))
    factor = reciprocal(stop_gradient(clamp(scalar_of_type(x, 1), scaled, constant_like(x, 2.0 ** (half + 2)))))
    return mul(g, mul(factor, rsqrt(add(square(mul(x, factor)), square(factor)))))


def _jvp_acosh(g: Any, y: Any, x: Any) -> Any:
    one = scalar_of_type(x, 1)
    return mul(g, mul(rsqrt(sub(x, one)), rsqrt(add(x, one))) if since(0, 11) else rsqrt(sub(square(x), one)))


def _jvp_atanh(g: Any, y: Any, x: Any) -> Any:
    if since(0, 11):
        return div(g, one_minus_square(x))
    one = scalar_of_type(x, 1)
    return mul(reciprocal(add(one, x)), div(g, sub(one, x)))


defjvp(sin_p, lambda g, y, x, accuracy=None: mul(g, cos(x, accuracy=accuracy)))


def _linearize_sin(nonzero: Sequence[bool], x: Any, **params: Any) -> tuple[Any, Callable[[Any], Any]]:
    y, slope = sin_p.bind(x, **params), cos(x)  # without `accuracy`, as in JAX
    return y, lambda g: mul(g, slope)


linearize_rules[sin_p] = _linearize_sin
defjvp(cos_p, lambda g, y, x, accuracy=None: neg(mul(g, sin(x, accuracy=accuracy))))
defjvp(tan_p, lambda g, y, x, accuracy=None: mul(g, add(constant_like(x, 1), square(y))))
defjvp(asin_p, lambda g, y, x: mul(g, rsqrt(_one_minus_square(x))))
defjvp(acos_p, lambda g, y, x: mul(g, neg(rsqrt(_one_minus_square(x)))))
defjvp(atan_p, lambda g, y, x: div(g, add(constant_like(x, 1), square(x))))
defjvp(sinh_p, lambda g, y, x: mul(g, cosh(x)))
defjvp(cosh_p, lambda g, y, x: mul(g, sinh(x)))
defjvp(tanh_p, lambda g, y, x, accuracy=None: _by(accuracy, _jvp_tanh, _exact_jvp_tanh)(g, y, x))
defjvp(asinh_p, _jvp_asinh)
defjvp(acosh_p, _jvp_acosh)
defjvp(atanh_p, _jvp_atanh)

defjvp(sqrt_p, lambda g, y, x, accuracy=None: mul(g, div(constant_like(x, 0.5), y)))
defjvp(rsqrt_p, lambda g, y, x, accuracy=None: mul(g, mul(constant_like(x, -0.5), div(y, x))))
defjvp(cbrt_p, lambda g, y, x, accuracy=None: mul(g, mul(constant_like(x, 1 / 3), integer_pow(y, -2))))
defjvp(one_minus_square_p, lambda g, y, x: mul(g, mul(constant_like(x, -2), x)))
defjvp(square_p, lambda g, y, x: mul(g, mul(constant_like(x, 2), x)))

defjvp(erf_p, lambda g, y, x: mul(constant_like(x, 2 / np.sqrt(np.pi)), mul(g, exp(neg(square(x))))))
defjvp(erfc_p, lambda g, y, x: mul(constant_like(x, -2 / np.sqrt(np.pi)), mul(g, exp(neg(square(x))))))
defjvp(erf_inv_p, lambda g, y, x: mul(constant_like(x, np.sqrt(np.pi) / 2), mul(g, exp(square(y)))))
defjvp(lgamma_p, lambda g, y, x: mul(g, digamma(x)))
defjvp(digamma_p, lambda g, y, x: mul(g, polygamma(constant_like(x, 1), x)))

# --- broadcasting -----------------------------------------------------------------------------------------------------


def unbroadcast(aval: Any, ct: Any) -> Any:
    """Return the cotangent of an operand of this type from the cotangent of its broadcast.

    Each element of the operand was used in several places, so its cotangent is their sum (`reduce_sum(ct, axes)`) along
    the axes that were broadcast. An operand is a scalar, which is broadcast to any shape, or has as many axes as the
    result; axes of size 1 may be stretched. The cotangent has the operand's shape. If nothing was broadcast, return
    `ct` itself, and write nothing; `ct` may be a Python number (`np.shape` takes those, too).
    """
    shape = np.shape(ct)
    if aval.shape == shape:
        return ct
    if not aval.shape:
        return reduce_sum(ct, range(len(shape)))
    axes = [i for i, (new, old) in enumerate(zip(shape, aval.shape, strict=True)) if new != old]
    return reshape(reduce_sum(ct, axes), aval.shape)


def broadcast_tangent(shape: Shape, x: Any) -> Any:
    """Return an operand's tangent, broadcast to the shape of the result."""
    old = np.shape(x)
    if old == shape:
        return x
    axes = [i for i, (a, b) in enumerate(zip(old, shape, strict=True)) if a == b] if old else []
    return broadcast_in_dim(reshape(x, [old[i] for i in axes]) if old else x, shape, axes)


# --- sums -------------------------------------------------------------------------------------------------------------


def _define_sum(primitive: Primitive, combine: Callable[[Any, Any], Any], of_second: Callable[[Any], Any]) -> None:
    """Define the derivatives of x + y, or of x - y; `of_second` is applied to the tangent of y."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        out, (x_dot, y_dot) = combine(*primals), tangents
        if type(x_dot) is Zero:
            return out, broadcast_tangent(np.shape(out), of_second(y_dot))
        if type(y_dot) is Zero:
            return out, broadcast_tangent(np.shape(out), x_dot)
        return out, combine(x_dot, y_dot)

    def transpose(ct: Any, x: Any, y: Any) -> list[Any]:
        if type(ct) is Zero:
            return no_cotangents((x, y))
        # A known operand gets a cotangent, too, which is not read: JAX records it if the sum is in a user's rule.
        x_aval, y_aval = (operand.aval if is_undefined(operand) else core.get_aval(operand) for operand in (x, y))
        return [unbroadcast(x_aval, ct), unbroadcast(y_aval, of_second(ct))]

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


_define_sum(add_p, add, lambda x: x)
_define_sum(sub_p, sub, neg)
deflinear(neg_p, lambda ct, x: [neg(ct)])

# --- products ---------------------------------------------------------------------------------------------------------


def _dtype_of(x: Any, out_dtype: Any) -> Any:
    """Return x's dtype, to which a cotangent is converted, if the product has an `out_dtype`; else None."""
    return None if out_dtype is None else x.aval.dtype


defbilinear(
    mul_p,
    lambda ct, x, y, out_dtype=None: unbroadcast(x.aval, mul(ct, y, out_dtype=_dtype_of(x, out_dtype))),
    lambda ct, x, y, out_dtype=None: unbroadcast(y.aval, mul(x, ct, out_dtype=_dtype_of(y, out_dtype))),
)
defjvp(div_p, lambda g, out, x, y: div(g, y), lambda g, out, x, y: mul(mul(neg(g), x), integer_pow(y, -2)))


def _transpose_div(ct: Any, x: Any, y: Any) -> list[Any]:
    if is_undefined(x) and is_undefined(y):
        raise RuntimeError("nonlinear div can't be transposed")
    if type(ct) is Zero:
        return no_cotangents((x, y))
    quotient = div(ct, y)  # computed first, because `div` refuses a divisor that is a linear input
    return [unbroadcast(x.aval, quotient), None]


primitive_transposes[div_p] = _transpose_div
defjvp(
    rem_p,
    lambda g, out, x, y: broadcast_tangent(broadcast_shapes(np.shape(x), np.shape(y)), g),
    lambda g, out, x, y: mul(neg(g), mul(sign(div(x, y)), floor(abs(div(x, y))))),
)

defjvp(
    atan2_p,
    lambda g, out, x, y: mul(g, div(y, add(square(x), square(y)))),
    lambda g, out, x, y: mul(g, div(neg(x), add(square(x), square(y)))),
)


def _no_order(g: Any, out: Any, x: Any, y: Any) -> Any:
    raise ValueError("polygamma gradient with respect to m is not supported")


defjvp(polygamma_p, _no_order, lambda g, out, x, y: mul(g, polygamma(add(x, constant_like(x, 1)), y)))


def not_zero(x: Any) -> Any:
    """Return x with each zero replaced by a one."""
    return select(eq(x, constant_like(x, 0)), full_like(x, 1), x)


# --- complex numbers --------------------------------------------------------------------------------------------------

deflinear(real_p, lambda ct, x: [complex(ct, np.zeros((), dtypes.dtype(ct))[()])])
deflinear(imag_p, lambda ct, x: [complex(np.zeros((), dtypes.dtype(ct))[()], neg(ct))])
deflinear(conj_p, lambda ct, x, input_dtype: [conj(ct) if is_a(input_dtype, *COMPLEX) else real(ct)])
deflinear(
    complex_p,
    lambda ct, x, y: [
        unbroadcast(x.aval, real(ct)) if is_undefined(x) else None,
        unbroadcast(y.aval, imag(neg(ct))) if is_undefined(y) else None,
    ],
)


def _jvp_abs(g: Any, y: Any, x: Any) -> Any:
    dtype = dtypes.dtype(x)
    if not is_a(dtype, *COMPLEX):
        return select(ge(x, scalar_of_type(x, 0)), g, neg(g))
    return real(mul(g, div(conj(x), not_zero(convert_element_type(y, dtype)))))


defjvp(abs_p, _jvp_abs)
