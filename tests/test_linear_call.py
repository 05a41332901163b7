"""`custom_derivatives.linear_call`: a linear function with a transpose of its own, beside JAX."""

import importlib

import jax as real_jax
import numpy as np
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit.custom_derivatives import linear_call
from tests.twin import raised, same_as_jax


def call_of(jax):
    return importlib.import_module(f"{jax.__name__}.custom_derivatives").linear_call


def divided(jax):
    """Return the function x + x / by, whose quotient is a `linear_call` with its own transpose."""
    return lambda x, by: x + call_of(jax)(lambda by, x: x / by, lambda by, ct: ct / by, by, x)


def transpose_of(jax, f, x):
    return lambda ct: jax.linear_transpose(f, x)(ct)[0]


WAYS = {
    "at once": lambda jax, f: f(9.0, 3.0),
    "jit": lambda jax, f: jax.jit(f)(9.0, 3.0),
    "grad": lambda jax, f: jax.grad(f)(9.0, 3.0),
    "jit(grad)": lambda jax, f: jax.jit(jax.grad(f))(9.0, 3.0),
    "grad of grad": lambda jax, f: jax.grad(jax.grad(f))(9.0, 3.0),
    "jvp": lambda jax, f: jax.jvp(lambda x: f(x, 3.0), (9.0,), (1.0,)),
    "linear_transpose": lambda jax, f: transpose_of(jax, lambda x: f(x, 3.0), 1.0)(18.0),
    "scan": lambda jax, f: jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c, 2.0), None), x, None, length=3)[0])(1.0),
    "checkpoint": lambda jax, f: jax.grad(jax.checkpoint(lambda x: f(x, 2.0)))(1.0),
    "by the residual": lambda jax, f: raised(lambda: jax.grad(f, 1)(9.0, 3.0))[0],
}


@pytest.mark.parametrize("way", WAYS)
@same_as_jax
def test_in_each_transformation(jax, jnp, way):
    return WAYS[way](jax, divided(jax))


PROGRAMS = {
    "the call": lambda jax, f: f,
    "its gradient": lambda jax, f: jax.grad(f),
    "its jvp": lambda jax, f: lambda x, by: jax.jvp(lambda x: f(x, by), (x,), (by,)),
    "its transpose": lambda jax, f: lambda ct, by: transpose_of(jax, lambda x: f(x, 3.0), 1.0)(ct),
    "that of its transpose": lambda jax, f: (
        lambda ct, by: transpose_of(jax, transpose_of(jax, lambda x: f(x, 3.0), 1.0), 1.0)(ct)
    ),
    "what is linear in it": lambda jax, f: lambda x, by: jax.linearize(lambda x: f(x, 2.0), x)[1](x),
}


@pytest.mark.parametrize("program", PROGRAMS)
@same_as_jax
def test_programs_are_those_of_jax(jax, jnp, program):
    return str(jax.make_jaxpr(PROGRAMS[program](jax, divided(jax)))(9.0, 3.0))


@same_as_jax
def test_whoever_transposes_twice_has_the_function_again(jax, jnp):
    """The transpose that is named here is wrong, so that it can be told from the function."""

    def f(x):
        return call_of(jax)(lambda _, x: x * 1.0, lambda _, ct: jnp.full_like(ct, 7.0), (), x)

    once = transpose_of(jax, f, 1.0)
    twice = transpose_of(jax, once, 1.0)
    return [np.asarray(g(1.0)).tolist() for g in (f, once, twice, transpose_of(jax, twice, 1.0))]


@same_as_jax
def test_trees_and_closures(jax, jnp):
    scale = jnp.arange(2.0)

    def f(x):
        return call_of(jax)(
            lambda r, x: {"a": x[0] * r["k"] * scale, "b": x[1] * 2.0},
            lambda r, ct: (ct["a"] * r["k"] * scale, ct["b"] * 2.0),
            {"k": jnp.full(2, 3.0)},
            x,
        )

    x = (jnp.ones(2), 2.0)
    return f(x), jax.linear_transpose(f, x)({"a": jnp.ones(2), "b": 3.0}), jax.grad(lambda x: f(x)["a"].sum())(x)


@same_as_jax
def test_transposes_that_do_not_fit_are_refused(jax, jnp):
    def other_tree(x):
        return call_of(jax)(lambda _, x: x[0], lambda _, ct: ct, (), x)

    def other_shape(x):
        return call_of(jax)(lambda _, x: x.sum(), lambda _, ct: ct, (), x)

    return (
        raised(lambda: jax.linear_transpose(other_tree, (jnp.ones(2), 2.0))(jnp.ones(2))),
        raised(lambda: jax.linear_transpose(other_shape, jnp.ones(2))(1.0)),
        raised(lambda: call_of(jax)(lambda r, x: x, lambda r, ct: ct, "2", 3.0)),
    )


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_batches_of_calls_which_jax_has_not(axes):
    x, by = (jnp.arange(1.0, 4.0) if axis == 0 else jnp.asarray(2.0) for axis in axes)
    f = divided(jitkit)

    def plain(x, by):
        return x + x / by

    for way in (lambda f: f, jitkit.grad, lambda f: lambda x, by: jitkit.linearize(lambda x: f(x, by), x)[1](x)):
        found, expected = (jitkit.vmap(way(g), axes)(x, by) for g in (f, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    gradient = jitkit.grad(lambda x: jitkit.vmap(f, axes)(x, by).sum())(x)
    np.testing.assert_allclose(gradient, jitkit.grad(lambda x: jitkit.vmap(plain, axes)(x, by).sum())(x), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="Batching rule for 'linear_call'"):
        real_jax.vmap(divided(real_jax), axes)(np.asarray(x), np.asarray(by))


def test_what_has_no_derivative_is_said_to_have_none():
    with pytest.raises(AssertionError, match=r"no derivative with respect to its residual.*\n.*stop_gradient"):
        jitkit.grad(lambda by: linear_call(lambda by, x: x / by, lambda by, ct: ct / by, by, 1.0))(2.0)
