"""parts of an array + sharding -> Array: each device's part is given, or comes from a function

JAX: jax/_src/array.py:make_array_from_callback
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import core, runtime
from ..base import errors
from ..core import ShapedArray, Tracer
from ..core.default_types import check_and_canonicalize_user_dtype
from .array import Array, as_array, reinterpreted, wrap

Index = tuple[slice, ...]


def make_array_from_callback(
    shape: tuple[int, ...], sharding: Any, data_callback: Callable[[Index], Any], dtype: Any = None
) -> Array:
    """Return an Array of this shape; `data_callback` computes the part that each device holds.

    Args:
      sharding: which device holds which part.
      data_callback: takes the slices of a part, one for each axis, and returns its numbers: a numpy array, an Array or a number. It is
        called for each device, or once if each device holds the whole array.
      dtype: the dtype of the parts, which are not converted; by default the first part's.

    Raises:
      TypeError: `sharding` is not a sharding; InvalidInputException, a subclass: a part is not an array.
      UnexpectedTracerError: a part is a tracer.
      ValueError: a part has another shape or dtype than its sharding and `dtype` say, or the array cannot be divided.
    """
    _check_sharding(sharding)
    owners = runtime.sharding_devices(sharding)
    if sharding.is_fully_replicated:
        parts = [_part(data_callback((slice(None),) * len(shape)))] * len(owners)
    else:
        indices = sharding.addressable_devices_indices_map(shape)
        parts = [_part(data_callback(indices[owner])) for owner in owners]
    aval = ShapedArray(tuple(shape), _dtype(parts, dtype, "make_array_from_callback"))
    _check_parts(parts, sharding, aval)
    with runtime.explicit_transfers("device_put"):
        places = map(runtime.single_device_sharding, owners)
        buffers = [runtime.put(x._buf, x.aval, place, True) for x, place in zip(parts, places, strict=True)]
    return _joined(buffers, sharding, aval)


def make_array_from_single_device_arrays(
    shape: tuple[int, ...], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """Return an Array of this shape whose parts are the given arrays, which are not copied. They may come in any order:
    the device of an array says which part it is.

    Args:
      sharding: which device holds which part.
      arrays: a list or a tuple of Arrays, one on each device of the sharding.
      dtype: the dtype of the arrays, which are not converted; by default the first one's.

    Raises:
      TypeError: `arrays` is not a list or tuple of Arrays, or `sharding` not a sharding.
      ValueError: for tracers; arrays are not on the devices of the sharding, one on each; one has another shape or dtype than
        its sharding and `dtype` say.
    """
    name = "make_array_from_single_device_arrays"
    if not isinstance(arrays, list | tuple):
        raise TypeError(f"jax.{name} `arrays` argument must be a list or tuple, but got {type(arrays)}.")
    found = _dtype(arrays, dtype, name)
    if any(isinstance(x, Tracer) for x in arrays):
        kinds = set(map(type, arrays))
        raise ValueError(f"jax.{name} requires a list of concrete arrays as input, but got types {kinds}")
    for x in arrays:
        if type(x) is not Array and not runtime.is_buffer(x):
            raise TypeError(
                f"Unsupported type for elements in `arrays`: {type(x)}\nPut it on its device by `device_put`."
            )
    _check_sharding(sharding)
    parts = list(map(as_array, arrays))
    _check_devices(parts, sharding)
    aval = ShapedArray(tuple(shape), found)
    _check_parts(parts, sharding, aval)
    buffer_on = {device: x._buf for x in parts for device in x.devices()}
    return _joined([buffer_on[device] for device in runtime.sharding_devices(sharding)], sharding, aval)


def _part(x: Any) -> Array:
    """Return a callback's result as an Array. Raise UnexpectedTracerError for a tracer, InvalidInputException for
    anything else that is not an array.
    """
    if isinstance(x, Tracer):
        raise errors.UnexpectedTracerError("jax.make_array_from_callback cannot be called within a traced context.")
    try:
        part: Array = as_array(x)
    except TypeError:
        raise errors.InvalidInputException(f"Argument '{x}' of type {type(x)} is not a valid JAX type.") from None
    return part


def _joined(buffers: list[Any], sharding: Any, aval: ShapedArray) -> Array:
    """Return the Array that has these buffers as parts, in the order of the sharding's devices."""
    stored = core.physical_aval(aval)
    whole = runtime.gate().ext.ArrayImpl(stored, sharding, buffers, committed=True, _skip_checks=True)
    return reinterpreted(wrap(runtime.for_jax(whole) if runtime.is_over_mesh(sharding) else whole), aval)


# --- checks, in JAX's order and with its sentences ----------------------------------------------------------------------------


def _check_sharding(sharding: Any) -> None:
    if not hasattr(sharding, "device_set"):
        raise TypeError(
            f"sharding should be an instance of `jax.sharding`. Got {sharding} of type {type(sharding)}\n"
            "Pass `jitkit.sharding.NamedSharding(mesh, spec)`, or the sharding of an array."
        )


def _dtype(parts: Sequence[Any], dtype: Any, name: str) -> Any:
    """Return the dtype of the whole array. Raise ValueError if `dtype` is not that of the first part, or if neither is known."""
    if dtype is None and not parts:
        raise ValueError(
            "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
            f"`jax.{name}`."
        )
    if dtype is None:
        return parts[0].dtype
    dtype = check_and_canonicalize_user_dtype(dtype, name)
    if parts and parts[0].dtype != dtype:
        raise ValueError(
            f"If `dtype` is provided to `jax.{name}`, it must match the dtype of the addressable shards. "
            f"Got dtype={dtype} and shard dtype={parts[0].dtype}`."
        )
    return dtype


def _check_devices(parts: Sequence[Array], sharding: Any) -> None:
    """Raise ValueError unless there is one array on each device of the sharding."""
    on = [sorted(device.id for device in x.devices()) for x in parts]
    for ids in on:
        if len(ids) > 1:
            raise ValueError(
                "When making an array from single-device arrays the input arrays must have one shard each. "
                f"An argument array had {len(ids)} shard(s)."
            )
    asked, given = {device.id for device in runtime.sharding_devices(sharding)}, [ids[0] for ids in on]
    if len(given) != len(asked):
        raise ValueError(
            f"Expected {len(asked)} per-device arrays (this is how many devices are addressable by the sharding), but got "
            f"{len(given)}"
        )
    if len(set(given)) != len(given):
        raise ValueError(
            "When making an array from single-device arrays, the input arrays must be from distinct devices, but got "
            f"device IDs {given}"
        )
    if missing := asked - set(given):
        raise ValueError(
            f"Addressable devices and per-device arrays devices do not match. Sharding contains devices {missing} that are "
            f"not present in per-device arrays. Per-device arrays contain devices {set(given) - asked} that are not present "
            "in the sharding."
        )


def _check_parts(parts: Sequence[Array], sharding: Any, aval: ShapedArray) -> None:
    """Raise ValueError unless each part has the shape and dtype that follow from the whole array."""
    shape = sharding.shard_shape(aval.shape)
    for x in parts:
        if x.dtype != aval.dtype:
            raise ValueError(
                f"Input buffers to `Array` must have matching dtypes. Got {x.dtype}, expected {aval.dtype} for buffer: {x}"
            )
        if x.shape != shape:
            raise ValueError(
                f"Expected shard shape {shape} doesn't match the single device array shape {x.shape}. Shape of Array is "
                f"{aval.str_short()} with sharding {sharding}"
            )
