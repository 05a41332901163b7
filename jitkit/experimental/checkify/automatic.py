"""Rules of operations that can divide by zero, make a nan or index out of bounds

Each rule applies its operation, and adds to the error if the operation has failed. Kinds of errors that `checkify` was
not asked for are not added.

JAX: jax/_src/checkify.py:nan_error_check
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import Primitive, dtypes
from .errors import DivisionByZeroError, Error, NaNError, OOBError, found_if, here
from .functional import Enabled, register_rule

_CAN_MAKE_NANS = (
    lax.acos_p, lax.acosh_p, lax.add_p, lax.asin_p, lax.asinh_p, lax.atan2_p, lax.atan_p, lax.atanh_p, lax.bessel_i0e_p,
    lax.bessel_i1e_p, lax.cbrt_p, lax.conv_general_dilated_p, lax.cos_p, lax.cosh_p, lax.cumlogsumexp_p, lax.cummax_p,
    lax.cummin_p, lax.cumprod_p, lax.cumsum_p, lax.digamma_p, lax.dot_general_p, lax.erf_inv_p, lax.erf_p, lax.erfc_p,
    lax.exp_p, lax.expm1_p, lax.fft_p, lax.igamma_grad_a_p, lax.igamma_p, lax.igammac_p, lax.integer_pow_p, lax.lgamma_p,
    lax.linear_solve_p, lax.log1p_p, lax.log_p, lax.logistic_p, lax.mul_p, lax.pad_p, lax.pow_p, lax.psum_p, lax.reduce_p,
    lax.reduce_prod_p, lax.reduce_sum_p, lax.reduce_window_p, lax.reduce_window_sum_p, lax.regularized_incomplete_beta_p,
    lax.rem_p, lax.rsqrt_p, lax.sin_p, lax.sinh_p, lax.sqrt_p, lax.sub_p, lax.tan_p, lax.tanh_p,
)  # fmt: skip


@register_rule(*_CAN_MAKE_NANS)
def _(primitive: Primitive, error: Error, enabled: Enabled, *operands: Any, **params: Any) -> tuple[Error, Any]:
    out = primitive.bind(*operands, **params)
    return _with_nans(primitive, error, enabled, out), out


def _with_nans(primitive: Primitive, error: Error, enabled: Enabled, out: Any) -> Error:
    """Return the Error, with a NaNError if a result has a nan."""
    if NaNError not in enabled:
        return error
    found = jnp.any(jnp.array([_has_nan(x) for x in out])) if primitive.multiple_results else _has_nan(out)
    return found_if(error, found, NaNError(here(), primitive.name))


def _has_nan(x: Any) -> Any:
    return False if dtypes.issubdtype(x.dtype, dtypes.prng_key) else jnp.any(jnp.isnan(x))


@register_rule(lax.div_p)
def _(primitive: Primitive, error: Error, enabled: Enabled, x: Any, y: Any) -> tuple[Error, Any]:
    if DivisionByZeroError in enabled:
        error = found_if(error, jnp.any(jnp.equal(y, 0)), DivisionByZeroError(here()))
    out = primitive.bind(x, y)
    return _with_nans(primitive, error, enabled, out), out


# --- indices ----------------------------------------------------------------------------------------------------------


def _with_indices(
    primitive: Primitive, error: Error, operand: Any, outside: Any, indices: Any, axes: Sequence[int]
) -> Error:
    """Return the Error, with an OOBError if an index is `outside`. The last axis of `indices` has an index for each of `axes`."""
    shape = tuple(operand.shape)
    first = jnp.argmin(jnp.logical_not(outside))
    place = jnp.unravel_index(first, indices.shape)
    axis = jnp.array(axes)[place[-1]]
    size = jnp.array(shape)[axis]
    payload = jnp.array([jnp.ravel(indices)[first], axis, size], dtype=np.int32)
    return found_if(error, jnp.any(outside), OOBError(here(), primitive.name, shape, payload))


@register_rule(lax.dynamic_slice_p)
def _(
    primitive: Primitive, error: Error, enabled: Enabled, operand: Any, *starts: Any, slice_sizes: tuple[int, ...]
) -> tuple[Error, Any]:
    out = primitive.bind(operand, *starts, slice_sizes=slice_sizes)
    if OOBError not in enabled or not starts:
        return error, out
    indices = jnp.array(starts)
    sizes, dims = (np.array(each, dtype=indices.dtype) for each in (slice_sizes, operand.shape))
    outside = (indices < 0) | (indices + sizes > dims)
    return _with_indices(primitive, error, operand, outside, indices, range(operand.ndim)), out


@register_rule(lax.dynamic_update_slice_p)
def _(primitive: Primitive, error: Error, enabled: Enabled, operand: Any, new: Any, *starts: Any) -> tuple[Error, Any]:
    out = primitive.bind(operand, new, *starts)
    if OOBError not in enabled or not starts:
        return error, out
    indices = jnp.array(starts)
    outside = (indices < 0) | (indices + np.array(new.shape) > np.array(operand.shape))
    return _with_indices(primitive, error, operand, outside, indices, range(operand.ndim)), out


@register_rule(lax.gather_p)
def _(
    primitive: Primitive, error: Error, enabled: Enabled, operand: Any, indices: Any, **params: Any
) -> tuple[Error, Any]:
    out = primitive.bind(operand, indices, **params)
    if OOBError not in enabled:
        return error, out
    axes = params["dimension_numbers"].start_index_map
    last = np.array(operand.shape)[np.array(axes)] - np.array(params["slice_sizes"])[np.array(axes)]
    last = jnp.expand_dims(last, axis=tuple(range(indices.ndim - 1)))
    outside = (indices < 0) | (indices > last.astype(indices.dtype))
    return _with_indices(primitive, error, operand, outside, indices, axes), out


@register_rule(lax.scatter_p, lax.scatter_add_p, lax.scatter_mul_p, lax.scatter_min_p, lax.scatter_max_p)
def _(
    primitive: Primitive, error: Error, enabled: Enabled, operand: Any, indices: Any, updates: Any, **params: Any
) -> tuple[Error, Any]:
    out = primitive.bind(operand, indices, updates, **params)
    if OOBError not in enabled:
        return error, out
    numbers = params["dimension_numbers"]
    of_window = iter(numbers.update_window_dims)
    sizes = [
        1 if axis in numbers.inserted_window_dims else updates.shape[next(of_window)] for axis in range(operand.ndim)
    ]
    axes = numbers.scatter_dims_to_operand_dims
    last = np.array([operand.shape[axis] - sizes[axis] for axis in axes], np.int64)
    last = np.minimum(last, np.iinfo(indices.dtype).max)
    last = lax.broadcast_in_dim(last, indices.shape, (indices.ndim - 1,))
    outside = jnp.logical_or(jnp.less(indices, 0), jnp.greater(indices, last.astype(indices.dtype)))
    error = _with_indices(primitive, error, operand, outside, indices, axes)
    return _with_nans(primitive, error, enabled, out), out
