"""jitkit and JAX -> a table of ratios: the same programs with both, in one process, in turns.

Each row measures one thing for both libraries and compares the ratio with the target that the project has set
itself. Rows are data; what a row's figures are is in the functions that `ROWS` names. Everything is measured
where and when it runs, and nothing is corrected afterwards.
"""

from __future__ import annotations

import functools
import gc
import operator
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy
import numpy as np

import jitkit
import jitkit.numpy

from . import fresh, programs, timing
from .timing import Action, Spread


class Library(NamedTuple):
    """What a row needs of a library: `jit` and its numpy."""

    name: str
    jit: Any
    np: Any

    def array(self, x: Any) -> Any:
        """A value as an array of this library, on the device."""
        return self.np.asarray(x).block_until_ready()


OURS = Library("jitkit", jitkit.jit, jitkit.numpy)
THEIRS = Library("jax", jax.jit, jax.numpy)
LIBRARIES = (OURS, THEIRS)


class Effort(NamedTuple):
    """How long to measure: rounds of batches of so many seconds, rounds of what is done once a round, and fresh
    processes for each library.

    Many short batches are better than few long ones: on a machine that has other things to do, most of the short
    ones are not interrupted, and the median is one of these.
    """

    rounds: int
    batch: float
    once: int
    processes: int


FULL = Effort(rounds=501, batch=0.0004, once=31, processes=11)
QUICK = Effort(rounds=101, batch=0.0004, once=9, processes=3)

Measured = dict[str, list[float]]  # by library, one number of seconds a round


def wait(result: Any) -> Any:
    """Wait for an array, or for the arrays in a dict: the same few lines for both libraries."""
    for array in result.values() if isinstance(result, dict) else (result,):
        array.block_until_ready()
    return result


class Row(NamedTuple):
    """One line of the table: what is measured, and how many times JAX's time it may take."""

    group: str
    name: str
    target: float
    measure: Callable[[Effort], Measured]


class Result(NamedTuple):
    """A measured row. `ratio` is ours over JAX's."""

    row: Row
    ours: Spread
    theirs: Spread
    ratio: Spread

    @property
    def met(self) -> bool:
        """Whether the target is reached, going by the median at the two digits that the table shows."""
        return round(self.ratio.median, 2) <= self.row.target


# --- rows that repeat one call ------------------------------------------------------------------------------


def _repeated(prepare: Callable[[Library], Action], each_waits: bool = False) -> Callable[[Effort], Measured]:
    """Measure what `prepare` makes for each library. With `each_waits`, the result of every call is waited
    for, not only the last.
    """

    def measure(effort: Effort) -> Measured:
        actions = {library.name: prepare(library) for library in LIBRARIES}
        if each_waits:
            actions = {library.name: _and_wait(actions[library.name]) for library in LIBRARIES}
        return timing.measure(actions, rounds=effort.rounds, batch=effort.batch, wait=wait)

    return measure


def _and_wait(action: Action) -> Action:
    return lambda: wait(action())


_SMALL = np.arange(8, dtype=np.float32)


def _call_one_array(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), library.array(_SMALL))


def _call_eight_arrays(library: Library) -> Action:
    return functools.partial(
        library.jit(programs.add_all(library.np)), *[library.array(_SMALL + i) for i in range(8)]
    )


def _call_dict(library: Library) -> Action:
    params = {f"layer_{i:02}": library.array(_SMALL + i) for i in range(20)}
    return functools.partial(library.jit(programs.step_all(library.np)), params)


def _call_numpy(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), _SMALL)


def _call_float(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), 2.5)


def _call_jax_array(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), THEIRS.array(_SMALL))


def _eager_add(library: Library) -> Action:
    return functools.partial(operator.add, library.array(_SMALL), library.array(_SMALL + 1))


def _eager_scale(library: Library) -> Action:
    return functools.partial(operator.mul, library.array(_SMALL), 2.0)


def _eager_sin(library: Library) -> Action:
    return functools.partial(library.np.sin, library.array(_SMALL))


def _run_selu(library: Library) -> Action:
    x = library.array(np.random.default_rng(0).standard_normal(1_000_000, dtype=np.float32))
    return functools.partial(library.jit(programs.selu(library.np)), x)


def _run_network(library: Library) -> Action:
    params, x = programs.network_data(512, 512, 512, 512)  # every matrix is 1 MB
    arrays = {name: library.array(value) for name, value in params.items()}
    return functools.partial(library.jit(programs.network(library.np)), arrays, library.array(x))


# --- rows that do a thing once ------------------------------------------------------------------------------


def _once_a_round(act: Callable[[Library], float], rounds: int) -> Measured:
    """Let each library have its turn, round by round. `act` returns the seconds; the first turn is for
    warming up.
    """
    measured: Measured = {library.name: [] for library in LIBRARIES}
    for library in LIBRARIES:
        act(library)
    with timing.quiet_collector():
        for i in range(rounds):
            for library in LIBRARIES if i % 2 else LIBRARIES[::-1]:
                measured[library.name].append(act(library))
            gc.collect()
    return measured


def _clocked(action: Action) -> tuple[Any, float]:
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def _trace(library: Library) -> tuple[Any, int, float]:
    """A new function of 1,500 equations, traced: what it was traced to, the number of equations, the
    seconds.
    """
    x, y = library.array(_SMALL), library.array(_SMALL + 1)
    jitted = library.jit(programs.long_program(library.np))
    traced, seconds = _clocked(lambda: jitted.trace(x, y))
    return traced, len(traced.jaxpr.eqns), seconds


def _trace_per_equation(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        _, equations, seconds = _trace(library)
        return seconds / equations

    return _once_a_round(act, effort.once)


def _lower_per_equation(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        traced, equations, _ = _trace(library)
        _, seconds = _clocked(traced.lower)
        return seconds / equations

    return _once_a_round(act, effort.once)


def _first_call_in_a_warm_process(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        params, x = programs.network_data(16, 8, 32, 4)
        arrays, batch = {name: library.array(value) for name, value in params.items()}, library.array(x)
        jitted = library.jit(programs.network(library.np))
        return _clocked(lambda: wait(jitted(arrays, batch)))[1]

    return _once_a_round(act, effort.once)


def _first_call_in_a_fresh_process(effort: Effort) -> Measured:
    return _once_a_round(lambda library: fresh.first_call_seconds(library.name), effort.processes)


def _import(effort: Effort) -> Measured:
    return _once_a_round(lambda library: fresh.import_seconds(library.name), effort.processes)


ROWS = (
    Row("warm call of a compiled function", "one array", 1.15, _repeated(_call_one_array)),
    Row("warm call of a compiled function", "eight arrays", 1.15, _repeated(_call_eight_arrays)),
    Row("warm call of a compiled function", "dict of 20, in and out", 1.15, _repeated(_call_dict)),
    Row("warm call of a compiled function", "numpy array", 1.30, _repeated(_call_numpy)),
    Row("warm call of a compiled function", "Python float", 1.30, _repeated(_call_float)),
    Row("warm call of a compiled function", "jax.Array", 1.30, _repeated(_call_jax_array)),
    Row("eager operation on small arrays", "x + y", 1.00, _repeated(_eager_add)),
    Row("eager operation on small arrays", "x * 2.0", 1.00, _repeated(_eager_scale)),
    Row("eager operation on small arrays", "jnp.sin(x)", 1.00, _repeated(_eager_sin)),
    Row("per equation, of 1,500", "trace", 0.25, _trace_per_equation),
    Row("per equation, of 1,500", "lower", 0.25, _lower_per_equation),
    Row("first call of two dense layers", "in a fresh process", 0.90, _first_call_in_a_fresh_process),
    Row("first call of two dense layers", "in a warm process", 0.90, _first_call_in_a_warm_process),
    Row("run of a compiled program", "selu, 1,000,000 numbers", 1.02, _repeated(_run_selu, each_waits=True)),
    Row("run of a compiled program", "two layers, 1 MB each", 1.02, _repeated(_run_network, each_waits=True)),
    Row("whole process", "import", 0.35, _import),
)


def measure_row(row: Row, effort: Effort) -> Result:
    """Measure one row."""
    measured = row.measure(effort)
    ours, theirs = measured[OURS.name], measured[THEIRS.name]
    return Result(row, Spread.of(ours), Spread.of(theirs), timing.ratio(ours, theirs))


def machine() -> dict[str, Any]:
    """What the figures are figures of: processor, system, versions, when."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "jitkit": jitkit.__version__,
        "jax": jax.__version__,
        "device": str(jax.devices()[0].device_kind),
        "date": time.strftime("%Y-%m-%d"),
        "load": _load(),
    }


def _load() -> float | None:
    """How many processes wanted to run in the last minute, on the average, where the system tells."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def as_data(results: list[Result], effort: Effort) -> dict[str, Any]:
    """The results as plain data, seconds throughout."""
    rows = [
        {
            "group": r.row.group,
            "name": r.row.name,
            "target": r.row.target,
            "met": r.met,
            "jitkit": r.ours._asdict(),
            "jax": r.theirs._asdict(),
            "ratio": r.ratio._asdict(),
        }
        for r in results
    ]
    return {"machine": machine(), "effort": effort._asdict(), "rows": rows}
