"""What a gradient saves for the reverse pass: names, policies, the list of residuals; loops under `checkpoint`; against
JAX.
"""

from __future__ import annotations

import contextlib
import importlib
import io

import numpy as np
import pytest
from lax_oracle import JAXPRS_ARE_OURS
from tails import keeping
from twin import OURS, THEIRS, same_as_jax

import jitkit

WEIGHTS = [np.ones(shape, np.float32) for shape in ((5, 4), (6, 5), (7, 6))]
ROW = np.ones(4, np.float32)


def saved(jax):
    """Return the module `ad_checkpoint` of a library."""
    return importlib.import_module(f"{jax.__name__}.ad_checkpoint")


def network(jax, jnp, named):
    """Return a network of three layers, whose results have names if `named`."""
    name = saved(jax).checkpoint_name if named else lambda x, name: x

    def layer(w, x):
        return jnp.sin(jnp.dot(w, x))

    def f(w1, w2, w3, x):
        for w, letter in ((w1, "a"), (w2, "b"), (w3, "c")):
            x = name(layer(w, x), name=letter)
        return x

    return f


POLICIES = {
    "no checkpoint": None,
    "no policy": lambda policies: None,
    "dots": lambda policies: policies.dots_saveable,
    "dots without batches": lambda policies: policies.dots_with_no_batch_dims_saveable,
    "everything": lambda policies: policies.everything_saveable,
    "nothing": lambda policies: policies.nothing_saveable,
    "a name": lambda policies: policies.save_only_these_names("b"),
    "but a name": lambda policies: policies.save_any_names_but_these("b"),
    "one of two": lambda policies: policies.save_from_both_policies(
        policies.save_only_these_names("a"), policies.dots_saveable
    ),
}


def _with_policy(modules, name, f):
    made = POLICIES[name]
    return f if made is None else modules[0].checkpoint(f, policy=made(modules[0].checkpoint_policies))


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_saved_is_printed_as_jax_prints_it(name):
    printed = []
    for modules in (THEIRS, OURS):
        f = _with_policy(modules, name, network(*modules, named=True))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            saved(modules[0]).print_saved_residuals(f, *WEIGHTS, ROW)
        printed.append(out.getvalue())
    assert printed[1] == printed[0]
    assert "from the argument w2" in printed[1]


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "one of two"])  # whose policy is a function
def test_gradients_with_policies_are_printed_as_jax_prints_them(name):
    def gradient(modules):
        f = _with_policy(modules, name, network(*modules, named=True))
        return modules[0].grad(lambda *args: f(*args).sum(), argnums=(0, 3))

    def printed(modules):
        return str(modules[0].make_jaxpr(gradient(modules))(*WEIGHTS, ROW))

    if JAXPRS_ARE_OURS:
        assert printed(OURS) == printed(THEIRS)
    for ours, theirs in zip(gradient(OURS)(*WEIGHTS, ROW), gradient(THEIRS)(*WEIGHTS, ROW), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)


@same_as_jax
def test_names_are_part_of_the_program(jax, jnp):
    name = saved(jax).checkpoint_name

    def f(x):
        return name({"a": jnp.sin(x), "b": x}, "both")

    return [
        f(jnp.float32(2.0)),
        jax.vmap(lambda x: name(x, "row") * 2)(jnp.arange(3.0)),
        jax.jit(jax.grad(lambda x: name(x, "x") ** 3))(2.0),
        str(jax.make_jaxpr(jax.vmap(f))(jnp.arange(3.0))),
        str(jax.make_jaxpr(lambda x: jax.jvp(f, (x,), (x,)))(1.0)),
    ]


def _loops(jax, jnp):
    def over(c, w):
        return jnp.sin(w @ c), c.sum()

    def mixed(c, x):
        i, y = c
        return (i + 1, y * x + jnp.cos(y)), y * i

    matrices = jnp.linspace(-1.0, 1.0, 48).reshape(3, 4, 4)
    return [
        (lambda w: jax.lax.scan(over, jnp.ones(4), w)[0].sum(), matrices),
        (lambda w: jax.lax.scan(over, jnp.ones(4), w, reverse=True)[1].sum(), matrices),
        (
            lambda w: jax.lax.scan(lambda c, _: (jnp.tanh(w[0] @ c), None), jnp.ones(4), None, length=3)[0].sum(),
            matrices,
        ),
        (lambda x: jax.lax.scan(mixed, (0, x), jnp.arange(3.0))[0][1], jnp.float32(0.3)),
        (lambda x: jax.lax.scan(mixed, (0, 1.0), jnp.arange(3.0) * x)[1].sum(), jnp.float32(0.3)),
        (lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * x, x), jnp.float32(0.3)),
        (lambda x: jax.lax.cond(x > 0, lambda: jnp.sin(x) * x, lambda: x), jnp.float32(0.3)),
    ]


@pytest.mark.parametrize("policy", keeping(["none", "dots_saveable", "everything_saveable"], "dots_saveable"))
def test_loops_in_a_checkpoint_have_gradients(policy):
    """A loop of pairs is taken apart into one that is run again, and one that is transposed."""
    grad = jitkit.grad
    keep = None if policy == "none" else getattr(jitkit.checkpoint_policies, policy)
    for f, x in _loops(*OURS):
        g, expected = jitkit.checkpoint(f, policy=keep), grad(f)(x)
        np.testing.assert_allclose(grad(g)(x), expected, rtol=2e-6)
        np.testing.assert_allclose(jitkit.jit(grad(g))(x), expected, rtol=2e-6)
        twice = [grad(lambda x, h=h: grad(h)(x).sum())(x) for h in (g, f)]
        np.testing.assert_allclose(*twice, rtol=2e-5, atol=1e-6)


def test_rules_with_loops_over_tangents_are_transposed():
    """The rule's loop computes values and tangents together."""
    jnp = jitkit.numpy

    @jitkit.custom_jvp
    def power(x):
        return x**3

    @power.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents

        def step(pair, _):
            y, dy = pair
            return (y * x, dy * x + y * t), None

        return jitkit.lax.scan(step, (jnp.ones_like(x), jnp.zeros_like(x)), None, length=3)[0]

    assert float(jitkit.grad(power)(2.0)) == pytest.approx(12.0)
    assert float(jitkit.jit(jitkit.grad(jitkit.grad(power)))(2.0)) == pytest.approx(12.0)


def test_equations_of_a_gradient_come_from_the_lines_of_the_function():
    def f(x):
        return jitkit.jit(jitkit.numpy.sin)(x) * x

    jaxpr = jitkit.make_jaxpr(jitkit.grad(jitkit.checkpoint(f)))(1.0)
    line = f.__code__.co_firstlineno + 1
    assert f"{__file__}:{line}" in jaxpr.pretty_print(source_info=True, use_color=False)


# --- arguments that are static, and what is hidden from XLA ---------------------------------------------------------


@same_as_jax
def test_a_checkpoint_with_static_arguments_is_traced_once(jax, jnp):
    traces = []

    def power(x, n, names):
        traces.append(n)
        return jnp.sin(x) ** n * len(names)

    f = jax.checkpoint(power, static_argnums=(1, -1))
    names = ["a", "b"]
    values = [f(2.0, 3, names), f(2.5, 3, names), jax.grad(f)(2.0, 3, names), f(2.0, 2, names), f(2.0, 2, ["a"])]
    return values, traces


@same_as_jax
def test_what_is_not_hidden_from_xla_is_said_for_each_argument(jax, jnp):
    hidden = ({"W": False, "x": True}, False)
    layer = jax.checkpoint(lambda args, b: jnp.sin(args["x"] @ args["W"]) * b, prevent_cse=hidden)

    def loss(W, x, b):
        inner = layer({"W": W, "x": x}, b)
        return jnp.sum(jax.checkpoint(lambda x: layer({"W": W, "x": x}, b), prevent_cse=(False,))(inner))

    args = np.eye(3, dtype=np.float32) * 2, np.ones(3, np.float32), 0.5
    gradient = jax.grad(loss, (0, 1, 2))
    barriers = [line.count("%") for line in jax.jit(gradient).lower(*args).as_text().splitlines() if "barrier" in line]
    batched = jax.vmap(jax.grad(loss, 1), (None, 0, None))
    programs = [
        str(jax.make_jaxpr(gradient)(*args)),
        str(jax.make_jaxpr(batched)(args[0], np.eye(3, dtype=np.float32), 0.5)),
    ]
    return gradient(*args), barriers, programs if JAXPRS_ARE_OURS else []


@pytest.mark.parametrize(
    "options", [{"prevent_cse": 3}, {"prevent_cse": (True,)}, {"static_argnums": 5}, {"static_argnums": [1]}]
)
def test_what_a_checkpoint_does_not_take_is_refused_as_by_jax(options):
    first = []
    for jax, _ in (OURS, THEIRS):
        with pytest.raises((TypeError, ValueError)) as raised:
            jax.checkpoint(lambda a, b: a * b, **options)(1.0, 2.0)
        first.append((raised.type, str(raised.value).splitlines()[0].partition(":")[0]))
    assert first[0] == first[1]
