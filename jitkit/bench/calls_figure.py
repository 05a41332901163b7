"""Calls -> a panel: call time against call number, with the misses named."""

from __future__ import annotations

import itertools
import operator
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from .calls import Call, Calls
from .plotting import Theme, in_seconds


def draw_calls(axes: Any, theme: Theme, programs: Mapping[str, Calls], title: str) -> None:
    """Draw call time against call number on a logarithmic scale, for two programs at most. Misses are filled and named,
    hits are not.
    """
    everything = [call.seconds for calls in programs.values() for call in calls.calls]
    styles = ((theme.vermilion, "s"), (theme.blue, "o"))
    for i, ((name, calls), (color, marker)) in enumerate(zip(programs.items(), styles, strict=False)):
        axes.plot(*_points(calls.calls), color=color, linewidth=1.2, alpha=0.6)
        hits = [call for call in calls.calls if not call.why]
        missed = [call for call in calls.calls if call.why]
        ground = theme.ground
        axes.plot(*_points(hits), marker, markerfacecolor=ground, color=color, markersize=8, label=f"{name}: hit")
        axes.plot(*_points(missed), marker, color=color, markersize=9, label=f"{name}: miss")
        named = f"{name}: {_named_misses(calls)}"
        axes.text(0.02, 0.97 - 0.085 * i, named, transform=axes.transAxes, color=color, fontsize=11, va="top")
    low, high = min(everything), max(everything)
    axes.set_yscale("log")
    axes.set_ylim(low / 2, high * max(high / low, 10) ** 0.4)
    axes.set_xlim(0.4, max(len(calls.calls) for calls in programs.values()) + 0.6)
    axes.set_title("\n".join(textwrap.wrap(title[:1].upper() + title[1:], 34)), fontsize=14)
    axes.xaxis.get_major_locator().set_params(integer=True)
    in_seconds(axes.yaxis)


def _points(calls: Sequence[Call]) -> tuple[list[int], list[float]]:
    return [call.number for call in calls], [call.seconds for call in calls]


def _named_misses(calls: Calls) -> str:
    """Return a string such as `1 first call, 2-8 new shape`, with one entry for neighbouring calls with the same reason.
    Entries after the third are replaced by `...`; without a miss, the string is "no miss".
    """
    names = []
    for reason, group in itertools.groupby(calls.calls, key=operator.attrgetter("why")):
        members = list(group)
        first, last = members[0].number, members[-1].number
        if reason:
            names.append(f"{first} {reason}" if first == last else f"{first}-{last} {reason}")
    if not names:
        return "no miss"
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
