"""Draws how many of n trials succeed (binomial), and how many of n things fall into each box (multinomial).

For few expected successes, draw the geometric waiting times between them; for many, accept or reject candidates
(Hormann, "The generation of binomial random variates", 1993: algorithm BTRS). Both are computed for every element,
since the choice depends on values.

JAX: jax/_src/random/core.py:binomial
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..base.jax_version import since
from ..core import dtypes
from ..lax.utils import canonicalize_shape
from ..numpy.promotion import promote_dtypes_inexact
from ..numpy.util import check_arraylike
from ..pjit.jit import jit
from .arguments import Shape, check_shape, floating_dtype
from .keys import check_key, split, split_typed
from .uniform import uniform

# --- binomial -----------------------------------------------------------------------------------------------------------


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of successes among `n` trials with success probability `p`, as floats.

    Args:
      n: the number of trials, rounded down; a negative number gives nan, infinity gives infinity.
      p: from 0 to 1; another number gives nan.
      shape: of the result; by default the shape to which n and p broadcast.
      dtype: a float dtype, by default the default float.

    Raises:
      ValueError: for a shape that does not fit, and a dtype that is not a float.
    """
    key, _ = check_key("binomial", key)
    check_arraylike("binomial", n, p)
    dtype = floating_dtype("binomial", dtype)
    return _binomial(key, n, p, None if shape is None else canonicalize_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4), inline=True)
def _binomial(key: Any, count: Any, prob: Any, shape: Shape | None, dtype: Any) -> Any:
    if shape is None:
        shape = lax.broadcast_shapes(np.shape(count), np.shape(prob))
    else:
        check_shape("binomial", shape, np.shape(count), np.shape(prob))
    [prob] = promote_dtypes_inexact(prob)
    count = jnp.broadcast_to(lax.convert_element_type(count, prob.dtype), shape)
    prob = jnp.broadcast_to(prob, shape)

    is_rare = prob < 0.5  # otherwise count failures
    q = lax.select(is_rare, prob, 1.0 - prob)
    is_no_count = lax.ne(count, count) | (count < 0.0)
    is_infinite = jnp.isinf(count)
    is_nan, is_negative = lax.ne(q, q), q < 0.0
    q = lax.select(is_nan | is_negative, lax.full_like(q, 0.01), q)
    is_few = is_no_count | (count * q <= 10.0)
    count = jnp.floor(count)

    # each method gets harmless numbers for the elements of the other one
    few = lax.select(is_few, count, lax.full_like(count, 0.0))
    many = lax.select(is_few, lax.full_like(count, 1e4), count)
    q_of_many = lax.select(is_few, lax.full_like(q, 0.5), q)
    most = dtype.type(dtypes.finfo(dtype).max)
    successes = lax.select(
        is_few, _by_waiting(key, few, q, shape, dtype, most), _by_rejection(key, many, q_of_many, shape, dtype, most)
    )
    is_invalid = is_negative | is_nan | is_no_count
    successes = lax.select(is_invalid, jnp.full_like(successes, np.nan, dtype), successes)
    successes = lax.select(is_infinite & (~is_invalid), jnp.full_like(successes, np.inf, dtype), successes)
    counts_successes = is_rare | is_no_count | is_nan | is_infinite
    return lax.select(counts_successes, successes, count.astype(dtype) - successes)


@functools.partial(jit, static_argnums=(3, 4, 5), inline=True)
def _by_waiting(key: Any, count: Any, prob: Any, shape: Shape, dtype: Any, most: Any) -> Any:
    """Return numbers of successes: draw waiting times between successes until their sum exceeds the number of trials."""
    log_failure = jnp.log1p(-prob)

    def body(carry: Any) -> Any:
        i, successes, trials, key = carry
        subkey, key = split_typed(key)
        more = lax.select(trials <= count, successes + 1, successes)
        waited = jnp.ceil(jnp.log(uniform(subkey, shape, prob.dtype)) / log_failure)
        trials = trials + waited
        return i + 1, more, trials, key

    def goes_on(carry: Any) -> Any:
        i, _, trials, _ = carry
        return (trials <= count).any() & (i < most)

    none = lax.full_like(prob, 0, prob.dtype, shape)
    none_either = lax.full_like(prob, 0, prob.dtype, shape)
    successes = lax.while_loop(goes_on, body, (0, none, none_either, key))[1]
    return (successes - 1).astype(dtype)


@functools.partial(jit, static_argnums=(3, 4, 5), inline=True)
def _by_rejection(key: Any, count: Any, prob: Any, shape: Shape, dtype: Any, most: Any) -> Any:
    """Return numbers of successes: draw candidates from a curve above the distribution, until each element has one
    below the distribution. Names are the paper's.
    """
    deviation = jnp.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    r = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * deviation
    m = jnp.floor((count + 1) * prob)

    def body(carry: Any) -> Any:
        i, found, is_found, key = carry
        key, key_u, key_v = split_typed(key, 3)
        u = uniform(key_u, shape, prob.dtype)
        v = uniform(key_v, shape, prob.dtype)
        u = u - 0.5
        us = 0.5 - jnp.abs(u)
        is_surely_in = (us >= 0.07) & (v <= v_r)
        k = jnp.floor((2 * a / us + b) * u + c)
        is_out = (k < 0) | (k > count)
        v = jnp.log(v * alpha / (a / (us * us) + b))
        bound = (
            (m + 0.5) * jnp.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * jnp.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * jnp.log(r * (count - k + 1) / (k + 1))
            + _rest_of_stirling(m)
            + _rest_of_stirling(count - m)
            - _rest_of_stirling(k)
            - _rest_of_stirling(count - k)
        )
        is_below = v <= bound
        is_in = is_surely_in | (~is_out & is_below)
        found = lax.select(is_in, k, found)
        is_found |= is_in
        return i + 1, found, is_found, key

    def goes_on(carry: Any) -> Any:
        i, _, is_found, _ = carry
        return (~is_found).any() & (i < most)

    nothing = lax.full_like(prob, -1, prob.dtype, shape)
    carry = (0, nothing, jnp.full(shape, False, bool), key)
    return lax.while_loop(goes_on, body, carry)[1].astype(dtype)


# log(k!) minus Stirling's approximation in k + 1, (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for k from 0 to 9
_REST_OF_STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _rest_of_stirling(k: Any) -> Any:
    """Return log(k!) minus Stirling's approximation, from a table; for k > 9 the value of the series at 9, as in JAX."""
    table = jnp.array(_REST_OF_STIRLING, dtype=k.dtype)
    is_small = k <= 9
    k = lax.clamp(k.dtype.type(0.0), k, k.dtype.type(9.0))
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    k = jnp.floor(k)
    return lax.select(is_small, table[jnp.asarray(k, dtype="int32")], series)


# --- multinomial --------------------------------------------------------------------------------------------------------


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1) -> Any:
    """Draw how many of `n` things fall into each box: for each box in turn, a binomial number of the remaining things.

    Args:
      n: the number of things.
      p: the probability of each box, along the last axis.
      shape: of the result, by default that of `p`. Since JAX 0.12, `shape` leaves out the last axis, that of the boxes.
      dtype: any dtype, by default the default float.
      unroll: the number of boxes in one iteration of the loop.

    Raises:
      ValueError: if n and p do not broadcast to the shape.
    """
    key, _ = check_key("multinomial", key)
    check_arraylike("multinomial", n, p)
    n, p = promote_dtypes_inexact(n, p)
    if since(0, 12):
        before = p.shape[:-1] if shape is None else canonicalize_shape(shape)
        check_shape("multinomial", before, np.shape(n), p.shape[:-1])
        shape = (*before, p.shape[-1])
    elif shape is None:
        shape = p.shape
    n = jnp.broadcast_to(n, shape[:-1])
    p = jnp.moveaxis(jnp.broadcast_to(p, shape), -1, 0)

    def fill(left: Any, ratio_and_key: Any) -> tuple[Any, Any]:
        ratio, key = ratio_and_key
        count = binomial(key, left, ratio.clip(0, 1), dtype=left.dtype)
        return left - count, count

    rest = lax.cumsum(p, 0, reverse=True)
    ratios = p / jnp.where(rest == 0, 1, rest)
    _, counts = lax.scan(fill, n, (ratios, split(key, ratios.shape[0])), unroll=unroll)
    return jnp.moveaxis(counts, 0, -1).astype(dtype)
