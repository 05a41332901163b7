"""rows of the store -> what stands: one record for each exercise of each student

Of several hand-ins, lab by lab, the last one counts, or the best; going back to an earlier version is one, too. A verdict that was
reached anew takes the place of the one on the same submission. A fault of ours takes the place of nothing: what was there before
stands, and where nothing was, there is no score.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Lab

from ..shared import ROOT
from .jail import NONE
from .policy import LabPolicy, Policy, read_policy
from .records import GradeStatus
from .rungs import labs_and_ladder
from .store import Grade, HandIn, Store

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
      handins: what was handed in, in order.
    """

    folder: pathlib.Path
    records: list[Record]
    policy: Policy
    labs: Sequence[Lab]
    sandbox: str
    handins: tuple[HandIn, ...] = ()

    @classmethod
    def of(cls, store: Store) -> Standing:
        """What stands in a store, with the labs and the policy that it was graded by."""
        labs = labs_and_ladder(ROOT / "labs")
        policy = read_policy(pathlib.Path(name), labs) if (name := store.meta("policy")) else Policy()
        points = {lab.number: float(sum(e.points for e in lab.exercises)) for lab in labs}
        handins = store.handins()
        records = standing(store.grades(), policy, points, handins)
        return cls(store.folder, records, policy, labs, store.meta("sandbox"), tuple(handins))

    @property
    def warning(self) -> str:
        """UNSANDBOXED where there was no jail, else nothing."""
        return UNSANDBOXED if self.sandbox == NONE else ""

    def last_handins(self) -> dict[str, list[HandIn]]:
        """The last hand-in of each lab, by student."""
        found: dict[str, dict[str | None, HandIn]] = {}
        for handin in self.handins:
            found.setdefault(handin.student, {})[handin.lab] = handin
        return {student: sorted(last.values(), key=lambda h: h.id) for student, last in found.items()}

    def by_student(self) -> dict[str, list[Record]]:
        """Groups the records by student."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.grade.student, []).append(record)
        return found


def standing(
    grades: Iterable[Grade],
    policy: Policy,
    all_points: Mapping[str, float] | None = None,
    handins: Sequence[HandIn] = (),
) -> list[Record]:
    """All records, by student, lab and exercise.

    Args:
      all_points: the sum of the points of each lab's exercises, which `points` of a lab is shared among.
      handins: what was handed in; a store of an older grader has none, and its rows say when.
    """
    by_student: dict[str, list[Grade]] = {}
    for grade in grades:
        by_student.setdefault(grade.student, []).append(grade)
    handed_in: dict[str, list[HandIn]] = {}
    for handin in handins:
        handed_in.setdefault(handin.student, []).append(handin)
    records: list[Record] = []
    for student, rows in sorted(by_student.items()):
        records += _of_student(rows, policy, all_points or {}, handed_in.get(student, []))
    return records


class _Attempt(NamedTuple):
    """A hand-in of a lab: its place in their order, when it was (None: as its rows say), and the rows of its submission."""

    order: tuple[int, int]
    handed_in: float | None
    rows: list[Grade]


def _of_student(
    rows: list[Grade], policy: Policy, all_points: Mapping[str, float], handins: Sequence[HandIn]
) -> list[Record]:
    last: dict[tuple[str, str | None], Grade] = {}
    for row in rows:  # the later row of one submission and exercise, but for faults of ours
        key = (row.submission, row.exercise)
        if row.outcome != GradeStatus.INFRA or key not in last:
            last[key] = row
    whole = [row for row in last.values() if row.exercise is None]
    labs = sorted({row.lab for row in last.values() if row.lab is not None})
    found: list[Record] = []
    for lab in labs:
        by_submission: dict[str, list[Grade]] = {}
        for row in last.values():
            if row.lab == lab:
                by_submission.setdefault(row.submission, []).append(row)
        attempts = _attempts(by_submission, [h for h in handins if h.lab == lab], rows)
        found += _of_lab(lab, attempts, policy, all_points)
    if not found:
        newest = max(whole, key=lambda row: (row.outcome != GradeStatus.INFRA, row.id))
        return [Record(newest, newest.points, newest.max, newest.flags)]
    if handins:
        later = handins[-1].lab is None
    else:
        newest_run = max(record.grade.id for record in found)
        later = any(row.id > newest_run and row.outcome == GradeStatus.INVALID for row in whole)
    return [r._replace(flags=(*r.flags, _LATER)) for r in found] if later else found


def _attempts(
    by_submission: Mapping[str, list[Grade]], handins: Sequence[HandIn], rows: Sequence[Grade]
) -> list[_Attempt]:
    """The hand-ins of a lab that have grades. What was handed in again without a change was handed in when it first was."""
    attempts = []
    known = {h.submission for h in handins}
    for row in rows:  # of an older grader, which noted no hand-ins
        if row.submission in by_submission and row.submission not in known:
            known.add(row.submission)
            attempts.append(_Attempt((0, row.id), None, by_submission[row.submission]))
    first: float | None = None
    before = ""
    for handin in handins:
        first = min(first, handin.handed_in) if first is not None and handin.digest == before else handin.handed_in
        before = handin.digest
        if handin.submission in by_submission:
            attempts.append(_Attempt((1, handin.id), first, by_submission[handin.submission]))
    return attempts


def _of_lab(lab: str, attempts: Sequence[_Attempt], policy: Policy, all_points: Mapping[str, float]) -> list[Record]:
    scored = [a for a in attempts if any(r.outcome != GradeStatus.INFRA for r in a.rows)] or attempts
    candidates = []
    for attempt in scored:
        rows = sorted(attempt.rows, key=lambda r: r.exercise or "")
        records = [_record(row, attempt.handed_in, policy, all_points.get(lab)) for row in rows]
        total = sum(r.points or 0.0 for r in records)
        candidates.append(((total if policy.attempts == "best" else 0.0), attempt.order, records))
    return max(candidates, key=lambda item: item[:2])[2]


def _record(row: Grade, handed_in: float | None, policy: Policy, lab_points: float | None) -> Record:
    wanted = policy.of_lab.get(row.lab or "", LabPolicy())
    scale = wanted.points / lab_points if wanted.points is not None and lab_points else 1.0
    if handed_in is not None:
        row = row._replace(handed_in=handed_in)
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
