"""jaxlib's classes -> the same classes, with the Python methods that jaxlib calls

JAX's arrays and shardings are implemented in C++, and JAX adds Python methods when it is imported. Until then they have
the methods in this module, which arrays on one device need. A later import of JAX overwrites these, so earlier arrays
and shardings become like JAX's own.

JAX: jax/_src/util.py:use_cpp_class
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np

from ..core import dtypes


def complete(ext: Any, xla_client: Any) -> None:
    """Set the missing methods in `jaxlib._jax`, and the switches that its functions look up."""
    whole = xla_client.HloSharding.replicate()
    halves: dict[Any, dict[str, Any]] = {
        ext.Sharding: {
            "is_equivalent_to": lambda self, other, ndim: self == other,
            "shard_shape": lambda self, shape: tuple(shape),
        },
        ext.SingleDeviceSharding: {
            "_to_xla_hlo_sharding": lambda self, ndim: whole,
            "_device_assignment": property(lambda self: (self._device,)),
            "device_set": property(lambda self: {self._device}),
            "memory_kind": property(lambda self: self._memory_kind),
            "is_fully_addressable": property(lambda self: True),
            "is_fully_replicated": property(lambda self: True),
            "check_compatible_aval": lambda self, shape: None,  # any array fits on one device
            "__eq__": _is_same_sharding,
            "__hash__": lambda self: hash((self._device, self._memory_kind)),  # JAX's hash, also before its import
            "__repr__": lambda self: f"SingleDeviceSharding(device={self._device!r}, memory_kind={self._memory_kind})",
        },
        ext.ArrayImpl: {"sharding": property(lambda self: self._sharding), "__array__": _as_numpy},
    }
    for half, methods in halves.items():
        for name, method in methods.items():
            if name not in vars(half) or name in ("__eq__", "__hash__", "__repr__"):
                setattr(half, name, method)
    state, Config = ext.jax_jit, ext.config.Config
    state.set_enable_x64_state(Config("enable_x64", False))
    state.set_disable_jit_state(Config("disable_jit", False))
    state.set_post_hook_state(Config("post_hook", None))


def _is_same_sharding(self: Any, other: Any) -> bool:
    return type(other) is type(self) and (self._device, self._memory_kind) == (other._device, other._memory_kind)


def _as_numpy(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return the elements of a buffer, for dtypes that Python's buffer protocol does not know, such as bfloat16."""
    self.block_until_ready()
    if dtypes.itemsize_bits(self.aval.dtype) < 8:  # packed: jaxlib unpacks them, and imports JAX where it is installed
        elements = self._single_device_array_to_np_array_did_copy()[0]
    else:
        elements = np.array(Memory(self)).view(self.aval.dtype)  # a copy, so that the buffer can be deleted
        elements.flags.writeable = False
    return np.asarray(elements, dtype, copy=copy)


class Memory:
    """A buffer's memory on the CPU, found by DLPack: the buffer's own method for it imports JAX. numpy sees each
    element as bytes. The buffer must outlive this object, or XLA ends the process.
    """

    def __init__(self, buffer: Any) -> None:
        self._capsule = importlib.import_module("jaxlib._jax").buffer_to_dlpack_managed_tensor(buffer)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # the first field of DLPack's structure is the address of the data
        self.address = ctypes.c_void_p.from_address(pointer(self._capsule, b"dltensor")).value or 0
        aval = buffer.aval
        self.__array_interface__ = {
            "version": 3, "shape": aval.shape, "typestr": f"|V{aval.dtype.itemsize}", "data": (self.address, True),
        }  # fmt: skip
