"""`flatten_util.ravel_pytree` against JAX's: the vector, the function that unravels it, and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tails import one_in
from twin import OURS, THEIRS, difference, outcome, plain, raised, same_as_jax

import jitkit
from jitkit.flatten_util import ravel_pytree

TREES = {
    "one dtype": lambda jnp: {"w": jnp.ones((2, 3)), "b": (jnp.zeros(3), jnp.float32(7))},
    "several dtypes": lambda jnp: [jnp.arange(3), jnp.ones((2, 1)), jnp.ones(2, bool), jnp.complex64(1j)],
    "bfloat16 and float16": lambda jnp: (jnp.ones(2, "bfloat16"), jnp.ones(1, "float16")),
    "integers": lambda jnp: (jnp.ones(2, "int8"), jnp.full(2, 200, "uint8")),
    "Python numbers": lambda jnp: [1, 2.0, jnp.float16(3)],
    "only Python numbers": lambda jnp: {"a": 1, "b": 2},
    "numpy arrays": lambda jnp: [np.ones(2, np.float32), np.arange(2, dtype=np.int32)],
    "an empty array": lambda jnp: [jnp.zeros((0, 3)), jnp.ones(())],
    "one array": lambda jnp: jnp.ones((2, 2)),
    "None": lambda jnp: [None, jnp.ones(1)],
    "nothing": lambda jnp: {},
}


def there_and_back(jax, jnp, make_tree):
    tree = make_tree(jnp)
    flat, unravel = jax.flatten_util.ravel_pytree(tree)
    return flat, unravel(flat), unravel(flat + flat)


@pytest.mark.parametrize("name", one_in(2, list(TREES)))
def test_the_vector_and_the_way_back_agree_with_jax(name):
    ours, theirs = (outcome(there_and_back, *modules, make_tree=TREES[name]) for modules in (OURS, THEIRS))
    assert difference(ours, theirs) is None


@pytest.mark.parametrize("name", TREES)
def test_the_jaxpr_is_that_of_jax(name):
    def traced(jax, jnp):
        leaves, treedef = jax.tree.flatten(TREES[name](jnp))
        return jax.make_jaxpr(lambda *xs: there_and_back(jax, jnp, lambda _: treedef.unflatten(xs)))(*leaves)

    ours, theirs = traced(*OURS), traced(*THEIRS)
    assert str(ours) == str(theirs)
    assert list(map(plain, ours.out_avals)) == list(map(plain, theirs.out_avals))


@same_as_jax
def test_a_vector_that_does_not_fit_is_refused(jax, jnp):
    _, same = jax.flatten_util.ravel_pytree([jnp.ones(2), jnp.ones(1)])
    _, mixed = jax.flatten_util.ravel_pytree([jnp.ones(2), jnp.arange(1)])
    return (
        raised(same, jnp.ones(4)),
        raised(same, jnp.ones((3, 1))),
        raised(mixed, jnp.ones(3, "float16")),
        raised(mixed, jnp.arange(3)),
        raised(jax.flatten_util.ravel_pytree, ["a"]),
        same(jnp.arange(3)),
    )


def test_the_way_back_does_not_warn_of_lost_imaginary_parts():
    flat, unravel = ravel_pytree([jitkit.numpy.ones(1), jitkit.numpy.complex64(1j)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = unravel(flat)
    assert (first.dtype, second.dtype) == (np.float32, np.complex64)


@same_as_jax
def test_two_ways_back_are_equal_when_they_do_the_same(jax, jnp):
    traces = []

    def loss(flat, unravel):
        traces.append(unravel)
        return unravel(flat)["w"].sum()

    f = jax.jit(loss, static_argnums=1)
    for shape in [(2, 3), (2, 3), (3, 2)]:
        f(*jax.flatten_util.ravel_pytree({"w": jnp.ones(shape)}))
    return len(traces), f._cache_size()


@same_as_jax
def test_parameters_of_a_network_go_through_jit_as_a_vector(jax, jnp):
    params = [{"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}, {"w": jnp.ones((2, 1)), "b": jnp.zeros(1)}]
    flat, unravel = jax.flatten_util.ravel_pytree(params)

    @jax.jit
    def step(flat, x):
        for layer in unravel(flat):
            x = jnp.dot(x, layer["w"]) + layer["b"]
        return flat - 0.5 * x.sum()

    return step(flat, jnp.ones(3))
