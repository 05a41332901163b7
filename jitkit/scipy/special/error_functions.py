"""Computes the error function, the logistic function, and Bessel's functions.

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

import operator
from typing import Any

from ... import lax
from ...core import dtypes
from ...core.tracer import concrete_or_error
from ...custom_derivatives import custom_jvp
from ...interpreters.vmap import vmap
from ...numpy import asarray, mod, moveaxis
from ...numpy.ufuncs import constant
from ...pjit.jit import jit
from ..arguments import promoted


def erf(x: Any) -> Any:
    """Return the error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return lax.erf(*promoted("erf", x))


def erfc(x: Any) -> Any:
    """Return 1 - erf(x), accurate where that is small."""
    return lax.erfc(*promoted("erfc", x))


def erfinv(x: Any) -> Any:
    """Return the inverse of erf; nan outside [-1, 1]."""
    return lax.erf_inv(*promoted("erfinv", x))


def expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), the logistic function."""
    return lax.logistic(*promoted("expit", x))


@custom_jvp
def logit(x: Any) -> Any:
    """Return log(x / (1 - x)), the inverse of `expit`; nan outside [0, 1]."""
    (x,) = promoted("logit", x)
    return lax.log(lax.div(x, lax.sub(constant(x, 1), x)))


logit.defjvps(lambda g, ans, x: lax.div(g, lax.mul(x, lax.sub(constant(x, 1), x))))


def i0e(x: Any) -> Any:
    """Return exp(-|x|) I0(x), where I0 is Bessel's modified function of the first kind, of order 0."""
    return lax.bessel_i0e(*promoted("i0e", x))


def i0(x: Any) -> Any:
    """Return Bessel's modified function of the first kind, of order 0."""
    (x,) = promoted("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


def i1e(x: Any) -> Any:
    """Return exp(-|x|) I1(x), where I1 is Bessel's modified function of the first kind, of order 1."""
    return lax.bessel_i1e(*promoted("i1e", x))


def i1(x: Any) -> Any:
    """Return Bessel's modified function of the first kind, of order 1."""
    (x,) = promoted("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


@jit(static_argnames=["v", "n_iter"])
def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Return Bessel's functions of the first kind, of the orders 0 to v: an array (v + 1, *z.shape).

    The recurrence for the orders runs downwards, from `n_iter` on: Zhang and Jin, "Computation of special functions"
    (1996). Raise TypeError for an order that is not an int, TypeError or ValueError for complex numbers.
    """
    (z,) = promoted("bessel_jn", asarray(z))
    if dtypes.issubdtype(z.dtype, complex):
        raise ValueError("complex input not supported.")
    v = concrete_or_error(operator.index, v, "Argument v of bessel_jn.")
    n_iter = concrete_or_error(int, n_iter, "Argument n_iter of bessel_jn.")

    def of_one(z: Any) -> Any:
        zero = constant(z, 0.0)
        orders = lax.iota(z.dtype, n_iter + 1)
        (_, _, total, _), found = lax.scan(_next_order, (zero, constant(z, 1e-16), zero, z), orders, reverse=True)
        first = found[0]
        return found[: v + 1] / (total - first)

    for _ in range(z.ndim):
        of_one = vmap(of_one)
    return moveaxis(of_one(z), -1, 0)


def _next_order(carry: Any, k: Any) -> Any:
    """Return the carry for the next lower order, and the value of that order, which is still to be scaled."""
    above, here, total, z = carry
    below = 2.0 * (k + 1.0) * here / z - above
    total = lax.cond(mod(k, 2) == 0, lambda u: u[0] + 2.0 * u[1], lambda u: u[0], (total, below))
    return (here, below, total, z), below
