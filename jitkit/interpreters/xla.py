"""type -> handler: the table of `jax.interpreters.xla` in which TensorFlow Probability enters a class of its own

JAX: jax/_src/dtypes.py:canonicalize_value_handlers
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import missing_names

# type of an operand -> the function that converts it before use. Here `np.asarray` reads whatever has an aval, so this
# table is never read.
canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = {np.ndarray: np.asarray}

missing_names.explain("interpreters.xla", sys.modules[__name__])
