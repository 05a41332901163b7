"""The dtype names of the package: `float32(1.5)` makes a 0-d array; `dtype=float32` and `x.dtype == float32` name a
dtype.

JAX: jax/_src/numpy/scalar_types.py:_ScalarMeta
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from .. import core
from ..core import dtypes
from ..runtime.array import Array
from .creation import asarray


class ScalarMeta(type):
    """The metaclass of the scalar types, which equal numpy's scalar class of the same name, and hash like it."""

    dtype: np.dtype[Any]

    @property
    def __numpy_dtype__(cls) -> np.dtype[Any]:
        """Return the dtype. numpy calls this."""
        return cls.dtype

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> builtins.bool:
        return cls is other or builtins.bool(cls.dtype.type == other)

    def __ne__(cls, other: object) -> builtins.bool:
        return not cls == other

    def __call__(cls, x: Any) -> Any:
        """Return an array of this dtype."""
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> builtins.bool:
        return isinstance(instance, cls.dtype.type)


def _refuse(scalar_type: Any) -> Any:
    raise TypeError(f"JAX scalar type {scalar_type} cannot be interpreted as a JAX array.")


core.aval_of_type[ScalarMeta] = _refuse


def _scalar_type(name: str) -> Any:
    numpy_type = dtypes.scalar_types[name]
    made = ScalarMeta(numpy_type.__name__, (object,), {"dtype": np.dtype(numpy_type)})
    made.__module__ = "jitkit.numpy"
    made.__doc__ = f"The element type {np.dtype(numpy_type).name}; called, it makes an array of that type of anything."
    return made


bool = bool_ = _scalar_type("bool")
uint1 = _scalar_type("uint1")
uint2 = _scalar_type("uint2")
uint4 = _scalar_type("uint4")
uint8 = _scalar_type("uint8")
uint16 = _scalar_type("uint16")
uint32 = _scalar_type("uint32")
uint64 = uint = _scalar_type("uint64")
int1 = _scalar_type("int1")
int2 = _scalar_type("int2")
int4 = _scalar_type("int4")
int8 = _scalar_type("int8")
int16 = _scalar_type("int16")
int32 = _scalar_type("int32")
int64 = int_ = _scalar_type("int64")
float4_e2m1fn = _scalar_type("float4_e2m1fn")
float6_e2m3fn = _scalar_type("float6_e2m3fn")
float6_e3m2fn = _scalar_type("float6_e3m2fn")
float8_e3m4 = _scalar_type("float8_e3m4")
float8_e4m3 = _scalar_type("float8_e4m3")
float8_e8m0fnu = _scalar_type("float8_e8m0fnu")
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz")
float8_e4m3fn = _scalar_type("float8_e4m3fn")
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz")
float8_e5m2 = _scalar_type("float8_e5m2")
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz")
bfloat16 = _scalar_type("bfloat16")
float16 = _scalar_type("float16")
float32 = single = _scalar_type("float32")
float64 = double = float_ = _scalar_type("float64")
complex64 = csingle = _scalar_type("complex64")
complex128 = cdouble = complex_ = _scalar_type("complex128")

ndarray = Array  # `isinstance(x, ndarray)` is true for tracers, too


def issubdtype(arg1: Any, arg2: Any) -> builtins.bool:
    """Return what `numpy.issubdtype` returns, but also for bfloat16, which is floating, and for extended dtypes."""
    return dtypes.issubdtype(arg1, arg2)
