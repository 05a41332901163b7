"""The names of `jax.dlpack`: arrays of other libraries, without a copy

JAX: jax/_src/dlpack.py:from_dlpack
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .base import missing_names
from .core.element_types import bfloat16
from .numpy import files
from .runtime.array import Array


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """Do what `jax.numpy.from_dlpack` does: return an Array on the memory of another library's array."""
    return files.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Return whether DLPack, as JAX uses it, has arrays of this dtype. Raise TypeError for None."""
    if dtype is None:
        raise TypeError(f"Expected a string or dtype-like object; got {dtype=}")
    return np.dtype(dtype) in _SUPPORTED


_SUPPORTED = {
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
} | {np.dtype(bfloat16)}

missing_names.explain("dlpack", sys.modules[__name__])
