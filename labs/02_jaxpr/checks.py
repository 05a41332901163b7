"""The programs that the exercises of lab 02 must run like the reference."""

from __future__ import annotations

from jitkit.kata.checking import check, raised


@check("02.4", "An equation reads its operands in their order.", against=["operand order does not matter"])
def operands_in_order(jk, rng):
    x, y = rng.normal(size=(2, 3)).astype("float32")
    program = jk.make_jaxpr(lambda x, y: (x - y) / y)(x, y)
    return jk.jaxpr.eval_jaxpr(program, [], x, y)


@check(
    "02.4",
    "Constants have their values, and literals are their own.",
    against=["closed-over arrays are inputs"],
)
def constants_and_literals(jk, rng):
    table = jk.numpy.asarray(rng.normal(size=4).astype("float32"))
    x = rng.normal(size=4).astype("float32")
    program = jk.make_jaxpr(lambda x: (x * table + 2.0, 3.0))(x)
    return jk.jaxpr.eval_jaxpr(program, program.consts, x)


@check("02.4", "An equation may have several results.", against=["an equation has one result"])
def several_results(jk, rng):
    x = rng.normal(size=(5,)).astype("float32")
    program = jk.make_jaxpr(lambda x: jk.lax.sort([x, -x], num_keys=1))(x)
    return jk.jaxpr.eval_jaxpr(program, [], x)


@check("02.4", "Under a trace, running a jaxpr records it.", against=["jaxprs hold values"])
def under_a_trace(jk, rng):
    x = rng.normal(size=(3,)).astype("float32")
    program = jk.make_jaxpr(lambda x: jk.numpy.sin(x) * 2)(x)
    return jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, [], x))(x)


@check("02.4", "Too few values are a TypeError that says how many there should be.")
def too_few_values(jk, rng):
    program = jk.make_jaxpr(lambda x, y: x + y)(1.0, 2.0)
    return raised(jk.jaxpr.eval_jaxpr, program, [], 1.0, parts=["2"])
