"""The figures of `timed`, `compare` and `misses`."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from .calls_figure import draw_calls
from .notebook import Comparison, Misses, Timing
from .plotting import Drawing, Theme, bare, in_seconds
from .words import duration, times


def drawing(shown: Any) -> Drawing:
    """The figure of whatever one of the three has returned."""
    if isinstance(shown, Timing):
        return Drawing(lambda f, t: _draw_timing(f, t, shown), width=9.0, height=2.2 + 0.5 * len(shown.lines))
    if isinstance(shown, Comparison):
        return Drawing(
            lambda f, t: _draw_comparison(f, t, shown), width=9.0, height=2.2 + 0.5 * len(shown.spreads)
        )
    if isinstance(shown, Misses):
        return Drawing(lambda f, t: _draw_misses(f, t, shown), width=9.0, height=5.0)
    raise TypeError(f"expected what timed, compare or misses have returned, got {type(shown).__name__}")


def _draw_timing(figure: Figure, theme: Theme, shown: Timing) -> None:
    bars = [("first call", shown.first, theme.vermilion)]
    bars += [(f"of it: {stage}", seconds, theme.orange) for stage, seconds in shown.stages.items()]
    bars += [("warm call", shown.warm.median, theme.blue)]
    axes: Any = figure.subplots()
    warm, last = shown.warm, len(bars) - 1
    for i, (_, seconds, color) in enumerate(bars):
        axes.plot(seconds, i, "o", color=color, markersize=10)
        _annotate(axes, warm.high if i == last else seconds, i, duration(seconds))
    axes.plot([warm.low, warm.high], [last, last], color=theme.blue, linewidth=5, alpha=0.35)
    known = [warm.low, warm.high, *[seconds for _, seconds, _ in bars]]
    _finish(axes, [name for name, _, _ in bars], min(known), max(known), shown.title)


def _draw_comparison(figure: Figure, theme: Theme, shown: Comparison) -> None:
    axes: Any = figure.subplots()
    for i, (name, spread) in enumerate(shown.spreads.items()):
        color = theme.series[i % len(theme.series)]
        axes.plot([spread.low, spread.high], [i, i], color=color, linewidth=5, alpha=0.35)
        axes.plot(spread.median, i, "o", color=color, markersize=10)
        text = duration(spread.median) + (f"   {times(shown.ratios[name].median)}" if i else "")
        _annotate(axes, spread.high, i, text)
    spreads = shown.spreads.values()
    _finish(axes, list(shown.spreads), min(s.low for s in spreads), max(s.high for s in spreads), shown.title)


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


def _draw_misses(figure: Figure, theme: Theme, shown: Misses) -> None:
    axes: Any = figure.subplots()
    draw_calls(axes, theme, {shown.name: shown.calls}, "")
    axes.set_title(shown.title)
    axes.set_xlabel("number of the call")
    axes.set_ylabel("time of the call")
    axes.legend(loc="center right")
