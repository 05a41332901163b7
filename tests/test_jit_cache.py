"""What `jit` keeps, and for how long: caches, threads, and functions that are deleted."""

from __future__ import annotations

import collections
import dataclasses
import gc
import threading
import weakref

import hypothesis
import numpy as np
import pytest
from random_calls import build, call_sequences, static_names
from tails import keeping
from twin import OURS, THEIRS, difference, plain, same_as_jax

import jitkit as jk
import jitkit.numpy as jnp
from jitkit.base import config, stage_log
from jitkit.pjit.compilation_cache import cache_of


def logging_identity(log):
    """Return a function whose traces can be counted."""

    def f(*args, **kwargs):
        log.append((args, kwargs))
        return args, kwargs

    return f


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


@pytest.mark.parametrize("size", keeping([1, 2, 3, 5], 3))
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
    """Return weak references to the functions that hold the executables of a jitted function."""
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
        for n in (1, 2, 1, 3, 1, 2):  # when 3 comes, 2 was used longer ago than 1
            f({str(i): 1.0 for i in range(n)})
        assert f._cache_size() == 2


@pytest.mark.parametrize("times", [1, 3])
def test_a_function_that_nobody_has_goes_at_once_without_a_collection(times):
    """A cycle would keep it, and with it the cache of a bound method, which is equal to the next one that is mentioned."""

    class Layer:
        def apply(self, x):
            return x * 2

    layer, log = Layer(), []
    gc.disable()
    try:
        for _ in range(4):
            method = layer.apply
            jitted = jk.jit(method)
            for _ in range(times):
                jitted(jnp.ones(3))
            log.append(weakref.ref(method))
            del method, jitted
            assert log[-1]() is None
    finally:
        gc.enable()


def dropped(make):
    """Return whether an object dies when the jitted function that `make` returns with it is dropped."""
    f, watched = make()
    del f
    gc.collect()
    return watched() is None


class Watched:
    """An object to which tests can make a weak reference."""


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


def test_the_cache_of_a_function_is_found_by_identity():
    def f(x):
        return x

    assert cache_of(f) is cache_of(f)
    assert cache_of(f) is not cache_of(lambda x: x)
    assert jk.jit(f)._jitted.cache is cache_of(f)
    with stage_log.listen() as events:
        jk.jit(f)(1.0)
        jk.jit(f)(2.0)
    assert [e.stage for e in events if e.function == "f"] == ["tracing", "lowering", "compilation"]


def test_a_destructor_may_call_the_function_whose_entry_is_dropped():
    """Dropping an entry runs what its static values do at their end, in the middle of the bookkeeping."""
    seen = []
    f = jk.jit(lambda x, s: x + 1, static_argnums=1)

    class Setting:
        def __del__(self):
            seen.append((float(jnp.float32(len(seen)) * 3), float(f(2.0, None))))

    with config.override(jit_cache_size=1):
        for i in range(3):
            f(float(i), Setting())
        f(1.0, None)
    f.clear_cache()
    gc.collect()
    assert len(seen) == 3
    assert [value for _, value in seen] == [3.0] * 3


# --- random calls -------------------------------------------------------------------------------------------


@hypothesis.given(call_sequences())
@hypothesis.settings(max_examples=max(25, hypothesis.settings.default.max_examples // 4))
def test_random_calls_are_traced_cached_and_answered_as_in_jax(sequence):
    options, calls = sequence
    static = static_names(options)

    def outcomes(lib, jnp):
        log, seen = [], []

        def f(n, x, y=2.0, *, k=3, **rest):
            values = {"n": n, "x": x, "y": y, "k": k}
            log.append({name: repr(value) for name, value in values.items() if name in static})
            dynamic = {name: value for name, value in values.items() if name not in static}
            sums = [jnp.sum(leaf * 2) for leaf in lib.tree_util.tree_leaves(dynamic)]
            return dynamic, rest, sums

        jitted = lib.jit(f, **options)
        for args, kwargs in calls:
            built = [build(arg, lib, jnp) for arg in args]
            by_name = {name: build(arg, lib, jnp) for name, arg in kwargs.items()}
            seen.append(plain((jitted(*built, **by_name), len(log), jitted._cache_size())))
        return seen, log

    found = difference(outcomes(*OURS), outcomes(*THEIRS))
    assert found is None, found


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


def test_eager_operations_of_many_threads(count):
    x = np.arange(1237.0, dtype=np.float32) / 1000
    with count("sinh") as n:
        results = in_threads(8, lambda i: np.asarray(jnp.sinh(x) * i))
    assert n.compiles == 1
    for i, result in enumerate(results):
        np.testing.assert_allclose(result, np.sinh(x) * i, rtol=1e-5)


def test_threads_that_call_each_others_functions_do_not_wait_for_ever():
    functions = [jk.jit(lambda x, i=i: x * i) for i in range(4)]

    def work(i):
        outer = jk.jit(lambda x: sum(functions[(i + k) % 4](x) for k in range(4)))
        return float(outer(1.0)), next(float(f(2.0)) for f in functions[i:])

    assert in_threads(4, work) == [(6.0, 2.0 * i) for i in range(4)]


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
            threading.Event().wait(0.2)  # meanwhile the other threads begin to wait
            raise ValueError("the first call fails")
        return x + 1

    results = in_threads(6, lambda i: sometimes(1.0))
    failed = [r for r in results if isinstance(r, ValueError)]
    assert len(failed) == 1
    assert [float(r) for r in results if not isinstance(r, ValueError)] == [2.0] * 5
    assert len(calls) == 2


# --- trees of any size ----------------------------------------------------------------------------------------


def layers(count, number):
    block = [{"w": (jnp.float32(number + i), [jnp.float32(i)]), "b": None} for i in range(count)]
    return {"layers": block, "flat": {f"k{i:03}": jnp.float32(i) for i in range(300)}}


def test_calls_with_hundreds_of_leaves_are_found_by_a_function_that_is_written_for_them():
    f = jk.jit(lambda tree, n=1: jk.tree_util.tree_map(lambda x: x + n, tree))
    jitted = f._jitted
    for number in range(4):
        tree = layers(100, number)
        result = f(tree)
        expected = jk.tree_util.tree_map(lambda x: float(x) + 1, tree)
        assert jk.tree_util.tree_map(float, result) == expected
    assert len(jitted.look_ups) == 1
    split_call = jitted.call
    jitted.call = None  # the slow path must not be called any more
    f(layers(100, 9))
    jitted.call = split_call
    tree = layers(100, 5)
    tree["layers"][50]["w"] = (np.float32(1), [2.0])
    tree["layers"][51]["b"] = jnp.ones(3)
    assert jk.tree_util.tree_structure(f(tree)) == jk.tree_util.tree_structure(tree)
    del tree["layers"][99]
    assert len(f(tree)["layers"]) == 99
    assert f._cache_size() == 3


def test_a_tree_without_two_parts_alike_is_found_by_the_general_way():
    f = jk.jit(lambda tree: tree["k7"]["name_7"][0] + 1)
    tree = {f"k{i}": {f"name_{i}": [jnp.float32(i), jnp.float32(1)]} for i in range(300)}
    assert [float(f(tree)) for _ in range(4)] == [8.0] * 4
    assert f._jitted.look_ups == {}
    assert f._cache_size() == 1
