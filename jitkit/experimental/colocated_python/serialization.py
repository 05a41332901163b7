"""The class of lists of devices, which orbax names in annotations. Nothing is sent to other processes here

JAX: jax/experimental/colocated_python/serialization.py:DeviceList
"""

from __future__ import annotations

from typing import Any

DeviceList = tuple[Any, ...]
