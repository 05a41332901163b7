"""Rung 11: a call becomes an equation."""

import numpy as np
from climbing import counted, jaxpr, program, raised, text
from drawing import deck, fill, pick


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "11",
    "A call of a jitted function in a traced one is one equation, with the program of the inner function in it.",
    against=["the inner function is inlined"],
)
def equation(jk, rng):
    g = jk.jit(lambda x: jk.numpy.sin(x) * 2.0)
    return jaxpr(jk.make_jaxpr(lambda x: g(x) + 1.0)(floats(rng, 3)))


@program(
    "11",
    "In the text it is one private function, which is called three times.",
    against=[
        "the text has the body at each call",
        "each inner call is traced",
        "nothing is closed over",
        "each call gets a function of its own",
    ],
)
def private(jk, rng):
    g = jk.jit(lambda x: jk.numpy.sin(x) * x)
    lowered = text(jk, lambda x: g(g(g(x))), floats(rng, 3))
    words = ("func.func", "stablehlo.sine", "call @")
    return {"text": lowered} | {f"times that it says {word}": lowered.text.count(word) for word in words}


@program("11", "It is traced once, however often it is called, within a trace or at once.",
         against=["each inner call is traced", "within a trace there is another cache"])  # fmt: skip
def once(jk, rng):
    traces = []

    @jk.jit
    def g(x):
        traces.append(1)
        return x * x + 1.0

    f = jk.jit(lambda x: g(g(g(x))))
    return {"results": [f(floats(rng, 3)), g(floats(rng, 3))], "traces of the inner function": len(traces)}


@program(
    "11",
    "The inner function may close over what the outer one traces.",
    against=[
        "nothing is closed over",
        "the text has the body at each call",
        "what is closed over comes behind the arguments",
    ],
)
def closure(jk, rng):
    def f(x, y):
        return jk.jit(lambda z: z * x + y)(y) - x

    x, y = floats(rng, 3), floats(rng, 3)
    [call, _] = jk.make_jaxpr(f)(x, y).jaxpr.eqns
    return jk.jit(f)(x, y), jk.jit(f)(y, x), jaxpr(call.params["jaxpr"])


@program(
    "11",
    "A tracer that was closed over in one trace is not kept for the next.",
    against=[
        "only the first closed-over value may be a tracer",
        "one of two dead tracers is enough",
        "programs with tracers of other traces are kept",
        "nothing is closed over",
    ],
)
def not_stale(jk, rng):
    seen, table = [], floats(rng, 3)

    @jk.jit
    def g(z):
        return z * table * seen[-1]

    def f(x):
        seen.append(x)
        return g(x)

    x = floats(rng, 3)
    return jk.jit(f)(x), jk.jit(lambda x: f(x + 1.0))(x)


@program(
    "11",
    "The outer function with its inner calls is one program for XLA.",
    against=["the text has the body at each call"],
)
def one_program(jk, rng):
    g = jk.jit(lambda x: x * 2.0)
    return counted(jk.jit(lambda x: g(x) + g(x + 1.0)), floats(rng, 3), compiled=1, executed=1)


@program(
    "11",
    "Inner calls may have trees, static arguments and several results of any types.",
    against=[
        "the text has the body at each call",
        "all programs are one function",
        "a call has one result",
        "the results have the operands' types",
        "only what is in the first function is written",
        "operands are passed in any order",
    ],
)
def trees(jk, rng):
    g = jk.jit(lambda d, n: ({"s": d["a"] * float(n)}, d["b"]), static_argnums=1)
    f = jk.jit(lambda d: (g(d, 2), g(d, 3)))
    is_large = jk.jit(lambda x: x > 1.0)  # a result of another type than the operand's
    d = {"a": floats(rng, 2), "b": floats(rng)}
    return f(d), jk.jit(lambda x: is_large(x))(d["a"])


@program("11", "A program with such an equation can be run again.")
def run_again(jk, rng):
    g = jk.jit(lambda x: jk.numpy.exp(x) - 1.0)
    closed = jk.make_jaxpr(lambda x: (g(x), g(x * 2.0)))(floats(rng, 3))
    return jk.core.eval_jaxpr(closed.jaxpr, closed.consts, floats(rng, 3))


@program(
    "11",
    "An inner function that fails leaves the outer one traced: it may catch the error, and go on.",
    against=["when an inner function fails, nobody stands at the door"],
)
def caught(jk, rng):
    def broken(y):
        jk.numpy.sin(y)
        raise KeyError("mine")

    def f(x):
        try:
            return jk.jit(broken)(x)
        except KeyError:
            return jk.numpy.sin(x) * 2.0

    return jk.jit(f)(floats(rng, 3)), len(jk.make_jaxpr(f)(floats(rng, 3)).jaxpr.eqns)


@program(
    "11",
    "A trace that failed leaves nothing behind: the same function can be called again, in the same outer function and in the next.",
    against=["a function whose trace failed once fails always"],
)
def failed_once(jk, rng):
    fails, x = [], floats(rng, 2)

    @jk.jit
    def g(y):
        if fails:
            raise KeyError(fails.pop())
        return y * 2.0

    def f(x, times):
        fails[:] = ["mine"] * times
        errors = [raised(g, x) for _ in range(times)]
        return g(x) + float(len(errors))

    return [jk.jit(lambda x, t=t: f(x, t))(x) for t in (1, 2, 0)], g(x)


@program(
    "11",
    "A Python number is weak inside, too: in the inner function, and in what it returns.",
    against=["numbers become strong on the way in"],
)
def weak_inside(jk, rng):
    g, h = jk.jit(lambda c, x: (c * 3.0, c * x)), floats(rng, 2).astype(np.float16)
    f = lambda h: [y * h for y in g(2.0, h)]
    return jk.jit(f)(h), [v.aval.dtype.name for v in jk.make_jaxpr(f)(h).jaxpr.outvars]


@program(
    "11",
    "Each call is an equation: of a function that returns its argument, or what it closed over, or a number.",
    against=["a call that computes nothing is not written"],
)
def every_call(jk, rng):
    fs = [
        lambda x, y: jk.jit(lambda a: a)(x),
        lambda x, y: jk.jit(lambda: jk.numpy.sin(x) * y)(),
        lambda x, y: jk.jit(lambda a: (y, a, y))(x),
        lambda x, y: jk.jit(lambda a: 2.5)(x) * y,
    ]
    x, y = floats(rng, 2), floats(rng, 2)
    names = [[e.primitive.name for e in jk.make_jaxpr(f)(x, y).jaxpr.eqns] for f in (fs[0], *fs[2:])]
    return names, [jk.jit(f)(x, y) for f in fs]


@program("11", "Hundreds of signatures, and the first program is still there.", against=["256 programs are enough"])
def hundreds(jk, rng):
    traces = []
    g = jk.jit(lambda x: (traces.append(1), x)[1])
    closed = jk.make_jaxpr(lambda: [g(np.zeros(n, np.float32)) for n in (*range(300), 0, 1)])()
    return len(traces), len(closed.jaxpr.eqns)


# --- random calls -------------------------------------------------------------------------------------------------------
# A function is a string, such as `g(g(x) + y) * h(a=x, b=y)`, which is the key of its result. `g` and the others are jitted.

CALLS = (
    "g({})", "g({})", "h({}, {})", "h({}, b={})", "h(b={}, a={})", "h(a={}, b=y)", "k({}, 3)", "k({}, n=2)", "k({}, 3)",
    "many({'a': {}, 'b': (y, None)})['s']", "many({'a': {}, 'b': ({}, None)})['p'][0]", "jk.jit(lambda: {})()",
    "jk.jit(lambda: {} * y)()", "jk.jit(lambda a: a)({})", "jk.jit(lambda a: a - x)({})", "over({})", "over(2.0) * {}", "const({})",
    "const({})", "weak(2.0, {})", "h(c, {})", "g(y) * {}", "jk.jit(lambda a, b: (b, a))({}, y)[1]", "two({})", "two({})",
    "jk.jit(lambda a: g(a) + h(a, y))({})", "within({})", "pair({}, {})[0]", "pair({}, {})[1]", "(nothing({}) or {})", "stored({})",
    "deep({})", "deep(g({}))", "same({})[0]", "same({})[1] * {}", "sums(({}, [{}]))", "lin({}, {}, {})",
    "jk.jit(jk.jit(lambda a: a * x))({})",
    "jk.jit(lambda a: jk.jit(lambda b: b * a + x)(y))({})", "both({}, 2.5)[0] * both({}, 1.5)[1]",
    "h(2, {})", "h({}, np.float16(2))", "h({}, True)", "k({}, n=0) + {}", "jk.jit(lambda a: a.astype(np.int32))({}) * {}", "lin(c, 2, {})",
    "weak(2.0, half({})) * weak(np.float32(2), half({}))", "weak(np.float32(3), half({})) - weak(3.0, half({}))", "{} * weak(2, cut({}))",
    "weak(np.int32(2), cut({})) + {}",
)  # fmt: skip


def expression(rng, calls, depth):
    """Draw an expression of nested calls."""
    if depth == 0:
        return pick(rng, "x", "y", "x * y", "y + 1.0")
    return fill(next(calls), lambda: f"({expression(rng, calls, depth - 1 if rng.integers(3) else 0)})")


def calls_in(program):
    """Return the calls in a program: for each of them, those in the program that it calls."""
    inner = getattr(program, "jaxpr", program)
    return [calls_in(e.params["jaxpr"]) for e in inner.eqns if e.primitive.name == "jit"]


def called(jk, rng, count):
    """Return, for random functions, their results, the calls in them, a text, and how often each was traced."""
    n, traces, box = jk.numpy, [], {}
    c = n.asarray(floats(rng, 2))

    def noted(name, f):
        def traced(*args, **kwargs):
            traces.append(name)
            return f(*args, **kwargs)

        return jk.jit(traced)

    g = noted("g", lambda x: n.sin(x) * 0.5)
    inner = noted("inner", lambda a: a * c + c)
    times = lambda x, n: (traces.append(f"k {n}"), sum([x * i for i in range(n)]))[1]
    bodies = {
        "h": lambda a, b: a * b - a,
        "many": lambda d: {"s": d["a"] - d["b"][0], "p": [d["a"] * 2.0, None]},
        "over": lambda a: a * box["x"],
        "const": lambda a: (a + c) * c,
        "weak": lambda w, a: w * a,
        "two": lambda a: g(g(a)) - a,
        "within": lambda a: inner(a) * inner(a + 1.0),
        "pair": lambda a, b: (b, a * b),
        "nothing": lambda a: None,
        "deep": lambda a: names["two"](names["within"](a)) * a,
        "same": lambda a: (a, a, n.sum(a), a),
        "sums": lambda tree: n.sum(tree[0]) + tree[1][0],
        "lin": lambda a, b, c: a - b * c,
        "both": lambda a, b: (a, b, 3),
        "stored": lambda a: noted("new", lambda b: b * box["x"] + box["y"])(a),
    }
    names = {"n": n, "jk": jk, "np": np, "c": c, "g": g, "k": jk.jit(times, static_argnames="n")}
    names |= {"half": lambda a: a.astype(np.float16), "cut": lambda a: a.astype(np.int8)}
    names |= {name: noted(name, f) for name, f in bodies.items()}

    def of(text):
        f = eval(f"lambda x, y: {text}", names)

        def run(x, y):
            box.update(x=x, y=y)
            return f(x, y)

        return run

    calls = deck(rng, CALLS)
    texts = [f"{expression(rng, calls, 1 + i % 3)} - {expression(rng, calls, 1)}" for i in range(count)]
    within = "jk.jit(lambda a: over(a) * over(a + 1.0))"
    fs = {text: of(text) for text in ["g(x) * g(x) - h(x, y) * h(x, y)", f"{within}(x)", f"{within}(y) - x", *texts]}
    xs = floats(rng, 2), floats(rng, 2)
    programs = {text: calls_in(jk.make_jaxpr(f)(*xs)) for text, f in fs.items()}
    programs = {
        t: x for t, x in programs.items() if "jit(lambda:" not in t and "over(2.0)" not in t
    }  # no operand is traced
    kept = [f for t, f in fs.items() if "over" not in t and "stored" not in t]  # these may be traced anew
    of_all = text(jk, lambda x, y: [f(x, y) for f in kept], *xs)
    counts = {name: traces.count(name) for name in sorted(set(traces) - {"over", "stored", "new"})}
    results = jk.jit(lambda x, y: [f(x, y) for f in fs.values()])(*xs)
    return programs, of_all, of_all.text.count("func.func private"), counts, dict(zip(fs, results, strict=True))


@program(
    "11",
    "Random inner calls are right: by position and by name, without arguments, of trees, with static values, with closed-over values.",
    against=[
        "keywords are called in place",
        "a program with constants is traced again",
        "a function's name is the number of functions that are finished",
        "only the tracers of the innermost trace are dead later",
        "one of two dead tracers is enough",
        "a call with the operands of another one is not written",
        "a private function calls no other",
        "a call that returns nothing is not written",
        "weak and strong numbers share a program",
    ],
    tolerance=1e-4,
)
def random_calls(jk, rng):
    return called(jk, rng, 40)


@program("11", "Hundreds of random inner calls are right.", hidden=True, tolerance=1e-4)
def many_random_calls(jk, rng):
    return called(jk, rng, 150)
