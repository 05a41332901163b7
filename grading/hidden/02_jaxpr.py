"""The checks of lab 02 that are used in grading only."""

from __future__ import annotations

from jitkit.kata.checking import check


@check("02.4", "A longer program computes what it computed before.", hidden=True)
def a_longer_program(jk, rng):
    x = rng.normal(size=(4,)).astype("float32")

    def f(x):
        for i in range(20):
            x = jk.numpy.where(x > i / 20, x - 0.5, x * 1.5)
        return x, x[0]

    program = jk.make_jaxpr(f)(x)
    return jk.jaxpr.eval_jaxpr(program, program.consts, x)
