"""The figure of `jitkit bench seeds`: published times beside those measured here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from .claims import SOURCES
from .libraries import OURS, THEIRS
from .plotting import Drawing, Theme, bare, in_seconds, signed
from .seeds import Measured
from .words import times


def drawings(results: Sequence[Measured], where: str) -> dict[str, Drawing]:
    """Return one drawing, `seeds`. For each tutorial's claim it has a group of rows, one for each way of doing it
    (`Side`), with the published time, jitkit's and JAX's. At the right are the factors between the ways, and the
    verdict.
    """
    rows = sum(len(result.claim.sides) + 0.9 for result in results)
    return {"seeds": Drawing(lambda f, t: _draw(f, t, results, where), width=14.0, height=3.6 + 0.36 * rows)}


def _draw(figure: Figure, theme: Theme, results: Sequence[Measured], where: str) -> None:
    axes: Any = figure.subplots()
    everything = [
        value
        for result in results
        for side, spreads in zip(result.claim.sides, result.spreads, strict=True)
        for value in (side.published, *[spread.median for spread in spreads.values()])
        if value is not None
    ]
    left, right = min(everything) / 1.8, max(everything) * 1.8
    y, ticks, names = 0.0, [], []
    for result in results:
        axes.text(left * 1.05, y, result.claim.title, fontweight="bold", va="center", ha="left")
        axes.text(right * 1.15, y + 0.95, _factors(result), va="top", ha="left", fontsize=11, linespacing=1.35)
        for side, spreads in zip(result.claim.sides, result.spreads, strict=True):
            y += 1
            ticks.append(y)
            names.append(side.name)
            ours, theirs = spreads[OURS.name], spreads[THEIRS.name]
            if side.published is not None:
                axes.plot([side.published, ours.median], [y, y], color=theme.faint, linewidth=2, zorder=1)
                axes.plot(side.published, y, "D", color=theme.ink, markerfacecolor=theme.ground, markersize=8, zorder=2)
            axes.plot(theirs.median, y + 0.16, "s", color=theme.orange, markersize=7, zorder=3)
            axes.plot([ours.low, ours.high], [y - 0.16] * 2, color=theme.blue, linewidth=5, alpha=0.35, zorder=3)
            axes.plot(ours.median, y - 0.16, "o", color=theme.blue, markersize=7.5, zorder=4)
        y += 0.9
        axes.axhline(y - 0.1 + 0.2, color=theme.faint, linewidth=1)
        y += 0.4
    for marker, color, face, label in (
        ("D", theme.ink, theme.ground, "published"),
        ("s", theme.orange, theme.orange, "JAX, here and now"),
        ("o", theme.blue, theme.blue, "jitkit, here and now"),
    ):
        axes.plot([], [], marker, color=color, markerfacecolor=face, markersize=8, label=label)
    axes.set_xscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(y - 0.2, -0.7)
    in_seconds(axes.xaxis)
    axes.set_yticks(ticks, names)
    rule = (
        "A claim holds where its factor is at least the square root of the published one: other machines were measured."
    )
    axes.set_xlabel(f"time (less is better; pale: quartiles)\n{rule}")
    bare(axes)
    axes.legend(loc="upper right", bbox_to_anchor=(1.0, 1.09), ncols=3, columnspacing=1.2, handletextpad=0.2)
    signed(figure, theme, "What tutorials measured, and what is measured here", where, _notes())


def _factors(result: Measured) -> str:
    factor = result.claim.factor
    published = "" if factor is None else f"published {times(factor)}, "
    ours, theirs = (times(result.factor(library)) for library in (OURS, THEIRS))
    return f"{published}jitkit {ours}, JAX {theirs}\n{result.verdict(OURS)}"


def _notes() -> list[str]:
    return [f"[{i}] {source.author}, {source.title}  {source.address}" for i, source in enumerate(SOURCES, 1)]
