"""Rung 02: `make_jaxpr`."""

import contextlib

import numpy as np
from climbing import jaxpr, program
from drawing import GRAMMAR, SIX, function, pick, world


def words(text):
    """Return the words of a printed program, without line breaks: JAX leaves these out of short programs."""
    return " ".join(str(text).replace(";", " ").split())


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "02",
    "Each operation becomes an equation, in order.",
    against=["an expression is a tree", "the operands are swapped"],
)
def straight(jk, rng):
    jnp = jk.numpy
    return jaxpr(jk.make_jaxpr(lambda x, y: jnp.sin(x) * y + jnp.exp(x))(floats(rng, 3), floats(rng, 3)))


@program("02", "The names of primitives are JAX's.", against=["what is not returned is not written"])
def names(jk, rng):
    jnp = jk.numpy
    unary = [
        jnp.sin,
        jnp.cos,
        jnp.tan,
        jnp.tanh,
        jnp.exp,
        jnp.log,
        jnp.sqrt,
        jnp.negative,
        jnp.abs,
        jnp.sign,
        jnp.floor,
    ]
    binary = [jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.power, jnp.maximum, jnp.minimum]
    questions = [jnp.less, jnp.less_equal, jnp.greater, jnp.greater_equal, jnp.equal, jnp.not_equal]
    f = lambda x, y: [f(x) for f in unary] and [f(x, y) for f in binary + questions][-1]
    return [eqn.primitive.name for eqn in jk.make_jaxpr(f)(floats(rng, 2), floats(rng, 2)).jaxpr.eqns]


@program("02", "A Python number stands in the program as a literal.")
def literal(jk, rng):
    c = float(rng.integers(2, 9))
    return jaxpr(jk.make_jaxpr(lambda x: (x * c + 1.0) / x)(floats(rng, 3)))


@program("02", "A value that is used twice is computed once.", against=["an expression is a tree"])
def shared(jk, rng):
    def f(x):
        for _ in range(5):
            x = x * x
        return x

    return jaxpr(jk.make_jaxpr(f)(floats(rng, 2)))


@program(
    "02", "A function may return several results, and its arguments.", against=["the result is what was computed last"]
)
def results(jk, rng):
    jnp = jk.numpy
    return jaxpr(jk.make_jaxpr(lambda x, y: (jnp.cos(y), x, x + y))(floats(rng, 3), floats(rng, 3)))


@program("02", "An array that the function closes over is a constant, with its value beside the program.",
         against=["constants are forgotten"])  # fmt: skip
def closure(jk, rng):
    c = jk.numpy.asarray(floats(rng, 3))
    return jaxpr(jk.make_jaxpr(lambda x: x * c + c)(floats(rng, 3)))


@program(
    "02",
    "The operands of an equation are the variables themselves, in their order.",
    against=["the operands are swapped"],
)
def operands(jk, rng):
    closed = jk.make_jaxpr(lambda x, y: (x - y) / (y + x))(floats(rng, 2), floats(rng, 2))
    x, y = closed.jaxpr.invars
    first = closed.jaxpr.eqns[0]
    return {
        "primitive": first.primitive.name,
        "operands that are x": [v is x for v in first.invars],
        "operands that are y": [v is y for v in first.invars],
        "shape of the result": first.outvars[0].aval.shape,
    }


@program(
    "02",
    "Printed, it looks as in JAX: variables are a, b, c, with their types.",
    against=["the printer leaves types out"],
)
def printed(jk, rng):
    jnp, c = jk.numpy, float(rng.integers(2, 9))
    return words(jk.make_jaxpr(lambda x, y: jnp.sin(x) * c - y)(floats(rng, 3), floats(rng, 3)))


@program("02", "More than 26 variables: after z comes ba.")
def many(jk, rng):
    def f(x):
        for _ in range(30):
            x = x + 1.0
        return x

    return words(jk.make_jaxpr(f)(floats(rng, 1)))


@program(
    "02", "An operation whose result is not returned is written down, too; its variable is printed as an underscore."
)
def unused(jk, rng):
    def f(x):
        jk.numpy.sin(x)
        return x + x

    return words(jk.make_jaxpr(f)(floats(rng, 2)))


@program("02", "What Python does itself leaves no trace: an `if` on a known value, a loop, a local function.")
def python(jk, rng):
    n = int(rng.integers(2, 5))

    def f(x):
        def twice(v):
            return v + v

        return twice(x) if n > 3 else x * x

    return jaxpr(jk.make_jaxpr(f)(floats(rng, 3)))


@program("02", "When tracing is over, operations compute again.", against=["the writer never leaves the door"])
def afterwards(jk, rng):
    x = floats(rng, 3)
    jk.make_jaxpr(jk.numpy.sin)(x)
    with contextlib.suppress(ZeroDivisionError):
        jk.make_jaxpr(lambda x: 1 / 0)(x)
    return jk.numpy.sin(x)


@program("02", "An array that is closed over is one constant, however often it is used.")
def one_constant(jk, rng):
    c, d = jk.numpy.asarray(floats(rng, 3)), jk.numpy.asarray(floats(rng, 3))
    return len(jk.make_jaxpr(lambda x: x * c + c * d - c)(floats(rng, 3)).consts)


@program(
    "02",
    "Each argument is a variable: one that is not used, and one that is passed twice.",
    against=["an argument that is not used is not an argument", "an array that is passed twice is one argument"],
)
def each_argument(jk, rng):
    x = floats(rng, 3)
    return [jaxpr(jk.make_jaxpr(f)(x, x)) for f in (lambda x, y: x - y, lambda x, y: jk.numpy.sin(y))]


@program(
    "02",
    "An equation for each operation, as it is written: also for the same one again, and for one that changes nothing.",
    against=[
        "what is not returned is not written",
        "the same operation twice is one equation",
        "`x > y` is `y < x`",
        "an operation that changes nothing needs no equation",
    ],
)
def as_written(jk, rng):
    c = float(rng.integers(2, 9))

    def f(x, y):
        _ = y > x
        twice = jk.numpy.sin(x) + jk.numpy.sin(x)
        return (
            x * 1.0 + 0.0,
            twice,
            x > y,
            x >= y,
            x < c,
            c < x,
            x <= y,
            jk.numpy.negative(-x),
            jk.numpy.abs(jk.numpy.abs(x)),
        )

    closed = jk.make_jaxpr(f)(floats(rng, 2), floats(rng, 2))
    return [eqn.primitive.name for eqn in closed.jaxpr.eqns], jaxpr(closed)


@program(
    "02",
    "Arrays that are made while the function is traced are constants with values of their own.",
    against=["an `id` names an object for ever"],
)
def made_while_tracing(jk, rng):
    numbers = floats(rng, 20)

    def f(x):
        for c in numbers:
            x = x * np.full(3, c)
        return x

    return jaxpr(jk.make_jaxpr(f)(floats(rng, 3)))


@program(
    "02",
    "A function may be traced while another one is: when that is over, or has failed, the outer one is written again.",
    against=["after a trace the eager interpreter stands at the door"],
)
def traced_inside(jk, rng):
    def f(x):
        y = jk.numpy.sin(x)
        inner = jk.make_jaxpr(lambda z: z * z + 1.0)(floats(rng, 2))
        with contextlib.suppress(ZeroDivisionError):
            jk.make_jaxpr(lambda z: (z + 1.0) * (1 / 0))(floats(rng, 2))
        return jk.numpy.cos(y) * float(len(inner.jaxpr.eqns))

    return jaxpr(jk.make_jaxpr(f)(floats(rng, 3)))


@program(
    "02",
    "Printed, arguments that are not used have letters, operands of an unused result count as used, and a number has all its digits.",
    against=[
        "six digits are enough",
        "an argument that is not used gets no letter",
        "what only an unused result uses is unused",
        "a result that is a number is a constant",
    ],
)
def printed_edges(jk, rng):
    jnp, large = jk.numpy, float(rng.integers(1_000_001, 1_999_999))
    fs = [
        lambda x, y: jnp.cos(y),
        lambda x, y: (jnp.sin(jnp.cos(x) * y), x)[1],
        lambda x, y: x * large - 0.5,
        lambda x, y: (y, 2.0, x, 3, True),
        lambda x, y: (),
        lambda x, y: x + np.float32(1.5),
    ]
    return [words(jk.make_jaxpr(f)(floats(rng, 2), floats(rng, 2))) for f in fs]


@program("02", "After zz comes baa.", against=["there are 676 names"])
def very_many(jk, rng):
    def f(x):
        for _ in range(26 * 26 + 3):
            x = -x
        return x

    return words(jk.make_jaxpr(f)(1.0))[-120:]


@program(
    "02",
    "64 bits become 32 here, too. Numbers of numpy are literals; arrays with axes are constants, two for equal bytes of two dtypes.",
    against=[
        "an array with one number is a literal",
        "arguments keep numpy's dtype",
        "constants of equal bytes are one",
    ],
)
def narrow(jk, rng):
    zeros = [jk.numpy.asarray(np.zeros(2, np.float32)), jk.numpy.asarray(np.zeros(2, np.int32))]

    one = jk.numpy.asarray(np.float32([0.5]))

    def f(x, n):
        return (
            x + zeros[0],
            n + zeros[1],
            x * np.float32(2),
            n * np.int32(3),
            x * jk.numpy.asarray(np.float32(0.5)),
            x * one,
        )

    return jaxpr(jk.make_jaxpr(f)(rng.uniform(size=2), rng.integers(0, 9, 2)))


@program(
    "02",
    "An array that is an argument and is closed over as well is two variables, with a value for one of them.",
    against=["what is an argument is no constant"],
)
def argument_and_constant(jk, rng):
    asarray = jk.numpy.asarray
    x, row, table = asarray(floats(rng, 3)), asarray(floats(rng, 3)), asarray(floats(rng, 2, 3))
    fs = [lambda y, z: y * x + y, lambda y, z: (y + row, z * table), lambda y, z: (z * table, y * x + row, table - z)]
    return [jaxpr(jk.make_jaxpr(f)(x, floats(rng, 2, 3))) for f in fs]


@program(
    "02",
    "Printed, constants come first; there may be several results, one of them twice, numbers of each dtype, and unused variables.",
    against=["letters are given when a variable is made", "what is only returned is unused"],
)
def printed_each(jk, rng):
    jnp, asarray = jk.numpy, jk.numpy.asarray
    c, d, k = asarray(floats(rng, 2)), asarray(floats(rng, 2)), int(rng.integers(2, 9))
    fs = [
        lambda x, y: x + c,
        lambda x, y: ((y * c) * (x + d), d),
        lambda x, y: (jnp.sin(x), jnp.cos(y), x + y),
        lambda x, y: (x, y, x, c),
        lambda x, y: (jnp.sin(x + c), jnp.exp(y))[1],
        lambda x, y: [jnp.tan(x) for _ in range(3)][1],
        lambda x, y: (x * y,) * 2,
        lambda x, y: (x * k, x * -0.5, x < float("inf"), 0.1 - y, True, -k),
        lambda x, y: (x,),
        lambda x, y: c,
        lambda x, y: 2.5,
    ]
    xs = floats(rng, 2), floats(rng, 2)
    kinds = [
        np.array([True]),
        np.int8([1]),
        np.uint8([k]),
        np.float16([1]),
        np.uint32([1]),
        k,
        2.5,
        True,
        np.zeros((0, 2)),
        np.int16(3),
    ]
    same = lambda *xs: jk.make_jaxpr(lambda *xs: xs)(*xs)
    return [words(jk.make_jaxpr(f)(*xs)) for f in fs], words(same(*kinds)), words(same()), words(same(1))


@program(
    "02",
    "Arguments may have each type: numbers of Python are weak, arrays are not. A function may be traced again, for other arguments.",
    against=["arguments are strong", "a function has one program"],
)
def argument_types(jk, rng):
    kinds = [
        2,
        2.5,
        np.float32(2),
        floats(rng, 2),
        np.int32(2),
        floats(rng, 2, 1),
        np.float16([1, 2]),
        jk.numpy.asarray(3),
        jk.numpy.asarray(floats(rng)),
    ]
    double, both = jk.make_jaxpr(lambda x: (x * x, x)), jk.make_jaxpr(lambda x, y: (x, y))
    order = [int(i) for i in rng.permutation(len(kinds))]
    return [jaxpr(double(kinds[i])) for i in [*order, *order]], [
        jaxpr(both(kinds[i], kinds[j])) for i, j in zip(order, order[1:] + order[:1], strict=True)
    ]


@program(
    "02",
    "A function that is traced within another one may use the outer one's variables: they are constants of the inner program.",
    against=["a tracer is a variable of whoever traces"],
)
def outer_variables(jk, rng):
    inner, x = [], floats(rng, 2)

    def f(x, z):
        y = jk.numpy.sin(x)
        inner.append(jk.make_jaxpr(lambda w: (w * y - x, w + z))(floats(rng, 2)).jaxpr)
        return y * z

    outer = jaxpr(jk.make_jaxpr(f)(x, x))
    [p] = inner
    kind = lambda v: "argument" if v in p.invars else "constant" if v in p.constvars else "result"
    return outer, [(eqn.primitive.name, [kind(v) for v in eqn.invars]) for eqn in p.eqns], len(p.constvars)


# --- random functions ---------------------------------------------------------------------------------------------------


def random_programs(jk, rng, count):
    """Trace random functions, each for arrays of two kinds of shapes, and for the first again. Return the programs, also as printed."""
    found = {}
    for _ in range(count):
        numbers = world(rng, ("float32",), ("int32",), ranked=True)
        own = {name: jk.numpy.asarray(x) for name, x in numbers.items()}
        source, f = function(jk, rng, GRAMMAR, own, pick(rng, 1, 2, 4))
        x, y, *rest = [pick(rng, numbers, own)[name] for name in SIX]
        flat = [jk.numpy.asarray(np.zeros((), numbers[name].dtype)) for name in SIX]
        calls = [(x, y, *rest), (y, y, *rest), (own["c"], own["d"], *rest), flat, (x, y, *rest)]
        closed = [jk.make_jaxpr(f)(*args) for args in calls]
        types = ", ".join(f"{name} {numbers[name].dtype}{list(numbers[name].shape)}" for name in (*SIX, "c", "d", "k"))
        found[f"{source}, with {types}"] = [(jaxpr(c), words(c)) for c in closed]
    return found


@program(
    "02",
    "Random functions are traced: their arrays are closed over, passed twice, or both; their results may be arguments or numbers.",
)
def random_functions(jk, rng):
    return random_programs(jk, rng, 5)


@program("02", "Many random functions are traced.", hidden=True)
def many_random_functions(jk, rng):
    return random_programs(jk, rng, 30)


@program(
    "02",
    "64 bits of an array that is closed over become 32 as well, whether it is numpy's or a result.",
    against=["what is closed over keeps numpy's dtype"],
)
def closed_over_64(jk, rng):
    c, n = rng.uniform(size=2), rng.integers(1, 9, 2)
    # one array each: two could have one `id`, one after the other
    fs = [
        lambda x, i: (x * c, i),
        lambda x, i: (x, i + n),
        lambda x, i: (x, i > n),
        lambda x, i: (x, i * n.astype(np.int32)),
    ]
    return [jaxpr(jk.make_jaxpr(f)(floats(rng, 2), n)) for f in fs]
