"""The machine. This file is given: StableHLO text goes in, an executable comes out; numpy arrays become buffers, and back.

    program = xla.compile(text)              # text of a module with a function @main
    buffers = program([xla.put(x), ...])     # runs it: a list of buffers in, a list of buffers out
    numpy.asarray(buffers[0])                # a buffer's numbers

An executable only compares how many bytes each argument has. If you pass arguments of other shapes or dtypes than the text says, there
may be no error, and the results are wrong. `compiled`, `executed` and `copied` count what was asked of the machine.
"""

import functools
import importlib
import os
import re
import sys

import numpy as np

compiled = executed = 0
copied = 0  # how many numpy arrays `put` has copied


class Type:
    """The type of an array, as jaxlib asks for it."""

    weak_type = False

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.ndim = tuple(shape), np.dtype(dtype), len(shape)


@functools.cache
def machine():
    """Import jaxlib, at the first call. Return its two modules, the one device, and how arrays are placed on it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    _jax, xla_client = importlib.import_module("jaxlib._jax"), importlib.import_module("jaxlib.xla_client")

    class OneDevice(_jax.SingleDeviceSharding):
        memory_kind = None

        def _to_xla_hlo_sharding(self, ndim):
            return xla_client.HloSharding.replicate()

    if "jax" not in sys.modules:  # JAX does this itself
        _jax.jax_jit.set_enable_x64_state(_jax.config.Config("enable_x64", True))
    device = xla_client.make_cpu_client().local_devices()[0]
    return _jax, xla_client, device, OneDevice(device)


def put(x):
    """Return a buffer with the numbers of a numpy array."""
    global copied
    copied += 1
    jaxlib, _, device, place = machine()
    x = np.array(x)  # a copy: the buffer may use the array's memory
    return jaxlib.batched_device_put(Type(x.shape, x.dtype), place, [x], [device], False)


def compile(text):
    """Compile a text. Return a function from a list of buffers to a list of buffers; if the text is wrong, XLA raises an error."""
    global compiled
    jaxlib, _, _, place = machine()
    executable = translate(text)
    compiled += 1
    checks = {"_skip_checks": True} if "_skip_checks" in (jaxlib.array_result_handler.__doc__ or "") else {}
    handlers = [jaxlib.array_result_handler(t, place, committed=False, **checks) for t in results(text)]
    run = executable.execute_sharded

    def program(buffers):
        global executed
        executed += 1
        return run(buffers).consume_with_handlers(handlers)

    return program


def translate(text):
    """Return the executable that XLA makes of a text."""
    _, client, device, _ = machine()
    return device.client.compile_and_load(text, [device], client.CompileOptions())


def results(text):
    """Return the types of the results of @main, from its first line."""
    found = re.search(r"func\.func (?:public )?@main\([^\n]*?\)\s*(?:->\s*([^\n]*))?\{\s*$", text, re.MULTILINE)
    if found is None:
        raise ValueError("xla.py finds no line `func.func public @main(...) -> (...) {` in the text")
    names = {"f16": "e", "f32": "f", "f64": "d", "i1": "?", "ui8": "B", "ui16": "H", "ui32": "I", "ui64": "L",
             "i8": "b", "i16": "h", "i32": "i", "i64": "l", "complex<f32>": "F"}  # fmt: skip
    types = re.findall(r"tensor<([\dx]*)((?:[a-z]+\d+)|complex<f32>)>", found[1] or "")
    return [Type([int(n) for n in shape.split("x") if n], names[kind]) for shape, kind in types]
