"""The Bernoulli distribution: 1 if a trial with success probability `p` succeeds, else 0; plus `loc`.

JAX: jax/_src/scipy/stats/bernoulli.py:logpmf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import exp, isnan, logical_and, logical_or, select, where
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import xlog1py, xlogy


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability."""
    k, p, loc = promoted("bernoulli.logpmf", k, p, loc)
    zero, one = constant(k, 0), constant(k, 1)
    x = lax.sub(k, loc)
    log_probability = xlogy(x, p) + xlog1py(lax.sub(one, x), -p)
    return where(logical_or(lax.lt(x, zero), lax.gt(x, one)), -np.inf, log_probability)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability."""
    return exp(logpmf(k, p, loc))


def cdf(k: Any, p: Any) -> Any:
    """Return the probability of k or less; nan if p is not a probability."""
    k, p = promoted("bernoulli.cdf", k, p)
    zero, one = constant(k, 0), constant(k, 1)
    conditions = [
        isnan(k) | isnan(p) | (p < zero) | (p > one),
        lax.lt(k, zero),
        logical_and(lax.ge(k, zero), lax.lt(k, one)),
        lax.ge(k, one),
    ]
    return select(conditions, [np.nan, zero, one - p, one])


def ppf(q: Any, p: Any) -> Any:
    """Return the smallest k with `cdf` at least q; nan if p or q is not a probability."""
    q, p = promoted("bernoulli.ppf", q, p)
    zero, one = constant(q, 0), constant(q, 1)
    is_wrong = isnan(q) | isnan(p) | (p < zero) | (p > one) | (q < zero) | (q > one)
    return where(is_wrong, np.nan, where(lax.le(q, one - p), zero, one))
