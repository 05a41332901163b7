"""Rung 22: shapes, products, branches and repetitions in C."""

import numpy as np
from behind import behind, optimised, own, refused
from climbing import program
from drawing import expression, fill, pick


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "22",
    "A transpose is a part of the loop: of two axes, and of three in any order.",
    against=["axes go where their number says", "an equation has one line", "a reshape copies"],
)
def transposes(jk, rng):
    n, x, y = jk.numpy, floats(rng, 4, 4), floats(rng, 2, 3, 4)
    sides = behind(own(jk, lambda x: n.sin(x).T * 2.0 - n.sin(x)), x, loops=1, memory=2 * 64)
    turned = behind(own(jk, lambda y: n.exp(n.transpose(y, (1, 2, 0)))), y, loops=1, memory=2 * 96)
    return sides, turned, own(jk, lambda y: n.transpose(n.transpose(y, (1, 2, 0)), (1, 2, 0)) + 1.0)(y)


@program("22", "A reshape is a part of the loop, and needs no memory.", against=["a reshape copies"])
def reshapes(jk, rng):
    n = jk.numpy
    f = own(
        jk, lambda x, y: n.reshape(n.exp(x), (4, 6)) * n.reshape(y, (4, 6)) + n.reshape(y, -1)[None][0].reshape(4, 6)
    )
    g = own(jk, lambda x: n.reshape(n.reshape(x * 2.0, (2, 12)).T, (4, 2, 3)))
    return behind(f, floats(rng, 3, 8), floats(rng, 2, 12), loops=1, memory=3 * 96), g(floats(rng, 3, 8))


@program("22", "Softmax over rows: `keepdims` adds an axis of size 1, and no loop.", against=["a reshape copies"])
def softmax(jk, rng):
    n = jk.numpy

    def f(x):
        e = n.exp(x - n.max(x, 1, keepdims=True))
        return e / n.sum(e, 1, keepdims=True)

    return behind(
        own(jk, f), floats(rng, 8, 50), loops=3, evaluations={"exp": 400}, memory=3 * 1600 + 256, kept=2 * 1600
    )


@program(
    "22",
    "A product of matrices of any size: few rows, many columns, and what is left over at the edges.",
    against=[
        "sizes are multiples of a tile",
        "an empty product is what was there",
        "products of truth values are added",
        "a product is added up in floats",
    ],
)
def products(jk, rng):
    f = own(jk, lambda x, y: x @ y)
    sizes = [(4, 8, 32), (9, 35, 37), (1, 3, 70), (66, 2, 1)]
    found = [behind(f, floats(rng, i, k), floats(rng, k, j), loops=1) for i, k, j in sizes]
    empty, truths = np.zeros((3, 0), np.float32), np.ones((2, 256), bool)
    return found, f(empty, empty.T), f(empty.T, floats(rng, 3, 2)), f(truths, truths.T)


@program(
    "22",
    "A vector is multiplied with a matrix or a vector; batches of matrices and integers have products, too.",
    against=["sizes are multiples of a tile", "a product is added up in floats"],
)
def more_products(jk, rng):
    f, n = own(jk, lambda x, y: x @ y), jk.numpy
    v, w, m = floats(rng, 37), floats(rng, 37), floats(rng, 37, 37)
    whole = rng.integers(-9, 9, (2, 3, 4)).astype(np.int32)
    large = np.int32([[2**24 + 1, 2**31 - 1]]), np.int32([[1, 3], [0, 5]])
    batches = f(floats(rng, 3, 2, 5), floats(rng, 3, 5, 34)), f(whole, whole.transpose(0, 2, 1))
    return (
        f(v, m),
        f(m, v),
        f(v, w),
        batches,
        f(*large),
        own(jk, lambda x, y: n.dot(x, y))(floats(rng, 2, 3, 4), floats(rng, 5, 4, 6)),
    )


@program(
    "22",
    "Two layers: a loop for each product, and one for what stands between them.",
    against=["sizes are multiples of a tile"],
)
def layers(jk, rng):
    f = own(jk, lambda x, w, b, v: jk.numpy.tanh(x @ w + b) @ v)
    args = floats(rng, 6, 8) - 1, floats(rng, 8, 35) - 1, floats(rng, 35), floats(rng, 35, 3)
    return behind(f, *args, loops=3, evaluations={"tanh": 210}, memory=192 + 1120 + 140 + 420 + 2 * 896 + 72)


@program(
    "22",
    "What goes into a product is computed once for each of its numbers, not for each row.",
    against=["a product's operand is dead in its loop"],
)
def stored(jk, rng):
    def f(x):
        e = jk.numpy.exp(-x)
        return e @ e.T + jk.numpy.sum(e)

    return behind(own(jk, f), floats(rng, 12, 5), loops=5, evaluations={"exp": 60})


@program(
    "22",
    "What a product reads is alive until its last turn: its result lies elsewhere.",
    against=["a product's operand is dead in its loop"],
    tolerance=1e-4,  # sums of products may be added up in any order
)
def operands(jk, rng):
    n = jk.numpy

    def f(x):
        y = n.exp(x * 0.5)
        z = x @ n.floor(y * 4.0)
        return n.sum(z), n.sum(n.sin(z @ n.cos(z * 0.01) * 0.01) @ y, 0)

    return own(jk, f)(floats(rng, 7, 7)), own(jk, lambda x: n.sum(x @ n.floor(n.exp(x))))(floats(rng, 16, 16))


@program(
    "22",
    "What a branch or a body reads is alive until it is done.",
    against=[
        "what a body reads is dead in its loop",
        "a branch needs no memory of its own",
        "an equation lives by its first result",
        "a branch may write over what it reads",
    ],
)
def read_within(jk, rng):
    lax, n = jk.lax, jk.numpy

    def f(x, k):
        e = n.exp(-x)
        y = lax.fori_loop(0, k, lambda i, c: n.sin(c) * e, x * 2.0)
        d = n.exp(-y)
        return lax.cond(n.sum(y) < 1000.0, lambda c: n.cos(c) / n.sum(n.cos(c)) + d, lambda c: d, y) * n.sum(d)

    def turned(p, x):
        y = lax.cond(p, lambda e: e.T + 1.0, lambda e: e, n.exp(x))
        return y / n.sum(y)

    return [own(jk, f)(floats(rng, 20), k) for k in (3, 5)], own(jk, turned)(True, floats(rng, 9, 9))


@program(
    "22",
    "What is dead, or computed twice, in a branch or a body is dropped, too; a dead sum has no loop.",
    against=["programs within stay as they are", "within a program, what is dead is kept"],
)
def thin_within(jk, rng):
    lax, n = jk.lax, jk.numpy

    def branch(x):
        n.sum(n.cos(x))
        return n.sin(x) + n.sin(x) * 1.0

    f = own(jk, lambda p, x: lax.cond(p, branch, lambda x: x, x))
    g = own(jk, lambda x: lax.fori_loop(0, 3, lambda i, x: branch(x), x))
    x = floats(rng, 10)
    return behind(f, True, x, evaluations={"sin": 10, "cos": 0}), behind(g, x, evaluations={"sin": 30, "cos": 0})


@program(
    "22",
    "A decision: the branch that is not taken does not run, and both have loops of their own.",
    against=["both branches run", "the first branch may run", "a branch needs no memory of its own"],
)
def decision(jk, rng):
    n = jk.numpy

    def normed(x):
        e = n.exp(x)
        return e / n.sum(e) + n.max(e), n.max(x)

    def f(p, x):
        y = n.sin(x) * 2.0
        a, b = jk.lax.cond(p, normed, lambda x: (-n.cos(x), n.sum(x * x)), y)
        return a * b + y / n.sum(y)

    g, x = own(jk, f), floats(rng, 40)
    return behind(g, True, x, loops=9, evaluations={"exp": 40, "cos": 0}), behind(
        g, False, x, compiled=0, evaluations={"exp": 0, "cos": 40}
    )


@program(
    "22",
    "One of several branches runs, the last one for an index that is too large; branches may close over values, and return numbers.",
    against=["both branches run", "later branches write over what earlier ones wrote"],
)
def switch(jk, rng):
    c = jk.numpy.asarray(floats(rng, 3))
    branches = [lambda x: x + 1.0, lambda x: x * c, lambda x: x @ (x * c) * c]
    f = own(jk, lambda i, x: jk.lax.switch(i, branches, x))
    words = jk.numpy.sin, jk.numpy.cos, jk.numpy.exp, jk.numpy.log
    other = own(jk, lambda i, x: jk.lax.switch(i, words, x))
    counts = [{name: 5 * (at == min(i, 3)) for at, name in enumerate(("sin", "cos", "exp", "log"))} for i in range(5)]
    taken = [behind(other, i, floats(rng, 5), evaluations=counts[i]) for i in range(5)]
    g = own(jk, lambda x: (jk.lax.cond(True, lambda: x, lambda: -x), jk.lax.cond(x > 1, lambda: 1, lambda: 2)))
    return [f(i, floats(rng, 3)) for i in (0, 1, 2, 7)], g(1.5), g(0.5), taken


@program(
    "22",
    "A loop runs as long as its condition holds; it may run zero times.",
    against=["the condition comes after the body"],
)
def repetition(jk, rng):
    def f(limit, x):
        return jk.lax.while_loop(lambda c: jk.numpy.sum(c[1]) < limit, lambda c: (c[0] + 1, c[1] * 1.5), (0, x))

    g, x = own(jk, f), floats(rng, 5)
    return behind(g, 100.0, x, compiled=1, loops=3), behind(g, 1.0, x, compiled=0), behind(g, 1e6, x, compiled=0)


@program(
    "22",
    "The next carry is made of the whole one before it: two arrays that change places, powers of a matrix, small types.",
    against=["the carry changes while it is read", "each number of a carry has four bytes"],
)
def carry(jk, rng):
    n, x = jk.numpy, floats(rng, 4, 4)
    swap = own(jk, lambda x, y: jk.lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + c[1]), (x, y)))
    kept = jk.numpy.asarray(x)
    small = own(
        jk,
        lambda b, h, x: jk.lax.fori_loop(
            0, 2, lambda i, c: (c[0] + c[0], ~c[1], c[2] + n.sum(c[0]), c[3] * 2), (b, b > 1, x, h)
        ),
    )
    few = rng.integers(1, 9, 5).astype(np.int8), rng.integers(1, 9, (3, 3)).astype(np.int16)
    powers = own(jk, lambda k, x: jk.lax.fori_loop(0, k, lambda i, y: y @ x / n.max(y) + y.T * i, x))
    return swap(x[0], x[1]), [powers(k, kept) for k in (0, 1, 5)], kept, behind(small, *few, kept)


@program("22", "A thousand turns need no more memory than one.", against=["a reshape copies"])
def memory(jk, rng):
    def f(k, x):
        return jk.lax.fori_loop(0, k, lambda i, x: jk.numpy.exp(-x) / jk.numpy.sum(jk.numpy.exp(-x).reshape(10, 25)), x)

    g, x = own(jk, f), floats(rng, 250)
    return [behind(g, k, x, loops=5, memory=6 * 1024) for k in (1, 1000)]


@program(
    "22",
    "Loops and choices may contain each other, and stand before and after other loops.",
    against=["both branches run"],
)
def nested(jk, rng):
    lax, n = jk.lax, jk.numpy

    def smaller(j, x):
        return lax.cond(n.max(x) > j + 1.0, lambda x: x / 2.0, lambda x: x * x - n.sum(x) / 9.0, x)

    def f(x, c):
        y = lax.fori_loop(0, 3, lambda i, x: lax.fori_loop(0, i + 1, smaller, n.abs(x) + c), x.T)
        return n.sum(y, 0) * c, y

    return behind(own(jk, f), floats(rng, 3, 3), floats(rng, 3), compiled=1)


@program(
    "22",
    "An axis of size 1 may be anywhere, and come and go: `keepdims` of a cube, `None` in an index, and reshapes.",
    against=["the axes that are left are read from the last"],
)
def axes_of_one(jk, rng):
    n, y = jk.numpy, floats(rng, 2, 3, 4)
    cube = own(jk, lambda y: [y / f(y, a, keepdims=True) for f in (n.sum, n.max) for a in (0, 1, 2, (0, 2), -2)])
    ways = [(2, 1, 3, 4), (1, 2, 3, 1, 4), (2, 3, 4, 1), (1, 2, 1, 3, 1, 4, 1)]
    ones = own(
        jk,
        lambda y: [n.reshape(n.reshape(y, s) * 2.0, (2, 3, 4)) for s in ways] + [y[:, None] - y[None], y[:, :, None].T],
    )
    return cube(y), behind(ones, y), own(jk, lambda x: n.reshape(n.reshape(x, (1, 1)) + 1.0, ()))(2.5)


@program(
    "22",
    "Of a choice or a loop with several results one may be read, be it the last: the equation stays.",
    against=["an equation lives by its first result"],
)
def one_of_several(jk, rng):
    n, lax, x = jk.numpy, jk.lax, floats(rng, 4)
    fs = [
        lambda x, i: lax.cond(i > 0, lambda x: (x, n.sin(x)), lambda x: (-x, n.cos(x)), x)[1],
        lambda x, i: lax.switch(i, [lambda x: (x, x, -x), lambda x: (x, x, x * x)], x)[2],
        lambda x, i: lax.fori_loop(0, i, lambda k, c: (c[0] + 1.0, c[1], c[2] * c[0]), (x, x, x))[2],
        lambda x, i: lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[1] * 2.0), (0, x))[1],
    ]
    thinner = [optimised(jk, lambda x, i, f=f: f(x, i), x, np.int32(2), left=[])["result"] for f in fs]
    return thinner, [[own(jk, f)(x, i) for i in (0, 1)] for f in fs]


@program(
    "22",
    "What a branch or a turn returns may be one result twice, one operand twice, or a number; and what is returned may not be read.",
    against=["a result that is returned twice is stored once"],
)
def returned_twice(jk, rng):
    n, lax, x = jk.numpy, jk.lax, floats(rng, 4)
    twice = lambda x: (y := n.sin(x), y)
    fs = [
        lambda x, i: lax.cond(i > 0, twice, lambda x: (x, x), x),
        lambda x, i: lax.cond(i > 0, lambda: (x, 2.5, x, 1), lambda: (x * 2.0, 1.5, -x, i)),
        lambda x, i: lax.fori_loop(0, i, lambda k, c: twice(c[0] + c[1]), (x, x)),
        lambda x, i: lax.fori_loop(0, i, lambda k, c: (c[1], c[1], c[0], k), (x, -x, x * 0.5, 7)),
        lambda x, i: lax.switch(i, [lambda x: (*twice(x), x), lambda x: (x, *twice(-x)), lambda x: (x, x, x)], x)[:2],
    ]
    g = own(jk, lambda x, i: [f(x, i) for f in fs])
    return [g(x, i) for i in range(4)]


@program("22", "A scan over rows is refused by the name of what it needs; one without rows is a loop.")
def scans(jk, rng):
    f = own(jk, lambda xs: jk.lax.scan(lambda c, x: (c + x, None), 0.0, xs)[0])
    g = own(jk, lambda x: jk.lax.scan(lambda c, _: (c * 0.5 + 1.0, None), x, None, length=6)[0])
    return refused(f, floats(rng, 3), word="dynamic_slice", instead="scan"), g(floats(rng, 3))


@program(
    "22",
    "A product of truth values is one; a reshape turns no axes around, also where the sizes are those of a transpose.",
    against=["a reshape to the sizes of a transpose is one"],
)
def truths_and_sizes(jk, rng):
    n, b, c = jk.numpy, rng.integers(0, 2, (3, 4)) > 0, rng.integers(0, 2, (4, 3)) > 0
    x, y = floats(rng, 2, 3), floats(rng, 2, 3, 4)
    f = lambda x, y: (
        n.reshape(x, (3, 2)) * x.T,
        n.reshape(y, (4, 3, 2)) - y.T,
        n.reshape(y, (3, 1, 2, 4)),
        n.reshape(x, (1, 3, 2)),
    )
    g = lambda b, c: ((b @ c).astype(np.int32), (c @ b) * 2)
    return own(jk, g)(b, c), own(jk, f)(x, y)


# --- random loops -------------------------------------------------------------------------------------------------------
# A function is a string, such as `jk.lax.fori_loop(0, i, lambda k, c: c @ y * 0.25, x)`, which is the key of its result. x, y are square.

SMOOTH = (
    "n.sin({})", "n.exp(-n.abs({}))", "({}).T", "n.transpose({}) * y", "n.reshape(n.reshape({}, (-1, 1)), SHAPE)", "g({})",
    "n.sum({}, 1, keepdims=True) * x", "n.max({}, 0, keepdims=True) - y", "n.sum({}, 0) @ x * 0.25 - y", "-{}",
    "y @ n.sum({}, 1) * 0.25 + x",
    "jk.lax.cond(i > 1, lambda: {}, lambda: y)", "jk.lax.fori_loop(0, i, lambda k, c: c.T * 0.5 + y, {})",
    "jk.lax.scan(lambda c, _: (c @ y * 0.25, None), {}, None, length=2)[0]", "n.reshape(x, -1).T @ n.reshape({}, -1) * y * 0.1",
)  # fmt: skip
JOINED = (
    "{} + {}", "{} - {}", "{} * {}", "{} @ {} * 0.25", "n.dot({}, {}) * 0.25", "n.maximum({}, {})", "n.where(x > y, {}, {})",
    "jk.lax.cond(n.sum(x) > i * 1.0, lambda: {}, lambda: {})", "jk.lax.switch(i, [lambda: {}, lambda: x, lambda: {}])",
    "jk.lax.cond(i < 2, lambda a: a @ y * 0.25, lambda a: {}, {})", "jk.lax.fori_loop(0, i, lambda k, c: c * 0.5 + {}, {})",
    "jk.lax.fori_loop(0, 3, lambda k, c: (c[1], c[0].T * 0.5 + k), ({}, {}))[0]",
    "jk.lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[2], c[1] * 0.5), (0, {}, {}))[1]",
)  # fmt: skip


def computed(jk, rng, size, count, deep):
    """Return the results of functions of `count` of the templates, and of `deep` random ones, by their strings at several indices. They are
    one program, of square matrices.
    """
    n = jk.numpy
    names = {
        "n": n,
        "jk": jk,
        "g": jk.jit(lambda a: a * a * 0.5),
        "zero": n.zeros((size, size)),
        "ones": n.ones((size, size)),
    }
    every = (*SMOOTH, *JOINED)
    texts = [fill(every[at], lambda: pick(rng, "x", "x", "y")) for at in rng.permutation(len(every))[:count]]
    texts += [expression(rng, (SMOOTH, JOINED), 2) for _ in range(deep)]
    fs = {text: eval("lambda x, y, i: " + text.replace("SHAPE", f"({size}, {size})"), names) for text in texts}
    f = own(jk, lambda x, y, i: {text: f(x, y, i) for text, f in fs.items()})
    x, y = (rng.permutation(size * size).reshape(size, size).astype(np.float32) / size**2 for _ in range(2))
    return {f"size = {size}; i = {i}": behind(f, x, y, i, compiled=int(i == 0)) for i in (0, 1, 3)}


@program(
    "22",
    "Random functions of matrices are right: products, transposes, choices and loops in each other, every branch, no turns.",
    tolerance=1e-3,
)
def random_loops(jk, rng):
    return computed(jk, rng, int(rng.integers(2, 7)), 9, 1)


@program("22", "Many random functions of matrices are right.", hidden=True, tolerance=1e-3)
def many_random_loops(jk, rng):
    return [computed(jk, rng, size, 9, 3) for size in (1, 2, 3, 4, 5, 7)]


# A branch or a turn is a function of a, b, j and p: two matrices, an integer and a truth value. It returns four of the same types, drawn
# apart: some twice, some as they came, some in the place of others, and some numbers.

PARTS = (
    ("a", "b", "b", "a.T", "n.sin(b)", "n.sin(b)", "a * b", "b @ a * 0.1", "a - n.max(b)", "n.sum(a, 0, keepdims=True) * b * 0.1",
     "n.where(p, a, b)", "jk.lax.cond(p, lambda: (b, a), lambda: (a, a.T))[0]", "jk.lax.fori_loop(0, j, lambda k, c: c * 0.5 + a, b)"),
    ("a", "b", "a", "b.T", "n.sin(b)", "n.cos(a)", "b + j * 0.125", "n.zeros(SHAPE)", "a * n.max(n.sin(b))"),
    ("j", "j + 1", "j + j", "np.int32(2)", "0 - j", "n.sum(a > b)"),
    ("p", "~p", "j > 1", "n.max(a) > n.max(b)", "np.True_"),
)  # fmt: skip


def turn(rng):
    first, *rest = [pick(rng, *part) for part in PARTS]
    if rng.integers(2):
        rest[0] = first
    return f"lambda a, b, j, p: ({', '.join([first, *rest])})"


def flow(rng, kind):
    """Draw a choice or a loop of x, y, i and whether i > 1."""
    text = (
        f"jk.lax.cond(i > 1, {turn(rng)}, {turn(rng)}, x, y, i, i > 1)",
        f"jk.lax.fori_loop(0, i, lambda k, c: ({turn(rng)})(*c), (x, y, i, i > 1))",
        f"jk.lax.switch(i, [{turn(rng)}, {turn(rng)}, {turn(rng)}], x, y, i, i > 1)",
        f"jk.lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, ({turn(rng)})(*c[1])), (0, (x, y, i, i > 1)))[1]",
        f"jk.lax.fori_loop(0, 2, lambda k, c: ({turn(rng)})(*c), (x, x, 1, True))",
        f"jk.lax.scan(lambda c, _: (({turn(rng)})(*c), None), (y, x, i, i > 0), None, length=2)[0]",
    )[kind]
    return text + pick(rng, "", "", "[:2]", "[1:]")


def flows(jk, rng, count):
    """Return the results of random choices and loops by their strings, for several indices. They are one program. Several of
    one kind have the same operands.
    """
    size = int(rng.integers(1, 5))
    fs = {text: eval("lambda x, y, i: " + text.replace("SHAPE", f"({size}, {size})"), {"n": jk.numpy, "np": np, "jk": jk})
          for text in (flow(rng, at) for at in (0, 0, 1, 1, 2, 3, 4, 5)[:count])}  # fmt: skip
    f = own(jk, lambda x, y, i: {text: f(x, y, i) for text, f in fs.items()})
    x, y = (rng.permutation(size * size).reshape(size, size).astype(np.float32) / size**2 for _ in range(2))
    return {f"size = {size}; i = {i}": behind(f, x, y, i, compiled=int(i == 0)) for i in (0, 1, 2, 3)}


@program(
    "22",
    "Random branches and turns return several results: operands, numbers, one result twice, one operand in another's place.",
    against=["a result that is returned twice is stored once", "choices of the same operands are the same"],
    tolerance=1e-3,
)
def random_branches(jk, rng):
    return flows(jk, rng, 6)


@program("22", "Many random branches and turns return several results.", hidden=True, tolerance=1e-3)
def many_random_branches(jk, rng):
    return [flows(jk, rng, 8) for _ in range(3)]
