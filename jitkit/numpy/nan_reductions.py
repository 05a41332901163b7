"""Reductions and statistics that ignore nan.

JAX: jax/_src/numpy/reductions.py:nansum
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..pjit.jit import jit
from . import reductions, statistics
from .promotion import convert
from .promotion import where as where_
from .reductions import check_where, refuse_out, start_value
from .statistics import squared_size, variance_dtypes
from .ufuncs import constant
from .util import as_array, ensure_arraylike


def _nan_reduction(
    a: Any,
    name: str,
    reduce: Callable[..., Any],
    start: float,
    nan_if_all_nan: bool,
    axis: Any,
    keepdims: bool,
    where: Any,
    **options: Any,
) -> Any:
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
def nanmin(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the smallest element over `axis` that is not nan; if all are nan, return `initial`, or nan without it.
    Errors are as for `min`.
    """
    return _nan_reduction(
        a, "nanmin", reductions.min, np.inf, initial is None, axis, keepdims, where, out=out, initial=initial
    )


@jit(static_argnames=("axis", "keepdims"))
def nanmax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the largest element over `axis` that is not nan; if all are nan, return `initial`, or nan without it.
    Errors are as for `max`.
    """
    return _nan_reduction(
        a, "nanmax", reductions.max, -np.inf, initial is None, axis, keepdims, where, out=out, initial=initial
    )


def _checked_dtype(name: str, dtype: Any) -> Any:
    """Return the canonical form of the argument `dtype` of the function `name`, or None for None."""
    return None if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, name)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return what `sum` returns, with each nan counted as 0."""
    dtype = _checked_dtype("nansum", dtype)
    return _nan_reduction(
        a, "nansum", reductions.sum, 0, False, axis, keepdims, where, dtype=dtype, out=out, initial=initial
    )


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return what `prod` returns, with each nan counted as 1."""
    dtype = _checked_dtype("nanprod", dtype)
    return _nan_reduction(
        a, "nanprod", reductions.prod, 1, False, axis, keepdims, where, dtype=dtype, out=out, initial=initial
    )


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Any:
    """Return the mean over `axis` of the elements that are not nan; nan if all are."""
    a = ensure_arraylike("nanmean", a)
    where = check_where("nanmean", where)
    refuse_out("nanmean", out)
    if not dtypes.issubdtype(a.dtype, np.inexact):
        return statistics.mean(a, axis, dtype, out, keepdims, where=where)
    dtype = (
        dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(a.dtype))
        if dtype is None
        else dtypes.check_and_canonicalize_user_dtype(dtype, "mean")
    )
    count = reductions.sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return lax.div(nansum(a, axis, dtype=dtype, keepdims=keepdims, where=where), count)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Return the variance over `axis` of the elements that are not nan; nan if there are at most `ddof` of them. `mean`
    is their mean, if known.
    """
    a = ensure_arraylike("nanvar", a)
    where = check_where("nanvar", where)
    dtype = _checked_dtype("nanvar", dtype)
    refuse_out("nanvar", out)
    computed, result_dtype = variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    center = (
        nanmean(a, axis, dtype=computed, keepdims=True, where=where)
        if mean is None
        else convert(as_array(mean), computed)
    )
    squared = squared_size(where_(lax.ne(a, a), 0, lax.sub(a, center)))
    count = reductions.sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, keepdims=keepdims, where=where) - ddof
    too_few = lax.le(count, count.dtype.type(0))
    total = where_(too_few, np.nan, reductions.sum(squared, axis, keepdims=keepdims, where=where))
    return convert(lax.div(total, lax.convert_element_type(where_(too_few, 1, count), total.dtype)), result_dtype)


@jit(static_argnames=("axis", "dtype", "keepdims"))
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Return the square root of `nanvar`."""
    a = ensure_arraylike("nanstd", a)
    dtype = _checked_dtype("nanstd", dtype)
    refuse_out("nanstd", out)
    return lax.sqrt(nanvar(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean))


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the position of the first largest element along `axis` that is not nan; -1 if all are."""
    a = ensure_arraylike("nanargmax", a)
    refuse_out("nanargmax", out)
    return _nanargmax(a, None if axis is None else operator.index(axis), keepdims=bool(keepdims))


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the position of the first smallest element along `axis` that is not nan; -1 if all are."""
    a = ensure_arraylike("nanargmin", a)
    refuse_out("nanargmin", out)
    return _nanargmin(a, None if axis is None else operator.index(axis), keepdims=bool(keepdims))


@jit(static_argnames=("axis", "keepdims"))
def _nanargmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position_without_nan(a, reductions.argmax, -np.inf, axis, keepdims)


@jit(static_argnames=("axis", "keepdims"))
def _nanargmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position_without_nan(a, reductions.argmin, np.inf, axis, keepdims)


def _position_without_nan(a: Any, position: Callable[..., Any], nan_as: float, axis: int | None, keepdims: bool) -> Any:
    if not dtypes.issubdtype(a.dtype, np.inexact):
        return position(a, axis=axis, keepdims=keepdims)
    is_nan = lax.ne(a, a)
    found = position(where_(is_nan, nan_as, a), axis=axis, keepdims=keepdims)
    return where_(reductions.all(is_nan, axis=axis, keepdims=keepdims), -1, found)
