"""Rung 11: a call becomes an equation."""

import numpy as np
from climbing import counted, jaxpr, program, text


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "11",
    "A jitted function that is traced is one equation, with its program in it.",
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


@program("11", "It is traced once, however often it is called.", against=["each inner call is traced"])
def once(jk, rng):
    traces = []

    @jk.jit
    def g(x):
        traces.append(1)
        return x * x + 1.0

    f = jk.jit(lambda x: g(g(g(x))))
    return {"result": f(floats(rng, 3)), "traces of the inner function": len(traces)}


@program(
    "11",
    "The inner function may close over what the outer one traces.",
    against=["nothing is closed over", "the text has the body at each call"],
)
def closure(jk, rng):
    def f(x, y):
        return jk.jit(lambda z: z * x + y)(y) - x

    x, y = floats(rng, 3), floats(rng, 3)
    return jk.jit(f)(x, y), jk.jit(f)(y, x)


@program(
    "11",
    "A tracer that was closed over in one trace is not kept for the next.",
    against=["programs with tracers of other traces are kept", "nothing is closed over"],
)
def not_stale(jk, rng):
    seen = []

    @jk.jit
    def g(z):
        return z * seen[-1]

    def f(x):
        seen.append(x)
        return g(x)

    x = floats(rng, 3)
    return jk.jit(f)(x), jk.jit(lambda x: f(x + 1.0))(x)


@program("11", "All of it is one program for XLA.", against=["the text has the body at each call"])
def one_program(jk, rng):
    g = jk.jit(lambda x: x * 2.0)
    return counted(jk.jit(lambda x: g(x) + g(x + 1.0)), floats(rng, 3), compiled=1, executed=1)


@program(
    "11",
    "Trees, static arguments, several results, of any types: inside as outside.",
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
