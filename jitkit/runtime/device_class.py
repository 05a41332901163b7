"""Loads classes on first use: `Device`, jaxlib's class of PJRT devices, and `P`, JAX's PartitionSpec

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
