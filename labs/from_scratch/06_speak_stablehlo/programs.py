"""Rung 06: `lower(f, *args)`."""

import numpy as np
from climbing import program, text


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


@program("06", "Broadcasting is written out.", against=["XLA broadcasts"])
def broadcasting(jk, rng):
    return text(
        jk, lambda x, y, z: [x + y, y * z, z - x, x * 2.0], floats(rng, 3), floats(rng, 2, 3), floats(rng, 2, 1)
    )


@program(
    "06", "Numbers are written without losing a digit: 0.1, 1e-30, infinity.", against=["%f is enough for a float"]
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


@program("06", "Each operation again, for integers, half floats and truth values.")
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
