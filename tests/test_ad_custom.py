"""custom_vjp, custom_gradient, closure_convert, custom_jvp under derivatives, and checkpoint, against JAX."""

from __future__ import annotations

import functools

import jax
import jax.ad_checkpoint
import numpy as np
import pytest
import wording
from lax_oracle import JAXPRS_ARE_OURS
from test_ad_rules import printed
from twin import OURS, THEIRS, raised, same_as_jax

import jitkit


def functions(jax, jnp):
    """Return some functions with rules of their own."""

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
        lambda x, y: (x.value * y.value, (x.value, y.value)), lambda r, g: (g * r[1], g * r[0]), symbolic_zeros=True
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
    (theirs, *args), (ours, *_) = (PROGRAMS[name](*modules, *functions(*modules)) for modules in (THEIRS, OURS))
    if JAXPRS_ARE_OURS or name != "checkpoint in a scan":  # JAX 0.12 prints another jaxpr for this one
        assert printed(jitkit, ours, *args) == printed(jax, theirs, *args)
    elif name != "a tangent":
        for a, b in zip(jax.tree.leaves(ours(*args)), jax.tree.leaves(theirs(*args)), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


def functions_of_two_results(jax, jnp):
    """Return a function with a JVP rule, and one with a VJP rule; neither rule is the derivative of its function."""

    @jax.custom_jvp
    def forward(x, y):
        return jnp.sin(x), x + jnp.cos(y)

    @forward.defjvp
    def forward_jvp(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return forward(x, y), (jnp.cos(x) * dx * 2.0, dx * 1.5 - jnp.sin(y) * dy)

    @jax.custom_vjp
    def backward(x, y):
        return jnp.sin(x), x + jnp.cos(y)

    backward.defvjp(
        lambda x, y: (backward(x, y), (jnp.cos(x), jnp.sin(y))),
        lambda kept, g: (2.0 * kept[0] * g[0] + 1.5 * g[1], -0.5 * kept[1] * g[1]),
    )
    return forward, backward


ROW = np.arange(3, dtype=np.float32)


def loop(jax, f, x, y):
    def body(carry, _):
        first, second = f(carry, y)
        return first * 1.0, second

    return jax.lax.scan(body, x, None, length=3)


# (function of two results, which of them is read) -> what is traced, and its arguments
WHERE_ONE_IS_READ = {
    "in a checkpoint": lambda jax, jnp, f, k: (jax.checkpoint(lambda x, y: jnp.tanh(f(x, y)[k])), 0.3, 0.4),
    "its gradient": lambda jax, jnp, f, k: (jax.grad(jax.checkpoint(lambda x, y: jnp.tanh(f(x, y)[k]))), 0.3, 0.4),
    "a batch of gradients": lambda jax, jnp, f, k: (
        jax.vmap(jax.grad(jax.checkpoint(lambda x, y: jnp.tanh(f(x, y)[k]))), (0, None)), ROW, 0.4,
    ),
    "the gradient of a batch": lambda jax, jnp, f, k: (
        jax.grad(lambda x, y: jax.vmap(jax.checkpoint(lambda x, y: f(x, y)[k]), (0, None))(x, y).sum()), ROW, 0.4,
    ),
    "in a loop": lambda jax, jnp, f, k: (jax.grad(lambda x, y: jnp.sum(loop(jax, f, x, y)[k])), 0.3, 0.4),
    "in a loop in a checkpoint": lambda jax, jnp, f, k: (
        jax.vmap(jax.grad(lambda x, y: jnp.sum(jax.checkpoint(lambda x, y: loop(jax, f, x, y))(x, y)[k])), (0, None)), ROW, 0.4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("read", [0, 1])
@pytest.mark.parametrize("rule", [0, 1], ids=["jvp", "vjp"])
@pytest.mark.parametrize("name", WHERE_ONE_IS_READ)
def test_what_only_results_that_nobody_reads_need_is_left_out(name, rule, read):
    (theirs, *args), (ours, *_) = (
        WHERE_ONE_IS_READ[name](*modules, functions_of_two_results(*modules)[rule], read) for modules in (THEIRS, OURS)
    )
    if JAXPRS_ARE_OURS or name == "in a checkpoint":  # JAX 0.12 prints other jaxprs for loops and `checkpoint`
        assert printed(jitkit, ours, *args) == printed(jax, theirs, *args)
    for a, b in zip(jax.tree.leaves(ours(*args)), jax.tree.leaves(theirs(*args)), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


def functions_whose_rule_gives_way(jax, jnp):
    """Return functions that compute something else than their `fwd`, so that a result shows which of the two was called."""

    @jax.custom_vjp
    def one(x):
        return jnp.tan(x)

    one.defvjp(lambda x: (jnp.sin(x), (x,)), lambda kept, g: (jnp.cos(kept[0]) * g,), optimize_remat=True)

    @jax.custom_vjp
    def two(x, y):
        return jnp.cos(x) * y

    two.defvjp(
        lambda x, y: (jnp.sin(x) * y, (jnp.cos(x), jnp.sin(x), y)),
        lambda kept, g: (kept[0] * g * kept[2], kept[1] * g),
        optimize_remat=True,
    )

    @jax.custom_vjp
    def with_constants(x):
        return np.ones(1, np.float32) * x

    with_constants.defvjp(
        lambda x: (np.float32([2.0]) * x * x / np.float32([3.0]), (2 * x,)),
        lambda kept, g: (kept[0] * g,),
        optimize_remat=True,
    )
    return one, two, with_constants


RULES_THAT_GIVE_WAY = {
    "alone": lambda jax, jnp, one, two, _: (jax.value_and_grad(one), 3.2),
    "in a checkpoint": lambda jax, jnp, one, two, _: (jax.value_and_grad(lambda x: jax.checkpoint(one)(x) ** 2), 3.2),
    "of two arguments": lambda jax, jnp, one, two, _: (jax.grad(jax.checkpoint(two), (0, 1)), 3.2, 1.0),
    "batches": lambda jax, jnp, one, two, _: (jax.vmap(jax.value_and_grad(jax.checkpoint(two))), ROW, ROW),
    "batches of one": lambda jax, jnp, one, two, _: (jax.vmap(jax.grad(jax.checkpoint(two)), (0, None)), ROW, 1.0),
    "batches of another one": lambda jax, jnp, one, two, _: (
        jax.vmap(lambda x, y: jax.value_and_grad(jax.checkpoint(two))(x, y)[0] * x, (None, 0)), 3.2, ROW,
    ),
    "constants": lambda jax, jnp, one, two, other: (jax.value_and_grad(lambda x: jax.checkpoint(other)(x).sum()), ROW),
    "in a loop": lambda jax, jnp, one, *_: (
        jax.value_and_grad(lambda x: jax.lax.scan(lambda c, _: (jax.checkpoint(one)(c), None), x, None, length=3)[0]), 3.2,
    ),
    "in a branch": lambda jax, jnp, one, *_: (
        jax.value_and_grad(lambda x: jax.lax.cond(x > 0, jax.checkpoint(one), lambda x: x, x)), 3.2,
    ),
    "a tangent": lambda jax, jnp, one, two, _: (lambda x: jax.jvp(jax.grad(one), (x,), (1.0,)), 3.2),
    "in a jit": lambda jax, jnp, one, *_: (jax.value_and_grad(jax.checkpoint(jax.jit(one))), 3.2),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES_THAT_GIVE_WAY)
def test_fwd_gives_way_to_the_function_where_only_results_are_read(name):
    (theirs, *args), (ours, *_) = (
        RULES_THAT_GIVE_WAY[name](*modules, *functions_whose_rule_gives_way(*modules)) for modules in (THEIRS, OURS)
    )
    for made in (lambda f, module: f, lambda f, module: module.jit(f)):
        found, wanted = (jax.tree.leaves(made(f, m)(*args)) for f, m in ((ours, jitkit), (theirs, jax)))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


def test_a_kernel_is_not_called_for_results_that_a_checkpoint_computes_first():
    called = []

    def kernel(x):
        called.append(x)
        return np.sin(x)

    f = jitkit.custom_vjp(lambda x: x + 1.0)
    row = jitkit.ShapeDtypeStruct((3,), np.float32)
    f.defvjp(
        lambda x: (x + 1.0, (jitkit.pure_callback(kernel, row, x),)),
        lambda kept, g: (kept[0] * g,),
        optimize_remat=True,
    )
    jaxpr = jitkit.make_jaxpr(jitkit.grad(lambda x: jitkit.checkpoint(f)(x).sum()))(ROW)
    assert [eqn.primitive.name for eqn in jaxpr.eqns[:1]] == ["closed_call"]
    np.testing.assert_allclose(
        jitkit.jit(jitkit.grad(lambda x: jitkit.checkpoint(f)(x).sum()))(ROW), np.sin(ROW), rtol=1e-6
    )
    assert len(called) == 1


@same_as_jax
def test_optimize_remat_has_its_limits(jax, jnp):
    f = jax.custom_vjp(lambda x: x)
    return raised(f.defvjp, lambda x: (x, None), lambda _, g: (g,), symbolic_zeros=True, optimize_remat=True)


@pytest.mark.parametrize("name", ["checkpoint", "jit"])
def test_a_rule_may_have_constants_of_its_own(name):
    def gradient(jax, jnp):
        @jax.custom_jvp
        def f(x):
            return jnp.sin(x)

        f.defjvp(lambda x, dx: (f(*x), np.float32([1.0, 2.0, 3.0]) * dx[0]))
        return jax.grad(lambda x: getattr(jax, name)(f)(x).sum())

    assert printed(jitkit, gradient(*OURS), ROW) == printed(jax, gradient(*THEIRS), ROW)


# relu has its own derivative rule, whose result can be a symbolic zero.
WITH_RELU = {
    "in a loop": lambda jax: lambda x: jax.lax.scan(lambda c, _: (jax.nn.relu(c) * 2.0, c), x, None, length=3)[0].sum(),
    "in a loop, of a constant": lambda jax: (
        lambda x: jax.lax.scan(lambda c, _: (jax.nn.relu(c) * jax.nn.silu(2.0), c), x, None, length=3)[0].sum()
    ),
    "in a jit": lambda jax: lambda x: jax.jit(lambda x: jax.nn.relu(x) * 3)(x).sum(),
    "in a checkpoint": lambda jax: lambda x: jax.checkpoint(lambda x: jax.nn.relu(x) * 3)(x).sum(),
    "in a branch": lambda jax: lambda x: jax.lax.cond(x.sum() > 0, lambda x: jax.nn.relu(x) * 3, lambda x: x, x).sum(),
}


@pytest.mark.parametrize("argument", [np.float32(0.3), ROW], ids=["a number", "a row"])
@pytest.mark.parametrize("name", WITH_RELU)
def test_gradients_with_relu_are_printed_as_jax_prints_them(name, argument):
    ours, theirs = (modules[0].grad(WITH_RELU[name](modules[0])) for modules in (OURS, THEIRS))
    if JAXPRS_ARE_OURS or name in ("in a jit", "in a branch"):
        assert printed(jitkit, ours, argument) == printed(jax, theirs, argument)
    np.testing.assert_allclose(np.asarray(ours(argument)), np.asarray(theirs(argument)), rtol=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        lambda jax, jnp, x: jnp.split(x, 3)[1],
        lambda jax, jnp, x: jnp.sort(x),
        lambda jax, jnp, x: x[jnp.argsort(x)],
        lambda jax, jnp, x: jnp.interp(x, np.arange(3.0), np.arange(3.0)),
    ],
    ids=["split", "sort", "argsort", "interp"],
)
def test_results_that_nobody_reads_in_a_loop_have_no_name(body):
    def gradient(jax, jnp):
        return jax.grad(
            lambda x: jax.lax.scan(lambda c, _: (c * body(jax, jnp, c).sum(), c), x, None, length=3)[0].sum()
        )

    if JAXPRS_ARE_OURS:  # JAX 0.12 prints other jaxprs for loops
        assert printed(jitkit, gradient(*OURS), ROW) == printed(jax, gradient(*THEIRS), ROW)
    np.testing.assert_allclose(np.asarray(gradient(*OURS)(ROW)), np.asarray(gradient(*THEIRS)(ROW)), rtol=1e-5)


@same_as_jax
def test_rules_for_both_are_set_on_the_outer_function(jax, jnp):
    @jax.custom_vjp
    @jax.custom_batching.custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    @f.def_vmap
    def _(axis_size, in_batched, xs, ys):
        return jnp.cos(xs) * ys, True

    f.defvjp(lambda x, y: (f(x, y), (jnp.cos(x), jnp.sin(x), y)), lambda kept, g: (kept[0] * g * kept[2], kept[1] * g))
    return [jax.vmap(f)(jnp.zeros(3), jnp.ones(3)), jax.grad(f)(0.0, 1.0), raised(getattr, f, "no_such_name")[0]]


@same_as_jax
def test_the_rules_are_used(jax, jnp):
    """The results are what the rules give, and some of these are not derivatives: so the rules were used."""
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


def checkpointed(jax, name):
    """Return functions to checkpoint, by name. Policies must look into the jitted functions and loops that they call."""
    jnp, lax = jax.numpy, jax.lax
    dot = jnp.dot

    def net(x):
        return jnp.sum(jnp.sin(dot(jnp.tanh(dot(x, x)), x)))

    def named(x):
        return jnp.sum(jnp.sin(name(jnp.cos(dot(x, x)), "q") * x))

    return {
        "flat": net,
        "named, jitted": lambda x: jax.jit(named)(x),
        "jit in jit": lambda x: jax.jit(lambda x: jax.jit(net)(x) * 2)(x),
        "results that are residuals": lambda x: jnp.sum(jax.jit(jnp.tanh)(jax.jit(dot)(x, x))),
        "cond": lambda x: lax.cond(jnp.sum(x) > 0, net, lambda x: jnp.sum(x), x),
        "switch": lambda x: lax.switch(1, [lambda x: x, lambda x: dot(x, dot(x, x)), jnp.sin], x).sum(),
        "scan": lambda x: lax.scan(lambda c, _: (jnp.sin(dot(c, x)), jnp.sum(c)), x, None, length=3)[0].sum(),
        "what a scan shares": lambda x: lax.scan(lambda c, y: (jnp.sin(dot(dot(x, x), c) * y), c), x, jnp.ones(3))[
            1
        ].sum(),
        "while": lambda x: (
            dot(x, x).sum() * lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, 1.0))[1]
        ),
        "in another": lambda x: jnp.sum(jax.checkpoint(lambda x: jnp.sin(dot(x, x)))(dot(x, x))),
        "relu": lambda x: jnp.sum(jax.nn.relu(dot(x, x))),
    }


POLICIES = {
    "none": lambda cp: None,
    "everything": lambda cp: cp.everything_saveable,
    "dots": lambda cp: cp.dots_saveable,
    "names": lambda cp: cp.save_only_these_names("q"),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", checkpointed(jax, None))
def test_policies_look_into_calls_and_loops(name, policy):
    """The gradient computes again what JAX's computes again, and keeps what that keeps."""
    a = np.arange(9, dtype=np.float32).reshape(3, 3) / 9
    found = []
    for library, give_name in (
        (jitkit, jitkit.ad_checkpoint.checkpoint_name),
        (jax, jax.ad_checkpoint.checkpoint_name),
    ):
        keep = POLICIES[policy](library.checkpoint_policies)
        f = library.checkpoint(checkpointed(library, give_name)[name], policy=keep)
        gradients = library.grad(f), library.vmap(library.grad(f))
        jaxprs = [str(library.make_jaxpr(g)(x)) for g, x in zip(gradients, (a, a[None]), strict=True)]
        found.append((jaxprs, np.asarray(library.jit(gradients[0])(a))))
    (ours, our_values), (theirs, their_values) = found
    np.testing.assert_allclose(our_values, their_values, rtol=1e-5)
    assert ours == theirs or not (JAXPRS_ARE_OURS and wording.compared)


@same_as_jax
def test_a_checkpointed_function_is_traced_once_for_arguments_of_a_type(jax, jnp):
    traces = []

    def f(x, n, scale=1.0):
        traces.append(n)
        return jnp.sin(x) * n * scale

    g = jax.checkpoint(f, static_argnums=1)
    h = jax.checkpoint(lambda x: traces.append(0) or jnp.cos(x))
    grads = [jax.grad(g)(1.0, 2), jax.grad(g)(1.0, 3), jax.grad(g)(2.0, 3, scale=2.0)]
    return grads, [jax.grad(h)(x) for x in (1.0, 2.0)], jax.grad(lambda x: h(h(x)))(1.0), traces.count(0)


@same_as_jax
def test_what_is_not_mapped_over_may_be_anything_until_sizes_differ(jax, jnp):
    mapped = jax.vmap(lambda f, x, y: f(x, y), (None, 0, 0))
    return raised(mapped, jnp.add, jnp.ones(2), jnp.ones(3))


@same_as_jax
def test_a_number_may_be_a_residual_of_a_product(jax, jnp):
    def f(x):
        return jax.jit(lambda y: jnp.dot(y, jnp.dot(y, 2.0)))(jnp.sin(x))

    dots = jax.checkpoint_policies.dots_saveable
    return [jax.grad(jax.checkpoint(f, policy=dots))(3.0), jax.grad(lambda x: jnp.dot(2.0, x))(3.0)]


@same_as_jax
def test_what_is_looked_at_is_looked_at_again(jax, jnp):
    """A print in a checkpoint runs in the backward pass, too, unless a policy keeps it."""

    def programs(policy):
        def f(x):
            jax.debug.print("{}", x)
            return jnp.sin(jnp.sin(x))

        return str(jax.make_jaxpr(jax.grad(jax.checkpoint(f, policy=policy)))(1.0)).count("debug_print")

    return [programs(None), programs(jax.checkpoint_policies.everything_saveable)]


@same_as_jax
def test_rules_may_close_over_elements_of_a_batch(jax, jnp):
    def rows(z):
        def f(x):
            g = jax.custom_jvp(lambda y: x * y)
            g.defjvp(lambda primals, tangents: (x * primals[0], x * tangents[0] * 3))
            return g(z)

        return jax.vmap(f)(jnp.arange(3.0))

    apply = jax.custom_jvp(lambda x, y: x * y, nondiff_argnums=(0,))
    apply.defjvp(lambda x, primals, tangents: (apply(x, *primals), 5 * tangents[0]))
    column = jnp.array([2.0])
    return [
        jax.jvp(rows, (1.0,), (2.0,)),
        jax.grad(lambda z: rows(z).sum())(2.0),
        str(jax.make_jaxpr(jax.grad(lambda z: rows(z).sum()))(2.0)),
        jax.jvp(lambda y: jax.vmap(apply)(column, y), (column,), (column,)),
    ]


@same_as_jax
def test_tangents_where_the_value_is_no_batch(jax, jnp):
    constant = jax.custom_jvp(lambda x: np.zeros(x.shape, x.dtype))
    constant.defjvp(lambda primals, tangents: (constant(*primals), tangents[0]))
    x = jnp.arange(3.0)
    return [
        jax.jit(jax.vmap(jax.grad(constant)))(x),
        jax.jit(jax.grad(lambda x: jax.vmap(constant)(x).sum()))(x),
        jax.jvp(jax.vmap(constant), (x,), (x,)),
    ]


@same_as_jax
def test_rules_see_zeros_of_elements_in_a_batch(jax, jnp):
    """A zero that is known is one of an element's shape, in both kinds of rules, in arguments and in results."""
    seen = []

    def is_zero(x):
        return type(x).__name__ == "SymbolicZero"

    product = jax.custom_jvp(lambda x, y: (x * y, x))

    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        seen.append([(is_zero(t), t.shape) for t in tangents])
        return product(x, y), (dy * x if is_zero(dx) else dx * y, dx)

    product.defjvp(rule, symbolic_zeros=True)
    double = jax.custom_vjp(lambda x: (x, x * 2))

    def bwd(_, cts):
        seen.append([(is_zero(ct), ct.shape) for ct in cts])
        return (cts[0],)

    double.defvjp(lambda x: (double(x.value), None), bwd, symbolic_zeros=True)
    x = jnp.arange(3.0)
    return [
        jax.jvp(lambda x: jax.vmap(product)(x, x + 1), (x,), (x,)),
        jax.jvp(lambda x: jax.vmap(product, in_axes=(0, None))(x, 2.0), (x,), (x,)),
        jax.jvp(lambda x: jax.vmap(product, in_axes=(None, 0))(2.0, x), (x,), (x,)),
        jax.grad(lambda x: jax.jit(jax.vmap(product))(x, x)[0].sum())(x),
        jax.vmap(jax.grad(lambda x: product(x, 2.0)[0]))(x),
        jax.grad(lambda x: jax.vmap(double)(x)[0].sum())(x),
        seen,
    ]


@same_as_jax
def test_what_is_called_and_how_often(jax, jnp):
    """Rules are called with the values that there are: Python's own branches work in them, and in the function."""
    log = []

    @jax.custom_jvp
    def f(x):
        log.append("f")
        return jnp.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        log.append("rule")
        (x,), (t,) = primals, tangents
        return f(x), jnp.cos(x) * t

    @jax.custom_jvp
    def branching(x):
        return jnp.sin(x) if x > 0 else jnp.cos(x)

    @branching.defjvp
    def _(primals, tangents):
        return branching(*primals), (2 if primals[0] > 0 else 3) * tangents[0]

    x = jnp.arange(1.0, 4.0)
    return [
        jax.grad(branching)(1.0), jax.grad(branching)(-1.0), jax.jvp(branching, (-1.0,), (1.0,)),
        jax.grad(jax.grad(f))(3.0), list(log),
        jax.vmap(f)(x), list(log),
        jax.hessian(lambda x: jax.vmap(lambda x: f(x[None])[0])(x).sum())(x), list(log),
    ]  # fmt: skip


@same_as_jax
def test_tracers_that_a_custom_function_may_not_close_over(jax, jnp):
    def f(x):
        g = jax.custom_jvp(lambda y: x + y)
        g.defjvp(lambda primals, tangents: (g(x), 2 * primals[0]))
        return g(1.0)

    return [raised(jax.jvp, f, (3.0,), (1.0,))[0], raised(jax.grad(f), 3.0)[0]]


@same_as_jax
def test_arguments_that_are_not_differentiated_by_name(jax, jnp):
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,), nondiff_argnames=("g",))
    def f(h, x, g):
        return h(g(x))

    f.defvjp(lambda h, x, g: (f(h, x, g), x), lambda h, g, x, ct: (ct * g(x) * 7,))
    by_name = jax.custom_jvp(lambda x, n: x**n, nondiff_argnames="n")
    by_name.defjvp(lambda n, primals, tangents: (primals[0] ** n, n * tangents[0]))
    return [jax.grad(lambda x: f(jnp.sin, x, jnp.cos))(2.0), jax.grad(by_name)(2.0, 3)]


@same_as_jax
def test_a_zero_of_another_shape_is_refused(jax, jnp):
    f = jax.custom_vjp(lambda x, y, z: (x, y, z))
    f.defvjp(
        lambda x, y, z: (f(x.value, y.value, z.value), None),
        lambda _, cts: (cts[1], cts[0], cts[2]),
        symbolic_zeros=True,
    )
    return raised(jax.grad(lambda *xs: f(*xs)[2].sum()), jnp.ones(1), jnp.ones(2), jnp.ones(3))


def where_it_is_traced(jax, jnp, f):
    """Return programs that trace the function before its rule is called, by name."""
    return {
        "jit": lambda x: jax.jit(f)(x)["a"].sum(),
        "scan": lambda x: jax.lax.scan(lambda c, _: (f(c)["a"], None), x, None, length=2)[0].sum(),
        "cond": lambda x: jax.lax.cond(x > 0, lambda x: f(x)["a"], lambda x: x, x).sum(),
        "checkpoint": lambda x: jax.checkpoint(lambda x: f(x)["a"].sum())(x),
    }


def whole_error(f, *args):
    with pytest.raises(Exception) as caught:
        f(*args)
    return type(caught.value).__name__, "\n".join(str(caught.value).split("\n")[:4])


OTHER_RESULTS = {
    "tree": lambda jnp, x: x,
    "shape": lambda jnp, x: {"a": jnp.ones(3) * x},
    "dtype": lambda jnp, x: {"a": (jnp.ones(()) * x).astype("float16")},
}


@pytest.mark.parametrize("place", ["jit", "scan", "cond", "checkpoint"])
@pytest.mark.parametrize("other", OTHER_RESULTS)
@same_as_jax
def test_a_rule_that_returns_another_result_than_the_function_is_refused(jax, jnp, other, place):
    result = functools.partial(OTHER_RESULTS[other], jnp)

    @jax.custom_vjp
    def f(x):
        return {"a": x * 2}

    @jax.custom_jvp
    def g(x):
        return {"a": x * 2}

    f.defvjp(lambda x: (result(x), None), lambda _, ct: (jnp.sum(jax.tree.leaves(ct)[0]),))
    g.defjvp(lambda primals, tangents: (result(*primals), result(*tangents)))
    return [whole_error(jax.grad(where_it_is_traced(jax, jnp, each)[place]), 2.0) for each in (f, g)]


@same_as_jax
def test_a_cotangent_of_another_dtype_is_refused(jax, jnp):
    @jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct.astype("int32"),))
    return raised(jax.grad(lambda x: f(x) + x), 2.0)


@same_as_jax
def test_what_an_integer_result_has_for_a_tangent_is_named(jax, jnp):
    @jax.custom_jvp
    def f(x):
        return jnp.round(x).astype(int)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return raised(jax.jvp, f, (2.0,), (1.0,))


READS_AN_INTEGER = {
    "a vjp": lambda jax, f, g, x: jax.vjp(f, x)[1]((x, FLOAT0)),
    "of a jitted function": lambda jax, f, g, x: jax.vjp(jax.jit(f), x)[1]((x, FLOAT0)),
    "of one of two branches": lambda jax, f, g, x: jax.vjp(
        lambda x: jax.lax.cond(x > 1, f, lambda x: (x, 3), x), x)[1]((x, FLOAT0)),
    "of a carry": lambda jax, f, g, x: jax.vjp(
        lambda x: jax.lax.scan(lambda c, _: (f(c[0]), None), (x, 0), None, length=2)[0], x)[1]((x, FLOAT0)),
    "of what a scan stacks": lambda jax, f, g, x: jax.vjp(
        lambda x: jax.lax.scan(lambda c, _: f(c), x, None, length=2), x)[1]((x, np.zeros(2, FLOAT0.dtype))),
    "given to another rule": lambda jax, f, g, x: jax.grad(lambda x: g(f(x)[1], x))(x),
    "given to another rule in jit": lambda jax, f, g, x: jax.grad(jax.jit(lambda x: g(f(x)[1], x)))(x),
    "given to an operation": lambda jax, f, g, x: jax.grad(lambda x: f(x)[1] * x)(x),
    "given to a jitted function": lambda jax, f, g, x: jax.grad(
        lambda x: jax.jit(lambda n, x: n * x)(f(x)[1], x))(x),
    "as an index": lambda jax, f, g, x: jax.grad(lambda x: (jax.numpy.arange(9.0) * x)[f(x)[1]])(x),
    "as a number of steps": lambda jax, f, g, x: jax.grad(
        lambda x: jax.lax.fori_loop(0, f(x)[1], lambda i, c: c * 2, x))(x),
    "as a Python number": lambda jax, f, g, x: jax.grad(lambda x: x * int(f(x)[1]) + x * f(x)[1].item())(x),
    "of a batch": lambda jax, f, g, x: jax.vmap(jax.grad(lambda x: g(f(x)[1], x)))(jax.numpy.arange(3.0)),
}  # fmt: skip
FLOAT0 = np.zeros((), jax.dtypes.float0)


@pytest.mark.parametrize("name", READS_AN_INTEGER)
@same_as_jax
def test_the_rule_is_called_for_the_cotangent_of_an_integer_result(jax, jnp, name):
    calls = []

    @jax.custom_vjp
    def f(x):
        return x * 2, x.astype("int32") + 1

    def bwd(_, cts):
        calls.append([(str(ct.dtype), np.shape(ct)) for ct in cts])
        return (cts[0] * 7,)

    f.defvjp(lambda x: (f(x), None), bwd)

    @jax.custom_vjp
    def g(n, x):
        return n * x

    g.defvjp(lambda n, x: (n * x, n), lambda n, ct: (np.zeros(np.shape(n), FLOAT0.dtype), ct * 3))
    program = READS_AN_INTEGER[name]
    return (
        program(jax, f, g, jnp.float32(3)),
        calls,
        printed(jax, lambda x: program(jax, f, g, x), 3.0)
        if not name.startswith(("as a", "of a batch", "of one"))
        else None,
    )


@same_as_jax
def test_a_jvp_rule_gets_no_traced_tangent_of_an_integer(jax, jnp):
    integer = jax.custom_vjp(lambda x: x.astype("int32"))
    integer.defvjp(lambda x: (integer(x), x), lambda x, _: (x * 5,))
    tangents = []

    @jax.custom_jvp
    def f(n, x):
        return n * x

    @f.defjvp
    def _(primals, given):
        tangents.append((str(given[0].dtype), np.shape(given[0]), type(given[0]).__name__.endswith("Tracer")))
        return f(*primals), primals[0] * given[1]

    return jax.grad(lambda x: f(integer(x), x))(jnp.float32(3)), tangents


@same_as_jax
def test_zeros_for_the_tangents_of_a_tree(jax, jnp):
    from_primal = jax.custom_derivatives.zero_from_primal
    values = {"x": jnp.ones(2), "y": (jnp.float16(1), jnp.arange(3))}
    zeros = from_primal(values, symbolic_zeros=True)

    def described(zeros):
        return jax.tree.map(lambda zero: (zero.shape, str(zero.dtype)), zeros)

    return described(from_primal(values)), described(zeros), type(zeros["x"]).__name__


WRONG_RESULTS = {
    "another tree": lambda jnp, x: (jnp.sin(x), x),
    "another shape": lambda jnp, x: jnp.ones(3),
    "another dtype": lambda jnp, x: jnp.sin(x).astype("float16"),
}


@pytest.mark.parametrize("name", WRONG_RESULTS)
@same_as_jax
def test_a_rule_with_another_result_is_refused_in_a_jitted_batch_too(jax, jnp, name):
    def wrong(x):
        return WRONG_RESULTS[name](jnp, x)

    def forward(primals, tangents):
        return wrong(*primals), jax.tree.map(lambda x: jnp.ones_like(x), wrong(*primals))

    def decorated(decorator):
        @decorator
        def f(x):
            return jnp.sin(x)

        return f

    f, g = decorated(jax.custom_jvp), decorated(jax.custom_vjp)
    f.defjvp(forward)
    g.defvjp(lambda x: (wrong(x), None), lambda residuals, ct: (ct,))
    x = np.ones((1, 2), np.float32)
    return [raised(jax.grad(lambda x, h=h: jax.jit(jax.vmap(h))(x).sum()), x) for h in (f, g)]
