"""Chooses between values: where, clip, rounding, closeness, and the positions of nonzero elements.

The number of nonzero elements depends on values. So `nonzero` and similar functions cannot be traced unless this number
is given as `size`.

JAX: jax/_src/numpy/lax_numpy.py:where
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core, lax
from ..base import edits
from ..core import dtypes
from ..pjit.jit import jit
from . import promotion
from .creation import array, asarray, zeros
from .cumulative import cumsum
from .float_parts import isfinite, isnan, isneginf, isposinf
from .joining import vstack
from .promotion import broadcast_arrays, promote, promote_dtypes, promote_inexact
from .ranges import arange
from .reductions import all as all_
from .reductions import argmax
from .shaping import atleast_1d, ravel
from .ufuncs import constant, equal, logical_and, logical_or, maximum, minimum
from .util import check_arraylike, concrete_index, ensure_arraylike


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return elements of `x` where `condition` holds and of `y` elsewhere; without x and y, `nonzero(condition)`.

    The three broadcast against each other; x and y are promoted to one dtype, and both are computed in full. Raise
    TypeError if only one of x and y is given, ValueError if `size` or `fill_value` is given beside them.
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        check_arraylike("where", condition)
        place = 1 if x is None else 2
        raise TypeError(
            f"where requires ndarray or scalar arguments, got {type(None)} at position {place}.{edits.BOTH_OR_NONE}"
        )
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError("size and fill_value arguments cannot be used in three-term where function.")
    return promotion.where(condition, x, y)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Return elements of the first of `choicelist` whose condition holds, and `default` where none does. Raise
    ValueError for no conditions, or another number of choices.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    choices = promote_dtypes(asarray(default), *[asarray(choice) for choice in choicelist])
    conditions = broadcast_arrays(False, *[asarray(condition) for condition in condlist])
    first = argmax(lax.stack(promote_dtypes(*conditions)).astype(bool), axis=0)
    return lax.select_n(*broadcast_arrays(first, *choices))


@jit
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:  # numpy's names
    """Return `arr` with values below `min` raised to it, and values above `max` lowered to it. Raise ValueError for
    complex values.
    """
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    check_arraylike("clip", arr)
    if any(t is not None and dtypes.issubdtype(dtypes.dtype(t), np.complexfloating) for t in (arr, min, max)):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords. Complex values have no ordering "
            "and cannot be clipped. Please convert to a real value or array by taking the real or imaginary components via "
            "jax.numpy.real/imag respectively."
        )
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return asarray(arr)


@jit(static_argnames=("decimals",))
def round(a: Any, decimals: int = 0, out: None = None) -> Any:  # numpy's name
    """Return `a`, rounded to `decimals` digits after the point, halves to even. Integers stay as they are; for them,
    raise NotImplementedError if `decimals` is negative.
    """
    a = ensure_arraylike("round", a)
    decimals = concrete_index(decimals, "'decimals' argument of jnp.round")
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.round is not supported.{edits.NO_OUT}")
    if dtypes.issubdtype(a.dtype, np.integer):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return a
    if decimals > np.log10(float(dtypes.finfo(a.dtype).max)):
        return a
    if dtypes.issubdtype(a.dtype, np.complexfloating):
        return lax.complex(_round_float(lax.real(a), decimals), _round_float(lax.imag(a), decimals))
    return _round_float(a, decimals)


def _round_float(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    half = x.dtype == np.float16  # in float16 the factor may overflow
    wide = lax.convert_element_type(x, np.float32) if half else x
    factor = constant(wide, 10**decimals)
    out = lax.div(lax.round(lax.mul(wide, factor), lax.RoundingMethod.TO_NEAREST_EVEN), factor)
    return lax.convert_element_type(out, np.float16) if half else out


@jit(static_argnames=("decimals",))
def around(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Return `round(a, decimals)`."""
    return round(a, decimals, out)


@jit
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Return `x` with nan replaced by `nan`, and infinities by `posinf` and `neginf`, by default the largest and the
    smallest finite number. `copy` changes nothing: `x` itself is never changed.
    """
    x = ensure_arraylike("nan_to_num", x)
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return x
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.complex(
            nan_to_num(lax.real(x), nan=nan, posinf=posinf, neginf=neginf),
            nan_to_num(lax.imag(x), nan=nan, posinf=posinf, neginf=neginf),
        )
    info = dtypes.finfo(x.dtype)
    out = promotion.where(isnan(x), asarray(nan, dtype=x.dtype), x)
    out = promotion.where(isposinf(out), asarray(info.max if posinf is None else posinf, dtype=x.dtype), out)
    return promotion.where(isneginf(out), asarray(info.min if neginf is None else neginf, dtype=x.dtype), out)


# --- equality --------------------------------------------------------------------------------------------------------


@jit(static_argnames=("equal_nan",))
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return, for each element, whether |a - b| <= atol + rtol * |b|; equal infinities are close, and with `equal_nan` two nans."""
    _, (a, b) = promote("isclose", a, b)
    if dtypes.issubdtype(a.dtype, dtypes.extended):  # keys are equal or not
        return lax.eq(a, b)
    dtype, (a, b) = promote_inexact("isclose", a, b)
    real_dtype = dtypes.finfo(dtype).dtype
    rtol = lax.convert_element_type(rtol, real_dtype)
    atol = lax.convert_element_type(atol, real_dtype)
    both_nan = logical_and(isnan(a), isnan(b))
    finite = isfinite(b)
    in_range = lax.le(lax.abs(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, lax.abs(b))))
    out = logical_or(lax.eq(a, b), logical_and(finite, in_range))
    return logical_or(out, both_nan) if equal_nan else out


@jit(static_argnames=("equal_nan",))
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether all elements are close, as an array of one bool; arguments are as for `isclose`."""
    check_arraylike("allclose", a, b)
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether two arrays have the same shape and equal elements, as an array of one bool. With `equal_nan`, nan
    equals nan.
    """
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return array(False, dtype=bool)
    same = asarray(a1 == a2)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return all_(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether two arrays are equal after broadcasting, as an array of one bool; False if they do not broadcast."""
    a1, a2 = asarray(a1), asarray(a2)
    try:
        same = equal(a1, a2)
    except (ValueError, TypeError):
        return array(False)
    return all_(same)


# --- positions -------------------------------------------------------------------------------------------------------


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """Return the positions of all nonzero elements: for each axis an int array of length n.

    n is the number of such elements, or `size`, which must be given under a trace. If there are more, the last are left out; if there
    are fewer, the missing positions are `fill_value`, by default 0. A tuple has a value for each axis.

    Raises:
      ConcretizationTypeError: under a trace without `size`.
      ValueError: for a scalar, and for a `fill_value` that is neither a scalar nor a tuple of scalars.
    """
    arr = ensure_arraylike("nonzero", a)
    if arr.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead.")
    mask = arr if arr.dtype == np.bool_ else arr != 0
    count = concrete_index(
        mask.sum() if size is None else size,
        "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero within JAX transformations.",
    )
    if arr.size == 0 or count == 0:
        return tuple(zeros(count, int) for _ in arr.shape)
    # Count how many nonzero elements precede each position; counting these counts gives the position of the i-th one.
    flat = cumsum(bincount(cumsum(mask), length=count))
    strides = (np.cumprod(arr.shape[::-1])[::-1] // arr.shape).astype(flat.dtype)
    out = tuple(flat // stride % axis_size for stride, axis_size in zip(strides, arr.shape, strict=True))
    if fill_value is None:
        return out
    fills = fill_value if isinstance(fill_value, tuple) else arr.ndim * (fill_value,)
    if any(np.shape(value) != () for value in fills):
        raise ValueError(f"fill_value must be a scalar or a tuple of length {arr.ndim}; got {fill_value}")
    missing = arange(count) >= mask.sum()
    return tuple(promotion.where(missing, value, entry) for value, entry in zip(fills, out, strict=True))


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the positions of nonzero elements in row-major order; `size` and `fill_value` are as for `nonzero`."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """Return how often each of 0, 1, 2, ... occurs in `x`, a one-dimensional array of integers; with `weights`, the sum
    of the weights of each.

    The result is as long as the largest value requires, and at least `minlength`. With `length`, needed under a trace,
    the result has this length, and larger values are not counted. Negative values count as 0. Raise TypeError unless
    `x` has integers or bools, ValueError for another number of axes, or weights of another shape.
    """
    x = ensure_arraylike("bincount", x)
    if x.dtype == np.bool_:
        x = lax.convert_element_type(x, np.dtype("int32"))
    if not dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype}")
    if x.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = concrete_index(minlength, "The error occurred because of argument 'minlength' of jnp.bincount.")
    if length is None:
        known = core.concrete_or_error(
            np.asarray,
            x,
            "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, "
            "pass a static `length` argument.",
        )
        length = max(minlength, int(known.max(initial=-1)) + 1)
    else:
        length = concrete_index(length, "The error occurred because of argument 'length' of jnp.bincount.")
    if weights is None:
        weights = np.array(1, dtypes.default_int_dtype())
    elif np.shape(weights) != x.shape:
        types = [core.get_aval(v).str_short(short_dtypes=True) for v in (x, weights)]
        raise ValueError(
            f"type of weights must match type of x. Got typeof(x)={types[0]} and typeof(weights)={types[1]}"
        )
    return zeros(length, dtypes.dtype(weights)).at[clip(x, 0)].add(weights, mode="drop")


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the positions of all nonzero elements, as the rows of a matrix; `size` and `fill_value` are as for `nonzero`."""
    a = ensure_arraylike("argwhere", a)
    result = vstack(nonzero(atleast_1d(a), size=size, fill_value=fill_value)).T
    return (result if a.ndim else result[:0]).reshape(len(result), a.ndim)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Return the indices, as an array for each axis, of elements given by their numbers in row-major order. Negative
    numbers count from the end; a number out of bounds means the first or the last element. Raise ValueError if `shape`
    is an array of several axes.
    """
    left = ensure_arraylike("unravel_index", indices)
    sizes = list(shape) if np.iterable(shape) else [shape]
    if any(np.ndim(s) != 0 for s in sizes):
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    positions: list[Any] = [0] * len(sizes)
    for i, s in reversed(list(enumerate(sizes))):
        left, positions[i] = divmod(left, s)
    beyond = left > 0
    unsigned = dtypes.issubdtype(left.dtype, np.unsignedinteger)
    before = asarray(False) if unsigned else left < -1
    clipped = zip(sizes, positions, strict=True)
    return tuple(promotion.where(beyond, s - 1, promotion.where(before, 0, i)) for s, i in clipped)
