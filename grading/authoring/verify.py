"""The proofs of every exercise: that its checks can fail, that they pass for the right answer, and that they tell mistakes apart.

For each exercise:

    fresh       the generated files are what the generator would write now
    stub        the stub, put in place, fails every check, and with its own NotImplementedError
    solution    the reference's function, as a learner's, passes every check, on several seeds
    drawn       if a function takes arguments: in each check that is not of random programs, the right result depends on the seed, or the
                check says with `fixed=` why it does not; not all of these checks are `fixed`
    right       right answers that are written in another way pass every check, too
    mutants     three or more plausible wrong answers fail, each on a check that is against its misconception
    planted     a function that does nothing but raise makes a check fail: the learner's function is what runs
    checks      there are three or more for learners, a hidden one, and one of random programs, or the manifest says why it has none
    reach       the random programs call each function that takes arguments: if it raises, one of them fails
    secret      no long line of the solution is in the files of the lab's folder, except `mutants.py`

There are hundreds of proofs. Most run checks, the learners' and the hidden ones, in a process of their own, a copy of a process that
has already imported what no proof changes (`processes.Forks`).

A proof that fails is reported with what it found; then the exit status of `python -m grading verify` is 1.
"""

from __future__ import annotations

import ast
import concurrent.futures
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jitkit.kata.engine import assessor, running
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.mutants import (
    Mutant,
    RightAnswer,
    in_its_class,
    load_mutants,
    load_right_answers,
    mutant_source,
    named_as,
)
from jitkit.kata.engine.names import Function, tree_of
from jitkit.kata.engine.plain import Plain
from jitkit.kata.engine.processes import Forks
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.running import Job, LearnerSource
from jitkit.kata.engine.statuses import Status
from jitkit.kata.engine.submission import Target
from jitkit.kata.engine.verdicts import CheckResult, Verdict

from ..shared import ROOT, hidden_checks
from . import mutate
from .generate import stale_files
from .mutate import Score
from .mutations import Mutation

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


def verify(lab: Lab, assessor: Assessor, forks: Forks, workers: int = 2, only: str | None = None) -> list[Finding]:
    """Return all findings of a lab, or only those of its generated files and of the exercise `only`. The proofs run in `forks`."""
    findings = list(staleness(lab))
    exercises = [e for e in lab.exercises if only is None or e.id == only]
    mutants_file = lab.folder / "mutants.py"
    text = mutants_file.read_text(encoding="utf-8") if mutants_file.is_file() else ""
    mutants = load_mutants(text, str(mutants_file))
    answers = load_right_answers(text, str(mutants_file))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        prover = _Prover(lab, assessor, forks, pathlib.Path(folder))
        prover.prepare()
        # the solutions come first: they compute the reference's results, which all other proofs compare with
        proofs = [pool.submit(prover.solution, exercise) for exercise in exercises]
        for exercise in exercises:
            of_exercise = [m for m in mutants if m.exercise == exercise.id]
            findings += shortages(lab, exercise, of_exercise)
            findings += leaked_lines(lab, exercise)
            proofs.append(pool.submit(prover.stub, exercise))
            proofs.append(pool.submit(prover.planted, exercise))
            proofs += [pool.submit(prover.mutant, exercise, m) for m in of_exercise]
            proofs += [pool.submit(prover.right, exercise, a) for a in answers if a.exercise == exercise.id]
        for proof in proofs:
            findings += proof.result()
    return findings


def mutated(
    lab: Lab, assessor: Assessor, forks: Forks, workers: int = 2, only: str | None = None, sample: int = 0
) -> Iterator[tuple[Exercise, Score]]:
    """Yield each exercise, or the exercise `only`, with the score of its automatic mutants."""
    with tempfile.TemporaryDirectory() as folder:
        prover = _Prover(lab, assessor, forks, pathlib.Path(folder))
        prover.prepare()
        for exercise in lab.exercises:
            if only is not None and exercise.id != only:
                continue

            def assess(target: Target, mutation: Mutation, exercise: Exercise = exercise) -> Verdict:
                return prover.verdict(exercise, {target: mutate.source_of(target, mutation)})

            yield exercise, mutate.mutate(lab, exercise, assess, hidden_checks(lab), sample, workers)


def check_files(lab: Lab) -> list[pathlib.Path]:
    """Return a lab's files of checks: the learners', and the hidden ones, if there are any."""
    return [path for path in (lab.folder / "checks.py", hidden_checks(lab)) if path.is_file()]


# --- the proofs ---------------------------------------------------------------------------------------------------


def staleness(lab: Lab) -> Iterator[Finding]:
    """Yield a finding for each generated file that is out of date."""
    for path in stale_files(lab, ROOT):
        yield Finding(lab.name, "fresh", f"{path.relative_to(ROOT)} is not what `python -m grading generate` writes")


def shortages(lab: Lab, exercise: Exercise, mutants: list[Mutant]) -> Iterator[Finding]:
    """Yield a finding for each thing that an exercise has too few of: checks, hidden checks, random programs, mutants. Yield one also for
    each misconception that a check is against and no mutant has.
    """
    checks = assessor.checks_of(lab, exercise.id, hidden_checks(lab))
    public = sum(not c.hidden for c in checks)
    if public < _FEWEST_CHECKS:
        yield Finding(exercise.id, "checks", f"there are {public}, and should be {_FEWEST_CHECKS} or more")
    if not any(c.hidden for c in checks):
        yield Finding(exercise.id, "checks", "there is no hidden check")
    if any(c.drawn for c in checks) == bool(exercise.no_programs):
        text = "the last check is of random programs, or `no_programs` in lab.toml says why not"
        yield Finding(exercise.id, "checks", text)
    if len(mutants) < _FEWEST_MUTANTS:
        yield Finding(exercise.id, "mutants", f"there are {len(mutants)}, and should be {_FEWEST_MUTANTS} or more")
    refuted = {text for c in checks for text in c.against}
    for text in refuted - {m.misconception for m in mutants}:
        yield Finding(exercise.id, "mutants", f"a check is against {text!r}, and no mutant believes it")


def leaked_lines(lab: Lab, exercise: Exercise) -> Iterator[Finding]:
    """Yield a finding for each file of the learners that contains a long line of a solution. Short lines do not count, nor do
    comments, `raise` and `return`: these occur everywhere.
    """
    for target in exercise.targets:
        function = reference_function(target)
        lines = {line.strip() for line in _body(function.source)}
        telling = {line for line in lines if len(line) >= 40 and not line.startswith(("#", "raise", "return"))}
        for path in sorted(lab.folder.rglob("*")):
            if path.suffix not in (".py", ".md", ".ipynb", ".toml") or path.name == "mutants.py":
                continue
            text = path.read_text(encoding="utf-8")
            found = next((line for line in telling if line in text), None)
            if found is not None:
                yield Finding(exercise.id, "secret", f"a line of the solution is in {path.name}: {found}")


def _body(source: str) -> list[str]:
    """Return the lines of a function after its docstring; [] if the source does not begin with a function."""
    function = tree_of(source).body[0]
    if not isinstance(function, Function):
        return []
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return source.splitlines()[body[0].lineno - 1 :] if body else []


def not_drawn(check: Check, values: list[Plain | None]) -> str:
    """Return what is wrong with a check, or "". `values` has its right results on several seeds: they should be equal if
    the check is `fixed`, and otherwise differ. Nothing is asked of a check of random programs.
    """
    same = all(value == values[0] for value in values)
    if check.drawn or same == bool(check.fixed):
        return ""
    if same:
        return f"what is right in {check.name} is the same on all seeds. Draw it with `rng`, or say with `fixed=` why it is one thing"
    return f"{check.name} says that it is `fixed` ({check.fixed}), and what is right depends on the seed"


def _compared(value: Any) -> Any:
    """Return a result without the parts that are not compared: the words and lines of an error."""
    if isinstance(value, dict):
        left_out = ("text", "lines") if value.get("is") == "error" else ()
        return {key: _compared(part) for key, part in value.items() if key not in left_out}
    return [_compared(part) for part in value] if isinstance(value, list) else value


def _mentions(value: Plain, id: str) -> bool:
    """Return whether a result is the stub's error, or contains it."""
    if value.get("is") == "error":
        return value["class"] == "NotImplementedError" and id in value["text"]
    items = value.get("items", ())
    parts = [x for item in items for x in (item if isinstance(item, list) else [item])]
    return any(_mentions(part, id) for part in parts)


class _Prover:
    """Runs the proofs of a lab's exercises. Each proof returns its findings; [] means that it is proven.

    Args:
      folder: the folder into which a file with all checks is written.
    """

    def __init__(self, lab: Lab, assessor: Assessor, forks: Forks, folder: pathlib.Path) -> None:
        self.lab = lab
        self.assessor = assessor
        self.forks = forks
        # Run each file in a namespace of its own, and under its own name: two files may define helpers of one name.
        texts = [(str(path), path.read_text(encoding="utf-8")) for path in check_files(lab)]
        self.checks = folder / "all_checks.py"
        self.checks.write_text(
            f"for path, text in {texts!r}:\n"
            "    exec(compile(text, path, 'exec'), {'__name__': 'checks', '__file__': path})\n",
            encoding="utf-8",
        )

    def prepare(self) -> None:
        """Let the processes import jitkit and the checks before they are copied: most functions can be exchanged afterwards."""
        code = self.assessor.machine_code
        kept = str(code.folder) if code is not None and code.is_there() else ""
        job = Job((), {}, str(self.checks), self.checks.read_text(encoding="utf-8"), (), executables=kept)
        later = {"targets_later": sorted(map(str, self.lab.targets))}
        self.forks.prepare(False, running.request_ahead(job) | later)

    def verdict(
        self,
        exercise: Exercise,
        changed: dict[Target, str],
        seed: int = 0,
        graded: bool = False,
        wanted: Callable[[Check], bool] = lambda check: True,
    ) -> Verdict:
        """Return the verdict of all checks, or of those that are `wanted`, on the reference's functions; the sources in `changed` replace
        those of their targets. With `graded`, as many random programs run as in grading.
        """
        sources = {t: in_its_class(t, reference_function(t).source) for t in exercise.targets} | changed
        text = _preamble(self.lab) + "\n\n\n".join(sources.values()) + "\n"
        file = LearnerSource(f"{exercise.id}.py", text, self.lab.targets)
        return self.assessor.assess(
            self.lab, exercise, file, checks_file=self.checks, wanted=wanted, seed=seed, draw=seed, graded=graded,
            spare=self.forks,
        )  # fmt: skip

    def stub(self, exercise: Exercise) -> list[Finding]:
        """Prove that the stub fails: the result of each check must be the stub's NotImplementedError, or contain it."""
        statement = f'raise NotImplementedError("{exercise.id}")'
        found = self.verdict(exercise, {t: _with_body(t, statement) for t in exercise.targets})
        return [
            Finding(exercise.id, "stub", sentence)
            for result in found.results
            if (sentence := self._not_by_the_stub(exercise, result))
        ]

    def _not_by_the_stub(self, exercise: Exercise, result: CheckResult) -> str:
        if result.status == Status.PASS:
            return f"the check {result.check.name} passes with nothing written"
        if result.status == Status.IMPORT:
            return "" if exercise.id in result.sentence else f"{result.check.name}: {result.sentence}"
        if _mentions(result.value or {}, exercise.id):
            return ""
        return f"{result.check.name} fails, but not by the stub: {result.sentence}"

    def solution(self, exercise: Exercise) -> list[Finding]:
        """Prove that the reference's functions pass as a learner's, on several seeds. If one of them takes arguments, prove also that the
        results depend on the seed, but for checks that are `fixed`, and that not every check is.
        """
        findings = []
        values: list[list[Plain | None]] = []
        checks: list[Check] = []
        for seed in _SEEDS:
            results = self.verdict(exercise, {}, seed, graded=seed == _SEEDS[0]).results
            checks, of_seed = [result.check for result in results], [result.value for result in results]
            values.append(of_seed)
            for result in results:
                if result.status != Status.PASS:
                    text = f"{result.check.name} is red for the reference (seed {seed}): {result.sentence} {result.difference}"
                    findings.append(Finding(exercise.id, "solution", text))
                elif (result.value or {}).get("uncaught"):
                    text = f"{result.check.name} ends in an error for the reference, too: {result.value}"
                    findings.append(Finding(exercise.id, "solution", f"{text}. Is it meant? Then use `raised`."))
        if not findings and any(map(_takes_arguments, exercise.targets)):
            findings += [
                Finding(exercise.id, "drawn", text)
                for check, *of_check in zip(checks, *values, strict=True)
                if (text := not_drawn(check, [_compared(value) for value in of_check]))
            ]
            if all(check.fixed for check in checks if not check.drawn):
                findings.append(
                    Finding(exercise.id, "drawn", "every check is `fixed`: all that is right can be written down")
                )
        return findings

    def right(self, exercise: Exercise, answer: RightAnswer) -> list[Finding]:
        """Prove that a right answer that is not the reference's passes every check."""
        targets = {target.name: target for target in exercise.targets}
        if len(targets) == 1:
            targets[""] = exercise.targets[0]
        unknown = answer.functions.keys() - targets
        if unknown:
            return [Finding(exercise.id, "right", f"{answer.how}: the exercise has no target {min(unknown)!r}")]
        changed = {targets[name]: named_as(targets[name], source) for name, source in answer.functions.items()}
        found = self.verdict(exercise, changed, graded=True)
        if found.status in (Status.BROKEN, Status.TODO):
            return [Finding(exercise.id, "right", f"{answer.how}: {found.sentence}")]
        return [
            Finding(exercise.id, "right", f"{answer.how}: {r.check.name} refuses it. {r.sentence} {r.difference}")
            for r in found.results
            if r.status != Status.PASS
        ]

    def planted(self, exercise: Exercise) -> list[Finding]:
        """Prove that some check fails if a function raises: so the learner's function is the one that runs. Prove that all checks of
        random programs fail, too, if the function takes arguments.
        """
        findings = []
        for target in exercise.targets:
            found = self.verdict(exercise, {target: _with_body(target, 'raise RuntimeError("planted")')}, graded=True)
            if all(result.status == Status.PASS for result in found.results):
                sentence = f"all checks pass though `{target.name}` raises: it is not run"
                findings.append(Finding(exercise.id, "planted", sentence))
            for result in found.results:
                if result.check.drawn and result.status == Status.PASS and _takes_arguments(target):
                    sentence = f"no random program of {result.check.name} calls `{target.name}`"
                    findings.append(Finding(exercise.id, "reach", sentence))
        return findings

    def mutant(self, exercise: Exercise, mutant: Mutant) -> list[Finding]:
        """Prove that a wrong answer fails a public check that is against its misconception. First only these checks run. If none of
        them fails, all checks run in one process, as for a learner, since a check may need what an earlier one has left.
        """
        target = next((t for t in exercise.targets if not mutant.target or t.name == mutant.target), None)
        who = f"{mutant.name} ({mutant.misconception})"
        if target is None:
            return [Finding(exercise.id, "mutants", f"{who}: the exercise has no target {mutant.target!r}")]
        try:
            source = mutant_source(mutant, target, reference_function(target).source)
        except (ValueError, SyntaxError) as error:
            return [Finding(exercise.id, "mutants", f"{who}: {error}")]

        def against(check: Check) -> bool:
            return mutant.misconception in check.against and not check.hidden

        found = self.verdict(exercise, {target: source}, wanted=against)
        if found.status in (Status.BROKEN, Status.TODO):
            return [Finding(exercise.id, "mutants", f"{who}: {found.sentence}")]
        if any(r.status != Status.PASS for r in found.results):
            return []
        found = self.verdict(exercise, {target: source})
        failed = [r.check for r in found.results if r.status != Status.PASS]
        if not failed:
            return [Finding(exercise.id, "mutants", f"{who} passes every check")]
        if any(against(check) for check in failed):
            return []
        names = ", ".join(c.name for c in failed)
        return [Finding(exercise.id, "mutants", f"{who} fails {names}, of which no public one is against it")]


def _takes_arguments(target: Target) -> bool:
    """Return whether a function takes arguments. One without arguments is a prediction that the learner writes down."""
    return any(isinstance(node, ast.arg) for node in ast.walk(reference_function(target).node.args))


def _preamble(lab: Lab) -> str:
    """Return the imports of the lab's exercises."""
    text = (lab.folder / "exercises.py").read_text(encoding="utf-8")
    nodes = [n for n in tree_of(text).body if isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(map(ast.unparse, nodes)) + "\n\n\n"


def _with_body(target: Target, statement: str) -> str:
    """Return the source of the reference's function, with `statement` in place of its body."""
    node = reference_function(target).node
    copy = type(node)(**{name: getattr(node, name) for name in node._fields})
    copy.decorator_list = []
    copy.body = [*tree_of("0").body, *tree_of(statement).body]  # the `0` keeps it from being taken for a stub
    return in_its_class(target, ast.unparse(ast.fix_missing_locations(copy)))
