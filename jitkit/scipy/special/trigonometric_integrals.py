"""Integrals of sin(t) / t, of cos(t) / t, and of the sine and the cosine of t**2.

They are quotients of polynomials on each of a few intervals, with the coefficients of Cephes (S. Moshier: sici.c, fresnl.c, and
fresnlf.c for 32 bits).

JAX: jax/_src/scipy/special.py:sici
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...custom_derivatives import custom_jvp
from ...pjit.jit import jit
from ..arguments import promoted

# --- Si and Ci ---------------------------------------------------------------------------------------------------------

# Coefficients of numerator and denominator, highest power first: of Si and Ci for x up to 4, in x**2; of f and g (see
# `_between`) for x from 4 to 8, and for x beyond 8, in 1 / x**2
_SI = (
    (-8.391678279103039e-11, 4.625917144270128e-08, -9.757593038436328e-06, 0.0009769454381704354,
     -0.04134703162294066, 1.0),
    (2.0326926619595193e-12, 1.279978911799433e-09, 4.418278428012189e-07, 9.964121220438756e-05,
     0.01420852393261499, 1.0),
)  # fmt: skip
_CI = (
    (2.0252400238910228e-11, -1.3524950491579076e-08, 3.593250514199931e-06, -0.0004740072068734079,
     0.028915965260755523, -1.0),
    (4.077460400618806e-12, 3.067809975818878e-09, 1.2321035568588342e-06, 0.00031744202477503275,
     0.051002805623644606, 4.0),
)  # fmt: skip
_F_UP_TO_8 = (
    (4.236128628922166, 5.4593771716181285, 1.6208328770153833, 0.16700661183132304, 0.006810201324725182,
     0.00010893658065032867, 5.489002234213736e-07),
    (1.0, 8.16496634205391, 7.308288225055645, 1.867922579501842, 0.1787920529631499, 0.007017106683227897,
     0.00011003435715391573, 5.489002527562557e-07),
)  # fmt: skip
_G_UP_TO_8 = (
    (0.08710016989731142, 0.6113791099522193, 0.3971802963923375, 0.07485277376284691, 0.005388686814621773,
     0.00016199979459893403, 1.9796387414096365e-06, 7.825790407440903e-09),
    (1.0, 1.6440220241335535, 0.666296701268988, 0.09887717612776888, 0.006223963454417684, 0.0001732210814741771,
     2.0265918208634397e-06, 7.825792189335346e-09),
)  # fmt: skip
_F_BEYOND = (
    (0.4558808734704653, 0.7137152741001467, 0.16030015822231947, 0.01160642294081244, 0.00034955644244785906,
     4.8621543082645475e-06, 3.200927900910049e-08, 9.41779576128513e-11, 9.70507110881952e-14),
    (1.0, 0.9174636118736841, 0.17868554533207454, 0.012225359477197129, 0.00035869648188185157,
     4.924350643178815e-06, 3.21956939101046e-08, 9.437205903502767e-11, 9.70507110881952e-14),
)  # fmt: skip
_G_BEYOND = (
    (0.6973599534432762, 0.33041097930563207, 0.03848787676499743, 0.001717182390523479, 3.4894116550227946e-05,
     3.471311670841167e-07, 1.7040445278204452e-09, 3.859459254302766e-12, 3.1404009894636335e-15),
    (1.0, 1.6854889881101165, 0.48785225869530496, 0.04679131942596258, 0.0019028442667439953, 3.684755044425611e-05,
     3.5704322344374083e-07, 1.7269374896631615e-09, 3.878301660239547e-12, 3.1404009894636335e-15),
)  # fmt: skip


def _near(x: Any) -> tuple[Any, Any]:
    """Return Si(x) and Ci(x) for x from 0 to 4."""
    return jnp.where(x == 0, 0.0, _si_near(x)), jnp.where(x == 0, -np.inf, _ci_near(x))


def _si_near(x: Any) -> Any:
    t = x * x
    above = x * jnp.polyval(np.array(_SI[0], dtype=x.dtype), t)
    return above / jnp.polyval(np.array(_SI[1], dtype=x.dtype), t)


def _ci_near(x: Any) -> Any:
    t = x * x
    so_far = np.euler_gamma + jnp.log(x)
    return so_far + t * jnp.polyval(np.array(_CI[0], dtype=x.dtype), t) / jnp.polyval(
        np.array(_CI[1], dtype=x.dtype), t
    )


def _between(x: Any) -> tuple[Any, Any]:
    """Return Si(x) and Ci(x) for x from 4 to 1e9, by two functions f and g, which do not oscillate."""
    sine, cosine = jnp.sin(x), jnp.cos(x)
    z = 1.0 / (x * x)

    def pair(of_f: Any, of_g: Any) -> tuple[Any, Any]:
        above = jnp.polyval(np.array(of_f[0], dtype=x.dtype), z)
        f = above / (x * jnp.polyval(np.array(of_f[1], dtype=x.dtype), z))
        above = z * jnp.polyval(np.array(of_g[0], dtype=x.dtype), z)
        return f, above / jnp.polyval(np.array(of_g[1], dtype=x.dtype), z)

    (f_below, g_below), (f_above, g_above) = pair(_F_UP_TO_8, _G_UP_TO_8), pair(_F_BEYOND, _G_BEYOND)
    is_below = x < 8.0
    f = jnp.where(is_below, f_below, f_above)
    g = jnp.where(is_below, g_below, g_above)
    return (np.pi / 2) - f * cosine - g * sine, f * sine - g * cosine


def _far(x: Any) -> tuple[Any, Any]:
    """Return Si(x) and Ci(x) for x beyond 1e9."""
    si = (np.pi / 2) - jnp.cos(x) / x
    ci = jnp.sin(x) / x
    return jnp.where(jnp.isposinf(x), np.pi / 2, si), jnp.where(jnp.isposinf(x), 0.0, ci)


@custom_jvp
@jit
def sici(x: Any) -> tuple[Any, Any]:
    """Return Si(x), the integral of sin(t) / t from 0 to x; and Ci(|x|), which is Euler's gamma + log |x| + the
    integral of (cos(t) - 1) / t from 0 to |x|, and nan at minus infinity. Raise ValueError for complex numbers.
    """
    (x,) = promoted("sici", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(f"Argument `x` to sici must be real-valued. Got dtype {x.dtype}.")
    size = jnp.abs(x)
    (si_near, ci_near), (si_between, ci_between), (si_far, ci_far) = _near(size), _between(size), _far(size)
    where = [size <= 4, (size > 4) & (size <= 1e9)]
    si = jnp.select(where, [si_near, si_between], si_far)
    ci = jnp.select(where, [ci_near, ci_between], ci_far)
    si = jnp.sign(x) * si
    return si, jnp.where(jnp.isneginf(x), np.nan, ci)


@sici.defjvp
@jit
def sici_jvp(primals: Any, tangents: Any) -> Any:
    """JVP rule: the derivatives are sin(x) / x and cos(x) / x."""
    ((x,), (x_dot,)) = primals, tangents
    found = sici(x)
    sine, cosine = jnp.sinc(x / np.pi), jnp.cos(x) / x
    return found, (sine * x_dot, cosine * x_dot)


# --- Fresnel's integrals -----------------------------------------------------------------------------------------------

# Polynomials for S and C of small x, for f and g (in `_fresnel`) of others; for 64 bits, numerators and denominators
_OF_32_BITS = (
    (1.6476294637887e-09, -1.522754752581096e-07, 8.4247488085024e-06, -0.0003120693124703272, 0.007244727626597022,
     -0.09228055941124598, 0.5235987735681432),
    (1.416802502367354e-08, -1.157231412229871e-06, 5.387223446683264e-05, -0.001604381798862293,
     0.02818489036795073, -0.2467398198317899, 0.9999999760004487),
    (-1903009855649.792, 135594238805.0252, -4158143148.511033, 73438484.63587323, -873235.6681548485,
     8560.51546627547, -103.2877601091159, 2.999401847870011),
    (-186084399762.465, 12783506733.93208, -377938771.3202229, 6492611.570598858, -77877.89623358162,
     860.2931494734327, -14.93439396592284, 0.9999841934744914),
)  # fmt: skip
_OF_64_BITS = (
    (-2991.8191940101983, 708840.0452577386, -62974148.62058625, 2548908805.7337637, -44297951805.96978,
     318016297876.5678),
    (1.0, 281.3762688899943, 45584.78108065326, 5173438.887700964, 419320245.8981112, 22441179564.534092,
     607366389490.0846),
    (-4.9884311457357354e-08, 9.504280628298596e-06, -0.0006451914356839651, 0.018884331939670384,
     -0.20552590095501388, 1.0),
    (3.99982968972496e-12, 9.154392157746574e-10, 1.2500186247959882e-07, 1.2226278902417902e-05,
     0.0008680295429417843, 0.04121420907221998, 1.0),
    (0.4215435550436775, 0.1434079197807589, 0.011522095507358577, 0.000345017939782574, 4.6361374928786735e-06,
     3.055689837902576e-08, 1.0230451416490724e-10, 1.7201074326816183e-13, 1.3428327623306275e-16,
     3.763297112699879e-20),
    (1.0, 0.7515863983533789, 0.11688892585919138, 0.0064405152650885865, 0.00015593440916415301,
     1.8462756734893055e-06, 1.1269922476399903e-08, 3.6014002958937136e-11, 5.887545336215784e-14,
     4.5200143407412973e-17, 1.2544323709001127e-20),
    (0.5044420736433832, 0.1971028335255234, 0.018764858409257526, 0.0006840793809153931, 1.1513882611188428e-05,
     9.828524436884223e-08, 4.4534441586175015e-10, 1.0826804113902088e-12, 1.375554606332618e-15,
     8.363544356306774e-19, 1.8695871016278324e-22),
    (1.0, 1.4749575992512833, 0.33774898912002, 0.02536037414203388, 0.0008146791071843061, 1.2754507566772912e-05,
     1.0431458965757199e-07, 4.6068072814652043e-10, 1.1027321506624028e-12, 1.3879653125957886e-15,
     8.391588162831187e-19, 1.8695871016278324e-22),
)  # fmt: skip


@jit
def _waves(x: Any) -> tuple[Any, Any]:
    """Return the sine and the cosine of pi x**2 / 2. Whole periods are subtracted first, before the product with pi rounds."""
    x = jnp.abs(x)
    s = jnp.fmod(x, 2.0)
    r = jnp.fmod(s * (x - s / 2), 2.0)
    sine = jnp.where(
        r < 0.5, jnp.sin(np.pi * r), jnp.where(r > 1.5, jnp.sin(np.pi * (r - 2.0)), -jnp.sin(np.pi * (r - 1.0)))
    )
    cosine = jnp.where(r == 0.5, 0.0, jnp.where(r < 1.0, -jnp.sin(np.pi * (r - 0.5)), jnp.sin(np.pi * (r - 1.5))))
    return sine, cosine


@custom_jvp
def fresnel(x: Any) -> tuple[Any, Any]:
    """Return S(x) and C(x), the integrals of sin(pi t**2 / 2) and cos(pi t**2 / 2) from 0 to x. Floats of 16 bits are
    computed with 32. Raise NotImplementedError for complex numbers and other floats.
    """
    (given,) = promoted("fresnel", x)
    if dtypes.issubdtype(given.dtype, np.complexfloating):
        raise NotImplementedError("Support for complex-valued inputs is not implemented yet.")
    if given.dtype not in (np.float16, jnp.bfloat16, np.float32, np.float64):
        raise NotImplementedError(f"Support for {given.dtype} dtype is not implemented yet.")
    x = given if given.dtype == np.float64 else given.astype(np.float32)
    found = _fresnel(x)
    return tuple(each.astype(given.dtype) for each in found) if given.dtype != x.dtype else found


def _fresnel(given: Any) -> tuple[Any, Any]:
    is_single = given.dtype == np.float32
    tables = [jnp.array(each, dtype=given.dtype) for each in (_OF_32_BITS if is_single else _OF_64_BITS)]

    def quotient(i: int, factor: Any, t: Any) -> Any:
        """Return a factor times the i-th polynomial, or quotient of polynomials."""
        if is_single:
            return factor * jnp.polyval(tables[i], t)
        return factor * jnp.polyval(tables[2 * i], t) / jnp.polyval(tables[2 * i + 1], t)

    x = jnp.abs(given)
    square = x * x
    t = square * square
    s_small, c_small = quotient(0, x * square, t), quotient(1, x, t)
    sine, cosine = _waves(x)
    c_large = 0.5 if is_single else 0.5 + 1 / (np.pi * x) * sine
    s_large = 0.5 if is_single else 0.5 - 1 / (np.pi * x) * cosine
    t = np.pi * square
    u = 1.0 / (t * t)
    t = 1.0 / t
    f = 1.0 - quotient(2, u, u)
    g = quotient(3, t, u)
    t = np.pi * x
    c_between = 0.5 + (f * sine - g * cosine) / t
    s_between = 0.5 - (f * cosine + g * sine) / t
    is_inf, is_small, is_large = jnp.isinf(given), square < 2.5625, x > 36974.0
    s = jnp.where(is_inf, 0.5, jnp.where(is_small, s_small, jnp.where(is_large, s_large, s_between)))
    c = jnp.where(is_inf, 0.5, jnp.where(is_small, c_small, jnp.where(is_large, c_large, c_between)))
    is_negative = given < 0.0
    return jnp.where(is_negative, -s, s), jnp.where(is_negative, -c, c)


@fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    ((x,), (x_dot,)) = primals, tangents
    found = fresnel(x)
    sine, cosine = _waves(x)
    return found, (sine * x_dot, cosine * x_dot)
