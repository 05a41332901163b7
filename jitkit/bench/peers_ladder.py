"""The rows of `jitkit bench peers` on `solutions/from_scratch.py`, the answer to the ladder: the cost of a JIT of a
thousand lines beside JAX. That file stands for `jitkit` in these rows.
"""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import sys
from typing import Any

import numpy as np

from . import programs, timing
from .libraries import OURS, THEIRS, Library, jax
from .peers_rows import Effort, Measured, Row, clocked, once_a_round
from .timing import Action

_SMALL = np.arange(8, dtype=np.float32)
_PACKAGE = pathlib.Path(__file__).resolve().parents[1]
_ROOTS = (_PACKAGE.parent, _PACKAGE / "kata")  # roots of a clone, and of an installation


@functools.cache
def answer() -> Any:
    """Import the ladder's answer, with the `xla.py` that the ladder gives, and return it. Raise FileNotFoundError if it
    is not there.
    """
    known = sys.modules.get("xla")
    try:
        sys.modules["xla"] = _load("xla", "labs/from_scratch/xla.py")
        return _load("from_scratch", "solutions/from_scratch.py")
    finally:
        del sys.modules["xla"]
        if known is not None:
            sys.modules["xla"] = known


def _load(name: str, path: str) -> Any:
    found = next((root / path for root in _ROOTS if (root / path).is_file()), None)
    spec = importlib.util.spec_from_file_location(name, found) if found is not None else None
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"there is no {path} in {' and in '.join(map(str, _ROOTS))}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _call(package: Any) -> Action:
    jitted = package.jit(programs.add_one(package.numpy))
    return functools.partial(jitted, jitted(package.numpy.asarray(_SMALL)))  # the argument is on the device


def _warm_call(effort: Effort) -> Measured:
    actions = {OURS.name: _call(answer()), THEIRS.name: _call(jax)}
    return timing.measure(actions, rounds=effort.rounds, batch=effort.batch, wait=np.asarray, limit=effort.seconds)


def _trace_and_lower(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        package = answer() if library is OURS else jax
        program, x = programs.long_program(package.numpy), package.numpy.asarray(_SMALL)
        lower = (
            (lambda: package.lower(program, x, x))
            if library is OURS
            else (lambda: jax.jit(program).lower(x, x).as_text())
        )
        return clocked(lower)[1] / 1500  # equations of the program

    return once_a_round(act, effort.once, effort.seconds)


_GROUP = "solutions/from_scratch.py"

LADDER_ROWS = (
    Row(_GROUP, "the ladder, warm call", 1.50, _warm_call),
    Row(_GROUP, "the ladder, trace and lower", 0.15, _trace_and_lower),
)
