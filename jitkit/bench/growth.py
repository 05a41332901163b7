"""Measures the cost of each stage at one size and along an axis, and fits the exponent of its growth.

On logarithmic scales a power law is a straight line, whose slope is the exponent: 0 is constant, 1 linear, 2 quadratic.
The slope is fitted by least squares to the larger half of the sizes, since at small sizes a constant hides everything;
its standard error stands beside it. If the constant, the cost of any call, hides the larger half, too, the points bend,
and a straight line through them would say "sublinear". Then the constant is fitted as well, and the slope is that of
the rest.

The garbage collector runs here as it does for users, because its cost grows with the number of live objects.
"""

from __future__ import annotations

import functools
import gc
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jitkit

from .timing import batch_seconds, loops_for, no_wait

SECONDS = ("trace", "lower", "compile", "run")
BYTES = ("Python memory", "program memory")


# Tracing and lowering run in one thread, whose processor time a busy machine does not stretch; where the system counts
# that in too large steps, as Windows does, the clock is the wall's.
CPU_CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-5 else time.perf_counter


class Slope(NamedTuple):
    """The exponent with which a cost grows beyond its `constant` part, and its standard error; both nan if too few
    sizes show growth.
    """

    value: float
    error: float
    constant: float = 0.0

    @property
    def words(self) -> str:
        """The growth in a word: `constant`, `sublinear`, `linear` or `superlinear`; `unclear` if the exponent would be
        sublinear, but two standard errors reach to constant or linear; `hidden` if the constant part hides the growth.
        """
        if math.isnan(self.value):
            return "hidden"
        if self.value - 2 * self.error > 1.15:
            return "superlinear"
        if self.value > 0.85:
            return "linear"
        if self.value <= 0.15:
            return "constant"
        is_clear = self.value - 2 * self.error > 0.15 and self.value + 2 * self.error <= 0.85
        return "sublinear" if is_clear else "unclear"


def fit(points: Sequence[tuple[float, float]]) -> Slope:
    """Return the slope of log y against log x by least squares, for at least three points of at least two x."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    slope, intercept = statistics.linear_regression(xs, ys)
    residual = sum((y - slope * x - intercept) ** 2 for x, y in zip(xs, ys, strict=True))
    spread = sum((x - statistics.fmean(xs)) ** 2 for x in xs)
    return Slope(slope, math.sqrt(residual / max(len(xs) - 2, 1) / spread))


def fit_growth(values: Mapping[int, Sequence[float]]) -> Slope:
    """Return the slope of positive measurements against size, as the module's docstring explains. `values` maps at least
    three sizes, in ascending order, to the measurements of each.
    """
    larger = list(values)[-max(3, math.ceil(len(values) / 2)) :]
    slope = fit([(n, value) for n in larger for value in values[n]])
    if slope.words not in ("sublinear", "unclear"):
        return slope
    medians = {n: statistics.median(given) for n, given in values.items()}
    constants = [0.02 * i * min(medians.values()) for i in range(50)]
    best = min(constants, key=lambda constant: _misfit(medians, constant))
    if _misfit(medians, best) > _misfit(medians, 0.0) / 2:
        return slope  # a power law without a constant fits nearly as well
    beyond = [n for n in values if medians[n] > 2 * best]
    if len(beyond) < 2:
        return Slope(math.nan, math.nan, best)
    rest = fit([(n, value - best) for n in beyond for value in values[n] if value > best])
    return rest._replace(constant=best)


def _misfit(medians: Mapping[int, float], constant: float) -> float:
    """Return the distance of the best curve `constant + b * n**p` from the medians: the sum of the squared logarithms of the ratios."""
    xs = [math.log(n) for n in medians]
    slope, intercept = statistics.linear_regression(xs, [math.log(y - constant) for y in medians.values()])
    fitted = [constant + math.exp(intercept + slope * x) for x in xs]
    return sum(math.log(y / f) ** 2 for y, f in zip(medians.values(), fitted, strict=True))


class Effort(NamedTuple):
    """How long to measure a point."""

    rounds: int  # each stage is measured at most this many times, a warm call three times as often
    seconds: float  # after this time no new round begins
    patience: float  # a compilation that will probably take more seconds than this is left out


Point = dict[str, list[float]]  # for one size: quantity -> its value in each round


class Axis(NamedTuple):
    """A quantity that can be made larger: its name, what it counts, the sizes to measure (for a quick run, `quick_sizes`),
    and the function that measures one size. If `compiles` is false, `measure(size, effort, compiles)` leaves out
    everything that needs a compilation.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    measure: Callable[[int, Effort, bool], Point]


class Result(NamedTuple):
    """An axis, its points by size, the slope of each quantity that was measured at three sizes or more, and the sizes at which
    nothing was compiled, since that takes too long.
    """

    axis: Axis
    points: dict[int, Point]
    slopes: dict[str, Slope]
    uncompiled: tuple[int, ...]

    def values(self, quantity: str) -> dict[int, list[float]]:
        """Return the measurements of one quantity by size."""
        return {n: point[quantity] for n, point in self.points.items() if quantity in point}

    @property
    def quantities(self) -> list[str]:
        """The quantities that were measured at three sizes or more, in order."""
        return [quantity for quantity in (*SECONDS, *BYTES) if quantity in self.slopes]


# --- measuring a point ----------------------------------------------------------------------------------------


def measure_stages(
    make: Callable[[], tuple[Any, tuple[Any, ...]]], effort: Effort, compiles: bool, calls_jit: bool = False
) -> Point:
    """Return the measurements of each stage of a jitted function: seconds, and bytes of memory. `make` returns a new
    function and its arguments, `effort` says how often to measure; if `compiles` is false, only trace and lower. "run"
    is a warm call with its wait: of the compiled program, or with `calls_jit` of the jitted function, which includes
    jit's own work at a call.
    """
    point: Point = {"trace": [], "lower": []}
    jitted, arguments = make()
    for _ in _rounds(effort, least=3):
        jitted, arguments = make()
        gc.collect()
        traced, seconds = clocked(functools.partial(jitted.trace, *arguments), CPU_CLOCK)
        point["trace"].append(seconds)
        _, seconds = clocked(traced.lower, CPU_CLOCK)
        point["lower"].append(seconds)
    point["Python memory"] = [python_bytes(lambda: make()[0].trace(*arguments).lower())]
    if compiles:
        # a function made anew in each round: a second `compile` would take the first one's executable
        anew = (make()[0].lower(*arguments) for _ in _rounds(effort))
        point["compile"] = [clocked(lowered.compile)[1] for lowered in anew]
        compiled = jitted.lower(*arguments).compile()
        call = functools.partial(jitted if calls_jit else compiled, *arguments)
        point["run"] = warm_seconds(call, effort)
        point["program memory"] = [_program_bytes(compiled)]
    return point


def _rounds(effort: Effort, least: int = 1) -> Iterator[int]:
    """Yield the numbers of rounds, until there are enough or they have taken long enough; at least `least`."""
    start = time.perf_counter()
    for i in range(effort.rounds):
        if i >= least and time.perf_counter() - start > effort.seconds:
            return
        yield i


def clocked(action: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[Any, float]:
    """Return the result of an action, and its seconds."""
    start = clock()
    result = action()
    return result, clock() - start


def warm_seconds(call: Callable[[], Any], effort: Effort) -> list[float]:
    """Return the seconds of one call, including the wait for its result: one value for each batch of calls. A first
    call, which may compile, is not timed.
    """

    def run() -> Any:
        return jitkit.block_until_ready(call())

    run()
    loops = loops_for(run, 0.002)
    start, seconds = time.perf_counter(), [batch_seconds(run, loops, no_wait)]
    while len(seconds) < 3 * effort.rounds and time.perf_counter() - start < effort.seconds:
        seconds.append(batch_seconds(run, loops, no_wait))
    return seconds


def python_bytes(action: Callable[[], Any]) -> float:
    """Return the peak, in bytes, of memory that objects made in an action took, as `tracemalloc` counts it."""
    gc.collect()
    tracemalloc.start()
    try:
        action()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _program_bytes(compiled: Any) -> float:
    """Return the bytes of a program's arguments, results and temporaries, as XLA counts them; nan if it does not count."""
    found = compiled.memory_analysis()
    if found is None:
        return math.nan
    parts = (found.argument_size_in_bytes, found.output_size_in_bytes, found.temp_size_in_bytes)
    return float(sum(parts))


# --- along an axis --------------------------------------------------------------------------------------------


def measure_axis(axis: Axis, sizes: Sequence[int], effort: Effort) -> Result:
    """Return the measurements of all sizes, with fitted slopes. From the first size on whose compilation is expected to
    take `effort.patience` or longer, compile nothing.
    """
    points: dict[int, Point] = {}
    uncompiled: list[int] = []
    for n in sizes:
        compiles = not uncompiled and _expected(points, n) < effort.patience
        if not compiles:
            uncompiled.append(n)
        points[n] = axis.measure(n, effort, compiles)
    slopes = {}
    for quantity in (*SECONDS, *BYTES):
        measured = {n: [value for value in points[n].get(quantity, ()) if value > 0] for n in sizes}
        known = {n: given for n, given in measured.items() if given}
        if len(known) >= 3:
            slopes[quantity] = fit_growth(known)
    return Result(axis, points, slopes, tuple(uncompiled))


def _expected(points: dict[int, Point], n: int) -> float:
    """Return the seconds that a compilation at size `n` will probably take, extrapolated from the last two sizes that were
    compiled; 0 if there are fewer, or if the last took at most 0.2 s.
    """
    known = [(m, statistics.median(point["compile"])) for m, point in points.items() if "compile" in point]
    if len(known) < 2:
        return 0.0
    (m0, t0), (m1, t1) = known[-2:]
    exponent = max(1.0, math.log(t1 / t0) / math.log(m1 / m0))
    seconds: float = t1 * (n / m1) ** exponent if t1 > 0.2 else 0.0
    return seconds
