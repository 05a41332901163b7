"""The incomplete beta function: the share of the integral of t**(a - 1) (1 - t)**(b - 1) over (0, 1) that lies below x.

It is the continued fraction of DLMF 8.17.22, times x**a (1 - x)**b / (a B(a, b)):

    1 / (1 + d1 / (1 + d2 / (1 + ...)))    d of an odd number 2m + 1:   -(a + m) (a + b + m) x / ((a + 2m) (a + 2m + 1))
                                           d of an even number 2m:      m (b - m) x / ((a + 2m - 1) (a + 2m))

It converges fast where x < (a + 1) / (a + b + 2). Elsewhere compute the share above x: the same function of b, a and 1
- x. Lentz's algorithm evaluates the fraction from its front, with two quotients of neighbouring convergents, c and d,
which are kept away from 0.

JAX: jax/_src/lax/special.py:regularized_incomplete_beta_impl
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..core import dtypes
from ..interpreters.ad_rules import defjvp
from ..interpreters.mlir import LoweringContext
from .control_flow.loops import while_loop
from .convert import convert_element_type
from .creation import full_like
from .elementwise import abs, exp, lgamma, log, log1p, ne
from .elementwise_rules import FLOAT, nary_primitive
from .reducers import inline_function
from .reduction import reduce_or
from .selection import select
from .shaping import broadcast_in_dim

_MOST_STEPS = {"float32": 200, "float64": 600}


def _numerator(n: Any, a: Any, b: Any, x: Any) -> Any:
    """Return partial numerator number n: 1 for n = 1, then d1, d2, ..."""
    n = broadcast_in_dim(n, x.shape, ())
    whole = (n - 1) // 2
    m = convert_element_type(whole, x.dtype)
    first = -(a + b) * x / (a + 1)  # the next line with m = 0 would be 0 / 0 for a tiny `a`
    odd = select(whole == 0, first, -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)))
    even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
    return select(n == 1, full_like(x, 1), select(n % 2 == 0, odd, even))


def _fraction(a: Any, b: Any, x: Any) -> Any:
    """Return the value of the continued fraction, with the steps that the slowest element needs, at most `_MOST_STEPS`."""
    tiny = np.asarray(dtypes.finfo(x.dtype).eps / 2, x.dtype)
    one = full_like(x, 1)

    def off_zero(v: Any) -> Any:
        return select(abs(v) < tiny, full_like(v, tiny), v)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        n, _, c, d, value = state
        numerator = _numerator(n, a, b, x)
        c = off_zero(one + numerator / c)
        d = 1 / off_zero(one + numerator * d)
        change = c * d
        is_far = abs(change - 1) >= tiny
        return n + 1, reduce_or(is_far, range(is_far.ndim)), c, d, value * change

    def goes_on(state: tuple[Any, ...]) -> Any:
        return (state[0] < _MOST_STEPS[x.dtype.name]) & state[1]

    start = full_like(x, tiny)
    state = np.int32(1), np.bool_(True), start, full_like(x, 0), start
    return while_loop(goes_on, step, state)[-1]


def _part_below(a: Any, b: Any, x: Any) -> Any:
    none, inf = full_like(a, 0), float("inf")
    all_below, all_above = (a == 0) | (b == inf), (b == 0) | (a == inf)  # the distribution lies at 0, or at 1
    at_0, at_1 = x == 0, x == 1
    is_0 = (all_above & ~at_1) | (all_below & at_0)
    is_1 = (all_below & ~at_0) | (all_above & at_1)
    is_nan = (a < 0) | (b < 0) | (x < 0) | (x > 1) | (all_below & all_above)
    is_nan |= ne(a, a) | ne(b, b) | ne(x, x)

    is_fast = x < (a + 1) / (a + b + 2)
    a, b, x = select(is_fast, a, b), select(is_fast, b, a), select(is_fast, x, 1 - x)
    smallest = np.asarray(dtypes.finfo(x.dtype).tiny * 2, x.dtype)
    without_a = lgamma(b) - lgamma(a + b)
    factor = select(
        a < smallest,  # a * gamma(a) is 1 there
        exp(log1p(-x) * b - without_a),
        exp(log(x) * a + log1p(-x) * b - (lgamma(a) + without_a)) / a,
    )
    out = _fraction(a, b, x) * factor
    out = select(is_fast, out, 1 - out)
    out = select(is_1, full_like(a, 1), select(is_0, none, out))
    return select(is_nan, full_like(a, float("nan")), out)


def _lower_betainc(ctx: LoweringContext, a: str, b: str, x: str) -> str:
    def compute(*operands: Any) -> list[Any]:
        shape, dtype = np.broadcast_shapes(*(v.shape for v in operands)), operands[0].dtype
        wide = np.float32 if dtype.itemsize < 4 else dtype
        operands = tuple(convert_element_type(broadcast_in_dim(v, shape, tuple(range(v.ndim))), wide) for v in operands)
        return [convert_element_type(_part_below(*operands), dtype)]

    return inline_function(ctx, compute, [a, b, x], ctx.avals_in)[0]


regularized_incomplete_beta_p = nary_primitive("regularized_incomplete_beta", (FLOAT, FLOAT, FLOAT), _lower_betainc)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the share of the beta integral of shapes `a` and `b` that lies below x, for x between 0 and 1; nan
    outside.

    Elementwise, for floats; scalars broadcast. It has a derivative with respect to x only.

    Raises:
      TypeError: for other dtypes, for different ones, and for shapes that do not fit.
    """
    return regularized_incomplete_beta_p.bind(a, b, x)


def _by_x(g: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return exp((b - 1) * log1p(-x) + (a - 1) * log(x) - log_beta) * g


def _by_shapes(g: Any, out: Any, a: Any, b: Any, x: Any) -> NoReturn:
    raise ValueError(
        "Betainc gradient with respect to a and b not supported.\n"
        "Take the derivative with respect to x alone (`argnums`), or hold a and b with `lax.stop_gradient`."
    )


defjvp(regularized_incomplete_beta_p, _by_shapes, _by_shapes, _by_x)
