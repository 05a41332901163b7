"""Computes the hypergeometric functions 1F1 and 2F1 of real numbers, and their derivatives in the parameters, too.

Both are power series, whose terms are added until one no longer counts, or for 250 terms. 1F1 has an asymptotic series
for large |x|. If the series of 2F1 is finite, all its terms are summed; near x = 1 it is a series in 1 - x (AMS55,
15.3.10 to 15.3.12), as in Cephes. Pearson, Olver and Porter, "Numerical methods for the computation of the confluent
and Gauss hypergeometric functions" (2014), arXiv 1407.7786.

JAX: jax/_src/scipy/special.py:hyp2f1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import dtypes
from ...custom_derivatives import custom_jvp
from ...pjit.jit import jit
from ..arguments import promoted, refuse_complex
from .gamma_functions import digamma, gamma

_MOST_TERMS = 250
_FAR = 100  # from this |x| on, 1F1 is its asymptotic series
_NEARLY = 50  # a number counts as whole if it is at most this many roundings away from a whole one
_NEAR_1 = 0.9


def _sum(x: Any, start: Any, term: Any, ratio: Callable[[Any], Any], weight: Callable[[Any], Any] | None = None) -> Any:
    """Return `start` plus `term`, the first term of a series, and the terms after it. `ratio(k)` is the quotient of the
    terms k + 1 and k; `weight(k)` multiplies the k-th term.
    """
    precision = dtypes.finfo(x.dtype).eps

    def add_term(state: Any) -> Any:
        total, k, term = state
        total += term if weight is None else term * weight(k)
        term *= ratio(k)
        return total, k + 1, term

    def goes_on(state: Any) -> Any:
        total, k, term = state
        return (k < _MOST_TERMS) & (lax.abs(term) / lax.abs(total) > precision)

    return lax.while_loop(goes_on, add_term, (start, 1, term))[0]


# --- 1F1: the sum of (a)_k / (b)_k x**k / k! --------------------------------------------------------------------------


def _ratio_of_1f1(a: Any, b: Any, x: Any) -> Callable[[Any], Any]:
    return lambda k: (a + k) / (b + k) * x / (k + 1)


def _series(a: Any, b: Any, x: Any) -> Any:
    return _sum(x, 1, a / b * x, _ratio_of_1f1(a, b, x))


def _asymptotic_series(a: Any, b: Any, x: Any) -> Any:
    total = _sum(x, 1, (b - a) * (1 - a) / x, lambda k: (b - a + k) * (1 - a + k) / (k + 1) / x)
    return gamma(b) / gamma(a) * lax.exp(x) * x ** (a - b) * total


@custom_jvp
@jit
@jnp.vectorize
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Return the confluent hypergeometric function 1F1(a; b; x) of real numbers, meant for numbers that are not
    negative. For a = b = 0 it is 1. Raise ValueError for complex numbers.
    """
    a, b, x = promoted("hyp1f1", a, b, x)
    refuse_complex("hyp1f1", x)
    found = lax.cond(lax.abs(x) < _FAR, _series, _asymptotic_series, a, b, x)
    which = (a == 0) * 1 + ((a == b) & (a != 0)) * 2 + ((b == 0) & (a != 0)) * 3
    return lax.select_n(which, found, jnp.array(1, dtype=x.dtype), jnp.exp(x), jnp.array(np.inf, dtype=x.dtype))


@jit
@jnp.vectorize
def _hyp1f1_a_derivative(a: Any, b: Any, x: Any) -> Any:
    return _sum(x, 0, a / b * x, _ratio_of_1f1(a, b, x), lambda k: digamma(a + k) - digamma(a))


@jit
@jnp.vectorize
def _hyp1f1_b_derivative(a: Any, b: Any, x: Any) -> Any:
    return _sum(x, 0, a / b * x, _ratio_of_1f1(a, b, x), lambda k: digamma(b) - digamma(b + k))


@jit
def _hyp1f1_x_derivative(a: Any, b: Any, x: Any) -> Any:
    return a / b * hyp1f1(a + 1, b + 1, x)


hyp1f1.defjvps(
    lambda a_dot, ans, a, b, x: _hyp1f1_a_derivative(a, b, x) * a_dot,
    lambda b_dot, ans, a, b, x: _hyp1f1_b_derivative(a, b, x) * b_dot,
    lambda x_dot, ans, a, b, x: _hyp1f1_x_derivative(a, b, x) * x_dot,
)


# --- 2F1: the sum of (a)_k (b)_k / (c)_k x**k / k! ----------------------------------------------------------------------


def _gauss_series(a: Any, b: Any, c: Any, x: Any) -> Any:
    precision = dtypes.finfo(x.dtype).eps

    def add_term(state: Any) -> Any:
        total, k, term = state
        total += term
        term *= (a + k - 1) * (b + k - 1) / (c + k - 1) / k * x
        return total, k + 1, term

    def goes_on(state: Any) -> Any:
        total, k, term = state
        return (k < _MOST_TERMS) & (lax.abs(term) > precision * lax.abs(total))

    zero, one = jnp.array(0, dtype=x.dtype), jnp.array(1, dtype=x.dtype)
    return lax.while_loop(goes_on, add_term, (zero, one, one))[0]


def _series_that_ends(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return the sum of the series if it is finite, because a or b is an integer <= 0: it has 1 + |a| terms, or 1 + |b|
    if b is an integer less than a. (But 1 + |a| if c is an integer with b < c <= 0: a later term would be divided by
    0.)
    """
    nearly = dtypes.finfo(x.dtype).eps * _NEARLY
    whole = jnp.round(b)
    b_ends_it = (b < a) & ((jnp.abs(b - whole) < nearly) & ~((c % 1 == 0) & ((c <= 0) & (c > b))))
    a, b = jnp.where(b_ends_it, b, a), jnp.where(b_ends_it, a, b)
    a = jnp.abs(a)

    def add_term(i: Any, state: Any) -> Any:
        total, term = state
        term *= -(a - i + 1) / (c + i - 1) * (b + i - 1) / i * x
        return total + term, term

    one = jnp.array(1, dtype=x.dtype)
    return lax.fori_loop(jnp.array(1, dtype=a.dtype), a + 1, add_term, (one, one))[0]


def _finite_part(a: Any, b: Any, d2: Any, e: Any, s: Any, steps: Any) -> Any:
    """Return the sum of the first `steps` terms of a series in s = 1 - x, where `steps` is |c - a - b|."""

    def add_term(i: Any, state: Any) -> Any:
        a, b, d2, e, p, s, t, total = state
        r = 1.0 - e + t
        p *= s * (a + t + d2) * (b + t + d2) / r
        t += 1.0
        p /= t
        return a, b, d2, e, p, s, t, total + p

    one, zero = jnp.array(1, dtype=s.dtype), jnp.array(0, dtype=s.dtype)
    return lax.fori_loop(1, steps, add_term, (a, b, d2, e, one, s, zero, one))[-1]


def _powers_of_1_minus_x(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return 2F1 near x = 1, for a whole c - a - b, as a series of 1 - x with digamma functions and a logarithm."""
    precision = dtypes.finfo(x.dtype).eps
    d, s = c - a - b, 1 - x
    whole = jnp.round(d)
    e = jnp.where(whole >= 0, d, -d)
    d1 = jnp.where(whole >= 0, d, jnp.array(0, dtype=d.dtype))
    d2 = jnp.where(whole >= 0, jnp.array(0, dtype=d.dtype), d)
    steps = jnp.where(whole >= 0, whole, -whole).astype("int32")
    log = jnp.log(s)
    y = digamma(1.0) + digamma(1.0 + e) - digamma(a + d1) - digamma(b + d1) - log
    y /= gamma(e + 1.0)
    p = (a + d1) * (b + d1) * s / gamma(e + 2.0)

    def goes_on(state: Any) -> Any:
        _, _, _, _, _, _, q, _, _, t, y = state
        return (t < _MOST_TERMS) & (jnp.abs(q) >= precision * jnp.abs(y))

    def add_term(state: Any) -> Any:
        a, log, b, d1, e, p, q, r, s, t, y = state
        r = digamma(1.0 + t) + digamma(1.0 + t + e) - digamma(a + t + d1) - digamma(b + t + d1) - log
        q = p * r
        y += q
        p *= s * (a + t + d1) / (t + 1.0)
        p *= (b + t + d1) / (t + 1.0 + e)
        t += 1.0
        return a, log, b, d1, e, p, q, r, s, t, y

    zero, one = jnp.array(0, dtype=x.dtype), jnp.array(1, dtype=x.dtype)
    y = lax.while_loop(goes_on, add_term, (a, log, b, d1, e, p, y, zero, s, one, y))[-1]
    has_no_finite_part = whole == 0
    without_finite_part = y * gamma(c) / (gamma(a) * gamma(b))
    finite = _finite_part(a, b, d2, e, s, steps)
    p = gamma(c)
    finite *= gamma(e) * p / (gamma(a + d1) * gamma(b + d1))
    y *= p / (gamma(a + d2) * gamma(b + d2))
    y = jnp.where((steps & 1) != 0, -y, y)
    q = s**whole
    return jnp.where(has_no_finite_part, without_finite_part, jnp.where(whole > 0, y * q + finite, y + finite * q))


def _one_of_the_series(a: Any, b: Any, c: Any, x: Any) -> Any:
    nearly = dtypes.finfo(x.dtype).eps * _NEARLY
    d = c - a - b
    whole_a, whole_b, whole_d = jnp.round(a), jnp.round(b), jnp.round(d)
    a_ends_it = (a <= 0) & (jnp.abs(a - whole_a) < nearly)
    b_ends_it = (b <= 0) & (jnp.abs(b - whole_b) < nearly)
    ends = a_ends_it | b_ends_it
    goes_on = ~ends
    which = jnp.where((x > _NEAR_1) & goes_on, jnp.where(jnp.abs(d - whole_d) >= nearly, 0, 1), jnp.where(ends, 2, 0))
    return lax.select_n(
        which, _gauss_series(a, b, c, x), _powers_of_1_minus_x(a, b, c, x), _series_that_ends(a, b, c, x)
    )


@custom_jvp
@jit
@jnp.vectorize
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return Gauss's hypergeometric function 2F1(a, b; c; x) of real numbers; as in JAX, mostly infinity beyond x = 1."""
    a, b, c, x = promoted("hyp2f1", a, b, c, x)
    nearly = dtypes.finfo(x.dtype).eps * _NEARLY
    d, s, ca, cb = c - a - b, 1 - x, c - a, c - b
    whole = jnp.round(d)
    cases = [
        ((x == 0) | (((a == 0) | (b == 0)) & (c != 0)), 0),
        ((c == 0) | ((c < 0) & (c % 1 == 0)), 1),
        ((d <= -1) & ~((jnp.abs(d - whole) >= nearly) & (s < 0)), 2),
        ((d <= 0) & (x == 1), 1),
        ((x < 1) & (b == c), 3),
        ((x < 1) & (a == c), 4),
        (x > 1, 1),
        (x == 1, 5),
    ]
    which: Any = 6
    for is_case, number in reversed(cases):
        which = jnp.where(is_case, number, which)
    return lax.select_n(
        which,
        jnp.array(1, dtype=x.dtype),
        jnp.array(np.inf, dtype=x.dtype),
        s**d * _one_of_the_series(ca, cb, c, x),
        s ** (-a),
        s ** (-b),
        gamma(c) * gamma(d) / (gamma(ca) * gamma(cb)),
        _one_of_the_series(a, b, c, x),
    )


def _ratio_of_2f1(a: Any, b: Any, c: Any, x: Any) -> Callable[[Any], Any]:
    return lambda k: (a + k) * (b + k) / (c + k) / (k + 1) * x


@jit
@jnp.vectorize
def _hyp2f1_a_derivative(a: Any, b: Any, c: Any, x: Any) -> Any:
    return _sum(x, 0, a * b / c * x, _ratio_of_2f1(a, b, c, x), lambda k: digamma(a + k) - digamma(a))


@jit
@jnp.vectorize
def _hyp2f1_b_derivative(a: Any, b: Any, c: Any, x: Any) -> Any:
    return _sum(x, 0, a * b / c * x, _ratio_of_2f1(a, b, c, x), lambda k: digamma(b + k) - digamma(b))


@jit
@jnp.vectorize
def _hyp2f1_c_derivative(a: Any, b: Any, c: Any, x: Any) -> Any:
    return _sum(x, 0, a * b / c * x, _ratio_of_2f1(a, b, c, x), lambda k: digamma(c) - digamma(c + k))


@jit
def _hyp2f1_x_derivative(a: Any, b: Any, c: Any, x: Any) -> Any:
    return a * b / c * hyp2f1(a + 1, b + 1, c + 1, x)


hyp2f1.defjvps(
    lambda a_dot, ans, a, b, c, x: _hyp2f1_a_derivative(a, b, c, x) * a_dot,
    lambda b_dot, ans, a, b, c, x: _hyp2f1_b_derivative(a, b, c, x) * b_dot,
    lambda c_dot, ans, a, b, c, x: _hyp2f1_c_derivative(a, b, c, x) * c_dot,
    lambda x_dot, ans, a, b, c, x: _hyp2f1_x_derivative(a, b, c, x) * x_dot,
)
