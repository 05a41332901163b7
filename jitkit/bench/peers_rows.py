"""The rows of `jitkit bench peers`: what is measured of both libraries, and how many times JAX's time it may take."""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import fresh, numba_programs, programs, timing
from .libraries import LIBRARIES, THEIRS, Library, wait
from .timing import Action


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


class Row(NamedTuple):
    """One line of the table: what is measured, and how many times JAX's time it may take."""

    group: str
    name: str
    target: float
    measure: Callable[[Effort], Measured]


# --- rows that repeat one call ------------------------------------------------------------------------------


def _repeated(
    prepare: Callable[[Library], Action],
    each_waits: bool = False,
    others: Callable[[], Mapping[str, Action]] = dict,
) -> Callable[[Effort], Measured]:
    """Measure what `prepare` makes for each library, and what `others` makes for further ones. With `each_waits`,
    the result of every call is waited for, not only the last.
    """

    def measure(effort: Effort) -> Measured:
        actions = {library.name: prepare(library) for library in LIBRARIES}
        if each_waits:
            actions = {library.name: _and_wait(actions[library.name]) for library in LIBRARIES}
        actions |= others()
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


# --- rows that run whole programs -----------------------------------------------------------------------------


def _normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _run_selu(library: Library) -> Action:
    return functools.partial(library.jit(programs.selu(library.np)), library.array(_normal(1_000_000)))


def _run_network(library: Library) -> Action:
    params, x = programs.network_data(512, 512, 512, 512)  # every matrix is 1 MB
    arrays = {name: library.array(value) for name, value in params.items()}
    return functools.partial(library.jit(programs.network(library.np)), arrays, library.array(x))


def _run_softmax(library: Library) -> Action:
    return functools.partial(library.jit(programs.softmax(library.np)), library.array(_normal(500, 1000)))


def _run_loop(library: Library) -> Action:
    run = library.jit(programs.logistic_loop(library.lax, 10_000))
    return functools.partial(run, library.array(np.float32(0.3)))


def _others(
    program: Callable[..., Any], compiled: Callable[..., Any] | None, *arguments: Any
) -> Callable[[], Mapping[str, Action]]:
    """The program in numpy, and as numba compiles `compiled`, where it is installed."""

    def make() -> Mapping[str, Action]:
        actions: dict[str, Action] = {"numpy": functools.partial(program, *arguments)}
        njit = numba_programs.find_njit()
        if compiled is not None and njit is not None:
            actions["numba"] = functools.partial(njit(compiled), *arguments)
        return actions

    return make


_SELU = _others(programs.selu(np), numba_programs.selu, _normal(1_000_000))
_NETWORK = _others(programs.network(np), None, *programs.network_data(512, 512, 512, 512))
_SOFTMAX = _others(programs.softmax(np), numba_programs.softmax, _normal(500, 1000))
_LOOP = _others(numba_programs.logistic_loop, numba_programs.logistic_loop, np.float32(0.3), 10_000)


# --- rows that do a thing once ------------------------------------------------------------------------------


def _once_a_round(act: Callable[[Library], float], rounds: int) -> Measured:
    """Let each library have its turn, round by round. `act` returns the seconds; the first turn is for
    warming up.
    """
    return timing.measure_once(
        {library.name: functools.partial(act, library) for library in LIBRARIES}, rounds
    )


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
    Row("run of a compiled program", "selu, 1,000,000 numbers", 1.02, _repeated(_run_selu, True, _SELU)),
    Row("run of a compiled program", "two layers, 1 MB each", 1.02, _repeated(_run_network, True, _NETWORK)),
    Row("run of a compiled program", "softmax, 500 by 1,000", 1.02, _repeated(_run_softmax, True, _SOFTMAX)),
    Row("run of a compiled program", "loop of 10,000 turns", 1.02, _repeated(_run_loop, True, _LOOP)),
    Row("whole process", "import", 0.35, _import),
)
