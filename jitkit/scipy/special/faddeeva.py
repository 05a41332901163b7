"""Computes the error function, scaled so that it stays in range: Faddeeva's function, `erfcx` and Dawson's integral.

Above the real axis, Faddeeva's function is approximated by a rational function with 32 coefficients: Weideman, "Computation of the
complex error function", SIAM J. Numer. Anal. 31 (1994). Dawson's integral is a quotient of polynomials on each of three intervals,
with the coefficients of Cephes (S. Moshier, dawsn.c), after Cody, Paciorek and Thacher (1970).

JAX: jax/_src/scipy/special.py:wofz
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...custom_derivatives import custom_jvp
from ...numpy import asarray, polyval, sign
from ...numpy.ufuncs import constant
from ...numpy.util import as_array, check_arraylike
from ..arguments import promoted, refuse_complex

_TWO_OVER_ROOT_PI = 2.0 / np.sqrt(np.pi)

# --- Faddeeva's function -----------------------------------------------------------------------------------------------

_SCALE = 4.7568284600108841
# The polynomial p of 2 p(Z) / (L - iz)^2 + 1 / (sqrt(pi) (L - iz)), where Z = (L + iz) / (L - iz), from the highest power on.
_WEIDEMAN = (
    -1.3034426067909105e-12, 3.741183837373847e-12, 8.030427700497756e-12, -2.154359355749088e-11,
    -5.544244996323793e-11, 1.165824698850374e-10, 4.1537441121999766e-10, -5.231020211492061e-10,
    -3.2080151339721323e-09, 8.124886421653591e-10, 2.3797556530014025e-08, 2.2930438438915445e-08,
    -1.4813078929137642e-07, -4.1840763750512053e-07, 4.2558331397138446e-07, 4.401531731283225e-06,
    6.821031944357515e-06, -2.1409619201999998e-05, -0.0001307544925457942, -0.00024532980270038237,
    0.00039259136070109705, 0.004519541105349309, 0.0190061557848455, 0.05730440352983728, 0.14060716226893755,
    0.2954445107150874, 0.5460139720639338, 0.9019254893648001, 1.345544169234545, 1.8256696296324815,
    2.2635372999002676, 2.5722534081245696,
)  # fmt: skip


def _above_the_axis(z: Any) -> Any:
    real = lax.real(z)
    scale = lax.complex(constant(real, _SCALE), constant(real, 0.0))
    iz = lax.complex(lax.neg(lax.imag(z)), real)
    below = scale - iz
    ratio = (scale + iz) / below
    value = polyval(asarray(np.array(_WEIDEMAN), dtype=ratio.dtype), ratio)
    one_over_root_pi = lax.complex(constant(real, 1.0 / np.sqrt(np.pi)), constant(real, 0.0))
    return 2 * value / (below * below) + one_over_root_pi / below


@custom_jvp
def _wofz(z: Any) -> Any:
    is_above = lax.ge(lax.imag(z), constant(lax.real(z), 0.0))
    above = _above_the_axis(lax.select(is_above, z, lax.neg(z)))
    return lax.select(is_above, above, 2 * lax.exp(lax.neg(z * z)) - above)


def _slope_of_wofz(g: Any, ans: Any, z: Any) -> Any:
    slope = lax.neg(2 * z * ans)
    return g * (slope + lax.complex(constant(lax.real(z), 0.0), constant(lax.real(z), _TWO_OVER_ROOT_PI)))


_wofz.defjvps(_slope_of_wofz)


def wofz(z: Any) -> Any:
    """Return Faddeeva's function, exp(-z**2) erfc(-iz), as complex numbers."""
    check_arraylike("wofz", z)
    z = as_array(z)
    dtype = z.dtype if dtypes.issubdtype(z.dtype, np.inexact) else dtypes.dtype(1.0)
    return _wofz(lax.convert_element_type(z, dtypes.to_complex_dtype(dtype)))


# --- erfcx -------------------------------------------------------------------------------------------------------------

_ASYMPTOTIC = (7918.06640625, -1055.7421875, 162.421875, -29.53125, 6.5625, -1.875, 0.75, -0.5, 1.0)


def _far_out(x: Any, n_terms: int) -> Any:
    """Return exp(x**2) erfc(x) for large x: the sum of `n_terms` terms of its asymptotic series."""
    t = constant(x, 1.0) / lax.square(x)
    series = polyval(np.array(_ASYMPTOTIC[-n_terms:], dtype=x.dtype), t)
    return series / (x * constant(x, np.sqrt(np.pi)))


def _erfcx_of(x: Any, n_terms: int) -> Any:
    """Return exp(x**2) erfc(x): the product if exp(x**2) is in range, else the asymptotic series of `n_terms` terms."""
    is_far = x > constant(x, np.sqrt(np.log(dtypes.finfo(x.dtype).max)))
    near = lax.select(is_far, lax.full_like(x, 1.0), x)
    product = lax.exp(lax.square(near)) * lax.erfc(near)
    return lax.select(is_far, _far_out(x, n_terms), product)


@custom_jvp
def _erfcx(x: Any) -> Any:
    x = as_array(x)  # a primal may be a Python number
    if x.dtype == np.float64:
        return _erfcx_of(x, 9)
    if x.dtype == np.float32:
        return _erfcx_of(x, 5)
    return _erfcx_of(x.astype(np.float32), 5).astype(x.dtype)


_erfcx.defjvps(lambda g, ans, x: g * (2 * x * ans - constant(x, _TWO_OVER_ROOT_PI)))


def erfcx(x: Any) -> Any:
    """Return exp(x**2) erfc(x), which stays in range even if erfc(x) is too small; of real or complex numbers."""
    (x,) = promoted("erfcx", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return _wofz(lax.complex(lax.neg(lax.imag(x)), lax.real(x)))
    return _erfcx(x)


# --- Dawson's integral -------------------------------------------------------------------------------------------------

# numerators and denominators for |x| up to 3.25, up to 6.25 and beyond, from the highest power on
_NEAR = (
    (1.1368149897175597e-11, 8.492622676674738e-10, 1.9443420417555306e-08, 9.531517412544844e-07,
     3.078283098749132e-06, 0.00035251336852028877, -0.0008501498467244109, 0.04226182230055466,
     -0.09174803717734524, 1.0),
    (2.403720730667626e-11, 1.488646813684934e-09, 5.212652810105416e-08, 1.2725847827318697e-06,
     2.324902498207895e-05, 0.00032552474182605793, 0.003488058146571626, 0.027944853119882897, 0.15887424196012057,
     0.5749186294893204, 1.0),
)  # fmt: skip
_BETWEEN = (
    (0.5089551564179009, -0.24475441814269785, 0.09415123353035344, -0.021871125514203903, 0.003662076123295692,
     -0.0004232091144603888, 3.5964130479389666e-05, -2.1464035171996896e-06, 9.100107800763914e-08,
     -2.4027452082825098e-09, 3.592333854409284e-11),
    (1.0, -0.6318398698733682, 0.2367067882282487, -0.053180636700322324, 0.008480417185862954,
     -0.0009479967684866654, 7.810255929445524e-05, -4.558751532524426e-06, 1.8910035811142186e-07,
     -4.913246913319206e-09, 7.184664032357345e-11),
)  # fmt: skip
_FAR = (
    (-0.5905928605347732, 0.6292352427243688, -0.17285897538038814, 0.016483704782518965, -0.0004868276130204627),
    (1.0, -2.698200571975449, 1.7327079904594784, -0.3937085822819395, 0.03442789240412334, -0.0009736552260409412),
)  # fmt: skip


def _dawsn_of(x: Any) -> Any:
    """Return Dawson's integral; each quotient gets numbers of its own interval only, so that none overflows."""
    first, second = constant(x, 3.25), constant(x, 6.25)
    one = constant(x, 1.0)
    signs = sign(x)
    size = lax.abs(x)

    t = one / lax.square(size)
    inside = lax.select(size < first, size, lax.full_like(size, 1.0))
    square = lax.square(inside)
    above, below = (np.array(each, dtype=x.dtype) for each in _NEAR)
    near = inside * polyval(above, square) / polyval(below, square)

    def beyond(interval: Any, is_there: Any) -> Any:
        safe_t = lax.select(is_there(), t, lax.full_like(t, 1.0))
        safe = lax.select(is_there(), size, lax.full_like(size, 1.0))
        above, below = (np.array(each, dtype=x.dtype) for each in interval)
        return (constant(x, 0.5) / safe) * (one + safe_t * polyval(above, safe_t) / polyval(below, safe_t))

    between = beyond(_BETWEEN, lambda: (size >= first) & (size < second))
    far = beyond(_FAR, lambda: size >= second)
    return signs * lax.select(size < first, near, lax.select(size < second, between, far))


@custom_jvp
def _dawsn(x: Any) -> Any:
    x = as_array(x)  # a primal may be a Python number
    return _dawsn_of(x) if x.dtype in (np.float32, np.float64) else _dawsn_of(x.astype(np.float32)).astype(x.dtype)


_dawsn.defjvps(lambda g, ans, x: g * (constant(x, 1.0) - constant(x, 2.0) * x * ans))


def dawsn(x: Any) -> Any:
    """Return Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x. Raise ValueError for complex x."""
    (x,) = promoted("dawsn", x)
    refuse_complex("dawsn", x)
    return _dawsn(x)
