"""Rung 19: `jit(f, backend="own")`, a loop in C."""

import numpy as np
from behind import behind, own, refused
from climbing import counted, program, raised
from drawing import fill, pick, written


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "19",
    "Ten operations are one loop, which is a program of `cc`; XLA runs nothing.",
    against=["each operation has a loop", "XLA runs it after all"],
)
def chain(jk, rng):
    def f(x, y):
        for _ in range(3):
            x = jk.numpy.sin(x) * y + x
        return x / (y + 1.0)

    return behind(own(jk, f), floats(rng, 5), floats(rng, 5), loops=1, memory=3 * 20)


@program(
    "19",
    "Broadcasting is an index: a row, a column and a number, in one loop, and never in memory as a matrix.",
    against=["an axis of size 1 goes on", "axes are counted from the left"],
)
def broadcasting(jk, rng):
    x, row, column = floats(rng, 3, 3), floats(rng, 3), floats(rng, 3, 1)
    f = own(jk, lambda x, row, column, n: (x * row - column) / n)
    return behind(f, x, row, column, float(rng.uniform(1, 2)), loops=1, memory=36 + 12 + 12 + 4 + 36)


@program("19", "Two arguments are broadcast, each along other axes.", against=["an axis of size 1 goes on"])
def outer(jk, rng):
    f = own(jk, lambda x, y: jk.numpy.exp(-x) + jk.numpy.maximum(x, y))
    return f(floats(rng, 4, 1, 2), floats(rng, 3, 1))


@program(
    "19",
    "Several results of one shape are one loop, and so are an argument and a number that are returned.",
    against=["each result has a loop"],
)
def several(jk, rng):
    f = own(jk, lambda x, y: {"a": x + y, "b": (x * y, x), "c": jk.numpy.sqrt(x) > y})
    return behind(f, floats(rng, 6), floats(rng, 6), loops=1)


@program("19", "Results may have several shapes; there may be only a number, or no result at all.")
def shapes(jk, rng):
    x, y = floats(rng, 2, 3), floats(rng, 2, 1)
    f = own(jk, lambda x, y: (x - y, y * y, 2.5, jk.numpy.sin(1.0)))
    return f(x, y), own(jk, lambda: 3)(), own(jk, lambda x: None)(x)


@program(
    "19", "Numbers in the program keep all of their digits; inf and nan are numbers.", against=["six digits are enough"]
)
def digits(jk, rng):
    c = float(rng.uniform(1, 2))
    f = own(
        jk,
        lambda x: (x * c, x * 1e-30, x * 0.0 + 16777215.0 - 16777200.0, x * float("inf"), x + float("nan"), x - 3.4e38),
    )
    return f(floats(rng, 3))


@program("19", "A maximum and a minimum with nan are nan.", against=["a nan is not the largest"])
def nans(jk, rng):
    x, y = np.float32([np.nan, 1.0, np.inf, -0.5]), np.float32([1.0, np.nan, 2.0, -np.inf])
    f = own(jk, lambda x, y: (jk.numpy.maximum(x, y), jk.numpy.minimum(x, y), x < y, x != x, jk.numpy.abs(y)))
    return f(x * floats(rng), y)


@program("19", "All elementwise operations of floats compute what XLA computes.")
def operations(jk, rng):
    n = jk.numpy
    names = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "abs", "sign", "floor", "negative")

    def f(x, y):
        found = [getattr(n, name)(x) for name in names]
        return [
            *found,
            x + y,
            x - y,
            x * y,
            x / y,
            n.power(x, y),
            n.maximum(x, y),
            n.minimum(x, y),
            x <= y,
            x >= y,
            x == y,
        ]

    return own(jk, f)(floats(rng, 5), floats(rng, 5))


@program(
    "19",
    "Operations on negative numbers, on nan and -0.0, and on numbers that are nearly 0 give XLA's results.",
    against=["floor goes towards 0", "nan has no sign", "log1p(x) is log(1 + x)", "0.0 and -0.0 are equally large"],
)
def edges(jk, rng):
    n, far, near = jk.numpy, float(rng.uniform(1, 2)), np.float32([1e-9, -1e-8, float(rng.uniform(1e-9, 1e-8))])
    f = own(jk, lambda x: (n.floor(x), n.sign(x), 1.0 / n.sign(x), n.abs(x), 1.0 / n.abs(x), -x))
    x = np.float32([-1.5, -0.25, -far, np.nan, 0.0, -0.0, np.inf, -np.inf])
    zeros = np.float32([0.0, -0.0, 0.0, -0.0]), np.float32([-0.0, 0.0, 0.0, -0.0])
    extremes = own(jk, lambda x, y: (1.0 / n.maximum(x, y), 1.0 / n.minimum(x, y)))
    return f(x), own(jk, lambda x: (n.log1p(x) / x, n.expm1(x) / x))(near), extremes(*zeros)


@program(
    "19",
    "A float is rounded towards 0, to the nearest integer that the type has; a nan becomes 0; as truth values, all but 0 are true.",
    against=["C's cast will do", "a truth value is an integer first", "a truth value is any number"],
)
def conversions(jk, rng):
    kinds = ("int32", "uint32", "int16", "uint16", "int8", "uint8", "bool")
    f = own(jk, lambda x: [x.astype(kind) for kind in kinds])
    few = float(rng.uniform(-100, 100))
    return f(np.float32([np.nan, np.inf, -np.inf, 3e9, -3e9, 70000.5, 300.5, -129.5, -1.5, 0.5, -0.0, few]))


@program("19", "The sum of two truth values is a truth value.", against=["True + True is 2"])
def truth(jk, rng):
    b, c = np.array([True, True, False, False]), np.array([True, False, True, False])
    return own(jk, lambda b, c: ((b + c).astype(np.int32), (b + c) == b, b * c, (b + b) * 3.0))(b, c)


@program("19", "Axes may be long.", against=["there are at most 256 numbers"])
def long(jk, rng):
    f = own(jk, lambda x: jk.numpy.sin(x) - 0.5)
    return f(floats(rng, 300, 2)), f(floats(rng, 2, 300)), f(floats(rng, 70000))


@program(
    "19",
    '`jit(f)` and `jit(f, backend="own")` of one function are two: each has programs of its own.',
    against=["a function has its programs, whoever compiled them", "each call compiles"],
)
def one_function(jk, rng):
    f, x = (lambda x: jk.numpy.cos(x) * 3.0), floats(rng, 4)
    first = jk.jit(f)(x)
    second = behind(own(jk, f), x, loops=1)
    return first, second, counted(jk.jit(f), x, executed=1), behind(own(jk, f), x, compiled=0)


@program(
    "19",
    "Weak numbers give weak results, and have programs of their own.",
    against=["a weak number is one like others"],
)
def weak(jk, rng):
    f, c, half = own(jk, lambda x: x * 2.0), float(rng.uniform(1, 2)), np.float16([1, 2])
    return f(c) * half, f(np.float32(c)) * half, f(c) * half


@program("19", "Static arguments are as with `jit(f)`.", against=["static arguments are for XLA"])
def static(jk, rng):
    f = own(jk, lambda x, n: x * n if n > 2 else x + n, static_argnums=1)
    g = own(jk, lambda x, how: -x if how == "down" else x, static_argnames="how")
    x = floats(rng, 3)
    return f(x, 3), f(x, 1), f(x, 3), g(x, how="down"), g(x, how="up")


@program(
    "19",
    "Integers wrap, and so do small ones; truth values are negated as such.",
    against=["~True is -2", "an integer is computed as a float"],
)
def integers(jk, rng):
    n = jk.numpy
    f = own(jk, lambda i, j, b, c: (i * j, ~i, i & j, i | j, n.abs(i), ~b, b & c, b | c, n.power(i, 3), i > j, -i))
    i = np.int32([2**31 - 1, -(2**31) + 1, *rng.integers(-(2**30), 2**30, 2)])
    b = rng.integers(0, 2, (2, 4)).astype(bool)
    small = own(jk, lambda x, y: (x + x, y * y, x - y))
    bytes_ = rng.integers(60, 120, 4).astype(np.int8)
    return f(i, rng.integers(-9, 9, 4).astype(np.int32), *b), small(bytes_, bytes_[::-1])


@program("19", "`astype`, `where` and `broadcast_to` are a part of the loop.", against=["a truth value is any number"])
def kinds(jk, rng):
    n = jk.numpy

    def f(x, i):
        which = i.astype(bool)
        return n.where(which, x, -x) * i, x.astype(np.int32) + i, which.astype(np.float32) + which.astype(np.int8)

    return behind(own(jk, f), floats(rng, 4) * 9, np.int32([0, 1, 2, 256]), loops=1)


@program("19", "A call of a jitted function is a part of the loop.")
def calls(jk, rng):
    g = jk.jit(lambda x, y: (jk.numpy.sin(x) * y, x - y))
    h = jk.jit(lambda x: g(x, g(x, x)[1])[0] + 1.0)
    return behind(own(jk, lambda x, y: h(x) * h(y)), floats(rng, 4), floats(rng, 4), loops=1)


@program("19", "What is closed over is an argument that nobody sees.")
def closure(jk, rng):
    c = jk.numpy.asarray(floats(rng, 3))
    return behind(own(jk, lambda x: x * c + c), floats(rng, 3), loops=1)


@program(
    "19",
    "The second call compiles nothing; other shapes, and other dtypes, are compiled anew.",
    against=["each call compiles"],
)
def once(jk, rng):
    f = own(jk, lambda x: x * 2 + 1)
    f(floats(rng, 3))
    again = behind(f, floats(rng, 3), compiled=0)
    return again, f(floats(rng, 4)), f(rng.integers(0, 9, 3).astype(np.int32)), f(floats(rng, 3, 1))


@program("19", "The numbers of an argument may lie in another order, or with gaps; arrays may be empty.")
def strides(jk, rng):
    f = own(jk, lambda x, y: x * 2.0 - y)
    x = floats(rng, 6, 4)
    return f(x.T, x.T[:1]), f(x[::2, ::-1], x[0]), f(np.zeros((0, 2), np.float32), floats(rng, 2))


@program(
    "19", "Results are arguments: of the next call, of eager operations, of a function that XLA compiles, and back."
)
def mixed(jk, rng):
    f, g = own(jk, lambda x: x * 1.5 + 0.25), jk.jit(lambda x: jk.numpy.exp(-x))
    x = f(floats(rng, 3))
    return f(f(x)), g(f(g(x))), jk.numpy.sin(x) + x


@program(
    "19", "What has no C is refused with its name: a primitive, or a type.", against=["what is unknown is left out"]
)
def refusals(jk, rng):
    f = own(jk, lambda x, i: x[i] * 2.0)
    return refused(f, floats(rng, 3), 1, word="dynamic_slice"), refused(
        own(jk, lambda x: x + x), np.float16([1, 2]), word="f16", instead="float16"
    )


@program("19", "An error in the function reaches the caller, and the next call works.")
def errors(jk, rng):
    x = floats(rng, 3)
    f = own(jk, lambda x, y: x + y)
    return raised(f, x, floats(rng, 2)), f(x, x)


@program(
    "19",
    "The largest of two large integers is one of them, to the last digit.",
    against=["a maximum of integers goes by floats"],
)
def large_integers(jk, rng):
    n, large = jk.numpy, np.int32(2**24 + 2 * rng.integers(1, 99, 3) + 1)
    return own(jk, lambda x: (n.maximum(x, 7) - 2**24, n.minimum(x, 2**30) - 2**24, n.abs(-x) - 2**24))(large)


# --- random loops -------------------------------------------------------------------------------------------------------
# An expression is a string, such as `n.where(i > b, x.astype(np.int8), -u)`, which is the key of its result.

ARRAYS = "xyibusqt"  # of these types: two float32, int32, int8, uint8, int16, uint32, bool
EXACT = (
    "{} + {}", "({} * 1) - {}", "({} * 1) * ({} * 1)", "n.maximum({}, {})", "n.minimum({}, {})", "-({} * 1)", "n.abs({})",
    "n.sign({} * 1)", "~{}.astype(np.int8)", "~t", "{}.astype(np.int32) & {}.astype(np.int16)", "{}.astype(np.uint8) | u",
    "t | ({} > 1)", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "{} == {}", "{} != {}", "{}.astype(np.int8)", "{}.astype(np.uint8)",
    "{}.astype(np.int32)", "{}.astype(np.uint16)", "{}.astype(np.float32)", "{}.astype(bool)", "{}.astype(np.int16)",
    "{}.astype(np.uint32)", "n.where({}, {}, {})", "n.floor({}.astype(np.float32))", "{} * 2", "{} + 3", "({} * 1) ** 2",
    "({} * 1) ** 3", "({} * 1) ** 0", "{} + 0 - 1", "g({})", "n.logical_not({})", "n.logical_and({}, {})", "n.logical_or({}, {})",
    "1 - ({} * 1)",
)  # fmt: skip
ROUNDED = (
    "{} / {}", "n.sin({})", "n.cos({})", "n.tanh({})", "n.exp({} * 0.25)", "n.log({})", "n.sqrt({})", "n.log1p({})", "n.expm1({})",
    "{} ** 0.5", "1 / {}", "{} ** 3.0", "{} / 4", "2.5 * ({} * 1)", "{} + float('nan')", "{} - float('inf')",
)  # fmt: skip


def filled(rng, template, depth):
    """Return the text of a template of arrays, or of expressions."""

    def draw():
        deeper = depth and rng.integers(3)
        return f"({filled(rng, pick(rng, *EXACT), depth - 1)})" if deeper else pick(rng, *ARRAYS)

    return fill(template, draw)


def of_all_types(rng, shape):
    """Return an array of each type, with its extreme numbers, in a random order. Sums and products of the floats are exact."""
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5]
    bounds = lambda kind: [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1]
    some = lambda values, kind: rng.permutation(np.array([*values, *rng.integers(1, 9, 12 - len(values))])).astype(kind)
    arrays = [some(special, np.float32), some([-0.25, 0.0, 3.0, -2.5, 8.75], np.float32)]
    arrays += [some(bounds(kind), kind) for kind in (np.int32, np.int8, np.uint8, np.int16, np.uint32)] + [
        rng.integers(0, 2, 12) > 0
    ]
    return [x[: int(np.prod(shape))].reshape(shape) for x in arrays]


def computed(jk, rng, count):
    """Return the results of random expressions by their strings: one program computes all of one shape, another those of mixed shapes."""
    names = {"n": jk.numpy, "np": np, "g": jk.jit(lambda x: x + x)}
    each = ["n.abs(i)", "n.abs(b)", "i == i - 1", "i < i + 1", "1 / -x", "x - 1", "s.astype(np.uint16) * 1.5", "q > 5"]
    each += [filled(rng, template, 0) for template in (*EXACT, *ROUNDED)]
    each += [filled(rng, pick(rng, *EXACT, *(ROUNDED if k % 3 == 0 else ())), 1 + k % 2) for k in range(count)]
    found = {}
    for at, shapes in enumerate([[(12,)] * 8, [(2, 3), (3,), (2, 1), (1, 3), (), (3,), (2, 3), (1,)]]):
        texts = each if at == 0 else each[len(each) // 2 :]
        fs = {text: eval(f"lambda {', '.join(ARRAYS)}: {text}", names) for text in texts}
        arrays = [of_all_types(rng, shape)[i] for i, shape in enumerate(shapes)]
        f = own(jk, lambda *xs, fs=fs: {text: jk.numpy.asarray(f(*xs)) for text, f in fs.items()})
        given = "; ".join(map(written, ARRAYS, arrays))
        found[given] = f(*arrays)
    return found


@program(
    "19",
    "For random expressions of arrays of all types, with extreme numbers, the loop gives XLA's results.",
    against=[
        "the absolute value of the smallest number is the largest one",
        "a number too small is the smallest one",
        "numbers are compared as floats",
        "-x is 0 - x",
        "a negative number has the root 0",
        "a power is made by a logarithm",
        "nan - 1 is 0",
        "an unsigned number is a signed one",
    ],
    tolerance=1e-4,
)
def random_expressions(jk, rng):
    return computed(jk, rng, 40)


@program("19", "For hundreds of random expressions, the loop gives XLA's results.", hidden=True, tolerance=1e-4)
def many_random_expressions(jk, rng):
    return computed(jk, rng, 250)
