"""value + place -> an Array there: one leaf of `device_put`

JAX: jax/_src/dispatch.py:device_put_p
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import core, runtime
from ..base import edits, errors
from ..core import Tracer, dtypes
from .array import Array, as_array


def _not_for_a_device(x: Any) -> TypeError:
    if isinstance(x, str):
        return TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type{edits.NOT_FOR_A_DEVICE}")
    if about := errors.about_value_of_jax(x):
        return TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type{about}")
    if hasattr(x, "dtype"):
        return TypeError(
            f"Dtype {x.dtype} is not a valid JAX array type. Only arrays of numeric types are supported by JAX."
        )
    return TypeError(
        f"Cannot interpret value of type {type(x)} as an abstract array; it does not have a dtype attribute"
        f"{edits.NOT_FOR_A_DEVICE}"
    )


def check_put(x: Any) -> None:
    """Raise TypeError if x is not an array that a device can have."""
    if type(x) in core.not_arrays:
        return
    try:
        core.get_aval(x)
    except TypeError:
        raise _not_for_a_device(x) from None


def check_place(device: Any) -> None:
    """Raise ValueError unless `device` is None, a device or a sharding."""
    if device is not None and not hasattr(device, "device_set") and not hasattr(device, "client"):
        raise ValueError(
            "`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, `Format`, `jax.memory.Space` "
            f"or a pytree of these values. Received invalid value: {device}\n"
            "Pass one of `jitkit.devices()`, or a Sharding."
        )


def device_put_leaf(x: Any, device: Any = None) -> Any:
    """Return one array, put on a device or sharding; with None, on the default device, unless it is on a device. Return
    a token or a tracer unchanged, and a float0 array as a numpy array. Raise TypeError for anything that is not an
    array, ValueError for another `device`.
    """
    if type(x) in core.not_arrays:
        return x
    check_put(x)
    x = as_array(x)
    if x.dtype == dtypes.float0:
        return np.zeros(x.shape, x.dtype)
    if device is None:
        return x
    check_place(device)
    if isinstance(x, Tracer):
        return x
    if hasattr(device, "device_set") and x.committed and x.sharding == device:
        return x
    sharding = device if hasattr(device, "device_set") else runtime.single_device_sharding(device)
    return Array(runtime.put(x._buf, x.aval, sharding, True), x.aval, runtime.placed(x.aval, sharding))
