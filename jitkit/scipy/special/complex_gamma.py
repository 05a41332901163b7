"""Computes the gamma function of complex numbers, and its logarithm, by Lanczos's series.

For Re(z) >= 1/2, log gamma(z) = log(2 pi) / 2 + (z - 1/2) log(t) - t + log(series(z)) with t = z + 6.5. Left of that,
the reflection formula gamma(z) gamma(1 - z) = pi / sin(pi z) mirrors z. A branch that `where` does not take is computed
with a harmless number, because its nan would reappear in the derivative: 0 times nan is nan.

Sources: C. Lanczos, A Precision Approximation of the Gamma Function (SIAM J. Numer. Anal. B 1, 1964); the coefficients
are those of GSL's lanczos_7_c, for g = 7.

JAX: jax/_src/scipy/special.py:gamma
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ...numpy import any as any_
from ...numpy import (
    arange,
    asarray,
    ceil,
    exp,
    floor,
    full_like,
    imag,
    isnan,
    log,
    maximum,
    ones_like,
    real,
    sin,
    where,
    zeros_like,
)
from ...numpy import sum as sum_
from ...pjit.jit import jit

_G = 7.0
_SERIES = np.array(
    [
        0.99999999999980993,
        676.5203681218851,
        -1259.1392167224028,
        771.32342877765313,
        -176.61502916214059,
        12.507343278686905,
        -0.13857109526572012,
        9.9843695780195716e-6,
        1.5056327351493116e-7,
    ]
)


def gamma(z: Any) -> Any:
    """Return the gamma function of complex numbers; nan at its poles, which are 0 and the negative integers."""
    undefined = _is_undefined(z)
    safe = where(undefined, ones_like(z), z)
    return where(undefined, _nan(z), exp(_log_gamma(safe)))


def loggamma(z: Any) -> Any:
    """Return the branch of log gamma(z) that is continuous but for a cut along the negative real axis, as in SciPy.

    The logarithm of the reflection formula jumps elsewhere, too. So z is moved into the right half by log gamma(z) =
    log gamma(z + n) - log(z) - ... - log(z + n - 1).
    """
    return _complex_loggamma_scipy(z)


@jit
def _complex_loggamma_scipy(z: Any) -> Any:
    undefined = _is_undefined(z)
    safe = where(undefined, ones_like(z), z)
    steps = maximum(0, ceil(0.5 - real(safe)).astype(int))

    def step(state: Any) -> Any:
        k, total = state
        is_left = k < steps
        shifted = where(is_left, safe + k, ones_like(safe))
        return k + 1, total + where(is_left, log(shifted), zeros_like(total))

    _, logs = lax.while_loop(lambda state: any_(state[0] < steps), step, (0, zeros_like(safe)))
    return where(undefined, _nan(z), _log_gamma(safe + steps) - logs)


def _is_undefined(z: Any) -> Any:
    is_not_a_number = isnan(z)
    return ((imag(z) == 0) & (real(z) == floor(real(z))) & (real(z) <= 0)) | is_not_a_number


def _nan(z: Any) -> Any:
    return asarray(complex(np.nan, np.nan), dtype=z.dtype)


def _log_gamma(z: Any) -> Any:
    """Return a logarithm of gamma(z): for Re(z) < 1/2 one of several, which differ by multiples of 2 pi i."""
    is_left = real(z) < 0.5
    below = where(is_left, 1.0 - z, z) - 1.0
    series = asarray(_SERIES, dtype=z.dtype)
    steps = lax.expand_dims(arange(1, len(_SERIES), dtype=z.dtype), tuple(range(below.ndim)))
    first, others = series[0], lax.expand_dims(series[1:], tuple(range(below.ndim)))
    factor = first + sum_(others / (lax.expand_dims(below, (below.ndim,)) + steps), axis=-1)
    t = below + _G + 0.5
    right = asarray(0.5 * math.log(2.0 * math.pi), dtype=z.dtype) + (below + 0.5) * log(t) - t + log(factor)
    mirrored = where(is_left, z, full_like(z, 0.5))
    left = log(asarray(math.pi, dtype=z.dtype)) - log(sin(math.pi * mirrored)) - right
    return where(is_left, left, right)
