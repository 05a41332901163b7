"""The checks of lab 08 that are used in grading only."""

from __future__ import annotations

import numpy as np

from jitkit.kata.checking import Stablehlo, check, raised


@check("08.1", "Loops in loops, and loops that carry nothing.", hidden=True)
def nested_loops(jk, rng):
    a = float(rng.uniform(1, 9))

    def inner(v):
        return jk.lax.while_loop(lambda u: u.sum() < 2, lambda u: u * 2 + a, v)

    def f(x):
        y = jk.lax.while_loop(lambda v: (v < a).any(), lambda v: inner(v) + x, x)
        return y, jk.lax.while_loop(lambda _: False, lambda _: (), ()), inner(0)

    return raised(jk.make_jaxpr(f), np.ones(2, "float32")), jk.make_jaxpr(inner)(np.ones(2, "float32"))


@check("08.2", "Loops of mixed starts, in scans too.", hidden=True)
def mixed_starts(jk, rng):
    xs = rng.normal(size=int(rng.integers(2, 9))).astype("float16")

    def f(xs):
        total, ys = jk.lax.scan(lambda c, x: ((c[0] + x, c[1] * 2), c[1]), (0, 1), xs)
        return (total, ys, jk.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + c[0] * 0.5), (0, 0)))

    return jk.make_jaxpr(f)(xs)


@check("08.3", "Carries of several leaves, and loops of other kinds.", hidden=True)
def other_loops(jk, rng):
    n = int(rng.integers(2, 9))
    x = np.zeros(n, "float32")

    def refused(f, *args, parts):
        return raised(jk.make_jaxpr(f), *args, parts=parts)

    return [
        refused(lambda x: jk.lax.fori_loop(0, 3, lambda i, v: v[1:], x), x, parts=[f"float32[{n - 1}]"]),
        refused(lambda x: jk.lax.scan(lambda c, _: ({"k": c}, None), x, None, 3), x, parts=["structure"]),
        refused(
            lambda x, m: jk.lax.fori_loop(0, m, lambda i, v: {"a": v["a"] > 0, "b": v["b"]}, {"a": x, "b": m}),
            x,
            n,
            parts=["v['a']", "bool"],
        ),
        jk.make_jaxpr(lambda x, m: jk.lax.fori_loop(0, m, lambda i, v: (v[0] + m, v[1]), (x, m)))(x, n),
    ]


@check("08.4", "Loops of counters, of which most parts never change.", hidden=True)
def counters(jk, rng):
    a = rng.normal(size=3).astype("float32")

    def f(n, x, y):
        up = jk.lax.fori_loop(0, n, lambda i, c: (c[0], c[1] + c[0] * c[2], c[2]), (x, a, y))
        swap = jk.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[2], c[1], c[3]), (0, x, y, up))
        return up, swap, jk.lax.while_loop(lambda c: True, lambda c: c, (x, y))

    return jk.make_jaxpr(f)(5, np.float32(1), np.float32(2))


@check("08.5", "Loops in loops, with conditionals in them.", hidden=True)
def nested_while(jk, rng):
    n, x = np.int32(rng.integers(3, 9)), rng.normal(size=3).astype("float32")

    def f(n, x):
        def step(i, v):
            v = jk.lax.cond(i % 2 == 0, lambda: v * 2, lambda: v + x)
            return jk.lax.while_loop(lambda u: u.sum() > 3, lambda u: u - x * x - 0.1, v)

        return jk.lax.fori_loop(0, n, step, x)

    text = jk.jit(f).lower(n, x).as_text()
    return text.count("stablehlo.while"), Stablehlo(text, [n, x])


@check("08.6", "Bounds that are arrays, and loops in loops with the outer index as a bound.", hidden=True)
def triangular(jk, rng):
    n = int(rng.integers(2, 9))

    def f(m, x):
        def inner(i, v):
            return jk.lax.fori_loop(0, i, lambda j, u: u + x * j, v)

        return jk.lax.fori_loop(-n, n, inner, x), jk.lax.fori_loop(m, 2 * m, inner, x)

    return jk.make_jaxpr(f)(np.int16(3), np.float32(1))
