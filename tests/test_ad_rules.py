"""The derivative of each operation against JAX: printed to the letter, in both directions; and against finite differences.

Equal jaxprs have equal values, since each primitive is compared with JAX elsewhere. So values are compared here only with
finite differences, which use no rule.
"""

from __future__ import annotations

import re

import jax
import jax.numpy
import numpy as np
import pytest
import wording
from lax_oracle import JAXPRS_ARE_OURS

import jitkit
import jitkit.numpy

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 4
S = np.float32(0.3)

ONE = [
    "exp", "exp2", "expm1", "log", "log1p", "logistic", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "atanh", "sqrt", "rsqrt", "cbrt", "square", "erf", "erfc", "erf_inv", "lgamma",
    "digamma", "neg", "abs", "sign", "floor", "ceil", "round", "reciprocal",
]  # fmt: skip
TWO = ["add", "sub", "mul", "div", "rem", "max", "min", "atan2", "pow"]

# Scalar functions of x: what is printed for their gradients.
SCALARS = """
lax.acosh(x[1, 2])
x[0, 0] ** 2.5 + 2.0 ** x[0, 1] + (x[0] ** x[1]).sum()
(x ** 2 + x ** 0 + x ** 1 + x ** -2).sum()
(jnp.sin(x).T * 2).sum()
x.reshape(6)[2] * x[0, 1]
lax.reshape(x, (3, 2), (1, 0))[0, 1]
jnp.concatenate([x, x * 2]).sum()
jnp.stack([x, x * x])[1].mean()
jnp.unstack(x)[1].sum()
jnp.split(x, 3, axis=1)[1].sum()
jnp.tile(x, (2, 1)).sum()
jnp.repeat(x, 2, axis=0).sum()
jnp.pad(x, ((1, 2), (0, 1))).sum() * x[0, 0]
lax.pad(x, x[0, 0], ((1, 2, 1), (0, -1, 2))).sum()
x[::2, 1:].sum()
(x[:, None] * x).sum()
jnp.broadcast_to(x[0], (4, 3)).sum()
jnp.flip(x, 1)[0, 0] * x[1, 1]
jnp.roll(x, 1)[0, 0]
jnp.where(x > 0.5, x, x * 3).sum()
jnp.select([x > 1.0, x > 0.5], [x, x * x], 0.0).sum()
lax.select_n(lax.convert_element_type(x, 'int32'), x, x * x, x + x).sum()
jnp.clip(x, 0.3, 1.0).sum()
lax.clamp(x[0], x[1], x[0] * 2).sum()
jnp.max(x) * x[0, 0]
jnp.min(x, axis=1).sum()
jnp.prod(x)
jnp.prod(x, axis=0)[1]
jnp.var(x)
jnp.cumsum(x, axis=1)[0, 2]
jnp.cumprod(x, axis=1).sum()
lax.cummax(x, 1).sum()
lax.cummin(x, 1, reverse=True).sum()
lax.cumlogsumexp(x, 1).sum()
jnp.sort(x, axis=1)[0, 1]
jnp.argsort(x).sum() * x[0, 0]
jnp.argmax(x) * x[0, 0]
lax.sort((x, x * 2), num_keys=1)[1].sum()
lax.top_k(x, 2)[0].sum()
(x @ x.T)[0, 1]
jnp.einsum('ij,ik->jk', x, x)[0, 1]
lax.dot_general(x[None], x[None], (((2,), (2,)), ((0,), (0,)))).sum()
lax.dot_general(x, x, (((1, 0), (1, 0)), ((), ())))
x.astype(jnp.float16).sum().astype(jnp.float32)
x[jnp.array([0, 1, 0])].sum()
x.at[0, 1].set(3.0).sum()
x.at[jnp.array([0, 0])].set(x).sum()
x.at[0].add(x[1]).sum()
lax.dynamic_slice(x, (0, 1), (2, 1)).sum()
lax.dynamic_update_slice(x, x[:1, :2], (1, 1)).sum()
lax.dynamic_index_in_dim(x, 1).sum()
lax.reduce_precision(x, 5, 10).sum()
lax.optimization_barrier(x)[0, 0] * x[0, 0]
lax.stop_gradient(x).sum() * x[0, 0]
jax.nn.relu(x).sum() * x[0, 0]
jax.nn.softplus(x).sum()
jax.nn.log_softmax(x)[0, 1] + jax.nn.logsumexp(x)
jax.nn.gelu(x).sum() + jax.nn.relu6(x).sum()
jnp.linalg.norm(x)
jnp.maximum(x, 0.5).sum() + jnp.mod(x, 0.4).sum()
jnp.sinc(x).sum()
jnp.abs(x * (1 + 2j)).sum()
jnp.real(jnp.exp(x[0, 0] * (1 + 2j))) * jnp.imag(jnp.conj(lax.complex(x[0, 0], x[0, 1])))
(lax.conv_general_dilated(x[None, None], x[None, None, :1, :2], (1, 1), 'SAME') ** 2).sum()
(lax.conv_general_dilated(x[None, None], x[None, None], (2, 1), [(1, 0), (1, 1)], (1, 2), (2, 1)) ** 2).sum()
lax.conv_general_dilated(x[None], x[:, None, :2], (1,), 'VALID', feature_group_count=2, dimension_numbers=('NCH', 'OIH', 'NCH')).sum()
lax.conv_general_dilated(x[:, None], x[:, None, :2], (1,), 'VALID', batch_group_count=2, dimension_numbers=('NCH', 'OIH', 'NCH')).sum()
jax.random.normal(jax.random.key(0), (3,)).sum() * x[0, 0]
jax.random.uniform(jax.random.PRNGKey(0), (3,), minval=x[0, 0]).sum()
jax.jit(lambda y: y * x)(x[0, 0])[0, 0] + jax.jit(lambda z: (z, x * z))(x)[1].sum()
""".strip().split("\n")

# Functions whose tangents are printed: those without a transpose, or with another form in forward mode.
FORWARD = """
x > 1
jnp.argmax(x)
x.astype(int)
lax.sort((x, x * 2), num_keys=1)[1]
x.at[jnp.array([0, 0])].min(x)
lax.optimization_barrier((x, 1.0))
lax.population_count(x.astype(int))
(jnp.zeros((0, 3)) + x[:0]).sum(0)
jnp.max(x[:, :0], axis=1, initial=0.0)
jnp.prod(x[:0], axis=0)
""".strip().split("\n")


def both(source):
    """Return the function of x whose body is `source`, with JAX and with jitkit."""
    modules = (jax, jax.numpy), (jitkit, jitkit.numpy)
    return [eval(f"lambda x: {source}", {"jax": one, "jnp": numpy, "lax": one.lax, "np": np}) for one, numpy in modules]


# Functions whose derivatives JAX 0.12 writes with other operations, or in another order, than we do: there compared by
# values.
OTHERWISE = {
    *("erf", "erfc", "log", "log1p", "jnp.sinc(x).sum()", "x.at[jnp.array([0, 0])].set(x).sum()"),
    *("x.at[jnp.array([0, 0])].min(x)", "lax.optimization_barrier((x, 1.0))"),
}


def printed(library, f, *args):
    """Return the printed jaxpr without the parameters that JAX 0.12 adds to differentiated loops (`ft_in`, `ft_out`)."""
    return re.sub(r"ft_(in|out)=.*", "", str(library.make_jaxpr(f)(*args)))


def assert_printed_alike(theirs, ours, *args, is_otherwise=False):
    if wording.compared and (JAXPRS_ARE_OURS or not is_otherwise):
        assert printed(jitkit, ours, *args) == printed(jax, theirs, *args)
    else:
        ours, theirs = ours(*args), theirs(*args)
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            if b.dtype != jax.dtypes.float0:
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["abs", "asinh", "expm1", "log1p", "tanh"])
def test_the_derivative_of_a_weak_array_is_as_weak_as_that_of_jax(name):
    theirs, ours = both(f"lax.{name}(jnp.ravel(x)).astype('float32')[0]")
    assert_printed_alike(jax.grad(theirs), jitkit.grad(ours), 0.5)


@pytest.mark.parametrize("name", ONE)
def test_the_derivatives_of_functions_of_one_operand(name):
    theirs, ours = both(f"lax.{name}(x)")
    is_otherwise = name in OTHERWISE
    assert_printed_alike(jax.grad(theirs), jitkit.grad(ours), S, is_otherwise=is_otherwise)
    twice = jax.grad(jax.grad(lambda x: theirs(x) * x)), jitkit.grad(jitkit.grad(lambda x: ours(x) * x))
    assert_printed_alike(*twice, S, is_otherwise=is_otherwise)


@pytest.mark.parametrize("name", TWO)
def test_the_derivatives_of_functions_of_two_operands(name):
    def programs(jax, function):
        return [
            jax.grad(lambda x, y: function(x, y) * x, (0, 1)),
            lambda x, y: jax.vjp(function, x * np.ones(2, np.float32), y)[1](np.ones(2, np.float32)),
            lambda x, y: jax.vjp(function, x, y * np.ones(2, np.float32))[1](np.ones(2, np.float32)),
            lambda x, y: jax.jvp(function, (x, y), (y, x)),
            lambda x, y: jax.jvp(lambda x: function(x, y), (x,), (y,)),
            lambda x, y: jax.jvp(lambda x: function(y, x), (x,), (y,)),
        ]

    pairs = zip(programs(jax, getattr(jax.lax, name)), programs(jitkit, getattr(jitkit.lax, name)), strict=True)
    for theirs, ours in pairs:
        assert_printed_alike(theirs, ours, S, np.float32(0.7))


@pytest.mark.parametrize("source", SCALARS)
def test_gradients_are_printed_as_by_jax(source):
    theirs, ours = both(source)
    assert_printed_alike(jax.grad(theirs), jitkit.grad(ours), X, is_otherwise=source in OTHERWISE)


@pytest.mark.parametrize("source", FORWARD + SCALARS[::4])
def test_tangents_are_printed_as_by_jax(source):
    theirs, ours = both(source)
    assert_printed_alike(
        *(lambda x: jax.jvp(theirs, (x,), (x * 2,)), lambda x: jitkit.jvp(ours, (x,), (x * 2,)), X),
        is_otherwise=source in OTHERWISE,
    )
