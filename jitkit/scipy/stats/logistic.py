"""The logistic distribution: its `cdf` is the logistic function.

JAX: jax/_src/scipy/stats/logistic.py:logpdf
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ...numpy import logaddexp
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import expit, logit


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, loc, scale = promoted("logistic.logpdf", x, loc, scale)
    x = lax.div(lax.sub(x, loc), scale)
    two = constant(x, 2)
    half = lax.div(x, two)
    return lax.sub(lax.mul(lax.neg(two), logaddexp(half, lax.neg(half))), lax.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, loc, scale = promoted("logistic.cdf", x, loc, scale)
    return expit(lax.div(lax.sub(x, loc), scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    x, loc, scale = promoted("logistic.sf", x, loc, scale)
    return expit(lax.neg(lax.div(lax.sub(x, loc), scale)))


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile: the point with probability x below it."""
    x, loc, scale = promoted("logistic.ppf", x, loc, scale)
    return lax.add(lax.mul(logit(x), scale), loc)


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the point with probability x above it."""
    x, loc, scale = promoted("logistic.isf", x, loc, scale)
    return lax.add(lax.mul(lax.neg(logit(x)), scale), loc)
