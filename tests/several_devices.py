"""Where values are on a machine with eight devices: run with the name of a package, it prints what both must agree on."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys

import jax as real
import numpy as np

jax, jnp = importlib.import_module(sys.argv[1]), importlib.import_module(sys.argv[1] + ".numpy")
devices = jax.devices()


def where(x):
    return [(sorted(d.id for d in leaf.devices()), leaf.committed) for leaf in jax.tree_util.tree_leaves(x)]


def show(name, function, *args):
    try:
        result = where(function(*args))
    except Exception as error:
        result = type(error).__name__, str(error).split("\n")[0]
    print(name, result)


x = jnp.arange(3.0)
a, b, c = (jax.device_put(x, devices[i]) for i in (1, 2, 0))
f = jax.jit(lambda x, y: x + y)
show("put", lambda: [x, a, b, c])
for name, args in {
    "free": (x, x),
    "left": (a, x),
    "right": (x, a),
    "both": (a, a),
    "first": (c, x),
    "float": (a, 1.0),
    "numpy": (a, np.ones(3)),
    "mixed": (a, b),
    "mixed with the first": (c, a),
    "again": (b, x),
    "free again": (x, x),
}.items():
    show("jit " + name, f, *args)
    show("eager " + name, lambda x, y: x + y, *args)
show("path", jax.jit(lambda params, *rest: params["w"] + rest[0]), {"w": a}, b)
show("functions", lambda: [jnp.sin(a), a.sum(), a[0], jnp.where(a > 0, x, a), a * 2, -a, jnp.concatenate([a, x])])
show("without arguments", jax.jit(lambda: jnp.ones(3)))
show(
    "moved",
    lambda: [
        jax.device_put(a, devices[3]),
        jax.device_put(a),
        jax.device_put(np.ones(2), devices[4]),
        jax.device_put(1.0, devices[4]),
        jax.device_put({"k": [x, a]}, devices[5]),
        x.to_device(devices[6]),
    ],
)
show(
    "copies",
    lambda: [copy.copy(a), copy.deepcopy(a), a.copy(), jnp.array(a), jnp.asarray(a), pickle.loads(pickle.dumps(a))],
)
big = jax.device_put(jnp.arange(10000.0), devices[1])
captured = jax.jit(lambda x: (x, jnp.ones(3), a, x + big[:3]))
for name, value in {"free": x, "there": a, "elsewhere": b}.items():
    show("captured " + name, captured, value)
donating = jax.jit(lambda x: x + 1, donate_argnums=0)
given = jax.device_put(x, devices[1])
show("donated", donating, given)
print(given.is_deleted())
lowered = f.lower(a, x)
compiled = lowered.compile()
print([str(s) for s in jax.tree_util.tree_leaves((compiled.input_shardings, compiled.output_shardings))])
for name, args in {"same": (a, x), "free": (x, x), "other": (b, x), "first": (c, x)}.items():
    show("compiled " + name, compiled, *args)
show("compiled for anywhere", f.lower(x, x).compile(), a, a)
show("struct", f.lower(jax.ShapeDtypeStruct((3,), "float32", sharding=a.sharding), x).compile(), x, x)
theirs = real.device_put(real.numpy.arange(3.0), real.devices()[2])
show("a jax.Array", f, theirs, x)
show("a jax.Array and another", f, theirs, a)
show("wrong", jax.device_put, x, "cpu:1")
show("wrong", jax.device_put, x, 3)
show("wrong", jax.devices, "nope")
print(len(jax.devices()), len(jax.local_devices()), jax.device_count(), jax.default_backend(), a.device, repr(a))

P = real.sharding.PartitionSpec
mesh = real.sharding.Mesh(np.array(real.devices()).reshape(4, 2), ("x", "y"))
for spec in (P("x"), P("x", "y"), P(None, "y"), P(("x", "y")), P()):
    z = jax.device_put(jnp.arange(64.0).reshape(8, 8), real.sharding.NamedSharding(mesh, spec))
    g = jax.jit(lambda z, s: (z * s, z.sum(), z @ z.T, s))
    out = g(z, 2.0)
    show("spread", g, z, 2.0)
    print(spec, [str(o.sharding.spec) if hasattr(o.sharding, "spec") else str(o.sharding) for o in out])
    print(
        np.asarray(out[2])[0],
        repr(out[1]),
        (z + z)[1],
        len(z.addressable_shards),
        g(out[0], 1)[1],
        (z + jnp.ones(8)).sum(),
    )
    show("spread and elsewhere", f, z, jax.device_put(jnp.ones((8, 8)), devices[1]))
    show("spread, compiled", g.lower(z, 2.0).compile(), z, 2.0)
spread = jax.jit(lambda z: z + 1, donate_argnums=0)
show("spread, donated", spread, z * 1)
