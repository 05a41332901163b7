"""Defines the table of `jax.interpreters.xla` in which TensorFlow Probability enters a class of its own, and `apply_primitive`, with
which libraries run a primitive of their own.

JAX: jax/_src/dtypes.py:canonicalize_value_handlers
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import late_rooms, missing_names

# type of an operand -> the function that converts it before use. Libraries add entries, and jitkit never reads them:
# `np.asarray` converts everything that has an aval.
canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = {np.ndarray: np.asarray}

late_rooms.hand_on(__name__, apply_primitive="jitkit.pjit.applying:apply_primitive")
missing_names.explain("interpreters.xla", sys.modules[__name__])
