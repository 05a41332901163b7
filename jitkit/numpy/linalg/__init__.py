"""`jitkit.numpy.linalg`: matrices, in the last two axes of arrays.

Comes in: arrays. Goes out: arrays, made of `lax.linalg`. To be read in this order: `decompositions`, `systems`, `determinants`,
`norms`, `least_squares`, `products`.

JAX: jax/_src/numpy/linalg.py:norm
"""

from __future__ import annotations

from .decompositions import cholesky as cholesky
from .decompositions import eig as eig
from .decompositions import eigh as eigh
from .decompositions import eigvals as eigvals
from .decompositions import eigvalsh as eigvalsh
from .decompositions import qr as qr
from .decompositions import svd as svd
from .decompositions import svdvals as svdvals
from .determinants import det as det
from .determinants import slogdet as slogdet
from .least_squares import lstsq as lstsq
from .least_squares import pinv as pinv
from .norms import cond as cond
from .norms import matrix_norm as matrix_norm
from .norms import matrix_rank as matrix_rank
from .norms import norm as norm
from .norms import vector_norm as vector_norm
from .products import cross as cross
from .products import diagonal as diagonal
from .products import matmul as matmul
from .products import matrix_power as matrix_power
from .products import matrix_transpose as matrix_transpose
from .products import multi_dot as multi_dot
from .products import outer as outer
from .products import tensordot as tensordot
from .products import trace as trace
from .products import vecdot as vecdot
from .systems import inv as inv
from .systems import solve as solve
from .systems import tensorinv as tensorinv
from .systems import tensorsolve as tensorsolve
