"""The checks of lab 09 that are used in grading only."""

from __future__ import annotations

import numpy as np

from jitkit.kata.checking import Stablehlo, check, raised, run_by_numpy


@check("09.1", "Scans in scans, and keys of trees.", hidden=True)
def nested_by_python(jk, rng):
    m = rng.normal(size=(2, 3)).astype("float32")

    def f(m):
        with jk.disable_jit():
            return jk.lax.scan(lambda c, r: jk.lax.scan(lambda d, x: (d + x, d * x), c, r, reverse=True), 0.5, m)

    return run_by_numpy(jk.make_jaxpr(f)(m), m), jk.tree_util.tree_structure(jk.eval_shape(f, m))


@check("09.2", "Lengths that convert to integers, and arrays without elements.", hidden=True)
def other_lengths(jk, rng):
    n = int(rng.integers(2, 9))
    length = jk.lax.control_flow.counting.scan_length
    return [
        length([np.zeros((n, 0))], np.int8(n)),
        length([], 0),
        raised(length, [np.zeros(0), np.zeros(n)], None),
        raised(length, [], "n"),
    ]


@check("09.3", "Scans in scans, over nothing, and with parts that pass through.", hidden=True)
def nested_scans(jk, rng):
    a = rng.normal(size=3).astype("float32")

    def f(c, m):
        def row_of(c, r):
            total, ys = jk.lax.scan(lambda t, x: (t + x * c["k"], t), 0, r)
            return {"k": c["k"], "s": c["s"] + total * a}, (ys, r)

        outer = jk.lax.scan(row_of, c, m, reverse=True, unroll=2)
        return (outer, jk.lax.scan(lambda c, _: (c, None), c, None, length=5), jk.lax.scan(lambda c, x: (c, x), (), m))

    return jk.make_jaxpr(f)({"k": np.float32(2), "s": a}, np.ones((5, 2), "float32"))


@check("09.4", "Scans in scans, of several arrays and types.", hidden=True)
def nested_runs(jk, rng):
    m, n = rng.normal(size=(3, 4)).astype("float32"), rng.integers(9, size=3).astype("int32")

    def f(m, n):
        def step(c, x):
            last, ys = jk.lax.scan(lambda d, y: (d * 0.5 + y, d > y), c, x[0], reverse=True)
            return last + x[1], (ys, x[1] * 2, c)

        return jk.lax.scan(step, 0.5, (m, n))

    text = jk.jit(f).lower(m, n).as_text()
    return text.count("stablehlo.while"), Stablehlo(text, [m, n])


@check("09.5", "Several arrays, outputs of several types, lengths that do not divide.", hidden=True)
def unrolled(jk, rng):
    n = int(rng.integers(5, 12))
    xs, ks = rng.normal(size=(n, 2)).astype("float32"), rng.integers(9, size=n).astype("int32")

    def f(xs, ks, unroll, reverse):
        def step(c, x):
            return c * 0.5 + x[0] * x[1], {"c": c, "odd": x[1] % 2 == 1}

        return jk.lax.scan(step, xs[0], (xs, ks), unroll=unroll, reverse=reverse)

    results = []
    for unroll, reverse in ((3, False), (4, True)):
        program = jk.jit(lambda xs, ks, u=unroll, r=reverse: f(xs, ks, u, r))
        results.append(Stablehlo(program.lower(xs, ks).as_text(), [xs, ks]))
    return results


@check("09.6", "Loops in loops, and parts that change places.", hidden=True)
def dead_loops(jk, rng):
    n = int(rng.integers(3, 6))

    def f(xs):
        def step(c, x):
            inner, zs = jk.lax.scan(lambda d, y: ((d[1], d[0] * y), d[0]), (c[0], c[1]), x)
            return (c[1], c[0] + inner[0], c[2] * 2, c[3]), (zs, c[2], c[0])

        return jk.lax.scan(step, (xs[0, 0], xs[0, 1], xs[1, 0], xs[1, 1]), xs)

    program = jk.make_jaxpr(f)(np.ones((n, 2), "float32"))
    count = len(program.outvars)
    return [jk.jaxpr.dce_jaxpr(program, [i == k for i in range(count)])[0] for k in range(count)]
