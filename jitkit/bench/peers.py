"""`jitkit bench peers`: jitkit and JAX, the same programs with both, in one process, in turns, as a table of ratios.

Each row (see `peers_rows`) measures one thing for both libraries, and the ratio is compared with the project's own
target. For whole programs, numpy and, if it is installed, numba take turns, too. Nothing is corrected afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import timing
from .benchmark import Appendix, Benchmark, Step
from .libraries import OURS, THEIRS
from .numba_programs import BLAS, MISSING
from .peers_derivatives import DERIVATIVE_ROWS
from .peers_ladder import LADDER_ROWS
from .peers_large import LARGE_ROWS
from .peers_loops import LOOPS_ROWS
from .peers_rows import FULL, QUICK, ROWS, Effort, Row
from .tables import Column, Line
from .timing import Spread
from .words import duration

OTHERS = ("numpy", "Python", "numba")  # what else runs whole programs


class Result(NamedTuple):
    """A measured row. `ratio` is ours over JAX's; `others` has the times of libraries that are not compared."""

    row: Row
    ours: Spread
    theirs: Spread
    ratio: Spread
    others: Mapping[str, Spread] = {}

    @property
    def verdict(self) -> str:
        """The verdict, at the two digits that the table shows: `met` if both quartiles are within the target, `missed`
        if both are beyond it, and `not resolved` if the target lies between them.
        """
        if round(self.ratio.high, 2) <= self.row.target:
            return "met"
        return "missed" if round(self.ratio.low, 2) > self.row.target else "not resolved"

    @property
    def is_good(self) -> bool | None:
        """The verdict as a bool: True if met, False if missed, None if not resolved."""
        return {"met": True, "missed": False}.get(self.verdict)


def measure_row(row: Row, effort: Effort) -> Result:
    """Return the result of measuring one row."""
    measured = row.measure(effort)
    ours, theirs = measured.pop(OURS.name), measured.pop(THEIRS.name)
    others = {name: Spread.of(seconds) for name, seconds in measured.items()}
    return Result(row, Spread.of(ours), Spread.of(theirs), timing.ratio(ours, theirs), others)


class Peers(Benchmark):
    """The benchmark: all rows, or those whose name contains a word."""

    name = "peers"
    title = "jitkit beside JAX, in one process, in turns"
    how = (
        "A ratio is jitkit's time over JAX's, the median over rounds in which the order is drawn by chance; below 1 jitkit "
        "is faster. Half of the rounds were between the quartiles: where the target lies between them, too, this "
        "measurement does not tell whether it is met. numpy and numba run the same programs on the same data; numba's are "
        "loops over elements, compiled by njit with its default options, for one core."
    )
    columns = (
        Column("", 23, "<"),
        Column("jitkit", 7),
        Column("jax", 7),
        Column("ratio", 5),
        Column("quartiles", 11, ">", 2),
        Column("target", 6, ">", 1),
        Column("", 12, "<"),
    )
    figure_module = "jitkit.bench.peers_figures"
    efforts = (FULL, QUICK)

    def all_steps(self) -> list[Step]:
        """Return one step for each row."""
        return [
            Step(f"{row.group}: {row.name}", functools.partial(measure_row, row, self.effort))
            for row in (*ROWS, *DERIVATIVE_ROWS, *LARGE_ROWS, *LADDER_ROWS, *LOOPS_ROWS)
        ]

    def lines(self, result: Result) -> list[Line]:
        """Return a line with both times, their ratio, and whether the ratio meets the target."""
        ratio = result.ratio
        cells = (
            result.row.name,
            duration(result.ours.median),
            duration(result.theirs.median),
            f"{ratio.median:.2f}",
            f"({ratio.low:.2f}-{ratio.high:.2f})",
            f"{result.row.target:.2f}",
            result.verdict,
        )
        return [Line(result.row.group, cells, (), result.is_good)]

    def summary(self, results: Sequence[Result]) -> list[str]:
        """Return a sentence with the numbers of targets, met and missed."""
        named = {verdict: [r for r in results if r.verdict == verdict] for verdict in ("met", "missed", "not resolved")}
        missed = "; ".join(f"{r.row.name} ({r.ratio.median:.2f})" for r in named["missed"])
        return [
            f"Of {len(results)} targets {len(named['met'])} met, {len(named['missed'])} missed, "
            f"{len(named['not resolved'])} not resolved." + (f" Missed: {missed}." if missed else "")
        ]

    def appendix(self, results: Sequence[Result]) -> Appendix | None:
        """Return a table of the programs that other libraries ran, too, with all times; None if there are none."""
        compared = [result for result in results if result.others]
        if not compared:
            return None
        libraries = [name for name in OTHERS if any(name in r.others for r in compared)]
        columns = (Column("", 23, "<"), *[Column(name, 8) for name in ("jitkit", "jax", *libraries)])
        lines = [
            Line(
                "run time of whole programs, medians",
                (
                    r.row.name,
                    duration(r.ours.median),
                    duration(r.theirs.median),
                    *[duration(r.others[n].median) if n in r.others else "-" for n in libraries],
                ),
            )
            for r in compared
        ]
        remark = self._remark_on_numba(compared)
        if "Python" in libraries:
            remark = (
                f"The column Python is a loop over numpy's scalars: numpy has no operation for such a loop. {remark}"
            )
        return Appendix(columns, lines, remark.strip())

    def _remark_on_numba(self, compared: Sequence[Result]) -> str:
        """Return a sentence that says why cells of numba are empty; "" if none is."""
        if not any("numba" in result.others for result in compared):
            return f"numba: {MISSING}."
        without = [result.row.name for result in compared if "numba" not in result.others]
        return f"numba was not measured on {', '.join(without)}: {BLAS}." if without else ""

    def row_data(self, result: Result) -> dict[str, Any]:
        """Return both times, ratio and target."""
        return {
            "group": result.row.group,
            "name": result.row.name,
            "target": result.row.target,
            "verdict": result.verdict,
            "jitkit": result.ours._asdict(),
            "jax": result.theirs._asdict(),
            "ratio": result.ratio._asdict(),
            "others": {name: spread._asdict() for name, spread in result.others.items()},
        }
