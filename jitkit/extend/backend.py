"""The clients of jaxlib for this machine's platforms, under the names of `jax.extend.backend`

JAX: jax/_src/xla_bridge.py:get_backend
"""

from __future__ import annotations

import sys
from typing import Any

from ..base import missing_names
from ..runtime.devices import clients, default_backend, default_device, devices


def get_backend(platform: str | None = None) -> Any:
    """Return the client of a platform ("cpu", "gpu", "tpu", ...), or of the default one. Raise RuntimeError if it has no device."""
    return devices(platform)[0].client


def backends() -> dict[str, Any]:
    """Return the clients of all platforms that this process uses, by name."""
    default = default_backend()
    return {**clients, default: get_backend(default)}


def get_default_device() -> Any:
    """Return the device on which arrays are put by default."""
    return default_device()


missing_names.explain("extend.backend", sys.modules[__name__])
