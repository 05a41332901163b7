"""The names of `jax.distributed`, which starts what several processes compute together. Here a program is one process

JAX: jax/_src/distributed.py:initialize
"""

from __future__ import annotations

import sys
from typing import Any

from .base import missing_names
from .runtime.devices import clients

_started: list[str] = []  # the address, after `initialize`


class _GlobalState:
    """The state that libraries read in `jax._src.distributed.global_state`: this process is the first, without a
    connection to others.
    """

    process_id, client = 0, None


global_state = _GlobalState()

_SEVERAL = (
    "jax.distributed.initialize(num_processes={}): jitkit runs in one process, and cannot join others.\n"
    "Start the program once, without `num_processes` and `coordinator_address` or with `num_processes=1`."
)


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: Any = None,
    **options: Any,
) -> None:
    """Begin the work of the only process. Nothing is sent to the address; `local_device_ids` and `options` do nothing.

    Raises:
      NotImplementedError: `num_processes` is not 1.
      RuntimeError: after a first call, or once jitkit has used a device: for an array, or for `jax.devices()`.
      ValueError: one of the first three arguments is missing: jitkit does not find them out.
    """
    if clients:
        raise RuntimeError(
            "jax.distributed.initialize() must be called before any JAX calls that might initialise the XLA backend. "
            "This includes any computation, but also calls to jax.devices, jax.device_put, and others."
        )
    if coordinator_address is None:
        raise ValueError("coordinator_address should be defined.")
    if num_processes is None:
        raise ValueError("Number of processes must be defined.")
    if process_id is None:
        raise ValueError("The process id of the current process must be defined.")
    if num_processes != 1:
        raise NotImplementedError(_SEVERAL.format(num_processes))
    if _started:
        raise RuntimeError("distributed.initialize should only be called once.")
    _started.append(coordinator_address)


def is_initialized() -> bool:
    """Return whether `initialize` was called, and not yet `shutdown`."""
    return bool(_started)


def shutdown() -> None:
    """Undo `initialize`, if it was called."""
    _started.clear()


missing_names.explain("distributed", sys.modules[__name__])
