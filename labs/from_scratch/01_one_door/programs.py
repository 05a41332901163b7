"""Rung 01: operations that go through one door."""

import numpy as np
from climbing import program, raised


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program("01", "Functions of one array compute what numpy computes, number by number.")
def unary(jk, rng):
    x = floats(rng, 4)
    return [
        getattr(jk.numpy, name)(x) for name in ("sin", "cos", "tanh", "exp", "log", "sqrt", "negative", "abs")
    ]


@program(
    "01",
    "`add`, `subtract`, `multiply` and `divide` take two arrays.",
    against=["the second operand comes first"],
)
def binary(jk, rng):
    x, y = floats(rng, 3), floats(rng, 3)
    return [
        getattr(jk.numpy, name)(x, y)
        for name in ("add", "subtract", "multiply", "divide", "maximum", "power")
    ]


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
    return result, isinstance(result, np.ndarray)


@program("01", "Comparisons give arrays of truth values; an Array with one of them is one.")
def comparisons(jk, rng):
    x, y = jk.numpy.asarray(floats(rng, 5)), jk.numpy.asarray(floats(rng, 5))
    small = jk.numpy.asarray(floats(rng)) < 100.0
    return [x < y, x >= y, x == x, x != y, "yes" if small else "no"]


@program("01", "64 bits become 32, as everywhere in JAX.", against=["float64 stays float64"])
def narrow(jk, rng):
    x, n = rng.uniform(0, 1, 3), rng.integers(0, 9, 3)
    return [jk.numpy.asarray(x), jk.numpy.sin(x), jk.numpy.add(n, n)]


@program(
    "01",
    "An Array does not change when the numpy array does that it was made of.",
    against=["an Array shares the memory of its maker"],
)
def no_alias(jk, rng):
    x = floats(rng, 3)
    y = jk.numpy.array(x)
    x[0] = 100.0
    return y


@program("01", "What is no array and no number is refused with a TypeError.")
def refused(jk, rng):
    return [raised(jk.numpy.sin, "three"), raised(jk.numpy.add, {}, 1.0)]
