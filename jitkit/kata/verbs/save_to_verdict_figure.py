"""The figure of `jitkit bench kata`: every save as a point, and what was promised as a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from jitkit.bench.plotting import Drawing, Theme, in_seconds, signed

from .save_to_verdict import Felt


def drawings(results: Sequence[Felt], where: str) -> dict[str, Drawing]:
    """`kata`: a row an exercise and way."""
    return {
        "kata": Drawing(lambda f, t: _draw(f, t, results, where), width=12.0, height=2.5 + 0.6 * len(results))
    }


def _draw(figure: Figure, theme: Theme, results: Sequence[Felt], where: str) -> None:
    axes: Any = figure.subplots()
    for row, result in enumerate(results):
        axes.plot(result.seconds, [row] * len(result.seconds), "o", alpha=0.5)
        axes.plot([result.limit] * 2, [row - 0.4, row + 0.4], "k-", linewidth=2)
    axes.set_yticks(range(len(results)), [f"{r.exercise} {r.way}" for r in results])
    axes.invert_yaxis()
    axes.set_xscale("log")
    in_seconds(axes.xaxis)
    axes.set_xlabel("from the save, or the start, to the verdict (line: what is promised)")
    signed(figure, theme, "From a save to the verdict", where)
