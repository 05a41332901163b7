"""Rung 15: `jvp`."""

import functools

import numpy as np
from climbing import jaxpr, program, raised
from drawing import ARGUMENTS, CALLED, JOINED, TURNED, halves, vector_functions, vectors


def floats(rng, *shape):
    return rng.uniform(0.3, 1.5, shape).astype(np.float32)


def moved(jk, f, x, t):
    return jk.jvp(f, (x,), (t,))


@program("15", "Each function has its derivative.", against=["the derivative of cos is sin"])
def unary(jk, rng):
    jnp, x, t = jk.numpy, floats(rng, 3), floats(rng, 3)
    fs = [
        jnp.sin,
        jnp.cos,
        jnp.tanh,
        jnp.exp,
        jnp.log,
        jnp.sqrt,
        jnp.negative,
        jnp.abs,
        lambda x: x**3,
        lambda x: x**2.5,
    ]
    return [moved(jk, f, x, t) for f in fs]


@program(
    "15",
    "Near 0, where a derivative may be large, it is right, too.",
    against=["a logarithm needs a little", "a root needs a little", "a quotient needs a little"],
)
def near_zero(jk, rng):
    small, t = floats(rng, 3) * np.float32(1e-5), floats(rng, 3)
    return [moved(jk, f, small, t) for f in (jk.numpy.log, jk.numpy.sqrt, lambda x: 1.0 / x)]


@program(
    "15", "Both operands of an operation may move.", against=["only the first operand moves", "only one operand moves"]
)
def binary(jk, rng):
    jnp, xs, ts = jk.numpy, (floats(rng, 3), floats(rng, 3)), (floats(rng, 3), floats(rng, 3))
    fs = [jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum, jnp.minimum, jnp.power]
    return [jk.jvp(f, xs, ts) for f in fs]


@program(
    "15",
    "If two operands are largest, each has half of the tangent.",
    against=[
        "if two are largest, the first one moves",
        "a maximum moves as all of its operands do",
        "the larger operand is the second",
        "a maximum moves with the first",
    ],
)
def ties(jk, rng):
    jnp, x, t = jk.numpy, floats(rng, 3), floats(rng, 3)
    twice, there = np.concatenate([x, x[::-1]]), floats(rng, 6)
    return [jk.jvp(f, (x, x), (t, 2.0 * t)) for f in (jnp.maximum, jnp.minimum)], [
        moved(jk, f, twice, there) for f in (jnp.max, lambda x: jnp.max(x.reshape(2, 3), axis=1), jnp.min)
    ]


@program("15", "A chain of operations has its derivative, also with broadcasting.")
def chain(jk, rng):
    jnp = jk.numpy
    return moved(jk, lambda x: jnp.sin(jnp.exp(x) * x[:, None]) / (x + 2.0), floats(rng, 3), floats(rng, 3))


@program("15", "A value that does not depend on the argument does not move.", against=["constants move"])
def constant(jk, rng):
    x = floats(rng, 3)
    return moved(jk, lambda x: (x * 0 + 1.0, jk.numpy.ones(2)), x, x), moved(jk, lambda x: x > 1, x, x)[0]


@program(
    "15",
    "Sums, maxima, products, shapes, choices and windows have derivatives.",
    against=["a maximum moves as all of its operands do"],
)
def movers(jk, rng):
    jnp = jk.numpy
    w = jnp.asarray(floats(rng, 3, 3))
    fs = [
        lambda x: jnp.sum(x * x, axis=0), lambda x: jnp.max(x, axis=1), lambda x: x @ w @ x.T, lambda x: x.reshape(-1) * 2.0,
        lambda x: jnp.transpose(x) * x, lambda x: jnp.where(x > 0.8, x * x, x), lambda x: x[1:, ::1] * x[0],
    ]  # fmt: skip
    return [moved(jk, f, floats(rng, 3, 3), floats(rng, 3, 3)) for f in fs]


@program("15", "There may be several arguments, and they may be trees.")
def trees(jk, rng):
    f = lambda p, x: {"y": p["w"] * x, "n": (p["b"],)}
    p, t = ({"w": floats(rng, 2), "b": floats(rng)} for _ in range(2))
    return jk.jvp(f, (p, floats(rng, 2)), (t, floats(rng, 2)))


@program(
    "15",
    "A derivative within a derivative keeps its tangents apart.",
    against=["tangents of two derivatives are mixed up"],
)
def perturbation(jk, rng):
    def derivative(f):
        return lambda x: jk.jvp(f, (x,), (1.0,))[1]

    x = float(rng.uniform(1, 2))
    return derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(x), derivative(derivative(jk.numpy.sin))(x)


@program("15", "A jitted function has a derivative, and may contain one.")
def jitted(jk, rng):
    g = jk.jit(lambda x: jk.numpy.sin(x) * x)
    x, t = floats(rng, 3), floats(rng, 3)
    return moved(jk, lambda x: g(x) + g(2.0 * x), x, t), jk.jit(lambda x, t: jk.jvp(g, (x,), (t,)))(x, t)


@program("15", "The derivative of a choice is that of the branch taken.")
def choice(jk, rng):
    f = lambda x: jk.lax.cond(x[0] > 1.0, lambda x: x * x, lambda x: jk.numpy.exp(x) * x[0], x)
    x = floats(rng, 3)
    return [moved(jk, f, y, x) for y in (x, x + 2.0)]


@program(
    "15",
    "Loops have derivatives: the tangent goes round with the carry.",
    against=["a loop's tangent is that of its first turn"],
)
def loops(jk, rng):
    x, t = floats(rng, 3), floats(rng, 3)
    fs = [
        lambda x: jk.lax.while_loop(lambda c: c[1] < 4, lambda c: (jk.numpy.sin(c[0]) * x, c[1] + 1), (x, 0))[0],
        lambda x: jk.lax.scan(lambda c, r: (c * r + x[0], c), 1.0, x),
        lambda x: jk.lax.fori_loop(0, 3, lambda i, c: c * x + i, x),
    ]
    return [moved(jk, f, x, t) for f in fs], jk.jit(lambda x, t: moved(jk, fs[1], x, t))(x, t)


@program(
    "15",
    "In a loop, the moving parts are a fixed point: here all parts of the carry move after three turns.",
    against=["what does not move at first never moves"],
)
def late(jk, rng):
    turn = lambda c, x: (c[1], c[2], c[2] * x)
    fs = [
        lambda x: jk.lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, turn(c[1], x)), (0, (1.0, 2.0, 3.0)))[1],
        lambda x: jk.lax.scan(lambda c, _: (turn(c, x), c[0]), (1.0, 2.0, 3.0), None, length=4),
        lambda x: jk.lax.fori_loop(0, 4, lambda i, c: turn(c, x), (1.0, 2.0, 3.0)),
    ]
    return [moved(jk, f, float(rng.uniform(1, 2)), 1.0) for f in fs]


@program("15", "`make_jaxpr` of a derivative gives a program like any other.")
def written(jk, rng):
    return jaxpr(jk.make_jaxpr(lambda x, t: jk.jvp(jk.numpy.negative, (x,), (t,)))(floats(rng, 3), floats(rng, 3)))


@program("15", "Primals and tangents that are not built alike are a TypeError.")
def unlike(jk, rng):
    return raised(jk.jvp, jk.numpy.sin, (1.0,), (1.0, 2.0))


EVERY_UNARY = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "negative", "abs", "sign", "floor")
EVERY_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")


def anywhere(rng, n):
    """Return n random numbers from -2 to 2, followed by 0, 1 and -1."""
    return np.concatenate([rng.uniform(-2.0, 2.0, n), [0.0, 1.0, -1.0]]).astype(np.float32)


@program("15", "Each function has its derivative at negative numbers and at 0, for half floats too, at once and compiled.",
         against=["the derivative of cos is sin", "the derivative of abs is 1", "at 0 abs still falls"])  # fmt: skip
def every_name(jk, rng):
    x, t = anywhere(rng, 3), abs(anywhere(rng, 3)) + 0.5
    at = {name: abs(x) + 0.25 if name.startswith(("log", "sqrt")) else x for name in EVERY_UNARY}
    f = lambda name: getattr(jk.numpy, name)
    h = {name: np.array([0.5, 1.25], np.float16) for name in at}
    all_of = lambda points, t: {name: moved(jk, f(name), points[name], t) for name in points}
    return all_of(at, t), all_of(h, np.array([1, 2], np.float16)), jk.jit(all_of)(at, t)


@program("15", "Each operation has derivatives with respect to the first operand, the second, and both, also if the "
    "second is broadcast or a Python number.",
         against=["only the first operand moves", "to the power of 0 is flat everywhere"])  # fmt: skip
def every_pair(jk, rng):
    x, t, y, s = *(abs(anywhere(rng, 3)) + 0.5 for _ in range(2)), *(floats(rng, 1) for _ in range(2))

    def ways(f):
        one, other = lambda x: f(x, y), lambda y: f(x, y)
        return [
            jk.jvp(f, (x, y), (t, s)),
            moved(jk, one, x, t),
            moved(jk, other, y, s),
            moved(jk, lambda x: f(x, 2.0), x, t),
        ]

    every = lambda: {name: ways(getattr(jk.numpy, name)) for name in EVERY_BINARY}
    zero, numbers = np.zeros(4, np.float32), np.float32([0, 1, 2, 3])
    powers = jk.jvp(
        lambda x: jk.numpy.power(x, numbers), (zero,), (floats(rng, 4),)
    )  # 0 / 0 of the first one, as in JAX
    return every(), powers


@program("15", "Functions that only jump have no derivative: comparisons, `sign`, `floor`, truth values, integers.")
def jumps(jk, rng):
    jnp, x = jk.numpy, anywhere(rng, 2)
    fs = {
        "questions": lambda x: (
            jnp.where(x > 0.5, 1.0, 0.0) + jnp.where(x == x, 2.0, x) + jnp.where(x <= 0, x, 1.0) * (x != 1)
        ),
        "logic": lambda x: jnp.where(jnp.logical_and(x > 0, jnp.logical_not(x < 1)), x, -x),
        "either": lambda x: jnp.where(jnp.logical_or(x < 0, x >= 1), x * x, x),
        "an index": lambda x: x[jnp.asarray(2)] * jnp.sign(x),
        "made": lambda x: x * jnp.arange(5) + jnp.zeros_like(x),
    }
    return {name: moved(jk, f, x, x + 1.0) for name, f in fs.items()}


@program("15", "Tangents have the shapes and dtypes of their primals, and these are floats: ValueError, TypeErrors.",
         against=["an integer of Python is any tangent"])  # fmt: skip
def unlike_types(jk, rng):
    x = floats(rng, 2)
    return [
        raised(jk.jvp, jk.numpy.sin, (x,), (np.float32(1),)),
        raised(jk.jvp, jk.numpy.sin, (x,), (x.astype(np.float16),)),
        raised(jk.jvp, lambda n: n * 2, (1,), (1,)),
        raised(jk.jvp, jk.numpy.sin, (1.0,), (1,)),
    ]


@program(
    "15",
    "Each kind of argument is accepted or refused: alone, as the second one, and as the tangent of a float.",
    against=["a truth value moves", "the first primal must be a float", "a conversion keeps the tangent"],
)
def every_kind(jk, rng):
    x, n = jk.numpy.asarray(floats(rng, 3)), jk.numpy
    kinds = {text: eval(text, {"np": np, "jk": jk, "x": x}) for text in ARGUMENTS}
    total = lambda tree: sum([n.sum(v) * 2.0 for v in jk.tree_util.tree_leaves(tree)], n.sum(x))
    return {
        "alone": {text: raised(jk.jvp, total, (v,), (v,)) for text, v in kinds.items()},
        "the second one": {
            text: raised(jk.jvp, lambda a, b: a * total(b), (1.5, v), (0.5, v)) for text, v in kinds.items()
        },
        "a tangent": {text: raised(jk.jvp, total, (2.5,), (v,)) for text, v in list(kinds.items())[:8]},
    }


@program("15", "Three branches, a scan in reverse, and loops that close over moving values have derivatives.")
def every_loop(jk, rng):
    lax, x, t = jk.lax, floats(rng, 3), floats(rng, 3)
    fs = {
        "switch": lambda x, i: lax.switch(i, [lambda: x, lambda: 2.0 * x, lambda: x * x]),
        "reverse": lambda x, i: lax.scan(lambda c, r: (c * r + x[i], c * r), 1.0, x, reverse=True),
        "fori": lambda x, i: lax.fori_loop(i, 4, lambda j, c: c * x + j, x),
        "while": lambda x, i: lax.while_loop(
            lambda c: c[0] < 9.0, lambda c: (c[0] + 1.0, c[1] * x[i]), (x[0] * 0, 1.0)
        ),
        "a constant carry": lambda x, i: lax.scan(lambda c, r: (c, c * r), 2.0, x)[1],
    }
    thrice = lambda f, x, t: [moved(jk, lambda x, i=i: f(x, i), x, t) for i in range(3)]
    every = lambda x, t: {name: thrice(f, x, t) for name, f in fs.items()}
    return every(x, t), jk.jit(every)(x, t)


def exact(jk):
    """Return functions whose values and slopes at whole numbers are whole, or quarters: their derivatives have no rounding."""
    n = jk.numpy
    return [
        lambda x: n.max(x), lambda x: n.max(x.reshape(2, 2), 1), lambda x: n.maximum(x, 4.5), lambda x: n.minimum(x, 3.5),
        lambda x: n.sum(x * x), lambda x: n.mean(x), lambda x: n.abs(x - 4.5), lambda x: n.where(x > 4.5, x * 3.0, x / 2.0),
        lambda x: x**2, lambda x: n.dot(x, x), lambda x: n.max(x) * x, lambda x: x[1:] / 4.0 - x[:-1],
    ]  # fmt: skip


@program(
    "15",
    "Slopes at whole numbers are exact: nothing is added to a count, a quotient or a maximum. So are those at 0, and the root's at 4.",
    against=["a count needs a little", "a quotient needs a little"],
    tolerance=1e-9,
)
def whole_slopes(jk, rng):
    n, x = jk.numpy, rng.permutation(8)[:4].astype(np.float32) + 1
    t, zeros = rng.integers(1, 9, 4).astype(np.float32) * 4, np.zeros(4, np.float32)
    slopes = [moved(jk, f, jk.numpy.asarray(x), t) for f in exact(jk)]
    at_zero = [moved(jk, f, zeros, t) for f in (n.sin, n.cos, n.tan, n.tanh, n.exp, n.log1p, n.expm1)]
    return (
        slopes,
        at_zero,
        moved(jk, n.sqrt, zeros + 4, t),
        moved(jk, n.log, zeros + 1, t),
        moved(jk, lambda x: 8 / x, zeros + 2, t),
    )


@program(
    "15",
    "A conversion converts the tangent, too; far from 0 slopes are 0 and not nan; a window at a traced place moves.",
    against=["a conversion keeps the tangent", "what is at a traced index stands still"],
)
def far_and_converted(jk, rng):
    n, x, t = jk.numpy, np.float32([60.0, -60.0, 0.5, 300.0]), floats(rng, 4)
    fs = {
        "half": lambda x: x.astype(np.float16) * 2.0,
        "there and back": lambda x: n.sin(x.astype(np.float16).astype(np.float32) * 0.01),
        "with a half": lambda x: x * np.float16(0.5),
        "tanh": n.tanh,
        "to integers": lambda x: x.astype(np.int32) * x,
        "to truth values": lambda x: (x > 1).astype(np.float32) * x,
    }
    h = floats(rng, 3).astype(np.float16)
    windows = jk.jit(lambda x, t, i: moved(jk, lambda x: (x[i], x[1:][i] * x, x[i - 9]), x, t))(x, t, 1)
    return {name: moved(jk, f, n.asarray(x), t) for name, f in fs.items()}, moved(jk, lambda h: h * x[0], h, h), windows


@program(
    "15",
    "What a jitted function, a branch or a loop closes over moves, and so do its arguments, one by one and together.",
    against=["closed-over values of a jitted function stand still"],
)
def closed_over(jk, rng):
    lax, x, t = jk.lax, *floats(rng, 2)
    ways = {
        "jit": lambda f: lambda a, x: jk.jit(lambda a: f(a, x))(a),
        "jit without arguments": lambda f: lambda a, x: jk.jit(lambda: f(a, x))(),
        "cond": lambda f: lambda a, x: lax.cond(a > -9.0, lambda a: f(a, x), lambda a: a, a),
        "while": lambda f: lambda a, x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1], x)), (0, a))[1],
        "scan": lambda f: lambda a, x: lax.scan(lambda c, r: (f(c, x), c * r), a, np.ones(2, np.float32)),
        "scan of rows": lambda f: lambda a, x: lax.scan(lambda c, r: (f(c, r), r), 1.5, (a * x)[None]),
    }
    g = lambda a, x: a * x + a / x
    at = {
        "both": lambda f: lambda x: f(x, x),
        "argument": lambda f: lambda x: f(x, 2.0),
        "closed over": lambda f: lambda x: f(2.5, x),
    }
    return {(way, by): moved(jk, at[by](ways[way](g)), x, t) for way in ways for by in at}


@program(
    "15",
    "There must be as many tangents as primals (TypeError), each with the shape of its primal "
    "(ValueError). An error within a derivative can be caught.",
    against=["missing tangents are zeros", "when a derivative fails, nobody stands at the door"],
)
def refused_and_caught(jk, rng):
    def broken(x):
        raise KeyError("mine")

    def f(x):
        try:
            return jk.jvp(broken, (x,), (x,))
        except KeyError:
            return jk.numpy.sin(x) * 2.0

    x, n = floats(rng, 2), jk.numpy
    wrong = [
        ((1.0, 2.0), (1.0,)),
        ((1.0,), ()),
        ((x,), (1.0,)),
        ((1.0,), (x,)),
        (([1.0],), ((1.0,),)),
        ((x,), (x[:1],)),
    ]
    refused = [raised(jk.jvp, lambda *xs: n.sin(n.asarray(1.0)), *both) for both in wrong]
    return refused, [e.primitive.name for e in jk.make_jaxpr(f)(x).jaxpr.eqns], moved(jk, lambda x: f(x) * x, x, x)


@program(
    "15",
    "What is in a program stays in it: beside a jitted call, a choice or a loop there are only the equations that lead to it.",
    against=["a jitted function is differentiated equation by equation"],
)
def programs_stay(jk, rng):
    n, lax = jk.numpy, jk.lax
    fs = {
        "jit": jk.jit(lambda x: n.tanh(x) * x),
        "cond": lambda x: lax.cond(x > 0, lambda a: n.tanh(a), lambda a: n.tanh(a) * 2.0, x),
        "scan": lambda x: lax.scan(lambda c, r: (n.tanh(c) * 0.5, c), x, None, 3)[0],
        "while": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, n.tanh(c[1]) * 0.5), (0, x))[1],
    }
    x, t = (np.float32(v) for v in rng.uniform(0.5, 1.5, 2))
    programs = {name: jk.make_jaxpr(lambda x, t, f=f: jk.jvp(f, (x,), (t,)))(x, t) for name, f in fs.items()}
    names = {name: [e.primitive.name for e in p.jaxpr.eqns] for name, p in programs.items()}
    return {name: ["tanh" in found, name in found] for name, found in names.items()}


# --- random functions ---------------------------------------------------------------------------------------------------
# A function is a string, such as `n.where(x > 0, n.sin(x) * y, jk.lax.cond(i > 1, lambda: x, lambda: y))`, which is the key of its result.


TEMPLATES = (  # besides those of all rungs
    (*CALLED, "h({}, y)", "h({}, x)", "h(x, {})"),
    (*JOINED, "jk.lax.fori_loop(0, i, lambda k, c: (c[1], c[0] * 0.5 + y), ({}, {}))[0]",
     "jk.lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[2], c[1] * 0.5), (0, {}, {}))[1]",
     "jk.jvp(lambda a: a * {}, (x,), ({},))[1]", *TURNED),
)  # fmt: skip


def pushed(jk, rng, count):
    """Draw calls that return values and tangents, in one of several ways: with respect to one argument or both, which may be the same, a
    tree, or a factor that is a number of Python; of one result or several, which may be arguments or not depend on them.
    """
    n = jk.numpy
    ways = {
        "both": lambda f, x, y, t, s: jk.jvp(f, (x, y), (t, s)),
        "x": lambda f, x, y, t, s: jk.jvp(lambda x: f(x, y), (x,), (t,)),
        "y": lambda f, x, y, t, s: jk.jvp(lambda y: f(x, y), (y,), (s,)),
        "x twice": lambda f, x, y, t, s: jk.jvp(lambda x: f(x, x), (x,), (t,)),
        "a number": lambda f, x, y, t, s: jk.jvp(lambda a: f(x * a, y), (1.0,), (-0.5,)),
        "x of several": lambda f, x, y, t, s: jk.jvp(
            lambda x: (x, f(x, y), {"y": y, "x": [x, None]}, n.ones((2, 1))), (x,), (t,)
        ),
        "a tree": lambda f, x, y, t, s: jk.jvp(
            lambda d: [f(d["x"], *d["y"])] * 2, ({"y": (y,), "x": x},), ({"y": (s,), "x": t},)
        ),
        "what is closed over": lambda f, x, y, t, s: jk.jvp(lambda x: jk.jit(lambda: f(x, y))(), (x,), (t,)),
        "y in a jitted function": lambda f, x, y, t, s: jk.jvp(jk.jit(lambda a, b: (b, f(a, b))), (x, y), (t, s)),
        "x of a tangent": lambda f, x, y, t, s: jk.jvp(lambda x: jk.jvp(f, (x, y), (t, s))[1], (x,), (s,)),
        "a half": lambda f, x, y, t, s: jk.jvp(
            lambda h: f(x, h.astype(np.float32)), (y.astype(np.float16),), (s.astype(np.float16),)
        ),
    }
    first = int(rng.integers(len(ways)))
    for turn, (text, f, (x, y)) in enumerate(vector_functions(jk, rng, TEMPLATES, count, slice(None))):
        t, s = (rng.choice([-1, -0.5, 0.25, 2], 4).astype(np.float32) for _ in range(2))
        way = list(ways)[(first + turn) % len(ways)]
        by = functools.partial(ways[way], f)
        yield f"by {way}, t = {t.tolist()}, s = {s.tolist()}; {text}", by, (x, y, t, s)


def slopes(jk, rng, count):
    """Return values and tangents: of one jitted function, where the first, the second or both arguments move, and of random functions."""
    found = halves(jk, pushed(jk, rng, count), raised, exact=sum(map(len, TEMPLATES)))
    x, y, h = *vectors(rng)[:2], jk.jit(lambda a, b: a * b * b)
    return [
        moved(jk, f, x, y) for f in (lambda a: h(a, y), lambda b: h(y, b), lambda a: h(a, a), lambda a: h(a, y))
    ], *found


@program(
    "15",
    "Random functions have derivatives by x, by y and by both: at equal numbers, negative ones and 0, with loops and calls in each other.",
    against=[
        "a root of 0 is level",
        "a logarithm of 0 is level",
        "a negative number has no power",
        "ties are counted along one axis",
        "what moves is kept with the function",
        "a reversed scan's tangents go forward",
    ],
    tolerance=1e-3,
)
def random_slopes(jk, rng):
    return slopes(jk, rng, 8)


@program("15", "Hundreds of random functions have derivatives.", hidden=True, tolerance=1e-3)
def many_random_slopes(jk, rng):
    return slopes(jk, rng, 80)
