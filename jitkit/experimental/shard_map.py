"""`shard_map` under its older name, in a module of that name

JAX: jax/experimental/shard_map.py:shard_map
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..base import missing_names
from ..pjit import several_devices


def shard_map(f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True) -> Any:
    """Return `jitkit.shard_map` of the function, with the parameters of this module in JAX."""
    return several_devices.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)


missing_names.explain("experimental.shard_map", sys.modules[__name__])
