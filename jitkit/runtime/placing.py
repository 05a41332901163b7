"""Provides functions on devices for users: get a tree of arrays, wait for it, list the devices.

JAX: jax/_src/api.py:device_get
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..base import config, traceback_util
from ..base.options import is_place
from ..core import dtypes
from ..tree_util import tree_leaves, tree_map
from . import executing
from .array import Array, wrap
from .buffers import is_buffer
from .devices import devices
from .jaxlib import explicit_transfers

# --- data ---------------------------------------------------------------------------------------------------


def device_get(x: Any) -> Any:
    """Return a tree with its Arrays as numpy arrays; other leaves, and random keys, which numpy does not know, are unchanged."""
    with explicit_transfers("device_get"):
        return tree_map(_on_host, x)


def _on_host(leaf: Any) -> Any:
    is_array = type(leaf) is Array or is_buffer(leaf)
    return leaf.__array__() if is_array and not isinstance(leaf.dtype, dtypes.ExtendedDType) else leaf


def copy_to_host_async(x: Any) -> Any:
    """Begin to copy each array of a tree to the host, for a later `device_get`, and return the tree."""
    for leaf in tree_leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


@traceback_util.api_boundary
def block_until_ready(x: Any) -> Any:
    """Wait until every array in a tree is computed, and return the tree: for measuring times, since calls return before
    that. Also wait for other leaves with a method `block_until_ready`.
    """
    leaves = tree_leaves(x)
    executing.block_until_ready([leaf._buf for leaf in leaves if type(leaf) is Array])
    for leaf in leaves:
        if type(leaf) is not Array:
            with suppress(AttributeError):
                leaf.block_until_ready()
    return x


def live_arrays(platform: str | None = None) -> list[Array]:
    """Return all arrays that take memory on the devices of a platform, or of the default one: those of the program, and
    constants of compiled programs. Each is a new Array on the same memory; `delete` frees that for all.

    Random keys appear as the integers that they consist of. Raise RuntimeError if the platform has no devices.
    """
    return list(map(wrap, devices(platform)[0].client.live_arrays()))


# --- devices and processes ----------------------------------------------------------------------------------


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Any]:
    """Return this process's devices of a platform, by default the default one: all of them, since there is one process.
    `host_id` is the old name of `process_index`, and warns.

    Raises:
      ValueError: `process_index` is neither None nor 0, the number of the only process.
      RuntimeError: the platform has no devices.
    """
    if host_id is not None:
        warnings.warn(
            "The argument to jax.local_devices has been renamed from `host_id` to `process_index`. This alias will "
            "eventually be removed; please update your code.",
            stacklevel=2,
        )
        process_index = host_id
    if process_index not in (None, 0):
        raise ValueError(f"Unknown process_index {process_index}")
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Return the number of devices of a platform, by default the default one."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return the number of devices of this process: all of them, since there is one process."""
    return device_count(backend)


def process_index(backend: str | None = None) -> int:
    """Return the number of this process among those that compute together: 0."""
    devices(backend)
    return 0


def process_count(backend: str | None = None) -> int:
    """Return the number of processes that compute together: 1."""
    return process_index(backend) + 1


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of the processes that compute together."""
    return [process_index(backend)]


@contextmanager
def default_device(new_val: Any = None) -> Iterator[None]:
    """Make arrays in the block on `new_val`: a device, the name of a platform, or None for the usual device. Functions
    called in it are traced again. The arrays are not committed: outside of the block, a function copies them to its own
    device. Raise ValueError for another `new_val`.
    """
    if not is_place(new_val):
        raise ValueError(
            "jax.default_device must be passed either a Device object (e.g. `jax.devices('cpu')[0]`) or a platform name "
            f"string like 'cpu' or 'gpu', got: {new_val!r}"
        )
    with config.override(default_device=new_val):
        yield
