"""uniform numbers -> numbers of a named distribution, by the inverse of its distribution function.

JAX: jax/_src/random/core.py:_normal_real
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..lax.utils import canonicalize_shape
from ..pjit import jit
from .arguments import Shape, check_shape, floating_dtype
from .keys import check_key, split_typed
from .uniform import uniform

# --- normal -------------------------------------------------------------------------------------------------


def normal(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of the standard normal distribution: mean 0, variance 1.

    Args:
      key: a random key.
      shape: of the result.
      dtype: a float or complex dtype; by default float32, or float64 in x64 mode. The parts of a complex
        number have variance 1/2 each.

    Raises:
      ValueError: for another dtype.
    """
    key, _ = check_key("normal", key)
    shape = canonicalize_shape(shape)
    return _normal(key, shape, floating_dtype("normal", dtype, np.inexact))


@functools.partial(jit, static_argnums=(1, 2))
def _normal(key: Any, shape: Shape, dtype: Any) -> Any:
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape, dtype)
    real_key, imag_key = split_typed(key)
    part = np.zeros((), dtype).real.dtype
    real = _normal_real(real_key, shape, part).astype(dtype)
    imag = _normal_real(imag_key, shape, part).astype(dtype)
    return (real + 1j * imag) / np.array(np.sqrt(2), dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _normal_real(key: Any, shape: Shape, dtype: Any) -> Any:
    lowest = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)
    u = uniform(key, shape, dtype, lowest, np.array(1.0, dtype))
    return lax.mul(np.array(np.sqrt(2), dtype), lax.erf_inv(u))


# --- truncated_normal ---------------------------------------------------------------------------------------


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers of the standard normal distribution, on the condition that they lie between two bounds.

    Args:
      key: a random key.
      lower, upper: the bounds, which broadcast to `shape`.
      shape: of the result; by default that to which the bounds broadcast.
      dtype: a float dtype; by default float32, or float64 in x64 mode.

    Raises:
      ValueError: for another dtype, or shapes that do not fit.
    """
    if shape is not None:
        shape = canonicalize_shape(shape)
    key, _ = check_key("truncated_normal", key)
    return _truncated_normal(key, lower, upper, shape, floating_dtype("truncated_normal", dtype))


@functools.partial(jit, static_argnums=(3, 4))
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: Shape | None, dtype: Any) -> Any:
    if shape is None:
        shape = lax.broadcast_shapes(np.shape(lower), np.shape(upper))
    else:
        check_shape("truncated_normal", shape, np.shape(lower), np.shape(upper))
    sqrt2 = np.array(np.sqrt(2), dtype)
    lower, upper = lax.convert_element_type(lower, dtype), lax.convert_element_type(upper, dtype)
    u = uniform(key, shape, dtype, minval=lax.erf(lower / sqrt2), maxval=lax.erf(upper / sqrt2))
    # Rounding may lead to a bound, or over it.
    return jnp.clip(
        sqrt2 * lax.erf_inv(u),
        lax.nextafter(lax.stop_gradient(lower), np.array(np.inf, dtype)),
        lax.nextafter(lax.stop_gradient(upper), np.array(-np.inf, dtype)),
    )
