"""The figure of `jitkit bench eager`: one panel for each program, with one line for each side: its first call and its warm one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.ticker
from matplotlib.figure import Figure

from .eager import SIDES, Compared
from .plotting import Drawing, Theme, bare, in_seconds, signed
from .words import duration


def drawings(results: Sequence[Compared], where: str) -> dict[str, Drawing]:
    """Return one figure, named `eager`: all programs, on one scale."""
    columns = min(len(results), 2)
    rows = -(-len(results) // columns)

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
        known = [s for r in results for s in (*r.warm.values(), *r.first.values())]
        low, high = min(s.low for s in known) / 1.6, max(s.high for s in known) * 30
        for i, axes in enumerate(panels.flat):
            if i < len(results):
                _draw_program(axes, theme, results[i])
                axes.set_xlim(low, high)
                axes.tick_params(labelbottom=i + columns >= len(results))
            else:
                axes.set_axis_off()
        for axes in panels.flat[max(0, len(results) - columns) : len(results)]:
            axes.set_xlabel("time of a call (less is better)")
        handles, labels = panels.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2, handletextpad=0.3)
        signed(figure, theme, "Op by op, and jitted", where)

    return {"eager": Drawing(draw, width=7.0 * columns, height=1.8 + 2.7 * rows)}


def _draw_program(axes: Any, theme: Theme, result: Compared) -> None:
    colors = (theme.blue, theme.blue, theme.orange, theme.orange, theme.grey, theme.green)
    shown = [(side, color) for side, color in zip(SIDES, colors, strict=True) if side in result.warm]
    for y, (side, color) in enumerate(shown):
        warm = result.warm[side]
        axes.plot([warm.low, warm.high], [y, y], color=color, linewidth=6, alpha=0.35)
        label = "warm call (pale: quartiles)" if y == 0 else None
        axes.plot(warm.median, y, "o", color=color, markersize=9, label=label)
        text, end = duration(warm.median), max(warm.high, warm.median)
        if side in result.first:
            first = result.first[side].median
            label = "first call: compiles" if y == 0 else None
            axes.plot([warm.median, first], [y, y], color=theme.faint, linewidth=1.5, zorder=0)
            axes.plot(first, y, "D", color=color, markerfacecolor=theme.ground, markersize=7, label=label)
            text, end = f"{text}, first {duration(first)}", max(first, end)
        axes.annotate(text, (end, y), xytext=(10, 0), textcoords="offset points", va="center", fontsize=11)
    axes.set_xscale("log")
    in_seconds(axes.xaxis)
    axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(numticks=6))
    axes.set_yticks(range(len(shown)), [result.program.label(side) for side, _ in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_title(result.program.name, fontsize=14)
    bare(axes)
    axes.grid(visible=True, axis="x")
