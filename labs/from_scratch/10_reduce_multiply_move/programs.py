"""Rung 10: sums, products, shapes."""

import re

import numpy as np
from climbing import program, raised
from drawing import fitting, pick, told, written


def floats(rng, *shape):
    return rng.uniform(-2.0, 2.0, shape).astype(np.float32)


def both(jk, f, *args):
    """Return the results of f twice: run eagerly, and compiled."""
    return f(*args), jk.jit(f)(*args)


@program(
    "10",
    "Sums go over all axes, one or several; axes may count from the end, or be kept.",
    against=["a negative axis is not an axis"],
)
def sums(jk, rng):
    s = jk.numpy.sum
    return both(
        jk,
        lambda x: [s(x), s(x, axis=0), s(x, axis=-1), s(x, axis=(0, 2)), s(x, axis=1, keepdims=True), x.sum()],
        floats(rng, 2, 3, 4),
    )


@program(
    "10", "`max` and `min`: the maximum of negative numbers is negative.", against=["every reduction begins with zero"]
)
def maxima(jk, rng):
    m = jk.numpy.max
    return both(
        jk,
        lambda x: [
            m(x),
            m(x, axis=1),
            m(x, axis=0, keepdims=True),
            x.max(),
            jk.numpy.min(x),
            jk.numpy.min(-x, axis=-1),
            jk.numpy.min(x, axis=0, keepdims=True),
        ],
        jk.numpy.asarray(-1.0 - abs(floats(rng, 3, 4))),
    )


@program("10", "Sums of integers are integers; a mean is a float; truth values are counted.")
def kinds(jk, rng):
    n, b = rng.integers(-9, 9, 5).astype(np.int32), rng.uniform(size=5) > 0.5
    return both(jk, lambda n, b: [jk.numpy.sum(n), jk.numpy.mean(n), jk.numpy.sum(b), jk.numpy.max(n)], n, b)


@program(
    "10",
    "`@` multiplies matrices, a matrix and a vector, two vectors, and batches of matrices.",
    against=["the right matrix is transposed"],
)
def products(jk, rng):
    a, b, v = floats(rng, 3, 4), floats(rng, 4, 2), floats(rng, 4)
    many = floats(rng, 5, 3, 4), floats(rng, 5, 4, 2)
    f = lambda a, b, v, m, n: [a @ b, a @ v, v @ b, v @ v, jk.numpy.matmul(m, n), jk.numpy.dot(a, b)]
    return both(jk, f, *map(jk.numpy.asarray, (a, b, v, *many)))


@program("10", "Matrices that do not fit are a TypeError while tracing.")
def wrong_product(jk, rng):
    return raised(jk.make_jaxpr(jk.numpy.matmul), floats(rng, 2, 3), floats(rng, 2, 3))


@program(
    "10",
    "`reshape` takes -1 for the size that is left over; a wrong size is a TypeError.",
    against=["-1 is one", "-1 is the last", "a wrong size is found when the program runs"],
)
def reshaped(jk, rng):
    r = jk.numpy.reshape
    x = floats(rng, 2, 6)
    return both(
        jk,
        lambda x: [
            r(x, (3, 4)),
            r(x, (4, -1)),
            r(x, (-1, 3)),
            r(x, (2, -1, 3)),
            r(x, -1),
            x.reshape(12),
            x.reshape(1, 12),
        ],
        jk.numpy.asarray(x),
    ), [raised(g, jk.numpy.asarray(x)) for f in [lambda x: r(x, (5, 5))] for g in (f, jk.make_jaxpr(f))]


@program("10", "`transpose` reverses all axes, or takes them in the given order.", against=["a transpose is a reshape"])
def transposed(jk, rng):
    t = jk.numpy.transpose
    return both(jk, lambda x: [t(x), t(x, (1, 2, 0)), x.T], jk.numpy.asarray(floats(rng, 2, 3, 4)))


@program(
    "10",
    "`where` takes the second operand where the first is true; it broadcasts and promotes.",
    against=["`where` takes the first operand when the condition is false", "a predicate belongs to the first axis"],
)
def chosen(jk, rng):
    w = jk.numpy.where
    return both(
        jk,
        lambda x, y: [
            w(x > 0, x, y),
            w(x > 0, x, 0.0),
            w(x > y, 1, 2),
            w(x[0] > 0, x, -x),
            w(x > 0, y * x[:, None], 0.0),
        ],
        *map(jk.numpy.asarray, (floats(rng, 4), floats(rng, 4))),
    )


@program(
    "10",
    "Indices and slices may count from the end; None makes an axis.",
    against=["-1 is an index before the beginning"],
)
def indexed(jk, rng):
    f = lambda x: [x[1], x[-1], x[0, 2], x[:, 1:3], x[-2:, 0], x[None, 0], x[:, -1], x[1:1]]
    return both(jk, f, jk.numpy.asarray(floats(rng, 3, 4)))


@program(
    "10",
    "An index may be data: a negative one counts from the end, and one out of range is clamped.",
    against=["a traced index is refused", "a traced index does not count from the end"],
)
def dynamic(jk, rng):
    i = np.int32(rng.integers(0, 2))
    x, i = map(jk.numpy.asarray, (floats(rng, 4, 2), i))
    return both(jk, lambda x, i: [x[i], x[i, 1], x[-1 - i]], x, i), jk.jit(lambda x, i: x[i + 7])(x, i)


@program("10", "`zeros`, `ones`, `full`, `arange` and `broadcast_to` give what numpy's give, 64 bits aside.")
def made(jk, rng):
    jnp = jk.numpy
    f = lambda x: [
        jnp.zeros((2, 3)) + x,
        jnp.ones(3) * x,
        jnp.arange(3) + x,
        jnp.zeros_like(x),
        jnp.full((2, 3), 7.0),
        jnp.broadcast_to(x, (4, 2, 3)),
    ]
    return both(jk, f, jnp.asarray(floats(rng, 2, 3)))


@program("10", "A layer of a network uses these functions together.")
def layer(jk, rng):
    f = lambda w, b, x: jk.numpy.maximum(x @ w + b, 0.0).sum(axis=0)
    return both(jk, f, *map(jk.numpy.asarray, (floats(rng, 4, 3), floats(rng, 3), floats(rng, 5, 4))))


@program(
    "10",
    "Reductions are right for every dtype, over one axis, several or none, with `keepdims` or without, also of empty arrays.",
    against=["every reduction begins with zero", "a maximum of truth values begins with True"],
)
def every_reduction(jk, rng):
    jnp = jk.numpy
    x, n = jnp.asarray(-1.0 - abs(floats(rng, 2, 3, 4))), jnp.asarray(rng.integers(-9, -1, (2, 3)).astype(np.int32))
    axes, empty = [None, 0, 1, -1, (0, 2), (-1, 0), ()], jnp.zeros((0, 2))
    shapes = lambda f: [[f(x, axis=a), f(x, axis=a, keepdims=True)] for a in axes] + [f(x[:1], axis=0), f(x[0, 0, 0])]
    kinds = lambda f, x, n, e: [f(n), f(n, axis=0), f(e, axis=1), f(x, axis=(0, -1)), f(x, axis=1, keepdims=True)]
    every = {"sum": jnp.sum, "max": jnp.max, "min": jnp.min, "mean": jnp.mean}
    compiled = jk.jit(lambda *args: {name: kinds(f, *args) for name, f in every.items()})
    return {
        "at once": {name: [shapes(f), kinds(f, x, n, empty)] for name, f in every.items()},
        "compiled": compiled(x, n, empty),
        "truth values": [jnp.sum(x > -2.0), jnp.mean(x > -2.0), jnp.sum(x > -2.0, axis=0)],
        "the greatest truth value": jk.jit(lambda x: [jnp.max(x > 0), jnp.max(x > -2.0, axis=0)])(x),
        "nothing": [jnp.sum(empty), jnp.sum(empty, axis=0), jnp.sum(empty > 0)],
    }


@program("10", "New arrays have the right dtype: integer, float, the given one, or that of another array.",
         against=["an array full of truth values is one of numbers", "`full` is for numbers"])  # fmt: skip
def dtypes_made(jk, rng):
    jnp, n, h = jk.numpy, np.array([1, 2], np.int32), np.array([1, 2], np.float16)
    made = [
        jnp.arange(3), jnp.arange(2, 5), jnp.arange(1, 9, 3), jnp.arange(0.0, 1.0, 0.25), jnp.zeros(2), jnp.ones((1, 2)),
        jnp.zeros(2, np.int32), jnp.ones(2, np.float16), jnp.zeros_like(n), jnp.zeros_like(h), jnp.full((2,), 7),
        jnp.full(2, 7.5), jnp.full((2, 1), 3, np.float16), jnp.zeros((0, 3)), jnp.arange(0),
        jnp.full((2,), True), jnp.full(1, np.int8(2)), jnp.full((2, 2), n), jnp.full((1, 2), h > 1), jnp.full(2, False, np.float32),
    ]  # fmt: skip
    return made, jnp.full((2,), 7.5) * h, jnp.zeros(2) * h


@program("10", "`dot` is not `matmul`: with more than two axes it takes all rows with all columns.",
         against=["`dot` is `@`"])  # fmt: skip
def dots(jk, rng):
    a, b, v = floats(rng, 2, 3, 4), floats(rng, 2, 4, 5), floats(rng, 4)
    f = lambda a, b, v: [
        jk.numpy.dot(a, b),
        jk.numpy.dot(a, v),
        jk.numpy.dot(v, b),
        jk.numpy.dot(v, v),
        a @ b,
        a @ v,
        v @ b,
    ]
    return both(jk, f, *map(jk.numpy.asarray, (a, b, v)))


@program(
    "10",
    "`where` takes numbers, half floats and Python numbers, and broadcasts all three operands; of two "
    "weak operands the result is weak.",
)
def every_where(jk, rng):
    w, h = jk.numpy.where, floats(rng, 3).astype(np.float16)
    f = lambda x, n, h: [
        w(n, x, 0.0),
        w(x[:, None] > 0, x, n),
        w(n > 1, n, x),
        w(n > 1, 1, 2.5) * h,
        w(True, h, 2),
        w(x > 0, x[0], h),
    ]
    return both(jk, f, *map(jk.numpy.asarray, (floats(rng, 3), rng.integers(0, 3, 3).astype(np.int32), h)))


@program("10", "An index must be an integer (TypeError), and a vector has only one axis (IndexError).")
def wrong_index(jk, rng):
    x = jk.numpy.asarray(floats(rng, 3))
    return raised(lambda: x[1.0]), raised(lambda: x[0, 0]), raised(jk.jit(lambda x: x[0, 1]), x)


@program(
    "10",
    "Whole numbers stay whole: nothing is added to a sum, a mean, a maximum or a product.",
    against=["a mean needs a little"],
    tolerance=1e-9,
)
def whole_numbers(jk, rng):
    n = jk.numpy
    x, y = (rng.integers(1, 9, (4, 4)).astype(np.float32) for _ in range(2))
    f = lambda x, y: [
        [n.sum(x), n.sum(x, 0), n.mean(x), n.mean(x, 1), n.max(x), n.max(-x, 1, keepdims=True)],
        [n.dot(x, y), x @ y[0], n.where(x > y, x, y), x[1:, 2], x.reshape(2, 8).T, x.sum() - x.mean() * 16.0],
    ]
    x, y = n.asarray(x), n.asarray(y)
    return f(x, y), jk.jit(f)(x, y)


@program(
    "10",
    "Half floats stay half floats, in sums, means, products and maxima; a nan is the result wherever it is.",
    against=[
        "a sum of half floats is a float32",
        "the mean of half floats is a float32",
        "a nan is less than a number",
    ],
)
def halves_and_nans(jk, rng):
    n, h = jk.numpy, jk.numpy.asarray(rng.integers(1, 9, (2, 3)).astype(np.float16))
    f = lambda h: [[g(h), g(h, axis=0), g(h, axis=1, keepdims=True)] for g in (n.sum, n.max, n.min, n.mean)] + [h @ h.T]
    x = n.asarray(np.float32([[1, np.nan, 3], [4, 5, -np.inf]]))
    return both(jk, f, h), both(jk, lambda x: [g(x, axis=1) for g in (n.max, n.min, n.sum)] + [n.max(x), n.min(x)], x)


@program(
    "10",
    "Indices beyond the ends are clamped, known or traced; slices beyond the ends take what is there.",
    against=["an index goes round", "an index far below 0 counts again", "an index out of range is an error",
             "a slice beyond the end is an error"],
)  # fmt: skip
def beyond(jk, rng):
    x = jk.numpy.asarray(floats(rng, 4, 3))
    known, numbers = [9, -9, 4, -5, 3, -4], np.int32([9, -9, 4, -5, 3, -4])
    rows = [x[i] for i in known] + [x[1, i] for i in known] + [x[np.int32(i)] for i in known]
    traced = jk.jit(lambda x, ns: [[x[i], x[i, i], x[1:, i]] for i in ns])(x, list(numbers))
    return rows, traced, both(jk, lambda x: [x[1:9], x[-9:2], x[2:1], x[-2:-1], x[:, -9:], x[7:9], x[:-1, 1:][0]], x)


@program(
    "10",
    "Conversions: to integers digits are cut off, to truth values only 0 is false; a strong dtype stays strong.",
    against=["`astype` rounds", "0.5 is false"],
)
def converted(jk, rng):
    x = jk.numpy.asarray(np.float32([2.75, -2.75, 0.5, -0.5, 0.0]) + np.float32([rng.uniform(0, 0.2), 0, 0, 0, 0]))
    n = jk.numpy.asarray(np.int32([3, 0, -2]))
    dtypes = [np.int32, np.float16, bool, np.float32, int, float]
    f = lambda x, n: [[a.astype(d) for d in dtypes] for a in (x, n, x > 0)]
    return both(jk, f, x, n), [(jk.numpy.asarray(2.0) * 1).astype(np.float32) * n.astype(np.float16), x.size, n.size]


@program(
    "10",
    "One truth value chooses between arrays of other shapes; a matrix goes with each matrix of a batch; zeros are like truth values, too.",
    against=["one predicate chooses an array as it is", "a matrix and a batch are paired by rows",
             "zeros are numbers", "`arange` has its start's dtype", "`min` is `-max(-x)`"],
)  # fmt: skip
def mixed(jk, rng):
    n, a, many = jk.numpy, floats(rng, 2, 2), floats(rng, 2, 2, 2)
    f = lambda p, a, m: [
        n.where(p, 1.0, a), n.where(p, a, 0.0), n.where(p, a[0], m), n.where(p, 1, 2), a @ m, m @ a, m @ m[0, 0], a[1] @ m,
    ]  # fmt: skip
    least = np.int32([-(2**31), 5]), np.array([True, False]), np.array([True, True])
    made = [
        n.zeros_like(least[1]),
        n.zeros_like(np.float16(1)),
        n.arange(0, 1, 0.25),
        n.arange(5, 0, -2),
        n.arange(0, 5, 2),
    ]
    chosen = [both(jk, f, *map(n.asarray, (p, a, many))) for p in (True, False)]
    return chosen, made, [both(jk, lambda x: (n.min(x), n.min(x, axis=0), n.max(x)), n.asarray(x)) for x in least]


@program(
    "10",
    "A vector's `T` is the vector; `dot` takes numbers; axes of a `transpose` may be negative; integers, slices and None in any order.",
    against=[
        "a vector's T is a column",
        "`dot` is for axes only",
        "the axes of a transpose are not negative",
        "slices behind an integer are turned",
        "a vector goes along the columns",
        "(1, -1, n) is (1, n, -1) turned",
    ],
)
def in_any_order(jk, rng):
    n, x, v, i = jk.numpy, floats(rng, 2, 3, 4), floats(rng, 3), np.int32(rng.integers(2))
    f = lambda x, v, i: [
        [v.T, n.transpose(v), n.dot(v, 2.0), n.dot(2.0, x), n.dot(v[0], v[1]), n.transpose(x, (-1, 0, 1)), n.transpose(x, (0, -1, -2))],
        [x[0, :, 1:], x[i, :, 1:], x[:, i, None, 2], x[None, i, 1:, None, -1], x[:, 1:, i], x[1:, None, i, :, None], x[i, 1:, i]],
        [n.where(n.arange(3), v, 0.0), n.sum(x > 0, axis=1), n.mean(x > 0, axis=(0, 2)), n.reshape(x[0], (-1, 2)), n.sum(x[:0]),
         n.dot(v, x[0][:, :3]), n.reshape(x[0], (1, -1, 2))],
    ]  # fmt: skip
    return both(jk, f, *map(n.asarray, (x, v, i)))


@program(
    "10",
    "Sums, maxima and minima are right for the lowest and the greatest numbers of each dtype, for equal ones and for infinities.",
    against=["the lowest float is finite"],
)
def extremes(jk, rng):
    n, b = jk.numpy, np.array([True, False])
    ends = [np.finfo(np.float32).max, np.inf, np.finfo(np.float16).max, np.float16(np.inf), np.int32(2**31 - 1), b[0]]
    lowest = [-x if isinstance(x, float | np.floating) else b[1] if x is b[0] else ~x for x in ends]
    rows = [np.full((2, 2), x, np.float32 if type(x) is float else None) for x in (*ends, *lowest)]
    f = lambda rows: [[n.max(x), n.min(x), n.max(x, axis=0), n.min(x, axis=1, keepdims=True)] for x in rows]
    g = lambda rows: [[n.sum(x), n.sum(x, axis=0)] for x in rows if x.dtype != np.float16]
    given = [*map(n.asarray, rows)]
    return both(jk, f, given), both(jk, g, given)


@program(
    "10",
    "Python numbers that are moved or multiplied stay weak; results of sums, maxima and means are strong.",
    against=["zeros like a number are strong", "a sum of numbers is weak"],
)
def weak_or_strong(jk, rng):
    n, h, small = jk.numpy, np.ones(1, np.float16), np.ones(1, np.int8)
    moved = lambda x: [
        x[None], x.reshape(1), n.broadcast_to(x, (1, 2))[0, 1:], n.full(1, x), n.zeros_like(x)[None], n.where(x > 0, x, 0)[None],
        n.transpose(n.full((1, 1), x))[0], n.full(3, x)[1:2], n.full(3, x)[2][None], n.dot(x, 2)[None], n.full((1, 2), x) @ n.full(2, x),
        n.dot(n.full((1, 2), x), n.full(2, x)), n.asarray(x)[None], x.T[None],
    ]  # fmt: skip
    reduced = lambda x: [
        f(x)[None]
        for f in (n.sum, n.max, n.min, n.mean, lambda x: x.sum(), lambda x: x.max(), lambda x: n.max(n.full(2, x)))
    ]
    f = lambda x: [[y * h, y * small] for y in moved(x) + reduced(x)]
    numbers = [n.asarray(x) for x in (2, 1.5)]
    python = [f(2.5)[None] * h for f in (n.sum, n.max, n.min, n.mean, n.zeros_like)]
    return [both(jk, f, x) for x in numbers], python


REFUSED = (  # texts, which are the keys of their results: an index of another kind, an axis that is not there, what does not fit
    "x[1.0]", "x[f]", "x[f16, 0]", "x[0, f]", "x[np.float32(1)]", "x[0, 0, 0]", "x[None, 0, None, 0, 0]", "x[:, :, :]", "x[None, 0, 0, 0]",
    "x[0][0][0]", "f[0]", "f[:]", "x.reshape(5, -1)", "x.reshape(-1, 4)", "n.reshape(x, (-1, 24))", "n.reshape(x, 13)", "n.reshape(x, ())",
    "x.reshape(3, 3)", "n.reshape(f, 2)", "x @ x", "x @ y", "y @ x", "n.dot(x, x)", "n.dot(x, y)", "n.dot(y, x[:, :1])",
    "n.matmul(y, y[:1])",
    "x.T @ y[:1]", "y[:1] @ x", "n.matmul(x[None], x)",
)  # fmt: skip


@program(
    "10",
    "These are refused, at once and while tracing: floats as indices, too many indices, wrong sizes (also "
    "beside a -1), matrices that do not fit.",
    against=["-1 fits always", "a traced float is cut to an index"],
)
def refused(jk, rng):
    n = jk.numpy
    given = [n.asarray(x) for x in (floats(rng, 3, 2), floats(rng, 3), np.float32(1), np.float16(1))]
    fs = {t: eval(f"lambda x, y, f, f16: {t}", {"n": n, "np": np}) for t in REFUSED}
    return {t: [raised(g, *given) for g in (f, jk.jit(f))] for t, f in fs.items()}


# --- random calls ---------------------------------------------------------------------------------------------------------
# A call is a string, such as `n.sum(x, axis=(0, -1))`, which is the key of its result, with its operands x, y, p and i.

SIZES = [1, 2, 2, 3, 3, 3]  # axes often have one size: then only the numbers tell which axis is which


def shape_of(rng, *ranks):
    return tuple(map(int, rng.choice(SIZES, int(rng.choice(ranks)))))


def either(rng, axis, rank):
    """Return an axis, counted from the front or from the end."""
    return axis - rank * int(rng.integers(2))


def reduction(rng):
    x = shape_of(rng, 1, 2, 3, 3)
    axes = [either(rng, int(a), len(x)) for a in rng.permutation(len(x))]
    axis = pick(rng, None, axes[0], axes[0], tuple(axes[:2]), tuple(axes[:2]), tuple(axes), ())
    kept = pick(rng, "", "", ", keepdims=True")
    return f"n.{pick(rng, 'sum', 'max', 'min', 'mean')}(x, axis={axis}{kept})", {"x": x}


def choice(rng):
    shape = shape_of(rng, 1, 2, 3)
    p, y = pick(rng, "p", "p", "p", "x", "i", "True", "p > 0"), pick(rng, "y", "y", "0.0", "2", "i")
    call = f"n.where({p}, x, {y})" if rng.integers(2) else f"n.where({p}, {y}, x)"
    return call, {"x": pick(rng, shape, fitting(rng, shape)), "y": fitting(rng, shape), "p": fitting(rng, shape)}


def new_shape(rng):
    x = shape_of(rng, 2, 2, 3)
    size = int(np.prod(x))
    rows = pick(rng, *[d for d in range(2, size) if size % d == 0] or [size])
    shape = pick(rng, (rows, size // rows), (rows, -1), (-1, rows), (1, -1, rows), (-1, 1, rows), -1, (rows, 1, -1))
    return pick(rng, f"n.reshape(x, {shape})", f"x.reshape({shape})", f"x.T.reshape({shape})"), {"x": x}


def transposition(rng):
    x = shape_of(rng, 2, 3, 3, 4)
    axes = tuple(either(rng, int(a), len(x)) for a in rng.permutation(len(x)))
    return pick(rng, f"n.transpose(x, {axes})", f"n.transpose(x, {axes})", "x.T", "n.transpose(x)"), {"x": x}


def broadcasting(rng):
    n = pick(rng, 2, 3)
    shape, x = pick(
        rng,
        ((n, n), (n,)),
        ((n, n), (n, 1)),
        ((n, n, n), pick(rng, (n, n), (n, 1, n), (n,))),
        (shape_of(rng, 2, 3), None),
    )
    x = fitting(rng, shape) if x is None else x
    return pick(rng, f"n.broadcast_to(x, {shape})", f"n.broadcast_to(x, {shape})", f"x + n.zeros({shape})"), {"x": x}


def creation(rng):
    shape = shape_of(rng, 1, 2, 2, 3)
    x, dtype = fitting(rng, shape), pick(rng, "", "", ", np.float16", ", np.int32")
    return pick(
        rng,
        (f"n.full({shape}, x{dtype})", {"x": x}),
        (f"n.full({shape}, x{dtype})", {"x": x}),
        (f"n.full({shape}, {pick(rng, '2', '-1.5', 'True', 'x[0]')}{dtype})", {"x": (2,)}),
        (f"n.zeros_like({pick(rng, 'x', 'i', 'p')})", {"x": x, "p": x}),
        (f"x + y * n.{pick(rng, 'ones', 'zeros')}({shape}{dtype})", {"x": x, "y": fitting(rng, shape)}),
        (f"n.arange({pick(rng, '4', '1, 5', '5, 0, -2', '0, 7, 3', '0.0, 1.0, 0.25', '-1, 2')})", {}),
    )


def at(rng, size):
    """Draw one part of an index: an integer, known or traced, or a slice. Numbers are Python's or numpy's."""
    number = lambda: pick(
        rng, "", str(int(rng.integers(-size - 2, size + 3))), f"np.int32({int(rng.integers(-size, size + 1))})"
    )
    return pick(rng, number() or "0", "i", "-1 - i", f"{number()}:{number()}", f"{number()}:{number()}", ":")


def indexing(rng):
    x = shape_of(rng, 1, 2, 3, 3)
    parts = [at(rng, n) for n in x[: int(rng.integers(1, len(x) + 1))]]
    for _ in range(int(rng.integers(2))):
        parts.insert(int(rng.integers(len(parts) + 1)), "None")
    return f"x[{', '.join(parts)}]", {"x": x}


def product(rng):
    a, b, c = pick(rng, (3, 3, 3), (2, 2, 2), tuple(map(int, rng.choice([2, 3], 3))))
    many = shape_of(rng, 1, 2)
    x, y = pick(rng, ((a, b), (b, c)), ((b,), (b, c)), ((a, b), (b,)), ((b,), (b,)), ((*many, a, b), (*many, b, c)),
                ((*many, a, b), (b, c)), ((a, b), (*many, b, c)), ((*many, a, b), (b,)), ((b,), (*many, b, c)))  # fmt: skip
    return pick(
        rng, "x @ y", "n.matmul(x, y)", "n.dot(x, y)", "n.dot(x, y)", "y.T @ x.T" if len(x) == len(y) == 2 else "x @ y"
    ), {"x": x, "y": y}


def conversion(rng):
    return f"{pick(rng, 'x', 'i', 'p')}.astype({pick(rng, 'np.int32', 'bool', 'np.float16', 'float', 'int')})", {
        "x": shape_of(rng, 0, 1, 2)
    }


KINDS = [reduction, reduction, choice, choice, new_shape, transposition, broadcasting, creation, indexing, indexing, product, product,
         conversion]  # fmt: skip


def nested(rng, text):
    """Return an expression, or another one around it that takes results of any shape."""
    return pick(
        rng,
        "{}",
        "{}",
        "n.sum({}, axis=())",
        "({}).T",
        "n.reshape({}, -1)",
        "n.where(n.max(p) > 0, {}, 1)",
        "({})[None]",
    ).format(text)


TRUTHS = bool, bool, np.float32, np.int32, np.float16, np.uint8
SOME = np.float32, np.float32, np.float32, np.int32, np.float16, np.int8, np.uint16
ANY = *SOME, np.uint8, bool, np.int16


def numbers(rng, name, shape, kind_of_call):
    """Return an operand of a dtype drawn by chance. Some of its numbers are negative, and one may be nan or infinite."""
    found = rng.permutation(int(np.prod(shape))).reshape(shape) - 2
    kind = pick(rng, *(TRUTHS if name == "p" else SOME if kind_of_call is product else ANY))
    found = abs(found) if np.dtype(kind).kind == "u" else found
    if np.dtype(kind).kind == "f" and kind_of_call not in (product, creation, conversion) and not rng.integers(6):
        return np.where(found == found.max(), pick(rng, np.nan, np.inf, -np.inf), found).astype(kind)
    return (found * pick(rng, 1, 0.5)).astype(kind)


def drawn(rng, count):
    """Draw calls, each as a string and a dict of its operands."""
    for turn in range(count):
        text, shapes = KINDS[turn % len(KINDS)](rng)
        shapes = {"x": (2,), "y": (2,), "p": (1,)} | shapes
        yield (
            nested(rng, text),
            {name: numbers(rng, name, shape, KINDS[turn % len(KINDS)]) for name, shape in shapes.items()}
            | {"i": np.int32(rng.integers(-4, 4))},
        )


def results(jk, rng, count, compiled):
    """Return the results of random calls by their strings: all computed eagerly, and `compiled` of them also by one program."""
    found, functions, operands = {}, {}, {}
    for text, arrays in drawn(rng, count):
        f = eval(f"lambda x, y, p, i: {text}", {"n": jk.numpy, "np": np})
        given = [jk.numpy.asarray(arrays[name]) for name in ("x", "y", "p", "i")]
        key = "; ".join([*(written(name, a) for name, a in arrays.items() if re.search(rf"\b{name}\b", text)), text])
        found[key] = raised(f, *given)
        if len(functions) < compiled:
            functions[key], operands[key] = f, given
    at_once = jk.jit(lambda operands: {key: functions[key](*given) for key, given in operands.items()})
    return found, told(jk, at_once(operands))


@program(
    "10",
    "Random calls of each of these functions give numpy's results, for random axes, bounds and dtypes, and axes of equal size.",
    against=[
        "a predicate is true where it is positive",
        "`full` is for numbers",
        "a vector is a column if the matrix is square",
        "bounds of slices are Python's",
    ],
    tolerance=1e-3,
)
def random_calls(jk, rng):
    return results(jk, rng, 130, 26)


@program("10", "Hundreds of random calls give numpy's results.", hidden=True, tolerance=1e-3)
def many_random_calls(jk, rng):
    return results(jk, rng, 200, 26)
