"""The programs that the exercise of lab 00 must run like the reference."""

from __future__ import annotations

import numpy as np

from jitkit.kata.checking import check, of_mended, random_programs, run_by_numpy


@check(
    "00.1",
    "What is negative becomes 0, everything else stays.",
    against=[
        "relu takes away the sign",
        "a little of what is negative stays",
        "what is negative is left out",
        "an array can be written to",
        "`maximum` returns the largest element of an array",
        "relu is smooth at 0",
    ],
)
def values(jk, rng):
    return jk.nn.relu(rng.normal(size=(5, 4)).astype("float32"))


@check(
    "00.1",
    "It can be traced: then x has a shape and a dtype, and no numbers.",
    against=["numpy's functions work on traced values", "Python's max works on arrays"],
)
def traced(jk, rng):
    x = rng.normal(size=(int(rng.integers(2, 9)), 3)).astype("float32")
    out = jk.eval_shape(jk.nn.relu, x)
    return out.shape, out.dtype.name, run_by_numpy(jk.make_jaxpr(jk.nn.relu)(x), x)


@check("00.1", "A single number works like an array.", against=["`if x > 0` works on traced values"])
def one_number(jk, rng):
    x = rng.normal(size=4).astype("float32")
    return [jk.nn.relu(number) for number in x]


@check(
    "00.1",
    "The larger one of -inf and 0 is 0, and inf stays. nan is not negative, so it stays, too.",
    against=[
        "half of the sum with the absolute value",
        "x minus its negative part is 0 wherever x is negative",
        "nan becomes 0, since it is not positive",
        "multiplying by a mask of zeros makes anything 0",
    ],
)
def infinities(jk, rng):
    x = rng.permutation(np.array([np.inf, -np.inf, np.nan, 0.0, *rng.normal(size=3)], np.float32))
    return jk.nn.relu(x), jk.nn.relu(x.astype("float16"))


@check("00.1", "Integers stay integers.", against=["0 and 0.0 are the same"])
def integers(jk, rng):
    return jk.nn.relu(rng.integers(-9, 9, size=5).astype("int32"))


@check("00.1", "Random programs, new ones at each save.", drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_mended.activation, 8, graded=40, by_numpy=False)
