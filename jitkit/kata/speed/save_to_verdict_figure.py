"""The figure of `jitkit bench kata`: every save as a point, and what was promised as a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from jitkit.bench.plotting import Drawing, Theme, bare, in_seconds, signed

from .save_to_verdict import Felt


def drawings(results: Sequence[Felt], where: str) -> dict[str, Drawing]:
    """Return one figure, named `kata`: a row for each exercise, and for each way in which it was checked."""
    return {"kata": Drawing(lambda f, t: _draw(f, t, results, where), width=12.0, height=3.0 + 0.6 * len(results))}


def _draw(figure: Figure, theme: Theme, results: Sequence[Felt], where: str) -> None:
    axes: Any = figure.subplots()
    for row, result in enumerate(results):
        for is_late, color, marker in ((False, theme.blue, "o"), (True, theme.vermilion, "s")):
            seconds = [value for value in result.seconds if (value > result.limit) == is_late]
            axes.plot(seconds, [row] * len(seconds), marker, color=color, markersize=8, alpha=0.6)
        axes.plot([result.limit] * 2, [row - 0.4, row + 0.4], color=theme.ink, linewidth=2.5)
    for label, color, marker in (
        ("within what is promised", theme.blue, "o"),
        ("later", theme.vermilion, "s"),
        ("promised, for 95 of 100", theme.ink, "|"),
    ):
        axes.plot([], [], marker, color=color, markersize=10, markeredgewidth=2, label=label)
    names = {"save": "after a save", "cold": "from a cold start", "processor": "processor time"}
    axes.set_yticks(range(len(results)), [f"{r.exercise}, {names[r.way]}" for r in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.set_xscale("log")
    in_seconds(axes.xaxis)
    axes.set_xlabel("from the save, or the start, to the verdict: a point each time")
    bare(axes)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=3, handletextpad=0.3)
    signed(figure, theme, "From a save to the verdict", where)
