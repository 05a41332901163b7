"""`jitkit.scipy.special`: special functions.

Input: arrays, or numbers. Output: arrays of floats, or of complex numbers. In the order of reading:

    error_functions     the error function, the logistic function, Bessel's functions
    faddeeva            the error function, scaled: of complex numbers, `erfcx`, Dawson's integral
    gamma_functions     gamma and beta functions, complete and incomplete
    log_beta            the logarithm of the beta function, without losing digits
    zeta_functions      Hurwitz's zeta, and Bernoulli's numbers
    complex_gamma       the gamma function of complex numbers
    counting            factorials, binomial coefficients, rising powers
    exponential_integrals   integrals of exp(t) / t
    trigonometric_integrals   integrals of sin(t) / t and cos(t) / t, and of the sine and cosine of t**2
    dilogarithm         the dilogarithm
    hypergeometric      1F1 and 2F1, of real numbers
    spherical_harmonics     functions on a sphere, from associated Legendre functions
    logarithms          x log x, entropies, sums of exponentials, powers of Box and Cox
    normal              the normal distribution
    two_normals         Owen's T, a probability of two normal variables
    normal_tail         quantiles of the normal distribution, and its values far from the middle

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

import sys

from ...base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("scipy.special", sys.modules[__name__])
