"""what stands -> files for others: a format is a row of `EXPORTS`

Names and sentences come from students. Cells of tables never begin a formula, XML has no markup of theirs, control characters are
gone.
Where grades were made without the jail, every export says so.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.junit import Case, Suite, junit
from jitkit.kata.engine.manifest import Lab

from ..shared import cell_id, shares
from .files import file_name
from .records import PASS, GradeStatus
from .rungs import Ladder
from .standing import Record, Standing, totals
from .store import HandIn


class ExportError(Exception):
    """An export that cannot be made, and why."""


class Export(NamedTuple):
    """A format: it has a text, or else writes something at a path.

    Attributes:
      help: what it writes, in a line.
      text: makes the text of one file, which goes to the screen without `--output`.
      write: writes at a path, and returns what to say about that.
      default: that path without `--output`; DIR is the folder of grades.
    """

    help: str
    text: Callable[[Standing], str] | None = None
    write: Callable[[Standing, pathlib.Path], str] | None = None
    default: str = ""


def cell(value: Any) -> str:
    """A value as a cell of a table: text that a spreadsheet does not run."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:g}"
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return f"'{text}" if re.match(r"\s*[=+\-@|%]", text) else text


def table(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([cell(x) for x in row] for row in rows)
    return stream.getvalue()


def to_json(standing: Standing) -> str:
    """The records, each with its flags."""
    flags = (standing.warning,) if standing.warning else ()
    records = [r._replace(flags=(*r.flags, *flags)).as_data() for r in standing.records]
    return _json({"grades": records})


def to_csv(standing: Standing) -> str:
    """A row for each record."""
    head = [
        "student",
        "lab",
        "exercise",
        "points",
        "max",
        "outcome",
        "checks passed",
        "checks",
        "flags",
        "reason",
        "sandbox",
    ]
    rows = []
    for r in standing.records:
        g = r.grade
        passed = sum(check["status"] == PASS for check in g.checks)
        reason = g.sentence or "; ".join(f"{c['name']}: {c['status']}" for c in g.checks if c["status"] != PASS)
        how = standing.warning or standing.sandbox
        flags = "; ".join(r.flags)
        rows.append(
            [g.student, g.lab, g.exercise, r.points, r.max, g.outcome, passed, len(g.checks), flags, reason[:500], how]
        )
    return table([head, *rows])


def to_canvas(standing: Standing) -> str:
    """Canvas' gradebook: a line a student, a column a lab. A cell is empty where there is no score."""
    by_student = totals(standing.records)
    labs = sorted({lab for found in by_student.values() for lab in found})
    most = {lab: max(found[lab][1] for found in by_student.values() if lab in found) for lab in labs}
    note = f" ({standing.warning})" if standing.warning else ""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(f"Lab {lab}{note}" for lab in labs)]
    names = {s.id: s.name for s in standing.policy.roster}
    rows: list[list[Any]] = [head, ["    Points Possible", "", "", "", "", *(most[lab] for lab in labs)]]
    for student, found in by_student.items():
        rows.append(
            [names.get(student) or student, "", student, student, "", *(found.get(lab, (None, 0))[0] for lab in labs)]
        )
    return table(rows)


def to_gradescope(standing: Standing, folder: pathlib.Path) -> str:
    """A `results.json` for each student, each called after the student."""
    folder.mkdir(parents=True, exist_ok=True)
    by_student = standing.by_student()
    handins = standing.last_handins()
    for student, own in by_student.items():
        text = gradescope_results(own, standing.warning, handins.get(student, ()))
        (folder / f"{file_name(student)}.json").write_text(text, encoding="utf-8")
    return f"{folder}: {len(by_student)} results.json, one a student."


def gradescope_results(records: Sequence[Record], warning: str, handins: Sequence[HandIn] = ()) -> str:
    """`results.json` of one student: an entry for each check, hidden ones by their sentence only; what was taken, and what was not."""
    tests: list[dict[str, Any]] = []
    for r in records:
        g = r.grade
        if not g.checks:
            text = g.sentence or "nothing of it was run"
            tests.append(
                {
                    "name": g.exercise or "submission",
                    "score": r.points or 0.0,
                    "max_score": r.max,
                    "output": text,
                    "output_format": "text",
                }
            )
            continue
        each = shares(1 << 20, len(g.checks))
        for share, check in zip(each, g.checks, strict=True):
            most = r.max * share / (1 << 20)
            # lateness and the lab's weight are in the points of the record
            full = (r.points or 0.0) / g.points if g.points else 0.0
            scale = full * g.max / r.max if r.max else 0.0
            tests.append({
                "name": f"{g.exercise} {check['about']}",
                "score": round(most * scale, 4) if check["status"] == PASS else 0.0,
                "max_score": round(most, 4),
                "status": "passed" if check["status"] == PASS else "failed",
                "output": told(check),
                "output_format": "text",
                "visibility": "after_published" if check["hidden"] else "visible",
            })  # fmt: skip
    data: dict[str, Any] = {"score": round(sum(r.points or 0.0 for r in records), 4), "tests": tests}
    if any(r.points is None for r in records):
        data = {"output": "The grader had a fault. This is no score; it will be graded again.", "tests": []}
    said = [warning, data.get("output", ""), what_was_taken(handins)]
    if output := "\n".join(text for text in said if text):
        data["output"] = output
    return _json(data)


def _json(data: Any) -> str:
    """JSON for UTF-8, which has no place for lone surrogates."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")


def what_was_taken(handins: Sequence[HandIn]) -> str:
    """The files that were taken of a student's last hand-ins, and those that were passed over, a line each."""
    lines = [f"taken for lab {h.lab}: {', '.join(h.taken) or 'nothing'}" for h in handins if h.lab is not None]
    passed = dict.fromkeys(pair for h in handins[-1:] for pair in h.passed)
    return "\n".join([*lines, *(f"passed over: {path} ({why})" for path, why in passed)])


def told(check: dict[str, Any]) -> str:
    """What a student is told of a check: a public one in full, a hidden one by its verdict only."""
    if check["hidden"] or check["status"] == PASS:
        return str(check["status"])
    lines = [f"{check['status']}: {check['sentence']}"]
    if check["line"] is not None:
        lines.append(f"{check['line'][0]}:{check['line'][1]}")
    if "expected" in check:
        lines += [f"at {check['where']}", f"expected: {check['expected']}", f"yours: {check['actual']}"]
    if check.get("output"):
        lines.append(f"printed: {check['output']}")
    return "\n".join(lines)


def to_junit(standing: Standing) -> str:
    """A suite for each exercise of each student, a case for each check."""
    return junit(f"jitkit ({standing.warning})" if standing.warning else "jitkit", map(_suite, standing.records))


def _suite(record: Record) -> Suite:
    g = record.grade
    name = f"{g.student} {g.exercise or 'submission'}"
    cases = g.checks or ({"name": "submission", "status": g.outcome, "sentence": g.sentence, "seconds": 0.0},)
    return Suite(name, name, [_case(check) for check in cases])


def _case(check: Mapping[str, Any]) -> Case:
    if check["status"] in (PASS, GradeStatus.OK):
        return Case(check["name"], check["seconds"])
    outcome = "error" if check["status"] == GradeStatus.INFRA else "failure"
    return Case(check["name"], check["seconds"], outcome, check["status"], check["sentence"])


def to_nbgrader(standing: Standing, gradebook: pathlib.Path) -> str:
    """Writes points into nbgrader's gradebook, check by check. One process does it: nbgrader's database does not like many."""
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
                book.update_or_create_student(student)
                book.update_or_create_submission(lab.name, student)
                written.add((lab.name, student))
            for r in mine:
                _fill(book, api, lab, r)
        book.db.commit()
    if missing:
        raise ExportError(
            f"{len(written)} submissions are written; the gradebook has no assignment {', '.join(missing)}: "
            f"`nbgrader generate_assignment {missing[0]}`, and export again"
        )
    return f"{gradebook}: {len(written)} submissions. {standing.warning}".rstrip()


def _fill(book: Any, api: Any, lab: Lab, record: Record) -> None:
    g = record.grade
    exercise = lab.exercise(g.exercise or "")
    scale = (record.points or 0.0) / g.points if g.points else 0.0
    for share, check in zip(shares(exercise.points, len(g.checks)), g.checks, strict=True):
        name = cell_id("hidden" if check["hidden"] else "check", exercise, check["name"])
        try:
            grade = book.find_grade(name, lab.name, lab.name, g.student)
        except api.MissingEntry:
            raise ExportError(
                f"the gradebook has no cell {name}: build the course anew, with the labs of today"
            ) from None
        grade.auto_score = share * scale if check["status"] == PASS else 0.0
        grade.needs_manual_grade = False


# --- the table --------------------------------------------------------------------------------------------------------

EXPORTS: dict[str, Export] = {
    "json": Export("a record for each student and exercise, for programs of your own", text=to_json),
    "csv": Export("a line for each student and exercise, with flags and reasons", text=to_csv),
    "canvas": Export("a gradebook that Canvas imports: a line a student, a column a lab", text=to_canvas),
    "gradescope": Export("Gradescope's results.json, a file a student", write=to_gradescope, default="DIR/gradescope"),
    "junit": Export("JUnit XML: a suite for each exercise of each student", text=to_junit),
    "nbgrader": Export(
        "points, check by check, into your course's gradebook", write=to_nbgrader, default="gradebook.db"
    ),
}


def export(name: str, standing: Standing, output: pathlib.Path | None) -> None:
    """Writes a format of `EXPORTS` at a path, or where it goes without one. ExportError where that cannot be."""
    row = EXPORTS[name]
    if row.write is not None:
        print(row.write(standing, output or pathlib.Path(row.default.replace("DIR", str(standing.folder)))))
    elif row.text is not None:
        text = row.text(standing)
        if output is None:
            sys.stdout.write(text)
        else:
            output.write_text(text, encoding="utf-8")


def lines_of_formats() -> list[str]:
    """The formats as lines of `export --help` and of docs/instructors.md: name, what it writes, where without `--output`."""
    return [f"{name:<11} {row.help} ({row.default or 'the screen'})" for name, row in EXPORTS.items()]
