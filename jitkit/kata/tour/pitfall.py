"""Shows the pitfall of JAX's tutorial: jit in a loop, of a lambda, of a partial, of the function itself."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import jitkit
import jitkit.numpy as jnp
from jitkit.base import stage_log
from jitkit.misses.explain import explain

from ..screens.terminal import Screen, duration
from . import example as tour_example

TURNS = 20
_HERE = str(Path(tour_example.__file__).parent) + os.sep  # this part of a path is left out of sentences


class Loop(NamedTuple):
    """One way of writing the loop, and its cost."""

    name: str
    code: str
    traces: int
    compiles: int
    seconds: float
    reasons: list[list[str]]  # the reason of each miss, as lines


_LOOPS = (
    ("a lambda", "i = jit(lambda v: body(v))(i)", tour_example.with_a_lambda),
    ("a partial", "i = jit(partial(body))(i)", tour_example.with_a_partial),
    ("the function", "i = jit(body)(i)", tour_example.with_the_function),
)


def measure() -> list[Loop]:
    """Run each loop once, from empty caches, and return what it did."""
    loops = []
    start_value = jnp.asarray(np.int32(0)).block_until_ready()
    for name, code, run in _LOOPS:
        jitkit.clear_caches()
        before = {id(miss): miss for miss in explain()}  # id -> miss, since the oldest may be dropped meanwhile
        with stage_log.listen() as events:
            start = time.perf_counter()
            run(start_value, TURNS).block_until_ready()
            seconds = time.perf_counter() - start
        stages = [event.stage for event in events]
        loops.append(
            Loop(
                name,
                code,
                stages.count("tracing"),
                stages.count("compilation"),
                seconds,
                [miss.lines() for miss in explain() if id(miss) not in before],
            )
        )
    return loops


def show(screen: Screen, loops: list[Loop]) -> None:
    """Show the table, and the reasons in words."""
    screen.heading("The pitfall", f"jit in a loop of {TURNS} turns")
    screen.text(
        "The cache finds executables by function and signature. Two functions with the same code are two functions:", 2
    )
    screen.line()
    rows = [("in each turn", "traces", "compiles", "time")]
    rows += [(loop.code, str(loop.traces), str(loop.compiles), duration(loop.seconds)) for loop in loops]
    screen.table(rows, align="<>>>", indent=4)
    screen.line()
    screen.text("The reason of each miss, from jitkit.explain():", 2)
    for loop in loops:
        groups = _grouped(loop.reasons)
        for turns, lines in groups[:2]:
            told = " ".join(line.strip() for line in lines).replace(_HERE, "")
            screen.text(f"{loop.name}, {turns}: {told}", 4)
    fastest, slowest = min(loops, key=_seconds), max(loops, key=_seconds)
    screen.line()
    screen.text(
        f"With {fastest.name} the loop took {duration(fastest.seconds)}, with {slowest.name} "
        f"{duration(slowest.seconds)}. Define functions once, and jit them outside of loops.",
        2,
        "bold",
    )


def _seconds(loop: Loop) -> float:
    return loop.seconds


def _grouped(reasons: list[list[str]]) -> list[tuple[str, list[str]]]:
    """Return pairs of a turn and the reason of a miss: for the first miss, and for the last, which stands for all after the first. Return
    [] if there was no miss.
    """
    if len(reasons) < 2:
        return [("turn 1", reasons[0])] if reasons else []
    return [("turn 1", reasons[0]), (f"turns 2 to {len(reasons)}, the last", reasons[-1])]
