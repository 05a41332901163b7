"""program text -> seconds, each time in a new process: for times that can be measured only once a process.

Imports, and the first call of a first function, leave a process that is no longer fresh.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

# This program prints the seconds of a first call, up to its result, in a process that has its arrays on the device, and has
# not compiled anything yet.
FIRST_CALL = """
import time
import {library} as jax, {library}.numpy as jnp
from jitkit.bench.programs import network, network_data

params, x = network_data(16, 8, 32, 4)
params = {{name: jnp.asarray(value) for name, value in params.items()}}
x = jnp.asarray(x)
x.block_until_ready()
start = time.perf_counter()
jax.jit(network(jnp))(params, x).block_until_ready()
print(time.perf_counter() - start)
"""

# What a user waits for after `python script.py`: the seconds of these two programs include the imports, which run first.
FIRST_RESULT = "print(jax.jit(lambda x: jnp.sin(x) * 2 + x.sum())(jnp.arange(3.0)))"
TRAINING = """
def loss(params, x, y):
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    return jnp.mean((hidden @ params["v"] - y) ** 2)

@jax.jit
def step(params, x, y):
    value, slopes = jax.value_and_grad(loss)(params, x, y)
    return value, jax.tree.map(lambda p, s: p - 0.1 * s, params, slopes)

key, other = jax.random.split(jax.random.key(0))
x = jax.random.normal(key, (64, 8))
y = jnp.sin(x[:, :1])
params = {"w": jax.random.normal(other, (8, 16)), "b": jnp.zeros(16), "v": jnp.ones((16, 1)) / 16}
for _ in range(100):
    value, params = step(params, x, y)
print(value)
"""


def first_call_seconds(library: str) -> float:
    """Return the seconds of the first call of a small network in a fresh process, with `jitkit` or `jax`: trace, lower,
    compile, run. Raise RuntimeError if the process fails.
    """
    return float(_run(FIRST_CALL.format(library=library)).split()[-1])


def import_seconds(library: str, then: str = "") -> float:
    """Return the seconds of a whole process that imports a library and its numpy as `jax` and `jnp`, and runs `then`.
    Raise RuntimeError if it fails.
    """
    start = time.perf_counter()
    _run(f"import {library} as jax, {library}.numpy as jnp\n{then}")
    return time.perf_counter() - start


def _run(program: str) -> str:
    # Without this variable Python keeps compiled modules for both libraries; with it, only an installed JAX would have them, not a clone.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"the measured program failed:\n{done.stderr}")
    return done.stdout
