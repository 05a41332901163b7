"""The figure of `jitkit bench loops`: bytes and seconds of each program, own over XLA's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from .libraries import OURS, THEIRS
from .peers_loops import Result
from .plotting import Drawing, Theme, bare, signed


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """Return one figure, named `loops`, with two bars for each program."""
    return {"loops": Drawing(lambda f, t: _draw(f, t, results, where), height=2.8 + 0.9 * len(results))}


def _draw(figure: Figure, theme: Theme, results: Sequence[Result], where: str) -> None:
    axes: Any = figure.subplots()
    kinds = {
        "bytes": [r.found.bytes[OURS.name] / r.found.bytes[THEIRS.name] for r in results],
        "time": [r.ratio.median for r in results],
    }
    for k, ((kind, values), color) in enumerate(zip(kinds.items(), theme.series, strict=False)):
        places = [i + 0.4 * k - 0.2 for i in range(len(results))]
        axes.barh(places, values, height=0.36, color=color, label=kind)
        for place, value in zip(places, values, strict=True):
            axes.annotate(f"{value:.2f}", (value, place), xytext=(6, 0), textcoords="offset points", va="center")
    axes.axvline(1.0, color=theme.grey, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(results)), [result.name for result in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.set_xlim(0, 1.2 * max(1.0, *(value for values in kinds.values() for value in values)))
    axes.set_xlabel("own / XLA (less is better)")
    figure.legend(loc="outside upper right", ncols=2)
    axes.set_title('jit(f, backend="c") beside XLA, one core', loc="left")
    bare(axes)
    signed(figure, theme, "", where)
