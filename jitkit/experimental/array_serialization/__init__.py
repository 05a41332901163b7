"""The base class of JAX's asynchronous checkpoint managers, which libraries use in `isinstance`

    serialization    the class

JAX: jax/experimental/array_serialization/serialization.py:GlobalAsyncCheckpointManagerBase
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import serialization as serialization

missing_names.explain("experimental.array_serialization", sys.modules[__name__])
