"""rows of the store -> what stands: one record for each exercise of each student

Of several submissions, lab by lab, the last one counts, or the best. A verdict that was reached anew takes the place of the
one on the same submission. A fault of ours takes the place of nothing: what was there before stands, and where nothing was,
there is no score.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Lab

from ..shared import ROOT
from .jail import NONE
from .policy import LabPolicy, Policy, read_policy
from .rungs import labs_and_ladder
from .store import Grade, Store

UNSANDBOXED = "graded without a sandbox: a submission could do what it liked"
_LATER = "a later submission could not be run"


class Record(NamedTuple):
    """What stands for an exercise of a student; `exercise` is None where nothing of a submission was run."""

    grade: Grade
    points: float | None  # after what the course wants for lateness and for the lab
    max: float
    flags: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """The record of the JSON export."""
        g = self.grade
        return {
            "student": g.student, "lab": g.lab, "exercise": g.exercise, "points": self.points, "max": self.max, "outcome": g.outcome,
            "flags": list(self.flags),
        }  # fmt: skip


class Standing(NamedTuple):
    """What stands in a folder of grades, and what is needed to show it.

    Attributes:
      folder: that folder.
      labs: all that can be graded.
      sandbox: BUBBLEWRAP, or NONE where some of it was graded without a jail.
    """

    folder: pathlib.Path
    records: list[Record]
    policy: Policy
    labs: Sequence[Lab]
    sandbox: str

    @classmethod
    def of(cls, store: Store) -> Standing:
        """What stands in a store, with the labs and the policy that it was graded by."""
        labs = labs_and_ladder(ROOT / "labs")
        policy = read_policy(pathlib.Path(name), labs) if (name := store.meta("policy")) else Policy()
        points = {lab.number: float(sum(e.points for e in lab.exercises)) for lab in labs}
        records = standing(store.grades(), policy, points)
        return cls(store.folder, records, policy, labs, store.meta("sandbox"))

    @property
    def warning(self) -> str:
        """UNSANDBOXED where there was no jail, else nothing."""
        return UNSANDBOXED if self.sandbox == NONE else ""

    def by_student(self) -> dict[str, list[Record]]:
        """Groups the records by student."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.grade.student, []).append(record)
        return found


def standing(grades: Iterable[Grade], policy: Policy, all_points: dict[str, float] | None = None) -> list[Record]:
    """All records, by student, lab and exercise.

    Args:
      all_points: the sum of the points of each lab's exercises, which `points` of a lab is shared among.
    """
    by_student: dict[str, list[Grade]] = {}
    for grade in grades:
        by_student.setdefault(grade.student, []).append(grade)
    records: list[Record] = []
    for _, rows in sorted(by_student.items()):
        records += _of_student(rows, policy, all_points or {})
    return records


def _of_student(rows: list[Grade], policy: Policy, all_points: dict[str, float]) -> list[Record]:
    last: dict[tuple[str, str | None], Grade] = {}
    attempts: dict[str, int] = {}
    for row in rows:  # the later row of one submission and exercise, but for faults of ours
        key = (row.submission, row.exercise)
        if row.outcome != "INFRA" or key not in last:
            last[key] = row
        attempts.setdefault(row.submission, row.id)
    whole = [row for row in last.values() if row.exercise is None]
    labs = sorted({row.lab for row in last.values() if row.lab is not None})
    found: list[Record] = []
    for lab in labs:
        by_attempt: dict[str, list[Grade]] = {}
        for row in last.values():
            if row.lab == lab:
                by_attempt.setdefault(row.submission, []).append(row)
        found += _of_lab(lab, by_attempt, policy, all_points, attempts)
    if not found:
        newest = max(whole, key=lambda row: (row.outcome != "INFRA", row.id))
        return [Record(newest, newest.points, newest.max, newest.flags)]
    newest_run = max(record.grade.id for record in found)
    if any(row.id > newest_run and row.outcome == "INVALID" for row in whole):
        found = [r._replace(flags=(*r.flags, _LATER)) for r in found]
    return found


def _of_lab(
    lab: str, by_attempt: dict[str, list[Grade]], policy: Policy, all_points: dict[str, float], attempts: dict[str, int]
) -> list[Record]:
    scored = {s: rows for s, rows in by_attempt.items() if any(r.outcome != "INFRA" for r in rows)} or by_attempt
    candidates = []
    for submission, rows in scored.items():
        records = [_record(row, policy, all_points.get(lab)) for row in sorted(rows, key=lambda r: r.exercise or "")]
        total = sum(r.points or 0.0 for r in records)
        candidates.append(((total if policy.attempts == "best" else 0.0), attempts[submission], records))
    return max(candidates, key=lambda item: item[:2])[2]


def _record(row: Grade, policy: Policy, lab_points: float | None) -> Record:
    wanted = policy.of_lab.get(row.lab or "", LabPolicy())
    scale = wanted.points / lab_points if wanted.points is not None and lab_points else 1.0
    factor = policy.factor(row.lab or "", row.handed_in)
    points = None if row.points is None else round(row.points * scale * factor, 6)
    flags = row.flags if factor == 1.0 else (*row.flags, f"late: counts {100 * factor:g} %")
    return Record(row, points, round(row.max * scale, 6), flags)


def totals(records: Iterable[Record]) -> dict[str, dict[str, tuple[float | None, float]]]:
    """By student and lab: points, and the most that there are. None where something has no score."""
    found: dict[str, dict[str, tuple[float | None, float]]] = {}
    for record in records:
        labs = found.setdefault(record.grade.student, {})
        if record.grade.exercise is None or record.grade.lab is None:
            continue
        points, most = labs.get(record.grade.lab, (0.0, 0.0))
        added = None if points is None or record.points is None else points + record.points
        labs[record.grade.lab] = (added, most + record.max)
    return found
