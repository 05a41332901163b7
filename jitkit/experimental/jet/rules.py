"""The rules of operations: coefficients of operands -> coefficients of results

Most are recurrences for v' = c u': k v[k] is the sum of j c[k-j] u[j] (A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed. 2008,
chapter 13).

JAX: jax/experimental/jet.py:jet_rules
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import Primitive
from ...custom_derivatives.jvp import custom_jvp_call_p
from ...custom_derivatives.vjp import custom_vjp_call_p
from ...interpreters.ad_rules import add_any_p
from ...jaxpr import eval_jaxpr, jaxpr_as_fun
from ...lax.utils import constant_like
from ...pjit.jit import jit
from ...pjit.jit_call import jit_p
from ...pjit.resharding import reshard_p
from .series import (
    Rule,
    Series,
    along,
    coefficients_of,
    def_comp,
    def_deriv,
    deflinear,
    defzero,
    integral,
    jet_rules,
    moment,
)

defzero(
    lax.le_p, lax.lt_p, lax.gt_p, lax.ge_p, lax.eq_p, lax.ne_p, lax.not_p, lax.and_p, lax.or_p, lax.xor_p, lax.floor_p, lax.ceil_p,
    lax.round_p, lax.sign_p, lax.stop_gradient_p, lax.is_finite_p, lax.shift_left_p, lax.shift_right_arithmetic_p,
    lax.shift_right_logical_p, lax.bitcast_convert_type_p,
)  # fmt: skip
deflinear(
    lax.neg_p, lax.real_p, lax.complex_p, lax.conj_p, lax.imag_p, lax.add_p, add_any_p, lax.sub_p, lax.convert_element_type_p,
    lax.broadcast_in_dim_p, lax.concatenate_p, lax.split_p, lax.stack_p, lax.unstack_p, lax.pad_p, lax.reshape_p, lax.squeeze_p,
    lax.rev_p, lax.transpose_p, lax.slice_p, lax.reduce_sum_p, lax.reduce_window_sum_p, lax.fft_p, lax.copy_p, lax.device_put_p,
    lax.cumsum_p, reshard_p,
)  # fmt: skip
def_deriv(lax.erf_p, lambda x: lax.mul(constant_like(x, 2.0 / np.sqrt(np.pi)), lax.exp(lax.neg(lax.square(x)))))
def_comp(lax.expm1_p, lambda x: lax.exp(x) - 1)
def_comp(lax.log1p_p, lambda x: lax.log(1 + x))
def_comp(lax.sqrt_p, lambda x: x**0.5)
def_comp(lax.square_p, lambda x: x * x)
def_comp(lax.rsqrt_p, lambda x: x**-0.5)
def_comp(lax.asinh_p, lambda x: lax.log(x + lax.sqrt(lax.square(x) + 1)))
def_comp(lax.acosh_p, lambda x: lax.log(x + lax.sqrt(lax.square(x) - 1)))
def_comp(lax.atanh_p, lambda x: 0.5 * lax.log(lax.div(1 + x, 1 - x)))
def_comp(lax.erfc_p, lambda x: 1 - lax.erf(x))
def_comp(lax.rem_p, lambda x, y: x - y * lax.floor(x / y))
def_comp(lax.clamp_p, lambda low, x, high: lax.min(lax.max(low, x), high))


# --- exponentials, logarithms, powers ---------------------------------------------------------------------------


def _exp(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    u = [*primals, *series[0]]
    v = [lax.exp(u[0])]
    for k in range(1, len(u)):
        v.append(moment(v, u, k) / k)
    return v[0], v[1:]


def _log(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    u = [*primals, *series[0]]
    v = [lax.log(u[0])]
    for k in range(1, len(u)):
        known = sum(j * v[j] * u[k - j] for j in range(1, k))
        v.append((u[k] - known / k) / u[0])
    return v[0], v[1:]


def _pow(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    base, exponent = primals
    first, rest = coefficients_of(lambda x, y: lax.mul(y, lax.log(x)), primals, series)
    u = [first, *rest]
    v = [base**exponent]
    for k in range(1, len(u)):
        v.append(moment(v, u, k) / k)
    return v[0], v[1:]


def _integer_pow(primals: Any, series: Any, *, y: int) -> tuple[Any, Any]:
    power = jnp.ones_like if y == 0 else lambda x: _by_squaring(x, y)
    return coefficients_of(power, primals, series)


def _by_squaring(x: Any, n: int) -> Any:
    if n < 0:
        return _by_squaring(1 / x, -n)
    if n == 0:
        return 1
    half = _by_squaring(x * x, n // 2)
    return x * half if n % 2 else half


def _logistic(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    u = [*primals, *series[0]]
    v = [lax.logistic(u[0])]
    slope = [v[0] * (1 - v[0])]
    for k in range(1, len(u)):
        v.append(moment(slope, u, k) / k)
        slope.append((1 - v[0]) * v[k] - sum(v[j] * v[k - j] for j in range(1, k + 1)))
    return v[0], v[1:]


def _tanh(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    value, terms = _logistic([2 * primals[0]], [[2 * term for term in series[0]]])
    doubled = [2 * term for term in terms]
    return 2 * value - 1, doubled


jet_rules.update({lax.exp_p: _exp, lax.log_p: _log, lax.pow_p: _pow, lax.integer_pow_p: _integer_pow})
jet_rules.update({lax.logistic_p: _logistic, lax.tanh_p: _tanh})


# --- pairs of functions that are each other's derivatives -------------------------------------------------------


def _pair(which: int, sign: int, functions: Sequence[Callable[[Any], Any]]) -> Rule:
    def rule(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
        u = [*primals, *series[0]]
        s, c = ([function(u[0])] for function in functions)
        for k in range(1, len(u)):
            s_k = sum(j * u[j] * c[k - j] for j in range(1, k + 1)) / k
            c_k = sum(j * u[j] * s[k - j] for j in range(1, k + 1)) / k * sign
            s.append(s_k)
            c.append(c_k)
        found = (s, c)[which]
        return found[0], found[1:]

    return rule


jet_rules.update({lax.sin_p: _pair(0, -1, (lax.sin, lax.cos)), lax.cos_p: _pair(1, -1, (lax.sin, lax.cos))})
jet_rules.update({lax.sinh_p: _pair(0, 1, (lax.sinh, lax.cosh)), lax.cosh_p: _pair(1, 1, (lax.sinh, lax.cosh))})


def _atan2(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    value = lax.atan2(*primals)
    quotient, terms = coefficients_of(lax.div, primals, series)
    one = constant_like(quotient, 1)
    first, rest = coefficients_of(lambda x: lax.div(one, 1 + lax.square(x)), [quotient], [terms])
    return integral(value, [first, *rest], [quotient, *terms])


def _erf_inv(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    u, half_root = [*primals, *series[0]], np.sqrt(np.pi) / 2.0
    v = [lax.erf_inv(u[0])]
    square = [lax.square(v[0])]
    c = [lax.mul(constant_like(v[0], half_root), lax.exp(square[0]))]
    exponential = [lax.exp(square[0])]
    for k in range(1, len(u)):  # c is known up to k - 1, which is enough for v[k]
        v.append(moment(c, u, k) / k)
        square.append(sum(v[k - j] * v[j] for j in range(k + 1)))
        exponential.append(moment(exponential, square, k) / k)
        c.append(half_root * exponential[k])
    return v[0], v[1:]


jet_rules.update({lax.atan2_p: _atan2, lax.erf_inv_p: _erf_inv})


# --- products and quotients ---------------------------------------------------------------------------------------


def _bilinear(primitive: Primitive) -> Rule:
    def rule(primals: Any, series: Any, **params: Any) -> tuple[Any, Series]:
        u, w = ([primal, *terms] for primal, terms in zip(primals, series, strict=True))
        v = [sum(primitive.bind(u[j], w[k - j], **params) for j in range(k + 1)) for k in range(len(u))]
        return v[0], v[1:]

    return rule


def _div(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    u, w = ([primal, *terms] for primal, terms in zip(primals, series, strict=True))
    v: Series = []
    for k in range(len(u)):
        v.append((u[k] - sum(v[j] * w[k - j] for j in range(k))) / w[0])
    return v[0], v[1:]


for _primitive in (lax.dot_general_p, lax.mul_p, lax.conv_general_dilated_p):
    jet_rules[_primitive] = _bilinear(_primitive)
jet_rules[lax.div_p] = _div


# --- choosing -------------------------------------------------------------------------------------------------------


def _abs(primals: Any, series: Any, **params: Any) -> tuple[Any, Series]:
    [x] = primals
    out = lax.abs_p.bind(x, **params)
    sign = lax.select(lax.lt(x, lax.full_like(x, 0, shape=())), lax.full_like(x, -1), lax.full_like(x, 1.0))
    return out, [sign * term for term in series[0]]


def _select_n(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
    which, *cases = primals
    return lax.select_n(which, *cases), [lax.select_n(which, *terms) for _, *terms in zip(*series, strict=True)]


def _larger(compare: Callable[[Any, Any], Any]) -> Rule:
    """Return the rule of the larger, or the smaller, of two numbers; if both are equal, the mean of their coefficients."""

    def rule(primals: Any, series: Any, **_: Any) -> tuple[Any, Series]:
        x, y = jnp.broadcast_arrays(*primals)
        is_first, are_equal = compare(x, y), x == y
        out, terms = lax.select(is_first, x, y), []
        for pair in zip(*series, strict=True):
            a, b = jnp.broadcast_arrays(*pair)
            chosen = lax.select(is_first, a, b)
            terms.append(lax.select(are_equal, (a + b) / 2, chosen))
        return out, terms

    return rule


def _reduce_choose(choose: Callable[..., Any]) -> Rule:
    def rule(primals: Any, series: Any, *, axes: Sequence[int], **params: Any) -> tuple[Any, Series]:
        [x], [terms] = primals, series
        out = choose(x, axes=axes, **params)
        kept = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
        there = lax.convert_element_type(x == lax.reshape(out, kept), terms[0].dtype)
        counts = lax.reduce_sum(there, axes)
        return out, [lax.div(lax.reduce_sum(lax.mul(term, there), axes), counts) for term in terms]

    return rule


jet_rules.update({lax.abs_p: _abs, lax.select_n_p: _select_n})
jet_rules.update({lax.max_p: _larger(lambda x, y: x > y), lax.min_p: _larger(lambda x, y: x < y)})
jet_rules.update({lax.reduce_max_p: _reduce_choose(lax.reduce_max), lax.reduce_min_p: _reduce_choose(lax.reduce_min)})


# --- indexing: places do not change along a path --------------------------------------------------------------------


def _indexed(primitive: Primitive, changing: Sequence[int]) -> None:
    def rule(primals: Any, series: Any, **params: Any) -> tuple[Any, Series]:
        out = primitive.bind(*primals, **params)
        places = [None if i in changing else x for i, x in enumerate(primals)]
        terms = [
            primitive.bind(*[term if x is None else x for x, term in zip(places, each, strict=True)], **params)
            for each in zip(*series, strict=True)
        ]
        return out, terms

    jet_rules[primitive] = rule


for _primitive, _changing in (
    (lax.dynamic_slice_p, [0]), (lax.dynamic_update_slice_p, [0, 1]), (lax.gather_p, [0]), (lax.scatter_add_p, [0, 2]),
):  # fmt: skip
    _indexed(_primitive, _changing)


def _cumulative(combine: Callable[..., Any]) -> Rule:
    def rule(primals: Any, series: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
        return coefficients_of(lambda x: lax.associative_scan(combine, x, axis=axis, reverse=reverse), primals, series)

    return rule


for _primitive, _combine in ((lax.cumprod_p, lax.mul), (lax.cummax_p, lax.max), (lax.cummin_p, lax.min)):
    jet_rules[_primitive] = _cumulative(_combine)


# --- calls ------------------------------------------------------------------------------------------------------------


def _call(primals: Any, series: Any, *, jaxpr: Any, name: str, **_: Any) -> tuple[Any, Any]:
    """Rule of a call of a jitted function: a call of a jitted function that computes coefficients, too."""
    order = len(series[0])

    def of_series(primals: Any, series: Any) -> tuple[list[Any], list[Any]]:
        _, values, terms = along(jaxpr_as_fun(jaxpr), primals, series, order)
        return values, terms

    of_series.__name__ = name
    found: tuple[Any, Any] = jit(of_series)(primals, series)
    return found


def _undecorated(primals: Any, series: Any, *, call_jaxpr: Any, **_: Any) -> tuple[Any, Any]:
    _, values, terms = along(
        lambda *args: eval_jaxpr(call_jaxpr, call_jaxpr.consts, *args), primals, series, len(series[0])
    )
    return values, terms


jet_rules.update({jit_p: _call, custom_jvp_call_p: _undecorated, custom_vjp_call_p: _undecorated})
