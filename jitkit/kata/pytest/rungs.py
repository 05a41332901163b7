"""a folder of the ladder -> its programs, each with its failure, for pytest"""

from __future__ import annotations

import pathlib

import pytest
from _pytest.mark import ParameterSet

from ..engine.statuses import Status
from ..ladder.climber import Climber
from ..ladder.place import Place
from ..ladder.rungs import rungs_up_to


def programs_of(folder: pathlib.Path) -> list[ParameterSet]:
    """Return a parameter set for each program of the furthest rung that was reached, and of those below it (`rungs_up_to`): its name, and
    how it fails, or "". Outside of a folder of the ladder, return [].
    """
    place = Place.find(folder)
    if place is None:
        return []
    rungs = rungs_up_to(place.furthest().number, place.was_reached)
    found = []
    for verdict in Climber(place.kept).climb(place.package, rungs):
        for result in verdict.results:
            parts = [f"{result.check.sentence} {result.sentence}"]
            if result.difference is not None:
                parts += [f"expected: {result.difference.expected}", f"yours:    {result.difference.actual}"]
            if result.line is not None:
                parts.append(f"at {place.place(*result.line)}")
            problem = "\n".join(parts) if result.status != Status.PASS else ""
            found.append(pytest.param(result.check.name, problem, id=result.check.name))
    return found
