"""Wrapped -> Traced -> Lowered -> Compiled: the types to stop at after each arrow. They are defined in `pjit/stages` and `pjit/function`.

JAX: jax/_src/stages.py:Wrapped
"""

from __future__ import annotations

import sys

from .base import missing_names
from .pjit.function import Wrapped as Wrapped
from .pjit.stages import Compiled as Compiled
from .pjit.stages import Lowered as Lowered
from .pjit.stages import Traced as Traced
from .signature.shape_struct import ArgInfo as ArgInfo

missing_names.explain("stages", sys.modules[__name__])
