"""`custom_jvp` against JAX: what is printed, what is computed, what is refused; and the rule, which is kept as it was given."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
from twin import OURS, THEIRS, difference, outcome, plain, raised, same_as_jax

import jitkit
import jitkit.numpy as jnp
from jitkit.custom_derivatives import custom_jvp_call_p
from jitkit.jaxpr import dce_jaxpr

TABLE = np.float32([1, 2])


def product(jax, jnp):
    @jax.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), tangents[0]

    return f


def captured_table(jax, jnp, x):
    @jax.custom_jvp
    def f(x):
        return x * jnp.asarray(TABLE)

    f.defjvps(None)
    return f(x)


def captured_tracer(jax, jnp, x, y):
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x) * y

    f.defjvps(None)
    return f(x)


def trees(jax, jnp, x):
    @jax.custom_jvp
    def f(params, x):
        return {"out": params["w"] * x + params["b"], "in": [x]}

    f.defjvps(None, None)
    return f({"w": x, "b": 1.0}, x)


def static_argument(jax, jnp, x):
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def power(n, x):
        return x**n

    power.defjvp(lambda n, primals, tangents: (power(n, *primals), n * tangents[0]))
    return power(3, x) + power(2, x)


def static_argument_by_name(jax, jnp, x):
    @functools.partial(jax.custom_jvp, nondiff_argnames=("kind",))
    def f(x, kind):
        return jnp.sin(x) if kind == "sin" else x

    f.defjvp(lambda kind, primals, tangents: (f(*primals, kind), tangents[0]))
    return f(x, "sin")


def traced_static_argument(jax, jnp, x, n):
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def scale(n, x):
        return x * n

    scale.defjvp(lambda n, primals, tangents: (scale(n, *primals), tangents[0]))
    return scale(n, x)


PROGRAMS = {
    "two arguments": (lambda jax, jnp, x: product(jax, jnp)(x, 2.0), TABLE),
    "by keyword": (lambda jax, jnp, x: product(jax, jnp)(y=x, x=0.5), TABLE),
    "weak types": (lambda jax, jnp, x: product(jax, jnp)(x, 2), 0.5),
    "a captured array": (captured_table, 3.0),
    "a captured tracer": (captured_tracer, TABLE, 3.0),
    "trees": (trees, TABLE),
    "a static argument": (static_argument, TABLE),
    "a static argument by name": (static_argument_by_name, TABLE),
    "a static argument that is traced": (traced_static_argument, TABLE, 3.0),
    "jit around": (lambda jax, jnp, x: jax.jit(product(jax, jnp))(x, x), TABLE),
    "jit inside": (lambda jax, jnp, x: jax.nn.relu(x) + jax.nn.relu(-x), TABLE),
    "in a loop": (
        lambda jax, jnp, x: jax.lax.scan(lambda c, y: (jax.nn.relu(c + y), product(jax, jnp)(c, y)), 0.0, x),
        TABLE,
    ),
    "in a branch": (
        lambda jax, jnp, x: jax.lax.cond(x[0] > 0, jax.nn.relu, lambda x: product(jax, jnp)(x, x), x),
        TABLE,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_with_a_rule_agree_with_jax(name):
    program, *args = PROGRAMS[name]

    def of(modules):
        return lambda *xs: program(*modules, *xs)

    assert str(jitkit.make_jaxpr(of(OURS))(*args)) == str(jax.make_jaxpr(of(THEIRS))(*args))
    expected = plain(jax.jit(of(THEIRS))(*args))
    assert difference(plain(jitkit.jit(of(OURS))(*args)), expected) is None
    eager = [plain(of(modules)(*[modules[1].asarray(x) for x in args])) for modules in (OURS, THEIRS)]
    assert difference(*eager) is None


@same_as_jax
def test_a_function_without_a_rule_is_refused(jax, jnp):
    return raised(jax.custom_jvp(jnp.sin), 1.0)


@same_as_jax
def test_arguments_that_do_not_fit_are_refused(jax, jnp):
    f = product(jax, jnp)
    keyword_only = jax.custom_jvp(lambda x, *, y: x)
    keyword_only.defjvps(None)
    return raised(f, 1.0), raised(f, 1.0, z=2.0), raised(keyword_only, 1.0, y=2.0)


@same_as_jax
def test_parts_of_a_rule_cannot_have_static_arguments(jax, jnp):
    return raised(jax.custom_jvp(lambda n, x: x, nondiff_argnums=(0,)).defjvps, None)


@same_as_jax
def test_the_function_keeps_its_name_and_text(jax, jnp):
    f = product(jax, jnp)
    return f.__name__, f.__doc__, f.__module__


@same_as_jax
def test_an_eager_call_runs_the_python_function(jax, jnp):
    log = []
    f = jax.custom_jvp(lambda x: log.append(float(x)) or x)
    f.defjvps(None)
    f(jnp.float32(1))
    f(2.0)
    return log


def test_the_equation_keeps_the_rule_and_its_static_arguments():
    def rule(n, primals, tangents):
        return primals[0] * n[0], tangents[0] * n[0]

    f = jitkit.custom_jvp(lambda n, x: x * n[0], nondiff_argnums=(0,))
    assert f.defjvp(rule) is rule
    (eqn,) = jitkit.make_jaxpr(lambda x: f([3], x))(TABLE).eqns[-1:]
    kept = eqn.params["jvp_jaxpr_fun"]
    assert eqn.primitive is custom_jvp_call_p
    assert (kept.jvp, kept.static_args, kept.in_tree.num_leaves) == (rule, ([3],), 1)


def test_a_rule_by_parts_adds_what_each_argument_brings():
    f = jitkit.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda dx, out, x, y: dx * y, lambda dy, out, x, y: x * dy)
    out, tangent = f.jvp((3.0, 4.0), (1.0, 10.0))
    assert (out, float(tangent)) == (12.0, 34.0)
    f.defjvps(None, None)
    assert jitkit.jvp(f, (3.0, 4.0), (1.0, 10.0)) == (12.0, 0.0)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (jitkit.nn.relu, (np.float32([-1, 2]),)),
        (jitkit.nn.relu6, (np.float32([-1, 2, 8]),)),
        (jitkit.nn.log1mexp, (np.float32([0.25, 3]),)),
    ],
)
def test_the_rules_of_activations_are_their_derivatives(function, args):
    _, tangent = function.jvp(tuple(map(jnp.asarray, args)), (jnp.ones_like(args[0]),))
    _, expected = jax.jvp(getattr(jax.nn, function.__name__), args, (np.ones_like(args[0]),))
    np.testing.assert_allclose(tangent, expected, rtol=1e-6)


RULES = {"logaddexp": 2, "logaddexp2": 2, "sinc": 1, "frexp": 1}


@pytest.mark.parametrize("name", RULES)
def test_the_rules_of_numpy_functions_are_their_derivatives(name):
    args = (np.float32([0.5, np.inf, 3]), np.float32([0.25, np.inf, -np.inf]))[: RULES[name]]
    found = []

    def note_rules(jaxpr):
        for eqn in jaxpr.eqns:
            if eqn.primitive is custom_jvp_call_p:
                found.append(eqn.params["jvp_jaxpr_fun"])
            elif "jaxpr" in eqn.params:
                note_rules(eqn.params["jaxpr"])

    note_rules(jitkit.make_jaxpr(getattr(jnp, name))(*args))
    [rule] = found
    primals = tuple(map(jnp.asarray, args))
    ours = rule.jvp(*rule.static_args, primals, tuple(map(jnp.ones_like, primals)))
    if name == "sinc":  # `sinc` has a rule for its value at 0
        theirs = (np.ones(3, np.float32), np.zeros(3, np.float32))
        np.testing.assert_allclose(np.asarray(ours)[:, [0, 2]], np.asarray(theirs)[:, [0, 2]])
        return
    theirs = jax.jvp(getattr(jax.numpy, name), args, tuple(map(np.ones_like, args)))
    for a, b in zip(jitkit.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        if a.dtype == jax.dtypes.float0:  # the tangent of an integer
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_call_that_nobody_reads_is_dead_code():
    jaxpr = jitkit.make_jaxpr(lambda x: (jitkit.nn.relu(x), x)[1])(TABLE)
    assert len(jaxpr.eqns) == 1
    assert dce_jaxpr(jaxpr, True)[0].eqns == []


def test_the_program_has_no_trace_of_the_rule():
    program = outcome(lambda jax, jnp: jax.jit(product(jax, jnp)).lower(TABLE, TABLE).as_text(), *OURS)
    assert "custom_jvp" not in program
    assert program.count("stablehlo.sine") == 1


@same_as_jax
def test_the_rule_of_custom_gradient_returns_a_tuple_a_list_or_one_cotangent(jax, jnp):
    def gradient(rule, *args):
        f = jax.custom_gradient(lambda *args: (jnp.sin(jax.tree.leaves(args)[0]), rule))
        return raised(jax.grad(f, tuple(range(len(args)))), *args)

    tree = {"a": 1.0, "b": 2.0}
    return [
        gradient(lambda g: [g, g], 2.0, 3.0),
        gradient(lambda g: (g, g), 2.0, 3.0),
        gradient(lambda g: g * 2, 2.0),
        gradient(lambda g: [g], 2.0),
        gradient(lambda g: (g,), 2.0),
        gradient(lambda g: ({"a": g, "b": g},), tree),
        gradient(lambda g: {"a": g, "b": g}, tree),
    ]


@same_as_jax
def test_closure_convert_hoists_what_may_be_differentiated_and_a_batch_is_what_it_holds(jax, jnp):
    counts = []

    def f(x):
        converted, consts = jax.closure_convert(lambda a: a * x, x)
        counts.append(len(consts))
        return converted(x, *consts)

    rows, ways = jnp.arange(3.0), [jax.vmap(f), jax.grad(f), jax.vmap(jax.grad(f)), jax.jit(jax.vmap(f))]
    return [way(rows) if way is not ways[1] else way(2.0) for way in ways], counts


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
@same_as_jax
def test_a_position_beyond_the_arguments_is_no_argument_that_is_not_differentiated(jax, jnp, kind):
    f = getattr(jax, kind)(lambda x, y: x * y, nondiff_argnums=(2,))
    f.defvjp(lambda x, y: (x * y, None), lambda n, r, g: (g, g)) if kind == "custom_vjp" else f.defjvp(
        lambda n, p, t: (p[0], t[0])
    )
    return raised(f, 1.0, 2.0), raised(jax.jit(f), 1.0, 2.0)


NOT_LINEAR = {
    "square": lambda jnp, t: t * t,
    "quotient": lambda jnp, t: t / (1 + t),
    "reciprocal": lambda jnp, t: 1 / t,
    "where": lambda jnp, t: jnp.where(t > 0, t, 0.0),
    "dot": lambda jnp, t: jnp.dot(t[None], t[None]),
    "convolution": lambda jnp, t: jnp.convolve(t[None], t[None])[0],
    "sine": lambda jnp, t: jnp.sin(t),
    "by an integer": lambda jnp, t: jnp.asarray(t).astype(int).astype(float),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
@same_as_jax
def test_a_jvp_rule_that_is_not_linear_has_the_error_or_the_zero_of_jax(jax, jnp, name):
    @jax.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def _(primals, tangents):
        return f(*primals), NOT_LINEAR[name](jnp, *tangents)

    ways = [jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f)), lambda x: jax.vjp(f, x)[1](1.0)]
    found = [raised(way, 2.0) for way in ways]
    return [x if x[0] == "nothing was raised" else x[0] for x in found]
