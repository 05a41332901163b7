"""a workspace + an exercise -> report: the verdict, and whose functions it was reached with

The functions of an exercise run together with those of the learner's other exercises that passed and have not changed
since. The reference stands in for all others. So a lab can be done alone, and a broken exercise does not affect others. The
exercise also runs with the reference in place of all others, as in grading: a different verdict then is told in the report.
"""

from __future__ import annotations

import concurrent.futures
import functools
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..engine.assessor import Assessor, checks_of
from ..engine.manifest import Exercise, Lab
from ..engine.processes import Spare
from ..engine.running import Job, LearnerSource, Stop, parsed, request_ahead
from ..engine.statuses import Status
from ..engine.submission import SpliceError, Target
from ..engine.verdicts import Verdict
from .state import Progress
from .workspace import Look, Workspace

_SEEDS = 4
_DRAWS = 64
_SECONDS = 10.0  # a check may take this long, since a learner waits for it
_OF_PROGRAMS = {False: 0.02, True: 0.06}  # seconds of a processor for random programs, without XLA and with it


class Report(NamedTuple):
    """A verdict on an exercise."""

    lab: Lab
    verdict: Verdict
    yours: tuple[str, ...] = ()  # ids of the learner's exercises that ran in it
    suspects: tuple[str, ...] = ()  # ids of those that were left out, because they had made others fail
    blame: str = ""  # a sentence, if this exercise passes only with other exercises of the learner's, or only without
    suspicion: str = ""  # a sentence about this exercise: another one fails with it
    seconds: float = 0.0
    seed: int = 0  # the seed of the checks' random inputs
    draw: int = 0  # the seed of their random programs

    @property
    def exercise(self) -> Exercise:
        """The exercise that the report is about."""
        return self.verdict.exercise

    @property
    def passed(self) -> bool:
        """Whether all checks pass."""
        return self.verdict.status == Status.PASS


class Judge:
    """Checks exercises of a workspace, and remembers what passes.

    Args:
      spare: processes that wait for the next check.
      hidden: a file with more checks, for an instructor.
    """

    def __init__(self, workspace: Workspace, spare: Spare | None = None, hidden: pathlib.Path | None = None) -> None:
        self.workspace = workspace
        self.hidden = hidden
        self.assessor = Assessor(workspace.kept / "expected", seconds=_SECONDS)
        self.spare = spare

    def check(self, lab: Lab, exercise: Exercise, stop: Stop | None = None) -> Report:
        """Check the present text of an exercise, remember the verdict, and return the report. Raise Stopped if `stop` is set meanwhile."""
        look = self.workspace.look()
        source = look.source(exercise) or self.workspace.source(lab)
        if isinstance(source, Verdict):
            return Report(lab, source._replace(exercise=exercise))
        others = list(bindings(look, exercise))
        seed, draw = seed_of(look, exercise), draw_of(look, exercise)
        assess = functools.partial(self.assess, lab, exercise, source, stop=stop, seed=seed, draw=draw)
        # a random program that failed is run again until it passes
        if not look.state.exercises.get(exercise.id, Progress()).found:
            assess = functools.partial(assess, hurried=_OF_PROGRAMS[exercise.uses_xla])
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            alone = pool.submit(assess, ()) if others else None
            verdict = assess(others)
        known = _suspects(look)
        report = Report(lab, verdict, _ids(others, exercise, verdict), known, seed=seed, draw=draw)
        if verdict.status == Status.FAIL and alone is not None:
            report = self.find_blame(report, alone.result(), others, assess)
        elif verdict.status == Status.PASS:
            report = report._replace(suspicion=look.suspicion(exercise))
            if alone is not None:
                report = self.graded_alone(report, alone.result())
        if report.verdict.results or verdict.status == Status.BROKEN:
            self.remember(report, look)
        return report

    def assess(
        self,
        lab: Lab,
        exercise: Exercise,
        source: LearnerSource,
        others: Sequence[Binding],
        stop: Stop | None = None,
        seed: int = 0,
        draw: int = 0,
        hurried: float = 0.0,
    ) -> Verdict:
        """Return the verdict with these other functions of the learner's. The checks of `hidden`, if there is such a file, count, too."""
        functions = [(binding.source, binding.target) for binding in others]
        assess = functools.partial(
            self.assessor.assess, lab, exercise, source, functions, seed=seed, draw=draw, hurried=hurried, stop=stop
        )
        verdict = assess(spare=self.spare)
        if self.hidden is None or not verdict.results:
            return verdict
        more = assess(checks_file=self.hidden)
        results = (*verdict.results, *more.results)
        return verdict._replace(
            results=results, status=Status.PASS if verdict.status == more.status == Status.PASS else Status.FAIL
        )

    def graded_alone(self, report: Report, alone: Verdict) -> Report:
        """Return the report on an exercise that passes with the learner's other functions. If it fails with the
        reference in their place, as in grading, return that verdict, with a sentence in `blame`.
        """
        if alone.status == Status.PASS:
            return report
        own = " ".join(id for id in report.yours if id != report.exercise.id)
        blame = (
            f"It passes with your {own}, but fails with the reference's functions in their place, as shown here. "
            "Grading uses the reference's, so this function must do itself what it now leaves to yours."
        )
        return report._replace(verdict=alone, blame=blame, yours=(report.exercise.id,))

    def find_blame(
        self, report: Report, alone: Verdict, others: Sequence[Binding], assess: Callable[[Sequence[Binding]], Verdict]
    ) -> Report:
        """Return the report on an exercise that fails. If it passes alone, with the reference in place of the learner's
        other exercises, some of these are to blame: `blame` names them, and `alone` is the verdict.
        """
        if alone.status != Status.PASS:
            return report
        ids = list(dict.fromkeys(binding.exercise.id for binding in others))
        culprit = _in_the_traceback(report.verdict, others) or (ids[0] if len(ids) == 1 else "")
        for id in ids if not culprit else ():
            rest = [binding for binding in others if binding.exercise.id != id]
            found = assess(rest)
            if found.status == Status.PASS:
                culprit = id
                break
        failure = report.verdict.first_failure
        how = f": {failure.sentence}" if failure is not None else ""
        who = f"your {culprit}" if culprit else f"some of your {', '.join(ids)} together"
        blame = (
            f"It passes with the reference in the place of {who}, which passed its own checks, and fails with {who}{how} The "
            f"reference stands in for {culprit or 'them'} until you change {'it' if culprit else 'them'}, or anything else that ran."
        )
        suspects = (culprit,) if culprit else tuple(ids)
        return report._replace(
            verdict=alone,
            blame=blame,
            yours=tuple(id for id in report.yours if id not in suspects),
            suspects=tuple(sorted({*report.suspects, *suspects})),
        )

    def remember(self, report: Report, look: Look) -> None:
        """Remember whether the exercise passed, with a fingerprint of its functions, and the other exercises that made it fail."""
        now = look.fingerprint(report.exercise)
        with self.workspace.state.edit() as state:
            known = state.of(report.exercise.id)
            failure = report.verdict.first_failure
            known.found = failure is not None and failure.check.drawn
            if not known.found:  # a random program that failed comes again until the exercise is fixed
                known.drawn += 1
            if report.passed:
                known.passed, known.failed, known.passes = now, "", known.passes + 1
            else:
                known.failed = now
                known.passed = "" if known.passed == now else known.passed  # its checks have changed
            ran = {*report.yours, *report.suspects, report.exercise.id}
            ground = " ".join(f"{e.id}={look.fingerprint(e)}" for _, e in look.exercises() if e.id in ran)
            for _, exercise in look.exercises():
                if report.blame and exercise.id in report.suspects and not look.suspicion(exercise):
                    suspect = state.of(exercise.id)
                    suspect.suspect, suspect.ground = look.fingerprint(exercise), ground
                    suspect.blame = (
                        f"It passes its own checks, but {report.exercise.id} fails with it: `jitkit check {report.exercise.id}` "
                        "tells how. The reference stands in for it, until anything changes that ran then."
                    )
            state.current = report.exercise.id

    def prepare(self, lab: Lab, exercise: Exercise) -> None:
        """Prepare a process for the next check of an exercise, and the reference's results. Without `spare`, do nothing."""
        if self.spare is None:
            return
        job = self.job(lab, exercise)
        ahead = request_ahead(job, exercise.targets) if job is not None else None
        # one process runs the exercise with the learner's other functions, one runs it alone
        count = 1 if job is None or len(job.targets) <= len(exercise.targets) else 2
        self.spare.prepare(exercise.uses_xla, ahead, count)
        if job is not None:
            self.assessor.reference(job)

    def job(self, lab: Lab, exercise: Exercise) -> Job | None:
        """Return the job that a check of an exercise would run now; None if there is none."""
        look = self.workspace.look()
        source = look.source(exercise)
        checks = checks_of(lab, exercise.id)
        if not isinstance(source, LearnerSource) or not checks:
            return None
        others = [(binding.source, binding.target) for binding in bindings(look, exercise)]
        path = lab.folder / "checks.py"
        text = path.read_text(encoding="utf-8")
        seeds = seed_of(look, exercise), draw_of(look, exercise)
        return self.assessor.job(exercise, source, others, (str(path), text), checks, *seeds)


def seed_of(look: Look, exercise: Exercise) -> int:
    """Return the seed of an exercise's checks. Each pass changes it, so that remembering a verdict's numbers is
    useless. Seeds recur, since the reference's results are kept for each.
    """
    return look.state.exercises.get(exercise.id, Progress()).passes % _SEEDS


def draw_of(look: Look, exercise: Exercise) -> int:
    """Return the seed of an exercise's random programs. The seed changes after each verdict, unless a random program
    decided the verdict: then the same programs come again.
    """
    return look.state.exercises.get(exercise.id, Progress()).drawn % _DRAWS


class Binding(NamedTuple):
    """A function of the learner's that takes the reference's place."""

    exercise: Exercise
    source: LearnerSource
    target: Target


def bindings(look: Look, but: Exercise | None = None, with_suspects: bool = False) -> Iterator[Binding]:
    """Yield the functions of all exercises that passed and have not changed since, except those of the exercise `but`, and,
    without `with_suspects`, of exercises that made others fail.
    """
    taken = set(but.targets) if but is not None else set()
    for _, exercise in look.exercises():
        source = look.source(exercise)
        if not isinstance(source, LearnerSource) or (but is not None and exercise.id == but.id):
            continue
        if not look.passes(exercise) or (not with_suspects and look.suspicion(exercise)):
            continue
        for target in exercise.targets:
            if target not in taken:
                taken.add(target)
                yield Binding(exercise, source, target)


def _suspects(look: Look) -> tuple[str, ...]:
    """Return the exercises that passed and have not changed since, but with which another exercise failed."""
    return tuple(exercise.id for _, exercise in look.exercises() if look.suspicion(exercise))


def _ids(others: Sequence[Binding], exercise: Exercise, verdict: Verdict) -> tuple[str, ...]:
    ids = {binding.exercise.id for binding in others}
    return tuple(sorted(ids | {exercise.id} if verdict.results else ids))


def _in_the_traceback(verdict: Verdict, others: Sequence[Binding]) -> str:
    """Return the exercise in whose function a check ended, by the error's lines; "" if it is none of these."""
    failure = verdict.first_failure
    if failure is None:
        return ""
    frames = list(failure.difference.frames) if failure.difference is not None else []
    if failure.status == Status.IMPORT and failure.line is not None:
        frames = [failure.line]
    for path, line in reversed(frames):
        for binding in others:
            if binding.source.path == path and line in _lines(binding):
                return binding.exercise.id
    return ""


def _lines(binding: Binding) -> range:
    try:
        function = parsed(binding.source).find(binding.target)
    except SpliceError:
        return range(0)
    return range(function.lineno, (function.end_lineno or function.lineno) + 1)
