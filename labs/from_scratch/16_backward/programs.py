"""Rung 16: `grad` and `value_and_grad`."""

import numpy as np
from climbing import counted, program, raised
from drawing import ARGUMENTS, CALLED, JOINED, TURNED, halves, pick, vector_functions


def floats(rng, *shape):
    return rng.uniform(0.3, 1.5, shape).astype(np.float32)


@program("16", "The derivative of a number with respect to an array has the array's shape.")
def simple(jk, rng):
    return jk.grad(lambda x: (jk.numpy.sin(x) * 2.0).sum())(floats(rng, 3)), jk.grad(jk.numpy.tanh)(
        float(rng.uniform())
    )


@program(
    "16",
    "A value that is used twice gets two cotangents, which are added.",
    against=["at a fan-out the last cotangent wins"],
)
def fan_out(jk, rng):
    def f(x):
        y = x * 2.0
        return (y * y + jk.numpy.exp(y) + y).sum()

    return jk.grad(f)(floats(rng, 3))


@program("16", "Each operation has a gradient.", against=["a division's cotangent is multiplied"])
def operations(jk, rng):
    jnp = jk.numpy
    fs = [
        lambda x: jnp.sum(jnp.sin(x) / (x + 1.0)), lambda x: jnp.sum(-x + 3.0 - x), lambda x: jnp.sum(jnp.sqrt(x) * jnp.log(x)),
        lambda x: jnp.sum(x**3), lambda x: jnp.sum(jnp.maximum(x, 0.9)), lambda x: jnp.max(x), lambda x: jnp.mean(jnp.abs(x)),
        lambda x: jnp.sum(jnp.where(x > 0.9, x * x, jnp.exp(x))),
    ]  # fmt: skip
    return [jk.grad(f)(floats(rng, 2, 3)) for f in fs]


@program(
    "16",
    "The cotangent of a broadcast operand is summed.",
    against=["a cotangent has the shape of the result", "the cotangent of a broadcast is the largest"],
)
def broadcasting(jk, rng):
    f = lambda x, y, c: jk.numpy.sum(x[:, None] * y + c)
    return jk.grad(f, argnums=(0, 1, 2))(floats(rng, 3), floats(rng, 4), 2.0)


@program(
    "16",
    "Products of matrices, also in batches, have gradients with respect to both operands; so have shapes, windows, and axes in any order.",
    against=[
        "the transpose of `@` is `@`",
        "a permutation is its own inverse",
        "a window's cotangent is as large as the window",
        "permutations are undone by themselves",
    ],
)
def matrices(jk, rng):
    jnp = jk.numpy
    f = lambda a, b, v: jnp.sum(jnp.tanh(a @ b) @ v) + v @ v + jnp.sum(a.T[1:] * 2.0) + jnp.sum((v * v)[1:])
    m, n = floats(rng, 5, 2, 3), floats(rng, 5, 3, 4)
    batches = lambda m, n: jnp.sum(jnp.sin(jnp.asarray(m) @ n)) + jnp.sum(jnp.asarray(m)[1] @ n[0])
    turned = lambda m: jnp.sum(jnp.transpose(m, (1, 2, 0)) * jnp.asarray(floats(np.random.default_rng(1), 2, 3, 5)))
    return [
        jk.grad(f, argnums=(0, 1, 2))(floats(rng, 3, 4), floats(rng, 4, 2), floats(rng, 2)),
        jk.grad(batches, argnums=(0, 1))(jnp.asarray(m), jnp.asarray(n)),
        jk.grad(turned)(m),
    ]


@program("16", "Parameters may be trees; the value may come with the derivative, and other data with both.")
def trees(jk, rng):
    def loss(p, x):
        y = jk.numpy.tanh(x @ p["w"] + p["b"])
        return (y * y).sum(), {"y": y}

    p = {"w": floats(rng, 3, 2), "b": floats(rng, 2)}
    x = floats(rng, 4, 3)
    return jk.value_and_grad(loss, has_aux=True)(p, x), jk.grad(loss, has_aux=True)(p, x)


@program(
    "16",
    "An argument that the result does not depend on has the derivative zero.",
    against=["an unused argument has no derivative"],
)
def zeros(jk, rng):
    return jk.grad(lambda x, y: (x * x).sum(), argnums=(0, 1))(floats(rng, 2), floats(rng, 3)), jk.grad(lambda x: 2.0)(
        1.0
    )


@program("16", "A jitted function has a gradient, and a jitted gradient is one program.")
def jitted(jk, rng):
    f = jk.jit(lambda x: (jk.numpy.sin(x) * x).sum())
    x = floats(rng, 3)
    return jk.grad(lambda x: f(x) * f(2.0 * x))(x), counted(jk.jit(jk.grad(f)), x, compiled=1, executed=1)


@program("16", "The gradient of a choice is that of the branch taken.", against=["both sides have a derivative"])
def choices(jk, rng):
    f = lambda x: jk.lax.cond(x[0] > 1.0, lambda x: (x * x).sum(), lambda x: jk.numpy.exp(x).sum() * x[0], x)
    x = floats(rng, 3)
    return [g(y) for g in (jk.grad(f), jk.jit(jk.grad(f))) for y in (x, x + 1.0)]


@program(
    "16", "The gradient of a scan goes from the last turn to the first.", against=["the backward loop runs forward"]
)
def scans(jk, rng):
    def f(w, xs):
        h, ys = jk.lax.scan(lambda h, x: (jk.numpy.tanh(w @ h + x), (h * h).sum()), xs[0] * 0.0, xs)
        return h.sum() + (ys * ys).sum()

    w, xs = floats(rng, 3, 3), floats(rng, 5, 3)
    g = jk.grad(f, argnums=(0, 1))
    return g(w, xs), jk.jit(g)(w, xs), jk.grad(lambda x: jk.lax.fori_loop(0, 3, lambda i, c: c * x, x))(1.2)


@program(
    "16",
    "A scan has a gradient, too, if parts of its carry matter only after some turns, or if its body is jitted.",
    against=["a pullback is of one cotangent"],
)
def late(jk, rng):
    g = jk.jit(lambda c, r: (c[1], c[2] * r, jk.numpy.sin(r) + c[0]))

    def f(x, c):
        (a, b, _), ys = jk.lax.scan(lambda c, r: (g(c, r), c[0]), (c, 1.0, c * 2.0), x)
        return a * b + (ys * ys).sum()

    args = floats(rng, 5), float(rng.uniform(0.5, 1.5))
    return jk.grad(f, argnums=(0, 1))(*args), jk.jit(jk.grad(f))(*args)


@program(
    "16",
    "A while loop whose carry moves is refused: nobody knows how many turns to remember. ValueError. A loop that counts is not.",
    against=["a while loop has the derivative zero", "every while loop is refused"],
)
def refused(jk, rng):
    count = lambda x: jk.lax.while_loop(lambda n: n < x, lambda n: n + 1, 0)
    moves = lambda x: jk.lax.while_loop(lambda c: c < 9.0, lambda c: c * x, x)
    return raised(jk.grad(moves), 1.5), jk.grad(lambda x: x * count(x))(2.5)


@program("16", "A derivative has a derivative.")
def twice(jk, rng):
    x = floats(rng, 3)
    return jk.grad(jk.grad(jk.numpy.sin))(1.0), jk.grad(
        lambda x: (jk.grad(lambda x: (jk.numpy.exp(x) * x).sum())(x) * x).sum()
    )(x)


@program(
    "16",
    "An integer argument, or an array as the loss, is a TypeError.",
    against=["an array is summed by itself", "the gradient with respect to an integer is zeros",
             "of several arguments the first must be a float", "an integer in a tree has a gradient of zeros"],
)  # fmt: skip
def wrong(jk, rng):
    by_integer = [raised(jk.grad(f), 3) for f in (lambda n: n * 2, lambda n: n * 2.0)]
    by_integer += [raised(jk.grad(lambda x, y: x * y, argnums), 2.0, 3) for argnums in ((0, 1), (0, -1))]
    return by_integer, raised(jk.grad(lambda x: x * 2.0), floats(rng, 3))


def anywhere(rng, n):
    """Return numbers of both signs, with 0 and numbers greater than 1 among them."""
    return np.concatenate([rng.uniform(-2.0, 2.0, n), [0.0, 1.0, -1.0]]).astype(np.float32)


@program(
    "16", "Each function has its derivative at negative numbers and at 0, for half floats too, at once and compiled."
)
def every_name(jk, rng):
    x, w = anywhere(rng, 3), floats(rng, 6)
    names = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "negative", "abs", "sign", "floor")
    at = {name: abs(x) + 0.25 if name.startswith(("log", "sqrt")) else x for name in names}
    loss = lambda name, w: lambda x: (getattr(jk.numpy, name)(x) * w).sum()
    every = lambda points, w: {name: jk.grad(loss(name, w))(x) for name, x in points.items()}
    half = np.array([0.5, 1.25], np.float16)
    return every(at, w), jk.jit(every)(at, w), every(dict.fromkeys(at, half), np.array([1, 2], np.float16))


@program("16", "Each operation by the first operand, by the second and by both; operands that are broadcast, or numbers.",
         against=["a cotangent has the shape of the result"])  # fmt: skip
def every_pair(jk, rng):
    names = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")
    operands = [
        (floats(rng, 2, 3), floats(rng, 3)),
        (floats(rng, 1), floats(rng, 2, 3)),
        (1.5, floats(rng, 3)),
        (floats(rng, 3), 0.5),
    ]
    w = jk.numpy.asarray(floats(rng, 2, 3))
    loss = lambda f: lambda x, y: jk.numpy.sum(f(x, y) * w)
    return {name: [jk.grad(loss(getattr(jk.numpy, name)), argnums=(1, 0))(x, y) for x, y in operands] for name in names}


@program(
    "16",
    "Equal maxima share the gradient: of two operands, along an axis, of all elements.",
    against=["if numbers are equal, the first one has the derivative"],
)
def ties(jk, rng):
    jnp = jk.numpy
    x = np.array([1.0, 1.0, 0.5], np.float32) * np.float32(rng.uniform(1, 2))
    fs = [
        jnp.max,
        jnp.min,
        lambda x: jnp.maximum(x, x[0]).sum(),
        lambda x: jnp.minimum(x[0], x).sum(),
        lambda x: jnp.max(x[None] * 1.0, axis=1)[0],
    ]
    return (
        [jk.grad(f)(x) for f in fs],
        jk.grad(lambda x: jnp.maximum(x, 1.0))(1.0),
        jk.grad(lambda x: jnp.minimum(1.0, x))(1.0),
    )


@program("16", "Each operation that moves numbers has a gradient: shapes, windows, sums.")
def every_move(jk, rng):
    jnp, w = jk.numpy, jk.numpy.asarray(floats(rng, 24))
    weigh = lambda y: (y.reshape(-1) * w[: y.size]).sum()
    fs = {
        "sum": lambda x: jnp.sum(x, axis=1),
        "sum keepdims": lambda x: jnp.sum(x, axis=(0, -1), keepdims=True),
        "mean": lambda x: jnp.mean(x, axis=-1),
        "max": lambda x: jnp.max(x, axis=0),
        "min": lambda x: jnp.min(x, axis=(1, 2)),
        "reshape": lambda x: x.reshape(6, 4),
        "T": lambda x: x.T,
        "transpose": lambda x: jnp.transpose(x, (1, 2, 0)),
        "broadcast": lambda x: jnp.broadcast_to(x[0, 0], (3, 4)),
        "row": lambda x: x[1],
        "last": lambda x: x[:, -1],
        "slice": lambda x: x[:, 1:, :2],
        "traced": lambda x: x[jnp.asarray(1), jnp.asarray(-1)],
        "axis": lambda x: x[:, None],
        "where": lambda x: jnp.where(x > 0.9, x, x * x),
        "left": lambda x: jnp.where(x > 0.9, x, 0.0),
        "right": lambda x: jnp.where(x > 0.9, 0.0, x),
        "matmul": lambda x: x @ x[0].T,
        "dot": lambda x: jnp.dot(x[0], x[1].T),
        "twice": lambda x: x[0] * x[0] + x[1],
    }
    x = jnp.asarray(floats(rng, 2, 3, 4))
    return {name: jk.grad(lambda x, f=f: weigh(f(x)))(x) for name, f in fs.items()}


@program("16", "Loops from the end, with constants, with an index and of one row have gradients; so has a choice of three branches.",
         against=["the backward loop runs forward"])  # fmt: skip
def every_loop(jk, rng):
    lax, x = jk.lax, floats(rng, 3)
    fs = {
        "reverse": lambda x, w: lax.scan(lambda c, r: (c * w[0] + r * c, c * r), 1.0, x, reverse=True),
        "constants": lambda x, w: lax.scan(lambda c, r: (c + w[0] * r * w[1], w[2] * c), x[0], x),
        "an index": lambda x, w: lax.fori_loop(0, 3, lambda i, c: c * x[i] + w[i], 1.0),
        "one row": lambda x, w: lax.scan(lambda c, r: (c * r, c), w[0], x[:1]),
        "no row": lambda x, w: lax.scan(lambda c, r: (c * r, c), w[0] * x[0], x[:0])[0],
        "changing places": lambda x, w: lax.scan(lambda c, r: ((c[1], c[0] * r), c[0]), (w[0], w[1]), x),
        "branches": lambda x, w: [
            lax.switch(i, [lambda: x[0] * w, lambda: x * x, lambda: x * 0 + 2.0]) for i in range(3)
        ],
        "integers": lambda x, w: lax.scan(lambda c, r: ((c[0] + 1, c[1] * r), c[1]), (0, w[0]), x)[0][1],
    }
    leaves = jk.tree_util.tree_leaves
    loss = lambda f: lambda x, w: sum((y * y).sum() for y in map(jk.numpy.asarray, leaves(f(x, w))))
    every = lambda fs: lambda x, w: {name: jk.grad(loss(f), argnums=(0, 1))(x, w) for name, f in fs}
    each = list(fs.items())
    two = each[int(rng.integers(4)) :: 4]
    return every(each)(x, floats(rng, 3)), jk.jit(every(two))(x, floats(rng, 3))


@program("16", "`argnums` beyond the arguments, and a result that is not one float, are TypeErrors.",
         against=["an array is summed by itself"])  # fmt: skip
def no_loss(jk, rng):
    x = floats(rng, 1, 1)
    return [
        raised(jk.grad(lambda x: (x > 0) * 1), 2.0),
        raised(jk.grad(lambda x: (x, x)), 2.0),
        raised(jk.grad(lambda x: x * x), x),
        raised(jk.grad(lambda x, y: x * y, argnums=2), 2.0, 3.0),
    ]


@program("16", "A gradient has the dtype and the weakness of its argument; a negative `argnums` counts from the end.",
         against=["a tuple of one is one"])  # fmt: skip
def dtypes(jk, rng):
    h = np.float16(rng.uniform(1, 2))
    f = lambda x, y: x * y * y
    return (
        jk.grad(lambda x: x * x)(h),
        jk.grad(lambda x: x * x)(1.5) * h,
        jk.grad(f, argnums=-1)(2.0, 3.0),
        jk.grad(f, argnums=(1,))(2.0, 3.0),
        jk.grad(f, (0, -1))(2.0, 3.0),
    )


@program(
    "16",
    "Whole numbers have whole gradients: nothing is added to a count, a quotient or a maximum.",
    against=["a count needs a little, backward, too"],
    tolerance=1e-9,
)
def whole_gradients(jk, rng):
    n, x = jk.numpy, jk.numpy.asarray(rng.permutation(8)[:4].astype(np.float32) + 1)
    w = np.float32([1, 2, 4, 8])
    fs = [
        lambda x: n.max(x) * 4.0, lambda x: n.max((x * w).reshape(2, 2)), lambda x: n.sum(n.maximum(x, 4.5) * w),
        lambda x: n.sum(x * x * w), lambda x: n.mean(x * w), lambda x: n.sum(n.abs(x - 4.5) * w), lambda x: n.dot(x, x),
        lambda x: n.sum(n.where(x > 4.5, x * 3.0, x / 2.0)), lambda x: n.sum(w / (x - x + 2.0)), lambda x: n.sum(n.sin(x - x) * w),
        lambda x: n.max(x) * n.sum(x), lambda x: n.sum(n.sqrt(x * 0.0 + 4.0) * x), lambda x: n.sum(x[1:] / 4.0) - x[0],
    ]  # fmt: skip
    return [jk.grad(f)(x) for f in fs], [jk.jit(jk.grad(f))(x) for f in fs[:4]]


@program(
    "16",
    "Keywords are passed on, and not differentiated; the value is an array; an array of one number is no loss.",
    against=["keywords are refused", "an array of one number is a loss", "the value is a number of Python",
             "a negative `argnums` counts the parameters"],
)  # fmt: skip
def arguments(jk, rng):
    f, x = lambda x, y=3.0, *, times=1.0: jk.numpy.sum(x * y) * times, floats(rng, 2)
    value, slope = jk.value_and_grad(f)(x, y=2.0, times=4.0)
    last = [jk.grad(f, argnums=n)(x) for n in (-1, (-1,), (0,))]
    h = floats(rng, 2).astype(np.float16)
    refused = [
        raised(jk.grad(g), x)
        for g in (lambda x: x[:1], lambda x: jk.numpy.sum(x, keepdims=True), lambda x: [x.sum()], lambda x: None)
    ]
    beyond = [raised(jk.grad(f, argnums=n), x) for n in (1, 2, (0, 1))]
    return value * h, slope, last, jk.grad(f, argnums=(1, 0))(x, 2.0), refused, beyond


@program(
    "16",
    "An error within a gradient can be caught, and the outer function, or its gradient, goes on.",
    against=["when a gradient fails, nobody stands at the door"],
)
def caught(jk, rng):
    def broken(x):
        raise KeyError("mine")

    def f(x):
        try:
            return jk.grad(broken)(x)
        except KeyError:
            return (jk.numpy.sin(x) * x).sum()

    x = floats(rng, 2)
    return [e.primitive.name for e in jk.make_jaxpr(f)(x).jaxpr.eqns], jk.grad(f)(x), jk.grad(lambda x: f(x * 2.0))(x)


@program(
    "16",
    "What `where` did not choose has the cotangent 0, also where the cotangent of the result is inf.",
    against=["what was not chosen has the cotangent times 0"],
)
def not_chosen(jk, rng):
    n, x = jk.numpy, np.float32([-1.0, 0.0, 4.0, rng.uniform(1, 2)])
    fs = [
        lambda x: n.sqrt(n.where(x > 0, x, 0.0)),
        lambda x: n.log(n.where(x > 0, 0.0, x * x)),
        lambda x: 1.0 / n.where(x == 1, x, x * 0.0),
    ]
    return [jk.grad(lambda x, f=f: f(x).sum())(x) for f in fs]


@program(
    "16",
    "A while loop in which nothing moves is no hindrance, and a gradient of a function of several results leaves the unused ones.",
)
def beside(jk, rng):
    count = lambda n: jk.lax.while_loop(lambda c: c < n, lambda c: c + 1, 0)
    g = jk.jit(lambda x: (x * x, jk.numpy.sin(x), x > 1, x.astype(np.int32)))
    fs = [
        lambda x: (x * count(3)).sum(),
        lambda x: (jk.jit(lambda x: x * count(3) + g(x)[1])(x)).sum(),
        lambda x: g(x)[0].sum(),
        lambda x: jk.lax.scan(lambda c, r: (c * r, (c, r > 1, 2)), 1.5, x)[0],
        lambda x: jk.lax.cond(x[0] > 0, lambda: (x.sum(), x, 1), lambda: (x[0], x, 2))[0],
    ]
    return [jk.grad(f)(floats(rng, 2)) for f in fs]


@program(
    "16",
    "Other arguments, and keywords, may be integers; the slope of 0 ** y with respect to y is 0.",
    against=["no argument may be an integer", "keywords are arguments to differentiate", "the logarithm of 0 is a part of the slope"],
)  # fmt: skip
def others(jk, rng):
    f = lambda x, n, *, by=2, on=True: (x * n * by).sum() if on is True else x.sum()
    x, g = floats(rng, 2), jk.grad(f)
    powers = jk.grad(lambda x, y: (x**y).sum(), argnums=1)(np.float32([0.0, 1.5]), np.float32([2.0, 0.5]))
    return g(x, 3), g(x, np.int32(2), by=4), g(x, 3, on=1), jk.value_and_grad(f)(x, 2, by=3), powers


class Rate:
    """An argument that is not a number."""

    by = 2.0


@program(
    "16",
    "Arguments that are not differentiated are passed on as they are: strings, functions, objects. The others must have float leaves.",
    against=["all arguments are made arrays", "an integer in a tree has a gradient of zeros"],
)
def passed_on(jk, rng):
    seen, x = [], floats(rng, 2)

    def f(first, x, *rest, **named):
        seen.append([type(v).__name__ for v in (first, *rest, *named.values())])
        return x.sum()

    others = [jk.numpy.sin, [1, "a"], None, Rate(), 3]
    slope = jk.grad(f, 1)("square", x, *others, **{f"n{i}": v for i, v in enumerate([*others, True, 2.5, {"n": 1}])})
    loss = lambda tree: jk.tree_util.tree_leaves(tree)[-1].sum()
    trees = [{"n": 2, "x": x}, [np.int32(1), x], (x, None)]
    return slope, seen[:1], [raised(jk.grad(loss), tree) for tree in trees]


# --- random functions ---------------------------------------------------------------------------------------------------
# A function is a string, such as `n.where(x > 0, n.sin(x) * y, jk.lax.cond(i > 1, lambda: x, lambda: y))`, which is the key of its result.


UNARY = CALLED[:9]
TEMPLATES = (  # besides those of all rungs
    CALLED[9:],
    (*JOINED, "jk.lax.fori_loop(0, 3, lambda k, c: (c[1], c[0] * 0.5 + y), ({}, {}))[0]",
     "jk.grad(lambda a: n.sum(a * a * {}))({})", "jk.grad(lambda a: n.max(a) * {}[0])({})",
     "n.sum(n.sum(n.reshape(x * y, (2, 2)), axis=1) * np.float32([1, 5])) * {}",
     "n.sum(n.max(n.reshape(x * y, (2, 2)), axis=1) * np.float32([1, 5])) * {}",
     "n.sum(n.transpose(n.reshape(n.reshape(x, (-1, 1))[:2] * y, (2, 2, 2)), (1, 2, 0)) * n.reshape(n.arange(8.0), (2, 2, 2))) * {}"),
)  # fmt: skip


LOSSES = (  # what a function of v, a vector, may return, or not
    "n.sum(v)", "v", "v[0]", "v[:1]", "v[None, :1]", "n.sum(v > 1)", "v[0] > 1", "2", "2.0", "True", "np.float32(2)", "np.int32(2)",
    "(v[0],)",
    "[v[0]]", "{'a': v[0]}", "None", "()", "v[0].astype(np.float16)", "v[0].astype(np.int32)", "n.max(v, keepdims=True)",
    "np.ones(1, np.float32)",
    "n.asarray(1.5)", "v[0] * 0 + 2", "v[0] * np.int32(2)", "v[1] if v[0] > 1 else v[0]",
)  # fmt: skip
AUX = (  # what may be in the aux of a loss
    "None", "loss", "[loss, loss]", "{'loss': loss, 'v': v}", "(v, v > 1, None)", "v.astype(np.int32)", "()", "[c, v, c]",
    "{'b': [v], 'a': loss * 2.0}",
    "c + 1", "jk.jit(lambda: v * 2.0)()",
)  # fmt: skip


def with_loss(jk, loss):
    """Return a function whose aux has the loss in it, and an argument."""

    def f(x, y):
        value = loss(x, y)
        return value, {"x": [x, None], "loss": value}

    return f


@program(
    "16",
    "Each kind of argument, loss and aux is accepted or refused, and the accepted ones come back as they should.",
    against=[
        "one may differentiate by truth values",
        "a result that is given twice has the last one's cotangent",
        "no aux is no result",
        "a cotangent has any dtype",
    ],
)
def every_kind(jk, rng):
    n, x = jk.numpy, jk.numpy.asarray(floats(rng, 3))
    names, c = {"n": n, "np": np, "jk": jk, "x": x}, n.asarray(np.int32([1, 2]))
    total = lambda tree: sum([n.sum(v) * 2.0 for v in jk.tree_util.tree_leaves(tree)], n.sum(x))
    by = {text: raised(jk.grad(total), eval(text, names)) for text in ARGUMENTS}
    both = jk.grad(lambda a, b: a * total(b), argnums=pick(rng, (0, 1), (1, 0), (0, -1)))
    second = {text: raised(both, 1.5, eval(text, names)) for text in rng.choice(ARGUMENTS, 6, replace=False)}
    losses = {text: eval(f"lambda v: {text}", names) for text in LOSSES}
    aux = {text: eval(f"lambda v, c: (lambda loss: (loss, {text}))(n.sum(v * v * v))", names) for text in AUX}
    slopes = {text: pick(rng, jk.grad, jk.value_and_grad)(f, has_aux=True)(x, c) for text, f in aux.items()}
    return [by, second], {text: raised(jk.grad(f), x) for text, f in losses.items()}, slopes


def gradients(jk, rng, count):
    """Draw calls that differentiate random functions with respect to x, y or both, which may come in a tree or by name; some twice."""
    n, few = jk.numpy, None if count else 5
    unary, turned = (tuple(rng.permutation(some)[:few]) for some in (UNARY, TURNED))
    for text, f, xy in vector_functions(jk, rng, (*TEMPLATES, unary, turned), count, slice(4)):
        w = n.asarray(rng.choice([-1, -0.5, 0.25, 2], 4).astype(np.float32))
        loss = lambda x, y, f=f, w=w: n.sum(f(x, y) * w)
        way, by = pick(rng,
            ("x", lambda x, y, loss=loss: jk.value_and_grad(loss)(x, y)),
            ("y, x", lambda x, y, loss=loss: jk.grad(loss, argnums=(1, 0))(x, y)),
            ("a tree", lambda x, y, loss=loss: jk.grad(lambda p: (loss(p["x"], *p["y"]), None), has_aux=True)({"x": x, "y": (y,)})),
            ("y of a half", lambda x, y, f=f, w=w: jk.grad(lambda h: n.sum(f(x, h.astype(np.float32)) * w))(y.astype(np.float16))),
            ("x of a gradient", lambda x, y, loss=loss: jk.grad(lambda x: n.sum(jk.grad(loss, -1)(x, y) * y))(x)),
            ("y by name", lambda x, y, loss=loss: jk.grad(lambda a, *, b: loss(b, a))(y, b=x)),
            ("x twice", lambda x, y, loss=loss: jk.grad(lambda a: loss(a, a))(x)),
            ("a number", lambda x, y, loss=loss: jk.grad(lambda a: loss(x * a, y))(1.0)),
            ("one of several", lambda x, y, loss=loss: jk.grad(
                lambda a, b: jk.jit(lambda a, b: (b, a * 2.0, loss(a, b), b > a))(a, b)[2], (0, 1))(x, y)),
            ("what is closed over", lambda x, y, loss=loss: jk.value_and_grad(lambda a: jk.jit(lambda: loss(a, y))())(x)),
            ("a loss that is aux, too", lambda x, y, loss=loss: jk.value_and_grad(with_loss(jk, loss), has_aux=True)(x, y)),
        )  # fmt: skip
        yield f"by {way}; w = {np.asarray(w).tolist()}; {text}", by, xy


@program(
    "16",
    "Random functions have gradients: at numbers that are equal, negative or 0, with loops, choices and calls in each other.",
    against=[
        "no aux is no result",
        "a sum's cotangent is broadcast as it is",
        "a transposition undoes itself",
        "a cotangent has any dtype",
    ],
    tolerance=1e-3,
)
def random_gradients(jk, rng):
    return halves(jk, gradients(jk, rng, 0), raised)


@program("16", "Hundreds of random functions have gradients.", hidden=True, tolerance=1e-3)
def many_random_gradients(jk, rng):
    return halves(jk, gradients(jk, rng, 60), raised, exact=sum(map(len, (*TEMPLATES, UNARY, TURNED))))
