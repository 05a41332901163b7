"""Random numbers with the option `threefry_partitionable` off, JAX's older algorithm, beside JAX: the same bits."""

from __future__ import annotations

import functools
import types

import jax
import jax._src.random.threefry2x32 as of_jax
import numpy as np
import pytest
from twin import same_as_jax

import jitkit
from jitkit.random import threefry2x32


def older(jax):
    return jax.threefry_partitionable(False)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
@same_as_jax
def test_bits_of_all_widths_and_sizes_are_jaxs(jax, jnp, impl):
    with older(jax), jax.enable_x64(True):
        key = jax.random.key(3, impl=impl)
        keys = jax.random.split(key, 3)

        def bits(key, dtype):
            return [jax.random.bits(key, shape, dtype) for shape in ((), (0,), (1,), (2,), (5,), (7, 3), (2, 0, 3))]

        return [
            made
            for dtype in ("uint8", "uint16", "uint32", "uint64")
            for made in (bits(key, dtype), jax.jit(jax.vmap(functools.partial(bits, dtype=dtype)))(keys))
        ]


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
@same_as_jax
def test_new_keys_of_all_shapes_are_jaxs(jax, jnp, impl):
    def data(keys):
        return jax.random.key_data(keys)

    with older(jax):
        key = jax.random.key(3, impl=impl)
        keys = jax.random.split(key, (2, 2))
        return [
            data(keys),
            data(jax.random.fold_in(key, 7)),
            data(jax.vmap(jax.random.fold_in)(keys[0], jnp.arange(2))),
            [data(jax.random.split(key, shape)) for shape in (0, 1, 3, (2, 3), (), (5, 1))],
            [
                data(jax.jit(jax.vmap(lambda key, shape=shape: jax.random.split(key, shape)))(keys[0]))
                for shape in (1, (2, 3))
            ],
        ]


@same_as_jax
def test_samples_are_jaxs(jax, jnp):
    random, key = jax.random, jax.random.PRNGKey(1)
    with older(jax):
        return [
            random.normal(key, (5,)),
            jax.jit(lambda key: random.uniform(key, (3, 3), "bfloat16"))(key),
            random.permutation(key, 11),
            random.randint(key, (5,), 0, 100),
            random.gamma(key, 2.0, (5,)),
            random.categorical(key, jnp.zeros((3, 4))),
            jax.grad(lambda x: (x * random.normal(key, (3,))).sum())(2.0),
        ]


@same_as_jax
def test_the_option_counts_where_a_program_draws_not_where_it_is_lowered(jax, jnp):
    key = jax.random.PRNGKey(0)

    def normal(key):
        return jax.random.normal(key, (3,))

    def both(key):
        with older(jax):
            first = normal(key)
        with jax.threefry_partitionable(True):
            return first, normal(key), jax.random.split(key)

    with older(jax):
        traced = jax.jit(normal).trace(key)
    newer = jax.jit(normal).trace(key)
    with older(jax):
        newer = newer.lower()
    loop = jax.jit(lambda key: jax.lax.fori_loop(0, 2, lambda i, c: c + both(key)[0], jnp.zeros(3)))
    return [
        both(key), jax.jit(both)(key), jax.vmap(both)(key[None]), loop(key),
        traced.lower().compile()(key), newer.compile()(key), jax.jit(jax.jacfwd(lambda x: x * both(key)[0]))(1.0),
    ]  # fmt: skip


@same_as_jax
def test_a_jitted_function_is_traced_once_for_each_value_of_the_option(jax, jnp):
    traces = []
    f = jax.jit(lambda key: traces.append(0) or jax.random.bits(key, (3,)))
    key = jax.random.PRNGKey(0)
    found = [f(key)]
    with older(jax):
        found += [f(key), f(key)]
    return [*found, f(key), len(traces)]


@same_as_jax
def test_jaxprs_are_printed_alike_with_both_algorithms(jax, jnp):
    with older(jax):
        return str(jax.make_jaxpr(lambda key: (jax.random.bits(key, (3,)), jax.random.split(key)))(jax.random.key(0)))


@same_as_jax
def test_the_option_can_be_set_for_good(jax, jnp):
    try:
        jax.config.update("jax_threefry_partitionable", False)
        return jax.config.jax_threefry_partitionable, jax.random.bits(jax.random.PRNGKey(0), (3,))
    finally:
        jax.config.update("jax_threefry_partitionable", True)


@pytest.mark.parametrize("width", ["uint8", "uint32"])
def test_more_bits_than_one_range_holds_come_from_several_keys(monkeypatch, width):
    """A range of 2**32 - 1 numbers would fill 16 GiB, so here both libraries believe that it has 7."""
    monkeypatch.setattr(threefry2x32, "_MOST", 7)
    seven = types.SimpleNamespace(**(vars(of_jax.dtypes) | {"iinfo": lambda _: types.SimpleNamespace(max=7)}))
    monkeypatch.setattr(of_jax, "dtypes", seven)
    found = []
    for package in (jitkit, jax):
        with older(package):
            found.append(np.asarray(package.random.bits(package.random.PRNGKey(5), (83,), width)))
    assert found[0].tolist() == found[1].tolist()
