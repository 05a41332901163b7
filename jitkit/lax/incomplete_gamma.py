"""Computes the incomplete gamma functions, the shares of the integral of t**(a - 1) exp(-t) that lie below and above x,
their derivatives in the parameter a, and derivatives of samples of the gamma distribution.

With p = x**a exp(-x) / gamma(a) there are two expansions, each used where it converges fast: a power series where x < a
or x < 1, for the share below x, and elsewhere a continued fraction for the share above (Cephes, S. Moshier, igam.c).
The derivatives with respect to `a` are computed beside the terms, step by step.

    below    p / a * (1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...)
    above    p * 1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...)))

When `a` changes, a sample x moves so that the share below it stays the same: its derivative is minus that of the share,
divided by the density p / x.

JAX: jax/_src/lax/special.py:igamma_impl
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import Primitive, dtypes
from ..interpreters.ad_rules import defjvp
from ..interpreters.mlir import LoweringContext
from .control_flow.loops import while_loop
from .convert import asarray, convert_element_type
from .creation import full_like
from .elementwise import abs, digamma, exp, lgamma, log, ne
from .elementwise_rules import FLOAT, binary
from .reducers import inline_function
from .reduction import reduce_or
from .selection import select
from .shaping import broadcast_in_dim

_MOST_STEPS = 2000
VALUE, DERIVATIVE, OF_SAMPLES = "value", "derivative", "derivative of samples"


def _any(flags: Any) -> Any:
    return reduce_or(flags, range(flags.ndim))


def _chosen(flags: Any, new: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(select(flags, a, b) for a, b in zip(new, old, strict=True))


def _series(a: Any, x: Any, p: Any, active: Any, what: str) -> Any:
    """Return the share below x, or the derivative that `what` names, by the power series, for the `active` elements;
    the loop ends when they are done.
    """
    eps = dtypes.finfo(x.dtype).eps

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        active, *before = state
        r, term, total, d_term, d_total = before
        r = r + 1
        d_term = d_term * (x / r) - term * x / (r * r)
        d_total = d_total + d_term
        term = term * (x / r)
        total = total + term
        is_far = term / total > eps if what == VALUE else abs(d_term / d_total) > eps
        return (active & is_far, *_chosen(active, (r, term, total, d_term, d_total), tuple(before)))

    one, zero = full_like(a, 1), full_like(a, 0)
    _, _, _, total, _, d_total = while_loop(lambda state: _any(state[0]), step, (active, a, one, one, zero, zero))
    if what == VALUE:
        return (total * p) / a
    d_log_p = log(x) - digamma(a + 1)
    if what == DERIVATIVE:
        return p * (total * d_log_p + d_total) / a
    return -(d_total + total * d_log_p) * x / a


class _Convergents(NamedTuple):
    """Numerator and denominator of two successive convergents of the continued fraction, and their derivatives."""

    p1: Any
    q1: Any
    p2: Any
    q2: Any
    dp1: Any
    dq1: Any
    dp2: Any
    dq2: Any


def _fraction(a: Any, x: Any, p: Any, active: Any, what: str) -> Any:
    """Return the share above x, by the continued fraction, or minus the derivative that `what` names."""
    eps = dtypes.finfo(x.dtype).eps

    def step(state: Any) -> Any:
        count, active, before = state
        ratio, error, y, z, d_ratio, *last = before
        of = _Convergents(*last)
        count = count + 1
        y, z = y + 1, z + 2
        yc = y * count
        numerator, denominator = of.p1 * z - of.p2 * yc, of.q1 * z - of.q2 * yc
        exists = ne(denominator, full_like(denominator, 0))
        found = numerator / denominator
        error = select(exists, abs((ratio - found) / found), full_like(found, 1))
        ratio = select(exists, found, ratio)
        dp = of.dp1 * z - of.p1 - of.dp2 * yc + of.p2 * count
        dq = of.dq1 * z - of.q1 - of.dq2 * yc + of.q2 * count
        d_found = select(exists, (dp - ratio * dq) / denominator, d_ratio)
        d_error = select(exists, abs(d_found - d_ratio), full_like(d_ratio, 1))
        after = _Convergents(numerator, denominator, of.p1, of.q1, dp, dq, of.dp1, of.dq1)
        too_large = abs(numerator) > 1 / full_like(numerator, eps)
        after = _Convergents(*(select(too_large, v * eps, v) for v in after))
        is_far = (error if what == VALUE else d_error) > eps
        return count, active & is_far, _chosen(active, (ratio, error, y, z, d_found, *after), before)

    one, zero = full_like(x, 1), full_like(x, 0)
    y = 1 - a
    z = x + y + 1
    numerator, denominator = x + 1, z * x
    ratio = numerator / denominator
    d_ratio = (zero - ratio * -x) / denominator
    start = _Convergents(numerator, denominator, one, x, zero, -x, zero, zero)
    state = np.zeros((), x.dtype), active, (ratio, one, y, z, d_ratio, *start)
    *_, found = while_loop(lambda state: (state[0] < _MOST_STEPS) & _any(state[1]), step, state)
    ratio, d_ratio = found[0], found[4]
    if what == VALUE:
        return ratio * p
    d_log_p = log(x) - digamma(a)
    if what == DERIVATIVE:
        return p * (ratio * d_log_p + d_ratio)
    return -((d_ratio + ratio * d_log_p) * x)


def _by_both(a: Any, x: Any, below: bool, what: str) -> Any:
    """Return the share below x, or above x without `below`, or its derivative that `what` names."""
    zero, nan = full_like(a, 0), full_like(a, float("nan"))
    is_nan = ne(a, a) | ne(x, x)
    x_is_zero, x_is_inf = x == 0, x == float("inf")
    outside = (x < 0) | ((a < 0) | ((a == 0) & x_is_zero) if what == VALUE else a <= 0) | is_nan
    p = a * log(x) - x - lgamma(a)
    vanishes = p < -log(full_like(p, dtypes.finfo(x.dtype).max))
    p = exp(p)
    by_fraction = (x >= 1) & (x > a) if what == VALUE else (x > 1) & (x > a)
    active = ~(outside | vanishes)
    if what == VALUE:
        active &= ~(x_is_inf | (x_is_zero if below else a == 0))
        if not below:
            by_fraction = ~((x < 1) | (x < a))
    else:
        active &= ~x_is_zero
    above = _fraction(a, x, p, active & by_fraction, what)
    series = _series(a, x, p, active & ~by_fraction, what)
    if what == VALUE and not below:
        out = select(by_fraction, above, 1 - series)
        out = select(x_is_inf | (a == 0), zero, out)
    else:
        out = select(by_fraction, (1 - above) if what == VALUE else -above, series)
        out = select(x_is_zero, zero, out)
        if what == VALUE:
            out = select(x_is_inf, full_like(a, 1), out)
    return select(outside, nan, out)


def _wide_enough(below: bool, what: str, a: Any, x: Any) -> Any:
    """Return the result of `_by_both` for arrays and scalars, broadcast, computed in at least 32 bits: the expansions
    need more than 16.
    """
    shape, dtype = np.broadcast_shapes(a.shape, x.shape), a.dtype
    wide = np.float32 if dtype.itemsize < 4 else dtype
    a, x = (convert_element_type(broadcast_in_dim(v, shape, tuple(range(v.ndim))), wide) for v in (a, x))
    return convert_element_type(_by_both(a, x, below, what), dtype)


def _lowering(below: bool, what: str) -> Callable[..., str]:
    def compute(a: Any, x: Any) -> list[Any]:
        return [_wide_enough(below, what, a, x)]

    def lower(ctx: LoweringContext, a: str, x: str) -> str:
        return inline_function(ctx, compute, [a, x], ctx.avals_in)[0]

    return lower


def _row(name: str, below: bool, what: str) -> tuple[Callable[[Any, Any], Any], Primitive]:
    return binary(name, FLOAT, _lowering(below, what), "")


_igamma, igamma_p = _row("igamma", True, VALUE)
_igammac, igammac_p = _row("igammac", False, VALUE)
_igamma_grad_a, igamma_grad_a_p = _row("igamma_grad_a", True, DERIVATIVE)


def igamma(a: Any, x: Any) -> Any:
    """Return the share of the gamma integral for a that lies below x, elementwise; nan for negative a or x, and if both
    are 0. Raise TypeError for anything but a float.
    """
    return _igamma(a, x)


def igammac(a: Any, x: Any) -> Any:
    """Return the share of the gamma integral for a that lies above x, elementwise; nan for negative a or x, and if both
    are 0. Raise TypeError for anything but a float.
    """
    return _igammac(a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """Return the derivative of igamma(a, x) with respect to a, elementwise. Raise TypeError for anything but a float."""
    return _igamma_grad_a(a, x)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """Return the derivative of a sample x of the gamma distribution with respect to its parameter a, both floats of one dtype."""
    return _wide_enough(True, OF_SAMPLES, asarray(a), asarray(x))


def _by_x(g: Any, a: Any, x: Any) -> Any:
    return g * exp(-x + (a - full_like(a, 1)) * log(x) - lgamma(a))


def _by_a(g: Any, a: Any, x: Any) -> Any:
    return g * igamma_grad_a(a, x)


def _negative(rule: Callable[..., Any], g: Any, a: Any, x: Any) -> Any:
    return -rule(g, a, x)


def _without_result(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda g, out, a, x: rule(g, a, x)


defjvp(igamma_p, *map(_without_result, (_by_a, _by_x)))
defjvp(igammac_p, *(_without_result(functools.partial(_negative, rule)) for rule in (_by_a, _by_x)))
