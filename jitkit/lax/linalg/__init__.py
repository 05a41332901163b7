"""`jitkit.lax.linalg`: matrices, taken apart and solved for. The work is LAPACK's, which XLA calls on the CPU.

All take batches: matrices lie in the last two axes. To be read in this order: `lapack` (what all of them have in common),
`factoring`, `solving`, `spectral`, `derivatives`.

JAX: jax/_src/lax/linalg.py:cholesky
"""

from __future__ import annotations

from . import derivatives as derivatives
from .factoring import cholesky as cholesky
from .factoring import cholesky_p as cholesky_p
from .factoring import geqrf as geqrf
from .factoring import geqrf_p as geqrf_p
from .factoring import householder_product as householder_product
from .factoring import householder_product_p as householder_product_p
from .factoring import lu as lu
from .factoring import lu_p as lu_p
from .factoring import lu_pivots_to_permutation as lu_pivots_to_permutation
from .factoring import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from .factoring import qr as qr
from .factoring import qr_p as qr_p
from .solving import solve as solve
from .solving import triangular_solve as triangular_solve
from .solving import triangular_solve_p as triangular_solve_p
from .spectral import EighImplementation as EighImplementation
from .spectral import EigImplementation as EigImplementation
from .spectral import SvdAlgorithm as SvdAlgorithm
from .spectral import eig as eig
from .spectral import eig_p as eig_p
from .spectral import eigh as eigh
from .spectral import eigh_p as eigh_p
from .spectral import svd as svd
from .spectral import svd_p as svd_p
