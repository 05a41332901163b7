"""What a verdict on an exercise says, and the verdicts that need no run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .manifest import Exercise
from .running import LearnerSource, parsed
from .statuses import Status
from .submission import SpliceError, is_stub

if TYPE_CHECKING:  # these modules import numpy; `jitkit check` starts its process before it imports numpy itself
    from .checking import Check
    from .comparison import Difference
    from .plain import Plain


class CheckResult(NamedTuple):
    """The verdict on one check."""

    check: Check
    status: Status
    sentence: str = ""
    difference: Difference | None = None
    line: tuple[str, int] | None = None  # file and line of the failure, the learner's if possible; None if unknown
    output: str = ""
    seconds: float = 0.0
    value: Plain | None = None
    expected: Plain | None = None
    call: str = ""  # the call of the learner's function that failed
    called: int = 0  # the line where that function begins
    misses: str = ""  # if a count is wrong, what `explain` says about the calls
    program: str = ""  # the random program that failed, if it was one


class Verdict(NamedTuple):
    """The verdict on an exercise: PASS, FAIL, TODO or BROKEN. For the last two, `sentence` is the reason, and `line` its place;
    otherwise `line` is the place of the function that was checked.
    """

    exercise: Exercise
    status: Status
    results: tuple[CheckResult, ...] = ()
    sentence: str = ""
    line: tuple[str, int] | None = None
    file: str = ""

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(result.status == Status.PASS for result in self.results)

    @property
    def first_failure(self) -> CheckResult | None:
        """The first check that does not pass, which is to be fixed first; None if all pass."""
        return next((result for result in self.results if result.status != Status.PASS), None)


def find_problem(exercise: Exercise, file: LearnerSource) -> Verdict | None:
    """Return the verdict on a file that is not Python, or in which a function is missing or a stub; None if the checks
    must run.
    """
    try:
        learner = parsed(file)
        functions = [learner.find(target) for target in exercise.targets]
    except SpliceError as error:
        return Verdict(exercise, Status.BROKEN, (), str(error), (error.file, error.line))
    stubs = [function for function in functions if is_stub(function)]
    if stubs:
        names = ", ".join(f"`{stub.name}`" for stub in stubs)
        are = "is" if len(stubs) == 1 else "are"
        return Verdict(exercise, Status.TODO, (), f"{names} {are} still to be written.", (file.path, stubs[0].lineno))
    return None


def place_of(exercise: Exercise, file: LearnerSource) -> tuple[str, int]:
    """Return the file and the line where an exercise's first function begins."""
    return file.path, parsed(file).find(exercise.targets[0]).lineno
