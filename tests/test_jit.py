"""`jit`: when a function is traced, and what a call of it returns, as in JAX."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import inspect
import math
import operator
import pickle
import re
import threading
import types
from typing import NamedTuple

import jax
import numpy as np
import pytest
from twin import plain, raised, same_as_jax

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import core, runtime
from jitkit.interpreters import mlir


def logging_identity(log):
    """Return a function whose traces can be counted."""

    def f(*args, **kwargs):
        log.append((args, kwargs))
        return args, kwargs

    return f


def calls(jax, f, *arguments):
    """Call a jitted function, and return the size of its cache after each call."""
    sizes = []
    for args in arguments:
        f(*args)
        sizes.append(f._cache_size())
    return sizes


def test_plain_data_tells_weak_types_apart():
    """The yardstick itself."""
    assert plain(jnp.asarray(1.0)) != plain(jnp.float32(1.0))
    assert plain(jnp.asarray(1.0)) == plain(jax.numpy.asarray(1.0))
    assert math.isclose(float(jnp.float32(1.0)), 1.0)


# --- what is traced anew ------------------------------------------------------------------------------------


@same_as_jax
def test_the_same_signature_is_traced_once(jax, jnp):
    log = []
    f = jax.jit(logging_identity(log))
    return [f(jnp.arange(3.0)), f(jnp.ones(3)), f(jnp.zeros(3))], len(log), f._cache_size()


@same_as_jax
def test_a_new_shape_dtype_or_weak_type_is_traced_anew(jax, jnp):
    log = []
    f = jax.jit(logging_identity(log))
    for x in (
        jnp.ones(2),
        jnp.ones(3),
        jnp.ones((3, 1)),
        jnp.ones(3, "int32"),
        jnp.float32(2),
        jnp.asarray(2.0),
        jnp.ones(2),
    ):
        f(x)
    return log, f._cache_size()


class Point(NamedTuple):
    x: float
    y: float


SEQUENCES = {
    "an array, and numpy's": lambda jnp: [jnp.ones(3), np.ones(3, np.float32), jnp.ones(3)],
    "scalars of all kinds": lambda jnp: [1.0, jnp.array(1.0), np.float32(1), jnp.float32(1), np.float64(1), 2],
    "integers": lambda jnp: [1, 2, True, np.int64(1), np.int32(1), np.bool_(True), False],
    "numpy of 64 and of 32 bits": lambda jnp: [np.ones(3), np.ones(3, np.float32), np.ones(3, np.float16)],
    "lists and tuples": lambda jnp: [[1.0, 2.0], (1.0, 2.0), [1.0, 2], [1.0, [2.0]]],
    "weak and strong": lambda jnp: [jnp.asarray(1.0), 1.0, jnp.asarray(1.0) * 2],
    "complex": lambda jnp: [1j, np.complex64(1j), jnp.asarray(1j), np.complex128(1)],
    "dicts": lambda jnp: [{"a": 1.0, "b": 2}, {"b": 2, "a": 1.0}, {"a": 1.0}, {}],
    "None and nothing": lambda jnp: [None, (), [], {}, None, (None,)],
    "numpy of other orders": lambda jnp: [np.ones((3, 2), order="F"), np.ones((3, 2)), np.ones((6, 2))[::2]],
    "numpy views and matrices": lambda jnp: [np.ones(3)[:2], np.ones(2), np.ma.ones(2).data],
    "zero sizes": lambda jnp: [np.zeros((0, 3), np.float32), jnp.zeros((0, 3)), jnp.zeros((3, 0))],
    "half precision": lambda jnp: [np.float16(1), jnp.float16(1), jnp.bfloat16(1), jnp.ones(2, "bfloat16")],
    "bytes": lambda jnp: [np.uint8(1), np.int8(1), jnp.uint8(1), np.arange(3, dtype=np.uint8)],
}


@pytest.mark.parametrize("sequence", SEQUENCES)
@same_as_jax
def test_cache_sizes_and_traces_are_those_of_jax(jax, jnp, sequence):
    log = []
    f = jax.jit(logging_identity(log))
    seen = []
    for value in SEQUENCES[sequence](jnp):
        result = f(value)
        seen.append((f._cache_size(), len(log), result))
    return seen, log


@same_as_jax
def test_tree_changes_are_traced_anew(jax, jnp):
    log = []
    f = jax.jit(logging_identity(log))
    values = [
        [1.0, 2.0], (1.0, 2.0), {"a": 1.0, "b": 2.0}, {"b": 3.0, "a": 2.0}, Point(1.0, 2.0), Point(y=1.0, x=2.0),
        collections.OrderedDict(a=1.0, b=2.0), collections.OrderedDict(b=1.0, a=2.0), collections.defaultdict(list, a=1.0),
        (1.0, None), (1.0, [None]), [1.0, (2.0,)],
    ]  # fmt: skip
    return calls(jax, f, *[(v,) for v in values]), log, [f(v) for v in values]


@same_as_jax
def test_keyword_order_does_not_matter_and_positions_do(jax, jnp):
    log = []

    def f(x, y=2):
        log.append((x, y))
        return x

    f = jax.jit(f)
    sizes = []
    for args, kwargs in [
        ((1.0,), {}), ((1.0,), {}), ((1.0, 2), {}), ((1.0,), {"y": 2}), ((), {"x": 1.0, "y": 2}), ((), {"y": 3, "x": 1.0}),
    ]:  # fmt: skip
        f(*args, **kwargs)
        sizes.append((f._cache_size(), len(log)))
    return sizes, log


@same_as_jax
def test_default_arguments_are_constants(jax, jnp):
    log = []

    def f(x, scale=2.0, *, offset=1):
        log.append((x, scale, offset))
        return x * scale + offset

    f = jax.jit(f)
    return f(1.0), f(1.0, 3.0), f(1.0, offset=2), f(1.0, scale=3.0, offset=5), log, f._cache_size()


@same_as_jax
def test_star_arguments_and_keyword_only_ones(jax, jnp):
    log = []

    def f(first, *rest, key, **others):
        log.append((first, rest, key, others))
        return first + sum(rest) + key + sum(others.values())

    f = jax.jit(f)
    return [
        f(1.0, key=2.0), f(1.0, 2.0, 3.0, key=2.0), f(1.0, 5.0, 3.0, key=4.0), f(1.0, key=2.0, b=3.0, a=4.0),
        f(1.0, key=2.0, a=3.0, b=4.0), len(log), f._cache_size(), log,
    ]  # fmt: skip


@same_as_jax
def test_keyword_arguments_may_come_from_a_generator(jax, jnp):
    f = jax.jit(lambda **kwargs: {k: v + 1 for k, v in kwargs.items()})
    return [f(**{name: float(i) for i, name in enumerate("abc")}), f(**dict.fromkeys("cab", 0.0)), f._cache_size()]


@same_as_jax
def test_a_wrong_call_is_pythons_own_error(jax, jnp):
    f = jax.jit(lambda x, y: x)
    return [raised(f, 1.0), raised(f, 1.0, 2.0, 3.0), raised(f, 1.0, z=2.0), f(1.0, 2.0)]


@same_as_jax
def test_results_are_arrays_in_the_tree_that_was_returned(jax, jnp):
    f = jax.jit(lambda x: {"a": [x, 1, 2.5, True, np.int8(3)], "b": (np.arange(3), None), "c": ()})
    return f(1), f(2), [type(leaf).__name__.replace("ArrayImpl", "Array") for leaf in f(1)["a"]]


@same_as_jax
def test_a_function_without_arguments_or_results(jax, jnp):
    log = []
    f = jax.jit(lambda: log.append("traced"))
    g = jax.jit(lambda: ())
    h = jax.jit(lambda: 3)
    k = jax.jit(lambda x: None)
    empty = jax.jit(lambda x: {"a": [], "b": None})
    return f(), f(), log, g(), h(), h(), k(1.0), k(2.0), empty(1.0), f._cache_size(), k._cache_size()


# --- callables of all kinds ---------------------------------------------------------------------------------


@same_as_jax
def test_a_bound_method_is_jitted_with_its_self(jax, jnp):
    log = []

    class Model:
        def __init__(self, w):
            self.w = w

        def apply(self, x):
            log.append(x)
            return self.w * x

    a, b = Model(2.0), Model(3.0)
    f, g = jax.jit(a.apply), jax.jit(b.apply)
    again = jax.jit(a.apply)
    return f(1.0), g(1.0), again(1.0), f(2.0), len(log), f._cache_size(), again._cache_size(), g._cache_size()


@same_as_jax
def test_jit_decorates_a_method_with_a_static_self(jax, jnp):
    log = []

    class Model:
        def __init__(self, w):
            self.w = w

        @functools.partial(jax.jit, static_argnums=0)
        def apply(self, x):
            log.append((self.w, x))
            return self.w * x

        @functools.partial(jax.jit, static_argnames=("self", "n"))
        def power(self, x, n):
            log.append(n)
            return self.w * x**n

        @staticmethod
        @jax.jit
        def double(x):
            return x + x

    a, b = Model(2.0), Model(3.0)
    return [
        a.apply(1.0),
        a.apply(2.0),
        b.apply(1.0),
        a.power(2.0, 3),
        a.power(2.0, n=3),
        b.double(4.0),
        log,
        Model.apply._cache_size(),
    ]


@same_as_jax
def test_a_method_without_static_self_is_refused_by_path(jax, jnp):
    class Model:
        @jax.jit
        def apply(self, x):
            return x

    return raised(Model().apply, 1.0)


@same_as_jax
def test_a_registered_self_is_traced(jax, jnp):
    @jax.tree_util.register_pytree_node_class
    class Model:
        def __init__(self, w):
            self.w = w

        def tree_flatten(self):
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

        @jax.jit
        def apply(self, x):
            return self.w * x

    return Model(2.0).apply(3.0), Model(4.0).apply(3.0), Model.apply._cache_size()


@same_as_jax
def test_callables_of_other_kinds(jax, jnp):
    log = []

    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            log.append(x)
            return x * self.by

    f = jax.jit(Scale(2.0))
    g = jax.jit(functools.partial(lambda a, x: log.append(a) or a + x, 1.0))
    h = jax.jit(functools.partial(lambda x, *, a: a + x, a=5.0))
    add = jax.jit(operator.add)
    return [
        f(1.0),
        f(2.0),
        g(1.0),
        g(2.0),
        h(1.0),
        add(1.0, 2.0),
        add(np.ones(2, np.float32), 2.0),
        len(log),
        f._cache_size(),
    ]


@same_as_jax
def test_a_callable_without_a_signature(jax, jnp):
    f = jax.jit(max)  # `inspect.signature(max)` fails
    return f((1,)), f._cache_size(), raised(lambda: jax.jit(max)(jnp.ones(3), jnp.ones(3)))[0]


@same_as_jax
def test_partials_are_equal_only_to_themselves(jax, jnp):
    log = []

    def f(a, x):
        log.append(a)
        return x

    for _ in range(3):
        jax.jit(functools.partial(f, 1))(1.0)
    kept = functools.partial(f, 2)
    for _ in range(3):
        jax.jit(kept)(1.0)
    return log


@same_as_jax
def test_a_lambda_in_a_loop_is_a_new_function_each_time(jax, jnp):
    log = []
    for _ in range(3):
        jax.jit(lambda x: log.append(x) or x)(1.0)

    def named(x):
        log.append("named")
        return x

    for _ in range(3):
        jax.jit(named)(1.0)
    return log


@same_as_jax
def test_jit_keeps_name_doc_and_function(jax, jnp):
    def f(x, n=2):
        """Doc."""
        return x

    f.attribute = 3
    g = jax.jit(f)
    return g.__name__, g.__qualname__, g.__doc__, g.__module__, g.__wrapped__ is f, callable(g), g.attribute


@same_as_jax
def test_functions_are_called_in_jaxprs_and_programs_what_jax_calls_them(jax, jnp):
    def f(a, x):
        return a * x

    class Add:
        def __call__(self, x):
            return x + 1

        def method(self, x):
            return x + 2

    found = []
    for g in (
        functools.partial(f, 2.0),
        functools.partial(functools.partial(f, 2.0)),
        functools.partial(jax.jit(f), 2.0),
        Add(),
        Add().method,
        functools.partial(Add().method),
        lambda x: x,
        operator.neg,
    ):
        jitted = jax.jit(g)
        text = jitted.lower(1.0).as_text().split(" attributes")[0]
        jaxpr = str(jax.make_jaxpr(jitted)(1.0))
        found.append((jitted.__name__, text, jaxpr, jitted(2.0)))
    return found


@pytest.mark.parametrize(
    "name", ["f_", "__x__", "é", "数", "a b", "a-b", "x.y", "_", "main", "1f", "a/b", 'a"b', "a\\b", "jit", "\n"]
)
@same_as_jax
def test_functions_of_every_name_compile(jax, jnp, name):
    def f(x):
        return x + 1

    def g(x):
        return jax.jit(f)(x["é"][name])

    f.__name__ = g.__name__ = name
    lowered = jax.jit(g).lower({"é": {name: 1.0}})
    symbols = re.findall(r'@"?([^\s("]*)', lowered.as_text())
    return symbols, jax.jit(g)({"é": {name: 1.0}})


@same_as_jax
def test_inner_functions_of_one_name_get_names_of_their_own(jax, jnp):
    def make(n):
        def f(x):
            return x * n

        return jax.jit(f)

    def f_0(x):
        return x * 5.0

    a, b, c = make(2.0), make(3.0), make(4.0)
    text = jax.jit(lambda x: a(x) + b(x) + jax.jit(f_0)(x) + c(x)).lower(1.0).as_text()
    return re.findall(r"func private @([^(]*)", text)


@same_as_jax
def test_what_is_not_callable_is_refused(jax, jnp):
    def generator(x):
        yield x

    return [raised(jax.jit, f) for f in (3, "f", [len], generator, staticmethod(len))], raised(jax.make_jaxpr, 3)


@same_as_jax
def test_jit_without_a_function_is_a_decorator(jax, jnp):
    log = []

    @jax.jit(static_argnums=1)
    def f(x, n):
        log.append(n)
        return x * n

    @jax.jit(static_argnames="n", inline=True)
    def g(x, n=2):
        log.append(n)
        return x**n

    @jax.jit()
    def h(x):
        return x

    return f(2.0, 3), g(3.0), g(3.0, n=3), h(1.0), log, f.__name__


@same_as_jax
def test_jit_of_a_jitted_function(jax, jnp):
    log = []

    def f(x):
        log.append(x)
        return x + 1

    g = jax.jit(jax.jit(f))
    return (g(1.0), g(2.0), len(log), g._cache_size(), str(jax.make_jaxpr(g)(1.0)))


# --- nested jits --------------------------------------------------------------------------------------------


@same_as_jax
def test_a_nested_jit_is_traced_once_a_signature(jax, jnp):
    log = []

    @jax.jit
    def inner(x):
        log.append(x)
        return x * 2

    @jax.jit
    def outer(x):
        return inner(x) + inner(x + 1) + inner(jnp.ones(3)).sum()

    @jax.jit
    def another(x):
        return inner(x)

    results = outer(1.0), outer(2.0), another(3.0)
    inside = inner._cache_size(), len(log)
    results += (inner(4.0), inner(jnp.ones(3)), inner(jnp.ones(2)))
    return results, inside, inner._cache_size(), log


def test_a_nested_jit_called_twice_is_one_function_in_stablehlo():
    @jk.jit
    def inner(x):
        return jnp.sin(x) * 2

    text = jk.jit(lambda x: inner(x) + inner(inner(x))).lower(1.0).as_text()
    assert text.count("func.func private @inner") == 1
    assert text.count("call @inner") == 3


def test_nested_jits_of_one_name_are_two_functions_in_stablehlo():
    def make(n):
        @jk.jit
        def inner(x):
            return x * n

        return inner

    a, b = make(2.0), make(3.0)
    f = jk.jit(lambda x: a(x) + b(x) + a(x + 1.0))
    text = f.lower(1.0).as_text()
    assert text.count("func.func private @inner") == 2
    assert float(f(1.0)) == 2.0 + 3.0 + 4.0


@same_as_jax
def test_nested_jits_in_printed_jaxprs(jax, jnp):
    @jax.jit
    def inner(x, y):
        return x * y

    @functools.partial(jax.jit, inline=True)
    def inlined(x):
        return x + 1

    def outer(x):
        return inner(inlined(x), 2.0) + inner(x, 3.0) + inlined(jax.jit(lambda y: y)(x))

    jaxpr = jax.make_jaxpr(outer)(3.0)
    return str(jaxpr), jax.jit(outer)(3.0)


@same_as_jax
def test_an_inner_function_may_close_over_a_traced_value(jax, jnp):
    log = []

    @jax.jit
    def outer(x, y):
        @jax.jit
        def inner(z):
            log.append(z)
            return x * z

        return inner(y) + inner(2.0) + inner(y)

    return outer(2.0, 3.0), outer(3.0, 4.0), outer(jnp.ones(2), 4.0), log


def test_a_function_that_closes_over_a_traced_value_is_traced_anew_in_the_next_trace():
    """JAX raises an UnexpectedTracerError here, since it has traced `inner` for this signature before."""
    cell = []

    @jk.jit
    def inner(z):
        return cell[-1] * z

    def outer(x):
        cell.append(x)
        result = inner(1.0)
        cell.pop()
        return result

    f, g = jk.jit(outer), jk.jit(lambda x: outer(x * 10))
    assert [float(y) for y in (f(2.0), g(3.0), f(4.0))] == [2.0, 30.0, 4.0]


@same_as_jax
def test_three_levels_share_what_they_close_over(jax, jnp):
    @jax.jit
    def outer(x):
        @jax.jit
        def middle(y):
            @jax.jit
            def innermost(z):
                return x + y + z

            return innermost(x) * innermost(y)

        return middle(x * 2) - x

    jaxpr = str(jax.make_jaxpr(outer)(1.0))
    return outer(3.0), outer(jnp.arange(3.0)), jaxpr


@same_as_jax
def test_a_jit_inside_of_a_trace_with_static_arguments(jax, jnp):
    log = []

    @functools.partial(jax.jit, static_argnames="n")
    def power(x, n):
        log.append(n)
        return x**n

    f = jax.jit(lambda x: power(x, 2) + power(x, n=3) + power(x, 2))
    return f(2.0), power(2.0, 2), log, power._cache_size()


# --- errors leave everything as it was ----------------------------------------------------------------------


@same_as_jax
def test_an_exception_in_the_function_leaves_no_trace(jax, jnp):
    log = []

    @jax.jit
    def f(x):
        log.append(x)
        if len(log) < 3:
            raise ValueError(f"not yet {len(log)}")
        return x + 1

    return [raised(f, 1.0), raised(f, 1.0)], f(1.0), f(1.0), f._cache_size(), len(log), jnp.ones(2) + 1


@same_as_jax
def test_a_signature_that_could_not_be_traced_is_counted(jax, jnp):
    f = jax.jit(lambda x, y: x + y)
    sizes = []
    for args in ((1.0, "text"), (jnp.ones(2), jnp.ones(3)), (jnp.ones(3), jnp.ones(2)), (jnp.ones(2), jnp.ones(3))):
        raised(f, *args)
        sizes.append(f._cache_size())
    f(1.0, 2.0)
    sizes.append(f._cache_size())
    f.clear_cache()
    return [*sizes, f._cache_size()]


@same_as_jax
def test_one_function_has_one_count_for_all_static_arguments(jax, jnp):
    def f(x, n):
        return x if n > 1 else -x

    plain, static, named = jax.jit(f), jax.jit(f, static_argnums=1), jax.jit(f, static_argnames="n")
    donating, kept = jax.jit(f, donate_argnums=0), jax.jit(f, keep_unused=True)
    every = (plain, static, named, donating, kept)
    sizes = []
    for call in (
        lambda: raised(plain, 1.0, 2),
        lambda: static(1.0, 2),
        lambda: static(1.0, 0),
        lambda: named(1.0, 2),
        lambda: named(1.0, n=2),
        lambda: raised(donating, 1.0, 2),
        lambda: static(2.0, 2),
    ):
        call()
        sizes.append([g._cache_size() for g in every])
    return sizes


def test_a_call_that_fails_leaves_no_entry():
    f = jk.jit(lambda x, y: x + y)
    for args in ((1.0,), (1.0, "text"), (jnp.ones(2), jnp.ones(3)), (1, 2**40)):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            f(*args)
    assert not f._jitted.table.entries
    assert not f._jitted.cache.traces


@same_as_jax
def test_an_exception_in_a_nested_function_can_be_caught_while_tracing(jax, jnp):
    @jax.jit
    def inner(x):
        raise ValueError("inner")

    @jax.jit
    def outer(x):
        y = x * 2
        with contextlib.suppress(ValueError):
            inner(y)
        return y + 1

    return outer(1.0), outer(2.0), raised(inner, 1.0)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_while_tracing_leaves_everything_as_it_was(interrupt):
    log = []

    @jk.jit
    def inner(x):
        if not log:
            log.append(1)
            raise interrupt
        return x + 1

    outer = jk.jit(lambda x: inner(x) * 2)
    with pytest.raises(interrupt):
        outer(1.0)
    assert core.trace_state_clean()
    assert outer._cache_size() == 0
    assert not outer._jitted.table.pending
    assert float(outer(1.0)) == 4.0


def test_an_interrupt_while_compiling_leaves_everything_as_it_was(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    f = jk.jit(lambda x: x + 1)
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "compile_text", interrupt)
        with pytest.raises(KeyboardInterrupt):
            f(1.0)
    assert f._cache_size() == 0
    assert float(f(1.0)) == 2.0


@same_as_jax
def test_returning_what_is_no_array_is_refused(jax, jnp):
    def error(result):
        kind, text = raised(jax.jit(lambda x: result), 1.0)
        return kind, text.split(" at ")[0], text.partition(" returned a value")[2]

    return [error(r) for r in ("text", {"a": [1.0, "text"]}, object(), {1, 2}, (1, (lambda: 1,)))]


def test_recursion_without_end_names_the_function():
    @jk.jit
    def endless(x):
        return endless(x)

    with pytest.raises(RecursionError, match="endless") as first:
        endless(1.0)
    assert "while_loop" in str(first.value)

    @jk.jit
    def a(x):
        return b(x)

    @jk.jit
    def b(x):
        return a(x)

    for f in (a, b, jk.jit(lambda x: a(x))):
        with pytest.raises(RecursionError, match="Recursively calling"):
            f(1.0)
    assert core.trace_state_clean()


@same_as_jax
def test_recursion_that_ends_is_fine(jax, jnp):
    @functools.partial(jax.jit, static_argnums=1)
    def factorial(x, n):
        return x if n == 0 else n * factorial(x, n - 1)

    @jax.jit
    def halve(x):
        return x[0] if x.shape[0] == 1 else halve(x[: x.shape[0] // 2])

    return factorial(1.0, 5), halve(jnp.arange(8.0)), factorial._cache_size(), halve._cache_size()


# --- reentrancy ---------------------------------------------------------------------------------------------


@same_as_jax
def test_a_jitted_function_may_be_called_on_values_while_tracing(jax, jnp):
    log = []
    double = jax.jit(lambda x: x * 2)

    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            y = double(3.0)
            log.append((isinstance(y, (jax.core.Tracer,)), float(y), bool(jnp.ones(2).sum() > 1)))
        z = double(x)
        log.append(isinstance(z, jax.core.Tracer))
        return z + y

    return f(1.0), f(2.0), log


@same_as_jax
def test_an_ensure_compile_time_eval_block_inside_of_a_jit_inside_of_a_block(jax, jnp):
    log = []

    @jax.jit
    def inner(x):
        log.append(isinstance(x + 1, jax.core.Tracer))
        return x + 1

    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            y = inner(1.0)
        return x + y

    return f(1.0), log


def test_another_thread_is_not_part_of_the_trace():
    seen = []

    @jk.jit
    def f(x):
        def other():
            seen.append(core.trace_state_clean())
            seen.append(float(jk.jit(lambda y: y + 1)(1.0)))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return x + 1

    assert float(f(1.0)) == 2.0
    assert seen == [True, 2.0]


# --- disable_jit --------------------------------------------------------------------------------------------


@same_as_jax
def test_disable_jit_runs_the_python_function(jax, jnp):
    log = []

    @jax.jit
    def f(x):
        log.append(isinstance(x, jax.core.Tracer))
        return x + 1

    f(1.0)
    with jax.disable_jit():
        inside = f(1.0), f(jnp.ones(2)), f(3)
    f(1.0)
    with jax.disable_jit(), jax.disable_jit(False):
        f(2.0)
    return inside, log, f._cache_size()


@same_as_jax
def test_disable_jit_prints_values(jax, jnp):
    @functools.partial(jax.jit, static_argnums=1)
    def f(x, n):
        return [float(x + i) for i in range(n)]

    with jax.disable_jit():
        return f(jnp.float32(1), 3)


# --- unused and forwarded -----------------------------------------------------------------------------------


def test_unused_arguments_are_left_out_of_the_program():
    def f(x, y, z):
        return x + z

    f.__name__ = "main_with_unused"
    dropped_text = jk.jit(f).lower(1.0, jnp.ones(1000), 2.0).as_text()
    kept_text = jk.jit(f, keep_unused=True).lower(1.0, jnp.ones(1000), 2.0).as_text()
    assert "1000" not in dropped_text
    assert "%arg1: tensor<1000xf32>" in kept_text


@pytest.mark.parametrize("keep_unused", [False, True])
@same_as_jax
def test_unused_arguments_change_no_result(jax, jnp, keep_unused):
    f = jax.jit(lambda x, y, z: (x + z, z), keep_unused=keep_unused)
    return (
        f(1.0, jnp.ones(3), 2.0),
        f(1.0, np.ones(3), 2),
        f(jnp.ones(2), "text" if False else 3, jnp.ones(2)),
        f._cache_size(),
    )


@same_as_jax
def test_forwarded_results_are_equal_to_their_arguments(jax, jnp):
    f = jax.jit(lambda x, y: (x, y, x, y + 1))
    x = jnp.arange(3.0)
    g = jax.jit(lambda x: x)
    nested = jax.jit(lambda x: jax.jit(lambda y: (y, y * 2))(x))
    return f(x, 1), g(x), g(2.0), g(np.float32(3)), g(True), nested(x)


@same_as_jax
def test_dead_code_is_not_in_the_jaxpr_of_the_program(jax, jnp):
    def f(x):
        jnp.sin(x)
        return x * 2

    jaxpr = jax.make_jaxpr(f)(1.0)
    return [str(eqn.primitive) for eqn in jaxpr.jaxpr.eqns], jax.jit(f)(2.0)


# --- constants ----------------------------------------------------------------------------------------------


@same_as_jax
def test_captured_values_become_literals_and_constants(jax, jnp):
    table, scalar, host = jnp.arange(3.0), jnp.float32(2), np.arange(3)
    host_scalar = np.float32(1.5)

    def f(x):
        return table * x + scalar + host + host_scalar + 1

    jaxpr = jax.make_jaxpr(f)(1.0)
    text = str(jaxpr)
    return text, jax.jit(f)(1.0), jax.jit(f)(2), len(jaxpr.consts)


def test_a_large_constant_is_hoisted_out_of_the_text():
    large = jnp.arange(mlir.HOISTED_BYTES, dtype="float32") * 1
    small = jnp.arange(5.0)
    f = jk.jit(lambda x: large.sum() * x + small.sum() + large[0])
    lowered = f.lower(1.0)
    assert len(lowered.as_text()) < 20_000
    expected = jax.jit(lambda x: np.asarray(large).sum() * x + 10.0)(2.0)
    np.testing.assert_allclose(f(2.0), expected, rtol=1e-6)
    np.testing.assert_allclose(f(np.float32(2.0)), expected, rtol=1e-6)
    np.testing.assert_allclose(lowered.compile()(2.0), expected, rtol=1e-6)


@same_as_jax
def test_a_large_numpy_array_reaches_a_function_in_a_function(jax, jnp):
    table = np.arange(70.0 * 80, dtype=np.float32).reshape(70, 80)
    inner = jax.jit(lambda x: jax.jit(lambda x: table @ x)(x) + 1.0)
    return jax.jit(lambda x: inner(x) - inner(-x))(jnp.ones(80))


@same_as_jax
def test_large_constants_in_nested_functions_are_right(jax, jnp):
    a, b = jnp.arange(8192.0), jnp.ones(8192) * 3
    host = np.arange(8192, dtype=np.float32)

    @jax.jit
    def inner(x):
        @jax.jit
        def innermost(y):
            return b * y + a

        return innermost(x) + a

    @jax.jit
    def outer(x, unused, y):
        return (inner(x) - b + host + inner(y))[5:8], y

    return outer(2.0, 1.0, 3.0), outer(2, 1.0, np.float32(3)), inner(1.0)[:3]


@same_as_jax
def test_a_captured_array_indexed_by_a_traced_value_is_recorded(jax, jnp):
    table, matrix = jnp.arange(7.0), jnp.arange(6.0).reshape(2, 3)

    def f(i):
        return table[i], matrix[i, 1], table[i] * table[2], -table

    return jax.jit(f)(1), str(jax.make_jaxpr(f)(1))


@same_as_jax
def test_captured_python_state_is_frozen_at_the_first_call(jax, jnp):
    state = {"scale": 2.0}
    f = jax.jit(lambda x: x * state["scale"])
    first = f(1.0)
    state["scale"] = 3.0
    return first, f(1.0), f(jnp.ones(2))


@same_as_jax
def test_captured_numpy_arrays_are_copied_when_traced(jax, jnp):
    host = np.ones(3, np.float32)
    big = np.ones(10_000, np.float32)
    f = jax.jit(lambda x: (host * x, big[:2] * x, jnp.asarray(big)[:2] * x))
    first = f(1.0)
    host[:] = 5
    big[:] = 5
    return first, f(1.0)


# --- size ---------------------------------------------------------------------------------------------------


@same_as_jax
def test_five_hundred_arguments(jax, jnp):
    f = jax.jit(lambda *xs: (sum(xs[::50]), xs[499]))
    arguments = [jnp.float32(i) for i in range(500)]
    mixed = [np.float32(i) if i % 2 else float(i) for i in range(500)]
    return f(*arguments), f(*mixed), f._cache_size()


@same_as_jax
def test_deep_trees(jax, jnp):
    tree = 1.0
    for i in range(100):
        tree = {"a": [tree], "b": (None, float(i))}
    f = jax.jit(lambda t: jax.tree_util.tree_map(lambda x: x + 1, t))
    out = f(tree)
    return (
        sum(float(x) for x in jax.tree_util.tree_leaves(out)),
        f._cache_size(),
        str(jax.tree_util.tree_structure(out)),
    )


# --- what it is called ----------------------------------------------------------------------------------------


class Adder:
    """A callable without a name."""

    def __call__(self, x):
        return x + 1


class Named(Adder):
    """A callable with a name."""

    __name__ = "named"


class Unprintable(Adder):
    def __repr__(self):
        raise ValueError("no")


def _plain_function(x):
    return x + 1


CALLABLES = {
    "function": lambda jax: _plain_function,
    "lambda": lambda jax: lambda x: x + 1,
    "builtin": lambda jax: operator.neg,
    "jitted": lambda jax: jax.jit(_plain_function),
    "partial": lambda jax: functools.partial(functools.partial(_plain_function)),
    "method": lambda jax: Adder().__call__,
    "without a name": lambda jax: Adder(),
    "partial without a name": lambda jax: functools.partial(Adder()),
    "with a name": lambda jax: Named(),
    "that cannot be printed": lambda jax: Unprintable(),
}


@pytest.mark.parametrize("name", CALLABLES)
@same_as_jax
def test_a_jitted_function_says_what_it_is(jax, jnp, name):
    f = jax.jit(CALLABLES[name](jax))
    return re.sub(r" at 0x\w+", "", repr(f)), f.__name__, f.__qualname__


@pytest.mark.parametrize("name", CALLABLES)
@same_as_jax
def test_make_jaxpr_is_named_after_its_function(jax, jnp, name):
    f = jax.make_jaxpr(CALLABLES[name](jax))
    return f.__name__, f.__qualname__, f.__module__ == jax.__name__


class Scaled:
    """A class whose methods are jitted."""

    @functools.partial(jk.jit, static_argnums=0)
    def twice(self, x):
        """Twice x."""
        return x * 2

    @staticmethod
    @jk.jit
    def thrice(x):
        return x * 3


def test_a_jitted_method_is_bound_by_python_itself():
    scaled = Scaled()
    assert (float(scaled.twice(2.0)), float(scaled.thrice(2.0))) == (4.0, 6.0)
    assert isinstance(vars(Scaled)["twice"], types.FunctionType)  # a plain function, which is as fast as a method
    assert Scaled.twice.lower.__self__ is Scaled.twice._jitted
    Scaled.later = jk.jit(lambda self, x: x + 4, static_argnums=0)
    assert float(scaled.later(1.0)) == 5.0
    assert repr(Scaled.later).startswith("<PjitFunction of <function ")


@pytest.mark.parametrize("library", [jk, jax])
def test_what_is_around_a_jitted_function_is_not_taken_for_it(library):
    """`functools.wraps` copies attributes: `grad(jitted).lower` was that of `jitted`, and lowered another program."""
    jitted = library.jit(lambda x: (x * x).sum())
    jitted.of_the_user = 3
    around = functools.wraps(jitted)(lambda x: 2.0 * jitted(x))
    for made in (
        around,
        library.grad(jitted),
        library.vmap(jitted),
        library.checkpoint(jitted),
        library.jacfwd(jitted),
    ):
        assert not any(hasattr(made, name) for name in ("lower", "trace", "eval_shape", "_jitted"))
        assert made.of_the_user == 3
    assert [len(f.lower(np.ones(3, "float32")).as_text().split("multiply")) for f in (jitted, library.jit(around))] == [
        2,
        3,
    ]


module_level = jk.jit(_plain_function)
module_level.__qualname__ = module_level.__name__ = "module_level"


def test_a_jitted_function_is_copied_and_pickled_by_name():
    assert copy.deepcopy(module_level) is module_level
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert inspect.signature(module_level) == inspect.signature(_plain_function)
    assert inspect.unwrap(module_level) is _plain_function


@same_as_jax
def test_clearing_one_jit_leaves_those_with_other_options(jax, jnp):
    def f(x):
        return x + 1

    usual, alike, donating = jax.jit(f), jax.jit(f, static_argnums=()), jax.jit(f, donate_argnums=0)
    usual(1.0), donating(2.0)
    before = [g._cache_size() for g in (usual, alike, donating)]
    usual.clear_cache()
    return before, [g._cache_size() for g in (usual, alike, donating)], donating(3.0)


@same_as_jax
def test_nothing_is_run_where_that_is_forbidden(jax, jnp):
    f, x = jax.jit(lambda x: x + 1), jnp.ones(2)
    compiled = f.lower(x).compile()
    results = [f(x)]
    with jax.no_execution():
        errors = [raised(f, x), raised(compiled, x)]
        allowed = str(jax.make_jaxpr(f)(x)), f.lower(x).as_text().count("add"), plain(jax.eval_shape(f, x))
        errors.append(raised(lambda: x + 1)[0])
    return errors, allowed, results, f(x), compiled(x)


@same_as_jax
def test_nothing_is_traced_where_that_is_forbidden(jax, jnp):
    f = jax.jit(lambda x: x + 1)
    results = [f(1.0)]
    with jax.no_tracing():
        results += [f(2.0), raised(f, 1), raised(jax.jit(lambda x: x), 1.0)]
    return results, f(1)


@same_as_jax
def test_a_token_outside_of_programs_can_be_printed(jax, jnp):
    token = jax.lax.create_token()
    return "Token object" in repr(token), "Token object" in str(jax.lax.after_all(token, token))


def kinds(tree):
    """Return the value of each leaf, and "Token" for a token."""
    return ["Token" if type(x).__name__ == "Token" else np.asarray(x).tolist() for x in jax.tree.leaves(tree)]


@same_as_jax
def test_a_token_goes_out_of_a_program_and_into_the_next_one(jax, jnp):
    lax, token = jax.lax, jax.lax.create_token()
    wait = jax.jit(lambda *tokens: lax.after_all(*tokens))
    made = jax.jit(lambda x: (lax.create_token(x), x + 1))(1.0)
    passed = jax.jit(lambda t, x: (t, x))
    on_purpose = jax.device_put(2.0, jax.devices()[0])
    results = [
        wait(token), wait(made[0], token), wait(wait(token)), *made, *passed(*made), *passed(token, np.float32(3)),
        *passed(token, on_purpose), lax.after_all(made[0], wait(token)), jax.jit(wait)(token), jax.block_until_ready(wait(token)),
        jax.jit(lambda t, x: x)(token, 1.0), jax.jit(lambda t: 1.0)(token), jax.device_put(token), jax.typeof(token) is jax.typeof(made[0]),
    ]  # fmt: skip
    return kinds(results), repr(jax.typeof(token)), repr(jax.eval_shape(passed, token, 1.0)[0])


@same_as_jax
def test_a_token_is_traced_lowered_and_closed_over(jax, jnp):
    token = jax.lax.create_token()

    def f(t, x):
        return jax.lax.after_all(t, token), x

    closed = jax.jit(lambda x: (token, jax.lax.after_all(token, jax.lax.create_token(x)), x))
    text = jax.jit(f).lower(token, 1.0).as_text()
    return (
        str(jax.make_jaxpr(f)(token, 1.0)),
        text.count("stablehlo.token"),
        text.count("create_token"),
        kinds(closed(1.0)),
    )


@same_as_jax
def test_a_token_is_no_array(jax, jnp):
    token = jax.lax.create_token()
    array = jnp.ones(2)
    return [
        raised(lambda: jax.lax.after_all(token, array))[0], raised(lambda: array + token)[0], raised(lambda: token + array)[0],
        raised(lambda: jax.lax.after_all(1.0)), raised(lambda: jnp.asarray(token))[0],
    ]  # fmt: skip


def test_a_compiled_program_and_a_loop_take_tokens():
    """JAX's end in an AttributeError of their own."""
    token = jk.lax.create_token()
    compiled = jk.jit(lambda t, x: (t, x * 2)).lower(token, 1.0).compile()
    assert kinds(compiled(token, 3.0)) == ["Token", 6.0]
    assert repr(compiled.out_info[0]) == "AbstractToken()"
    with pytest.raises(TypeError, match="compiled with Tok and called with float32"):
        compiled(1.0, 3.0)
    count, last = jk.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jk.lax.after_all(c[1])), (0, token))
    assert kinds([count, last]) == [3, "Token"]
