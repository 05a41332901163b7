"""Computes means, weighted means, variances and standard deviations.

JAX: jax/_src/numpy/reductions.py:mean
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from ..base import config
from ..core import dtypes
from ..pjit.jit import inlined, jit
from . import reductions
from .promotion import broadcast_to, convert, promote_dtypes_inexact
from .promotion import where as where_
from .reductions import check_where, reduced_axes, refuse_out, static_axes, upcast_f16
from .util import as_array, check_arraylike, ensure_arraylike

# --- mean and variance -----------------------------------------------------------------------------------------------


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Return the mean over `axis` of the elements where `where` holds; for integers as a float. 16-bit floats are summed in 32 bits."""
    axis = static_axes(axis, names=True)
    return _mean(a, axis, dtype, out, keepdims, where=where, upcast_f16_for_computation=dtype is None)


@inlined(static_argnames=("axis", "dtype", "keepdims", "upcast_f16_for_computation"))
def _mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    upcast_f16_for_computation: bool = True,
    where: Any = None,
) -> Any:
    a = ensure_arraylike("mean", a)
    where = check_where("mean", where)
    refuse_out("mean", out)
    result = (
        dtypes.to_inexact_dtype(a.dtype) if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "mean")
    )
    computed = upcast_f16(result) if upcast_f16_for_computation and dtypes.issubdtype(result, np.inexact) else result
    count = number_of(a, axis, keepdims, where, computed)
    total = reductions.sum(a, axis, dtype=computed, keepdims=keepdims, where=where)
    return convert(lax.div(total, count), dtypes.check_and_canonicalize_user_dtype(result, "astype"))


def number_of(a: Any, axis: Any, keepdims: bool, where: Any, dtype: Any) -> Any:
    """Return the number of reduced elements (with `where`, an array of numbers) in this dtype."""
    if where is None:
        shape = np.shape(a)
        axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        sizes = [lax.axis_size(i) if isinstance(i, str) else shape[i] for i in axes]
        return lax.convert_element_type(math.prod(sizes), dtype)
    return reductions.sum(broadcast_to(where, np.shape(a)), axis, dtype=dtype, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """Return the mean over `axis`, weighted by `weights`; with `returned`, also the sum of the weights. Raise
    ValueError unless `weights` has the shape of `a`, or of its reduced axes.
    """
    return _average(a, static_axes(axis), weights, returned, keepdims)


@inlined(static_argnames=("axis", "returned", "keepdims"))
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    axes = reduced_axes(np.ndim(a), axis)
    a = ensure_arraylike("average", a)
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


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the sum over `axis` of the squared distances from the mean, divided by n - ddof; nan if n - ddof is not
    positive. `correction` is another name of `ddof` (raise ValueError for both), and `mean` is the mean, if it is
    known. Raise ValueError for a real `dtype` of complex numbers.
    """
    correction = _correction(ddof, correction)
    check_arraylike("var", a)
    return _var(
        as_array(a),
        axis=static_axes(axis, names=True),
        dtype=dtype,
        out=out,
        correction=correction,
        keepdims=keepdims,
        where=where,
        a_mean=mean,
    )


@jit(static_argnames=("axis", "dtype", "keepdims"))
def _var(
    a: Any,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    correction: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    a_mean: Any = None,
) -> Any:
    where = check_where("var", where)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "var")
    refuse_out("var", out)
    computed, result_dtype = variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    if a_mean is None:
        a_mean = mean(a, axis, dtype=computed, keepdims=True, where=where)
    else:
        a_mean = convert(ensure_arraylike("var", a_mean), computed)
    squared = squared_size(lax.sub(a, a_mean))
    count = number_of(a, axis, keepdims, where, squared.dtype)
    count = lax.sub(count, lax.convert_element_type(correction, squared.dtype))
    total = reductions.sum(squared, axis, dtype=squared.dtype, keepdims=keepdims, where=where)
    result = convert(lax.div(total, count), result_dtype)
    with config.override(debug_nans=False):  # this nan is on purpose
        return where_(count > 0, result, np.nan)


def squared_size(x: Any) -> Any:
    """Return |x|**2, which is real for complex x, too."""
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.real(lax.mul(x, lax.conj(x)))
    return lax.square(x)


def variance_dtypes(given: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the dtypes in which to compute and to return the variance. Raise ValueError for a real `dtype` of complex numbers."""
    given = dtypes.canonicalize_dtype(given)  # it may come from a block of x64 mode
    if dtype is not None:
        if not dtypes.issubdtype(dtype, np.complexfloating) and dtypes.issubdtype(given, np.complexfloating):
            raise ValueError(
                "jax.numpy.var does not yet support real dtype parameters when computing the variance of an array of complex "
                "values. The semantics of numpy.var seem unclear in this case. Please comment on "
                "https://github.com/jax-ml/jax/issues/2283 if this behavior is important to you."
            )
        return upcast_f16(dtype), np.dtype(dtype)
    if not dtypes.issubdtype(given, np.inexact):
        inexact = dtypes.to_inexact_dtype(given)
        return upcast_f16(inexact), inexact
    return upcast_f16(given), dtypes.to_floating_dtype(given)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the square root of `var`, with its errors. Raise ValueError also for a `dtype` that is neither float nor complex."""
    correction = _correction(ddof, correction)
    check_arraylike("std", a)
    return _std(
        as_array(a),
        axis=static_axes(axis, names=True),
        dtype=dtype,
        out=out,
        correction=correction,
        keepdims=keepdims,
        where=where,
        mean=mean,
    )


@jit(static_argnames=("axis", "dtype", "keepdims"))
def _std(
    a: Any,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    correction: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    where = check_where("std", where)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "std")
        if not dtypes.issubdtype(dtype, np.inexact):
            raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    refuse_out("std", out)
    return lax.sqrt(var(a, axis=axis, dtype=dtype, correction=correction, keepdims=keepdims, where=where, mean=mean))
