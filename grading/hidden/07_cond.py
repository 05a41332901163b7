"""The checks of lab 07 that are used in grading only."""

from __future__ import annotations

import numpy as np

from jitkit.kata.checking import Stablehlo, check, raised


@check("07.1", "A cond in a cond, without operands, and with a traced predicate that is an array.", hidden=True)
def nested_cond(jk, rng):
    a = float(rng.uniform(1, 9))

    def f(x, p):
        def inner():
            return jk.lax.cond(p, lambda: x + a, lambda: x)

        return jk.lax.cond(x.sum(), inner, lambda: x * a)

    program = jk.make_jaxpr(f)(np.ones(2, "float32"), np.bool_(True))
    return program, raised(jk.make_jaxpr(f), np.ones(2, "float32"), np.ones(1, bool), parts=["Pred must be"])


@check("07.1", "Where jit is disabled an array is a predicate, too.", hidden=True)
def array_without_jit(jk, rng):
    called = []

    def remember(name):
        return lambda x: (called.append(name), x)[1]

    with jk.disable_jit():
        for flag in rng.integers(2, size=3):
            jk.lax.cond(jk.numpy.asarray(flag > 0), remember("true"), remember("false"), 1.0)
    return called


@check("07.2", "Indices of other integer types, and operands that are trees.", hidden=True)
def other_indices(jk, rng):
    tree = {"x": rng.normal(size=int(rng.integers(2, 9))).astype("float32"), "n": int(rng.integers(9))}

    def f(i, tree):
        return jk.lax.switch(i, [lambda t: t["x"], lambda t: t["x"] * t["n"]], operand=tree)

    programs = [jk.make_jaxpr(f)(np.dtype(name).type(1), tree) for name in ("int8", "uint32", "int32")]
    chosen = [next(e for e in program.eqns if e.primitive.name == "cond") for program in programs]
    return [(eqn.params["branches"], [atom.aval for atom in eqn.invars]) for eqn in chosen]


@check("07.3", "Branches that close over tracers of an outer function, and over what they share.", hidden=True)
def outer_tracers(jk, rng):
    table = rng.normal(size=4).astype("float32")

    def f(i, x, y):
        z = x * y
        branches = [lambda t: t + z, lambda t: t * x + table.sum(), lambda t: z - y, lambda t: t]
        return jk.lax.switch(i, branches, y), jk.lax.cond(z > 0, lambda: (z, x), lambda: (y, z))

    return jk.make_jaxpr(f)(0, 1.0, 2.0)


@check("07.4", "cond has the same rules, and names its functions.", hidden=True)
def cond_agrees(jk, rng):
    n = int(rng.integers(2, 9))

    def f(one, two):
        return jk.make_jaxpr(lambda x: jk.lax.cond(x > 0, lambda: one(x), lambda: two(x)))

    return [
        raised(f(lambda x: x, lambda x: (x, n)), 1.0, parts=["structure", "true_fun", "false_fun"]),
        raised(f(lambda x: {"k": x}, lambda x: {"k": n}), 1.0, parts=["['k']", "float32[]", "int32[]"]),
        raised(f(lambda x: x.astype("float16"), lambda x: x), 1.0, parts=["float16[]"]),
        f(lambda x: x, lambda x: float(n))(1.0),
    ]


@check("07.5", "Conditionals in conditionals, without operands, and with large constants.", hidden=True)
def nested_case(jk, rng):
    x, n = rng.normal(size=3).astype("float32"), int(rng.integers(3))
    table = rng.normal(size=5000).astype("float32")

    def f(i, x):
        def inner():
            return jk.lax.cond(x[0] > 0, lambda: x * 2, lambda: x + table.sum())

        return jk.lax.switch(i, [inner, lambda: x, lambda: jk.numpy.zeros(3)])

    text = jk.jit(f).lower(np.int32(n), x).as_text()
    return text.count("stablehlo.case"), Stablehlo(text, [np.int32(n), x]), jk.jit(f)(np.int32(n), x)
