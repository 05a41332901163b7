"""Makes arrays from their parts, on a machine with eight devices, and prints them. It takes the name of a package, `jax` or `jitkit`;
both must print the same.
"""

from __future__ import annotations

import functools
import importlib
import sys

import jax as real
import numpy as np

jax, jnp = importlib.import_module(sys.argv[1]), importlib.import_module(sys.argv[1] + ".numpy")
devices = real.devices()
mesh = real.sharding.Mesh(np.array(devices).reshape(4, 2), ("x", "y"))
x = np.arange(64.0).reshape(8, 8)
row = x[0]
by_callback, by_arrays = jax.make_array_from_callback, jax.make_array_from_single_device_arrays


def over(*axes):
    return real.sharding.NamedSharding(mesh, real.sharding.PartitionSpec(*axes))


def show(name, call):
    try:
        a = call()
        parts = [(s.device.id, s.index, np.asarray(s.data).tolist()) for s in a.addressable_shards]
        seen = [a.shape, a.dtype, a.weak_type, a.committed, a.sharding, np.asarray(a).tolist(), parts]
    except Exception as error:
        kind = type(error).__name__  # later versions of JAX begin an IndivisibleError with a line of the source
        seen = kind, "" if kind == "IndivisibleError" else str(error).split("\n")[0]
    print(name, seen)


single = real.sharding.SingleDeviceSharding


def asked_of_all(name, place):
    calls = []
    show(name, lambda: by_callback((8, 8), place, lambda index: calls.append(index) or x[index]))
    print(calls)
    show(f"{name}, used", lambda: jax.jit(lambda a: a * 2)(by_callback((8, 8), place, lambda index: x[index])))


for name, place in (
    ("replicated", over()),
    ("rows", over("x")),
    ("blocks", over("x", "y")),
    ("columns", over(None, ("x", "y"))),
    ("one device", single(devices[3])),
):
    asked_of_all(name, place)
show("dtype", lambda: by_callback((8, 8), over("x"), lambda index: x[index], np.float32))
show("another dtype", lambda: by_callback((8, 8), over("x"), lambda index: x[index], np.int32))
show(
    "another dtype in one part",
    lambda: by_callback((8,), over("x"), lambda i: row[i].astype(int if i[0].start else float)),
)
show("another shape", lambda: by_callback((8, 8), over("x"), lambda index: row))
show("a list", lambda: by_callback((2,), over(), lambda index: [1, 2]))
show("a text", lambda: by_callback((), over(), lambda index: "a"))
show("a number", lambda: by_callback((), over(), lambda index: 1.5))
show("a bool", lambda: by_callback((), over(), lambda index: True))
show("a device", lambda: by_callback((), devices[0], lambda index: 1.5))
show("a spec", lambda: by_callback((8,), real.sharding.PartitionSpec("x"), lambda index: row[index]))
show("indivisible", lambda: by_callback((7,), over("x"), lambda index: row[index]))
show("arrays", lambda: by_callback((8,), over("x"), lambda index: jnp.arange(8.0)[index]))
show("arrays elsewhere", lambda: by_callback((8,), over("x"), lambda i: jax.device_put(row[i], devices[7])))
show("divided parts", lambda: by_callback((8,), over("x"), lambda index: jax.device_put(np.arange(2.0), over("y"))))
show("a tracer", lambda: jax.jit(lambda a: by_callback((), over(), lambda index: a))(1.0))
with jax.enable_x64(True):
    show("64 bits", lambda: by_callback((8,), over("x"), lambda index: row[index] + 2**-50))

indices = over("x").addressable_devices_indices_map((8, 8))
parts = [jax.device_put(x[index], device) for device, index in indices.items()]
for name, *given, dtype in (
    ("list", (8, 8), over("x"), parts, None),
    ("tuple", (8, 8), over("x"), tuple(parts), np.float32),
    ("another order", (8, 8), over("x"), parts[::-1], None),
    ("too few", (8, 8), over("x"), parts[1:], None),
    ("a device twice", (8, 8), over("x"), parts[1:] + parts[1:2], None),
    ("another dtype", (8, 8), over("x"), parts, np.int32),
    ("another dtype in one", (8, 8), over("x"), [parts[0].astype(int), *parts[1:]], None),
    ("another shape", (4, 8), over("x"), parts, None),
    ("none", (8, 8), over("x"), [], None),
    ("numpy's", (8, 8), over("x"), [x[index] for index in indices.values()], None),
    ("another device", (8,), single(devices[0]), [jax.device_put(row, devices[1])], None),
    ("uncommitted", (8,), single(devices[0]), [jnp.asarray(row)], None),
    ("weak", (), single(devices[0]), [jnp.asarray(1.0)], None),
    ("divided", (8,), over(), [jax.device_put(row, over())], None),
    ("an iterator", (8, 8), over("x"), iter(parts), None),
):
    show(name, functools.partial(by_arrays, *given, dtype=dtype))
print([x.is_deleted() for x in parts])
