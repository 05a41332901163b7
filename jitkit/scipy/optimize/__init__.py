"""`jitkit.scipy.optimize`: minimizes a function of a vector.

Input: a function of a 1-D array that returns a real scalar, and a starting point. Output: its minimum. Each method is a
`lax.while_loop`, so that all of it can be jitted. In the order of reading:

    minimizing       `minimize`, which chooses the method
    bfgs             a matrix is the estimate of the inverse Hessian
    lbfgs            the last few steps are the estimate
    line_search      how far to go in a direction, for both

JAX: jax/_src/scipy/optimize/minimize.py:minimize
"""

from __future__ import annotations

import sys

from ...base import missing_names
from .minimizing import OptimizeResults as OptimizeResults
from .minimizing import minimize as minimize

missing_names.explain("scipy.optimize", sys.modules[__name__])
