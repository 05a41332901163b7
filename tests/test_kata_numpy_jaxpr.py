"""A jaxpr run by numpy computes what it computes when it is compiled."""

from __future__ import annotations

import numpy as np

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.kata.engine.numpy_jaxpr import run_by_numpy


def everything(x, n):
    """Return a result that uses each kind of operation in the labs' programs."""

    def step(c, r):
        c = lax.cond(c > 0.5, lambda c: jnp.tanh(c) - r.sum(), lambda c: c * 2 + r[0], c)
        return c, (r * c, c > 0)

    c, (ys, signs) = lax.scan(step, 0.25, x, reverse=True)
    i, d = lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.5), (0, lax.stop_gradient(c)))
    products = lax.dot_general(x, ys, (((1,), (1,)), ((0,), (0,))))
    padded = lax.pad(x, 0.5, [(1, -1, 1), (-1, 2, 0)]) + lax.iota("float32", 4)
    x = jitkit.checkpoint(lambda x: jnp.sin(x) * x)(x)
    joined = jnp.concatenate([x.T @ ys, jnp.where(x[:2, :2] > 0, 1.0, d) @ x[:2]], 0)
    sums = [padded.sum(0), joined.max(0), joined.min(1), jnp.exp(x).prod(), (x**3).sum(0)]
    return sums, products, signs, i, jitkit.jit(lambda x: x[None, ::2])(x), x.argmax(0)


def test_numpy_and_xla_agree_on_every_kind_of_operation_forward_and_back():
    x, n = np.random.default_rng(0).normal(size=(3, 3)).astype("float32"), np.int32(3)

    def with_gradient(x, n):
        loss = jitkit.grad(lambda x: sum(jnp.sum(jnp.sin(y)) for y in everything(x, 3)[0]))
        return everything(x, n), loss(x)

    program = jitkit.make_jaxpr(with_gradient)(x, n)
    found = run_by_numpy(program, x, n)
    assert [(y.shape, y.dtype) for y in found] == [(a.shape, a.dtype) for a in program.out_avals]
    for one, other in zip(found, jitkit.tree.leaves(jitkit.jit(with_gradient)(x, n)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_shifts_roundings_and_parts_of_complex_numbers_are_those_of_xla():
    rng = np.random.default_rng(1)
    calls = [
        (shift, rng.integers(0, 255, 40).astype(kind), (np.arange(40) - 3).astype(kind))
        for kind in ("int8", "uint8", "int32", "uint32")
        for shift in (lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic)
    ]
    x = np.float32([0.5, 1.5, -0.5, -2.5, 0.49999997, np.nan, -np.inf, 3.2, 8388609.0])
    calls += [(lambda x, way=way: lax.round(x, way), x) for way in lax.RoundingMethod]
    calls += [(part, np.complex64([1 + 2j, -3j])) for part in (lax.real, lax.imag)]
    for function, *arguments in calls:
        [found] = run_by_numpy(jitkit.make_jaxpr(function)(*arguments), *arguments)
        np.testing.assert_array_equal(found, function(*arguments))


def test_what_is_not_in_the_table_is_compiled():
    x = np.float32([1, 4])
    [found] = run_by_numpy(jitkit.make_jaxpr(lax.rsqrt)(x), x)
    np.testing.assert_allclose(found, [1, 0.5], rtol=1e-6)
