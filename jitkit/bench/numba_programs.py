"""Programs as numba likes them, loops over elements: plain Python, compiled where numba is installed.

https://numba.readthedocs.io, `njit`.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import numpy as np

BLAS = (
    "its matrix products are calls of the same BLAS as numpy's"  # why some programs are not written for numba
)


def find_njit() -> Any:
    """numba's compiler; None where numba is not installed, or does not go with this numpy."""
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        return importlib.import_module("numba").njit
    except ImportError:
        return None


def selu(x: Any) -> Any:
    """`programs.selu` of a vector."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0:
            out[i] = np.float32(1.05) * v
        else:
            out[i] = np.float32(1.05) * (np.float32(1.67) * math.exp(v) - np.float32(1.67))
    return out


def softmax(x: Any) -> Any:
    """`programs.softmax` of a matrix."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        top = x[i].max()
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


def logistic_loop(x: Any, turns: int) -> Any:
    """`programs.logistic_loop`; without a compiler it is what numpy and Python make of it."""
    rate, one = np.float32(3.7), np.float32(1.0)
    for _ in range(turns):
        x = rate * x * (one - x)
    return x
