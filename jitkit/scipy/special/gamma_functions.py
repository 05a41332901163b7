"""Computes gamma and beta functions, complete and incomplete.

JAX: jax/_src/scipy/special.py:gammaln
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...core.tracer import concrete_or_error
from ...numpy import arange, expand_dims, isnan, select, signbit, where
from ...numpy import sum as sum_
from ...numpy.ufuncs import constant
from ...pjit.jit import jit
from ..arguments import promoted, refuse_complex
from . import complex_gamma
from .log_beta import log_beta


# --- incomplete gamma and beta functions --------------------------------------------------------------------------------------
def gammainc(a: Any, x: Any) -> Any:
    """Return the part below x of the integral of t**(a - 1) exp(-t) over positive t, divided by the whole."""
    return lax.igamma(*promoted("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """Return 1 - gammainc(a, x), accurate where that is small."""
    return lax.igammac(*promoted("gammaincc", a, x))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the part below x of the integral of t**(a - 1) (1 - t)**(b - 1) over t from 0 to 1, divided by the whole.
    Raise ValueError for complex numbers.
    """
    a, b, x = promoted("betainc", a, b, x)
    refuse_complex("betainc", x)
    return lax.betainc(a, b, x)


# --- gamma functions ----------------------------------------------------------------------------------------------------------
def gammaln(x: Any) -> Any:
    """Return log |gamma(x)|."""
    return lax.lgamma(*promoted("gammaln", x))


def loggamma(x: Any) -> Any:
    """Return log gamma(x): for a float, nan unless x is positive; for a complex number, SciPy's branch."""
    (x,) = promoted("loggamma", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return complex_gamma.loggamma(x)
    log = lax.lgamma(x)
    return where(x > 0, log, np.nan)


@jit
def gammasgn(x: Any) -> Any:
    """Return the sign of gamma(x); nan if there is none, at negative integers. Raise ValueError for complex numbers."""
    (x,) = promoted("gammasgn", x)
    refuse_complex("gammasgn", x)
    scalar, below = x.dtype.type, lax.floor(x)
    is_negative = x < 0
    pole = (is_negative & (x == below)) | isnan(x)
    negative = (is_negative & (below % 2 != 0)) | ((x == 0) & signbit(x))
    return select([pole, negative], [scalar(np.nan), scalar(-1.0)], scalar(1.0))


def gamma(x: Any) -> Any:
    """Return the gamma function, which is (x - 1)! for positive integers."""
    (x,) = promoted("gamma", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return complex_gamma.gamma(x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


def betaln(a: Any, b: Any) -> Any:
    """Return log(B(a, b)), the logarithm of the beta function of positive numbers."""
    return log_beta(*promoted("betaln", *promoted("betaln", a, b)))


def beta(a: Any, b: Any) -> Any:
    """Return the beta function, gamma(a) gamma(b) / gamma(a + b). Raise ValueError for complex numbers."""
    a, b = promoted("beta", a, b)
    refuse_complex("beta", a)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


def multigammaln(a: Any, d: Any) -> Any:
    """Return the logarithm of the multivariate gamma function of `d` dimensions at a, for a > (d - 1) / 2, which is not checked."""
    d = concrete_or_error(int, d, "d argument of multigammaln")
    a, dimensions = promoted("multigammaln", a, d)
    quarter = lax.mul(constant(a, 0.25), dimensions)
    shift = lax.mul(lax.mul(quarter, lax.sub(dimensions, constant(a, 1))), lax.log(constant(a, np.pi)))
    halves = lax.div(arange(d, dtype=dimensions.dtype), constant(a, 2))
    terms = gammaln(expand_dims(a, axis=-1) - expand_dims(halves, axis=tuple(range(a.ndim))))
    return sum_(terms, axis=-1) + shift


def digamma(x: Any) -> Any:
    """Return the derivative of log gamma(x); nan at 0 and at negative integers."""
    return lax.digamma(*promoted("digamma", x))


def polygamma(n: Any, x: Any) -> Any:
    """Return the n-th derivative of digamma at x. Raise ValueError unless n is of an integer type, and for complex x."""
    if not dtypes.issubdtype(dtypes.dtype(n), np.integer):
        raise ValueError(f"Argument `n` to polygamma must be of integer type. Got dtype {dtypes.dtype(n)}.")
    n, x = promoted("polygamma", n, x)
    refuse_complex("polygamma", x)
    return lax.polygamma(n, x)
