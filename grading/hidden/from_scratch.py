"""The programs of the ladder that are used in grading only: what the ladder's pages ask, asked in other words."""

import gc
import itertools
import weakref

import numpy as np
from climbing import counted, jaxpr, program, raised, text


def floats(rng, *shape):
    return rng.uniform(0.3, 1.5, shape).astype(np.float32)


def arrays(jk, *xs):
    return [jk.numpy.asarray(x) for x in xs]


@program("01", "Expressions of several operations, in any shapes that go together.", hidden=True)
def expressions(jk, rng):
    x, y = arrays(jk, floats(rng, 2, 3), floats(rng, 3))
    return [(x - y) / (y + 2), 3 - x * y, -(x / 2) * y, jk.numpy.maximum(x, 1.0), jk.numpy.tanh(x) - jk.numpy.log(y)]


@program("01", "Shape and dtype of results, and numpy's view of them.", hidden=True)
def seen_from_outside(jk, rng):
    x = jk.numpy.exp(floats(rng, 2, 3))
    n = jk.numpy.add(rng.integers(0, 9, 4).astype(np.int32), 1)
    return tuple(x.shape), str(np.dtype(x.dtype)), np.asarray(x).sum(), tuple(n.shape), str(np.dtype(n.dtype))


@program("02", "A function that calls others, with a closure over two arrays.", hidden=True)
def deeper(jk, rng):
    c, d = arrays(jk, floats(rng, 2), floats(rng, 2))

    def g(x):
        return jk.numpy.exp(x * c) - d

    return jaxpr(jk.make_jaxpr(lambda x, y: (g(x) + g(y), y))(floats(rng, 2), floats(rng, 2)))


@program("02", "Tracing within tracing: each program has its own equations.", hidden=True)
def within(jk, rng):
    inner = []

    def f(x):
        inner.append(jk.make_jaxpr(lambda y: jk.numpy.sin(y) * y)(floats(rng, 2)))
        return x * x

    outer = jk.make_jaxpr(f)(floats(rng, 3))
    return jaxpr(outer), jaxpr(inner[0])


@program("03", "A program is run with other numbers, and within a function of another one.", hidden=True)
def run_within(jk, rng):
    closed = jk.make_jaxpr(lambda x, y: jk.numpy.cos(x) / y - 0.5)(floats(rng, 3), floats(rng, 3))

    def f(x):
        [y] = jk.core.eval_jaxpr(closed.jaxpr, closed.consts, x, x * 2.0)
        return y + x

    x = floats(rng, 3)
    return f(jk.numpy.asarray(x)), jaxpr(jk.make_jaxpr(f)(x))


@program("03", "Constants are those that are handed over.", hidden=True)
def other_constants(jk, rng):
    c = jk.numpy.asarray(floats(rng, 3))
    closed = jk.make_jaxpr(lambda x: x * c)(floats(rng, 3))
    other = jk.numpy.asarray(floats(rng, 3))
    return jk.core.eval_jaxpr(closed.jaxpr, [other], floats(rng, 3))


@program("04", "Types through several operations: weak with weak, weak with strong, questions.", hidden=True)
def chains(jk, rng):
    def aval(f, *args):
        found = jk.make_jaxpr(f)(*args).jaxpr.outvars[0].aval
        return tuple(found.shape), np.dtype(found.dtype).name, bool(found.weak_type)

    i, x = rng.integers(1, 9, (2, 1)).astype(np.int32), floats(rng, 3)
    fs = [
        lambda i, x: i * 2 + x,
        lambda i, x: (i > 2) * 3,
        lambda i, x: jk.numpy.sin(i) / 2,
        lambda i, x: (x < i) + (x < i),
    ]
    return [aval(f, i, x) for f in fs[:3]], aval(lambda c: c * 2 + 1, 3), aval(lambda c: c * 2.5, 3)


@program("04", "`while x > 0` and `not x` are refused as `if x > 0` is.", hidden=True)
def loops_are_refused(jk, rng):
    def f(x):
        turns = 0
        while x > 0 and turns < 3:  # a tracer that is always true would loop for ever
            x, turns = x - 1.0, turns + 1
        return x

    return raised(jk.make_jaxpr(f), 2.0), raised(jk.make_jaxpr(lambda x: not x), 1.0)


@program("05", "Empty containers, and tuples in dicts in lists.", hidden=True)
def empty(jk, rng):
    t = [{"b": (), "a": [floats(rng, 2), {}]}, None, (floats(rng),)]
    leaves, treedef = jk.tree_util.tree_flatten(t)
    return leaves, jk.tree_util.tree_unflatten(treedef, [10, 20]), jk.tree_util.tree_map(lambda x: x * 2, t)


@program("05", "A registered container within others is traced with them.", hidden=True)
def registered_within(jk, rng):
    class Scaled:
        def __init__(self, x, by):
            self.x, self.by = x, by

    jk.tree_util.register_pytree_node(Scaled, lambda s: ((s.x,), s.by), lambda by, xs: Scaled(xs[0], by))
    f = lambda d: {"y": d["s"].x * d["s"].by}
    return jaxpr(jk.make_jaxpr(f)({"s": Scaled(floats(rng, 2), 3.0)}))


@program("06", "Scalars, empty arrays, and integers without loss.", hidden=True)
def other_constants_in_text(jk, rng):
    n = jk.numpy.asarray(np.array([2**31 - 1, -(2**31), 7], np.int32))
    return text(jk, lambda x, i, e: [x + 1e30, i - n, e * 2.0, jk.numpy.tan(x)], floats(rng), np.arange(3, dtype=np.int32),
                np.zeros((0, 2), np.float32))  # fmt: skip


@program("06", "Broadcasting in the middle of a shape.", hidden=True)
def middle(jk, rng):
    return text(jk, lambda x, y: (x * y - y) / x, floats(rng, 2, 1, 4), floats(rng, 3, 1))


@program("07", "Half floats, bools and a dict of results, in one program.", hidden=True)
def other_dtypes(jk, rng):
    f = jk.jit(lambda h, b, i: {"h": h * 2, "b": jk.numpy.logical_or(b, i > 3), "i": -i})
    return counted(f, floats(rng, 3).astype(np.float16), rng.uniform(size=3) > 0.5, rng.integers(0, 9, 3).astype(np.int32),
                   compiled=1, executed=1)  # fmt: skip


@program("07", "A thousand calls' worth of arithmetic: results feed the next call.", hidden=True)
def fed(jk, rng):
    f, x = jk.jit(lambda x, y: (x * 0.5 + y, y - x * 0.1)), (floats(rng, 3), floats(rng, 3))
    for _ in range(20):
        x = f(*x)
    return x


@program("08", "Keywords and positions, None and no None: each its own program, each once.", hidden=True)
def forms(jk, rng):
    traces = []

    def f(x, y=None, *, z=0.0):
        traces.append(1)
        return x + z if y is None else x * y + z

    g, x = jk.jit(f), floats(rng, 3)
    calls = [((x,), {}), ((x, x), {}), ((x, None), {}), ((x,), {"z": 2.0}), ((x,), {"y": x})]
    return [g(*args, **kwargs) for args, kwargs in calls + calls], len(traces)


@program("08", "Programs are freed with their function, also when it was called from a loop.", hidden=True)
def freed(jk, rng):
    alive, x = [], floats(rng, 2)
    for i in range(3):
        f = lambda x, i=i: x * float(i)
        jk.jit(f)(x)
        alive.append(weakref.ref(f))
    del f
    gc.collect()
    return sum(ref() is not None for ref in alive)


@program("09", "Two static arguments, one by number and one by name, in the order of the signature.", hidden=True)
def two(jk, rng):
    traces = []

    def f(n, x, *, kind="sum"):
        traces.append((n, kind))
        return x * float(n) if kind == "product" else x + float(n)

    g, x = jk.jit(f, static_argnums=0, static_argnames="kind"), floats(rng, 3)
    return [g(2, x), g(2, x, kind="product"), g(3, x), g(2, x), g(2, x, kind="product")], traces


@program("09", "None and tuples of strings are values like others.", hidden=True)
def odd_values(jk, rng):
    f, x = jk.jit(lambda x, names: x * float(len(names or ())), static_argnames=["names"]), floats(rng, 2)
    return f(x, names=None), f(x, names=("a", "b")), f(x, ("a",))


@program("10", "Sums over what stands after products, reshapes and windows.", hidden=True)
def sums_of_results(jk, rng):
    def f(a, b):
        c = (a @ b).T.reshape(-1, 3)
        return [c.sum(axis=0), c[1:, :2].max(axis=1), jk.numpy.where(c > c.sum(), 1.0, c), jk.numpy.mean(c, axis=1)]

    a, b = arrays(jk, floats(rng, 3, 4), floats(rng, 4, 2))
    return f(a, b), jk.jit(f)(a, b)


@program("10", "An index that is data, twice, in negative, and of a row of a cube.", hidden=True)
def more_indices(jk, rng):
    f = lambda x, i: [x[i][i], x[i, :, -1], x[-i], x[0, i]]
    args = arrays(jk, floats(rng, 3, 3, 2), np.int32(rng.integers(1, 3)))
    return f(*args), jk.jit(f)(*args)


@program("11", "Three levels, and what the innermost closes over.", hidden=True)
def three_levels(jk, rng):
    def f(x):
        @jk.jit
        def g(y):
            h = jk.jit(lambda z: z * x + y)
            return h(y) + h(x)

        return g(x * 2.0) - g(x)

    return counted(jk.jit(f), floats(rng, 3), compiled=1, executed=1)


@program("11", "The same inner function for two types is two programs.", hidden=True)
def two_types(jk, rng):
    traces = []

    @jk.jit
    def g(x):
        traces.append(1)
        return x + x

    f = jk.jit(lambda x, i: (g(x), g(i), g(x * 2.0), g(i + 1)))
    return f(floats(rng, 3), np.arange(2, dtype=np.int32)), len(traces)


@program("12", "`cond` of a number, `switch` with one branch, results that are operands.", hidden=True)
def unusual(jk, rng):
    x = jk.numpy.asarray(floats(rng, 2))
    f = lambda n, x: (jk.lax.cond(n, lambda x: x, lambda x: x * 0.0, x), jk.lax.switch(n, [lambda x: x + 1.0], x))
    return [g(n, x) for g in (f, jk.jit(f)) for n in (0, 3)]


@program("12", "A jitted function in a branch, and a branch in a jitted function in a branch.", hidden=True)
def jitted_branches(jk, rng):
    g = jk.jit(lambda x: jk.lax.cond(x.sum() > 2.0, lambda x: x * 2.0, lambda x: x, x))
    f = lambda x: jk.lax.cond(x[0] > 0.9, lambda x: g(x) + 1.0, lambda x: g(g(x)), x)
    return [jk.jit(f)(floats(rng, 2)) for _ in range(4)]


@program("13", "Newton's root, with a tolerance; and a loop that never turns.", hidden=True)
def newton(jk, rng):
    def root(x):
        return jk.lax.while_loop(lambda c: jk.numpy.abs(c * c - x) > 1e-3, lambda c: 0.5 * (c + x / c), x)

    return jk.jit(root)(float(rng.uniform(2, 9))), jk.jit(lambda x: jk.lax.while_loop(lambda c: c < 0, lambda c: c, x))(
        1.0
    )


@program("13", "A choice in a loop, and a loop in a choice.", hidden=True)
def choices(jk, rng):
    collatz = lambda n: jk.lax.while_loop(
        lambda c: c[0] > 1,
        lambda c: (jk.lax.cond(c[0] * 2 > c[1] + 9, lambda n: n - 3, lambda n: n - 1, c[0]), c[1] + 1),
        (n, 0),
    )
    either = lambda x: jk.lax.cond(
        x > 1.0, lambda x: jk.lax.while_loop(lambda c: c < 9.0, lambda c: c * x, x), lambda x: x, x
    )
    return jk.jit(collatz)(int(rng.integers(5, 20))), [jk.jit(either)(v) for v in (0.5, 1.5)]


@program("14", "A scan over two arrays, backward, with a carry of two.", hidden=True)
def two_rows(jk, rng):
    def f(x, y):
        return jk.lax.scan(
            lambda c, r: ((c[0] + r[0], c[1] * r[1].sum()), (c, r[0] - c[0])), (0.0, 1.0), (x, y), reverse=True
        )

    args = floats(rng, 3), floats(rng, 3, 2)
    return f(*args), jk.jit(f)(*args)


@program("14", "`fori_loop` in a `scan` in a `jit`, with an index.", hidden=True)
def looked_up(jk, rng):
    def f(x):
        row = lambda c, r: (c + jk.lax.fori_loop(0, 3, lambda i, s: s + x[i] * r, 0.0), c)
        return jk.lax.scan(row, jk.numpy.zeros(()), x)

    return jk.jit(f)(floats(rng, 4))


@program("15", "Derivatives of compositions, at once and compiled.", hidden=True)
def compositions(jk, rng):
    jnp = jk.numpy
    f = lambda x: jnp.tanh(x @ x.T).sum(axis=0) * jnp.sqrt(x[:, 0]) / jnp.max(x)
    x, t = floats(rng, 3, 3), floats(rng, 3, 3)
    return jk.jvp(f, (x,), (t,)), jk.jit(lambda x, t: jk.jvp(f, (x,), (t,)))(x, t)


@program("15", "A second derivative through a loop, and of a choice in a scan.", hidden=True)
def second(jk, rng):
    loop = lambda x: jk.lax.fori_loop(0, 3, lambda i, c: jk.numpy.sin(c) * x, x)
    first = lambda x: jk.jvp(loop, (x,), (1.0,))[1]
    choice = lambda x: jk.lax.scan(lambda c, r: (jk.lax.cond(c > 1, lambda c: c * r, lambda c: c + r, c), c), x[0], x)
    x = floats(rng, 4)
    return jk.jvp(first, (float(x[0]),), (1.0,)), jk.jvp(choice, (x,), (x * 0.5,))


@program("16", "Scans whose constants, rows and carries all matter, each alone and all at once.", hidden=True)
def all_parts(jk, rng):
    def f(w, xs, b):
        h, ys = jk.lax.scan(lambda h, x: (jk.numpy.tanh(w @ h + x * b), h * b), xs[0], xs)
        return h.sum() + (ys * ys).sum()

    args = arrays(jk, floats(rng, 3, 3), floats(rng, 4, 3), floats(rng, 3))
    return [jk.grad(f, argnums=n)(*args) for n in (0, 1, (0, 2))], jk.jit(jk.grad(f, argnums=(0, 1, 2)))(*args)


@program("16", "A derivative in a loop; of a choice in a loop; of a derivative of a jitted function.", hidden=True)
def around(jk, rng):
    x, rows = arrays(jk, floats(rng, 3), floats(rng, 4, 3))
    descent = lambda x: jk.lax.scan(
        lambda c, r: (c - 0.1 * jk.grad(lambda c: (jk.numpy.sin(c) * r).sum())(c), c), x, rows
    )
    step = lambda c, r: (jk.lax.cond(c.sum() > 2, lambda c: c * r, lambda c: c + r * c, c), c.sum())
    f = jk.jit(lambda x: (jk.lax.scan(step, x, rows)[1] ** 2).sum())
    return jk.jit(descent)(x), jk.grad(f)(x), jk.grad(lambda x: (jk.grad(f)(x) * x).sum())(x)


@program("17", "A batch in a batch, of products and windows.", hidden=True)
def batches_in_batches(jk, rng):
    a, b = floats(rng, 4, 2, 3), floats(rng, 5, 3, 2)
    dot = lambda a, b: (jk.numpy.asarray(a) @ jk.numpy.asarray(b))[1:, 0]
    inner = jk.vmap(dot, in_axes=(0, None))
    return jk.vmap(inner, in_axes=(None, 0))(a, b), jk.jit(jk.vmap(jk.vmap(dot)))(
        np.stack([a, a]), np.stack([b[:4], b[:4]])
    )


@program(
    "17", "`switch` by example, loops of different lengths with a batch around them, derivatives of both.", hidden=True
)
def by_example(jk, rng):
    branches = [lambda x: x, lambda x: x * 2.0, lambda x: x * x]
    pick = lambda i, x: jk.lax.switch(i, branches, x)
    i, x = np.array([-3, 1, 7], np.int32), floats(rng, 3, 2)
    count = lambda x, n: jk.lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] * x, c[1] + 1), (x, 0))
    picked = lambda x: jk.vmap(pick)(jk.numpy.asarray(i), x).sum()
    return jk.vmap(pick)(i, x), jk.vmap(count)(x, np.array([0, 2, 5], np.int32)), jk.grad(picked)(jk.numpy.asarray(x))


@program("18", "A convolution by windows, its derivative for each example, in one program.", hidden=True)
def convolution(jk, rng):
    def f(k, x):
        windows = jk.numpy.stack([x[i : i + 3] for i in range(4)])
        return jk.nn.softmax(windows @ k)[0]

    return jk.jit(jk.vmap(jk.grad(f), in_axes=(None, 0)))(floats(rng, 3), floats(rng, 5, 6))


@program("18", "Two layers learn to tell two classes apart, with a scan over the steps.", hidden=True, tolerance=1e-3)
def two_classes(jk, rng):
    sizes = [2, 6, 2]
    params = [{"w": floats(rng, a, b) - 0.9, "b": np.zeros(b, np.float32)} for a, b in itertools.pairwise(sizes)]
    xs = jk.numpy.asarray(floats(rng, 12, 2))
    labels = jk.nn.one_hot((np.asarray(xs)[:, 0] > 0.9).astype(np.int32), 2)

    def loss(params):
        h = jk.numpy.tanh(xs @ params[0]["w"] + params[0]["b"])
        return -jk.numpy.mean((jk.nn.log_softmax(h @ params[1]["w"] + params[1]["b"]) * labels).sum(axis=1))

    def step(params, _):
        value, grads = jk.value_and_grad(loss)(params)
        return jk.tree_util.tree_map(lambda p, g: p - 0.3 * g, params, grads), value

    return jk.jit(lambda p: jk.lax.scan(step, p, None, length=15)[1])(params)
