"""`jitkit.random` beside `jax.random`: the same bits from the same keys, the same jaxprs, the same refusals.

Cases are expressions, evaluated once with each of the two libraries.
"""

from __future__ import annotations

import pickle
import re
import warnings

import jax
import jax.numpy
import numpy as np
import pytest
import tails
from lax_oracle import first_line, x64
from tails import keeping, one_in
from twin import raised, same_as_jax

import jitkit
from jitkit.base import config, stage_log
from jitkit.base.jax_version import since

SEEDS = (0, 1, 42, -1, -7, 2**31 - 1, 2**31, 2**32 - 1, 2**40 + 3, -(2**35), 2**63 - 1)


def world(package, numpy):
    """Return the names for the expressions of this file."""
    random = package.random
    key = random.key(0)
    return {
        "jax": package,
        "jnp": numpy,
        "lax": package.lax,
        "random": random,
        "np": np,
        "key": key,
        "keys": random.split(key, 3),
        "bare": random.PRNGKey(0),
    }


WORLDS = world(jitkit, jitkit.numpy), world(jax, jax.numpy)


def plain(x):
    """Return a result as plain data: an array as its type and elements, a key as its repr."""
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        if "key<" in str(x.dtype):
            return repr(x)
        return str(x.dtype), bool(getattr(x, "weak_type", False)), x.shape, np.asarray(x).tobytes()
    if isinstance(x, list | tuple):
        return [plain(item) for item in x]
    return x if isinstance(x, int | float | str | bool) else re.sub(r"jax\.|jitkit\.", "", repr(x))


def value(expression, names):
    """Return the expression's value as plain data, or the error that it ends in: class and first line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(expression, dict(names)))
        except Exception as error:
            return re.sub(r" at 0x[0-9a-f]+|JitTracer|DynamicJaxprTracer", "", first_line(error))


def jaxpr_text(expression, names, style="key"):
    """Return the jaxpr of the expression, as a function of the key in it."""
    argument = {"key": "key", "PRNGKey": "bare"}[style]
    function = eval(f"lambda key: {expression}", dict(names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(names["jax"].make_jaxpr(function)(names[argument]))


def assert_same_value(expression):
    ours, theirs = (value(expression, names) for names in WORLDS)
    assert ours == theirs


def lines(text):
    """Return the lines of a text, without their indentation."""
    return [line.strip() for line in text.strip().splitlines()]


def cases(text):
    """Return a decorator that runs a test for each line of a text."""
    return pytest.mark.parametrize("expression", lines(text))


# --- keys and bits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_gives_the_key_of_jax(seed):
    for expression in (
        f"random.key({seed})",
        f"random.PRNGKey({seed})",
        f"random.split(random.key({seed}))",
        f"random.split(random.PRNGKey({seed}))",
        f"random.fold_in(random.key({seed}), 5)",
        f"random.uniform(random.PRNGKey({seed}), (5,))",
    ):
        assert_same_value(expression)


@cases("""
    random.key(np.int64(2**40))
    random.key(np.uint64(2**63 + 5))
    random.key(np.uint8(3))
    random.key(np.int8(-3))
    random.key(jnp.uint32(7))
    random.key(2**70)
    random.key(0, impl="threefry2x32")
    random.key(0, dtype=key.dtype)
    random.key_dtype()
    random.key_impl(key)
    random.key_impl(bare)
    random.split(key, 0)
    random.split(key, (2, 3))
    random.split(key, [2])
    random.split(np.zeros(2, np.uint32))
    random.split(key=key, num=3)
    random.fold_in(key, -1)
    random.fold_in(key, 2**31)
    random.fold_in(key, 2**40)
    random.fold_in(key, 1.5)
    random.fold_in(key, np.int8(-3))
    random.clone(keys)
    random.clone(bare)
    random.key_data(keys)
    random.key_data(bare)
    random.wrap_key_data(random.key_data(keys))
    random.wrap_key_data(np.zeros((3, 2), np.uint32))
    random.wrap_key_data(bare, impl="threefry2x32")
    jax.jit(lambda seed: random.key(seed))(3)
    jax.jit(lambda seed: random.key(seed))(-3)
    jax.jit(lambda seed: random.PRNGKey(seed))(jnp.uint8(3))
    jax.jit(random.split, static_argnums=1)(key, 4)
    jax.jit(random.fold_in)(key, 7)
    """)
def test_keys_are_made_as_jax_makes_them(expression):
    assert_same_value(expression)


@cases("""
    random.key(1.5)
    random.key(1j)
    random.key(True)
    random.key("a")
    random.key(None)
    random.key([1, 2])
    random.key(np.array([1, 2]))
    random.key(2**63)
    random.key(key)
    random.PRNGKey(key)
    random.PRNGKey(1.5)
    random.key(0, impl="nothing")
    random.key(0, impl=3)
    random.key(0, impl="threefry2x32", dtype=key.dtype)
    random.wrap_key_data(bare, impl="threefry2x32", dtype=key.dtype)
    random.split(5)
    random.split("a")
    random.split(None)
    random.split([0, 0])
    random.split(keys)
    random.split(random.split(bare))
    random.split(key, 2.5)
    random.split(jnp.zeros(2))
    random.split(jnp.zeros(3, jnp.uint32))
    random.fold_in(key, [1])
    random.fold_in(key, jnp.arange(2))
    random.fold_in(keys, 1)
    random.fold_in(key, key)
    random.fold_in(key, "a")
    random.key_data(5)
    random.key_data(jnp.zeros(3))
    random.key_impl(5)
    random.clone("a")
    random.wrap_key_data(5)
    random.wrap_key_data(jnp.zeros(2))
    random.wrap_key_data(jnp.zeros(3, jnp.uint32))
    random.wrap_key_data(jnp.uint32(3))
    random.wrap_key_data(key)
    jax.jit(lambda seed: random.key(seed))(1.5)
    random.normal(5)
    random.normal(keys)
    random.normal(key, (2.5,))
    random.normal(key, (2,), int)
    random.normal(key, (2,), "int8")
    random.normal(key, (2,), "nothing")
    random.uniform(key, (2,), complex)
    random.uniform(key, (2,), minval=jnp.zeros(3))
    random.uniform(key, (2,), minval="a")
    random.uniform(key, (2,), minval=1j)
    random.randint(key, (2,), 0, 10, float)
    random.randint(key, (2,), jnp.zeros(3, int), 10)
    random.randint(key, (2,), None, 3)
    random.randint(key, (4,), 0, 2**31)
    random.randint(key, (4,), 0, 2**32, jnp.uint32)
    random.bits(key, (2,), int)
    random.bits(key, (2,), "uint4")
    random.bernoulli(key, 2)
    random.bernoulli(key, jnp.array([0.1, 0.5]), (3,))
    random.bernoulli(key, 0.5, mode="middle")
    random.truncated_normal(key, 0, 1, (2,), int)
    random.truncated_normal(key, jnp.zeros(3), jnp.ones(2))
    random.truncated_normal(key, jnp.zeros(3), jnp.ones(3), (2,))
    random.permutation(key, 5.5)
    random.permutation(key, jnp.ones((3, 2)), axis=2)
    random.permutation(key, "a")
    random.permutation(key, [1, 2])
    random.choice(key, 5, 3)
    random.choice(key, 0)
    random.choice(key, -2, (2,))
    random.choice(key, 3, (5,), replace=False)
    random.choice(key, 3, (2,), p=jnp.ones(2))
    random.choice(key, [1, 2], (2,))
    random.choice(key, jnp.ones((2, 3)), axis=5)
    random.categorical(key, 5)
    random.categorical(key, jnp.ones((2, 3)), axis=5)
    random.categorical(key, jnp.ones((2, 3)), shape=(5, 2), replace=False)
    random.categorical(key, [1.0, 2.0])
    random.gumbel(key, (2,), mode="middle")
    random.exponential(key, (2,), int)
    random.gamma(key, "a")
    random.gamma(key, jnp.ones(3), (2,))
    random.beta(key, jnp.ones(3), jnp.ones(2))
    random.beta(key, np.float32(1), 1.0, dtype="float16")
    random.rayleigh(key, 2.0)
    random.geometric(key, 0.5, dtype=float)
    random.ball(key, 2.5)
    jax.jit(lambda n: random.normal(key, (n,)))(3)
    jax.jit(lambda n: random.permutation(key, n))(3)
    jax.jit(lambda n: random.choice(key, n, (2,)))(3)
    """)
def test_what_jax_refuses_is_refused_in_its_words(expression):
    assert_same_value(expression)


def test_implementations_that_are_not_here_are_refused_by_name():
    with pytest.raises(NotImplementedError, match='no PRNG implementation "philox2x32"'):
        jitkit.random.key(0, impl="philox2x32")
    with pytest.raises(ValueError, match="new enum value must be"):
        config.update("jax_default_prng_impl", "philox2x32")


# --- keys of XLA's own generator ----------------------------------------------------------------------------


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
@pytest.mark.parametrize(
    "program",
    [
        "random.key(-1, impl=impl)",
        "random.PRNGKey(3, impl=impl)",
        "random.split(key, (2, 3))",
        "random.fold_in(key, 7)",
        "jax.vmap(jax.vmap(lambda k: random.split(k, 2)))(random.split(key, (2, 3)))",
        "jax.vmap(random.fold_in)(random.split(key, 3), jnp.arange(3))",
        "jax.vmap(random.fold_in, (None, 0))(key, jnp.arange(3))",
        "jax.vmap(lambda seed: random.key(seed, impl=impl))(jnp.arange(3))",
        "[random.bits(key, (3,), dtype) for dtype in ('uint8', 'uint16', 'uint32')]",
        "jax.vmap(lambda k: jax.vmap(lambda k: random.bits(k, (2,)))(k), in_axes=1)(random.split(key, (2, 3)))",
        "jax.jit(lambda k: (random.split(k), random.fold_in(k, 3), random.normal(k, (2,))))(key)",
        "jax.vmap(lambda k: random.permutation(k, 5))(random.split(key))",
        "random.gamma(key, 2.0, (4,))",
        "jax.vmap(lambda k: random.loggamma(k, 0.5, (2,)))(random.split(key))",
        "random.wrap_key_data(jnp.arange(8, dtype='uint32').reshape(2, 4), impl=impl)",
        "random.wrap_key_data(jnp.arange(2, dtype='uint32'), impl=impl)",
        "random.poisson(key, 2.0, (3,))",
        "str(jax.make_jaxpr(lambda k: (random.bits(k, (2,)), random.split(k)))(key))",
        "str(jax.make_jaxpr(lambda seed: random.PRNGKey(seed, impl=impl))(3))",
    ],
)
@same_as_jax
def test_keys_of_the_generator_of_xla_are_those_of_jax(jax, jnp, impl, program):
    random = jax.random

    def bare(x):
        return random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x

    def run():
        key = random.key(42, impl=impl)
        result = eval(program, {"jax": jax, "jnp": jnp, "random": random, "key": key, "impl": impl})
        return result if isinstance(result, str) else jax.tree.map(lambda x: (str(x.dtype), bare(x)), result)

    return raised(run)


@same_as_jax
def test_the_default_implementation_is_an_option(jax, jnp):
    with jax.default_prng_impl("rbg"):
        key = jax.random.PRNGKey(1)
        return [key, str(jax.random.key(0).dtype), jax.random.split(key), jax.random.normal(key, (2,))]


def test_the_default_implementation_is_part_of_the_key_of_jit():
    """In JAX 0.10 it is not: what was traced for another implementation is run."""
    f = jitkit.jit(lambda seed: jitkit.random.key_data(jitkit.random.key(seed)))
    assert f(0).shape == (2,)
    with jitkit.default_prng_impl("unsafe_rbg"):
        assert f(0).shape == (4,)


# --- samplers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", keeping([(), (1,), (0,), (2, 0, 3), (2, 3, 4), (1001,)], (), (2, 0, 3), (1001,)), ids=str
)
@pytest.mark.parametrize("sampler", ["bits(key, {})", "normal(key, {})", "randint(key, {}, -3, 40)"])
def test_samplers_give_the_bits_of_jax_in_every_shape(sampler, shape):
    assert_same_value(f"random.{sampler.format(shape)}")


DTYPES = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", keeping(DTYPES, "bfloat16", "float64"))
@pytest.mark.parametrize(
    "sampler", ["uniform(key, (64,), {!r})", "normal(key, (64,), {!r})", "cauchy(key, (64,), {!r})"]
)
def test_samplers_give_the_bits_of_jax_in_every_float_dtype(sampler, dtype):
    assert_same_value(f"random.{sampler.format(dtype)}")


SAMPLERS = lines("""
    random.normal(key, (9,), "complex64")
    random.uniform(key, (9,), "float8_e4m3fn")
    random.bits(key, (9,), "uint8")
    random.bits(key, (9,), "uint16")
    random.randint(key, (9,), 0, 256, jnp.uint8)
    random.randint(key, (9,), -200, 300, jnp.int8)
    random.randint(key, (9,), 0, 70000, jnp.uint16)
    random.randint(key, (9,), 0, np.uint32(2**32 - 1), jnp.uint32)
    random.randint(key, (9,), 10, 0)
    random.randint(key, (9,), 0.5, 10.5)
    random.randint(key, (3,), jnp.zeros(3, int), jnp.array([1, 5, 10]))
    random.uniform(key, (9,), minval=2, maxval=1)
    random.uniform(key, (2, 3), minval=jnp.zeros((2, 1)), maxval=jnp.arange(3.0))
    random.uniform(bare, shape=(9,), minval=1.0, maxval=3.0)
    random.bernoulli(key)
    random.bernoulli(key, jnp.array([0.1, 0.5]), (3, 2))
    random.bernoulli(key, 0.3, (9,), mode="high")
    random.rademacher(key, (9,))
    random.rademacher(key, (9,), "uint8")
    random.truncated_normal(key, -2.0, 1.5, (9,))
    random.truncated_normal(key, jnp.zeros(3), 1.0)
    random.truncated_normal(key, 1, 0, (3,))
    random.exponential(key, (9,))
    random.logistic(key, (9,))
    random.laplace(key, (9,), "bfloat16")
    random.gumbel(key, (9,))
    random.gumbel(key, (9,), mode="high")
    random.gumbel(key, (9,), mode="highest")
    random.pareto(key, 2.0, (9,))
    random.rayleigh(key, np.float32(2), (9,))
    random.weibull_min(key, 1.0, 2.0, (9,))
    random.triangular(key, 0.0, 0.3, 1.0, (9,))
    random.geometric(key, 0.3, (9,))
    random.lognormal(key, shape=(9,))
    random.maxwell(key, (9,))
    random.double_sided_maxwell(key, 0.0, 1.0, (9,))
    random.wald(key, np.float32(1.0), (9,))
    random.permutation(key, 10)
    random.permutation(bare, 10)
    random.permutation(key, -3)
    random.permutation(key, 3000)
    random.permutation(key, np.arange(12).reshape(3, 4))
    random.permutation(key, np.arange(12).reshape(3, 4), axis=1, independent=True)
    random.choice(key, 5)
    random.choice(key, 5, [2])
    random.choice(key, 5, (3,), replace=False)
    random.choice(key, 0, (0,))
    random.choice(key, keys, (2,))
    random.choice(key, np.arange(12.0).reshape(3, 4), (2,), axis=1)
    random.choice(key, np.arange(12.0).reshape(3, 4), (2,), axis=1, replace=False)
    random.choice(key, 5, (3,), p=np.array([0.1, 0.2, 0.3, 0.2, 0.2]))
    random.choice(key, 5, (3,), p=np.array([0.1, 0.2, 0.3, 0.2, 0.2]), replace=False)
    random.categorical(key, jnp.arange(3.0))
    random.categorical(key, np.zeros((3, 4), np.float32), axis=0)
    random.categorical(key, np.zeros((3, 4), np.float32), shape=(2, 3))
    random.categorical(key, np.zeros((3, 4), np.float32), shape=(2, 3), replace=False)
    random.gamma(key, np.array([0.3, 2.0, 5.0]))
    random.gamma(key, -1.0, (3,))
    random.gamma(key, jnp.array([]))
    random.loggamma(key, np.array([1e-8, 2.0, 5.0]), (40, 3))
    random.beta(key, 0.5, 2.0, (9,))
    random.chisquare(key, 3.0, (9,))
    random.f(key, 3.0, 4.0, (9,))
    random.t(key, 3.0, (9,))
    random.generalized_normal(key, 1.5, (9,))
    random.ball(key, 3, 2, (9,))
    random.poisson(key, np.array([3.0, 20.0, 0.0]), (9, 3))
    """)


PRINTED_APART = ", p="  # these search in sums of weights, for which JAX 0.12 has a primitive: see docs/parity.md


# equal jaxprs give equal bits, so the values of some are enough
@pytest.mark.parametrize("expression", one_in(6, SAMPLERS))
def test_samplers_give_the_bits_of_jax(expression):
    assert_same_value(expression)


@pytest.mark.parametrize("expression", SAMPLERS)
def test_samplers_give_the_jaxprs_of_jax(expression):
    ours, theirs = (jaxpr_text(expression, names) for names in WORLDS)
    assert ours == theirs or (PRINTED_APART in expression and since(0, 12))


@cases("""
    random.key(2**40 + 3)
    random.PRNGKey(2**40 + 3)
    random.key(-5)
    random.split(random.key(2**62))
    random.fold_in(key, 2**31 + 3)
    random.bits(key, (9,))
    random.uniform(key, (9,))
    random.normal(key, (9,))
    random.normal(key, (9,), complex)
    random.randint(key, (9,), 0, 10)
    random.randint(key, (9,), 0, 2**40)
    random.bernoulli(key, np.float64(0.5), (9,))
    random.permutation(key, 9)
    random.choice(key, 9, (3,), p=np.ones(9) / 9)
    random.gamma(key, 2.0, (9,))
    random.poisson(key, 4.0, (9,))
    """)
def test_in_x64_mode_samplers_give_what_they_give_in_jax(expression):
    with x64():
        if tails.with_tails or ", (9,)" not in expression:  # equal jaxprs give equal bits
            assert_same_value(expression)
        ours, theirs = (jaxpr_text(expression, names) for names in WORLDS)
        assert ours == theirs or (PRINTED_APART in expression and since(0, 12))


@cases("""
    random.split(key)
    random.fold_in(key, 3)
    random.bits(key, (3,))
    random.uniform(key, (3,))
    random.normal(key, (3,))
    random.bernoulli(key, 0.3, (3,))
    random.randint(key, (3,), 0, 10)
    random.permutation(key, 5)
    random.choice(key, 5, (3,))
    random.categorical(key, jnp.ones(3))
    random.truncated_normal(key, -1.0, 1.0, (3,))
    random.key_data(key)
    random.clone(key)
    random.split(key, 3)[1]
    list(random.split(key))
    """)
def test_bare_keys_are_wrapped_and_unwrapped_where_jax_does_it(expression):
    ours, theirs = (jaxpr_text(expression, names, "PRNGKey") for names in WORLDS)
    assert ours == theirs
    ours, theirs = (value(expression.replace("key", "bare", 1), names) for names in WORLDS)
    if "key_data" not in expression:
        assert ours == theirs


# --- arrays of keys -----------------------------------------------------------------------------------------


@cases("""
    keys[0]
    keys[-1]
    keys[5]
    keys[1:]
    keys[::-1]
    keys[None]
    keys[jnp.array([0, 2])]
    keys.at[0].set(key)
    keys.at[jnp.array([0, 1])].set(key)
    keys.at[0].get()
    keys.reshape(3, 1)
    keys.ravel()
    keys.flatten()
    keys.T
    keys.squeeze()
    keys.transpose()
    keys.take(1)
    key.copy()
    list(keys)
    jnp.stack([key, key])
    jnp.stack([keys, keys], axis=1)
    jnp.unstack(keys)
    jnp.concatenate([keys, keys])
    jnp.split(keys, 3)
    jnp.where(True, key, keys[0])
    jnp.where(jnp.array([True, False, True]), keys, key)
    jnp.broadcast_to(key, (2,))
    jnp.expand_dims(keys, 0)
    jnp.squeeze(keys[None])
    jnp.moveaxis(keys[None], 0, 1)
    jnp.take(keys, jnp.array([0, 1]), axis=0)
    jnp.flip(keys)
    jnp.roll(keys, 1)
    jnp.tile(keys, 2)
    jnp.repeat(keys, 2)
    jnp.append(keys, key)
    jnp.asarray([key, key])
    jnp.zeros((2,), key.dtype)
    jnp.ones((2,), key.dtype)
    jnp.full((2,), key)
    jnp.full_like(keys, key)
    jnp.zeros_like(keys)
    jnp.array_equal(keys, keys)
    key == key
    keys == key
    keys != keys[1]
    lax.select(jnp.array([True, False, True]), keys, keys[::-1])
    lax.rev(keys, (0,))
    lax.reshape(keys, (3, 1))
    lax.transpose(keys[None], (1, 0))
    lax.dynamic_slice(keys, (1,), (1,))
    lax.dynamic_update_slice(keys, keys[:1], (1,))
    lax.dynamic_index_in_dim(keys, 1, keepdims=False)
    lax.full((2,), 0, key.dtype)
    lax.eq(keys, key)
    lax.stop_gradient(key)
    lax.optimization_barrier(key)
    """)
def test_keys_are_moved_about_like_other_elements(expression):
    """Jitted, as a function of `key` and of `keys`, with the jaxpr of JAX; and eagerly, which compiles the same operation again."""
    if tails.with_tails:
        assert_same_value(expression)
    results, jaxprs = [], []
    for names in WORLDS:
        function = eval(f"lambda key, keys: {expression}", dict(names))
        results.append(plain(names["jax"].jit(function)(names["key"], names["keys"])))
        jaxprs.append(str(names["jax"].make_jaxpr(function)(names["key"], names["keys"])))
    assert results[0] == results[1]
    assert jaxprs[0] == jaxprs[1]


@cases("""
    repr(key)
    str(key)
    format(key)
    repr(keys)
    repr(random.split(key, (2, 2)))
    repr(random.split(key, 0))
    key.shape
    key.ndim
    key.size
    key.nbytes
    keys.nbytes
    key.itemsize
    repr(key.dtype)
    str(key.dtype)
    key.dtype.name
    key.dtype.itemsize
    key.dtype == random.split(key).dtype
    hash(key.dtype) == hash(keys.dtype)
    str(key.aval)
    repr(jax.typeof(keys))
    len(keys)
    isinstance(key, jax.Array)
    jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    jnp.issubdtype(key.dtype, jax.dtypes.extended)
    jnp.issubdtype(key.dtype, np.integer)
    jnp.issubdtype(bare.dtype, jax.dtypes.prng_key)
    repr(jnp.result_type(key))
    repr(jax.eval_shape(random.split, key))
    repr(jax.ShapeDtypeStruct((2,), key.dtype))
    str(jax.make_jaxpr(lambda k: k)(jax.ShapeDtypeStruct((2,), key.dtype)))
    jax.device_put(key)
    jax.device_get({"a": key})["a"]
    jax.block_until_ready(key)
    jax.tree_util.tree_leaves({"a": key})
    str(jax.tree_util.tree_structure(key))
    key.is_deleted()
    key.committed
    key.on_device_size_in_bytes()
    jnp.iscomplexobj(key)
    """)
def test_keys_show_themselves_as_in_jax(expression):
    assert_same_value(expression)


@cases("""
    key + 1
    1 + key
    -key
    key + key
    key < key
    key == 1
    key == bare
    abs(key)
    jnp.add(key, 1)
    jnp.clip(keys, 0, 1)
    jnp.concatenate([keys, jnp.ones(3)])
    jnp.where(True, key, 1)
    jnp.array([key, 1])
    jnp.result_type(key, 1)
    jnp.pad(keys, 1)
    jnp.sort(keys)
    jnp.any(keys)
    lax.sin(key)
    lax.add(key, key)
    lax.lt(key, key)
    lax.convert_element_type(key, jnp.float32)
    lax.iota(key.dtype, 3)
    lax.bitcast_convert_type(key, jnp.uint32)
    bool(key)
    np.asarray(key)
    len(key)
    iter(key)
    key[0]
    jax.jit(lambda k: k + 1)(key)
    jax.jit(bool)(key)
    jax.jit(float)(key)
    jax.jit(np.asarray)(key)
    lax.cond(True, lambda k: k, lambda k: random.key_data(k), key)
    lax.fori_loop(0, 3, lambda i, k: random.split(k), key)
    lax.scan(lambda k, x: (random.key_data(k), x), key, jnp.arange(3))
    """)
def test_nothing_looks_into_a_key(expression):
    assert_same_value(expression)


@cases("""
    lax.cond(True, lambda k: k, lambda k: random.split(k)[0], key)
    lax.switch(1, [lambda k: k, lambda k: random.fold_in(k, 1)], key)
    lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), key)
    lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, random.split(c[1])[1]), (0, key))[1]
    lax.scan(lambda k, _: (random.split(k)[0], random.normal(k)), key, None, length=3)
    lax.scan(lambda k, _: (random.split(k)[0], k), key, None, length=3)
    lax.scan(lambda total, k: (total + random.normal(k), k), 0.0, keys)
    lax.scan(lambda total, k: (total + random.normal(k), random.split(k)), 0.0, keys, reverse=True, unroll=2)
    lax.map(random.uniform, keys)
    lax.map(lambda k: random.uniform(k, (2,)), keys)
    lax.scan(lambda c, i: (c, random.fold_in(key, i)), 0, jnp.arange(3))[1]
    """)
def test_keys_go_through_control_flow(expression):
    assert_same_value(expression)
    ours, theirs = (jaxpr_text(expression, names) for names in WORLDS)
    assert ours == theirs


def test_a_key_can_be_closed_over_as_a_small_and_as_a_large_constant():
    for count in (1, 5000):
        keys = jitkit.random.split(jitkit.random.key(1), count)
        inside = jitkit.jit(lambda i, keys=keys: jitkit.random.bits(keys[i], (2,)))(count - 1)
        assert np.array_equal(inside, jitkit.random.bits(keys[-1], (2,)))


def test_a_key_survives_pickling_and_another_device():
    keys = jitkit.random.split(jitkit.random.key(1))
    again = pickle.loads(pickle.dumps(keys))
    assert repr(again) == repr(keys)
    assert again.dtype == keys.dtype
    put = jitkit.device_put(keys, jitkit.devices()[0])
    assert put.committed
    assert repr(put) == repr(keys)
    assert jitkit.random.key_data(put).committed
    assert jitkit.random.split(put[0]).committed


def test_a_donated_key_is_deleted():
    key = jitkit.random.key(3)
    step = jitkit.jit(lambda key: jitkit.random.split(key)[0], donate_argnums=0)
    assert not step(key).is_deleted()
    assert key.is_deleted()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=key<fry>\[\]"):
        jitkit.random.bits(key)
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=uint32\[2\]"):
        np.asarray(jitkit.random.key_data(key))


# --- what the primitives do to many keys at once ------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (2,), (0,), (2, 3)], ids=str)
def test_the_primitives_take_arrays_of_keys_as_vmap_would(shape):
    ours, theirs = (names["random"].split(names["key"], (2, 3)) for names in WORLDS)
    prng = jitkit.random.prng

    def each(function):
        return jax.vmap(jax.vmap(function))

    split, bits = prng.random_split(ours, shape), prng.random_bits(ours, 32, shape)
    assert repr(split) == repr(each(lambda k: jax.random.split(k, shape))(theirs))
    assert np.array_equal(bits, each(lambda k: jax.random.bits(k, shape))(theirs))
    data = np.arange(6).reshape(2, 3)
    folded = prng.random_fold_in(ours, jitkit.numpy.asarray(data, np.uint32))
    assert repr(folded) == repr(each(jax.random.fold_in)(theirs, data))
    seeded = prng.random_seed(data, ours.dtype._impl)
    assert repr(seeded) == repr(each(jax.random.key)(data))


def test_the_hash_without_a_loop_is_the_hash_with_one():
    def draw(key):
        return jitkit.random.bits(key, (7,))

    key = jitkit.random.key(5)
    written_out = jitkit.jit(draw).trace(key).lower(lowering_platforms=("tpu",))
    assert "stablehlo.while" not in written_out.as_text()
    assert "stablehlo.while" in jitkit.jit(draw).lower(key).as_text()
    assert np.array_equal(written_out.compile()(key), draw(key))


def test_an_implementation_refuses_other_widths_and_other_words():
    from_bits = jitkit.random.threefry2x32.threefry_random_bits
    with pytest.raises(TypeError, match=r"requires 8-, 16-, 32- or 64-bit field width."):
        from_bits(jitkit.numpy.zeros(2, np.uint32), 4, ())
    with pytest.raises(TypeError, match="Arguments to threefry2x32 must have uint32 type"):
        jitkit.random.threefry2x32.threefry2x32_p.bind(1, 2, 3, 4)


# --- programs -----------------------------------------------------------------------------------------------


def compiled(function, *args):
    """Return how many programs a call compiles."""
    jitkit.clear_caches()
    with stage_log.listen() as events:
        function(*args)
    return sum(event.stage == "compilation" for event in events)


@pytest.mark.parametrize(
    ("expression", "programs"),
    [
        ("random.split(key)", 1),
        ("random.bits(key, (3,))", 1),
        ("random.normal(key, (3,))", 1),
        ("random.normal(bare, (3,))", 1),
        ("random.uniform(key, (3,))", 1),
        ("random.bernoulli(key, 0.5, (3,))", 1),
        ("random.gumbel(key, (3,))", 1),
        ("random.key_data(key)", 0),
        ("random.wrap_key_data(bare)", 0),
        ("list(keys)", 0),
    ],
)
def test_an_eager_call_is_one_program_at_most(expression, programs):
    function = eval(f"lambda: {expression}", dict(WORLDS[0]))
    assert compiled(function) == programs
    with stage_log.listen() as again:
        function()
    assert not [event for event in again if event.stage == "compilation"]


@same_as_jax
def test_new_keys_of_one_shape_do_not_retrace(jax, jnp):
    traces = []

    @jax.jit
    def draw(key):
        traces.append(str(key.dtype))
        return jax.random.normal(key, (2,))

    for seed in range(3):
        draw(jax.random.key(seed))
    draw(jax.random.PRNGKey(0))
    draw(jax.random.PRNGKey(1))
    return traces, draw._cache_size()


def test_a_key_is_stored_as_two_words():
    key = jitkit.random.key(0)
    text = jitkit.jit(lambda k: jitkit.random.split(k, 3)).lower(key).as_text()
    assert "%arg0: tensor<2xui32>" in text
    assert "tensor<3x2xui32> {jax.result_info" in text


def test_two_draws_of_one_shape_share_the_function_that_hashes():
    def draw(key):
        first, second = jitkit.random.split(key)
        return jitkit.random.bits(first, (2,)) + jitkit.random.bits(second, (2,))

    text = jitkit.jit(draw).lower(jitkit.random.key(0)).as_text()
    assert text.count("func.func private @threefry2x32") == 1
    assert text.count("call @threefry2x32") == 3


# --- what JAX's page about random numbers shows -------------------------------------------------------------


@same_as_jax
def test_a_key_used_twice_gives_the_same_numbers(jax, jnp):
    key = jax.random.key(42)
    first, second = jax.random.normal(key, (3,)), jax.random.normal(key, (3,))
    return first, (first == second).all()


@same_as_jax
def test_splitting_before_each_draw_gives_new_numbers(jax, jnp):
    key = jax.random.key(42)
    drawn = []
    for _ in range(3):
        key, subkey = jax.random.split(key)
        drawn.append(jax.random.normal(subkey))
    return drawn, str(key)


@same_as_jax
def test_drawing_one_by_one_is_not_drawing_all_at_once(jax, jnp):
    key = jax.random.key(42)
    one_by_one = jnp.stack([jax.random.normal(k) for k in jax.random.split(key, 3)])
    at_once = jax.random.normal(key, (3,))
    return one_by_one, at_once, bool(jnp.allclose(one_by_one, at_once))


@same_as_jax
def test_numbers_do_not_depend_on_the_order_of_drawing(jax, jnp):
    bar = jax.jit(lambda key: jax.random.normal(key, (2,)))
    baz = jax.jit(lambda key: jax.random.uniform(key, (2,)))
    first, second = jax.random.split(jax.random.key(7))
    here = bar(first), baz(second)
    there = baz(second), bar(first)
    return here, there


@same_as_jax
def test_a_step_of_training_with_noise_is_repeatable(jax, jnp):
    @jax.jit
    def step(params, key, x):
        w_key, drop_key = jax.random.split(key)
        noise = 0.1 * jax.random.normal(w_key, params["w"].shape)
        keep = jax.random.bernoulli(drop_key, 0.5, x.shape)
        return {"w": params["w"] + noise}, jnp.where(keep, x / 0.5, 0.0) @ (params["w"] + noise)

    params = {"w": jnp.ones((4, 2))}
    results = []
    for i in range(3):
        params, out = step(params, jax.random.fold_in(jax.random.key(0), i), jnp.arange(4.0))
        results.append(out)
    return params, results, step._cache_size()


ASKED_OF_KEYS = """all any argmax argmin argpartition(0) argsort astype(int) byteswap choose([1]) clip clip(0,1) compress([True]) conj
conjugate cumprod cumsum diagonal dot(1) flat imag item item(0) mT max mean min nonzero prod ptp real repeat(2) round round(1)
searchsorted(1) sort std sum to_device(None) trace var view view('uint32') T copy flatten ravel reshape(-1) squeeze
take(0) transpose shape ndim size dtype __len__ __pos__ __invert__ __neg__ __abs__"""


def asked(key, text):
    name, *args = text.removesuffix(")").split("(")
    value = getattr(key, name)
    return value(*eval(f"({args[0]},)")) if args else value() if callable(value) and name != "dtype" else value


@pytest.mark.parametrize("text", ASKED_OF_KEYS.split())
def test_methods_of_arrays_of_keys(text):
    """A key is no number, and in JAX has none of a number's methods."""

    def outcome(lib, shape):
        keys = lib.random.key(0) if shape == () else lib.random.split(lib.random.key(0), shape)
        try:
            asked(keys, text)
        except Exception as error:
            return type(error).__name__
        return "a value"

    shapes = [(), (2,), (2, 2)]
    assert [outcome(jitkit, shape) for shape in shapes] == [outcome(jax, shape) for shape in shapes]


def test_a_method_that_keys_have_not_says_what_has_it():
    with pytest.raises(NotImplementedError, match=r"Cannot call abstract method sum\n.*`jax.random.key_data\(keys\)`"):
        jitkit.random.key(0).sum()
    with pytest.raises(AttributeError, match="__dlpack__"):
        np.from_dlpack(jitkit.random.key(0))


@same_as_jax
def test_functions_of_numbers_refuse_keys(jax, jnp):
    keys = jax.random.split(jax.random.key(0))
    functions = [
        jnp.sum,
        jnp.prod,
        jnp.max,
        jnp.min,
        jnp.mean,
        jnp.argmax,
        jnp.argmin,
        jnp.cumsum,
        jnp.cumprod,
        jnp.any,
    ]
    return [[raised(f, keys), raised(jax.jit(f), keys)] for f in functions]
