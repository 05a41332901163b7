"""The checks of lab 14 that are used in grading only."""

from __future__ import annotations

from jitkit.kata.checking import check, module, of_c, random_programs


def by_hand(jk, fun, *args):
    """Run the C code of a function line by line; return its results, and the numbers of its loops, passes, reads and writes."""
    did = module(jk, "kata.subjects.c_by_hand").ran(fun, *args)
    return did.results, did.loops, did.passes, did.reads, did.writes


def floats(rng, *shape):
    """Return random numbers."""
    return rng.normal(size=shape).astype("float32")


@check("14.1", "Four axes, moved in several ways, one after the other.", hidden=True)
def four_axes(jk, rng):
    lax, jnp, shape = jk.lax, jk.numpy, tuple(rng.integers(2, 4, size=4).tolist())

    def f(x, y):
        x = lax.rev(jnp.transpose(x, (2, 0, 3, 1)), (1, 3))
        return x[:, ::2, 1:] * jnp.transpose(lax.rev(y, (0,)), (1, 0))[:, ::2, None, None]

    return by_hand(jk, f, floats(rng, *shape), floats(rng, shape[0], shape[2]))


@check("14.2", "Layer norm and a stencil: nests of several loops, with the neighbours of what was stored.", hidden=True)
def norm_and_stencil(jk, rng):
    jnp, (a, b) = jk.numpy, rng.integers(3, 6, size=2).tolist()

    def norm(x):
        y = x - x.mean(1, keepdims=True)
        z = y * jk.lax.rsqrt((y * y).mean(1, keepdims=True) + 1e-5)
        return z, z[:, ::-1], z[1:] - z[:-1]

    def chain(x):
        y = jnp.tanh(x) * 2
        return y, y[::-1], jk.lax.cumsum(y), y.sum() - y

    return by_hand(jk, norm, floats(rng, a, b)), by_hand(jk, chain, floats(rng, b))


@check("14.3", "Variance, and the logarithm of a sum of exponentials.", hidden=True)
def two_in_a_row(jk, rng):
    jnp, (a, b) = jk.numpy, rng.integers(2, 5, size=2).tolist()

    def f(x):
        return x.var(1), jnp.log(jnp.exp(x - x.max(1, keepdims=True)).sum(1)), x.sum(), (x * x).max()

    return by_hand(jk, f, floats(rng, a, b))


@check("14.3", "Numbers of 64 bits and bools have accumulators of their types.", hidden=True)
def types(jk, rng):
    n, times = int(rng.integers(2, 6)), int(rng.integers(1, 6))

    def totals(x):
        return [(x * (i + 2.0)).sum(1) for i in range(times)]

    with jk.enable_x64(True):
        x = rng.normal(size=(n, 3))
        text = (
            module(jk, "loops.source")
            .write("f", jk.make_jaxpr(lambda x: (*totals(x), (x > 0).any(1), x.max()))(x))
            .text
        )
        return sorted(
            line.split()[0] for line in text.splitlines() if line.strip().startswith(("f64 a", "u8 a", "f32 a"))
        )


@check("14.4", "Places for many buffers, and the loops in which they live.", hidden=True)
def many(jk, rng):
    plan = module(jk, "loops.plan")
    count = 24
    first = rng.integers(0, 20, size=count)
    lives = {
        k: (int(a), int(a + n)) for k, (a, n) in enumerate(zip(first, rng.integers(0, 9, size=count), strict=True))
    }
    lives = {k: plan.whole_regions(*life, [(5, 15), (7, 9), (11, 14)]) for k, life in lives.items()}
    sizes = {k: 64 * int(n) for k, n in enumerate(rng.permutation(count) + 1)}
    return lives, plan.placed(lives, sizes)


@check("14.4", "Lives and sizes that nobody wrote before.", hidden=True)
def drawn_lives(jk, rng):
    return random_programs(jk, rng, of_c.buffers, 12, by_numpy=False)


@check("14.2", "A scan of rows, in which one step reads what an earlier one stored.", hidden=True)
def scanned(jk, rng):
    lax, jnp, (a, b) = jk.lax, jk.numpy, rng.integers(2, 5, size=2).tolist()

    def f(x):
        return lax.scan(lambda c, row: (jnp.tanh(c) + row, (c.sum(), c[::-1])), x[0], x)

    return by_hand(jk, f, floats(rng, a, b))
