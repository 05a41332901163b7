"""`jitkit.scipy.sparse`: `linalg`, which solves systems whose matrix need only be known by its products with vectors.

Input: a matrix, or a function that multiplies with it, and a right side. Output: the solution. In the order of reading:

    tree_vectors        trees of arrays as vectors
    minimal_residual    the method GMRES
    linalg              conjugate gradients, BiCGSTAB, and the functions for users

JAX: jax/_src/scipy/sparse/linalg.py:cg
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import linalg as linalg

missing_names.explain("scipy.sparse", sys.modules[__name__])
missing_names.explain("scipy.sparse.linalg", linalg)
