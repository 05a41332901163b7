"""The names of `jax.tree`: functions of `tree_util` without their prefix.

JAX: jax/_src/tree.py:flatten
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from . import tree_util
from .base import missing_names

all = tree_util.tree_all
broadcast = tree_util.tree_broadcast
flatten = tree_util.tree_flatten
flatten_with_path = tree_util.tree_flatten_with_path
leaves = tree_util.tree_leaves
leaves_with_path = tree_util.tree_leaves_with_path
map = tree_util.tree_map
map_with_path = tree_util.tree_map_with_path
reduce = tree_util.tree_reduce
reduce_associative = tree_util.tree_reduce_associative
structure = tree_util.tree_structure
transpose = tree_util.tree_transpose
unflatten = tree_util.tree_unflatten


def static(**kwargs: Any) -> Any:
    """Return `dataclasses.field` for a field that is metadata, not a child: see `tree_util.register_dataclass`."""
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


missing_names.explain("tree", sys.modules[__name__])
