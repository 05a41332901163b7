"""Meshes and shardings: which device holds which part of an array. They are JAX's own classes, which buffers carry

    mesh = Mesh(np.array(jitkit.devices()).reshape(4, 2), ("x", "y"))
    x = jitkit.device_put(x, NamedSharding(mesh, PartitionSpec("x")))

JAX: jax/_src/named_sharding.py:NamedSharding
"""

from __future__ import annotations

import sys
from typing import Any

from . import runtime
from .base import missing_names

_NAMES = ["AbstractMesh", "AxisType", "Mesh", "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'jitkit.sharding' has no attribute {name!r}")
    return getattr(runtime.jax().sharding, name)


def __dir__() -> list[str]:
    return _NAMES


missing_names.explain("sharding", sys.modules[__name__])
