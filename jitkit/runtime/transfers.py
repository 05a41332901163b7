"""Guards transfers: in a block, copying between the host and devices is logged or raises an error

At each copy jaxlib looks at the level of its direction: the thread's, which these functions set, or else the process's,
which `config.update` sets. "log" and "disallow" let the explicit copies of `device_put` and `device_get` pass;
"log_explicit" and "disallow_explicit" concern them, too.

JAX: jax/_src/config.py:transfer_guard
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from ..base import config
from .jaxlib import DIRECTIONS, gate, guard


def transfer_guard(new_val: str) -> AbstractContextManager[None]:
    """Guard all transfers in the block: "allow", "log", "disallow", "log_explicit" or "disallow_explicit".

    On a CPU, only copies from the host to the device count: numpy arrays, numbers and lists that become Arrays. A numpy
    array that only looks at an Array's memory is not a copy. Raise JaxRuntimeError in the block for a transfer that is
    not allowed, ValueError for another level.
    """
    return _guarded(*DIRECTIONS, level=new_val)


def transfer_guard_host_to_device(new_val: str) -> AbstractContextManager[None]:
    """Guard copies from the host to devices in the block; the levels are those of `transfer_guard`."""
    return _guarded("host_to_device", level=new_val)


def transfer_guard_device_to_device(new_val: str) -> AbstractContextManager[None]:
    """Guard copies from one device to another in the block; the levels are those of `transfer_guard`."""
    return _guarded("device_to_device", level=new_val)


def transfer_guard_device_to_host(new_val: str) -> AbstractContextManager[None]:
    """Guard copies from devices to the host in the block; the levels are those of `transfer_guard`."""
    return _guarded("device_to_host", level=new_val)


@contextmanager
def _guarded(*directions: str, level: str) -> Iterator[None]:
    options = [f"transfer_guard_{direction}" for direction in directions]
    options += ["transfer_guard"] * (directions == DIRECTIONS)
    with config.override(**dict.fromkeys(options, level)):
        state = gate().ext.guard_lib.thread_local_state()
        before = [getattr(state, direction) for direction in directions]
        for direction in directions:
            guard(state, direction, level)
        try:
            yield
        finally:
            for direction, old in zip(directions, before, strict=True):
                setattr(state, direction, old)
