"""Derivatives of conditionals, loops and nested calls against JAX: printed to the letter; and against finite differences."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from test_ad_rules import X, assert_printed_alike, both
from twin import raised

import jitkit
import jitkit.numpy as jnp
from jitkit import lax

PROGRAMS = """
lax.cond(x[0, 0] > 0, lambda x: (jnp.sin(x) * x).sum(), lambda x: x[0, 0] * jnp.exp(x[0, 1]) + jnp.ones(3).sum(), x)
lax.switch(1, [lambda x: x * 1.0, lambda x: jnp.cos(x), lambda x: jnp.ones((2, 3))], x).sum()
lax.cond(x[0, 0] > 2, lambda: x * 2, lambda: x * x).sum()
lax.scan(lambda c, y: (c * y, c + y), x[0], x)[0].sum()
lax.scan(lambda c, y: (c * y * x[0, 0], jnp.sin(c) + y), x[0], x)[1].sum()
lax.scan(lambda c, y: (jnp.tanh(c @ x.T @ x + y), c[0]), x[0], x)[1].sum()
lax.scan(lambda c, _: (jnp.sin(c) * x[0], None), x[1], None, length=4)[0].sum()
lax.scan(lambda c, y: (c * y, (c, 1)), x[0], x, reverse=True)[1][0].sum()
lax.scan(lambda c, y: (jnp.sin(c) * y * jnp.sin(x[0]) * x[1] + jnp.exp(x[1]), jnp.where(c > 0, c, y)), x[0], x)[1].sum()
lax.scan(lambda c, y: (lax.cond(c[0] > 1, lambda c: c * y, lambda c: jnp.sin(c), c), c.sum()), x[0], x)[1].sum()
lax.scan(jax.jit(lambda c, y: (c * y, c + y)), x[0], x)[0].sum()
jax.jit(lambda x: lax.scan(lambda c, y: (c * y, c + y), x[0], x)[0].sum())(x)
lax.scan(lambda c, y: (c * (np.arange(3) @ jnp.cos(x[0])), None), x[0], x)[0].sum()
lax.fori_loop(0, 3, lambda i, c: c * x[0] + i, x[1]).sum()
lax.scan(lambda c, y: (c + y.sum() ** 2, c), 0.0, x)[0]
lax.scan(lambda c, y: ((c[0] + y[0], c[1] * y[1]), None), (0.0, 1.0), x)[0][1]
lax.fori_loop(0, 3, lambda i, c: c * x[0, 1], 1.0)
lax.fori_loop(0, 2, lambda i, c: c // 2.5 + c, x[0, 0])
jax.checkpoint(lambda x: jax.jit(lambda y: jnp.where(y > 0, jnp.remainder(y, 0.4) * y, y))(x))(x).sum()
jax.checkpoint(lambda x: lax.cond(x[0, 0] > 0, lambda y: jnp.sin(y) * y, lambda y: y * 2, x))(x).sum()
lax.map(lambda r: jnp.sin(r).sum(), x).sum()
lax.associative_scan(jnp.multiply, x).sum()
jnp.polyval(x[0], x[1, 1])
jax.jit(lambda y: jnp.where(y > x, y, jnp.sin(x)))(x).sum()
lax.scan(lambda c, y: (x[0] * 1.0, jnp.sin(c * x[1])), x[0], x)[1].sum()
lax.scan(lambda c, y: (jnp.clip(c, -1, 1), y * x[0]), 2, x)[1].sum()
jax.grad(lambda y: lax.scan(lambda c, r: (jnp.sin(c) * r * y.sum(), None), x[0], x)[0].sum())(x).sum()
""".strip().split("\n")

WHILE = "lax.while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] + 1, c[1] * x), (0.0, x))[1]"


# Programs that JAX 0.12 writes with other operations than we do: a residual that is a result, `checkpoint` of a cond,
# polynomials, and the second derivative of a scan.
OTHERWISE = {PROGRAMS[7], PROGRAMS[19], "jnp.polyval(x[0], x[1, 1])", PROGRAMS[26]}


@pytest.mark.parametrize("source", PROGRAMS)
def test_both_directions_are_printed_as_by_jax(source):
    theirs, ours = both(source)
    is_otherwise = source in OTHERWISE
    assert_printed_alike(jax.grad(theirs), jitkit.grad(ours), X, is_otherwise=is_otherwise)
    tangents = lambda x: jax.jvp(theirs, (x,), (x * 2,)), lambda x: jitkit.jvp(ours, (x,), (x * 2,))
    assert_printed_alike(*tangents, X, is_otherwise=is_otherwise)


def weak_types(jaxpr):
    """Return for each equation of a jaxpr, ours or JAX's, its primitive and which results are weakly typed; jaxprs
    inside included.
    """
    found = []
    for eqn in jaxpr.eqns:
        found.append((str(eqn.primitive), [x.aval.weak_type for x in eqn.outvars]))
        for name in ("jaxpr", "cond_jaxpr", "body_jaxpr"):
            inner = eqn.params.get(name)
            found += weak_types(getattr(inner, "jaxpr", inner)) if inner else []
    return found


@pytest.mark.parametrize(
    "source", ["lax.fori_loop(0, jnp.round(x).astype(int), lambda i, s: jnp.sin(s), x)", "jnp.where(x, x, 2 * x)"]
)
def test_what_a_weak_scalar_is_counted_up_or_compared_with_is_weak(source):
    theirs, ours = both(source)
    ours, theirs = jitkit.make_jaxpr(ours)(1.5), jax.make_jaxpr(theirs)(1.5)
    assert weak_types(ours) == weak_types(theirs.jaxpr)


def test_all_of_them_agree_with_finite_differences():
    """One program with all of them, in both systems of numbers: the gradient along a direction, and a difference."""
    functions = [both(source)[1] for source in PROGRAMS]

    @jitkit.jit
    def values(x):
        return jnp.stack([f(x) for f in functions])

    direction = np.cos(np.arange(6.0)).reshape(2, 3)
    with jitkit.config.override(enable_x64=True):
        x, step = X.astype(np.float64) + 0.01, 1e-6
        _, tangents = jitkit.jvp(values, (x,), (direction,))
        (cotangents,) = jitkit.vjp(values, x)[1](np.ones(len(functions)))
        wanted = (np.asarray(values(x + step * direction)) - np.asarray(values(x - step * direction))) / (2 * step)
    np.testing.assert_allclose(np.asarray(tangents), wanted, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(np.vdot(np.asarray(cotangents), direction), wanted.sum(), rtol=1e-5)


def test_while_loop_goes_forward_only():
    theirs, ours = both(WHILE)
    assert_printed_alike(lambda x: jax.jvp(theirs, (x,), (x,)), lambda x: jitkit.jvp(ours, (x,), (x,)), 1.5)
    assert float(jitkit.linearize(ours, 1.5)[1](1.0)) == 4 * 1.5**3
    assert raised(jitkit.grad(ours), 1.5) == raised(jax.grad(theirs), 1.5)
    kept = [raised(library.grad(library.checkpoint(f)), 1.5) for library, f in ((jitkit, ours), (jax, theirs))]
    assert kept[0] == kept[1]


def test_a_loop_through_which_no_tangent_goes_is_no_obstacle():
    def f(x):
        return x * lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0)

    assert float(jitkit.grad(f)(2.0)) == 3.0


def test_a_jitted_function_is_linearised_once_for_all_its_calls():
    traces = []

    @jitkit.jit
    def f(x):
        traces.append(x)
        return jnp.sin(x)

    jitkit.grad(lambda x: f(f(f(x))))(1.0)
    jitkit.grad(f)(2.0)
    assert len(traces) == 1
