"""The rows of `jitkit bench peers`: what is measured with both libraries, and how many times JAX's time it may take."""

from __future__ import annotations

import dataclasses
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
    """How long to measure.

    Many short batches are better than few long ones: on a busy machine most short ones are not interrupted, and the
    median is one of these.
    """

    rounds: int
    batch: float  # seconds of a batch of calls
    once: int  # rounds of actions that are done once a round
    processes: int  # fresh processes for each library
    seconds: float  # after this time no new round of a row begins


FULL = Effort(rounds=501, batch=0.0004, once=31, processes=11, seconds=10.0)
QUICK = Effort(rounds=101, batch=0.0004, once=5, processes=3, seconds=1.0)

Measured = dict[str, list[float]]  # library -> the seconds of each round


class Row(NamedTuple):
    """One line of the table: what is measured, and how many times JAX's time it may take."""

    group: str
    name: str
    target: float
    measure: Callable[[Effort], Measured]


# --- rows that repeat one call ------------------------------------------------------------------------------


def repeated(
    prepare: Callable[[Library], Action], each_waits: bool = False, others: Callable[[], Mapping[str, Action]] = dict
) -> Callable[[Effort], Measured]:
    """Return a function that measures, in turns, the action of each library (`prepare`) and those of other packages
    (`others`). With `each_waits` the result of every call is waited for, not only the last.
    """

    def measure(effort: Effort) -> Measured:
        actions = {library.name: prepare(library) for library in LIBRARIES}
        if each_waits:
            actions = {library.name: _and_wait(actions[library.name]) for library in LIBRARIES}
        actions |= others()
        return timing.measure(actions, rounds=effort.rounds, batch=effort.batch, wait=wait, limit=effort.seconds)

    return measure


def _and_wait(action: Action) -> Action:
    return lambda: wait(action())


# --- warm calls of add_one and its like, by what is passed ----------------------------------------------------

_SMALL = np.arange(8, dtype=np.float32)


def _call_one_array(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), library.array(_SMALL))


def _call_eight_arrays(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_all(library.np)), *[library.array(_SMALL + i) for i in range(8)])


def _call_dict(library: Library) -> Action:
    params = {f"layer_{i:02}": library.array(_SMALL + i) for i in range(20)}
    return functools.partial(library.jit(programs.step_all(library.np)), params)


def _call_numpy(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), _SMALL)


def _call_float(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), 2.5)


def _call_jax_array(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), THEIRS.array(_SMALL))


# --- warm calls, by the form of the call: each adds a number to an array, or two arrays ---------------------------


def _call_ahead_of_time(library: Library) -> Action:
    x = library.array(_SMALL)
    return functools.partial(library.jit(programs.add_one(library.np)).lower(x).compile(), x)


def _add_number(x: Any, number: float) -> Any:
    return x + number


def _call_static_position(library: Library) -> Action:
    return functools.partial(library.jit(_add_number, static_argnums=1), library.array(_SMALL), 3)


def _call_static_name(library: Library) -> Action:
    jitted = library.jit(_add_number, static_argnames="number")
    return functools.partial(jitted, library.array(_SMALL), number=3)


def _call_method(library: Library) -> Action:
    class Layer:
        @functools.partial(library.jit, static_argnums=0)
        def apply(self, x: Any) -> Any:
            return x + 1.0

    layer, x = Layer(), library.array(_SMALL)
    return lambda: layer.apply(x)  # finding the method is part of calling it


def _add_fields(pair: Any) -> Any:
    return pair.x + pair.y


def _call_dataclass(library: Library) -> Action:
    @library.trees.register_dataclass
    @dataclasses.dataclass
    class Pair:
        x: Any
        y: Any

    pair = Pair(library.array(_SMALL), library.array(_SMALL + 1))
    return functools.partial(library.jit(_add_fields), pair)


class _Pair(NamedTuple):
    x: Any
    y: Any


def _call_namedtuple(library: Library) -> Action:
    pair = _Pair(library.array(_SMALL), library.array(_SMALL + 1))
    return functools.partial(library.jit(_add_fields), pair)


def _call_keyword(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), x=library.array(_SMALL))


def _call_numpy_scalar(library: Library) -> Action:
    return functools.partial(library.jit(programs.add_one(library.np)), np.float32(2.5))


def _call_without_argument(library: Library) -> Action:
    return functools.partial(library.jit(lambda: library.np.arange(8.0)))


# --- what is done with arrays and trees besides -----------------------------------------------------------------


def _map_tree(library: Library) -> Action:
    params = {name: library.array(_SMALL) for name in ("w", "b", "scale")}
    return functools.partial(library.trees.tree_map, lambda leaf: leaf, params)  # the map, and nothing else


def _iterate(library: Library) -> Action:
    return functools.partial(list, library.array(_SMALL))


def _as_numpy(library: Library) -> Action:
    """Return an action that reads one array again. (The first two reads take longer with jitkit: docs/benchmarks.md says how long.)"""
    return functools.partial(np.asarray, library.array(_SMALL))


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
    name: str, program: Callable[..., Any], compiled: Callable[..., Any] | None, *arguments: Any
) -> Callable[[], Mapping[str, Action]]:
    """Return a function that makes the actions of other packages: the program by itself, in numpy or Python, under
    `name`; and numba's version of `compiled`, if numba is installed.
    """

    def make() -> Mapping[str, Action]:
        actions: dict[str, Action] = {name: functools.partial(program, *arguments)}
        njit = numba_programs.find_njit()
        if compiled is not None and njit is not None:
            actions["numba"] = functools.partial(njit(compiled), *arguments)
        return actions

    return make


_SELU = _others("numpy", programs.selu(np), numba_programs.selu, _normal(1_000_000))
_NETWORK = _others("numpy", programs.network(np), None, *programs.network_data(512, 512, 512, 512))
_SOFTMAX = _others("numpy", programs.softmax(np), numba_programs.softmax, _normal(500, 1000))
_LOOP = _others("Python", numba_programs.logistic_loop, numba_programs.logistic_loop, np.float32(0.3), 10_000)


# --- rows that do a thing once ------------------------------------------------------------------------------


def once_a_round(act: Callable[[Library], float], rounds: int, limit: float) -> Measured:
    """Return the values of `act` for each library, in seconds, one a round. A first turn does not count."""
    acts = {library.name: functools.partial(act, library) for library in LIBRARIES}
    return timing.measure_once(acts, rounds, limit)


def clocked(action: Action) -> tuple[Any, float]:
    """Return the result of an action, and its seconds."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def _trace(library: Library) -> tuple[Any, int, float]:
    """Trace a new function of 1,500 equations; return its trace, the number of equations and the seconds."""
    x, y = library.array(_SMALL), library.array(_SMALL + 1)
    jitted = library.jit(programs.long_program(library.np))
    traced, seconds = clocked(lambda: jitted.trace(x, y))
    return traced, len(traced.jaxpr.eqns), seconds


def _trace_per_equation(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        _, equations, seconds = _trace(library)
        return seconds / equations

    return once_a_round(act, effort.once, effort.seconds)


def _lower_per_equation(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        traced, equations, _ = _trace(library)
        _, seconds = clocked(traced.lower)
        return seconds / equations

    return once_a_round(act, effort.once, effort.seconds)


def _first_call_in_a_warm_process(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        params, x = programs.network_data(16, 8, 32, 4)
        arrays, batch = {name: library.array(value) for name, value in params.items()}, library.array(x)
        jitted = library.jit(programs.network(library.np))
        return clocked(lambda: wait(jitted(arrays, batch)))[1]

    return once_a_round(act, effort.once, effort.seconds)


def _first_call_in_a_fresh_process(effort: Effort) -> Measured:
    return once_a_round(lambda library: fresh.first_call_seconds(library.name), effort.processes, effort.seconds)


def _import(effort: Effort) -> Measured:
    return once_a_round(lambda library: fresh.import_seconds(library.name), effort.processes, effort.seconds)


def _import_and_names(effort: Effort) -> Measured:
    """Return the seconds of importing a library and two names that every program asks for: jitkit imports its packages
    and numpy only when one of their names is asked for.
    """
    return once_a_round(
        lambda library: fresh.import_seconds(library.name, "jax.jit, jnp.sin"), effort.processes, effort.seconds
    )


def _first_result(effort: Effort) -> Measured:
    return once_a_round(
        lambda library: fresh.import_seconds(library.name, fresh.FIRST_RESULT), effort.processes, effort.seconds
    )


def _training_script(effort: Effort) -> Measured:
    return once_a_round(
        lambda library: fresh.import_seconds(library.name, fresh.TRAINING), effort.processes, effort.seconds
    )


_PASSED = "warm call of a compiled function"
_FORMS = "warm call, in other forms"
_EAGER = "eager operation on small arrays"
_BESIDES = "with arrays and trees"
_EQUATION = "per equation, of 1,500"
_FIRST = "first call of two dense layers"
_RUN = "run of a compiled program"

ROWS = (
    Row(_PASSED, "one array", 1.05, repeated(_call_one_array)),
    Row(_PASSED, "eight arrays", 1.05, repeated(_call_eight_arrays)),
    Row(_PASSED, "dict of 20, in and out", 1.05, repeated(_call_dict)),
    Row(_PASSED, "numpy array", 1.10, repeated(_call_numpy)),
    Row(_PASSED, "Python float", 1.10, repeated(_call_float)),
    Row(_PASSED, "jax.Array", 1.10, repeated(_call_jax_array)),
    Row(_FORMS, "ahead of time", 1.25, repeated(_call_ahead_of_time)),
    Row(_FORMS, "static, by position", 1.25, repeated(_call_static_position)),
    Row(_FORMS, "static, by name", 1.25, repeated(_call_static_name)),
    Row(_FORMS, "method, self static", 1.25, repeated(_call_method)),
    Row(_FORMS, "registered dataclass", 1.25, repeated(_call_dataclass)),
    Row(_FORMS, "namedtuple", 1.25, repeated(_call_namedtuple)),
    Row(_FORMS, "keyword", 1.25, repeated(_call_keyword)),
    Row(_FORMS, "np.float32", 1.25, repeated(_call_numpy_scalar)),
    Row(_FORMS, "no argument", 1.25, repeated(_call_without_argument)),
    Row(_EAGER, "x + y", 0.85, repeated(_eager_add)),
    Row(_EAGER, "x * 2.0", 0.85, repeated(_eager_scale)),
    Row(_EAGER, "jnp.sin(x)", 0.85, repeated(_eager_sin)),
    Row(_BESIDES, "tree.map, dict of 3", 1.25, repeated(_map_tree)),
    Row(_BESIDES, "list(x) of 8 numbers", 1.25, repeated(_iterate)),
    Row(_BESIDES, "np.asarray(x)", 1.25, repeated(_as_numpy)),
    Row(_EQUATION, "trace", 0.15, _trace_per_equation),
    Row(_EQUATION, "lower", 0.20, _lower_per_equation),
    Row(_FIRST, "in a fresh process", 0.90, _first_call_in_a_fresh_process),
    Row(_FIRST, "in a warm process", 0.90, _first_call_in_a_warm_process),
    Row(_RUN, "selu, 1,000,000 numbers", 1.02, repeated(_run_selu, True, _SELU)),
    Row(_RUN, "two layers, 1 MB each", 1.02, repeated(_run_network, True, _NETWORK)),
    Row(_RUN, "softmax, 500 by 1,000", 1.02, repeated(_run_softmax, True, _SOFTMAX)),
    Row(_RUN, "loop of 10,000 turns", 1.02, repeated(_run_loop, True, _LOOP)),
    Row("whole process", "import", 0.25, _import),
    Row("whole process", "import, jax.jit, jnp.sin", 0.25, _import_and_names),
    Row("whole process", "to a first jitted result", 0.65, _first_result),
    Row("whole process", "a small training script", 0.80, _training_script),
)
