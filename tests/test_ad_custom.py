"""custom_vjp, custom_gradient, closure_convert, custom_jvp under derivatives, and checkpoint, against JAX."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
from lax_oracle import JAXPRS_ARE_OURS
from twin import OURS, THEIRS, raised, same_as_jax

import jitkit


def functions(jax, jnp):
    """Some functions with rules of their own."""

    @jax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    def f_fwd(x, y):
        return f(x, y), (x, jnp.sin(x), y)

    def f_bwd(residuals, g):
        x, sin_x, y = residuals
        return jnp.cos(x) * g * y, sin_x * g

    f.defvjp(f_fwd, f_bwd)

    @jax.custom_jvp
    def h(x, y):
        return jnp.sin(x) * y

    @h.defjvp
    def h_jvp(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return h(x, y), jnp.cos(x) * dx * y + jnp.where(x > 0, dy, dx) * jnp.sin(x)

    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def apply(g, x):
        return g(x["a"]) * 2

    apply.defvjp(lambda g, x: (apply(g, x), x), lambda g, x, ct: ({"a": ct * 5 * x["a"], "b": None},))

    @jax.custom_gradient
    def square(x):
        return x**2, lambda g: (g * x,)

    symbolic = jax.custom_vjp(lambda x, y: x * y)
    symbolic.defvjp(
        lambda x, y: (x.value * y.value, (x.value, y.value)),
        lambda r, g: (g * r[1], g * r[0]),
        symbolic_zeros=True,
    )

    def clipped(low, x):
        inner = jax.custom_vjp(lambda x: x)
        inner.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, low, 1.0),))
        return inner(x)

    return f, h, apply, square, symbolic, clipped


PROGRAMS = {
    "the call": lambda jax, jnp, f, h, *_: (f, 1.0, 2.0),
    "its gradient": lambda jax, jnp, f, h, *_: (jax.grad(f, (0, 1)), 1.0, 2.0),
    "its gradient, jitted inside": lambda jax, jnp, f, h, *_: (jax.grad(lambda x: jax.jit(f)(x, x * 2)), 1.0),
    "its second derivative": lambda jax, jnp, f, h, *_: (jax.jit(jax.grad(jax.grad(lambda x: f(x, x * 2)))), 1.0),
    "its linear part": lambda jax, jnp, f, h, *_: (lambda x: jax.linearize(lambda x: f(x, x * 2), x)[0], 1.0),
    "a tangent": lambda jax, jnp, f, h, *_: (lambda x: jax.jvp(lambda x: f(x, x * 2), (x,), (x,)), 1.0),
    "a function as argument": lambda jax, jnp, f, h, apply, *_: (
        jax.grad(lambda x: jax.jit(lambda x: apply(jnp.sin, x))(x)), {"a": 1.0, "b": 2.0},
    ),
    "symbolic zeros": lambda jax, jnp, f, h, a, s, symbolic, *_: (jax.grad(lambda x: symbolic(x, 2.0)), 3.0),
    "a rule that closes over values": lambda jax, jnp, *rest: (jax.grad(lambda x: rest[-1](-0.1, x * 3) * x), 3.0),
    "custom_gradient": lambda jax, jnp, f, h, a, square, *_: (jax.value_and_grad(square), 3.0),
    "custom_jvp": lambda jax, jnp, f, h, *_: (jax.grad(h, (0, 1)), 0.3, 0.4),
    "custom_jvp twice": lambda jax, jnp, f, h, *_: (jax.grad(jax.grad(h)), 0.3, 0.4),
    "custom_jvp in jits": lambda jax, jnp, f, h, *_: (jax.jit(jax.grad(jax.jit(jax.grad(jax.jit(h))))), 0.3, 0.4),
    "custom_jvp forward": lambda jax, jnp, f, h, *_: (lambda x: jax.jvp(jax.jit(lambda x: h(x, x)), (x,), (x,)), 0.3),
    "custom_vjp in a branch": lambda jax, jnp, f, *_: (
        jax.grad(lambda x: jax.lax.cond(x > 0, lambda: f(x, x), lambda: x)), 0.5,
    ),
    "checkpoint": lambda jax, jnp, *_: (jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), 1.0),
    "its gradient again": lambda jax, jnp, *_: (jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))), 1.0),
    "its tangent": lambda jax, jnp, *_: (
        lambda x: jax.jvp(jax.remat(lambda x: jnp.sin(jnp.sin(x))), (x,), (x,)), 1.0,
    ),
    "its second derivative again": lambda jax, jnp, *_: (
        jax.grad(jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))), 1.0,
    ),
    "checkpoint in a scan": lambda jax, jnp, *_: (
        jax.grad(lambda x: jax.lax.scan(jax.checkpoint(lambda c, y: (jnp.sin(c * y), None)), x[0], x)[0].sum()),
        np.ones((3, 3), np.float32),
    ),
    "checkpoint with statics and closures": lambda jax, jnp, *_: (
        jax.grad(lambda x: jax.checkpoint(lambda y, n: (y**n * x, y), static_argnums=1)(x, 3)[0]), 2.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_printed_is_what_jax_prints(name):
    (theirs, *args), (ours, *_) = (
        PROGRAMS[name](*modules, *functions(*modules)) for modules in (THEIRS, OURS)
    )
    printed = str(jitkit.make_jaxpr(ours)(*args))
    if JAXPRS_ARE_OURS:
        assert printed == str(jax.make_jaxpr(theirs)(*args))
    elif name != "a tangent":
        for a, b in zip(jax.tree.leaves(ours(*args)), jax.tree.leaves(theirs(*args)), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


@same_as_jax
def test_the_rules_are_used(jax, jnp):
    """The values that the rules give, some of which are no derivatives: so it was they."""
    f, _, apply, square, symbolic, clipped = functions(jax, jnp)
    return [
        jax.value_and_grad(f)(1.0, 2.0),
        jax.grad(jax.jit(lambda x: apply(jnp.cos, x)))({"a": 3.0, "b": 1.0}),
        jax.grad(square)(3.0),
        jax.grad(symbolic)(3.0, 4.0),
        jax.grad(lambda x: clipped(-0.1, x * -3))(1.0),
        jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c, x), None), x, None, length=3)[0])(0.5),
        [raised(jax.jvp, lambda x: f(x, x), (1.0,), (1.0,))[0]],
    ]


@same_as_jax
def test_rules_that_do_not_fit_are_refused(jax, jnp):
    def made(fwd, bwd):
        f = jax.custom_vjp(lambda x: x)
        f.defvjp(fwd, bwd)
        return f

    return [
        raised(jax.grad(made(lambda x: (x, None), lambda r, g: g)), 3.0),
        raised(jax.custom_vjp(lambda x: x), 1.0),
        raised(jax.grad(made(lambda x: (x, None), lambda r, g: (jnp.ones(3),))), 3.0)[0],
        raised(jax.grad(made(lambda x: x, lambda r, g: (g,))), 3.0)[0],
    ]


@same_as_jax
def test_closure_convert_makes_arguments_of_what_may_change(jax, jnp):
    def f(y):
        g, hoisted = jax.closure_convert(lambda z: z * jnp.sin(y) + 1, 1.0)
        return g(2.0, *hoisted) * len(hoisted)

    return [jax.grad(f)(0.5), f(0.5)]


@pytest.mark.parametrize("policy", ["everything_saveable", "dots_saveable", "nothing_saveable"])
def test_policies_keep_what_they_say_and_change_no_value(policy):
    keep = getattr(jitkit.checkpoint_policies, policy)

    def f(a):
        return (jitkit.numpy.tanh(a @ a) @ a).sum()

    a = np.arange(9, dtype=np.float32).reshape(3, 3) / 9
    wanted = np.asarray(jitkit.grad(f)(a))
    gradient = jitkit.grad(jitkit.checkpoint(f, policy=keep))
    np.testing.assert_allclose(np.asarray(jitkit.jit(gradient)(a)), wanted, rtol=1e-5)
    inside = next(eqn for eqn in jitkit.make_jaxpr(gradient)(a).eqns if eqn.primitive.name == "remat2")
    again = [eqn.primitive.name for eqn in inside.params["jaxpr"].eqns]
    assert ("tanh" in again) == (policy != "everything_saveable")
    assert again.count("dot_general") == (5 if policy == "nothing_saveable" else 4)
