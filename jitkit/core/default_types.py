"""values -> dtype and weakness: 32 bits by default

Accelerators are slow with 64 bits, or do not support them. So unless x64 mode is on, JAX narrows 64-bit types
(`canonicalize_dtype`), also the types of Python scalars. A Python scalar is *weak*: it has a kind but no width, so
`x * 2.0` is bfloat16 if `x` is. `promotion` combines the types of several values.

JAX: jax/_src/dtypes.py:canonicalize_dtype
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from ..base import config, edits, traceback_util
from .element_types import (
    DType,
    ExtendedDType,
    bool_,
    complex_,
    float_,
    int_,
    is_array_dtype,
    kinds,
    python_type_of,
    uint,
)

# The dtypes of Python's scalars before narrowing.
python_scalar_dtypes: dict[type, DType] = {
    bool: np.dtype(bool_),
    int: np.dtype(int_),
    float: np.dtype(float_),
    complex: np.dtype(complex_),
}
python_scalar_types = frozenset(python_scalar_dtypes)

_TO_32_BITS: dict[DType, DType] = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
dtypes_of_x64 = frozenset(_TO_32_BITS)


# --- 32 bits by default -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def narrowed(x64: bool, dtype: Any) -> Any:
    """Return `canonicalize_dtype(dtype)`, given whether x64 mode is on."""
    if isinstance(dtype, ExtendedDType):
        return dtype
    given = np.dtype(dtype)
    return given if x64 else _TO_32_BITS.get(given, given)


def canonicalize_dtype(dtype: Any) -> DType:
    """Return the dtype, narrowed to 32 bits unless x64 mode is on; an extended dtype unchanged. Raise TypeError if
    NumPy does not know it.
    """
    canonical: DType = narrowed(config.local.state.options.enable_x64, dtype)
    return canonical


def canonical_scalar_dtype(python_type: type) -> DType:
    """Return the dtype of bool, int, float or complex: bool, int32, float32, complex64, or in x64 mode the 64-bit ones."""
    return canonicalize_dtype(python_scalar_dtypes[python_type])


def default_int_dtype() -> DType:
    """Return int32, or int64 in x64 mode."""
    return canonicalize_dtype(int_)


def default_uint_dtype() -> DType:
    """Return uint32, or uint64 in x64 mode."""
    return canonicalize_dtype(uint)


def default_float_dtype() -> DType:
    """Return float32, or float64 in x64 mode."""
    return canonicalize_dtype(float_)


def default_complex_dtype() -> DType:
    """Return complex64, or complex128 in x64 mode."""
    return canonicalize_dtype(complex_)


def jax_dtype(spec: Any = None) -> DType:
    """Return `numpy.dtype(spec)`; for Python's types and None, JAX's defaults: `jax_dtype(float)` is float32."""
    if spec is None:
        return default_float_dtype()
    if isinstance(spec, type) and spec in python_scalar_types:
        return canonical_scalar_dtype(spec)
    given: DType = np.dtype(spec)
    return given


def check_and_canonicalize_user_dtype(dtype: Any, fun_name: str = "") -> DType:
    """Return the dtype to use where a user wrote `dtype=...`. Warn when it is narrowed, except for Python's types.

    Args:
      dtype: a dtype, scalar type or name.
      fun_name: the function that the user called, for messages.

    Raises:
      ValueError: for None, and for an array in place of its dtype.
      TypeError: for a type that arrays cannot have, or that NumPy does not know.
    """
    if dtype is None:
        raise ValueError("dtype must be specified.")
    if isinstance(dtype, type) and dtype in python_scalar_types:
        return canonical_scalar_dtype(dtype)
    if isinstance(dtype, ExtendedDType):
        return canonicalize_dtype(dtype)
    if hasattr(dtype, "weak_type") and hasattr(dtype, "reshape") and not isinstance(dtype, type):
        raise ValueError(
            "Passing an array as a dtype argument is no longer supported; instead of dtype=arr use dtype=arr.dtype."
        )
    try:
        requested = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"{error}{edits.A_DTYPE}") from None
    if not is_array_dtype(requested):
        where = f" in {fun_name}" if fun_name else ""
        raise TypeError(f"JAX only supports number, bool, and string dtypes, got dtype {dtype}{where}")
    return _narrow_with_warning(requested, fun_name)


def _narrow_with_warning(requested: DType, fun_name: str) -> DType:
    canonical = canonicalize_dtype(requested)
    if canonical != requested:
        where = f" requested in {fun_name}" if fun_name else ""
        warnings.warn(
            f"Explicitly requested dtype {requested}{where} is not available, and will be truncated to dtype "
            f"{canonical.name}. To enable more dtypes, set the jax_enable_x64 configuration option or the "
            "JITKIT_ENABLE_X64 shell environment variable. "
            "See https://github.com/jax-ml/jax#current-gotchas for more.",
            stacklevel=traceback_util.stacklevel(),
        )
    return canonical


# --- the dtype of a value -----------------------------------------------------------------------------------


def is_python_scalar(x: Any) -> bool:
    """Return whether `x` is exactly a bool, int, float or complex; `numpy.float64`, a subclass of float, is not."""
    return type(x) in python_scalar_types


def is_weakly_typed(x: Any) -> bool:
    """Return whether `x` has a kind but no width of its own: Python's int, float or complex, or a value whose `weak_type` is True."""
    x_type = type(x)
    return x_type is int or x_type is float or x_type is complex or getattr(x, "weak_type", False) is True


def is_number_of_subclass(x: Any) -> bool:
    """Return whether `x` is of a user's class of int, float or complex, such as an IntEnum; not for bools and numpy's numbers."""
    return isinstance(x, (int, float, complex)) and type(x) not in python_scalar_types and not isinstance(x, np.generic)


def plain_number(x: Any) -> Any:
    """Return a number of a user's class (`is_number_of_subclass`) as an int, float or complex."""
    return next(t for t in (int, float, complex) if isinstance(x, t))(x)


asking_types: set[type] = set()  # types with a `weak_type` whose dtype was written by a user, so `dtype` narrows it


def dtype(x: Any) -> DType:
    """Return the dtype of a value, scalar, scalar type, dtype or name of a dtype, narrowed unless x64 mode is on.

    Values with a `weak_type` (Array, Tracer, ShapedArray) keep the dtype with which they were made. The dtype of a
    `ShapeDtypeStruct` was written by its user, so it is narrowed. Warn if this narrows a NumPy scalar type, a dtype or
    a name.

    Raises:
      ValueError: for None.
      TypeError: `x` has no dtype, or one that arrays cannot have.
    """
    if type(x) in python_scalar_types:
        return canonical_scalar_dtype(type(x))
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    if isinstance(x, type):
        if x in python_scalar_types:
            return canonical_scalar_dtype(x)
        if issubclass(x, np.generic):
            return _narrow_with_warning(np.dtype(x), "dtype")
    elif hasattr(x, "weak_type") and type(x) not in asking_types:
        known: DType = x.dtype
        return known
    elif isinstance(x, (str, np.dtype)):
        return _narrow_with_warning(_checked(x, np.dtype(x)), "dtype")
    elif isinstance(x, ExtendedDType):
        return canonicalize_dtype(x)
    return canonicalize_dtype(_checked(x, _found_dtype(x)))


def _found_dtype(x: Any) -> Any:
    found = getattr(x, "dtype", None)
    if isinstance(found, (np.dtype, ExtendedDType)):
        return found
    try:
        return np.result_type(x)
    except TypeError as error:
        raise TypeError(f"Cannot determine dtype of {x}{edits.OF_A_RANGE * isinstance(x, range)}") from error


def _checked(x: Any, found: Any) -> Any:
    if not is_array_dtype(found):
        raise TypeError(
            f"Value '{x}' with dtype {found} is not a valid JAX array type. "
            f"Only arrays of numeric types are supported by JAX.{edits.NO_TEXT * (getattr(found, 'kind', '') in ('U', 'S'))}"
        )
    return found


def scalar_type_of(x: Any) -> type:
    """Return the Python type of an element of a value, a type or a dtype: bool, int, float or complex. Raise TypeError
    for float0 and extended dtypes.
    """
    found = dtype(x)
    if found not in kinds:
        raise TypeError(f"Invalid scalar value {x}")
    return python_type_of(found)


@functools.cache
def _limits_of_integers(dtype: DType) -> tuple[int, int]:
    limits = np.iinfo(dtype)  # its properties are computed at each access
    return int(limits.min), int(limits.max)


def check_int_fits(value: int, dtype: DType) -> None:
    """Raise OverflowError if an integer dtype cannot hold a Python int."""
    least, greatest = _limits_of_integers(dtype)
    if not least <= value <= greatest:
        raise OverflowError(f"Python int {value} too large to convert to {dtype}")


def scalar_type_to_dtype(python_type: type, value: Any = None) -> DType:
    """Return `canonical_scalar_dtype(python_type)`; raise OverflowError if `value` is an int that does not fit into it."""
    chosen = canonical_scalar_dtype(python_type)
    if python_type is int and value is not None:
        check_int_fits(value, chosen)
    return chosen


def coerce_to_array(x: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return a Python or NumPy scalar or array as a NumPy array, of the given dtype or else JAX's. Raise OverflowError
    for a Python int that does not fit.
    """
    if dtype is None:
        scalar = is_python_scalar(x)
        dtype = scalar_type_to_dtype(type(x), x) if scalar else canonicalize_dtype(np.asarray(x).dtype)
    return np.asarray(x, dtype)
