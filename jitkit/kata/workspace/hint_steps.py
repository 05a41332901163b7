"""an exercise + the learner's functions -> the next hint

There are four steps: a question, the concept, the learner's own bug, a skeleton. The third step looks at the results of
the learner's functions. If a plausible wrong answer (`mutants`) computes the same in every check, or in the first that
fails, the learner gets the hint of this wrong answer. Otherwise the learner gets the hint of a wrong answer that passes
and fails the same checks in the same way, if there is one; or else is told which check to look at first.
"""

from __future__ import annotations

import ast
import concurrent.futures
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..engine.assessor import Assessor, checks_of
from ..engine.comparison import first_difference
from ..engine.manifest import Exercise, Lab
from ..engine.mutants import Mutant, in_its_class, load_mutants, mutant_source
from ..engine.names import tree_of
from ..engine.plain import Plain
from ..engine.reference import reference_function
from ..engine.running import LearnerSource, Outcome
from ..engine.statuses import Status
from ..engine.verdicts import CheckResult
from .judge import Judge, Report

STEPS = ("a question", "the idea", "what yours does", "a skeleton")


class Checker(NamedTuple):
    """Gives the third hint its facts: the verdict on the present code, and the results of mutants."""

    assessor: Assessor
    report: Callable[[], Report]


def hint(judge: Judge, lab: Lab, exercise: Exercise, step: int) -> str:
    """Return the text of a step, counted from 0."""
    return hint_text(Checker(judge.assessor, lambda: judge.check(lab, exercise)), lab, exercise, step)


def hint_text(checker: Checker, lab: Lab, exercise: Exercise, step: int) -> str:
    """Return the text of a step, for any checker."""
    question, concept, skeleton = exercise.hints
    if step == 2:
        return own_bug(checker, lab, exercise)
    return (question, concept, "", skeleton)[step]


def own_bug(checker: Checker, lab: Lab, exercise: Exercise) -> str:
    """Return sentences that say what the learner's functions do wrong, as far as it is known."""
    report = checker.report()
    verdict = report.verdict
    if verdict.status == Status.TODO:
        return (
            f"This step runs what you wrote, and needs all of the exercise for it. {verdict.sentence} Write what you "
            "would try first, however little, and ask again: the hint then depends on what it computes. The next "
            "hint is a skeleton."
        )
    if verdict.status == Status.BROKEN:
        return verdict.sentence
    if verdict.status == Status.PASS:
        return report.suspicion or "Yours passes every check: there is no bug to point at."
    failure = verdict.first_failure
    if failure is None:
        return verdict.sentence
    mutant, is_certain = behaves_like(checker, lab, exercise, report)
    if mutant is not None and is_certain:
        return f"Your function behaves as if you believed that {mutant.misconception}. {mutant.hint}"
    if mutant is not None:
        return (
            f"Perhaps you believe that {mutant.misconception}: such an answer fails the same checks. "
            f"{mutant.hint} If you do not, fix this first: {failure.check.sentence} {failure.sentence}"
        )
    others = sum(r.status != Status.PASS for r in verdict.results) - 1
    also = f" {others} more {'fails' if others == 1 else 'fail'} after it." if others else ""
    passed = [r.check.sentence for r in verdict.results if r.status == Status.PASS]
    well = f" This is right already: {passed[-1]}" if passed else ""
    return f"Fix this first: {failure.check.sentence} {failure.sentence}{also}{well}"


def behaves_like(checker: Checker, lab: Lab, exercise: Exercise, report: Report) -> tuple[Mutant | None, bool]:
    """Return a mutant that behaves as the learner's function (None if none does), and whether that is certain.

    The mutant is certain if all results are equal, or if the first failing check has the same wrong result; in the second case
    the learner's function may have another bug, too. Otherwise take a mutant that ends in the same way in each check.
    Unless all results are equal, the learner's functions must fail a check that is against the mutant's misconception.
    """
    path = lab.folder / "mutants.py"
    if not path.is_file():
        return None, False
    mutants = [m for m in load_mutants(path.read_text(encoding="utf-8"), str(path)) if m.exercise == exercise.id]
    results = report.verdict.results
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = dict(
            zip(
                range(len(mutants)),
                pool.map(lambda m: results_of(checker, lab, exercise, m, report.seed, report.draw), mutants),
                strict=True,
            )
        )
    first = next(i for i, result in enumerate(results) if result.status != Status.PASS)
    tried = [(mutant, outcomes[i]) for i, mutant in enumerate(mutants) if outcomes[i]]
    for mutant, ends in tried:
        if all(map(_is_same, results, ends)):
            return mutant, True
    shown = [pair for pair in tried if _is_shown(pair[0], results)]
    for mutant, ends in shown:
        if results[first].status == Status.FAIL and _is_same(results[first], ends[first]):
            return mutant, True  # the learner's function has this bug, and perhaps another one
    for mutant, ends in shown:
        if all(map(_ends_alike, results, ends)):
            return mutant, False
    return None, False


def _is_shown(mutant: Mutant, results: Sequence[CheckResult]) -> bool:
    """Return whether the learner's functions fail a check that is against the mutant's misconception: otherwise nothing
    shows that the learner has this misconception.
    """
    return any(r.status != Status.PASS and mutant.misconception in r.check.against for r in results)


def results_of(
    checker: Checker, lab: Lab, exercise: Exercise, mutant: Mutant, seed: int = 0, draw: int = 0
) -> list[Outcome]:
    """Return a mutant's results in the checks of its exercise, computed once; [] if the mutant cannot be made."""
    target = next((t for t in exercise.targets if mutant.target in ("", t.name)), exercise.targets[0])
    try:
        sources = {t: in_its_class(t, reference_function(t).source) for t in exercise.targets}
        sources[target] = mutant_source(mutant, target, reference_function(target).source)
    except (ValueError, SyntaxError):
        return []
    text = "\n\n\n".join([_imports(lab), *sources.values()]) + "\n"
    file = LearnerSource(f"{exercise.id}.py", text, lab.targets)
    path = lab.folder / "checks.py"
    checks = checks_of(lab, exercise.id)
    job = checker.assessor.job(exercise, file, (), (str(path), path.read_text(encoding="utf-8")), checks, seed, draw)
    return checker.assessor.remembered(job)


def _imports(lab: Lab) -> str:
    tree = tree_of((lab.folder / "exercises.py").read_text(encoding="utf-8"))
    return "\n".join(ast.unparse(n) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom))


def _is_same(result: CheckResult, outcome: Outcome) -> bool:
    """Return whether a mutant's outcome of a check is the same as that of the learner's function."""
    mine, other = result.value, outcome.value
    if mine is None or other is None:
        return mine is other and result.status == outcome.trouble
    if mine["is"] == other["is"] == "error":
        return bool(mine["class"] == other["class"] and mine["text"] == other["text"])
    return not _differ(other, mine, result)


def _ends_alike(result: CheckResult, outcome: Outcome) -> bool:
    """Return whether both pass a check, or both fail it, in results of one kind or errors of one class."""
    mine, other = result.value, outcome.value
    if mine is None or other is None or result.expected is None:
        return mine is other and result.status == outcome.trouble
    if (result.status == Status.PASS) == _differ(result.expected, other, result):
        return False
    return result.status == Status.PASS or (mine["is"], mine.get("class")) == (other["is"], other.get("class"))


def _differ(one: Plain, other: Plain, result: CheckResult) -> bool:
    try:
        return first_difference(one, other, None, result.check.tolerance) is not None
    except (KeyError, TypeError, ValueError, IndexError):
        return True
