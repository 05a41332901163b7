"""The Poisson distribution: the number of events where `mu` are expected, plus `loc`.

JAX: jax/_src/scipy/stats/poisson.py:logpmf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...base.jax_version import since
from ...numpy import exp, floor, logical_or, round, where
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import gammaincc, gammaln, xlogy


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability."""
    k, mu, loc = promoted("poisson.logpmf", k, mu, loc)
    zero, x = constant(k, 0), lax.sub(k, loc)
    log_probability = xlogy(x, mu) - gammaln(x + 1) - mu
    whole = x if since(0, 12) else k
    return where(logical_or(lax.lt(x, zero), lax.ne(round(whole), whole)), -np.inf, log_probability)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """Return the probability."""
    return exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """Return the probability of k events at most."""
    k, mu, loc = promoted("poisson.cdf", k, mu, loc)
    zero, x = constant(k, 0), lax.sub(k, loc)
    at_most = gammaincc(floor(1 + x), mu)
    return where(lax.lt(x, zero), zero, at_most)
