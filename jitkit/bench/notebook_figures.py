"""The figures of `timed`, `compare` and `misses`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from .calls import Calls
from .calls_figure import draw_calls
from .plotting import Drawing, Theme, bare, in_seconds
from .timing import Spread
from .words import duration, times


def timing(title: str, first: float, stages: Mapping[str, float], warm: Spread) -> Drawing:
    """Return a drawing of the first call, the stages that ran in it, and the warm call."""

    def draw(figure: Figure, theme: Theme) -> None:
        bars = [("first call", first, theme.vermilion)]
        bars += [(f"of it: {stage}", seconds, theme.orange) for stage, seconds in stages.items()]
        bars += [("warm call", warm.median, theme.blue)]
        axes: Any = figure.subplots()
        last = len(bars) - 1
        for i, (_, seconds, color) in enumerate(bars):
            axes.plot(seconds, i, "o", color=color, markersize=10)
            _annotate(axes, warm.high if i == last else seconds, i, duration(seconds))
        axes.plot([warm.low, warm.high], [last, last], color=theme.blue, linewidth=5, alpha=0.35)
        known = [warm.low, warm.high, *[seconds for _, seconds, _ in bars]]
        _finish(axes, [name for name, _, _ in bars], min(known), max(known), title)

    return Drawing(draw, width=9.0, height=2.2 + 0.5 * (len(stages) + 2))


def comparison(title: str, spreads: Mapping[str, Spread], ratios: Mapping[str, Spread]) -> Drawing:
    """Return a drawing of warm calls side by side, with the ratios to the first function's."""

    def draw(figure: Figure, theme: Theme) -> None:
        axes: Any = figure.subplots()
        for i, (name, spread) in enumerate(spreads.items()):
            color = theme.series[i % len(theme.series)]
            axes.plot([spread.low, spread.high], [i, i], color=color, linewidth=5, alpha=0.35)
            axes.plot(spread.median, i, "o", color=color, markersize=10)
            text = duration(spread.median) + (f"   {times(ratios[name].median)}" if i else "")
            _annotate(axes, spread.high, i, text)
        ends = spreads.values()
        _finish(axes, list(spreads), min(s.low for s in ends), max(s.high for s in ends), title)

    return Drawing(draw, width=9.0, height=2.2 + 0.5 * len(spreads))


def misses(title: str, name: str, calls: Calls) -> Drawing:
    """Return a drawing of call time against call number."""

    def draw(figure: Figure, theme: Theme) -> None:
        axes: Any = figure.subplots()
        draw_calls(axes, theme, {name: calls}, "")
        axes.set_title(title)
        axes.set_xlabel("number of the call")
        axes.set_ylabel("time of the call")
        axes.legend(loc="center right")

    return Drawing(draw, width=9.0, height=5.0)


def _annotate(axes: Any, x: float, y: float, text: str) -> None:
    axes.annotate(text, (x, y), xytext=(12, 0), textcoords="offset points", va="center")


def _finish(axes: Any, names: list[str], low: float, high: float, title: str) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low / 3, high * 12)
    in_seconds(axes.xaxis)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("time of a call (pale: quartiles)")
    axes.set_title(title)
    bare(axes)
    axes.grid(visible=True, axis="x")
