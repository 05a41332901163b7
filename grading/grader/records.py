"""The records that pass from the intake to the store: what the intake sends as JSON, and the rows that the store keeps

Each field is declared once, here; the store takes the names and the order of its columns from these classes.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, TypedDict

from jitkit.kata.engine.statuses import Status

# The name of each status in the store of grades and in exports. A failed import is stored as a crash.
NAMES = {status: status.name for status in Status} | {Status.IMPORT: Status.CRASH.name}
PASS = NAMES[Status.PASS]


class ItemStatus(enum.StrEnum):
    """What a submission has for an exercise."""

    READY = "ready"  # functions that can be run
    TODO = "todo"  # a stub, or, in a package of the student's own, the reference's function
    BROKEN = "broken"  # it cannot be read as Python, or cannot be spliced
    MISSING = "missing"  # nothing
    INVALID = "invalid"  # an answer that is not run: two that differ, one in the wrong place, or one that imports another file


class GradeStatus(enum.StrEnum):
    """The outcome for a submission, or for an exercise in it."""

    OK = "OK"  # graded
    INVALID = "INVALID"  # there was nothing that could be run
    INFRA = "INFRA"  # a fault of ours, and no score


class Item(TypedDict):
    """What a submission has for an exercise.

    Attributes:
      status: unless it is READY, `sentence` says why.
      line: the file and the line that the sentence is about.
      files: the student's files whose functions were taken.
      path: the first of these, or the stub's.
      modules, patch, package: code as text, which only a worker reads.
      digest: a hash of the functions with their places: a verdict depends on both, unless all checks pass.
      code: a hash of the functions alone, which does not change if lines are moved, or comments.
      keeps: whether the code may keep something from one call to the next, or looks suspicious: then each check runs alone.
      grams: see `suspicion.grams`.
    """

    status: ItemStatus
    sentence: str
    line: list[Any] | None
    flags: list[str]
    files: list[str]
    path: str
    modules: str
    patch: str
    package: str
    digest: str
    code: str
    keeps: bool
    grams: list[int]


class LabRead(TypedDict):
    """What was taken for a lab: the files, the time of the newest one (seconds since 1970), and a hash of the functions."""

    files: list[str]
    handed_in: float
    digest: str


class Reading(TypedDict):
    """The result of reading a submission.

    Attributes:
      status: with INVALID and INFRA `sentence` says why.
      digest: a hash of all files that were read.
      handed_in: the time of the newest file, or the one that a learning platform gives (seconds since 1970).
      flags: remarks for a person about the whole submission.
      exercises: by their ids.
      labs: what was taken, by the labs' numbers.
      passed: what was passed over: a path, and why.
    """

    status: GradeStatus
    sentence: str
    digest: str
    handed_in: float
    flags: list[str]
    exercises: dict[str, Item]
    labs: dict[str, LabRead]
    passed: list[list[str]]


class Result(NamedTuple):
    """Verdicts on the checks of an exercise: what `Grader.result` returns, and, with `Provenance`, a row of the table `results`."""

    status: GradeStatus
    sentence: str
    checks: tuple[dict[str, Any], ...]
    seconds: float


class Provenance(NamedTuple):
    """The other columns of `results`: what a result depends on, and `key`, a hash of that (`Grader.keys`)."""

    key: str
    exercise: str
    code: str  # `digest` of the Item
    checks_version: str
    seed_id: str
    versions: str
    limits: str
    sandbox: str


class Grade(NamedTuple):
    """A row of `grades`: a student's outcome for an exercise, or, without lab and exercise, for a whole submission. `result` is
    the key of the verdict. The fields after `grams` are added by the store: the row's number, the verdict's checks and seconds, and the
    time at which the row was written.
    """

    student: str
    submission: str  # `digest` of the Reading
    handed_in: float  # seconds since 1970
    path: str
    lab: str | None
    exercise: str | None
    outcome: GradeStatus
    sentence: str
    points: float | None
    max: float
    flags: tuple[str, ...] = ()
    result: str = ""
    grams: tuple[int, ...] = ()
    id: int = 0
    checks: tuple[dict[str, Any], ...] = ()
    seconds: float = 0.0
    at: str = ""


class HandIn(NamedTuple):
    """A row of `handins`: what a student handed in for a lab, and when. The store adds the last two fields.

    Attributes:
      lab: None if nothing of the submission was run.
      handed_in: the time that a learning platform gave, or that of the newest file that was taken.
      digest: a hash of the functions of the lab.
      taken: the files whose functions were taken; `passed`: the files that were not, each with the reason.
    """

    student: str
    submission: str  # `digest` of the Reading
    lab: str | None
    handed_in: float
    digest: str
    taken: tuple[str, ...] = ()
    passed: tuple[tuple[str, str], ...] = ()
    id: int = 0
    at: str = ""


class Mark(NamedTuple):
    """A row of `marks`: a change by hand. Without points it only adds a comment, and the graded points count."""

    id: int
    student: str
    exercise: str
    points: float | None
    reason: str
    comment: str
    by: str
    at: str


class Person(NamedTuple):
    """A row of `people`: what a learning platform (canvas, gradescope, moodle) calls a student."""

    student: str
    platform: str
    number: str
    name: str
    email: str


def item(status: ItemStatus, sentence: str = "") -> Item:
    """Return an item with this status and sentence, and nothing else in it."""
    return {
        "status": status, "sentence": sentence, "line": None, "flags": [], "files": [], "path": "", "modules": "", "patch": "",
        "package": "", "digest": "", "code": "", "keeps": True, "grams": [],
    }  # fmt: skip


def reading(status: GradeStatus, sentence: str = "", digest: str = "", handed_in: float = 0.0) -> Reading:
    """Return a reading without exercises, labs and flags."""
    return {
        "status": status, "sentence": sentence, "digest": digest, "handed_in": handed_in, "flags": [], "exercises": {}, "labs": {},
        "passed": [],
    }  # fmt: skip
