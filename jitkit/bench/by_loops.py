"""program -> passes over memory, bytes, seconds: `jit(f, backend="c")` beside XLA, in one process, on one core.

XLA divides a large loop among threads; our compiler uses one. To compare compilers and not numbers of cores, a separate
process is bound to one core before XLA counts them: `python -m jitkit.bench.by_loops NAME EFFORT` prints its
measurements as JSON. A call is measured in processor time of all threads. XLA works in another thread, so on a busy
core its wall time is mostly a wait for that thread. A compilation, too, is measured in processor time, the C compiler's
included.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import jitkit
from jitkit.targets.hlo import Program

from . import programs, timing
from .libraries import LIBRARIES, OURS, THEIRS, Library, wait
from .peers_rows import Effort
from .timing import Action

Make = Callable[[Library], tuple[Callable[..., Any], tuple[Any, ...]]]  # a new function of a library, and its arguments


class Measured(NamedTuple):
    """The measurements of one program, by library."""

    compile: Mapping[str, list[float]]  # seconds of a compilation in each round
    run: Mapping[str, list[float]]  # seconds of a call in each round
    passes: Mapping[str, int]  # passes over memory
    bytes: Mapping[str, float]  # bytes moved


def _normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _selu(library: Library) -> Any:
    return programs.selu(library.np), (_normal(1_000_000),)


def _softmax(library: Library) -> Any:
    return programs.softmax(library.np), (_normal(1000, 1000),)


def _layer_norm(library: Library) -> Any:
    return programs.layer_norm(library.np), (_normal(1000, 1000), _normal(1000), _normal(1000))


def _stencil(library: Library) -> Any:
    return programs.stencil(library.np), (_normal(1000, 1000),)


def _network(library: Library) -> Any:
    return programs.network(library.np), programs.network_data(256, 256, 256, 256)


def _gradient(library: Library) -> Any:
    jnp = library.np

    def slopes(x: Any, y: Any) -> Any:
        return library.value_and_grad(lambda x: jnp.sum(jnp.sin(x * y) * x))(x)[1]

    return slopes, (_normal(1_000_000), _normal(1_000_000))


PROGRAMS: dict[str, Make] = {
    "SELU, 1,000,000 numbers": _selu,
    "softmax, 1,000 rows": _softmax,
    "layer norm, 1,000 rows": _layer_norm,
    "stencil, 1,000 by 1,000": _stencil,
    "two layers of 256": _network,
    "gradient, 1,000,000": _gradient,
}


ONE_CORE = {"NPROC": "1", "JAX_PLATFORMS": "cpu"}


def measured(name: str, effort: Effort) -> Measured:
    """Return the measurements of one of `PROGRAMS`, made in a new process. If that fails, raise RuntimeError with its error output."""
    command = [sys.executable, "-m", "jitkit.bench.by_loops", name, json.dumps(effort)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_CORE, check=False)
    if done.returncode:
        raise RuntimeError(f"the measured program failed:\n{done.stderr}")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


# --- in that process --------------------------------------------------------------------------------------------


def measure(name: str, effort: Effort) -> Measured:
    """Return the measurements of a program, made in this process."""
    make = PROGRAMS[name]
    lowered = {library.name: lambda library=library: _lowered(make, library) for library in LIBRARIES}
    compiled = {library.name: lowered[library.name]()[0].compile() for library in LIBRARIES}
    ours, theirs = compiled[OURS.name], compiled[THEIRS.name]
    actions: dict[str, Action] = {}
    for library in LIBRARIES:
        arguments = lowered[library.name]()[1]
        actions[library.name] = _call(compiled[library.name], arguments)
    run = timing.measure(
        actions, rounds=effort.rounds, batch=effort.batch, wait=wait, limit=effort.seconds, clock=time.process_time
    )
    compiling = {library: lambda library=library: _compile_seconds(lowered[library]()[0]) for library in lowered}
    costs = theirs.cost_analysis()
    return Measured(
        timing.measure_once(compiling, effort.once, effort.seconds),
        run,
        {OURS.name: int(ours.cost_analysis()["loops"]), THEIRS.name: len(Program(theirs.as_text()).kernels)},
        {OURS.name: ours.cost_analysis()["bytes accessed"], THEIRS.name: costs["bytes accessed"]},
    )


def _lowered(make: Make, library: Library) -> tuple[Any, Any]:
    """Lower a new function, which no cache knows yet. Return the lowered function, and the arguments on the device."""
    function, arguments = make(library)
    arguments = library.trees.tree_map(library.array, arguments)
    jitted = jitkit.jit(function, backend="c") if library is OURS else library.jit(function)
    return jitted.lower(*arguments), arguments


def _call(compiled: Any, arguments: Any) -> Action:
    return lambda: wait(compiled(*arguments))


def _compile_seconds(lowered: Any) -> float:
    start = _processor_seconds()
    lowered.compile()
    return _processor_seconds() - start


def _processor_seconds() -> float:
    """Return the processor time of this process, and of those that it has waited for; on Windows, which does not count
    those, the time by the clock.
    """
    if sys.platform == "win32":
        return time.perf_counter()
    resource: Any = importlib.import_module("resource")
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):  # on other systems NPROC has to suffice
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


if __name__ == "__main__":
    _on_one_core()
    print(json.dumps(measure(sys.argv[1], Effort(*json.loads(sys.argv[2])))._asdict()))
