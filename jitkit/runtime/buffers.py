"""value -> buffer: puts data on a device; buffer -> its aval and place

A buffer is a `jax.Array` that we only pass to executables, as a handle.

JAX: jax/_src/array.py:ArrayImpl
"""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import core
from ..base import config
from ..core import ShapedArray, dtypes
from . import python_halves
from .beside_jax import apart, for_jax, is_here, jax
from .devices import (
    Sharding,
    default_device,
    has_several,
    make_room,
    placed,
    sharding_devices,
    single_device_sharding,
    uncommitted,
)
from .jaxlib import explained, gate

Buffer = Any  # a jax.Array, used as a handle on a PJRT buffer

# --- avals of jax.Array -------------------------------------------------------------------------------------

_aval_of_jax_aval: dict[Any, ShapedArray] = {}


def aval_of_buffer(buffer: Buffer) -> ShapedArray:
    """Return our aval of a jax.Array, by one look-up of JAX's interned aval. Raise TypeError for a dtype that jitkit lacks."""
    jax_aval = buffer.aval
    found = _aval_of_jax_aval.get(jax_aval)
    if found is None:
        if not dtypes.is_array_dtype(jax_aval.dtype):
            raise TypeError(f"jax.Array of dtype {jax_aval.dtype} is not supported by jitkit")
        make_room(_aval_of_jax_aval)
        found = _aval_of_jax_aval[jax_aval] = ShapedArray(jax_aval.shape, jax_aval.dtype, jax_aval.weak_type)
    return found


def key_of_buffer(buffer: Buffer) -> Any:
    """Return the cache key of a jax.Array: its aval and its place, or if it is uncommitted on the first device, the aval alone."""
    aval = _aval_of_jax_aval.get(buffer.aval) or aval_of_buffer(buffer)  # saves 0.1 us of 5
    if buffer._committed:
        return placed(aval, buffer.sharding)
    return uncommitted(aval, buffer.sharding) if has_several() else aval


def _ask_about_type(t: type) -> Callable[[Any], Any] | None:
    """Return the function from values of this type to their avals if the type is `jax.Array`, which `core` does not know; else None."""
    if t.__name__ == "ArrayImpl" and t.__module__.startswith("jaxlib"):
        return aval_of_buffer
    return None


core.foreign.aval_function = _ask_about_type


def is_buffer(x: Any) -> bool:
    """Return whether x is a jax.Array with a value."""
    t = type(x)
    return t.__name__ == "ArrayImpl" and t.__module__.startswith("jaxlib")


# --- data in and out ----------------------------------------------------------------------------------------


def put(x: Any, aval: ShapedArray, sharding: Sharding, committed: bool) -> Buffer:
    """Copy a host value (numpy, Python scalar), or a buffer on other devices, to the devices of a sharding; return the
    buffer, which is `committed` to these devices or not.
    """
    if is_buffer(x):
        return _moved(x, sharding) if committed or x.sharding != sharding else x
    if not core.is_of_arrays(aval):
        x = np.zeros(core.physical_aval(aval).shape, bool)
    aval = core.physical_aval(aval)
    # do not show numpy's warning if a number is too large and becomes inf
    value = x if type(x) is np.ndarray and x.dtype == aval.dtype else np.asarray(x, aval.dtype)
    owners = sharding_devices(sharding)
    if len(owners) > 1:
        with jax().enable_x64(True):  # JAX halves 64-bit values unless its own switch is on, which may differ from ours
            return jax().device_put(value, sharding)
    try:
        return gate().ext.batched_device_put(aval, sharding, [value], list(owners), committed, enable_x64=True)
    except gate().runtime_error as error:  # a guard of transfers
        raise explained(error) from None


def _moved(x: Buffer, sharding: Sharding) -> Buffer:
    """Return a committed buffer on the devices of a sharding, on the same memory if x is there."""
    if x.sharding != sharding or len(sharding_devices(sharding)) > 1:
        return jax().device_put(for_jax(x), sharding)
    return gate().ext.ArrayImpl(x.aval, sharding, [x], committed=True, _skip_checks=True)


def copy_to_host_async(buffer: Buffer) -> None:
    """Begin to copy a buffer to the host, unless it is there."""
    if not _is_on_cpu(buffer):
        for_jax(buffer).copy_to_host_async()


def address_of(buffer: Buffer) -> int:
    """Return the address of a buffer's elements in the memory of its device."""
    return python_halves.Memory(buffer).address if _is_on_cpu(buffer) else int(buffer.unsafe_buffer_pointer())


# --- DLPack -------------------------------------------------------------------------------------------------


def dlpack(buffer: Buffer, asked: dict[str, Any]) -> Any:
    """Return a DLPack capsule of a buffer. `asked` has the keyword arguments of `__dlpack__`. jaxlib makes the capsule, except if
    JAX is loaded, if the buffer is not on the CPU, or if `asked` has a stream, a device or a copy: then JAX makes it.
    """
    if _is_on_cpu(buffer) and not any(asked.get(name) for name in ("stream", "dl_device", "copy")):
        return gate().ext.buffer_to_dlpack_managed_tensor(buffer)
    return for_jax(buffer).__dlpack__(**asked)


def dlpack_device(buffer: Buffer) -> Any:
    """Return a buffer's device in DLPack's numbers."""
    return (_DLPACK_CPU, 0) if _is_on_cpu(buffer) else for_jax(buffer).__dlpack_device__()


def _is_on_cpu(buffer: Buffer) -> bool:
    """Return whether a buffer is on the CPU, and JAX is not loaded."""
    return not is_here() and [each.platform for each in sharding_devices(buffer.sharding)] == ["cpu"]


_DLPACK_CPU = 1


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> Buffer:
    """Return a buffer on the memory of anything that supports DLPack: torch tensors, cupy and numpy arrays, jax.Arrays.

    Nothing is copied if alignment and dtype allow that, unless `copy` is True, or `device` is another device than that of
    the value. Raise TypeError for values without DLPack's methods.
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError("The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods.")
    as_it_is = device is None and copy is None and not is_here()
    if as_it_is and x.__dlpack_device__()[0] == _DLPACK_CPU:
        with contextlib.suppress(BufferError, RuntimeError, TypeError):  # what numpy cannot do
            value = np.from_dlpack(x)
            aval = core.get_aval(value)
            if aval.dtype == value.dtype:
                return put(value, aval, single_device_sharding(default_device()), True)
    with jax().enable_x64(config.x64()), apart():
        return _with_aval(jax().dlpack.from_dlpack(x, device=device, copy=copy))


def from_cuda(x: Any) -> Buffer:
    """Return a buffer on the memory of anything with a `__cuda_array_interface__`, such as cupy's and numba's arrays.
    Raise RuntimeError if the default device is not an NVIDIA GPU.
    """
    described = x.__cuda_array_interface__
    client = default_device().client
    ordinal = _ordinal(described["data"][0], client.platform_version)
    with apart():
        buffer = gate().ext.cuda_array_interface_to_buffer(cai=described, gpu_backend=client, device_id=ordinal)
        return _with_aval(buffer)


def _with_aval(buffer: Buffer) -> Buffer:
    """Return the buffer, with an aval if jaxlib, without `jax.core`, did not make one."""
    if buffer.aval is not None:
        return buffer
    described = buffer.__cuda_array_interface__
    aval = jax().core.ShapedArray(described["shape"], np.dtype(described["typestr"]))
    return buffer._rewrap_with_aval_and_sharding(aval, buffer._sharding)


def _ordinal(address: int, platform_version: str) -> int | None:
    """Return the number of the GPU that holds an address; None if the platform's plugin cannot say it."""
    if "cuda" in platform_version.lower():
        for plugin in ("jax_cuda13_plugin", "jax_cuda12_plugin"):
            with contextlib.suppress(ImportError):
                found: int = importlib.import_module(f"{plugin}.cuda_plugin_extension").get_device_ordinal(address)
                return found
    return None


# --- memory of the host, for programs that are not XLA's -----------------------------------------------------------

_LINE = 64  # bytes: XLA uses memory with this alignment without a copy


def let_go() -> None:
    """Free host memory that belonged to buffers which no longer exist. Otherwise jaxlib keeps it until its next call."""
    gate().ext.collect_garbage()


def address(buffer: Buffer) -> int:
    """Return the address of a CPU buffer's elements, after waiting for them."""
    buffer.block_until_ready()
    found: int = buffer.unsafe_buffer_pointer()
    return found


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an array in new, aligned memory, from which `put` makes a buffer without a copy."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + _LINE, np.uint8)
    begin = -raw.ctypes.data % _LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)
