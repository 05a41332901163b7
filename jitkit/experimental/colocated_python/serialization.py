"""Defines `DeviceList`, the type of a list of devices: orbax names it in annotations. The functions of JAX's module,
which send programs to other processes, are left out

JAX: jax/experimental/colocated_python/serialization.py:DeviceList
"""

from __future__ import annotations

from typing import Any

DeviceList = tuple[Any, ...]
