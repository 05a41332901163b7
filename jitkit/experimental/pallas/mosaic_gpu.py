"""The name `mosaic_gpu` in `jax.experimental.pallas`. The module is empty

JAX: jax/_src/pallas/pallas_call.py:pallas_call
"""

from __future__ import annotations

import sys

from .. import pallas

vars(sys.modules[__name__])["__getattr__"] = pallas.__getattr__
