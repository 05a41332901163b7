"""Hurwitz's zeta function with its derivatives, and Bernoulli's numbers, the coefficients of sums of powers.

JAX: jax/_src/scipy/special.py:zeta
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...core.tracer import concrete_or_error, value_if_known
from ...custom_derivatives import custom_jvp
from ...derivatives.linear_maps import jvp
from ...numpy import arange, array, clip, cumprod, expand_dims, zeros
from ...numpy import sum as sum_
from ..arguments import promoted

# Bernoulli's numbers B_2, B_4, ..., B_32, as numerators and denominators
_BERNOULLI = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330),
    (854513, 138), (-236364091, 2730), (8553103, 6), (-23749461029, 870), (8615841276005, 14322), (-7709321041217, 510),
)  # fmt: skip
_DIVISORS = [math.factorial(2 * i) * below / above for i, (above, below) in enumerate(_BERNOULLI, 1)]


@custom_jvp
def zeta(x: Any, q: Any = None) -> Any:
    """Return Hurwitz's zeta: the sum of (k + q)**-x over k >= 0; nan for x < 1. Raise NotImplementedError without q, as in JAX."""
    _check_has_offset(q)
    return lax.zeta(*promoted("zeta", x, q))


def _check_has_offset(q: Any) -> None:
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta function."
        )


def _by_series(x: Any, q: Any = None) -> Any:
    """Return zeta as a series that can be differentiated: Johansson, "Rigorous high-precision computation of the
    Hurwitz zeta function and its derivatives", Numerical Algorithms 69.2 (2015), equation (5).
    """
    _check_has_offset(q)
    s, a = promoted("zeta", x, q)
    scalar = a.dtype.type
    n_terms = scalar(8) if a.dtype == np.float32 else scalar(16)
    s_last, a_last = expand_dims(s, -1), expand_dims(a, -1)
    k = expand_dims(np.arange(n_terms, dtype=a.dtype), tuple(range(a.ndim)))
    first_terms = sum_((a_last + k) ** -s_last, -1)
    integral = lax.div((a + n_terms) ** (scalar(1) - s), s - scalar(1))
    factor = (a + n_terms) ** -s
    m = expand_dims(np.arange(2 * n_terms, dtype=a.dtype), tuple(range(s.ndim)))
    ratios = (s_last + m) / (a_last + n_terms)
    products = clip(cumprod(ratios, -1)[..., ::2], max=dtypes.finfo(a.dtype).max)
    divisors = np.expand_dims(np.array(_DIVISORS[: products.shape[-1]], dtype=a.dtype), tuple(range(a.ndim)))
    products = products / divisors
    tail = factor * (scalar(0.5) + products.sum(-1))
    return first_terms + integral + tail


zeta.defjvp(functools.partial(jvp, _by_series))


def bernoulli(n: int) -> Any:
    """Return Bernoulli's numbers B_0, ..., B_n, with B_1 = -1/2. Raise ValueError for a negative n.

    From B_4 on they are computed from values of zeta: B_2k = (-1)^(k+1) 2 (2k)! zeta(2k) / (2 pi)^2k.
    """
    n = operator.index(concrete_or_error(value_if_known, n, "Argument n of bernoulli"))
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    first = array([1, -1 / 2, 1 / 6])
    if n < 3:
        return first[: n + 1]
    numbers = zeros(n + 1).at[:3].set(first)
    m = arange(4, n + 1, 2, dtype=numbers.dtype)
    scales = (1.0 / np.pi**2) * cumprod(-(m - 1) * m / 4 / np.pi**2)
    k = arange(2, 50, dtype=numbers.dtype)  # 50**-4 is lost beside 1 in float32
    rest_of_zeta = sum_(k[:, None] ** -m[None, :], axis=0)
    return numbers.at[4::2].set(scales * (1 + rest_of_zeta))
