"""Functions implemented as loops: gcd, lcm, polyval.

JAX: jax/_src/numpy/polynomial.py:polyval
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..pjit.jit import jit
from . import reductions
from .arithmetic import floor_divide
from .promotion import broadcast_arrays, promote_dtypes
from .selection import where
from .ufuncs import abs as abs_
from .ufuncs import constant, multiply
from .util import ensure_arraylikes


@jit
def gcd(x1: Any, x2: Any) -> Any:
    """Return the greatest common divisors of integers, by Euclid's algorithm. Raise ValueError for operands of another type."""
    x1, x2 = promote_dtypes(*ensure_arraylikes("gcd", x1, x2))
    if not dtypes.issubdtype(x1.dtype, np.integer):
        raise ValueError("Arguments to jax.numpy.gcd must be integers.")
    x1, x2 = broadcast_arrays(x1, x2)
    return lax.while_loop(_gcd_cond_fn, _gcd_body_fn, (abs_(x1), abs_(x2)))[0]


def _gcd_cond_fn(pair: tuple[Any, Any]) -> Any:
    return reductions.any(pair[1] != 0)


def _gcd_body_fn(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    x1, x2 = pair
    goes_on = x2 != 0  # elements that are done wait for the others
    x1, x2 = where(goes_on, x2, x1), where(x2 != 0, lax.rem(x1, x2), constant(x2, 0))
    return where(x1 < x2, x2, x1), where(x1 < x2, x1, x2)


@jit
def lcm(x1: Any, x2: Any) -> Any:
    """Return the least common multiples of integers, 0 where one of them is 0. Raise ValueError for operands of another type."""
    x1, x2 = promote_dtypes(*ensure_arraylikes("lcm", x1, x2))
    x1, x2 = abs_(x1), abs_(x2)
    if not dtypes.issubdtype(x1.dtype, np.integer):
        raise ValueError("Arguments to jax.numpy.lcm must be integers.")
    d = gcd(x1, x2)
    return where(d == 0, constant(d, 0), multiply(x1, floor_divide(x2, d)))


@jit(static_argnames=("unroll",))
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """Return the values at x of the polynomial with the coefficients `p`, the highest power first, by Horner's scheme.
    One iteration of the loop takes `unroll` coefficients.
    """
    p, x = promote_dtypes(*ensure_arraylikes("polyval", p, x))
    shape = lax.broadcast_shapes(p.shape[1:], x.shape)
    start = lax.full_like(x, 0, shape=shape, dtype=x.dtype)
    value, _ = lax.scan(lambda y, c: (y * x + c, None), start, p, unroll=unroll)
    return value
