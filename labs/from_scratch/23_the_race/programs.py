"""Rung 23: exponentials without C's library, and what a compiler may not change."""

import numpy as np
from behind import as_numpy, behind, own
from climbing import program
from drawing import fill, pick

NO_CALL = "exp", "tanh"


def floats(rng, *shape):
    return rng.uniform(-2.0, 2.0, shape).astype(np.float32)


def right_to_a_millionth(found, exact):
    """Return whether every number differs from the exact one by at most a millionth of its size."""
    return bool(np.all(np.abs(np.asarray(found) / exact - 1) < 1e-6))


@program(
    "23",
    "An exponential in a loop is arithmetic: no function of C's library is called.",
    against=["C's library will do", "a function of the compiler is no function of C's library"],
)
def exponential(jk, rng):
    return behind(
        own(jk, lambda x, y: jk.numpy.exp(x) * y + jk.numpy.exp(-x)),
        floats(rng, 100),
        floats(rng, 100),
        loops=1,
        without=NO_CALL,
    )


@program("23", "So is a hyperbolic tangent: the program has two layers of them.", against=["C's library will do"])
def tangents(jk, rng):
    f = own(jk, lambda x, w, v: jk.numpy.tanh(jk.numpy.tanh(x @ w) @ v))
    return behind(f, floats(rng, 5, 8), floats(rng, 8, 6), floats(rng, 6, 3), loops=4, without=NO_CALL)


@program(
    "23",
    "An exponential is right to one part in a million, from the smallest to the largest.",
    against=[
        "-ffast-math is only faster",
        "log 2 is one number",
        "what is too large is the largest number",
        "what is small is 0",
        "a few terms are enough",
    ],
)
def exact(jk, rng):
    x = np.float32([-87.0, 88.7, *rng.uniform(-87.0, -86.0, 50), *rng.uniform(-87.0, 88.7, 5000)])
    return right_to_a_millionth(own(jk, jk.numpy.exp)(x), np.exp(x.astype(np.float64)))


@program(
    "23",
    "A hyperbolic tangent is, too: also of numbers that are nearly 0.",
    against=["tanh is made of exp, everywhere"],
)
def exact_tangent(jk, rng):
    x = (10.0 ** rng.uniform(-30, 1, 5000) * rng.choice([-1, 1], 5000)).astype(np.float32)
    return right_to_a_millionth(own(jk, jk.numpy.tanh)(x), np.tanh(x.astype(np.float64)))


@program(
    "23",
    "What is too large is inf, what is too small is 0, and a nan stays one.",
    against=["what is too large is the largest number", "what is not small is large", "e**-inf is nearly 0"],
)
def edges(jk, rng):
    far = float(rng.uniform(100, 1e4))
    f = own(jk, jk.numpy.exp)
    nothing = np.asarray(f(np.float32([-np.inf, -far - 50.0, -150.0])))
    return f(np.float32([np.inf, 89.0, far, np.nan, 0.0, -0.0])), nothing == 0


@program(
    "23",
    "Far from 0 a tangent is 1 or -1; of -0.0 it is -0.0; a nan stays one.",
    against=["tanh is (e - 1) / (e + 1)", "what is not small is large", "the sign of 0 does not count"],
)
def edges_of_the_tangent(jk, rng):
    far = float(rng.uniform(50, 1e4))
    f = own(jk, lambda x: (jk.numpy.tanh(x), 1.0 / jk.numpy.tanh(x)))
    return f(np.float32([np.inf, -np.inf, far, -far, np.nan, 0.0, -0.0]))


@program("23", "A nan is not equal to itself, and inf - inf is a nan.", against=["-ffast-math is only faster"])
def not_a_number(jk, rng):
    n = jk.numpy
    x = np.float32([np.nan, np.inf, -np.inf, 1.0, float(rng.uniform())])
    return own(jk, lambda x: (x != x, x == x, x - x, n.where(x != x, 0.0, x), n.maximum(x, 0.5), x * 0.0))(x)


@program(
    "23",
    "Sums are added up as they are written, and a quotient is a quotient, of numbers in the program, too.",
    against=[
        "-ffast-math is only faster",
        "a number's reciprocal is computed once",
        "what is added and taken away is nothing",
    ],
)
def as_written(jk, rng):
    x, c = floats(rng, 50), np.float32(2**24)
    whole = np.arange(1, 300, dtype=np.float32)
    f = own(jk, lambda x, c: ((x + c) - c, (x - c) + c))
    numbers = lambda x: [
        (x + 2.0**24) - 2.0**24,
        (x - 2.0**24) + 2.0**24,
        x * 3.0 / 3.0,
        x / 49.0 * 49.0,
        -x - 0.5 + 0.5,
    ]
    quotients = lambda a: [(a * d) / d for d in (3.0, 41.0, 47.0, 49.0, 55.0, 61.0)] + [a / 7.0, 1.0 / a]
    return (
        f(x, c),
        own(jk, lambda a, b: jk.numpy.floor(a / b))(whole, whole),
        as_numpy(jk, numbers, x),
        as_numpy(jk, quotients, whole),
    )


@program(
    "23",
    "What was right in rung 19 is right now, too: `expm1`, `log1p` and all other functions, near 0 and far from it.",
    against=["expm1 is exp - 1"],
)
def other_functions(jk, rng):
    n, near = jk.numpy, np.float32([1e-9, -1e-8, 1e-5, *rng.uniform(1e-9, 1e-4, 5)])
    names = ("expm1", "log1p", "sin", "tan", "sqrt", "log", "cos")
    f = own(jk, lambda x: {name: getattr(n, name)(x) / x for name in names})
    powers = own(jk, lambda x: [n.power(n.abs(x), 0.5), x**3.0, 2.0**x, n.power(x, 2)])
    return f(near), f(np.float32([0.5, -0.75, 20.0, 87.5, -30.0])), powers(floats(rng, 9))


@program(
    "23",
    "Softmax of large numbers calls no function of C's library, and has one exponential for each number.",
    against=["C's library will do"],
)
def softmax(jk, rng):
    n = jk.numpy

    def f(x):
        e = n.exp(x - n.max(x, 1, keepdims=True))
        return e / n.sum(e, 1, keepdims=True)

    return behind(own(jk, f), floats(rng, 6, 40) * 500, loops=3, without=NO_CALL)


# --- random functions ---------------------------------------------------------------------------------------------------
# A function is a string, such as `n.sum(n.exp(x + c), -1)`, which is the key of its result. Its arguments of exp and tanh are exact, and it
# takes no difference of two results, so that it is as exact as exp and tanh are. `turns(k, f, a)` is f(f(...f(a))).

EXACT = (
    "x", "y", "-x", "x * 4.0", "x + y", "x - y", "n.maximum(x, y)", "n.minimum(x, c)", "n.where(x > y, x, -y)", "n.abs(x)", "x * y / 8.0",
    "n.max(x) - y", "c + x", "c - y", "c * 0.25", "y * 1e-6", "x / 8.0",
)  # fmt: skip
OF_EXACT = (
    "n.exp({})", "n.tanh({})", "1.0 / (1.0 + n.exp({}))", "n.exp({}) * ({})", "n.tanh({}) * ({})", "n.exp({}) / n.exp({})",
    "n.where({} > 1.0, n.exp({}), n.tanh({}))", "n.maximum(n.exp({}), n.tanh({}))", "n.exp({}) + n.exp({})", "n.sum(n.exp({}), -1)",
    "n.max(n.tanh({}), -1)", "n.sum(n.exp({})) * y", "n.tanh(n.exp({}))", "n.exp(n.tanh({}))", "n.sqrt(n.exp({}))", "n.tanh({}) ** 2",
    "turns(3, lambda a: n.exp(-n.abs(a)), {})", "turns(2, lambda a: n.tanh(a) * 0.5, {})", "n.exp({}).astype(np.float32) * n.tanh({})",
)  # fmt: skip


def in_order(k, f, a):
    for _ in range(k):
        a = f(a)
    return a


def computed(jk, rng, count):
    """Return whether random functions of two vectors and a column are right to some millionths, by their strings. They are one program."""
    texts = [fill(t, lambda: pick(rng, *EXACT)) for t in rng.permutation(OF_EXACT)[:count]]
    size, rows = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    x, y, c = (rng.integers(-80, 81, shape).astype(np.float32) / 8 for shape in ((size,), (size,), (rows, 1)))
    x[rng.integers(size)] = pick(rng, 0.0, -0.0, np.nan, np.inf, -np.inf)
    turns = lambda k, f, a: jk.lax.fori_loop(0, k, lambda _, a: f(a), a)
    fs = [eval("lambda x, y, c: " + t, {"n": jk.numpy, "np": np, "turns": turns}) for t in texts]
    exact = [eval("lambda x, y, c: " + t, {"n": np, "np": np, "turns": in_order}) for t in texts]
    found = behind(own(jk, lambda x, y, c: [f(x, y, c) for f in fs]), x, y, c, without=NO_CALL)
    with np.errstate(all="ignore"):
        right = [f(*(v.astype(np.float64) for v in (x, y, c))) for f in exact]
        results = {t: agree(*pair) for t, *pair in zip(texts, found["result"], right, strict=True)}
    return found | {"result": results}


def agree(found, exact):
    """Return whether each number is right to four millionths, which is what three operations add up to; inf and nan are themselves."""
    found, rounded = np.asarray(found), exact.astype(np.float32)
    near = np.abs(found / exact - 1) < 4e-6
    return found.shape == exact.shape and bool(np.all(near | (found == rounded) | (np.isnan(found) & np.isnan(exact))))


@program("23", "Random functions of exp and tanh, with sums, choices and loops, are right to some millionths, and call nothing.",
         against=["C's library will do"])  # fmt: skip
def random_functions(jk, rng):
    return computed(jk, rng, 7)


@program("23", "Many random functions of exp and tanh are right, and call nothing.", hidden=True)
def many_random_functions(jk, rng):
    return [computed(jk, rng, 10) for _ in range(6)]
