"""Measures SELU on a million numbers: by numpy, operation by operation, and jitted, where the first call is measured
apart from warm ones.
"""

from __future__ import annotations

import functools
import time
from typing import Any, NamedTuple

import numpy as np

import jitkit
from jitkit.base import stage_log
from jitkit.bench import timing
from jitkit.bench.timing import Spread

from ..screens.terminal import Screen, compared, duration
from .example import selu, selu_numpy


class Times(NamedTuple):
    """Times of a call in seconds."""

    numpy: Spread
    eager: Spread
    jitted: Spread
    first: float  # the whole first call of the jitted function
    stages: dict[str, float]  # the stages of that call
    difference: float  # the largest difference between the results of numpy and of the jitted function


def measure(x: Any, x_numpy: np.ndarray[Any, Any]) -> Times:
    """Return the times of SELU by numpy, op by op and jitted, measured in turns, with a wait for each call."""
    jitkit.clear_caches()
    jitted = jitkit.jit(selu)
    with stage_log.listen() as events:
        start = time.perf_counter()
        result = jitted(x).block_until_ready()
        first = time.perf_counter() - start
    difference = float(np.abs(np.asarray(result) - selu_numpy(x_numpy)).max())
    seconds = timing.measure(
        {
            "numpy": functools.partial(selu_numpy, x_numpy),
            "eager": lambda: selu(x).block_until_ready(),
            "jitted": lambda: jitted(x).block_until_ready(),
        },
        rounds=25,
        batch=0.02,
    )
    spreads = {name: Spread.of(values) for name, values in seconds.items()}
    stages = {event.stage: event.seconds for event in events if event.function == "selu"}
    return Times(spreads["numpy"], spreads["eager"], spreads["jitted"], first, stages, difference)


def show(screen: Screen, times: Times) -> None:
    """Show the times as bars, and what they mean as sentences."""
    screen.heading("The clock", "SELU on 1,000,000 numbers")
    screen.text(
        "Each call is waited for (block_until_ready): operations return before they are done. Medians of "
        "25 rounds in turns.",
        2,
    )
    screen.line()
    slowest = max(times.numpy.median, times.eager.median, times.jitted.median)
    room = screen.width - 51
    for label, spread in (("numpy", times.numpy), ("jitkit, op by op", times.eager), ("jitkit, jitted", times.jitted)):
        quartiles = f"({duration(spread.low)} to {duration(spread.high)})"
        bar = screen.bar(spread.median / slowest, room)
        screen.line(f"  {label:<16} {duration(spread.median):>8}  {quartiles:<20} {bar}".rstrip())
    screen.line()
    known = sum(times.stages.values())
    parts = [(name, times.stages[stage]) for stage, name in _STAGES.items() if stage in times.stages]
    parts.append(("the rest, with the run", max(times.first - known, 0.0)))
    screen.text(
        f"The first jitted call, for which XLA compiled anew, took {duration(times.first)}: "
        + ", ".join(f"{n} {duration(s)}" for n, s in parts)
        + ".",
        2,
    )
    screen.line()
    screen.text(verdict(times), 2, "bold")
    screen.text(f"numpy's result and ours differ by {times.difference:.0e} at most.", 2, "dim")


_STAGES = {"tracing": "trace", "lowering": "lower", "compilation": "compile"}


def verdict(times: Times) -> str:
    """Return, in words, the speed-up; and, if jitted calls are faster than op by op, after how many calls the first one, which
    compiles, has paid for itself.
    """
    jitted = times.jitted.median
    saved = times.eager.median - jitted
    text = (
        f"Jitted, SELU is {compared(times.numpy.median / jitted, 'numpy')} and "
        f"{compared(times.eager.median / jitted, 'op by op')}, on this machine."
    )
    if saved > 0:
        calls = max(1, round(times.first / saved))
        text += f" The first call has paid for itself after {calls} {'call' if calls == 1 else 'calls'}."
    return text
