"""Functions that run in Python where the devices of their arguments are: here in this process, to which all devices belong

    func             an empty module, in which orbax looks for a function of JAX's
    serialization    the list of devices that orbax names in annotations

JAX: jax/experimental/colocated_python/api.py:colocated_python
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...base import missing_names
from ...runtime.array import Array
from ...runtime.devices import devices
from ...tree_util import tree_leaves


def colocated_python(fun: Callable[..., Any]) -> Any:
    """Return the function with a check that arguments and results are trees of arrays, as JAX requires for other hosts.
    A call raises ValueError for a leaf that is not an array.
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        _check((args, kwargs))
        result = fun(*args, **kwargs)
        _check(result)
        return result

    vars(call)["specialize"] = lambda **hints: colocated_python(fun)  # what JAX would find out in the first call
    return call


def _check(tree: Any) -> None:
    for leaf in tree_leaves(tree):
        if not isinstance(leaf, Array):
            raise ValueError(f"colocated_python only supports jax.Array as input and output, but got {type(leaf)}.")


def colocated_python_class(cls: type) -> type:
    """Return the class itself: its instances live where they are made."""
    return cls


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """Return the CPU devices next to some devices, or the mesh of them. A CPU device is next to itself; other devices
    share out the CPU devices of this process, in order. Raise ValueError if there are fewer CPU devices.
    """
    if hasattr(devices_or_mesh, "axis_names"):
        mesh = devices_or_mesh
        places = colocated_cpu_devices(list(mesh.devices.flat))
        grid = mesh.devices.copy()
        grid.flat = places
        return type(mesh)(grid, mesh.axis_names, axis_types=mesh.axis_types)
    return _cpu_devices(list(devices_or_mesh))


def _cpu_devices(wanted: Sequence[Any]) -> list[Any]:
    if all(device.platform == "cpu" for device in wanted):
        return list(wanted)
    there = devices("cpu")
    if len(there) < len(wanted):
        raise ValueError(f"There are {len(wanted)} devices, and {len(there)} CPU devices.")
    return list(there[: len(wanted)])


missing_names.explain("experimental.colocated_python", sys.modules[__name__])
