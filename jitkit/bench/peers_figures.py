"""The figures of `jitkit bench peers`: ratios beside their targets, and run times of all libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from .peers import OTHERS, Result
from .peers_rows import Row
from .plotting import Drawing, Theme, bare, in_seconds, signed
from .words import duration


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """Return figures by name: `peers` shows the ratios; `peers-programs` the run times, if other libraries were measured, too."""
    made = {"peers": Drawing(lambda f, t: _draw_ratios(f, t, results, where), height=2.4 + 0.36 * len(results))}
    compared = [result for result in results if result.others]
    if compared:
        height = 2.4 + 1.2 * len(compared)
        made["peers-programs"] = Drawing(lambda f, t: _draw_programs(f, t, compared, where), height=height)
    return made


def _draw_ratios(figure: Figure, theme: Theme, results: Sequence[Result], where: str) -> None:
    axes: Any = figure.subplots()
    medians = max(max(r.ratio.median, r.row.target) for r in results)
    widest = max(medians, min(max(r.ratio.high for r in results), 2.5))  # a quartile beyond it is noise
    for i, result in enumerate(results):
        ratio = result.ratio
        color = {"met": theme.blue, "missed": theme.vermilion}.get(result.verdict, theme.grey)
        axes.barh(i, ratio.median, height=0.62, color=color)
        axes.plot([ratio.low, min(ratio.high, widest)], [i, i], color=theme.ink, linewidth=1.5)
        axes.plot([result.row.target] * 2, [i - 0.42, i + 0.42], color=theme.ink, linewidth=2.5)
        text = f"{ratio.median:.2f}  {result.verdict}"
        end = min(max(ratio.high, ratio.median, result.row.target), widest)
        axes.annotate(text, (end, i), xytext=(8, 0), textcoords="offset points", va="center")
    axes.axvline(1.0, color=theme.grey, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(results)), [_label(result.row) for result in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.set_xlim(0, widest * 1.15)
    axes.set_xlabel(
        "time of jitkit / time of JAX (less is better; thick mark: target; thin line: quartiles)\n"
        "not resolved: the target is between the quartiles"
    )
    axes.set_title("jitkit beside JAX, in one process")
    bare(axes)
    signed(figure, theme, "", where)


def _label(row: Row) -> str:
    return f"{row.group.split(',')[0].split(' of ')[0]}: {row.name}"


def _draw_programs(figure: Figure, theme: Theme, results: Sequence[Result], where: str) -> None:
    axes: Any = figure.subplots()
    colors = dict(
        zip(("jitkit", "jax", *OTHERS), (*theme.series[:2], theme.grey, theme.purple, theme.green), strict=True)
    )
    for i, result in enumerate(results):
        spreads = {"jitkit": result.ours, "jax": result.theirs, **result.others}
        step = 0.8 / max(len(r.others) + 2 for r in results)
        for j, (name, spread) in enumerate(spreads.items()):
            y = i + (j - (len(spreads) - 1) / 2) * step
            axes.plot([spread.low, spread.high], [y, y], color=colors[name], linewidth=5, alpha=0.35)
            axes.plot(spread.median, y, "o", color=colors[name], markersize=9)
            text = f"{name}  {duration(spread.median)}"
            axes.annotate(text, (spread.high, y), xytext=(12, 0), textcoords="offset points", va="center")
    everything = [s for r in results for s in (r.ours, r.theirs, *r.others.values())]
    axes.set_xscale("log")
    axes.set_xlim(min(s.low for s in everything) / 1.5, max(s.high for s in everything) * 4)
    in_seconds(axes.xaxis)
    axes.set_yticks(range(len(results)), [result.row.name for result in results])
    axes.set_ylim(len(results) - 0.45, -0.55)
    axes.set_xlabel("time of a warm call (median and quartiles; less is better)")
    axes.set_title("Whole programs, compiled and not")
    bare(axes)
    axes.grid(visible=True, axis="x")
    signed(figure, theme, "", where)
