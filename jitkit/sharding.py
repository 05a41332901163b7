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
from .pjit import resharding
from .runtime import meshes

_OURS = {"get_abstract_mesh", "get_mesh", "set_mesh"}
_NAMES = [
    "AbstractDevice", "AbstractMesh", "AxisType", "ManualAxisType", "Mesh", "NamedSharding", "PartitionSpec", "Sharding",
    "SingleDeviceSharding", "get_abstract_mesh", "get_mesh", "make_single_device_sharding",
    "reshard", "set_mesh",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__all__":  # what `import *` asks for
        return _NAMES
    if name not in _NAMES:
        raise AttributeError(f"module 'jitkit.sharding' has no attribute {name!r}")
    if name == "reshard":
        return resharding.reshard
    return getattr(meshes if name in _OURS else runtime.jax().sharding, name)


def __dir__() -> list[str]:
    return _NAMES


missing_names.explain("sharding", sys.modules[__name__])
