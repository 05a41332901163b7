"""A lab's checks as pytest items: `pytest_jitkit` collects them, and they run as in `jitkit check`.

All checks of an exercise run together, in one process, when its first item runs. An exercise that is not written yet is
skipped, with this reason: a red list of forty stubs would hide the exercise that somebody works on.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from ..engine.assessor import checks_of
from ..engine.manifest import Exercise, Lab
from ..engine.processes import for_one_command
from ..engine.statuses import Status
from ..engine.verdicts import CheckResult
from ..screens.display import show_report
from ..screens.terminal import Screen
from ..workspace.judge import Judge, Report
from ..workspace.workspace import Workspace

_JUDGES = pytest.StashKey[dict[Any, Judge]]()


class Red(Exception):
    """Raised for a check that does not pass; its text is the verdict."""


class ExercisesFile(pytest.File):
    """The learner's file of a lab."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the exercises."""
        judge = _judge(self.config, self.path.parent.parent)
        lab = next((lab for lab in judge.workspace.labs if judge.workspace.file_of(lab) == self.path), None)
        for exercise in lab.exercises if lab is not None else ():
            yield ExerciseCollector.from_parent(self, name=exercise.id, judge=judge, lab=lab, exercise=exercise)


class ExerciseCollector(pytest.Collector):
    """An exercise, with its verdict once there is one."""

    def __init__(self, *, judge: Judge, lab: Lab, exercise: Exercise, **options: Any) -> None:
        super().__init__(**options)
        self.judge = judge
        self.lab = lab
        self.exercise = exercise
        self.report: Report | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the checks."""
        for check in checks_of(self.lab, self.exercise.id):
            yield CheckItem.from_parent(self, name=check.name, owner=self)

    def verdict(self) -> Report:
        """Return the report on the exercise. The first call runs the checks."""
        if self.report is None:
            self.report = self.judge.check(self.lab, self.exercise)
            if self.judge.spare is not None:
                self.judge.spare.prepare(self.exercise.uses_xla)
        return self.report


class CheckItem(pytest.Item):
    """One check."""

    def __init__(self, *, owner: ExerciseCollector, **options: Any) -> None:
        super().__init__(**options)
        self.owner = owner

    def runtest(self) -> None:
        """Raise Red, with the verdict as text, if the check does not pass. Skip while a function of the exercise is a stub."""
        report = self.owner.verdict()
        verdict = report.verdict
        if verdict.status == Status.TODO:
            pytest.skip("not written yet")
        if not verdict.results:
            raise Red(self.told(report, None))
        result = next(r for r in verdict.results if r.check.name == self.name)
        if result.output:
            self.add_report_section("call", "stdout", result.output)
        if result.status != Status.PASS:
            raise Red(self.told(report, result))

    def told(self, report: Report, result: CheckResult | None) -> str:
        """Return the verdict as text, with only this check's `result`, if there is one."""
        stream = io.StringIO()
        verdict = report.verdict
        if result is not None:
            verdict = verdict._replace(results=(result,))
        screen = Screen(stream, width=100, interactive=False, color=False, unicode=True)
        show_report(screen, report._replace(verdict=verdict), self.owner.judge.workspace)
        return stream.getvalue().strip("\n")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the verdict without a traceback, whose frames are ours."""
        return str(excinfo.value) if isinstance(excinfo.value, Red) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the learner's file, no line, and the title that pytest prints above a failure."""
        return self.path, None, f"{self.owner.exercise.id} {self.name}"


def _judge(config: pytest.Config, root: Any) -> Judge:
    """Return the judge of a workspace, shared by all of its files."""
    judges = config.stash.setdefault(_JUDGES, {})
    if root not in judges:
        spare = for_one_command()
        judges[root] = Judge(Workspace(root), spare)
        config.add_cleanup(spare.close)
    return judges[root]
