"""Arrays that are written to a store while the program goes on: the class that libraries test for

    serialization    the base of JAX's managers of checkpoints

JAX: jax/experimental/array_serialization/serialization.py:GlobalAsyncCheckpointManagerBase
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import serialization as serialization

missing_names.explain("experimental.array_serialization", sys.modules[__name__])
