"""Sparse arrays: entries that are not 0, with their places. `BCOO` has what most programs use; the rest of JAX's module is not here

    base      what sparse arrays have in common, and the class that is not here yet
    bcoo      BCOO: entries and their coordinates, conversions, sums and products
    making    arrays of zeros, and of ones on a diagonal
    linalg    spsolve: a system of equations with a sparse matrix, by scipy

In JAX each operation of BCOO is a primitive of its own. Here it consists of the gathers, products and scatters that JAX's primitive
is lowered to: the values are the same, and jaxprs show these operations. There are no batch dimensions.

JAX: jax/experimental/sparse/bcoo.py:BCOO
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import linalg
from .base import BCSR, JAXSparse, sparsify
from .bcoo import BCOO, bcoo_dot_general, bcoo_fromdense, bcoo_reduce_sum, bcoo_todense, bcoo_transpose, todense
from .making import empty, eye

__all__ = [
    "BCOO", "BCSR", "JAXSparse", "bcoo_dot_general", "bcoo_fromdense", "bcoo_reduce_sum", "bcoo_todense", "bcoo_transpose", "empty",
    "eye", "linalg", "sparsify", "todense",
]  # fmt: skip

missing_names.explain("experimental.sparse", sys.modules[__name__])
