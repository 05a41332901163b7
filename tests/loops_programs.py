"""Random programs of elementwise operations, reductions, moves of indices and loops, for the backend in C."""

from __future__ import annotations

import numpy as np

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import lax

UNARY = (
    jnp.sin, jnp.tanh, jnp.exp, lambda x: jnp.log(jnp.abs(x) + 1), jnp.abs, lambda x: x * x, jnp.negative, jk.nn.relu, jk.nn.sigmoid,
    lambda x: jnp.where(x > 0, x, 0.5 * x), jnp.floor, jnp.sign, lambda x: jnp.sqrt(jnp.abs(x)), lambda x: jnp.clip(x, -1, 1), jnp.arctan,
    lambda x: (x > 0).astype(x.dtype), lambda x: jnp.round(x * 3).astype(jnp.int32).astype(x.dtype), jnp.expm1, jnp.cosh,
)  # fmt: skip
BINARY = (jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum, lambda x, y: x / (jnp.abs(y) + 1), jnp.arctan2)
REDUCE = (
    jnp.sum,
    jnp.max,
    jnp.min,
    jnp.mean,
    lambda x, axis: jnp.prod(jnp.tanh(x), axis=axis),
    jnp.argmax,
    jnp.argmin,
    jnp.any,
)
CUMULATIVE = (jnp.cumsum, lax.cummax, lambda x, axis: lax.cumsum(x, axis=axis, reverse=True))


def tame(x):
    """Return x as float32, clipped to [-3, 3], so that any operation accepts it next."""
    return jnp.clip(x.astype(jnp.float32), -3.0, 3.0)


def moved(rng, x):
    """Return an array that a random operation makes of x by moving elements: transpose, flip, reshape, slice, pad, concatenate, update."""
    n = x.ndim
    axis = int(rng.integers(n)) if n else 0
    which = rng.integers(10)
    if n == 0:
        return jnp.broadcast_to(x, (3,))
    if which == 0:
        return jnp.transpose(x, tuple(int(a) for a in rng.permutation(n)))
    if which == 1:
        return jnp.flip(x, axis)
    if which == 2:
        return x.reshape(-1)
    if which == 3:
        return jnp.expand_dims(x, axis)
    if which == 4 and x.shape[axis] > 1:
        start, step = int(rng.integers(x.shape[axis])), int(rng.integers(1, 3))
        return lax.slice_in_dim(x, start, x.shape[axis], step, axis)
    if which == 5:
        config = [
            (int(rng.integers(0 if size == 1 else -1, 3)), int(rng.integers(0, 3)), int(rng.integers(2)))
            for size in x.shape
        ]
        return lax.pad(x, jnp.float32(0.5), config)
    if which == 6:
        return jnp.concatenate([x, x * 2], axis)
    if which == 7:
        return jnp.stack([x, -x], axis)
    if which == 8:
        return lax.dynamic_slice_in_dim(x, jnp.int32(int(rng.integers(-2, 3))), max(x.shape[axis] - 1, 1), axis)
    update = lax.slice_in_dim(x, 0, max(x.shape[axis] - 1, 1), 1, axis) * 3
    return lax.dynamic_update_slice_in_dim(x, update, jnp.int32(int(rng.integers(-2, 3))), axis)


def looped(rng, x):
    """Return the result of a random loop or branch that begins with x."""
    which = rng.integers(5)
    if which == 0:
        return lax.fori_loop(0, int(rng.integers(4)), lambda i, c: jnp.tanh(c) + i * 0.1, x)
    if which == 1:
        return lax.cond(jnp.sum(x) > 0, lambda x: x * 2, lambda x: jnp.sin(x), x)
    if which == 2:
        return lax.while_loop(
            lambda c: (c[0] < 5) & (jnp.max(jnp.abs(c[1]), initial=0) < 2), lambda c: (c[0] + 1, c[1] * 1.3), (0, x)
        )[1]
    if which == 3 and x.ndim:
        carry, rows = lax.scan(lambda c, row: (c * 0.5 + row, jnp.sum(row) + c), x[0], x, reverse=bool(rng.integers(2)))
        return rows + carry
    last, rows = lax.scan(lambda c, _: (jnp.cos(c), c), x, None, length=3)
    return rows[1:] - last


def program(seed):
    """Return a random function of two arrays, and its arguments; they depend on the seed alone."""
    shapes = ((), (5,), (3, 4), (2, 3, 4), (4, 1), (17,), (1, 33), (40, 24))
    start = np.random.default_rng(seed)
    shape = shapes[start.integers(len(shapes))]
    args = [start.standard_normal(shape).astype(np.float32), start.standard_normal(shape).astype(np.float32)]

    def f(x, y):
        rng = np.random.default_rng(seed + 1)  # so that each trace draws the same program
        pool = [x, y]
        for _ in range(int(rng.integers(3, 14))):
            x = pool[rng.integers(len(pool))]
            kind = rng.integers(12)
            if kind < 4:
                out = UNARY[rng.integers(len(UNARY))](x)
            elif kind < 7:
                alike = [y for y in pool if y.shape == x.shape]
                out = BINARY[rng.integers(len(BINARY))](x, alike[rng.integers(len(alike))])
            elif kind == 7 and x.ndim and x.size:
                axis = int(rng.integers(x.ndim))
                reduce = REDUCE[rng.integers(len(REDUCE))]
                keep = tame(reduce(x, axis=axis))
                out = jnp.expand_dims(keep, axis) * x if rng.integers(2) else keep
            elif kind == 8:
                out = moved(rng, x)
            elif kind == 9 and x.ndim and x.size:
                out = CUMULATIVE[rng.integers(len(CUMULATIVE))](x, axis=int(rng.integers(x.ndim)))
            elif kind == 10 and x.ndim >= 2:
                out = jnp.einsum("...ij,...kj->...ik", x, x)
            elif kind == 11:
                out = looped(rng, x)
            else:
                out = jnp.sum(x) + x
            pool.append(tame(out))
        return tuple(pool[2:][-3:])

    return f, args
