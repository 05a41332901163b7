"""Turns uniform numbers into normal ones, and normal numbers into numbers of other distributions.

JAX: jax/_src/random/core.py:_normal_real
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..core import dtypes
from ..lax.utils import canonicalize_shape, refuse_sharding
from ..pjit.jit import jit
from ..pjit.jit_call import Inline
from .arguments import Shape, check_safe_to_cast, check_shape, floating_dtype, shape_of_result
from .keys import check_key, split_typed
from .uniform import rademacher, uniform

# --- normal -------------------------------------------------------------------------------------------------


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from the standard normal distribution: mean 0, variance 1.

    Args:
      shape: of the result.
      dtype: a float or complex dtype; by default float32, or float64 in x64 mode. The parts of a complex
        number have variance 1/2 each.

    Raises:
      ValueError: for another dtype.
    """
    refuse_sharding("normal", out_sharding)
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
    return normal_of_uniform(uniform(key, shape, dtype, above_minus_one(dtype), np.array(1.0, dtype)))


def above_minus_one(dtype: Any) -> Any:
    """Return the smallest number above -1 of a dtype."""
    return np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)


def normal_of_uniform(u: Any) -> Any:
    """Return normal numbers from uniform ones between -1 and 1, by the inverse of the distribution function."""
    return lax.mul(np.array(np.sqrt(2), u.dtype), lax.erf_inv(u))


# --- truncated_normal ---------------------------------------------------------------------------------------


def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Draw from the standard normal distribution, restricted to an interval.

    Args:
      lower, upper: the bounds, which broadcast to `shape`.
      shape: of the result; by default the shape to which the bounds broadcast.
      dtype: a float dtype; by default float32, or float64 in x64 mode.

    Raises:
      ValueError: for another dtype, or shapes that do not fit.
    """
    refuse_sharding("truncated_normal", out_sharding)
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
    # Rounding may reach a bound, or exceed it.
    return jnp.clip(
        sqrt2 * lax.erf_inv(u),
        lax.nextafter(lax.stop_gradient(lower), np.array(np.inf, dtype)),
        lax.nextafter(lax.stop_gradient(upper), np.array(-np.inf, dtype)),
    )


# --- what is made of normal numbers -------------------------------------------------------------------------

_ONE = np.float32(1)


def lognormal(key: Any, sigma: Any = _ONE, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw e**x, where x is normal with mean 0 and standard deviation `sigma`, which broadcasts to `shape`."""
    refuse_sharding("lognormal", out_sharding)
    key, _ = check_key("lognormal", key)
    dtype = floating_dtype("lognormal", dtype, np.inexact)
    shape = shape_of_result("lognormal", shape, sigma)
    check_safe_to_cast("lognormal", dtype, sigma)
    return _lognormal(key, sigma, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3), inline=Inline.JAX_EARLY)
def _lognormal(key: Any, sigma: Any, shape: Shape, dtype: Any) -> Any:
    sigma = lax.convert_element_type(sigma, dtype)
    return lax.exp(normal(key, shape, dtype) * sigma)


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from Maxwell's distribution: lengths of vectors of three standard normal numbers, such as the speeds of
    molecules in a gas.
    """
    refuse_sharding("maxwell", out_sharding)
    key, _ = check_key("maxwell", key)
    dtype = floating_dtype("maxwell", dtype)
    return _maxwell(key, canonicalize_shape(shape), dtype, None)


@functools.partial(jit, static_argnums=(1, 2, 3))
def _maxwell(key: Any, shape: Shape, dtype: Any, out_sharding: None) -> Any:
    return jnp.linalg.norm(normal(key=key, shape=(*shape, 3), dtype=dtype), axis=-1)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw from Maxwell's distribution and its mirror image, stretched by `scale`, around `loc`.

    The result has the shape `shape`, followed by the shape to which `loc` and `scale` broadcast; for `shape=()` that
    shape twice, as in JAX.
    """
    key, _ = check_key("double_sided_maxwell", key)
    dtype = floating_dtype("double_sided_maxwell", dtype)
    return _double_sided_maxwell(key, loc, scale, canonicalize_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Shape, dtype: Any) -> Any:
    of_parameters = lax.broadcast_shapes(np.shape(loc), np.shape(scale))
    shape = (shape or of_parameters) + of_parameters
    maxwell_key, sign_key = split_typed(key)
    lengths = maxwell(maxwell_key, shape=shape, dtype=dtype)
    return rademacher(sign_key, shape=shape, dtype=dtype) * lengths * scale + loc


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from the inverse Gaussian distribution of this mean, with scale 1: the arrival time of a drifting particle.
    `shape`, `dtype` and errors are as for `gamma`.

    After Michael, Schucany, Haas, "Generating Random Variates Using Transformations with Multiple Roots", 1976.
    """
    refuse_sharding("wald", out_sharding)
    key, _ = check_key("wald", key)
    dtype = floating_dtype("wald", dtype)
    shape = shape_of_result("wald", shape, mean)
    check_safe_to_cast("wald", dtype, mean)
    return _wald(key, mean, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _wald(key: Any, mean: Any, shape: Shape, dtype: Any) -> Any:
    normal_key, uniform_key = split_typed(key)
    mean = jnp.broadcast_to(mean.astype(dtype), shape)
    v = normal(normal_key, shape, dtype)
    z = uniform(uniform_key, shape, dtype)
    y = lax.integer_pow(v, 2)
    y_squared, mean_squared = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    root = lax.sqrt(4 * mean * y + mean_squared * y_squared)
    x = mean + mean_squared * y / 2 - mean / 2 * root
    return lax.select(lax.le(z, mean / (mean + x)), x, mean_squared / x)
