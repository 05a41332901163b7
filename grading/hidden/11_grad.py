"""The checks of lab 11 that are used in grading only."""

from __future__ import annotations

import functools

import numpy as np

from jitkit.kata.checking import check, module, raised, run_by_numpy


def interpreters(jk):
    """Return `jk.interpreters` with all rules of derivatives: the first use of `jk.derivatives` imports them."""
    return jk.derivatives and jk.interpreters


def row(rng, n=4):
    """Return numbers of float32, none of them near 0."""
    return (rng.choice([-1, 1], size=n) * rng.uniform(0.2, 1.5, size=n)).astype("float32")


@check("11.1", "Second derivatives, other dtypes, ties of everything, weights in params.", hidden=True)
def rules(jk, rng):
    x, t = row(rng), row(rng)
    flat = np.full((2, 3), float(rng.uniform(1, 2)), "float32")
    weights = rng.normal(size=(2, 3)).astype("float32")

    def dot(f, x, t):
        return jk.jvp(f, (x,), (t,))[1]

    def second(x, t):
        return dot(lambda x: dot(jk.lax.logistic, x, t), x, t)

    def extremes(x, t):
        return [dot(lambda x, a=a: jk.lax.reduce_min(x, a), x, t) for a in ((0,), (1,), (0, 1), ())]

    sums = interpreters(jk).ad_rules.sum_of_shares

    def with_params(x, t):
        shares = [lambda g, y, x, z, *, y_: g * y_, None]
        primitive = type("P", (), {"bind": staticmethod(lambda x, z, *, y_: x * y_ + z)})
        return sums(primitive, shares, [x, x], [t, t], y_=3.0)

    half = x.astype("float16")
    return [
        run_by_numpy(jk.make_jaxpr(second)(x, t), x, t),
        run_by_numpy(jk.make_jaxpr(extremes)(flat, weights), flat, weights),
        run_by_numpy(jk.make_jaxpr(with_params)(x, t), x, t),
        jk.eval_shape(lambda x: dot(jk.lax.logistic, x, x), half).dtype,
    ]


@check("11.2", "Jaxprs in jaxprs, three deep, with constants and integers.", hidden=True)
def deep_pairs(jk, rng):
    x, t, a = row(rng), row(rng), row(rng)

    def f(x, n):
        def step(c, r):
            return jk.jit(lambda c: c * a.sum() + r)(c), (c * r, n)

        last, (ys, ns) = jk.lax.scan(step, 0.5, x)
        return last * ys, ns

    def third(x, t):
        def slope(f):
            return lambda x: jk.jvp(f, (x,), (t,))[1]

        return slope(slope(slope(lambda x: f(x, 2)[0])))(x)

    jaxpr = jk.make_jaxpr(f)(x, 3)
    made, nonzero = interpreters(jk).ad.jvp_jaxpr(jaxpr, (True, False), (False, True))
    other, all_of_them = interpreters(jk).ad.jvp_jaxpr(jaxpr, (False, False), False)
    return [
        run_by_numpy(jk.make_jaxpr(third)(x, t), x, t),
        (made.in_avals, made.out_avals, nonzero),
        (other.in_avals, other.out_avals, all_of_them),
        len(made.invars),
    ]


@check("11.2", "Results that are constants, arguments, or nothing; `aux` that is empty.", hidden=True)
def odd_functions(jk, rng):
    x, t = row(rng), row(rng)

    def g(x, t):
        one = jk.jvp(lambda x: (x, 2.0, np.float32(3)), (x,), (t,))
        two = jk.jvp(lambda x: ({}, []), (x,), (t,), has_aux=True)
        return one, two

    program = jk.make_jaxpr(g)(x, t)
    return run_by_numpy(program, x, t), jk.tree_util.tree_structure(jk.eval_shape(g, x, t))


@check("11.3", "Loops, branches, and derivatives around.", hidden=True)
def linear_loops(jk, rng):
    x, t = row(rng), row(rng)

    def f(x):
        c, ys = jk.lax.scan(lambda c, x: (jk.numpy.sin(c * x), c), 0.5, x)
        z = jk.lax.cond(c > 0, lambda: ys * 2, lambda: ys * x)
        return {"z": z, "w": jk.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))}

    def both(x, t):
        y, push = jk.linearize(f, x)
        again = jk.jvp(lambda x: jk.linearize(f, x)[1](t), (x,), (t,))
        return y, push(t), push(t * 2), again

    return run_by_numpy(jk.make_jaxpr(both)(x, t), x, t)


@check("11.3", "How many residuals there are, and which values they are.", hidden=True)
def residuals(jk, rng):
    x, a = row(rng), row(rng)

    def kept(x):
        push = jk.linearize(lambda x: jk.numpy.sin(x) * a + jk.numpy.exp(x) * x, x)[1]
        return sorted_leaves(jk.tree_util.tree_leaves(push))

    def sorted_leaves(leaves):
        return [leaf.sum() for leaf in leaves]

    return [np.sort(np.asarray(run_by_numpy(jk.make_jaxpr(kept)(x), x)))]


@check("11.4", "Wide fan-out through jit, loops, broadcasting and operands on both sides.", hidden=True)
def wide(jk, rng):
    m, v, s = rng.normal(size=(3, 4)).astype("float32"), row(rng), np.float32(rng.uniform(1, 2))

    def f(m, v, s):
        inner = jk.jit(lambda m, s: m * s + m * v)
        y = inner(m, s) + inner(m + s, s * 2)
        z = jk.lax.scan(lambda c, r: (c + (r * v * s).sum(), c * s), s, y)
        return z[0] * s + z[1].sum() + (m @ v).sum() / s

    program = jk.make_jaxpr(jk.grad(f, (0, 1, 2)))(m, v, s)
    return run_by_numpy(program, m, v, s)


@check("11.4", "Programs of constants, literals and inputs that come twice.", hidden=True)
def small_programs(jk, rng):
    x, a = row(rng), row(rng)
    ad = interpreters(jk).ad_rules
    backward_pass = interpreters(jk).ad_transpose.backward_pass
    undefined = ad.UndefinedPrimal(jk.core.typeof(x))
    jaxpr = jk.make_jaxpr(lambda x, y: (x * a + x * 2.0, y, y, y - x))(x, x)

    def f(ct):
        return backward_pass(jaxpr, jaxpr.consts, [undefined, undefined], [ct, ct * 2, ct * 3, ad.zero_tangent(x)])

    unbroadcast, aval = jk.lax.elementwise_derivatives.unbroadcast, jk.core.ShapedArray
    empty = np.zeros((0, 3), "float32")
    program = jk.make_jaxpr(lambda ct: [unbroadcast(aval(s, "float32"), ct) for s in ((), (1, 3), (0, 1), (0, 3))])
    return run_by_numpy(jk.make_jaxpr(f)(x), x), run_by_numpy(program(empty), empty)


@check("11.5", "Gradients of gradients, all argument numbers, mixed trees, None and empty ones.", hidden=True)
def gradients(jk, rng):
    x, y = row(rng), {"a": row(rng), "none": None, "empty": ()}

    def f(x, y, *, k=2.0):
        return (x * x * y["a"] * k).sum()

    def more(x, y):
        two = jk.grad(lambda x: jk.grad(f)(x, y, k=3.0).sum())(x)
        return two, jk.grad(f, argnums=(1, -2))(x, y), jk.value_and_grad(f, (0,))(x, y)

    program = jk.make_jaxpr(more)(x, y)
    tree = jk.tree_util.tree_structure(jk.eval_shape(more, x, y))
    pair = jk.make_jaxpr(jk.grad(lambda x: [x.sum(), x], has_aux=True))(x)
    return [
        run_by_numpy(program, x, y["a"]),
        tree,
        run_by_numpy(pair, x),
        raised(jk.make_jaxpr(jk.grad(f, argnums=2)), x, y),
        raised(jk.grad, 3),
        raised(jk.make_jaxpr(jk.grad(lambda x: (x.sum(), x, x), has_aux=True)), x),
        jk.grad(f).__name__,
    ]


@check("11.6", "Loops in loops in both directions, with rows, shared residuals and unused parts.", hidden=True)
def loops(jk, rng):
    m, a, b = rng.normal(size=(4, 3)).astype("float32"), row(rng, 3), np.float32(rng.uniform(0.5, 1))

    def f(m, a, b, reverse, unroll):
        def step(c, r):
            inner, (ys, _) = jk.lax.scan(lambda d, x: (d * b + x, (d * x, d)), c["s"], r * a, reverse=not reverse)
            return {"s": jk.numpy.sin(inner), "t": c["t"] * a, "n": c["n"] + 1}, (ys, inner, c["t"])

        start = {"s": b * 2, "t": a, "n": 0}
        c, (ys, zs, _) = jk.lax.scan(step, start, m, reverse=reverse, unroll=unroll)
        return c["s"] + (c["t"] * a).sum() + (ys * m).sum() + zs.sum()

    results = []
    for reverse, unroll in ((False, 1), (True, 2)):
        slope = jk.grad(functools.partial(f, reverse=reverse, unroll=unroll), (0, 1, 2))
        program = jk.make_jaxpr(slope)(m, a, b)
        scans = [eqn.params for eqn in program.eqns if eqn.primitive.name == "scan"]
        told = [(p["reverse"], p["unroll"], p["length"]) for p in scans]
        results.append((run_by_numpy(program, m, a, b), told))
    return results


@check("11.7", "Other shapes, zeros everywhere, no elements; many steps; one layer.", hidden=True)
def other_programs(jk, rng):
    gradients = module(jk, "kata.subjects.gradients")
    zeros, none, scalar = np.zeros((2, 2), "float32"), np.zeros(0, "float32"), np.float32(rng.uniform(2, 9))
    slope = jk.value_and_grad(gradients.entropy)
    x, w = row(rng, 3), rng.normal(size=(1, 3)).astype("float32")

    def f(x, w):
        value, back = jk.vjp(gradients.through_layers, x, w)
        return value, back(x)

    return [
        run_by_numpy(jk.make_jaxpr(slope)(zeros), zeros),
        run_by_numpy(jk.make_jaxpr(slope)(none), none),
        run_by_numpy(jk.make_jaxpr(slope)(np.float32(0)), np.float32(0)),
        run_by_numpy(jk.make_jaxpr(lambda a: gradients.cube_root(a, 30))(scalar), scalar),
        run_by_numpy(jk.make_jaxpr(jk.grad(lambda a: gradients.cube_root(a, 0)))(scalar), scalar),
        run_by_numpy(jk.make_jaxpr(f)(x, w), x, w),
    ]
