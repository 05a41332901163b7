"""The checks of lab 02 that are used in grading only."""

from __future__ import annotations

import numpy as np

from jitkit.kata.checking import check, module, raised


def branching(jk, n):
    """Return a function with a branch, a loop and an inner function."""

    def f(x, flag):
        x = jk.lax.cond(flag, jk.numpy.sin, lambda y: y * 2.0, x)
        x = jk.lax.fori_loop(0, n, lambda i, y: y + i, x)
        return jk.jit(lambda y: (y - 1.0, y[0]))(x)

    return f


@check("02.1", "Branches, loops and inner functions are equations like others.", hidden=True)
def equations_with_programs(jk, rng):
    n = int(rng.integers(2, 9))
    return jk.make_jaxpr(branching(jk, n))(np.ones(n, "float32"), True)


@check("02.2", "Constants, literals and effects of a longer program.", hidden=True)
def a_program_with_everything(jk, rng):
    tables = rng.normal(size=(3, 4)).astype("float32")

    def f(x, y):
        jk.debug.print("{}", x)
        for table in tables[:2]:
            x = x * table + 1.0
        return {"x": x, "table": tables[0], "y": y, "two": 2}

    program = jk.make_jaxpr(f)(tables[2], 1.0)
    return program, program.consts, sorted(map(str, program.effects))


@check("02.3", "Tracing in tracing in tracing; and names of scopes stay outside.", hidden=True)
def scopes(jk, rng):
    inner = []

    def f(x):
        with jk.named_scope("outside"):
            y = jk.jit(lambda y: jk.jit(lambda z: z * x)(y) + 1)(x)
        inner.append(jk.core.current_trace() is not None)
        return y

    program = jk.make_jaxpr(f)(rng.normal(size=int(rng.integers(2, 9))).astype("float32"))
    names = [eqn.source_info.name_stack for eqn in program.eqns]
    names += [eqn.source_info.name_stack for eqn in program.eqns[0].params["jaxpr"].eqns]
    return program, [tuple(map(str, stack)) for stack in names], inner


@check("02.4", "A longer program computes what it computed before.", hidden=True)
def a_longer_program(jk, rng):
    x = rng.normal(size=(4,)).astype("float32")

    def f(x):
        for i in range(20):
            x = jk.numpy.where(x > i / 20, x - 0.5, x * 1.5)
        return x, x[0]

    program = jk.make_jaxpr(f)(x)
    return jk.jaxpr.eval_jaxpr(program, program.consts, x)


@check("02.5", "The laws hold in inner programs.", hidden=True, fixed="a law has its own words")
def laws_of_inner_programs(jk, rng):
    check_jaxpr = module(jk, "jaxpr.check").check_jaxpr
    n = int(rng.integers(2, 9))
    program = jk.make_jaxpr(branching(jk, n))(np.ones(n, "float32"), True)
    eqn = program.eqns[-1]
    inner = eqn.params["jaxpr"]
    stranger = jk.jaxpr.Var(inner.out_avals[0])
    ill = inner.replace(outvars=[stranger, inner.outvars[1]])
    spoilt = program.replace(eqns=[*program.eqns[:-1], eqn.replace(params=eqn.params | {"jaxpr": ill})])
    return check_jaxpr(program), raised(check_jaxpr, spoilt, parts=["not defined"])


@check("02.6", "Branches and loops give up what nobody needs.", hidden=True)
def dead_parts_of_loops(jk, rng):
    n = int(rng.integers(2, 9))

    def f(x, y):
        def step(carry, i):
            a, b = carry
            return (a * 2.0, b + a), (a, i)

        (a, b), (history, _) = jk.lax.scan(step, (x, y), np.arange(n))
        return a, b, history

    program = jk.make_jaxpr(f)(float(rng.normal()), 1.0)
    return [jk.jaxpr.dce_jaxpr(program, wanted) for wanted in ([True, False, False], [False, True, False])]


@check("02.7", "Arrays, numbers and traces in one program; an outer value read twice is one constant.", hidden=True)
def all_kinds_of_operands(jk, rng):
    tables, inner = rng.normal(size=(2, 3)).astype("float32"), []

    def f(x):
        y = jk.numpy.exp(x)

        def g(z):
            return (z + y) * y - tables[0] + jk.numpy.cumsum(x * 1, axis=0).astype("float32") * 2

        inner.append(jk.make_jaxpr(g)(np.float32(1.0)))
        return y * tables[1]

    outer = jk.make_jaxpr(f)(tables[0])
    names = [[eqn.primitive.name for eqn in program.eqns] for program in inner]
    return outer, names, [v.aval for v in inner[0].constvars]
