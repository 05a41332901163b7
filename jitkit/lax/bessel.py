"""Computes exp(-|x|) I0(x), of the modified Bessel function of the first kind and of order 0, and the derivatives of
this function and of exp(-|x|) I1(x).

Source: i0.c of the Cephes library (S. Moshier): two Chebyshev series, for |x| up to 8 and beyond. Single precision
needs the last terms only.

JAX: jax/_src/lax/special.py:bessel_i0e_impl
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..interpreters.ad_rules import defjvp
from ..interpreters.mlir import LoweringContext
from .convert import convert_element_type
from .creation import full_like
from .elementwise import abs, bessel_i1e, bessel_i1e_p, div, sign, sqrt
from .elementwise_rules import FLOAT, unary
from .powers import reciprocal
from .reducers import inline_function
from .selection import select

_UP_TO_8 = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15,
    -1.16853328779934516808e-14, 7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12,
    -1.72682629144155570723e-11, 9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7, 1.11738753912010371815e-6,
    -4.41673835845875056359e-6, 1.64484480707288970893e-5, -5.75419501008210370398e-5, 1.88502885095841655729e-4,
    -5.76375574538582365885e-4, 1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2, 1.71620901522208775349e-1,
    -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip
_BEYOND_8 = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17, 3.46122286769746109310e-17,
    -2.82762398051658348494e-16, -3.42548561967721913462e-16, 1.77256013305652638360e-15, 3.81168066935262242075e-15,
    -9.55484669882830764870e-15, -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11, -3.14991652796324136454e-11,
    1.18891471078464383424e-11, 4.94060238822496958910e-10, 3.39623202570838634515e-9, 2.26666899049817806459e-8,
    2.04891858946906374183e-7, 2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip


def _chebyshev(x: Any, coefficients: Sequence[float]) -> Any:
    """Return the sum of the Chebyshev series with these coefficients, highest first, at x / 2, by Clenshaw's recurrence."""
    zero = full_like(x, 0)
    before, last, now = zero, zero, zero
    for c in coefficients:
        before, last = last, now
        now = x * last - before + full_like(x, c)
    return 0.5 * (now - before)


def _i0e(x: Any) -> list[Any]:
    if x.dtype not in (np.float32, np.float64):
        return [convert_element_type(_i0e(convert_element_type(x, np.float32))[0], x.dtype)]
    terms = (18, 7) if x.dtype == np.float32 else (len(_UP_TO_8), len(_BEYOND_8))
    x = abs(x)
    half, two, most = (full_like(x, value) for value in (0.5, 2.0, 32.0))
    small = _chebyshev(half * x - two, _UP_TO_8[-terms[0] :])
    large = div(_chebyshev(most / x - two, _BEYOND_8[-terms[1] :]), sqrt(x))
    return [select(x <= 8.0, small, large)]


def _lower(ctx: LoweringContext, x: str) -> str:
    return inline_function(ctx, _i0e, [x], ctx.avals_in)[0]


bessel_i0e, bessel_i0e_p = unary("bessel_i0e", FLOAT, _lower, "exp(-|x|) I0(x), of Bessel's I0.")


def _jvp_i1e(g: Any, out: Any, x: Any) -> Any:
    """JVP rule: i1e(x) = exp(-|x|) I1(x), so its derivative is i0e(x) - i1e(x) / x - sign(x) i1e(x); at 0 it is 1/2."""
    eps = dtypes.finfo(dtypes.dtype(x)).eps
    is_not_tiny = abs(x) > eps
    safe = select(is_not_tiny, x, full_like(x, eps))
    slope = bessel_i0e(safe) - out * (sign(safe) + reciprocal(safe))
    return g * select(is_not_tiny, slope, full_like(x, 0.5))


defjvp(bessel_i0e_p, lambda g, out, x: g * (bessel_i1e(x) - sign(x) * out))
defjvp(bessel_i1e_p, _jvp_i1e)
