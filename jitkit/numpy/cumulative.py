"""Running sums and products. All of them raise NotImplementedError for `out`, TypeError for random keys.

JAX: jax/_src/numpy/reductions.py:cumsum
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..base import edits
from ..core import dtypes
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from .promotion import convert
from .promotion import where as where_
from .reductions import promote_integer_dtype
from .util import ensure_arraylike


def _cumulative(
    name: str,
    operation: Callable[..., Any],
    a: Any,
    axis: int | None,
    dtype: Any,
    out: None,
    nan_as: int | None = None,
    promote_integers: bool = False,
) -> Any:
    a = ensure_arraylike(name, a)
    if isinstance(a.dtype, dtypes.ExtendedDType):
        raise TypeError(f"Cannot interpret {a.dtype.name!r} as a data type")
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported{edits.NO_OUT}")
    if axis is None or (a.ndim == 0 and a.weak_type):  # a Python number counts as a vector of one element
        a = lax.reshape(a, (a.size,))
    axis = canonicalize_axis(0 if axis is None else axis, a.ndim)
    if nan_as is not None:
        a = where_(lax.ne(a, a), a.dtype.type(nan_as), a)
    if dtype is None:
        widens = promote_integers or a.dtype == np.bool_
        given = promote_integer_dtype(a.dtype) if widens else a.dtype
        # checked twice, as in JAX, which may warn twice
        computed, result = (dtypes.check_and_canonicalize_user_dtype(given, "convert_element_type") for _ in range(2))
    else:
        computed = result = dtypes.check_and_canonicalize_user_dtype(dtype, name)
        if result == np.bool_:
            a = a if a.dtype == result else a != 0
            computed = promote_integer_dtype(result)
    return convert(operation(convert(a, computed), axis), result)


@jit(static_argnames=("axis", "dtype"))
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the sums of the first 1, 2, 3, ... elements along `axis`; of all elements in row-major order if it is None."""
    return _cumulative("cumsum", lax.cumsum, a, axis, dtype, out)


@jit(static_argnames=("axis", "dtype"))
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the products of the first 1, 2, 3, ... elements along `axis`; of all elements in row-major order if it is None."""
    return _cumulative("cumprod", lax.cumprod, a, axis, dtype, out)


@jit(static_argnames=("axis", "dtype"))
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return `cumsum` with nan counting as 0."""
    return _cumulative("nancumsum", lax.cumsum, a, axis, dtype, out, nan_as=0)


@jit(static_argnames=("axis", "dtype"))
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return `cumprod` with nan counting as 1."""
    return _cumulative("nancumprod", lax.cumprod, a, axis, dtype, out, nan_as=1)


@jit(static_argnames=("axis", "dtype"))
def _cumsum_with_promotion(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _cumulative("_cumsum_with_promotion", lax.cumsum, a, axis, dtype, None, promote_integers=True)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return `cumsum`, with small integers summed in the default int type, and with `include_initial` a 0 in front.
    Raise ValueError for a scalar, and for several axes without `axis`.
    """
    x, axis, dtype = _one_axis("sum", x, axis, dtype)
    out = _cumsum_with_promotion(x, axis=axis, dtype=dtype)
    return _behind(0, out, axis) if include_initial else out


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return `cumprod`; with `include_initial` a 1 in front. Raise ValueError for a scalar, and for several axes without `axis`."""
    x, axis, dtype = _one_axis("prod", x, axis, dtype)
    out = _cumulative("cumulative_prod", lax.cumprod, x, axis, dtype, None)
    return _behind(1, out, axis) if include_initial else out


def _one_axis(what: str, x: Any, axis: int | None, dtype: Any) -> tuple[Any, int, Any]:
    """Return the operand as an array, the axis, counted from the start, and the dtype, checked. Raise ValueError for a
    scalar, and for several axes if `axis` is None.
    """
    x = ensure_arraylike(f"cumulative_{what}", x)
    product = {"prod": "product"}.get(what, what)
    if x.ndim == 0:
        raise ValueError(
            f"The input must be non-scalar to take a cumulative {product}, however a scalar value or scalar array was given."
        )
    if axis is None and x.ndim > 1:
        raise ValueError(
            f"The input array has rank {x.ndim}, however axis was not set to an explicit value. The axis argument is only "
            "optional for one-dimensional arrays."
        )
    axis = canonicalize_axis(0 if axis is None else axis, x.ndim)
    return x, axis, None if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype)


def _behind(start: int, out: Any, axis: int) -> Any:
    first = lax.full((*out.shape[:axis], 1, *out.shape[axis + 1 :]), start, dtype=out.dtype)
    return lax.concatenate([first, out], dimension=axis)
