"""Rung 06: `lower(f, *args)`."""

import numpy as np
from climbing import program, text
from drawing import ASKED, GRAMMAR, MIXED, SIX, function, joined, world


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program("06", "XLA accepts the text, and it computes the sine.")
def sine(jk, rng):
    return text(jk, jk.numpy.sin, floats(rng, 3))


@program("06", "Each operation has a name in StableHLO.", against=["division is multiplication"])
def words(jk, rng):
    jnp = jk.numpy
    unary = [jnp.cos, jnp.tanh, jnp.exp, jnp.log, jnp.sqrt, jnp.negative, jnp.abs, jnp.sign, jnp.floor]
    binary = [jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum, jnp.minimum, jnp.power]
    return text(jk, lambda x, y: [*[f(x) for f in unary], *[f(x, y) for f in binary]], floats(rng, 3), floats(rng, 3))


@program("06", "Broadcasting is written out.", against=["XLA broadcasts", "axes are counted from the front"])
def broadcasting(jk, rng):
    return text(
        jk, lambda x, y, z: [x + y, y * z, z - x, x * 2.0], floats(rng, 3), floats(rng, 2, 3), floats(rng, 2, 1)
    )


@program(
    "06",
    "Numbers are written without losing a digit: 0.1, 1e-30, infinity.",
    against=["%f is enough for a float", "a number is written as Python prints it"],
)
def digits(jk, rng):
    c = float(np.float32(rng.uniform(0.1, 0.2)))
    return text(jk, lambda x: [x * c, x * 1e-30 * 1e30, x + float("inf"), x - 0.1], floats(rng, 2))


@program("06", "An array that was closed over stands in the text.", against=["constants are zero in the text"])
def constants(jk, rng):
    c, n = jk.numpy.asarray(floats(rng, 2, 3)), jk.numpy.asarray(rng.integers(-9, 9, 3).astype(np.int32))
    b = jk.numpy.asarray(rng.uniform(size=3) > 0.5)
    return text(
        jk, lambda x, i: [x * c, i + n, jk.numpy.logical_and(i > 0, b)], floats(rng, 2, 3), np.arange(3, dtype=np.int32)
    )


@program("06", "Comparisons give `i1`, and later operations take it.", against=["every comparison is LT"])
def comparisons(jk, rng):
    x, y = floats(rng, 6), floats(rng, 6)
    y[:2] = x[:2]
    return text(jk, lambda x, y: [x < y, x <= y, x > y, x >= y, x == y, x != y, jk.numpy.logical_not(x < y)], x, y)


@program("06", "Conversions between dtypes are written.")
def conversions(jk, rng):
    return text(jk, lambda x, n: [x * n, n / 2, (x > 1.0) + n], floats(rng, 3), rng.integers(1, 9, 3).astype(np.int32))


@program(
    "06", "There may be no result; a result may be an argument, or a literal.", against=["only equations have results"]
)
def corners(jk, rng):
    return text(jk, lambda x, y: (y, 2.0, x, y), floats(rng, 2), floats(rng, 3)), text(jk, lambda: None)


@program("06", "A chain of a hundred operations is a hundred lines, not 2^100.")
def chain(jk, rng):
    def f(x):
        for _ in range(100):
            x = x * x + 0.1
        return x

    return text(jk, f, floats(rng, 1) * 0.1)


@program("06", "Each operation is right for integers, half floats and truth values, too.")
def every_word(jk, rng):
    jnp = jk.numpy
    same = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum, jnp.less, jnp.greater_equal, jnp.equal]
    bits = [jnp.logical_and, jnp.logical_or]
    n, h, b = rng.integers(-9, 9, 4).astype(np.int32), floats(rng, 4).astype(np.float16), rng.uniform(size=4) > 0.5
    flip = np.array([True, True, False, False])
    return text(
        jk,
        lambda n, m, h, x, b, c: [
            [f(n, m) for f in same], [f(h, h * 2) for f in same], [f(b, c) for f in bits], jnp.logical_not(b),
            jnp.tan(x), jnp.tan(h), -n, jnp.abs(n), jnp.sign(n), jnp.sign(x - 1.0), jnp.logical_or(n > m, b),
        ],
        n, n[::-1].copy(), h, floats(rng, 4), np.array([True, False, True, False]) ^ b, flip,
    )  # fmt: skip


@program(
    "06",
    "For nan, infinities, -0.0, negative numbers and numbers near 0, the text computes what your functions compute at once.",
    against=[
        "tanh is a quotient of exponentials",
        "the maximum is the one that is larger",
        "x ** y is exp(y log x)",
        "`expm1` is written as `exp` and `- 1`",
        "`-x` is written as `0 - x`",
    ],
)
def special_numbers(jk, rng):
    jnp, little = jk.numpy, (10.0 ** rng.uniform(-7, -5, 4)).astype(np.float32)
    x, y = np.float32([np.nan, 1.0, np.inf, -0.0, 0.0, -np.inf]), np.float32([1.0, np.nan, -np.inf, 0.0, -0.0, np.inf])

    def f(x, y, z, n):
        unary = [g(x) for g in (jnp.negative, jnp.abs, jnp.sign, jnp.floor, jnp.exp, jnp.tanh, jnp.log1p, jnp.expm1)]
        pairs = [g(x, y) for g in (jnp.maximum, jnp.minimum, jnp.less, jnp.equal, jnp.not_equal)]
        nearly_zero = [g(z) / z for g in (jnp.sin, jnp.tan, jnp.tanh, jnp.log1p, jnp.expm1)]
        return unary, pairs, nearly_zero, 1.0 / (-x), n**2.0, n**3.0, jnp.power(n, -1.0)

    return text(jk, f, x, y, little, -floats(rng, 3))


@program(
    "06",
    "A vector is broadcast along the last axis of a square matrix; an infinity is written right, also if it is the result.",
    against=["axes are counted from the front", "a number is written as Python prints it"],
)
def squares(jk, rng):
    f = lambda x, y: (x + y, y * x - float("inf"), y / x)
    return text(jk, f, floats(rng, 3), floats(rng, 3, 3)), text(jk, lambda x: (x, float("inf")), floats(rng, 2))


@program(
    "06",
    "Constants of each dtype and shape are written: half floats, negative numbers, matrices of truth values, empty arrays.",
    against=["truth values stand in one row", "seven digits are enough", "bytes lie in memory row after row"],
)
def every_constant(jk, rng):
    asarray, c = jk.numpy.asarray, float(rng.uniform(1, 2))
    arrays = [
        floats(rng, 2, 2), -floats(rng, 3).astype(np.float16), np.array([[True, False], [False, True]]), np.zeros((0, 2), np.float32),
        np.array([[-1], [7]], np.int32), np.array([True]), np.zeros((2, 0), np.int32), np.array([[False, False, True]]),
    ]  # fmt: skip
    arrays += [floats(rng, 2, 3).T, jk.numpy.asarray(rng.integers(-9, 9, (3, 2)).astype(np.int32).T)]
    numbers = [-c, 2, -3, True, np.float16(-c), np.float32(c), 16777215.0, 1e-40, float("nan"), -float("inf"), False]
    h = floats(rng, 2).astype(np.float16)
    f = lambda h: ([asarray(a) for a in arrays], numbers, [h * c, h - 1, h * float("inf"), 0.1 - h], h > 1.25)
    return text(jk, f, h), text(jk, lambda x: [(x * c - 16777213.0) + 16777215.0, x - c], np.float32([c, 2.0]))


@program(
    "06",
    "Comparisons of integers have signs, and those of truth values have none: False is less than True.",
    against=["truth values are compared with a sign"],
)
def signs(jk, rng):
    jnp = jk.numpy
    questions = (jnp.less, jnp.less_equal, jnp.greater, jnp.greater_equal, jnp.equal, jnp.not_equal)
    b, c, n = (
        np.array([True, True, False, False]),
        np.array([True, False, True, False]),
        rng.integers(-9, 9, 4).astype(np.int32),
    )
    f = lambda b, c, n, m: (
        [[q(b, c), q(n, m)] for q in questions] + [jnp.maximum(n, m), jnp.maximum(b, c), jnp.minimum(b, c)]
    )
    return text(jk, f, b, c, n, -n)


@program(
    "06",
    "Operations on integers are exact: `~`, `&`, `|`, and powers that a float cannot hold.",
    against=["`~` of integers is `-`", "a power of integers goes by floats"],
)
def bits_and_powers(jk, rng):
    jnp, n = jk.numpy, rng.integers(-9, 9, 4).astype(np.int32)
    f = lambda n, m: [
        jnp.invert(n), jnp.bitwise_and(n, m), jnp.bitwise_or(n, m), ~(n + m), jnp.power(m, 2), jnp.power(np.int32(7), m),
        jnp.power(n, np.int32(3)), jnp.abs(n), jnp.sign(n), -n, jnp.maximum(n, m), jnp.minimum(n, 2), n * m - m,
    ]  # fmt: skip
    return text(jk, f, n, np.int32([9, 10, 3, 0]))


@program(
    "06",
    "Each argument is an argument of the text, also one that nothing uses, the first, the last, or every one.",
    against=["what is not used is not an argument"],
)
def unused_arguments(jk, rng):
    xs = floats(rng, 2), rng.integers(1, 9, 3).astype(np.int32), floats(rng, 2, 2)
    fs = [
        lambda x, n, y: y * 2.0,
        lambda x, n, y: -x,
        lambda x, n, y: n + 1,
        lambda x, n, y: (y, y),
        lambda x, n, y: 2.5,
    ]
    return [text(jk, f, *xs) for f in fs]


@program(
    "06",
    "Numbers that are equal stay apart in the text if they differ in sign or dtype: 0.0 and -0.0, 1, 1.0 and True, a half float's 1.",
    against=["numbers that are equal are written once"],
)
def equal_numbers(jk, rng):
    zeros, asarray = [0.0, -0.0], jk.numpy.asarray
    f = lambda x, n, h: (
        [1.0, 1, True, np.float16(1), np.int8(1), *zeros, 0, False, asarray(np.float32([0.0])), asarray(np.float32([-0.0]))],
        [[x / z, z * x + z] for z in zeros + zeros[::-1]], [x * 1, n * 1, h * 1, n * True, h + 0.0, h / -0.0, n == 1.0, n + 1.0],
    )  # fmt: skip
    return text(jk, f, floats(rng, 2), rng.integers(0, 3, 4).astype(np.int32), floats(rng, 2).astype(np.float16))


@program(
    "06",
    "Integers with a sign and without are told apart. `logical_and` asks whether a number differs from 0.",
    against=["unsigned integers have a sign in the text"],
)
def sizes(jk, rng):
    jnp, large = jk.numpy, rng.integers(130, 250, 3)
    small = rng.integers(1, 9, 3)
    kinds = [np.uint8, np.int8, np.uint32]
    f = lambda xs, n, x: (
        [[a < b, jnp.maximum(a, b), a / b, a + c] for (a, b), c in zip(xs, constants, strict=True)],
        [[q(n, n * 2), q(x, n), q(x, x)] for q in (jnp.logical_and, jnp.logical_or)], jnp.logical_not(x), jnp.logical_not(n),
    )  # fmt: skip
    xs = [((large if kind != np.int8 else -small).astype(kind), small.astype(kind)) for kind in kinds]
    constants = [jnp.asarray(x) for x, _ in xs]
    flat = [x for pair in xs for x in pair]
    g = lambda *ys: f(list(zip(ys[0:-2:2], ys[1:-2:2], strict=True)), *ys[-2:])
    return text(jk, g, *flat, np.int32([0, 1, 2]), np.float32([0.0, 0.5, -0.25]))


# --- random functions ---------------------------------------------------------------------------------------------------

EVERY = joined(GRAMMAR, MIXED, ASKED)


def lowered(jk, rng, count):
    """Have XLA run the texts of random functions, which close over arrays, for arrays and numbers of Python."""
    found = {}
    for turn in range(count):
        numbers = world(rng, ("float32", "float16"), ("int32", "int8", "int16"))
        for name, python in (("x", -1.5), ("i", 2), ("p", True)):
            numbers |= {name: python} if rng.integers(3) == 0 else {}
        source, f = function(
            jk, rng, EVERY, {name: jk.numpy.asarray(x) for name, x in numbers.items()}, 16, 1 + turn % 2
        )
        found[source] = text(jk, f, *[numbers[name] for name in SIX])
    return found


@program(
    "06",
    "The texts of random functions compute what the functions do: all operations, with arrays of all dtypes and Python numbers.",
    against=["a number of Python is no argument"],
)
def random_functions(jk, rng):
    return lowered(jk, rng, 2)


@program("06", "The texts of many random functions compute what the functions do.", hidden=True)
def many_random_functions(jk, rng):
    return lowered(jk, rng, 10)


@program(
    "06",
    "A large constant has all its numbers in the text, of each dtype.",
    against=["numpy prints every number of an array"],
)
def large_constants(jk, rng):
    size = int(rng.integers(1100, 1200))
    b, n, x = rng.uniform(size=size) > 0.5, rng.integers(-9, 9, size).astype(np.int32), floats(rng, size)
    own = [jk.numpy.asarray(v) for v in (b, n, x, x.astype(np.float16), b.reshape(-1, 1))]
    return text(jk, lambda c, k: [jk.numpy.equal(own[0], c), own[1] + k, own[2] * k, own[3], own[4]], True, 2)


@program(
    "06",
    "The text of each function of one number is right for large numbers, infinities, nan and zeros.",
    against=["a root is a power", "tanh is a quotient of exponentials"],
)
def ends(jk, rng):
    jnp, large = jk.numpy, np.float32(10.0 ** rng.uniform(25, 35))
    x = np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0, large, -large, 1 / large, 100.0, -100.0, 3e9, -2.5])
    names = ("negative", "abs", "sign", "floor", "exp", "log", "sqrt", "log1p", "expm1", "tanh")
    n = np.int32([2**31 - 1, -(2**31), 0, -1])
    whole = lambda n: [n + 1, n - 1, -n, n * n, jnp.invert(n), n > 0, jnp.maximum(n, -n)]
    return text(jk, lambda x, n: ({name: getattr(jnp, name)(x) for name in names}, x * x, 1.0 / x, whole(n)), x, n)
