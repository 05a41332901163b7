"""Rung 01: operations that go through one door.

A program of the ladder is run twice with the same random inputs: with your package for `jk`, and with jitkit. What the two return is
compared: arrays by shape, dtype and numbers, up to rounding; everything else by `==`. `against` names the mistakes that a program finds
out. These functions come from the checker's module `climbing`:

    raised(f, *args, parts=[...])     the error that a call ends in. Compared are its class (a class derived from it counts, too) and the
                                      parts, which its message must have; the other words are yours
    jaxpr(closed)                     a jaxpr. Compared are the equations' primitives, the types of their results, which operand comes from
                                      where, literals and constants by value, and parameters that are jaxprs, with their names. Names of
                                      variables, other parameters, and the order of independent equations are not compared
    counted(f, *args, compiled=1, executed=1, copied=0)     the result of a call; how many programs XLA compiled and ran for it, and how
                                      many numpy arrays were copied to the device
    text(jk, f, *args)                the text that `lower(f, *args)` returns: XLA runs it, and the results are compared
"""

import operator

import numpy as np
from climbing import Raised, program, raised
from drawing import ASKED, GRAMMAR, LEAVES, MIXED, grown, in_one, joined, world


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


def fails(f, *args):
    """Return whether a call ends in an error, of whatever class."""
    return "an error" if isinstance(raised(f, *args), Raised) else "no error"


@program(
    "01", "Functions of one array compute what numpy computes, number by number.", against=["a floor is an integer"]
)
def unary(jk, rng):
    x = floats(rng, 4)
    return [
        getattr(jk.numpy, name)(x - 1.0 if name in ("sign", "floor", "abs") else x)
        for name in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "negative", "abs", "sign", "floor")
    ]


@program(
    "01",
    "Functions of floats, and division, return float32 for integers.",
    against=["the sine of an integer is an integer", "the second operand comes first"],
)
def integers(jk, rng):
    n = rng.integers(1, 5, 4).astype(np.int32)
    fs = [getattr(jk.numpy, name) for name in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt")]
    return [f(n) for f in fs], jk.numpy.divide(n, n + 1), jk.numpy.exp(2), jk.numpy.negative(n)


@program(
    "01", "`add`, `subtract`, `multiply` and `divide` take two arrays.", against=["the second operand comes first"]
)
def binary(jk, rng):
    x, y = floats(rng, 3), floats(rng, 3)
    return [getattr(jk.numpy, name)(x, y) for name in ("add", "subtract", "multiply", "divide", "maximum", "power")]


@program("01", "Results have operators, and these give results that have operators.")
def operators(jk, rng):
    x, y = jk.numpy.asarray(floats(rng, 3)), jk.numpy.asarray(floats(rng, 3))
    return [x + y, x - y, x * y, x / y, -x, (x + y) * (x - y)]


@program("01", "A number may stand on the left: `2 - x`.", against=["`2 - x` is `x - 2`"])
def reflected(jk, rng):
    x, c = jk.numpy.asarray(floats(rng, 3)), float(rng.uniform(1, 2))
    return [c - x, c / x, c + x, c * x]


@program(
    "01",
    "A numpy array on the left of an Array gives an Array, not an array of objects.",
    against=["numpy takes the operator"],
)
def numpy_on_the_left(jk, rng):
    x, y = floats(rng, 3), jk.numpy.asarray(floats(rng, 3))
    result = x * y
    return {"result": result, "it is a numpy array": isinstance(result, np.ndarray)}


@program(
    "01",
    "Comparisons give arrays of truth values; `bool`, `int` and `float` take an Array with one element.",
    against=["`==` asks whether two arrays are equal"],
)
def comparisons(jk, rng):
    x, y = jk.numpy.asarray(floats(rng, 5)), jk.numpy.asarray(floats(rng, 5))
    small = jk.numpy.asarray(floats(rng)) < 100.0
    one = jk.numpy.asarray(floats(rng))
    return [x < y, x >= y, x == x, x != y, "yes" if small else "no", float(np.float32(float(one))), int(one)]


@program("01", "64 bits become 32, as everywhere in JAX.",
         against=["float64 stays float64", "uint64 stays uint64"])  # fmt: skip
def narrow(jk, rng):
    x, n = rng.uniform(0, 1, 3), rng.integers(0, 9, 3)
    return [jk.numpy.asarray(x), jk.numpy.sin(x), jk.numpy.add(n, n), jk.numpy.asarray(n.astype(np.uint64))]


@program(
    "01",
    "An Array does not change when the numpy array that it was made of changes.",
    against=["an array without axes is no array that changes", "an Array shares the memory of its maker"],
)
def no_alias(jk, rng):
    x, c = floats(rng, 3), np.array(floats(rng, 1)[0])
    y, d = jk.numpy.array(x), jk.numpy.asarray(c)
    x[0] = c[...] = 100.0
    return y, d


@program("01", "`sin` and `add` refuse anything but an array or a number with a TypeError.")
def refused(jk, rng):
    return [raised(jk.numpy.sin, "three"), raised(jk.numpy.add, {}, 1.0)]


@program("01", "Each function takes integers, floats and half floats, also negative ones and 0.")
def every_name(jk, rng):
    names = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "negative", "abs", "sign", "floor")
    x = np.concatenate([rng.uniform(-1.4, 1.4, 3), [0.0, -1.0]])
    kinds = [x.astype(np.float32), x.astype(np.float16), np.array([-3, 0, 2], np.int32)]
    return {name: [getattr(jk.numpy, name)(k) for k in kinds] for name in names}


@program("01", "Each operator works on either side of numbers and numpy arrays; `~` and `&` take truth values.")
def every_operator(jk, rng):
    a, c = floats(rng, 3), float(rng.uniform(1, 2))
    x, b = jk.numpy.asarray(floats(rng, 3)), jk.numpy.asarray(rng.uniform(size=3) > 0.5)
    return {
        "arithmetic": [x + a, a + x, x - a, a - x, x * a, a * x, x / a, a / x, x**a, a**x],
        "numbers": [x + c, c + x, x - c, c - x, x * c, c * x, x / c, c / x, x**c, c**x, x**2, 2.0**x],
        "questions": [x < a, x <= c, c < x, c >= x, x > a, x == c, x != a],
        "truth": [~b, b & (x > 1.0), b | (x > 1.0)],
    }


@program(
    "01",
    "`logical_and`, `logical_or`, `logical_not` ask whether numbers differ from 0; `bitwise_and` and its like take bits.",
)
def logic(jk, rng):
    n, m = rng.integers(0, 3, 6).astype(np.int32), np.array([0, 1, 2, 0, 1, 2], np.int32)
    jnp, x = jk.numpy, np.array([0.0, 0.5, 1.0], np.float32)
    logical = [jnp.logical_and(n, m), jnp.logical_or(n, m), jnp.logical_not(n), jnp.logical_not(x)]
    return logical, [jnp.bitwise_and(n, m), jnp.bitwise_or(n, m), jnp.invert(n), n & jnp.asarray(m)]


@program("01", "An Array does not change: numpy's view of it is read-only, and a copy belongs to the caller.")
def read_only(jk, rng):
    y = jk.numpy.asarray(floats(rng, 3))
    copy = np.array(y)
    copy[0] = 7.0
    return np.asarray(y).flags.writeable, copy[0], y


@program(
    "01",
    "With nan, infinities, -0.0 and numbers near 0, functions give what numpy gives, to the last digits.",
    against=[
        "`expm1(x)` is `exp(x) - 1`",
        "`log1p(x)` is `log(1 + x)`",
        "`-x` is `0 - x`",
        "`abs(x)` is `-x` where x < 0",
        "a nan is passed over by a maximum",
    ],
)
def special_numbers(jk, rng):
    jnp, little = jk.numpy, (10.0 ** rng.uniform(-7, -5, 4)).astype(np.float32)
    x = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
    names = ("tanh", "exp", "log1p", "expm1", "negative", "abs", "sign", "floor")
    pairs = [getattr(jnp, name)(x[:, None], x) for name in ("add", "multiply", "maximum", "minimum", "less", "equal")]
    nearly_zero = [np.asarray(f(little)) / little for f in (jnp.sin, jnp.tan, jnp.tanh, jnp.log1p, jnp.expm1)]
    signs = [1.0 / np.asarray(f(x[3:])) for f in (jnp.negative, jnp.abs)]
    return {name: getattr(jnp, name)(x) for name in names}, pairs, nearly_zero, signs


@program(
    "01",
    "Numbers that differ in their last digit are not equal, and one of them is less.",
    against=["floats that are close are equal"],
)
def last_digit(jk, rng):
    x = floats(rng, 4)
    y, names = np.nextafter(x, np.float32(9)), ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    return (
        {name: getattr(jk.numpy, name)(x, y) for name in names},
        jk.numpy.asarray(x) == y,
        jk.numpy.maximum(x, y) == y,
    )


@program(
    "01",
    "`bool(x)` of several numbers is an error, as numpy's; `y += 1` makes another array.",
    against=["an array is true if a number in it is", "`x += 1` changes x"],
)
def several(jk, rng):
    x = y = jk.numpy.asarray(floats(rng, 2))
    y += 1.0
    return [fails(f, jk.numpy.asarray(np.float32([0, 1]))) for f in (bool, float, int)], x, y


@program(
    "01",
    "Functions of two operands return numpy's dtype for each pair of dtypes: whole numbers stay whole, except in `divide`.",
    against=[
        "an unsigned integer makes a half float a float",
        "powers are floats",
        "comparisons take the first operand's dtype",
        "True + True is 2",
    ],
)
def every_pair(jk, rng):
    n, m = (rng.integers(0, 4, 4).astype(np.int32) for _ in range(2))
    x, h, b = floats(rng, 4), floats(rng, 4).astype(np.float16), np.array([True, True, False, False])
    names = (
        "add",
        "multiply",
        "maximum",
        "minimum",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "equal",
        "not_equal",
    )
    pairs = {
        "int, int": (n, m),
        "int, float": (n, x),
        "float, int": (x, m),
        "half": (h, h[::-1].copy()),
        "unsigned, half": (m.astype(np.uint16), h),
        "number": (n, 1.5),
    }
    every = {
        pair: {name: getattr(jk.numpy, name)(*xy) for name in (*names, "subtract", "divide", "power")}
        for pair, xy in pairs.items()
    }
    return every, {name: getattr(jk.numpy, name)(b, b[::2].repeat(2) == b) for name in names}


@program(
    "01",
    "Python's `int` cuts the digits off, and only 0 is false. Strings of digits and None are TypeErrors everywhere.",
    against=["`int` rounds", "a string of digits is a number", "None is nan"],
)
def python_numbers(jk, rng):
    c, jnp = float(rng.uniform(0.6, 0.9)), jk.numpy
    asked = [(int(x), float(np.float32(float(x))), bool(x)) for x in map(jnp.asarray, (2 + c, -1 - c, c, 0.0, 3, True))]
    wrong = ["1.5", "1", "", None, {}, [None], object()]
    x = jnp.asarray(c)
    return (
        asked,
        [raised(f, w) for w in wrong for f in (jnp.exp, jnp.sin)],
        [raised(f, x, w) for w in wrong[:4] for f in (jnp.add, lambda x, w: x * w, lambda x, w: w - x)],
    )


@program(
    "01",
    "A nan is neither less nor equal nor greater, only not equal; truth values are operands, too; two numbers of Python give an Array.",
    against=[
        "`<=` is not `>`",
        "`!=` is less or greater",
        "a function of truth values is refused",
        "two numbers of Python give a number",
    ],
)
def nans_and_truths(jk, rng):
    jnp, x = jk.numpy, np.float32([np.nan, 1.0, np.inf, np.nan])
    questions = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    y, b, c = np.float32([1.0, np.nan, np.inf, np.nan]), np.array([True, False]), float(rng.uniform(1, 2))
    truths = [getattr(jnp, name)(b) for name in ("sin", "cos", "tan", "tanh", "exp", "log1p", "expm1", "sqrt")]
    numbers = [
        getattr(jnp, name)(c, 2) for name in ("add", "subtract", "multiply", "divide", "power", "maximum", *questions)
    ]
    asked = [getattr(jnp, name)(p, q) for name in questions for p, q in ((x, y), (x, x), (b, b[::-1].copy()))]
    return asked, truths, [(n.shape, n.dtype.name, n) for n in numbers], jnp.add(b, 1.5), jnp.multiply(b, 2)


@program(
    "01",
    "Powers of negative numbers are numpy's. Numbers of two dtypes are equal if numpy says so. A truth value makes a bool array.",
    against=["the power of a negative number is nan", "numbers of two dtypes are never equal", "True is the number 1"],
)
def across(jk, rng):
    jnp, n = jk.numpy, rng.integers(-4, 5, 6).astype(np.int32)
    x = np.float32([-2, -1.5, -1, -0.5, 0, 3]) * np.float32(rng.integers(1, 3))
    exponents = [2, 3, 0, 1, 2.0, 3.0, -1.0, 0.5, np.float32([2, 3, -1, -2, 0.5, 2]), np.float16(3)]
    kinds = [n, n.astype(np.float32), n.astype(np.float16), n > 0, int(n[0])]
    questions = ("equal", "not_equal", "less_equal")
    truths = [
        jnp.asarray(True),
        jnp.array([True, False]),
        jnp.asarray(False),
        jnp.asarray([True, 2]),
        jnp.asarray(np.bool_(n[0] > 0)),
    ]
    return (
        [(jnp.power(x, e), jnp.asarray(x) ** e) for e in exponents],
        {name: [getattr(jnp, name)(a, b) for a in kinds for b in kinds] for name in questions},
        [(t.dtype.name, t, ~t if t.dtype == bool else -t) for t in truths],
    )


@program(
    "01",
    "`logical_and` and `logical_or` are right for numbers whose product is nearly 0, or whose sum is 0.",
    against=["`logical_and` asks whether the product is 0", "`logical_or` asks whether the sum is 0"],
)
def both_differ_from_0(jk, rng):
    little, n = (10.0 ** rng.uniform(-35, -30, 4)).astype(np.float32), rng.integers(1, 9, 4).astype(np.int32)
    zeros = np.float32([0, 1, 0, 1])
    pairs = [(little, little[::-1].copy()), (little, zeros), (n, -n), (n, zeros), (zeros - 1, 1 - zeros)]
    return [f(x, y) for x, y in pairs for f in (jk.numpy.logical_and, jk.numpy.logical_or)]


@program(
    "01",
    "Powers of whole numbers have all their digits; of two floats or integers the larger dtype counts, and a half float is a float.",
    against=["a power of whole numbers is a rounded float", "of two floats the first has the dtype"],
)
def digits_and_sizes(jk, rng):
    jnp, n = jk.numpy, rng.choice([5, 7], 3).astype(np.int32)
    x, m = floats(rng, 3), rng.integers(0, 9, 3)
    kinds = [x, x.astype(np.float16), m.astype(np.int8), m.astype(np.int16), m.astype(np.int32)]
    return jnp.power(n, np.int32(11)), [jnp.add(a, b).dtype.name for a in kinds for b in kinds]


UNARY = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "negative", "abs", "sign", "floor")
BINARY = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum")
QUESTIONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
LOGICAL = ("logical_and", "logical_or", "bitwise_and", "bitwise_or")


@program(
    "01",
    "Each function, and each operator but `==` and `!=`, refuses a string, a dict and None, on either side, with a TypeError.",
    against=["what cannot be compared is not less"],
)
def every_refusal(jk, rng):
    jnp, x, wrong = jk.numpy, jk.numpy.asarray(floats(rng, 2)), ["1.5", None, {}]
    operators = [
        operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.le, operator.gt, operator.ge,
    ]  # fmt: skip
    fs = [*operators, *(getattr(jnp, name) for name in (*BINARY, *QUESTIONS, *LOGICAL[:2]))]
    alone = [raised(getattr(jnp, name), w) for name in (*UNARY, "logical_not", "invert") for w in wrong[1:]]
    return alone, [(raised(f, x, w), raised(f, w, x)) for f in fs for w in wrong]


@program(
    "01",
    "Each function takes small and unsigned integers, truth values, arrays without axes and empty arrays.",
    against=["small integers give half floats", "an unsigned number has a negative"],
)
def every_kind(jk, rng):
    jnp, some = jk.numpy, rng.integers(1, 5, 4)
    integers = [some.astype(kind) for kind in (np.int8, np.uint8, np.int16, np.uint32)]
    smooth = [
        *integers,
        some > 2,
        np.float32(0.5),
        np.array(2),
        np.zeros((0, 2), np.float32),
        np.zeros((2, 0), np.int32),
    ]
    pairs = [(n, n[::-1].copy()) for n in integers] + [
        (smooth[5], smooth[6]),
        (smooth[7], smooth[7]),
        (floats(rng, 3), smooth[5]),
    ]
    found = {name: [getattr(jnp, name)(x) for x in smooth] for name in UNARY[:9]}
    found |= {name: [getattr(jnp, name)(x) for x in (*integers, *smooth[5:])] for name in ("negative", "abs", "sign")}
    for name in (*BINARY[:4], *BINARY[5:], *QUESTIONS, *LOGICAL[:2]):
        found[name] = [getattr(jnp, name)(x, y) for x, y in pairs]
    return found, [bool(jnp.asarray(np.full((1, 1), n > 2))) for n in some]


# --- random expressions -------------------------------------------------------------------------------------------------

EVERY = joined(GRAMMAR, MIXED, ASKED)
SMALL = ("int32", "int8", "uint8", "int16", "uint32")


def computed(jk, rng, count):
    """Compute random expressions of arrays: of every dtype where they have one operation, of three dtypes where they have several."""
    found = {}
    for turn in range(count):
        depth = 1 + turn % 2
        numbers = world(rng, ("float32", "float32", "float16")[: 4 - depth], SMALL if depth == 1 else ("int32",))
        own = {name: jk.numpy.asarray(x) for name, x in numbers.items()}
        types = ", ".join(f"{name} {x.dtype}{list(x.shape)}" for name, x in numbers.items())
        texts = [grown(rng, EVERY, LEAVES, kind, depth) for kind in "FIBNFIBN"]
        names = {"n": jk.numpy, "np": np, "d": numbers["d"], "k": numbers["k"]}
        f = eval(f"lambda x, y, c, i, j, p, q: ({', '.join(texts)})", names)
        results = in_one(jk, f, *[own[name] for name in "xycijpq"])
        found |= {f"{text}, with {types}": result for text, result in zip(texts, results, strict=True)}
        found[f"the arrays themselves, {turn}"] = own
    return found


@program(
    "01",
    "Random expressions are computed: all names and operators, on your arrays and numpy's of all dtypes, with nan and infinities.",
    against=["a number of numpy's is Python's"],
)
def random_expressions(jk, rng):
    return computed(jk, rng, 6)


@program("01", "Many random expressions are computed.", hidden=True)
def many_random_expressions(jk, rng):
    return computed(jk, rng, 16)


@program(
    "01",
    "`float` and `int` refuse an array with axes; `bool` takes an array with one number, whatever its axes.",
    against=["an array with one number is a number"],
)
def with_axes(jk, rng):
    n = int(rng.integers(1, 9))
    arrays = [jk.numpy.asarray(np.full(shape, n, kind)) for shape in ((1,), (1, 1)) for kind in ("float32", "int32")]
    return (
        [[fails(f, x) for f in (float, int)] for x in arrays],
        [bool(x) for x in arrays],
        [bool(x > n) for x in arrays],
    )


@program(
    "01",
    "Numbers at the ends of their dtypes: integers wrap, the square of a large float is infinite, and 1 divided by 0 is not an error.",
    against=[
        "an absolute value is the root of a square",
        "integers stop at the largest one",
        "two integers are divided by Python",
    ],
)
def at_the_end(jk, rng):
    jnp, n, large = jk.numpy, rng.integers(1, 9, 3), (10.0 ** rng.uniform(25, 35, 3)).astype(np.float32)

    def of_integers(m, low, high):
        return [
            [(f(x, m), f(m, x)) for f in (jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.less)]
            for x in (low, high)
        ], [(jnp.negative(x), jnp.bitwise_and(x, m), jnp.invert(x), jnp.equal(low, high)) for x in (low, high)]

    kinds = (np.int32, np.int8, np.int16, np.uint8, np.uint32)
    arrays = [[np.full(3, v, kind) for v in (np.iinfo(kind).min, np.iinfo(kind).max)] for kind in kinds]
    own = [list(map(jnp.asarray, (n.astype(kind), *ends))) for kind, ends in zip(kinds, arrays, strict=True)]
    found = in_one(jk, lambda own: [of_integers(*xs) for xs in own], own)

    def of_floats(x, y, z):
        one = [
            f(v) for f in (jnp.abs, jnp.sign, jnp.floor, jnp.sqrt, jnp.negative, jnp.tanh, jnp.exp) for v in (x, y, z)
        ]
        return one, [
            f(v, w) for f in (jnp.multiply, jnp.divide, jnp.add, jnp.maximum, jnp.equal) for v in (x, y) for w in (x, z)
        ]

    floats_ = in_one(jk, of_floats, *map(jnp.asarray, (large, -large, 1 / large)))
    return (
        found,
        floats_,
        [jnp.divide(a, b) for a in (1, 0, -1, 2.0) for b in (0, 2, 0.0)],
        jnp.power(0, 0),
        jnp.power(0.0, -1.0),
    )
