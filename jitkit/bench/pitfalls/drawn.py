"""The figures of `jitkit bench pitfalls`: call time against call number, misses named; and all pairs beside each other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from matplotlib.figure import Figure

from ..calls_figure import draw_calls
from ..plotting import Drawing, Theme, bare, in_seconds, signed
from ..words import duration, times
from .measured import Result

_SHOWN = ("lambda", "lengths", "weak-types", "optional-key", "static-changes", "unrolled")  # one a theme


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """`calls` has the pitfalls of `_SHOWN`, or those that there are; `pairs` has all of them."""
    chosen = [result for result in results if result.pitfall.name in _SHOWN] or list(results)[:6]
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    made = {
        "pitfalls-calls": Drawing(
            lambda figure, theme: _draw_calls(figure, theme, chosen, where, rows, columns),
            width=12.0 if columns < 3 else 16.0,
            height=6.75 if rows == 1 else 9.0,
        )
    }
    if len(results) > 1:
        ordered = sorted((r for r in results if r.slow.error is None), key=lambda r: -r.ratio.median)
        height = 2.4 + 0.36 * len(ordered)
        made["pitfalls-pairs"] = Drawing(
            lambda figure, theme: _draw_pairs(figure, theme, ordered, where), width=13.0, height=height
        )
    return made


# --- call by call ---------------------------------------------------------------------------------------------


def _draw_calls(
    figure: Figure, theme: Theme, chosen: Sequence[Result], where: str, rows: int, columns: int
) -> None:
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes, result in itertools.zip_longest(panels.flat, chosen):
        if result is None:
            axes.set_axis_off()
        else:
            programs = {"slow": result.slow, "mended": result.mended}
            draw_calls(axes, theme, programs, result.pitfall.title)
    for axes in panels[-1]:
        axes.set_xlabel("number of the call")
    for axes in panels[:, 0]:
        axes.set_ylabel("time of the call")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=4, columnspacing=1.2, handletextpad=0.3)
    title = "Which calls miss the cache, and why" if len(chosen) > 1 else ""
    signed(figure, theme, title, where)


# --- all pairs ------------------------------------------------------------------------------------------------


def _draw_pairs(figure: Figure, theme: Theme, results: Sequence[Result], where: str) -> None:
    axes = figure.subplots()
    ends = [max(r.slow_seconds.high, r.mended_seconds.high) for r in results]
    for i, result in enumerate(results):
        slow, mended = result.slow_seconds, result.mended_seconds
        axes.plot([mended.median, slow.median], [i, i], color=theme.grey, linewidth=2, zorder=1)
        for spread, color, marker, label in (
            (slow, theme.vermilion, "s", "slow"),
            (mended, theme.blue, "o", "mended"),
        ):
            axes.plot([spread.low, spread.high], [i, i], color=color, linewidth=5, alpha=0.35, zorder=2)
            axes.plot(
                spread.median, i, marker, color=color, markersize=9, zorder=3, label=label if i == 0 else None
            )
        axes.annotate(_verdict(result), (ends[i], i), xytext=(12, 0), textcoords="offset points", va="center")
    axes.set_xscale("log")
    low = min(min(r.slow_seconds.low, r.mended_seconds.low) for r in results)
    axes.set_xlim(low / 1.6, max(ends) * 40)
    in_seconds(axes.xaxis)
    axes.set_yticks(range(len(results)), [result.pitfall.title for result in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    calls = len(results[0].mended.calls)
    axes.set_xlabel(f"time of {calls} calls, from empty caches (median and quartiles)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2, handletextpad=0.3)
    bare(axes)
    axes.grid(visible=True, axis="x")
    signed(figure, theme, "What each pitfall costs", where)


def _verdict(result: Result) -> str:
    if result.pitfall.is_wrong:
        return f"wrong ({duration(result.slow_seconds.median)})"
    compiled = f"{result.slow.compiles} -> {result.mended.compiles} compiled"
    return f"{times(result.ratio.median)},  {compiled}"
