"""Classes that come when they are asked for: `Device`, of PJRT's devices, which is jaxlib's, and `P`, JAX's PartitionSpec

JAX: jax/_src/xla_bridge.py:devices
"""

from __future__ import annotations

from typing import Any

from .beside_jax import jax
from .jaxlib import gate


def __getattr__(name: str) -> Any:
    if name == "Device":
        return gate().ext.Device
    if name == "P":
        return jax().sharding.PartitionSpec
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
