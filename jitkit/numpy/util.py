"""Checks arguments for the functions of this package: whether they are arrays or scalars, and which axes are meant.

JAX: jax/_src/numpy/util.py:ensure_arraylike
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core, lax
from ..base import edits, errors, traceback_util
from ..core import dtypes
from ..core.operators import Operators
from ..lax.utils import canonicalize_axis
from ..runtime.array import Array, wrap

# --- axes ------------------------------------------------------------------------------------------------------------


def concrete_index(x: Any, context: str) -> int:
    """Return x, an integer that must be known while tracing, as an int. Raise ConcretizationTypeError with `context`
    for a traced value, TypeError for anything but an integer.
    """
    if isinstance(x, core.Tracer):
        raise errors.ConcretizationTypeError(x, context)
    return operator.index(x)


# --- is it an array? -------------------------------------------------------------------------------------------------

_known_arraylike: dict[type, bool] = {bool: True, int: True, float: True, complex: True, np.ndarray: True}


def is_array(x: Any) -> bool:
    """Return whether x is an array: ours, a tracer, or a `jax.Array`; not a scalar or a numpy array."""
    return isinstance(x, Array)


def _is_arraylike(x: Any) -> bool:
    t = type(x)
    if t not in _known_arraylike:
        _known_arraylike[t] = core.is_array_type(t) or np.isscalar(x) or core.has_jax_array(x)
    return _known_arraylike[t]


def check_arraylike(name: str, *args: Any) -> None:
    """Raise TypeError unless all arguments are arrays or scalars; `name` is the user's function."""
    for position, x in enumerate(args):
        if not _is_arraylike(x):
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position {position}."
                f"{errors.about_value_of_jax(x)}{_as_array(x)}"
            )


def _as_array(x: Any) -> str:
    """Return the advice for a value that NumPy would convert to an array."""
    convert = "\nConvert it first: `jnp.array(...)`, or `jnp.stack(...)` for several arrays. It is not done for you, because it copies."
    return convert if isinstance(x, list | tuple) else edits.TREE_OF_ARRAYS if isinstance(x, dict) else ""


def one_axis(axis: Any) -> int:
    """Return an axis as an int. Raise TypeError for several axes."""
    if isinstance(axis, tuple | list):
        raise TypeError(f"{type(axis).__name__!r} object cannot be interpreted as an integer{edits.ONE_AXIS}")
    return operator.index(axis)


def check_arraylike_or_none(name: str, *args: Any) -> None:
    """Raise TypeError unless all arguments are arrays, scalars or None."""
    for position, x in enumerate(args):
        if x is not None and not _is_arraylike(x):
            raise TypeError(
                f"{name} requires ndarray, scalar, or None arguments, got {type(x)} at position {position}."
                f"{errors.about_value_of_jax(x)}"
            )


def as_array(x: Any) -> Any:
    """Return an array or scalar as an Array, an Array or tracer unchanged; Python scalars become weakly typed."""
    if isinstance(x, Operators):
        return x
    if isinstance(x, Array):  # wrap a jax.Array to have our operators
        return wrap(x)
    if core.has_jax_array(x):
        return as_array(x.__jax_array__())
    return lax.asarray(x)


def given_array(x: Any) -> Any:
    """Return the array that `x.__jax_array__()` gives, or `x` if it has no such method. Apply this to the arguments of
    a jitted function, which takes arrays only.
    """
    if isinstance(x, Operators) or type(x) in core.aval_of_type:
        return x
    return as_array(x) if core.has_jax_array(x) else x


def ensure_arraylike(name: str, x: Any) -> Any:
    """Return `x` as an array. Raise TypeError with the user's function `name` unless it is an array or a scalar."""
    if isinstance(x, Operators):
        return x
    check_arraylike(name, x)
    return as_array(x)


def ensure_arraylikes(name: str, *args: Any) -> list[Any]:
    """Return all arguments as arrays. Raise TypeError for the first that is neither array nor scalar."""
    check_arraylike(name, *args)
    return [as_array(x) for x in args]


def ndim(a: Any) -> int:
    """Return the number of axes of an array or scalar. For anything else, warn, and return numpy's answer."""
    if hasattr(a, "ndim"):
        rank: int = a.ndim
        return rank
    if core.has_jax_array(a):
        return ndim(a.__jax_array__())
    _warn_unless_arraylike("ndim", a)
    return np.ndim(a)


def shape(a: Any) -> tuple[int, ...]:
    """Return the sizes of the axes of an array or scalar. For anything else, warn, and return numpy's answer."""
    if hasattr(a, "shape"):
        sizes: tuple[int, ...] = a.shape
        return sizes
    if core.has_jax_array(a):
        return shape(a.__jax_array__())
    _warn_unless_arraylike("shape", a)
    return np.shape(a)


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, in all or along `axis`, which may be several axes. Raise ValueError for an axis
    given twice or out of bounds. For anything but an array or scalar, warn, and return numpy's answer.
    """
    _warn_unless_arraylike("size", a)
    sizes = shape(a)
    if axis is None:
        return math.prod(sizes)
    axes = tuple(canonicalize_axis(i, len(sizes)) for i in (axis if isinstance(axis, Sequence) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis: {axes}")
    return math.prod(sizes[i] for i in axes)


def _warn_unless_arraylike(name: str, a: Any) -> None:
    if not _is_arraylike(a):
        warnings.warn(
            f"{name} requires ndarray or scalar arguments, got {type(a)} at position 0. In a future JAX release this "
            "will be an error.",
            DeprecationWarning,
            stacklevel=traceback_util.stacklevel(),
        )


def isscalar(element: Any) -> bool:
    """Return whether this is a scalar of Python or numpy, or an array without axes."""
    if np.isscalar(element):
        return True
    return (isinstance(element, np.ndarray) or is_array(element)) and element.ndim == 0


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype (of a value that is not an array, numpy's dtype) is complex. False for None and strings."""
    if x is None or isinstance(x, str):
        return False
    return dtypes.issubdtype(x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype, np.complexfloating)


def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not a complex one."""
    return not iscomplexobj(x)
