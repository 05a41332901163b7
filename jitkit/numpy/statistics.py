"""Means, spreads and quantiles, and the reductions that leave nan out.

JAX: jax/_src/numpy/reductions.py:mean
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import config, dtypes, lax
from ..pjit import fused, jit
from . import reductions
from .reductions import check_where, reduced_axes, refuse_out, start_value, static_axes, upcast_f16
from .ufuncs import constant
from .util import as_array, broadcast_to, canonicalize_axis, check_arraylike, convert, ensure_arraylike, ensure_arraylikes, promote_dtypes_inexact
from .util import where as where_

# --- mean and variance -----------------------------------------------------------------------------------------------


def mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """The mean over `axis` of the elements where `where` holds; of integers as a float. 16-bit floats are summed in 32 bits."""
    return _mean(a, static_axes(axis), dtype, out, keepdims, where=where, upcast_f16_for_computation=dtype is None)


@fused(static_argnames=("axis", "dtype", "keepdims", "upcast_f16_for_computation"))
def _mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *,
          upcast_f16_for_computation: bool = True, where: Any = None) -> Any:
    a = ensure_arraylike("mean", a)
    where = check_where("mean", where)
    refuse_out("mean", out)
    result = dtypes.to_inexact_dtype(a.dtype) if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "mean")
    computed = upcast_f16(result) if upcast_f16_for_computation and dtypes.issubdtype(result, np.inexact) else result
    count = number_of(a, axis, keepdims, where, computed)
    total = reductions.sum(a, axis, dtype=computed, keepdims=keepdims, where=where)
    return convert(lax.div(total, count), result)


def number_of(a: Any, axis: Any, keepdims: bool, where: Any, dtype: Any) -> Any:
    """How many elements are reduced, as a number (with `where`, an array) of this dtype."""
    if where is None:
        shape = np.shape(a)
        axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        return lax.convert_element_type(math.prod(shape[i] for i in axes), dtype)
    return reductions.sum(broadcast_to(where, np.shape(a)), axis, dtype=dtype, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """The mean over `axis`, weighted by `weights`; with `returned`, the pair of it and the sum of the weights."""
    return _average(a, static_axes(axis), weights, returned, keepdims)


@fused(static_argnames=("axis", "returned", "keepdims"))
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    a = ensure_arraylike("average", a)
    axes = reduced_axes(a.ndim, axis)
    if weights is None:
        (a,) = promote_dtypes_inexact(a)
        avg = mean(a, axis=axis, keepdims=keepdims)
        total = lax.full((), math.prod(a.shape[i] for i in axes), avg.dtype)
    else:
        a, weights = promote_dtypes_inexact(a, ensure_arraylike("average", weights))
        if a.shape != weights.shape:
            if axis is None:
                raise ValueError("Axis must be specified when shapes of a and weights differ.")
            if weights.shape != tuple(a.shape[i] for i in axes):
                raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
            shape = tuple(n if i in axes else 1 for i, n in enumerate(a.shape))
            weights = lax.reshape(weights, shape, dimensions=tuple(np.argsort(axes).tolist()))
        total = reductions.sum(weights, axis=axis, keepdims=keepdims)
        avg = reductions.sum(a * weights, axis=axis, keepdims=keepdims) / total
    if not returned:
        return avg
    return avg, total if total.shape == avg.shape else broadcast_to(total, avg.shape)


def _correction(ddof: int, correction: float | None) -> float:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def var(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False, *, where: Any = None,
        mean: Any = None, correction: float | None = None) -> Any:
    """The mean squared distance from the mean over `axis`; divided by n - ddof instead of n. nan where that is not positive."""
    correction = _correction(ddof, correction)
    check_arraylike("var", a)
    return _var(as_array(a), axis=static_axes(axis), dtype=dtype, out=out, correction=correction, keepdims=keepdims, where=where, a_mean=mean)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def _var(a: Any, *, axis: Any = None, dtype: Any = None, out: None = None, correction: Any = 0, keepdims: bool = False, where: Any = None,
         a_mean: Any = None) -> Any:
    where = check_where("var", where)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "var")
    refuse_out("var", out)
    computed, result_dtype = _variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    if a_mean is None:
        a_mean = mean(a, axis, dtype=computed, keepdims=True, where=where)
    else:
        a_mean = convert(ensure_arraylike("var", a_mean), computed)
    squared = _squared_size(lax.sub(a, a_mean))
    count = number_of(a, axis, keepdims, where, squared.dtype)
    count = lax.sub(count, lax.convert_element_type(correction, squared.dtype))
    total = reductions.sum(squared, axis, dtype=squared.dtype, keepdims=keepdims, where=where)
    result = convert(lax.div(total, count), result_dtype)
    with config.override(debug_nans=False):  # this nan is on purpose
        return where_(count > 0, result, np.nan)


def _squared_size(x: Any) -> Any:
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.real(lax.mul(x, lax.conj(x)))
    return lax.square(x)


def _variance_dtypes(given: Any, dtype: Any) -> tuple[Any, Any]:
    """The dtypes to compute the variance in, and to return it in."""
    if dtype is not None:
        if not dtypes.issubdtype(dtype, np.complexfloating) and dtypes.issubdtype(given, np.complexfloating):
            raise ValueError("jax.numpy.var does not yet support real dtype parameters when computing the variance of an array of complex "
                             "values. The semantics of numpy.var seem unclear in this case. Please comment on "
                             "https://github.com/jax-ml/jax/issues/2283 if this behavior is important to you.")
        return upcast_f16(dtype), np.dtype(dtype)
    if not dtypes.issubdtype(given, np.inexact):
        inexact = dtypes.to_inexact_dtype(given)
        return upcast_f16(inexact), inexact
    return upcast_f16(given), dtypes.to_floating_dtype(given)


def std(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False, *, where: Any = None,
        mean: Any = None, correction: float | None = None) -> Any:
    """The square root of `var`."""
    correction = _correction(ddof, correction)
    check_arraylike("std", a)
    return _std(as_array(a), axis=static_axes(axis), dtype=dtype, out=out, correction=correction, keepdims=keepdims, where=where, mean=mean)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def _std(a: Any, *, axis: Any = None, dtype: Any = None, out: None = None, correction: Any = 0, keepdims: bool = False, where: Any = None,
         mean: Any = None) -> Any:
    where = check_where("std", where)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "std")
        if not dtypes.issubdtype(dtype, np.inexact):
            raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    refuse_out("std", out)
    return lax.sqrt(var(a, axis=axis, dtype=dtype, correction=correction, keepdims=keepdims, where=where, mean=mean))


# --- without nan -----------------------------------------------------------------------------------------------------


def _nan_reduction(a: Any, name: str, reduce: Callable[..., Any], start: float, nan_if_all_nan: bool, axis: Any, keepdims: bool, where: Any,
                   **options: Any) -> Any:
    a = ensure_arraylike(name, a)
    where = check_where(name, where)
    if not dtypes.issubdtype(a.dtype, np.inexact):
        return reduce(a, axis=axis, keepdims=keepdims, where=where, **options)
    is_nan = lax.ne(a, a)
    out = reduce(where_(is_nan, start_value(a.dtype, start), a), axis=axis, keepdims=keepdims, where=where, **options)
    if not nan_if_all_nan:
        return out
    return where_(reductions.all(lax.ne(a, a), axis=axis, keepdims=keepdims), constant(a, np.nan), out)


@jit(static_argnames=("axis", "keepdims"))
def nanmin(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The smallest element over `axis` that is not nan; nan where all are."""
    return _nan_reduction(a, "nanmin", reductions.min, np.inf, initial is None, axis, keepdims, where, out=out, initial=initial)


@jit(static_argnames=("axis", "keepdims"))
def nanmax(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The largest element over `axis` that is not nan; nan where all are."""
    return _nan_reduction(a, "nanmax", reductions.max, -np.inf, initial is None, axis, keepdims, where, out=out, initial=initial)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nansum(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> Any:
    """The sum over `axis` with nan counting as 0."""
    return _nan_reduction(a, "nansum", reductions.sum, 0, False, axis, keepdims, where, dtype=dtype, out=out, initial=initial)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
            where: Any = None) -> Any:
    """The product over `axis` with nan counting as 1."""
    return _nan_reduction(a, "nanprod", reductions.prod, 1, False, axis, keepdims, where, dtype=dtype, out=out, initial=initial)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None) -> Any:
    """The mean over `axis` of the elements that are not nan."""
    a = ensure_arraylike("nanmean", a)
    where = check_where("nanmean", where)
    refuse_out("nanmean", out)
    if not dtypes.issubdtype(a.dtype, np.inexact):
        return mean(a, axis, dtype, out, keepdims, where=where)
    dtype = dtypes.to_inexact_dtype(a.dtype) if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "mean")
    count = reductions.sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return lax.div(nansum(a, axis, dtype=dtype, keepdims=keepdims, where=where), count)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False, where: Any = None,
           mean: Any = None) -> Any:
    """The variance over `axis` of the elements that are not nan."""
    a = ensure_arraylike("nanvar", a)
    where = check_where("nanvar", where)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "nanvar")
    refuse_out("nanvar", out)
    computed, result_dtype = _variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    center = nanmean(a, axis, dtype=computed, keepdims=True, where=where) if mean is None else convert(as_array(mean), computed)
    squared = _squared_size(where_(lax.ne(a, a), 0, lax.sub(a, center)))
    count = reductions.sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, keepdims=keepdims, where=where) - ddof
    too_few = lax.le(count, count.dtype.type(0))
    total = where_(too_few, np.nan, reductions.sum(squared, axis, keepdims=keepdims, where=where))
    return convert(lax.div(total, lax.convert_element_type(where_(too_few, 1, count), total.dtype)), result_dtype)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False, where: Any = None,
           mean: Any = None) -> Any:
    """The square root of `nanvar`."""
    a = ensure_arraylike("nanstd", a)
    refuse_out("nanstd", out)
    return lax.sqrt(nanvar(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean))


# --- quantiles -------------------------------------------------------------------------------------------------------

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@jit(static_argnames=("axis", "overwrite_input", "keepdims", "method"))
def quantile(a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
             keepdims: bool = False) -> Any:
    """The values below which fractions `q` of the elements over `axis` lie; nan where one is nan.

    Between two elements: "linear" interpolates, "lower", "higher" and "nearest" choose one, "midpoint" takes the mean. The axes of q come first.
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
    return convert(result, a.dtype)


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
    a = lax.sort(a, dimension=axis)
    count = lax.convert_element_type(a.shape[axis], q.dtype)
    q = lax.mul(q, count - 1)
    low, high = lax.floor(q), lax.ceil(q)
    high_weight = lax.sub(q, low)
    low_weight = lax.sub(constant(high_weight, 1), high_weight)
    low = lax.clamp(constant(low, 0), low, count - 1)
    high = lax.clamp(constant(high, 0), high, count - 1)
    low, high = (lax.convert_element_type(i, dtypes.default_int_dtype()) for i in (low, high))
    sizes = [1 if i == axis else n for i, n in enumerate(a.shape)]
    numbers = lax.GatherDimensionNumbers(tuple(range(q.ndim, a.ndim + q.ndim - (not keepdims))), () if keepdims else (axis,), (axis,))
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
def percentile(a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
               keepdims: bool = False) -> Any:
    """`quantile`, with q in percent."""
    a, q = ensure_arraylikes("percentile", a, q)
    (q,) = promote_dtypes_inexact(q)
    return quantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input, method=method, keepdims=keepdims)


@jit(static_argnames=("axis", "overwrite_input", "keepdims"))
def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The value in the middle of the elements over `axis`, or the mean of the two there."""
    a = ensure_arraylike("median", a)
    return quantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims, method="midpoint")
