"""Printing and calling back from compiled programs: what is printed, in which order, what it looks like in a jaxpr, and
what it may not change.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import itertools
import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
import traceback
import weakref

import jax
import jax.numpy
import numpy as np
import pytest
from tails import one_row_in
from twin import OURS, THEIRS, plain, raised, same_as_jax, words

import jitkit
import jitkit.numpy as jnp
from jitkit import debug, lax
from jitkit.base import config
from jitkit.core.effects import Effect, no_effects, ordered_effects
from jitkit.experimental import io_callback
from jitkit.jaxpr import dce_jaxpr
from jitkit.lax.callback import target_name

TABLE = np.arange(6, dtype=np.float32).reshape(3, 2)


def printed(jax, function, *args):
    """Return the text that a call prints, callbacks that finish later included."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(*args)
        jax.effects_barrier()
    return out.getvalue()


# --- what is printed ----------------------------------------------------------------------------------------

# Each program prints once; its arguments are (jnp, x, n), where x is a row of floats and n an int.
FORMATS = {
    "nothing to fill in": lambda p, jnp, x, n: p("hello"),
    "an empty format": lambda p, jnp, x, n: p(""),
    "by position": lambda p, jnp, x, n: p("{} and {}", x, n),
    "numbered": lambda p, jnp, x, n: p("{1} {0} {1}", x, n),
    "by name": lambda p, jnp, x, n: p("{x} {n}", x=x, n=n),
    "positions and names": lambda p, jnp, x, n: p("{} {n} {}", x, 3, n=n),
    "with a precision": lambda p, jnp, x, n: p("{x:.2f} {n:5d}|", x=x[0], n=n),
    "aligned": lambda p, jnp, x, n: p("{:>8}|{:<8}|", n, n),
    "braces": lambda p, jnp, x, n: p("{{{}}} {{}}", n),
    "only braces": lambda p, jnp, x, n: p("{{}} {{x}}"),
    "repr": lambda p, jnp, x, n: p("{!r} {!s}", x, n),
    "an attribute": lambda p, jnp, x, n: p("{0.shape} {0.dtype}", x),
    "an element": lambda p, jnp, x, n: p("{0[1]}", x),
    "a list": lambda p, jnp, x, n: p("{}", [x, n]),
    "a dict of tuples": lambda p, jnp, x, n: p("{d}", d={"a": (x, n), "b": None}),
    "texts among arrays": lambda p, jnp, x, n: p("{} {} {k}", "loss", x, k=["step", n]),
    "things that are no arrays": lambda p, jnp, x, n: p("{} {}", np.float32, {"k": None}),
    "Python numbers": lambda p, jnp, x, n: p("{} {} {} {}", 1, 2.5, True, 1j),
    "numpy": lambda p, jnp, x, n: p("{} {}", np.arange(3), np.float32(0.5)),
    "a matrix": lambda p, jnp, x, n: p("{}", x[:, None] * x),
    "an empty array": lambda p, jnp, x, n: p("{}", x[:0]),
    "a boolean": lambda p, jnp, x, n: p("{}", n > 1),
    "bfloat16": lambda p, jnp, x, n: p("{}", x.astype(jnp.bfloat16)),
    "nan and inf": lambda p, jnp, x, n: p("{}", x / 0),
    "many elements": lambda p, jnp, x, n: p("{}", jnp.arange(2000)),
    "in two steps": lambda p, jnp, x, n: p(ordered=True)("{} {n}", x, n=n),
    "no check": lambda p, jnp, x, n: p("loss", x, n, skip_format_check=True),
}


@pytest.mark.parametrize(
    ("name", "way"), one_row_in(2, list(itertools.product(FORMATS, ("eager", "jit", "disable_jit"))))
)
@same_as_jax
def test_a_format_is_filled_in_as_in_jax(jax, jnp, name, way):
    def show(x, n):
        FORMATS[name](jax.debug.print, jnp, x, n)

    x = jnp.array([1.5, -2.0, 1 / 3], jnp.float32)
    function = show if way == "eager" else jax.jit(show)
    with jax.disable_jit(way == "disable_jit"):
        return printed(jax, function, x, 3)


@same_as_jax
def test_numpys_print_options_are_those_of_the_call_that_was_traced(jax, jnp):
    f = jax.jit(lambda x: jax.debug.print("{}", x))
    with np.printoptions(precision=2):
        first = printed(jax, f, jnp.array([1 / 3]))
    return first, printed(jax, f, jnp.array([2 / 3]))


@same_as_jax
def test_an_f_string_shows_the_tracer(jax, jnp):
    return words(printed(jax, jax.jit(lambda x: jax.debug.print(f"{x}")), 1.0))


@same_as_jax
def test_nothing_is_printed_while_tracing(jax, jnp):
    def f(x):
        jax.debug.print("{}", x)
        return x

    return [
        printed(jax, jax.make_jaxpr(f), 1.0),
        printed(jax, lambda x: jax.eval_shape(f, x), 1.0),
        printed(jax, lambda x: jax.jit(f).lower(x).compile(), 1.0),
        printed(jax, lambda x: jax.jit(f).lower(x).compile()(x), 1.0),
    ]


# --- where it is printed ------------------------------------------------------------------------------------


def _in_cond(jax, jnp, p):
    f = jax.jit(lambda x: jax.lax.cond(x > 0, lambda: p("positive {}", x), lambda: p("negative {}", x)))
    f(1.0)
    f(-1.0)


def _in_one_branch(jax, jnp, p):
    def yes(x):
        p("yes {}", x)
        return x

    f = jax.jit(lambda x: jax.lax.cond(x > 0, yes, lambda x: x * 2, x))
    return f(1.0), f(-1.0)


def _in_switch(jax, jnp, p):
    def branch(i):
        return lambda x: (p("branch {} {}", i, x), x + i)[1]

    f = jax.jit(lambda i: jax.lax.switch(i, [branch(0), branch(1), branch(2)], 10))
    return [f(i) for i in (0, 2, 5, -1)]


def _in_while_body(jax, jnp, p):
    return jax.jit(lambda n: jax.lax.while_loop(lambda c: c < n, lambda c: (p("{}", c), c + 1)[1], 0))(4)


def _in_while_cond(jax, jnp, p):
    return jax.jit(lambda n: jax.lax.while_loop(lambda c: (p("{}", c), c < n)[1], lambda c: c + 1, 0))(4)


def _in_both_parts_of_while(jax, jnp, p):
    def more(c):
        p("more? {}", c[0])
        return c[0] < 3

    def step(c):
        p("step {} {}", *c)
        return c[0] + 1, c[1] * 2

    return jax.jit(lambda x: jax.lax.while_loop(more, step, (0, x)))(1.5)


def _in_fori(jax, jnp, p):
    return jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: (p("{} {}", i, c), c * 2)[1], x))(1.0)


def _in_fori_with_traced_bounds(jax, jnp, p):
    return jax.jit(lambda n: jax.lax.fori_loop(1, n, lambda i, c: (p("{}", i), c + i)[1], 0))(4)


def _in_scan(jax, jnp, p, **options):
    def step(c, x):
        p("{c} {x}", c=c, x=x)
        return c + x.sum(), x * 2

    return jax.jit(lambda xs: jax.lax.scan(step, 0.0, xs, **options))(TABLE)


def _in_map(jax, jnp, p):
    return jax.jit(lambda xs: jax.lax.map(lambda x: (p("{}", x), x)[1], xs))(TABLE)


def _in_nested_jit(jax, jnp, p):
    inner = jax.jit(lambda x: (p("inner {}", x), x + 1)[1])

    def outer(x):
        p("before {}", x)
        y = inner(inner(x))
        p("after {}", y)
        return y

    return jax.jit(outer)(1)


def _branch_in_scan_in_jit(jax, jnp, p):
    @jax.jit
    def choose(i, c):
        return jax.lax.switch(i % 3, [lambda: c, lambda: (p("one {}", i), c + 1)[1], lambda: (p("two"), c)[1]])

    def outer(n):
        c = jax.lax.fori_loop(0, 6, choose, 0)
        p("sum {}", c)
        return jax.lax.while_loop(lambda c: c > 0, lambda c: (p("down {}", c), c - n)[1], c)

    return jax.jit(outer)(1)


def _eager_loop(jax, jnp, p):
    return jax.lax.fori_loop(0, 3, lambda i, c: (p("{} {}", i, c), c + 1)[1], 0)


def _calls_in_a_row(jax, jnp, p):
    f = jax.jit(lambda x: (p("f {}", x), x + 1)[1])
    g = jax.jit(lambda x: (p("g {}", x), x * 2)[1])
    x = 1.0
    for i in range(20):
        x = f(x) if i % 3 else g(x)
    return x


def _closed_over(jax, jnp, p):
    table = jnp.arange(8000.0)
    return jax.jit(lambda i: (p("{}", table[i]), table[i])[1])(5)


def _unused_arguments(jax, jnp, p):
    return jax.jit(lambda a, b, c: p("{}", b))(1, 2, 3)


PLACES = {
    "cond": _in_cond,
    "one branch": _in_one_branch,
    "switch": _in_switch,
    "while, in the body": _in_while_body,
    "while, in the condition": _in_while_cond,
    "while, in both": _in_both_parts_of_while,
    "fori": _in_fori,
    "fori with traced bounds": _in_fori_with_traced_bounds,
    "scan": _in_scan,
    "scan backwards": functools.partial(_in_scan, reverse=True),
    "scan unrolled": functools.partial(_in_scan, unroll=2),
    "scan all unrolled": functools.partial(_in_scan, unroll=True),
    "map": _in_map,
    "nested jit": _in_nested_jit,
    "a branch in a loop in a jit": _branch_in_scan_in_jit,
    "a loop without jit": _eager_loop,
    "calls in a row": _calls_in_a_row,
    "closed over": _closed_over,
    "unused arguments": _unused_arguments,
}


@pytest.mark.parametrize(
    ("name", "ordered"), one_row_in(2, [(n, bool(i % 2) is o) for i, n in enumerate(PLACES) for o in (True, False)])
)
@same_as_jax
def test_prints_come_from_wherever_they_stand(jax, jnp, name, ordered):
    results = []

    def run():
        results.append(PLACES[name](jax, jnp, jax.debug.print(ordered=ordered)))

    lines = printed(jax, run).splitlines()
    return lines if ordered else sorted(lines), results


@pytest.mark.parametrize("name", list(PLACES))
@same_as_jax
def test_without_jit_the_same_is_printed_by_python(jax, jnp, name):
    with jax.disable_jit():
        return printed(jax, PLACES[name], jax, jnp, jax.debug.print)


@pytest.mark.parametrize("ordered", [True, False])
@same_as_jax
def test_callbacks_get_arrays_in_the_trees_that_were_passed(jax, jnp, ordered):
    got = []

    def keep(*args, **kwargs):
        got.append((plain([args, kwargs]), [str(x) for x in args]))

    def f(x):
        jax.debug.callback(keep, x, {"k": (x, None), "text": "t"}, 3, ordered=ordered, name=[x > 1])
        jax.debug.callback(ordered=ordered)(keep, x.astype(jnp.bfloat16))
        return x

    jax.jit(f)(jnp.arange(3.0))
    jax.effects_barrier()
    return got if ordered else sorted(got, key=str)


@same_as_jax
def test_keys_are_handed_over_as_they_are_stored(jax, jnp):
    got = []
    key = jax.random.key(3)
    jax.jit(lambda k: jax.debug.callback(lambda v: got.append(plain(v)), k))(key)
    jax.effects_barrier()
    return got, printed(jax, jax.jit(lambda k: jax.debug.print("{}", k)), key)


@same_as_jax
def test_what_a_callback_keeps_is_its_own(jax, jnp):
    kept = []
    f = jax.jit(lambda x: (jax.debug.callback(kept.append, x, ordered=True), x * 0)[1], donate_argnums=0)
    for i in range(5):
        f(jnp.full(1000, float(i)))
    jax.effects_barrier()
    return [float(x[-1]) for x in kept], kept[0].committed


@same_as_jax
def test_callbacks_may_compute(jax, jnp):
    got = []
    inner = jax.jit(lambda x: x * 3)
    f = jax.jit(lambda x: (jax.debug.callback(lambda v: got.append(float(inner(v) + 1)), x), x)[1])
    f(2.0)
    jax.effects_barrier()
    return got


# --- order and waiting --------------------------------------------------------------------------------------


def test_ordered_effects_are_in_order_where_nothing_else_depends_on_them():
    """The programs share no data: only the token orders them."""
    seen = []
    programs = [jitkit.jit(lambda x, i=i: debug.callback(lambda _: seen.append(i), x, ordered=True)) for i in range(4)]
    for _ in range(25):
        for program in programs:
            program(TABLE)
    jitkit.effects_barrier()
    assert seen == [0, 1, 2, 3] * 25


def test_after_the_barrier_all_has_happened():
    slow = threading.Event()
    seen = []

    def late(x):
        slow.wait(0.05)
        seen.append(int(x))

    @jitkit.jit
    def f(n):
        return lax.fori_loop(0, n, lambda i, c: (debug.callback(late, i), c + 1)[1], 0)

    f(3)
    jitkit.effects_barrier()
    assert sorted(seen) == [0, 1, 2]
    jitkit.effects_barrier()  # the second call has nothing to wait for


def test_a_result_that_is_ready_comes_with_what_was_printed():
    @jitkit.jit
    def f(x):
        debug.print("{}", x[0, 1])
        return x + 1

    with contextlib.redirect_stdout(io.StringIO()) as out:
        f(TABLE).block_until_ready()
    assert out.getvalue() == "1.0\n"


def test_python_waits_for_what_is_not_printed_yet_before_it_exits():
    program = """
        import jitkit as jax
        def f(n):
            return jax.lax.fori_loop(0, n, lambda i, c: (jax.debug.print("{}", i, ordered=True), c + 1)[1], 0)
        jax.jit(f)(50)
    """
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == [str(i) for i in range(50)]


def test_threads_print_each_in_its_own_order():
    seen = {0: [], 1: []}
    f = jitkit.jit(lambda who, i: debug.callback(lambda w, n: seen[int(w)].append(int(n)), who, i, ordered=True))

    def work(who):
        for i in range(50):
            f(who, i)
        jitkit.effects_barrier()

    threads = [threading.Thread(target=work, args=(who,)) for who in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {0: list(range(50)), 1: list(range(50))}


# --- jaxprs -------------------------------------------------------------------------------------------------


def _jaxpr_programs(jax, jnp):
    p = jax.debug.print
    call = jax.debug.callback
    struct = jax.ShapeDtypeStruct((2,), np.float32)
    return {
        "print": lambda x: (p("a {} {x:.2f} {{", x, x=x), x)[1],
        "print ordered": lambda x: p("{}", [x, "text"], ordered=True),
        "print partitioned": lambda x: p("{}", x, partitioned=True),
        "callback": lambda x: call(print, x, 3),
        "callback ordered": lambda x: call(print, x=x, ordered=True),
        "pure_callback": lambda x: jax.pure_callback(np.sin, struct, x),
        "pure_callback with options": lambda x: jax.pure_callback(np.sin, [struct], x, vmap_method="expand_dims"),
        "cond": lambda x: jax.lax.cond(x.sum() > 0, lambda: p("yes"), lambda: p("no {}", x)),
        "while": lambda x: jax.lax.while_loop(lambda c: (p("{}", c), c < 3)[1], lambda c: (p("-"), c + 1)[1], 0),
        "scan": lambda x: jax.lax.scan(lambda c, a: (c, (p("{}", a, ordered=True), a)[1]), 0, x),
        "map": lambda x: jax.lax.map(lambda a: p("{}", a), x),
        "nested": lambda x: jax.jit(lambda y: (p("{}", y), y)[1])(x),
    }


@pytest.mark.parametrize("name", list(_jaxpr_programs(*THEIRS)))
@same_as_jax
def test_jaxprs_show_them_as_in_jax(jax, jnp, name):
    jaxpr = jax.make_jaxpr(_jaxpr_programs(jax, jnp)[name])(jnp.arange(2.0))
    effects = sorted(map(str, jaxpr.effects))
    return words(str(jaxpr)), effects, [sorted(map(str, eqn.effects)) for eqn in jaxpr.eqns]


@pytest.mark.parametrize("name", list(_jaxpr_programs(*OURS)))
def test_dead_code_elimination_keeps_effects(name):
    jaxpr = jitkit.make_jaxpr(_jaxpr_programs(*OURS)[name])(jnp.arange(2.0))
    pruned, _ = dce_jaxpr(jaxpr, False)
    assert pruned.effects == jaxpr.effects
    assert bool(pruned.eqns) == ("pure_callback" not in name)


def test_the_tokens_of_effects_have_one_order():
    a, b, plain_effect = Effect("A", ordered=True), Effect("B", ordered=True), Effect("C")
    assert ordered_effects(frozenset([b, plain_effect, a])) == [a, b]
    assert ordered_effects(no_effects) == []
    assert repr(a) == str(a) == "A"


def test_tokens_go_through_functions_loops_and_branches():
    def f(x):
        x = jitkit.jit(lambda x: (debug.print("{}", x, ordered=True), x)[1])(x)
        x = lax.cond(x > 0, lambda x: (debug.print("+", ordered=True), x + 1)[1], lambda x: x, x)
        return lax.while_loop(lambda x: x < 3, lambda x: (debug.print("{}", x, ordered=True), x + 1)[1], x)

    text = jitkit.jit(f).lower(1.0).as_text()
    assert "@main(%token0: !stablehlo.token, %arg0: tensor<f32>) -> (!stablehlo.token, tensor<f32>" in text
    assert '@"<lambda>"(%token0: !stablehlo.token, %arg0: tensor<f32>) -> (!stablehlo.token, tensor<f32>)' in text
    assert text.count("(!stablehlo.token, tensor<f32>) -> (!stablehlo.token, tensor<f32>)") == 2  # call and while
    assert "(tensor<i32>) -> (!stablehlo.token, tensor<f32>)" in text  # case
    plain_text = jitkit.jit(lambda x: (debug.print("{}", x), x)[1]).lower(1.0).as_text()
    assert "!stablehlo.token" not in plain_text


# --- errors -------------------------------------------------------------------------------------------------

MISTAKES = {
    "too few arguments": lambda d: d.print("{} {}", 1),
    "too many arguments": lambda d: d.print("{}", 1, 2),
    "no placeholder": lambda d: d.print("hello", 1),
    "an empty format": lambda d: d.print("", 1),
    "a name that is missing": lambda d: d.print("{x}", y=1),
    "a name too many": lambda d: d.print("{x}", x=1, y=1),
    "an open brace": lambda d: d.print("{"),
    "a closed brace": lambda d: d.print("}"),
    "no text": lambda d: d.print(3),
    "no format": lambda d: d.print(x=3),
    "no function": lambda d: d.callback(3),
    "no function in two steps": lambda d: d.callback(ordered=True)("print", 3),
    "arguments without a function": lambda d: d.callback(x=3),
    "a number that is too large": lambda d: d.print("{}", 2**40),
}


@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("name", list(MISTAKES))
@same_as_jax
def test_mistakes_are_refused_as_in_jax(jax, jnp, name, way):
    def call():
        MISTAKES[name](jax.debug)

    return raised(call if way == "eager" else jax.jit(call))


def boom(*args):
    raise ValueError("boom")


@pytest.mark.parametrize("ordered", [True, False])
@same_as_jax
def test_what_a_callback_raises_is_an_error_of_the_call_and_the_next_call_works(jax, jnp, ordered):
    got = []

    def check(x):
        if x < 0:
            raise ValueError("negative")
        got.append(float(x))

    f = jax.jit(lambda x: (jax.debug.callback(check, x, ordered=ordered), x + 1)[1])
    logging.disable()
    try:
        errors = [raised(f, -1.0), raised(f, 1.0)[1], raised(jax.effects_barrier), raised(f, -2.0)]
    finally:
        logging.disable(logging.NOTSET)
    f(2.0)
    jax.effects_barrier()
    return plain(errors), got


SCALAR = jitkit.ShapeDtypeStruct((), np.float32)
FORMS = {
    "debug.callback": lambda function, x: debug.callback(function, x),
    "pure_callback": lambda function, x: jitkit.pure_callback(function, SCALAR, x),
    "io_callback": lambda function, x: io_callback(function, SCALAR, x, ordered=True),
}


@pytest.mark.parametrize("name", list(FORMS))
@pytest.mark.parametrize("way", ["first call", "second call", "in a tree", "keyword", "compiled"])
def test_the_error_of_a_callback_shows_the_users_frames_and_none_of_ours(caplog, name, way):
    fails = way != "second call"

    def callback(x):
        if fails:
            boom()
        return x

    f = jitkit.jit(lambda x: FORMS[name](callback, x["x"] if way == "in a tree" else x))
    if way == "second call":
        jitkit.block_until_ready(f(1.0))
        fails = True
    args, kwargs = {"in a tree": (({"x": 1.0},), {}), "keyword": ((), {"x": 1.0})}.get(way, ((1.0,), {}))
    if way == "compiled":
        f = f.lower(1.0).compile()
    in_cpp = way == "second call" and name == "pure_callback"  # then JAX raises a ValueError in C++
    with pytest.raises(ValueError if in_cpp else jitkit.errors.JaxRuntimeError) as caught:
        f(*args, **kwargs)
        jitkit.effects_barrier()
    whole = "".join(traceback.format_exception(caught.value))
    assert f'File "{os.path.dirname(jitkit.__file__)}' not in whole + caplog.text
    assert "KeyError" not in whole
    lines = [re.sub(r", line \d+", "", line) for line in str(caught.value).splitlines()]
    assert lines == [
        "INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):",
        f'  File "{__file__}", in callback',
        f'  File "{__file__}", in boom',
        "ValueError: boom",
    ]
    assert [record.message for record in caplog.records] == [f"jax.{name} failed"]


class Odd:
    def __format__(self, spec):
        boom()

    @property
    def odd(self):
        boom()


@pytest.mark.parametrize("way", ["eager", "jit", "vmap", "scan"])
@pytest.mark.parametrize(
    ("fmt", "value", "users"),
    [("{} {}", 1.0, []), ("{:d}", 1.0, []), ("{0.odd}", Odd(), ["odd", "boom"]), ("{}", Odd(), ["__format__", "boom"])],
)
def test_an_error_of_a_format_names_it_and_shows_no_frames_of_a_formatter(caplog, fmt, value, users, way):
    def f(x):
        debug.print(fmt, value if users else x)
        return x

    ways = {
        "eager": f,
        "jit": jitkit.jit(f),
        "vmap": lambda x: jitkit.vmap(f)(jitkit.numpy.full(2, x)),
        "scan": lambda x: jitkit.lax.scan(lambda c, _: (f(c), None), x, None, length=2),
    }
    with pytest.raises((IndexError, ValueError, jitkit.errors.JaxRuntimeError)) as caught:
        ways[way](np.float32(value if not users else 1.0))
        jitkit.effects_barrier()
    said = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert f"in jax.debug.print({fmt!r})" in said
    assert "string.py" not in said
    assert all(f"in {name}" in said for name in users)
    assert "debug.callback failed" not in said


def test_the_error_of_a_callback_in_a_callback_begins_at_each(caplog):
    inner = jitkit.jit(lambda x: FORMS["pure_callback"](boom, x))
    with pytest.raises(jitkit.errors.JaxRuntimeError) as caught:
        jitkit.jit(lambda x: FORMS["pure_callback"](lambda x: inner(x), x))(1.0)
    assert re.findall(r", in (.*)", str(caught.value)) == ["<lambda>", "boom"]
    with config.override(traceback_filtering="off"), pytest.raises(jitkit.errors.JaxRuntimeError) as caught:
        jitkit.jit(lambda x: FORMS["pure_callback"](boom, x))(1.0)
    assert "called_by_xla" in str(caught.value)


@same_as_jax
def test_without_a_program_the_callbacks_own_error_is_raised(jax, jnp):
    logging.disable()
    try:
        return raised(jax.debug.callback, boom, 1.0)
    finally:
        logging.disable(logging.NOTSET)


def test_a_tracer_that_leaked_is_not_printed():
    leaked = []
    jitkit.jit(leaked.append)(1.0)
    with pytest.raises(jitkit.errors.UnexpectedTracerError):
        debug.print("{}", leaked[0])


def test_a_platform_that_cannot_call_back_says_so():
    f = jitkit.jit(lambda x: debug.print("{}", x))
    with pytest.raises(NotImplementedError, match="`EmitPythonCallback` not supported on tpu backend"):
        f.trace(1.0).lower(lowering_platforms=("tpu",))
    assert "@xla_ffi_python_gpu_callback" in f.trace(1.0).lower(lowering_platforms=("cuda",)).as_text()
    assert target_name("cpu", partitioned=True) == "xla_ffi_partitioned_python_cpu_callback"


# --- pure_callback, io_callback -----------------------------------------------------------------------------


def _callback_programs(jax, jnp):
    def shape(*s, dtype=np.float32):
        return jax.ShapeDtypeStruct(s, dtype)

    pure = jax.pure_callback
    return {
        "one result": lambda x: pure(np.sin, shape(3), x) * 2,
        "a tree": lambda x: pure(
            lambda x, *, k: {"s": x.sum(), "p": (x, k)}, {"s": shape(), "p": (shape(3), shape(3))}, x, k=x
        ),
        "integers": lambda x: pure(lambda x: np.argsort(x).astype(np.int32), shape(3, dtype=np.int32), x),
        "Python numbers": lambda x: pure(lambda x: 1, shape(dtype=np.int32), x),
        "a matrix": lambda x: pure(lambda x: np.outer(x, x), shape(3, 3), x) @ x,
        "no arguments": lambda x: pure(lambda: np.ones(3, np.float32), shape(3)) + x,
        "no results": lambda x: pure(lambda x: None, None, x),
        "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: pure(np.cos, shape(3), c), x),
        "another shape": lambda x: pure(lambda x: x[:2], shape(3), x),
        "another dtype": lambda x: pure(lambda x: 1, shape(), x),
        "too many results": lambda x: pure(lambda x: (x, x), shape(3), x),
        "it raises": lambda x: pure(boom, shape(3), x),
        "64 bits": lambda x: pure(np.sin, shape(3, dtype=np.float64), x),
        "an unknown method": lambda x: pure(np.sin, shape(3), x, vmap_method="all"),
    }


@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("name", list(_callback_programs(*THEIRS)))
@same_as_jax
def test_pure_callbacks_compute_as_in_jax(jax, jnp, name, way):
    f = _callback_programs(jax, jnp)[name]
    logging.disable()
    try:
        return raised(lambda: jax.block_until_ready((f if way == "eager" else jax.jit(f))(jnp.arange(3.0))))
    finally:
        logging.disable(logging.NOTSET)


def test_a_pure_callback_whose_result_is_not_used_is_not_called():
    called = []
    struct = jitkit.ShapeDtypeStruct((), np.float32)
    f = jitkit.jit(lambda x: (jitkit.pure_callback(lambda x: called.append(1) or x, struct, x), x)[1])
    f(1.0).block_until_ready()
    assert called == []


@pytest.mark.parametrize("ordered", [True, False])
def test_an_io_callback_is_called_each_time(ordered):
    numbers = iter(range(100))
    struct = jitkit.ShapeDtypeStruct((), np.int32)

    @jitkit.jit
    def f(n):
        def step(i, total):
            return total + io_callback(lambda: np.int32(next(numbers)), struct, ordered=ordered)

        io_callback(lambda: None, None, ordered=ordered)
        return lax.fori_loop(0, n, step, 0)

    assert int(f(4)) == 0 + 1 + 2 + 3
    assert int(f(2)) == 4 + 5
    jaxpr = str(jitkit.make_jaxpr(lambda: io_callback(boom, struct, ordered=ordered))())
    theirs = jax.make_jaxpr(
        lambda: jax.experimental.io_callback(boom, jax.ShapeDtypeStruct((), np.int32), ordered=ordered)
    )()
    assert words(jaxpr) == words(str(theirs))


# --- what stays as it was -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [True, False])
def test_effects_cost_no_trace_and_no_compilation_more(count, ordered):
    def f(x, *, n):
        debug.print("{}", x, ordered=ordered)
        return x * n

    g = jitkit.jit(f, static_argnames="n")
    with count("f") as stages, contextlib.redirect_stdout(io.StringIO()):
        results = [g(x, n=n) for n in (2, 3) for x in (1.0, 2.0, jnp.float32(3), np.float32(4))]
    assert (stages.traces, stages.compiles) == (4, 4)  # for each n: a number, and a float32
    assert [float(x) for x in results] == [2.0, 4.0, 6.0, 8.0, 3.0, 6.0, 9.0, 12.0]


def test_an_eager_print_compiles_nothing(count):
    x = jnp.arange(3.0)
    with count() as stages, contextlib.redirect_stdout(io.StringIO()):
        debug.print("{}", x, ordered=True)
    assert (stages.traces, stages.lowerings, stages.compiles) == (0, 0, 0)


@pytest.mark.parametrize("ordered", [True, False])
def test_donated_memory_is_reused_beside_tokens(ordered):
    def f(x, y):
        debug.print("{}", y[0], ordered=ordered)
        return y.sum(), x + 1

    x, y = jnp.ones(1000), jnp.ones(1000)
    address = x.unsafe_buffer_pointer()
    with contextlib.redirect_stdout(io.StringIO()):
        total, z = jitkit.jit(f, donate_argnums=0)(x, y)
    assert x.is_deleted()
    assert z.unsafe_buffer_pointer() == address
    assert float(total) == 1000.0
    assert np.asarray(z).tolist() == [2.0] * 1000


def test_large_constants_come_after_the_tokens():
    table = jnp.arange(8000.0)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        f = jitkit.jit(lambda i: (debug.print("{}", table[i], ordered=True), table[i + 1])[1])
        results = [float(f(i)) for i in (3, 4)]
    assert results == [4.0, 5.0]
    assert out.getvalue() == "3.0\n4.0\n"


def test_a_program_without_effects_has_no_tokens():
    executable = jitkit.jit(lambda x: x + 1).lower(1.0).compile()._executable
    assert not executable.has_effects
    assert "run" not in type(executable).__slots__


def test_a_callback_lives_as_long_as_the_program_and_no_longer():
    class Callback:
        def __call__(self, x):
            pass

    def make():
        callback = Callback()
        f = jitkit.jit(lambda x: (debug.callback(callback, x, ordered=True), x)[1])
        return f, weakref.ref(callback)

    f, callback = make()
    f(1.0)
    gc.collect()
    assert callback() is not None
    f(2.0)
    jitkit.effects_barrier()
    del f
    gc.collect()
    assert callback() is None


def test_the_disk_cache_holds_no_program_with_callbacks(tmp_path):
    seen = []
    with jitkit.config.override(compilation_cache_dir=str(tmp_path)):
        for _ in range(2):
            f = jitkit.jit(lambda x: (debug.callback(lambda v: seen.append(float(v)), x), x + 1)[1])
            assert float(f(1.0)) == 2.0
        jitkit.effects_barrier()
    assert seen == [1.0, 1.0]
    assert list(tmp_path.iterdir()) == []


def test_debug_nans_and_prints_go_together():
    with jitkit.debug_nans(), contextlib.redirect_stdout(io.StringIO()) as out:
        f = jitkit.jit(lambda x: (debug.print("{}", x, ordered=True), x / x)[1])
        assert float(f(jnp.float32(1))) == 1.0
        with pytest.raises(FloatingPointError):
            f(jnp.float32(0))
    assert out.getvalue().splitlines()[:2] == ["1.0", "0.0"]
