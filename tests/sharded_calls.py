"""Calls functions whose arguments and results have given shardings, on a machine with eight devices, and prints the
results. It takes the name of a package, `jax` or `jitkit`; both must print the same.
"""

from __future__ import annotations

import importlib
import sys

import jax as real
import numpy as np

jax, jnp = importlib.import_module(sys.argv[1]), importlib.import_module(sys.argv[1] + ".numpy")
Mesh, NamedSharding, P = real.sharding.Mesh, real.sharding.NamedSharding, real.sharding.PartitionSpec
devices = real.devices()
mesh = Mesh(np.array(devices).reshape(4, 2), ("x", "y"))
x = np.arange(64, dtype=np.float32).reshape(8, 8)


def over(*axes):
    return NamedSharding(mesh, P(*axes))


def put(*axes):
    return jax.device_put(x, over(*axes))


def show(name, call):
    try:
        leaves = jax.tree_util.tree_leaves(call())
        seen = [(str(leaf.sharding), leaf.committed, np.asarray(leaf).sum().item()) for leaf in leaves]
    except Exception as error:
        kind = type(error).__name__  # later versions of JAX begin an IndivisibleError with a line of the source
        seen = kind, "" if kind == "IndivisibleError" else str(error).split("\n")[0]
    print(name, seen)


def matmul(x, y):
    return x @ y


def total(d):
    return {"a": d["a"] + d["b"]}


single = real.sharding.SingleDeviceSharding(devices[3])
for name, options, args in (
    ("one for all arguments", {"in_shardings": over("x")}, (x, x)),
    ("one each", {"in_shardings": (over("x"), over(None, "y"))}, (x, x)),
    ("a list", {"in_shardings": [over("x"), over(None, "y")]}, (x, x)),
    ("one left open", {"in_shardings": (over("x"), None)}, (x, x)),
    ("the result's", {"out_shardings": over("x", "y")}, (put("x"), x)),
    ("the result's alone", {"out_shardings": over("x", "y")}, (x, x)),
    ("both", {"in_shardings": over("x"), "out_shardings": over()}, (x, x)),
    ("both, committed", {"in_shardings": over("x"), "out_shardings": over()}, (put("x"), put("x"))),
    ("Arrays that are nowhere on purpose", {"in_shardings": over("x")}, (jnp.asarray(x), x)),
    ("there already", {"in_shardings": over("x")}, (put("x"), x)),
    ("elsewhere on purpose", {"in_shardings": over("x")}, (put("y"), x)),
    ("on one device", {"in_shardings": over("x")}, (jax.device_put(x, devices[1]), x)),
    ("two axes for one", {"in_shardings": over(("x", "y"))}, (x, x)),
    ("too many", {"in_shardings": (over("x"), over(), over())}, (x, x)),
    ("another device for all", {"in_shardings": single}, (x, x)),
    ("another device for the result", {"out_shardings": single}, (x, x)),
    ("from one device to another", {"in_shardings": single}, (jax.device_put(x, devices[1]), x)),
    ("a device of the jit's", {"device": devices[3]}, (jax.device_put(x, devices[1]), x)),
    ("a backend of the jit's", {"backend": "cpu"}, (jax.device_put(x, devices[1]), x)),
    ("a device", {"in_shardings": devices[3]}, (x, x)),
    ("a spec", {"out_shardings": P("x")}, (x, x)),
    ("a word", {"out_shardings": "x"}, (x, x)),
    ("uneven", {"in_shardings": over("x")}, (x[:3], x)),
    ("uneven result", {"out_shardings": over("x")}, (x[:3], x)),
    ("too few axes", {"in_shardings": over(None, "x")}, (x[0], x)),
):
    show(name, lambda options=options, args=args: jax.jit(matmul, **options)(*args))

in_dict = jax.jit(total, in_shardings=({"a": over("x"), "b": over()},), out_shardings={"a": over("y")})
show("a tree", lambda: in_dict({"a": x, "b": x}))
show("results, one open", lambda: jax.jit(lambda x: (x, x + 1), out_shardings=(None, over("y")))(put("x")))
show("a scalar beside", lambda: jax.jit(lambda x, y: x.sum() + y, in_shardings=(over("x"), None))(x, 2.0))
show("no arguments", lambda: jax.jit(lambda: jnp.ones((8, 8)), out_shardings=over("x"))())
show("a static one", lambda: jax.jit(lambda x, n: x * n, in_shardings=over("x"), static_argnums=1)(x, 3))
show("by keyword", lambda: jax.jit(matmul, in_shardings=over("x"))(x, y=x))
show(
    "donated",
    lambda: jax.jit(lambda x: x + 1, in_shardings=over("x"), out_shardings=over("x"), donate_argnums=0)(put("x")),
)
on_third = jax.jit(lambda x: x * 2, device=devices[3])
show("a jit with a device, inside", lambda: jax.jit(lambda x: on_third(x))(x))
both = jax.jit(matmul, in_shardings=over("x"), out_shardings=over())
struct = jax.ShapeDtypeStruct((8, 8), np.float32)
compiled = both.lower(struct, struct).compile()
show("ahead of time", lambda: compiled(x, x))
print([str(s) for s in jax.tree_util.tree_leaves((compiled.input_shardings, compiled.output_shardings))])
show("put in a tree", lambda: jax.device_put({"a": x, "b": [x, x]}, {"a": over("x"), "b": over("y")}))
show("put in one way", lambda: jax.device_put([x, x], over("x")))
show("put, partly", lambda: jax.device_put([x, x], [devices[1], None]))
show("put, another tree", lambda: jax.device_put([x, x], [devices[1]]))
