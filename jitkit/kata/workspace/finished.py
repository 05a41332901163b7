"""a workspace -> which of the learner's functions are in place when they run their own programs, and which are not

The functions that pass are in place. Functions that were written since the last check are checked first, so that they count as
soon as they are saved. For each exercise that was written and is not in place there is a reason, in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..engine.manifest import Exercise
from ..engine.running import LearnerSource, parsed
from ..engine.statuses import Status
from ..engine.submission import LearnerFile, SpliceError, is_stub
from ..engine.verdicts import Verdict, find_problem
from ..problems import Problem
from .judge import Binding, Judge, bindings
from .workspace import Look, Workspace


class Own(NamedTuple):
    """The learner's functions that were put in place, and a sentence for each file or exercise that was left out."""

    bindings: tuple[Binding, ...]
    left_out: tuple[str, ...]

    @property
    def ids(self) -> list[str]:
        """The exercises whose functions are in place."""
        return list(dict.fromkeys(binding.exercise.id for binding in self.bindings))

    @property
    def summary(self) -> str:
        """A sentence such as `yours: 02.1 02.2; reference: the rest`."""
        return f"yours: {' '.join(sorted(self.ids)) or 'none'}; reference: the rest"

    def __str__(self) -> str:
        return "\n".join([f"jitkit: {self.summary}", *(f"  not in place: {sentence}" for sentence in self.left_out)])


def own_functions(workspace: Workspace, unfinished: Exercise | None = None) -> Own:
    """Return the functions of a workspace that pass, and the functions of the exercise `unfinished` even if they do not. Functions
    that were not checked since they were written are checked first. Raise Problem if a function of `unfinished` is missing or a
    stub, or if its file cannot be read; and on the ladder, where a learner's package needs nothing put in place.
    """
    if (workspace.kept / "ladder").is_file():
        raise Problem("on the ladder the package is yours, and is imported by its name: run your file with `python`.")
    look, judge = workspace.look(), Judge(workspace)
    for lab, exercise in look.exercises():
        if look.standing(exercise) in (Status.NEW, Status.STALE):
            judge.check(lab, exercise)
    look = workspace.look()
    if unfinished is None:
        return Own(tuple(bindings(look)), tuple(_left_out(workspace, look)))
    source = look.source(unfinished)
    if not isinstance(source, LearnerSource) or find_problem(unfinished, source) is not None:
        raise Problem(f"{unfinished.id} cannot be put in place: jitkit check {unfinished.id} says why.")
    own = (Binding(unfinished, source, target) for target in unfinished.targets)
    others = tuple(b for b in bindings(look, unfinished) if b.exercise.id != unfinished.id)
    left_out = (sentence for sentence in _left_out(workspace, look) if not sentence.startswith(f"{unfinished.id} "))
    return Own((*own, *others), tuple(left_out))


def _left_out(workspace: Workspace, look: Look) -> Iterator[str]:
    for lab in look.labs:
        if lab.number not in look.sources:
            continue
        source = look.sources[lab.number]
        if isinstance(source, Verdict):
            yield f"all of {lab.name}. {source.sentence}"
            continue
        try:
            file = parsed(source)
        except SpliceError as error:
            yield f"all of {lab.name}. {workspace.place(error.file, error.line)}: {error}"
            continue
        for exercise in lab.exercises:
            sentence = _why_not(look, exercise, source, file)
            if sentence:
                yield f"{exercise.id} {sentence}"


def _why_not(look: Look, exercise: Exercise, source: LearnerSource, file: LearnerFile) -> str:
    """Return why an exercise's functions are not in place, although at least one is written; "" if they are in place,
    or none is written.
    """
    standing = look.standing(exercise)
    if standing == Status.FAIL:
        return f"does not pass: jitkit check {exercise.id}"
    if standing == Status.PASS:
        return look.suspicion(exercise)
    if standing in (Status.NEW, Status.STALE):
        return f"could not be checked: jitkit check {exercise.id}"
    found = [file.functions.get(target.name) for target in exercise.targets]
    if all(function is None or is_stub(function) for function in found):
        return ""
    problem = find_problem(exercise, source)
    return f"is not complete. {problem.sentence}" if problem is not None else ""


def request_of(own: Own) -> dict[str, object]:
    """Return the request that `engine.in_place` reads."""
    files = {binding.source.path: binding.source for binding in own.bindings}
    return {
        "files": {f.path: {"source": f.source, "exercises": sorted(f.exercises)} for f in files.values()},
        "targets": {str(binding.target): binding.source.path for binding in own.bindings},
    }
