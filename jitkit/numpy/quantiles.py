"""Computes quantiles by sorting: quantile, percentile, median, and these without nans.

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
from .cumulative import cumsum
from .promotion import convert, promote_dtypes_inexact
from .promotion import where as where_
from .reductions import reduced_axes
from .taking import take_along_axis
from .ufuncs import constant
from .util import ensure_arraylike, ensure_arraylikes

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


@jit(static_argnames=("axis", "overwrite_input", "keepdims", "method"))
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the values below which fractions `q` of the elements over `axis` lie; nan if an element is nan. The axes
    of `q` come first.

    If a value is between two elements, `method` says how to choose it:
    - "linear" interpolates;
    - "lower", "higher" and "nearest" take one of the two;
    - "midpoint" takes their mean;
    - "inverted_cdf" takes the first element, in ascending order, at which the running sum of the weights reaches q of
      their total. `weights` are 1 by default, and have the shape of `a` or of its reduced axes.

    Raise ValueError for another method, complex numbers, weights of another shape, a `q` of several axes, repeated
    axes, and if `out` or `overwrite_input` is given. Raise NotImplementedError for weights with a method other than
    "inverted_cdf".
    """
    a, q = ensure_arraylikes("quantile", a, q)
    weights = None if weights is None else ensure_arraylike("quantile", weights)
    _refuse_buffers("quantile", out, overwrite_input)
    return _of_axes(a, q, axis, method, keepdims, weights, False)


@jit(static_argnames=("axis", "overwrite_input", "keepdims", "method"))
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the `quantile` of the elements that are not nan, with the same errors; nan if all are nan."""
    a, q = ensure_arraylikes("nanquantile", a, q)
    weights = None if weights is None else ensure_arraylike("nanquantile", weights)
    _refuse_buffers("nanquantile", out, overwrite_input)
    return _of_axes(a, q, axis, method, keepdims, weights, True)


def _refuse_buffers(name: str, out: Any, overwrite_input: bool) -> None:
    if overwrite_input or out is not None:
        raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None")


def _of_axes(a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any, without_nans: bool) -> Any:
    if method not in _METHODS:
        raise ValueError("method can only be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or 'inverted_cdf'")
    if weights is None:
        (a,) = promote_dtypes_inexact(a)
    else:
        a, weights = _with_weights(a, weights, axis, method)
    if dtypes.issubdtype(a.dtype, np.complexfloating):
        raise ValueError("quantile does not support complex input, as the operation is poorly defined.")
    kept_shape: Any = None
    if axis is None:
        kept_shape = [1] * a.ndim
        a, weights, axis = a.ravel(), None if weights is None else weights.ravel(), 0
    elif isinstance(axis, tuple):
        axes = tuple(canonicalize_axis(i, a.ndim) for i in axis)
        if len(set(axes)) != len(axes):
            raise ValueError("repeated axis")
        kept_shape = [1 if i in axes else n for i, n in enumerate(a.shape)]
        a, axis = _merge_axes(a, axes)
        weights = None if weights is None else _merge_axes(weights, axes)[0]
    else:
        axis = canonicalize_axis(axis, a.ndim)
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    result = (_nanquantile if without_nans else _quantile)(a, weights, q, axis, method, keepdims)
    if keepdims and kept_shape:  # for an operand without axes, `kept_shape` is empty, as in JAX
        result = result.reshape([*q.shape, *kept_shape])
    return convert(result, dtypes.canonicalize_dtype(a.dtype))


def _with_weights(a: Any, weights: Any, axis: Any, method: str) -> tuple[Any, Any]:
    """Return the array and its weights, with one floating dtype and the shape of `a`. Raise ValueError for complex
    weights, or weights that have neither the shape of `a` nor that of its reduced axes. Raise NotImplementedError for
    methods other than "inverted_cdf".
    """
    if dtypes.issubdtype(weights.dtype, np.complexfloating):
        raise ValueError("Weights cannot be complex types.")
    if method != "inverted_cdf":
        raise NotImplementedError(f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights.")
    a, weights = promote_dtypes_inexact(a, weights)
    if weights.shape == a.shape:
        return a, weights
    if axis is None:
        raise ValueError("Weights shape must match 'a' shape when axis is None.")
    axes = tuple(canonicalize_axis(i, a.ndim) for i in (axis if isinstance(axis, tuple) else (axis,)))
    reduced = tuple(a.shape[i] for i in axes)
    if weights.shape != reduced:
        raise ValueError(f"Weights shape {weights.shape} must match reduction axes {reduced}")
    return a, lax.broadcast_in_dim(weights, a.shape, axes)


def _merge_axes(a: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """Return the array with these axes merged into its last one, and the number of that axis. Elements may get another
    order, which does not change a quantile.
    """
    others = [i for i in range(a.ndim) if i not in axes]
    order = list(range(a.ndim))
    for i, axis in enumerate(others):
        order[i], order[axis] = order[axis], order[i]
    shape = tuple(a.shape[i] for i in others)
    return lax.reshape(a, (*shape, math.prod(a.shape[i] for i in axes)), order), len(shape)


def _quantile(a: Any, weights: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
    a = where_(reductions.any(lax.ne(a, a), axis=axis, keepdims=True), np.nan, a)
    if weights is None:
        a = lax.sort(a, dimension=axis, is_stable=not since(0, 12))
    else:
        a, weights = lax.sort_key_val(a, weights, dimension=axis)
    fraction = q
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
    return _between(a, weights, fraction, axis, method, keepdims, (low_value, low_weight, high_value, high_weight))


def _between(
    a: Any,
    weights: Any,
    q: Any,
    axis: int,
    method: str,
    keepdims: bool,
    ends: tuple[Any, Any, Any, Any],
    nans: bool = True,
) -> Any:
    """Return the quantile by `method`. `ends` has the two sorted elements around its position, each followed by its
    weight in linear interpolation. "inverted_cdf" is computed from `a`, `weights` and `q` instead.
    """
    low_value, low_weight, high_value, high_weight = ends
    if method == "linear":
        return lax.add(lax.mul(low_value.astype(q.dtype), low_weight), lax.mul(high_value.astype(q.dtype), high_weight))
    if method == "nearest":
        return lax.select(lax.le(high_weight, constant(high_weight, 0.5)), low_value, high_value)
    if method == "midpoint":
        return lax.mul(lax.add(low_value, high_value), constant(low_value, 0.5))
    if method == "inverted_cdf":
        return _inverted_cdf(a, lax.full_like(a, 1.0) if weights is None else weights, q, axis, keepdims, nans)
    return low_value if method == "lower" else high_value


def _nanquantile(a: Any, weights: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
    a = where_(lax.ne(a, a), np.nan, a)
    if weights is None:
        a = lax.sort(a, dimension=axis, is_stable=not since(0, 12))
    else:
        a, weights = lax.sort_key_val(a, weights, dimension=axis)
    fraction = q
    count = reductions.sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, dtype=q.dtype, keepdims=keepdims)
    shape = (*q.shape, *count.shape)
    q = lax.expand_dims(q, tuple(range(q.ndim, len(shape))))
    count = lax.expand_dims(count, tuple(range(fraction.ndim)))
    q = lax.mul(q, lax.sub(count, constant(q, 1)))
    low, high = lax.floor(q), lax.ceil(q)
    high_weight = lax.sub(q, low)
    low_weight = lax.sub(constant(high_weight, 1), high_weight)
    low = lax.max(constant(low, 0), lax.min(low, count - 1))
    high = lax.max(constant(high, 0), lax.min(high, count - 1))
    low, high = (lax.convert_element_type(i, dtypes.default_int_dtype()) for i in (low, high))
    index = [lax.broadcasted_iota(low.dtype, shape, i) for i in range(fraction.ndim, len(shape))]
    if not keepdims:
        index.insert(axis, low)
    values = []
    for end in (low, high):
        index[axis] = end
        values.append(a[tuple(index)])
    ends = values[0], low_weight, values[1], high_weight
    return _between(a, weights, fraction, axis, method, keepdims, ends, nans=False)


def _inverted_cdf(a: Any, weights: Any, q: Any, axis: int, keepdims: bool, nans: bool) -> Any:
    """Return the first of the sorted elements at which the running sum of the weights reaches q times their total."""
    ahead = tuple(range(q.ndim))  # q's axes
    zeros = lax.full_like(weights, 0)
    is_bad = lax.bitwise_or(lax.lt(weights, zeros), lax.ne(weights, weights))
    is_nan = lax.ne(a, a)
    running = cumsum(lax.select(lax.bitwise_or(is_bad, is_nan), zeros, weights), axis=axis)
    total = lax.index_in_dim(running, -1, axis=axis, keepdims=keepdims)
    totals = lax.expand_dims(total, ahead)
    wanted = lax.mul(lax.reshape(q, q.shape + (1,) * total.ndim), totals)
    wanted = wanted if keepdims else lax.expand_dims(wanted, (axis + q.ndim,))
    is_less = lax.lt(lax.expand_dims(running, ahead), wanted)
    index_type = dtypes.default_int_dtype()
    position = reductions.sum(lax.convert_element_type(is_less, index_type), axis=axis + q.ndim, keepdims=keepdims)
    if nans:
        count = lax.full_like(total, a.shape[axis], dtype=q.dtype)
    else:
        count = reductions.sum(lax.bitwise_not(is_nan), axis=axis, dtype=q.dtype, keepdims=keepdims)
    last = lax.convert_element_type(lax.sub(count, constant(count, 1)), index_type)
    position = lax.max(constant(position, 0), lax.min(position, lax.expand_dims(last, ahead)))
    position = lax.squeeze(position, (q.ndim + axis,)) if keepdims else position
    if q.ndim == 0:
        taken = take_along_axis(a, lax.expand_dims(position, (axis,)), axis=axis)
        result = lax.squeeze(taken, (axis,))
    else:  # q's axis takes the place of the reduced one while elements are taken
        order = [*range(q.ndim, q.ndim + axis), *ahead, *range(q.ndim + axis, position.ndim)]
        taken = take_along_axis(a, lax.transpose(position, order), axis=axis)
        result = lax.transpose(taken, [order.index(i) for i in range(len(order))])
    result = lax.expand_dims(result, (q.ndim + axis,)) if keepdims else result
    is_empty = lax.eq(count, lax.full_like(count, 0))
    is_undefined = reductions.any(is_bad, axis=axis, keepdims=keepdims)
    if nans:  # the comparison above is then unused; JAX's jaxpr has it, too
        is_empty = reductions.any(is_nan, axis=axis, keepdims=keepdims)
    is_undefined = lax.bitwise_or(is_undefined, is_empty)
    return where_(lax.expand_dims(is_undefined, ahead), lax.full_like(result, np.nan), result)


@jit(static_argnames=("axis", "overwrite_input", "keepdims", "method"))
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return `quantile`, with q in percent."""
    a, q = ensure_arraylikes("percentile", a, q)
    weights = None if weights is None else ensure_arraylike("percentile", weights)
    (q,) = promote_dtypes_inexact(q)
    return quantile(
        a,
        q / 100,
        axis=axis,
        out=out,
        overwrite_input=overwrite_input,
        method=method,
        keepdims=keepdims,
        weights=weights,
    )


@jit(static_argnames=("axis", "overwrite_input", "keepdims"))
def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Return the middle of the sorted elements over `axis`, or the mean of the two middle ones; nan if an element is
    nan. Since JAX 0.11, raise ValueError for an axis without elements.
    """
    a = ensure_arraylike("median", a)
    if since(0, 11) and any(a.shape[i] == 0 for i in reduced_axes(a.ndim, axis)):
        raise ValueError("jax.numpy.median reduction axis must be non-empty")
    return quantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims, method="midpoint")


@jit(static_argnames=("axis", "overwrite_input", "keepdims", "method"))
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return `nanquantile`, with q in percent."""
    a, q = ensure_arraylikes("nanpercentile", a, q)
    weights = None if weights is None else ensure_arraylike("nanpercentile", weights)
    (q,) = promote_dtypes_inexact(q)
    q = q / 100
    given = {"axis": axis, "out": out, "overwrite_input": overwrite_input, "method": method, "weights": weights}
    return nanquantile(a, q, **given, keepdims=keepdims)


@jit(static_argnames=("axis", "overwrite_input", "keepdims"))
def nanmedian(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Return the median of the elements that are not nan; nan if all are nan."""
    a = ensure_arraylike("nanmedian", a)
    given = {"axis": axis, "out": out, "overwrite_input": overwrite_input, "keepdims": keepdims}
    return nanquantile(a, 0.5, **given, method="midpoint")
