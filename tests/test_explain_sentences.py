"""What `explain` says of two calls, pair by pair; that its advice works and loses nothing; and that the call it
compares with is the closest one.
"""

from __future__ import annotations

import collections
import math
import random
import re
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit.core import dtypes
from jitkit.misses import record as call_record
from jitkit.misses.explain import explain

Struct = jitkit.ShapeDtypeStruct


def struct(dtype: Any, *shape: int) -> Any:
    return Struct(shape or (3,), dtype)


def scalar(dtype: Any) -> Any:
    return jitkit.device_put(np.ones((), dtype))


class Pair(NamedTuple):
    a: Any
    b: Any


def lines_of(*calls: Any, **options: Any) -> list[str]:
    """Call a function with each of these values; return the lines of `explain` about the last call, without the first
    line.
    """
    f = jitkit.jit(lambda x: 1.0, **options)
    for x in calls:
        f(x) if dtypes.is_python_scalar(calls[0]) or dtypes.is_python_scalar(calls[1]) else f.trace(x)
    return [line.strip() for line in explain(f).misses[-1].lines()][1:]


def whole_numbers(dtype: str, limit: str, act: str) -> str:
    return f"{dtype} holds whole numbers up to {limit}: if they are no larger, {act}"


def few_digits(dtype: str, holds: str, digits: int, entry: str = "the entry") -> str:
    return (
        f"{dtype} holds {holds}, and results have about {digits} digits: if that is enough, convert x before the call, with "
        f"`.astype(jnp.{dtype})`, to share {entry}."
    )


KEYS = "Keys are of two kinds: make all of them with jax.random.key, or all with jax.random.PRNGKey, to share an entry."
LITERALS = "Python's {} and {} have different types: write {} for {} in every call, to share one entry."
WRAP = "A Python scalar is weakly typed; wrap it in jnp.{0}(...), or in jnp.asarray(..., dtype=jnp.{0}), to share the entry."
CONVERT = "onvert x before the call, with `.astype(jnp.{})`, to share the entry."
CONVERT_ALL = "onvert x in every call, with `.astype(jnp.{})`, to share one entry."

i32, f32, f16, bf16 = np.int32, np.float32, np.float16, ml_dtypes.bfloat16

NONE = "None has no leaf, so with it and without it there are two programs; to have one, pass zeros in its place."
KIND = "A structure is a part of the type: pass the same kind in every call, to share one entry."
SAME_KEYS = "Pass the same keys in every call, to share one entry: what is missing may be zeros."
ORDER = "The order of the keys is a part of OrderedDict, and not of a dict: pass `dict(...)`, to share one entry."
ONE_JIT = "Static here and traced there are two jits of one function: keep one of them, and call that."


# What x was, what x is, and what is said.
PAIRS: list[tuple[Any, Any, list[str]]] = [
    # dtypes: one holds the other
    (struct(f32), struct(bf16), ["x: float32[3] before, bfloat16[3] now", "C" + CONVERT.format("float32")]),
    (struct(i32), struct(np.int16), ["x: int32[3] before, int16[3] now", "C" + CONVERT.format("int32")]),
    (struct(bf16), struct(np.int8), ["x: bfloat16[3] before, int8[3] now", few_digits("bfloat16", "all of these values", 2)]),
    (struct(f32), struct(bool), ["x: float32[3] before, bool[3] now", "C" + CONVERT.format("float32")]),
    (
        struct(bool),
        struct(f32),
        ["x: bool[3] before, float32[3] now", "jnp.float32 holds both: c" + CONVERT_ALL.format("float32")],
    ),
    # the cast keeps values, but not results such as sqrt(-1), ~x, x + x
    (struct(f32), struct(np.complex64), ["x: float32[3] before, complex64[3] now"]),
    (struct(np.complex64), struct(np.uint8), ["x: complex64[3] before, uint8[3] now"]),
    (struct(i32), struct(bool), ["x: int32[3] before, bool[3] now"]),
    # neither dtype holds the other's values, but a third one does
    (
        struct(np.uint8),
        struct(np.int8),
        ["x: uint8[3] before, int8[3] now", "jnp.int16 holds both: c" + CONVERT_ALL.format("int16")],
    ),
    (
        struct(f16),
        struct(bf16),
        ["x: float16[3] before, bfloat16[3] now", "jnp.float32 holds both: c" + CONVERT_ALL.format("float32")],
    ),
    # none does
    (struct(i32), struct(f16), ["x: int32[3] before, float16[3] now"]),
    (struct(i32), struct(f32), ["x: int32[3] before, float32[3] now"]),
    (struct(np.uint32), struct(i32), ["x: uint32[3] before, int32[3] now"]),
    (
        struct(ml_dtypes.float8_e4m3fn),
        struct(ml_dtypes.float8_e5m2),
        ["x: float8_e4m3fn[3] before, float8_e5m2[3] now"],
    ),
    # whole numbers in a float
    (
        struct(f32),
        struct(i32),
        ["x: float32[3] before, int32[3] now", whole_numbers("float32", "16,777,216", "c" + CONVERT.format("float32"))],
    ),
    (
        struct(f16),
        struct(i32),
        ["x: float16[3] before, int32[3] now", few_digits("float16", "whole numbers up to 2,048", 3)],
    ),
    # numbers of Python's, which have no `astype`
    (1, 1.0, ["x: int32[] of a Python int before, float32[] of a Python float now", LITERALS.format("int", "float", "1.0", "1")]),
    (1.0, 1, ["x: float32[] of a Python float before, int32[] of a Python int now", LITERALS.format("int", "float", "1.0", "1")]),
    (1, 1j, ["x: int32[] of a Python int before, complex64[] of a Python complex now"]),
    (scalar(i32), 1.0, ["x: int32[] before, float32[] of a Python float now"]),
    (scalar(i32), 1j, ["x: int32[] before, complex64[] of a Python complex now"]),
    (
        scalar(f32),
        1,
        [
            "x: float32[] before, int32[] of a Python int now",
            whole_numbers("float32", "16,777,216", "wrap x in jnp.float32(...), to share the entry."),
        ],
    ),
    (
        1.0,
        np.int32(1),
        [
            "x: float32[] of a Python float before, int32[] now",
            whole_numbers("float32", "16,777,216", "wrap x in jnp.float32(...) in every call, to share one entry."),
        ],
    ),
    (scalar(f32), True, ["x: float32[] before, bool[] of a Python bool now", "Wrap x in jnp.float32(...), to share the entry."]),
    (True, 1, ["x: bool[] of a Python bool before, int32[] of a Python int now"]),
    (True, np.bool_(True), ["x: Python's bool before, numpy's bool now",
                            "Nothing is recompiled for that: the new entry says how the argument gets to the device."]),
    (
        scalar(f16),
        0.5,
        [
            "x: float16[] before, float32[] of a Python float now",
            "jnp.float32 holds both: wrap x in jnp.float32(...) in every call, to share one entry.",
        ],
    ),
    (scalar(f32), 0.5, ["x: float32[] before, float32[] of a Python float now", WRAP.format("float32")]),
    (0.5, np.float32(1), ["x: float32[] of a Python float before, float32[] now", WRAP.format("float32")]),
    # shapes
    (scalar(f32), struct(f32, 1), ["x: float32[] before, float32[1] now"]),
    (1.0, np.ones(3, f32), ["x: float32[] of a Python float before, float32[3] now"]),
    (struct(f32), struct(f32, 1, 3), ["x: float32[3] before, float32[1,3] now"]),
    (struct(f32), struct(i32, 4), ["x: float32[3] before, int32[4] now"]),
    # keys
    (jitkit.random.key(0), jitkit.random.PRNGKey(0), ["x: key<fry>[] before, uint32[2] now", KEYS]),
    (jitkit.random.PRNGKey(0), jitkit.random.key(0), ["x: uint32[2] before, key<fry>[] now", KEYS]),
    (jitkit.random.key(0), scalar(f32), ["x: key<fry>[] before, float32[] now"]),
    (jitkit.random.key(0), jitkit.random.split(jitkit.random.key(0)), ["x: key<fry>[] before, key<fry>[2] now"]),
    # trees
    (None, struct(f32), ["x was None and is a leaf", NONE]),
    ({"a": 1.0}, {"a": None}, ["x['a'] was a leaf and is None", NONE]),
    ((1.0, 1.0), [1.0, 1.0], ["x was a tuple and is a list", KIND]),
    ((1.0, 1.0), Pair(1.0, 1.0), ["x was a tuple and is a Pair", KIND]),
    ({"a": 1.0, "b": 1.0}, {"a": 1.0, "c": 1}, ["x['b'] is missing", "x['c'] is new", SAME_KEYS]),
    ({}, {"a": 1.0}, ["x['a'] is new", SAME_KEYS]),
    (
        collections.OrderedDict(a=1.0, b=1.0),
        collections.OrderedDict(b=1.0, a=1.0),
        ["x had its keys in the order ['a'] ['b'] and has them in the order ['b'] ['a']", ORDER],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "now", "lines"), PAIRS, ids=[" ".join(lines) for *_, lines in PAIRS])
def test_two_types_of_an_argument(before, now, lines):
    assert lines_of(before, now) == lines


# How the arguments (x, y) of a function are passed.
CALLS: dict[str, tuple[Any, tuple[Any, Any], tuple[Any, Any], list[str]]] = {
    "a default": (
        {},
        ((1.0,), {}),
        ((1.0, 2.0), {}),
        [
            "y: left out (default None) before, passed by position now",
            (
                "A default that is left out is a constant of the program; an argument that is passed is an input: pass it in "
                "every call, to share one entry."
            ),
        ],
    ),
    "None is no input": (
        {},
        ((1.0,), {}),
        ((1.0,), {"y": None}),
        [
            "y: left out (default None) before, None by keyword now",
            "None is the default, and no input of the program: write the calls one way to share the entry.",
        ],
    ),
    "an empty tree is no input, but not the default": (
        {},
        ((1.0, ()), {}),
        ((1.0,), {}),
        ["y: passed by position before, left out (default None) now"],
    ),
    "a static value that is not the default": (
        {"static_argnames": "y"},
        ((1.0,), {}),
        ((1.0,), {"y": 2}),
        ["y: left out (default None) before, 2 by keyword now"],
    ),
    "by keyword, and of another type": (
        {},
        ((1.0, 1.0), {}),
        ((1.0,), {"y": 1}),
        [
            "y: passed by position before, passed by keyword now",
            "Write the calls one way to share the entry.",
            "y: float32[] of a Python float before, int32[] of a Python int now",
            LITERALS.format("int", "float", "1.0", "1"),
        ],
    ),
    "by keyword, and with another value": (
        {"static_argnames": "y"},
        ((1.0, 1), {}),
        ((1.0,), {"y": 3}),
        [
            "y: 1 by position before, 3 by keyword now",
            "Write the calls one way to share the entry.",
            "y (static): 1 before, 3 now",
        ],
    ),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_two_ways_of_passing_an_argument(name):
    options, before, now, lines = CALLS[name]
    f = jitkit.jit(lambda x, y=None: 1.0, **options)
    for args, kwargs in (before, now):
        f(*args, **kwargs)
    assert [line.strip() for line in explain(f).misses[-1].lines()][1:] == lines


@pytest.mark.parametrize(
    ("default", "passed", "line"),
    [
        (2, 2, "2 is the default: write the calls one way to share the entry."),
        (2, 3, ""),
        (2, 2.0, ""),
        (2, True, ""),
        ("relu", "relu", "'relu' is the default: write the calls one way to share the entry."),
        (None, None, "None is the default: write the calls one way to share the entry."),
        (math.sin, math.sin, "<built-in function sin> is the default: write the calls one way to share the entry."),
    ],
)
def test_a_static_value_that_is_the_default_is_said_to_be(default, passed, line):
    def fun(x, n=default):
        return 1.0

    f = jitkit.jit(fun, static_argnames="n")
    for call in (lambda: f(1.0), lambda: f(1.0, passed)):
        call()
    [difference] = explain(f).misses[-1].differences
    assert difference.sentence == f"n: left out (default {default!r}) before, {passed!r} by position now"
    assert difference.advice == line


def test_a_tree_without_arrays_that_is_the_default_is_said_to_be():
    f = jitkit.jit(lambda x, y=(), **others: 1.0)
    f(1.0)
    f(1.0, ())
    [difference] = explain(f).misses[-1].differences
    assert (
        difference.advice
        == "It is the default, and no input of the program: write the calls one way to share the entry."
    )
    f(1.0, (), z=())  # `z` has no default
    [difference] = explain(f).misses[-1].differences
    assert (difference.sentence, difference.advice) == ("others['z']: left out before, passed by keyword now", "")


def test_a_default_of_several_lines_is_said_in_one():
    eye = np.eye(3)
    f = jitkit.jit(lambda x, y=eye: x)
    f(1.0)
    f(1.0, eye)
    [difference] = explain(f).misses[-1].differences
    assert difference.sentence.startswith(
        "y: left out (default array([[1., 0., 0.], [0., 1., 0.], [0., 0., 1.]])) before"
    )


def test_one_more_static_argument_is_no_other_way_to_write_the_call():
    def fun(x, n):
        return 1.0

    jitkit.jit(fun, static_argnums=1).trace(1.0, 2)
    jitkit.jit(fun).trace(1.0, 2)
    (difference,) = explain(jitkit.jit(fun)).misses[-1].differences
    assert (difference.sentence, difference.advice) == (
        "n: 2 (static) by position before, traced by position now",
        ONE_JIT,
    )


def test_nothing_is_advised_for_types_that_an_option_has_changed():
    f = jitkit.jit(lambda x: 1.0)
    f.trace(np.ones(3))
    with jitkit.enable_x64():
        f.trace(np.ones(3))
    option, leaf = explain(f).misses[-1].differences
    assert option.advice == "Each value of an option has programs of its own: set it once, before the first call."
    assert (leaf.sentence, leaf.advice) == ("x: float32[3] before, float64[3] now", "")


def test_shapes_of_another_rank_cannot_be_padded():
    shapes = [(), (1,), (2,), (2, 2), (3, 1), (3, 2), (3,)]
    assert len(lines_of(*(Struct(shape, np.float32) for shape in shapes))) == 1
    assert "x has come in 4 shapes" in lines_of(*(Struct(shape, np.float32) for shape in [*shapes, (4,)]))[1]


def test_the_last_batch_of_an_epoch_is_to_be_padded_and_masked_which_is_said_once():
    f = jitkit.jit(lambda x, y: (x * y).sum())
    for rows in (64, 17):
        f.trace(Struct((rows, 4), np.float32), Struct((rows, 1), np.float32))
    assert [line.strip() for line in explain(f).misses[-1].lines()][1:] == [
        "x: float32[64,4] before, float32[17,4] now",
        "If this is the last, shorter batch: pad it to 64 rows, and mask what was added out of sums and means, to share the entry.",
        "y: float32[64,1] before, float32[17,1] now",
    ]


@pytest.mark.parametrize(
    ("before", "now"),
    [((17, 4), (64, 4)), ((64, 4), (17, 3)), ((4, 64), (4, 17)), ((7,), (6,)), ((64,), ()), ((64,), (0,))],
)
def test_what_is_no_shorter_batch_is_not_padded_to_one(before, now):
    assert len(lines_of(Struct(before, np.float32), Struct(now, np.float32))) == 1


def test_of_many_shapes_the_latest_are_counted():
    lines = lines_of(*(struct(np.float32, n) for n in range(1, 40)))
    assert lines[1].startswith("x has come in at least 33 shapes, ")


def test_static_values_of_several_types_are_several_values():
    f = jitkit.jit(lambda x, n: 1.0, static_argnums=1)
    for value in (1, True, 1.0, "a"):
        f.trace(1.0, value)
    assert explain(f).misses[-1].differences[0].advice == "n has had 4 values, and each is compiled for itself."


def test_bools_are_branched_on_and_not_computed_with():
    f = jitkit.jit(lambda x, n: 1.0, static_argnums=1)
    for value in (1, 2, 3, True):
        f.trace(1.0, value)
    assert explain(f).misses[-1].differences[0].advice == "n has had 4 values, and each is compiled for itself."


def test_the_one_signature_that_is_kept_is_not_called_several(monkeypatch):
    with jitkit.config.override(jit_cache_size=1):
        f = jitkit.jit(lambda x: x)
        for x in (np.float32(1), np.int32(1), np.float32(1)):
            f(x)
    assert explain(f).misses[-1].sentence == (
        "It was cached in #1, and dropped since: only the signature used last is kept (jit_cache_size)."
    )


# --- advice -----------------------------------------------------------------------------------------------------

DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"),
    *("float8_e4m3fn", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


def extremes(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return extreme values of a dtype, which another dtype is likely to lack."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, info.max - 1, info.max], dtype)
    info = ml_dtypes.finfo(dtype)
    real = np.array([info.max, info.min, info.smallest_subnormal, 1 + info.eps, info.tiny], info.dtype)
    return real.astype(dtype) * dtype.type(1j if dtype.kind == "c" else 1)


@pytest.mark.parametrize("before", DTYPES)
@pytest.mark.parametrize("x64", [False, True])
def test_who_follows_an_advice_on_dtypes_shares_an_entry_and_loses_nothing(before, x64):
    with jitkit.enable_x64(x64):
        types = [name for name in DTYPES if x64 or jnp.dtype(name) == dtypes.canonicalize_dtype(jnp.dtype(name))]
        for now in types if before in types else []:
            check_advice(jnp.dtype(before), jnp.dtype(now))


def plain(values: np.ndarray[Any, Any]) -> list[Any]:
    """Return the values as numbers of Python's, which compare exactly."""
    return values.tolist() if values.dtype.kind in "biufc" else values.astype(np.float64).tolist()


def check_advice(before: Any, now: Any) -> None:
    f = jitkit.jit(lambda x: 1.0)
    f.trace(struct(before))
    f.trace(struct(now))
    lines = [line.strip() for line in explain(f).misses[-1].lines()]
    found = re.search(r"astype\(jnp\.(\w+)\)", lines[-1])
    if before == now or found is None:
        return
    target = jnp.dtype(found[1])
    values = [before, now]
    if limit := re.search(r"up to ([\d,]+)", lines[-1]):
        values, largest = [before], int(limit[1].replace(",", ""))
        whole = [largest, -largest, largest - 1]
        assert plain(np.array(whole).astype(target)) == whole
        assert plain(np.array([largest + 1]).astype(target)) != [largest + 1]
    for dtype in values:
        assert plain(extremes(dtype).astype(target)) == plain(extremes(dtype))
    known = len(explain(f).misses)
    for dtype in [before, now]:
        f.trace(struct(dtype).update(dtype=target))
    assert len(explain(f).misses) == known + ("in every call" in lines[-1] and target not in (before, now))


def test_the_advice_is_to_convert_to_the_cached_dtype_that_loses_least():
    by_float32 = whole_numbers(
        "float32",
        "16,777,216",
        "convert x before the call, with `.astype(jnp.float32)`, to share the entry for float32.",
    )
    assert lines_of(struct(f32), struct(bf16), struct(i32)) == ["x: bfloat16[3] before, int32[3] now", by_float32]
    assert lines_of(struct(f32, 4), struct(bf16), struct(i32))[-1] == (  # the entry for float32 has another shape
        few_digits("bfloat16", "whole numbers up to 256", 2)
    )
    to_int32 = "Convert x before the call, with `.astype(jnp.int32)`, to share the entry for int32."
    assert lines_of(struct(i32), struct(bf16), struct(np.int8))[-1].lower().endswith(to_int32.lower())


def test_an_equal_static_function_is_to_be_defined_once():
    f = jitkit.jit(lambda x, act: act(x), static_argnames="act")
    offset = 1.0
    f(1.0, act=jnp.cos)
    f(1.0, act=lambda v: jnp.sin(v) + 1)
    f(1.0, act=lambda v: jnp.sin(v) + 1)
    f(1.0, act=lambda v: jnp.sin(v) + 1.0)
    f(1.0, act=lambda v: jnp.sin(v) + offset)
    said = [[each.advice for each in miss.differences] for miss in explain(f).misses]
    [advice] = said[2]
    assert advice.startswith("The code is that of the lambda at ")
    assert f"{__file__}:" in advice
    assert advice.endswith(
        "which is cached. A function is equal to itself only: define it once, and pass it in every call."
    )
    assert "The code is that" not in "".join([*said[1], *said[3], *said[4]])  # 1.0 in place of 1, and a closure


# --- which call is closest --------------------------------------------------------------------------------------


def closest_of(*calls: Any) -> int | None:
    """Return the number of the earlier call with which `explain` compares the last of these calls."""
    f = jitkit.jit(lambda x: 1.0)
    for x in calls:
        f.trace(x)
    return explain(f).misses[-1].closest


def of_keys(names: str) -> dict[str, float]:
    return dict.fromkeys(names, 1.0)


def test_a_key_more_is_closer_than_another_kind_of_tree():
    assert closest_of(of_keys("ab"), [1.0] * 4, of_keys("abc")) == 1


def test_a_list_that_lacks_something_is_closer_than_a_shorter_one():
    layers = [of_keys("wb") for _ in range(4)]
    assert closest_of(layers, layers[:3], [of_keys("w"), *layers[1:]]) == 1


def test_trees_are_compared_path_by_path():
    assert closest_of(of_keys("abcd"), of_keys("abc"), of_keys("acd")) == 1


def test_types_are_compared_part_by_part():
    assert closest_of(struct(f32), struct(f32, 4), struct(i32)) == 1
    assert closest_of(scalar(f32), scalar(i32), 1.0) == 1
    assert closest_of(struct(f32), struct(i32), 1.0) == 1


def test_another_class_of_node_is_one_difference():
    assert closest_of((1.0, 1.0), [1, 1.0], [1.0, 1.0]) == 2


def test_a_leaf_less_is_closer_than_a_leaf_less_in_another_class_of_node():
    layers = [of_keys("wb") for _ in range(4)]
    assert closest_of(layers, tuple(layers), [of_keys("w"), *layers[1:]]) == 1


def random_tree(draw: random.Random, depth: int = 0) -> Any:
    if depth == 3 or draw.random() < 0.3:
        if draw.random() < 0.1:
            return None
        return draw.choice([1, 1.0, *(Struct((n,), d) for n in (1, 2) for d in (f32, i32))])
    if draw.random() < 0.5:
        return [random_tree(draw, depth + 1) for _ in range(draw.randint(1, 3))]
    return {name: random_tree(draw, depth + 1) for name in draw.sample("abcd", 2)}


@pytest.mark.parametrize("seed", range(4))
def test_of_many_signatures_none_is_closer_than_the_closest(seed):
    draw = random.Random(seed)
    f = jitkit.jit(lambda *args: 1.0)
    found = 0
    for _ in range(80):
        known = len(explain(f).misses)
        before = f._jitted.cache.known_records(f._jitted.table)
        f.trace(random_tree(draw), random_tree(draw, 2), 1.0)
        miss = explain(f).misses[-1]
        if len(explain(f).misses) == known or miss.reason != "new signature":
            continue
        now = f._jitted.cache.known_records(f._jitted.table)[-1]
        nearest = min(before, key=lambda old: (call_record.distance(old, now, call_record.TRACES), -old.number))
        assert miss.closest == nearest.number
        found += 1
    assert found > 50


def test_a_search_that_does_not_see_all_says_so(monkeypatch):
    monkeypatch.setattr(call_record, "SEARCHED", 3)
    monkeypatch.setattr("jitkit.misses.explain.SEARCHED", 3)
    monkeypatch.setattr("jitkit.pjit.compilation_cache.SEARCHED", 3)
    f = jitkit.jit(lambda x: 1.0)
    for n in range(1, 6):
        f.trace(struct(f32, n))
    sentences = [miss.sentence for miss in explain(f)][2:]
    assert sentences == [
        "A new signature. Against the closest in the cache, that of #2:",
        "A new signature. Against the closest in the cache, that of #3:",
        "A new signature. Against the closest of the latest 3 in the cache, that of #4:",
    ]


def test_a_miss_costs_no_more_for_each_signature_that_is_known(monkeypatch):
    """Comparisons are counted: leaves that two calls have."""
    compared = []
    monkeypatch.setattr(call_record, "kinds_of_types", lambda *types: compared.append(1) or ["shape"])
    f = jitkit.jit(lambda x: 1.0)
    counts = []
    for n in range(1, 60):
        compared.clear()
        f.trace([struct(f32, n)] * 100)
        counts.append(len(compared))
    assert max(counts[:10]) == max(counts) <= 100 * 5


def test_edits_that_are_advised_end_in_one_entry():
    x = jnp.ones(3)

    scaled = jitkit.jit(lambda x, rate: x * rate, static_argnames="rate")
    scaled(x, 0.1)
    scaled(x, 0.2)
    assert "A float decides no shape: make rate an ordinary argument" in str(explain(scaled))
    scaled = jitkit.jit(lambda x, rate: x * rate)
    scaled(x, 0.1)
    scaled(x, 0.2)
    assert len(explain(scaled).misses) == 1

    placed = jitkit.jit(lambda x: x + 1)
    placed(x)
    placed(jitkit.device_put(x, jitkit.devices()[0]))
    assert "Do it for every call, or for none, to share one entry." in str(explain(placed))
    placed = jitkit.jit(lambda x: x + 1)
    for _ in range(2):
        placed(jitkit.device_put(x, jitkit.devices()[0]))
    assert len(explain(placed).misses) == 1

    total = jitkit.jit(lambda *xs: sum(xs))
    total(x)
    total(x, x)
    assert "stack them into one array, or pass as many in every call" in str(explain(total))

    shifted = jitkit.jit(lambda x, by=1.0: x + by)
    shifted(x)
    shifted(x, 1.0)
    assert "pass it in every call, to share one entry" in str(explain(shifted))
    shifted = jitkit.jit(lambda x, by=1.0: x + by)
    shifted(x, 1.0)
    shifted(x, 2.0)
    assert len(explain(shifted).misses) == 1
