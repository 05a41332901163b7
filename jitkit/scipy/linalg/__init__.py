"""`jitkit.scipy.linalg`: matrices, with scipy's names and arguments.

Comes in: arrays. Goes out: arrays, made of `lax.linalg`. In the order of reading:

    factoring            Cholesky, LU, QR, singular values, eigenvalues, and systems that are solved by factors
    functions            functions of matrices: the exponential
    patterns             matrices that are made of a row and a column, or of blocks
    named_matrices       matrices that are made of a size

JAX: jax/_src/scipy/linalg.py:cholesky
"""

from __future__ import annotations

import sys

from ...base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("scipy.linalg", sys.modules[__name__])
