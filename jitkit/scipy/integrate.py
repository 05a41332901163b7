"""`jitkit.scipy.integrate`: integrates functions given by samples.

JAX: jax/_src/scipy/integrate.py:trapezoid
"""

from __future__ import annotations

import sys
from typing import Any

from ..base import missing_names
from ..numpy import calculus
from ..pjit.jit import jit


@jit(static_argnames=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral of the samples `y` along an axis, by the trapezoidal rule. The samples are at positions `x`;
    without `x`, at distances `dx` from each other.
    """
    return calculus.trapezoid(y, x, dx, axis)


missing_names.explain("scipy.integrate", sys.modules[__name__])
