"""`jitkit.scipy`: functions with scipy's names.

Input: arrays. Output: arrays, computed by `jitkit.numpy` and `jitkit.lax`. In the order of reading:

    arguments                        checks and promotion of arguments
    special                          special functions
    stats                            distributions, which use these
    linalg                           matrices
    fft                              cosine transforms
    signal                           convolutions and spectra of sampled signals
    sparse                           iterative solvers of systems of equations
    optimize                         minimization
    ndimage, interpolate, integrate  interpolation in arrays and on grids; integrals of samples
    cluster                          the nearest of some points

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("scipy", sys.modules[__name__])
