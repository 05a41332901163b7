"""Computes the logarithm of the beta function, even if differences of `lgamma` would lose all digits.

Names and constants are those of DiDonato and Morris, "Algorithm 708: Significant digit computation of the incomplete
beta function ratios" (1992).

JAX: jax/_src/third_party/scipy/betaln.py:betaln
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ...numpy import maximum, minimum, where

_C = (
    0.833333333333333e-01, -0.277777777760991e-02, 0.793650666825390e-03,
    -0.595202931351870e-03, 0.837308034031215e-03, -0.165322962780713e-02,
)  # fmt: skip


def log_beta(a: Any, b: Any) -> Any:
    """Return log(B(a, b)) of positive numbers."""
    a, b = minimum(a, b), maximum(a, b)
    of_small = lax.lgamma(a) + (lax.lgamma(b) - lax.lgamma(a + b))
    of_large = lax.lgamma(a) + _log_quotient(a, b)
    return where(b < 8, of_small, of_large)


def _log_quotient(a: Any, b: Any) -> Any:
    """Return log(gamma(b) / gamma(a + b)), for b >= 8 and a <= b."""
    h = a / b
    c = h / (1 + h)
    x = h / (1 + h)
    d = b + (a - 0.5)
    square = x * x
    sums = [1.0 + (x + square)]  # (1 - x**n) / (1 - x), for n = 3, 5, 7, 9, 11
    for _ in range(4):
        sums.append(1.0 + (x + square * sums[-1]))
    s3, s5, s7, s9, s11 = sums
    t = (1.0 / b) ** 2
    w = ((((_C[5] * s11 * t + _C[4] * s9) * t + _C[3] * s7) * t + _C[2] * s5) * t + _C[1] * s3) * t + _C[0]
    w = w * (c / b)
    u = d * lax.log1p(a / b)
    v = a * (lax.log(b) - 1.0)
    return where(u <= v, (w - v) - u, (w - u) - v)
