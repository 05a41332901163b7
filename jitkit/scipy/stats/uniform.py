"""The uniform distribution between `loc` and `loc + scale`.

JAX: jax/_src/scipy/stats/uniform.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import array, isnan, logical_or, select, where
from ..arguments import promoted


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, loc, scale = promoted("uniform.logpdf", x, loc, scale)
    inside = lax.neg(lax.log(scale))
    return where(logical_or(lax.gt(x, lax.add(loc, scale)), lax.lt(x, loc)), -np.inf, inside)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, loc, scale = promoted("uniform.cdf", x, loc, scale)
    zero, one = array(0, x.dtype), array(1, x.dtype)
    conditions = [lax.lt(x, loc), lax.gt(x, lax.add(loc, scale)), lax.ge(x, loc) & lax.le(x, lax.add(loc, scale))]
    return select(conditions, [zero, one, lax.div(lax.sub(x, loc), scale)])


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile: the point with probability q below it; nan for q outside [0, 1]."""
    q, loc, scale = promoted("uniform.ppf", q, loc, scale)
    return where(isnan(q) | (q < 0) | (q > 1), np.nan, lax.add(loc, lax.mul(scale, q)))
