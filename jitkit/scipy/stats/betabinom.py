"""The beta-binomial distribution: successes in n trials whose probability of success is drawn from a beta distribution.

JAX: jax/_src/scipy/stats/betabinom.py:logpmf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.ufuncs import constant
from ...pjit.jit import jit
from ..arguments import promoted
from ..special import betaln


@jit
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability of k successes; nan if n, a or b is out of range."""
    k, n, a, b, loc = promoted("betabinom.logpmf", k, n, a, b, loc)
    y = lax.sub(lax.floor(k), loc)
    one, zero = constant(y, 1), constant(y, 0)
    ways = lax.neg(lax.add(lax.log1p(n), betaln(lax.add(lax.sub(n, y), one), lax.add(y, one))))
    drawn = lax.sub(betaln(lax.add(y, a), lax.add(lax.sub(n, y), b)), betaln(a, b))
    out = lax.add(ways, drawn)
    out = jnp.where(jnp.logical_and(lax.eq(y, zero), lax.eq(n, zero)), 0.0, out)
    is_outside = jnp.logical_or(jnp.logical_or(lax.lt(y, lax.neg(loc)), lax.gt(y, n)), lax.le(lax.add(y, a), zero))
    out = jnp.where(is_outside, -np.inf, out)
    is_undefined = jnp.logical_or(jnp.logical_or(lax.lt(n, zero), lax.le(a, zero)), lax.le(b, zero))
    return jnp.where(is_undefined, np.nan, out)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """Return the probability of k successes."""
    return lax.exp(logpmf(k, n, a, b, loc))
