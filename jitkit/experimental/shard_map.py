"""`shard_map` where it was before: in a module of that name

JAX: jax/experimental/shard_map.py:shard_map
"""

from __future__ import annotations

from ..pjit.several_devices import shard_map

__all__ = ["shard_map"]
