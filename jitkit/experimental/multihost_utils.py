"""Messages between several processes. Here there is one process, and nothing is sent

JAX: jax/experimental/multihost_utils.py:process_allgather
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..base import missing_names
from ..tree_util import tree_map


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return the arrays of all processes as numpy arrays, stacked along a new first axis, of size 1 here. `tiled` joins
    them along their own first axis instead, so here they are unchanged.
    """
    return tree_map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Return the arrays of the source process as numpy arrays. There is only this process, so `is_source` is ignored."""
    return tree_map(np.asarray, in_tree)


def sync_global_devices(name: str) -> None:
    """Return at once: there are no other processes to wait for."""


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise AssertionError unless all processes have the same arrays. nan does not equal itself."""
    same: list[bool] = []
    tree_map(lambda x: same.append(bool(np.all(np.equal(x, x)))), in_tree)
    if not all(same):
        raise AssertionError(f"{fail_message}. Expected: {process_allgather(in_tree, tiled=True)}; got: {in_tree}.")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Return False: nobody tells this process that it will be stopped."""
    return False


missing_names.explain("experimental.multihost_utils", sys.modules[__name__])
