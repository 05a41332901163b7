"""Differentiates powers: by the base, and by the exponent.

The derivative is 0 instead of nan in two cases: by the base where the exponent is the integer 0, and by the exponent
where the base is 0.

JAX: jax/_src/lax/lax.py:_pow_jvp_lhs
"""

from __future__ import annotations

from typing import Any

from ..core import dtypes
from ..interpreters.ad_rules import defjvp
from .convert import convert_element_type
from .creation import full_like
from .elementwise import eq, log, mul, sub
from .elementwise_derivatives import broadcast_tangent, not_zero
from .elementwise_rules import INTEGER
from .powers import integer_pow, integer_pow_p, pow, pow_p
from .selection import select
from .utils import broadcast_shapes, constant_like, is_a


def _jvp_base(g: Any, out: Any, x: Any, y: Any) -> Any:
    """Return x's part of the result's tangent, by the derivative y x^(y - 1); for the integer y = 0 it is 0, even at x = 0."""
    integer, dtype = is_a(dtypes.dtype(y), *INTEGER), dtypes.result_type(x, y)
    x, y = convert_element_type(x, dtype), convert_element_type(y, dtype)
    if not integer:
        return mul(g, mul(y, pow(x, sub(y, full_like(y, 1)))))
    shape = broadcast_shapes(x.shape, y.shape)
    x, y = broadcast_tangent(shape, x), broadcast_tangent(shape, y)
    is_zero = eq(y, constant_like(y, 0))
    power = mul(not_zero(y), pow(x, sub(y, full_like(y, 1))))
    return mul(g, select(is_zero, full_like(y, 0), power))


def _jvp_exponent(g: Any, out: Any, x: Any, y: Any) -> Any:
    """Return y's part of the result's tangent, by the derivative x^y log(x); at x = 0 it is 0."""
    return convert_element_type(mul(g, mul(log(not_zero(x)), out)), dtypes.dtype(y))


def _jvp_integer_pow(g: Any, out: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return full_like(g, 0)
    if y == 1:
        return g
    return mul(g, mul(constant_like(x, y), x if y == 2 else integer_pow(x, y - 1)))


defjvp(pow_p, _jvp_base, _jvp_exponent)


defjvp(integer_pow_p, _jvp_integer_pow)
