"""Programs whose primitives the tables of other tests do not have: control flow, random numbers, order."""

from __future__ import annotations

import numpy as np

import jitkit
import jitkit.nn
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.custom_derivatives import linear_call
from jitkit.lax.creation import empty_like_aval
from jitkit.lax.elementwise import one_minus_square
from jitkit.signature.shape_struct import ShapeDtypeStruct

X = ShapeDtypeStruct((8, 8), np.float32)
N = ShapeDtypeStruct((), np.int32)
SEED = ShapeDtypeStruct((), np.uint32)


def branches(x, i):
    return lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * lax.cond(i > 1, lambda: 2.0, lambda: 3.0)], x)


def loops(x, n):
    x = lax.while_loop(lambda c: c[1] < n, lambda c: (jnp.tanh(c[0]), c[1] + 1), (x, 0))[0]
    return lax.fori_loop(0, 3, lambda i, y: y + i, x)


def scans(x):
    carry, ys = lax.scan(lambda c, row: (c + row, jnp.sin(c)), x[0], x)
    return carry, ys, lax.map(jnp.sum, x)


def nested(x):
    inner = jitkit.jit(lambda x: jnp.exp(x))
    return inner(x) + inner(x + 1)


def random_numbers(seed, x):
    random = jitkit.random
    a, b, c = random.split(random.key(seed), 3)
    d = random.fold_in(a, 7)
    return (
        random.normal(a, x.shape) + x,
        random.uniform(b, (3,)),
        random.randint(c, (4,), 0, 10),
        random.bits(d, (5,)),
        random.permutation(d, x),
        random.key_data(random.clone(d)),
        random.categorical(d, x),
    )


def old_keys(seed):
    key = jitkit.random.PRNGKey(seed)
    return jitkit.random.normal(key, (3, 3)), jitkit.random.split(key)


def gamma(seed, a):
    return jitkit.random.gamma(jitkit.random.key(seed), a)


@jitkit.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))


def windows(x):
    sides = (2, 2), (1, 1), "VALID"
    smallest = lax.reduce_window(x, np.float32(np.inf), lax.min, *sides)
    largest = lax.reduce_window(x, np.float32(-np.inf), lax.max, *sides)
    product = lax.reduce_window(x, np.float32(1), lambda a, b: a * b + 0, *sides)
    return smallest, largest, lax.reduce_window(x, np.float32(0), lax.add, *sides), product


def largest(x):
    """Return the largest numbers of windows, as networks pool. TPUs have no derivative for windows along the last two axes."""
    x = x.reshape(*x.shape, 1, 1)
    return lax.reduce_window(x, np.float32(-np.inf), lax.max, (2, 2, 1, 1), (1, 1, 1, 1), "VALID")


@jitkit.custom_batching.custom_vmap
def tripled(x):
    return 3 * x


tripled.def_vmap(lambda axis_size, in_batched, x: (3 * x, in_batched[0]))


def systems(x):
    """Return the solution of a diagonal system. It needs no LAPACK, which only the CPU has."""
    diagonal = jnp.exp(x)
    return lax.custom_linear_solve(
        lambda v: v * diagonal, x, lambda matvec, b: b / diagonal, lambda matvec, b: b / diagonal
    )


def incomplete(x):
    a = jnp.exp(x)
    return lax.igamma(a, a), lax.igammac(a, a), lax.igamma_grad_a(a, a), lax.betainc(a, a, jnp.sin(x) ** 2)


def kept_by_name(x):
    keep = jitkit.checkpoint_policies.save_only_these_names("a")
    return jitkit.checkpoint(lambda x: jnp.sin(jitkit.ad_checkpoint.checkpoint_name(jnp.sin(x), "a")), policy=keep)(x)


@jitkit.custom_vjp
def sine(x):
    return jnp.sin(x)


sine.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda cos_x, g: (cos_x * g,), optimize_remat=True)


def computed_before_a_loop(x):
    def loop(x):
        return lax.scan(lambda c, row: (jnp.sin(c) * row, None), x[0], x)[0].sum()

    return jitkit.grad(jitkit.checkpoint(loop))(x)


def kept_unread(x):
    """Return x + 1, after an equation without results that dead-code elimination must keep."""
    lax.dce_sink(x)
    return x + 1


def two_rows(x):
    """Return the solution of a tridiagonal system of two rows. For more rows, a GPU needs a routine that JAX's package for CUDA brings."""
    rows = jnp.ravel(x)[:6].reshape(3, 2)
    return lax.linalg.tridiagonal_solve(*rows, rows.T)


SAMPLES = {
    "branches": (branches, X, N),
    "loops": (loops, X, N),
    "scans": (scans, X),
    "calls": (nested, X),
    "a function with a derivative of its own": (jitkit.nn.relu, X),
    "an order": (lambda x: lax.optimization_barrier((x, x + 1)), X),
    "random numbers": (random_numbers, SEED, X),
    "gamma": (gamma, SEED, X),
    "values tied": (lambda x: lax.tie_p.bind(x, x + 1), X),
    "random numbers from old keys": (old_keys, SEED),
    "what is computed again for its derivative": (jitkit.checkpoint(jnp.sin), X),
    "a rule that may give way to its function": (lambda x: jitkit.vjp(sine, x)[1](x), X),
    "a function with a rule for its cotangents": (doubled, X),
    "cotangents that meet": (jitkit.grad(lambda x: jnp.sum(jnp.sin(x) * x)), X),
    "windows": (windows, X),
    "a logarithm of its own": (lambda x: lax.log2(x), X),
    "no elements yet": (lambda x: x + empty_like_aval(x.aval), X),
    "where windows have their maxima": (jitkit.jacfwd(largest), X),
    "and the way back": (jitkit.grad(lambda x: largest(x).sum()), X),
    "frequencies": (lambda x: jnp.fft.fft(x).real, X),
    "a function with a rule for batches": (tripled, X),
    "a system of equations": (systems, X),
    "two rows of three diagonals": (two_rows, X),
    "integrals": (incomplete, X),
    "what is kept by its name": (kept_by_name, X),
    "what is computed before a loop": (computed_before_a_loop, X),
    "1 - x * x": (lambda x: one_minus_square(x), X),
    "a function that is linear": (lambda x: linear_call(lambda r, x: x * r, lambda r, ct: ct * r, 3.0, x), X),
    "another place": (lambda x: jitkit.device_put(x) + 1, X),
    "a program for each platform": (lambda x: lax.platform_dependent(x, tpu=jnp.sin, default=jnp.cos), X),
    "XLA's own random numbers": (lambda key: lax.rng_bit_generator(key, (3,)), ShapeDtypeStruct((4,), np.uint32)),
    "random numbers without a key": (lambda x: x + lax.rng_uniform(np.float32(0), np.float32(1), X.shape), X),
    "what is kept though nobody reads it": (kept_unread, X),
}
