"""Reduces axes: sum, prod, max, min, all and any; counts nonzero elements; finds the largest and the smallest.

All but argmax and argmin use `reduction`: it converts to a dtype to compute in, reduces, and converts the result. As in
JAX, small integers and bools are summed in the default int type, and 16-bit floats in 32 bits, rounded once at the end.

JAX: jax/_src/numpy/reductions.py:_reduction
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from .. import core, lax
from ..base import config, edits, errors
from ..core import dtypes
from ..lax.utils import canonicalize_axis
from ..pjit.jit import inlined, jit
from .promotion import convert
from .promotion import where as where_
from .ufuncs import constant
from .util import as_array, check_arraylike, ensure_arraylike, given_array, one_axis

_FLOATS_OF_16_BITS = (np.dtype("float16"), np.dtype(ml_dtypes.bfloat16))
_ANY_AXIS = "The axis argument must be known statically."


# --- arguments -------------------------------------------------------------------------------------------------------


def static_axes(axis: Any, names: bool = False) -> Any:
    """Return `axis` as None, an int, or a tuple of ints; with `names`, a tuple may also have names of axes of `vmap`.
    Raise ConcretizationTypeError for a traced axis.
    """
    if axis is None:
        return None
    if isinstance(axis, core.Tracer):
        raise errors.ConcretizationTypeError(axis, _ANY_AXIS)
    try:
        one = operator.index(axis)
    except TypeError:
        one = None
    return tuple(x if names and isinstance(x, str) else operator.index(x) for x in axis) if one is None else one


def reduced_axes(ndim: int, axis: Any) -> tuple[Any, ...]:
    """Return the axes to reduce, each in [0, ndim) or a name. Raise ValueError for an axis given twice, or out of bounds."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, np.ndarray | tuple | list) else (axis,)
    axes = tuple(x if isinstance(x, str) else canonicalize_axis(x, ndim) for x in given)
    if len(axes) != len(set(axes)):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def own_axes(axes: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the reduced axes that are numbers, not names."""
    return tuple(axis for axis in axes if not isinstance(axis, str))


def check_where(name: str, where: Any) -> Any:
    """Return `where` as an array, or None if it is None. Raise ValueError for an array of another dtype than bool."""
    if where is None:
        return None
    where = ensure_arraylike(name, where)
    if where.dtype != np.bool_:
        raise ValueError(f"jnp.{name}: where must be None or a boolean array; got where.dtype={where.dtype!r}.")
    return where


def refuse_out(name: str, out: Any) -> None:
    """Raise NotImplementedError unless `out` is None: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.{edits.NO_OUT}")


def upcast_f16(dtype: Any) -> np.dtype[Any]:
    """Return float32 for floats of 16 bits, and other dtypes unchanged."""
    known = np.dtype(dtype)
    return np.dtype("float32") if known in _FLOATS_OF_16_BITS else known


def promote_integer_dtype(dtype: Any) -> Any:
    """Return the dtype to sum in: the default int (or unsigned int) for narrower ones and bool, other dtypes unchanged."""
    if dtype == np.bool_:
        return dtypes.default_int_dtype()
    if dtypes.issubdtype(dtype, np.integer):
        unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
        default = dtypes.default_uint_dtype() if unsigned else dtypes.default_int_dtype()
        return default if dtypes.iinfo(dtype).bits < dtypes.iinfo(default).bits else dtype
    return dtype


# --- the general reduction -------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """The parameters that distinguish one reduction from another."""

    name: str
    reduce: Callable[..., Any]
    combine: Callable[..., Any]  # the binary operation, for `initial`
    start: float  # the value of masked elements, clipped to the dtype
    has_identity: bool = True
    prepare: Callable[[Any], Any] | None = None
    widens: bool = False  # whether small integers get a wider type, and 16-bit floats do while computing
    of_bools: tuple[Callable[..., Any], Callable[..., Any]] | None = None  # reduce and combine for bools, or None
    of_all: str | None = None  # the function of `lax` that also reduces over named axes


def _to_numeric(x: Any) -> Any:
    return convert(x, np.dtype("int32")) if x.dtype == np.bool_ else x


def to_bool(x: Any) -> Any:
    """Return whether each element is not zero; for a complex number, whether its real part is not."""
    return convert(lax.real(x) if dtypes.issubdtype(x.dtype, np.complexfloating) else x, np.dtype(bool))


_OR, _AND = (lax.reduce_or, lax.bitwise_or), (lax.reduce_and, lax.bitwise_and)
_SUM = Kind("sum", lax.reduce_sum, lax.add, 0, prepare=_to_numeric, widens=True, of_bools=_OR, of_all="psum")
_PROD = Kind("prod", lax.reduce_prod, lax.mul, 1, prepare=_to_numeric, widens=True, of_bools=_AND)
_MAX = Kind("max", lax.reduce_max, lax.max, -np.inf, has_identity=False, of_all="pmax")
_MIN = Kind("min", lax.reduce_min, lax.min, np.inf, has_identity=False, of_all="pmin")
_ALL = Kind("all", *_AND, True, prepare=to_bool)
_ANY = Kind("any", *_OR, False, prepare=to_bool)


def start_value(dtype: Any, value: float) -> Any:
    """Return `value` as a scalar of this dtype. In a dtype without infinity, an infinity becomes the largest or smallest number."""
    if dtype == np.bool_:
        return np.bool_(value > 0)
    if np.isinf(value) and not dtypes.supports_inf(dtype):
        info = dtypes.iinfo(dtype) if dtypes.issubdtype(dtype, np.integer) else dtypes.finfo(dtype)
        value = info.min if value < 0 else info.max
    return np.array(value, dtype)[()]


def reduction(
    kind: Kind,
    a: Any,
    axis: Any,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = False,
) -> Any:
    """Return `a`, reduced over `axis`, by the reduction `kind`.

    Raises:
      ValueError: for no elements or a `where`, if the reduction has no identity and `initial` is not given; for an `initial`
        that is not a scalar, a `where` that is not of bools, and axes out of range or repeated.
      TypeError: for random keys.
      NotImplementedError: for `out`, and for named axes if the reduction does not take them.
    """
    name = kind.name
    refuse_out(name, out)
    a = ensure_arraylike(name, a)
    where = check_where(name, where)
    if initial is None and not kind.has_identity and where is not None:
        raise ValueError(
            f"reduction operation {name} does not have an identity, so to use a where mask one has to specify 'initial'"
        )
    a = a if kind.prepare is None else kind.prepare(a)
    if isinstance(a.dtype, dtypes.ExtendedDType):
        raise TypeError(f"Cannot interpret {a.dtype.name!r} as a data type")
    axes = reduced_axes(a.ndim, axis)
    own = own_axes(axes)
    if initial is None and not kind.has_identity and 0 in [a.shape[i] for i in own]:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    computed, result_dtype = _reduction_dtypes(kind, a.dtype, dtype, promote_integers)
    a = convert(a, computed)
    reduce, combine = kind.reduce, kind.combine
    if kind.of_bools is not None and computed == np.bool_:
        reduce, combine = kind.of_bools
    if len(own) < len(axes):
        if kind.of_all is None:
            raise NotImplementedError(f"Named reductions not implemented for jnp.{name}()")
        reduce = getattr(lax, kind.of_all)
    if where is not None:
        a = where_(where, a, start_value(computed, kind.start))
    result = convert(reduce(a, axes), computed)
    if initial is not None:
        with config.override(debug_infs=False):  # an initial value such as -inf is not an error
            first = convert(as_array(initial), computed)
        if first.shape != ():
            raise ValueError(f"initial value must be a scalar. Got array of shape {first.shape}")
        result = combine(first, result)
    if keepdims:
        result = lax.expand_dims(result, own)
    return convert(result, result_dtype)


def _reduction_dtypes(kind: Kind, given: Any, asked: Any, promote_integers: bool) -> tuple[Any, Any]:
    """Return the dtypes to reduce in, and to return. Converting to one with 64 bits warns unless x64 mode is on."""
    if asked is not None:
        return dtypes.check_and_canonicalize_user_dtype(asked, kind.name), _converted_to(asked)
    result = promote_integer_dtype(given) if promote_integers else given
    return _converted_to(upcast_f16(result) if kind.widens else result), _converted_to(result)


def _converted_to(dtype: Any) -> Any:
    return dtypes.check_and_canonicalize_user_dtype(dtype, "convert_element_type")


# Each combination of these arguments has a function of the array alone: an eager call takes 6 us instead of 16.
@functools.lru_cache(maxsize=1024)
def _over_axis(kind: Kind, axis: Any, dtype: Any, keepdims: bool, promote_integers: bool) -> Callable[[Any], Any]:
    def reduce(a: Any) -> Any:
        return reduction(kind, a, axis, dtype, keepdims=keepdims, promote_integers=promote_integers)

    reduce.__name__ = reduce.__qualname__ = f"_reduce_{kind.name}"
    reducer: Callable[[Any], Any] = inlined(reduce)
    return reducer


@inlined(static_argnames=("kind", "axis", "dtype", "keepdims", "promote_integers"))
def _reduce(
    a: Any,
    initial: Any,
    where: Any,
    out: Any,
    kind: Kind,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    promote_integers: bool,
) -> Any:
    return reduction(kind, a, axis, dtype, out, keepdims, initial, where, promote_integers)


def _apply(
    kind: Kind,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool = False,
) -> Any:
    axis = static_axes(axis, names=True)
    if initial is None and where is None and out is None:
        return _over_axis(kind, axis, dtype, bool(keepdims), promote_integers)(a)
    return _reduce(a, initial, where, out, kind, axis, dtype, bool(keepdims), promote_integers)


# --- the public functions; `axis` is None for all, an int, or a tuple ------------------------------------------------


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Return the sum over `axis` of the elements where `where` holds, plus `initial`, computed in `dtype`. Without `dtype`, small integers
    are summed in the default int type, unless `promote_integers` is False. `keepdims` keeps the axes, with size 1; `out` must be None.
    """
    return _apply(_SUM, a, axis, dtype, out, keepdims, initial, where, promote_integers)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Return the product over `axis` of the elements where `where` holds, times `initial`; the other arguments are as for `sum`."""
    return _apply(_PROD, a, axis, dtype, out, keepdims, initial, where, promote_integers)


def max(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the largest element over `axis`, and at least `initial`; nan if an element is nan. Without `initial`,
    raise ValueError for no elements, and for a `where`.
    """
    return _apply(_MAX, a, axis, None, out, keepdims, initial, where)


def min(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the smallest element over `axis`, and at most `initial`; nan if an element is nan. Without `initial`,
    raise ValueError for no elements, and for a `where`.
    """
    return _apply(_MIN, a, axis, None, out, keepdims, initial, where)


def all(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Return whether no element over `axis` is zero, or for complex numbers no real part, as an array of bools."""
    return _apply(_ALL, a, axis, None, out, keepdims, None, where)


def any(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Return whether some element over `axis` is not zero, or for complex numbers some real part, as an array of bools."""
    return _apply(_ANY, a, axis, None, out, keepdims, None, where)


def amax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return what `max` returns."""
    return max(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def amin(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return what `min` returns."""
    return min(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the largest minus the smallest element over `axis`."""
    a = ensure_arraylike("ptp", a)
    return _ptp(a, static_axes(axis, names=True), out, keepdims)


@jit(static_argnames=("axis", "keepdims"))
def _ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    refuse_out("ptp", out)
    return lax.sub(max(a, axis=axis, keepdims=keepdims), min(a, axis=axis, keepdims=keepdims))


@jit(static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the number of nonzero elements over `axis`, in the default int type."""
    a = ensure_arraylike("count_nonzero", a)
    return sum(lax.ne(a, constant(a, 0)), axis=axis, dtype=dtypes.default_int_dtype(), keepdims=keepdims)


# --- positions -------------------------------------------------------------------------------------------------------


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the position of the first largest element along `axis`, or in row-major order if `axis` is None. nan
    counts as largest. Raise ValueError for no elements, IndexError for an `axis` out of bounds, NotImplementedError for
    `out`.
    """
    return _arg("argmax", _argmax, a, axis, out, keepdims)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the position of the first smallest element along `axis`, or in row-major order if `axis` is None. nan
    counts as smallest. Errors are those of `argmax`.
    """
    return _arg("argmin", _argmin, a, axis, out, keepdims)


def _arg(name: str, function: Callable[..., Any], a: Any, axis: int | None, out: None, keepdims: bool | None) -> Any:
    check_arraylike(name, a)
    refuse_out(name, out)
    a = given_array(a)
    if isinstance(core.typeof(a).dtype, dtypes.ExtendedDType):
        raise ValueError(f"Unsupported dtype for {name.removeprefix('arg')}: {core.typeof(a).dtype.name}")
    return function(a, None if axis is None else one_axis(axis), keepdims=bool(keepdims))


@inlined(static_argnames=("axis", "keepdims"))
def _argmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmax", lax.argmax, as_array(a), axis, keepdims)


@inlined(static_argnames=("axis", "keepdims"))
def _argmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmin", lax.argmin, as_array(a), axis, keepdims)


def _position(name: str, operation: Callable[..., Any], a: Any, axis: int | None, keepdims: bool) -> Any:
    kept = list(range(a.ndim)) if axis is None else [axis]
    if axis is None:
        a, axis = a.ravel(), 0
    try:
        axis = canonicalize_axis(axis, a.ndim)
    except ValueError as error:
        raise IndexError(str(error)) from None  # JAX's class of error
    if a.shape[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = operation(a, axis, dtypes.default_int_dtype())
    return lax.expand_dims(result, kept) if keepdims else result
