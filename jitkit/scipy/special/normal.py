"""The normal distribution: distribution function, quantiles, and logarithms of probabilities.

JAX: jax/_src/scipy/special.py:ndtr
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...custom_derivatives import custom_jvp
from ...numpy import asarray, where
from ...numpy.ufuncs import constant
from .normal_tail import DEGREE_OF_TAIL, log_of_tail, quantile


def ndtr(x: Any) -> Any:
    """Return the cumulative distribution function of the normal distribution. Raise TypeError for other dtypes than
    float32 and float64.
    """
    x = asarray(x)
    _check_float(x.dtype)
    return _ndtr(x)


def _check_float(dtype: Any) -> None:
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={dtype} is not supported, see docstring for supported types.")


def _ndtr(x: Any) -> Any:
    """Return ndtr(x), by erf in the middle, and by erfc outside, where 1 - erf would not be accurate."""
    scalar = x.dtype.type
    half_root = scalar(0.5) * np.sqrt(2.0, dtype=scalar)
    w = x * half_root
    size = lax.abs(w)
    is_inner, inner = lax.lt(size, half_root), scalar(1.0) + lax.erf(w)
    outer = lax.select(lax.gt(w, scalar(0.0)), scalar(2.0) - lax.erfc(size), lax.erfc(size))
    return scalar(0.5) * lax.select(is_inner, inner, outer)


def ndtri(p: Any) -> Any:
    """Return the inverse of `ndtr`. Raise TypeError for other dtypes than float32 and float64."""
    dtype = dtypes.dtype(p)
    _check_float(dtype)
    return quantile(p, dtype.type)


_LOWER = {"float64": np.array(-20, np.float64), "float32": np.array(-10, np.float32)}
_UPPER = {"float64": np.array(8, np.float64), "float32": np.array(5, np.float32)}


def _log_ndtr(x: Any, series_order: int = DEGREE_OF_TAIL) -> Any:
    """Return log ndtr(x), by a series of `series_order` terms if x is far below 0. Raise TypeError for other dtypes
    than float32 and float64, and unless `series_order` is an int; ValueError unless it is from 0 to 30.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    x = asarray(x)
    if x.dtype.name not in _LOWER:
        raise TypeError(f"x.dtype={np.dtype(x.dtype)} is not supported.")
    lower, upper = _LOWER[x.dtype.name], _UPPER[x.dtype.name]
    is_above = lax.gt(x, upper)
    part = _ndtr(where(is_above, -x, lax.max(x, lower)))
    above = -part  # log(1 - part), nearly
    below = where(lax.gt(x, lower), lax.log(part), log_of_tail(lax.min(x, lower), series_order))
    return where(is_above, above, below)


_log_ndtr.__name__ = _log_ndtr.__qualname__ = "log_ndtr"
log_ndtr = custom_jvp(_log_ndtr, nondiff_argnums=(1,))


@log_ndtr.defjvp
def _log_ndtr_jvp(series_order: int, primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    out = log_ndtr(x, series_order)
    log_density = lax.sub(lax.mul(constant(x, -0.5), lax.square(x)), constant(x, math.log(math.sqrt(2 * math.pi))))
    return out, lax.mul(dx, lax.exp(lax.sub(log_density, out)))
