"""The normal distribution: mean `loc`, standard deviation `scale`.

JAX: jax/_src/scipy/stats/norm.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...numpy import asarray
from ...numpy.ufuncs import constant
from .. import special
from ..arguments import promoted


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    x, loc, scale = promoted("norm.logpdf", x, loc, scale)
    variance = lax.square(scale)
    normalizer = lax.log(lax.mul(constant(x, 2 * np.pi), variance))
    quadratic = lax.div(lax.square(lax.sub(x, loc)), variance)
    return lax.div(lax.add(normalizer, quadratic), constant(x, -2))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The part that is below x."""
    x, loc, scale = promoted("norm.cdf", x, loc, scale)
    return special.ndtr(lax.div(lax.sub(x, loc), scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the part that is below x."""
    x, loc, scale = promoted("norm.logcdf", x, loc, scale)
    return special.log_ndtr(lax.div(lax.sub(x, loc), scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The part that is above x."""
    x, loc, scale = promoted("norm.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the part that is above x."""
    x, loc, scale = promoted("norm.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x of which a part q is below."""
    return asarray(special.ndtri(q) * scale + loc, float)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x of which a part q is above."""
    return ppf(lax.sub(constant(q, 1), q), loc, scale)
