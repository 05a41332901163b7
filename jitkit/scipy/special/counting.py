"""Counts possibilities: factorials, binomial coefficients, rising powers, as floats.

JAX: jax/_src/scipy/special.py:comb
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ...custom_derivatives import custom_jvp
from ...numpy import array, where
from ..arguments import promoted, refuse_complex
from .gamma_functions import digamma, gamma


def factorial(n: Any, exact: bool = False) -> Any:
    """Return n!, as a float; 0 for negative numbers. Raise NotImplementedError with `exact`."""
    if exact:
        raise NotImplementedError("factorial with exact=True")
    (n,) = promoted("factorial", n)
    return where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:  # scipy's names
    """Return the number of ways to choose k of N things, with `repetition` or without; 0 if there is none."""
    n, k = promoted("comb", N, k)
    if repetition:
        return where((k == 0) & (n >= 0), 1.0, comb(n + k - 1, k, repetition=False))
    possible = (k <= n) & (n >= 0) & (k >= 0)
    n, k = where(possible, n, 0.0), where(possible, k, 0.0)
    count = lax.exp(lax.lgamma(n + 1) - lax.lgamma(k + 1) - lax.lgamma(n + 1 - k))
    return where(possible, count, 0.0)


@custom_jvp
def poch(z: Any, m: Any) -> Any:
    """Return gamma(z + m) / gamma(z), or z (z + 1) ... (z + m - 1) for a whole m. Raise ValueError for complex numbers."""
    z, m = promoted("poch", z, m)
    refuse_complex("jnp.poch", z)
    return where(m == 0.0, array(1, dtype=z.dtype), gamma(z + m) / gamma(z))


poch.defjvps(
    lambda z_dot, ans, z, m: (digamma(z + m) - digamma(z)) * poch(z, m) * z_dot,
    lambda m_dot, ans, z, m: digamma(z + m) * poch(z, m) * m_dot,
)
