"""`jitkit.scipy`: functions with scipy's names.

Comes in: arrays. Goes out: arrays, made of `jitkit.numpy` and `jitkit.lax`. In the order of
reading:

    arguments                        what all functions do with their arguments first
    special                          functions that have names of their own
    stats                            distributions, which are made of these
    linalg                           matrices
    fft                              cosine transforms
    sparse                           systems of equations, solved step by step
    optimize                         where a function is smallest
    ndimage, integrate               arrays read between their elements; integrals of samples

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("scipy", sys.modules[__name__])
