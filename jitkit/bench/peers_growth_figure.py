"""The figure of `jitkit bench growth`: the ratio to JAX against size on logarithmic scales, and the slope of each line."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.ticker
from matplotlib.figure import Figure

from .peers_growth import Result
from .plotting import MARKERS, Drawing, Theme, signed


def drawings(results: Sequence[Result], where: str) -> dict[str, Drawing]:
    """Return one figure, named `growth`, with a panel for each group of rows."""
    groups = list(dict.fromkeys(result.row.group for result in results))
    columns = min(len(groups), 2)
    rows = -(-len(groups) // columns)

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(rows, columns, squeeze=False)
        for i, axes in enumerate(panels.flat):
            if i >= len(groups):
                axes.set_axis_off()
                continue
            shown = [result for result in results if result.row.group == groups[i]]
            axes.set_xscale("log")
            axes.set_yscale("log")
            for result, color, marker in zip(shown, theme.series, MARKERS, strict=False):
                spreads = list(result.ratios.values())
                sizes = list(result.ratios)
                low, high = [s.low for s in spreads], [s.high for s in spreads]
                axes.fill_between(sizes, low, high, color=color, alpha=0.2, linewidth=0)
                label = f"{result.row.name}: slope {result.slope.value:+.2f}"
                axes.plot(sizes, [s.median for s in spreads], color=color, marker=marker, linewidth=2, label=label)
            axes.axhline(1.0, color=theme.grey, linestyle="--", linewidth=1)
            bottom, top = axes.get_ylim()
            axes.set_ylim(bottom / 1.2, max(top, 1.0) * 3)  # room for the legend
            axes.legend(loc="upper left", fontsize=11)
            axes.set_title(groups[i], fontsize=14)
            axes.set_xlabel(shown[0].row.unit)
            axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda y, _: f"{y:g}"))
            axes.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
            if i % columns == 0:
                axes.set_ylabel("time of jitkit / time of JAX (band: quartiles)")
        signed(figure, theme, "jitkit beside JAX, as things grow", where, ["A slope of 0: both grow alike."])

    return {"growth": Drawing(draw, width=max(12.0, 7.0 * columns), height=1.6 + 4.6 * rows)}
