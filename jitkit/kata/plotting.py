"""figure -> PNG: one look for all plots, fit for a slide and for colour-blind eyes.

Colours are those of Okabe and Ito, "Color Universal Design" (2008); each is also told apart by its place and
its label.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

BLUE, ORANGE, GREEN, VERMILION, GREY, INK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8C8C8C", "#222222"

_LOOK: Any = {
    "font.family": "sans-serif",
    "font.size": 13,
    "axes.titlesize": 16,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 14,
    "axes.labelsize": 13,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
}


@contextmanager
def figure(path: Path, width: float = 12.0, height: float = 6.75) -> Iterator[Figure]:
    """A figure of so many inches (a slide of 16 to 9), written to a PNG when the block ends. No window is
    opened.
    """
    with matplotlib.rc_context(_LOOK):
        made = Figure(
            figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.25, h_pad=0.2, wspace=0.04)
        )
        FigureCanvasAgg(made)
        yield made
        path.parent.mkdir(parents=True, exist_ok=True)
        made.savefig(path, dpi=150)


def bare(axes: Any) -> None:
    """Take away what a chart of horizontal bars does not need."""
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
