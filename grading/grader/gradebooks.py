"""standing grades -> other gradebooks: Canvas, Moodle, Gradescope, nbgrader

The roster says what a platform calls a student (`canvas_id`, `sis_id`, `login`, `moodle_id`), or else the platform's own
zip does (`handed_over`). For Canvas and Moodle, a student who has not handed in has a line without marks, and the platform
decides what that means; Gradescope and nbgrader get nothing about this student.
"""

from __future__ import annotations

import datetime
import importlib
import pathlib
from collections.abc import Sequence
from typing import Any

from jitkit.kata.engine.manifest import Lab

from ..shared import cell_id
from .files import file_name
from .handed_over import participant
from .policy import LabPolicy
from .records import PASS, GradeStatus, HandIn
from .roster import Student
from .rungs import Ladder
from .standing import Record, Standing, most_of_labs, totals
from .tables import ExportError, as_json, table, told, what_was_taken


def to_canvas(standing: Standing) -> str:
    """Return Canvas' gradebook as CSV: a line for each student, a column for each lab. A cell without a score is empty."""
    by_student = totals(standing.records)
    most = most_of_labs(by_student)
    labs = list(most)
    note = f" ({standing.warning})" if standing.warning else ""
    policies = {lab: standing.policy.of_lab.get(lab, LabPolicy()) for lab in labs}
    ids = {lab: "" if p.canvas_id is None else f" ({p.canvas_id})" for lab, p in policies.items()}
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(f"Lab {lab}{note}{ids[lab]}" for lab in labs)]
    possible = [0 if policies[lab].extra else most[lab] for lab in labs]
    rows: list[list[Any]] = [head, ["    Points Possible", "", "", "", "", *possible]]
    for id, s in standing.students.items():
        found = by_student.get(id, {})
        login = s.login or (id if not s.canvas_id and not s.sis_id else "")
        points = (found.get(lab, (None, 0))[0] for lab in labs)
        rows.append([s.name or id, s.canvas_id, s.sis_id, login, "", *points])
    return table(rows)


# Moodle refuses a worksheet without the columns for the number, the grade, and when the grade was given. It keeps a grade that
# was changed in Moodle after this time.
_MOODLE = (
    "Identifier", "Full name", "Email address", "Grade", "Maximum Grade", "Last modified (grade)", "Feedback comments",
)  # fmt: skip


def to_moodle(standing: Standing, folder: pathlib.Path) -> str:
    """Write a grading worksheet for each lab: a line for each student, as a Moodle assignment takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    by_student = standing.by_student()
    sums = totals(standing.records)
    labs = most_of_labs(sums)
    for lab, most in labs.items():
        rows: list[Sequence[Any]] = [_MOODLE]
        for id, s in standing.students.items():
            graded = [r for r in by_student.get(id, ()) if r.grade.lab == lab]
            own = graded or [r for r in by_student.get(id, ()) if r.grade.lab is None]  # None: nothing was run
            points = sums.get(id, {}).get(lab, (None, 0.0))[0]
            numbers = [found for r in graded if (found := participant(r.grade.path))]
            number = numbers[0] if numbers else s.moodle_id.removeprefix("Participant ")
            at = max((r.grade.at if r.mark is None else r.mark.at for r in graded), default="")
            comments = [standing.warning]
            comments += [f"{r.grade.exercise}: {_in_short(r)}" if r.grade.exercise else r.grade.sentence for r in own]
            said = "; ".join(c for c in comments if c)
            rows.append([f"Participant {number}" if number else id, s.name or id, s.email, points, most, at, said])
        (folder / f"lab_{lab}.csv").write_text(table(rows), encoding="utf-8")
    return f"{folder}: {len(labs)} worksheets, one a lab."


def _in_short(record: Record) -> str:
    """Return a record in a line: its points, and the remarks about them."""
    points = "no score yet" if record.points is None else f"{record.points:g} of {record.max:g}"
    said = [points, record.late, record.by_hand, record.grade.sentence if not record.grade.checks else ""]
    return ", ".join(text for text in said if text)


def to_gradescope(standing: Standing, folder: pathlib.Path) -> str:
    """Write a `results.json` for each student, named after the student."""
    folder.mkdir(parents=True, exist_ok=True)
    by_student = standing.by_student()
    handins = standing.last_handins()
    for student, own in by_student.items():
        text = gradescope_results(own, standing.warning, handins.get(student, ()))
        (folder / f"{file_name(student)}.json").write_text(text, encoding="utf-8")
    return f"{folder}: {len(by_student)} results.json, one a student."


def gradescope_results(records: Sequence[Record], warning: str, handins: Sequence[HandIn] = ()) -> str:
    """Return one student's `results.json`: an entry for each check (for a hidden one its sentence and its verdict only), and the files
    that were graded and that were not. If the grader had a fault in one exercise, there is no score and no entry.
    """
    tests: list[dict[str, Any]] = []
    for r in records:
        g = r.grade
        name = g.exercise or "submission"
        if not r.parts:
            text = ". ".join(t for t in (g.sentence, r.by_hand) if t) or "nothing of it was run"
            tests.append(
                {"name": name, "score": r.points or 0.0, "max_score": r.max, "output": text, "output_format": "text"}
            )
            continue
        for part, check in zip(r.parts, g.checks, strict=True):
            tests.append({
                "name": f"{name} {check['about']}",
                "score": part.points,
                "max_score": part.max,
                "status": "passed" if check["status"] == PASS else "failed",
                "output": "\n".join(text for text in (told(check), r.late) if text),
                "output_format": "text",
                "visibility": "after_published" if check["hidden"] else "visible",
            })  # fmt: skip
        if r.mark is not None:
            more = round((r.points or 0.0) - (r.graded or 0.0), 2)
            tests.append(
                {
                    "name": f"{name} by hand",
                    "score": more,
                    "max_score": 0.0,
                    "output": r.by_hand,
                    "output_format": "text",
                }
            )
    data: dict[str, Any] = {"score": round(sum(r.points or 0.0 for r in records), 2), "tests": tests}
    if any(r.points is None and r.grade.outcome == GradeStatus.INFRA for r in records):
        data = {"output": "The grader had a fault. There is no score yet; this will be graded again.", "tests": []}
    said = [warning, data.get("output", ""), what_was_taken(handins)]
    if output := "\n".join(text for text in said if text):
        data["output"] = output
    return as_json(data)


def to_nbgrader(standing: Standing, gradebook: pathlib.Path) -> str:
    """Write points into nbgrader's gradebook, check by check; return a sentence that says how many submissions are written. Only one
    process may do this: nbgrader's database does not allow several writers.

    Raise ExportError if nbgrader is not installed, there is no such file, or a check has no cell in the gradebook. If the gradebook
    lacks the assignment of a lab, write all other labs, and then raise ExportError.
    """
    try:
        api: Any = importlib.import_module("nbgrader.api")
    except ImportError:
        raise ExportError('nbgrader is not installed; in your clone: pip install -e ".[nbgrader]"') from None
    if not gradebook.is_file():
        raise ExportError(
            f"there is no {gradebook}: name the gradebook.db of your course, whose assignments nbgrader has generated"
        )
    written: set[tuple[str, str]] = set()
    missing: list[str] = []
    with api.Gradebook(f"sqlite:///{gradebook.absolute()}") as book:
        for lab in standing.labs:
            if isinstance(lab, Ladder):
                continue  # nbgrader has no assignment for it
            mine = [r for r in standing.records if r.grade.lab == lab.number and r.points is not None]
            if not mine:
                continue
            try:
                book.find_assignment(lab.name)
            except api.MissingEntry:
                missing.append(lab.name)
                continue
            for student in dict.fromkeys(r.grade.student for r in mine):
                book.update_or_create_student(student, **_named(standing.students[student]))
                book.update_or_create_submission(lab.name, student)
                written.add((lab.name, student))
            for r in mine:
                _fill(book, api, lab, r)
            book.db.flush()
            for student in dict.fromkeys(r.grade.student for r in mine):
                _say_when(book, lab, student, [r for r in mine if r.grade.student == student])
        book.db.commit()
    if missing:
        raise ExportError(
            f"{len(written)} submissions are written; the gradebook has no assignment {', '.join(missing)}: "
            f"`nbgrader generate_assignment {missing[0]}`, and export again"
        )
    return f"{gradebook}: {len(written)} submissions. {standing.warning}".rstrip()


def _named(student: Student) -> dict[str, str]:
    """Return a student's first name, last name and email, under nbgrader's names; leave out those that we do not know."""
    first, _, last = student.name.rpartition(" ")
    return {k: v for k, v in {"first_name": first, "last_name": last, "email": student.email}.items() if v}


def _fill(book: Any, api: Any, lab: Lab, record: Record) -> None:
    """Give the cell of each check all of its points if the check passes, else 0. What a mark by hand changes becomes extra
    credit of the first cell. Raise ExportError if a check has no cell.
    """
    g = record.grade
    exercise = lab.exercise(g.exercise or "")
    grades = []
    for check in g.checks:
        name = cell_id("hidden" if check["hidden"] else "check", exercise, check["name"])
        try:
            grade = book.find_grade(name, lab.name, lab.name, g.student)
        except api.MissingEntry:
            raise ExportError(
                f"the gradebook has no cell {name}: build the course anew, with the labs of today"
            ) from None
        grade.auto_score = grade.max_score if check["status"] == PASS else 0.0
        grade.extra_credit = 0.0
        grade.needs_manual_grade = False
        grades.append(grade)
    if grades and record.mark is not None and record.mark.points is not None and record.max:
        most = sum(grade.max_score for grade in grades)
        got = sum(grade.auto_score for grade in grades)
        grades[0].extra_credit = round(most * record.mark.points / record.max - got * record.factor, 6)


def _say_when(book: Any, lab: Lab, student: str, records: Sequence[Record]) -> None:
    """Write when a submission was handed in, and what lateness takes off each notebook."""
    submission = book.find_submission(lab.name, student)
    handed_in = max(r.grade.handed_in for r in records)
    submission.timestamp = datetime.datetime.fromtimestamp(handed_in, datetime.UTC).replace(tzinfo=None)
    factor = min(r.factor for r in records)
    for notebook in submission.notebooks:
        raw = sum(grade.auto_score or 0.0 for grade in notebook.grades)
        notebook.late_submission_penalty = round(raw * (1.0 - factor), 6)
