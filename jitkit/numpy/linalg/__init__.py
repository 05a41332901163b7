"""`jitkit.numpy.linalg`: matrices, in the last two axes of arrays.

Input: arrays. Output: arrays, computed by `lax.linalg`. In the order of reading: `decompositions`, `systems`,
`determinants`, `norms`, `least_squares`, `products`.

JAX: jax/_src/numpy/linalg.py:norm
"""

from __future__ import annotations

import sys

from ...base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("numpy.linalg", sys.modules[__name__])
