"""a grade -> why it is what it is: its checks, flags and marks, and its verdict computed again"""

from __future__ import annotations

import pathlib

from .grade import Grader
from .jail import BUBBLEWRAP
from .policy import name_of
from .records import PASS, Grade, ItemStatus
from .standing import Standing
from .store import Store
from .tables import told
from .trials import Settings


def explain(student: str, exercise: str, grades: pathlib.Path) -> int:
    """Print what is known of a student's grade of an exercise, its checks, and whether the grader says the same again; return 0.
    Raise LookupError if there is no such grade.
    """
    with Store(grades) as store:
        standing = Standing.of(store)
        mine = [r for r in standing.records if r.grade.student == student]
        found = next((r for r in mine if r.grade.exercise == exercise), None)
        if found is None:
            names = sorted({r.grade.student for r in standing.records})
            what = (
                f"{student} has no grade of {exercise}"
                if mine
                else f"there is no student {student!r}; there are {', '.join(names[:20])}"
            )
            raise LookupError(what)
        g = found.grade
        print(f"{student} {exercise}: {found.points} of {found.max} points, {g.outcome}. {g.sentence}")
        print(f"  submission {g.submission} at {g.path}, graded {g.at}")
        for name, value in store.provenance(g.result).items():
            print(f"  {name}: {value}")
        for flag in found.flags:
            print(f"  flag: {flag}")
        for m in standing.marks:
            if (m.student, m.exercise) == (student, exercise):
                print(
                    f"  by hand, {m.at}, {m.by}: {'as graded' if m.points is None else f'{m.points:g}'}. {m.reason}. {m.comment}"
                )
        again = _replayed(store, standing, g)
    for check in g.checks:
        print(f"  {check['status']:5} {check['name']}{' (hidden)' if check['hidden'] else ''}: {check['about']}")
        if check["status"] != PASS:
            print("\n".join(f"        {line}" for line in told(check | {"hidden": False}).splitlines()))
    print(f"  {again}")
    return 0


def _replayed(store: Store, standing: Standing, g: Grade) -> str:
    """Compute the verdict again with the same seed; return a sentence that says whether it is the same, or why it cannot be computed."""
    path = pathlib.Path(g.path)
    if g.exercise is None or not path.exists():
        return "It cannot be replayed: the submission is not there any more."
    backend = store.provenance(g.result).get("sandbox", BUBBLEWRAP)
    settings = Settings(
        int(store.meta("seed")),
        store.meta("seed_id"),
        standing.policy.limits,
        standing.policy.submission_seconds,
        backend,
        name_of(standing.policy.timezone),
    )
    grader = Grader(standing.labs, settings, store.expected)
    workers = grader.workers()
    try:
        item = workers.read(path, [g.lab or ""])["exercises"].get(g.exercise)
        if item is None or (item["status"] in (ItemStatus.MISSING, ItemStatus.INVALID) and g.checks and not g.sentence):
            return "It cannot be replayed: the submission has been changed."
        exercise = next(lab for lab in standing.labs if lab.number == g.lab).exercise(g.exercise)
        result = grader.result(workers, exercise, item, path, float("inf"), lambda: True)
    finally:
        workers.close()
    same = [c["status"] for c in result.checks] == [c["status"] for c in g.checks]
    told = " ".join(c["status"] for c in result.checks)
    return f"Replayed now: {'the same verdicts' if same else f'other verdicts: {told}'}."
