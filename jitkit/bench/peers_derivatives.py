"""The rows of `jitkit bench peers` about derivatives and batches: the same programs under `value_and_grad` and under `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import programs
from .libraries import Library, wait
from .peers_rows import Effort, Measured, Row, clocked, once_a_round, repeated
from .timing import Action

_SMALL = np.arange(8, dtype=np.float32)

# A new function of 1,500 equations, of which a transformation makes some thousands; and its arguments.
Made = tuple[Any, tuple[Any, ...]]


def _gradient(library: Library) -> Made:
    program = programs.long_program(library.np)
    x = library.array(_SMALL)
    return library.jit(library.value_and_grad(lambda x, y: library.np.sum(program(x, y)), (0, 1))), (x, x)


def _batch(library: Library) -> Made:
    program = programs.long_program(library.np)
    rows = library.array(np.stack([_SMALL] * 4))
    return library.jit(library.vmap(program, (0, None))), (rows, library.array(_SMALL))


def _trace(make: Callable[[Library], Made]) -> Callable[[Effort], Measured]:
    def act(library: Library) -> float:
        jitted, arguments = make(library)
        return clocked(lambda: jitted.trace(*arguments))[1]

    return lambda effort: once_a_round(act, effort.once, effort.seconds)


def _lower(make: Callable[[Library], Made]) -> Callable[[Effort], Measured]:
    def act(library: Library) -> float:
        jitted, arguments = make(library)
        return clocked(jitted.trace(*arguments).lower)[1]

    return lambda effort: once_a_round(act, effort.once, effort.seconds)


# --- the training of two layers -------------------------------------------------------------------------------


def _loss(library: Library) -> Callable[[Any, Any], Any]:
    network = programs.network(library.np)
    return lambda params, x: library.np.mean(network(params, x) ** 2)


def _data(library: Library, *sizes: int) -> tuple[Any, Any]:
    params, x = programs.network_data(*sizes)
    return {name: library.array(value) for name, value in params.items()}, library.array(x)


def _first_call_of_a_gradient(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        arguments = _data(library, 16, 8, 32, 4)
        jitted = library.jit(library.value_and_grad(_loss(library)))
        return clocked(lambda: wait(jitted(*arguments)[0]))[1]

    return once_a_round(act, effort.once, effort.seconds)


def _first_call_of_a_batch(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        arguments = _data(library, 16, 8, 32, 4)
        jitted = library.jit(library.vmap(programs.network(library.np), (None, 0)))
        return clocked(lambda: wait(jitted(*arguments)))[1]

    return once_a_round(act, effort.once, effort.seconds)


def _call_gradient(library: Library) -> Action:
    params = {f"layer_{i:02}": library.array(_SMALL + i) for i in range(20)}

    def loss(params: Any) -> Any:
        return sum(library.np.sum(leaf * leaf) for leaf in params.values())

    return functools.partial(library.jit(library.value_and_grad(loss)), params)


def _run_gradient(library: Library) -> Action:
    jitted = library.jit(library.value_and_grad(_loss(library)))
    arguments = _data(library, 512, 512, 512, 512)  # every matrix is 1 MB
    return lambda: jitted(*arguments)[1]


def _run_batch(library: Library) -> Action:
    jitted = library.jit(library.vmap(programs.network(library.np), (None, 0)))
    return functools.partial(jitted, *_data(library, 512, 512, 512, 512))


_TRANSFORMED = "of 1,500 equations, transformed"
_LAYERS = "two layers, transformed"

DERIVATIVE_ROWS = (
    Row(_TRANSFORMED, "trace of value_and_grad", 0.30, _trace(_gradient)),
    Row(_TRANSFORMED, "lower it", 0.25, _lower(_gradient)),
    Row(_TRANSFORMED, "trace of vmap", 0.30, _trace(_batch)),
    Row(_TRANSFORMED, "lower that", 0.25, _lower(_batch)),
    Row(_LAYERS, "first call, value_and_grad", 0.95, _first_call_of_a_gradient),
    Row(_LAYERS, "first call, vmap", 0.95, _first_call_of_a_batch),
    Row(_LAYERS, "warm call, value_and_grad of 20", 1.10, repeated(_call_gradient)),
    Row(_LAYERS, "run of value_and_grad", 1.02, repeated(_run_gradient, True)),
    Row(_LAYERS, "run of vmap", 1.02, repeated(_run_batch, True)),
)
