"""Checks shapes, axes and dtypes for the primitives of this folder, with JAX's error messages.

A shape rule takes avals and returns an aval. It raises TypeError or ValueError with JAX's message as the first line,
because users search the web for that. Shapes are checked before dtypes, as in JAX.

JAX: jax/_src/lax/utils.py:standard_abstract_eval
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import edits, errors
from ..base.late_rooms import Slots
from ..core import ShapedArray, Tracer, dtypes
from ..runtime.array import Array

Shape = tuple[int, ...]


class _Derivatives(Slots):
    """Slots for functions of packages that import this one, which some rules here use."""

    custom_jvp: Any
    linear_transpose: Callable[..., Any]
    linearize: Callable[..., Any]


derivatives = _Derivatives()

# --- values --------------------------------------------------------------------------------------------


def is_array(x: Any) -> bool:
    """Return whether x is an Array, a Tracer or a `jax.Array`, not a scalar or NumPy array."""
    return isinstance(x, Array)


def constant_like(x: Any, value: Any) -> Any:
    """Return a scalar of the dtype of x, for a literal of an equation; if x is a weak scalar, a Python number, which is weak, too."""
    aval = core.get_aval(x)
    return np.asarray(value).astype(aval.dtype)[()] if aval.shape else scalar_of_type(x, value)


def scalar_of_type(x: Any, value: Any) -> Any:
    """Return a scalar of the dtype of x, for a literal of an equation; if x, of any shape, is weak, a Python number."""
    aval = core.get_aval(x)
    if aval.weak_type:
        weak = dtypes.scalar_type_of(aval.dtype)(value)
        if dtypes.dtype(weak) == aval.dtype:
            return weak
    return np.asarray(value).astype(aval.dtype)[()]


# --- where a result is to be --------------------------------------------------------------------------------


def refuse_sharding(name: str, out_sharding: Any) -> None:
    """Raise NotImplementedError if the caller gives the sharding of a result: within a program XLA decides where its
    parts are. None is allowed, and a sharding over a mesh without axes, which `jitkit.typeof` of an array has.
    """
    if out_sharding is not None and not getattr(getattr(out_sharding, "mesh", None), "empty", False):
        raise NotImplementedError(
            f"{name}(out_sharding={out_sharding!r}) is not here: in jitkit, no operation says where the parts of its result are.\n"
            "Say it of the results of a program, by `jit(out_shardings=...)`, or of a value, by `device_put`."
        )


# --- shapes and axes -----------------------------------------------------------------------------------


def canonicalize_shape(shape: Any, context: str = "") -> Shape:
    """Return a user's shape as a tuple of ints; a bare int is a shape of one axis.

    Raises:
      TypeError: it is not made of integers known while tracing. `context` (without its period) is the message's second sentence.
    """
    if isinstance(shape, int):
        return (shape,)
    try:
        return tuple([operator.index(size) for size in shape])
    except TypeError:
        raise _invalid_shape(shape, context) from None


def _invalid_shape(shape: Any, context: str) -> TypeError:
    message = f"Shapes must be 1D sequences of concrete values of integer type, got {shape}."
    if context:
        message += f" {context}."
    traced = [size for size in shape if isinstance(size, Tracer)] if isinstance(shape, (tuple, list)) else []
    if traced:
        message += "\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions."
    elif any(
        isinstance(size, float | np.floating) for size in (shape if isinstance(shape, tuple | list) else (shape,))
    ):
        message += edits.INTEGER_SIZE
    elif not isinstance(shape, tuple | list):
        message += edits.A_SHAPE
    of_jax = map(errors.about_value_of_jax, shape) if isinstance(shape, (tuple, list)) else ()
    if traced:
        message += "".join(size._origin_msg() for size in traced) + errors.static_size(traced[0])
    return TypeError(message + next(filter(None, of_jax), ""))


def _its_axes(ndim: int) -> str:
    if ndim == 0:
        return "\nA scalar has no axis."
    if ndim == 1:
        return "\nIts only axis is 0, or -1 from the end."
    return f"\nIts axes are 0 to {ndim - 1}, or from the end -1 to {-ndim}."


def canonicalize_axis(axis: Any, ndim: int) -> int:
    """Return an axis in [-ndim, ndim) as one in [0, ndim). Raise ValueError for an axis outside of that range."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise ValueError(f"axis {index} is out of bounds for array of dimension {ndim}{_its_axes(ndim)}")
    return index + ndim if index < 0 else index


def check_shapelike(function: str, argument: str, sizes: Any, positive: bool = False) -> None:
    """Raise TypeError unless `sizes` is a sequence of integers, all of them >= 0 (with `positive`: >= 1)."""
    if not isinstance(sizes, (tuple, list, np.ndarray)):
        raise TypeError(f"{function} {argument} must be of type tuple/list/ndarray, got {type(sizes)}.")
    try:
        known = canonicalize_shape(sizes)
    except TypeError as error:
        types = tuple(map(type, sizes))
        message = f"{function} {argument} must have every element be an integer type, got {types}."
        raise TypeError(message) from error
    if any(size < (1 if positive else 0) for size in known):
        bound = "strictly positive" if positive else "nonnegative"
        raise TypeError(f"{function} {argument} must have every element be {bound}, got {sizes}.")


def broadcast_equal_ranks(name: str, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an elementwise operation, called `name`, on one or more arrays of these shapes.

    All must have the same number of axes; a shorter shape is not extended. Along each axis the sizes must be equal,
    except that size 1 stretches. Otherwise raise TypeError, which names the operation.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1:
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {ranks}{edits.ONE_RANK}")
    result = []
    for sizes in zip(*shapes, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            given = ", ".join(map(str, shapes))
            raise TypeError(f"{name} got incompatible shapes for broadcasting: {given}.{edits.BROADCAST}")
        result.append(others.pop() if others else 1)
    return tuple(result)


def broadcast_shapes(*shapes: Any) -> Shape:
    """Return the shape to which NumPy's rules broadcast all of these together.

    Raises:
      ValueError: there is none.
      TypeError: a shape is not made of integers >= 0.
    """
    known = [canonicalize_shape(shape) for shape in shapes]
    for given, shape in zip(shapes, known, strict=True):
        if any(size < 0 for size in shape):
            raise TypeError(
                f"Only non-negative indices are allowed when broadcasting static shapes, but got shape {given!r}."
            )
    rank = max(map(len, known), default=0)
    ranked = [(1,) * (rank - len(shape)) + shape for shape in known]
    try:
        return broadcast_equal_ranks("broadcast_shapes", ranked or [()])
    except TypeError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}{edits.BROADCAST}") from None


def index_tuple(x: Any) -> tuple[int, ...]:
    """Return an int, or a sequence of them, as a tuple of ints. Raise TypeError for anything else."""
    try:
        one = operator.index(x)
    except TypeError:
        one = None
    return tuple(map(operator.index, x)) if one is None else (one,)


# --- dtypes --------------------------------------------------------------------------------------------

# operation of lax -> a similar function of jitkit.numpy, which converts its operands
_NUMPY_EQUIVALENTS = {
    **{name: name for name in (
        "add", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "concatenate",
        "cos", "cosh", "exp", "expm1", "floor", "log", "log1p", "nextafter", "round", "sign", "sin", "sinh",
        "sqrt", "tan", "tanh",
    )},
    "abs": "fabs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "div": "divide", "eq": "equal",
    "max": "maximum", "min": "minimum", "mul": "multiply", "ne": "not_equal", "neg": "negative",
    "pow": "float_power", "select": "where",
    "shift_left": "left_shift", "shift_right_logical": "right_shift", "shift_right_arithmetic": "right_shift",
    "sub": "subtract",
}  # fmt: skip


def check_same_dtypes(name: str, *avals: ShapedArray) -> None:
    """Raise TypeError unless all avals have one dtype: lax does not convert."""
    if all(aval.dtype == avals[0].dtype for aval in avals):
        return
    given = ", ".join(str(aval.dtype) for aval in avals)
    message = f"lax.{name} requires arguments to have the same dtypes, got {given}."
    if name in _NUMPY_EQUIVALENTS:
        equivalent = _NUMPY_EQUIVALENTS[name]
        message += f" (Tip: jnp.{equivalent} is a similar function that does automatic type promotion on inputs)."
    raise TypeError(message + edits.ONE_DTYPE)


@functools.lru_cache(maxsize=1024)
def is_a(dtype: Any, *kinds: type) -> bool:
    """Return whether a dtype is of one of the kinds: `is_a(dtype, np.floating, np.complexfloating)`."""
    return any(dtypes.issubdtype(dtype, kind) for kind in kinds)
