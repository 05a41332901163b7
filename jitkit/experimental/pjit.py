"""`pjit`, the older name of `jit`

JAX: jax/_src/pjit.py:pjit
"""

from __future__ import annotations

import sys

from ..base import missing_names
from ..pjit.jit import jit as pjit

__all__ = ["pjit"]

missing_names.explain("experimental.pjit", sys.modules[__name__])
