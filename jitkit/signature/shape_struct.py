"""Defines arrays without values: arguments for `trace`, `lower`, `eval_shape` and `make_jaxpr`.

JAX: jax/_src/core.py:ShapeDtypeStruct
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .. import core, runtime
from ..base.jax_version import since
from ..core import ShapedArray, dtypes


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """One argument's aval, and whether its buffer is donated."""

    _aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The argument's shape."""
        shape: tuple[int, ...] = self._aval.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The argument's dtype."""
        return self._aval.dtype


class ShapeDtypeStruct:
    """The shape and dtype of an array without its values: an argument for `trace`, `lower`, `eval_shape` and
    `make_jaxpr`, and a leaf of the result of `eval_shape`. `sharding` says where the array would be committed, None
    that it would not; `weak_type` says whether its type gives way in promotion. Raise ValueError for the dtype None.
    """

    __module__ = "jitkit"  # its public place, which errors show
    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        aval = ShapedArray(tuple(shape), dtype)
        self.shape = aval.shape
        self.dtype = aval.dtype
        self.sharding = sharding
        self.weak_type = weak_type

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Return the shape and dtype of an array, a number or a tracer; its sharding, if it is committed."""
        aval = aval_of_argument(x)
        # A tracer is on no device yet, and refuses to answer.
        on_purpose = not isinstance(x, core.Tracer) and getattr(x, "committed", True)
        return cls(
            aval.shape,
            aval.dtype,
            sharding=getattr(x, "sharding", None) if on_purpose else None,
            weak_type=aval.weak_type,
        )

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return ShapedArray(self.shape, self.dtype).size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, self.weak_type

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return the same with some parts replaced: `shape`, `dtype`, `sharding`, `weak_type`."""
        parts = {name: getattr(self, name) for name in ShapeDtypeStruct.__slots__} | changes
        return ShapeDtypeStruct(parts.pop("shape"), parts.pop("dtype"), **parts)

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = f", weak_type={self.weak_type}" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"


def aval_of_argument(x: Any) -> Any:
    """Return the aval of an argument whose value is not needed: a `ShapeDtypeStruct`, or anything with a shape and a
    dtype; an aval itself, without a sharding.
    """
    if isinstance(x, ShapedArray):
        return x.update(sharding=None)
    if isinstance(x, ShapeDtypeStruct) and since(0, 11):
        dtype = dtypes.check_and_canonicalize_user_dtype(x.dtype, "ShapeDtypeStruct")
        return ShapedArray(x.shape, dtype, x.weak_type)
    if not core.is_array_type(type(x)) and hasattr(x, "shape") and dtypes.is_array_dtype(getattr(x, "dtype", None)):
        return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype), getattr(x, "weak_type", False))
    return core.get_aval(x)


core.aval_without_value[ShapeDtypeStruct] = aval_of_argument
dtypes.asking_types.add(ShapeDtypeStruct)


def key_of_argument(x: Any) -> Any:
    """Return the cache key of an Array, a buffer, or a ShapeDtypeStruct with a sharding; None for any other argument."""
    if isinstance(x, ShapeDtypeStruct) and x.sharding is not None:
        return runtime.placed(aval_of_argument(x), x.sharding)
    return runtime.key_of_buffer(x) if runtime.is_buffer(x) else getattr(x, "_key", None)
