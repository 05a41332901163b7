"""Calls functions that have shardings, from inside other functions, and prints the results. It takes the name of a package, `jax` or
`jitkit`; both must print the same.
"""

from __future__ import annotations

import importlib
import sys

import jax as real
import numpy as np
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(sys.argv[1] + ".numpy")
devices = np.array(real.devices())
line, square = Mesh(devices.reshape(8), ("x",)), Mesh(devices.reshape(4, 2), ("a", "b"))
spread, whole, tiles = NamedSharding(line, P("x")), NamedSharding(line, P()), NamedSharding(square, P("a", "b"))
first, second = (SingleDeviceSharding(device) for device in real.devices()[:2])

x = np.arange(8, dtype=np.float32)
rows, matrix = np.stack([x, x]), np.arange(16, dtype=np.float32).reshape(4, 4)


def f(x, y):
    return jnp.sin(x) * y, y + 1


def tree(t):
    return {"u": t["a"] * 2, "v": t["b"]}


PLACED = {
    "some": jax.jit(f, in_shardings=(spread, None), out_shardings=(spread, whole)),
    "results": jax.jit(f, out_shardings=spread),
    "arguments": jax.jit(f, in_shardings=(spread, spread)),
    "first device": jax.jit(f, in_shardings=first),
    "second device": jax.jit(f, in_shardings=second),
}


def of_all(g):
    """Return transformations of a function of two arrays, by name, each with arguments."""

    def total(x, y):
        return g(x, y)[0].sum()

    return {
        "jit": (jax.jit(lambda x, y: g(x, y)), x, x),
        "grad": (jax.grad(total, (0, 1)), x, x),
        "jit of grad": (jax.jit(jax.grad(lambda x, y: (g(x, y)[0] * g(x, y)[1]).sum())), x, x),
        "vmap": (jax.vmap(g), rows, rows),
        "vmap over columns": (jax.vmap(g, (1, None), 1), rows.T, x),
        "jvp": (lambda x: jax.jvp(lambda x: g(x, x), (x,), (x,)), x),
        "vmap of grad": (jax.jit(jax.vmap(jax.grad(total))), rows, rows),
        "checkpoint": (jax.grad(lambda x, y: jax.checkpoint(g)(x, y)[0].sum()), x, x),
        "scan": (jax.jit(lambda x: jax.lax.scan(lambda c, _: (g(c, c)[0], c), x, None, length=2)), x),
        "second derivative": (jax.jit(jax.grad(lambda x: jax.grad(lambda x: g(x, x)[0].sum())(x).sum())), x),
        "in a jit in a jit": (jax.jit(lambda x: jax.jit(lambda x: g(x, x))(x)), x),
    }


product = jax.jit(lambda a, b: a @ b, in_shardings=tiles, out_shardings=tiles)
in_trees = jax.jit(tree, in_shardings=({"a": spread, "b": whole},), out_shardings={"u": spread, "v": None})
same = jax.jit(lambda x: x, in_shardings=spread, out_shardings=whole)
CASES = {f"{name}, {what}": case for name, g in PLACED.items() for what, case in of_all(g).items()} | {
    "matrices": (jax.jit(lambda a: product(a, product(a, a))), matrix),
    "matrices, grad": (jax.jit(jax.grad(lambda a: product(a, a).sum())), matrix),
    "trees": (jax.jit(lambda t: in_trees(t)), {"a": x, "b": x}),
    "trees, grad": (jax.grad(lambda t: in_trees(t)["u"].sum()), {"a": x, "b": x}),
    "nothing is computed": (jax.jit(lambda x: same(x) * 2), x),
    "nothing is computed, grad": (jax.grad(lambda x: same(x).sum()), x),
    "both": (jax.jit(lambda x: PLACED["some"](x, x), out_shardings=whole), x),
    "other devices": (jax.jit(lambda x: (PLACED["first device"](x, x), PLACED["second device"](x, x))), x),
    "not to be divided": (jax.jit(lambda x: PLACED["some"](x, x)), x[:6]),
}


def show(name, function):
    try:
        print(name, function())
    except Exception as error:
        words = str(error).split("\n")[0].split(" at /")[0].split(" and jit inside")[0]
        # JAX 0.12 adds to this message
        print(name, type(error).__name__, "" if type(error).__name__ == "IndivisibleError" else words)


def value(fun, args):
    """Return results, rounded, and where they are."""
    leaves = jax.tree.leaves(fun(*args))
    return [(np.round(np.asarray(x, np.float64), 3).tolist(), str(x.sharding)) for x in leaves]


for name, (fun, *args) in CASES.items():
    show(f"value of {name}:", lambda fun=fun, args=args: value(fun, args))
    if name != "other devices":
        show(f"jaxpr of {name}:", lambda fun=fun, args=args: jax.make_jaxpr(fun)(*args))
