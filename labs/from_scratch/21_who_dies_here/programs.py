"""Rung 21: several loops, and memory between them."""

import numpy as np
from behind import behind, own
from climbing import program
from drawing import expression, fill, pick, written


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


def chain(jk, n):
    """Return a function that applies "take the exponential, divide it by its sum" n times."""

    def f(x):
        for _ in range(n):
            e = jk.numpy.exp(-x)
            x = e / jk.numpy.sum(e)
        return x

    return f


@program("21", "A sum is one loop, with what goes into it.")
def one_sum(jk, rng):
    return behind(own(jk, lambda x, y: jk.numpy.sum(jk.numpy.sin(x) * y)), floats(rng, 5), floats(rng, 5), loops=1)


@program(
    "21",
    "An exponential that is divided by its sum: two loops, and each number has one exponential.",
    against=["what two loops need is computed twice", "a workspace is kept for the next call"],
)
def softmax(jk, rng):
    return behind(
        own(jk, chain(jk, 1)), floats(rng, 100), loops=2, evaluations={"exp": 100}, memory=3 * 400 + 256, kept=2 * 400
    )


@program("21", "Sums and maxima may go along the first axis, the last or several, or along axes counted from the end, or along none.",
         against=["no axes are all axes"])  # fmt: skip
def axes(jk, rng):
    n, x = jk.numpy, floats(rng, 3, 4, 2)
    f = own(jk, lambda x: (n.sum(x, 0), n.sum(x * 2.0, 2), n.max(x, (0, 2)), n.sum(x, -2), n.max(x, 1), n.sum(x)))
    none = own(jk, lambda x: (n.sum(x, ()) * 2.0, n.max(x, axis=())))
    return behind(f, x, loops=6), none(x)


@program(
    "21",
    "A maximum with nan is nan; one of negative numbers is negative.",
    against=["a maximum begins with 0", "a nan is passed over", "nothing is smaller than -3.4e38"],
)
def maxima(jk, rng):
    f = own(jk, lambda x: (jk.numpy.max(x), jk.numpy.max(-x), jk.numpy.max(x, 0)))
    x = floats(rng, 4, 3)
    y = x.copy()
    y[1, 1] = np.nan
    low = np.float32(np.full((2, 3), -np.inf))
    return (
        f(x),
        f(y),
        f(low),
        own(jk, lambda i: (jk.numpy.max(i), jk.numpy.max(-i)))(rng.integers(1, 9, 5).astype(np.int32)),
    )


@program(
    "21",
    "Sums and maxima of integers and truth values keep their dtypes; sums of nothing are 0.",
    against=["sums are floats", "a sum of truth values is a truth value"],
)
def kinds(jk, rng):
    n = jk.numpy
    f = own(jk, lambda i, b: (n.sum(i), n.sum(b), n.sum(i > 3), n.max(b), n.sum(i * i, 0)))
    i = rng.integers(-9, 9, (3, 4)).astype(np.int32)
    whole = np.int32([[2**31 - 1, 5, 2**24 + 1], [1, -(2**31), 1]])
    sums = own(jk, lambda i: (n.sum(i), n.sum(i, 0), n.sum(i, 1)))
    return (
        f(i, i > 0),
        sums(whole),
        sums(np.int32([[2**24, 1], [1, 1]])),
        own(jk, lambda x: (n.sum(x), n.sum(x, 0), n.sum(x, 1)))(np.zeros((0, 3), np.float32)),
    )


@program(
    "21",
    "A chain of eight needs no more memory than a chain of two.",
    against=["everybody has a place of his own", "an array of C's own is as good"],
)
def memory(jk, rng):
    x, size = floats(rng, 10000), 40000
    bounds = {"memory": 4 * size + 1024, "kept": 2 * size}
    return [behind(own(jk, chain(jk, n)), x, loops=n + 1, evaluations={"exp": n * 10000}, **bounds) for n in (2, 8)]


@program(
    "21",
    "What a loop stores lies in memory from `cc.alloc`, which is free again after the call.",
    against=["an array of C's own is as good", "a workspace is kept for the next call"],
)
def own_arrays(jk, rng):
    f, x, size = own(jk, chain(jk, 3)), floats(rng, 8000), 32000
    return [behind(f, x, memory=4 * size + 1024, kept=2 * size) for _ in range(3)]


@program(
    "21",
    "An exponential or a sine of an argument is computed by one loop, too.",
    against=["what two loops need is computed twice"],
)
def of_an_argument(jk, rng):
    n = jk.numpy

    def f(x, y):
        e = n.exp(x)
        return e / n.sum(e), n.sum(n.exp(y) * 2.0) * n.exp(y), n.sin(y) * n.sum(n.sin(x) * n.sin(x)), n.sum(n.sin(y), 1)

    return behind(own(jk, f), floats(rng, 30), floats(rng, 4, 5), evaluations={"exp": 50, "sin": 50})


@program(
    "21",
    "What is needed later is not written over by what comes in between.",
    against=["a place is free after the first reader", "a place is free in the step of its last reader"],
)
def alive(jk, rng):
    def f(x, y):
        n = jk.numpy
        a = n.exp(-x)
        b = n.exp(a / n.sum(a))
        c = n.sin(b / n.sum(b) + y)
        d = n.tanh(c / n.sum(c))
        return n.sum(d) * a + b * c + d

    return own(jk, f)(floats(rng, 40), floats(rng, 40))


@program(
    "21",
    "A row is read by all rows of a matrix: it is alive until the last of them is done.",
    against=["a place is free in the step of its last reader"],
)
def rows(jk, rng):
    n = jk.numpy

    def f(x):
        for _ in range(3):
            e = n.exp(x / n.sum(x, 0))
            x = e / n.sum(e, 0) + 1.0
        return x

    return own(jk, f)(floats(rng, 16, 16))


@program("21", "Sums of sums, and a sum that is a result, an operand and an argument of the next one.")
def nested(jk, rng):
    def f(x):
        rows = jk.numpy.sum(x * x, 0)
        total = jk.numpy.sum(rows)
        return rows, total, rows / total, jk.numpy.max(x / total) + jk.numpy.max(rows / total)

    return behind(own(jk, f), floats(rng, 3, 5), loops=5)


@program("21", "The columns of a matrix are centred, and divided by their deviations.")
def deviation(jk, rng):
    def f(x):
        centred = x - jk.numpy.mean(x, 0)
        return centred / jk.numpy.sqrt(jk.numpy.mean(centred * centred, 0) + 1e-5)

    return behind(own(jk, f), floats(rng, 6, 4), loops=3)


@program(
    "21",
    "A result may be returned twice, be an argument, or go into a sum as well: it is computed once. Arguments stay as they are.",
    against=["what is returned is computed for that"],
)
def returned(jk, rng):
    def f(x, y):
        e = jk.numpy.exp(x)
        s = jk.numpy.sum(e)
        return e, s, e, x, e / s, s, y, jk.numpy.sin(y), jk.numpy.max(jk.numpy.sin(y))

    x, y = jk.numpy.asarray(floats(rng, 4)), jk.numpy.asarray(floats(rng, 2))
    return behind(own(jk, f), x, y, evaluations={"exp": 4, "sin": 2}), x, y


@program(
    "21",
    "A loop of no turns stores nothing: a row that it would need is stored by another one.",
    against=["any loop can store"],
)
def no_turns(jk, rng):
    n = jk.numpy
    f = own(jk, lambda x, r: (n.sum(x * n.exp(r)), n.sum(x * n.exp(r), 0), n.exp(r) / n.sum(n.exp(r)), n.max(n.exp(r))))
    r = floats(rng, 3)
    return f(np.zeros((0, 3), np.float32), r), f(floats(rng, 2, 3), r)


@program("21", "A sum within a jitted function is a part of the program.")
def calls(jk, rng):
    g = jk.jit(lambda x: x / jk.numpy.sum(x))
    return behind(own(jk, lambda x: g(g(x) + 1.0)), floats(rng, 6), loops=3)


@program(
    "21",
    "Maxima of small types and of their smallest numbers, beside what is computed of them; sums and maxima along any axes of a cube.",
    against=[
        "nothing is smaller than -127",
        "numbers of two bytes take one",
        "what is left of a cube lies the other way round",
    ],
)
def small_types(jk, rng):
    n, kinds = jk.numpy, (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)
    low = {kind: np.array([np.iinfo(kind).min] * 3, kind) for kind in kinds}
    chain = lambda x: [(n.max(x) - x) * n.max(x * n.max(x - 1)), x * n.max(x + x) + n.max(x), n.max(x)]
    cube = floats(rng, 3, 3, 3)
    axes = (0, 1, 2, (0, 1), (0, 2), (2, 1), (-1, 0), -2)

    def rows(x):
        y = (x * 2 + 1) * x
        z = y - n.max(y, 0)
        w = z * n.max(z + 1, 0) + n.max(y, 0)
        return w - n.max(w, 0) * z + n.max(y * w, 0)

    return (
        {np.dtype(kind).name: own(jk, n.max)(x) for kind, x in low.items()},
        {np.dtype(k).name: own(jk, chain)(rng.integers(1, 9, 5).astype(k)) for k in kinds},
        {np.dtype(k).name: own(jk, rows)(rng.integers(1, 9, (4, 40)).astype(k)) for k in (np.int16, np.int8)},
        own(jk, lambda x: [f(x * 2.0, a) for f in (n.sum, n.max) for a in axes])(cube),
    )


# --- random sums --------------------------------------------------------------------------------------------------------
# A function is a string, such as `x / n.sum(n.exp(x), 0)`, which is the key of its result. x and y are matrices of one shape.

CALLED = (
    "n.sin({})", "n.exp(-n.abs({}))", "-{}", "n.sum({}, 0) * x", "n.sum({}) * 0.125 - y", "n.max({}, 0) - x", "n.max({}) * y",
    "n.max({}, -2) + n.sum(y, (0,)) - x", "n.sum({}, (0, 1)) * y", "x / (n.sum(n.abs({})) + 1.0)", "n.sum(x > y) * {}",
    "n.max(i * 3, 0) * {}",
    "n.sum(i) - {}", "({} + 1.0) * n.sum(n.sin(x), 0)", "g({})", "n.max(n.where(x > y, {}, y), 0) * x",
)  # fmt: skip
JOINED = (
    "{} + {}", "{} - {}", "{} * {}", "n.maximum({}, {})", "n.sum({}, 0) * n.max({}, 0) - x", "n.sum({} * {}) * 0.125 + x",
    "n.where(x > n.max(y, 0), {}, {})", "{} / (n.sum(n.exp(-n.abs({})), 0) + 1.0)", "n.sum(n.sum({}, 1)) * {}", "n.max({}) * n.sum({}) * y",
)  # fmt: skip
ENDS = (
    "{}",
    "{}",
    "n.sum({}, 1)",
    "n.max({}, -1)",
    "n.sum({}, -1) + n.max({}, 1)",
    "n.sum({} > x, 0)",
    "n.sum(i * i, 1)",
    "n.max({} < y)",
)


def computed(jk, rng, count):
    """Return the results of functions by their strings: one for each template, and `count` random ones. One program computes twelve."""
    n, shape, found = jk.numpy, tuple(map(int, rng.integers(1, 6, 2))), {}
    names = {"n": n, "g": jk.jit(lambda a: a * n.max(a, 0)), "zero": n.zeros(shape), "ones": n.ones(shape)}
    ends = [pick(rng, *ENDS) for _ in range(count)]
    texts = [fill(t, lambda: pick(rng, "x", "x", "y")) for t in (*CALLED, *JOINED, *ENDS[1:])]
    texts += [fill(end, lambda: f"({expression(rng, (CALLED, JOINED), 2)})") for end in ends]
    for at in range(0, len(texts), 12):
        fs = {text: eval(f"lambda x, y, i: {text}", names) for text in texts[at : at + 12]}
        f = own(jk, lambda x, y, i, fs=fs: {text: f(x, y, i) for text, f in fs.items()})
        often = {word: sum(t.count(f"n.{word}(") for t in fs) * shape[0] * shape[1] for word in ("exp", "sin")}
        x, y = ((rng.permutation(shape[0] * shape[1]).reshape(shape) - 3).astype(np.float32) / 16 for _ in range(2))
        i = rng.integers(-9, 9, shape).astype(np.int32)
        found["; ".join(map(written, "xyi", (x, y, i)))] = behind(f, x, y, i, compiled=1, evaluations=often)
    return found


@program(
    "21",
    "Random sums and maxima are right, in each other, of floats, integers and truth values, with results of several shapes.",
    tolerance=1e-3,
)
def random_sums(jk, rng):
    return computed(jk, rng, 2)


@program("21", "More random sums and maxima are right.", hidden=True, tolerance=1e-3)
def many_random_sums(jk, rng):
    return computed(jk, rng, 30)
