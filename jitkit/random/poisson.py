"""Draws from the Poisson distribution: how many events there are in a time in which `lam` are expected.

For small `lam`, Knuth's algorithm multiplies uniform numbers until the product is below exp(-lam). That takes about lam
steps, so from lam = 10 on candidates are drawn until one is accepted, after Hoermann, "The transformed rejection method
for generating Poisson random variables", 1993. Both are computed for each element, the unneeded one with a harmless
`lam`.

JAX: jax/_src/random/core.py:_poisson
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..base.jax_version import since
from ..core import dtypes
from ..lax.utils import canonicalize_shape, refuse_sharding
from ..pjit.jit import jit
from .arguments import Shape
from .keys import check_key, key_impl, split_typed
from .uniform import uniform


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from the Poisson distribution of mean `lam`.

    Args:
      lam: the mean, as float32, which broadcasts to `shape`. A negative mean, or nan, gives -1.
      shape: of the result; by default the shape of `lam`.
      dtype: an integer dtype; by default int32, or int64 in x64 mode.

    Raises:
      NotImplementedError: for keys of another implementation than threefry2x32.
    """
    refuse_sharding("poisson", out_sharding)
    key, _ = check_key("poisson", key)
    dtype = dtypes.check_and_canonicalize_user_dtype(int if dtype is None else dtype)
    if key_impl(key) != "threefry2x32":
        method = " with method='exact'" if since(0, 11) else ""
        raise NotImplementedError(
            f"`poisson`{method} is only implemented for the threefry2x32 RNG, not {key.dtype._impl}"
        )
    shape = np.shape(lam) if shape is None else canonicalize_shape(shape)
    lam = lax.convert_element_type(jnp.broadcast_to(lam, shape), np.float32)
    return _poisson(key, lam, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _poisson(key: Any, lam: Any, shape: Shape, dtype: Any) -> Any:
    is_small = lax.ne(lam, lam) | (lam < 10)
    few = lax.select(is_small, lam, lax.full_like(lam, 0.0))
    many = lax.select(is_small, lax.full_like(lam, 1e5), lam)
    limit = dtype.type(dtypes.iinfo(dtype).max)
    result = lax.select(
        is_small, _poisson_knuth(key, few, shape, dtype, limit), _poisson_rejection(key, many, shape, dtype, limit)
    )
    return lax.select(lam == 0, jnp.zeros_like(result), result)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _poisson_knuth(key: Any, lam: Any, shape: Shape, dtype: Any, max_iters: Any) -> Any:
    def multiply(state: Any) -> Any:
        i, count, key, log_product = state
        key, subkey = split_typed(key)
        count = lax.select(log_product > -lam, count + 1, count)
        u = uniform(subkey, shape, np.float32)
        return i + 1, count, key, log_product + jnp.log(u)

    def is_above(state: Any) -> Any:
        i, log_product = state[0], state[3]
        return (log_product > -lam).any() & (i < max_iters)

    count, log_product = lax.full_like(lam, 0, dtype, shape), lax.full_like(lam, 0, np.float32, shape)
    _, count, _, _ = lax.while_loop(is_above, multiply, (0, count, key, log_product))
    return (count - 1).astype(dtype)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _poisson_rejection(key: Any, lam: Any, shape: Shape, dtype: Any, max_iters: Any) -> Any:
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def try_again(state: Any) -> Any:
        i, result, accepted, key = state
        key, u_key, v_key = split_typed(key, 3)
        u = uniform(u_key, shape, lam.dtype) - 0.5
        v = uniform(v_key, shape, lam.dtype)
        distance = 0.5 - abs(u)
        k = lax.floor((2 * a / distance + b) * u + lam + 0.43)
        s = lax.log(v * inverse_alpha / (a / (distance * distance) + b))
        t = -lam + k * log_lam - lax.lgamma(k + 1)
        at_once = (distance >= 0.07) & (v <= v_r)
        never = (k < 0) | ((distance < 0.013) & (v > distance))
        in_the_end = s <= t
        accept = at_once | (~never & in_the_end)
        result = lax.select(accept, k, result)
        accepted = accepted | accept
        return i + 1, result, accepted, key

    def are_missing(state: Any) -> Any:
        i, _, accepted, _ = state
        return (~accepted).any() & (i < max_iters)

    result, accepted = lax.full_like(lam, -1, lam.dtype, shape), lax.full_like(lam, False, np.bool_, shape)
    _, result, _, _ = lax.while_loop(are_missing, try_again, (0, result, accepted, key))
    return result.astype(dtype)
