"""The multinomial distribution: the counts of outcomes in `n` trials, where outcome i has probability `p[i]`.

JAX: jax/_src/scipy/stats/multinomial.py:logpmf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...numpy import equal, sum, where
from ...numpy.promotion import promote_dtypes_numeric, promote_shapes
from ...numpy.util import check_arraylike
from ..arguments import promoted
from ..special import gammaln, xlogy


def logpmf(x: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of the probability of the counts `x`, integers along the last axis; minus infinity unless
    their sum is `n`.

    As in JAX, that sum is over all axes of `x`: map over a batch of counts with `vmap`. Raise ValueError if `x` or `n`
    are not integers.
    """
    name = "multinomial.logpmf"
    (p,) = promoted(name, p)
    check_arraylike(name, x, n)
    x, n = promote_shapes(name, *promote_dtypes_numeric(x, n))
    if not dtypes.issubdtype(x.dtype, np.integer):
        raise ValueError(f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}")
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    log_probability = gammaln(n + 1) + sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return where(equal(sum(x), n), log_probability, -np.inf)


def pmf(x: Any, n: Any, p: Any) -> Any:
    """Return the probability of the counts; see `logpmf`."""
    return lax.exp(logpmf(x, n, p))
