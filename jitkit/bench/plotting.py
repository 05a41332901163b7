"""figure -> PNG: one look for all plots, fit for a slide, a light one or a dark one, and for colour-blind eyes.

Colours are those of Okabe and Ito, "Color Universal Design" (2008); each is also told apart by its place, its shape or
its label. On the dark ground their sky blue replaces their blue, which would be too dark, and vermilion is lighter.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import matplotlib.ticker
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine


class Theme(NamedTuple):
    """The colours on a background: for text (`ink`), for less important things (`grey`, `faint`), and five that are
    easy to distinguish.
    """

    name: str
    ground: str
    ink: str
    grey: str
    faint: str
    blue: str
    orange: str
    green: str
    vermilion: str
    purple: str

    @property
    def series(self) -> tuple[str, ...]:
        """The colours of lines, in order."""
        return (self.blue, self.orange, self.green, self.vermilion, self.purple)


LIGHT = Theme("light", "white", "#222222", "#8C8C8C", "#E3E3E3", "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7")
DARK = Theme("dark", "#15181C", "#ECECEC", "#8F959B", "#33383E", "#56B4E9", "#E69F00", "#009E73", "#E8702A", "#CC79A7")
THEMES = (LIGHT, DARK)
MARKERS = ("o", "s", "^", "D", "v")
BLUE, ORANGE, GREEN, VERMILION, GREY, INK = (
    LIGHT.blue,
    LIGHT.orange,
    LIGHT.green,
    LIGHT.vermilion,
    LIGHT.grey,
    LIGHT.ink,
)


def _look(theme: Theme) -> Any:
    return {
        "font.family": "sans-serif",
        "font.size": 13,
        "axes.titlesize": 16,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 14,
        "axes.labelsize": 13,
        "axes.labelcolor": theme.ink,
        "axes.edgecolor": theme.grey,
        "axes.facecolor": theme.ground,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.titlecolor": theme.ink,
        "grid.color": theme.faint,
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
        "xtick.minor.size": 0,
        "ytick.minor.size": 0,
        "legend.frameon": False,
        "figure.facecolor": theme.ground,
        "savefig.facecolor": theme.ground,
    }


class Drawing(NamedTuple):
    """A figure of a size in inches, drawn only when asked for, on a light or a dark ground."""

    draw: Callable[[Figure, Theme], None]
    width: float = 12.0
    height: float = 6.75

    def figure(self, theme: Theme = LIGHT) -> Figure:
        """Return the figure, without opening a window."""
        with matplotlib.rc_context(_look(theme)):
            made = _empty(self.width, self.height)
            self.draw(made, theme)
            made.draw_without_rendering()  # matplotlib makes ticks when it draws: draw while the theme is set
        return made

    def png(self, theme: Theme = LIGHT, dpi: int = 80) -> bytes:
        """Return the figure as the bytes of a PNG."""
        made = io.BytesIO()
        with matplotlib.rc_context(_look(theme)):
            self.figure(theme).savefig(made, dpi=dpi, format="png")
        return made.getvalue()

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write `NAME-light.png` and `NAME-dark.png` into an existing folder, and return their paths."""
        paths = [folder / f"{name}-{theme.name}.png" for theme in THEMES]
        for path, theme in zip(paths, THEMES, strict=True):
            path.write_bytes(self.png(theme, dpi=150))
        return paths


def _empty(width: float, height: float) -> Figure:
    made = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.25, h_pad=0.2, wspace=0.04))
    FigureCanvasAgg(made)
    return made


@contextmanager
def figure(path: Path, width: float = 12.0, height: float = 6.75) -> Iterator[Figure]:
    """Open a figure of this size in inches (a slide is 16 to 9) on a light ground. When the block ends without an
    error, write the figure to a PNG.
    """
    with matplotlib.rc_context(_look(LIGHT)):
        made = _empty(width, height)
        yield made
        path.parent.mkdir(parents=True, exist_ok=True)
        made.savefig(path, dpi=150)


def bare(axes: Any) -> None:
    """Remove the parts of the axes that a chart of horizontal bars does not need."""
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def signed(made: Figure, theme: Theme, title: str, where: str, notes: Sequence[str] = ()) -> None:
    """Put a title above a figure of several parts, and below it notes and a description of the machine."""
    if title:
        made.suptitle(title, fontsize=20, fontweight="bold", x=0.02, ha="left")
    below = "\n".join([*notes, where])
    x, side = (0.02, "left") if notes else (0.98, "right")
    made.supxlabel(below, fontsize=10, color=theme.grey, x=x, ha=side, linespacing=1.4)


def in_seconds(axis: Any) -> None:
    """Label a logarithmic axis of seconds as people say it: 1 µs, 10 ms; also 20 and 50 ms, if few powers of ten are in view."""
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: _spoken(x)))
    axis.set_minor_locator(matplotlib.ticker.LogLocator(subs=(2.0, 5.0)))
    axis.set_minor_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: _spoken(x) if _is_short(axis) else ""))


def _is_short(axis: Any) -> bool:
    low, high = sorted(axis.get_view_interval())
    return math.floor(math.log10(high)) - math.ceil(math.log10(low)) < 2


def _spoken(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.999 * scale:
            return f"{seconds / scale:g} {unit}"
    return f"{seconds / 1e-9:g} ns"
