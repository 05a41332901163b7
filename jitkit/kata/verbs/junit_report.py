"""`jitkit check --junit`: reports -> JUnit XML, a suite for each exercise, a case for each check"""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from ..engine.junit import Case, Suite, junit
from ..engine.statuses import Status
from ..engine.verdicts import CheckResult
from ..problems import Problem
from ..workspace.judge import Report


def write_junit(path: pathlib.Path, reports: Sequence[Report]) -> None:
    """Write a JUnit report. Raise Problem where it cannot be written."""
    try:
        path.write_text(junit("jitkit", map(_suite, reports)), encoding="utf-8")
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}.") from None


def _suite(report: Report) -> Suite:
    verdict, exercise = report.verdict, report.verdict.exercise
    cases = [_case(result) for result in verdict.results]
    if not cases:
        outcome = {Status.PASS: "", Status.TODO: "skipped"}.get(verdict.status, "failure")
        cases = [Case("written", outcome=outcome, message=verdict.sentence)]
    return Suite(f"{exercise.id} {exercise.title}", f"{report.lab.name}.{exercise.id}", cases)


def _case(result: CheckResult) -> Case:
    if result.status == Status.PASS:
        return Case(result.check.name, result.seconds, output=result.output)
    differs = result.difference
    detail = f"expected: {differs.expected}\nyours: {differs.actual}" if differs is not None else ""
    return Case(result.check.name, result.seconds, "failure", result.status, result.sentence, detail, result.output)
