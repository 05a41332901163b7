"""The checks of lab 12 that are used in grading only."""

from __future__ import annotations

import itertools

import numpy as np

from jitkit.kata.checking import check, module, raised, run_by_numpy


def normal(rng, *shape):
    """Return numbers of float32."""
    return rng.normal(size=shape).astype("float32")


def values(jk, f, *arguments, **options):
    """Trace `vmap(f, **options)`, and return the results that numpy computes from the jaxpr."""
    program = jk.make_jaxpr(jk.vmap(f, **options))(*arguments)
    return run_by_numpy(program, *jk.tree_util.tree_leaves(arguments))


@check("12.1", "Three traces deep, with derivatives between them, and constants in all of them.", hidden=True)
def deep(jk, rng):
    x, y = normal(rng, 2, 3, 4), normal(rng, 3)

    def f(x, y):
        inner = jk.vmap(lambda x: jk.lax.sin(x * y) + jk.numpy.float32(2) * y)
        return jk.jvp(inner, (x,), (x,))[1]

    def g(x, y):
        return jk.vmap(f, in_axes=(0, 0))(x, y)

    return values(jk, g, x, y, in_axes=(0, None)), values(jk, jk.grad(lambda x: (x * x).sum()), x)


@check("12.1", "Several results of which some are no batches; results of the rule in their places.", hidden=True)
def mixed_results(jk, rng):
    x, a = normal(rng, 4, 3), normal(rng, 3)

    def f(x, a):
        b, c = jk.lax.cond(True, lambda: (x * 2, a * 2), lambda: (x, a))
        k, v = jk.lax.sort((a, a + 1), num_keys=1)
        return b + k, c + v

    return values(jk, f, x, a, in_axes=(0, None), out_axes=(1, None))


@check("12.2", "Three operands of three kinds, other dtypes, scalars on both sides, moves everywhere.", hidden=True)
def three_operands(jk, rng):
    n = int(rng.integers(2, 5))
    low, x, high = normal(rng, n), normal(rng, 2, n, 3), normal(rng, 2, 3)
    which = rng.integers(0, 2, size=(2, 3, n)).astype(bool)
    batching, m = jk.interpreters.batching, normal(rng, 2, 3, 4)
    select = jk.lax.select_n_p.bind
    moves = [
        jk.make_jaxpr(lambda m, a=a, b=b: batching.moveaxis(m, a, b))(m)
        for a, b in itertools.product(range(3), range(3))
    ]
    return [
        values(jk, select, which, x, high, in_axes=(2, 1, None)),
        values(jk, select, np.bool_(True), x, high, in_axes=(None, 1, None)),
        values(jk, select, which[0, 0], x, x, in_axes=(0, 1, 1)),
        values(jk, lambda s, x: jk.lax.add(s, jk.lax.mul(x, s)), low, x, in_axes=(0, 1)),
        values(jk, jk.lax.lt, low, np.float32(0.3), in_axes=(0, None)),
        [run_by_numpy(program, m) for program in moves],
    ]


@check("12.3", "Reductions of reductions in nested batches, in all places.", hidden=True)
def many_axes(jk, rng):
    x = normal(rng, 2, 2, 2, 2)
    found = []
    for first, second in itertools.product(range(4), range(3)):
        f = jk.vmap(lambda x: jk.lax.reduce_sum(x * x[0], (0,)), in_axes=second, out_axes=1)
        found.append(values(jk, f, x, in_axes=first, out_axes=1))
    shifted = jk.interpreters.batching.shifted
    none = values(jk, lambda x: jk.lax.reduce_prod(x, ()), x, in_axes=2)
    return found, none, [list(shifted((3, 0, 2), dim)) for dim in range(5)], list(shifted((), 1))


@check("12.4", "All places, with several batch and contracted axes, in nested batches.", hidden=True)
def products(jk, rng):
    lhs, rhs = normal(rng, 2, 3, 4, 2), normal(rng, 4, 2, 3)
    numbers = (((1, 2), (2, 0)), ((0,), (1,)))
    found = []
    for left, right in itertools.product((None, 0, 1, 2, 3, 4), (None, 0, 1, 3)):
        if left is None and right is None:
            continue
        x = lhs if left is None else np.stack([lhs, lhs * 2, lhs + 1], left)
        y = rhs if right is None else np.stack([rhs, rhs - 1, rhs * 3], right)
        found.append(values(jk, lambda x, y: jk.lax.dot_general(x, y, numbers), x, y, in_axes=(left, right)))
    ask = module(jk, "lax.dot_products").batched_dimension_numbers
    (contract, batch), place = ask(3, 3, 2, 1, (((0,), (1,)), ((), ())))
    return found, list(map(list, contract)), list(map(list, batch)), int(place)


@check("12.5", "Trees with None in them, axes of nested vmaps, lists as in_axes, names and sizes.", hidden=True)
def many_trees(jk, rng):
    x, tree = (normal(rng, 2, 3, 4), {"a": normal(rng, 4, 2), "n": None, "t": (normal(rng, 3, 2), np.float32(2))})

    def f(x, t, k=1.0):
        return {"y": x.sum() * t["a"], "n": None}, [t["t"][0] * t["t"][1] * k]

    axes = [None, {"a": -1, "n": None, "t": (1, None)}]
    g = jk.make_jaxpr(jk.vmap(f, in_axes=axes, out_axes=(-1, [1])))(x, tree)
    empty = jk.make_jaxpr(jk.vmap(lambda x: (), in_axes=0))(x)
    names = jk.vmap(lambda x: jk.lax.axis_index("i") + jk.lax.psum(x, "i"), axis_name="i", axis_size=2)
    both = jk.make_jaxpr(jk.vmap(jk.vmap(lambda x, y: x * y, in_axes=(0, None)), in_axes=(None, 0), out_axes=-1))
    return [
        run_by_numpy(g, *jk.tree_util.tree_leaves((x, tree))),
        len(empty.outvars),
        run_by_numpy(jk.make_jaxpr(names)(x[:, 0, 0]), x[:, 0, 0]),
        run_by_numpy(both(x[0, 0], x[0, :, 0]), x[0, 0], x[0, :, 0]),
        raised(jk.make_jaxpr(jk.vmap(lambda x: x, in_axes=3)), x),
        raised(jk.make_jaxpr(jk.vmap(lambda x: (x, x), out_axes=(0, None), axis_name="i")), x),
        raised(jk.make_jaxpr(jk.vmap(lambda x: x, in_axes=0, axis_size=5)), x),
    ]


@check("12.6", "Branches in loops, in branches, with several operands, and derivatives of all of it.", hidden=True)
def many_branches(jk, rng):
    x, i, a = normal(rng, 5), rng.integers(0, 3, size=5).astype("int32"), normal(rng, 2)

    def f(i, x, a):
        def step(c, y):
            c = jk.lax.switch(i, [lambda c: c * y, lambda c: jk.lax.sin(c) + a.sum(), lambda c: c], c)
            return c, jk.lax.cond(c > 0, lambda: (c, a, i), lambda: (c * 2, a * 2, i + 1))

        return jk.lax.scan(step, x, a)

    slope = jk.make_jaxpr(jk.grad(lambda x: jk.vmap(f, in_axes=(0, 0, None))(i, x, a)[0].sum()))(x)
    return [
        values(jk, f, i, x, a, in_axes=(0, 0, None)),
        values(jk, f, np.int32(1), x, a, in_axes=(None, 0, None)),
        values(jk, f, i, np.float32(0.5), a, in_axes=(0, None, None)),
        run_by_numpy(slope, x),
    ]


@check("12.7", "Scans in scans, unrolled, in reverse, with integer counters; and derivatives.", hidden=True)
def many_scans(jk, rng):
    xs, w, c = normal(rng, 3, 2, 4), normal(rng, 4), normal(rng, 3)

    def f(xs, w, c):
        def step(carry, x):
            n, c, last = carry
            c, ys = jk.lax.scan(lambda d, y: (d * 0.5 + y, d), c, x * w, reverse=True, unroll=2)
            return (n + 1, c, last + n), (ys, n, w)

        return jk.lax.scan(step, (0, c, 0), xs)

    slope = jk.make_jaxpr(jk.grad(lambda w: jk.vmap(f, in_axes=(0, None, 0))(xs, w, c)[0][1].sum()))(w)
    return [
        values(jk, f, xs, w, c, in_axes=(0, None, 0)),
        values(jk, f, xs[0], w, c, in_axes=(None, None, 0), out_axes=((None, 0, None), (0, None, None))),
        values(jk, f, xs.transpose(1, 2, 0), w, np.float32(1), in_axes=(2, None, None)),
        run_by_numpy(slope, w),
    ]
