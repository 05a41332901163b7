"""Computes exponential integrals: of exp(t) / t, and of exp(-x t) / t**n.

Ei of a positive number is a quotient of two polynomials on each of seven intervals: up to 2, 4, ... 64, and beyond;
below 2 it also has a logarithm. Ei(-x) is -E_1(x). The coefficients are those of the Cephes library (S. Moshier, ei.c),
and so are the parts of E_n (expn.c): a power series for small x, a continued fraction above 1, and an asymptotic formula
for large n.

JAX: jax/_src/scipy/special.py:expi
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import dtypes
from ...custom_derivatives import custom_jvp
from ...numpy.ufuncs import constant
from ...pjit.jit import jit
from ..arguments import promoted, refuse_complex
from .gamma_functions import gammaln

# The numerator and the denominator of each interval, from the highest power on.
_EI = (
    (
        (
            -5.350447357812543,
            218.50491688166133,
            -4176.572384826693,
            55411.76756393557,
            -331338.13311781443,
            1592627.1633849454,
        ),
        (
            1.0,
            -52.505479591128626,
            1259.6161867867906,
            -17565.495819735348,
            149306.2117002726,
            -729494.9239640528,
            1592627.1633849454,
        ),
    ),
    (
        (
            0.019818085032596897,
            -1.2716456259849176,
            -2.0881603356812284,
            2.7555445091879367,
            -0.44095070487016,
            0.046656238059358916,
            -0.0015450426796734852,
            7.059980605299618e-05,
        ),
        (
            1.0,
            1.4764986709149215,
            0.5629177174822436,
            0.16990178978793072,
            0.02291647179034212,
            0.0044501504397287525,
            0.00017274396122065214,
            3.953167195549672e-05,
        ),
    ),
    (
        (
            -1.3732153758712087,
            -0.7084559133740839,
            1.580806855547941,
            -0.2601500427425623,
            0.029946746941137137,
            -0.001038086040188744,
            4.371064420753005e-05,
            2.141783679522603e-06,
        ),
        (
            1.0,
            0.8585231423622028,
            0.4483285822873995,
            0.07687932158124476,
            0.024498682410218877,
            0.0008832165941927797,
            0.00045909522995113536,
            -4.729848351866523e-06,
            2.66519553739071e-06,
        ),
    ),
    (
        (
            -2.1069346016919166,
            1.7327338696646881,
            -0.2423619178935842,
            0.02322724180937566,
            0.00023728804404931798,
            -8.343219561192553e-05,
            1.3634087956052505e-05,
            -3.655412321999254e-07,
            1.4649417339759612e-08,
            6.17640786371036e-10,
        ),
        (
            1.0,
            -0.2298062239901678,
            0.11050770414740378,
            -0.015665429666307924,
            0.002761106850817353,
            -0.00020891480122840484,
            1.7085289388076754e-05,
            -4.4593117963566865e-07,
            1.3946349303538475e-08,
            6.150865933977338e-10,
        ),
    ),
    (
        (
            -0.24581193676740204,
            -0.14833822533220778,
            0.07248291795735552,
            -0.013483156873809405,
            0.001342775069788637,
            -7.942465637159712e-05,
            2.644179518984236e-06,
            -4.239473659313765e-08,
        ),
        (
            1.0,
            -0.10442259084438711,
            -0.26764531281014026,
            0.09695000254621984,
            -0.01601745692712991,
            0.001496414899205908,
            -8.462452563778485e-05,
            2.7289384034767266e-06,
            -4.239462431819542e-08,
        ),
    ),
    (
        (
            0.12125611181054567,
            -0.5823133179043894,
            0.2348887314557017,
            -0.030400343181132484,
            0.0015100821468651906,
            -2.5231370954995714e-05,
        ),
        (
            1.0,
            -1.002252150365854,
            0.2928709694872224,
            -0.03337004338674008,
            0.0015605448811273888,
            -2.5231370936032347e-05,
        ),
    ),
    (
        (
            -0.7657847078286127,
            0.6886192415566705,
            -0.2132598113545206,
            0.033461075523841935,
            -0.003076541477344756,
            0.00017471193164549074,
            -6.1037116822741705e-06,
            1.218032765428652e-07,
            -1.0860761027932903e-09,
        ),
        (
            1.0,
            -1.8888028686623086,
            1.066691687211409,
            -0.27519159823063805,
            0.039308526882338234,
            -0.003414684558602365,
            0.00018668443707035555,
            -6.345146083130515e-06,
            1.239754287483207e-07,
            -1.0860761027931265e-09,
        ),
    ),
)
_EULER = np.euler_gamma
_BIG = 1.44115188075855872e17  # 2**57: the terms of a continued fraction are divided by this before they overflow
_MANY = 5000  # from here on, n is large


# --- Ei --------------------------------------------------------------------------------------------------------------


def _ei_below_two(x: Any) -> Any:
    above, below = (np.array(each, x.dtype) for each in _EI[0])
    return x * (jnp.polyval(above, x) / jnp.polyval(below, x)) + _EULER + jnp.log(x)


def _ei_above(interval: int) -> Callable[[Any], Any]:
    def ei(x: Any) -> Any:
        above, below = (np.array(each, x.dtype) for each in _EI[interval])
        one = constant(x, 1.0)
        w = one / x
        series = w * (jnp.polyval(above, w) / jnp.polyval(below, w)) + one
        return jnp.exp(x) * w * series

    return ei


_ON_INTERVALS = (_ei_below_two, *(_ei_above(i) for i in range(1, len(_EI))))


def _ei_of_positive(x: Any) -> Any:
    borders = [0, *(2**i for i in range(1, len(_EI)))]
    inside = [(constant(x, low) < x) & (x <= constant(x, high)) for low, high in itertools.pairwise(borders)]
    return jnp.piecewise(x, inside, _ON_INTERVALS)


def _ei_of_negative(x: Any) -> Any:
    return -exp1(-x)


@custom_jvp
@jit
def expi(x: Any) -> Any:
    """Return Ei(x), the integral of exp(t) / t from minus infinity to x, for real x; nan at 0 and at infinities. Raise
    ValueError for complex numbers.
    """
    (x,) = promoted("expi", x)
    refuse_complex("expi", x)
    return jnp.piecewise(x, [x < 0], [_ei_of_negative, _ei_of_positive])


@expi.defjvp
@jit
def expi_jvp(primals: Any, tangents: Any) -> Any:
    """JVP rule: the derivative is exp(x) / x."""
    ((x,), (x_dot,)) = primals, tangents
    return expi(x), jnp.exp(x) / x * x_dot


# --- E_n -------------------------------------------------------------------------------------------------------------


def _power_series(x: Any, n: Any) -> Any:
    """Return E_n(x) for x up to 1, by the sum of (-x)**k / (k! (n - 1 - k)), with a logarithm in place of the term k = n - 1."""
    eps = dtypes.finfo(x.dtype).eps
    zero, one = constant(x, 0.0), constant(x, 1.0)
    psi = -_EULER - jnp.log(x)
    psi = lax.fori_loop(constant(n, 1), n, lambda i, psi: psi + one / i, psi)
    safe = jnp.where(n == constant(n, 1), one + one, n)
    state = {
        "x": x, "z": -x, "xk": zero, "yk": one, "pk": one - n, "t": np.inf,
        "ans": jnp.where(n == constant(n, 1), zero, one / (one - safe)),
    }  # fmt: skip

    def next_term(d: Any) -> Any:
        xk = d["xk"] + one
        yk = d["yk"] * (d["z"] / xk)
        pk = d["pk"] + one
        ans = d["ans"] + jnp.where(pk != zero, yk / pk, zero)
        return d | {"xk": xk, "yk": yk, "pk": pk, "ans": ans, "t": jnp.where(ans != zero, abs(yk / ans), one)}

    d = lax.while_loop(lambda d: (d["x"] > constant(d["x"], 0.0)) & (d["t"] > eps), next_term, state)
    return d["z"] ** (n - constant(n, 1)) * psi / jnp.exp(gammaln(n)) - d["ans"]


def _continued_fraction(x: Any, n: Any) -> Any:
    """Return E_n(x) for x above 1, by a continued fraction."""
    eps = dtypes.finfo(x.dtype).eps
    big, zero, one = constant(x, _BIG), constant(x, 0.0), constant(x, 1.0)
    state = {
        "k": constant(n, 1), "pkm1": one, "pkm2": one, "qkm1": x + n, "qkm2": x, "ans": one / (x + n), "r": zero,
        "t": constant(x, np.inf), "x": x,
    }  # fmt: skip

    def next_term(d: Any) -> Any:
        x, k = d["x"], d["k"] + constant(d["k"], 1)
        odd = k % constant(k, 2) == constant(k, 1)
        yk = jnp.where(odd, one, x)
        xk = jnp.where(odd, n + (k - constant(k, 1)) / constant(k, 2), k / constant(k, 2))
        pk = d["pkm1"] * yk + d["pkm2"] * xk
        qk = d["qkm1"] * yk + d["qkm2"] * xk
        divides = qk != zero
        r = jnp.where(divides, pk / qk, d["r"])
        t = jnp.where(divides, abs((d["ans"] - r) / r), one)
        ans = jnp.where(divides, r, d["ans"])
        is_big = abs(pk) > big
        now = {"pkm1": pk, "pkm2": d["pkm1"], "qkm1": qk, "qkm2": d["qkm1"]}
        now = {name: jnp.where(is_big, value / big, value) for name, value in now.items()}
        return d | now | {"k": k, "r": r, "t": t, "ans": ans}

    d = lax.while_loop(lambda d: (d["x"] > constant(d["k"], 0)) & (d["t"] > eps), next_term, state)
    return d["ans"] * jnp.exp(-x)


def _for_large_n(x: Any, n: Any) -> Any:
    one, total = constant(x, 1.0), x + n
    y = one / (total * total)
    ans = y * n * (constant(x, 6) * x * x - constant(x, 8) * n * x + n * n)
    ans = y * (ans + n * (n - constant(x, 2) * x))
    ans = y * (ans + n)
    return (ans + one) * jnp.exp(-x) / total


@functools.partial(custom_jvp, nondiff_argnums=(0,))
@jnp.vectorize
@jit
def expn(n: Any, x: Any) -> Any:
    """Return E_n(x), the integral of exp(-x t) / t**n from 1 to infinity; nan if n or x is negative. Raise ValueError
    for complex numbers.
    """
    n, x = promoted("expn", n, x)
    refuse_complex("expn", x)
    zero, one = constant(x, 0), constant(x, 1)
    cases = [
        (n < constant(n, 0)) | (x < zero),
        (x == zero) & (n < constant(n, 2)),
        (x == zero) & (n >= constant(n, 2)),
        (n == constant(n, 0)) & (x >= zero),
        n >= constant(n, _MANY),
        x > one,
    ]
    not_one = jnp.where(n == constant(n, 1), n + n, n)  # the divisor is never zero
    results = [np.nan, np.inf, one / not_one, jnp.exp(-x) / x, _for_large_n, _continued_fraction, _power_series]
    return jnp.piecewise(x, cases, results, n=n)


@expn.defjvp
@jit
def expn_jvp(n: Any, primals: Any, tangents: Any) -> Any:
    """JVP rule: the derivative of E_n is -E_(n-1)."""
    ((x,), (x_dot,)) = primals, tangents
    return expn(n, x), lax.mul(lax.neg(x_dot), expn(lax.sub(n, constant(n, 1)), x))


def exp1(x: Any) -> Any:
    """Return E_1(x), the integral of exp(-t) / t from x to infinity; nan for negative x. Raise ValueError for complex numbers."""
    (x,) = promoted("exp1", x)
    refuse_complex("exp1", x)
    return expn(1, x)
