"""Draws from the gamma distribution, by rejection, and from distributions that follow from it.

Rejection: draw a candidate, and accept it with a probability that makes up for how it was drawn; otherwise draw again.
Elements need different numbers of tries, so this is a while loop on the device. All elements run together, each with
its own key, until the last one is done; finished ones no longer change. So an element's result does not depend on the
rest of the array.

Candidates and their probabilities are those of Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables",
2000. For a below 1, draw for a + 1, and multiply by u^(1/a) with a uniform u.

JAX: jax/_src/random/core.py:_gamma_one
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from .. import core, lax
from .. import numpy as jnp
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import defjvp
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..lax.reducers import inline_function
from ..lax.utils import canonicalize_shape, refuse_sharding
from ..pjit.jit import jit
from .arguments import Shape, check_safe_to_cast, check_shape, constant_like, floating_dtype, shape_of_result
from .inverse import exponential
from .keys import check_key, split, split_typed
from .normal import above_minus_one, normal, normal_of_uniform
from .prng import KeyTy, random_split
from .threefry2x32 import threefry_prng_impl
from .uniform import below_one, rademacher

# --- random_gamma -------------------------------------------------------------------------------------------

random_gamma_p = Primitive("random_gamma")


@random_gamma_p.def_abstract_eval
def _(key: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
    return a


@register_lowering(random_gamma_p)
def _(ctx: LoweringContext, key: str, a: str, *, log_space: bool) -> str:
    def sample(key: Any, a: Any) -> list[Any]:
        each = random_split(key, (math.prod(a.shape[key.ndim :]),))
        keys, flat = lax.reshape(each, (a.size,)), lax.reshape(a, (a.size,))
        if key.dtype == KeyTy(threefry_prng_impl):
            return [lax.reshape(_sample_each(keys, flat, log_space), a.shape)]
        # With other kinds of keys, the bits of an element depend on the rest of the array: draw one element after the
        # other.
        samples = lax.map(lambda pair: _sample_each(pair[0], pair[1], log_space), (keys, flat))
        return [lax.reshape(samples, a.shape)]

    return inline_function(ctx, sample, [key, a], ctx.avals_in)[0]


@register_batcher(random_gamma_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, log_space: bool) -> Any:
    key, a = (bdim_at_front(x, dim, axis.size) for x, dim in zip(vals, dims, strict=True))
    return random_gamma_p.bind(key, a, log_space=log_space), 0


def _derivative(out: Any, a: Any, log_space: bool) -> Any:
    """Return the derivative of each sample, or in log space of its logarithm, by its parameter `a`."""
    samples, parameters = jnp.reshape(out, -1), jnp.reshape(a, -1)
    if not log_space:
        found = lax.map(lambda pair: lax.random_gamma_grad(*pair), (parameters, samples))
        return found.reshape(np.shape(a))
    samples = lax.exp(samples)
    zero, tiny = constant_like(out, 0), lax.full_like(samples, dtypes.finfo(samples.dtype).tiny)
    samples = lax.select(lax.eq(samples, zero), tiny, samples)
    found = lax.map(lambda pair: lax.random_gamma_grad(*pair) / pair[1], (parameters, samples))
    return found.reshape(np.shape(a))


defjvp(random_gamma_p, None, lambda g, out, key, a, log_space: g * _derivative(out, a, log_space))


def _sample_each(keys: Any, a: Any, log_space: bool) -> Any:
    """Return a sample, or its logarithm, for each key and parameter, which are arrays with one axis."""
    one, third = _constant(a, 1.0), _constant(a, 1 / 3)
    is_large = lax.ge(a, one)
    d = lax.sub(lax.select(is_large, a, lax.add(a, one)), third)
    keys, boost_keys = _split_each(keys, 2)
    v = _accepted(keys, d, lax.div(third, lax.sqrt(d)))
    u = below_one(boost_keys, (), a.dtype)
    if log_space:  # u^(1/a) may be too small for a float
        log_u = lax.log1p(lax.neg(u))
        boost = lax.select(is_large | (log_u == 0), _constant(a, 0.0), lax.mul(log_u, lax.div(one, a)))
        return lax.add(lax.add(lax.log(d), lax.log(v)), boost)
    return lax.mul(lax.mul(d, v), lax.select(is_large, one, lax.pow(1 - u, lax.div(one, a))))


def _accepted(keys: Any, d: Any, c: Any) -> Any:
    """Return for each element the first accepted candidate v = (1 + c x)^3, where x is normal; `d v` is the sample."""

    def is_rejected(squares: Any, v: Any, u: Any) -> Any:
        one = _constant(u, 1.0)
        quick = lax.ge(u, lax.sub(one, lax.mul(_constant(u, 0.0331), lax.mul(squares, squares))))
        bound = lax.mul(d, lax.add(lax.sub(one, v), lax.log(v)))
        exact = lax.ge(lax.log(u), lax.add(lax.mul(squares, _constant(u, 0.5)), bound))
        return quick & exact

    def try_again(keys: Any, *_: Any) -> tuple[Any, Any, Any, Any]:
        keys, normal_keys, uniform_keys = _split_each(keys, 3)
        x, v = _positive_candidate(normal_keys, c)
        return keys, lax.mul(x, x), lax.mul(lax.mul(v, v), v), below_one(uniform_keys, (), c.dtype)

    rejected_at_first = (keys, _constant(c, 0.0), _constant(c, 1.0), _constant(c, 2.0))
    _, _, v, _ = _while_any(lambda keys, *tried: is_rejected(*tried), try_again, rejected_at_first)
    return v


def _positive_candidate(keys: Any, c: Any) -> tuple[Any, Any]:
    """Return for each element a normal x with positive `1 + c x`, and that value."""

    def try_again(keys: Any, *_: Any) -> tuple[Any, Any, Any]:
        keys, subkeys = _split_each(keys, 2)
        lowest = above_minus_one(c.dtype)
        u = lax.add(lax.mul(below_one(subkeys, (), c.dtype), lax.sub(c.dtype.type(1), lowest)), lowest)
        x = normal_of_uniform(lax.max(lowest, u))
        return keys, x, lax.add(_constant(c, 1.0), lax.mul(x, c))

    not_positive = (keys, _constant(c, 0.0), _constant(c, -1.0))
    _, x, v = _while_any(lambda keys, x, v: lax.le(v, _constant(v, 0.0)), try_again, not_positive)
    return x, v


def _while_any(goes_on: Any, step: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the last state of a loop that each element runs for itself. All elements run together; finished ones do not change."""

    def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
        going = goes_on(*state)
        return tuple(lax.select(going, new, old) for new, old in zip(step(*state), state, strict=True))

    last: tuple[Any, ...] = lax.while_loop(lambda state: jnp.any(goes_on(*state)), body, state)
    return last


def _split_each(keys: Any, num: int) -> list[Any]:
    """Return `num` arrays of new keys, of the shape of `keys`."""
    return [lax.index_in_dim(random_split(keys, (num,)), i, keys.ndim, keepdims=False) for i in range(num)]


def _constant(x: Any, value: float) -> Any:
    return lax.full_like(x, value)


# --- gamma, loggamma ----------------------------------------------------------------------------------------


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from the gamma distribution of shape parameter `a`: for a whole `a`, the sum of `a` exponential numbers. `a`
    broadcasts to `shape`, by default the shape of `a`.

    `dtype` is a float dtype, by default the default float. Raise ValueError for another dtype, and for an `a` that does
    not broadcast to `shape`.
    """
    refuse_sharding("gamma", out_sharding)
    key, _ = check_key("gamma", key)
    dtype = floating_dtype("gamma", dtype)
    return _gamma(key, a, shape=None if shape is None else canonicalize_shape(shape), dtype=dtype)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Return the logarithm of a `gamma` sample, even if the sample itself is too small for a float, as for small `a`. Arguments and
    errors are as for `gamma`.
    """
    refuse_sharding("loggamma", out_sharding)
    key, _ = check_key("loggamma", key)
    dtype = floating_dtype("gamma", dtype)
    shape = None if shape is None else canonicalize_shape(shape)
    return _gamma(key, a, shape=shape, dtype=dtype, log_space=True)


@functools.partial(jit, static_argnames=("shape", "dtype", "log_space"))
def _gamma(key: Any, a: Any, shape: Shape | None, dtype: Any, log_space: bool = False) -> Any:
    if shape is None:
        shape = np.shape(a)
    else:
        check_shape("gamma", shape, np.shape(a))
    a = lax.convert_element_type(a, dtype)
    if np.shape(a) != shape:
        a = jnp.broadcast_to(a, shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


# --- distributions that follow from gamma -------------------------------------------------------------------


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from the beta distribution on [0, 1]: x / (x + y), with x from `gamma(a)` and y from `gamma(b)`. `shape`,
    `dtype` and errors are as for `gamma`.
    """
    refuse_sharding("beta", out_sharding)
    key, _ = check_key("beta", key)
    dtype = floating_dtype("beta", dtype)
    check_safe_to_cast("beta", dtype, a, b)
    return _beta(key, a, b, shape_of_result("beta", shape, a, b), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _beta(key: Any, a: Any, b: Any, shape: Shape, dtype: Any) -> Any:
    a, b = lax.convert_element_type(a, dtype), lax.convert_element_type(b, dtype)
    a_key, b_key = split_typed(key)
    a, b = jnp.broadcast_to(a, shape), jnp.broadcast_to(b, shape)
    log_a, log_b = loggamma(a_key, a, shape, dtype), loggamma(b_key, b, shape, dtype)
    largest = lax.max(log_a, log_b)
    of_a, of_b = jnp.exp(log_a - largest), jnp.exp(log_b - largest)
    return of_a / (of_a + of_b)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from the chi-square distribution: the sum of the squares of `df` normal numbers. `shape`, `dtype` and errors
    are as for `gamma`.
    """
    refuse_sharding("chisquare", out_sharding)
    key, _ = check_key("chisquare", key)
    dtype = floating_dtype("chisquare", dtype)
    shape = shape_of_result("chisquare", shape, df)
    check_safe_to_cast("chisquare", dtype, df)
    return _chisquare(key, df, shape, dtype, None)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _chisquare(key: Any, df: Any, shape: Shape, dtype: Any, out_sharding: None) -> Any:
    df = lax.convert_element_type(df, dtype)
    two = constant_like(df, 2)
    log_half = loggamma(key, a=lax.div(df, two), shape=shape, dtype=dtype)
    return lax.mul(jnp.exp(log_half), two)


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from Fisher's F distribution: the ratio of two chi-square numbers, each divided by its degrees of freedom.
    `shape`, `dtype` and errors are as for `gamma`.
    """
    refuse_sharding("f", out_sharding)
    key, _ = check_key("f", key)
    dtype = floating_dtype("f", dtype)
    shape = shape_of_result("f", shape, dfnum, dfden)
    check_safe_to_cast("f", dtype, dfnum, dfden)
    return _f(key, dfnum, dfden, shape, dtype, None)


@functools.partial(jit, static_argnums=(3, 4, 5))
def _f(key: Any, dfnum: Any, dfden: Any, shape: Shape, dtype: Any, out_sharding: None) -> Any:
    dfden = lax.convert_element_type(dfden, dtype)
    dfnum = lax.convert_element_type(dfnum, dtype)
    den_key, num_key = split_typed(key)
    numerator = chisquare(num_key, dfnum, shape, dtype)
    denominator = chisquare(den_key, dfden, shape, dtype)
    return lax.div(lax.div(numerator, dfnum), lax.div(denominator, dfden))


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw from Student's t distribution with `df` degrees of freedom. `shape`, `dtype` and errors are as for `gamma`."""
    refuse_sharding("t", out_sharding)
    key, _ = check_key("t", key)
    dtype = floating_dtype("t", dtype)
    shape = shape_of_result("t", shape, df)
    check_safe_to_cast("t", dtype, df)
    return _t(key, df, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _t(key: Any, df: Any, shape: Shape, dtype: Any) -> Any:
    df = lax.convert_element_type(df, dtype)
    normal_key, gamma_key = split_typed(key)
    n = normal(normal_key, shape, dtype)
    half = lax.div(df, constant_like(n, 2))
    return n * jnp.sqrt(half / gamma(gamma_key, half, shape, dtype))


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw numbers whose density is proportional to exp(-|x|^p); p = 2 is normal, of variance 1/2."""
    refuse_sharding("generalized_normal", out_sharding)
    shape = canonicalize_shape(shape)
    key, _ = check_key("generalized_normal", key)
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype)
    return _generalized_normal(key, p, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _generalized_normal(key: Any, p: Any, shape: Shape, dtype: Any) -> Any:
    keys = split(key)
    size = gamma(keys[0], 1 / p, shape, dtype)
    return rademacher(keys[1], shape, dtype) * size ** (1 / p)


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw points uniformly from a ball of dimension `d` and radius 1 in the p-norm, in an array of shape `(*shape,
    d)`.

    After Barthe, Guedon, Mendelson, Naor, "A probabilistic approach to the geometry of the l_p^n-ball", 2005.
    """
    refuse_sharding("ball", out_sharding)
    shape = canonicalize_shape(shape)
    key, _ = check_key("ball", key)
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype)
    d = core.concrete_or_error(operator.index, d, "The error occurred in jax.random.ball()")
    return _ball(key, p, d, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _ball(key: Any, p: Any, d: int, shape: Shape, dtype: Any) -> Any:
    direction_key, radius_key = split(key)
    g = generalized_normal(direction_key, p, (*shape, d), dtype)
    e = exponential(radius_key, shape, dtype)
    return g / (((jnp.abs(g) ** p).sum(-1) + e) ** (1 / p))[..., None]
