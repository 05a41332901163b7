"""Von Mises' distribution: the normal one's counterpart on a circle.

JAX: jax/_src/scipy/stats/vonmises.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.ufuncs import constant
from ..arguments import promoted


def logpdf(x: Any, kappa: Any) -> Any:
    """Return the logarithm of the probability density; nan unless the concentration `kappa` is positive."""
    x, kappa = promoted("vonmises.logpdf", x, kappa)
    is_defined = lax.gt(kappa, constant(kappa, 0))
    out = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * lax.bessel_i0e(kappa))
    return jnp.where(is_defined, out, np.nan)


def pdf(x: Any, kappa: Any) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, kappa))
