"""dtypes, types, arrays, names -> how MLIR writes them

    float32                        f32
    ShapedArray((3, 4), float32)   tensor<3x4xf32>
    np.float32([1.5, 2])           dense<[1.500000e+00, 2.000000e+00]>

Numbers are exact to the bit: written in decimal where that gives exactly the number, else in hexadecimal. An array of
more than 64 different numbers is written as its bytes, in hexadecimal.

JAX: jax/_src/interpreters/mlir.py:dtype_to_ir_type
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core
from ..core import dtypes

# --- types --------------------------------------------------------------------------------------------------

_ELEMENT_TYPES = {
    "bool": "i1", "int2": "i2", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint2": "ui2", "uint4": "ui4", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float4_e2m1fn": "f4E2M1FN", "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3",
    "float8_e8m0fnu": "f8E8M0FNU", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2", "float8_e5m2fnuz": "f8E5M2FNUZ",
}  # fmt: skip
_type_of_aval: dict[Any, str] = {}


@functools.cache  # NumPy computes the name of a dtype anew at each access
def element_type(dtype: Any) -> str:
    """Return a dtype as MLIR writes it: `f32`, `i1`, `complex<f32>`. Raise NotImplementedError if XLA does not compute with it."""
    name = np.dtype(dtype).name
    if name not in _ELEMENT_TYPES:
        raise NotImplementedError(f"XLA does not compute with elements of dtype {name}.")
    return _ELEMENT_TYPES[name]


def tensor_type(shape: Sequence[int], dtype: Any) -> str:
    """Return the MLIR type of an array: `tensor<3x4xf32>`, and of a scalar `tensor<f32>`."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element_type(dtype)}>"


def type_of(aval: Any) -> str:
    """Return the MLIR type of an aval; for an extended dtype, the type of its storage."""
    known = _type_of_aval.get(aval)
    if known is None:
        if aval is core.abstract_token:
            return "!stablehlo.token"
        if len(_type_of_aval) > 16384:  # random shapes must not fill the memory
            _type_of_aval.clear()
        physical = core.physical_aval(aval)
        known = _type_of_aval[aval] = tensor_type(physical.shape, physical.dtype)
    return known


# --- constants -----------------------------------------------------------------------------------------------


def dense(value: np.ndarray[Any, Any]) -> str:
    """Return the elements of an array as a `dense<...>` attribute. MLIR reads four forms of it; write the first one that
    fits:

        dense<>                     no elements
        dense<1.000000e+00>         a scalar, or less than 1024 elements of the same bits (`all_same`)
        dense<[[1, 2], [3, 4]]>     up to 64 elements, or bools: row by row (`nested_text`)
        dense<"0x0100...">          more: the bytes in row-major order, in hexadecimal capitals

    Arrays of 1024 elements or more need not be searched for equal elements. An integer of 2 or 4 bits, which numpy
    stores one to a byte, is written as an int8.
    """
    if value.dtype.name in ("int2", "int4", "uint2", "uint4"):
        value = value.astype(np.int8)
    if value.ndim == 0 or (value.size > 0 and value.size < 1024 and all_same(value)):
        return f"dense<{scalar_text(value.reshape(-1)[0])}>"
    if value.size == 0:
        return "dense<>"
    if value.size <= 64 or value.dtype == np.bool_:
        return f"dense<{nested_text(value)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


def all_same(value: np.ndarray[Any, Any]) -> bool:
    """Return whether the elements of a nonempty array are equal bit by bit: 0.0 and -0.0 are not, nans may be."""
    flat = np.ascontiguousarray(value).reshape(-1)
    width = flat.dtype.itemsize
    raw = flat.view(np.uint8).reshape(-1, width)
    return bool((raw == raw[0]).all())


def nested_text(value: np.ndarray[Any, Any]) -> str:
    """Return the elements in nested brackets, one pair for each axis: `[[1, 2], [3, 4]]`; a scalar has none."""
    if value.ndim == 0:
        return scalar_text(value[()])
    return f"[{', '.join(nested_text(row) for row in value)}]"


DECIMAL = re.compile(r"-?\d\.\d+e[+-]\d\d")


def scalar_text(x: Any) -> str:
    """Return the text of one number, a numpy scalar, such that MLIR reads exactly that number:

        true, false               a bool; false also for a float0, which is stored as one
        -12                       an integer
        (1.000000e+00, 0x...)     a complex number: its parts
        1.500000e+00              a float, with six digits after the point
        0x3EAAAAAB                any float: its bytes in hexadecimal capitals, the highest first

    Decimals are for readers. Write one only if it has the form of `DECIMAL`, from end to end, and is exact: reading it
    in the number's own dtype gives the number back. That holds for 0.1, and not for 1/3.
    """
    dtype = x.dtype
    if dtype == np.bool_:
        return "true" if x else "false"
    if dtype == dtypes.float0:
        return "false"  # a float0 is stored as a bool
    if dtypes.issubdtype(dtype, np.complexfloating):
        return f"({scalar_text(x.real)}, {scalar_text(x.imag)})"
    if dtypes.issubdtype(dtype, np.integer):
        return str(int(x))
    decimal = f"{float(x):.6e}"
    if DECIMAL.fullmatch(decimal) and dtype.type(float(decimal)) == x:
        return decimal
    # the bit pattern: exact, and the only way to write nan and inf
    return f"0x{np.asarray(x).tobytes()[::-1].hex().upper()}"


def to_numpy(x: Any) -> np.ndarray[Any, Any]:
    """Return a concrete value (Array, `jax.Array`, numpy, Python scalar) as a numpy array of its canonical dtype: for
    an extended dtype its storage, for float0 an array of False.
    """
    dtype = core.get_aval(x).dtype
    if dtype == dtypes.float0:
        return np.zeros(np.shape(x), bool)
    return np.asarray(x._stored) if isinstance(dtype, dtypes.ExtendedDType) else np.asarray(x, dtype)


# --- names --------------------------------------------------------------------------------------------------


def symbol_text(name: str) -> str:
    """Return a name as it is written after `@`: in quotes if it is not an identifier."""
    return name if _IDENTIFIER.fullmatch(name) else f'"{quoted(name)}"'


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def quoted(text: str) -> str:
    """Return a string escaped for MLIR's quotes: a backslash doubled; a quote, and each byte that is not printable ASCII, in hex."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    plain = frozenset(range(ord(" "), 127)) - {ord('"')}
    doubled = text.replace("\\", "\\\\").encode(errors="replace")
    return "".join([chr(c) if c in plain else f"\\{c:02X}" for c in doubled])
