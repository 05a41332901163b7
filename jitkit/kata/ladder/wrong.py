"""labs/from_scratch/NN_name/wrong.py -> wrong versions of a rung

A wrong version is the solution up to its rung with one change, as somebody with a misconception makes it; its label names
the misconception. The first program that the version fails must be `against` the label. If a learner's package fails in the
same way, program by program, the learner is asked the question of the wrong version.
"""

from __future__ import annotations

import functools
import json
import pathlib
import threading
from typing import NamedTuple

from ..engine.statuses import Status
from .climber import RungVerdict
from .rungs import Rung, ladder_folder, prefix


class Wrong(NamedTuple):
    """A wrong version: the learner's misconception, a question that helps to see it, and the change of the solution's source."""

    label: str
    question: str
    old: str
    new: str

    def applied(self, solution: str, rung: Rung) -> str:
        """Return the source of the package. Raise ValueError if the solution has no such place, or several."""
        text = prefix(solution, rung.number)
        if text.count(self.old) != 1:
            raise ValueError(f"{rung.number}: {self.label!r} changes a text that occurs {text.count(self.old)} times")
        return text.replace(self.old, self.new)


_collected: list[Wrong] = []
_loading = threading.Lock()


def edit(label: str, question: str, old: str, new: str) -> None:
    """Declare one wrong version, in a `wrong.py`."""
    _collected.append(Wrong(label, question, old, new))


def wrong_versions(rung: Rung) -> list[Wrong]:
    """Return the wrong versions that the `wrong.py` of a rung declares."""
    path = rung.folder / "wrong.py"
    with _loading:
        _collected.clear()
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "wrong"})
        found = list(_collected)
        _collected.clear()
    return found


def failed(verdict: RungVerdict) -> dict[str, str]:
    """Return, by the name of each program that a package fails, its status and the place of the difference. Hidden programs are left
    out.
    """
    return {
        r.check.name: f"{r.status} {r.difference.where if r.difference is not None else ''}".rstrip()
        for r in verdict.results
        if r.status != Status.PASS and not r.check.hidden
    }


def failures_file() -> pathlib.Path:
    """Return the path of the file that says how each wrong version fails, by rung and label. `grading.authoring.failures` writes it."""
    return ladder_folder() / "failures.json"


@functools.cache
def known_failures() -> dict[str, dict[str, dict[str, str]]]:
    """Return the contents of the file of known failures; an empty dict if it does not exist."""
    try:
        found: dict[str, dict[str, dict[str, str]]] = json.loads(failures_file().read_text(encoding="utf-8"))
    except OSError:
        return {}
    return found


def beliefs(verdict: RungVerdict) -> list[Wrong]:
    """Return the wrong versions that fail as this package does: in the same programs, at the same places. Return [] if
    there are none, since a question about another mistake would mislead.
    """
    known, found = known_failures().get(verdict.rung.number, {}), failed(verdict)
    return [version for version in wrong_versions(verdict.rung) if found and known.get(version.label) == found]
