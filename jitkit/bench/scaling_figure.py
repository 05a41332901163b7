"""The figure of `jitkit bench scaling`: cost against size on logarithmic scales, slopes at the ends of the lines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import matplotlib.ticker
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .growth import BYTES, SECONDS, Result, Slope
from .plotting import MARKERS, Drawing, Theme, in_seconds, signed
from .timing import Spread
from .words import size

HOW = (
    "At the end of a line is how it grows with n:\nconstant, or a power of n. c +: beyond a constant\n"
    "part; ?: the constant part hides the growth.\n"
    "A line ends where a larger n would take too long."
)
_CONSTANT = 0.15  # a cost with a smaller exponent is called constant


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """Return the figures by name: `scaling` shows seconds, `scaling-memory` bytes. Each has a panel for each axis along
    which such a quantity was measured; a figure without panels is left out.
    """
    made = {}
    for name, quantities, title, ylabel in (
        ("scaling", SECONDS, "What each stage costs as things grow", "time (band: quartiles)"),
        ("scaling-memory", BYTES, "What memory it takes as things grow", "memory"),
    ):
        shown = [result for result in results if set(result.quantities) & set(quantities)]
        if shown:
            made[name] = _drawing(shown, quantities, title, ylabel, where)
    return made


def _drawing(results: Sequence[Result], quantities: Sequence[str], title: str, ylabel: str, where: str) -> Drawing:
    columns = min(len(results), 3)
    rows = -(-len(results) // columns)

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(rows, columns, squeeze=False)
        for i, axes in enumerate(panels.flat):
            if i >= len(results):
                axes.set_axis_off()
                continue
            _draw_axis(axes, theme, results[i], quantities)
            if i % columns == 0:
                axes.set_ylabel(ylabel)
        handles = [
            Line2D([], [], color=color, marker=marker, markersize=8, linewidth=2, label=quantity)
            for quantity, color, marker in zip(quantities, theme.series, MARKERS, strict=False)
            if any(quantity in result.slopes for result in results)
        ]
        if rows * columns > len(results):  # there is a panel with nothing in it
            free = panels.flat[-1]
            free.legend(handles=handles, loc="upper left", fontsize=14, title=HOW, title_fontsize=12, alignment="left")
        else:
            figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), handletextpad=0.4)
        signed(figure, theme, title, where, [] if rows * columns > len(results) else HOW.split("\n"))

    return Drawing(draw, width=max(12.0, 5.6 * columns), height=1.6 + 4.4 * rows)


def _draw_axis(axes: Any, theme: Theme, result: Result, quantities: Sequence[str]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends: list[tuple[float, str, str]] = []  # for each line: the height of its end, its label, its colour
    everything: list[float] = []
    for quantity, color, marker in zip(quantities, theme.series, MARKERS, strict=False):
        if quantity not in result.slopes:
            continue
        values = {n: [value for value in given if value > 0] for n, given in result.values(quantity).items()}
        values = {n: given for n, given in values.items() if given}
        spreads = [Spread.of(given) for given in values.values()]
        medians = [spread.median for spread in spreads]
        low, high = [spread.low for spread in spreads], [spread.high for spread in spreads]
        axes.fill_between(list(values), low, high, color=color, alpha=0.2, linewidth=0)
        axes.plot(list(values), medians, marker=marker, markersize=7, linewidth=2, color=color, label=quantity)
        everything += [*low, *high]
        ends.append((medians[-1], _said(result.slopes[quantity]), color))
    sizes = list(result.points)
    bottom, top = min(everything) / 1.6, max(everything) * 1.6
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)
    axes.set_ylim(bottom, top)
    heights = [math.log(y / bottom) / math.log(top / bottom) for y, _, _ in ends]
    for y, (_, words, color) in zip(_apart(heights), ends, strict=True):
        axes.text(1.02, y, words, transform=axes.transAxes, color=color, va="center", fontsize=12)
    axes.set_title(result.axis.name, fontsize=14)
    axes.set_xlabel(result.axis.unit)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: _count(x)))
    if quantities is SECONDS:
        in_seconds(axes.yaxis)
    else:
        axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda y, _: size(y)))


def _said(slope: Slope) -> str:
    """Return in a few words how something grows."""
    if slope.words == "hidden":
        return "?"
    if slope.value <= _CONSTANT:
        return "constant"
    return f"{'c + ' if slope.constant else ''}$n^{{{slope.value:.2f}}}$"


def _apart(heights: Sequence[float], gap: float = 0.085) -> list[float]:
    """Return the heights in the same order, moved so that neighbours are at least `gap` apart and none is above 1."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for previous, here in itertools.pairwise(order):
        moved[here] = max(moved[here], moved[previous] + gap)
    down = max(0.0, moved[order[-1]] - 1.0)
    return [height - down for height in moved]


def _count(x: float) -> str:
    for unit, scale in (("M", 1e6), ("k", 1e3)):
        if x >= 0.999 * scale:
            return f"{x / scale:g}{unit}"
    return f"{x:g}"
