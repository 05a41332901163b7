"""The figures of `jitkit bench pitfalls`: the time of each call, with the misses named; and the total times of each slow program and its
mended one, on several slides
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from ..calls_figure import draw_calls
from ..plotting import Drawing, Theme, bare, in_seconds, signed
from ..words import times
from .measured import Result

_MOST_ROWS = 11  # a slide has at most this many rows
_SHOWN = ("lambda", "lengths", "weak-types", "optional-key", "static-changes", "unrolled")  # one of each of six themes


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """Return the figures by name:
    - `pitfalls-calls`, with the pitfalls of `_SHOWN`, or if none of them was measured, with up to six others;
    - `pitfalls-pairs-1`, ...: slides with the times of each slow program and its mended one, without pitfalls whose slow program ends in
      an error, or is wrong. There are none for fewer than two pitfalls.
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
    slow = [result for result in results if result.slow.error is None and not result.pitfall.is_wrong]
    for i, (title, part) in enumerate(_parts(slow) if len(slow) > 1 else (), 1):
        made[f"pitfalls-pairs-{i}"] = Drawing(
            functools.partial(_draw_pairs, title=title, results=part, where=where),
            width=14.0,
            height=2.9 + 0.5 * len(part),
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


# --- pairs ------------------------------------------------------------------------------------------------


def _parts(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """Return the slides, each a title and as many pairs as can be read from afar, the most expensive first."""
    found: list[tuple[str, list[Result]]] = []
    for title, group in (
        ("Compiled again at each call, from empty caches", [r for r in results if r.grows]),
        ("Compiled more than once, from empty caches", [r for r in results if not r.grows and not r.is_warm]),
        ("Compiled beforehand, and slow all the same", [r for r in results if not r.grows and r.is_warm]),
    ):
        ordered = sorted(group, key=lambda result: -result.ratio.median)
        many = -(-len(ordered) // _MOST_ROWS)
        size = -(-len(ordered) // many) if many else 0
        for i in range(many):
            counted = f" ({i + 1} of {many})" if many > 1 else ""
            found.append((title + counted, ordered[i * size : (i + 1) * size]))
    return found


def _draw_pairs(figure: Figure, theme: Theme, title: str, results: Sequence[Result], where: str) -> None:
    axes: Any = figure.subplots()
    _draw_group(axes, theme, results)
    axes.set_xlabel(f"time of {len(results[0].mended.calls)} calls (pale: quartiles)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2, handletextpad=0.3)
    signed(figure, theme, title, where)


def _draw_group(axes: Any, theme: Theme, results: Sequence[Result]) -> None:
    ends = [max(r.slow_seconds.high, r.mended_seconds.high) for r in results]
    for i, result in enumerate(results):
        slow, mended = result.slow_seconds, result.mended_seconds
        axes.plot([mended.median, slow.median], [i, i], color=theme.grey, linewidth=2, zorder=1)
        for spread, color, marker, label in ((slow, theme.vermilion, "s", "slow"), (mended, theme.blue, "o", "mended")):
            axes.plot([spread.low, spread.high], [i, i], color=color, linewidth=5, alpha=0.35, zorder=2)
            axes.plot(spread.median, i, marker, color=color, markersize=9, zorder=3, label=label if i == 0 else None)
        axes.annotate(_verdict(result), (ends[i], i), xytext=(12, 0), textcoords="offset points", va="center")
    axes.set_xscale("log")
    low = min(min(r.slow_seconds.low, r.mended_seconds.low) for r in results)
    axes.set_xlim(low / 1.6, max(ends) * (max(ends) / low) ** 0.3 * 2)  # room for what is written
    in_seconds(axes.xaxis)
    axes.set_yticks(range(len(results)), [result.pitfall.title for result in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    bare(axes)
    axes.grid(visible=True, axis="x")


def _verdict(result: Result) -> str:
    compiled = "" if result.is_warm else f", {result.slow.compiles} -> {result.mended.compiles} compiled"
    return times(result.ratio.median) + compiled
