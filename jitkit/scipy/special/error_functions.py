"""The error function, the logistic function, Bessel's functions.

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ...custom_derivatives import custom_jvp
from ...numpy.ufuncs import constant
from ..arguments import promoted


def erf(x: Any) -> Any:
    """Return the error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return lax.erf(*promoted("erf", x))


def erfc(x: Any) -> Any:
    """Return 1 - erf(x), exact where that is small."""
    return lax.erfc(*promoted("erfc", x))


def erfinv(x: Any) -> Any:
    """Return the inverse of erf."""
    return lax.erf_inv(*promoted("erfinv", x))


def expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), the logistic function."""
    return lax.logistic(*promoted("expit", x))


@custom_jvp
def logit(x: Any) -> Any:
    """Return log(x / (1 - x)), the inverse of `expit`."""
    (x,) = promoted("logit", x)
    return lax.log(lax.div(x, lax.sub(constant(x, 1), x)))


logit.defjvps(lambda g, ans, x: lax.div(g, lax.mul(x, lax.sub(constant(x, 1), x))))


def i0e(x: Any) -> Any:
    """Return exp(-|x|) I0(x), of Bessel's modified I0."""
    return lax.bessel_i0e(*promoted("i0e", x))


def i0(x: Any) -> Any:
    """Return Bessel's modified function of the first kind, of order 0."""
    (x,) = promoted("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


def i1e(x: Any) -> Any:
    """Return exp(-|x|) I1(x), of Bessel's modified I1."""
    return lax.bessel_i1e(*promoted("i1e", x))


def i1(x: Any) -> Any:
    """Return Bessel's modified function of the first kind, of order 1."""
    (x,) = promoted("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))
