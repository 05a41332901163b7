"""standing grades -> files for others: a format is a row of `EXPORTS`

`gradebooks` has the formats for other programs' gradebooks. If grades were made without the jail, every export says so.
"""

from __future__ import annotations

import datetime
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jitkit.kata.engine.junit import Case, Suite, junit

from .figures import to_statistics
from .gradebooks import to_canvas, to_gradescope, to_moodle, to_nbgrader
from .records import PASS, GradeStatus
from .standing import Record, Standing
from .tables import as_json, table


class Export(NamedTuple):
    """A format: either `text` or `write` is set.

    Attributes:
      help: what it writes, in a line.
      text: makes the text of one file; without `--output` it goes to the screen.
      write: writes files at a path, and returns a sentence about it.
      default: the path if there is no `--output`; DIR is the folder of grades.
    """

    help: str
    text: Callable[[Standing], str] | None = None
    write: Callable[[Standing, pathlib.Path], str] | None = None
    default: str = ""


def to_json(standing: Standing) -> str:
    """Return the records as JSON, each with its flags, and, if there is a roster, the students who never handed in."""
    flags = (standing.warning,) if standing.warning else ()
    records = [r._replace(flags=(*r.flags, *flags)).as_data() for r in standing.records]
    missing = {"never_handed_in": [s.id for s in standing.missing]} if standing.policy.roster else {}
    return as_json({"grades": records} | missing)


_COLUMNS = (
    "student", "lab", "exercise", "points", "max", "outcome", "checks passed", "checks", "flags", "reason", "sandbox", "name",
    "handed in", "by hand",
)  # fmt: skip


def to_csv(standing: Standing) -> str:
    """Return CSV with a row for each record, and one for each student who never handed in."""
    rows: list[list[Any]] = []
    names = {id: s.name for id, s in standing.students.items()}
    how = standing.warning or standing.sandbox
    for r in standing.records:
        g = r.grade
        passed = sum(check["status"] == PASS for check in g.checks)
        reason = g.sentence or "; ".join(f"{c['name']}: {c['status']}" for c in g.checks if c["status"] != PASS)
        when = datetime.datetime.fromtimestamp(g.handed_in, standing.policy.timezone).isoformat(" ", "seconds")
        rows.append([
            g.student, g.lab, g.exercise, r.points, r.max, g.outcome, passed, len(g.checks), "; ".join(r.flags), reason[:500], how,
            names[g.student], when if g.handed_in else "", r.by_hand,
        ])  # fmt: skip
    rows += [[s.id, *[""] * 4, "NEVER HANDED IN", *[""] * 4, how, s.name, "", ""] for s in standing.missing]
    return table([_COLUMNS, *rows])


def to_junit(standing: Standing) -> str:
    """Return JUnit XML with a suite for each exercise of each student, and in it a case for each check."""
    return _junit(standing, standing.records)


def to_junit_for_students(standing: Standing) -> str:
    """Return what `to_junit` does, without hidden checks: for a log that students see."""
    public = [
        r._replace(grade=r.grade._replace(checks=tuple(c for c in r.grade.checks if not c["hidden"])))
        for r in standing.records
    ]
    return _junit(
        standing,
        [r for r, whole in zip(public, standing.records, strict=True) if r.grade.checks or not whole.grade.checks],
    )


def _junit(standing: Standing, records: list[Record]) -> str:
    return junit(f"jitkit ({standing.warning})" if standing.warning else "jitkit", map(_suite, records))


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


# --- the table --------------------------------------------------------------------------------------------------------

EXPORTS: dict[str, Export] = {
    "json": Export("a record for each student and exercise, for programs of your own", text=to_json),
    "csv": Export("a line for each student and exercise, with flags and reasons", text=to_csv),
    "canvas": Export("a gradebook that Canvas imports: a line for each student, a column for each lab", text=to_canvas),
    "moodle": Export("grading worksheets for Moodle, a file for each lab", write=to_moodle, default="DIR/moodle"),
    "gradescope": Export(
        "Gradescope's results.json, a file for each student", write=to_gradescope, default="DIR/gradescope"
    ),
    "junit": Export("JUnit XML: a suite for each exercise of each student, with hidden checks: for you", text=to_junit),
    "junit-students": Export("the same without hidden checks: for logs that students see", text=to_junit_for_students),
    "statistics": Export("figures of the class: labs, exercises, checks, as a table", text=to_statistics),
    "nbgrader": Export(
        "points, check by check, into your course's gradebook", write=to_nbgrader, default="gradebook.db"
    ),
}


def export(name: str, standing: Standing, output: pathlib.Path | None) -> None:
    """Write a format of `EXPORTS` at a path; without a path, at the format's default place or, if it has a `text`, to the screen. Raise
    OSError if a file cannot be written; a format may raise ExportError.
    """
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
    """Return a line for each format, for `export --help` and docs/instructors.md: its name, what it writes, and where
    it is written if there is no `--output`.
    """
    return [f"{name:<14} {row.help} ({row.default or 'the screen'})" for name, row in EXPORTS.items()]
