"""The Dirichlet distribution: of positive numbers that sum to 1, with a concentration `alpha` for each.

JAX: jax/_src/scipy/stats/dirichlet.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import all, concatenate, sum, where
from ...numpy.promotion import promote_dtypes_inexact
from ...numpy.ufuncs import constant
from ..special import gammaln, xlogy


def logpdf(x: Any, alpha: Any) -> Any:
    """Return the logarithm of the probability density; minus infinity unless the numbers are positive and sum to 1.

    Args:
      x: the numbers along the first axis; the last of them may be left out.
      alpha: a vector of the concentrations.

    Raises:
      ValueError: if `alpha` is not a vector, or `x` has another number of entries.
    """
    x, alpha = promote_dtypes_inexact(x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "`x` must have either the same number of entries as `alpha` or one entry fewer; "
            f"got x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    one = constant(x, 1)
    if x.shape[0] != alpha.shape[0]:
        x = concatenate([x, lax.sub(one, x.sum(0, keepdims=True))], axis=0)
    log_volume = sum(gammaln(alpha)) - gammaln(sum(alpha))
    if x.ndim > 1:
        alpha = lax.broadcast_in_dim(alpha, alpha.shape + (1,) * (x.ndim - 1), (0,))
    log_density = lax.sub(sum(xlogy(lax.sub(alpha, one), x), axis=0), log_volume)
    total = sum(x, axis=0)
    return where(all(x > 0, axis=0) & (abs(total - 1) < 1e-6), log_density, -np.inf)


def pdf(x: Any, alpha: Any) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, alpha))
