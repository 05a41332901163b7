"""Why a call missed: every reason, produced by a small program, in the exact words that users read."""

from __future__ import annotations

import dataclasses
import functools
import gc
import json
import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
import weakref
from collections import deque
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import jitkit
from jitkit import lax
from jitkit.base import config
from jitkit.base.stage_log import log_compiles
from jitkit.misses import record as call_record
from jitkit.misses.explain import Explanation, Miss, MissLog, explain, explain_cache_misses
from jitkit.misses.origin import count_another, origin_of
from jitkit.misses.record import CallRecord

HERE = os.path.abspath(__file__)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    """Return an uncommitted Array."""
    return jitkit.device_put(np.ones(shape, dtype))


def neutral(text: str) -> str:
    """Return the text without what changes from run to run."""
    return re.sub(r"\d+\.\d ms", "0.0 ms", text.replace(HERE, "prog.py"))


def why(f: Any, number: int = 0) -> list[str]:
    """Return the lines of the reason of one miss, the latest unless a number is given, without their indentation."""
    misses = {miss.number: miss for miss in explain(f).misses}
    return [neutral(line).strip() for line in misses[number or max(misses)].lines()]


def last(f: Any) -> Miss:
    return explain(f).misses[-1]


def line_of(fun: Any) -> int:
    return fun.__code__.co_firstlineno


KEYS = "Pass the same keys in every call, to share one entry: what is missing may be zeros."
LENGTH = "Each length is a program of its own: stack arrays of one shape, and pad to a few sizes, to share the entries."
NONE = "None has no leaf, so with it and without it there are two programs; to have one, pass zeros in its place."
ONE_JIT = "Each jit of a function has its own options: keep one of them, and call that."
SET_ONCE = "Each value of an option has programs of its own: set it once, before the first call."
MORE_ARGUMENTS = (
    "Each number of arguments is a program of its own: stack them into one array, or pass as many in every call."
)
AGAINST_1 = "A new signature. Against the closest in the cache, that of #1:"


# --- types ---------------------------------------------------------------------------------------------------


def test_a_first_call_is_called_that():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    assert why(f) == ["The first call of <lambda>."]
    assert last(f).reason == "first call"
    assert (last(f).traced, last(f).compiled, last(f).happened) == (True, True, "traced and compiled")


def test_a_call_that_hits_leaves_no_record():
    f = jitkit.jit(lambda x: lax.neg(x))
    for _ in range(3):
        f(array(3))
    assert len(explain(f)) == 1


def test_another_shape_is_told_with_both_shapes():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    f(array(4))
    assert why(f) == [AGAINST_1, "x: float32[3] before, float32[4] now"]
    (difference,) = last(f).differences
    assert difference[:4] == ("shape", "x", "float32[3]", "float32[4]")


def test_from_the_fourth_shape_on_padding_is_advised():
    f = jitkit.jit(lambda x: lax.neg(x))
    for n in (1, 2, 3, 4):
        f(array(n))
    assert why(f, 3)[1:] == ["x: float32[2] before, float32[3] now"]
    assert why(f, 4)[1:] == [
        "x: float32[3] before, float32[4] now",
        (
            "x has come in 4 shapes, and each is compiled for itself: pad it to one of a few sizes, and mask what was added, "
            "to share the entries."
        ),
    ]


def test_another_dtype_is_told_with_the_conversion():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    f(array(3, dtype=np.int32))
    assert why(f) == [
        AGAINST_1,
        "x: float32[3] before, int32[3] now",
        (
            "float32 holds whole numbers up to 16,777,216: if they are no larger, convert x before the call, with "
            "`.astype(jnp.float32)`, to share the entry."
        ),
    ]
    assert last(f).differences[0].kind == "dtype"


def test_a_python_scalar_after_an_array_is_weakly_typed():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array())
    f(2.0)
    assert why(f) == [
        AGAINST_1,
        "x: float32[] before, float32[] of a Python float now",
        (
            "A Python scalar is weakly typed; wrap it in jnp.float32(...), or in jnp.asarray(..., dtype=jnp.float32), "
            "to share the entry."
        ),
    ]
    assert last(f).differences[0].kind == "weak type"


@pytest.mark.parametrize("wrap", [np.float32, lambda v: jitkit.device_put(np.asarray(v, np.float32))])
def test_the_advice_on_weak_types_works(wrap, count):
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array())
    with count("<lambda>") as n:
        f(wrap(2.0))
    assert (n.traces, n.compiles) == (0, 0)


def test_a_weakly_typed_array_is_told_apart_from_a_scalar():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array())
    f(jitkit.jit(lambda: 1.0)())
    assert why(f) == [
        AGAINST_1,
        "x: float32[] before, weakly typed float32[] now",
        "A Python scalar, and a value computed from Python scalars alone, is weakly typed; wrap it in jnp.float32(...) to share the entry.",
    ]


def test_an_int_after_a_float_is_told_how_to_write_it():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(1.0)
    f(1)
    assert why(f) == [
        AGAINST_1,
        "x: float32[] of a Python float before, int32[] of a Python int now",
        "Python's int and float have different types: write 1.0 for 1 in every call, to share one entry.",
    ]


def test_an_int_after_an_array_of_floats_is_told_how_to_wrap_it():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array())
    f(1)
    assert why(f)[1:] == [
        "x: float32[] before, int32[] of a Python int now",
        (
            "float32 holds whole numbers up to 16,777,216: if they are no larger, wrap x in jnp.float32(...), to share "
            "the entry."
        ),
    ]


def test_a_leaf_is_named_by_its_path():
    f = jitkit.jit(lambda params, x: lax.neg(params["layers"][1][0]))
    f({"layers": [(array(2),), (array(3),)]}, array(1))
    f({"layers": [(array(2),), (array(5),)]}, array(1))
    assert why(f)[1:] == ["params['layers'][1][0]: float32[3] before, float32[5] now"]
    assert last(f).differences[0].argument == "params['layers'][1][0]"


def test_of_many_differences_twelve_are_spelled_out():
    f = jitkit.jit(lambda xs: lax.neg(xs[0]))
    f([array(1)] * 20)
    f([array(2)] * 20)
    lines = why(f)
    assert lines[1] == "xs[0]: float32[1] before, float32[2] now"
    assert lines[-1] == "and 8 more"
    assert (len(last(f).differences), last(f).more) == (12, 8)


# --- trees, and how arguments are passed ---------------------------------------------------------------------


class Point(NamedTuple):
    x: Any
    y: Any


@jitkit.tree_util.register_dataclass
@dataclasses.dataclass
class Tagged:
    x: Any
    tag: Any = dataclasses.field(metadata={"static": True})


@pytest.mark.parametrize(
    ("before", "now", "sentences"),
    [
        ({"a": 1.0}, {"a": 1.0, "b": 2.0}, ["tree['b'] is new", KEYS]),
        ({"a": 1.0, "b": 2.0}, {"a": 1.0}, ["tree['b'] is missing", KEYS]),
        ([1.0, 2.0], [1.0, 2.0, 3.0], ["tree was a list of 2 and is a list of 3", LENGTH]),
        ({"a": None}, {"a": 1.0}, ["tree['a'] was None and is a leaf", NONE]),
    ],
)
def test_another_tree_is_told_at_its_path(before, now, sentences):
    f = jitkit.jit(lambda tree: 1.0)
    f(before)
    f(now)
    assert why(f) == [AGAINST_1, *sentences]
    assert {difference.kind for difference in last(f).differences} == {"tree"}


@pytest.mark.parametrize(("before", "now"), [(1, True), (1, 1.0), ((1,), (True,))])
def test_metadata_that_are_equal_and_not_the_same_are_told(before, now):
    f = jitkit.jit(lambda tree: 1.0)
    f(Tagged(1.0, before))
    f(Tagged(1.0, now))
    assert why(f) == [AGAINST_1, f"tree.tag was {before} and is {now}"]


def test_another_class_of_node_is_another_tree():
    f = jitkit.jit(lambda tree: 1.0)
    f((1.0, 2.0))
    f(Point(1.0, 2.0))
    (difference,) = last(f).differences
    assert (difference.kind, difference.argument) == ("tree", "tree")
    assert "Point" in difference.sentence


def test_a_leaf_that_both_trees_have_is_compared_too():
    f = jitkit.jit(lambda tree: 1.0)
    f({"a": array(3)})
    f({"a": array(4), "b": 1.0})
    assert why(f)[1:] == ["tree['b'] is new", KEYS, "tree['a']: float32[3] before, float32[4] now"]


def test_an_argument_by_keyword_is_not_one_by_position():
    f = jitkit.jit(lambda x, y: lax.neg(x))
    f(array(3), array(3))
    f(array(3), y=array(3))
    assert why(f) == [
        AGAINST_1,
        "y: passed by position before, passed by keyword now",
        "Write the calls one way to share the entry.",
    ]
    assert last(f).differences[0].kind == "passing"


def test_a_default_that_is_passed_is_another_signature():
    f = jitkit.jit(lambda x, y=1.0: lax.neg(x))
    f(array(3))
    f(array(3), 1.0)
    assert why(f) == [
        AGAINST_1,
        "y: left out (default 1.0) before, passed by position now",
        (
            "A default that is left out is a constant of the program; an argument that is passed is an input: pass it in "
            "every call, to share one entry."
        ),
    ]


def test_one_more_of_several_positional_arguments_has_an_index():
    f = jitkit.jit(lambda *xs: lax.neg(xs[0]))
    f(array(3))
    f(array(3), array(3))
    assert why(f) == [AGAINST_1, "xs[1]: left out before, passed by position now", MORE_ARGUMENTS]


def test_collected_keywords_are_named_by_their_collector():
    f = jitkit.jit(lambda x, **rest: lax.neg(x))
    f(array(3), rate=array(2))
    f(array(3), rate=array(1))
    assert why(f)[1:] == ["rest['rate']: float32[2] before, float32[1] now"]


# --- static values -------------------------------------------------------------------------------------------


def static_function() -> Any:
    return jitkit.jit(lambda x, n: lax.neg(x), static_argnums=1)


def test_another_static_value_is_told_by_name():
    f = static_function()
    f(array(3), 2)
    f(array(3), 3)
    assert why(f) == [AGAINST_1, "n (static): 2 before, 3 now"]
    assert last(f).differences[0][:4] == ("static", "n", "2", "3")


def test_from_the_fourth_static_number_on_an_ordinary_argument_is_advised():
    f = static_function()
    for n in range(4):
        f(array(3), n)
    assert why(f, 3)[1:] == ["n (static): 1 before, 2 now"]
    assert why(f, 4)[1:] == [
        "n (static): 2 before, 3 now",
        "n has had 4 values, and each is compiled for itself. If it is a number to compute with, make it an ordinary argument.",
    ]


def test_equal_static_values_of_two_types_are_shown_with_their_types():
    f = static_function()
    f(array(3), 1)
    f(array(3), 1.0)
    assert why(f)[1:] == [
        "n (static): 1 (int) before, 1.0 (float) now",
        "Static values of different types are different, even when they are equal.",
    ]


class Settings:
    """Compares and hashes by identity, as classes do by default."""

    def __repr__(self) -> str:
        return "Settings(width=3)"


def test_an_object_without_equality_is_a_new_value_each_time():
    f = static_function()
    f(array(3), Settings())
    f(array(3), Settings())
    assert why(f)[1:] == [
        "n (static): Settings(width=3) before, another object that reads the same now",
        (
            "Settings has no __eq__, so that each object is a value of its own: pass the same object, or make the class a frozen "
            "dataclass."
        ),
    ]


def test_the_advice_on_objects_without_equality_works():
    frozen = dataclasses.make_dataclass("Frozen", ["width"], frozen=True)
    f = static_function()
    f(array(3), frozen(3))
    f(array(3), frozen(3))
    assert len(explain(f)) == 1


def test_an_address_is_not_part_of_a_static_value():
    f = static_function()
    f(array(3), object())
    f(array(3), object())
    assert why(f)[1] == "n (static): <object object> before, another object that reads the same now"


def test_long_static_values_are_shown_where_they_differ():
    f = static_function()
    f(array(3), "a" * 200 + "before")
    f(array(3), "a" * 200 + "now")
    assert why(f)[1] == f"n (static): ...{'a' * 20}before' before, ...{'a' * 20}now' now"


def test_static_functions_of_jitkit_have_a_name_and_no_path():
    f = static_function()
    f(array(3), jitkit.numpy.sin)
    f(array(3), functools.partial(jitkit.numpy.add, 1.0))
    assert why(f)[1] == "n (static): jitkit's sin before, a functools.partial of jitkit's add now"


def test_static_lambdas_from_one_line_are_told_by_their_line():
    f = static_function()
    for _ in range(2):
        f(array(3), function := (lambda: 0))
    line = line_of(function)
    assert why(f)[1:] == [
        f"n (static): the lambda at prog.py:{line} before, another function from there now",
        "A function is equal to itself only: define it once, outside of the loop, and pass what changes as an argument.",
    ]


def test_static_functions_are_told_by_name():
    f = static_function()
    f(array(3), array)
    f(array(3), neutral)
    assert why(f)[1:] == [
        f"n (static): array at prog.py:{line_of(array)} before, neutral at prog.py:{line_of(neutral)} now"
    ]


def test_nan_as_a_static_value_never_hits():
    f = static_function()
    f(array(3), float("nan"))
    f(array(3), float("nan"))
    assert why(f)[1:] == [
        "n (static): nan before, nan now",
        "nan is not equal to itself, so each call with it is a new one: make n an ordinary argument.",
    ]


class Rude:
    """All its methods raise, except `__hash__`."""

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        raise RuntimeError("not comparable")

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_static_values_whose_methods_raise_do_not_break_the_call():
    f = static_function()
    f(array(3), 1)
    f(array(3), Rude())
    assert why(f)[1:] == ["n (static): 1 before, <Rude, whose __repr__ raises RuntimeError> now"]


def test_a_long_static_value_is_shortened():
    f = static_function()
    f(array(3), 1)
    f(array(3), tuple(range(1000)))
    assert last(f).differences[0].now == f"{str(tuple(range(1000)))[:77]}..."


def test_a_static_value_by_keyword_is_not_one_by_position():
    f = jitkit.jit(lambda x, n=0: lax.neg(x), static_argnames="n")
    f(array(3), 2)
    f(array(3), n=2)
    assert why(f)[1:] == ["n: 2 by position before, 2 by keyword now", "Write the calls one way to share the entry."]


# --- options and places --------------------------------------------------------------------------------------


def test_x64_is_told_with_the_types_that_it_changes():
    f = jitkit.jit(lambda x: lax.neg(x))
    x = np.ones(3)
    f(x)
    with jitkit.enable_x64():
        f(x)
    assert why(f)[1:] == [
        "the option enable_x64: False before, True now",
        SET_ONCE,
        "x: float32[3] before, float64[3] now",
    ]
    assert last(f).differences[0].kind == "option"


def test_other_options_of_the_key_are_told_by_name():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    with config.override(numpy_rank_promotion="warn"):
        f(array(3))
    assert why(f) == [AGAINST_1, "the option numpy_rank_promotion: 'allow' before, 'warn' now", SET_ONCE]


def test_a_numpy_array_after_an_array_is_only_a_dispatch_entry(count):
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    with count("<lambda>") as n:
        f(np.ones(3, np.float32))
    assert (n.traces, n.compiles) == (0, 0)
    assert last(f).happened == "neither traced nor compiled, only a new dispatch entry"
    assert why(f) == [
        AGAINST_1,
        "x: on a device before, on the host now",
        "Nothing is recompiled for that: the new entry says how the argument gets to the device.",
    ]


def test_a_traced_call_is_not_explained_by_what_costs_nothing():
    f = jitkit.jit(lambda x, y: lax.neg(x))
    f(array(3), array(3))
    f(np.ones(3, np.float32), array(4))
    assert why(f) == [AGAINST_1, "y: float32[3] before, float32[4] now"]


def test_a_committed_argument_is_compiled_for_its_place(count):
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    with count("<lambda>") as n:
        f(jitkit.device_put(np.ones(3, np.float32), jitkit.devices()[0]))
    assert (n.traces, n.compiles) == (0, 1)
    assert last(f).happened == "compiled only"
    assert why(f) == [
        AGAINST_1,
        "x: not committed to a device before, committed to cpu:0 now",
        (
            "Committed arguments decide where a program runs, and it is compiled for that place. `device_put` with a "
            "device commits an array, and so does a computation with committed arguments. Do it for every call, or for none, "
            "to share one entry."
        ),
    ]


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh Python."""
    root = os.path.dirname(os.path.dirname(HERE))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, **environment},
        check=False,
    )


def test_another_device_is_told_by_name():
    done = run(
        """
        import jitkit, numpy as np
        from jitkit import lax
        from jitkit.misses.explain import explain
        f = jitkit.jit(lambda x: lax.neg(x))
        for device in jitkit.devices():
            f(jitkit.device_put(np.ones(3, np.float32), device))
        print(explain(f).misses[1].differences[0].sentence)
        """,
        XLA_FLAGS=f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2",
    )
    assert done.stdout == "x: committed to cpu:0 before, committed to cpu:1 now\n", done.stderr


def test_another_jit_of_the_function_compiles_without_tracing(count):
    def f(x, y):
        return lax.neg(x)

    one, other = jitkit.jit(f), jitkit.jit(f, keep_unused=True)
    one(array(3), array(3))
    with count("f") as n:
        other(array(3), array(3))
    assert (n.traces, n.compiles) == (0, 1)
    assert why(other) == [AGAINST_1, "jit's keep_unused: False before, True now", ONE_JIT]
    assert why(one) == why(other), "the misses belong to the function"


# --- functions -----------------------------------------------------------------------------------------------


def test_a_lambda_in_a_loop_is_counted():
    for _ in range(4):
        f = jitkit.jit(lambda x: lax.neg(x))
        f(array(3))
    place = f"prog.py:{line_of(f.__wrapped__)}"
    assert why(f) == [
        (
            f"<lambda> is new to jit. It is the 4th function made by the lambda at {place}; jit knows functions by identity: "
            "define it once, outside of the loop, and pass what changes as an argument."
        )
    ]
    assert last(f).reason == "new function"


def test_a_nested_function_is_counted():
    def make(k):
        def scale(x):
            return lax.mul(x, np.float32(k))

        return jitkit.jit(scale)

    fs = [make(k) for k in range(3)]
    for f in fs:
        f(array(3))
    place = f"prog.py:{line_of(fs[0].__wrapped__)}"
    assert why(fs[0]) == ["The first call of scale."]
    assert why(fs[1]) == [
        (
            f"scale is new to jit. It is the 2nd function made by `def scale` at {place}; jit knows functions by identity: define it "
            "once, outside of the loop, and pass what changes as an argument."
        )
    ]
    assert "the 3rd function" in why(fs[2])[0]


def test_a_partial_in_a_loop_is_counted():
    def scale(k, x):
        return lax.mul(x, np.float32(k))

    for k in range(2):
        f = jitkit.jit(functools.partial(scale, k))
        f(array(3))
    assert why(f) == [
        (
            f"scale is new to jit. It is the 2nd functools.partial of scale at prog.py:{line_of(scale)}; jit knows functions by "
            "identity: make the partial once, outside of the loop, or pass what it holds as an argument."
        )
    ]


class Model:
    def step(self, x):
        return lax.neg(x)

    def __call__(self, x):
        return lax.neg(x)


def test_a_method_of_new_instances_is_counted():
    models = [Model(), Model()]
    for model in models:
        f = jitkit.jit(model.step)
        f(array(3))
    assert why(f) == [
        (
            f"Model.step is new to jit. It is the 2nd bound method of Model.step at prog.py:{line_of(Model.step)}; to "
            "jit, the method of another instance is another function, and so is a method made after the last one "
            "is gone: jit it once, outside of the loop, or jit a "
            "function that takes the instance's arrays as arguments."
        )
    ]


def test_a_callable_instance_is_counted():
    models = [Model(), Model()]
    for model in models:
        f = jitkit.jit(model)
        f(array(3))
    assert why(f) == [
        (
            f"Model is new to jit. It is the 2nd instance of Model at prog.py:{line_of(Model.__call__)}; jit knows functions by "
            "identity: make it once, outside of the loop, and pass what changes as an argument."
        )
    ]


def test_a_wrapper_in_a_loop_is_counted():
    def g(x):
        return lax.neg(x)

    for _ in range(2):
        f = jitkit.jit(jitkit.jit(g))
        f(array(3))
    assert why(f) == [
        (
            f"g is new to jit. It is the 2nd wrapper of g at prog.py:{line_of(g)}; jit knows functions by identity: make it once, "
            "outside of the loop, and pass what changes as an argument."
        )
    ]


def test_jit_of_one_function_in_a_loop_does_not_miss():
    def g(x):
        return lax.neg(x)

    for _ in range(3):
        jitkit.jit(g)(array(3))
    assert [miss.reason for miss in explain(jitkit.jit(g))] == ["first call"]


def test_two_lambdas_on_one_line_are_two_sources():
    f, g = jitkit.jit(lambda x: lax.neg(x)), jitkit.jit(lambda x: lax.abs(x))
    f(array(3))
    g(array(3))
    assert why(g) == ["The first call of <lambda>."]


def test_a_jitted_function_inside_of_make_jaxpr_is_not_made_again():
    @jitkit.jit
    def g(x):
        return lax.neg(x)

    jitkit.make_jaxpr(g)(array(3))
    assert why(g) == ["The first call of g."]
    assert last(g).happened == "traced only"


def test_builtins_have_no_source():
    assert origin_of(len).describe() == "len"
    assert [count_another(origin_of(len)) for _ in range(3)] == [1, 1, 1]


# --- what was cached before ----------------------------------------------------------------------------------


def test_an_evicted_signature_is_told_with_the_limit():
    f = jitkit.jit(lambda x: lax.neg(x))
    with config.override(jit_cache_size=2):
        for n in (1, 2, 3, 1):
            f(array(n))
    assert why(f) == [
        "It was cached in #1, and dropped since: only the 2 signatures used last are kept (jit_cache_size)."
    ]
    assert (last(f).reason, last(f).closest) == ("evicted", 1)


def test_an_entry_that_was_evicted_before_its_trace_is_evicted():
    f = jitkit.jit(lambda x: lax.neg(x))
    with config.override(jit_cache_size=2):
        f(array(1))
        f(array(2))
        f(array(1))  # a hit: now the entry for 2 is the oldest one, but the trace for 1
        f(array(3))
        f(array(2))
    assert last(f).reason == "evicted"
    assert not last(f).traced


@pytest.mark.parametrize("clear", [lambda f: f.clear_cache(), lambda f: jitkit.clear_caches()])
def test_a_signature_that_was_cleared_is_told(clear):
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    clear(f)
    f(array(3))
    assert why(f) == ["It was cached in #1, and cleared by clear_cache() or clear_caches()."]
    assert last(f).reason == "cleared"


def test_another_signature_after_clearing_has_nothing_to_be_compared_with():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    f.clear_cache()
    f(array(4))
    assert why(f) == ["The first call since clear_cache() or clear_caches()."]


def test_what_was_only_lowered_is_compiled_at_the_first_call():
    f = jitkit.jit(lambda x: lax.neg(x))
    f.lower(array(3))
    f(array(3))
    assert [miss.happened for miss in explain(f)] == ["traced only", "compiled only"]
    assert why(f) == ["It was traced in #1, and is compiled now."]


def test_what_was_compiled_ahead_of_time_is_not_compiled_again_by_a_call():
    f = jitkit.jit(lambda x: lax.neg(x))
    f.lower(array(3)).compile()
    f(array(3))
    assert [miss.happened for miss in explain(f)] == [
        "traced only",
        "neither traced nor compiled, only a new dispatch entry",
    ]
    assert why(f) == ["It was traced in #1, and its program is compiled already."]


def test_what_was_only_lowered_is_not_explained_by_its_place():
    f = jitkit.jit(lambda x: lax.neg(x))
    f.lower(array(3))
    f(jitkit.device_put(np.ones(3, np.float32), jitkit.devices()[0]))
    assert why(f) == ["It was traced in #1, and is compiled now."]


def test_what_was_cleared_and_lowered_is_compiled_for_having_been_lowered():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    f.clear_cache()
    f.lower(array(3))
    f(array(3))
    assert [miss.reason for miss in explain(f)] == ["first call", "cleared", "traced before"]


def test_a_call_inside_of_another_function_leaves_a_record():
    inner = jitkit.jit(lambda x: lax.neg(x))
    outer = jitkit.jit(lambda x: inner(x))
    inner(array(3))
    outer(array(4))
    assert last(inner).happened == "traced only"
    assert why(inner) == [AGAINST_1, "x: float32[3] before, float32[4] now"]
    assert last(inner).call_site.startswith(f"{HERE}:{line_of(outer.__wrapped__)}:")
    inner(array(4))
    assert why(inner) == ["It was traced in #2, and is compiled now."]


def test_closing_over_another_trace_is_a_reason():
    cell: list[Any] = []
    inner = jitkit.jit(lambda y: lax.add(cell[0], y))

    @functools.partial(jitkit.jit, static_argnums=1)
    def outer(x, n):
        cell[:] = [x]
        return inner(x)

    outer(array(3), 1)
    outer(array(3), 2)
    assert why(inner) == [
        (
            "It was traced for this signature in #1, but closes over values of an outer trace that has ended. Pass them as arguments "
            "to share the trace."
        )
    ]
    assert last(inner).reason == "other closure"


# --- which signature is closest ------------------------------------------------------------------------------


def test_the_closest_signature_has_the_fewest_differences():
    f = jitkit.jit(lambda x, y: lax.neg(x))
    f(array(1), array(1))
    f(array(2), array(2))
    f(array(1), array(3))
    assert why(f) == [AGAINST_1, "y: float32[1] before, float32[3] now"]


def test_of_two_equally_close_signatures_the_latest_counts():
    f = jitkit.jit(lambda x: lax.neg(x))
    for n in (1, 2, 3):
        f(array(n))
    assert last(f).closest == 2


def test_a_dispatch_entry_is_compared_with_what_could_be_run():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(1))
    f(array(2))
    f(np.ones(1, np.float32))
    assert why(f)[:2] == [AGAINST_1, "x: on a device before, on the host now"]


def test_a_tree_with_one_more_leaf_is_farther_than_a_leaf_of_another_shape():
    f = jitkit.jit(lambda tree: 1.0)
    f({"w": array(3)})
    f({"w": array(4), "b": array(4)})
    f({"w": array(4)})
    assert why(f) == [AGAINST_1, "tree['w']: float32[3] before, float32[4] now"]


def test_the_search_for_the_closest_is_bounded(monkeypatch):
    f = jitkit.jit(lambda x, y, z: lax.neg(x))
    f(array(3), array(3), array(3))
    record = record_of(f)
    known = [record._replace(number=number, options=None) for number in range(20_000)]
    compared = []
    monkeypatch.setattr(call_record, "changes", lambda old, new, weight: compared.append(old.number) or [])
    monkeypatch.setattr(call_record, "distance", lambda *args: (len(call_record.changes(*args)) + 1,))
    nearest, _ = call_record.closest(known, record, 2)
    assert nearest is known[-1]
    assert compared == list(range(19_999, 19_975, -1))


# --- the report ----------------------------------------------------------------------------------------------


def test_the_report_reads_as_a_whole():
    def loss(w, x, n=1):
        return lax.neg(x)

    f = jitkit.jit(loss, static_argnames="n")
    f(array(2), array(3))
    f(array(2), array(4), n=2)
    f.lower(array(2), array(4), n=3)
    start = line_of(loss)
    assert (
        neutral(str(explain(f)))
        == textwrap.dedent(f"""\
        loss at prog.py:{start}: 3 misses, 3 traced, 2 compiled, 0.0 ms in all

        #1 prog.py:{start + 4}:4 (test_the_report_reads_as_a_whole): traced and compiled, 0.0 ms
            The first call of loss.

        #2 prog.py:{start + 5}:4 (test_the_report_reads_as_a_whole): traced and compiled, 0.0 ms
            A new signature. Against the closest in the cache, that of #1:
              x: float32[3] before, float32[4] now
              n: left out (default 1) before, 2 by keyword now

        #3 prog.py:{start + 6}:4 (test_the_report_reads_as_a_whole): traced only, 0.0 ms
            A new signature. Against the closest in the cache, that of #2:
              n (static): 2 before, 3 now

        A difference without an edit below it needs a program of its own, which is compiled once, and found again at the next such call.""")
    )
    assert explain(f)._repr_html_().endswith("at the next such call.</p>")
    assert repr(explain(f)) == str(explain(f))


def test_a_function_that_was_not_called_has_no_misses():
    f = jitkit.jit(lambda x: lax.neg(x))
    assert neutral(str(explain(f))) == f"<lambda> at prog.py:{line_of(f.__wrapped__)}: no call has missed the cache yet"


def test_the_report_is_plain_data_too():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    f(array(4))
    first, second = json.loads(json.dumps(explain(f).as_dicts()))
    assert first["reason"] == "first call"
    assert second["differences"] == [
        {
            "kind": "shape",
            "argument": "x",
            "before": "float32[3]",
            "now": "float32[4]",
            "sentence": "x: float32[3] before, float32[4] now",
            "advice": "",
        }
    ]
    assert second["number"] == 2
    assert second["closest"] == 1


def test_the_report_is_a_table_in_notebooks():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    text = explain(f)._repr_html_()
    assert text.count("<tr>") == 2
    assert "&lt;lambda&gt;" in text
    assert "<lambda>" not in text


def test_seconds_are_those_of_the_call():
    f = jitkit.jit(lambda x: lax.neg(x))
    with jitkit.base.stage_log.listen() as events:
        f(array(3))
    stages = sum(event.seconds for event in events if event.function == "<lambda>")
    assert stages <= last(f).seconds < stages + 1


def test_without_a_function_the_latest_misses_of_all_are_reported():
    f, g = jitkit.jit(lambda x: lax.neg(x)), jitkit.jit(lambda x: lax.abs(x))
    f(array(3))
    g(array(3))
    f(array(4))
    report = explain()
    assert [(miss.function, miss.number) for miss in report.misses[-3:]] == [
        (last(f).function, 1),
        (last(g).function, 1),
        (last(f).function, 2),
    ]
    assert f", called at {last(f).call_site}: traced and compiled" in str(report)


def test_functions_of_the_library_are_not_reported():
    f = jitkit.jit(lambda x: lax.neg(x))
    f(array(3))
    log = MissLog()
    log.add(jitkit.eval_shape, record_of(f), [], traced=True, compiled=True, seconds=0.0)
    assert [miss.sentence for miss in log.misses()[1]] == ["The first call of eval_shape."]
    assert explain().misses[-1] == last(f)


def record_of(f: Any) -> CallRecord:
    """Return the record of the only entry of a jitted function."""
    (record,) = f._jitted.table.records.values()
    return record


def test_explain_wants_a_function_made_by_jit():
    with pytest.raises(
        TypeError, match=r"^explain takes a function made by jit, got <built-in function len>\.\nPass what `jit`"
    ):
        explain(len)


def test_explain_looks_through_partials_and_methods():
    class Net:
        @functools.partial(jitkit.jit, static_argnums=0)
        def forward(self, x):
            return lax.neg(x)

    net = Net()
    net.forward(array(3))
    assert len(explain(net.forward)) == 1
    assert len(explain(functools.partial(net.forward, array(3)))) == 1


def test_a_call_that_raises_leaves_no_record():
    @jitkit.jit
    def f(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        f(array(3))
    assert len(explain(f)) == 0


# --- threads and memory --------------------------------------------------------------------------------------


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_number_their_misses_one_by_one():
    f = jitkit.jit(lambda x: lax.neg(x))
    in_threads(8, lambda i: f(array(i + 1)))
    assert [miss.number for miss in explain(f)] == list(range(1, 9))
    assert {miss.reason for miss in explain(f)} <= {"first call", "new signature"}


def test_threads_that_wait_for_a_first_call_do_not_miss():
    f = jitkit.jit(lambda x: lax.neg(x))
    in_threads(8, lambda i: f(array(3)))
    assert [miss.reason for miss in explain(f)] == ["first call"]


def test_threads_count_the_functions_of_one_line():
    fs = [jitkit.jit(lambda x: lax.neg(x)) for _ in range(8)]
    in_threads(8, lambda i: fs[i](array(3)))
    counts = sorted(int(match[1]) if (match := re.search(r"the (\d)", why(f)[0])) else 1 for f in fs)
    assert counts == list(range(1, 9))


def test_logs_are_bounded(monkeypatch):
    monkeypatch.setattr(sys.modules["jitkit.misses.explain"], "_KEPT_PER_FUNCTION", 3)
    monkeypatch.setattr(sys.modules["jitkit.misses.explain"], "_SIGNATURES", 2)
    monkeypatch.setattr(sys.modules["jitkit.misses.explain"], "_all_misses", deque(maxlen=4))
    f = static_function()
    for n in range(6):
        f(array(1), n)
    assert [miss.number for miss in explain(f)] == [4, 5, 6]
    assert str(explain(f)).split(": ")[1].startswith("6 misses, of which the latest 3 are 3 traced, 3 compiled, ")
    assert len(explain().misses) == 4
    assert len(f._jitted.cache.misses._seen) == 2


def test_the_count_of_sources_is_bounded(monkeypatch):
    module = sys.modules["jitkit.misses.origin"]
    monkeypatch.setattr(module, "_SOURCES", 2)
    monkeypatch.setattr(module, "_counts", type(module._counts)())
    for fun in (array, neutral, why, array):
        count_another(origin_of(fun))
    assert [origin.name for origin in module._counts] == ["why", "array"]
    assert count_another(origin_of(why)) == 2
    assert count_another(origin_of(neutral)) == 1, "it was forgotten"


class Referable:
    """A static value to which tests can make a weak reference."""


@jitkit.tree_util.register_static
class Setting:
    """Static data of a tree, to which tests can make a weak reference."""


def test_the_story_of_a_miss_keeps_nothing_alive():
    value, setting, x = Referable(), Setting(), array(3)

    def fun(x, n, setting):
        return lax.neg(x)

    f = jitkit.jit(fun, static_argnums=1)
    f(x, 1, None)
    f(x, value, setting)
    story = last(f)
    watched = [weakref.ref(thing) for thing in (value, setting, x, fun)]
    del value, setting, x, fun, f
    gc.collect()
    assert [ref() for ref in watched] == [None] * 4
    assert "Referable object" in story.differences[0].sentence
    assert explain().misses[-1] == story


def test_records_go_with_what_was_cached():
    f = static_function()
    value = Referable()
    f(array(3), value)
    watched = weakref.ref(value)
    del value
    f.clear_cache()
    gc.collect()
    assert watched() is None
    assert len(explain(f)) == 1


# --- logs ----------------------------------------------------------------------------------------------------


def messages(caplog: Any, logger: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith(logger)]


def test_misses_are_logged_in_the_block(caplog):
    f = jitkit.jit(lambda x: lax.neg(x))
    with explain_cache_misses():
        f(array(3))
    with explain_cache_misses(True):
        f(array(4))
        f(np.ones(4, np.float32))
    with explain_cache_misses(False):
        f(array(5))
    f(array(6))
    line = line_of(f.__wrapped__)
    place = f"({test_misses_are_logged_in_the_block.__name__})"
    assert [neutral(text) for text in messages(caplog, "jitkit")] == [
        (
            f"TRACING CACHE MISS at prog.py:{line + 2}:8 {place}:\n"
            f"  <lambda> at prog.py:{line}: traced and compiled, 0.0 ms (#1)\n"
            "  The first call of <lambda>."
        ),
        (
            f"TRACING CACHE MISS at prog.py:{line + 4}:8 {place}:\n"
            f"  <lambda> at prog.py:{line}: traced and compiled, 0.0 ms (#2)\n"
            "  A new signature. Against the closest in the cache, that of #1:\n"
            "    x: float32[3] before, float32[4] now"
        ),
        (
            f"DISPATCH CACHE MISS at prog.py:{line + 5}:8 {place}:\n"
            f"  <lambda> at prog.py:{line}: neither traced nor compiled, only a new dispatch entry, 0.0 ms (#3)\n"
            "  A new signature. Against the closest in the cache, that of #2:\n"
            "    x: on a device before, on the host now\n"
            "      Nothing is recompiled for that: the new entry says how the argument gets to the device."
        ),
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_the_first_line_of_a_miss_is_that_of_jax(caplog):
    def f(x):
        return x

    def nested(g):
        return lambda x: g(x)

    with explain_cache_misses(), jax.explain_cache_misses(True):
        for jit in (jitkit.jit, jax.jit):
            inner = jit(f)
            for call in (inner, jit(nested(inner))):
                for n in (3, 4):
                    call(np.ones(n, np.float32))
    ours = [text.splitlines()[0] for text in messages(caplog, "jitkit")]
    theirs = [text.splitlines()[0] for text in messages(caplog, "jax")]
    assert len(theirs) >= 4
    assert sorted(ours) == sorted(theirs)


def without_times(texts: list[str]) -> list[str]:
    return [re.sub(r"\d+\.\d{9}", "0.0", text) for text in texts]


def test_compiles_are_logged_as_jax_logs_them(caplog):
    def f(x, unused, n):
        return jnp_like_neg(x)

    def jnp_like_neg(x):
        return -x if isinstance(x, jax.core.Tracer) else lax.neg(x)

    with log_compiles(), jax.log_compiles():
        for module in (jitkit, jax):
            jitted = module.jit(f, static_argnums=2)
            jitted(np.ones((3, 4), np.float32), 1, 2)
            jitted(2.0, 1, 2)
            nested = module.jit(lambda x, g=jitted: g(x, x, 2))
            nested(np.ones(5, np.int32))
            committed = module.device_put(np.ones(3, np.int32), module.devices()[0])
            jitted(committed, 1, 2)
    ours, theirs = (without_times(messages(caplog, logger)) for logger in ("jitkit", "jax"))
    assert len(theirs) == 16
    assert ours == theirs


def test_what_is_compiled_ahead_of_time_serves_calls_as_in_jax(caplog):
    """Also the other way round, for another `jit` of the function, with donation, and on a device; but not with other options of XLA."""

    def f(x, y):
        return jnp_like_add(x, y)

    def jnp_like_add(x, y):
        return x + y

    option = {"xla_cpu_enable_fast_math": True}
    x = np.ones((3, 4), np.float32)
    with log_compiles(), jax.log_compiles():
        for module in (jitkit, jax):
            for arguments in ({}, {"donate_argnums": 0}):
                jitted, shape = module.jit(f, **arguments), module.ShapeDtypeStruct((3, 4), "f4")
                jitted.lower(shape, shape).compile()
                jitted(x, x)
                jitted(module.device_put(x), x)
                module.jit(f, **arguments)(x, x)
                jitted.lower(x, x).compile()(x, x)
                jitted.lower(x, x).compile(option)
                there = [module.device_put(x, module.devices()[0]) for _ in range(2)]
                jitted.lower(*there).compile()
                jitted(*there)
                jitted(1.0, 2.0)
                jitted.lower(1.0, 2.0).compile()
    finished = [
        [text.split(" in ")[0] for text in messages(caplog, logger) if "XLA" in text] for logger in ("jitkit", "jax")
    ]
    assert len(finished[1]) == 8
    assert finished[0] == finished[1]


def test_without_the_option_compiles_are_debug_messages(caplog):
    f = jitkit.jit(lambda x: lax.neg(x))
    with caplog.at_level(logging.DEBUG, logger="jitkit"):
        f(array(3))
    assert {record.levelno for record in caplog.records if record.name == "jitkit"} == {logging.DEBUG}
    assert [text.split(" in ")[0] for text in messages(caplog, "jitkit")][
        -1
    ] == "Finished XLA compilation of jit(<lambda>)"


def test_without_the_options_nothing_is_logged(caplog):
    jitkit.jit(lambda x: lax.neg(x))(array(3))
    assert messages(caplog, "jitkit") == []


def test_options_apply_to_the_thread_of_the_block(caplog):
    f = jitkit.jit(lambda x: lax.neg(x))
    with explain_cache_misses():
        in_threads(1, lambda i: f(array(3)))
    assert messages(caplog, "jitkit") == []


@pytest.mark.parametrize("how", ["environment", "config"])
def test_misses_and_compiles_are_logged_everywhere_when_asked_for(how):
    settings = 'jitkit.config.update("explain_cache_misses", True); jitkit.config.update("log_compiles", True)'
    program = f"""
        import jitkit, numpy as np
        from jitkit import lax
        {settings if how == "config" else ""}
        jitkit.jit(lambda x: lax.neg(x))(np.float32(1))
        """
    environment = {"JITKIT_EXPLAIN_CACHE_MISSES": "1", "JITKIT_LOG_COMPILES": "1"} if how == "environment" else {}
    lines = run(program, **environment).stderr.splitlines()
    assert [re.split(r" in \d| at |:", line)[0].strip() for line in lines] == [
        "Finished tracing <lambda> for jit",
        "Compiling jit(<lambda>) with global shapes and types (ShapedArray(float32[]),). Argument mapping",
        "Finished jaxpr to MLIR module conversion jit(<lambda>)",
        "Finished XLA compilation of jit(<lambda>)",
        "TRACING CACHE MISS",
        "<lambda>",
        "The first call of <lambda>.",
    ]


def test_a_report_can_be_counted_and_iterated():
    report = Explanation("title", [], of_one_function=True)
    assert len(report) == 0
    assert list(report) == []
    assert str(report) == "title"


def test_a_loop_around_calls_alone_is_not_to_blame_for_new_functions():
    """It is where a function is made that counts, not where it is called."""

    def made(n):
        return jitkit.jit(lambda x: x * n)

    first, second = made(1), made(2)
    for f in (first, second):
        f(2.0)
    said = str(jitkit.explain(second))
    assert "It is the 2nd function made by the lambda" in said
    assert "define it once, and pass" in said
    assert "outside of the loop" not in said
    for n in (3, 4):
        third = made(n)
        third(2.0)
    assert "define it once, outside of the loop, and pass" in str(jitkit.explain(third))


def test_a_static_object_that_holds_arrays_is_advised_to_be_traced_and_that_edit_works():
    class Model:
        def __init__(self):
            self.layers = [{"w": jitkit.numpy.ones(3)}]

        @functools.partial(jitkit.jit, static_argnums=0)
        def __call__(self, x):
            return x * self.layers[0]["w"]

    first, second = Model(), Model()
    first(jitkit.numpy.ones(3))
    second(jitkit.numpy.ones(3))
    said = " ".join(str(jitkit.explain(Model.__call__)).split())
    assert "do not make self static, since its layers holds arrays: make the class a dataclass, and register it" in said
    assert "frozen" not in said

    traced = []

    @jitkit.tree_util.register_dataclass
    @dataclasses.dataclass
    class Mended:
        layers: list

        @jitkit.jit
        def __call__(self, x):
            traced.append(x)
            return x * self.layers[0]["w"]

    for _ in range(2):
        Mended([{"w": jitkit.numpy.ones(3)}])(jitkit.numpy.ones(3))
    assert len(traced) == 1


def test_a_static_tuple_that_holds_a_nan_is_advised_to_be_traced_and_that_edit_works():
    f = jitkit.jit(lambda x, pair: x, static_argnums=1)
    traced = []

    @jitkit.jit
    def g(x, pair):
        traced.append(x)
        return x

    for _ in range(2):
        f(1.0, (1, float("nan")))
        g(1.0, (1, float("nan")))
    assert "not equal to itself, so each call with it may be a new one: make pair an ordinary argument" in " ".join(
        str(jitkit.explain(f)).split()
    )
    assert len(traced) == 1
