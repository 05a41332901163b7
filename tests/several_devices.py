"""Prints where values are on a machine with eight devices. It takes the name of a package, `jax` or `jitkit`; both must print the same."""

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

other = jax.jit(lambda x, y: (x * y).sum())


def by_default(wanted):
    """Make and compute arrays in a block of `default_device`, print where they are, and return one."""
    with jax.default_device(wanted):
        made = jnp.arange(3.0) + 1
        show(f"made by default on {wanted}", lambda: [made, jnp.ones(2), jax.device_put(np.ones(2)), jax.random.key(0)])
        show("jit", lambda: [f(made, made), f(x, x), f(np.ones(3), 1.0), f(made, x), f(a, x), f(a, made)])
        show("eager", lambda: [jnp.sin(made), made[0], made.sum(), made + x, x + x, a + made, jnp.stack([x, made])])
        show("rows", lambda: [*made, *jax.random.split(jax.random.key(1), 3), *jnp.ones((2, 2))])
        show("grad", lambda: [jax.grad(lambda y: jnp.sin(y).sum())(made), jax.vmap(jnp.sin)(x)])
        show("loops", lambda: jax.lax.scan(lambda c, y: (c + y, c * y), 0.0, made))
        show("captured", captured, made)
        show("donated", donating, made * 2)
        show("compiled", f.lower(made, made).compile(), made, x)
        print([str(s) for s in jax.tree_util.tree_leaves(f.lower(x, x).compile().input_shardings)])
        print(float(f(made, made)[0]), float(other(made, x)), made.device, repr(made))
    return made


def afterwards(y):
    """Print where results are that are computed from `y` after the block."""
    show("jit", lambda: [f(y, y), f(y, x), f(x, y), f(a, y)])
    show("eager", lambda: [y + x, y * 2, jnp.sin(y), y[1], *y])
    show("captured", jax.jit(lambda x: x + y), x)
    show("put", lambda: [jax.device_put(y), jax.device_put(y, devices[1]), jnp.array(y), pickle.loads(pickle.dumps(y))])
    print(float(f(y, y)[0]), float(other(y, x)), float((y + x)[0]), y.committed)


loose = [by_default(wanted) for wanted in (devices[3], devices[0], devices[5], "cpu", None)]
for y in loose:
    afterwards(y)
jax.config.update("jax_default_device", devices[6])
afterwards(by_default(devices[2]))
show("by an option", lambda: [jnp.ones(3), f(x, x), f(a, x)])
jax.config.update("jax_default_device", None)
show("no more", lambda: [jnp.ones(3), f(x, x)])
counted = []
traced = jax.jit(lambda x: counted.append(1) or x + 1)
for wanted in (None, devices[3], devices[3], None, devices[4]):
    with jax.default_device(wanted):
        traced(1.0), traced(x), traced(loose[0])
print(len(counted))

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
