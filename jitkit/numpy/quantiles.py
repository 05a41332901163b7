"""Quantiles, by sorting.

JAX: jax/_src/numpy/reductions.py:quantile
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from ..base.jax_version import since
from ..core import dtypes
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from . import reductions
from .promotion import convert, promote_dtypes_inexact
from .promotion import where as where_
from .reductions import reduced_axes
from .ufuncs import constant
from .util import ensure_arraylike, ensure_arraylikes

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@jit(static_argnames=("axis", "overwrite_input", "keepdims", "method"))
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The values below which fractions `q` of the elements over `axis` lie; nan where one is nan.

    Between two elements: "linear" interpolates, "lower", "higher" and "nearest" choose one, "midpoint" takes the mean.
    The axes of q come first.
    """
    a, q = ensure_arraylikes("quantile", a, q)
    if overwrite_input or out is not None:
        raise ValueError("jax.numpy.quantile does not support overwrite_input=True or out != None")
    if method not in _METHODS:
        raise ValueError("method can only be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or 'inverted_cdf'")
    (a,) = promote_dtypes_inexact(a)
    if dtypes.issubdtype(a.dtype, np.complexfloating):
        raise ValueError("quantile does not support complex input, as the operation is poorly defined.")
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    kept_shape: Any = None
    if axis is None:
        kept_shape = [1] * a.ndim
        a, axis = a.ravel(), 0
    elif isinstance(axis, tuple):
        kept_shape = [1 if i in reduced_axes(a.ndim, axis) else n for i, n in enumerate(a.shape)]
        a, axis = _merge_axes(a, reduced_axes(a.ndim, axis))
    else:
        axis = canonicalize_axis(axis, a.ndim)
    result = _quantile(a, q, axis, method, keepdims)
    if keepdims and kept_shape is not None:
        result = result.reshape([*q.shape, *kept_shape])
    return convert(result, dtypes.canonicalize_dtype(a.dtype))


def _merge_axes(a: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """Several axes as one, the last; in which order does not matter to a quantile."""
    others = [i for i in range(a.ndim) if i not in axes]
    order = list(range(a.ndim))
    for i, axis in enumerate(others):
        order[i], order[axis] = order[axis], order[i]
    shape = tuple(a.shape[i] for i in others)
    return lax.reshape(a, (*shape, math.prod(a.shape[i] for i in axes)), order), len(shape)


def _quantile(a: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
    a = where_(reductions.any(lax.ne(a, a), axis=axis, keepdims=True), np.nan, a)
    a = lax.sort(a, dimension=axis, is_stable=not since(0, 12))
    count = lax.convert_element_type(a.shape[axis], q.dtype)
    q = lax.mul(q, count - 1)
    low, high = lax.floor(q), lax.ceil(q)
    high_weight = lax.sub(q, low)
    low_weight = lax.sub(constant(high_weight, 1), high_weight)
    low = lax.clamp(constant(low, 0), low, count - 1)
    high = lax.clamp(constant(high, 0), high, count - 1)
    low, high = (lax.convert_element_type(i, dtypes.default_int_dtype()) for i in (low, high))
    sizes = [1 if i == axis else n for i, n in enumerate(a.shape)]
    numbers = lax.GatherDimensionNumbers(
        tuple(range(q.ndim, a.ndim + q.ndim - (not keepdims))), () if keepdims else (axis,), (axis,)
    )
    low_value, high_value = (lax.gather(a, i[..., None], numbers, sizes) for i in (low, high))
    if q.ndim == 1:
        low_weight = lax.broadcast_in_dim(low_weight, low_value.shape, (0,))
        high_weight = lax.broadcast_in_dim(high_weight, high_value.shape, (0,))
    if method == "linear":
        return lax.add(lax.mul(low_value.astype(q.dtype), low_weight), lax.mul(high_value.astype(q.dtype), high_weight))
    if method == "nearest":
        return lax.select(lax.le(high_weight, constant(high_weight, 0.5)), low_value, high_value)
    if method == "midpoint":
        return lax.mul(lax.add(low_value, high_value), constant(low_value, 0.5))
    return low_value if method == "lower" else high_value


@jit(static_argnames=("axis", "overwrite_input", "keepdims", "method"))
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """`quantile`, with q in percent."""
    a, q = ensure_arraylikes("percentile", a, q)
    (q,) = promote_dtypes_inexact(q)
    return quantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input, method=method, keepdims=keepdims)


@jit(static_argnames=("axis", "overwrite_input", "keepdims"))
def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The value in the middle of the elements over `axis`, or the mean of the two there."""
    a = ensure_arraylike("median", a)
    if since(0, 11) and any(a.shape[i] == 0 for i in reduced_axes(a.ndim, axis)):
        raise ValueError("jax.numpy.median reduction axis must be non-empty")
    return quantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims, method="midpoint")
