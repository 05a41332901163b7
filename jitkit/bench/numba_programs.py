"""Programs as numba likes them, loops over elements: plain Python, compiled where numba is installed.

https://numba.readthedocs.io, `njit`.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import numpy as np

BLAS = "its matrix products are calls of a BLAS, as numpy's are"  # why some programs are not written for numba

MISSING = "it is not installed (`pip install numba`), or does not go with this numpy"


def find_njit() -> Any:
    """Return numba's compiler; None if numba is not installed, or does not work with this numpy."""
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        return importlib.import_module("numba").njit
    except ImportError:
        return None


def selu(x: Any) -> Any:
    """Compute `programs.selu` of a vector."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0:
            out[i] = np.float32(1.05) * v
        else:
            out[i] = np.float32(1.05) * (np.float32(1.67) * math.exp(v) - np.float32(1.67))
    return out


def softmax(x: Any) -> Any:
    """Compute `programs.softmax` of a matrix."""
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
    """Compute `programs.logistic_loop`. Without a compiler, numpy and Python run it."""
    rate, one = np.float32(3.7), np.float32(1.0)
    for _ in range(turns):
        x = rate * x * (one - x)
    return x


def stencil(u: Any) -> Any:
    """Compute `programs.stencil` of a matrix."""
    out = np.empty((u.shape[0] - 2, u.shape[1] - 2), u.dtype)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            out[i - 1, j - 1] = u[i, j] + np.float32(0.1) * (around - np.float32(4.0) * u[i, j])
    return out


def deviation(x: Any) -> Any:
    """Compute `programs.deviation` of a vector. The sums are float64, since a single loop adds a rounding error at each turn."""
    total = 0.0
    for v in x:
        total += v
    mean = total / x.shape[0]
    squares = 0.0
    for v in x:
        squares += (v - mean) ** 2
    return np.float32(math.sqrt(squares / x.shape[0]))


def n_body(positions: Any, masses: Any) -> Any:
    """Compute `programs.n_body`."""
    out = np.zeros_like(positions)
    for i in range(positions.shape[0]):
        for j in range(positions.shape[0]):
            x = positions[j, 0] - positions[i, 0]
            y = positions[j, 1] - positions[i, 1]
            z = positions[j, 2] - positions[i, 2]
            square = x * x + y * y + z * z + np.float32(1e-2)
            weight = masses[j] / (square * np.sqrt(square))
            out[i, 0] += weight * x
            out[i, 1] += weight * y
            out[i, 2] += weight * z
    return out
