"""The geometric distribution: the number of trials up to the first success.

JAX: jax/_src/scipy/stats/geom.py:logpmf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.ufuncs import constant
from ..arguments import promoted
from ..special import xlog1py


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability of k trials."""
    k, p, loc = promoted("geom.logpmf", k, p, loc)
    zero, one = constant(k, 0), constant(k, 1)
    trials = lax.sub(k, loc)
    out = xlog1py(lax.sub(trials, one), -p) + lax.log(p)
    return jnp.where(lax.le(trials, zero), -np.inf, out)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability of k trials."""
    return jnp.exp(logpmf(k, p, loc))
