"""Pareto's distribution, whose density falls like x ** -(b + 1) from `loc + scale` on.

JAX: jax/_src/scipy/stats/pareto.py:logpdf
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.ufuncs import constant
from ..arguments import promoted


def _scaled(x: Any, loc: Any, scale: Any) -> Any:
    return lax.div(lax.sub(x, loc), scale)


def _where_below(x: Any, loc: Any, scale: Any, below: Any, above: Any) -> Any:
    return jnp.where(lax.lt(x, lax.add(loc, scale)), below, above)


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density."""
    x, b, loc, scale = promoted("pareto.logpdf", x, b, loc, scale)
    scaled = _scaled(x, loc, scale)
    of_one = lax.log(lax.div(scale, b))
    out = lax.neg(lax.add(of_one, lax.mul(lax.add(b, constant(x, 1)), lax.log(scaled))))
    return _where_below(x, loc, scale, -np.inf, out)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function: the probability of values below x."""
    x, b, loc, scale = promoted("pareto.cdf", x, b, loc, scale)
    out = lax.sub(constant(x, 1), lax.pow(_scaled(x, loc, scale), lax.neg(b)))
    return _where_below(x, loc, scale, constant(x, 0), out)


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the cumulative distribution function."""
    x, b, loc, scale = promoted("pareto.logcdf", x, b, loc, scale)
    out = lax.log1p(lax.neg(lax.pow(_scaled(x, loc, scale), lax.neg(b))))
    return _where_below(x, loc, scale, -np.inf, out)


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function."""
    x, b, loc, scale = promoted("pareto.logsf", x, b, loc, scale)
    out = lax.neg(lax.mul(b, lax.log(_scaled(x, loc, scale))))
    return _where_below(x, loc, scale, constant(x, 0), out)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function: the probability of values above x."""
    return lax.exp(logsf(x, b, loc, scale))


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile: the value below which a fraction q lies; nan unless q is from 0 to 1."""
    q, b, loc, scale = promoted("pareto.ppf", q, b, loc, scale)
    one = constant(q, 1)
    out = lax.add(loc, lax.mul(scale, lax.pow(lax.sub(one, q), lax.neg(lax.div(one, b)))))
    return jnp.where(jnp.isnan(q) | (q < 0) | (q > 1), np.nan, out)
