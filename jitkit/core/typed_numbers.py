"""a number of Python's or a value of numpy's -> the same with JAX's dtype

Outside of a trace, functions with rules of their own (`custom_jvp`, `custom_vjp`) and `checkpoint` get and return plain values. These have
the dtypes that a trace would give them: a number has a `dtype`, and an array of numpy's is narrowed to 32 bits.

JAX: jax/_src/literals.py:TypedFloat
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import dtypes
from .primitive import aval_of_type, get_aval
from .trace import current_trace


class _Typed:
    """A number with a dtype, which is weak. It prints with the dtype."""

    aval: Any
    weak_type = True

    @property
    def dtype(self) -> Any:
        """The dtype that the number had in the mode (x64 or not) in which it was made."""
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dtypes.plain_number(self)}, dtype={self.dtype.name})"


class TypedInt(_Typed, int):
    """An int with a dtype."""


class TypedFloat(_Typed, float):
    """A float with a dtype."""

    __str__ = float.__repr__


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""


_TYPES: dict[type, Any] = {int: TypedInt, float: TypedFloat, complex: TypedComplex}
for _typed in _TYPES.values():
    aval_of_type[_typed] = operator.attrgetter("aval")


def with_dtypes(values: Iterable[Any]) -> list[Any]:
    """Return values: ints, floats and complex numbers as ones with a dtype, and values of numpy's as arrays of the narrowed dtype. Return
    others unchanged, and within a trace all of them.
    """
    return list(values) if current_trace() else [_with_dtype(x) for x in values]


def _with_dtype(x: Any) -> Any:
    if (typed := _TYPES.get(type(x))) is not None:
        number = typed(x)
        number.aval = get_aval(x)
        return number
    if (type(x) is np.ndarray or isinstance(x, np.generic)) and dtypes.is_array_dtype(x.dtype):
        return np.asarray(x, dtypes.canonicalize_dtype(x.dtype))
    return x
