"""Computes quantiles of the normal distribution, and the logarithm of the probability of its tail below x.

The coefficients are Cephes' (S. Moshier, ndtri.c).

JAX: jax/_src/scipy/special.py:ndtri
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...base import config
from ...numpy import full, polyval, where, zeros_like

DEGREE_OF_TAIL = 3

# Numerators and denominators, from the highest power on: for p from exp(-2) to 1 - exp(-2); for z = sqrt(-2 log p) < 8; for z >= 8.
_MIDDLE = (
    (-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125),
    (
        1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905, -225.46268785411937, 200.26021238006066,
        -82.03722561683334, 15.90562251262117, -1.1833162112133,
    ),
)  # fmt: skip
_NEAR = (
    (
        4.0554489230596245, 31.525109459989388, 57.16281922464213, 44.08050738932008, 14.684956192885803,
        2.1866330685079025, -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854,
    ),
    (
        1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672, 15.04253856929075, 2.504649462083094,
        -0.14218292285478779, -0.03808064076915783, -0.0009332594808954574,
    ),
)  # fmt: skip
_FAR = (
    (
        3.2377489177694603, 6.915228890689842, 3.9388102529247444, 1.3330346081580755, 0.20148538954917908,
        0.012371663481782003, 0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09,
    ),
    (
        1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132, 0.21623699359449663, 0.013420400608854318,
        0.00032801446468212774, 2.8924786474538068e-06, 6.790194080099813e-09,
    ),
)  # fmt: skip


def _quotient(polynomials: Any, scalar: Any, x: Any) -> Any:
    above, below = (np.array(coefficients, scalar) for coefficients in polynomials)
    return polyval(above, x) / polyval(below, x)


def _in_far_terms(polynomials: Any, scalar: Any, z: Any) -> Any:
    above, below = (np.array(coefficients, scalar) for coefficients in polynomials)
    return polyval(above, 1 / z) / polyval(below, 1 / z) / z


def quantile(p: Any, scalar: Any) -> Any:
    """Return the quantile of the normal distribution for the probability p, which has the type `scalar`."""
    shape = np.shape(p)
    tail = where(p > scalar(-np.expm1(-2.0)), scalar(1.0) - p, p)
    tail = where(tail == scalar(0.0), full(shape, scalar(0.5)), tail)  # the logarithm of 0 is not needed
    w = tail - scalar(0.5)
    ww = lax.square(w)
    middle = (w + w * ww * _quotient(_MIDDLE, scalar, ww)) * -scalar(np.sqrt(2.0 * np.pi))
    z = lax.sqrt(scalar(-2.0) * lax.log(tail))
    first = z - lax.log(z) / z
    far, near = (_in_far_terms(polynomials, scalar, z) for polynomials in (_FAR, _NEAR))
    far, near = first - far, first - near
    x = where(tail > scalar(np.exp(-2.0)), middle, where(z >= scalar(8.0), far, near))
    x = where(p > scalar(1.0 - np.exp(-2.0)), x, -x)
    with config.override(debug_infs=False):  # these infinities are right
        infinity = full(shape, scalar(np.inf))
        is_zero = p == scalar(0.0)
        minus = -infinity
    return where(is_zero, minus, where(p == scalar(1.0), infinity, x))


def log_of_tail(x: Any, terms: int) -> Any:
    """Return the logarithm of the normal distribution function at x far below 0, by the asymptotic series."""
    scalar = x.dtype.type
    scale = -scalar(0.5) * lax.square(x) - lax.log(-x) - scalar(0.5 * np.log(2.0 * np.pi))
    return scale + lax.log(_series(x, terms, scalar))


def _series(x: Any, terms: int, scalar: Any) -> Any:
    """Return 1 - 1/x^2 + 3/x^4 - 15/x^6 ..., with `terms` terms after the 1."""
    if terms <= 0:
        return np.array(1, scalar)
    square = lax.square(x)
    sums = [zeros_like(x), zeros_like(x)]
    power = square
    for n in range(1, terms + 1):
        odd_factorial = np.prod(np.arange(2 * n - 1, 1, -2))
        sums[n % 2] += np.array(odd_factorial, scalar) / power
        power = power * square
    return scalar(1.0) + sums[0] - sums[1]
