"""an exercise + a learner's files -> verdict

The checks of an exercise run twice: with the reference, whose results are right, and with the learner's functions in
place of the reference's. `Assessor` keeps the reference's results, in memory and in a folder, so that they are computed once.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...base.whole_file import write_whole
from . import running
from .checking import Check, load_checks
from .comparison import Difference, RunStablehlo, describe, first_difference
from .executables import MachineCode
from .manifest import Exercise, Lab
from .plain import Plain
from .processes import Forks, Spare
from .random_programs import whole
from .running import Job, LearnerSource, Outcome, Stop
from .shortening import shortened
from .statuses import Status
from .submission import Target
from .verdicts import CheckResult, Verdict, find_problem, place_of

_PATIENCE = 6  # the factor on the time when a reference that took too long runs again: the machine may be busy


def checks_of(lab: Lab, exercise: str | None = None, hidden: pathlib.Path | None = None) -> list[Check]:
    """Return the checks of a lab, or only those of one exercise. If the file `hidden`, which learners do not have, exists, its
    checks are added.
    """
    files = [lab.folder / "checks.py", *([hidden] if hidden is not None and hidden.is_file() else [])]
    found = [c for file in files for c in load_checks(file.read_text(encoding="utf-8"), str(file))]
    return [c for c in found if exercise is None or c.exercise == exercise]


class Assessor:
    """Runs checks and compares results.

    Args:
      folder: where the reference's results and the machine code of programs are kept between runs. With None, results are kept
        in memory, and machine code is not kept.
      run_stablehlo: see `comparison`.
      seconds: the time that one check may take.
    """

    def __init__(
        self, folder: pathlib.Path | None = None, run_stablehlo: RunStablehlo | None = None, seconds: float = 20.0
    ) -> None:
        self.folder = folder
        self.run_stablehlo = run_stablehlo
        self.seconds = seconds
        self.expected: dict[str, list[Outcome]] = {}
        self.machine_code = MachineCode(folder / "executables") if folder is not None else None
        self.computing = threading.Lock()

    def assess(
        self,
        lab: Lab,
        exercise: Exercise,
        file: LearnerSource,
        others: Iterable[tuple[LearnerSource, Target]] = (),
        *,
        checks_file: pathlib.Path | None = None,
        wanted: Callable[[Check], bool] = lambda check: True,
        seed: int = 0,
        draw: int = 0,
        graded: bool = False,
        hurried: float = 0.0,
        spare: Spare | None = None,
        stop: Stop | None = None,
    ) -> Verdict:
        """Return the verdict on an exercise whose functions are in `file`.

        Args:
          others: functions of other exercises that take the reference's place, too, each with its file.
          checks_file: a file of checks; None stands for the lab's `checks.py`.
          wanted: says whether a check of the exercise is to run. If none is, the exercise passes.
          seed: the seed of the random inputs.
          draw: the seed of random programs.
          graded: whether to run as many random programs as in grading.
          hurried: processor seconds after which no further random program begins; 0 means that all run.
          spare: processes that wait for a request.
          stop: stops the run, which then raises Stopped.

        Raises:
          RuntimeError: the reference fails a check, which is a fault of ours.
        """
        problem = find_problem(exercise, file)
        if problem is not None:
            return problem
        others = list(others)
        path = checks_file or lab.folder / "checks.py"
        source = path.read_text(encoding="utf-8")
        checks = [c for c in load_checks(source, str(path)) if c.exercise == exercise.id]
        job = self.job(exercise, file, others, (str(path), source), checks, seed, draw)
        everything = job._replace(graded=graded, hurried=hurried)
        checks = [check for check in checks if wanted(check)]
        if not checks:
            return Verdict(exercise, Status.PASS)
        job = everything._replace(wanted=tuple(check.name for check in checks))
        own = frozenset(f.path for f in job.files)
        judged: dict[str, CheckResult] = {}
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            expected = pool.submit(self.expected_of, job.wanted, everything, spare)

            def failing(outcomes: list[Outcome]) -> str | None:
                """Return the name of the first check that fails. Return None if all pass, or if that check returned no value or
                runs random programs.
                """
                for triple in zip(checks, expected.result(), outcomes, strict=False):
                    result = judged[triple[0].name] = judged.get(triple[0].name) or self.judge(*triple, own)
                    if result.status != Status.PASS:
                        return result.check.name if result.value is not None and not result.check.drawn else None
                return None

            replay = running.Replay(failing, file.path, tuple(target.name for target in exercise.targets))
            outcomes = running.run(job, spare, stop, None if isinstance(spare, Forks) else replay)
            triples = zip(checks, expected.result(), outcomes, strict=True)
            results = tuple(judged.get(triple[0].name) or self.judge(*triple, own) for triple in triples)
        results = tuple(with_call(result, outcome) for result, outcome in zip(results, outcomes, strict=True))
        first = next((i for i, result in enumerate(results) if result.status != Status.PASS), None)
        if first is not None and results[first].check.drawn and not isinstance(spare, Forks):
            results = (*results[:first], self.shortest(results[first], job, own), *results[first + 1 :])
        status = Status.PASS if all(r.status == Status.PASS for r in results) else Status.FAIL
        called = next(((file.path, result.called) for result in results if result.called), None)
        return Verdict(exercise, status, results, "", called or place_of(exercise, file), file.path)

    def shortest(self, result: CheckResult, job: Job, own: frozenset[str]) -> CheckResult:
        """Return, in place of the failed result of a check of random programs, that of the shortest failing program
        found, with its text; `result` itself if the difference is not in one of the programs.
        """
        place = re.match(r"result\[(\d+)\]", result.difference.where) if result.difference is not None else None
        if place is None or result.value is None or result.value["is"] != "list":
            return result
        program, check = result.value["items"][int(place[1])], result.check

        def differ(right: Outcome, yours: Outcome) -> bool:
            return self.judge(check, right, yours, own).difference is not None

        short = shortened(program, check.name, job, differ)
        if short is not None:
            result = self.judge(check, short.right, short.yours, own)
        assert result.difference is not None, "it was chosen for that"
        where = re.sub(r"^result\[\d+\]", "result", result.difference.where)
        text = whole(short.text if short is not None else program["text"])
        return result._replace(program=text, difference=result.difference._replace(where=where))

    def job(
        self,
        exercise: Exercise,
        file: LearnerSource,
        others: Sequence[tuple[LearnerSource, Target]],
        checks_file: tuple[str, str],
        checks: Sequence[Check],
        seed: int = 0,
        draw: int = 0,
    ) -> Job:
        """Return the job to run for a verdict; `checks_file` is a path and the file's source."""
        placed = {target: other.path for other, target in others} | dict.fromkeys(exercise.targets, file.path)
        files = {other.path: other for other, _ in others} | {file.path: file}
        keeps = exercise.uses_xla and self.machine_code is not None and self.machine_code.is_there()
        return Job(
            tuple(files.values()), placed, *checks_file, tuple(c.name for c in checks), seed,
            exercise.uses_xla, self.seconds, executables=str(self.machine_code.folder) if self.machine_code and keeps else "",
            draw=draw,
        )  # fmt: skip

    def expected_of(self, wanted: Sequence[str], job: Job, spare: Spare | None) -> list[Outcome]:
        """Return the reference's results for some checks of a job. All checks of the job run, since results are kept for other runs."""
        found = {o.check: o for o in self.reference(job, spare.for_reference if spare is not None else None)}
        return [found[name] for name in wanted]

    def reference(self, job: Job, spare: Spare | None = None) -> list[Outcome]:
        """Return the reference's results for a job. If a check takes too long, it runs again with more time. Raise RuntimeError
        if the reference fails, which is a fault of ours.
        """
        job = job._replace(files=(), targets={}, hurried=0.0)
        # if two threads ask at the same time, the second finds what the first has computed
        with contextlib.nullcontext() if isinstance(spare, Forks) else self.computing:
            known = self.remembered(job, spare)
        if any(outcome.trouble == Status.TIME for outcome in known):
            known = self.remembered(job._replace(seconds=_PATIENCE * job.seconds), spare)
        for outcome in known:
            if outcome.trouble:
                raise RuntimeError(f"the reference fails {outcome.check}: {outcome.sentence} {outcome.output}")
        return known

    def remembered(self, job: Job, spare: Spare | None = None) -> list[Outcome]:
        """Return the outcomes of a job: those that are kept, in memory or in the folder, and for the missing checks those of
        a run, which are kept, too. Only the reference's and a mutant's outcomes can be kept, since they are the same each
        time. Outcomes are kept in two groups: those of random programs, which change with each draw, and all others. A
        group in which a check took too long is not kept.
        """
        drawn = (
            {c.name for c in load_checks(job.checks_source, job.checks_path) if c.drawn} if job.climb is None else set()
        )
        functions = [[f.path, f.source] for f in job.files], sorted(map(str, job.targets))
        parts = {}
        for is_drawn, seed in ((False, job.seed), (True, job.draw)):
            wanted = [name for name in job.wanted if (name in drawn) == is_drawn]
            if wanted:
                key = _digest(
                    [job.checks_source, wanted, seed, is_drawn and job.graded, functions, _reference_digest()]
                )
                parts[key] = wanted
        found = {key: known for key, names in parts.items() if (known := self.kept(key, names)) is not None}
        self.expected |= found
        missing = [name for name in job.wanted if not any(o.check == name for known in found.values() for o in known)]
        if missing:
            made = running.run(job._replace(wanted=tuple(missing)), spare)
            for key in parts.keys() - found:
                found[key] = [outcome for outcome in made if outcome.check in parts[key]]
                # a busy machine may be the reason, so outcomes with TIME are not remembered
                if not any(outcome.trouble == Status.TIME for outcome in found[key]):
                    self.write(key, found[key])
                    self.expected[key] = found[key]
        by_name = {outcome.check: outcome for known in found.values() for outcome in known}
        return [by_name[name] for name in job.wanted]

    def kept(self, key: str, names: Iterable[str]) -> list[Outcome] | None:
        """Return the results of these checks that are kept under a key, in memory or in the folder; None if one is
        missing.
        """
        found = self.expected.get(key) or self.read(key)
        return found if {outcome.check for outcome in found} >= set(names) else None

    def read(self, key: str) -> list[Outcome]:
        """Return the outcomes in the folder's file of this key; an empty list if it cannot be read."""
        if self.folder is None:
            return []
        try:
            data = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            return [Outcome(*item) for item in data]
        except (OSError, ValueError, TypeError):
            return []

    def write(self, key: str, outcomes: Sequence[Outcome]) -> None:
        """Write outcomes to the folder, if there is one and it can be written."""
        if self.folder is None:
            return
        try:
            text = json.dumps([(o.check, o.value, o.trouble, o.sentence) for o in outcomes])
            write_whole(self.folder / f"{key}.json", text.encode("utf-8"), make_folder=True)
        except OSError:
            return

    def judge(self, check: Check, expected: Outcome, actual: Outcome, own: frozenset[str] = frozenset()) -> CheckResult:
        """Return the result of one check: the learner's outcome (`actual`) judged by the reference's. `own` are the learner's files."""
        if actual.trouble or actual.value is None or expected.value is None:
            status = Status(actual.trouble or Status.CRASH)
            return CheckResult(check, status, actual.sentence, None, actual.line, actual.output, actual.seconds)
        value, right = actual.value, expected.value
        # Random programs run until the time is up: compare only those that the learner's functions ran, at least one.
        if check.drawn and value["is"] == right["is"] == "list":
            right = right | {"items": right["items"][: max(len(value["items"]), 1)]}
        try:
            difference = first_difference(right, value, self.run_stablehlo, check.tolerance)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            sentence = f"The result cannot be read: {error}"
            difference = Difference("result", sentence, describe(right), value.get("is", "nothing"))
        if difference is None:
            return CheckResult(check, Status.PASS, "", None, None, actual.output, actual.seconds, value, right)
        status = Status.CRASH if value.get("is") == "error" and right.get("is") != "error" else Status.FAIL
        line = next((f for f in reversed(difference.frames) if f[0] in own), difference.line)
        return CheckResult(
            check, status, difference.sentence, difference, line, actual.output, actual.seconds, value, right
        )


def with_call(result: CheckResult, outcome: Outcome) -> CheckResult:
    """Add to a failed result the learner's call that it comes from, if calls were recorded, and return it. If the values are
    counts, add the explanations of cache misses, too. A result without a difference or a value is returned unchanged.

    The first rule that finds a call decides:

    - take the only call; for an error, the last one;
    - for the wrong value, then for each list, tuple or dict around it: if there are as many calls as values at that depth, take
      the call with the same number; else, unless a jaxpr is expected, the last call that returned this value;
    - take the last call, and mark it `# the last call`.
    """
    difference, value = result.difference, result.value
    if difference is None or value is None:
        return result
    is_count = bool(_COUNT.search(difference.expected)) and bool(_COUNT.search(difference.actual))
    result = result._replace(misses=outcome.misses if is_count else "")
    if not outcome.calls:
        return result
    calls, last = outcome.calls, outcome.calls[-1]
    call = last if len(calls) == 1 or value["is"] == "error" else None
    for place, count, wrong in _places_of(value, difference.where):  # the value that differs, then what it is a part of
        if call is None and count == len(calls):
            call = calls[place]
        if call is None and result.expected is not None and result.expected["is"] != "jaxpr":
            call = next((c for c in reversed(calls) if c.result == wrong), None)
    return result._replace(
        call=call.text if call is not None else f"{last.text}  # the last call", called=(call or last).line
    )


_COUNT = re.compile(r"^-?\d+$|: (1|1 to \d+|\d+)'?$")  # a count: a whole number, or a string of lab 10 that ends in one


def _places_of(value: Plain, where: str) -> Iterator[tuple[int, int, Plain]]:
    """Yield the index of the leaf at `where`, such as `result[0][3]`, the number of leaves, and the leaf; then the same
    for the parts around it, level by level.
    """
    levels = [[("result", value)]]
    while any(part["is"] in ("list", "tuple", "dict") for _, part in levels[-1]):
        levels.append([inner for path, part in levels[-1] for inner in _items(path, part)])
    for parts in reversed(levels):
        place = next((i for i, (path, _) in enumerate(parts) if f"{where}[".startswith(f"{path}[")), None)
        if place is not None:
            yield place, len(parts), parts[place][1]


def _items(where: str, value: Plain) -> Iterator[tuple[str, Plain]]:
    """Yield the path and the value of each item of a list, a tuple or a dict; for any other value, yield its own path
    and the value.
    """
    if value["is"] in ("list", "tuple"):
        yield from ((f"{where}[{i}]", item) for i, item in enumerate(value["items"]))
    elif value["is"] == "dict":
        yield from ((f"{where}[{describe(key)}]", item) for key, item in value["items"])
    else:
        yield where, value


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


_known_digest: list[str] = []


def _reference_digest() -> str:
    """Return a hash of the sizes and times of the reference's files, which is faster to compute than a hash of their
    texts. When a file changes, results are computed again.
    """
    if not _known_digest:
        _known_digest.append(_digest(sorted(_stamps(pathlib.Path(__file__).resolve().parents[2]))))
    return _known_digest[0]


def _stamps(folder: pathlib.Path) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name not in ("__pycache__", "labs", "bench"):
                yield from _stamps(pathlib.Path(entry.path))
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
