"""Makes arrays from Python values, or from shapes.

`array` takes anything with numbers in it. A nested list with a tracer inside cannot become a constant, so equations
stack its scalars. The other functions fill arrays.

JAX: jax/_src/numpy/array_constructors.py:array
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import core, lax, runtime
from ..base import edits, errors, traceback_util
from ..base.jax_version import since
from ..core import dtypes
from ..core.operators import Operators
from ..lax.placing import placed as put
from ..lax.utils import canonicalize_shape
from ..runtime.putting import device_put_leaf
from ..tree_util import tree_map
from .promotion import broadcast_to, convert
from .util import as_array, check_arraylike, is_array

# --- from values -----------------------------------------------------------------------------------------------------


def array(
    object: Any, dtype: Any = None, *, copy: bool = True, order: str | None = "K", ndmin: int = 0, device: Any = None
) -> Any:
    """Return an array of a scalar, an array, or nested lists and tuples of them.

    Without `dtype`, a single Python number gives a weakly typed array; in a list, numbers get the default width, or
    that of arrays beside them. A float for an int dtype is truncated.

    Raises:
      TypeError: the values are not numbers.
      ValueError: for None, and for nested lists without a common shape.
      OverflowError: for a Python number that does not fit.
      NotImplementedError: for an `order` other than "K" or None.
    """
    if order is not None and order != "K":
        raise NotImplementedError("Only implemented for order='K'")
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "array")
    if not is_array(object):
        if core.has_jax_array(object):
            object = object.__jax_array__()
        elif hasattr(object, "__cuda_array_interface__"):
            object = runtime.from_cuda(object)
    result, theirs = _from_scalar_or_array(object, dtype, copy), None
    if result is None:
        try:
            result = _from_sequence(object, dtype)
        except Exception:
            theirs = next(filter(errors.about_value_of_jax, _leaves(object)), None)
            if theirs is None:
                raise
    if theirs is not None:
        core.get_aval(theirs)  # raises an error that explains the value of JAX that numpy could not read
    if ndmin > result.ndim:
        result = lax.expand_dims(result, range(ndmin - result.ndim))
    return result if device is None else device_put_leaf(result, device)


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, device: Any = None
) -> Any:
    """Return the result of `array`, without a copy unless `copy` is True: an Array of the dtype is returned itself."""
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "asarray")
    return array(a, dtype=dtype, copy=bool(copy), order=order, device=device)


def copy(a: Any, order: str | None = None) -> Any:
    """Return an array with the elements of `a` in memory of its own. Raise NotImplementedError for an `order` but "K" or None."""
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return `x` converted to `dtype`; None means the default float type. Floats become integers by truncation, complex
    numbers become real by losing their imaginary part, with a DeprecationWarning. As bools, all but zeros are True.
    """
    check_arraylike("astype", x)
    x = as_array(x)
    target = (
        dtypes.default_float_dtype() if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "astype")
    )
    if dtypes.issubdtype(x.dtype, np.complexfloating) and not dtypes.issubdtype(target, np.complexfloating):
        if target == np.bool_:
            x = x != x.dtype.type(0)
        else:
            warnings.warn(
                "Casting from complex to real dtypes will soon raise a ValueError. Please first use jnp.real or jnp.imag to "
                "take the real/imaginary component of your input.",
                DeprecationWarning,
                stacklevel=traceback_util.stacklevel(),
            )
    result = lax._convert_element_type(x, target, warn_on_complex_to_real_cast=False)
    result = lax.copy(result) if copy else result
    return result if device is None else device_put_leaf(result, device)


def _from_scalar_or_array(x: Any, dtype: Any, copies: bool) -> Any:
    """Return an array of one scalar or array; None for everything else."""
    if isinstance(x, bool | int | float | complex | np.generic):
        if dtype is None:
            if type(x) in (float, complex):  # a literal prints as it is written
                return lax._convert_element_type(x, dtypes.canonical_scalar_dtype(type(x)), True)
            return as_array(x)
        if isinstance(x, np.generic) and not dtypes.is_array_dtype(x.dtype):
            return None
        if type(x) in (int, float, complex):
            np.asarray(x, dtype)  # raises where the number does not fit; a conversion would wrap
        return lax._convert_element_type(x, dtype, False)
    if isinstance(x, np.ndarray):
        if not dtypes.is_array_dtype(x.dtype):
            return None
        value = np.asarray(x, dtypes.canonicalize_dtype(x.dtype) if dtype is None else dtype)
        # With `copies`, copy the array, since it may be written to later, and our Array may share its memory. But a jaxpr
        # holds the array itself, once however often it is used, and compiled programs have a copy.
        trace = core.current_trace()
        if dtype is None and not copies:
            core.get_aval(x)  # raises for a masked array; a copy of one has lost its mask
        is_shared = value is x and not (trace is not None and trace.writes_down)
        return as_array(value.copy() if copies and is_shared else value)
    if is_array(x):
        x = x.converted() if isinstance(x, core.Tracer) else as_array(x)
        x = lax.copy(x) if copies else x
        return x if dtype is None else convert(x, dtype)
    return None


def _gives_array(x: Any) -> bool:
    """Return whether an object is not an array itself, and has a `__jax_array__`."""
    return not isinstance(x, Operators) and core.has_jax_array(x)


def _from_sequence(x: Any, dtype: Any) -> Any:
    if not isinstance(x, list | tuple):
        return as_array(_through_numpy(x, dtype))
    leaves = list(_leaves(x))
    if any(map(_gives_array, leaves)):
        x = tree_map(lambda leaf: leaf.__jax_array__() if _gives_array(leaf) else leaf, x)
        leaves = list(_leaves(x))
    if any(leaf is None for leaf in leaves):
        raise ValueError(f"None is not a valid value for jnp.array{edits.NO_NONE}")
    if dtype is None:
        known = [leaf if core.is_array_type(type(leaf)) else np.asarray(leaf) for leaf in leaves]
        dtype = dtypes.lattice_result_type(*known)[0] if known else dtypes.default_float_dtype()
    if not any(is_array(leaf) for leaf in leaves):
        try:
            return as_array(np.asarray(x, dtype))
        except ValueError as error:
            raise ValueError(f"{error}{edits.RAGGED * ('inhomogeneous' in str(error))}") from None
    return _stack(x, dtype)


def _leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, list | tuple):
        for element in x:
            yield from _leaves(element)
    else:
        yield x


def _through_numpy(x: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return objects that hold numbers (memoryviews, ranges, things with `__array__`) as numpy converts them. Raise
    ValueError for None, TypeError for anything without numbers.
    """
    if x is None:
        raise ValueError(f"None is not a valid value for jnp.array{edits.NO_NONE}")
    if dtype is not None:  # numpy reads strings, fractions, and objects in an array as numbers
        return np.array(x, dtype)
    value = np.asarray(x)
    if not dtypes.is_array_dtype(value.dtype):
        raise TypeError(
            f"Value '{x}' with dtype {value.dtype} is not a valid JAX array type. Only arrays of numeric types are supported "
            f"by JAX.{edits.NO_TEXT if value.dtype.kind in 'US' else edits.NO_OBJECTS}"
        )
    return np.array(value, dtypes.canonicalize_dtype(value.dtype))


def _stack(x: Any, dtype: Any) -> Any:
    """Return an array of nested sequences with arrays among their elements, by operations on arrays."""
    if not isinstance(x, list | tuple):
        return array(x, dtype=dtype, copy=False)
    if not any(is_array(leaf) for leaf in _leaves(x)):
        return as_array(np.asarray(x, dtype))
    rows = [lax.expand_dims(_stack(element, dtype), [0]) for element in x]
    while len(rows) > 16:  # operations with thousands of operands compile slowly
        rows = [lax.concatenate(rows[i : i + 16], 0) for i in range(0, len(rows), 16)]
    return lax.concatenate(rows, 0)


# --- fills -----------------------------------------------------------------------------------------------------------


def _fill(name: str, shape: Any, value: int | None, dtype: Any, device: Any) -> Any:
    """Return an array filled with a value, or with unspecified values for None. Raise TypeError for a generator as the
    shape, and for an int as the dtype.
    """
    if isinstance(shape, types.GeneratorType):
        raise TypeError("expected sequence object with len >= 0 or a single integer")
    if isinstance(dtype, int) and isinstance(shape, int) and not isinstance(dtype, bool):
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type.\n\nDid you accidentally write `jax.numpy.{name}({shape}, {dtype})` "
            f"when you meant `jax.numpy.{name}(({shape}, {dtype}))`, i.e. with a single tuple argument for the shape?"
        )
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype, name)
    filled = lax.empty(_shape(shape), dtype) if value is None else lax.full(_shape(shape), value, dtype)
    return placed(filled, device)


def _shape(shape: Any) -> tuple[int, ...]:
    """Return a shape given as an int, a sequence of ints, or a scalar array."""
    if not isinstance(shape, tuple | list) and (getattr(shape, "ndim", None) == 0 or np.ndim(shape) == 0):
        shape = (shape,)
    sizes: tuple[int, ...] = canonicalize_shape(shape)
    return sizes


def placed(x: Any, device: Any) -> Any:
    """Return x on this device, without recording an equation; None leaves it where it is."""
    return x if device is None else device_put_leaf(x, device)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array of zeros, by default of the default float dtype. Raise TypeError for a shape in two arguments, `zeros(2, 3)`."""
    return _fill("zeros", shape, 0, dtype, device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array of ones, by default of the default float dtype. Raise TypeError as `zeros` does."""
    return _fill("ones", shape, 1, dtype, device)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array with unspecified values. (They are zeros.) `dtype` and errors are as for `zeros`."""
    return _fill("empty", shape, None if since(0, 11) else 0, dtype, device)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array filled with `fill_value`, which broadcasts to `shape`, by default in its own dtype."""
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "full")
    check_arraylike("full", fill_value)
    if np.ndim(fill_value) == 0:
        return placed(lax.full(_shape(shape), fill_value, dtype), device)
    return put(broadcast_to(asarray(fill_value, dtype=dtype), shape), device)


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any, device: Any) -> Any:
    if not (hasattr(a, "dtype") and hasattr(a, "shape")):
        check_arraylike(name, a)
        a = core.get_aval(as_array(a) if core.has_jax_array(a) else a)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    shape = None if shape is None else _shape(shape)
    return placed(lax.empty_like(a, dtype, shape) if value is None else lax.full_like(a, value, dtype, shape), device)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return zeros, by default of the shape and dtype of `a`."""
    return _like("zeros_like", a, 0, dtype, shape, device)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return ones, by default of the shape and dtype of `a`."""
    return _like("ones_like", a, 1, dtype, shape, device)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return unspecified values (they are zeros), by default of the shape and dtype of `prototype`."""
    if since(0, 11):
        return _like("empty_like", prototype, None, dtype, shape, device)
    return _like("ones_like", prototype, 0, dtype, shape, device)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return an array filled with `fill_value`, by default of the shape and dtype of `a`."""
    check_arraylike("full_like", 0 if hasattr(a, "dtype") and hasattr(a, "shape") else a, fill_value)
    if np.ndim(fill_value) == 0:
        return _like("full_like", a, fill_value, dtype, shape, device)
    dtype = dtypes.result_type(a) if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, "full_like")
    return put(broadcast_to(asarray(fill_value, dtype=dtype), np.shape(a) if shape is None else shape), device)
