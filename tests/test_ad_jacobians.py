"""Jacobians and hessians, and derivatives in nests with vmap, against JAX."""

from __future__ import annotations

import numpy as np
import pytest
import wording
from test_ad_rules import assert_printed_alike
from twin import OURS, THEIRS, raised, same_as_jax

X = np.arange(1, 4, dtype=np.float32) / 4


def with_rule(jax, jnp):
    @jax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    f.defvjp(lambda x, y: (f(x, y), (x, jnp.sin(x), y)), lambda r, g: (jnp.cos(r[0]) * g * r[2], r[1] * g))
    return f


NESTS = {
    "vmap(grad)": lambda jax, jnp, f: (jax.vmap(jax.grad(lambda x: jnp.sin(x) * x)), X),
    "jit(vmap(grad)), one argument shared": lambda jax, jnp, f: (
        jax.jit(jax.vmap(jax.grad(lambda x, y: jnp.tanh(x * y).sum()), in_axes=(0, None))), X, X,
    ),
    "grad(vmap)": lambda jax, jnp, f: (jax.grad(lambda x: jax.vmap(lambda y: jnp.sin(y) * x[0])(x).sum()), X),
    "vmap(grad(scan))": lambda jax, jnp, f: (
        jax.vmap(jax.grad(lambda x: jax.lax.scan(lambda c, _: (jnp.sin(c) * x, None), x, None, length=3)[0])), X,
    ),
    "grad(vmap(cond))": lambda jax, jnp, f: (
        jax.grad(lambda x: jax.vmap(lambda y: jax.lax.cond(y > 0.3, jnp.sin, jnp.cos, y))(x).sum()), X,
    ),
    "vmap(grad(checkpoint))": lambda jax, jnp, f: (
        jax.vmap(jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))), X,
    ),
    "vmap(value_and_grad(relu))": lambda jax, jnp, f: (jax.vmap(jax.value_and_grad(jax.nn.relu)), X),
    "vmap(grad(custom_vjp))": lambda jax, jnp, f: (jax.vmap(jax.grad(f, (0, 1)), (0, None)), X, 2.0),
    "grad(vmap(custom_vjp))": lambda jax, jnp, f: (
        jax.grad(lambda x, y: jax.vmap(f, (0, None))(x, y).sum(), (0, 1)), X, 2.0,
    ),
    "jits between them": lambda jax, jnp, f: (
        jax.jit(jax.vmap(jax.jit(jax.grad(jax.jit(f), (0, 1))), (0, None))), X, 2.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTS)
def test_nests_with_vmap_are_printed_as_by_jax(name):
    (theirs, *args), (ours, *_) = (NESTS[name](*modules, with_rule(*modules)) for modules in (THEIRS, OURS))
    assert_printed_alike(theirs, ours, *args)


def shapes_and_values(tree, jax):
    leaves, structure = jax.tree.flatten(tree)
    return str(structure), [(str(x.dtype), x.shape, np.asarray(x).round(4).tolist()) for x in leaves]


@same_as_jax
def test_jacobians_and_hessians_have_the_values_and_trees_of_jax(jax, jnp):
    def f(x, y):
        return {"product": x * y, "sum": (x.sum(),)}

    rule = with_rule(jax, jnp)
    values = [
        jax.jacfwd(lambda x: jnp.sin(x) * x[0])(X),
        jax.jacrev(f, (0, 1))(X, 2.0),
        jax.jacfwd(lambda x, y: (f(x, y), y * jnp.ones(2)), (0, 1), has_aux=True)(X, 2.0),
        jax.jacobian(lambda x: x * x)(1.5),
        jax.jacfwd(lambda z: z * z, holomorphic=True)(1 + 2j),
        jax.hessian(lambda d: jnp.power(d["a"], d["b"]))({"a": X[:2], "b": X[1:]}),
        jax.jit(jax.hessian(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * x.sum(), x.sum())))(X),
        jax.jacrev(lambda x: rule(x, x))(X),
    ]
    refused = [
        raised(jax.jacfwd(lambda x: x), 1),
        raised(jax.jacrev(lambda x: x), 1),
        raised(jax.jacfwd(lambda x: rule(x, x)), X)[0],
        raised(jax.hessian(lambda x: x), np.arange(2)),
    ]
    return [shapes_and_values(value, jax) for value in values], refused


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
@same_as_jax
def test_jacobians_are_printed_as_by_jax(jax, jnp, name):
    def f(x):
        return {"product": x["a"] * x["b"], "tree": (jnp.sin(x["a"]), x["b"] ** 2)}

    derivative = getattr(jax, name)
    traced = [
        jax.make_jaxpr(derivative(jnp.sin))(1.0),
        jax.make_jaxpr(jax.jit(derivative(f)))({"a": 1.0, "b": 2.0}),
        jax.make_jaxpr(derivative(lambda x: jnp.sin(x) * x.sum()))(X),
        jax.make_jaxpr(derivative(lambda x: jax.jit(jnp.sin)(x).astype(jnp.bfloat16)))(np.float32(1)),
        jax.make_jaxpr(jax.jit(derivative(f)))({"a": 1.0, "b": X}),
    ]
    return [str(x) if wording.compared else list(map(str, x.out_avals)) for x in traced]


@same_as_jax
def test_collectives_have_derivatives(jax, jnp):
    lax = jax.lax

    def inside(x):
        return jax.vmap(
            lambda y: lax.psum(jnp.sin(y), "i") * y + lax.ppermute(y * y, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i"
        )(x)

    per_element = jax.vmap(jax.grad(lambda y: lax.psum(jnp.sin(y) * y, "i") * lax.pmean(y, "i")), axis_name="i")
    return shapes_and_values([jax.grad(lambda x: inside(x)[0])(X), per_element(X)], jax)


@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacfwd", "jacrev", "hessian"])
@pytest.mark.parametrize(
    "value", [np.array([1, "a"], object), np.array(["a"]), np.array(["2020-01-01"], "datetime64[D]"), "text"]
)
def test_what_is_no_array_of_numbers_is_refused_in_jaxs_words(transform, value):
    first = []
    for lib, _ in (OURS, THEIRS):
        with pytest.raises(TypeError) as raised:
            getattr(lib, transform)(lambda x: x)(value)
        first.append(str(raised.value).splitlines()[0])
    assert first[0] == first[1]


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "jacobian", "hessian"])
@same_as_jax
def test_without_arguments_to_differentiate_a_jacobian_is_what_it_is_in_jax(jax, jnp, name):
    return raised(lambda: getattr(jax, name)(lambda x, y: {"a": x * y}, argnums=())(2.0, 3.0))
