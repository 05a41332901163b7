"""rows of the store -> what stands: one record for each exercise of each student

Of several hand-ins, lab by lab, the last one counts, or the best; going back to an earlier version is a hand-in, too. A new verdict
replaces the old one on the same submission. A fault of ours replaces nothing: an earlier verdict still counts, and if there is none, there
is no score. A mark that was changed by hand is final, and lateness does not reduce it.

Points are whole cents (`points`): the points of checks sum to the points of their exercise, and these to the points of the lab.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Lab

from ..shared import ROOT
from .jail import NONE
from .points import cents, split
from .policy import ExercisePolicy, LabPolicy, Policy, read_policy
from .records import PASS, Grade, GradeStatus, HandIn, Mark, Person
from .roster import Student
from .rungs import labs_and_ladder
from .store import Store

UNSANDBOXED = "graded without a sandbox: a submission could do what it liked"
_LATER = "a later submission could not be run"


class Part(NamedTuple):
    """The points of a check, and the maximum."""

    points: float
    max: float


class Record(NamedTuple):
    """The result that counts for an exercise of a student; `grade.exercise` is None if nothing of a submission was run.

    Attributes:
      points: the points that count: after the deduction for lateness, or changed by hand. None if there is no mark yet, because the
        grader had a fault, or because nothing of the submission could be run.
      parts: the parts of the checks. They sum to `points` (unless these were changed by hand) and to `max`.
      factor: the share of the points that lateness leaves.
      mark: the change by hand, if there is one.
    """

    grade: Grade
    points: float | None
    max: float
    flags: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    factor: float = 1.0
    mark: Mark | None = None

    @property
    def graded(self) -> float | None:
        """The points that the grader gave, before any change by hand; `points` if the points are not divided among checks."""
        return self.points if not self.parts or self.points is None else round(sum(p.points for p in self.parts), 2)

    @property
    def late(self) -> str:
        """A remark for the student about lateness; "" if lateness takes nothing off."""
        return "" if self.factor == 1.0 else f"late: counts {100 * self.factor:g} %"

    @property
    def by_hand(self) -> str:
        """A sentence about a mark that was changed or commented on by hand; "" if there is no such mark."""
        if self.mark is None:
            return ""
        changed = "" if self.mark.points is None else f"changed by hand to {self.mark.points:g}: {self.mark.reason}"
        return ". ".join(text for text in (changed, self.mark.comment) if text)

    def as_data(self) -> dict[str, Any]:
        """Return the record as the JSON export has it."""
        g = self.grade
        checks = [
            {"name": c["name"], "hidden": c["hidden"], "status": c["status"], "points": p.points, "max": p.max}
            for c, p in zip(g.checks, self.parts, strict=False)
        ]
        mark = None if self.mark is None else dict(zip(Mark._fields[3:], self.mark[3:], strict=True))
        return {
            "student": g.student, "lab": g.lab, "exercise": g.exercise, "points": self.points, "max": self.max, "outcome": g.outcome,
            "flags": list(self.flags), "counts": self.factor, "by_hand": mark, "checks": checks,
        }  # fmt: skip


class Standing(NamedTuple):
    """The results that count in a folder of grades, and everything that is needed to show them.

    Attributes:
      folder: the folder of grades.
      labs: all labs that can be graded.
      sandbox: BUBBLEWRAP, or NONE if something was graded without a jail.
      handins: the hand-ins, in order.
      marks: the changes by hand, in order.
      people: what learning platforms call the students.
    """

    folder: pathlib.Path
    records: list[Record]
    policy: Policy
    labs: Sequence[Lab]
    sandbox: str
    handins: tuple[HandIn, ...] = ()
    marks: tuple[Mark, ...] = ()
    people: tuple[Person, ...] = ()

    @classmethod
    def of(cls, store: Store) -> Standing:
        """Return the results that count in a store, with the labs and the policy by which it was graded."""
        labs = labs_and_ladder(ROOT / "labs")
        policy = read_policy(pathlib.Path(name), labs) if (name := store.meta("policy")) else Policy()
        handins, marks = store.handins(), store.marks()
        records = standing(store.grades(), policy, labs, handins, marks)
        people = tuple(store.people())
        return cls(store.folder, records, policy, labs, store.meta("sandbox"), tuple(handins), tuple(marks), people)

    @property
    def warning(self) -> str:
        """UNSANDBOXED if something was graded without a jail, else ""."""
        return UNSANDBOXED if self.sandbox == NONE else ""

    @property
    def titles(self) -> dict[str, str]:
        """The titles of all exercises."""
        return {e.id: e.title for lab in self.labs for e in lab.exercises}

    @property
    def missing(self) -> list[Student]:
        """The students on the roster who have no record: they have handed in nothing, and have no mark by hand."""
        there = {r.grade.student for r in self.records}
        return [s for s in self.policy.roster if s.id not in there]

    @property
    def students(self) -> dict[str, Student]:
        """All students by their ids, with what the roster says about them, or else a learning platform."""
        said: dict[str, Student] = {}
        for person in self.people:
            known = said.get(person.student, Student(person.student))
            number = {f"{person.platform}_id": person.number} if person.platform in ("canvas", "moodle") else {}
            said[person.student] = known._replace(
                name=person.name or known.name, email=person.email or known.email, **number
            )
        for listed in self.policy.roster:
            own = said.get(listed.id, listed)
            said[listed.id] = Student(*(ours or theirs for ours, theirs in zip(listed, own, strict=True)))
        ids = dict.fromkeys([*(r.grade.student for r in self.records), *(s.id for s in self.missing)])
        return {id: said.get(id, Student(id)) for id in ids}

    def last_handins(self) -> dict[str, list[HandIn]]:
        """Return the last hand-in of each lab, by student."""
        found: dict[str, dict[str | None, HandIn]] = {}
        for handin in self.handins:
            found.setdefault(handin.student, {})[handin.lab] = handin
        return {student: sorted(last.values(), key=lambda h: h.id) for student, last in found.items()}

    def all_handins(self) -> dict[str, list[HandIn]]:
        """Return everything that was handed in, in order, by student."""
        found: dict[str, list[HandIn]] = {}
        for handin in self.handins:
            found.setdefault(handin.student, []).append(handin)
        return found

    def by_student(self) -> dict[str, list[Record]]:
        """Return the records by student."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.grade.student, []).append(record)
        return found


def standing(
    grades: Iterable[Grade],
    policy: Policy,
    labs: Sequence[Lab] = (),
    handins: Sequence[HandIn] = (),
    marks: Sequence[Mark] = (),
) -> list[Record]:
    """Return all records, by student, lab and exercise.

    Args:
      labs: the labs whose exercises share a lab's points; without labs each exercise has the points by which it was graded.
      handins: the hand-ins. A store of an older grader has none; then the times in `grades` count.
      marks: the changes by hand.
    """
    by_student: dict[str, list[Grade]] = {}
    for grade in grades:
        by_student.setdefault(grade.student, []).append(grade)
    handed_in: dict[str, list[HandIn]] = {}
    for handin in handins:
        handed_in.setdefault(handin.student, []).append(handin)
    last_marks: dict[str, dict[str, Mark]] = {}
    for mark in marks:
        last_marks.setdefault(mark.student, {})[mark.exercise] = mark
    worth = _worth(labs, policy)
    given = {g.lab for rows in by_student.values() for g in rows if g.lab is not None and not policy.is_extra(g.lab)}
    most = {lab.number: sum(worth[id] for id in lab.ids) / 100 for lab in labs if lab.number in given}
    records: list[Record] = []
    for student in sorted({*by_student, *last_marks}):
        rows = by_student.get(student, [])
        own = _of_student(rows, policy, worth, handed_in.get(student, [])) if rows else []
        own = _with_marks(student, own, last_marks.get(student, {}), labs, worth)
        records += _with_what_was_not_run(own, rows, most)
    return records


def _with_what_was_not_run(records: list[Record], rows: Sequence[Grade], most: Mapping[str, float]) -> list[Record]:
    """Return the records of a student, with one more before them if a submission could not be run at all. The added record stands for the
    last such submission, which may have been for a lab that the student lacks. So it is left out if the student has records of every lab
    in `most`: the labs that anybody has handed in, without bonus labs, with their points.
    """
    last = {key: row for row in rows for key in (row.submission, row.path)}
    whole = [
        row
        for row in rows
        if row.exercise is None and row is last[row.path if row.outcome == GradeStatus.INFRA else row.submission]
    ]
    there = {r.grade.lab for r in records}
    absent = round(sum(points for lab, points in most.items() if lab not in there), 2)
    if not whole or (records and not absent):
        return records
    newest = max(whole, key=lambda row: (row.outcome != GradeStatus.INFRA, row.id))
    return [
        Record(newest, None, absent if records else newest.max, newest.flags),
        *records,
    ]  # the new record has no points: a person decides how many it gets


def _worth(labs: Iterable[Lab], policy: Policy) -> dict[str, int]:
    """Return the maximum points of each exercise, in cents; the exercises of a lab sum to the lab's points."""
    found: dict[str, int] = {}
    for lab in labs:
        parts = [policy.points(e) for e in lab.exercises]
        own = policy.of_lab.get(lab.number, LabPolicy()).points
        found |= zip(lab.ids, split(cents(sum(parts) if own is None else own), parts), strict=True)
    return found


def _with_marks(
    student: str, records: list[Record], marks: Mapping[str, Mark], labs: Iterable[Lab], worth: Mapping[str, int]
) -> list[Record]:
    """Return the records with the changes by hand. A change may also be about an exercise that was not handed in."""
    if not marks:
        return records
    left = dict(marks)
    found = []
    for r in records:
        mark = left.pop(r.grade.exercise or "", None)
        if mark is not None:
            r = r._replace(mark=mark, points=r.points if mark.points is None else round(mark.points, 2))
        found.append(r)
    of = {e.id: lab.number for lab in labs for e in lab.exercises}
    for mark in left.values():
        if mark.points is not None:
            most = worth.get(mark.exercise, 0) / 100
            lab = of.get(mark.exercise)
            row = Grade(student, "", 0.0, "", lab, mark.exercise, GradeStatus.OK, "", None, most, at=mark.at)
            found.append(Record(row, round(mark.points, 2), most, (), mark=mark))
    return sorted(found, key=lambda r: (r.grade.lab or "", r.grade.exercise or ""))


class _Attempt(NamedTuple):
    """A hand-in of a lab: its place in the order, its time (None: its rows have it), and the rows of its submission."""

    order: tuple[int, int]
    handed_in: float | None
    rows: list[Grade]


def _of_student(rows: list[Grade], policy: Policy, worth: Mapping[str, int], handins: Sequence[HandIn]) -> list[Record]:
    last: dict[tuple[str, str | None], Grade] = {}
    for row in rows:  # the last row of a submission and an exercise counts, unless it is a fault of ours
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
        found += _of_lab(lab, attempts, policy, worth)
    if handins:
        places = {handin.lab: i for i, handin in enumerate(handins)}  # lab -> the place of its last hand-in
        not_run = places.get(None, -1)
    else:
        places = {row.lab: row.id for row in rows if row.exercise is not None}
        not_run = max((row.id for row in whole if row.outcome == GradeStatus.INVALID), default=-1)
    return [r._replace(flags=(*r.flags, _LATER)) if not_run > places.get(r.grade.lab, -1) else r for r in found]


def _attempts(
    by_submission: Mapping[str, list[Grade]], handins: Sequence[HandIn], rows: Sequence[Grade]
) -> list[_Attempt]:
    """Return the hand-ins of a lab that have grades. If the same functions are handed in several times in a row, the earliest time
    counts.
    """
    attempts = []
    known = {h.submission for h in handins}
    for row in rows:  # rows of an older grader, which did not store hand-ins
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


def _of_lab(lab: str, attempts: Sequence[_Attempt], policy: Policy, worth: Mapping[str, int]) -> list[Record]:
    scored = [a for a in attempts if any(r.outcome != GradeStatus.INFRA for r in a.rows)] or attempts
    candidates = []
    for attempt in scored:
        rows = sorted(attempt.rows, key=lambda r: r.exercise or "")
        if attempt.handed_in is not None:
            rows = [row._replace(handed_in=attempt.handed_in) for row in rows]
        records = _records(lab, rows, policy, worth)
        total = sum(r.points or 0.0 for r in records)
        candidates.append(((total if policy.attempts == "best" else 0.0), attempt.order, records))
    return max(candidates, key=lambda item: item[:2])[2]


def _records(lab: str, rows: Sequence[Grade], policy: Policy, worth: Mapping[str, int]) -> list[Record]:
    """Return the records of an attempt at a lab. The points that lateness leaves are shared among the checks that passed."""
    most = [_of_checks(row, policy, worth) for row in rows]
    earned = [[m if _passed(row, i) else 0 for i, m in enumerate(parts)] for row, parts in zip(rows, most, strict=True)]
    factors = [policy.factor(row.student, lab, row.handed_in) for row in rows]
    given: list[list[int]] = [[] for _ in rows]
    for factor in set(factors):  # a hand-in has one factor; only rows of an older grader may have several
        own = [i for i, f in enumerate(factors) if f == factor]
        flat = [part for i in own for part in earned[i]]
        left = iter(split(cents(factor * sum(flat) / 100), flat))
        for i in own:
            given[i] = [next(left) for _ in earned[i]]
    found = []
    for row, parts, points, factor in zip(rows, most, given, factors, strict=True):
        r = Record(row, None if row.points is None else sum(points) / 100, sum(parts) / 100, row.flags, factor=factor)
        shown = tuple(Part(p / 100, m / 100) for p, m in zip(points, parts, strict=True)) if row.checks else ()
        found.append(r._replace(parts=shown, flags=(*row.flags, r.late) if r.late else row.flags))
    return found


def _of_checks(row: Grade, policy: Policy, worth: Mapping[str, int]) -> list[int]:
    """Return the maximum points of each check of an exercise, in cents. If it has no checks, return two parts: the
    points that the row has, and the rest.
    """
    most = worth.get(row.exercise or "", cents(row.max))
    if not row.checks:
        part = row.points / row.max if row.points is not None and row.max else 0.0
        return split(most, [part, 1.0 - part])
    weights = policy.of_exercise.get(row.exercise or "", ExercisePolicy()).weights
    return split(most, [weights.get(check["name"], 1.0) for check in row.checks])


def _passed(row: Grade, i: int) -> bool:
    """Return whether part `i` of a row (`_of_checks`) gets points: whether this check passed. If the exercise has no checks,
    part 0 gets points and part 1 does not.
    """
    return bool(row.checks[i]["status"] == PASS) if row.checks else i == 0


def most_of_labs(sums: Mapping[str, Mapping[str, tuple[float | None, float]]]) -> dict[str, float]:
    """Return the maximum points of each lab that anybody has handed in, in order; `sums` is the result of `totals`."""
    found: dict[str, float] = {}
    for of_student in sums.values():
        for lab, (_, most) in of_student.items():
            found[lab] = max(most, found.get(lab, 0.0))
    return dict(sorted(found.items()))


def totals(records: Iterable[Record]) -> dict[str, dict[str, tuple[float | None, float]]]:
    """Return points and maximum points, by student and lab. The points are None if an exercise of the lab has no score. A student has no
    lab here if none of the student's work could be run.
    """
    found: dict[str, dict[str, tuple[float | None, float]]] = {}
    for record in records:
        labs = found.setdefault(record.grade.student, {})
        if record.grade.exercise is None or record.grade.lab is None:
            continue
        points, most = labs.get(record.grade.lab, (0.0, 0.0))
        added = None if points is None or record.points is None else round(points + record.points, 2)
        labs[record.grade.lab] = (added, round(most + record.max, 2))
    return found
