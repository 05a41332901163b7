"""Avals, primitives, traces of any kind, and tracers that outlive theirs."""

from __future__ import annotations

import copy
import gc
import math
import operator
import pickle
import threading
import weakref

import jax
import numpy as np
import pytest
import wording
from twin import plain, raised, same_as_jax, words

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import core, lax
from jitkit.base import config
from jitkit.core import Primitive, ShapedArray, Trace, Tracer
from jitkit.interpreters import partial_eval
from jitkit.jaxpr import DebugInfo

DTYPES = ("float32", "int32", "bool", "bfloat16", "complex64", "uint8", "int4", "float8_e5m2")


# --- avals ------------------------------------------------------------------------------------------------------


def test_equal_avals_are_the_same_object():
    for dtype in DTYPES:
        for shape in ((), (3,), (2, 0)):
            for weak in (False, True):
                a = ShapedArray(shape, dtype, weak)
                assert a is ShapedArray(list(shape), np.dtype(dtype), weak)
                assert a is ShapedArray(tuple(np.int64(n) for n in shape), jnp.zeros(0, dtype).dtype, weak_type=weak)
                assert a is ShapedArray(shape, getattr(jnp, dtype if dtype != "bool" else "bool_"), weak)


def test_different_avals_are_different():
    avals = {ShapedArray(s, d, w) for s in ((), (1,), (1, 1), (2,)) for d in DTYPES for w in (False, True)}
    assert len(avals) == 4 * len(DTYPES) * 2


def test_avals_are_interned_across_threads():
    barrier = threading.Barrier(8)
    found = [[] for _ in range(8)]

    def work(i):
        barrier.wait()
        for n in range(1000, 1300):
            found[i].append(ShapedArray((n, 7), "float32"))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for avals in zip(*found, strict=True):
        assert all(aval is avals[0] for aval in avals)


def test_copies_and_pickles_of_an_aval_are_the_aval():
    aval = ShapedArray((2, 3), "bfloat16", weak_type=True)
    assert copy.copy(aval) is aval
    assert copy.deepcopy([aval])[0] is aval
    assert pickle.loads(pickle.dumps(aval)) is aval


def test_unused_avals_are_forgotten():
    before = len(ShapedArray._interned)
    kept = ShapedArray((987, 1), "float32")
    for n in range(100):
        ShapedArray((987, 2, n), "float32")
    gc.collect()
    assert len(ShapedArray._interned) <= before + 1
    assert kept is ShapedArray((987, 1), "float32")


@same_as_jax
def test_avals_print_as_in_jax(jax, jnp):
    texts = []
    for x in (
        1.0,
        True,
        2,
        1j,
        np.ones((2, 3)),
        np.float16(1),
        jnp.ones((0, 4), "bfloat16"),
        jnp.asarray(2.0),
        jnp.zeros(3, "uint8"),
    ):
        aval = jax.typeof(x)
        texts.append(
            (
                str(aval),
                repr(aval),
                aval.str_short(),
                aval.str_short(short_dtypes=True),
                aval.ndim,
                aval.size,
                aval.weak_type,
            )
        )
    return texts


@same_as_jax
def test_avals_are_changed_by_update(jax, jnp):
    aval = jax.typeof(jnp.ones((2, 3)))
    return (
        aval.update(shape=(4,)),
        aval.update(dtype=np.dtype("int8")),
        aval.update(weak_type=True),
        aval.strip_weak_type() == aval,
    )


def test_shapes_must_be_integers():
    for shape in ((1.5,), ("3",), (None,)):
        with pytest.raises(TypeError):
            ShapedArray(shape, "float32")


@same_as_jax
def test_typeof_refuses_what_is_no_array(jax, jnp):
    return [raised(jax.typeof, x) for x in (None, [1.0], object(), {1})]


# --- binding ----------------------------------------------------------------------------------------------------


class Recorder(Trace):
    """A trace for tests: notes the primitives, and doubles their results."""

    __slots__ = ("seen",)

    def __init__(self, parent):
        super().__init__(parent)
        self.seen = []

    def process_primitive(self, primitive, args, params):
        self.seen.append(primitive.name)
        with core.set_current_trace(self.parent):
            values = [x.value if isinstance(x, Doubled) and x._trace is self else x for x in args]
            out = primitive.bind(*values, **params)
        wrap = [Doubled(self, x) for x in (out if primitive.multiple_results else [out])]
        return wrap if primitive.multiple_results else wrap[0]


class Doubled(Tracer):
    """A value and its double."""

    __slots__ = ("double", "value")

    def __init__(self, trace, value):
        super().__init__(trace, core.get_aval(value))
        self.value = value
        with core.set_current_trace(trace.parent):
            self.double = lax.add(value, value)


def run_recorded(function, *args):
    """Run a function under a `Recorder`: a transformation in ten lines, of the same kind as `grad` and `vmap`."""
    trace = Recorder(core.current_trace())
    with core.set_current_trace(trace):
        out = function(*[Doubled(trace, core_value) for core_value in args])
    trace.end()
    return out.double, trace.seen


def test_the_current_trace_decides_what_bind_does():
    x = jnp.arange(3.0)
    double, seen = run_recorded(lambda x: lax.sin(lax.mul(x, x)), x)
    assert seen == ["mul", "sin"]
    np.testing.assert_allclose(double, 2 * np.sin(np.arange(3.0) ** 2), rtol=1e-6)
    assert core.trace_state_clean()


def test_another_kind_of_trace_works_inside_of_jit():
    kinds = []

    @jk.jit
    def f(x):
        double, seen = run_recorded(lambda y: lax.add(lax.sin(y), y), x)
        kinds.append((seen, type(double).__name__))
        return double

    np.testing.assert_allclose(f(0.5), 2 * (math.sin(0.5) + 0.5), rtol=1e-6)
    assert kinds == [(["sin", "add"], "DynamicJaxprTracer")]
    jaxpr = jk.make_jaxpr(lambda x: run_recorded(lambda y: lax.sin(y), x)[0])(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add", "sin", "add"]


def test_jit_works_inside_of_another_kind_of_trace():
    inner = jk.jit(lambda y: lax.sin(y))
    double, seen = run_recorded(lambda x: inner(x), jnp.float32(0.5))
    assert seen == ["jit"]
    np.testing.assert_allclose(double, 2 * math.sin(0.5), rtol=1e-6)


def test_operators_of_tracers_of_another_kind_reach_its_trace_as_calls_of_jitted_functions():
    """In JAX, too, a trace that writes no equations sees `jit` for an operator, since `jnp.multiply` is a jitted function."""
    double, seen = run_recorded(lambda x: x * 2.0 + 1.0, jnp.arange(3.0))
    assert seen == ["jit", "jit"]
    np.testing.assert_allclose(double, 2 * (np.arange(3.0) * 2 + 1))


def test_a_captured_array_that_meets_no_tracer_is_recorded_all_the_same():
    table = jnp.arange(3.0)
    assert str(jk.make_jaxpr(lambda: lax.sin(table))()).count("sin") == 1
    assert run_recorded(lambda x: lax.sin(table), 1.0)[1] == ["sin"]


def test_a_trace_without_rules_says_what_it_lacks():
    class Empty(Trace):
        pass

    with (
        core.set_current_trace(Empty(None)),
        pytest.raises(NotImplementedError, match="Empty does not say what to do with sin"),
    ):
        lax.sin(1.0)
    assert core.trace_state_clean()


def test_set_current_trace_restores_the_trace_however_the_block_ends():
    outer, inner = Recorder(None), Recorder(None)
    with core.set_current_trace(outer):
        with pytest.raises(KeyboardInterrupt), core.set_current_trace(inner):
            assert core.current_trace() is inner
            raise KeyboardInterrupt
        assert core.current_trace() is outer
        with core.ensure_compile_time_eval():
            assert core.current_trace() is None
            assert config.local.state.key is not None
        assert config.local.state.key is None
    assert core.current_trace() is None
    assert config.local.state.key is not None


def test_the_current_trace_is_the_threads_own():
    seen = []
    with core.set_current_trace(Recorder(None)):
        thread = threading.Thread(target=lambda: seen.append(core.current_trace()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_a_primitive_of_ones_own_needs_a_shape_rule_to_be_traced():
    mine_p = Primitive("mine")
    with pytest.raises(NotImplementedError, match="primitive mine has no shape rule"):
        jk.make_jaxpr(lambda x: mine_p.bind(x))(1.0)

    @mine_p.def_abstract_eval
    def _(x, *, factor):
        return x.update(shape=(*x.shape, factor))

    jaxpr = jk.make_jaxpr(lambda x: mine_p.bind(x, factor=3))(np.ones(2, np.float32))
    assert str(jaxpr) == "{ lambda ; a:f32[2]. let b:f32[2,3] = mine[factor=3] a in (b,) }"
    with pytest.raises(NotImplementedError, match="mine has no lowering" if wording.compared else "mine"):
        jk.jit(lambda x: mine_p.bind(x, factor=3))(1.0)
    with pytest.raises(NotImplementedError, match="mine has no lowering" if wording.compared else "mine"):
        mine_p.bind(1.0, factor=3)


def test_shape_rules_are_asked_once_a_signature():
    calls = []
    counted_p = Primitive("counted")

    @counted_p.def_abstract_eval
    def _(x, *, n):
        calls.append(n)
        return x

    def f(x):
        for n in (1, 2, 1, 2):
            x = counted_p.bind(x, n=n)
        return x

    jk.make_jaxpr(f)(1.0)
    jk.make_jaxpr(f)(np.float32(1))
    assert calls == [1, 2, 1, 2]  # weak and strong are two types


def test_unhashable_parameters_are_named():
    bad_p = Primitive("bad")
    bad_p.def_abstract_eval(lambda x, *, axes: x)
    with pytest.raises(TypeError, match=r"parameters of primitive bad must be hashable, got axes=\[0\]"):
        jk.make_jaxpr(lambda x: bad_p.bind(x, axes=[0]))(1.0)


def test_a_shape_rule_that_fails_leaves_the_trace_usable():
    def f(x):
        with pytest.raises(TypeError):
            lax.add(x, np.ones((2, 3), np.float32))
        return lax.add(x, x)

    assert jk.jit(f)(jnp.ones(4)).tolist() == [2.0] * 4


# --- tracers ----------------------------------------------------------------------------------------------------

CONVERSIONS = {
    "bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index, "numpy": np.asarray, "a ufunc": np.sin,
    "pickle": pickle.dumps, "hash": hash, "list": list, "len": len, "tolist": lambda x: x.tolist(), "item": lambda x: x.item(),
    "tobytes": lambda x: x.tobytes(), "devices": lambda x: x.devices(), "device": lambda x: x.device, "sharding": lambda x: x.sharding,
    "committed": lambda x: x.committed, "delete": lambda x: x.delete(), "is_deleted": lambda x: x.is_deleted(),
    "block_until_ready": lambda x: x.block_until_ready(), "addressable_shards": lambda x: x.addressable_shards,
    "is_fully_replicated": lambda x: x.is_fully_replicated, "dlpack": lambda x: x.__dlpack__(), "is_ready": lambda x: x.is_ready(),
    "a format": lambda x: f"{x:.2f}", "item assignment": lambda x: operator.setitem(x, 0, 1), "math": math.sin, "range": range,
    "a list's index": lambda x: [1, 2, 3][x], "numpy's index": lambda x: np.arange(3)[x], "not": operator.not_, "round": round,
    "floor": math.floor, "contains": lambda x: 1 in x, "unknown": lambda x: x.no_such_attribute, "max": lambda x: max(x, x),
    "isnan": math.isnan, "numpy scalar": np.float32, "numpy array": lambda x: np.array([x, 1.0]), "percent": lambda x: "%d".__mod__(x),
    "call": lambda x: x(), "getitem": lambda x: x["a"], "in a set": lambda x: {x}, "reversed": lambda x: list(reversed(x)) if x.ndim else 0,
    "copy": copy.copy, "deepcopy": copy.deepcopy, "isinstance": lambda x: isinstance(x, (int, float, np.ndarray)),
    "weak_type": lambda x: x.weak_type, "nbytes": lambda x: x.nbytes, "np.shape": np.shape, "repr": lambda x: repr(x).split("(")[1],
}  # fmt: skip


@pytest.mark.parametrize("conversion", CONVERSIONS)
@same_as_jax
def test_what_a_traced_value_cannot_do_is_said_as_in_jax(jax, jnp, conversion):
    found = []

    def f(x):
        kind, result = raised(CONVERSIONS[conversion], x)[:2]
        found.append((kind, words(result).replace("'Tracer'", "'T'") if isinstance(result, str) else plain(result)))
        return x

    for value in (1.0, np.ones(3, np.float32), 1, True, np.ones((1, 1), np.int8)):
        jax.jit(f).trace(value)
    return found


# --- leaks ------------------------------------------------------------------------------------------------------


class Box:
    """Something with attributes."""


def leak_into_a_list(jax, jnp):
    kept = []
    jax.jit(lambda x: kept.append(x * 2) or x)(1.0)
    return kept[0]


def leak_an_argument(jax, jnp):
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(1.0)
    return kept[0]


def leak_into_an_attribute(jax, jnp):
    box = Box()

    @jax.jit
    def f(x):
        box.state = jnp.sin(x)
        return x

    f(jnp.ones(3))
    return box.state


def leak_through_a_closure(jax, jnp):
    kept = []

    @jax.jit
    def f(x):
        y = x + 1
        kept.append(lambda: y * 2)
        return x

    f(1.0)
    return kept[0]()


def leak_through_an_exception(jax, jnp):
    @jax.jit
    def f(x):
        raise ValueError(x * 3)

    try:
        f(1.0)
    except ValueError as error:
        return error.args[0]


def leak_from_an_inner_function(jax, jnp):
    kept = []

    @jax.jit
    def outer(x):
        jax.jit(lambda y: kept.append(y * 5) or y)(x)
        return kept[0] + x

    return outer(1.0)


def leak_from_make_jaxpr(jax, jnp):
    kept = []
    jax.make_jaxpr(lambda x: kept.append(x + 1) or x)(1.0)
    return kept[0]


LEAKS = {f.__name__: f for f in (
    leak_into_a_list, leak_an_argument, leak_into_an_attribute, leak_through_a_closure, leak_through_an_exception,
    leak_from_an_inner_function, leak_from_make_jaxpr,
)}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
@same_as_jax
def test_a_leaked_tracer_is_refused_as_in_jax(jax, jnp, leak):
    def use(how):
        return raised(lambda: how(LEAKS[leak](jax, jnp)))

    return [
        use(lambda x: x + 1), use(lambda x: jnp.sin(x)), use(lambda x: x * jnp.ones(3)), use(lambda x: jax.jit(lambda y: y)(x)),
        use(lambda x: jax.jit(lambda y: y + x)(1.0)), use(lambda x: jax.jit(lambda y: x)(1.0)), use(lambda x: jnp.array([x, 1.0])),
        use(lambda x: jax.jit(lambda y: y)({"a": [x]})), use(lambda x: -x), use(lambda x: x[..., None]), use(lambda x: jax.lax.add(x, x)),
    ]  # fmt: skip


def line_of(marker):
    with open(__file__, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {marker}"))


def test_the_error_says_where_a_leaked_tracer_was_made():
    kept = []

    @jk.jit
    def leaky_function(x):
        kept.append(jnp.sin(x))  # made here
        return x

    leaky_function(1.0)
    with pytest.raises(jk.errors.UnexpectedTracerError) as error:
        kept[0] + 1
    text = str(error.value)
    assert f"test_core.py:{line_of('made here')}:" in text
    assert "leaky_function at " in text
    assert "Return the value from the function instead." in text
    assert "checking_leaks" in text


def test_a_leaked_tracer_still_tells_its_shape():
    kept = []
    jk.jit(lambda x: kept.append(x) or x)(np.ones((2, 3), np.float32))
    assert (kept[0].shape, kept[0].dtype, len(kept[0])) == ((2, 3), np.float32, 2)
    assert repr(kept[0]) == "JitTracer(float32[2,3])"


@pytest.mark.usefixtures("nothing_old_to_walk")
@same_as_jax
def test_checking_leaks_raises_where_the_leak_happens(jax, jnp):
    kept = []

    def leaky(x):
        kept.append(x * 2)
        return x

    def leaks_a_closure(x):
        kept.append(lambda: x)
        return x

    def leaks_inside(x):
        return jax.jit(lambda y: kept.append(y) or y)(x)

    def cleans_up(x):
        kept.append(x)
        y = jax.jit(lambda z: z + 1)(x)
        kept.clear()
        return y

    def closes_over(x):
        return jax.jit(lambda y: x + y)(x)

    found = []
    with jax.checking_leaks():
        for f in (leaky, leaks_a_closure, leaks_inside, cleans_up, closes_over, lambda x: x * 2):
            found.append(raised(jax.jit(f), 1.0))
            found.append(raised(lambda f=f: str(jax.make_jaxpr(f)(1.0))[:0]))
            kept.clear()
    return found, jax.jit(leaky)(2.0)


@pytest.mark.usefixtures("nothing_old_to_walk")
def test_checking_leaks_names_the_place_that_keeps_the_tracer():
    kept = {}

    def leaky(x):
        kept["state"] = x * 2
        return x

    with (
        jk.checking_leaks(),
        pytest.raises(Exception, match=r"^Leaked trace DynamicJaxprTrace\. Leaked tracer\(s\):") as error,
    ):
        jk.jit(leaky)(1.0)
    assert "under the key `state` of a dict" in str(error.value)
    assert "leaky at " in str(error.value)


# --- other systems' values --------------------------------------------------------------------------------------


def jax_says(function):
    """Return the error, with its notes, of a function of real JAX that is called with our tracer."""
    with pytest.raises(TypeError) as error:
        jk.jit(function)(jnp.arange(3.0))
    return "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.numpy.sin(x), lambda x: jax.numpy.where(x > 0, x, 0.0), lambda x: jax.numpy.sum(x), lambda x: jax.lax.sin(x),
        lambda x: jax.jit(lambda y: y)(x), lambda x: jax.nn.relu(x), lambda x: jax.numpy.array(x),
        lambda x: jax.numpy.zeros(3).at[0].set(x[0]),
        lambda x: jax.numpy.concatenate([x, x]), lambda x: jax.numpy.dot(x, x),
    ],
    ids=["sin", "where", "sum", "lax.sin", "jit", "relu", "array", "at", "concatenate", "dot"],
)  # fmt: skip
def test_jax_called_on_our_tracer_says_to_import_jitkit(function):
    assert "`jax`. Change its import to `import jitkit as jax`." in jax_says(function)


def test_our_function_called_on_jaxs_tracer_says_whose_it_is():
    for function in (
        lambda x: jnp.sin(x),
        lambda x: jk.jit(lambda y: y)(x),
        lambda x: jnp.sum(x),
        lambda x: lax.sin(x),
    ):
        with pytest.raises(TypeError, match=r"(?s)tracer of jax.*jax\.jit"):
            jax.jit(function)(1.0)


# --- memory -----------------------------------------------------------------------------------------------------


def test_a_finished_trace_keeps_no_array_alive():
    tables = [jnp.arange(1000.0) * 1]
    watched = weakref.ref(tables[0])
    jaxpr = jk.make_jaxpr(lambda x: x + tables[0])(1.0)
    tables.clear()
    gc.collect()
    assert watched() is not None  # a constant of the jaxpr
    del jaxpr
    gc.collect()
    assert watched() is None


def test_eager_operations_keep_no_operand_alive():
    x = jnp.arange(1000.0) * 1
    watched = weakref.ref(x)
    jnp.sin(x) + x * 2
    del x
    gc.collect()
    assert watched() is None


def test_a_leaked_tracer_keeps_no_constant_alive():
    kept = []
    tables = [jnp.arange(1000.0) * 1]
    watched = weakref.ref(tables[0])
    jk.make_jaxpr(lambda x: kept.append(x + tables[0]) or x)(1.0)
    tables.clear()
    gc.collect()
    assert len(kept) == 1
    assert watched() is None


def test_an_exception_that_is_kept_keeps_no_trace_alive():
    traces = []

    def f(x):
        traces.append(weakref.ref(core.current_trace()))
        return bool(x)

    with pytest.raises(jk.errors.TracerBoolConversionError) as error:
        jk.jit(f)(1.0)
    text = str(error.value)
    error.value.__traceback__ = error.value.__jitkit_traceback__ = None
    del error
    gc.collect()
    assert traces[0]() is None
    assert "argument x" in text


def test_tracing_frees_what_it_made_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        traces = []

        def f(x):
            traces.append(weakref.ref(core.current_trace()))
            return jnp.sin(x) * 2

        jk.make_jaxpr(f)(1.0)
        assert traces[0]() is None
    finally:
        gc.enable()


def test_a_trace_can_be_made_by_hand():
    """What `jit` does, one step deeper: for readers, and for transformations to come."""
    aval = ShapedArray((3,), "float32")
    jaxpr = partial_eval.trace_to_jaxpr(lambda x: [lax.sin(x), x], [aval], DebugInfo("test", "by_hand"))
    assert str(jaxpr) == "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b, a) }"
    assert jaxpr.in_avals == [aval]
