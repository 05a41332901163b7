"""Programs of the ladder that are used in grading only: random functions, drawn anew for each seed."""

import numpy as np
from climbing import program


def vectors(jk, rng):
    return [jk.numpy.asarray(rng.uniform(0.3, 1.5, 3).astype(np.float32)) for _ in range(2)]


NEW = "Functions that nobody wrote before: others for each seed."
STEPS = [  # the first rung, the last rung, and how the step makes one vector of three numbers from two
    (10, 17, lambda jk, x, y: jk.numpy.sin(x) * y),
    (10, 17, lambda jk, x, y: x - y.sum()),
    (10, 17, lambda jk, x, y: jk.numpy.where(x > 0.9, x, y * 0.5)),
    (10, 17, lambda jk, x, y: jk.numpy.dot(x, y) * x),
    (10, 17, lambda jk, x, y: jk.numpy.max(x) + y[0] * jk.numpy.tanh(x)),
    (11, 17, lambda jk, x, y: jk.jit(lambda a: a * y + a)(x)),
    (12, 17, lambda jk, x, y: jk.lax.cond(x.sum() > 1.0, lambda a, b: a * 2.0 + b, lambda a, b: a - b, x, y)),
    (13, 13, lambda jk, x, y: jk.lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 0.5 + y, c[1] + 1), (x, 0))[0]),
    (14, 17, lambda jk, x, y: jk.lax.scan(lambda c, r: (c * 0.5 + r, c - r), x.sum(), y)[1]),
    (14, 17, lambda jk, x, y: jk.lax.scan(lambda c, r: (c + r * x, c.sum() * r), y, x)[0]),
]


def drawn(jk, rng, rung, count=6):
    """Yield `count` random functions of two vectors, of one to five steps, each with two vectors to call it on. A step's result may be
    used twice, or not at all.
    """
    known = [step for first, last, step in STEPS if first <= rung <= last]
    for turn in range(count):
        plan = [
            (known[int(rng.integers(len(known)))], *map(int, rng.integers(2 + n, size=2)))
            for n in range(int(rng.integers(1, 6)))
        ]
        plan[-1] = (known[-1 - turn % 2], *plan[-1][1:])  # what the rung is about
        other = int(rng.integers(2 + len(plan)))

        def f(x, y, plan=plan, other=other):
            values = [x, y]
            for step, i, j in plan:
                values.append(step(jk, values[i], values[j]))
            return values[-1], values[other]

        yield f, vectors(jk, rng)


def all_drawn(jk, rng, rung):
    return [jk.jit(f)(*xs) for f, xs in drawn(jk, rng, rung)]


@program("10", NEW, hidden=True, tolerance=1e-3)
def drawn_of_arrays(jk, rng):
    return [(f(*xs), jk.jit(f)(*xs)) for f, xs in drawn(jk, rng, 10)]


@program("11", NEW, hidden=True, tolerance=1e-3)
def drawn_with_calls(jk, rng):
    return all_drawn(jk, rng, 11)


@program("12", NEW, hidden=True, tolerance=1e-3)
def drawn_with_choices(jk, rng):
    return all_drawn(jk, rng, 12)


@program("13", NEW, hidden=True, tolerance=1e-3)
def drawn_with_loops(jk, rng):
    return all_drawn(jk, rng, 13)


@program("14", NEW, hidden=True, tolerance=1e-3)
def drawn_with_scans(jk, rng):
    return all_drawn(jk, rng, 14)


@program("15", NEW, hidden=True, tolerance=1e-3)
def drawn_forward(jk, rng):
    return [jk.jit(lambda x, y, f=f: jk.jvp(f, (x, y), (y, x)))(*xs) for f, xs in drawn(jk, rng, 15)]


@program("16", NEW, hidden=True, tolerance=1e-3)
def drawn_backward(jk, rng):
    gradient = lambda f: jk.grad(lambda x, y: f(x, y)[0].sum(), argnums=(0, 1))
    return [jk.jit(gradient(f))(*xs) for f, xs in drawn(jk, rng, 16)]


@program("17", NEW, hidden=True, tolerance=1e-3)
def drawn_in_batches(jk, rng):
    batches = lambda f, x, y: jk.vmap(lambda w: f(w * x, y), out_axes=(1, 0))(x)
    return [jk.jit(lambda x, y, f=f: batches(f, x, y))(*xs) for f, xs in drawn(jk, rng, 17)]
