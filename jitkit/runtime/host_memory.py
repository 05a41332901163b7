"""buffer -> address: for programs that are no XLA's, and run on this machine's processor

JAX: jax/_src/array.py:ArrayImpl
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .buffers import Buffer

_LINE = 64  # bytes: XLA takes memory that begins so as it is, without a copy


def address(buffer: Buffer) -> int:
    """Where the elements of a buffer on the processor are, once they are computed."""
    buffer.block_until_ready()
    found: int = buffer.unsafe_buffer_pointer()
    return found


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Memory for an array, of which `put` makes a buffer without copying it."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + _LINE, np.uint8)
    begin = -raw.ctypes.data % _LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)
