"""Rung 03: `core.eval_jaxpr`."""

import numpy as np
from climbing import jaxpr, program
from drawing import GRAMMAR, SIX, array, function, pick, world


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


def run(jk, closed, *args):
    return jk.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)


@program(
    "03",
    "A program gives what its function gives, for arguments of the same types, as a list.",
    against=["a value is needed once"],
)
def same(jk, rng):
    x, y = floats(rng, 3), floats(rng, 3)
    closed = jk.make_jaxpr(lambda x, y: (jk.numpy.sin(x) * y, x + y))(x, y)
    return run(jk, closed, floats(rng, 3), y + 1)


@program(
    "03",
    "Literals and constants have their values.",
    against=["constants are zero", "operands come in any order", "one result needs no list"],
)
def constants(jk, rng):
    c = jk.numpy.asarray(floats(rng, 3))
    closed = jk.make_jaxpr(lambda x: x * c - 2.5)(floats(rng, 3))
    return run(jk, closed, floats(rng, 3))


@program("03", "Operands come in their order.", against=["operands come in any order"])
def order(jk, rng):
    x, y = floats(rng, 3), floats(rng, 3)
    return run(jk, jk.make_jaxpr(lambda x, y: x / y - (y - x))(x, y), x, y)


@program("03", "Arguments may be results.", against=["only what an equation computed can be returned"])
def returned(jk, rng):
    x = floats(rng, 3)
    return run(jk, jk.make_jaxpr(lambda x: (x, x + 1.0, x))(x), x)


@program(
    "03",
    "What the function prints and counts happens once, when it is traced.",
    against=["the function is called again"],
)
def once(jk, rng):
    calls = []

    def f(x):
        calls.append(1)
        return x * 2.0

    x = floats(rng, 2)
    closed = jk.make_jaxpr(f)(x)
    return {"results": [run(jk, closed, x) for _ in range(3)], "calls of the function": len(calls)}


@program("03", "A global is read when the function is traced, and not again.", against=["the function is called again"])
def frozen(jk, rng):
    state = {"scale": 2.0}
    x = floats(rng, 2)
    closed = jk.make_jaxpr(lambda x: x * state["scale"])(x)
    state["scale"] = 100.0
    return run(jk, closed, x)


@program(
    "03",
    "A loop of Python leaves the equations of its body once for each turn; an `if` on a shape leaves those of one branch.",
)
def unrolled(jk, rng):
    n = int(rng.integers(2, 6))

    def f(x):
        for i in range(x.shape[0]):
            x = x + float(i) if i % 2 else x * x
        return x

    closed = jk.make_jaxpr(f)(floats(rng, n))
    return {"equations": len(closed.jaxpr.eqns), "results": run(jk, closed, floats(rng, n))}


@program("03", "An interpreter can itself be traced: the program of running a program is that program.",
         against=["the interpreter always computes", "results are numpy's"])  # fmt: skip
def traced_again(jk, rng):
    x = floats(rng, 3)
    closed = jk.make_jaxpr(lambda x: jk.numpy.sin(x) * x + 1.0)(x)
    return jaxpr(jk.make_jaxpr(lambda x: run(jk, closed, x)[0])(x))


@program(
    "03",
    "A number that stands in the program may be a result, and one result is a list, too.",
    against=["a result is a variable", "one result needs no list", "results are numpy's"],
)
def literal_results(jk, rng):
    c, x = float(rng.integers(2, 9)), floats(rng, 3)
    closed = jk.make_jaxpr(lambda x: (c, x + 1.0))(x)
    number, array = run(jk, closed, x)
    return len(run(jk, closed, x)), float(number), array * x, len(run(jk, jk.make_jaxpr(lambda x: x * 2.0)(x), x))


@program(
    "03",
    "The same program is run with other numbers, with other constants, and with Python numbers, whose types are weak.",
    against=["a program has its results", "the constants are those of the trace", "arguments are arrays of numpy"],
)
def other_numbers(jk, rng):
    c, h = jk.numpy.asarray(floats(rng, 3)), floats(rng, 2).astype(np.float16)
    closed = jk.make_jaxpr(lambda x: x * c - x)(floats(rng, 3))
    results = [run(jk, closed, floats(rng, 3)) for _ in range(3)]
    other = jk.core.eval_jaxpr(closed.jaxpr, [jk.numpy.asarray(floats(rng, 3))], floats(rng, 3))
    sine = jk.make_jaxpr(jk.numpy.sin)(1.0)
    return results, other, [(run(jk, sine, x)[0] * h).dtype.name for x in (2.0, np.float32(2.0))]


@program(
    "03",
    "Every line is run, also one whose result nobody needs, and a value as often as it is read.",
    against=[
        "what is not needed is not run",
        "a value is needed once",
        "an equation that was run before has its result",
    ],
)
def every_line(jk, rng):
    def f(x):
        jk.numpy.exp(x)
        y, z = x * x, x * x
        return y - z * x, y

    closed, x = jk.make_jaxpr(f)(floats(rng, 2)), floats(rng, 2)
    again = jk.make_jaxpr(lambda x: tuple(run(jk, closed, x)))(x)
    return run(jk, closed, x), [eqn.primitive.name for eqn in again.jaxpr.eqns]


@program(
    "03",
    "Equations have parameters: a conversion of truth values to integers, of integers to floats, of weak to strong.",
    against=["an equation has operands only", "a conversion is to a dtype, and strong"],
)
def conversions(jk, rng):
    b, n, h = rng.uniform(size=3) > 0.5, rng.integers(1, 9, 3).astype(np.int32), floats(rng, 3).astype(np.float16)
    fs = [
        lambda x: x + 1,
        lambda x: x * 1.5,
        lambda x: jk.numpy.multiply(x, np.int32(2)),
        lambda x: jk.numpy.maximum(x, h),
    ]
    results = [run(jk, jk.make_jaxpr(f)(x), x) for f in fs for x in (b, n, h)]
    return results, [(y * h).dtype.name for [y] in results]


# --- random programs ----------------------------------------------------------------------------------------------------


def arrays(jk, xs):
    return [jk.numpy.asarray(x) for x in xs]


def run_again(jk, rng, count):
    """Run random programs with other numbers and constants, while others are traced and run, and trace these runs."""
    found, closed, rest = {}, [], []
    for _ in range(count):
        numbers = world(rng, ("float32",), ("int32",), ranked=True)
        own = {name: jk.numpy.asarray(x) for name, x in numbers.items()}
        source, f = function(jk, rng, GRAMMAR, own, pick(rng, 2, 4))
        args = [numbers[name] for name in SIX]
        closed.append(jk.make_jaxpr(f)(*args))
        rest.append((source, args))
    for p, (source, args) in zip(closed, rest, strict=True):
        other = lambda x: jk.numpy.asarray(array(rng, np.dtype(x.dtype).name, x.shape))
        consts, more = [other(x) for x in p.consts], [[other(x) for x in args] for _ in range(2)]
        again = lambda *xs, p=p: tuple(jk.core.eval_jaxpr(p.jaxpr, p.consts, *xs))
        handed = lambda cs, *xs, p=p: tuple(jk.core.eval_jaxpr(p.jaxpr, cs, *xs))
        split = lambda *xs, p=p: tuple(jk.core.eval_jaxpr(p.jaxpr, xs[: len(p.consts)], *xs[len(p.consts) :]))
        found[source] = {
            "results": [arrays(jk, again(*xs)) for xs in (args, *more, args)],
            "with other constants": arrays(jk, handed(consts, *args)),
            "traced": jaxpr(jk.make_jaxpr(again)(*args)),
            "its constants are arguments": jaxpr(jk.make_jaxpr(split)(*consts, *args)),
        }
    return found


@program(
    "03",
    "Random programs are run: with other numbers, with other constants, also with traced ones, and traced again.",
    against=["constants are numbers"],
)
def random_programs(jk, rng):
    return run_again(jk, rng, 5)


@program("03", "Many random programs are run.", hidden=True)
def many_random_programs(jk, rng):
    return run_again(jk, rng, 20)
