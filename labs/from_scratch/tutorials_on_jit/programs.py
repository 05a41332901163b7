"""The programs with which tutorials introduce `jit`, as they are typed there: none of them is asked for by a rung."""

import numpy as np
from climbing import program


def floats(rng, *shape):
    return rng.normal(0.0, 1.0, shape).astype(np.float32)


@program("tutorials", "log2, which appends its argument to a global list: one tracer.")
def log2(jk, rng):
    seen = []

    def f(x):
        seen.append(x)
        return jk.numpy.log(x) / jk.numpy.log(2.0)

    return jk.jit(f)(float(rng.uniform(1, 9))), len(seen)


@program("tutorials", "A branch on the number of dimensions.")
def rank(jk, rng):
    f = jk.jit(lambda x: jk.numpy.log(x) if x.ndim == 2 else x)
    return f(abs(floats(rng, 2, 2))), f(floats(rng, 3))


@program("tutorials", "SELU.")
def selu(jk, rng):
    def f(x, alpha=1.67, lambda_=1.05):
        return lambda_ * jk.numpy.where(x > 0, x, alpha * jk.numpy.exp(x) - alpha)

    return jk.jit(f)(floats(rng, 1000))


@program("tutorials", "A loop whose number of turns is a static argument.")
def power(jk, rng):
    def g(x, n):
        i = 0
        while i < n:
            i += 1
            x = x * 1.5
        return x + n

    return jk.jit(g, static_argnames=["n"])(floats(rng, 2), n=int(rng.integers(2, 6)))


@program("tutorials", "`cond` and `while_loop` where Python's own would need a number.")
def structured(jk, rng):
    f = jk.jit(lambda x: jk.lax.cond(x > 0, lambda x: x, lambda x: -x, x))
    g = jk.jit(lambda x, n: jk.lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] * 1.5, c[1] + 1), (x, 0))[0])
    return f(-2.0), g(10.0, int(rng.integers(2, 6)))


@program("tutorials", "Each column of a matrix minus its mean, divided by its standard deviation.")
def normalised(jk, rng):
    def norm(x):
        x = x - x.mean(axis=0)
        return x / jk.numpy.sqrt((x * x).mean(axis=0))

    return jk.jit(norm)(jk.numpy.asarray(floats(rng, 50, 4)))


@program("tutorials", "A predictor, its derivative, and that for each example.")
def predictor(jk, rng):
    predict = lambda w, x: jk.numpy.tanh(jk.numpy.dot(x, w))
    loss = lambda w, x, y: (predict(w, x) - y) ** 2
    w, xs, ys = map(jk.numpy.asarray, (floats(rng, 3), floats(rng, 5, 3), floats(rng, 5)))
    return jk.grad(loss)(w, xs[0], ys[0]), jk.jit(jk.vmap(jk.grad(loss), in_axes=(None, 0, 0)))(w, xs, ys)


@program("tutorials", "Linear regression by gradient descent, a step at a time.")
def regression(jk, rng):
    xs = floats(rng, 40)
    ys = (3.0 * xs - 1.0).astype(np.float32)

    @jk.jit
    def update(theta, x, y, rate=0.1):
        loss = lambda theta: jk.numpy.mean((theta[0] * x + theta[1] - y) ** 2)
        return theta - rate * jk.grad(loss)(theta)

    theta = jk.numpy.array(np.ones(2, np.float32))
    for _ in range(50):
        theta = update(theta, xs, ys)
    return theta
