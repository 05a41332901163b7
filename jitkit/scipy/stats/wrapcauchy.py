"""Cauchy's distribution wrapped around a circle.

JAX: jax/_src/scipy/stats/wrapcauchy.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.ufuncs import constant
from ..arguments import promoted


def logpdf(x: Any, c: Any) -> Any:
    """Return the logarithm of the probability density at angles from 0 to 2 pi; nan unless c is between 0 and 1."""
    x, c = promoted("wrapcauchy.logpdf", x, c)
    is_defined = lax.gt(c, constant(c, 0)) & lax.lt(c, constant(c, 1))
    is_inside = lax.ge(x, constant(x, 0)) & lax.le(x, constant(x, np.pi * 2))
    out = jnp.log(1 - c * c) - jnp.log(2 * np.pi) - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    return jnp.where(is_defined, jnp.where(is_inside, out, -np.inf), np.nan)


def pdf(x: Any, c: Any) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, c))
