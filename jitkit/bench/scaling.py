"""`jitkit bench scaling`: how the cost of each stage grows with what it is given, and the fitted exponent.

On logarithmic scales a power law is a straight line, and its slope is the exponent: 0 is a constant, 1 is linear, 2 is
quadratic. The slope is fitted by least squares to the measurements of the larger half of the sizes, since at small
sizes a constant covers everything; what is added to it is its standard error. What grows worse than linearly in the
stages that are ours (trace, lower, a hit in the cache) would be a defect; `compile` and `run` are XLA's.

Here the garbage collector runs as it does for users: what it costs grows with what is alive.
"""

from __future__ import annotations

import functools
import gc
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import jitkit
import jitkit.numpy as jnp
from jitkit import lax

from . import programs
from .benchmark import Benchmark, Step
from .tables import Column, Line
from .timing import Spread, batch_seconds, loops_for, no_wait
from .words import duration, quartiles, size

SECONDS = ("trace", "lower", "compile", "run")
BYTES = ("Python memory", "program memory")
OURS = ("trace", "lower", "Python memory")  # stages in which only our own code runs


class Slope(NamedTuple):
    """An exponent and its standard error."""

    value: float
    error: float

    @property
    def words(self) -> str:
        """`constant`, `sublinear`, `linear` or `superlinear`, as far as it can be told."""
        if self.value - 2 * self.error > 1.15:
            return "superlinear"
        if self.value > 0.85:
            return "linear"
        return "sublinear" if self.value > 0.15 else "constant"


def fit(points: Sequence[tuple[float, float]]) -> Slope:
    """The slope of log y against log x by least squares, for at least three points of at least two x."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    slope, intercept = statistics.linear_regression(xs, ys)
    residual = sum((y - slope * x - intercept) ** 2 for x, y in zip(xs, ys, strict=True))
    spread = sum((x - statistics.fmean(xs)) ** 2 for x in xs)
    return Slope(slope, math.sqrt(residual / max(len(xs) - 2, 1) / spread))


class Effort(NamedTuple):
    """How long to measure: rounds of each point, the seconds after which no other one is begun, and the seconds that a
    compilation may be expected to take.
    """

    rounds: int
    seconds: float
    patience: float


FULL = Effort(rounds=9, seconds=0.8, patience=40.0)
QUICK = Effort(rounds=3, seconds=0.15, patience=1.5)

Point = dict[str, list[float]]  # of one size: by quantity, a value a round


class Axis(NamedTuple):
    """Something that can be made larger: its name, what it counts, the sizes, and what measures one of them.

    `measure(size, effort, compiles)` leaves out what needs a compilation when it is not to compile.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    measure: Callable[[int, Effort, bool], Point]


class Result(NamedTuple):
    """An axis, its points by size, and for each quantity the slope."""

    axis: Axis
    points: dict[int, Point]
    slopes: dict[str, Slope]
    uncompiled: tuple[int, ...]

    def values(self, quantity: str) -> dict[int, list[float]]:
        """The measurements of one quantity by size."""
        return {n: point[quantity] for n, point in self.points.items() if quantity in point}

    @property
    def quantities(self) -> list[str]:
        """What was measured at three sizes or more, in order."""
        return [quantity for quantity in (*SECONDS, *BYTES) if quantity in self.slopes]


# --- measuring a point ----------------------------------------------------------------------------------------


def _measure_stages(
    make: Callable[[], tuple[Any, tuple[Any, ...]]], effort: Effort, compiles: bool, calls_jit: bool = False
) -> Point:
    """Each stage of a function that `make` makes anew, with its arguments. `run` is a warm call, waited for: of the
    compiled program, or with `calls_jit` of the jitted function, with all that jit does at a call.
    """
    point: Point = {"trace": [], "lower": []}
    start = time.perf_counter()
    jitted, arguments = make()
    for i in range(effort.rounds):
        if i and time.perf_counter() - start > effort.seconds:
            break
        jitted, arguments = make()
        gc.collect()
        traced, seconds = _clocked(functools.partial(jitted.trace, *arguments))
        point["trace"].append(seconds)
        lowered, seconds = _clocked(traced.lower)
        point["lower"].append(seconds)
        if compiles:
            compiled, seconds = _clocked(lowered.compile)
            point.setdefault("compile", []).append(seconds)
            call = functools.partial(jitted if calls_jit else compiled, *arguments)
            if i == 0:
                point["run"] = _runs(call, effort)
                point["program memory"] = [_program_bytes(compiled)]
    point["Python memory"] = [_python_bytes(lambda: make()[0].trace(*arguments).lower())]
    return point


def _clocked(action: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def _runs(call: Callable[[], Any], effort: Effort) -> list[float]:
    """Seconds of warm calls."""

    def run() -> Any:
        return jitkit.block_until_ready(call())

    run()
    loops = loops_for(run, 0.002)
    start, seconds = time.perf_counter(), [batch_seconds(run, loops, no_wait)]
    while len(seconds) < 3 * effort.rounds and time.perf_counter() - start < effort.seconds:
        seconds.append(batch_seconds(run, loops, no_wait))
    return seconds


def _python_bytes(action: Callable[[], Any]) -> float:
    """The most memory that Python objects took at any time in an action, beyond what was there. (`tracemalloc`)"""
    gc.collect()
    tracemalloc.start()
    try:
        action()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _program_bytes(compiled: Any) -> float:
    """What a program needs on the device, as XLA counts it: arguments, results, what is in between, and code."""
    found = compiled.memory_analysis()
    if found is None:
        return math.nan
    parts = (found.argument_size_in_bytes, found.output_size_in_bytes, found.temp_size_in_bytes)
    return float(sum(parts))


# --- the axes -------------------------------------------------------------------------------------------------


def _equations(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.arange(8, dtype=np.float32))

    def make() -> tuple[Any, tuple[Any, ...]]:
        def chain(x: Any, y: Any) -> Any:
            for i in range(n):
                x = lax.sin(x) if i % 2 else lax.mul(x, y)
            return x

        return jitkit.jit(chain), (x, x)

    return _measure_stages(make, effort, compiles)


def _array_size(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.linspace(-1.0, 1.0, n, dtype=np.float32))
    return _measure_stages(lambda: (jitkit.jit(programs.selu(jnp)), (x,)), effort, compiles)


def _loop_length(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.float32(0.3))
    return _measure_stages(lambda: (jitkit.jit(programs.logistic_loop(lax, n)), (x,)), effort, compiles)


def _leaves(n: int, effort: Effort, compiles: bool) -> Point:
    x = jitkit.device_put(np.ones(4, np.float32))
    params = {f"layer_{i:05}": x for i in range(n)}
    return _measure_stages(lambda: (jitkit.jit(programs.step_all(jnp)), (params,)), effort, compiles, True)


def _cache_entries(n: int, effort: Effort, compiles: bool) -> Point:
    """`run` is a call that hits the entry made first; `trace` is one that misses, with all that is noted of it."""
    x = jitkit.device_put(np.arange(8, dtype=np.float32))

    def make() -> Any:
        return jitkit.jit(lambda x, k: x + 1.0, static_argnums=1)

    point: Point = {}
    if compiles:
        jitted = make()
        for k in range(n):
            jitted(x, k)
        point["run"] = _runs(functools.partial(jitted, x, 0), effort)
    traced_only = make()
    for k in range(n):
        traced_only.trace(x, k)
    point["trace"] = [
        _clocked(functools.partial(traced_only.trace, x, n + k))[1] for k in range(7 * effort.rounds)
    ]
    fresh = make()
    point["Python memory"] = [_python_bytes(lambda: [fresh.trace(x, k) for k in range(n)])]
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
        "loop length",
        "turns of a fori_loop",
        (10, 100, 1000, 10_000, 100_000),
        (10, 100, 1000, 10_000),
        _loop_length,
    ),
    Axis(
        "tree leaves",
        "arrays in a dict, in and out",
        (1, 10, 30, 100, 300, 1000, 3000),
        (1, 10, 100, 300),
        _leaves,
    ),
    Axis(
        "cache entries",
        "signatures in the cache",
        (1, 10, 30, 100, 300, 1000),
        (1, 10, 30, 100),
        _cache_entries,
    ),
)


def measure_axis(axis: Axis, sizes: Sequence[int], effort: Effort) -> Result:
    """Measure all sizes, and fit. Where a compilation is expected to outlast the patience, it is left out."""
    points: dict[int, Point] = {}
    uncompiled: list[int] = []
    for n in sizes:
        compiles = not uncompiled and _expected(points, n) < effort.patience
        if not compiles:
            uncompiled.append(n)
        points[n] = axis.measure(n, effort, compiles)
    slopes = {}
    for quantity in (*SECONDS, *BYTES):
        known = [n for n in sizes if any(value > 0 for value in points[n].get(quantity, ()))]
        if len(known) >= 3:
            larger = known[-max(3, math.ceil(len(known) / 2)) :]
            slopes[quantity] = fit([(n, value) for n in larger for value in points[n][quantity] if value > 0])
    return Result(axis, points, slopes, tuple(uncompiled))


def _expected(points: dict[int, Point], n: int) -> float:
    """How long a compilation of this size will take, going by the last two."""
    known = [(m, statistics.median(point["compile"])) for m, point in points.items() if "compile" in point]
    if len(known) < 2:
        return 0.0
    (m0, t0), (m1, t1) = known[-2:]
    exponent = max(1.0, math.log(t1 / t0) / math.log(m1 / m0))
    seconds: float = t1 * (n / m1) ** exponent if t1 > 0.2 else 0.0
    return seconds


class Scaling(Benchmark):
    """All axes, or those whose name contains a word."""

    name = "scaling"
    title = "How the cost of each stage grows"
    how = (
        "A slope is the exponent of growth, fitted to the larger half of the sizes, with its standard error: 0 is constant, 1 "
        "linear. trace and lower are jitkit's own; compile and run are XLA's; run of the tree leaves and of the cache is "
        "a whole call of jit. Python memory is the most that tracing and lowering take (tracemalloc), program memory is "
        "arguments, results and temporaries as XLA counts them."
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

    @property
    def _effort(self) -> Effort:
        return QUICK if self.quick else FULL

    def all_steps(self) -> list[Step]:
        """One step an axis."""
        return [
            Step(
                axis.name,
                functools.partial(
                    measure_axis, axis, axis.quick_sizes if self.quick else axis.sizes, self._effort
                ),
            )
            for axis in AXES
        ]

    def lines(self, result: Result) -> list[Line]:
        """A line for each quantity."""
        lines = []
        sizes = list(result.points)
        group = f"{result.axis.name}: {sizes[0]:,} to {sizes[-1]:,} {result.axis.unit}"
        for quantity in result.quantities:
            values, slope = result.values(quantity), result.slopes[quantity]
            first, last = (Spread.of(values[n]) for n in (min(values), max(values)))
            shown = duration if quantity in SECONDS else size
            note = f"up to {max(values):,} only" if max(values) < sizes[-1] else ""
            cells = (
                quantity,
                shown(first.median),
                shown(last.median),
                quartiles(last) if quantity in SECONDS else "",
                f"{slope.value:.2f} ± {slope.error:.2f}",
                slope.words,
            )
            is_good = slope.words != "superlinear" if quantity in OURS else None
            lines.append(Line(group, cells, (note,) if note else (), is_good))
        return lines

    def summary(self, results: Sequence[Result]) -> list[str]:
        """Whether anything of ours grows too fast, and what was left out."""
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
        """All points and slopes."""
        return {
            "axis": result.axis.name,
            "unit": result.axis.unit,
            "points": {str(n): point for n, point in result.points.items()},
            "slopes": {quantity: slope._asdict() for quantity, slope in result.slopes.items()},
            "not compiled": list(result.uncompiled),
        }

    def effort(self) -> dict[str, Any]:
        """Rounds and seconds."""
        return self._effort._asdict()
