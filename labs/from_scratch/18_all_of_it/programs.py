"""Rung 18: programs as people write them."""

import itertools
import math

import numpy as np
from climbing import counted, program, raised
from drawing import halves, pick, written


def floats(rng, *shape):
    return rng.normal(0.0, 0.7, shape).astype(np.float32)


def network(rng, *sizes):
    return [
        {"w": floats(rng, a, b) / np.float32(a) ** 0.5, "b": np.zeros(b, np.float32)}
        for a, b in itertools.pairwise(sizes)
    ]


def forward(jk, params, x):
    for layer in params[:-1]:
        x = jk.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


@program(
    "18", "The activation functions compute what JAX's compute.", against=["selu is relu", "silu is relu with a slope"]
)
def activations(jk, rng):
    x = floats(rng, 6)
    return [
        getattr(jk.nn, name)(jk.numpy.asarray(x))
        for name in ("relu", "sigmoid", "silu", "softplus", "selu", "softmax", "log_softmax")
    ]


@program("18", "`softmax` of large numbers has no nan.", against=["exp first, then divide", "the softmax is over all"])
def large(jk, rng):
    x = jk.numpy.asarray(floats(rng, 3, 4) * 300.0)
    return jk.nn.softmax(x), jk.nn.log_softmax(x, axis=0)


@program(
    "18",
    "Where one number is far above the others, its probability is exactly 1, and the logarithm of that is 0.",
    against=["a little keeps the logarithm finite"],
)
def certain(jk, rng):
    x = np.full(3, -40.0, np.float32)
    x[int(rng.integers(3))] = 0.0
    x = jk.numpy.asarray(x)
    found = np.asarray(jk.nn.softmax(x)).max() - 1, np.asarray(jk.nn.log_softmax(x)).max()
    return {"differ from 1 and from 0, in millionths": [float(number) * 1e6 for number in found]}


@program(
    "18",
    "`var`, `std`, `concatenate`, `stack` and `linspace` compute what numpy's compute.",
    against=[
        "the variance divides by n - 1",
        "a std is a variance",
        "stack joins along the axis that is there",
        "linspace stops before the end",
        "clip wraps",
        "outer is for rows",
    ],
)
def words(jk, rng):
    jnp, x = jk.numpy, jk.numpy.asarray(floats(rng, 3, 4))
    return [
        jnp.var(x),
        jnp.std(x, axis=0),
        jnp.concatenate([x, x * 2, x[:1]]),
        jnp.concatenate([x, x], axis=-1),
        jnp.stack([x, x]),
        jnp.linspace(0.0, 1.0, 5),
        jnp.clip(x, -0.5, 0.5),
        jnp.square(x),
        jnp.outer(x[0], x[1]),
        jnp.expand_dims(x, 0),
        jnp.ravel(x),
    ]


def words_of(jk):
    jnp, nn = jk.numpy, jk.nn
    return [
        lambda x: jnp.concatenate([x, x * x, x[:1]]), lambda x: jnp.concatenate([x, 2.0 * x], axis=-1),
        lambda x: jnp.stack([x, jnp.sin(x)], axis=1), lambda x: jnp.clip(x, -0.3, 0.4), jnp.square,
        lambda x: jnp.outer(x[0], x[1]), lambda x: jnp.expand_dims(x, 1), jnp.ravel, jnp.var, lambda x: jnp.std(x, axis=0),
        nn.relu, nn.sigmoid, nn.silu, nn.softplus, nn.selu, nn.softmax, lambda x: nn.log_softmax(x, axis=0),
    ]  # fmt: skip


@program("18", "Each of these functions has a derivative.", against=["`concatenate` has no derivative"], tolerance=1e-4)
def words_differentiated(jk, rng):
    x, c = jk.numpy.asarray(floats(rng, 3, 4)), jk.numpy.asarray(floats(rng, 30))
    weigh = lambda y: (y.reshape(-1) * c[: math.prod(y.shape)]).sum()
    return [jk.grad(lambda x, f=f: weigh(f(x)))(x) for f in words_of(jk)]


@program(
    "18",
    "Each of these functions works for a batch.",
    against=["`concatenate` is for one example", "one_hot is integers"],
)
def words_batched(jk, rng):
    x, labels = floats(rng, 2, 3, 4), rng.integers(0, 3, 5).astype(np.int32)
    return [jk.vmap(f)(x) for f in words_of(jk)], jk.vmap(lambda n: jk.nn.one_hot(n, 3))(labels)


@program(
    "18",
    "SELU, the program that every introduction to `jit` begins with: compiled once, run once.",
    against=["each step is compiled anew"],
)
def selu(jk, rng):
    jnp = jk.numpy

    @jk.jit
    def f(x, alpha=1.67, lambda_=1.05):
        return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    f(floats(rng, 100))
    return counted(f, floats(rng, 100), compiled=0, executed=1)


@program("18", "`jit(vmap(grad(loss)))` gives a derivative for each example, in one program.")
def per_example(jk, rng):
    params, xs, ys = network(rng, 3, 4, 1), floats(rng, 5, 3), floats(rng, 5, 1)
    loss = lambda p, x, y: ((forward(jk, p, x) - y) ** 2).sum()
    return counted(jk.jit(jk.vmap(jk.grad(loss), in_axes=(None, 0, 0))), params, xs, ys, compiled=1, executed=1)


@program(
    "18",
    "A network learns as with JAX: fifty steps run one program, and give the same losses.",
    against=["each step is compiled anew"],
    tolerance=1e-3,
)
def training(jk, rng):
    params, xs = network(rng, 2, 8, 1), floats(rng, 32, 2)
    ys = np.sin(xs.sum(axis=1, keepdims=True))
    traces = []

    @jk.jit
    def step(params, xs, ys):
        traces.append(1)
        loss, grads = jk.value_and_grad(lambda p: jk.numpy.mean((forward(jk, p, xs) - ys) ** 2))(params)
        return loss, jk.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    losses = []
    for _ in range(50):
        loss, params = step(params, xs, ys)
        losses.append(float(loss))
    return {"losses": losses[::10], "traces": len(traces)}


@program("18", "The whole training is one program: a scan over the steps.", tolerance=1e-3)
def training_in_scan(jk, rng):
    params, xs = network(rng, 2, 5, 1), jk.numpy.asarray(floats(rng, 16, 2))
    ys = jk.numpy.sum(xs, axis=1, keepdims=True)

    def step(p, _):
        loss, g = jk.value_and_grad(lambda p: jk.numpy.mean((forward(jk, p, xs) - ys) ** 2))(p)
        return jk.tree_util.tree_map(lambda p, g: p - 0.1 * g, p, g), loss

    return jk.jit(lambda p: jk.lax.scan(step, p, None, length=20)[1])(params)


@program(
    "18",
    "The loss of a classifier, made of labels and `log_softmax`, has a gradient.",
    against=["the last axis is the first"],
)
def classifier(jk, rng):
    params, xs = network(rng, 4, 6, 3), floats(rng, 7, 4)
    labels = rng.integers(0, 3, 7).astype(np.int32)

    @jk.jit
    def loss(p, xs, labels):
        return -jk.numpy.mean(jk.numpy.sum(jk.nn.one_hot(labels, 3) * jk.nn.log_softmax(forward(jk, p, xs)), axis=1))

    return jk.value_and_grad(loss)(params, xs, labels)


@program(
    "18", "Newton's method runs, with second derivatives in a loop.", against=["the hessian is the gradient squared"]
)
def newton(jk, rng):
    f = lambda x: (x - 2.0) ** 4 + jk.numpy.sin(x)
    step = lambda i, x: x - jk.grad(f)(x) / jk.grad(jk.grad(f))(x)
    h = jk.hessian(lambda x: jk.numpy.sum(jk.numpy.sin(x) * x[0]))(floats(rng, 3))
    return jk.jit(lambda x: jk.lax.fori_loop(0, 5, step, x))(4.0 + float(rng.uniform())), h


@program("18", "A recurrent network can be batched, and has a derivative.", tolerance=1e-4)
def recurrent(jk, rng):
    def loss(w, xs):
        h, _ = jk.lax.scan(lambda h, x: (jk.numpy.tanh(h @ w + x), None), jk.numpy.zeros(3), xs)
        return (h * h).sum()

    total = lambda w, batch: jk.vmap(loss, in_axes=(None, 0))(w, batch).sum()
    return jk.jit(jk.value_and_grad(total))(floats(rng, 3, 3), floats(rng, 4, 6, 3))


@program("18", "`jacfwd` and `jacrev` give Jacobians.", against=["a Jacobian is transposed"])
def jacobians(jk, rng):
    f = lambda x: jk.numpy.sin(x) * x[0]
    x = floats(rng, 3)
    return jk.jacfwd(f)(x), jk.jacrev(f)(x)


@program("18", "Far from 0 there is no infinity and no nan, neither in the values nor in the derivatives.",
         against=["far from 0 an exponential is infinite"])  # fmt: skip
def far(jk, rng):
    x = jk.numpy.asarray(np.array([-200.0, -30.0, 0.0, 30.0, 200.0], np.float32) + np.float32(rng.uniform()))
    names = ("relu", "sigmoid", "silu", "softplus", "selu", "softmax", "log_softmax")
    here_and_there = lambda f: [f(x), jk.grad(lambda x: f(x)[1] + f(x)[3])(x)]
    return {name: here_and_there(getattr(jk.nn, name)) for name in names}


@program("18", "Each of these functions can be compiled, for half floats as well.")
def words_compiled(jk, rng):
    every = jk.jit(lambda x: [f(x) for f in words_of(jk)])
    return every(floats(rng, 3, 4)), [
        f(jk.numpy.asarray(floats(rng, 3).astype(np.float16))) for f in (jk.nn.relu, jk.nn.silu, jk.nn.selu)
    ]


@program("18", "These functions are right for all axes, dtypes and edge cases.")
def words_at_the_edges(jk, rng):
    jnp, x, n = jk.numpy, jk.numpy.asarray(floats(rng, 2, 3)), rng.integers(0, 9, 3).astype(np.int32)
    return {
        "concatenate": [
            jnp.concatenate([x, n[None]]),
            jnp.concatenate([n, n]),
            jnp.concatenate([x, x[:0]]),
            jnp.concatenate([x.T, x.T], axis=1),
        ],
        "stack": [jnp.stack([x, x], axis=-1), jnp.stack([n, n + 1]), jnp.stack([x[0, 0], x[1, 1]])],
        "expand_dims": [jnp.expand_dims(x, a) for a in (0, 1, 2, -1)],
        "one_hot": [jk.nn.one_hot(np.int32([0, 5, -1]), 3), jk.nn.one_hot(1, 2)],
        "var": [jnp.var(x, axis=-1), jnp.std(x, axis=(0, 1)), jnp.var(n)],
        "clip": [jnp.clip(x, 0, 1), jnp.clip(n, 2, 4)],
        "others": [jnp.square(n), jnp.ravel(x.T), jnp.outer(n, n), jnp.linspace(0, 1, 3), jnp.linspace(-1.0, 1.0)],
        "softmax": [jk.nn.softmax(x, axis=0), jk.nn.log_softmax(x, axis=-2)],
    }


@program("18", "Jacobians of matrices have the axes of the result, and then those of the argument.")
def jacobians_of_matrices(jk, rng):
    x = jk.numpy.asarray(floats(rng, 2, 2))
    return (
        jk.jacfwd(lambda x: x @ x)(x),
        jk.jacrev(lambda x: (x @ x)[0])(x),
        jk.hessian(lambda x: (x**3).sum())(x),
        jk.jacrev(lambda x: x * x)(2.0),
    )


@program(
    "18",
    "At 0 and at the bounds: the slopes of the activations, of `clip` and of `abs`-like functions are JAX's.",
    against=["the slope of relu at 0 is a half", "selu begins at 0", "clip takes the lower bound last"],
    tolerance=1e-3,
)
def slopes_at_zero(jk, rng):
    nn, n, x = jk.nn, jk.numpy, jk.numpy.asarray(np.float32([0.0, -0.0, 1.0, -10.0, -2.5]))
    fs = [nn.relu, nn.sigmoid, nn.silu, nn.softplus, nn.selu, lambda x: n.square(x)]
    crossed = n.clip(x * float(rng.uniform(3, 4)), 2.0, 1.0)
    return (
        [jk.grad(lambda x, f=f: f(x).sum())(x) for f in fs],
        [f(x) * 1e4 for f in fs[3:]],
        [f(0.0) for f in fs[:5]],
        crossed,
    )


@program(
    "18",
    "Arrays of several dtypes and ranks: joined, spread, multiplied; large numbers that lie close have a small variance.",
    against=["the variance is a difference of squares", "the first array has the dtype", "outer is for vectors"],
)
def mixtures(jk, rng):
    n, x, i = jk.numpy, floats(rng, 2), rng.integers(1, 9, 2).astype(np.int32)
    h, b = floats(rng, 2).astype(np.float16), np.array([True, False])
    far = n.asarray(np.float32([10000.0, 10001.0, 10003.0]) + np.float32(rng.integers(9)))
    pairs = [(i, x), (x, i), (h, i), (i, h), (h, x), (b, i), (b, h), (x, i, h)]
    a = n.asarray(floats(rng, 2, 2))
    return {
        "joined": [[n.concatenate(list(p)), n.stack(list(p))] for p in pairs],
        "variances": [
            n.var(far),
            n.std(far),
            n.var(far[None], axis=1),
            n.var(n.asarray(h)),
            n.var(n.asarray(i), axis=0),
        ],
        "outer": [n.outer(a, x), n.outer(x, a), n.outer(i, h), n.outer(2.0, x)],
        "clip": [n.clip(n.asarray(i), 2, 5), n.clip(n.asarray(h), 0, 1), n.clip(n.asarray(x), i, 5.0)],
        "one_hot": [jk.nn.one_hot(np.int32([[0, 2], [1, 5]]), 3), jk.nn.one_hot(np.int32(2), 3)],
    }


@program(
    "18",
    "Integers, numbers without axes, nan and several axes: what each of these functions makes of them.",
    against=[
        "relu of nan is 0",
        "`linspace` of one number is its end",
        "`linspace` of integers is one of integers",
        "the axis of a variance is one",
        "the softmax of integers is one of integers",
        "a number has no axes to ravel",
    ],
)
def corners(jk, rng):
    n, nn, x = jk.numpy, jk.nn, jk.numpy.asarray(floats(rng, 2, 3, 2))
    i = n.asarray(rng.integers(0, 4, (2, 3)).astype(np.int32))
    names = ("relu", "sigmoid", "silu", "softplus", "selu")
    return {
        "nan": [getattr(nn, name)(n.asarray(np.float32([np.nan, np.inf, 1.0]))) for name in names],
        "integers": [
            nn.softmax(i * 1.0),
            nn.softmax(i),
            nn.log_softmax(i, axis=0),
            n.square(i),
            n.ravel(i),
            n.outer(i[0], i[1]),
        ],
        "linspace": [
            n.linspace(2.0, 5.0, 1),
            n.linspace(0, 4, 3),
            n.linspace(3, 1, 5),
            n.linspace(-1.5, 2.0, 4),
            n.linspace(1, 1, 2),
            n.linspace(0.5, 2, 3),
            n.linspace(3, 0.5, 4),
        ],
        "axes": [
            n.var(x, axis=(0, 2)),
            n.std(x, axis=(-1, 1)),
            n.var(x, axis=1),
            nn.softmax(x, axis=1),
            nn.log_softmax(x, axis=-3),
        ],
        "numbers": [
            n.ravel(n.asarray(2.5)),
            n.expand_dims(n.asarray(2.5), 0),
            n.square(n.asarray(3)),
            n.clip(n.asarray(2.5), 0, 1),
        ],
        "joined": [
            n.concatenate([x, x], axis=-2),
            n.stack([x, x], axis=-2),
            n.stack([x[0, 0, 0]] * 3),
            n.concatenate([x[:, :0], x], axis=1),
        ],
    }


@program(
    "18",
    "`linspace` between numbers that are traced, differentiated or batched; it ends where it should.",
    against=["`linspace` needs no rules, since numpy has it"],
)
def spaces(jk, rng):
    n, a, b = jk.numpy, float(rng.uniform(-1, 1)), float(rng.uniform(1, 2))
    f = lambda a, b: n.sum(n.linspace(a, b, 4) ** 2)
    return [
        jk.jit(lambda a, b: [n.linspace(a, b, k) for k in (1, 2, 5)])(a, b),
        jk.grad(f, argnums=(0, 1))(a, b),
        jk.vmap(lambda a: n.linspace(a, 2, 3))(floats(rng, 4)),
        n.linspace(n.asarray(a), 3, 3),
        jk.jit(lambda i: n.linspace(0, i, 3))(5),
    ]


@program(
    "18",
    "Jacobians have the axes of the result, then those of the argument; a number has none.",
    against=["a Jacobian of one number has an axis", "unit vectors are float32"],
)
def every_jacobian(jk, rng):
    n, v, m = jk.numpy, jk.numpy.asarray(floats(rng, 3)), jk.numpy.asarray(floats(rng, 2, 3))
    fs = [
        (lambda x: n.sum(x * x), v),
        (lambda x: x[:1] * x[1], v),
        (lambda x: x * v, n.asarray(1.5)),
        (lambda x: n.sin(x), n.asarray(0.5)),
        (lambda x: n.sum(x, axis=1) * x[0, 0], m),
    ]
    shaped = lambda d: [(r.shape, r) for r in (d(f)(x) for f, x in fs)]
    whole = jk.hessian(lambda x: n.sum(x[0] ** 3) + n.sum(x[0] * x[1] * x[1]))(m)
    half = n.asarray(np.float16([0.5, 2.0]))
    halves_ = [d(lambda x: n.stack([x * x, x]))(half) for d in (jk.jacfwd, jk.jacrev)]
    return shaped(jk.jacfwd), shaped(jk.jacrev), whole, jk.hessian(lambda x: x**3)(2.0), halves_


@program(
    "18",
    "One array can be stacked and joined; numbers that are equal have no spread, and a small spread has a slope.",
    against=["one array is a stack already", "a spread is never 0", "an array that is alone is left as it is"],
)
def alone(jk, rng):
    n, x = jk.numpy, jk.numpy.asarray(floats(rng, 2, 3))
    c = float(rng.integers(1, 9))
    equal, close = n.zeros((2, 3)) + c, n.asarray(np.float32([-1e-4, 0, 2e-4]) * np.float32(rng.uniform(1, 3)))
    f = lambda x: [
        *[n.stack([x], axis=a) for a in (0, 1, -1)],
        n.stack((x,)),
        n.concatenate([x]),
        n.concatenate((x,), axis=-1),
    ]
    return (
        f(x),
        jk.jit(f)(x),
        [f(np.float64([[0.5, c]])) + f(np.array([[1, int(c)]])), n.stack([1, 2.5]), n.stack([c]), n.stack([True])],
        [
            n.square(3),
            n.square(c),
            n.ravel(c),
            n.expand_dims(c, 0),
            n.outer(2, c),
            n.clip(3, 0, 2),
            jk.nn.relu(c),
            jk.nn.silu(2.0),
        ],
        [
            jk.grad(lambda x: n.sum(n.stack([x * x], axis=1) ** 2))(x),
            jk.vmap(lambda x: n.stack([x]))(x),
            jk.vmap(lambda x: n.concatenate([x]))(x),
        ],
        [
            n.std(equal),
            n.std(equal, axis=1),
            n.var(equal, axis=0),
            n.std(close) * 1e4,
            n.std(n.asarray(2.5)),
            n.var(n.asarray(3)),
        ],
        [jk.grad(n.var)(equal), jk.grad(n.std)(close), jk.jacrev(lambda x: n.std(x, axis=0))(x), jk.grad(n.std)(equal)],
    )


# --- random words -------------------------------------------------------------------------------------------------------
# A word is a string, such as `nn.softmax(x, axis=-2)`, which is the key of its result, with the array x.


def word(rng, rank):
    """Draw an expression of two arrays of one shape, x and y, which have `rank` axes."""
    axis, new = int(rng.integers(-rank, rank)), int(rng.integers(-rank - 1, rank + 1))
    axes = pick(rng, axis, axis, None, tuple(map(int, rng.permutation(rank)[:2])))
    low, high = pick(rng, ("-0.5", "0.75"), ("y", "0.5"), ("0.5", "-0.5"), ("-0.25", "y * 0.5"), ("x", "x * 2.0"))
    return pick(
        rng,
        f"nn.{pick(rng, 'relu', 'sigmoid', 'silu', 'softplus', 'selu')}(x{pick(rng, '', ' * 20.0', ' - y')})",
        f"nn.{pick(rng, 'softmax', 'log_softmax')}(x{pick(rng, '', f', axis={axis}', f', axis={axis}')})",
        f"n.var(x, axis={axes})",
        f"n.std(x{pick(rng, '', ' * y')} + n.reshape(n.arange(n.size(x) * 1.0), x.shape), axis={axes})".replace("n.size(x)", "SIZE"),
        f"n.concatenate([x, {pick(rng, 'y', 'y * x', 'x, y', 'x.astype(np.int32)')}], axis={axis})",
        f"n.stack([x, {pick(rng, 'y', 'y * x', 'x, y', 'y > 0')}], axis={new})",
        f"n.linspace({pick(rng, '0.5', '-1', '2')}, {pick(rng, '3.0', '0', '2')}, {pick(rng, 1, 2, 5)}) * n.sum(x)",
        f"n.clip(x, {low}, {high})",
        "n.square(x - y)",
        f"n.outer(x, {pick(rng, 'y', 'n.sum(x)', 'n.ravel(y)')})",
        f"n.expand_dims(x * y, {new})",
        "n.ravel(x) * n.ravel(y)",
        f"nn.one_hot(n.asarray([0, 2, 1]), {pick(rng, 2, 3)}) * n.sum(x)",
    )  # fmt: skip


def words_drawn(jk, rng, count):
    """Draw calls that compute a random word: plainly, batched, differentiated, or the gradient in a jitted function."""
    names = {"n": jk.numpy, "nn": jk.nn, "np": np, "jk": jk}
    for _ in range(count):
        rank = int(rng.integers(1, 4))
        shape = tuple(map(int, rng.integers(1, 4, rank)))
        text = word(rng, rank).replace("SIZE", str(math.prod(shape)))
        axis = int(rng.integers(-rank - 1, rank + 1))
        way = pick(
            rng,
            f"{text}",
            f"jk.jacrev(lambda x: {text})(x)",
            f"jk.jacfwd(lambda x: {text})(x)",
            f"jk.vmap(lambda x: {text}, in_axes={axis})(xs)",
            f"jk.vmap(lambda x, y: {text}, in_axes=(None, {axis}))(x, xs)",
            f"jk.grad(lambda y: n.sum(({text}) * 1.5))(y)",
            f"jk.jit(lambda x: jk.grad(lambda x: n.sum(n.sin({text})))(x))(x)",
        )
        place = axis % (rank + 1)
        arrays = [
            rng.permutation(math.prod(s)).reshape(s).astype(np.float32) / 4 - 0.625
            for s in (shape, shape, (*shape[:place], 2, *shape[place:]))
        ]
        key = "; ".join([*map(written, ("x", "y", "xs"), arrays), way])
        yield key, eval(f"lambda x, y, xs: {way}", names), arrays


@program(
    "18",
    "Random calls of these functions are right, and so are their derivatives: any axes and ranks, at once, compiled, in a batch.",
    tolerance=1e-3,
)
def random_words(jk, rng):
    return halves(jk, words_drawn(jk, rng, 8), raised, exact=0)


@program("18", "A hundred random calls of these functions are right.", hidden=True, tolerance=1e-3)
def many_random_words(jk, rng):
    return halves(jk, words_drawn(jk, rng, 80), raised, exact=0)
