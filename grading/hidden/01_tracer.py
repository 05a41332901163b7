"""The checks of lab 01 that are used in grading only."""

from __future__ import annotations

import operator

import numpy as np

from jitkit.kata.checking import check, raised


@check("01.1", "Primitives without operands, and with several results, are bound like any other.", hidden=True)
def no_operands_and_several_results(jk, rng):
    n = int(rng.integers(2, 9))

    def f(x):
        largest, smallest = jk.lax.sort([x, -x], num_keys=1)
        return largest - smallest + jk.lax.iota("float32", n)

    return jk.make_jaxpr(f)(np.ones(n, "float32"))


@check("01.2", "Three operands, and half precision, follow the same rules.", hidden=True)
def other_operands(jk, rng):
    m, n = (int(k) for k in rng.integers(2, 9, size=2))
    shaped = jk.core.ShapedArray
    clamp = jk.make_jaxpr(jk.lax.clamp)
    return [
        jk.lax.utils.broadcast_equal_ranks("f", [(m, 1, 1), (1, n, 1), (1, 1, 0)]),
        jk.lax.atan2_p.abstract_eval(shaped((m, 1), "float16"), shaped((1, n), "float16", True)),
        raised(
            jk.lax.shift_left_p.abstract_eval, shaped((m,), "float32"), shaped((m,), "float32"), parts=["position 0"]
        ),
        clamp(0.0, np.ones((m, n), "float32"), 1.0),
    ]


@check("01.3", "Whole programs get the same types.", hidden=True)
def programs(jk, rng):
    n = int(rng.integers(2, 9))
    x = {name: jk.ShapeDtypeStruct((n,), name) for name in ("float16", "int8", "uint8", "complex64")}

    def f(x):
        return (x["float16"] * 2.5 + x["int8"], x["uint8"] + x["int8"], x["complex64"] * x["float16"], x["int8"] + 1)

    return jk.make_jaxpr(f)(x)


@check("01.4", "Bits and truth values have reflected operators, too.", hidden=True)
def bits(jk, rng):
    number, x = int(rng.integers(2, 9)), rng.integers(2, 9, size=3).astype("int32")
    functions = (operator.lshift, operator.and_, operator.xor, operator.floordiv)
    return [jk.make_jaxpr(lambda x, f=f: f(number, x))(x) for f in functions]


@check("01.5", "Constants of an inner function reach the outer program.", hidden=True)
def inner_functions(jk, rng):
    table = rng.normal(size=3).astype("float32")

    def f(x):
        inner = jk.jit(lambda y: y * x + table * 0.5 + np.float32(2.0))
        return inner(x) + inner(table)

    return jk.make_jaxpr(f)(table)


@check("01.6", "`while`, `and`, and the items of a list ask for values, too.", hidden=True)
def other_questions(jk, rng):
    items = rng.normal(size=4).tolist()
    kind = str(rng.choice(["float32", "float16", "int8", "int32"]))

    def halve(x):
        while x > 1:
            x = x / 2
        return x

    return [
        raised(jk.make_jaxpr(halve), 5.0, parts=["halve"]),
        raised(jk.make_jaxpr(lambda x: x and 1.0), np.dtype(kind).type(5), parts=[f"{kind}[]"]),
        raised(jk.make_jaxpr(lambda i: items[i]), 2, parts=["__index__()"]),
        raised(jk.make_jaxpr(lambda i: items[i]), np.ones(2, "int32"), parts=["scalar index"]),
    ]
