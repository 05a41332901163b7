"""`jitkit.scipy.sparse`: `linalg`, which solves systems whose matrix is only known by its products with vectors.

JAX: jax/_src/scipy/sparse/linalg.py:cg
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import linalg as linalg

missing_names.explain("scipy.sparse", sys.modules[__name__])
missing_names.explain("scipy.sparse.linalg", linalg)
