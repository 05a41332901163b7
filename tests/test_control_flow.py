"""cond, switch, while_loop, fori_loop, scan, map and associative_scan against JAX: values, types, printed jaxprs, numbers of traces,
errors, dead code, and the programs that XLA makes of them.
"""

from __future__ import annotations

import functools
import gc
import re
import weakref

import jax
import jax.numpy
import numpy as np
import pytest
import tails
import wording
from jax._src.interpreters import partial_eval as jax_partial_eval
from lax_oracle import JAX_VERSION, x64
from tails import keeping, one_in
from twin import OURS, THEIRS, both_with, difference, outcome, plain, raised, same_as_jax

import jitkit
import jitkit.numpy as jnp
from jitkit import core, lax
from jitkit.base import stage_log
from jitkit.base.errors import JaxprTypeError
from jitkit.core import Primitive
from jitkit.core.effects import Effect
from jitkit.interpreters.mlir import register_lowering
from jitkit.jaxpr import dce_jaxpr, jaxpr_as_fun, rearranging
from jitkit.jaxpr.check import check_jaxpr
from jitkit.lax.control_flow.conditionals import cond_p
from jitkit.lax.control_flow.loops import while_p
from jitkit.lax.control_flow.scanning import scan_p

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
ROW = np.array([1.0, -2.0, 0.5], np.float32)


def assert_agrees(program, *args):
    """Check that a program has JAX's printed jaxpr, and the same results, types, structure and weak types, jitted and
    eagerly. JAX is called eagerly only if our eager result differs from JAX's jitted one, or for `make test-all`.
    """

    def with_modules(modules):
        return lambda *xs: program(*modules, *xs)

    ours, theirs = with_modules(OURS), with_modules(THEIRS)
    our_jaxpr = jitkit.make_jaxpr(ours)(*args)
    check_jaxpr(our_jaxpr)
    assert str(our_jaxpr) == str(jax.make_jaxpr(theirs)(*args))
    expected = plain(jax.jit(theirs)(*args))
    assert difference(plain(jitkit.jit(ours)(*args)), expected) is None
    eager = plain(ours(*args))
    if tails.with_tails or difference(eager, expected) is not None:
        assert difference(eager, plain(theirs(*args))) is None


def let(*values):
    """Return a function that calls its argument with these values: `let(x)(lambda y: ...)` names a value inside an
    expression.
    """
    return lambda function: function(*values)


def agree(programs):
    return pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in programs.items()])


# --- cond ---------------------------------------------------------------------------------------------------


@agree({
    "an operand": lambda jax, jnp, p, x: jax.lax.cond(p, lambda v: v + 1, lambda v: v * 2, x),
    "no operands": lambda jax, jnp, p, x: jax.lax.cond(p, lambda: 1.0, lambda: 2.0),
    "closures": lambda jax, jnp, p, x: jax.lax.cond(p, lambda: x + 1, lambda: x * p),
    "different closures": lambda jax, jnp, p, x: jax.lax.cond(
        p, lambda v, a=x * 3: v + a, lambda v, b=x * 4: v * b, jnp.sin(x)
    ),
    "trees": lambda jax, jnp, p, x: jax.lax.cond(
        p, lambda d, e: {"s": d["a"] + e, "t": (e,)}, lambda d, e: {"s": e, "t": (d["a"],)}, {"a": x}, x * 2
    ),
    "passed through by both": lambda jax, jnp, p, x: jax.lax.cond(
        p, lambda v, w: (v, w + 1, w), lambda v, w: (v, w + 2, v), x, x * 2
    ),
    "passed through entirely": lambda jax, jnp, p, x: jax.lax.cond(p, lambda v: v, lambda v: v, x),
    "a Python number passed through": lambda jax, jnp, p, x: jax.lax.cond(p, lambda v: v, lambda v: v, 3),
    "one branch weak": lambda jax, jnp, p, x: jax.lax.cond(p, lambda: 1.0, lambda: jnp.float32(2)),
    "the other branch weak": lambda jax, jnp, p, x: jax.lax.cond(p, lambda: jnp.float32(2), lambda: 1.0),
    "numpy constants": lambda jax, jnp, p, x: jax.lax.cond(p, lambda: ROW + x[0], lambda: TABLE[0] * x[1]),
    "operand by keyword": lambda jax, jnp, p, x: jax.lax.cond(p, lambda v: v, lambda v: -v, operand=x),
    "None as operand by keyword": lambda jax, jnp, p, x: jax.lax.cond(
        p, lambda _: 1, lambda _: 2, operand=None
    ),
    "the oldest form": lambda jax, jnp, p, x: jax.lax.cond(p, x, lambda v: v + 1, x * 2, lambda v: v - 1),
    "nothing returned": lambda jax, jnp, p, x: jax.lax.cond(p, lambda: None, lambda: None),
    "the same function twice": lambda jax, jnp, p, x: let(lambda v: v + 1)(lambda f: jax.lax.cond(p, f, f, x)),
    "of a cond": lambda jax, jnp, p, x: jax.lax.cond(
        p, lambda: jax.lax.cond(x[0] > 0, lambda: x, lambda: -x), lambda: x * 3
    ),
    "a jitted branch": lambda jax, jnp, p, x: jax.lax.cond(p, jax.jit(lambda v: v + 1), jnp.negative, x),
})  # fmt: skip
@pytest.mark.parametrize("pred", [True, False])
def test_cond_agrees(program, pred):
    assert_agrees(program, pred, ROW)


@pytest.mark.parametrize(
    "pred",
    one_in(2, [True, 0, -2, 1, 0.0, 2.5, float("nan"), np.bool_(0), np.int8(3), np.uint8(0), np.float16(0.5), np.array(4)]),
    ids=repr,
)  # fmt: skip
def test_a_predicate_is_any_numeric_scalar(pred):
    def program(jax, jnp, p):
        return jax.lax.cond(p, lambda v: v + 1, lambda v: v * 2, ROW)

    assert_agrees(program, pred)
    assert_agrees(lambda jax, jnp: program(jax, jnp, pred))
    assert_agrees(lambda jax, jnp: program(jax, jnp, jnp.asarray(pred)))


# --- switch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, 1, 2, 3, -1, 100, np.int8(-3), np.uint8(200), np.array(1)], ids=repr)
def test_switch_takes_the_nearest_branch(index):
    def program(jax, jnp, i):
        return jax.lax.switch(i, [lambda v: v + 1, lambda v: v * 2, lambda v: -v], ROW)

    assert_agrees(program, index)
    assert_agrees(lambda jax, jnp: program(jax, jnp, index))


@agree({
    "one branch": lambda jax, jnp, i: jax.lax.switch(i, [lambda v: v + 1], ROW),
    "one branch by keyword": lambda jax, jnp, i: jax.lax.switch(i, [lambda v: v + 1], operand=ROW),
    "no operands": lambda jax, jnp, i: jax.lax.switch(i, [lambda: 1, lambda: 2]),
    "closures": lambda jax, jnp, i: jax.lax.switch(i, [lambda: i, lambda: i + 1, lambda: i * 2]),
    "passed through by all": lambda jax, jnp, i: jax.lax.switch(
        i, [lambda a, b: (a, b), lambda a, b: (a, a), lambda a, b: (a, b * 2)], ROW * i, ROW
    ),
    "one branch twice": lambda jax, jnp, i: let(lambda v: jnp.sin(v) + i)(
        lambda f: jax.lax.switch(i, [f, lambda v: v * 2, f, f], ROW)
    ),
    "a tuple of branches": lambda jax, jnp, i: jax.lax.switch(i, (jnp.sin, jnp.cos), ROW),
    "recursive, by is_even": lambda jax, jnp, i: jax.lax.switch(
        jnp.mod(i, 2), [lambda: jnp.array(True), lambda: jnp.array(False)]
    ),
})  # fmt: skip
def test_switch_agrees(program):
    assert_agrees(program, 1)


# --- while_loop ---------------------------------------------------------------------------------------------


@agree({
    "a counter": lambda jax, jnp, x: jax.lax.while_loop(lambda i: i < 5, lambda i: i + 1, 0),
    "a tuple": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 1.5), (0, x)
    ),
    "a dict": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s["i"] < 3, lambda s: {"x": s["x"] + s["i"], "i": s["i"] + 1}, {"i": 0, "x": x}
    ),
    "closures": lambda jax, jnp, x: let(jnp.abs(x).sum() * 10, jnp.abs(x) + 1)(
        lambda limit, step: jax.lax.while_loop(lambda v: v.sum() < limit, lambda v: v + step, x)
    ),
    "a weak carry becomes a float": lambda jax, jnp, x: jax.lax.while_loop(
        lambda v: v < 5, lambda v: v + 1.5, 0
    ),
    "a weak carry becomes strong": lambda jax, jnp, x: jax.lax.while_loop(
        lambda v: v < 5, lambda v: v + jnp.float16(1), 0.0
    ),
    "a weak carry stays weak": lambda jax, jnp, x: jax.lax.while_loop(lambda v: v < 5, lambda v: v * 2, 1.5),
    "a part that never changes": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1], s[2] + s[1]), (0, x, x * 2)
    ),
    "a part that only the condition reads": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0] < s[1], lambda s: (s[0] + 1, s[1]), (0, jnp.int32(4))
    ),
    "a Python number that never changes": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1]), (0, 7)
    ),
    "two that change places": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, s[2], s[1]), (0, x, x * 2)
    ),
    "no steps": lambda jax, jnp, x: jax.lax.while_loop(lambda v: False, lambda v: v + 1, x),
    "nothing carried": lambda jax, jnp, x: jax.lax.while_loop(lambda _: False, lambda _: (), ()),
    "of a while": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s.sum() < 50,
        lambda s: jax.lax.while_loop(lambda t: t[0] < s[1], lambda t: t + x[0], s + 1) * 2, x),
})  # fmt: skip
def test_while_loop_agrees(program):
    assert_agrees(program, ROW)


# --- fori_loop ----------------------------------------------------------------------------------------------


@agree({
    "a sum": lambda jax, jnp, n: jax.lax.fori_loop(0, 10, lambda i, v: v + i, 0),
    "a sum of floats": lambda jax, jnp, n: jax.lax.fori_loop(0, 10, lambda i, v: v + i * 0.5, 0),
    "negative bounds": lambda jax, jnp, n: jax.lax.fori_loop(-7, -2, lambda i, v: v + i, 0),
    "reversed bounds": lambda jax, jnp, n: jax.lax.fori_loop(5, -2, lambda i, v: v + i, 3.0),
    "numpy bounds": lambda jax, jnp, n: jax.lax.fori_loop(np.int8(1), np.int8(4), lambda i, v: v + i, 0),
    "concrete arrays as bounds": lambda jax, jnp, n: jax.lax.fori_loop(
        jnp.int32(1), jnp.int32(4), lambda i, v: v + i, 0
    ),
    "a numpy bound and a Python one": lambda jax, jnp, n: jax.lax.fori_loop(
        np.int16(1), 5, lambda i, v: v + i, 0
    ),
    "a traced upper bound": lambda jax, jnp, n: jax.lax.fori_loop(0, n, lambda i, v: v + i * TABLE, TABLE),
    "a traced lower bound": lambda jax, jnp, n: jax.lax.fori_loop(n, 7, lambda i, v: v + i, 0),
    "traced bounds, reversed": lambda jax, jnp, n: jax.lax.fori_loop(n + 4, n, lambda i, v: v + i, 0),
    "a traced bound of another width": lambda jax, jnp, n: jax.lax.fori_loop(
        0, n.astype("int8"), lambda i, v: v + i, jnp.int8(0)
    ),
    "unrolled": lambda jax, jnp, n: jax.lax.fori_loop(0, 10, lambda i, v: v + i, n, unroll=4),
    "unrolled altogether": lambda jax, jnp, n: jax.lax.fori_loop(0, 5, lambda i, v: v * i, n, unroll=True),
    "not unrolled": lambda jax, jnp, n: jax.lax.fori_loop(0, n, lambda i, v: v + i, 0, unroll=1),
    "a tree": lambda jax, jnp, n: jax.lax.fori_loop(
        0, 3, lambda i, s: {"a": s["a"] + s["b"], "b": s["b"]}, {"a": TABLE, "b": 1.0}
    ),
    "reads of a table": lambda jax, jnp, n: jax.lax.fori_loop(
        0, 4, lambda i, v: v + jnp.asarray(TABLE)[i], jnp.zeros(3)
    ),
    "writes": lambda jax, jnp, n: jax.lax.fori_loop(0, n, lambda i, v: v.at[i].set(i), jnp.zeros(5)),
    "of a fori": lambda jax, jnp, n: jax.lax.fori_loop(
        0, 3, lambda i, v: jax.lax.fori_loop(0, i, lambda j, w: w + i * j, v), n
    ),
})  # fmt: skip
def test_fori_loop_agrees(program):
    assert_agrees(lambda jax, jnp, n: program(jax, jnp, jnp.asarray(n)), 4)


def test_a_loop_with_known_bounds_is_a_scan_and_a_while_otherwise():
    def primitives(upper):
        jaxpr = jitkit.make_jaxpr(lambda n: lax.fori_loop(0, upper or n, lambda i, v: v + i, 0))(3)
        return [eqn.primitive for eqn in jaxpr.eqns]

    assert primitives(3) == [scan_p]
    assert primitives(None) == [while_p]


# --- scan ---------------------------------------------------------------------------------------------------


def cumulative(jax, jnp, xs, **options):
    return jax.lax.scan(lambda c, x: (c * 0.5 + x, (c, x.sum())), jnp.zeros(3), xs, **options)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", one_in(2, [2, 1, 3, 4, 0, 7, True, False]))
@pytest.mark.parametrize("length", keeping([0, 1, 4, 6], 0, 6))
def test_every_way_to_unroll_agrees(length, unroll, reverse):
    xs = np.arange(length * 3, dtype=np.float32).reshape(length, 3)
    assert_agrees(lambda jax, jnp, x: cumulative(jax, jnp, x, unroll=unroll, reverse=reverse), xs)


@agree({
    "a sum": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c + a.sum(), c), 0.0, x),
    "a weak carry becomes a float": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c + a[0], c), 0, x),
    "a weak carry becomes strong": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: (c + a[0].astype("float16"), c), 0.0, x
    ),
    "no xs": lambda jax, jnp, x: jax.lax.scan(lambda c, _: (c * 2, c), x, None, length=3),
    "no xs by default": lambda jax, jnp, x: jax.lax.scan(lambda c, _: (c * 2, None), x, length=3),
    "length as a float": lambda jax, jnp, x: jax.lax.scan(lambda c, _: (c * 2, None), x, length=3.0),
    "xs and length": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c + a, None), x[0], x, length=4),
    "no ys": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c + a, None), x[0], x),
    "no carry": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c, a * 2), (), x),
    "trees": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: ({"u": c["u"] + a[0], "v": c["v"] * a[1]["w"]}, [c["v"], (a[0],)]),
        {"u": x[0], "v": 1.0}, (x, {"w": x[:, 0]})),
    "a carry that never changes": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: ((c[0] + c[1], c[1]), a), (x[0], x[1] * 2), x
    ),
    "a Python number that never changes": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c, a * c), 2.0, x),
    "an element passed through": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: (c + 1, (a, a * 2, c)), 0, x
    ),
    "all passed through": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c, a), 1.0, x),
    "the carry as an output": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c + a, c), x[0], x, reverse=True),
    "closures": lambda jax, jnp, x: let(x[1])(
        lambda y: jax.lax.scan(lambda c, a: (c + a * y, x.sum()), x[0], x)
    ),
    "a numpy table closed over": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: (c + a * ROW, TABLE[0]), x[0], x
    ),
    "a list for a pair": lambda jax, jnp, x: jax.lax.scan(lambda c, a: [c + a, c], x[0], x),
    "a jitted body": lambda jax, jnp, x: jax.lax.scan(jax.jit(lambda c, a: (c + a, c)), x[0], x),
    "integers": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c * 31 + a, c), 7, np.arange(9)),
    "bools": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c ^ a, c), False, np.array([True, False, True])),
    "complex": lambda jax, jnp, x: jax.lax.scan(lambda c, a: (c * 1j + a[0], c), 1j, x),
    "two with one body": lambda jax, jnp, x: let(lambda c, a: (c + a, c))(
        lambda f: (jax.lax.scan(f, x[0], x), jax.lax.scan(f, x[1], x))
    ),
    "under named_scope": lambda jax, jnp, x: jax.lax.scan(
        jax.named_scope("body")(lambda c, a: (c + a, c)), x[0], x
    ),
})  # fmt: skip
def test_scan_agrees(program):
    assert_agrees(program, TABLE)


@agree({
    "a power of a matrix": lambda jax, jnp, x: jax.lax.fori_loop(0, 3, lambda _, m: m @ x @ x.T, x @ x.T),
    "newton": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: jnp.abs(s[0] ** 2 - 2) > 2**-20, lambda s: (s[0] - (s[0] ** 2 - 2) / (2 * s[0]), s[1] + 1), (1.0, 0)
    )[0],
    "collatz": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0] > 1,
        lambda s: (jax.lax.cond(s[0] % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, s[0]), s[1] + 1), (27, 0)),
    "three levels": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: (jax.lax.fori_loop(
            0, 3,
            lambda i, v: jax.lax.cond(
                v.sum() > i, lambda w: w + a * i,
                lambda w: jax.lax.while_loop(lambda u: u.sum() < 2, lambda u: u + jnp.abs(a) + 1, w), v),
            c), c * 2), x[0], x),
    "closures of every level": lambda jax, jnp, x: let(x[1] + 1)(lambda y: jax.lax.scan(
        lambda c, a: let(a * y)(lambda z: (jax.lax.fori_loop(
            0, 2, lambda i, v: jax.lax.switch(i, [lambda: v + y, lambda: v * z, lambda: v - a]), c), z)),
        x[0], x)),
    "in a nested jit": lambda jax, jnp, x: jax.jit(
        lambda v: jax.lax.scan(lambda c, a: (jax.jit(lambda w: w + a)(c), c), v[0], v)
    )(x),
    "map of a map": lambda jax, jnp, x: jax.lax.map(lambda r: jax.lax.map(lambda v: v * r.sum(), r), x),
})  # fmt: skip
def test_nested_control_flow_agrees(program):
    assert_agrees(program, TABLE)


def test_loops_agree_in_x64_mode():
    with x64():
        assert_agrees(lambda jax, jnp, x: jax.lax.fori_loop(0, 5, lambda i, v: v + i * x, 0.0), np.float64(1.5))
        assert_agrees(lambda jax, jnp, n: jax.lax.fori_loop(0, n, lambda i, v: v + i, np.int64(0)), np.int64(5))
        assert_agrees(lambda jax, jnp, x: cumulative(jax, jnp, x, unroll=2), TABLE.astype(np.float64))
        assert_agrees(lambda jax, jnp, i: jax.lax.switch(i, [lambda: i, lambda: i + 1]), np.int64(1))


# --- map, associative_scan ----------------------------------------------------------------------------------


@agree({
    "an array": lambda jax, jnp, x: jax.lax.map(lambda r: jnp.exp(r).sum(), x),
    "a tree": lambda jax, jnp, x: jax.lax.map(lambda d: {"p": d["a"] + d["b"], "q": 1}, {"a": x, "b": x[:, 0]}),
    "empty": lambda jax, jnp, x: jax.lax.map(lambda r: r * 2, x[:0]),
    "a prefix sum": lambda jax, jnp, x: jax.lax.associative_scan(jnp.add, x),
    "along another axis": lambda jax, jnp, x: jax.lax.associative_scan(jnp.maximum, x, axis=-1),
    "from the end": lambda jax, jnp, x: jax.lax.associative_scan(jnp.multiply, x, reverse=True, axis=1),
    "of bools": lambda jax, jnp, x: jax.lax.associative_scan(jnp.logical_xor, x > 0.5),
    "of matrices": lambda jax, jnp, x: jax.lax.associative_scan(jnp.matmul, jnp.stack([x.T @ x] * 5)),
    "of a tree": lambda jax, jnp, x: jax.lax.associative_scan(
        lambda f, g: (f[0] * g[0], g[0] * f[1] + g[1]), (x, x + 1)
    ),
})  # fmt: skip
def test_maps_and_prefixes_agree(program):
    assert_agrees(program, TABLE)


@pytest.mark.parametrize("length", keeping([0, 1, 2, 3, 4, 5, 8, 13], 0, 1, 5, 8))
def test_prefixes_of_every_length_agree(length):
    assert_agrees(lambda jax, jnp, x: jax.lax.associative_scan(jnp.add, x), np.arange(length, dtype=np.float32))


@pytest.mark.parametrize("batch_size", [0, 1, 2, 3, 7, 9])
def test_batches_of_a_map_give_the_same_values(batch_size):
    def program(jax, jnp):
        xs = {"a": np.arange(7.0, dtype=np.float32), "b": np.arange(14).reshape(7, 2)}
        return jax.lax.map(lambda x: (x["a"] * 2, x["b"].sum()), xs, batch_size=batch_size)

    assert outcome(program, *OURS) == outcome(program, *THEIRS)


# --- errors -------------------------------------------------------------------------------------------------


@agree({
    "no function to scan": lambda jax, jnp: jax.lax.scan(3, 0, TABLE),
    "no pair": lambda jax, jnp: jax.lax.scan(lambda c, a: c, 0, TABLE),
    "three for a pair": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a, c), 0, TABLE),
    "a scalar to scan over": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), 0, 3.0),
    "a 0-d array to scan over": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), 0, np.float32(3)),
    "nothing to scan over": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), 0),
    "different lengths": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), 0, (TABLE, ROW)),
    "another length": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), 0, TABLE, length=3),
    "a traced length": lambda jax, jnp: jax.jit(lambda n: jax.lax.scan(lambda c, a: (c, a), 0, None, length=n))(3),
    "a traced unroll": lambda jax, jnp: jax.jit(lambda n: jax.lax.scan(lambda c, a: (c, a), 0, TABLE, unroll=n))(3),
    "a negative unroll": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), 0, TABLE, unroll=-1),
    "a text for a carry": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), "text", TABLE),
    "an object for a carry": lambda jax, jnp: jax.lax.while_loop(lambda c: True, lambda c: c, print),
    "a text among xs": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, a), 0, ["text"]),
    "a text as an operand": lambda jax, jnp: jax.lax.cond(True, lambda c: 1, lambda c: 2, "text"),
    "a text as an output": lambda jax, jnp: jax.lax.scan(lambda c, a: (c, {"k": "text"}), 0, TABLE),
    "a carry of another shape": lambda jax, jnp: jax.lax.scan(lambda c, a: (c + a, a), 0, TABLE),
    "a carry of another dtype": lambda jax, jnp: jax.lax.scan(
        lambda c, a: ({"k": c["k"].astype("int32")}, a), {"k": jnp.ones(3)}, TABLE
    ),
    "a carry of another structure": lambda jax, jnp: jax.lax.scan(lambda c, a: ((c, c), a), 0, TABLE),
    "zero steps in Python": lambda jax, jnp: _without_jit(
        jax, lambda: jax.lax.scan(lambda c, a: (c, a), 0, TABLE[:0])
    ),
    "no functions to loop": lambda jax, jnp: jax.lax.while_loop(lambda c: c, 3, 0),
    "a condition that is a number": lambda jax, jnp: jax.lax.while_loop(lambda c: c, lambda c: c, 0),
    "a condition that is an array": lambda jax, jnp: jax.lax.while_loop(lambda c: c > 0, lambda c: c, ROW),
    "a condition that is a tuple": lambda jax, jnp: jax.lax.while_loop(lambda c: (True,), lambda c: c, 0),
    "a while of another shape": lambda jax, jnp: jax.lax.while_loop(lambda c: True, lambda c: ROW, 0.0),
    "a while of another dtype": lambda jax, jnp: jax.lax.while_loop(
        lambda c: True, lambda c: c * 1.5, jnp.int32(1)
    ),
    "a while of another structure": lambda jax, jnp: jax.lax.while_loop(lambda c: True, lambda c: (c,), 0),
    "a while of another type of pair": lambda jax, jnp: jax.lax.while_loop(lambda c: True, list, (0, 1)),
    "no function to count": lambda jax, jnp: jax.lax.fori_loop(0, 3, 1, 2),
    "bounds of two types": lambda jax, jnp: jax.lax.fori_loop(0, 3.0, lambda i, v: v, 2),
    "bounds of two widths": lambda jax, jnp: jax.lax.fori_loop(np.int8(0), np.int16(3), lambda i, v: v, 2),
    "an unrolled while": lambda jax, jnp: jax.jit(
        lambda n: jax.lax.fori_loop(0, n, lambda i, v: v, 2, unroll=2)
    )(3),
    "a fori of another shape": lambda jax, jnp: jax.lax.fori_loop(0, 3, lambda i, v: v.sum(), ROW),
    "a traced fori of another shape": lambda jax, jnp: jax.jit(
        lambda n: jax.lax.fori_loop(0, n, lambda i, v: v.sum(), ROW)
    )(3),
    "None as a predicate": lambda jax, jnp: jax.lax.cond(None, lambda: 1, lambda: 2),
    "a text as a predicate": lambda jax, jnp: jax.lax.cond("yes", lambda: 1, lambda: 2),
    "a list as a predicate": lambda jax, jnp: jax.lax.cond([1], lambda: 1, lambda: 2),
    "an array as a predicate": lambda jax, jnp: jax.lax.cond(ROW, lambda: 1, lambda: 2),
    "a complex predicate": lambda jax, jnp: jax.lax.cond(1j, lambda: 1, lambda: 2),
    "a bfloat16 predicate": lambda jax, jnp: jax.lax.cond(jnp.bfloat16(1), lambda: 1, lambda: 2),
    "no branches to cond": lambda jax, jnp: jax.lax.cond(True, 1, 2),
    "an operand twice": lambda jax, jnp: jax.lax.cond(True, lambda a: a, lambda a: a, 1, operand=2),
    "branches of different dtypes": lambda jax, jnp: jax.lax.cond(True, lambda: 1, lambda: 2.0),
    "branches of different shapes": lambda jax, jnp: jax.lax.cond(True, lambda: ROW, lambda: ROW[:2]),
    "branches of different structures": lambda jax, jnp: jax.lax.cond(True, lambda: (1, 2), lambda: (1,)),
    "branches of different keys": lambda jax, jnp: jax.lax.cond(True, lambda: {"a": 1}, lambda: {"b": 1}),
    "branches that take too much": lambda jax, jnp: jax.lax.cond(True, lambda a, b: 1, lambda a, b: 2, 1),
    "a float as an index": lambda jax, jnp: jax.lax.switch(1.0, [lambda: 1, lambda: 2]),
    "an array as an index": lambda jax, jnp: jax.lax.switch(ROW, [lambda: 1, lambda: 2]),
    "a text as an index": lambda jax, jnp: jax.lax.switch("one", [lambda: 1, lambda: 2]),
    "a bool as an index": lambda jax, jnp: jax.lax.switch(True, [lambda: 1, lambda: 2]),
    "no branches to switch": lambda jax, jnp: jax.lax.switch(0, []),
    "numbers as branches": lambda jax, jnp: jax.lax.switch(0, [1, 2]),
    "an operand twice to switch": lambda jax, jnp: jax.lax.switch(0, [lambda a: a] * 2, 1, operand=2),
    "switched shapes": lambda jax, jnp: jax.lax.switch(0, [lambda: ROW, lambda: ROW, lambda: 1.0]),
    "switched structures": lambda jax, jnp: jax.lax.switch(0, [lambda: ROW, lambda: (ROW, ROW)]),
    "no function to combine": lambda jax, jnp: jax.lax.associative_scan(3, ROW),
    "prefixes of different lengths": lambda jax, jnp: jax.lax.associative_scan(jnp.add, (ROW, TABLE)),
    "an if in a body": lambda jax, jnp: jax.lax.scan(lambda c, a: (c if a[0] > 0 else a, a), ROW, TABLE),
    "an if in a fori": lambda jax, jnp: jax.lax.fori_loop(0, 3, lambda i, v: v if i else v + 1, 0),
    "a tracer that leaks out of a body": lambda jax, jnp: _leak(jax) + 1,
})  # fmt: skip
def test_errors_have_jax_s_class_and_first_line(program):
    expected, found = raised(program, *THEIRS), raised(program, *OURS)
    assert expected[0] != "nothing was raised", expected
    assert found == expected if wording.compared else found[0] == expected[0]


def _without_jit(jax, function):
    with jax.disable_jit():
        return function()


def _leak(jax):
    kept = []
    jax.lax.fori_loop(0, 3, lambda i, v: kept.append(v) or v + 1, 0)
    return kept[0]


HERE = "test_control_flow.py"


def whole_message(function, *args):
    with pytest.raises(TypeError) as caught:
        function(*args)
    return re.sub(rf"[^\s(]*{HERE}:\d+", f"{HERE}:LINE", str(caught.value))


def test_a_carry_of_another_type_is_named_by_path_with_both_types_and_the_mend():
    def train(state, x):
        return {"loss": state["loss"].astype(np.int32), "w": state["w"]}, None

    state = {"loss": jnp.float32(0), "w": ROW}
    assert whole_message(lax.scan, train, state, TABLE) == (
        "scan body function carry input and carry output must have equal types, but they differ:\n\n"
        "The input carry component state['loss'] has type float32[] but the corresponding output carry component has "
        "type int32[], so the dtypes do not match.\n\n"
        "Revise the function so that all output types match the corresponding input types.\n\n"
        f"What comes back for state['loss'] is made at {HERE}:LINE. Make them agree, for example with `.astype('float32')` on the way out, "
        "or by starting from a value of dtype int32."
    )


def test_a_carry_that_grows_is_told_to_be_an_output():
    def step(i, seen):
        return jnp.concatenate([seen, seen])

    ours = (
        f"\n\nWhat comes back for seen is made at {HERE}:LINE. Make them agree: return a value of shape (3,), or start from one of shape "
        "(6,). What grows in each step is an output of `scan`, not a carry."
    )
    assert whole_message(lax.fori_loop, 0, 3, step, ROW).endswith(ours)
    traced = whole_message(jitkit.jit(lambda n: lax.fori_loop(0, n, step, ROW)), 3)
    assert ours in traced
    assert "The input carry seen has type float32[3] but" in traced


LOOPS_THAT_DISAGREE = {
    "another length": lambda jax, jnp: jax.lax.while_loop(lambda c: True, lambda c: (c[0],), (1.0, 2.0)),
    "another container": lambda jax, jnp: jax.lax.while_loop(lambda c: True, lambda c: {"a": c[0]}, (1.0, 2.0)),
    "other keys": lambda jax, jnp: jax.lax.scan(lambda c, x: ({"b": c["a"]}, None), {"a": 1.0}, ROW),
    "a key more": lambda jax, jnp: jax.lax.scan(lambda c, x: ((c[0] | {"b": 1.0},), None), ({"a": 1.0},), ROW),
    "two places": lambda jax, jnp: jax.lax.while_loop(
        lambda c: True, lambda carry: {"a": (1, 2), "b": {"c": 1}}, {"a": [1, 2], "b": [1.0]}
    ),
    "another dtype": lambda jax, jnp: jax.lax.while_loop(
        lambda c: True, lambda c: (jnp.float16(1), c[1]), (jnp.float32(1), 2)
    ),
    "another shape": lambda jax, jnp: jax.lax.scan(lambda c, x: (jnp.ones(2), None), ROW, ROW),
    "two types": lambda jax, jnp: jax.lax.scan(
        lambda c, x: ([jnp.float16(1), jnp.ones((1, 2), int), c[2]], None), [jnp.float32(1), ROW, 3], ROW
    ),
    "branches of other types": lambda jax, jnp: jax.lax.cond(True, lambda x: x, lambda x: jnp.ones(2), 1.0),
    "branches, two types": lambda jax, jnp: jax.lax.cond(True, lambda x: (x, [1]), lambda x: (jnp.ones(2), [2.0]), 1.0),
    "branches of two structures": lambda jax, jnp: jax.lax.cond(
        True, lambda x: {"a": x, "b": (x,)}, lambda x: {"a": (x, 1), "b": [x]}, 1.0
    ),
    "a third branch": lambda jax, jnp: jax.lax.switch(1, [lambda x: x, lambda x: x, lambda x: {"a": x}], 1.0),
    "a second branch": lambda jax, jnp: jax.lax.switch(1, [lambda x: x, lambda x: jnp.int32(3)], 1.0),
    "no pair": lambda jax, jnp: jax.lax.scan(lambda c, x: c, 1.0, ROW),
    "None out of a while": lambda jax, jnp: jax.lax.while_loop(lambda c: True, lambda c: None, 1.0),
    "None out of a scan": lambda jax, jnp: jax.lax.scan(lambda c, x: (None, x), {"a": 1.0}, ROW),
    "None into a while": lambda jax, jnp: jax.lax.while_loop(lambda c: True, lambda c: (1.0, 2.0), None),
    "None into a scan": lambda jax, jnp: jax.lax.scan(lambda c, x: ([c], x), None, ROW),
    "None from one branch": lambda jax, jnp: jax.lax.cond(True, lambda x: None, lambda x: x, 1.0),
    "None from one of three": lambda jax, jnp: jax.lax.switch(
        1, [lambda x: (x,), lambda x: (None,), lambda x: (x,)], 1.0
    ),
    "a condition of two": lambda jax, jnp: jax.lax.while_loop(lambda c: (c > 1, c), lambda c: c, 1.0),
}


@pytest.mark.parametrize("name", LOOPS_THAT_DISAGREE)
def test_what_must_agree_is_said_in_jax_s_words_and_then_in_ours(name):
    theirs, ours = (whole_message(LOOPS_THAT_DISAGREE[name], *modules) for modules in (THEIRS, OURS))
    assert ours.startswith(theirs)


# --- traces -------------------------------------------------------------------------------------------------


def logging(log, name, function):
    @functools.wraps(function)
    def logged(*args):
        log.append(name)
        return function(*args)

    return logged


@same_as_jax
def test_a_body_is_traced_once_for_each_type(jax, jnp):
    log = []
    body = logging(log, "body", lambda c, a: (c + a.sum(), c))
    jax.make_jaxpr(lambda x: (jax.lax.scan(body, x, TABLE), jax.lax.scan(body, x + 1, TABLE)))(1.5)
    log.append("-")
    for init in (0, 0, 0.0, jnp.float32(0), 0):
        jax.lax.scan(body, init, TABLE)
        log.append("-")
    return log


@same_as_jax
def test_condition_and_body_are_traced_once_for_each_type(jax, jnp):
    log = []
    condition = logging(log, "condition", lambda v: v < 5)
    body = logging(log, "body", lambda v: v + 1.5)
    for init in (0, 0.0, jnp.float32(0), 0):
        jax.lax.while_loop(condition, body, init)
        log.append("-")
    return log


@same_as_jax
def test_a_counted_body_is_traced_once_for_known_and_once_for_traced_bounds(jax, jnp):
    log = []
    body = logging(log, "body", lambda i, v: v + i)
    jax.lax.fori_loop(0, 3, body, 1.0)
    jax.lax.fori_loop(2, 7, body, 1.0)
    log.append("-")
    jax.jit(lambda n: (jax.lax.fori_loop(0, n, body, 1.0), jax.lax.fori_loop(0, 4, body, 1.0)))(3)
    log.append("-")
    jax.jit(lambda n: jax.lax.fori_loop(0, n, body, 1.0))(np.int8(3))
    return log


@same_as_jax
def test_branches_are_traced_once_for_each_type_and_only_the_taken_one_runs(jax, jnp):
    log = []
    yes, no = logging(log, "yes", lambda v: v * 1.0), logging(log, "no", lambda v: v + 1.0)
    results = []
    for branches in ((yes, no), (yes, no), (no, yes), (yes, yes)):
        results.append(jax.lax.cond(True, *branches, 2.0))
        log.append("-")
    results.append(jax.lax.switch(1, [yes, no, yes], 2.0))
    results.append(jax.lax.cond(True, yes, no, jnp.float32(2)))
    return log, results


@same_as_jax
def test_methods_and_partials_are_traced_as_in_jax(jax, jnp):
    log = []

    class Model:
        def step(self, c, a):
            log.append("step")
            return c + a, c

    def scaled(k, c, a):
        log.append("scaled")
        return c + a * k, c

    model, partial = Model(), functools.partial(scaled, 2.0)
    for body in (model.step, model.step, partial, partial, functools.partial(scaled, 2.0)):
        jax.lax.scan(body, ROW, TABLE)
        log.append("-")
    return log


@same_as_jax
def test_nested_bodies_are_traced_as_in_jax(jax, jnp):
    log = []
    inner = logging(log, "inner", lambda c, a: (c + a, c))

    def outer(c, _):
        log.append("outer")
        return jax.lax.scan(inner, c, TABLE)[0], jax.lax.scan(inner, c, TABLE)[1]

    jax.jit(lambda x: jax.lax.scan(outer, x, None, length=2))(ROW)
    jax.lax.map(logging(log, "mapped", lambda x: x * 2), TABLE)
    jax.lax.map(logging(log, "mapped", lambda x: x * 2), TABLE)
    return log


@same_as_jax
def test_a_jitted_function_in_a_body_is_traced_once(jax, jnp):
    log = []
    f = jax.jit(logging(log, "f", lambda x: x * 2))
    jax.lax.scan(lambda c, a: (f(c) + a, f(a)), ROW, TABLE)
    return log


@same_as_jax
def test_a_warm_loop_is_not_traced_again(jax, jnp):
    log = []
    f = jax.jit(lambda x: jax.lax.scan(logging(log, "body", lambda c, a: (c + a, None)), ROW, x)[0])
    results = [f(TABLE), f(TABLE), f(TABLE[:2])]
    return log, results, f._cache_size()


def test_a_body_that_closed_over_a_tracer_is_traced_again_in_the_next_trace():
    box, log = [None], []

    def body(c, a):
        log.append("body")
        return c + a * box[0], None

    def f(y):
        box[0] = y
        return lax.scan(body, ROW, TABLE)[0]

    first, second = jitkit.jit(f)(1.0), jitkit.jit(lambda y: f(y))(2.0)
    assert log == ["body", "body"]
    assert np.array_equal(first, ROW + TABLE.sum(0))
    assert np.array_equal(second, ROW + 2 * TABLE.sum(0))


def test_functions_given_to_loops_die():
    def body(i, v):
        return v + i

    alive = weakref.ref(body)
    lax.fori_loop(0, 3, body, 1.0)
    jitkit.jit(functools.partial(lax.fori_loop, 0, body_fun=body, init_val=1.0))(3)
    del body
    gc.collect()
    assert alive() is None


def test_clear_caches_forgets_bodies():
    log = []
    body = logging(log, "body", lambda c, a: (c + a, None))
    lax.scan(body, ROW, TABLE)
    jitkit.clear_caches()
    lax.scan(body, ROW, TABLE)
    assert log == ["body", "body"]


def test_an_eager_loop_is_compiled_once():
    def body(c, a):
        return c + a, c[0]

    lax.scan(body, ROW, TABLE)
    with stage_log.listen() as events:
        lax.scan(body, ROW * 2, TABLE)
    assert events == []
    with stage_log.listen() as events:
        lax.scan(body, ROW, TABLE[:2])
    assert [event.function for event in events if event.stage == "compilation"] == ["scan"]


@same_as_jax
def test_without_jit_loops_run_as_python(jax, jnp):
    log = []

    def seen(name, x):
        log.append((name, type(x) is int, isinstance(x, jax.Array)))
        return x

    with jax.disable_jit():
        results = [
            jax.lax.fori_loop(0, 2, lambda i, v: seen("fori", v) + seen("i", i), 0.0),
            jax.lax.fori_loop(0, 0, lambda i, v: seen("none", v), 5),
            jax.lax.while_loop(lambda v: v < 3, lambda v: seen("while", v) + 1.5, 0),
            jax.lax.scan(lambda c, a: (seen("scan", c) + 1, a * 2), 0, TABLE),
            jax.lax.scan(lambda c, a: (c + a, {"c": c}), ROW, TABLE, reverse=True),
            jax.lax.cond(True, lambda v: seen("yes", v), lambda v: seen("no", v), 1.0),
            jax.lax.switch(7, [lambda v: seen("first", v), lambda v: seen("last", v)], 1),
            jax.lax.map(lambda v: v * 2, TABLE),
        ]
    return log, results


# --- jaxprs -------------------------------------------------------------------------------------------------


@agree({
    "a carry that nothing reads": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: ((c[0] + a, c[1] * 2), (c[1], a + 1)), (x[0], x[1]), x
    ),
    "carries that read each other": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: ((c[0] + c[1], c[1] * c[2], c[2] + a), c[0]), (x[0], x[1], x[2]), x
    ),
    "constants": lambda jax, jnp, x: let(x[2] * 2, x[3] * 3)(
        lambda y, z: jax.lax.scan(lambda c, a: ((c[0] + y, c[1] * z), (c[0], a)), (x[0], x[1]), x)
    ),
    "branches": lambda jax, jnp, x: jax.lax.cond(
        x.sum() > 0, lambda a, b: (a * 2, b * 3, a + b), lambda a, b: (a, b + 1, a), x, x + 1
    ),
    "a switch": lambda jax, jnp, x: jax.lax.switch(
        x[0, 0].astype("int32"), [lambda a, b: (a, b * 2), lambda a, b: (b, b + 1)], x, x * 2
    ),
    "a while": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2, s[2] + s[1]), (0, x, x)
    ),
    "nested": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: (jax.lax.cond(a[0] > 0, lambda s: (s[0] + a, s[1]), lambda s: (s[0], s[1] * 2), c), c), (x[0], x[1]), x
    ),
})  # fmt: skip
def test_dead_code_is_dropped_as_in_jax(program):
    ours = jitkit.make_jaxpr(lambda x: program(*OURS, x))(TABLE)
    theirs = jax.make_jaxpr(lambda x: program(*THEIRS, x))(TABLE)
    count = len(ours.outvars)
    for mask in range(1 << count):
        used = [bool(mask >> i & 1) for i in range(count)]
        pruned, inputs = dce_jaxpr(ours, used)
        check_jaxpr(pruned)
        if JAX_VERSION < (0, 11):  # later versions find dead code in while loops, too
            their_pruned, their_inputs = jax_partial_eval.dce_jaxpr(theirs.jaxpr, used)
            assert str(pruned) == str(their_pruned), used
            assert inputs == list(their_inputs)


def test_what_is_left_without_dead_code_gives_the_same_values():
    def program(x):
        return lax.scan(lambda c, a: ((c[0] + c[1], c[1] * c[2], c[2] + a), (c[0], a * 2)), (x[0], x[1], x[2]), x)

    jaxpr = jitkit.make_jaxpr(program)(TABLE)
    whole = jaxpr_as_fun(jaxpr)(TABLE)
    for i, expected in enumerate(whole):
        pruned, [is_used] = dce_jaxpr(jaxpr, [k == i for k in range(len(whole))])
        assert is_used
        [value] = jaxpr_as_fun(pruned)(TABLE)
        assert np.array_equal(value, expected)


noisy_p = Primitive("noisy")
NOISE = Effect("noise")
noisy_p.effects = lambda params: frozenset({NOISE})
noisy_p.def_abstract_eval(lambda x: x)
register_lowering(noisy_p)(lambda ctx, x: x)


@agree({
    "scan": lambda: lax.scan(lambda c, a: (noisy_p.bind(c), None), ROW, TABLE),
    "while, in the body": lambda: lax.while_loop(lambda v: False, noisy_p.bind, ROW),
    "while, in the condition": lambda: lax.while_loop(lambda v: noisy_p.bind(v.sum()) < 0, lambda v: v, ROW),
    "fori": lambda: lax.fori_loop(0, 3, lambda i, v: noisy_p.bind(v), ROW),
    "cond": lambda: lax.cond(jnp.array(True), noisy_p.bind, lambda v: v * 2, ROW),
    "switch in scan": lambda: lax.scan(
        lambda c, a: (lax.switch(c, [lambda: c, lambda: noisy_p.bind(c)]), None), 0, TABLE
    ),
})  # fmt: skip
def test_effects_of_what_is_inside_are_effects_of_the_equation_and_keep_it_alive(program):
    jaxpr = jitkit.make_jaxpr(program)()
    check_jaxpr(jaxpr)
    assert jaxpr.effects == frozenset({NOISE})
    assert any(eqn.effects for eqn in jaxpr.eqns)
    pruned, _ = dce_jaxpr(jaxpr, False)
    check_jaxpr(pruned)
    assert pruned.effects == frozenset({NOISE})
    jitkit.jit(program)()


@pytest.mark.parametrize("change", ["operand", "count", "index", "branches"])
def test_ill_formed_equations_are_refused(change):
    def program(p, x):
        return lax.cond(p, lambda v: v + 1, lambda v: v * 2, x)

    jaxpr = jitkit.make_jaxpr(program)(True, ROW)
    eqn = next(eqn for eqn in jaxpr.eqns if eqn.primitive is cond_p)
    index, *operands = [core.ShapedArray(v.aval.shape, v.aval.dtype) for v in eqn.invars]
    branches = eqn.params["branches"]
    if change == "operand":
        operands = [core.ShapedArray((4,), np.float32)]
    elif change == "count":
        operands *= 2
    elif change == "index":
        index = core.ShapedArray((), np.float32)
    else:
        branches = (branches[0], jitkit.make_jaxpr(lambda v: v.sum())(ROW))
    with pytest.raises(JaxprTypeError, match="cond"):
        cond_p.abstract_eval(index, *operands, branches=branches)


def test_every_line_of_a_body_knows_its_place():
    def body(c, a):
        return jnp.tanh(c) + a, None

    text = jitkit.jit(lambda x: lax.scan(body, ROW, x)[0]).lower(TABLE).as_text(debug_info=True)
    places = dict(re.findall(r'#loc\d+ = loc\(fused\["([^"]*)", "[^"]*":(\d+):\d+\]\)', text))
    line = body.__code__.co_firstlineno + 1
    named = {name: int(number) for name, number in places.items() if name.endswith("/tanh")}
    call = "closed_call" if JAX_VERSION < (0, 11) else "eval_jaxpr"
    assert named == {f"jit(<lambda>)/while/body/{call}/tanh": line}


# --- programs -----------------------------------------------------------------------------------------------

OPERATIONS = ("fusion", "while", "conditional", "copy", "call")


def operations(hlo):
    return {name: len(re.findall(rf" {name}\(", hlo)) for name in OPERATIONS}


@agree({
    "scan": cumulative,
    "scan, unrolled in reverse": functools.partial(cumulative, unroll=2, reverse=True),
    "scan, unrolled with a rest": functools.partial(cumulative, unroll=3),
    "scan, unrolled altogether": functools.partial(cumulative, unroll=True),
    "fori": lambda jax, jnp, x: jax.lax.fori_loop(0, 100, lambda i, v: jnp.tanh(v @ v.T) @ v + i, x),
    "while": lambda jax, jnp, x: jax.lax.while_loop(
        lambda s: s[0].sum() < 100, lambda s: (s[0] * 1.5 + 1, s[1] + 1, s[2]), (x, 0, x)
    ),
    "cond": lambda jax, jnp, x: jax.lax.cond(
        x.sum() > 0, lambda v: jnp.sin(v) * x, lambda v: jnp.cos(v) + 1, x
    ),
    "switch": lambda jax, jnp, x: jax.lax.switch(
        x[0, 0].astype("int32"), [lambda v: v * 2, lambda v: jnp.sin(v), lambda v: v - 1], x
    ),
    "nested": lambda jax, jnp, x: jax.lax.scan(
        lambda c, a: (jax.lax.fori_loop(0, 3, lambda i, v: jax.lax.cond(
            v.sum() > i, lambda w: w + a,
            lambda w: jax.lax.while_loop(lambda u: u.sum() < 9, lambda u: u + 1, w), v), c), c * 2),
        jnp.zeros(3), x),
    "map": lambda jax, jnp, x: jax.lax.map(lambda r: jnp.exp(r).sum(), x),
})  # fmt: skip
def test_the_optimised_program_has_as_many_fusions_and_loops_as_jax_s(program):
    ours = jitkit.jit(lambda x: program(*OURS, x)).lower(TABLE).compile().as_text()
    theirs = jax.jit(lambda x: program(*THEIRS, x)).lower(TABLE).compile().as_text()
    assert operations(ours) == operations(theirs)


def test_the_text_does_not_grow_with_the_number_of_steps():
    def text(n):
        return jitkit.jit(lambda x: lax.fori_loop(0, n, lambda i, v: jnp.sin(v) + i, x)).lower(ROW).as_text()

    assert len(text(10)) == len(text(1000).replace("1000", "10"))


def test_a_scan_is_no_longer_as_text_than_jax_s():
    """What takes the time of a first call is the length of the program, not the number of steps."""

    def count(jax, jnp):
        xs = np.ones((1000, 8), np.float32)
        text = jax.jit(lambda x: cumulative(jax, jnp, x[:, :3])).lower(xs).as_text()
        return len(re.findall(r" = ", text))

    assert count(*OURS) <= count(*THEIRS)


def test_the_same_jaxpr_is_the_answer_to_the_same_question():
    jaxpr = jitkit.make_jaxpr(lambda x, y: (x + 1, y))(1.0, ROW)
    assert rearranging.keep_outputs(jaxpr, (True, False)) is rearranging.keep_outputs(jaxpr, (True, False))
    assert rearranging.forwarded_inputs(jaxpr) == [None, 1]
    moved = rearranging.move_inputs_to_front(jaxpr, (False, True))
    assert moved.invars == jaxpr.invars[::-1]
    assert moved is rearranging.move_inputs_to_front(jaxpr, (False, True))


def test_values_of_x64_mode_are_another_trace():
    log = []
    body = logging(log, "body", lambda i, v: v + i)
    lax.fori_loop(0, 3, body, 1.0)
    with both_with(enable_x64=True):
        lax.fori_loop(0, 3, body, 1.0)
    assert log == ["body", "body"]
