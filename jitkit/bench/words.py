"""number -> words: durations, sizes and ratios as people read them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `timing` imports modules of statistics, which most users of this module do not need
    from .timing import Spread


def duration(seconds: float) -> str:
    """Return a time with three digits and a unit: `812 ns`, `3.41 µs`, `25.0 ms`, `1.20 s`."""
    for unit, scale in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * scale:
            value = seconds / scale
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    return f"{seconds:.2f} s" if seconds < 99.95 else f"{seconds:.0f} s"


def size(count: float) -> str:
    """Return a number of bytes: `96 B`, `4.0 kB`, `16 MB`."""
    for unit, scale in (("B", 1.0), ("kB", 1e3), ("MB", 1e6)):
        if count < 999.5 * scale:
            value = count / scale
            return f"{value:.{0 if unit == 'B' or value >= 9.95 else 1}f} {unit}"
    return f"{count / 1e9:.1f} GB"


def times(ratio: float) -> str:
    """Return a rounded factor: `0.0007x`, `0.42x`, `1.3x`, `27x`, `9,400x`."""
    if ratio < 0.995:
        return f"{ratio:.2f}x" if ratio >= 0.095 or ratio == 0 else f"{float(f'{ratio:.1g}'):f}".rstrip("0") + "x"
    if ratio < 9.95:
        return f"{ratio:.1f}x"
    return f"{ratio:,.0f}x" if ratio < 999.5 else f"{round(ratio, -2):,.0f}x"


def quartiles(spread: Spread) -> str:
    """Return the quartiles, `3.1-4.0 µs`, with one unit if they share it; "one round" if only one was measured."""
    if spread.rounds < 2:
        return "one round"
    low, high = duration(spread.low), duration(spread.high)
    number, unit = low.split()
    return f"{number}-{high}" if high.endswith(f" {unit}") else f"{low}-{high}"


def compared(ratio: float, other: str) -> str:
    """Return a ratio of times, theirs over ours, in words: `12 times faster than numpy`, `1.4 times slower than numpy`,
    `as fast as numpy`.
    """
    if 0.95 < ratio < 1.05:
        return f"as fast as {other}"
    word, factor = ("faster", ratio) if ratio > 1 else ("slower", 1 / ratio)
    return f"{factor:.{0 if factor >= 9.95 else 1}f} times {word} than {other}"


def unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """Return the message for a name that does not exist: with the nearest name, if one is near, and all names."""
    names = list(names)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no {kind} called {name!r}{hint} There are: {', '.join(names)}"
