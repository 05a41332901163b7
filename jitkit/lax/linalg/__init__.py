"""`jitkit.lax.linalg`: factors matrices, and solves linear systems. XLA calls LAPACK for this on a CPU, and cuSOLVER on
a GPU.

All but `cholesky_update` take batches: matrices lie in the last two axes. In the order of reading: `lapack` (what all
have in common), `cusolver`, `factoring`, `solving`, `updates`, `spectral`, `schur_forms`, `tridiagonals`,
`derivatives`.

JAX: jax/_src/lax/linalg.py:cholesky
"""

from __future__ import annotations

import sys

from ...base import late_rooms, missing_names

late_rooms.attach(__name__)
late_rooms.hand_on(__name__, qdwh="jitkit.scipy.linalg.polar_form:qdwh")
missing_names.explain("lax.linalg", sys.modules[__name__])
