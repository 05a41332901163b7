"""Reductions over axes: sum, prod, max, min, all, any, their positions, and running sums.

What they share is `_reduction`: check, convert to the dtype to compute in, reduce, convert to the dtype of the result. Two choices of
JAX's are worth knowing. Small integers and bools are summed in the default int type. 16-bit floats are summed in 32 bits and
rounded once, at the end.

JAX: jax/_src/numpy/reductions.py:_reduction
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import core, dtypes, errors, lax
from ..pjit import fused, jit
from .ufuncs import constant
from .util import as_array, canonicalize_axis, check_arraylike, convert, ensure_arraylike, promote_dtypes_numeric
from .util import where as where_

_ANY_AXIS = "The axis argument must be known statically."


# --- arguments -------------------------------------------------------------------------------------------------------


def static_axes(axis: Any) -> Any:
    """`axis` as None, an int or a tuple of ints. ConcretizationTypeError for a traced one."""
    if axis is None:
        return None
    if isinstance(axis, core.Tracer):
        raise errors.ConcretizationTypeError(axis, _ANY_AXIS)
    try:
        return operator.index(axis)
    except TypeError:
        return tuple(map(operator.index, axis))


def reduced_axes(ndim: int, axis: Any) -> tuple[int, ...]:
    """The axes that are reduced, each in [0, ndim). ValueError for one that is named twice, or out of bounds."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(canonicalize_axis(x, ndim) for x in (axis if isinstance(axis, np.ndarray | tuple | list) else (axis,)))
    if len(axes) != len(set(axes)):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def check_where(name: str, where: Any) -> Any:
    """`where` as an array. ValueError unless it is None or an array of bools."""
    if where is None:
        return None
    where = ensure_arraylike(name, where)
    if where.dtype != np.bool_:
        raise ValueError(f"jnp.{name}: where must be None or a boolean array; got where.dtype={where.dtype!r}.")
    return where


def refuse_out(name: str, out: Any) -> None:
    """NotImplementedError unless `out` is None: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


def upcast_f16(dtype: Any) -> np.dtype[Any]:
    """float32 for floats of 16 bits, and other dtypes themselves."""
    return np.dtype("float32") if np.dtype(dtype).name in ("float16", "bfloat16") else np.dtype(dtype)


def promote_integer_dtype(dtype: Any) -> Any:
    """The type to sum in: the default int (or unsigned int) for narrower ones and for bool."""
    if dtype == np.bool_:
        return dtypes.default_int_dtype()
    if dtypes.issubdtype(dtype, np.integer):
        unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
        default = dtypes.default_uint_dtype() if unsigned else dtypes.default_int_dtype()
        return default if dtypes.iinfo(dtype).bits < dtypes.iinfo(default).bits else dtype
    return dtype


# --- the general reduction -------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """What distinguishes one reduction from another."""

    name: str
    reduce: Callable[..., Any]
    combine: Callable[..., Any]  # the binary operation, for `initial`
    start: float  # what masked elements count as, clipped to the dtype
    has_identity: bool = True
    prepare: Callable[[Any], Any] | None = None
    widens: bool = False  # small integers, and 16-bit floats while computing


def _to_numeric(x: Any) -> Any:
    return promote_dtypes_numeric(x)[0]


def _to_bool(x: Any) -> Any:
    return convert(lax.real(x) if dtypes.issubdtype(x.dtype, np.complexfloating) else x, np.dtype(bool))


_SUM = _Kind("sum", lax.reduce_sum, lax.add, 0, prepare=_to_numeric, widens=True)
_PROD = _Kind("prod", lax.reduce_prod, lax.mul, 1, prepare=_to_numeric, widens=True)
_MAX = _Kind("max", lax.reduce_max, lax.max, -np.inf, has_identity=False)
_MIN = _Kind("min", lax.reduce_min, lax.min, np.inf, has_identity=False)
_ALL = _Kind("all", lax.reduce_and, lax.bitwise_and, True, prepare=_to_bool)
_ANY = _Kind("any", lax.reduce_or, lax.bitwise_or, False, prepare=_to_bool)


def start_value(dtype: Any, value: float) -> Any:
    """`value` as a scalar of this dtype; an infinity as the largest or smallest number where there is none."""
    if dtype == np.bool_:
        return np.bool_(value > 0)
    if np.isinf(value) and not dtypes.supports_inf(dtype):
        info = dtypes.iinfo(dtype) if dtypes.issubdtype(dtype, np.integer) else dtypes.finfo(dtype)
        value = info.min if value < 0 else info.max
    return np.array(value, dtype)[()]


def _reduction(kind: _Kind, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any,
               promote_integers: bool = False) -> Any:
    name = kind.name
    refuse_out(name, out)
    a = ensure_arraylike(name, a)
    where = check_where(name, where)
    if initial is None and not kind.has_identity and where is not None:
        raise ValueError(f"reduction operation {name} does not have an identity, so to use a where mask one has to specify 'initial'")
    a = a if kind.prepare is None else kind.prepare(a)
    axes = reduced_axes(a.ndim, axis)
    if initial is None and not kind.has_identity and not np.all([a.shape[i] >= 1 for i in axes]):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if dtype is None:
        result_dtype = promote_integer_dtype(a.dtype) if promote_integers else a.dtype
    else:
        result_dtype = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    computation_dtype = upcast_f16(result_dtype) if kind.widens and dtype is None else result_dtype
    a = convert(a, computation_dtype)
    if where is not None:
        a = where_(where, a, start_value(computation_dtype, kind.start))
    result = convert(kind.reduce(a, axes), computation_dtype)
    if initial is not None:
        first = convert(as_array(initial), computation_dtype)
        if first.shape != ():
            raise ValueError(f"initial value must be a scalar. Got array of shape {first.shape}")
        result = kind.combine(first, result)
    if keepdims:
        result = lax.expand_dims(result, axes)
    return convert(result, result_dtype)


@fused(static_argnames=("axis", "dtype", "keepdims", "promote_integers"))
def _reduce_sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
                where: Any = None, promote_integers: bool = True) -> Any:
    return _reduction(_SUM, a, axis, dtype, out, keepdims, initial, where, promote_integers)


@fused(static_argnames=("axis", "dtype", "keepdims", "promote_integers"))
def _reduce_prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
                 where: Any = None, promote_integers: bool = True) -> Any:
    return _reduction(_PROD, a, axis, dtype, out, keepdims, initial, where, promote_integers)


@fused(static_argnames=("axis", "keepdims"))
def _reduce_max(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    return _reduction(_MAX, a, axis, None, out, keepdims, initial, where)


@fused(static_argnames=("axis", "keepdims"))
def _reduce_min(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    return _reduction(_MIN, a, axis, None, out, keepdims, initial, where)


@fused(static_argnames=("axis", "keepdims"))
def _reduce_all(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Any:
    return _reduction(_ALL, a, axis, None, out, keepdims, None, where)


@fused(static_argnames=("axis", "keepdims"))
def _reduce_any(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Any:
    return _reduction(_ANY, a, axis, None, out, keepdims, None, where)


# --- the public functions; `axis` is None for all, an int, or a tuple ------------------------------------------------


def sum(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Any = None, promote_integers: bool = True) -> Any:
    """The sum over `axis`, plus `initial`, of the elements where `where` holds. Small integers are summed in the default int type."""
    return _reduce_sum(a, axis=static_axes(axis), dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where,
                       promote_integers=promote_integers)


def prod(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
         where: Any = None, promote_integers: bool = True) -> Any:
    """The product over `axis`, times `initial`, of the elements where `where` holds."""
    return _reduce_prod(a, axis=static_axes(axis), dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where,
                        promote_integers=promote_integers)


def max(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The largest element over `axis`, and at least `initial`; nan where there is one. ValueError for no elements without `initial`."""
    return _reduce_max(a, axis=static_axes(axis), out=out, keepdims=keepdims, initial=initial, where=where)


def min(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The smallest element over `axis`, and at most `initial`; nan where there is one. ValueError for no elements without `initial`."""
    return _reduce_min(a, axis=static_axes(axis), out=out, keepdims=keepdims, initial=initial, where=where)


def all(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether all elements over `axis` are true (not zero)."""
    return _reduce_all(a, axis=static_axes(axis), out=out, keepdims=keepdims, where=where)


def any(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether some element over `axis` is true (not zero)."""
    return _reduce_any(a, axis=static_axes(axis), out=out, keepdims=keepdims, where=where)


def amax(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The same as `max`."""
    return max(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def amin(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The same as `min`."""
    return min(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest minus the smallest element over `axis`."""
    check_arraylike("ptp", a)
    return _ptp(a, static_axes(axis), out, keepdims)


@jit(static_argnames=("axis", "keepdims"))
def _ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    refuse_out("ptp", out)
    return lax.sub(max(a, axis=axis, keepdims=keepdims), min(a, axis=axis, keepdims=keepdims))


@jit(static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements over `axis` are not zero, as the default int type."""
    a = ensure_arraylike("count_nonzero", a)
    return sum(lax.ne(a, constant(a, 0)), axis=axis, dtype=dtypes.default_int_dtype(), keepdims=keepdims)


# --- positions -------------------------------------------------------------------------------------------------------


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The position of the first largest element along `axis`; of all elements in row-major order when it is None."""
    return _arg("argmax", _argmax, a, axis, out, keepdims)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The position of the first smallest element along `axis`; of all elements in row-major order when it is None."""
    return _arg("argmin", _argmin, a, axis, out, keepdims)


def _arg(name: str, function: Callable[..., Any], a: Any, axis: int | None, out: None, keepdims: bool | None) -> Any:
    check_arraylike(name, a)
    refuse_out(name, out)
    return function(a, None if axis is None else operator.index(axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _argmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmax", lax.argmax, as_array(a), axis, keepdims)


@fused(static_argnames=("axis", "keepdims"))
def _argmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmin", lax.argmin, as_array(a), axis, keepdims)


def _position(name: str, operation: Callable[..., Any], a: Any, axis: int | None, keepdims: bool) -> Any:
    kept = list(range(a.ndim)) if axis is None else [axis]
    if axis is None:
        a, axis = a.ravel(), 0
    axis = canonicalize_axis(axis, a.ndim)
    if a.shape[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = operation(a, axis, dtypes.default_int_dtype())
    return lax.expand_dims(result, kept) if keepdims else result


# --- running sums ----------------------------------------------------------------------------------------------------


def _cumulative(name: str, operation: Callable[..., Any], a: Any, axis: int | None, dtype: Any, out: None, nan_as: int | None = None,
                promote_integers: bool = False) -> Any:
    a = ensure_arraylike(name, a)
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported")
    if axis is None or a.ndim == 0:
        a = lax.reshape(a, (a.size,))
    axis = canonicalize_axis(0 if axis is None else axis, a.ndim)
    if nan_as is not None:
        a = where_(lax.ne(a, a), a.dtype.type(nan_as), a)
    if dtype is None:
        widens = promote_integers or a.dtype == np.bool_
        computed = result = promote_integer_dtype(a.dtype) if widens else a.dtype
    else:
        computed = result = dtypes.check_and_canonicalize_user_dtype(dtype, name)
        if result == np.bool_:
            a = a if a.dtype == result else a != 0
            computed = promote_integer_dtype(result)
    return convert(operation(convert(a, computed), axis), result)


@jit(static_argnames=("axis", "dtype"))
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of the first 1, 2, 3, ... elements along `axis`; of all elements in row-major order when it is None."""
    return _cumulative("cumsum", lax.cumsum, a, axis, dtype, out)


@jit(static_argnames=("axis", "dtype"))
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of the first 1, 2, 3, ... elements along `axis`; of all elements in row-major order when it is None."""
    return _cumulative("cumprod", lax.cumprod, a, axis, dtype, out)


@jit(static_argnames=("axis", "dtype"))
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumsum` with nan counting as 0."""
    return _cumulative("nancumsum", lax.cumsum, a, axis, dtype, out, nan_as=0)


@jit(static_argnames=("axis", "dtype"))
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumprod` with nan counting as 1."""
    return _cumulative("nancumprod", lax.cumprod, a, axis, dtype, out, nan_as=1)
