"""The proofs of every exercise: that its checks can fail, that they pass for the right answer, and that they tell mistakes apart.

For each exercise:

    fresh       the generated files are what the generator would write now
    stub        the stub, put in place, fails every check, and with its own NotImplementedError
    solution    the reference's function, as a learner's, passes every check, on several seeds
    mutants     three or more plausible wrong answers fail, each on a check that is against its misconception
    planted     a `raise` at the start of the solution makes a check fail: the learner's function is what runs
    secret      no line of the solution is in the lab's folder

A proof that fails is reported with what it found; `python -m grading verify` ends with 1 then.
"""

from __future__ import annotations

import ast
import concurrent.futures
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

from jitkit.kata.checking import Check
from jitkit.kata.engine import verdicts
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.plain import Plain
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.running import LearnerSource
from jitkit.kata.engine.splice import Function, Target
from jitkit.kata.engine.verdicts import Assessor, Verdict
from jitkit.kata.mutants import Mutant, in_its_class, load_mutants, mutant_source

from .generate import ROOT, stale_files

_SEEDS = (0, 1, 2)
_FEWEST_MUTANTS = 3
_FEWEST_CHECKS = 3


class Finding(NamedTuple):
    """A proof that failed."""

    exercise: str
    proof: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.exercise} {self.proof}: {self.sentence}"


def hidden_checks(lab: Lab) -> pathlib.Path:
    """Where the checks of a lab are that learners do not have."""
    return ROOT / "grading" / "hidden" / f"{lab.name}.py"


def verify(lab: Lab, assessor: Assessor, workers: int = 2, only: str | None = None) -> list[Finding]:
    """All findings of a lab, or of one exercise of it."""
    findings = list(staleness(lab))
    exercises = [e for e in lab.exercises if only is None or e.id == only]
    mutants_file = lab.folder / "mutants.py"
    mutants = (
        load_mutants(mutants_file.read_text(encoding="utf-8"), str(mutants_file))
        if mutants_file.is_file()
        else []
    )
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        proofs: list[concurrent.futures.Future[list[Finding]]] = []
        for exercise in exercises:
            of_exercise = [m for m in mutants if m.exercise == exercise.id]
            findings += shortages(lab, exercise, of_exercise)
            findings += leaked_lines(lab, exercise)
            proofs.append(pool.submit(_stub, lab, exercise, assessor))
            proofs.append(pool.submit(_solution, lab, exercise, assessor))
            proofs.append(pool.submit(_planted, lab, exercise, assessor))
            proofs += [pool.submit(_mutant, lab, exercise, m, assessor) for m in of_exercise]
        for proof in proofs:
            findings += proof.result()
    return findings


def check_files(lab: Lab) -> list[pathlib.Path]:
    """The files of checks of a lab: the learners', and the hidden ones if there are any."""
    return [path for path in (lab.folder / "checks.py", hidden_checks(lab)) if path.is_file()]


# --- the proofs ---------------------------------------------------------------------------------------------------


def staleness(lab: Lab) -> Iterator[Finding]:
    """Generated files that are not what would be generated now."""
    for path in stale_files(lab, ROOT):
        yield Finding(
            lab.name, "fresh", f"{path.relative_to(ROOT)} is not what `python -m grading generate` writes"
        )


def shortages(lab: Lab, exercise: Exercise, mutants: list[Mutant]) -> Iterator[Finding]:
    """What there is too little of: checks, hidden ones, mutants."""
    checks = verdicts.checks_of(lab, exercise.id, hidden_checks(lab))
    public = sum(not c.hidden for c in checks)
    if public < _FEWEST_CHECKS:
        yield Finding(exercise.id, "checks", f"there are {public}, and should be {_FEWEST_CHECKS} or more")
    if not any(c.hidden for c in checks):
        yield Finding(exercise.id, "checks", "there is no hidden one")
    if len(mutants) < _FEWEST_MUTANTS:
        yield Finding(
            exercise.id, "mutants", f"there are {len(mutants)}, and should be {_FEWEST_MUTANTS} or more"
        )
    refuted = {text for c in checks for text in c.against}
    for text in refuted - {m.misconception for m in mutants}:
        yield Finding(exercise.id, "mutants", f"a check is against {text!r}, and no mutant believes it")


def leaked_lines(lab: Lab, exercise: Exercise) -> Iterator[Finding]:
    """The longer lines of a solution, in the files that learners get. Short ones occur everywhere."""
    for target in exercise.targets:
        function = reference_function(target)
        lines = {line.strip() for line in _body(function.source)}
        telling = {
            line for line in lines if len(line) >= 40 and not line.startswith(("#", "raise", "return"))
        }
        for path in sorted(lab.folder.rglob("*")):
            if path.suffix not in (".py", ".md", ".ipynb", ".toml") or path.name == "mutants.py":
                continue
            text = path.read_text(encoding="utf-8")
            found = next((line for line in telling if line in text), None)
            if found is not None:
                yield Finding(exercise.id, "secret", f"a line of the solution is in {path.name}: {found}")


def _body(source: str) -> list[str]:
    """The lines of a function after its docstring."""
    function = ast.parse(source).body[0]
    if not isinstance(function, Function):
        return []
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return source.splitlines()[body[0].lineno - 1 :] if body else []


def _stub(lab: Lab, exercise: Exercise, assessor: Assessor) -> list[Finding]:
    """Run although it is a stub: each check must end in the NotImplementedError, or show that it was swallowed."""
    sources = {t: _with_body(t, f'raise NotImplementedError("{exercise.id}")') for t in exercise.targets}
    findings = []
    for verdict in _verdicts(lab, exercise, sources, assessor):
        for result in verdict.results:
            value = result.value or {}
            if result.status == verdicts.PASS:
                findings.append(
                    Finding(exercise.id, "stub", f"the check {result.check.name} passes with nothing written")
                )
            elif result.status == verdicts.IMPORT:
                if exercise.id not in result.sentence:
                    findings.append(Finding(exercise.id, "stub", f"{result.check.name}: {result.sentence}"))
            elif not _mentions(value, exercise.id):
                text = result.sentence
                findings.append(
                    Finding(exercise.id, "stub", f"{result.check.name} fails, but not by the stub: {text}")
                )
    return findings


def _mentions(value: Plain, id: str) -> bool:
    """Whether the result is the stub's error, or has it as a part."""
    if value.get("is") == "error":
        return value["class"] == "NotImplementedError" and id in value["text"]
    items = value.get("items", ())
    parts = [x for item in items for x in (item if isinstance(item, list) else [item])]
    return any(_mentions(part, id) for part in parts)


def _solution(lab: Lab, exercise: Exercise, assessor: Assessor) -> list[Finding]:
    sources = {t: in_its_class(t, reference_function(t).source) for t in exercise.targets}
    findings = []
    for seed in _SEEDS:
        for verdict in _verdicts(lab, exercise, sources, assessor, seed):
            for result in verdict.results:
                if result.status != verdicts.PASS:
                    text = f"{result.check.name} is red for the reference (seed {seed}): {result.sentence} {result.difference}"
                    findings.append(Finding(exercise.id, "solution", text))
                elif (result.value or {}).get("uncaught"):
                    text = f"{result.check.name} ends in an error for the reference, too: {result.value}"
                    findings.append(
                        Finding(exercise.id, "solution", f"{text}. Is it meant? Then use `raised`.")
                    )
    return findings


def _planted(lab: Lab, exercise: Exercise, assessor: Assessor) -> list[Finding]:
    findings = []
    for target in exercise.targets:
        sources = {t: in_its_class(t, reference_function(t).source) for t in exercise.targets}
        sources[target] = _with_body(target, 'raise RuntimeError("planted")')
        found = list(_verdicts(lab, exercise, sources, assessor))
        if not any(r.status != verdicts.PASS for verdict in found for r in verdict.results):
            findings.append(
                Finding(
                    exercise.id, "planted", f"all checks pass though `{target.name}` raises: it is not run"
                )
            )
    return findings


def _mutant(lab: Lab, exercise: Exercise, mutant: Mutant, assessor: Assessor) -> list[Finding]:
    target = next((t for t in exercise.targets if not mutant.target or t.name == mutant.target), None)
    who = f"{mutant.name} ({mutant.misconception})"
    if target is None:
        return [Finding(exercise.id, "mutants", f"{who}: the exercise has no target {mutant.target!r}")]
    sources = {t: in_its_class(t, reference_function(t).source) for t in exercise.targets}
    try:
        sources[target] = mutant_source(mutant, target, reference_function(target).source)
    except (ValueError, SyntaxError) as error:
        return [Finding(exercise.id, "mutants", f"{who}: {error}")]
    failed: list[Check] = []
    for verdict in _verdicts(lab, exercise, sources, assessor):
        if verdict.status in (verdicts.BROKEN, verdicts.TODO):
            return [Finding(exercise.id, "mutants", f"{who}: {verdict.sentence}")]
        failed += [r.check for r in verdict.results if r.status != verdicts.PASS]
    if not failed:
        return [Finding(exercise.id, "mutants", f"{who} passes every check")]
    if not any(mutant.misconception in c.against and not c.hidden for c in failed):
        names = ", ".join(c.name for c in failed)
        return [Finding(exercise.id, "mutants", f"{who} fails {names}, of which no public one is against it")]
    return []


def _verdicts(
    lab: Lab, exercise: Exercise, sources: dict[Target, str], assessor: Assessor, seed: int = 0
) -> Iterator[Verdict]:
    """The verdicts of the public checks and of the hidden ones, on functions that are given as text."""
    preamble = _preamble(lab)
    text = preamble + "\n\n\n".join(sources.values()) + "\n"
    file = LearnerSource(f"{exercise.id}.py", text, lab.names)
    for path in check_files(lab):
        yield assessor.assess(lab, exercise, file, checks_file=path, seed=seed)


def _preamble(lab: Lab) -> str:
    """The imports of the lab's exercises."""
    text = (lab.folder / "exercises.py").read_text(encoding="utf-8")
    nodes = [n for n in ast.parse(text).body if isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(map(ast.unparse, nodes)) + "\n\n\n"


def _with_body(target: Target, statement: str) -> str:
    """A function of the reference's signature, with another body."""
    node = reference_function(target).node
    copy = type(node)(**{name: getattr(node, name) for name in node._fields})
    copy.decorator_list = []
    copy.body = [
        *ast.parse("0").body,
        *ast.parse(statement).body,
    ]  # the `0` keeps it from being taken for a stub
    return in_its_class(target, ast.unparse(ast.fix_missing_locations(copy)))
