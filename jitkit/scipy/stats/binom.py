"""The binomial distribution: how many of `n` trials succeed, each with probability `p`, plus `loc`.

JAX: jax/_src/scipy/stats/binom.py:logpmf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import logical_and, logical_or, where
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import gammaln, xlog1py, xlogy


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability."""
    k, n, p, loc = promoted("binom.logpmf", k, n, p, loc)
    y = lax.sub(k, loc)
    zero = constant(y, 0)
    log_choices = lax.sub(gammaln(n + 1), lax.add(gammaln(y + 1), gammaln(n - y + 1)))
    log_powers = lax.add(xlogy(y, p), xlog1py(lax.sub(n, y), lax.neg(p)))
    log_probability = lax.add(log_choices, log_powers)
    no_trials = logical_and(lax.eq(y, zero), lax.eq(n, zero))
    is_certain = logical_or(no_trials, lax.eq(log_powers, zero))
    log_probability = where(is_certain, 0.0, log_probability)
    return where(lax.ge(k, loc) & lax.lt(k, loc + n + 1), log_probability, -np.inf)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability."""
    return lax.exp(logpmf(k, n, p, loc))
