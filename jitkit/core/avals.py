"""Defines abstract values (avals): what is known of a value while tracing. For an array that is its shape, its dtype,
and whether the dtype is weak.

A dtype is weak if it came from a Python number; it gives way in promotion: `x + 1` has the dtype of x.

Avals are interned: equal avals are the same object. As dictionary keys they hash by address, so the bookkeeping of a
compiled call takes only about a microsecond.

JAX: jax/_src/core.py:ShapedArray
"""

from __future__ import annotations

import functools
import operator
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..base.late_rooms import Slots
from . import dtypes
from .default_types import dtypes_of_x64


class _Places(Slots):
    """Two functions of the runtime about shardings in types: `unspecified(ndim)` returns the sharding of a traced array
    with this many axes; `in_type(sharding, shape)` converts a sharding to one that a type of this shape can have.
    """

    unspecified: Callable[[int], Any]
    in_type: Callable[[Any, tuple[int, ...]], Any]


places = _Places()


class AbstractValue:
    """What is known of a value while tracing: the base class of all avals."""

    __slots__ = ()

    is_wide: bool = False  # whether only x64 mode has the dtype


class ShapedArray(AbstractValue):
    """The type of an array: shape (tuple of ints), dtype, and `weak_type` (does the dtype give way in promotion?). A
    user's type may have a `sharding`, which `jit` ignores: types of arguments do not have it.
    """

    __slots__ = ("__weakref__", "_sharding", "dtype", "is_wide", "ndim", "shape", "size", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool
    _sharding: Any
    ndim: int
    size: int

    _interned: ClassVar[weakref.WeakValueDictionary[tuple[Any, ...], ShapedArray]] = weakref.WeakValueDictionary()
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __new__(cls, shape: Sequence[int], dtype: Any, weak_type: bool = False, *, sharding: Any = None) -> ShapedArray:
        """Return the aval with these parts, always the same object for the same parts."""
        if sharding is not None:
            sharding = places.in_type(sharding, tuple(shape))
        key = (tuple(shape), dtype, weak_type, sharding)
        try:
            self = cls._interned.get(key)
        except TypeError:
            if isinstance(dtype, np.dtype):
                raise
            # An array, whose dtype NumPy takes, has no hash.
            return cls(shape, np.dtype(dtype), weak_type, sharding=sharding)
        if self is None:
            element = dtype if isinstance(dtype, dtypes.ExtendedDType) else np.dtype(dtype)
            self = cls._make(tuple(map(operator.index, shape)), element, bool(weak_type), sharding)
        return self

    @classmethod
    def _make(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool, sharding: Any) -> ShapedArray:
        with cls._lock:  # two threads must not intern two equal avals
            key = (shape, dtype, weak_type, sharding)
            self = cls._interned.get(key)
            if self is None:
                self = object.__new__(cls)
                self.shape, self.dtype, self.weak_type, self._sharding = key
                self.ndim = len(shape)
                self.size = int(np.prod(shape, dtype=object)) if shape else 1
                self.is_wide = dtype in dtypes_of_x64
                cls._interned[key] = self
            return self

    @property
    def sharding(self) -> Any:
        """JAX's sharding of the type: the one that it was made with, or else one over a mesh without axes. (Only `jit`
        and `device_put` spread arrays here.)
        """
        return places.unspecified(self.ndim) if self._sharding is None else self._sharding

    def update(
        self, shape: Sequence[int] | None = None, dtype: Any = None, weak_type: bool | None = None, sharding: Any = ...
    ) -> ShapedArray:
        """Return the same aval with some parts replaced."""
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            sharding=self._sharding if sharding is ... else sharding,
        )

    def to_tangent_aval(self) -> ShapedArray:
        """Return the type of a tangent: the same for floats and complex numbers, float0 for all others."""
        return self if dtypes.issubdtype(self.dtype, np.inexact) else ShapedArray(self.shape, dtypes.float0)

    at_least_vspace = to_ct_aval = to_tangent_aval  # other names in JAX: tangents and cotangents have the same type

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        """Return the same aval, weak or not."""
        return self.update(weak_type=weak_type)

    def strip_weak_type(self) -> ShapedArray:
        """Return the aval with a strong type, to compare types except for weakness."""
        return self.update(weak_type=False) if self.weak_type else self

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return `float32[3,4]`, or with `short_dtypes` `f32[3,4]`, as in jaxprs. `3@x` is an axis that is spread over a mesh axis `x`."""
        long_name = "float0" if self.dtype == dtypes.float0 else self.dtype.name  # numpy calls it "void"
        name = dtypes.short_dtype_name(self.dtype) if short_dtypes else long_name
        sizes = list(map(str, self.shape))
        if self._sharding is not None:
            for i, axes in enumerate(self._sharding.spec):
                sizes[i] += "" if axes is None else f"@({','.join(axes)})" if isinstance(axes, tuple) else f"@{axes}"
        return f"{name}[{','.join(sizes)}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short()

    def __reduce__(self) -> tuple[Any, ...]:
        made = ShapedArray if self._sharding is None else functools.partial(ShapedArray, sharding=self._sharding)
        return made, (self.shape, self.dtype, self.weak_type)


def physical_aval(aval: Any) -> Any:
    """Return the aval of the storage on the device: for an extended dtype, an array with the element's axes last; for
    float0, which has no bytes, an array of bools; for a token, an empty array; for all others, the aval itself.
    """
    if aval is abstract_token:
        return ShapedArray((0,), np.bool_)
    dtype = getattr(aval, "dtype", None)
    if dtype == dtypes.float0:
        return ShapedArray(aval.shape, np.bool_)
    if not isinstance(dtype, dtypes.ExtendedDType):
        return aval
    return ShapedArray((*aval.shape, *dtype.physical_shape), dtype.physical_dtype)


def is_of_arrays(aval: Any) -> bool:
    """Return whether the values of this type are Arrays: not for tokens, and for float0 tangents of integers, which
    have only a shape.
    """
    return aval is not abstract_token and aval.dtype != dtypes.float0


class AbstractToken(AbstractValue):
    """The type of a token, which orders effects: it carries no data."""

    shape: ClassVar[tuple[int, ...]] = ()
    weak_type: ClassVar[bool] = False

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return `Tok`, in either style."""
        return "Tok"

    def strip_weak_type(self) -> AbstractToken:
        """Return the aval itself: a token has no dtype."""
        return self

    def __repr__(self) -> str:
        return "AbstractToken()"


abstract_token = AbstractToken()
