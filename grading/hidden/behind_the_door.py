"""Programs that learners do not see, of the rungs behind the door: what the pages of these rungs ask, asked in other words."""

import numpy as np
from behind import behind, optimised, own
from climbing import program


def floats(rng, *shape):
    return rng.uniform(0.3, 1.5, shape).astype(np.float32)


@program(
    "19", "Four axes, of which each operand has some; integers, floats and truth values in one program.", hidden=True
)
def four_axes(jk, rng):
    n = jk.numpy
    f = own(jk, lambda x, i, b: (n.where(b, x * i, n.tanh(x) - 1.0), i * i, ~b))
    i = rng.integers(-5, 5, (4, 1)).astype(np.int16)
    return behind(f, floats(rng, 2, 1, 4, 3), i, rng.integers(0, 2, (3, 1, 1)).astype(bool), loops=3)


@program("19", "A long chain, with calls in calls, as a part of a program for XLA.", hidden=True)
def long_chain(jk, rng):
    g = jk.jit(lambda x: jk.numpy.sin(x) + 0.5)

    def f(x, y):
        for _ in range(40):
            x = g(g(x)) * y
        return x, y - x

    x, y = floats(rng, 7), floats(rng, 1)
    return own(jk, f)(x, y), jk.jit(lambda x: own(jk, f)(x, x)[0] * 2.0)(x)


@program("20", "Equal sides of a program, in other orders; what only one of several results needs.", hidden=True)
def sides(jk, rng):
    def f(x, y):
        a, b = jk.numpy.exp(x) - y, jk.numpy.exp(x * 1) - (y - 0)
        jk.numpy.sin(a) + jk.numpy.log(b)
        return a * b, jk.numpy.sqrt(a * b)

    return optimised(jk, f, floats(rng, 3) + 2, floats(rng, 3), left=["exp", "sub", "mul", "sqrt"])


@program("20", "Integers, and numbers that meet: what is left computes the same to the bit.", hidden=True)
def integers(jk, rng):
    i = rng.integers(-9, 9, 4).astype(np.int32)
    return optimised(
        jk, lambda i: ((i + 0) * 1 - 0, (i + 1) * (i * 1 + 2), i * 3), i, left=["add", "add", "mul", "mul"]
    )


@program("21", "Columns that are standardised again and again: the memory of a few of them.", hidden=True)
def columns(jk, rng):
    n = jk.numpy

    def f(x):
        for _ in range(6):
            e = n.tanh(x - n.mean(x, 0))
            x = e / (n.max(e, 0) + 2.0) + n.sum(e * e, 0)
        return x

    return behind(own(jk, f), floats(rng, 8, 16), memory=5 * 512 + 1024, evaluations={"tanh": 6 * 128})


@program("21", "Reductions along one axis after the other, of what is needed at the end.", hidden=True)
def one_after_the_other(jk, rng):
    def f(x):
        e = jk.numpy.exp(x)
        a = jk.numpy.sum(e, 2)
        b = jk.numpy.max(a, 0)
        return a / b, jk.numpy.sum(b), e, jk.numpy.sum(a / b)

    return behind(own(jk, f), floats(rng, 3, 4, 5), evaluations={"exp": 60}, loops=5)


@program("22", "Attention for a batch: products, rows that are normed, and shapes between them.", hidden=True)
def attention(jk, rng):
    n = jk.numpy

    def f(x, w):
        q = n.transpose(n.reshape(x @ w, (5, 2, 4)), (1, 0, 2))
        scores = q @ n.transpose(q, (0, 2, 1)) / 2.0
        e = n.exp(scores - n.max(scores, 2, keepdims=True))
        return n.reshape(n.transpose(e @ q / n.sum(e, 2, keepdims=True), (1, 0, 2)), (5, 8)), n.sum(e)

    return behind(own(jk, f), floats(rng, 5, 8), floats(rng, 8, 8), evaluations={"exp": 50}, loops=12)


@program("22", "The largest eigenvalue, as long as it takes, with a decision in each turn.", hidden=True)
def eigenvalue(jk, rng):
    lax, n = jk.lax, jk.numpy

    def f(a, v):
        def turn(state):
            i, v, _, new = state
            w = a @ v
            w = lax.cond(n.max(w) > 10.0, lambda w: w / n.max(w), lambda w: w, w)
            return i + 1, w, new, n.sum(w * (a @ w)) / n.sum(w * w)

        return lax.while_loop(lambda s: (s[0] < 60) & (n.abs(s[2] - s[3]) > 1e-3), turn, (0, v, 0.0, 1.0))[1:]

    a = floats(rng, 6, 6)
    v, _, new = own(jk, f)(a + a.T, floats(rng, 6))
    return v / n.max(v), new


@program("23", "A sigmoid by tanh and one by exp, the logarithm of a sum, and what they do far from 0.", hidden=True)
def sigmoids(jk, rng):
    n = jk.numpy

    def f(x):
        m = n.max(x)
        return 0.5 * (n.tanh(0.5 * x) + 1.0), 1.0 / (1.0 + n.exp(-x)), n.log(n.sum(n.exp(x - m))) + m

    x = floats(rng, 30)
    return behind(own(jk, f), x, without=("exp", "tanh")), own(jk, f)(x * 200.0), own(jk, f)(-x * 200.0)


@program("23", "Exponentials in a repetition, of whole numbers, and of nan.", hidden=True)
def repeated(jk, rng):
    n = jk.numpy
    f = own(jk, lambda x: jk.lax.fori_loop(0, 5, lambda i, x: n.tanh(x) + n.exp(-x * x) * i, x))
    x = floats(rng, 6)
    x[2] = np.nan
    return f(x), own(jk, lambda i: (n.exp(i), n.tanh(i)))(np.int32([-2, 0, 1, 3])), own(jk, lambda x: x == x)(x)
