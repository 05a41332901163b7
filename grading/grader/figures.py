"""the grades that count (`standing`) -> numbers for the whole class, as tables: labs, exercises, checks, misconceptions"""

from __future__ import annotations

import collections
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from jitkit.kata.engine.statuses import Status

from .records import NAMES, PASS
from .standing import Record, Standing, most_of_labs, totals
from .tables import table

WRONG = {NAMES[status] for status in (Status.FAIL, Status.CRASH)}


class Spread(NamedTuple):
    """The results of a lab or an exercise, as shares of the points: the mean, and the quartiles (lower, median, upper)."""

    id: str
    title: str
    students: int
    mean: float
    lower: float
    median: float
    upper: float


class CheckFigures(NamedTuple):
    """The results of a check.

    Attributes:
      students: how many students' functions it ran on.
      passed: the share of these students that pass it.
      apart: how much larger this share is among the third of them with the most points in the course than among the third with the
        fewest; 0 for fewer than three students.
    """

    exercise: str
    name: str
    about: str
    hidden: bool
    students: int
    passed: float
    apart: float


def _spread(id: str, title: str, parts: Sequence[float]) -> Spread:
    quarters = statistics.quantiles(parts, method="inclusive") if len(parts) > 1 else [*parts, *parts, *parts]
    return Spread(id, title, len(parts), statistics.fmean(parts), *quarters)


def of_class(standing: Standing) -> list[float]:
    """Return, for each student, the points divided by the maximum of all labs that anybody has handed in. Points of a bonus lab count,
    but are not part of the maximum. Leave out students whose work could not be run at all.
    """
    sums = totals(standing.records)
    whole = sum(points for lab, points in most_of_labs(sums).items() if not standing.policy.is_extra(lab))
    marked = (found for found in sums.values() if found)
    return [sum(points or 0.0 for points, _ in found.values()) / whole if whole else 0.0 for found in marked]


def of_labs(standing: Standing) -> list[Spread]:
    """Return the spread of each lab among the students who handed it in and have a score."""
    parts: dict[str, list[float]] = {}
    for found in totals(standing.records).values():
        for lab, (points, most) in found.items():
            if points is not None and most:
                parts.setdefault(lab, []).append(points / most)
    titles = {lab.number: lab.title for lab in standing.labs}
    return [_spread(lab, titles.get(lab, ""), parts[lab]) for lab in sorted(parts)]


def of_exercises(standing: Standing) -> list[Spread]:
    """Return the spread of each exercise by the checks that passed: before the deduction for lateness, and without changes by hand."""
    parts: dict[str, list[float]] = {}
    for r in standing.records:
        if r.grade.exercise is not None and r.parts:
            passed = sum(p.max for p, c in zip(r.parts, r.grade.checks, strict=True) if c["status"] == PASS)
            parts.setdefault(r.grade.exercise, []).append(passed / r.max if r.max else 0.0)
    titles = standing.titles
    return [_spread(id, titles.get(id, ""), parts[id]) for id in sorted(parts)]


def of_checks(standing: Standing) -> list[CheckFigures]:
    """Return the figures of all checks; the check that fewest students pass comes first."""
    got: collections.defaultdict[str, float] = collections.defaultdict(float)
    seen: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    about: dict[tuple[str, str], tuple[str, bool]] = {}
    for r in standing.records:
        got[r.grade.student] += r.points or 0.0
        for c in r.grade.checks:
            key = (r.grade.exercise or "", c["name"])
            seen.setdefault(key, []).append((r.grade.student, c["status"] == PASS))
            about[key] = c["about"], c["hidden"]
    found = []
    for (exercise, name), each in seen.items():
        each.sort(key=lambda pair: got[pair[0]])
        third = len(each) // 3
        apart = (sum(ok for _, ok in each[-third:]) - sum(ok for _, ok in each[:third])) / third if third else 0.0
        passed = sum(ok for _, ok in each) / len(each)
        found.append(CheckFigures(exercise, name, *about[exercise, name], len(each), passed, apart))
    return sorted(found, key=lambda f: (f.passed, f.exercise, f.name))


def beliefs(records: Sequence[Record]) -> list[tuple[int, str, str]]:
    """Return the misconceptions that most students seem to have, at most twenty: the number of students who fail a check against
    the misconception, the exercise, and the misconception. (One failed check does not prove that a student has it.)
    """
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    for r in records:
        if r.grade.sentence:
            continue
        failed = (c for c in r.grade.checks if c["status"] in WRONG)
        believed = dict.fromkeys(text for c in failed for text in c["against"])
        count.update((r.grade.exercise or "", text) for text in believed)
    return [(n, exercise, text) for (exercise, text), n in count.most_common(20)]


def to_statistics(standing: Standing) -> str:
    """Return the figures as CSV: a row for each lab, exercise and check; shares in percent."""
    head = [
        "what",
        "id",
        "title",
        "students",
        "mean",
        "lower quartile",
        "median",
        "upper quartile",
        "passed",
        "better third more by",
    ]
    rows: list[list[object]] = []
    for what, found in (("lab", of_labs(standing)), ("exercise", of_exercises(standing))):
        rows += [[what, s.id, s.title, s.students, *(round(100 * x, 1) for x in s[3:]), "", ""] for s in found]
    for c in of_checks(standing):
        shares = [round(100 * c.passed, 1), round(100 * c.apart, 1)]
        rows.append(
            ["hidden check" if c.hidden else "check", f"{c.exercise} {c.name}", c.about, c.students, *[""] * 4, *shares]
        )
    return table([head, *rows])
