"""Rung 04: types, and errors at trace time."""

import itertools
import re

import numpy as np
from climbing import jaxpr, program, raised
from drawing import GRAMMAR, MIXED, SIX, function, in_one, joined, pick, world


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


def result(jk, f, *args):
    aval = jk.make_jaxpr(f)(*args).jaxpr.outvars[0].aval
    return {"shape": tuple(aval.shape), "dtype": np.dtype(aval.dtype).name, "weak_type": bool(aval.weak_type)}


@program("04", "Shapes broadcast as in numpy.", against=["the result has the shape of the first operand"])
def broadcasting(jk, rng):
    n = int(rng.integers(2, 5))
    pairs = [((n,), (3, n)), ((n, 1), (1, 3)), ((), (n, 2)), ((1,), (n,))]
    return [result(jk, jk.numpy.add, floats(rng, *a), floats(rng, *b)) for a, b in pairs]


@program("04", "Integers and floats meet in float32, whatever numpy does; truth values give way to both.",
         against=["numpy's promotion is JAX's"])  # fmt: skip
def promotion(jk, rng):
    f, i, b = floats(rng, 3), rng.integers(0, 9, 3).astype(np.int32), rng.uniform(size=3) > 0.5
    return [result(jk, jk.numpy.multiply, *pair) for pair in ((f, i), (i, f), (i, b), (b, f), (i, i))]


@program("04", "A Python number gives way: with an int array, 2 is an int, and 2.0 makes a weak float.",
         against=["weak types are ignored"])  # fmt: skip
def weak(jk, rng):
    i, h = rng.integers(0, 9, 3).astype(np.int32), floats(rng, 3).astype(np.float16)
    fs = [lambda x: x + 2, lambda x: x * 2.0, lambda x: 3 - x]
    return [result(jk, f, x) for f in fs for x in (i, h)]


@program(
    "04",
    "Weakness travels: the sine of a Python number is weak, a sum with an array is not.",
    against=["weak types are ignored"],
)
def weak_travels(jk, rng):
    c, x = float(rng.uniform()), floats(rng, 2)
    return [result(jk, jk.numpy.sin, c), result(jk, lambda c: c + c, c), result(jk, lambda c: c + x, c)]


@program(
    "04",
    "What is computed at once is weak, too: the sine of a Python number gives way to a float16.",
    against=["only what is traced is weak"],
)
def weak_at_once(jk, rng):
    i, h = jk.numpy.asarray(rng.integers(1, 9, 3).astype(np.int32)), floats(rng, 3).astype(np.float16)
    numbers = [jk.numpy.sin(float(rng.uniform())), i * 2.0, jk.numpy.negative(2), jk.numpy.sin(np.float32(0.5))]
    return [x * h for x in numbers]


@program("04", "Division gives floats; comparisons give bool.", against=["a comparison has the type of its operands"])
def kinds(jk, rng):
    i = rng.integers(1, 9, 3).astype(np.int32)
    return [result(jk, f, i, i) for f in (jk.numpy.divide, jk.numpy.less, jk.numpy.equal, jk.numpy.power)]


@program("04", "Conversions stand in the program where dtypes differ; a Python number is converted in Python.",
         against=["a literal is a float32"])  # fmt: skip
def conversions(jk, rng):
    i = rng.integers(1, 9, 3).astype(np.int32)
    return [jaxpr(jk.make_jaxpr(lambda x, y: x * y)(floats(rng, 3), i)), jaxpr(jk.make_jaxpr(lambda x: x / 2)(i)),
            jaxpr(jk.make_jaxpr(lambda x: x * 2.0 + 1)(floats(rng, 3).astype(np.float16)))]  # fmt: skip


@program("04", "Shapes that do not go together are a TypeError while tracing, which names both.",
         against=["wrong shapes are found when the program runs", "types are found by computing"])  # fmt: skip
def wrong_shapes(jk, rng):
    return raised(
        jk.make_jaxpr(jk.numpy.add), floats(rng, 3), floats(rng, 4), parts=["incompatible shapes", "(3,)", "(4,)"]
    )


@program(
    "04", "`if x > 0` is refused: there is no number yet. TracerBoolConversionError.", against=["a tracer is true"]
)
def branch(jk, rng):
    def f(x):
        return x if x > 0 else -x

    return raised(jk.make_jaxpr(f), 1.0)


@program(
    "04",
    "So are `float(x)`, `int(x)`, `np.asarray(x)` and `range(x)`, each with an error of its own.",
    against=["a tracer is true"],
)
def no_number(jk, rng):
    uses = [float, int, lambda x: np.sin(np.asarray(x)), lambda x: range(x)]
    return [raised(jk.make_jaxpr(lambda x, use=use: use(x)), 1) for use in uses]


@program("04", "Types cost no memory: the program of a sum of arrays with 10^12 numbers is written at once.",
         against=["types are found by computing"])  # fmt: skip
def huge(jk, rng):
    x = np.broadcast_to(np.float32(1), (3, 1))

    def f(x):
        big = x
        for axes in ((1, 10_000), (10_000, 1, 1), (10_000, 1, 1, 1)):
            big = big * np.broadcast_to(np.float32(2), axes)
        return big

    return result(jk, f, x[:1])


@program(
    "04",
    "A tracer that was left behind is noticed: UnexpectedTracerError.",
    against=["old tracers are as good as new ones"],
)
def leak(jk, rng):
    kept = []

    def f(x):
        kept.append(x)
        return x

    jk.make_jaxpr(f)(1.0)
    return raised(jk.make_jaxpr(lambda x: x + kept[0]), 1.0)


@program("04", "Every dtype is combined with every other one, with a Python integer and with a Python float.",
         against=["numpy's promotion is JAX's", "weak types are ignored"])  # fmt: skip
def every_pair(jk, rng):
    kinds = {
        "bool": np.array([True, False]), "int32": np.array([1, 2], np.int32), "float16": np.array([1, 2], np.float16),
        "float32": np.array([1, 2], np.float32), "2": 2, "2.5": 2.5,
    }  # fmt: skip
    return {f"{a} * {b}": result(jk, jk.numpy.multiply, x, y) for a, x in kinds.items() for b, y in kinds.items()}


@program(
    "04",
    "Only Python's own numbers are weak: True is a truth value, and np.float64(2), np.float32(2) and np.int32(2) are strong.",
    against=["True is the number 1", "np.float64 is Python's float"],
)
def whose_number(jk, rng):
    arrays = [np.array([True, False]), np.int32([1, 2]), floats(rng, 2).astype(np.float16), floats(rng, 2)]
    numbers = [True, np.bool_(True), np.float64(2), np.float32(2), np.float16(2), np.int32(2), np.int64(2), 2, 2.0]
    at_once = [[jk.numpy.multiply(x, n).dtype.name for n in numbers] for x in arrays]
    # the weakness of truth values means nothing
    traced = [[result(jk, lambda x, n=n: jk.numpy.multiply(x, n), x) for n in numbers] for x in arrays[1:]]
    return at_once, traced


@program(
    "04", "Sizes may be 0: 0 and 1 broadcast to 0, and 0 and 2 do not go together.", against=["the larger size wins"]
)
def empty_axes(jk, rng):
    pairs = [((0,), (1,)), ((1, 3), (0, 1)), ((2, 0), ()), ((0,), (0,)), ((1, 0), (4, 1))]
    shapes = [result(jk, jk.numpy.add, floats(rng, *a), floats(rng, *b))["shape"] for a, b in pairs]
    return shapes, raised(jk.make_jaxpr(jk.numpy.add), floats(rng, 0), floats(rng, 2), parts=["add got incompatible"])


@program(
    "04",
    "Each of these errors is a TypeError, which somebody may catch.",
    against=["an error of one's own is an Exception"],
)
def are_type_errors(jk, rng):
    names = (
        "TracerBoolConversionError",
        "ConcretizationTypeError",
        "TracerIntegerConversionError",
        "TracerArrayConversionError",
    )
    return {name: issubclass(getattr(jk.errors, name), TypeError) for name in names}


@program(
    "04",
    "From weak to strong is a conversion, too, though the dtype stays.",
    against=["of two floats nothing is converted"],
)
def from_weak_to_strong(jk, rng):
    c, x = float(rng.uniform()), floats(rng, 2)
    return [
        jaxpr(jk.make_jaxpr(f)(c, x))
        for f in (lambda c, x: c + x, lambda c, x: (c * 2.0) * x, lambda c, x: c * 2.0 + c)
    ]


@program(
    "04",
    "A function that is traced within another one may use what the outer one traces: that trace has not ended.",
    against=["a tracer of another trace is an old one"],
)
def outer_tracers(jk, rng):
    inner = []

    def f(x):
        inner.append(len(jk.make_jaxpr(lambda y: y * x + x)(floats(rng, 2)).jaxpr.eqns))
        return x + 1.0

    return jaxpr(jk.make_jaxpr(f)(floats(rng, 2))), inner


@program("04", "The sine of a whole number of Python is weak, and so is its quotient by another one.",
         against=["the sine of a whole number is strong"])  # fmt: skip
def weak_results(jk, rng):
    n, jnp = int(rng.integers(1, 9)), jk.numpy
    fs = [
        jnp.sin,
        lambda n: n / 2,
        lambda n: jnp.power(n, 2),
        lambda n: n * 2.5,
        lambda n: jnp.exp(n) - n,
        lambda n: n > 1,
    ]
    h, of = floats(rng, 2).astype(np.float16), lambda f: result(jk, f, n)
    return [of(f) for f in fs[:-1]], [f(n) * h for f in fs], [of(lambda n, f=f: f(n) * h) for f in fs]


@program(
    "04",
    "The error names the primitive: `mul got incompatible shapes`, not `multiply`.",
    against=["the error has numpy's name of the operation"],
)
def wrong_shapes_of_each(jk, rng):
    names = {"subtract": "sub", "multiply": "mul", "divide": "div", "maximum": "max", "power": "pow", "less": "lt"}
    x, y = floats(rng, 2, 3), floats(rng, 2, 2)
    return [
        raised(jk.make_jaxpr(getattr(jk.numpy, name)), x, y, parts=[f"{said} got incompatible", "(2, 3)", "(2, 2)"])
        for name, said in names.items()
    ]


@program(
    "04",
    "A tracer whose trace has ended is refused as an operand and as a result.",
    against=["a dead tracer may be returned"],
)
def dead_everywhere(jk, rng):
    kept = []
    jk.make_jaxpr(lambda x: (kept.append(x), kept.append(jk.numpy.sin(x)), x)[2])(floats(rng, 2))
    return [raised(use, 1.0) for x in kept for use in (
        jk.make_jaxpr(lambda y, x=x: x), jk.make_jaxpr(lambda y, x=x: (y, x * 2.0)), jk.make_jaxpr(lambda y, x=x: y - x),
    )]  # fmt: skip


@program(
    "04",
    "Each function of two operands has the right types, equations and literals, with each pair of an array and a Python number.",
    against=["what is compared is converted to the array's dtype"],
)
def every_function(jk, rng):
    jnp, c, i = jk.numpy, float(rng.integers(1, 4)) + 0.5, np.int32([1, 2, 3, 4])
    arithmetic = [jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum, jnp.minimum]
    questions = [jnp.less, jnp.less_equal, jnp.greater, jnp.greater_equal, jnp.equal, jnp.not_equal]
    arrays, numbers = [i, i.astype(np.float32), i.astype(np.float16), np.int32(3), np.float32(3)], [c, int(c), -c]
    every = lambda fs: lambda x, n: ([f(x, n) for f in fs], [f(n, x) for f in fs])[1][0]
    traced = lambda fs, x, n: jk.make_jaxpr(lambda x: every(fs)(x, n))(x)
    literals = lambda closed: [
        (eqn.primitive.name, np.asarray(v.val).item(), np.dtype(v.aval.dtype).name)
        for eqn in closed.jaxpr.eqns for v in eqn.invars if hasattr(v, "val")
    ]  # fmt: skip
    pairs = [(x, n) for x in arrays for n in numbers]
    at_once = [[f(x, n) for f in (*arithmetic, jnp.power, *questions)] for x, n in pairs]
    return at_once, [(jaxpr(traced(arithmetic, x, n)), literals(traced(questions, x, n))) for x, n in pairs]


@program(
    "04",
    "A tracer whose trace has ended is refused also where operations are computed at once.",
    against=["a dead tracer is only found while tracing"],
)
def dead_at_once(jk, rng):
    kept, x = [], jk.numpy.asarray(floats(rng, 2))
    jk.make_jaxpr(lambda x: (kept.append(x), kept.append(jk.numpy.sin(x)), x)[2])(floats(rng, 2))
    uses = [jk.numpy.sin, lambda y: y + 1.0, lambda y: x * y, lambda y: 2 / y, lambda y: jk.numpy.less(x, y)]
    return [raised(use, y) for y in kept for use in uses]


# --- random functions ---------------------------------------------------------------------------------------------------

EVERY = joined(GRAMMAR, MIXED)
TRUTHS = [text for text in EVERY["B"] if not re.search(r"{[^B]}", text)]


def typed(jk, rng, count):
    """Trace random functions of arrays and Python numbers of all types, and compute them at once. A result comes with the dtype of its
    product with a half float, which shows whether it is weak.
    """
    found, h = {}, np.float16(1)
    for _ in range(count):
        numbers = world(rng, ("float32", "float16"), ("int32",), odd=False, ranked=True)
        weak = {name: python for name, python in (("x", 1.5), ("y", 2.0), ("i", 2), ("j", 3)) if rng.integers(4) == 0}
        numbers |= weak
        own = {name: jk.numpy.asarray(x) for name, x in numbers.items()}
        source, f = function(
            jk, rng, EVERY | {"B": TRUTHS} if weak else EVERY, own, 4
        )  # a weak truth value means nothing
        args = [numbers[name] for name in SIX]
        results = map(jk.numpy.asarray, in_one(jk, f, *[own[name] for name in SIX]))
        types = ", ".join(
            f"{x}" if np.ndim(x) == 0 else f"{x.dtype}{list(x.shape)}" for x in [*args, *(numbers[k] for k in "cdk")]
        )
        found[f"{source}, with {types}"] = jaxpr(jk.make_jaxpr(f)(*args)), [(x, (x * h).dtype.name) for x in results]
    return found


@program(
    "04",
    "Random functions of arrays of every type and of Python's numbers have the right types, conversions and literals.",
)
def random_functions(jk, rng):
    return typed(jk, rng, 6)


@program("04", "Many random functions of arrays of every type have the right types.", hidden=True)
def many_random_functions(jk, rng):
    return typed(jk, rng, 25)


@program(
    "04",
    "Whatever asks for a number is refused, whichever type the tracer has: `not`, `and`, `while`, `max`, a list's index.",
    against=["only what was compared has no truth"],
)
def whatever_asks(jk, rng):
    def wait(x):
        while x:
            return x
        return -x

    asks = [
        bool,
        lambda x: not x,
        lambda x: x and x,
        lambda x: x or 2.0,
        wait,
        lambda x: max(x, x),
        lambda x: x in (1.0, x + 1),
    ]
    numbers = [float, int, np.asarray, np.array, lambda x: float(x * 2)]
    places = [range, lambda x: [1.0, 2.0][x], lambda x: "ab"[x:], lambda x: [x] * x, lambda x: bin(x)]
    whole, truths = (2, np.int32(3), np.int8(2)), (True, np.bool_(False))
    every = (float(rng.uniform()), np.float32(2), np.float16(1), *whole)
    found = [raised(jk.make_jaxpr(lambda x, use=use: (x, use(x))[0]), x) for use in asks for x in (*every, *truths)]
    found += [raised(jk.make_jaxpr(lambda x, use=use: (x, use(x))[0]), x) for use in numbers for x in every]
    return found, [raised(jk.make_jaxpr(lambda x, use=use: (x, use(x))[0]), x) for use in places for x in whole]


@program("04", "Each function of two operands refuses random shapes that do not go together.")
def random_wrong_shapes(jk, rng):
    said = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "maximum": "max", "minimum": "min", "less": "lt",
            "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne"}  # fmt: skip
    found = {}
    for name, primitive in said.items():
        whole = [int(n) for n in rng.permutation([2, 3, 4, 5])[: int(rng.integers(1, 4))]]
        at, size = int(rng.integers(len(whole))), pick(rng, 0, 6, 7)
        other = [*whole[:at], size, *whole[at + 1 :]][:]
        one, two = (whole, other)[:: pick(rng, 1, -1)]
        said_of = [str(tuple(one)), str(tuple(two)), f"{primitive} got incompatible shapes"]
        f, x, y = getattr(jk.numpy, name), floats(rng, *one), floats(rng, *two)
        found[f"{name} of {one} and {two}"] = raised(jk.make_jaxpr(f), x, y, parts=said_of)
    return found


@program(
    "04",
    "A trace has ended, too, when its function has raised an error, or when it was one within another.",
    against=["a trace that failed has not ended"],
)
def dead_after_an_error(jk, rng):
    kept, x, n = [], floats(rng, 2), int(rng.integers(2, 9))

    def fails(x):
        kept.append(x)
        kept.append(jk.numpy.sin(x) * float(n))
        raise KeyError(n)

    def outer(y):
        jk.make_jaxpr(lambda x: (kept.append(x), kept.append(x * 2.0 + y), x)[2])(x)
        return y + 1.0

    found = [raised(jk.make_jaxpr(fails), x), jaxpr(jk.make_jaxpr(outer)(x))]
    uses = [lambda y: y * 2.0, jk.numpy.sin, lambda y: 2.0 - y]
    return found, [
        [
            raised(jk.make_jaxpr(f), x)
            for f in (lambda y, k=k: y * k, lambda y, k=k: k, lambda y, k=k: (y, jk.numpy.less(k, y)))
        ]
        + [raised(use, k) for use in uses]
        for k in kept
    ]


@program(
    "04",
    "When a program is run, its results have its types: a number that stands in it is weak.",
    against=["a literal is strong when it comes back"],
)
def weak_when_run(jk, rng):
    c, h = float(rng.uniform()), floats(rng, 2).astype(np.float16)
    fs = [lambda x: (c, x, 2), lambda x: (x * c, 3 - x, np.float32(c)), lambda x: (x * 2 + 1, jk.numpy.sin(x), x)]
    found = []
    for f, x in itertools.product(fs, (c, 3, np.float32(c), np.int32(2))):
        closed = jk.make_jaxpr(f)(x)
        found.append([jk.numpy.multiply(r, h).dtype.name for r in jk.core.eval_jaxpr(closed.jaxpr, closed.consts, x)])
    return found
