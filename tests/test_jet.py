"""Taylor series (`jax.experimental.jet`): derivatives of high order beside JAX's, and beside `jvp` of `jvp`"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from twin import JAX_VERSION, same_as_jax

import jitkit
import jitkit.nn
import jitkit.numpy
import jitkit.scipy.special
from jitkit import lax
from jitkit.experimental.jet import jet

X = np.array([[0.3, 0.7], [0.2, 0.9]], np.float32)
PATH = (np.ones_like(X), 0.5 * X, X * X)
FUNCTIONS = {
    "sin": lambda jnp, x: jnp.sin(x),
    "cosh": lambda jnp, x: jnp.cosh(x),
    "exp": lambda jnp, x: jnp.exp(x),
    "log": lambda jnp, x: jnp.log(x),
    "log1p": lambda jnp, x: jnp.log1p(x),
    "tanh": lambda jnp, x: jnp.tanh(x),
    "sqrt": lambda jnp, x: jnp.sqrt(x),
    "power": lambda jnp, x: x**2.5,
    "cube": lambda jnp, x: x**3,
    "product": lambda jnp, x: x * jnp.sin(x),
    "matrices": lambda jnp, x: jnp.tanh(x @ x) @ x + 1,
    "arctan2": lambda jnp, x: jnp.arctan2(x, 1 + x),
    "arcsinh": lambda jnp, x: jnp.arcsinh(x),
    "abs": lambda jnp, x: jnp.abs(x - 0.5),
    "maximum": lambda jnp, x: jnp.maximum(x, 0.5),
    "max": lambda jnp, x: x.max(1),
    "sum": lambda jnp, x: x.sum(0),
    "cumprod": lambda jnp, x: jnp.cumprod(x, 1),
    "index": lambda jnp, x: x[1],
    "concatenate": lambda jnp, x: jnp.concatenate([x, x]),
    "split": lambda jnp, x: jnp.split(x, 2),
    "tree": lambda jnp, x: {"a": x, "b": (x * 2, 3.0)},
    "floor": lambda jnp, x: jnp.floor(x),
}


OF_THIS_VERSION = pytest.mark.skipif(
    JAX_VERSION >= (0, 12), reason="needs jax < 0.12, whose rules and last bits these are"
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=OF_THIS_VERSION) if name == "arcsinh" else name for name in FUNCTIONS]
)
@same_as_jax
def test_a_function_of_a_series_is_the_program_that_it_is_in_jax(jax, jnp, name):
    taylor = importlib.import_module(f"{jax.__name__}.experimental.jet").jet

    def f(x):
        return taylor(lambda y: FUNCTIONS[name](jnp, y), (x,), (PATH,))

    return jax.make_jaxpr(f)(X), jax.tree_util.tree_structure(f(X))


@pytest.mark.parametrize(
    "f",
    [
        *(
            lambda x, name=name: FUNCTIONS[name](jitkit.numpy, x)
            for name in ("sin", "matrices", "arctan2", "cumprod", "power")
        ),
        lambda x: 1 / (1 + x),
        lambda x: x**-2,
        jitkit.scipy.special.erf,
        jitkit.scipy.special.erfinv,
        jitkit.nn.softmax,
        jitkit.nn.softplus,
        jitkit.jit(lambda x: jitkit.numpy.where(x > 0.5, x * x, jitkit.numpy.sin(x))),
        lambda x: lax.dynamic_update_slice(x, x[:1] ** 2, (1, 0)),
        lambda x: jitkit.numpy.asarray(x).at[0].add(x[1] ** 2),
    ],
)
def test_derivatives_are_those_of_jvp_of_jvp(f):
    value, terms = jet(f, (X,), ((np.ones_like(X), np.zeros_like(X), np.zeros_like(X)),))

    def along(g):
        return lambda x: jitkit.jvp(g, (x,), (np.ones_like(X),))[1]

    functions = [f, along(f), along(along(f)), along(along(along(f)))]
    for found, g in zip([value, *terms], functions, strict=True):
        np.testing.assert_allclose(found, g(X), rtol=2e-3, atol=2e-3)


@OF_THIS_VERSION
@same_as_jax
def test_coefficients_may_be_given_without_factorials(jax, jnp):
    taylor = importlib.import_module(f"{jax.__name__}.experimental.jet").jet
    path = (1.0, 0.0), (1.0, 2.0)
    return taylor(jnp.multiply, (0.5, 2.0), path), taylor(jnp.multiply, (0.5, 2.0), path, factorial_scaled=False)


@same_as_jax
def test_series_of_different_lengths_and_trees_are_refused(jax, jnp):
    taylor = importlib.import_module(f"{jax.__name__}.experimental.jet").jet
    found = []
    for arguments in (((0.5, 1.0), ((1.0,), (1.0, 2.0))), (([0.5],), ((1.0,),)), ((0.5,), (([1.0],),))):
        with pytest.raises(ValueError) as error:
            taylor(lambda *x: x[0], *arguments)
        found.append(error.value)
    return found


def test_an_operation_without_a_rule_is_named():
    with pytest.raises(NotImplementedError, match="jet has no rule for 'sort'"):
        jet(jitkit.numpy.sort, (X,), (PATH,))
