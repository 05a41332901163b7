"""`jitkit check`: verdicts on an exercise, a lab, a file, or all that is written; for people, programs and test reports."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
from collections.abc import Iterator, Sequence

from ..engine.junit import Case, Suite, junit
from ..engine.manifest import Exercise, Lab
from ..engine.processes import Spare
from ..engine.statuses import Status
from ..engine.verdicts import CheckResult
from ..problems import FAILED, OK, Problem, WrongUsage
from ..screens.display import as_data, hanging, show_messages, show_progress, show_report
from ..screens.terminal import Screen
from ..workspace.judge import Judge, Report
from ..workspace.workspace import Workspace


def run(arguments: argparse.Namespace) -> int:
    """Check, and show. Returns 0 if everything that was asked for passes."""
    with contextlib.closing(Spare()) as spare:
        return _check(arguments, spare)


def _check(arguments: argparse.Namespace, spare: Spare) -> int:
    screen = Screen.of(sys.stdout)
    workspace = workspace_of(arguments.what)
    wanted = list(chosen(workspace, arguments.what))
    for _, exercise in wanted[:1]:
        spare.prepare(exercise.uses_xla)  # it starts while we read
    hidden = None if arguments.hidden == "never" else pathlib.Path(arguments.hidden)
    if hidden is not None and not hidden.is_file():
        raise WrongUsage(f"there is no file {hidden}.")
    judge = Judge(workspace, spare, hidden)
    reports = []
    for lab, exercise in wanted:
        report = judge.check(lab, exercise)
        if arguments.what is None and report.verdict.status == Status.TODO:
            continue
        reports.append(report)
        if not arguments.json:
            show_report(screen, report, workspace)
            show_messages(screen, workspace)
    if not reports:
        raise Problem("you have not written anything yet. `jitkit show` says what comes first.")
    if arguments.junit is not None:
        write_junit(arguments.junit, reports)
    if arguments.json:
        print(json.dumps(_data(reports, workspace), indent=2))
    else:
        show_end(screen, workspace, reports)
    return OK if all(report.passed for report in reports) else FAILED


def workspace_of(what: str | None) -> Workspace:
    """Return the workspace that we are in, or that the named file is in."""
    path = pathlib.Path(what) if what is not None else None
    return Workspace.find(path.absolute().parent if path is not None and path.is_file() else None)


def chosen(workspace: Workspace, what: str | None) -> Iterator[tuple[Lab, Exercise]]:
    """Yield the exercises that a word of the command line means: `02.3`, `02`, `02_jaxpr`, a file or a folder of the
    workspace; with none, all of the labs that are there.
    """
    if what is None:
        yield from workspace.look().exercises()
        return
    path = pathlib.Path(what)
    if path.exists():
        lab = next((lab for lab in workspace.labs if _is_of(path, workspace, lab)), None)
        if lab is None:
            raise WrongUsage(
                f"{what} is not a file of a lab. Check an exercise (02.3), a lab (02), or its exercises.py."
            )
        yield from ((lab, e) for e in lab.exercises)
    elif "." in what and not what.endswith(".py"):
        yield workspace.exercise(what)
    elif what.endswith(".py"):
        raise WrongUsage(f"there is no file {what}.")
    else:
        lab = workspace.lab(what)
        yield from ((lab, e) for e in lab.exercises)


def _is_of(path: pathlib.Path, workspace: Workspace, lab: Lab) -> bool:
    folder = workspace.root / lab.name
    return path.absolute() in (folder, workspace.file_of(lab))


def show_end(screen: Screen, workspace: Workspace, reports: Sequence[Report]) -> None:
    """Show what is next, after the verdicts."""
    look = workspace.look()
    last = reports[-1]
    if len(reports) == 1 and last.passed:
        show_passed(screen, workspace, last)
    elif len(reports) > 1:
        count = sum(report.passed for report in reports)
        screen.line()
        failed = [r.exercise.id for r in reports if not r.passed]
        rest = f"; not yet: {' '.join(failed)}" if failed else ""
        screen.text(f"{count} of {len(reports)} exercises pass{rest}", 2, "bold")
    show_progress(screen, look, last.lab.number)


def show_passed(screen: Screen, workspace: Workspace, report: Report) -> None:
    """Show, after a pass, why it is so, what opens, and what is next."""
    look = workspace.look()
    screen.line()
    hanging(screen, "  why: ", report.exercise.why)
    screen.line()
    screen.text(f"jitkit show {report.exercise.id} --solution: ours, the usual mistakes, and where JAX does it.", 2)
    if all(look.standing(e) == Status.PASS for e in report.lab.exercises):
        more = f" `jitkit show {report.lab.number} --plot` asks for your guess, and measures your own functions."
        screen.text(f"Lab {report.lab.number} is done!{more if report.lab.experiment is not None else ''}", 2, "bold")
    after = look.after(report.exercise)
    if after is not None:
        lab, exercise = after
        screen.text(f"next: {exercise.id} {exercise.title}, in {workspace.relative(workspace.file_of(lab))}", 2)
    elif len(list(look.exercises())) > 1:
        screen.text("All labs are done. `jitkit export my-jit` hands you the JIT that you wrote.", 2, "bold")


# --- for programs -------------------------------------------------------------------------------------------------


def _data(reports: Sequence[Report], workspace: Workspace) -> dict[str, object]:
    data = [as_data(report, workspace) for report in reports]
    return {
        "workspace": str(workspace.root),
        "status": Status.PASS if all(report.passed for report in reports) else Status.FAIL,
        "messages": workspace.state.messages,
        "exercises": data,
    }


def write_junit(path: pathlib.Path, reports: Sequence[Report]) -> None:
    """Write a JUnit report: a suite for each exercise, a case for each check. Problem where it cannot be written."""
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
