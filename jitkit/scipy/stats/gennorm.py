"""The generalised normal distribution, whose density falls like exp(-|x| ** beta).

JAX: jax/_src/scipy/stats/gennorm.py:logpdf
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ..arguments import promoted


def logpdf(x: Any, beta: Any) -> Any:
    """Return the logarithm of the probability density."""
    x, beta = promoted("gennorm.logpdf", x, beta)
    return lax.log(0.5 * beta) - lax.lgamma(1 / beta) - lax.abs(x) ** beta


def cdf(x: Any, beta: Any) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, beta = promoted("gennorm.cdf", x, beta)
    return 0.5 * (1 + lax.sign(x) * lax.igamma(1 / beta, lax.abs(x) ** beta))


def pdf(x: Any, beta: Any) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, beta))
