"""a folder of the ladder -> its programs, with what is wrong with each, for pytest"""

from __future__ import annotations

import pathlib

from .climbing import Climber
from .place import Place
from .rungs import all_rungs


def programs_of(folder: pathlib.Path) -> list[tuple[str, str]]:
    """Each program of the current rung and of all below it: its name, and a sentence where it fails."""
    place = Place.find(folder)
    if place is None:
        return []
    rungs = [r for r in all_rungs() if r.number <= place.furthest().number]
    found = []
    for verdict in Climber(place.kept).climb(place.package, rungs):
        for result in verdict.results:
            sides = ""
            if result.difference is not None:
                sides = f"\nexpected: {result.difference.expected}\nyours:    {result.difference.actual}"
            found.append(
                (
                    result.check.name,
                    f"{result.check.sentence} {result.sentence}{sides}" if result.status != "pass" else "",
                )
            )
    return found
