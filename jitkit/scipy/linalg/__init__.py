"""`jitkit.scipy.linalg`: matrices, with scipy's names and arguments.

Input: arrays. Output: arrays, computed by `lax.linalg`. In the order of reading:

    factoring            Cholesky, LU, QR, singular values, eigenvalues, and systems that are solved by factors
    functions            functions of matrices: the exponential
    schur_forms          the forms of Schur and Hessenberg, and by them square roots and any functions of matrices
    sylvester            AX + XB = C, solved by the forms of Schur
    tridiagonals         eigenvalues of a matrix with numbers on three diagonals only
    polar_form           a unitary matrix times a positive one
    patterns             matrices made from a row and a column, or from blocks
    named_matrices       named matrices of a given size

JAX: jax/_src/scipy/linalg.py:cholesky
"""

from __future__ import annotations

import sys

from ...base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("scipy.linalg", sys.modules[__name__])
