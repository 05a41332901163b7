"""`jitkit bench scaling`: how the cost of each stage grows with its input, and the fitted exponent.

Growth worse than linear in our own stages (trace, lower, a hit in the cache) would be a defect; `compile` and `run` are
XLA's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import jitkit
import jitkit.numpy as jnp
from jitkit import lax

from . import programs
from .benchmark import Benchmark, Step
from .growth import (
    CPU_CLOCK,
    SECONDS,
    Axis,
    Effort,
    Point,
    Result,
    Slope,
    clocked,
    measure_axis,
    measure_stages,
    python_bytes,
    warm_seconds,
)
from .tables import Column, Line
from .timing import Spread
from .words import duration, quartiles, size

OURS = ("trace", "lower", "Python memory")  # quantities in which only our own code counts

FULL = Effort(rounds=9, seconds=0.8, patience=15.0)
QUICK = Effort(rounds=3, seconds=0.15, patience=1.5)


# --- the axes -------------------------------------------------------------------------------------------------


def _equations(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.arange(8, dtype=np.float32))

    def make() -> tuple[Any, tuple[Any, ...]]:
        def chain(x: Any, y: Any) -> Any:
            for i in range(n):
                x = lax.sin(x) if i % 2 else lax.mul(x, y)
            return x

        return jitkit.jit(chain), (x, x)

    return measure_stages(make, effort, compiles)


def _array_size(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.linspace(-1.0, 1.0, n, dtype=np.float32))
    return measure_stages(lambda: (jitkit.jit(programs.selu(jnp)), (x,)), effort, compiles)


def _loop_length(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.float32(0.3))
    return measure_stages(lambda: (jitkit.jit(programs.logistic_loop(lax, n)), (x,)), effort, compiles)


def _leaves(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.ones(4, np.float32))
    params = {f"layer_{i:05}": x for i in range(n)}
    return measure_stages(lambda: (jitkit.jit(programs.step_all(jnp)), (params,)), effort, compiles, True)


def _cache_entries(n: int, effort: Effort, compiles: bool) -> Point:
    """Return the measurements of a function with n entries in its cache. "run" is a hit of the first entry; "trace" is
    a miss, which is recorded for `explain`.
    """
    x = jitkit.device_put(np.arange(8, dtype=np.float32))

    def make() -> Any:
        return jitkit.jit(lambda x, k: x + 1.0, static_argnums=1)

    point: Point = {}
    if compiles:
        jitted = make()
        for k in range(n):
            jitted(x, k)
        point["run"] = warm_seconds(functools.partial(jitted, x, 0), effort)
    traced_only = make()
    for k in range(n):
        traced_only.trace(x, k)
    point["trace"] = [
        clocked(functools.partial(traced_only.trace, x, n + k), CPU_CLOCK)[1] for k in range(7 * effort.rounds)
    ]
    fresh = make()
    point["Python memory"] = [python_bytes(lambda: [fresh.trace(x, k) for k in range(n)])]
    return point


AXES = (
    Axis(
        "equations",
        "equations in a jaxpr",
        (10, 30, 100, 300, 1000, 3000, 10_000),
        (10, 30, 100, 300, 1000),
        _equations,
    ),
    Axis(
        "array size",
        "numbers in the array",
        (10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000),
        (100, 10_000, 100_000, 1_000_000),
        _array_size,
    ),
    Axis(
        "loop length", "turns of a fori_loop", (10, 100, 1000, 10_000, 100_000), (10, 100, 1000, 10_000), _loop_length
    ),
    Axis("tree leaves", "arrays in a dict, in and out", (1, 10, 30, 100, 300, 1000, 3000), (1, 10, 100, 300), _leaves),
    Axis("cache entries", "signatures in the cache", (1, 10, 30, 100, 300, 1000), (1, 10, 30, 100), _cache_entries),
)


class Scaling(Benchmark):
    """The benchmark: all axes, or those whose name contains a word."""

    name = "scaling"
    title = "How the cost of each stage grows"
    how = (
        "A slope is the exponent of growth, fitted to the larger half of the sizes, with its standard error: 0 is "
        "constant, 1 linear. Where the constant part of a cost bends the line, that part is fitted, too, and the slope is that of the "
        "rest (`hidden`: the rest is too small). trace and lower are jitkit's own, in processor time; compile and run are "
        "XLA's; run of the tree leaves and of the cache is a whole call of jit. Python memory is the most that tracing and lowering take "
        "(tracemalloc), program memory is arguments, results and temporaries as XLA counts them."
    )
    columns = (
        Column("", 14, "<"),
        Column("smallest", 8),
        Column("largest", 7),
        Column("quartiles", 14, ">", 2),
        Column("slope", 11),
        Column("growth", 11, "<"),
    )
    figure_module = "jitkit.bench.scaling_figure"
    efforts = (FULL, QUICK)

    def all_steps(self) -> list[Step]:
        """Return one step for each axis."""
        return [
            Step(
                axis.name,
                functools.partial(measure_axis, axis, axis.quick_sizes if self.quick else axis.sizes, self.effort),
            )
            for axis in AXES
        ]

    def lines(self, result: Result) -> list[Line]:
        """Return a line for each quantity."""
        lines = []
        sizes = list(result.points)
        group = f"{result.axis.name}: {sizes[0]:,} to {sizes[-1]:,} {result.axis.unit}"
        for quantity in result.quantities:
            values, slope = result.values(quantity), result.slopes[quantity]
            first, last = (Spread.of(values[n]) for n in (min(values), max(values)))
            shown = duration if quantity in SECONDS else size
            notes = [f"up to {max(values):,} only"] if max(values) < sizes[-1] else []
            if slope.constant:
                notes.append(
                    f"{'hidden by' if slope.words == 'hidden' else 'beyond'} a constant part of {shown(slope.constant)}"
                )
            cells = (
                quantity,
                shown(first.median),
                shown(last.median),
                quartiles(last) if quantity in SECONDS else "",
                "-" if slope.words == "hidden" else f"{slope.value:.2f} ± {slope.error:.2f}",
                slope.words,
            )
            is_good = slope.words != "superlinear" if quantity in OURS else None
            lines.append(Line(group, cells, tuple(notes), is_good))
        return lines

    def summary(self, results: Sequence[Result]) -> list[str]:
        """Return sentences: whether one of our own stages grows too fast, and what was not compiled."""
        steep = [
            f"{quantity} with {result.axis.name}"
            for result in results
            for quantity in result.quantities
            if quantity in OURS and result.slopes[quantity].words == "superlinear"
        ]
        sentences = [
            f"Superlinear in jitkit's own stages: {', '.join(steep)}."
            if steep
            else "Nothing in jitkit's own stages was seen to grow faster than linearly."
        ]
        left_out = [f"{n:,} {r.axis.unit}" for r in results for n in r.uncompiled]
        if left_out:
            sentences.append(f"Not compiled, since XLA would have taken too long: {', '.join(left_out)}.")
        return sentences

    def row_data(self, result: Result) -> dict[str, Any]:
        """Return all points and slopes."""
        return {
            "axis": result.axis.name,
            "unit": result.axis.unit,
            "points": {str(n): point for n, point in result.points.items()},
            "slopes": {quantity: _slope_data(slope) for quantity, slope in result.slopes.items()},
            "not compiled": list(result.uncompiled),
        }


def _slope_data(slope: Slope) -> dict[str, Any]:
    """Return a slope for JSON, which has no nan."""
    return {name: None if math.isnan(value) else value for name, value in slope._asdict().items()} | {
        "growth": slope.words
    }
