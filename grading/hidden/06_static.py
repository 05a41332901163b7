"""The checks of lab 06 that are used in grading only."""

from __future__ import annotations

import functools

import numpy as np

from jitkit.kata.checking import check, raised


def shape(rng):
    return np.ones(int(rng.integers(2, 9)), "float32")


@check("06.1", "All calls of a function, jitted by numbers or by names, agree on what is static.", hidden=True)
def calls_agree(jk, rng):
    def f(x, n, *, flag=True):
        return x * n if flag else x + n

    n, x = int(rng.integers(2, 99)), shape(rng)
    options = [{"static_argnums": -1}, {"static_argnames": ("flag", "n")}, {"static_argnums": 1}]
    programs = [jk.jit(f, **o).trace(x, n).jaxpr for o in options]
    return programs, [jk.jit(f, **o).trace(x=x, n=n).jaxpr for o in options]


@check("06.2", "Methods, partial functions and several wrong entries.", hidden=True)
def other_functions(jk, rng):
    def f(x, n, m):
        return x

    partial = functools.partial(f, 1.0)
    beyond = -4 - int(rng.integers(9))
    several = raised(jk.jit, f, static_argnums=(0, beyond), parts=[f"(0, {beyond})", "only accepts 3"])
    names = raised(jk.jit, f, static_argnames=("n", "p", "q"), parts=["'p'", "'q'", "does not take"])
    donated = raised(jk.jit, f, donate_argnums=3 + int(rng.integers(9)), parts=["donate_argnums"])
    return several, names, donated, raised(jk.jit, partial, static_argnums=2, parts=["only accepts 2", "f("])


@check("06.3", "A function gets its static arguments where they belong, under a trace.", hidden=True)
def through_a_trace(jk, rng):
    def f(a, b, c, *rest, flag, scale):
        return (a - c) * b * scale if flag else sum(rest)

    a, c = rng.normal(size=(2, 3)).astype("float32")
    n = int(rng.integers(2, 99))
    jitted = jk.jit(f, static_argnums=(1, -1), static_argnames=("flag", "scale"))
    return [
        jitted.trace(a, n, c, 7, flag=True, scale=2.5).jaxpr,
        jitted.trace(a, n, c, a, n, scale=1, flag=False).jaxpr,
        raised(jitted.trace, a, [n], c, flag=True, scale=1, parts=["Non-hashable"]),
    ]


@check("06.4", "Functions and frozen settings as static arguments.", hidden=True)
def other_values(jk, rng):
    seen = []

    def f(x, operation, sizes):
        seen.append(repr(sizes))
        return operation(x, sizes[0])

    def shift(x, n):
        return x + n

    n, x = int(rng.integers(2, 99)), shape(rng)
    jitted = jk.jit(f, static_argnums=(1, 2))
    for operation, sizes in [(shift, (n,)), (shift, (n,)), (shift, (float(n), 0)), (shift, frozenset)]:
        raised(jitted.trace, x, operation, sizes)
    statics = [jk.signature.api_util.Static(value) for value in (n, np.int64(n), str(n), None, None)]
    return seen[:3], [a == b for a in statics for b in statics], statics[0] == n, len({*statics})


@check("06.5", "Callable objects, partial functions, and defaults.", hidden=True)
def other_callables(jk, rng):
    class Model:
        def __call__(self, params, x=1.0, *more, rate=0.1, **others):
            return x

    arguments = jk.signature.api_util.Arguments
    static = jk.signature.api_util.Static(int(rng.integers(9)))
    name = f"other{rng.integers(999)}"
    calls = [
        arguments(({"w": 1, "b": 2}, 3, [4]), {"rate": 5}, (), 3),
        arguments((1, 2), {}, ((0, static), (2, static)), 4),
        arguments((), {"params": [1], name: 2}, (("rate", static),), 0),
    ]
    partial = functools.partial(lambda a, b, c: a, 1)
    return [
        jk.signature.api_util.argument_names(Model(), call) for call in calls
    ], jk.signature.api_util.argument_names(partial, arguments(([1, 2], 3), {}, (), 2))
