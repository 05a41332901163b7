"""value -> Array: an aval and a handle on a buffer

An Array is a concrete value. It holds the PJRT buffer, and the cache key (its aval, or its aval and place if it is
committed). An operation returns before its result exists; reading the numbers (printing, `np.asarray`, `float`) waits,
and `block_until_ready` only waits, for measuring times.

JAX: jax/_src/array.py:ArrayImpl
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from .. import core, runtime
from ..base import config, edits, errors, habits, late_rooms
from ..base.late_rooms import Slots
from ..core import ShapedArray, Tracer, dtypes
from ..core.operators import Operators


class _ArrayMeta(type):
    """Makes `isinstance(x, jitkit.Array)` true of a `jax.Array`, and of tracers, for type checks in traced user code."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls in type(instance).__mro__ or isinstance(instance, Tracer) or runtime.is_buffer(instance)


class _Unstacking(Slots):
    """Holds the function that splits an array along its first axis. `lax` stores it here, since it imports this module."""

    rows: Callable[[Any], Sequence[Any]]


unstacking = _Unstacking()
_asarray, _ndarray = np.asarray, np.ndarray
_MOST_ROWS = 100  # a program that splits an array has at most this many results, one for each row
_MOST_TYPES = 256  # at most this many are in `_iterated`
_iterated: set[ShapedArray] = set()  # avals of arrays that were iterated over before


class Array(Operators, metaclass=_ArrayMeta):
    """An array on a device: immutable, with `shape`, `dtype`, the operators of numpy, and `weak_type`.

    `jitkit.numpy.array`, `device_put` and every operation return one. `np.asarray(x)`, `jax.numpy` and matplotlib
    accept it; on a CPU numpy sees the same memory, without a copy.
    """

    __slots__ = ("__weakref__", "_buf", "_key", "_view", "aval")
    __array_priority__ = 100
    __numpy_dtype__ = property(errors.array_as_dtype)  # for NumPy 2.4, where an array stands for a dtype

    aval: ShapedArray

    def __init__(self, buf: runtime.Buffer, aval: ShapedArray, key: Any) -> None:
        self._buf = buf
        self.aval = aval
        self._key = key
        self._view: Any = None  # cache of the numbers on the host: an ndarray, or a memoryview

    # type and place

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype came from a Python scalar and gives way in promotion."""
        return self.aval.weak_type

    @property
    def sharding(self) -> runtime.Sharding:
        """Which devices hold which part (a `jax.sharding.Sharding`)."""
        return self._buf.sharding

    format = property(lambda self: late_rooms.import_room(".layouts", __package__).format_of(self))

    @property
    def device(self) -> Any:
        """The device that holds the array, or its sharding when there are several."""
        self._check_not_deleted()
        owners = runtime.sharding_devices(self.sharding)
        return owners[0] if len(owners) == 1 else self.sharding

    def devices(self) -> set[runtime.Device]:
        """Return the devices that hold the array."""
        self._check_not_deleted()
        return set(runtime.sharding_devices(self._buf.sharding))

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process reaches every part of the array: with one process, always."""
        return bool(self.sharding.is_fully_addressable)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        return bool(self.sharding.is_fully_replicated)

    @property
    def addressable_shards(self) -> list[Any]:
        """The parts of the array, as in JAX: each has its `device`, `index` and `data`."""
        whole = runtime.buffer_for_jax(self)
        aval = self.aval.update(
            shape=whole.sharding.shard_shape(whole.shape)[: self.ndim]
        )  # the storage of random keys has one more axis
        shards, physical = whole.addressable_shards, core.physical_aval(aval)
        buffers = [each.data._rewrap_with_aval_and_sharding(physical, each.data.sharding) for each in shards]
        parts = [Array(buffer, aval, runtime.placed(aval, buffer.sharding)) for buffer in buffers]
        return [type(s)(s.device, whole.sharding, whole.shape, part) for s, part in zip(shards, parts, strict=True)]

    global_shards = addressable_shards  # the same, in one process

    def addressable_data(self, index: int) -> Any:
        """Return the part of the array on the index-th of its devices."""
        return self if index == 0 and len(self.devices()) == 1 else self.addressable_shards[index].data

    def on_device_size_in_bytes(self) -> int:
        """Return the memory that the array takes on its device."""
        return int(self._buf.on_device_size_in_bytes())

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the array's memory, which is valid as long as the array."""
        return runtime.address_of(self._buf)

    def copy_to_host_async(self) -> None:
        """Begin to copy the array to the host, for a later `np.asarray`."""
        self._check_not_deleted()
        runtime.copy_to_host_async(self._buf)

    @property
    def committed(self) -> bool:
        """Whether the array was put on its device on purpose; computations follow committed arrays."""
        return type(self._key) is runtime.Placed

    def block_until_ready(self) -> Array:
        """Wait until the array is computed, and return it. If its program failed, raise JaxRuntimeError."""
        try:
            self._buf.block_until_ready()
        except RuntimeError as error:
            raise runtime.explained(error) from None
        return self

    def is_ready(self) -> bool:
        """Return whether the array is computed."""
        self._check_not_deleted()  # XLA would crash
        return bool(self._buf.is_ready())

    def is_deleted(self) -> bool:
        """Return whether the buffer was donated or deleted."""
        return bool(self._buf.is_deleted())

    def delete(self) -> None:
        """Free the buffer now."""
        self._view = None  # it would keep the memory alive
        self._buf.delete()

    @property
    def _value(self) -> np.ndarray[Any, Any]:
        self._check_not_deleted()
        if self._is_of_keys:
            raise TypeError(edits.KEYS_ARE_NOT_OF_NUMPY)
        return np.asarray(self._buf)

    @property
    def _stored(self) -> np.ndarray[Any, Any]:
        """The numbers on the device; for an extended dtype its storage."""
        self._check_not_deleted()
        return np.asarray(self._buf)

    @property
    def _is_of_keys(self) -> bool:
        return isinstance(self.aval.dtype, dtypes.ExtendedDType)

    def _check_is_numbers(self, refusal: type[Exception], first_line: str) -> None:
        if self._is_of_keys:
            raise refusal(first_line + edits.KEYS_ARE_NOT_NUMBERS)

    def _check_not_deleted(self) -> None:
        if self._buf.is_deleted():
            raise runtime.deleted_error(self.aval)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if dtype is None and not copy:
            view = self._view
            if view.__class__ is _ndarray and not self._buf.is_deleted():
                own: np.ndarray[Any, Any] = view[...]  # an ndarray whose shape may be set
                return own  # a third of the cost of the general way below
            try:  # `contextlib.suppress` would cost as much as all of this
                seen = _asarray(self._buf)
            except RuntimeError:
                pass  # deleted: `_value` raises
            else:
                if seen.dtype is self.aval.dtype:  # not random keys, whose numbers are not their elements
                    self._view = seen
                    return seen[...]
        return np.asarray(self._value, dtype, copy=copy)

    @property
    def __jax_array__(self) -> Callable[[], runtime.Buffer]:
        """The function that returns the buffer. JAX calls it for a value of a foreign class."""
        if runtime.is_asked_by_jax(sys._getframe(1)) and self._is_of_keys:
            # JAX itself would complain about the key's shape. Other libraries may read the attribute.
            raise errors.key_for_jax_error(self.aval)
        return self._as_jax_array

    def _as_jax_array(self) -> runtime.Buffer:
        if self._is_of_keys:
            raise errors.key_for_jax_error(self.aval)
        return runtime.buffer_for_jax(self)

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self._is_of_keys:
            raise AttributeError("random keys have no `__dlpack__`; the array `jax.random.key_data(keys)` has one")
        return runtime.dlpack(self._buf, kwargs)

    def __dlpack_device__(self) -> Any:
        return runtime.dlpack_device(self._buf)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:  # raises AttributeError unless an NVIDIA GPU holds it
        self._check_is_numbers(AttributeError, "random keys have no `__cuda_array_interface__`")
        return cast("dict[str, Any]", self._buf.__cuda_array_interface__)

    def __buffer__(self, flags: int) -> memoryview:
        view = self._view
        if view is None and not self._is_of_keys and not self._buf.is_deleted():
            view = self._view = memoryview(self._buf)
        if view is not None and not self._buf.is_deleted():
            return memoryview(view)
        return memoryview(cast(Any, self._value))  # Python calls this from 3.12 on

    def tolist(self) -> Any:
        """Return nested lists of Python scalars; one scalar if there are no axes. Raise AttributeError for random keys."""
        self._check_is_numbers(AttributeError, "'PRNGKeyArray' object has no attribute 'tolist'")
        return self._value.tolist()

    def __bytes__(self) -> bytes:
        self._check_is_numbers(TypeError, "cannot convert 'PRNGKeyArray' object to bytes")
        return self.tobytes()

    def tobytes(self, order: str = "C") -> bytes:
        """Return the elements' bytes, in Fortran's order if `order` is "F". Raise AttributeError for random keys."""
        self._check_is_numbers(AttributeError, "'PRNGKeyArray' object has no attribute 'tobytes'")
        return self._value.tobytes("F" if order == "F" else "C")

    def item(self, *args: int) -> Any:
        """Return the only element, or the one at an index, as a Python scalar. Raise NotImplementedError for random keys."""
        self._check_is_numbers(NotImplementedError, "Cannot call abstract method item")
        return self._value.item(*args)

    def __bool__(self) -> bool:
        self._check_is_numbers(TypeError, "key array cannot be converted to boolean.")
        core.check_bool_conversion(self)
        return bool(self._value)

    def __int__(self) -> int:
        self._check_is_numbers(TypeError, f"int(){edits.NOT_OF_A_KEY}")
        core.check_scalar_conversion(self)
        return int(self._value)

    def __float__(self) -> float:
        self._check_is_numbers(TypeError, f"float(){edits.NOT_OF_A_KEY.replace(', a bytes-like object', '')}")
        core.check_scalar_conversion(self)
        return float(self._value)

    def __complex__(self) -> complex:
        self._check_is_numbers(TypeError, "complex() first argument must be a string or a number, not 'PRNGKeyArray'")
        core.check_scalar_conversion(self)
        return complex(self._value)

    def __index__(self) -> int:
        core.check_integer_conversion(self)
        return operator.index(self._value[()])

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError(f"len() of unsized object{edits.NO_LENGTH}")
        return self.aval.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError(f"iteration over a 0-d {edits.NO_ROWS[self._is_of_keys]}")
        if self._key is not self.aval or runtime.default_backend() != "cpu":
            if config.local.state.trace is None and len(runtime.sharding_devices(self.sharding)) == 1:
                return self._rows_by_programs()
            return (operator.getitem(cast(Any, self), i) for i in range(self.aval.shape[0]))
        aval = self.aval
        if aval in _iterated and config.local.state.trace is None:
            return iter(unstacking.rows(self))
        if aval.shape[0] <= _MOST_ROWS and not isinstance(aval.dtype, dtypes.ExtendedDType):  # not for keys
            if len(_iterated) >= _MOST_TYPES:
                _iterated.clear()
            _iterated.add(aval)
        # On the CPU a row is numpy's copy: a fifth of a slice's cost, nothing to compile. In a later loop, one program
        # makes all rows.
        aval = aval.update(shape=aval.shape[1:])
        return (from_host(row.copy(), aval) for row in self._stored)

    def _rows_by_programs(self) -> Iterator[Any]:
        """Yield the rows, on their device, by one program for each hundred: on a GPU, one slice costs as much as all of them."""
        for start in range(0, self.aval.shape[0], _MOST_ROWS):
            yield from unstacking.rows(operator.getitem(cast(Any, self), slice(start, start + _MOST_ROWS)))

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}{edits.NO_HASH}")

    def __reduce__(self) -> Any:
        return _unpickle, (self._stored, self.aval)

    def __format__(self, spec: str) -> str:
        if self._is_of_keys:
            return object.__format__(self, spec)
        return format(self._value if self.aval.ndim else self._value[()], spec)

    def __str__(self) -> str:
        return repr(self) if self._is_of_keys else str(self._value)

    def __repr__(self) -> str:
        kind = f"dtype={self.aval.dtype.name}{', weak_type=True' * self.aval.weak_type})"
        if self.is_deleted():
            return f"Array({self.aval.str_short()}, deleted)"
        if self._is_of_keys:
            return f"Array({self.aval.shape}, {kind} overlaying:\n{self._stored}"
        if self.aval.size == 0:
            return f"Array([], shape={self.aval.shape}, {kind}"
        width = np.get_printoptions()["linewidth"]
        text = np.array2string(self._value, prefix="Array(", suffix=",", separator=", ", max_line_width=width)
        is_long = len(text) - text.rfind("\n") + 1 + len(kind) + 1 > width
        return f"Array({text},{' ' * (len('Array(') if is_long else 1)}{kind}"


def _unpickle(value: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
    return from_host(value, aval)


core.aval_of_type[Array] = lambda x: x.aval
runtime.let_jax_take(Array)


# --- making and converting ----------------------------------------------------------------------------------


def wrap(buffer: runtime.Buffer) -> Array:
    """Return an Array around a jax.Array, without a copy."""
    return Array(buffer, runtime.aval_of_buffer(buffer), runtime.key_of_buffer(buffer))


def from_host(x: Any, aval: ShapedArray) -> Array:
    """Return an uncommitted Array of this aval with the values of a numpy array or Python scalar."""
    sharding = runtime.single_device_sharding(runtime.default_device())
    return Array(runtime.put(x, aval, sharding, False), aval, runtime.uncommitted(aval, sharding))


def reinterpreted(x: Array, aval: ShapedArray) -> Array:
    """Return the buffer of x as an Array of another aval with the same storage."""
    key = x._key
    remade = aval if key is x.aval else (runtime.placed if x.committed else runtime.uncommitted)(aval, key.sharding)
    return Array(x._buf, aval, remade)


def as_array(x: Any) -> Any:
    """Return an array-like value (numpy, Python scalar, jax.Array) as an Array; Arrays and tracers unchanged. Raise
    TypeError for anything else.
    """
    if type(x) is Array or isinstance(x, Tracer):
        return x
    if runtime.is_buffer(x):
        return wrap(x)
    return from_host(x, core.get_aval(x))


habits.mark(Array)
