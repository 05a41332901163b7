"""detrend: subtract a mean, or the straight lines that fit best.

JAX: jax/_src/scipy/signal.py:detrend
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ... import lax
from ...numpy import arange, asarray, linalg, matmul, moveaxis, ones, vstack
from ...numpy.promotion import promote_dtypes_inexact


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",  # scipy's name
    bp: Any = 0,
    overwrite_data: None = None,
) -> Any:
    """Return the data without their trend along an axis: their mean ("constant"), or for each part between
    the breakpoints `bp` the straight line of least squares ("linear"). Only "linear" uses `bp`. Raise ValueError for
    another `type` than these two, or breakpoints outside the axis, NotImplementedError with `overwrite_data`.
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    (x,) = promote_dtypes_inexact(asarray(data))
    if type == "constant":
        return x - x.mean(axis, keepdims=True)
    size = x.shape[axis]
    ends = np.sort(np.unique(np.r_[0, bp, size]))
    if ends[0] < 0 or ends[-1] > size:
        raise ValueError("Breakpoints must be non-negative and less than length of data along given axis.")
    x = moveaxis(x, axis, 0)
    shape = x.shape
    x = x.reshape(size, -1)
    for start, end in itertools.pairwise(ends):
        count = end - start
        level = ones(count, dtype=x.dtype)
        lines = vstack([level, arange(1, count + 1, dtype=x.dtype) / count.astype(x.dtype)]).T
        part = slice(start, end)
        coefficients, *_ = linalg.lstsq(lines, x[part])
        x = x.at[part].add(-matmul(lines, coefficients, precision=lax.Precision.HIGHEST))
    return moveaxis(x.reshape(shape), 0, axis)
