"""Defines the types that array elements can have, in one table, and questions about a dtype.

Nothing here depends on x64 mode or on values. `dtypes` re-exports these names, so other modules write
`dtypes.issubdtype`. To NumPy the types of ml_dtypes (bfloat16, floats of 8 bits and fewer, integers of fewer than 8)
are opaque: `dtype.kind` is "V" for all but one, and their classes inherit from `numpy.generic` directly. So our table,
not NumPy's class hierarchy, answers every question about a kind.

JAX: jax/_src/dtypes.py:issubdtype
"""

from __future__ import annotations

import functools
import math
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

DType: TypeAlias = "np.dtype[Any]"

_NAMES_BY_KIND = {
    "b": ("bool",),
    "u": ("uint1", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    "i": ("int1", "int2", "int4", "int8", "int16", "int32", "int64"),
    "f": (
        "float4_e2m1fn",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e8m0fnu",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "bfloat16",
        "float16",
        "float32",
        "float64",
    ),
    "c": ("complex64", "complex128"),
}
_PYTHON_TYPE_BY_KIND = {"b": bool, "u": int, "i": int, "f": float, "c": complex}


def _scalar_class(name: str) -> Any:
    """Return the class of this name in ml_dtypes or NumPy; None for 1-bit integers if ml_dtypes is too old to have them."""
    return np.bool_ if name == "bool" else getattr(ml_dtypes, name, None) or getattr(np, name, None)


_KIND_BY_NAME = {
    name: kind for kind, names in _NAMES_BY_KIND.items() for name in names if _scalar_class(name) is not None
}

# Each type's class by name, and each dtype's kind.
scalar_types: dict[str, type[np.generic]] = {name: _scalar_class(name) for name in _KIND_BY_NAME}
kinds: dict[DType, str] = {np.dtype(scalar_types[name]): kind for name, kind in _KIND_BY_NAME.items()}
numpy_scalar_types: tuple[type[np.generic], ...] = tuple(scalar_types.values())

# The type of an integer's derivative: it has a shape and no bytes.
float0: DType = np.dtype([("float0", np.void, 0)])

bool_ = np.bool_
int_ = np.int64
uint = np.uint64
float_ = np.float64
complex_ = np.complex128

# `jitkit.numpy`'s names of types: their own, and NumPy's aliases.
numpy_names: dict[str, type[np.generic]] = scalar_types | {
    "bool_": bool_,
    "int_": int_,
    "uint": uint,
    "float_": float_,
    "complex_": complex_,
    "single": np.float32,
    "double": np.float64,
    "csingle": np.complex64,
    "cdouble": np.complex128,
}

# `finfo` and `iinfo` as in NumPy, for every type of the table.
bfloat16: Any = ml_dtypes.bfloat16
finfo: Any = ml_dtypes.finfo
iinfo: Any = ml_dtypes.iinfo


class extended(np.generic):
    """The abstract class of element types that are stored as another type; for `issubdtype` only."""


class prng_key(extended):
    """The abstract class of the element types of random keys; for `issubdtype` only."""


class ExtendedDType:
    """An element type of our own, such as that of random keys: each element is stored as a small array.

    `type` is its subclass of `extended`; `physical_shape` and `physical_dtype` are those of a stored element, whose
    axes come last: an array of n elements is stored as one of shape `(n, *physical_shape)`.
    """

    name: str
    type: type[extended]
    physical_shape: tuple[int, ...]
    physical_dtype: DType

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return math.prod(self.physical_shape) * self.physical_dtype.itemsize

    def full(self, shape: tuple[int, ...], fill_value: Any) -> Any:
        """Return an array of this type and shape, filled with one element, or with its stored numbers. Raise
        NotImplementedError unless a subclass defines it.
        """
        raise NotImplementedError(f"{self.name} does not say what an array of {fill_value!r} is")

    def __repr__(self) -> str:
        return self.name


def is_array_dtype(dtype: Any) -> bool:
    """Return whether an array may have this dtype (a `numpy.dtype` or an ExtendedDType)."""
    return dtype in kinds or dtype == float0 or isinstance(dtype, ExtendedDType)


def check_valid_dtype(dtype: Any) -> None:
    """Raise TypeError unless an array may have this dtype."""
    if not is_array_dtype(dtype):
        raise TypeError(
            f"Dtype {dtype} is not a valid JAX array type. Only arrays of numeric types are supported by JAX."
        )


# Where the classes that NumPy does not know belong in its class hierarchy.
_ABSTRACT = {"u": np.unsignedinteger, "i": np.signedinteger, "f": np.floating}
_PLACE_IN_TREE: dict[type, type] = {
    known.type: _ABSTRACT[kind] for known, kind in kinds.items() if known.type.__module__ == "ml_dtypes"
}


_HASHABLE = (type, np.dtype, ExtendedDType)


def issubdtype(a: Any, b: Any) -> bool:
    """Return what `numpy.issubdtype` would if it knew the types of our table, such as bfloat16, and extended dtypes."""
    # Anything else may be unhashable: NumPy converts it to a dtype.
    if not isinstance(a, _HASHABLE):
        a = np.dtype(a)
    if not isinstance(b, _HASHABLE):
        b = np.dtype(b)
    return _issubdtype(a, b)


@functools.lru_cache(maxsize=1024)
def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(b, ExtendedDType):
        return isinstance(a, ExtendedDType) and a == b
    a_class, b_class = _class_of(a), _class_of(b)
    return a_class is b_class or issubclass(_PLACE_IN_TREE.get(a_class, a_class), b_class)


def _class_of(spec: Any) -> type:
    if isinstance(spec, ExtendedDType):
        return spec.type
    return spec if isinstance(spec, type) and issubclass(spec, np.generic) else np.dtype(spec).type


_ARRAY_API_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether `dtype` is of the given kind.

    Args:
      dtype: a dtype, scalar type or name.
      kind: one of the array API's kinds ("bool", "signed integer", "unsigned integer", "integral",
        "real floating", "complex floating", "numeric"), or a dtype, or a tuple of these, one of which must fit.

    Raises:
      ValueError: `kind` is a string that names neither a kind nor a dtype.
      TypeError: `kind` is something else that is not a dtype.
    """
    given = np.dtype(dtype)
    return any(_is_of_kind(given, one) for one in (kind if isinstance(kind, tuple) else (kind,)))


def _is_of_kind(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _ARRAY_API_KINDS:
        return dtype in kinds and kinds[dtype] in _ARRAY_API_KINDS[kind]
    try:
        return bool(dtype == np.dtype(kind))
    except TypeError as error:
        if isinstance(kind, str):
            raise ValueError(
                f"Unrecognized {kind=} expected one of {list(_ARRAY_API_KINDS)}, or a compatible input for jnp.dtype()"
            ) from None
        raise TypeError(f"Expected kind to be a dtype, string, or tuple; got {kind=}") from error


def python_type_of(dtype: DType) -> type:
    """Return the Python type of one element: bool, int, float or complex. Raise KeyError for float0 and extended types."""
    return _PYTHON_TYPE_BY_KIND[kinds[dtype]]


def supports_inf(dtype: Any) -> bool:
    """Return whether the type has infinities, as in JAX: all inexact types except four of 8 bits. (Wrong for
    float8_e8m0fnu and floats of 4 and 6 bits, in JAX too.)
    """
    without = ("float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz")
    return issubdtype(dtype, np.inexact) and np.dtype(dtype).name not in without


def itemsize_bits(dtype: Any) -> int:
    """Return an element's bits: 4 for int4, which NumPy stores in a byte; 8 for bool. Raise ValueError for any other
    dtype that is not numeric.
    """
    if dtype is None:
        raise ValueError("dtype cannot be None.")
    kind = None if isinstance(dtype, ExtendedDType) else kinds.get(np.dtype(dtype))
    if kind is None:
        raise ValueError(f"unexpected input: {dtype=}")
    if kind == "b":
        return 8
    if kind in "iu":
        return int(iinfo(dtype).bits)
    return int(finfo(dtype).bits) * (2 if kind == "c" else 1)


_TO_INEXACT = {
    np.dtype(scalar_types[name]): np.dtype("float64" if name in ("int64", "uint64") else "float32")
    for name in ("bool", *_NAMES_BY_KIND["u"][2:], *_NAMES_BY_KIND["i"][2:])
}


def to_numeric_dtype(dtype: Any) -> DType:
    """Return int32 for bool, and any other dtype unchanged."""
    given = np.dtype(dtype)
    return np.dtype("int32") if given == np.bool_ else given


def to_inexact_dtype(dtype: Any) -> DType:
    """Return the type to divide or average in: float32 for bools and integers, float64 for integers of 64 bits. Inexact
    types, and integers of fewer than 4 bits, are returned unchanged.
    """
    given: DType = np.dtype(dtype)
    return _TO_INEXACT.get(given, given)


def to_floating_dtype(dtype: Any) -> DType:
    """Return `to_inexact_dtype(dtype)`; for a complex type, the type of its real part."""
    real: DType = np.dtype(finfo(to_inexact_dtype(dtype)).dtype)
    return real


def to_complex_dtype(dtype: Any) -> DType:
    """Return complex128 if `to_inexact_dtype` gives float64 or complex128, otherwise complex64."""
    wide = to_inexact_dtype(dtype).name in ("float64", "complex128")
    return np.dtype("complex128" if wide else "complex64")


@functools.lru_cache(maxsize=256)
def short_dtype_name(dtype: Any) -> str:
    """Return the name in a printed jaxpr: f32, bf16, i32, u8, bool, c64, f8_e4m3fn."""
    if isinstance(dtype, ExtendedDType):
        return str(dtype)
    if dtype == float0:
        return "float0"
    name: str = np.dtype(dtype).name
    return name.replace("float", "f").replace("uint", "u").replace("int", "i").replace("complex", "c")
