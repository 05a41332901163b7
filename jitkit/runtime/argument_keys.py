"""argument of a call -> its key in a cache

An Array keeps its key beside the buffer. The key of a host value is made at every call, so each type has a function
that looks at no more than it must.

JAX: jax/_src/core.py:shaped_abstractify
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from .. import core, runtime
from ..base import config
from ..core import ShapedArray, Tracer, dtypes
from .array import Array

# exact type of an argument -> the function that makes its key; types are added when they first occur
key_functions: dict[type, Callable[[Any], Any]] = {Array: attrgetter("_key")}


def key_of(x: Any) -> Any:
    """Return the cache key of an argument: see `runtime.OnHost`, `runtime.Placed`. Raise TypeError if it is not an array."""
    find = key_functions.get(type(x))
    return _first_key(x) if find is None else find(x)


def _first_key(x: Any) -> Any:
    """Return the key of a value of a new type, and remember the type's function. Raise UnexpectedTracerError for a
    tracer, TypeError for anything else that is not an array.
    """
    t = type(x)
    if isinstance(x, Tracer):
        raise core.escaped_tracer_error(x)
    if runtime.is_buffer(x):
        find: Callable[[Any], Any] = runtime.key_of_buffer
    elif type(x) is np.ndarray:
        find = _key_of_ndarray
    else:
        core.get_aval(x)  # raises for a type that is not an array's
        find = {float: _key_of_float, int: _key_of_int, bool: _key_of_bool}.get(t) or _key_function_of_scalars(t)
    key_functions[t] = find
    return find(x)


def _key_of_scalar(x: Any) -> Any:
    return runtime.on_host(core.get_aval(x))


def _key_function_of_scalars(t: type) -> Callable[[Any], Any]:
    """Return the function that makes the key of numpy scalars of type `t`. The type alone decides the key, except for
    64 bits, where x64 mode matters.
    """
    if t in dtypes.numpy_scalar_types and np.dtype(t).itemsize < 8:
        key = runtime.on_host(ShapedArray((), np.dtype(t)))
        return lambda x: key
    return _key_of_scalar


def _key_of_float(x: float) -> Any:
    return _float_keys[config.local.state.options.enable_x64]


def _key_of_int(x: int) -> Any:
    if -(2**31) <= x < 2**31:
        return _int_keys[config.local.state.options.enable_x64]
    return _key_of_scalar(x)


def _key_of_bool(x: bool) -> Any:
    return _bool_key


# Python's and numpy's True have two entries, as in JAX
_bool_key = runtime.OnHost(ShapedArray((), np.bool_), of_python=True)
_int_keys = [runtime.on_host(ShapedArray((), dtype, weak_type=True)) for dtype in (np.int32, np.int64)]
_float_keys = [runtime.on_host(ShapedArray((), dtype, weak_type=True)) for dtype in (np.float32, np.float64)]
_ndarray_keys: dict[Any, Any] = {}  # (shape, dtype) -> key; not for dtypes of 64 bits, which depend on x64 mode


def _key_of_ndarray(x: np.ndarray[Any, Any]) -> Any:
    key = _ndarray_keys.get((x.shape, x.dtype))
    if key is None:
        key = _key_of_scalar(x)
        if key.aval.dtype == x.dtype and x.dtype.itemsize < 8:
            if len(_ndarray_keys) > 4096:
                _ndarray_keys.clear()
            _ndarray_keys[x.shape, x.dtype] = key
    return key
