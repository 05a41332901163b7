"""labs/from_scratch/NN_name/wrong.py -> wrong versions of a rung

A wrong version is the solution up to its rung with one thing changed, as somebody would have it who believes what its label says. It must
fail the programs that are `against` this belief, the first of all that it fails among them; and a learner whose package does the same
is asked its question.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from ..engine.statuses import Status
from .climber import RungVerdict
from .rungs import Rung, prefix


class Wrong(NamedTuple):
    """One wrong version: the belief, a question that leads out of it, and the change."""

    label: str
    question: str
    old: str
    new: str

    def applied(self, solution: str, rung: Rung) -> str:
        """The text of the package. ValueError where the solution has no such place, or several."""
        text = prefix(solution, rung.number)
        if text.count(self.old) != 1:
            raise ValueError(f"{rung.number}: {self.label!r} changes a text that occurs {text.count(self.old)} times")
        return text.replace(self.old, self.new)


_collected: list[Wrong] = []
_loading = threading.Lock()


def edit(label: str, question: str, old: str, new: str) -> None:
    """One wrong version, in a `wrong.py`."""
    _collected.append(Wrong(label, question, old, new))


def wrong_versions(rung: Rung) -> list[Wrong]:
    """Those of a rung."""
    path = rung.folder / "wrong.py"
    with _loading:
        _collected.clear()
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "wrong"})
        found = list(_collected)
        _collected.clear()
    return found


def beliefs(verdict: RungVerdict) -> list[Wrong]:
    """The wrong versions that a package which does not pass is like. Of the beliefs that its first failure refutes: those of which it
    fails all programs that refute them, and as many as possible; all, where it fails some of these only."""
    failure = verdict.first_failure
    if failure is None:
        return []
    of_label = {
        label: [r.status for r in verdict.results if label in r.check.against] for label in failure.check.against
    }
    whole = {label: len(statuses) for label, statuses in of_label.items() if Status.PASS not in statuses}
    likely = [label for label, size in whole.items() if size == max(whole.values())] or list(of_label)
    return [version for version in wrong_versions(verdict.rung) if version.label in likely]
