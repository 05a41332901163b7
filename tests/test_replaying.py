"""Rules are replayed: the equations that a rule writes the second time are written again with other variables. Only the time
differs.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from twin import JAX_VERSION

import jitkit
import jitkit.numpy as jnp
from jitkit.extend.core import Primitive
from jitkit.interpreters import ad, ad_rules, partial_eval, replaying

LAYERS = 5  # a rule runs in the first two layers, and is replayed in the others


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    """Let each test begin with nothing recorded."""
    replaying.known.clear()


def _layers(np_: Any, x: Any) -> Any:
    for _ in range(LAYERS):
        x = np_.tanh(x @ x) * 2 + np_.where(x > 0, x, 0.5 * x) / np_.mean(x, axis=0) ** 2
    return x


def _wrapped(library: Any, transformation: str) -> Callable[[Any], Any]:
    def scalar(x: Any) -> Any:
        return _layers(library.numpy, x).sum()

    def push(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: library.jvp(f, (x,), (x,))[1]

    made: dict[str, Callable[[Any], Any]] = {
        "nothing": scalar,
        "grad": library.grad(scalar),
        "jvp": push(scalar),
        "vmap": library.vmap(scalar),
        "grad of vmap": library.grad(lambda x: library.vmap(scalar)(x).sum()),
        "vmap of grad": library.vmap(library.grad(scalar)),
        "jvp of grad": push(library.grad(scalar)),
        "grad of grad": library.grad(lambda x: library.grad(scalar)(x).sum()),
    }
    return made[transformation]


@pytest.mark.parametrize(
    "transformation", ["nothing", "grad", "jvp", "vmap", "grad of vmap", "vmap of grad", "jvp of grad", "grad of grad"]
)
def test_what_is_replayed_prints_as_jax_prints_it(transformation: str) -> None:
    x = np.full((2, 3, 3) if "vmap" in transformation else (3, 3), 0.5, np.float32)
    expected = str(jax.make_jaxpr(_wrapped(jax, transformation))(x))
    printed = [str(jitkit.make_jaxpr(_wrapped(jitkit, transformation))(x)) for _ in range(3)]
    if transformation == "grad of grad" and JAX_VERSION >= (0, 11):  # cotangents are added in another order
        equations = [sorted(re.findall(r" = (\w+)", text)) for text in (*printed, expected)]
        assert printed == printed[:1] * 3
        assert equations[0] == equations[-1]
        return
    assert printed == [expected] * 3
    assert any(isinstance(found, replaying._Recording) for found in known()), "something was recorded"


def known() -> list[Any]:
    """Return the recordings so far."""
    return list(replaying.known.recordings.values())


def test_a_rule_is_asked_twice_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = itertools.count()
    cos_p = jitkit.lax.cos_p
    rule = ad_rules.primitive_jvps[cos_p]

    def counting(*args: Any, **params: Any) -> Any:
        next(asked)
        return rule(*args, **params)

    counting.__module__ = "jitkit.counting"
    monkeypatch.setitem(ad_rules.primitive_jvps, cos_p, counting)

    def deep(x: Any) -> Any:
        for _ in range(LAYERS):
            x = jitkit.lax.cos(x)
        return x

    for _ in range(2):
        jitkit.make_jaxpr(jitkit.grad(deep))(1.0)
    assert next(asked) == 2, "once in earnest, once to see what it writes"
    jitkit.clear_caches()
    jitkit.make_jaxpr(jitkit.grad(deep))(1.0)
    assert next(asked) == 5, "2 more, and the look before: clear_caches forgets recordings"


def test_a_rule_of_the_users_is_asked_each_time() -> None:
    asked = itertools.count()
    twice_p = Primitive("twice")
    twice_p.def_abstract_eval(lambda aval: aval)

    def rule(primals: Any, tangents: Any) -> Any:
        next(asked)
        return twice_p.bind(*primals), twice_p.bind(*tangents)

    ad.primitive_jvps[twice_p] = rule

    def deep(x: Any) -> Any:
        for _ in range(LAYERS):
            x = twice_p.bind(x)
        return x

    jitkit.make_jaxpr(lambda x: jitkit.jvp(deep, (x,), (x,)))(1.0)
    assert next(asked) == LAYERS


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, 1.0, True), (2, 2.0), (np.float32(2), 2.0, np.float16(2))])
def test_numbers_that_are_equal_and_written_differently_are_told_apart(values: tuple[Any, ...]) -> None:
    def printed(library: Any, value: Any) -> str:
        return str(library.make_jaxpr(lambda x: library.jvp(lambda x: x * value, (x,), (x,)))(np.ones(3, np.float32)))

    for _, value in itertools.product(range(3), values):
        assert printed(jitkit, value) == printed(jax, value)


def test_options_are_part_of_the_key() -> None:
    def dots(precision: str | None) -> str:
        with jitkit.default_matmul_precision(precision):
            return str(jitkit.make_jaxpr(lambda x: x @ x)(np.ones((2, 2), np.float32)))

    before = [dots(None) for _ in range(3)]
    assert "HIGHEST" not in before[-1]
    assert "HIGHEST" in dots("highest")


def test_arrays_that_are_closed_over_are_constants_in_the_order_of_their_use() -> None:
    def traced(library: Any) -> Any:
        one, two = library.numpy.arange(3.0), library.numpy.arange(3.0) + 1

        def f(x: Any) -> Any:
            for _ in range(LAYERS):
                x = library.numpy.sin(x * two) + one * x
            return x.sum()

        return library.make_jaxpr(library.grad(f))(np.ones(3, np.float32))

    for _ in range(2):
        ours, theirs = traced(jitkit), traced(jax)
        assert str(ours) == str(theirs)
        assert [np.asarray(x).tolist() for x in ours.consts] == [np.asarray(x).tolist() for x in theirs.consts]


def test_each_equation_says_its_own_line() -> None:
    def f(x: Any) -> Any:
        x = jnp.sin(x)
        x = jnp.sin(x)
        x = jnp.sin(x)
        return jnp.sin(x)

    first = f.__code__.co_firstlineno
    for transformed in (f, jitkit.grad(f)):
        eqns = jitkit.make_jaxpr(transformed)(1.0).eqns
        lines = [eqn.source_info.position.line - first for eqn in eqns if eqn.primitive.name == "sin"]
        assert lines == [1, 2, 3, 4]


def test_a_named_scope_is_written_where_it_is_open() -> None:
    def f(x: Any) -> Any:
        for i in range(LAYERS):
            with jitkit.named_scope(f"layer{i}"):
                x = jnp.sin(x)
        return x

    stacks = [eqn.source_info.name_stack for eqn in jitkit.make_jaxpr(f)(1.0).eqns]
    assert stacks == [(f"layer{i}",) for i in range(LAYERS)]


def test_what_warns_warns_each_time() -> None:
    def f(x: Any) -> Any:
        return [jitkit.lax.convert_element_type(x, np.float32) + jnp.float32(i) for i in range(LAYERS)]

    def g(x: Any) -> Any:
        return [x.astype("float64") for _ in range(LAYERS)]

    for fun, argument in ((f, np.ones(2, np.complex64)), (g, np.ones(2, np.float32))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            jitkit.make_jaxpr(fun)(argument)
        assert len(caught) == LAYERS


def test_errors_come_from_the_rule_each_time() -> None:
    def f(x: Any) -> Any:
        return jnp.dot(x, np.ones(4, np.float32))

    for _ in range(3):
        with pytest.raises(TypeError, match="dot_general"):
            jitkit.make_jaxpr(f)(np.ones(3, np.float32))


def test_a_tracer_that_has_escaped_is_told_of_all_the_same() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return jnp.sin(x) + x

    for _ in range(3):
        jitkit.make_jaxpr(keep)(np.ones(3, np.float32))
    with pytest.raises(jitkit.errors.UnexpectedTracerError):
        jitkit.make_jaxpr(lambda x: x + kept[0])(np.ones(3, np.float32))


def test_recordings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "_LIMIT", 10)
    for n in range(1, 30):
        jitkit.make_jaxpr(lambda x: jnp.sin(x) * 2)(np.ones(n, np.float32))
    assert len(known()) <= 10


def test_values_are_those_of_jax() -> None:
    x = np.linspace(0.2, 0.7, 9, dtype=np.float32).reshape(3, 3)
    for _ in range(2):
        ours = jitkit.jit(_wrapped(jitkit, "jvp of grad"))(x)
    np.testing.assert_allclose(ours, jax.jit(_wrapped(jax, "jvp of grad"))(x), rtol=2e-3, atol=1e-4)


def test_only_values_in_the_result_of_a_rule_get_tracers(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    tracer = partial_eval.DynamicJaxprTracer
    make = tracer.__init__
    monkeypatch.setattr(tracer, "__init__", lambda self, *parts: (made.append(self), make(self, *parts))[1])

    def counted(x: Any) -> tuple[int, int]:
        before, equations = len(made), len(x._trace.eqns)
        jnp.mean(x)
        return len(made) - before, len(x._trace.eqns) - equations

    counts: list[tuple[int, int]] = []
    jitkit.make_jaxpr(lambda x: counts.extend(counted(x) for _ in range(3)))(np.ones(3, np.float32))
    (_, equations), _, replayed = counts
    assert equations >= 2, "a mean is a sum and a division"
    assert replayed == (1, equations)
