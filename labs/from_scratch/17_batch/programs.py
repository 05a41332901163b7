"""Rung 17: `vmap`."""

import numpy as np
from climbing import counted, program, raised, text
from drawing import fill, fitting, halves, pick, written


def floats(rng, *shape):
    return rng.uniform(-1.5, 1.5, shape).astype(np.float32)


@program("17", "A function of one example can be applied to a batch.")
def simple(jk, rng):
    f = lambda x: jk.numpy.sin(x) * 2.0 + x
    return jk.vmap(f)(floats(rng, 4, 3)), jk.vmap(f)(floats(rng, 2, 3, 2))


@program(
    "17",
    "A batch is not a loop: its program has as many equations for any number of examples.",
    against=["the batch is a loop of Python"],
)
def no_loop(jk, rng):
    f = lambda x: jk.numpy.sin(x) * 2.0
    few, many = (equations(jk.make_jaxpr(jk.vmap(f))(floats(rng, n, 3))) for n in (2, 50))
    return jk.vmap(f)(floats(rng, 4, 3)), many - few


@program(
    "17",
    "The batch may be along any axis, in and out; None means the same for all.",
    against=[
        "the batch is always the first axis",
        "None is axis 0",
        "one axis for all arguments",
        "the results are stacked along the first axis",
    ],
)
def axes(jk, rng):
    w, x = floats(rng, 3, 4), floats(rng, 3)
    f = lambda a, b: a * b
    return [jk.vmap(f, in_axes=(1, None), out_axes=o)(w, x) for o in (0, 1)], jk.vmap(f, in_axes=(None, 0))(
        x, floats(rng, 5, 3)
    )


@program(
    "17",
    "Broadcasting within an example stays within it.",
    against=["the batch takes part in broadcasting", "None is axis 0"],
)
def ranks(jk, rng):
    f = lambda x, y: x + y
    return jk.vmap(f)(floats(rng, 3, 3), floats(rng, 3)), jk.vmap(f, in_axes=(0, None))(
        floats(rng, 3), floats(rng, 2, 3)
    )


@program(
    "17",
    "Products may have a batch on either side, or on both: of matrices and of vectors.",
    against=["`@` of two batches multiplies all with all"],
)
def products(jk, rng):
    w, many, xs = floats(rng, 3, 4), floats(rng, 5, 3, 4), floats(rng, 5, 4)
    dot = lambda a, b: jk.numpy.asarray(a) @ jk.numpy.asarray(b)
    return [
        jk.vmap(dot, in_axes=(None, 0))(w, xs),
        jk.vmap(dot)(many, xs),
        jk.vmap(dot, in_axes=(0, None))(xs, w.T),
        jk.vmap(dot)(xs, xs),
    ]


@program(
    "17",
    "Reductions, shapes, windows and choices can be batched.",
    against=[
        "axes are counted with the batch",
        "what is the same for all has no batch",
        "a maximum is that of the batch",
        "a transposition keeps the batch where it is",
    ],
)
def movers(jk, rng):
    jnp = jk.numpy
    f = lambda x: [
        x.sum(axis=0),
        jnp.max(x, axis=-1),
        x.T,
        x.reshape(-1),
        x[1],
        x[:, 1:],
        jnp.where(x > 0, x, 0.0),
        jnp.zeros(2),
        jnp.mean(x),
    ]
    return jk.vmap(f)(floats(rng, 4, 2, 3))


@program("17", "Arguments and axes may be trees.")
def trees(jk, rng):
    f = lambda p, x: {"y": p["w"] @ x + p["b"]}
    p = {"w": floats(rng, 2, 3), "b": floats(rng, 4, 2)}
    return jk.vmap(f, in_axes=({"w": None, "b": 0}, 0))(p, floats(rng, 4, 3))


@program(
    "17",
    "`cond` with a predicate for each example computes both branches, and each example takes its own.",
    against=["the first example decides for all"],
)
def decisions(jk, rng):
    f = lambda x: jk.lax.cond(x > 0, lambda x: x * 2.0, lambda x: -x, x)
    g = lambda p, x: jk.lax.cond(p, lambda x: x * 2.0, lambda x: -x, x)
    return jk.vmap(f)(floats(rng, 6)), jk.jit(jk.vmap(g, in_axes=(None, 0)))(True, floats(rng, 3))


@program(
    "17",
    "`while_loop` goes on as long as any example needs it; examples that are done stay as they are.",
    against=["examples that are done go on"],
)
def loops(jk, rng):
    f = lambda x: jk.lax.while_loop(lambda c: c < 50.0, lambda c: c * 2.0 + 1.0, x)
    same = lambda x: jk.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))
    return jk.jit(jk.vmap(f))(np.array([1.0, 60.0, 7.0, 30.0], np.float32) + floats(rng, 4)), jk.vmap(same)(
        floats(rng, 4)
    )


@program(
    "17",
    "`scan` and `fori_loop` take rows and carries that are batched, and ones that are not.",
    against=["the rows of a scan are the examples"],
)
def scans(jk, rng):
    f = lambda c, xs: jk.lax.scan(lambda c, x: (c + x * c, c), c, xs)
    return [
        jk.vmap(f, in_axes=a)(c, x)
        for a, c, x in (
            (0, floats(rng, 4), floats(rng, 4, 3)),
            ((None, 0), 1.0, floats(rng, 4, 3)),
            ((0, None), floats(rng, 4), floats(rng, 3)),
        )
    ]


@program(
    "17", "In a loop, the batched parts are a fixed point: here all parts of the carry are batched after three turns."
)
def late(jk, rng):
    turn = lambda c, x: (c[1], c[2], c[2] * x)
    fs = [
        lambda x: jk.lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, turn(c[1], x)), (0, (1.0, 2.0, 3.0)))[1],
        lambda x: jk.lax.while_loop(lambda c: c[0] < 9.0, lambda c: turn(c, x + 3.0), (1.0, 2.0, 3.0)),
        lambda x: jk.lax.scan(lambda c, _: (turn(c, x), c[0]), (1.0, 2.0, 3.0), None, length=4),
    ]
    return [jk.vmap(f)(floats(rng, 3)) for f in fs]


@program(
    "17",
    "A jitted function can be batched, and a batched function can be jitted, as one program.",
    against=["a jitted function is for one example"],
)
def jitted(jk, rng):
    f = jk.jit(lambda w, x: jk.numpy.tanh(jk.numpy.asarray(w) @ x).sum())
    w, x = floats(rng, 2, 3), floats(rng, 4, 3)
    g = jk.vmap(f, in_axes=(None, 0))
    return g(w, x), counted(jk.jit(g), w, x, compiled=1, executed=1), jk.grad(lambda w: g(w, x).sum())(w)


@program("17", "Each example may have an index of its own.")
def indices(jk, rng):
    x = jk.numpy.asarray(floats(rng, 5, 2))
    return jk.vmap(lambda i: x[i])(rng.integers(0, 5, 3).astype(np.int32))


@program(
    "17",
    "There may be a batch of derivatives, the derivative of a batch, and a batch within a batch.",
    against=["batches within batches are one batch"],
)
def composed(jk, rng):
    f = lambda x: (jk.numpy.sin(x) * x[0]).sum()
    x = floats(rng, 4, 3)
    outer = jk.vmap(jk.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))
    return jk.vmap(jk.grad(f))(x), jk.grad(lambda x: (jk.vmap(f)(x) ** 2).sum())(x), outer(x[:, 0], x[:, 1])


@program("17", "Batches of different sizes, or no batch, are ValueErrors.", against=["the smallest batch decides"])
def wrong(jk, rng):
    return raised(jk.vmap(lambda x, y: x), floats(rng, 3), floats(rng, 4)), raised(
        jk.vmap(lambda x: x, in_axes=None), floats(rng, 3)
    )


@program("17", "Each function and each operation can be batched: either operand or both, along any axis.",
         against=["None is axis 0"])  # fmt: skip
def every_name(jk, rng):
    jnp = jk.numpy
    unary = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "negative", "abs", "sign", "floor")
    binary = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "less", "less_equal", "greater", "greater_equal",
              "equal", "not_equal")  # fmt: skip
    x, y = abs(floats(rng, 3, 2)) + 0.25, abs(floats(rng, 3)) + 0.25
    b = x > 1.0
    return {
        **{name: jk.vmap(getattr(jnp, name))(x) for name in unary},
        **{name: [jk.vmap(getattr(jnp, name), in_axes=a)(x, y) for a in ((0, 0), (1, None), (None, 0))] for name in binary},
        "logic": [jk.vmap(f, in_axes=(0, None))(b, b[0]) for f in (jnp.logical_and, jnp.logical_or)], "not": jk.vmap(jnp.logical_not)(b),
    }  # fmt: skip


@program(
    "17",
    "Each operation that moves numbers can be batched along the first axis and along the last.",
    against=["axes are counted with the batch"],
)
def every_move(jk, rng):
    jnp = jk.numpy
    fs = {
        "sum": lambda x: jnp.sum(x, axis=-1),
        "sum of all": jnp.sum,
        "keepdims": lambda x: jnp.sum(x, axis=(0, 1), keepdims=True),
        "max": lambda x: jnp.max(x, axis=0),
        "min": lambda x: jnp.min(x, axis=-2),
        "mean": lambda x: jnp.mean(x, axis=1),
        "reshape": lambda x: x.reshape(4, -1),
        "T": lambda x: x.T,
        "transpose": lambda x: jnp.transpose(x, (1, 0)),
        "broadcast": lambda x: jnp.broadcast_to(x[0], (2, 4)),
        "last": lambda x: x[-1, -1],
        "slice": lambda x: x[1:, 1:3],
        "axis": lambda x: x[:, None],
        "where": lambda x: jnp.where(x[0] > 0, x, x[0, 0]),
        "dot": lambda x: jnp.dot(x, x.T),
        "a vector": lambda x: x @ x[0],
        "convert": lambda x: x.astype(np.float16),
        "made": lambda x: x * jnp.arange(4),
        "one example": lambda x: x[None] + x,
    }
    x = floats(rng, 2, 3, 4, 2)
    return {name: [jk.vmap(f)(x[..., 0]), jk.vmap(f, in_axes=-1)(x[0])] for name, f in fs.items()}


@program("17", "Axes may count from the end; a result may be the same for all examples; keywords are batched along their first axis.",
         against=["an axis counts from the front"])  # fmt: skip
def every_axis(jk, rng):
    x, y = floats(rng, 2, 3), floats(rng, 2, 4, 3)
    f = lambda a, b: a + b.sum(axis=0)
    return {
        "out": [jk.vmap(lambda x: x * 2.0, out_axes=o)(x) for o in (-1, -2, 1)],
        "in": [jk.vmap(f, in_axes=a)(x, y) for a in ((0, 0), (-2, -3))],
        "last": jk.vmap(f, in_axes=(-1, 0), out_axes=-1)(x.T, y),
        "None": jk.vmap(lambda x: (x, jk.numpy.ones(2), np.float32(1)), out_axes=(0, None, 0))(x),
        "None that differs": raised(jk.vmap(lambda x: x, out_axes=None), x),
        "keywords": jk.vmap(lambda x, *, scale: x * scale)(x, scale=x[:, 0]),
    }


@program("17", "Loops from the end, choices of three branches, and loops whose test differs from example to example can be batched.",
         against=["examples that are done go on", "the first example decides for all"])  # fmt: skip
def every_loop(jk, rng):
    lax, x = jk.lax, floats(rng, 3, 4)
    n = np.array([1, 5, 3], np.int32)
    return {
        "reverse": jk.vmap(lambda x: lax.scan(lambda c, r: (c * 2.0 + r, c * r), 0.5, x, reverse=True))(x),
        "reverse, axis 1": jk.vmap(lambda x: lax.scan(lambda c, r: (c * 2.0 + r, c), x[0], x, reverse=True), in_axes=1)(
            x
        ),
        "switch": jk.vmap(lambda i, v: lax.switch(i, [lambda: v, lambda: v * 2.0, lambda: v * v]))(
            np.array([0, 2, 1], np.int32), x
        ),
        "one index": jk.vmap(
            lambda i, v: lax.switch(i, [lambda: v, lambda: v * 2.0, lambda: v * v]), in_axes=(None, 0)
        )(2, x),
        "test": jk.vmap(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))(n),
        "test and carry": jk.vmap(
            lambda n, v: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2.0), (0, v))
        )(n, x),
        "fori": jk.vmap(lambda n, v: lax.fori_loop(0, n, lambda i, c: c + v[i], 0.0))(n[[0, 2, 2]], x),
        "constants": jk.vmap(lambda v: lax.scan(lambda c, r: (c + v[0] * r, None), 0.0, x[0])[0])(x),
    }


@program(
    "17", "Each example may have its own index, also in a derivative; batches of matrices may themselves be batched."
)
def every_window(jk, rng):
    x, i = jk.numpy.asarray(floats(rng, 5, 2)), rng.integers(-5, 5, 3).astype(np.int32)
    read = lambda x, i: jk.numpy.asarray(x)[i]
    return {
        "of one": jk.vmap(read, in_axes=(None, 0))(x, i),
        "of each": jk.vmap(read)(floats(rng, 3, 5, 2), i),
        "a derivative": jk.vmap(jk.grad(lambda x, i: (read(x, i) ** 2).sum()), in_axes=(None, 0))(x, i),
        "matrices": jk.vmap(jk.numpy.matmul)(floats(rng, 2, 3, 4, 5), floats(rng, 2, 3, 5, 2)),
        "matrices with one": jk.vmap(jk.numpy.matmul, in_axes=(1, None))(floats(rng, 3, 2, 4, 5), floats(rng, 5, 2)),
    }


@program("17", "Whole numbers stay whole in a batch: of maxima, means, products, loops and slopes.", tolerance=1e-9)
def whole_batches(jk, rng):
    n, x = jk.numpy, rng.integers(1, 9, (4, 4)).astype(np.float32)
    fs = [
        lambda x: (n.max(x), n.mean(x), n.sum(x), n.dot(x, x), x[1:] - x[:-1], n.where(x > 4, x, -x)),
        lambda x: jk.lax.cond(x[0] > 4, lambda x: x * 2.0, lambda x: x - 1.0, x),
        lambda x: jk.lax.scan(lambda c, r: (c + r, c * r), 0.0, x),
        lambda x: jk.lax.while_loop(lambda c: c[0] < 20, lambda c: c * 2.0, x),
        jk.grad(lambda x: n.sum(x * x) + n.sum(n.maximum(x, 4.5))),
    ]
    return [jk.vmap(f)(x) for f in fs], jk.vmap(fs[0], in_axes=1, out_axes=-1)(x)


@program(
    "17",
    "A jitted function, a branch and a loop are batched anew for other sizes, and for other arguments that are batched.",
    against=["batches are kept by the size", "batches are kept by what is batched"],
)
def again(jk, rng):
    f = jk.jit(lambda x, y: jk.numpy.sin(x) - y)
    known = jk.jit(lambda x: 5.0)
    loop = jk.jit(lambda x, y: jk.lax.scan(lambda c, r: (c * y + r, c), x, np.ones(2, np.float32))[0])
    x, y, c = floats(rng, 2), floats(rng, 2), np.float32(rng.uniform())
    ways = [((0, None), (x, c)), ((None, 0), (c, y)), ((0, 0), (x, y)), ((0, 0), (floats(rng, 3), floats(rng, 3)))]
    return [[jk.vmap(g, in_axes=a)(*xs) for a, xs in ways + ways[:1]] for g in (f, loop)], [
        jk.vmap(known)(floats(rng, n)) for n in (2, 3, 2)
    ]


@program(
    "17",
    "A choice that is the same for all examples stays a choice: its text has a `case`, and no `select`.",
    against=["every choice becomes a `select`"],
)
def one_choice(jk, rng):
    f = lambda p, x: jk.lax.cond(p, lambda: jk.numpy.sin(x), lambda: x * 2.0)
    lowered = text(jk, lambda p, x: jk.vmap(lambda x: f(p, x))(x), np.array(True), floats(rng, 3))
    has_case = "stablehlo.case" in lowered.text or "stablehlo.if" in lowered.text
    return lowered, has_case, "stablehlo.select" in lowered.text


@program(
    "17",
    "A batch within a batch of the same size: each has its own examples, and what belongs to neither is the same for all.",
    against=["batches of one size are one batch"],
)
def within(jk, rng):
    x, y = floats(rng, 3), floats(rng, 3)
    fs = [lambda x, y: y, lambda x, y: x, lambda x, y: x * y, lambda x, y: 2.5, lambda x, y: x * y - x]
    pairs = [jk.vmap(lambda x, f=f: jk.vmap(lambda y: f(x, y))(y))(x) for f in fs]
    sums = jk.vmap(lambda x: jk.vmap(lambda y: (x, y))(y)[0].sum() * x)(x)
    return (
        pairs,
        sums,
        jk.vmap(lambda x: jk.jit(lambda y: jk.vmap(lambda z: z * x)(y))(y))(x),
        jk.vmap(lambda x: jk.vmap(lambda y: x, out_axes=None)(y))(x),
    )


@program(
    "17",
    "If there are not as many axes as arguments, or an array lacks its axis, that is a ValueError. An "
    "error within a batch can be caught.",
    against=[
        "missing axes are None",
        "missing axes are 0",
        "axes too many do no harm",
        "a number has an axis of its own",
        "when a batch fails, nobody stands at the door",
    ],
)
def refused_and_caught(jk, rng):
    def broken(x):
        raise KeyError("mine")

    def f(x):
        try:
            return jk.vmap(broken)(x)
        except KeyError:
            return jk.numpy.sin(x) * 2.0

    x, g = floats(rng, 2), lambda x, *rest: x
    wrong = [
        ((0,), (x, 1.0)),
        ((0,), (x, x)),
        ((0, 0), (x, 1.0)),
        (0, (3.0,)),
        (None, (x,)),
        ((0, 0), (x, floats(rng, 3))),
        ((None, None), (x, x)),
        ((0, 0), (x,)),
        ((0, None, 0), (x, x)),
    ]
    refused = [raised(jk.vmap(g, in_axes=a), *xs) for a, xs in wrong]
    return refused, [e.primitive.name for e in jk.make_jaxpr(f)(x).jaxpr.eqns], jk.vmap(f)(floats(rng, 2, 3))


@program(
    "17",
    "A batch of one does not go with one of three; axes of results may be a tree; keywords have axis 0, whatever `in_axes` says.",
    against=[
        "a batch of one goes with any",
        "the axes of results are a number",
        "what is the same for all is stacked along the first axis",
        "keywords have the axis of the last argument",
    ],
)
def axes_of_results(jk, rng):
    x, y = floats(rng, 3, 2), floats(rng, 1, 2)
    f = lambda x, *, by: {"a": x * by, "b": [x, (x.sum(), by)]}
    square = floats(rng, 3, 3)
    return [
        raised(jk.vmap(lambda x, y: x * y), x, y),
        jk.vmap(f, out_axes={"a": 1, "b": [-1, 0]})(x, by=x),
        jk.vmap(f, in_axes=(1,))(square, by=x[:, 0]),
        jk.vmap(f, in_axes=1, out_axes={"a": 0, "b": [1, (0, -1)]})(square, by=square),
        jk.vmap(lambda x: (x, 2.5, True, 3), out_axes=(1, 0, 0, 0))(x),
        [jk.vmap(lambda x: (x, jk.numpy.arange(4)), out_axes=(0, a))(x) for a in (0, 1, -1, -2, None)],
    ]


@program(
    "17",
    "50 examples give as many equations as 2, whatever is done with them; programs within equations count, too.",
    against=["an index for each example is a slice for each"],
)
def as_many_equations(jk, rng):
    n, lax, g = jk.numpy, jk.lax, jk.jit(lambda x: jk.numpy.sin(x))
    fs = {
        "an index": lambda x, i: x[i],
        "a slope of an index": jk.grad(lambda x, i: x[i] * x[1]),
        "a choice": lambda x, i: lax.switch(i, [lambda: x, lambda: x * 2.0, lambda: -x]),
        "turns": lambda x, i: lax.fori_loop(0, i, lambda k, c: c * x[k], 1.0),
        "rows": lambda x, i: lax.scan(lambda c, r: (c + r, c * i), 0.0, x),
        "products": lambda x, i: n.dot(x, x) + x @ n.ones((3, 2)),
        "calls": lambda x, i: g(x) + n.max(x) * i,
        "batches": lambda x, i: jk.vmap(lambda y: y * i)(x),
    }
    count = lambda size, f: equations(jk.make_jaxpr(jk.vmap(f))(floats(rng, size, 3), np.zeros(size, np.int32)))
    return {name: count(50, f) - count(2, f) for name, f in fs.items()}


def equations(closed):
    """Return how many equations a program has, with those of programs within."""
    program = getattr(closed, "jaxpr", closed)
    params = [value for eqn in program.eqns for value in eqn.params.values()]
    inner = [each for value in params for each in (value if isinstance(value, tuple) else (value,))]
    return len(program.eqns) + sum(equations(each) for each in inner if hasattr(each, "eqns") or hasattr(each, "jaxpr"))


@program(
    "17",
    "A batch may have no examples: the results have none, and the shapes that they would have.",
    against=["a loop runs until the largest of no tests is false"],
)
def no_examples(jk, rng):
    n, lax, x = jk.numpy, jk.lax, np.zeros((0, 3), np.float32)
    fs = [
        lambda x: (n.sin(x), n.sum(x), x[1], x[None], n.dot(x, x), 2.5, jk.jit(n.max)(x)),
        lambda x: lax.while_loop(lambda c: n.sum(c) < 9.0, lambda c: c * 2.0, x),
        lambda x: lax.cond(x[0] > 0, lambda: x, lambda: -x),
        lambda x: lax.scan(lambda c, r: (c + r, c * r), 0.0, x),
        jk.grad(lambda x: n.sum(x * x)),
    ]
    return [[jk.vmap(f)(x), jk.jit(jk.vmap(f))(x)] for f in fs], jk.vmap(n.sum, in_axes=1)(x.T)


@program(
    "17",
    "A result whose axis is None differs from example to example: a ValueError, wherever it stands in the tree of results.",
    against=["None in a tree takes the first example"],
)
def results_that_differ(jk, rng):
    x, ones = floats(rng, 3), jk.numpy.ones(2)
    f = lambda x: {"a": (x, ones), "b": [x * 2.0, x]}
    same = jk.vmap(f, out_axes={"a": (0, None), "b": 0})(x)
    trees = {"a": None, "b": 0}, {"a": 0, "b": [0, None]}, {"a": (None, None), "b": 0}
    pair = (
        [raised(jk.vmap(lambda x, t=t: t([x, x]), out_axes=t([0, None])), x) for t in (tuple, list)],
        raised(jk.vmap(jk.numpy.sin, out_axes=None), x),
    )
    chosen = jk.vmap(lambda x: jk.lax.cond(x > 9.0, lambda: 1.0, lambda: 2.0), out_axes=None)
    return same, [raised(jk.vmap(f, out_axes=tree), x) for tree in trees], pair, raised(chosen, x)


@program(
    "17",
    "Where all axes have one size, each keeps its place: in reductions of each dtype, loops, windows beyond the end, and products.",
    against=[
        "indices beyond the end go round in a batch",
        "rows of results have the batch in the second place",
        "whole numbers have their maximum along the batch",
        "shared rows of the batch's size are batched",
    ],
)
def squares(jk, rng):
    n, x = jk.numpy, floats(rng, 3, 3, 3)
    whole, at = rng.integers(-9, 9, (3, 3, 3)).astype(np.int32), np.int32([4, -9, 1])
    reductions = lambda x: [g(x, axis=a) for g in (n.sum, n.max, n.min, n.mean) for a in (None, 0, 1, -1)]
    loops = lambda x: [
        jk.lax.scan(lambda c, r: (c + r, (c * r, r[0])), x[0], x),
        jk.lax.scan(lambda c, r: (c, jk.numpy.sin(r)), 0.0, x, reverse=True)[1],
    ]
    windows = lambda x, i: [x[i], x[i, i], x[1:, i], x[:, -1 - i]]
    return {
        "reductions": [jk.vmap(reductions, in_axes=a)(z) for z in (x, whole) for a in (0, 2)],
        "vectors": jk.vmap(lambda x: [n.sum(x), n.max(x), n.min(x)])(whole[0]),
        "truth values": jk.vmap(lambda b: [n.sum(b, axis=0), n.sum(b), n.max(b, axis=1)])(whole > 0),
        "loops": [jk.vmap(loops, in_axes=a)(x) for a in (0, 1)],
        "shared rows": [
            jk.vmap(lambda c, x: jk.lax.scan(lambda c, r: (c + n.sum(r), (c, r)), c, x), in_axes=(0, a))(x[0, 0], x[1])
            for a in (None, 0, 1)
        ],
        "windows": [jk.vmap(windows)(n.asarray(x), at), jk.vmap(windows, in_axes=(None, 0))(n.asarray(x[0]), at)],
        "products": [jk.vmap(lambda a, b: [a @ b, a @ b[0], b[0] @ a, a.T])(n.asarray(x), n.asarray(x[::-1].copy()))],
    }


# --- random batches -------------------------------------------------------------------------------------------------------
# A batch is a string, such as `jk.vmap(lambda x, y, i: n.sum(x, axis=0), in_axes=(1, None, 0))(x, y, i)`, which is the key of its result.


def moves(rng, x, y):
    """Draw an expression that works on the axes of one example. x and y are the shapes of its arrays; x has at least one axis."""
    axes = [int(a) - len(x) * int(rng.integers(2)) for a in rng.permutation(len(x))]
    kept = pick(rng, "", ", keepdims=True")
    last = ":, " * (len(x) - 1)
    return pick(
        rng,
        f"n.{pick(rng, 'sum', 'max', 'min', 'mean')}(x, axis={pick(rng, axes[0], axes[0], tuple(axes[:2]), None)}{kept})",
        f"n.max(x, axis={axes[0]}{kept})",
        f"n.transpose(x, {tuple(axes)})",
        "x.T * y.T",
        f"n.reshape(x, ({x[-1]}, -1))",
        f"n.broadcast_to(y, {(*pick(rng, (), (2,), (3,)), *x)})",
        f"n.where({pick(rng, 'i > 1', 'y > 0', 'x > y')}, x, {pick(rng, 'y', '0.5', 'x[0]')})",
        f"x[{last}{pick(rng, 'i', '-1 - i', '1:', ':-1', '0', 'None', '5')}]",
        f"x[{pick(rng, 'i', 'i, None', 'None, i', '-i', ':, None', '1:', 'None')}]",
        pick(rng, "n.dot(x, x.T)", "x @ x.T", "n.dot(n.sin(x), n.ones(SHAPE))", "n.ones(SIZES) @ x.T")
        .replace("SHAPE", f"({x[-1]}, 2)").replace("SIZES", f"(2, {x[-1]})")
        if len(x) < 3 else "x @ n.sum(x, axis=(0, 1))",
        f"x + n.arange({x[-1]})",
        "{'a': x * y, 'b': [y, n.ones(2)]}",
        "x.astype(np.int32) - y",
    )  # fmt: skip


def flows(rng, x, y):
    """Draw an expression of one example: a choice, a loop, a derivative, a call, or a batch within the batch."""
    branches = ["lambda: x", "lambda: x * 2.0 + y", "lambda: x - y", "lambda: 0.5 * x", "lambda: -x", "lambda: x * y"][
        : int(rng.integers(2, 7))
    ]
    axis = int(rng.integers(-len(x), len(x)))
    rows = pick(rng, "x", "x", f"n.ones({x})", "None")
    step = pick(rng, "i", "n.sum(y)", "0.25", "0.25 * i" if rows == "None" else "r * 0.5")
    return pick(
        rng,
        f"jk.lax.switch(i, [{', '.join(branches)}])",
        f"jk.lax.cond(i > {pick(rng, 1, 9)}, lambda: 2.0, lambda: 3.0) * x.astype(np.float16)",
        "jk.lax.fori_loop(0, i, lambda k, c: c + 1, 0) * x.astype(np.int8)",
        f"jk.lax.scan(lambda c, r: ((c[1], c[0] * 0.5 {pick(rng, '+', '-')} {step}, c[2] + 1), (c[0], r)), "
        f"({pick(rng, 'x[0]', f'n.zeros({x[1:]})')}, {pick(rng, 'x[-1]', f'n.ones({x[1:]})')}, 0), {rows}, length={x[0]}"
        f"{pick(rng, '', ', reverse=True')})",
        f"jk.lax.scan(lambda c, r: (jk.lax.cond({pick(rng, 'n.sum(r) > 0', 'i > 1', 'n.max(c) > 1')}, lambda: c + r, lambda: c * 0.5), c), "
        "x[0] + 1.0, x)",
        f"jk.grad(lambda x: n.sum(jk.vmap(lambda r: r * {pick(rng, 'n.sum(y)', 'r', 'i')}, in_axes={axis})(x)))(x)",
        f"jk.vmap(lambda r, *, by: r * by - i, in_axes={axis})(x, by=n.arange({x[axis]}) * {pick(rng, '1.0', 'n.max(y)')})",
        f"jk.lax.switch(i, [{', '.join(branches)}])",
        f"jk.lax.cond({pick(rng, 'i > 1', 'n.sum(y) > 0', 'n.max(x) > 1')}, lambda: x * y, lambda: x - 1.0)",
        f"jk.lax.scan(lambda c, r: (c * 0.5 + {pick(rng, 'r', 'n.sum(y)', 'i', 'r * n.sum(x)')}, c), "
        f"{pick(rng, 'x[0]', 'x[-1] * 0.0')}, x{pick(rng, '', ', reverse=True')})",
        "jk.lax.scan(lambda c, r: (c + n.sum(r), {'row': r * n.sum(y)}), 0.0, x)",
        "jk.lax.fori_loop(0, i, lambda k, c: c * 0.5 + y + k, x)",
        "jk.lax.while_loop(lambda c: n.sum(c) < 20.0, lambda c: c * 2.0 + 1.0, x * x)",
        "jk.lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[2], c[1] - y), (0, x, x * y))",
        f"jk.grad(lambda x: n.sum({pick(rng, 'x * x * y', 'n.sin(x) * n.max(y)', 'n.sum(x, axis=0) ** 2', 'n.where(x > 0, x, y)')}))(x)",
        f"jk.grad(lambda y: n.sum({pick(rng, 'x * y', 'n.sin(y)', 'x * x + y')}))(y)",
        "jk.jvp(lambda x: x * n.sum(y), (x,), (n.sin(x),))",
        f"jk.jit(lambda a, b: a - n.sum(b))({pick(rng, 'x, y', 'y, x', 'y, i', 'x, 2.0')})",
        f"jk.vmap(lambda r: r {pick(rng, '*', '-')} {pick(rng, 'n.sum(y)', 'i', 'n.max(x)', 'n.sin(r)')}, "
        f"in_axes={axis}, out_axes={pick(rng, 0, -1)})(x)",
        f"jk.vmap(lambda r, a: (r * n.sum(a), n.sum(x)), in_axes=({axis}, None))(x, {pick(rng, 'x', 'y')})",
    )  # fmt: skip


def batches(rng, count):
    """Draw batches, each as a string and its arrays. Often all axes have the same size."""
    for turn in range(count):
        side = pick(rng, 2, 3, 3)
        size = pick(rng, side, side, side, side, 1, 0)
        x = pick(rng, (side,), (side,) * 2, (side,) * 2, (side,) * 3, tuple(map(int, rng.choice([1, 2, 3], 2))))
        y = fitting(rng, x)
        body = (moves if turn % 2 else flows)(rng, x, y)
        if turn % 4 == 1:
            body = f"(lambda x: {body})({pick(rng, 'x * y', 'n.sin(x) + y', 'x - i', 'jk.jit(lambda a: a + y)(x)')})"
        batched = [bool(rng.integers(4)), bool(rng.integers(3)), bool(rng.integers(3))]
        batched = batched if any(batched) else [True, False, False]
        kind = np.float32 if turn % 2 == 0 else pick(rng, np.float32, np.float32, np.int32)
        axes, arrays = [], []
        for name, shape, b, dtype in zip("xyi", (x, y, ()), batched, (kind, np.float32, np.int32), strict=True):
            place = int(rng.integers(len(shape) + 1))
            axes.append(place - (len(shape) + 1) * int(rng.integers(2)) if b else None)
            shape = (*shape[:place], size, *shape[place:]) if b else shape
            numbers = rng.integers(0, 6, shape) if name == "i" else rng.integers(-4, 5, shape) * 0.5
            arrays.append(np.asarray(numbers, dtype))
        yield f"jk.vmap(lambda x, y, i: {body}, in_axes={tuple(axes)}, out_axes={pick(rng, 0, 0, -1)})(x, y, i)", arrays


def tree(rng, leaf, path, depth, axis="any"):
    """Draw an argument. Return its text, and that of its axes: one for each leaf, or one for all. `leaf(path, axis)` makes a leaf."""
    kind = pick(rng, "leaf", "list", "tuple", "dict", "dict") if depth else "leaf"
    if kind == "leaf":
        return leaf(path, axis)
    given = axis if axis != "any" or rng.integers(4) else pick(rng, None, 0, -1)
    keys = [str(key) for key in rng.permutation(["w", "b", "at"])[:2]] if kind == "dict" else [0, 1]
    parts = {key: tree(rng, leaf, f"{path}[{key!r}]", depth - 1, given) for key in keys}
    value, axes = (built(kind, {key: parts[key][at] for key in (keys, sorted(keys))[at]}) for at in range(2))
    return value, str(given) if given != "any" else axes


def built(kind, parts):
    """Return the text of a container of some texts."""
    if kind == "dict":
        return f"{{{', '.join(f'{key!r}: {text}' for key, text in parts.items())}}}"
    return ("({},)" if kind == "tuple" else "[{}]").format(", ".join(parts.values()))


TOGETHER = (
    "{} + {}",
    "{} * {}",
    "n.maximum({}, {})",
    "n.where({} > 1, {}, {})",
    "({} * 2) * ({} + 1)",
    "{}",
    "n.where({}, {}, {})",
)


def tree_batches(rng, count):
    """Draw batches of functions whose arguments and results are trees of arrays of several types, each as a string and its arrays."""
    kinds = (np.float32, np.float32, np.int32, np.int8, np.uint8, np.float16, np.bool_)
    for _ in range(count):
        side = pick(rng, 2, 3)
        size, whole = pick(rng, side, side, side, 1, 0), pick(rng, (), (side,), (side, side), (3, 2))
        arrays, known = [], []  # of each leaf: how it is called, its shape, whether it is batched

        def leaf(path, axis, size=size, whole=whole, arrays=arrays, known=known):
            shape = fitting(rng, whole)
            axis = axis if axis != "any" else pick(rng, None, *range(-len(shape) - 1, len(shape) + 1), 0)
            at = 0 if axis is None else axis % (len(shape) + 1)
            batched = shape if axis is None else (*shape[:at], size, *shape[at:])
            arrays.append(np.asarray(rng.integers(0, 7, batched), pick(rng, *kinds)))
            known.append((path, shape, axis is not None))
            return "abcdefghj"[len(arrays) - 1], str(axis)

        drawn = [tree(rng, leaf, name, 2, "any") for name in "pq"]
        keyword = leaf("k", 0)[0]
        found, axes = {}, {}
        for key in map(str, rng.permutation(["z", "y", "s"])[: int(rng.integers(1, 4))]):
            used = []

            def draw(used=used, known=known):
                used.append(pick(rng, *known))
                return used[-1][0]

            text = fill(pick(rng, *TOGETHER), draw)
            shape = np.broadcast_shapes(*(shape for _, shape, _ in used))
            text, shape = pick(
                rng,
                (text, shape),
                (f"n.sum({text}) * 0.5", ()),
                (f"n.reshape({text}, (1, {', '.join(map(str, (*shape, '')))}))", (1, *shape)),
            )
            shared = not any(is_batched for *_, is_batched in used)
            found[key] = text
            axes[key] = str(None if shared and rng.integers(2) else int(rng.integers(-len(shape) - 1, len(shape) + 1)))
        kind = pick(rng, "dict", "tuple", "list")
        out = built(kind, {key: axes[key] for key in sorted(axes)} if kind == "dict" else axes)
        names = ", ".join("abcdefghj"[: len(arrays)])
        given = ", ".join(value for value, _ in drawn)
        called = f"in_axes=({', '.join(a for _, a in drawn)}), out_axes={out})({given}, k={keyword})"
        text = f"jk.vmap(lambda p, q, *, k: {built(kind, found)}, {called}"
        if any(is_batched for *_, is_batched in known):
            yield text, names, arrays


def of_trees(jk, rng, count):
    """Return the results of random batches of trees by their strings."""
    names = {"n": jk.numpy, "np": np, "jk": jk}
    calls = (
        (
            "; ".join([*map(written, called.split(", "), arrays), batch]),
            eval(f"lambda {called}: {batch}", names),
            arrays,
        )
        for batch, called, arrays in tree_batches(rng, count)
    )
    return halves(jk, calls, raised)


def results(jk, rng, count):
    """Return the results of random batches by their strings: those of `moves` are computed eagerly, all others by one program."""
    names = {"n": jk.numpy, "np": np, "jk": jk}
    calls = (
        ("; ".join([*map(written, "xyi", arrays), batch]), eval(f"lambda x, y, i: {batch}", names), arrays)
        for batch, arrays in batches(rng, count)
    )
    return halves(jk, calls, raised)


@program(
    "17",
    "Random functions are batched along random axes; what is shared by the examples often has an axis as long as the batch.",
    against=[
        "a choice is between three",
        "a shared array with the batch's size is batched",
        "the last axis is counted in the example",
        "shared rows of the batch's size are batched",
        "only two axes are moved",
        "a shared vector meets the first axis",
        "a batch of weak numbers is strong",
    ],
    tolerance=1e-3,
)
def random_batches(jk, rng):
    return results(jk, rng, 64)


@program(
    "17",
    "Random trees of arrays are batched, each leaf along an axis of its own; so are keywords, and results have axes of their own.",
    tolerance=1e-3,
)
def random_trees(jk, rng):
    return of_trees(jk, rng, 16)


@program("17", "Hundreds of random functions are batched.", hidden=True, tolerance=1e-3)
def many_random_batches(jk, rng):
    return results(jk, rng, 56), of_trees(jk, rng, 40)
