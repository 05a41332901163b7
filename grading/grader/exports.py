"""what stands -> files for others: json, csv, canvas, gradescope, junit, nbgrader

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
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from typing import Any

from jitkit.kata.engine.manifest import Lab

from ..course import shares
from ..notebooks import cell_id
from .policy import Policy
from .standing import Record, totals

UNSANDBOXED = "graded without a sandbox: a submission could do what it liked"


class ExportError(Exception):
    """An export that cannot be made, and why."""


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


def to_csv(records: Sequence[Record], sandbox: str) -> str:
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
    for r in records:
        g = r.grade
        passed = sum(check["status"] == "PASS" for check in g.checks)
        reason = g.sentence or "; ".join(f"{c['name']}: {c['status']}" for c in g.checks if c["status"] != "PASS")
        how = UNSANDBOXED if sandbox == "none" else sandbox
        flags = "; ".join(r.flags)
        rows.append(
            [g.student, g.lab, g.exercise, r.points, r.max, g.outcome, passed, len(g.checks), flags, reason[:500], how]
        )
    return table([head, *rows])


def to_canvas(records: Sequence[Record], policy: Policy, sandbox: str) -> str:
    """Canvas' gradebook: a line a student, a column a lab. A cell is empty where there is no score."""
    by_student = totals(records)
    labs = sorted({lab for found in by_student.values() for lab in found})
    most = {lab: max(found[lab][1] for found in by_student.values() if lab in found) for lab in labs}
    note = f" ({UNSANDBOXED})" if sandbox == "none" else ""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(f"Lab {lab}{note}" for lab in labs)]
    names = {s.id: s.name for s in policy.roster}
    rows: list[list[Any]] = [head, ["    Points Possible", "", "", "", "", *(most[lab] for lab in labs)]]
    for student, found in by_student.items():
        rows.append(
            [names.get(student) or student, "", student, student, "", *(found.get(lab, (None, 0))[0] for lab in labs)]
        )
    return table(rows)


def gradescope_results(records: Sequence[Record], sandbox: str) -> str:
    """`results.json` of one student: an entry for each check, hidden ones by their sentence only."""
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
                "score": round(most * scale, 4) if check["status"] == "PASS" else 0.0,
                "max_score": round(most, 4),
                "status": "passed" if check["status"] == "PASS" else "failed",
                "output": told(check),
                "output_format": "text",
                "visibility": "after_published" if check["hidden"] else "visible",
            })  # fmt: skip
    data: dict[str, Any] = {"score": round(sum(r.points or 0.0 for r in records), 4), "tests": tests}
    if any(r.points is None for r in records):
        data = {"output": "The grader had a fault. This is no score; it will be graded again.", "tests": []}
    if sandbox == "none":
        data["output"] = UNSANDBOXED
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def told(check: dict[str, Any]) -> str:
    """What a student is told of a check: a public one in full, a hidden one by its verdict only."""
    if check["hidden"] or check["status"] == "PASS":
        return str(check["status"])
    lines = [f"{check['status']}: {check['sentence']}"]
    if check["line"] is not None:
        lines.append(f"{check['line'][0]}:{check['line'][1]}")
    if "expected" in check:
        lines += [f"at {check['where']}", f"expected: {check['expected']}", f"yours: {check['actual']}"]
    if check.get("output"):
        lines.append(f"printed: {check['output']}")
    return "\n".join(lines)


def to_junit(records: Sequence[Record], sandbox: str) -> str:
    """A suite for each exercise of each student, a case for each check."""
    root = ElementTree.Element("testsuites", name=f"jitkit ({UNSANDBOXED})" if sandbox == "none" else "jitkit")
    for r in records:
        g = r.grade
        name = _xml(f"{g.student} {g.exercise or 'submission'}")
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        cases = g.checks or (
            {"name": "submission", "status": g.outcome, "sentence": g.sentence, "hidden": False, "seconds": 0.0},
        )
        failures = errors = 0
        for check in cases:
            case = ElementTree.SubElement(
                suite, "testcase", classname=name, name=_xml(check["name"]), time=str(check["seconds"])
            )
            if check["status"] in ("PASS", "OK"):
                continue
            error = check["status"] == "INFRA"
            errors += error
            failures += not error
            ElementTree.SubElement(
                case, "error" if error else "failure", type=check["status"], message=_xml(check["sentence"])
            )
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(failures))
        suite.set("errors", str(errors))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return "".join(
        c if c in "\t\n\r" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE or ord(c) > 0xFFFF else "?"
        for c in text
    )


def to_nbgrader(records: Sequence[Record], labs: Sequence[Lab], gradebook: pathlib.Path) -> int:
    """Write points into nbgrader's gradebook, check by check; returns how many submissions. One process does it: nbgrader's database
    does not like many."""
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
        for lab in labs:
            mine = [r for r in records if r.grade.lab == lab.number and r.points is not None]
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
    return len(written)


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
        grade.auto_score = share * scale if check["status"] == "PASS" else 0.0
        grade.needs_manual_grade = False
