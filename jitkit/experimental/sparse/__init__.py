"""Sparse arrays: entries that are not 0, with their places. The parts of JAX's module that most programs use

    base      the common part of sparse arrays
    bcoo      BCOO: entries and their coordinates, conversions, sums and products
    products  products of two sparse arrays
    bcsr      BCSR: entries row by row, and where each row begins
    transform `sparsify`: a function of dense arrays takes sparse ones
    making    arrays of zeros, and of ones on a diagonal
    linalg    spsolve: a system of equations with a sparse matrix, by scipy

In JAX each operation of BCOO is its own primitive. Here it consists of the gathers, products and scatters of that
primitive's lowering: the values are the same, and jaxprs show these operations. There are no batch dimensions.

JAX: jax/experimental/sparse/bcoo.py:BCOO
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import linalg
from .base import JAXSparse
from .bcoo import (
    BCOO,
    bcoo_dot_general,
    bcoo_fromdense,
    bcoo_multiply_sparse,
    bcoo_reduce_sum,
    bcoo_todense,
    bcoo_transpose,
    todense,
)
from .bcsr import BCSR, bcsr_dot_general, bcsr_fromdense, bcsr_todense
from .making import empty, eye
from .transform import sparsify

__all__ = [
    "BCOO", "BCSR", "JAXSparse", "bcoo_dot_general", "bcoo_fromdense", "bcoo_multiply_sparse", "bcoo_reduce_sum", "bcoo_todense",
    "bcoo_transpose",
    "bcsr_dot_general", "bcsr_fromdense", "bcsr_todense", "empty",
    "eye", "linalg", "sparsify", "todense",
]  # fmt: skip

missing_names.explain("experimental.sparse", sys.modules[__name__])
