"""Rung 16: `grad` and `value_and_grad`."""

import numpy as np
from climbing import counted, program, raised


def floats(rng, *shape):
    return rng.uniform(0.3, 1.5, shape).astype(np.float32)


@program("16", "The derivative of a number by an array has the array's shape.")
def simple(jk, rng):
    return jk.grad(lambda x: (jk.numpy.sin(x) * 2.0).sum())(floats(rng, 3)), jk.grad(jk.numpy.tanh)(
        float(rng.uniform())
    )


@program(
    "16", "What is used twice gets two cotangents, which add up.", against=["at a fan-out the last cotangent wins"]
)
def fan_out(jk, rng):
    def f(x):
        y = x * 2.0
        return (y * y + jk.numpy.exp(y) + y).sum()

    return jk.grad(f)(floats(rng, 3))


@program("16", "Each operation, backward.", against=["a division's cotangent is multiplied"])
def operations(jk, rng):
    jnp = jk.numpy
    fs = [
        lambda x: jnp.sum(jnp.sin(x) / (x + 1.0)), lambda x: jnp.sum(-x + 3.0 - x), lambda x: jnp.sum(jnp.sqrt(x) * jnp.log(x)),
        lambda x: jnp.sum(x**3), lambda x: jnp.sum(jnp.maximum(x, 0.9)), lambda x: jnp.max(x), lambda x: jnp.mean(jnp.abs(x)),
        lambda x: jnp.sum(jnp.where(x > 0.9, x * x, jnp.exp(x))),
    ]  # fmt: skip
    return [jk.grad(f)(floats(rng, 2, 3)) for f in fs]


@program("16", "What was broadcast is summed.", against=["a cotangent has the shape of the result"])
def broadcasting(jk, rng):
    f = lambda x, y, c: jk.numpy.sum(x[:, None] * y + c)
    return jk.grad(f, argnums=(0, 1, 2))(floats(rng, 3), floats(rng, 4), 2.0)


@program(
    "16",
    "Products of matrices, by both, and of batches of them; shapes, windows; axes in any order.",
    against=["the transpose of `@` is `@`", "a permutation is its own inverse"],
)
def matrices(jk, rng):
    jnp = jk.numpy
    f = lambda a, b, v: jnp.sum(jnp.tanh(a @ b) @ v) + v @ v + jnp.sum(a.T[1:] * 2.0) + jnp.sum((v * v)[1:])
    m, n = floats(rng, 5, 2, 3), floats(rng, 5, 3, 4)
    batches = lambda m, n: jnp.sum(jnp.sin(jnp.asarray(m) @ n)) + jnp.sum(jnp.asarray(m)[1] @ n[0])
    turned = lambda m: jnp.sum(jnp.transpose(m, (1, 2, 0)) * jnp.asarray(floats(np.random.default_rng(1), 2, 3, 5)))
    return [
        jk.grad(f, argnums=(0, 1, 2))(floats(rng, 3, 4), floats(rng, 4, 2), floats(rng, 2)),
        jk.grad(batches, argnums=(0, 1))(jnp.asarray(m), jnp.asarray(n)),
        jk.grad(turned)(m),
    ]


@program("16", "Trees of parameters; the value beside the derivative; something else beside both.")
def trees(jk, rng):
    def loss(p, x):
        y = jk.numpy.tanh(x @ p["w"] + p["b"])
        return (y * y).sum(), {"y": y}

    p = {"w": floats(rng, 3, 2), "b": floats(rng, 2)}
    x = floats(rng, 4, 3)
    return jk.value_and_grad(loss, has_aux=True)(p, x), jk.grad(loss, has_aux=True)(p, x)


@program("16", "What does not matter has the derivative zero.", against=["what does not matter has no derivative"])
def zeros(jk, rng):
    return jk.grad(lambda x, y: (x * x).sum(), argnums=(0, 1))(floats(rng, 2), floats(rng, 3)), jk.grad(lambda x: 2.0)(
        1.0
    )


@program("16", "Of a jitted function, and jitted: one program.")
def jitted(jk, rng):
    f = jk.jit(lambda x: (jk.numpy.sin(x) * x).sum())
    x = floats(rng, 3)
    return jk.grad(lambda x: f(x) * f(2.0 * x))(x), counted(jk.jit(jk.grad(f)), x, compiled=1, executed=1)


@program("16", "Of choices: the side that was taken.", against=["both sides have a derivative"])
def choices(jk, rng):
    f = lambda x: jk.lax.cond(x[0] > 1.0, lambda x: (x * x).sum(), lambda x: jk.numpy.exp(x).sum() * x[0], x)
    x = floats(rng, 3)
    return [g(y) for g in (jk.grad(f), jk.jit(jk.grad(f))) for y in (x, x + 1.0)]


@program("16", "Of scans: from the last turn to the first.", against=["the backward loop runs forward"])
def scans(jk, rng):
    def f(w, xs):
        h, ys = jk.lax.scan(lambda h, x: (jk.numpy.tanh(w @ h + x), (h * h).sum()), xs[0] * 0.0, xs)
        return h.sum() + (ys * ys).sum()

    w, xs = floats(rng, 3, 3), floats(rng, 5, 3)
    g = jk.grad(f, argnums=(0, 1))
    return g(w, xs), jk.jit(g)(w, xs), jk.grad(lambda x: jk.lax.fori_loop(0, 3, lambda i, c: c * x, x))(1.2)


@program("16", "Of scans in which it takes some turns until all of the carry matters, and a body that is jitted.")
def late(jk, rng):
    g = jk.jit(lambda c, r: (c[1], c[2] * r, jk.numpy.sin(r) + c[0]))

    def f(x, c):
        (a, b, _), ys = jk.lax.scan(lambda c, r: (g(c, r), c[0]), (c, 1.0, c * 2.0), x)
        return a * b + (ys * ys).sum()

    args = floats(rng, 5), float(rng.uniform(0.5, 1.5))
    return jk.grad(f)(*args), jk.grad(f, argnums=(0, 1))(*args), jk.jit(jk.grad(f))(*args)


@program(
    "16",
    "A while loop is refused: nobody knows how many turns to remember. ValueError.",
    against=["a while loop has the derivative zero"],
)
def refused(jk, rng):
    return raised(jk.grad(lambda x: jk.lax.while_loop(lambda c: c < 9.0, lambda c: c * x, x)), 1.5)


@program("16", "The derivative of the derivative.")
def twice(jk, rng):
    x = floats(rng, 3)
    return jk.grad(jk.grad(jk.numpy.sin))(1.0), jk.grad(
        lambda x: (jk.grad(lambda x: (jk.numpy.exp(x) * x).sum())(x) * x).sum()
    )(x)


@program(
    "16", "An integer has no derivative, and an array is no loss: TypeErrors.", against=["an array is summed by itself"]
)
def wrong(jk, rng):
    return raised(jk.grad(lambda n: n * 2), 3), raised(jk.grad(lambda x: x * 2.0), floats(rng, 3))
