"""exercises to check -> their verdicts, shown, printed as JSON or written as JUnit XML"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Sequence

from jitkit.base.late_rooms import import_room

from ..engine.manifest import Exercise, Lab
from ..engine.processes import Spare
from ..engine.statuses import Status
from ..problems import FAILED, OK, Problem, WrongUsage
from ..screens.display import as_data, hanging, show_messages, show_progress, show_report
from ..screens.terminal import Screen
from ..workspace.judge import Judge, Report
from ..workspace.workspace import Workspace


def check(
    arguments: argparse.Namespace, spare: Spare, workspace: Workspace, wanted: Sequence[tuple[Lab, Exercise]]
) -> int:
    """Check these exercises of a workspace, and show the verdicts. Return 0 if all of them pass, otherwise 1. If the command
    line names no exercise, those that are not written are left out; Problem is raised if none is left. Raise WrongUsage if the file
    of hidden checks does not exist.
    """
    screen = Screen.of(sys.stdout)
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
        import_room("jitkit.kata.verbs.junit_report").write_junit(arguments.junit, reports)
    if arguments.json:
        print(json.dumps(_data(reports, workspace), indent=2))
    else:
        show_end(screen, workspace, reports)
    return OK if all(report.passed for report in reports) else FAILED


def show_end(screen: Screen, workspace: Workspace, reports: Sequence[Report]) -> None:
    """Show, after the verdicts, what to do next."""
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
    """Show, after a pass, the reasons of the solution, the functions that can now be used, and the next exercise."""
    look = workspace.look()
    screen.line()
    hanging(screen, "  why: ", report.exercise.why)
    screen.line()
    screen.text(f"jitkit show {report.exercise.id} --solution: ours, the usual mistakes, and where JAX does it.", 2)
    if all(map(look.passes, report.lab.exercises)):
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
