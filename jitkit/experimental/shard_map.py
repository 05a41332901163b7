"""`shard_map` under its older name, `jax.experimental.shard_map.shard_map`

JAX: jax/experimental/shard_map.py:shard_map
"""

from __future__ import annotations

from ..pjit.several_devices import shard_map

__all__ = ["shard_map"]
