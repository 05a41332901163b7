"""Makes XLA do before the forks what it does once in a process: it reads its options, looks at the machine, loads a program

XLA's client has threads, which a fork does not get. So we make a client, load a small program, and end the client with
its threads. Then a client that is made later, in a fork, takes less time. Measured: a fork that makes a client and loads
three programs takes 10 ms of processor time, and 15 without this. Threads that compile do not end, so a fork compiles the
program. The program is not run: jaxlib would import JAX for the results.
"""

from __future__ import annotations

import gc
import importlib
import os
import time
from typing import Any

_PROGRAM = """module { func.func public @main() -> tensor<3xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<3xf32>
  %1 = stablehlo.sine %0 : tensor<3xf32>
  return %1 : tensor<3xf32> } }"""
_SECONDS = 5.0  # threads get this long to end


def warm_up() -> None:
    """Load a program, if this leaves no thread: a fork tries it first. Raise RuntimeError if a thread is left nevertheless."""
    program = _compiled_in_a_fork()
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if _leaves_no_thread(program) else 1)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1] == 0 and not _leaves_no_thread(program):
        raise RuntimeError("threads of XLA do not end")


def _compiled_in_a_fork() -> bytes:
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            client, devices, options = _new_client()
            os.write(writes, client.compile_and_load(_PROGRAM, devices, options).serialize())
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as stream:
        program = stream.read()
    os.waitpid(pid, 0)
    return program


def _leaves_no_thread(program: bytes) -> bool:
    client, devices, options = _new_client()
    client.deserialize_executable(program, devices, options)
    del client, devices
    gc.collect()
    until = time.monotonic() + _SECONDS
    while len(os.listdir("/proc/self/task")) > 1:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _new_client() -> tuple[Any, list[Any], Any]:
    xla_client = importlib.import_module("jaxlib.xla_client")
    client = xla_client.make_cpu_client()
    return client, list(client.local_devices()[:1]), xla_client.CompileOptions()
