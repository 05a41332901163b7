"""Differentiates choices between values: `select_n`, `clamp`, `max` and `min`.

The result has the tangent of the chosen value; where x and y of `max(x, y)` are equal, each gives half.

JAX: jax/_src/lax/lax.py:_select_jvp
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.jax_version import since
from ..core import dtypes
from ..interpreters.ad_rules import Zero, defjvp, is_undefined, no_cotangents, primitive_jvps, primitive_transposes
from .creation import full_like
from .elementwise import bitwise_and, div, eq, gt, lt, max_p, min_p, mul
from .selection import clamp, clamp_p, select, select_n, select_n_p
from .utils import constant_like


def _jvp_select(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    which, out, dots = primals[0], select_n(*primals), tangents[1:]
    zeros = full_like(next(t for t in dots if type(t) is not Zero), 0)
    return out, select_n(which, *(zeros if type(t) is Zero else t for t in dots))


def _transpose_select(ct: Any, which: Any, *cases: Any) -> list[Any]:
    if type(ct) is Zero:
        return no_cotangents((which, *cases))
    # the condition may be a Python bool, too: `x > 0`, where x is a Python float
    zeros, is_bool = full_like(ct, 0), dtypes.dtype(which) == np.bool_
    if not is_bool and since(0, 12):
        which = clamp(constant_like(which, 0), which, constant_like(which, len(cases) - 1))

    def of_case(i: int) -> Any:
        if is_bool:
            return select(which, ct, zeros) if i else select(which, zeros, ct)
        return select(eq(which, constant_like(which, i)), ct, zeros)

    return [None, *(of_case(i) if is_undefined(case) else None for i, case in enumerate(cases))]


primitive_jvps[select_n_p] = _jvp_select


primitive_transposes[select_n_p] = _transpose_select


defjvp(
    clamp_p,
    lambda g, out, low, x, high: select(bitwise_and(gt(low, x), lt(low, high)), g, full_like(x, 0)),
    lambda g, out, low, x, high: select(bitwise_and(gt(x, low), lt(x, high)), g, full_like(x, 0)),
    lambda g, out, low, x, high: select(lt(high, x), g, full_like(x, 0)),
)


def _share(x: Any, extreme: Any, y: Any) -> Any:
    """Return the factor of x's tangent in the tangent of `extreme`, the maximum or minimum of x and y: 1 where
    `extreme` is x, 0 where it is y, 1/2 where x and y are equal.
    """
    return div(
        select(eq(x, extreme), full_like(extreme, 1), full_like(extreme, 0)),
        select(eq(y, extreme), full_like(extreme, 2), full_like(extreme, 1)),
    )


def _share_of_greater(x: Any, y: Any) -> Any:
    """Return the factor of x's tangent in the maximum's tangent, as JAX since 0.11 has it: 0 where x or y is nan."""
    is_greater, is_equal = gt(x, y), eq(x, y)
    one, zero, half = (full_like(is_greater, share, dtypes.dtype(x)) for share in (1, 0, 0.5))
    return select(is_greater, one, select(is_equal, half, zero))


if since(0, 11):
    defjvp(
        max_p,
        lambda g, out, x, y: mul(g, _share_of_greater(x, y)),
        lambda g, out, x, y: mul(g, _share_of_greater(y, x)),
    )
    defjvp(
        min_p,
        lambda g, out, x, y: mul(g, _share_of_greater(y, x)),
        lambda g, out, x, y: mul(g, _share_of_greater(x, y)),
    )
else:
    for _extremum in (max_p, min_p):
        defjvp(
            _extremum, lambda g, out, x, y: mul(g, _share(x, out, y)), lambda g, out, x, y: mul(g, _share(y, out, x))
        )
