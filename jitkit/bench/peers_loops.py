"""Measures six programs, run by `jit(f, backend="c")` and by XLA: for `jitkit bench loops`, and for rows of `jitkit bench peers`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from . import by_loops, timing
from .benchmark import Benchmark, Step
from .libraries import OURS, THEIRS
from .peers_rows import FULL, QUICK, Effort, Row
from .peers_rows import Measured as Seconds
from .tables import Column, Line
from .timing import Spread
from .words import duration, size

TARGETS = {  # how many times XLA's run time each may take
    "SELU, 1,000,000 numbers": 1.10, "softmax, 1,000 rows": 1.30, "layer norm, 1,000 rows": 1.30,
    "stencil, 1,000 by 1,000": 1.30, "two layers of 256": 3.00,
}  # fmt: skip
TO_COMPILE = 1.50  # how many times XLA's time it may take to compile SELU


class Result(NamedTuple):
    """A measured program."""

    name: str
    found: by_loops.Measured

    def median(self, library: str) -> float:
        """Return the median of the seconds of a call."""
        return Spread.of(self.found.run[library]).median

    @property
    def ratio(self) -> Spread:
        """The ratio of our seconds to XLA's, within rounds."""
        return timing.ratio(self.found.run[OURS.name], self.found.run[THEIRS.name])


def measure(name: str, effort: Effort) -> Result:
    """Return the measurements of one program."""
    return Result(name, by_loops.measured(name, effort))


class Loops(Benchmark):
    """The benchmark: all programs, or those whose name contains a word."""

    name = "loops"
    title = 'jit(f, backend="c") beside XLA, in one process, on one core'
    how = (
        "In each pair of columns the first is for XLA (jax.jit), and own is for jitkit's C, compiled by the C compiler of this machine; "
        "passes has both numbers, XLA's first. Passes are loops over memory: for XLA the fusions, reductions and products in its "
        "optimised HLO, for jitkit the loops that its C contains. The bytes of XLA are its own estimate, which counts an operand once for "
        "each time that an expression names it; the bytes of jitkit are the sizes of the arrays that each loop reads and writes. Seconds "
        "are processor time, medians; own/XLA is the median within rounds. Compile time begins after lowering, and includes the C "
        "compiler's processes."
    )
    columns = (
        Column("", 23, "<"),
        Column("compile", 7, ">", 1),
        Column("own", 7, ">", 1),
        Column("passes", 6, ">", 1),
        Column("bytes", 7, ">", 1),
        Column("own", 7, ">", 1),
        Column("run", 7),
        Column("own", 7),
        Column("own/XLA", 7),
        Column("quartiles", 11, ">", 2),
    )
    figure_module = "jitkit.bench.peers_loops_figure"
    efforts = (FULL, QUICK)

    def all_steps(self) -> list[Step]:
        """Return one step for each program."""
        return [Step(name, functools.partial(measure, name, self.effort)) for name in by_loops.PROGRAMS]

    def lines(self, result: Result) -> list[Line]:
        """Return a line with both compilers' figures, side by side."""
        found, ratio, both = result.found, result.ratio, (THEIRS.name, OURS.name)
        cells = (
            result.name,
            *[_middle(found.compile[library]) for library in both],
            " / ".join(str(found.passes[library]) for library in both),
            *[size(found.bytes[library]) for library in both],
            *[_middle(found.run[library]) for library in both],
            f"{ratio.median:.2f}",
            f"({ratio.low:.2f}-{ratio.high:.2f})",
        )
        return [Line("", cells)]

    def summary(self, results: Sequence[Result]) -> list[str]:
        """Return a sentence that names the programs in which our compiler moves fewer bytes than XLA, or is faster."""
        fewer = [r.name for r in results if r.found.bytes[OURS.name] < r.found.bytes[THEIRS.name]]
        faster = [r.name for r in results if r.ratio.median < 1]
        return [
            f"Fewer bytes than XLA: {'; '.join(fewer) or 'none'}. Less time than XLA: {'; '.join(faster) or 'none'}."
        ]

    def row_data(self, result: Result) -> dict[str, Any]:
        """Return all measurements, by library."""
        found = result.found
        return {
            "name": result.name,
            "compile": {name: Spread.of(values)._asdict() for name, values in found.compile.items()},
            "run": {name: Spread.of(values)._asdict() for name, values in found.run.items()},
            "ratio": result.ratio._asdict(),
            "passes": dict(found.passes),
            "bytes": dict(found.bytes),
        }


def _middle(seconds: Sequence[float]) -> str:
    return duration(Spread.of(seconds).median)


# --- rows of `jitkit bench peers` -------------------------------------------------------------------------------


def _row(name: str, what: Callable[[by_loops.Measured], Mapping[str, list[float]]]) -> Callable[[Effort], Seconds]:
    return lambda effort: dict(what(by_loops.measured(name, effort)))


_RUN = 'run of jit(f, backend="c"), one core'
LOOPS_ROWS = (
    *(Row(_RUN, name, target, _row(name, lambda found: found.run)) for name, target in TARGETS.items()),
    Row(_RUN, "compile SELU", TO_COMPILE, _row("SELU, 1,000,000 numbers", lambda found: found.compile)),
)
