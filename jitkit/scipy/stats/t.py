"""Student's t distribution with `df` degrees of freedom.

JAX: jax/_src/scipy/stats/t.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy.ufuncs import constant
from ..arguments import promoted


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, df, loc, scale = promoted("t.logpdf", x, df, loc, scale)
    two = constant(x, 2)
    x_scaled = lax.div(lax.sub(x, loc), scale)
    half = lax.div(df, two)
    half_more = lax.add(half, constant(x, 0.5))
    area = lax.mul(lax.mul(scale, scale), constant(x, np.pi))
    log_root = lax.div(lax.log(lax.mul(area, df)), two)
    normalizer = lax.sub(lax.add(lax.lgamma(half), log_root), lax.lgamma(half_more))
    quadratic = lax.div(lax.mul(x_scaled, x_scaled), df)
    return lax.neg(lax.add(normalizer, lax.mul(half_more, lax.log1p(quadratic))))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, df, loc, scale))
