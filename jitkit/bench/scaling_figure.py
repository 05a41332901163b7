"""The figure of `jitkit bench scaling`: cost against size on logarithmic scales, slopes at the ends of the lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.ticker
from matplotlib.figure import Figure

from .growth import BYTES, SECONDS, Result
from .plotting import MARKERS, Drawing, Theme, in_seconds, signed
from .timing import Spread
from .words import size


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """`scaling` has the seconds, `scaling-memory` the bytes; one panel an axis."""
    made = {}
    for name, quantities, title, ylabel in (
        ("scaling", SECONDS, "What each stage costs as things grow", "time (band: quartiles)"),
        ("scaling-memory", BYTES, "What memory it takes as things grow", "memory"),
    ):
        shown = [result for result in results if set(result.quantities) & set(quantities)]
        if shown:
            made[name] = _drawing(shown, quantities, title, ylabel, where)
    return made


def _drawing(
    results: Sequence[Result], quantities: Sequence[str], title: str, ylabel: str, where: str
) -> Drawing:
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
        signed(figure, theme, title, where)

    return Drawing(draw, width=max(7.0, 5.4 * columns), height=1.2 + 4.4 * rows)


def _draw_axis(axes: Any, theme: Theme, result: Result, quantities: Sequence[str]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    everything: list[float] = []
    for quantity, color, marker in zip(quantities, theme.series, MARKERS, strict=False):
        if quantity not in result.slopes:
            continue
        values = {n: [value for value in given if value > 0] for n, given in result.values(quantity).items()}
        values = {n: given for n, given in values.items() if given}
        spreads = [Spread.of(given) for given in values.values()]
        medians = [spread.median for spread in spreads]
        low, high = [spread.low for spread in spreads], [spread.high for spread in spreads]
        slope = result.slopes[quantity]
        label = f"{quantity}: slope {slope.value:.2f} ± {slope.error:.2f}"
        axes.fill_between(list(values), low, high, color=color, alpha=0.2, linewidth=0)
        axes.plot(list(values), medians, marker=marker, markersize=7, linewidth=2, color=color, label=label)
        everything += [*low, *high]
    sizes = list(result.points)
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)
    axes.set_ylim(min(everything) / 1.6, max(everything) * (max(everything) / min(everything)) ** 0.55 * 2)
    axes.set_title(result.axis.name, fontsize=14)
    axes.set_xlabel(result.axis.unit)
    axes.legend(loc="upper left", fontsize=11, handlelength=1.6, borderaxespad=0.2)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: _count(x)))
    if quantities is SECONDS:
        in_seconds(axes.yaxis)
    else:
        axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda y, _: size(y)))


def _count(x: float) -> str:
    for unit, scale in (("M", 1e6), ("k", 1e3)):
        if x >= 0.999 * scale:
            return f"{x / scale:g}{unit}"
    return f"{x:g}"
