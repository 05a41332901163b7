"""Checks the samplers' arguments: key, dtype and shape.

JAX: jax/_src/random/core.py:_check_shape
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..lax.utils import canonicalize_shape

Shape = tuple[int, ...]


def floating_dtype(function: str, dtype: Any, kind: type = np.floating) -> Any:
    """Return the dtype of the result: `dtype`, or the default float for None. Raise ValueError if it is not of this kind."""
    chosen = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype)
    if not dtypes.issubdtype(chosen, kind):
        wanted = "a float dtype" if kind is np.floating else "a float or complex dtype"
        raise ValueError(f"dtype argument to `{function}` must be {wanted}, got {chosen}")
    return chosen


def check_shape(function: str, shape: Shape, *parameter_shapes: Shape) -> None:
    """Raise ValueError unless parameters of these shapes broadcast to `shape`."""
    if parameter_shapes:
        together = lax.broadcast_shapes(shape, *parameter_shapes)
        if shape != together:
            raise ValueError(
                f"{function} parameter shapes must be broadcast-compatible with shape argument, and the result of "
                "broadcasting the shapes must equal the shape argument, but got result "
                f"{together} for shape argument {shape}."
            )


def shape_of_result(function: str, shape: Any, *parameters: Any) -> Shape:
    """Return `shape`, or if it is None, the shape to which the parameters broadcast. Raise ValueError if the parameters
    do not broadcast to it.
    """
    shapes = [np.shape(x) for x in parameters]
    if shape is None:
        return lax.broadcast_shapes(*shapes)
    given = canonicalize_shape(shape)
    check_shape(function, given, *shapes)
    return given


def check_safe_to_cast(function: str, dtype: Any, *parameters: Any) -> None:
    """Raise TypePromotionError if a parameter's dtype cannot be cast safely to the result's, ValueError for None."""
    for x in parameters:
        of_parameter = dtypes.dtype(x)
        if not dtypes.safe_to_cast(x, dtype):
            raise dtypes.TypePromotionError(
                f"In arguments to {function}, cannot safely cast argument of type {of_parameter} to {dtype}"
            )


def constant_like(x: Any, value: Any) -> Any:
    """Return `value` as a scalar of the dtype of x; for a weakly typed scalar x, as a Python number if these have that dtype."""
    if x.weak_type and not x.ndim and x.dtype == dtypes.canonical_scalar_dtype(dtypes.scalar_type_of(x)):
        return dtypes.scalar_type_of(x)(value)
    return np.asarray(value).astype(x.dtype)[()]
