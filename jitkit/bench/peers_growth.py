"""`jitkit bench growth`: how many times JAX's time something takes, as it grows, and the exponent of that ratio.

A slope of 0 means that the cost grows as JAX's does. With a larger slope, a measurement at a small size makes jitkit
look too good. Tracing and lowering are measured in processor time, with the garbage collector as it runs for users,
because its cost grows with the number of live objects.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import peers_large, programs, timing
from .benchmark import Benchmark, Step
from .growth import CPU_CLOCK, Slope, clocked, fit
from .libraries import LIBRARIES, OURS, THEIRS, Library, wait
from .peers_rows import FULL, QUICK, Effort, Measured
from .tables import Column, Line
from .timing import Spread
from .words import duration


class Row(NamedTuple):
    """A quantity that can grow: its group, its name, what is counted, the sizes, and the function that measures one size."""

    group: str
    name: str
    unit: str
    sizes: tuple[int, ...]
    measure: Callable[[int, Effort], Measured]


class Result(NamedTuple):
    """A measured row: by size, the times of both libraries and their ratio; and the slope of the ratio."""

    row: Row
    ours: dict[int, Spread]
    theirs: dict[int, Spread]
    ratios: dict[int, Spread]
    slope: Slope


def _in_turns(act: Callable[[Library], Callable[[], Any]], effort: Effort) -> Measured:
    """Return the processor time of the actions, one value a round. `act` makes new actions for each library in each
    round; the first round does not count.
    """
    seconds: Measured = {library.name: [] for library in LIBRARIES}
    start = time.monotonic()
    for i, order in enumerate(timing.orders(LIBRARIES, effort.once + 1)):
        if i > timing.LEAST_ONCE and time.monotonic() - start > effort.seconds:
            break
        for library in order:
            _, took = clocked(act(library), CPU_CLOCK)
            if i:
                seconds[library.name].append(took)
    return seconds


def _chain(library: Library, equations: int) -> Callable[[], Any]:
    x = library.array(np.arange(8, dtype=np.float32))
    return functools.partial(library.jit(programs.long_program(library.np, equations // 3)).trace, x, x)


def _trace_chain(equations: int, effort: Effort) -> Measured:
    return _in_turns(lambda library: _chain(library, equations), effort)


def _lower_chain(equations: int, effort: Effort) -> Measured:
    return _in_turns(lambda library: _chain(library, equations)().lower, effort)


def _model(what: str) -> Callable[[int, Effort], Measured]:
    return lambda blocks, effort: _in_turns(lambda library: peers_large.traced_model(library, what, blocks), effort)


def _repeated(make: Callable[[int], Callable[[Library], timing.Action]]) -> Callable[[int, Effort], Measured]:
    def measure(size: int, effort: Effort) -> Measured:
        actions = {library.name: make(size)(library) for library in LIBRARIES}
        return timing.measure(actions, rounds=effort.rounds, batch=effort.batch, wait=wait, limit=effort.seconds)

    return measure


_EQUATIONS, _BLOCKS, _LEAVES = (30, 300, 3000, 30_000), (1, 3, 12, 24), (10, 100, 1000, 4000)
ROWS = (
    Row("a chain of operations", "trace", "equations", _EQUATIONS, _trace_chain),
    Row("a chain of operations", "lower", "equations", _EQUATIONS, _lower_chain),
    *[Row("trace of a transformer", what, "blocks", _BLOCKS, _model(what)) for what in ("loss", "grad", "hvp")],
    Row("trees of parts", "tree_flatten", "leaves", _LEAVES, _repeated(peers_large.flatten)),
    Row("trees of parts", "tree_map", "leaves", _LEAVES, _repeated(peers_large.map_leaves)),
    Row("trees of parts", "flatten_with_path", "leaves", _LEAVES, _repeated(peers_large.flatten_with_path)),
    Row("warm call", "dict in and out", "leaves", _LEAVES[:3], _repeated(peers_large.call_in_and_out)),
)


def measure_row(row: Row, sizes: Sequence[int], effort: Effort) -> Result:
    """Return the measurements of a row at these sizes, and the slope of a line fitted to the logarithms of the ratios."""
    ours, theirs, ratios, points = {}, {}, {}, []
    for size in sizes:
        measured = row.measure(size, effort)
        mine, other = measured[OURS.name], measured[THEIRS.name]
        ours[size], theirs[size], ratios[size] = Spread.of(mine), Spread.of(other), timing.ratio(mine, other)
        points += [(float(size), a / b) for a, b in zip(mine, other, strict=True)]
    return Result(row, ours, theirs, ratios, fit(points))


class Growth(Benchmark):
    """The benchmark: all rows, or those whose name contains a word."""

    name = "growth"
    title = "jitkit beside JAX, as things grow"
    how = (
        "A ratio is jitkit's time over JAX's, the median over rounds; below 1 jitkit is faster. The slope is the exponent with which "
        "the ratio grows with the size, fitted to the logarithms of all of them, with its standard error: at 0 both libraries "
        "grow alike, above 0 jitkit grows faster."
    )
    columns = (
        Column("", 18, "<"),
        Column("size", 16, "<"),
        Column("jitkit", 7),
        Column("jax", 7),
        Column("ratio", 5),
        Column("quartiles", 11, ">", 2),
        Column("slope", 12),
    )
    figure_module = "jitkit.bench.peers_growth_figure"
    efforts = (FULL, QUICK)

    def all_steps(self) -> list[Step]:
        """Return one step for each row."""
        return [
            Step(
                f"{row.group}: {row.name}",
                functools.partial(measure_row, row, row.sizes[:3] if self.quick else row.sizes, self.effort),
            )
            for row in ROWS
        ]

    def lines(self, result: Result) -> list[Line]:
        """Return a line for each size, with the slope on the last."""
        last = max(result.ratios)
        slope = f"{result.slope.value:+.2f} ± {result.slope.error:.2f}"
        return [
            Line(
                result.row.group,
                (
                    result.row.name,
                    f"{size:,} {result.row.unit}",
                    duration(result.ours[size].median),
                    duration(result.theirs[size].median),
                    f"{ratio.median:.2f}",
                    f"({ratio.low:.2f}-{ratio.high:.2f})",
                    slope if size == last else "",
                ),
            )
            for size, ratio in result.ratios.items()
        ]

    def summary(self, results: Sequence[Result]) -> list[str]:
        """Return one sentence, in a list: the names of rows whose cost grows faster than JAX's, by more than chance
        explains, or that there are none.
        """
        faster = [f"{r.row.name} ({r.slope.value:+.2f})" for r in results if r.slope.value - 2 * r.slope.error > 0.05]
        if not faster:
            return ["Nothing was seen to grow faster than JAX's."]
        return [f"Grows faster than JAX's: {', '.join(faster)}."]

    def row_data(self, result: Result) -> dict[str, Any]:
        """Return all ratios and the slope."""
        return {
            "group": result.row.group,
            "name": result.row.name,
            "unit": result.row.unit,
            "sizes": {
                str(size): {
                    "jitkit": result.ours[size]._asdict(),
                    "jax": result.theirs[size]._asdict(),
                    "ratio": ratio._asdict(),
                }
                for size, ratio in result.ratios.items()
            },
            "slope": result.slope.value,
            "error": result.slope.error,
        }
