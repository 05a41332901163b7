"""`jit`: when a function is traced, what a call returns, and what the caches hold, as in JAX."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import gc
import math
import operator
import threading
import weakref
from typing import NamedTuple

import jax
import numpy as np
import pytest
from twin import JAX_VERSION, plain, raised, same_as_jax, warned

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import config, core, report, runtime
from jitkit.compilation_cache import cache_of
from jitkit.interpreters import mlir


def logging_identity(log):
    """A function whose traces can be counted."""

    def f(*args, **kwargs):
        log.append((args, kwargs))
        return args, kwargs

    return f


def calls(jax, f, *arguments):
    """Call a jitted function, and tell the size of its cache after each call."""
    sizes = []
    for args in arguments:
        f(*args)
        sizes.append(f._cache_size())
    return sizes


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
    "scalars of all kinds": lambda jnp: [
        1.0,
        jnp.array(1.0),
        np.float32(1),
        jnp.float32(1),
        np.float64(1),
        2,
    ],
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
    return [
        f(**{name: float(i) for i, name in enumerate("abc")}),
        f(**dict.fromkeys("cab", 0.0)),
        f._cache_size(),
    ]


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
def test_what_is_not_callable_is_refused(jax, jnp):
    return raised(jax.jit, 3), raised(jax.jit, "f"), raised(jax.make_jaxpr, 3)


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
    return (
        g(1.0),
        g(2.0),
        len(log),
        g._cache_size(),
        str(jax.make_jaxpr(g)(1.0)) if JAX_VERSION < (0, 11) else "",
    )


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
    return str(jaxpr) if JAX_VERSION < (0, 11) else "", jax.jit(outer)(3.0)


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

    jaxpr = str(jax.make_jaxpr(outer)(1.0)) if JAX_VERSION < (0, 11) else ""
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


# --- caches -------------------------------------------------------------------------------------------------


@same_as_jax
def test_two_jits_of_one_function_share_a_cache(jax, jnp):
    log = []
    f = logging_identity(log)
    a, b, donating = jax.jit(f), jax.jit(f), jax.jit(f, donate_argnums=0)
    a(1.0), b(1.0), b(2)
    sizes = a._cache_size(), b._cache_size(), donating._cache_size()
    donating(1.0)
    return sizes, donating._cache_size(), len(log)


@same_as_jax
def test_two_functions_do_not_share_a_cache(jax, jnp):
    log = []
    a, b = (jax.jit(logging_identity(log)) for _ in range(2))
    a(1.0), b(1.0)
    return a._cache_size(), b._cache_size(), len(log)


@same_as_jax
def test_clear_cache_forgets_one_function(jax, jnp):
    log = []
    f, g = (jax.jit(logging_identity(log)) for _ in range(2))
    f(1.0), g(1.0), f(2)
    f.clear_cache()
    sizes = f._cache_size(), g._cache_size()
    f(1.0), g(1.0)
    return sizes, len(log), f._cache_size()


@same_as_jax
def test_clear_caches_forgets_all_functions(jax, jnp):
    log = []
    f, g = (jax.jit(logging_identity(log)) for _ in range(2))
    f(1.0), g(1.0)
    jax.clear_caches()
    sizes = f._cache_size(), g._cache_size()
    f(1.0), g(1.0), f(1.0)
    return sizes, len(log), f._cache_size()


@same_as_jax
def test_the_x64_switch_is_part_of_the_key(jax, jnp):
    log = []
    f = jax.jit(logging_identity(log))
    f(1.0)
    with jax.enable_x64(True):
        inside = f(1.0), f(np.ones(2)), f(jnp.ones(2, "float32")), f(2)
    f(np.ones(2))
    f(1.0)
    return inside, len(log), log, f._cache_size()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_least_recently_used_entry_goes_first(size, count):
    f = jk.jit(lambda x: x + 1)
    model = collections.OrderedDict()
    rng = np.random.default_rng(size)
    with config.override(jit_cache_size=size):
        for _ in range(60):
            n = int(rng.integers(1, 8))
            expected_miss = n not in model
            model[n] = model.pop(n, None)
            while len(model) > size:
                model.popitem(last=False)
            entries = set(f._jitted.table.entries)
            f(jnp.ones(n) if rng.integers(2) else jnp.zeros(n))
            was_miss = bool(set(f._jitted.table.entries) - entries)
            assert was_miss == expected_miss
            assert f._cache_size() == len(model)


def runners(f):
    """Weak references to the functions that hold the executables of a jitted function."""
    return [weakref.ref(entry.run) for entry in f._jitted.table.entries.values()]


def test_an_evicted_entry_frees_its_executable():
    f = jk.jit(lambda x: x + 1)
    with config.override(jit_cache_size=2):
        f(jnp.ones(1))
        (executable,) = runners(f)
        for n in range(2, 6):
            f(jnp.ones(n))
        gc.collect()
    assert executable() is None


def test_the_order_of_a_tree_call_is_kept_too():
    log = []
    f = jk.jit(lambda d: log.append(len(d)) or d)
    with config.override(jit_cache_size=2):
        for n in (1, 2, 1, 3, 1, 2):  # 2 is the older one when 3 comes
            f({str(i): 1.0 for i in range(n)})
        assert f._cache_size() == 2


def dropped(make):
    """Whether an object dies when the jitted function that `make` returns with it is dropped."""
    f, watched = make()
    del f
    gc.collect()
    return watched() is None


class Watched:
    """Something that a weak reference can be made to."""


def test_a_dropped_closure_frees_what_it_closed_over_and_its_executables():
    def make():
        watched, captured = Watched(), jnp.arange(5.0)

        def f(x):
            assert watched is not None
            return captured * x

        jitted = jk.jit(f)
        jitted(1.0), jitted(jnp.ones(5)), jitted.lower(2.0)
        make.executables = runners(jitted)
        make.array = weakref.ref(captured)
        return jitted, weakref.ref(watched)

    assert dropped(make)
    assert [ref() for ref in make.executables] == [None, None]
    assert make.array() is None


def test_a_dropped_closure_frees_what_it_captured_when_called_inside_of_another_function():
    def make():
        watched = Watched()

        @jk.jit
        def inner(x):
            assert watched is not None
            return x * 2

        outer = jk.jit(lambda x: inner(x))
        outer(1.0)
        return (outer, inner), weakref.ref(watched)

    assert dropped(make)


def test_a_function_that_raises_is_freed_too():
    def make():
        watched = Watched()

        @jk.jit
        def f(x):
            assert watched is not None
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            f(1.0)
        return f, weakref.ref(watched)

    assert dropped(make)


def test_an_unbound_callable_object_is_freed():
    def make():
        class Model(Watched):
            def __call__(self, x):
                return x + 1

        model = Model()
        f = jk.jit(model)
        f(1.0)
        return f, weakref.ref(model)

    assert dropped(make)


def test_static_values_are_freed_with_the_function():
    def make():
        @dataclasses.dataclass(frozen=True)
        class Setting:
            n: int

            __slots__ = ("__weakref__", "n")

        setting = Setting(3)
        f = jk.jit(lambda x, s: x * s.n, static_argnums=1)
        f(1.0, setting)
        return f, weakref.ref(setting)

    assert dropped(make)


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


def test_a_call_that_fails_leaves_no_entry():
    """JAX's `_cache_size` counts them."""
    f = jk.jit(lambda x, y: x + y)
    for args in ((1.0,), (1.0, "text"), (jnp.ones(2), jnp.ones(3)), (1, 2**40)):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            f(*args)
    assert f._cache_size() == 0
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

    return (
        [error(r) for r in ("text", {"a": [1.0, "text"]}, object(), {1, 2}, (1, (lambda: 1,)))]
        if JAX_VERSION < (0, 11)
        else 0
    )


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


# --- threads ------------------------------------------------------------------------------------------------


def in_threads(n, work):
    """Run `work(i)` in n threads that start together; return the results, or the exceptions, in order."""
    results = [None] * n
    barrier = threading.Barrier(n)

    def run(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread waits for ever"
    return results


def test_eight_threads_trace_and_compile_once(count):
    log = []

    @jk.jit
    def shared_by_threads(x):
        log.append(x)
        return jnp.sin(x) + jnp.cos(x)

    x = jnp.arange(4.0)
    with count("shared_by_threads") as n:
        results = in_threads(8, lambda i: np.asarray(shared_by_threads(x)))
    assert (n.traces, n.compiles, len(log)) == (1, 1, 1)
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_eight_threads_trace_a_nested_function_once_each_at_most():
    @jk.jit
    def inner(x):
        return x * 2

    outers = [jk.jit(lambda x, i=i: inner(x) + i) for i in range(8)]
    results = in_threads(8, lambda i: float(outers[i](1.0)))
    assert results == [2.0 + i for i in range(8)]


def test_concurrent_traces_do_not_see_each_other():
    barrier = threading.Barrier(4)

    def work(i):
        def f(x):
            for _ in range(5):
                barrier.wait()
                x = x + i
            return x

        return str(jk.make_jaxpr(f)(1.0)).count("add"), float(jk.jit(f)(1.0))

    # the second trace of each function waits at the same barrier
    assert in_threads(4, work) == [(5, 1.0 + 5 * i) for i in range(4)]


def test_options_of_one_thread_are_not_those_of_another():
    f = jk.jit(lambda x: x)

    def work(i):
        with config.override(enable_x64=bool(i % 2)):
            return [str(f(np.ones(2)).dtype) for _ in range(20)]

    results = in_threads(4, work)
    assert results == [["float64" if i % 2 else "float32"] * 20 for i in range(4)]


def test_a_first_call_that_fails_does_not_fail_in_other_threads(count):
    calls = []
    lock = threading.Lock()

    @jk.jit
    def sometimes(x):
        with lock:
            calls.append(threading.get_ident())
            is_first = len(calls) == 1
        if is_first:
            threading.Event().wait(0.2)  # let the others queue up behind it
            raise ValueError("the first call fails")
        return x + 1

    results = in_threads(6, lambda i: sometimes(1.0))
    failed = [r for r in results if isinstance(r, ValueError)]
    assert len(failed) == 1
    assert [float(r) for r in results if not isinstance(r, ValueError)] == [2.0] * 5
    assert len(calls) == 2


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


# --- donation -----------------------------------------------------------------------------------------------


@same_as_jax
def test_a_donated_argument_is_deleted_and_its_memory_used(jax, jnp):
    f = jax.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    x, y = jnp.arange(3.0) * 1, jnp.ones(3) * 1
    before = np.asarray(x).ctypes.data
    out, _ = f(x, y)
    after = np.asarray(out).ctypes.data
    deleted = x.is_deleted(), y.is_deleted()
    g = jax.jit(lambda y: (x + y, y.sum()))
    uses = [
        lambda: x + 1, lambda: np.asarray(x), lambda: jax.jit(lambda x: x)(x), lambda: jax.jit(lambda x: x + 2)([x]), lambda: x[0],
        lambda: str(x), lambda: x.tolist(), lambda: jnp.sin(x), lambda: x.at[0].set(1), lambda: list(x), lambda: x.block_until_ready(),
        lambda: jax.block_until_ready(x), lambda: g(1.0), lambda: x.devices(),
        lambda: x.item(), lambda: x.shape, lambda: len(x), lambda: x.dtype, lambda: hash(x), lambda: float(x), lambda: x == x,
    ]  # fmt: skip
    return out, before == after, deleted, [raised(use) for use in uses], out + 1


def test_negative_numbers_of_donated_arguments_count_the_parameters():
    f = jk.jit(lambda x, y=2.0: (x + y, x * y), donate_argnums=-2)
    x, z = jnp.ones(3) * 1, jnp.ones(3) * 1
    f(x)
    f(z, 3.0)
    assert x.is_deleted()
    assert z.is_deleted()


def test_the_error_on_a_donated_array_says_what_to_do():
    f = jk.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3) * 1
    f(x)
    with pytest.raises(RuntimeError) as error:
        x + 1
    text = str(error.value)
    assert text.startswith("Array has been deleted with shape=float32[3].\n")
    assert "donate_argnums" in text
    assert repr(x) == "Array(float32[3], deleted)" or "deleted" in repr(x)


@same_as_jax
def test_donation_by_name_and_of_trees_and_by_keyword(jax, jnp):
    def make():
        return {"w": jnp.ones((2, 2)) * 1, "b": [jnp.ones(2) * 1]}

    def deleted(tree):
        return [leaf.is_deleted() for leaf in jax.tree_util.tree_leaves(tree)]

    def step(params, x):
        return jax.tree_util.tree_map(lambda p: p - x[0], params), x * 2

    log = []
    for options, by_name in [
        ({"donate_argnums": 0}, False), ({"donate_argnums": 0}, True), ({"donate_argnames": "params"}, False),
        ({"donate_argnames": "params"}, True), ({"donate_argnums": (0, 1)}, False), ({}, False),
    ]:  # fmt: skip
        f = jax.jit(step, **options)
        params, x = make(), jnp.ones((2, 2)) * 1
        out = f(params=params, x=x) if by_name else f(params, x)
        log.append((deleted(params), x.is_deleted(), out))
    return log


@same_as_jax
def test_donating_what_no_result_can_use_is_a_warning(jax, jnp):
    f = jax.jit(lambda x, y: x.sum() + y.sum(), donate_argnums=(0, 1))
    return [
        warned(f, jnp.ones(3) * 1, jnp.ones((2, 2), "int32") * 1),
        warned(f, jnp.ones(3) * 1, jnp.ones((2, 2), "int32") * 1),
    ]


@same_as_jax
def test_donating_python_and_numpy_values_is_harmless(jax, jnp):
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    value = np.ones(3, np.float32)
    return f(value), f(value), f(1.0), value


@same_as_jax
def test_donating_one_buffer_twice(jax, jnp):
    f = jax.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))
    x = jnp.ones(3) * 1
    return raised(f, x, x)[0]


@same_as_jax
def test_donating_an_argument_that_is_not_used(jax, jnp):
    f = jax.jit(lambda x, y: y + 1, donate_argnums=0)
    x = jnp.ones(3) * 1
    with contextlib.suppress(UserWarning):
        messages = warned(f, x, jnp.zeros(3))
    return messages, x.is_deleted()


@same_as_jax
def test_donation_inside_of_a_trace_is_recorded(jax, jnp):
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    jaxpr = jax.make_jaxpr(lambda x: f(x) * 2)(1.0)
    eqn = jaxpr.jaxpr.eqns[0]
    return eqn.params["donated_invars"], str(jaxpr) if JAX_VERSION < (0, 11) else ""


@same_as_jax
def test_static_and_donated_may_not_overlap(jax, jnp):
    def f(x, y):
        return x

    return [
        raised(jax.jit, f, static_argnums=0, donate_argnums=0)[0], raised(jax.jit, f, static_argnames="x", donate_argnames="x")[0],
        raised(jax.jit, f, static_argnums=0, donate_argnames="x")[0], raised(jax.jit, f, static_argnums=(0,), donate_argnums=(1,))[0],
    ]  # fmt: skip


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
    text = str(jaxpr) if JAX_VERSION < (0, 11) else ""
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

    return jax.jit(f)(1), str(jax.make_jaxpr(f)(1)) if JAX_VERSION < (0, 11) else ""


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


# --- static arguments ---------------------------------------------------------------------------------------


@same_as_jax
def test_static_values_are_told_apart_by_value_and_type(jax, jnp):
    log = []

    def f(n, x):
        log.append((type(n).__name__, n))
        return x

    f = jax.jit(f, static_argnums=0)
    sizes = []
    for n in (1, 1.0, True, 1, "1", (1,), (1.0,), None, 2, 0.0, -0.0, False):
        f(n, 1.0)
        sizes.append((f._cache_size(), len(log)))
    f(n=1, x=1.0)
    return sizes, log, f._cache_size()


@same_as_jax
def test_static_values_are_compared_by_their_own_eq_and_hash(jax, jnp):
    log = []

    class Mode:
        def __init__(self, name, note):
            self.name, self.note = name, note

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    @functools.partial(jax.jit, static_argnames="mode")
    def f(x, mode):
        log.append(mode.note)
        return x

    f(1.0, Mode("a", 1)), f(1.0, Mode("a", 2)), f(1.0, mode=Mode("a", 3)), f(1.0, Mode("b", 4))
    return log


@same_as_jax
def test_a_static_function_or_class(jax, jnp):
    apply = jax.jit(lambda f, x: f(x), static_argnums=0)
    return apply(jnp.sin, 1.0), apply(abs, -1.0), apply(float.__abs__ if False else (lambda x: x), 2.0)


@pytest.mark.parametrize(
    "value",
    [[1], {"a": 1}, {1}, np.ones(2), slice(1, 2) if not hasattr(slice, "__hash__") else bytearray(b"a")],
)
@same_as_jax
def test_an_unhashable_static_value_is_refused(jax, jnp, value):
    f = jax.jit(lambda n, x: x, static_argnums=0)
    kind, text = raised(f, value, 1.0)
    return kind, text, f._cache_size(), raised(f, n=value, x=1.0)[0]


def test_the_error_on_an_unhashable_static_value_says_what_to_do():
    f = jk.jit(lambda n, x: x, static_argnums=0)
    for value, mend in (
        ([1], "tuple"),
        ({"a": 1}, "dict"),
        ({1}, "frozenset"),
        (jnp.ones(2), "ordinary argument"),
    ):
        with pytest.raises(ValueError, match=mend):
            f(value, 1.0)


def test_a_mutated_static_value_is_found_out():
    class Setting:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return hash(self.n)

        def __eq__(self, other):
            return self.n == other.n

    f = jk.jit(lambda x, s: x * s.n, static_argnums=1)
    setting = Setting(2)
    assert float(f(1.0, setting)) == 2.0
    setting.n = 3
    with pytest.raises(ValueError, match="mutated"):
        f(1.0, setting)


def test_a_static_value_that_equals_an_entry_with_another_hash_is_not_mixed_up():
    class Weird:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return self.n == other.n

    f = jk.jit(lambda x, s: x * s.n, static_argnums=1)
    assert [float(f(1.0, Weird(n))) for n in (1, 2, 3, 2)] == [1.0, 2.0, 3.0, 2.0]
    assert f._cache_size() == 3


def no_positional(*, x):
    return x


def two(x, y):
    return x


def with_star(x, *args):
    return x


def with_keywords(x, **kwargs):
    return x


def positional_only(x, /, y):
    return x


BAD_SPECS = {
    "out of range": (two, {"static_argnums": 2}),
    "out of range, negative": (two, {"static_argnums": -3}),
    "out of range, donated": (two, {"donate_argnums": (0, 5)}),
    "none positional": (no_positional, {"static_argnums": 0}),
    "star takes any": (with_star, {"static_argnums": 7}),
    "unknown name": (two, {"static_argnames": "z"}),
    "unknown names": (two, {"static_argnames": ("x", "z")}),
    "unknown donated name": (two, {"donate_argnames": "z"}),
    "keywords take any": (with_keywords, {"static_argnames": "z"}),
    "positional-only name": (positional_only, {"static_argnames": "x"}),
    "name of the star": (with_star, {"static_argnames": "args"}),
    "not a number": (two, {"static_argnums": "x"}),
    "not numbers": (two, {"static_argnums": (0, "x")}),
    "not a name": (two, {"static_argnames": 1}),
    "not names": (two, {"static_argnames": ("x", 1)}),
    "a float": (two, {"static_argnums": 1.0}),
    "both, disagreeing": (two, {"static_argnums": 0, "static_argnames": "y"}),
    "nothing": (two, {"static_argnums": (), "static_argnames": ()}),
    "numpy integers": (two, {"static_argnums": np.int64(1)}),
    "a range": (two, {"static_argnums": range(2)}),
    "a list": (two, {"static_argnums": [0, 1]}),
    "a set of names": (two, {"static_argnames": {"x"}}),
    "static and donated": (two, {"static_argnums": 0, "donate_argnums": 0}),
}


@pytest.mark.parametrize("case", BAD_SPECS)
@same_as_jax
def test_wrong_argument_numbers_and_names_are_refused_as_in_jax(jax, jnp, case):
    f, options = BAD_SPECS[case]
    outcome = raised(jax.jit, f, **options)
    return outcome if outcome[0] != "nothing was raised" else "nothing was raised"


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": (0, 0)}, {"static_argnames": ("x", "x")}, {"donate_argnums": (1, 1)},
        {"static_argnums": 0, "donate_argnums": -2}, {"static_argnums": 0, "donate_argnames": "x", "static_argnames": ()},
    ],
    ids=str,
)  # fmt: skip
def test_contradictions_that_jax_lets_pass_are_refused(options):
    with pytest.raises(ValueError, match=r"more than once|cannot intersect"):
        jk.jit(two, **options)


negative = pytest.mark.skipif(
    JAX_VERSION < (0, 12), reason="needs jax >= 0.12, where negative numbers count parameters"
)


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1}, {"static_argnames": "n"}, {"static_argnums": (1,), "static_argnames": ("n",)},
        {"static_argnums": (1, 2)}, {"static_argnames": ("n", "mode")}, {"static_argnames": "mode"},
        pytest.param({"static_argnums": -2}, marks=negative), pytest.param({"static_argnums": -1}, marks=negative),
        pytest.param({"static_argnums": (-1, 1)}, marks=negative), {"static_argnums": 1, "static_argnames": "mode"},
        {"static_argnums": (1,), "static_argnames": ()},
    ],
    ids=str,
)  # fmt: skip
@same_as_jax
def test_numbers_and_names_of_static_arguments_are_inferred_from_each_other(jax, jnp, options):
    def f(x, n=2, mode=3):
        log.append((isinstance(n, jax.core.Tracer), isinstance(mode, jax.core.Tracer)))
        return x

    results = []
    for args, kwargs in [
        ((1.0,), {}), ((1.0, 2), {}), ((1.0,), {"n": 2}), ((1.0, 2, 4), {}), ((1.0, 2), {"mode": 4}), ((1.0,), {"n": 2, "mode": 4}),
        ((), {"x": 1.0, "n": 2}),
    ]:  # fmt: skip
        log = []
        g = jax.jit(f, **options)
        error = raised(g, *args, **kwargs)
        results.append((log, error if error[0] != "nothing was raised" else None))
    return results, jax.jit(f, **options)._cache_size()


@same_as_jax
def test_a_static_number_beyond_the_call_is_no_error(jax, jnp):
    f = jax.jit(lambda x, n=3: x * n, static_argnums=1)
    g = jax.jit(lambda x, *n: x * len(n), static_argnums=(1, 2))
    return f(2.0), f(2.0, 4), g(2.0), g(2.0, "a"), g(2.0, "a", "b"), g(2.0, "a", "b", 3.0)


@same_as_jax
def test_static_keywords_without_a_parameter_of_that_name(jax, jnp):
    def f(x, **kwargs):
        log.append(isinstance(kwargs["mode"], str))
        return x

    log = []
    g = jax.jit(f, static_argnames="mode")
    return g(1.0, mode="a"), g(1.0, mode="b"), g(1.0, mode="a"), log, g._cache_size()


# --- arguments that are no arrays ---------------------------------------------------------------------------

NO_ARRAYS = {
    "a string": "text",
    "a string in a dict": {"a": [1.0, "text"]},
    "a set": {1, 2},
    "an object": object(),
    "a function": len,
    "bytes": b"abc",
    "an array of strings": np.array(["a", "b"]),
    "an array of objects": np.array([None, 1]),
    "a datetime": np.datetime64("2020-01-01"),
    "a slice": slice(1, 2),
    "ellipsis": ...,
    "a range": range(3),
    "a class": int,
    "a large int": 2**40,
    "a large int in a list": [1, 2**70],
}


@pytest.mark.parametrize("case", NO_ARRAYS)
@same_as_jax
def test_arguments_that_are_no_arrays_are_refused_by_path(jax, jnp, case):
    def f(x, y):
        return x

    g = jax.jit(f)
    value = NO_ARRAYS[case]
    return [raised(g, 1.0, value), raised(g, 1.0, y=value), raised(jax.jit(lambda *args: 1), 1.0, value)]


@same_as_jax
def test_arguments_may_be_jax_arrays(jax, jnp):
    theirs = __import__("jax").numpy.arange(3.0)
    f = jax.jit(lambda x, y: x + y)
    return f(theirs, 1.0), f(theirs, theirs), f(jnp.arange(3.0), theirs), f._cache_size()


@same_as_jax
def test_a_jax_array_and_an_equal_array_share_an_entry(jax, jnp):
    log = []
    f = jax.jit(lambda x: log.append(x) or x)
    (
        f(__import__("jax").numpy.arange(3.0)),
        f(jnp.arange(3.0)),
        f({"a": __import__("jax").numpy.ones(2)}),
        f({"a": jnp.ones(2)}),
    )
    return len(log), f._cache_size()


def test_plain_data_tells_weak_types_apart():
    """The yardstick itself."""
    assert plain(jnp.asarray(1.0)) != plain(jnp.float32(1.0))
    assert plain(jnp.asarray(1.0)) == plain(jax.numpy.asarray(1.0))
    assert math.isclose(float(jnp.float32(1.0)), 1.0)


def test_the_cache_of_a_function_is_found_by_identity():
    def f(x):
        return x

    assert cache_of(f) is cache_of(f)
    assert cache_of(f) is not cache_of(lambda x: x)
    assert jk.jit(f)._jitted.cache is cache_of(f)
    with report.listen() as events:
        jk.jit(f)(1.0)
        jk.jit(f)(2.0)
    assert [e.stage for e in events if e.function == "f"] == ["tracing", "lowering", "compilation"]
