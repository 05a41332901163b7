"""The figures of `jitkit bench pitfalls`: call time against call number, misses named; and all pairs beside each other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from ..calls_figure import draw_calls
from ..plotting import Drawing, Theme, bare, in_seconds, signed
from ..words import times
from .measured import Result

_SHOWN = ("lambda", "lengths", "weak-types", "optional-key", "static-changes", "unrolled")  # one a theme


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """`calls` has the pitfalls of `_SHOWN`, or those that there are; `pairs` has all that do not end in an error, those that
    are measured from empty caches and those that are measured warm in a panel each.
    """
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
    finished = [result for result in results if result.slow.error is None]
    if len(finished) > 1:
        errors = [result.pitfall.name for result in results if result.slow.error is not None]
        notes = [f"Without time, since they end in an error: {', '.join(errors)}."] if errors else []
        height = 3.6 + 0.36 * len(finished)
        made["pitfalls-pairs"] = Drawing(
            lambda figure, theme: _draw_pairs(figure, theme, finished, where, notes), width=14.0, height=height
        )
    return made


# --- call by call ---------------------------------------------------------------------------------------------


def _draw_calls(figure: Figure, theme: Theme, chosen: Sequence[Result], where: str, rows: int, columns: int) -> None:
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


def _draw_pairs(figure: Figure, theme: Theme, results: Sequence[Result], where: str, notes: Sequence[str]) -> None:
    calls = len(results[0].mended.calls)
    groups = {
        f"from empty caches: {calls} calls, with all that they compile": [r for r in results if not r.is_warm],
        f"compiled beforehand: {calls} warm calls": [r for r in results if r.is_warm],
    }
    groups = {title: _ordered(group) for title, group in groups.items() if group}
    heights = [len(group) + 1.5 for group in groups.values()]
    panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights).flat
    for axes, (title, group) in zip(panels, groups.items(), strict=True):
        _draw_group(axes, theme, group)
        axes.set_title(title, fontsize=14)
    panels[len(groups) - 1].set_xlabel(f"time of {calls} calls (median and quartiles)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, handletextpad=0.3)
    signed(figure, theme, "What each pitfall costs", where, notes)


def _ordered(results: Sequence[Result]) -> list[Result]:
    """Those that grow first, then those that cost a factor, then those that are wrong; the dearest first."""
    kinds = {"grows": 0, "wrong": 2}
    return sorted(results, key=lambda r: (kinds.get(r.cost, 1), -r.ratio.median))


def _draw_group(axes: Any, theme: Theme, results: Sequence[Result]) -> None:
    ends = [max(r.slow_seconds.high, r.mended_seconds.high) for r in results]
    for i, result in enumerate(results):
        slow, mended = result.slow_seconds, result.mended_seconds
        axes.plot([mended.median, slow.median], [i, i], color=theme.grey, linewidth=2, zorder=1)
        for spread, color, marker, label in (
            (slow, theme.vermilion, "s", "slow, or wrong"),
            (mended, theme.blue, "o", "mended"),
        ):
            axes.plot([spread.low, spread.high], [i, i], color=color, linewidth=5, alpha=0.35, zorder=2)
            axes.plot(spread.median, i, marker, color=color, markersize=9, zorder=3, label=label if i == 0 else None)
        axes.annotate(_verdict(result), (ends[i], i), xytext=(12, 0), textcoords="offset points", va="center")
    axes.set_xscale("log")
    low = min(min(r.slow_seconds.low, r.mended_seconds.low) for r in results)
    axes.set_xlim(low / 1.6, max(ends) * (max(ends) / low) ** 0.75 * 2)  # room for what is written
    in_seconds(axes.xaxis)
    axes.set_yticks(range(len(results)), [result.pitfall.title for result in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    bare(axes)
    axes.grid(visible=True, axis="x")


def _verdict(result: Result) -> str:
    if result.pitfall.is_wrong:
        return "wrong, not slow"
    compiled = f"{result.slow.compiles} -> {result.mended.compiles} compiled"
    if result.grows:
        return f"{compiled}: grows with the number of calls"
    return times(result.ratio.median) + ("" if result.is_warm else f",  {compiled}")
