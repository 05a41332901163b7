"""Creates arrays from nothing: iota and full, and their variants.

JAX: jax/_src/lax/lax.py:full
"""

from __future__ import annotations

import enum
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters import ad_rules
from ..interpreters.mlir import LoweringContext, register_lowering
from .convert import _convert_element_type
from .elementwise_rules import NUMBER
from .shaping import broadcast, broadcast_in_dim
from .utils import canonicalize_shape, check_shapelike, is_a

# --- iota ----------------------------------------------------------------------------------------------
iota_p = Primitive("iota")


@iota_p.def_abstract_eval
def _(*, dtype: Any, shape: tuple[int, ...], dimension: int, sharding: None) -> ShapedArray:
    check_shapelike("iota", "shape", shape)
    if not is_a(dtype, *NUMBER):
        names = ", ".join(kind.__name__ for kind in NUMBER)
        raise TypeError(f"iota does not accept dtype {dtype.name}. Accepted dtypes are subtypes of {names}.")
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota dimension must be between 0 and len(shape), got {dimension=} for {shape=}")
    return ShapedArray(shape, dtype)


@register_lowering(iota_p)
def _(ctx: LoweringContext, *, dtype: Any, shape: tuple[int, ...], dimension: int, sharding: None) -> str:
    return ctx.emit("stablehlo.iota", [], f"dim = {dimension}")


def iota(dtype: Any, size: int) -> Any:
    """Return an array of one axis with the numbers from 0 to `size - 1`. Raise TypeError for bool."""
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int) -> Any:
    """Return an array in which every element is its index along axis `dimension`.

    Raises:
      TypeError: for bool, and where `shape` is not a shape.
      ValueError: for an axis out of range.
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "broadcasted_iota")
    shape = canonicalize_shape(shape)
    dimension = core.concrete_or_error(int, dimension, "dimension argument of lax.broadcasted_iota")
    return iota_p.bind(dtype=dtype, shape=shape, dimension=dimension, sharding=None)


# --- full ----------------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """Return an array of this shape, filled with one scalar. Without `dtype` it has the scalar's dtype and weak type.

    Raises:
      TypeError: the value is not a scalar, or `shape` not a shape.
    """
    shape = canonicalize_shape(shape)
    if np.shape(fill_value):
        value_shape = np.shape(fill_value)
        raise TypeError(f"full must be called with scalar fill_value, got fill_value.shape {value_shape}.")
    if dtypes.is_number_of_subclass(fill_value):
        fill_value = dtypes.plain_number(fill_value)
    weak_type = dtype is None and dtypes.is_weakly_typed(fill_value)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "full")
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(shape, fill_value)
    if dtype == dtypes.float0:
        return np.zeros(shape, dtype)
    return broadcast(_convert_element_type(fill_value, dtype, weak_type), shape)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Return an array filled with one scalar; dtype (with weak type) and shape are those of x unless given."""
    fill_shape = np.shape(x) if shape is None else canonicalize_shape(shape)
    weak_type = dtype is None and dtypes.is_weakly_typed(x)
    dtype = dtypes.dtype(x if dtype is None else dtype)
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(fill_shape, fill_value)
    if dtype == dtypes.float0:
        return np.zeros(fill_shape, dtype)
    return full(fill_shape, _convert_element_type(fill_value, dtype, weak_type))


def zeros_like_aval(aval: ShapedArray) -> Any:
    """Return zeros of this aval."""
    if aval.dtype == dtypes.float0:
        return broadcast_in_dim(np.zeros((), aval.dtype), aval.shape, ())
    return broadcast(_convert_element_type(0, aval.dtype, aval.weak_type), aval.shape)


ad_rules.zeros.like_aval = zeros_like_aval

# --- empty ---------------------------------------------------------------------------------------------
empty_p = Primitive("empty")


@empty_p.def_abstract_eval
def _(*, shape: tuple[int, ...], dtype: Any, out_sharding: None) -> ShapedArray:
    return ShapedArray(shape, dtype)


@register_lowering(empty_p)
def _(ctx: LoweringContext, *, shape: tuple[int, ...], dtype: Any, out_sharding: None) -> str:
    return ctx.splat(0, ctx.avals_out[0])


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """Return an array with unspecified values. (They are zeros.)"""
    return empty_p.bind(shape=tuple(shape), dtype=dtype, out_sharding=None)


def empty_like(x: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Return an array with unspecified values; dtype (with weak type) and shape are those of x unless given."""
    weak_type = dtype is None and dtypes.is_weakly_typed(x)
    new = empty(
        np.shape(x) if shape is None else canonicalize_shape(shape), dtypes.dtype(x if dtype is None else dtype)
    )
    return _convert_element_type(new, weak_type=True) if weak_type else new


class MemorySpace(enum.Enum):
    """The memory that stores an array: its device's, or the host's, which the device can read. A compiled program
    computes in its device's memory, and copies other values there first.
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


memory = types.SimpleNamespace(Space=MemorySpace)  # `jitkit.memory`
empty2_p = Primitive("empty2")


@empty2_p.def_abstract_eval
def _(*, dtype: Any, memory_space: MemorySpace) -> ShapedArray:
    return ShapedArray((), dtype)


@register_lowering(empty2_p)
def _(ctx: LoweringContext, *, dtype: Any, memory_space: MemorySpace) -> str:
    return ctx.splat(0, ctx.avals_out[0])


def empty_like_aval(aval: ShapedArray) -> Any:
    """Return an array of this type whose values will not be read."""
    return broadcast(empty2_p.bind(dtype=aval.dtype, memory_space=MemorySpace.Device), aval.shape)


def shape_as_value(shape: Any) -> Any:
    """Return a shape as a vector of integers: int32, or int64 where a size needs it."""
    dtype = np.dtype("int64" if any(size > np.iinfo(np.int32).max for size in shape) else "int32")
    return np.asarray(shape, dtype) if len(shape) else full((0,), np.array(0, dtype))
