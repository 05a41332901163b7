"""The negative binomial distribution: how many trials fail before `n` have succeeded, each with probability `p`, plus `loc`.

JAX: jax/_src/scipy/stats/nbinom.py:logpmf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import where
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import gammaln, xlogy


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability."""
    k, n, p, loc = promoted("nbinom.logpmf", k, n, p, loc)
    one, y = constant(k, 1), lax.sub(k, loc)
    log_choices = lax.sub(lax.sub(gammaln(lax.add(y, n)), gammaln(n)), gammaln(lax.add(y, one)))
    log_powers = lax.add(xlogy(n, p), xlogy(y, lax.sub(one, p)))
    log_probability = lax.add(log_choices, log_powers)
    return where(lax.lt(k, loc), -np.inf, log_probability)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability."""
    return lax.exp(logpmf(k, n, p, loc))
