"""one submission -> its grades: intake, a worker for each exercise, the verdict here

The secret seed, what the reference computes, and the comparison are in this process; students' code is in others, which know of
none of them. What the reference computes is computed in a worker, too, by the same road, and then once more as if a student had
handed it in: a control. If that does not pass, the fault is ours, and nobody has a grade of it.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.metadata
import json
import marshal
import pathlib
import platform
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jitkit
from jitkit.kata.checking import Check
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.reference import PACKAGE
from jitkit.kata.engine.running import Outcome
from jitkit.kata.engine.verdicts import Assessor, CheckResult

from ..course import shares
from ..verify import hidden_checks
from . import answers, rungs
from .bench import Bench, Gate
from .files import shown
from .holes import LATE
from .images import CheckFile, Images
from .jail import BUBBLEWRAP, JAX, JAXLIB, NUMPY, JailError, Limits, ProtocolError, Worker
from .verdict import CRASH, FAIL, NAMES, PASS, outcome_of, programs

OK, INVALID, INFRA = "OK", "INVALID", "INFRA"

_MOST_TIMEOUTS = 2  # of an exercise; then its other checks are not tried
_MOST_ALONE = 2  # of a submission: how often a check that took too long is run again, with nothing beside it
_NOT_TRIED = "It was not tried: two checks before it did not end."
_OUT_OF_TIME = "It was not tried: the submission had used up its time."
_NOT_RUN = (
    "It was not run: there are more programs than in the right answer, or others before it came to no end."
)
_IMPORT_SECONDS = 20.0
_MOST_TRIES = 4  # at what the reference computes, in a batch
VALUES = 2  # the form in which that is kept


class Settings(NamedTuple):
    """How it is graded."""

    seed: int
    seed_id: str
    limits: Limits = Limits()
    submission_seconds: float = 900.0
    backend: str = BUBBLEWRAP


class Graded(NamedTuple):
    """What is written for one submission: rows for the tables `results` and `grades`, and what went wrong on our side."""

    student: str
    results: list[dict[str, Any]]
    grades: list[dict[str, Any]]
    troubles: tuple[str, ...] = ()


class Course:
    """The labs with their checks, and what the reference computes for them: what all threads share.

    Args:
      recall, remember: where what the reference computed is kept: `recall(key)` gives it or None.
    """

    def __init__(
        self,
        labs: Sequence[Lab],
        settings: Settings,
        recall: Callable[[str], Any] | None = None,
        remember: Callable[[str, Any], None] | None = None,
    ) -> None:
        self.labs = list(labs)
        self.settings = settings
        self.images = Images(labs)
        self.files: dict[str, tuple[CheckFile, ...]] = {}  # of checks, by exercise; the hidden ones last
        for lab in labs:
            if isinstance(lab, rungs.Ladder):
                self.files |= {rung.id: rungs.program_files(rung) for rung in lab.exercises}
            else:
                both = CheckFile.read(lab.folder / "checks.py"), CheckFile.read(hidden_checks(lab))
                self.files |= dict.fromkeys(lab.ids, both)
        self.recall, self.remember = recall, remember
        self.known: dict[str, dict[str, Any]] = {}
        self.versions_of_checks: dict[str, str] = {}
        self.failures: dict[str, list[JailError]] = {}
        self.locks = {e.id: threading.Lock() for lab in labs for e in lab.exercises}
        self.whole: set[str] = set()  # exercises whose modules are imported afresh
        self.assessor = Assessor()
        self.gate = Gate()

    def bench(self) -> Bench:
        """The machines for one thread."""
        return Bench(self.images, self.labs[0].folder.parent, self.settings.backend)

    def checks(self, exercise: Exercise) -> list[tuple[CheckFile, Check]]:
        """All checks of an exercise, the hidden ones last."""
        return [(file, check) for file in self.files[exercise.id] for check in file.of(exercise.id)]

    def version(self, exercise: Exercise) -> str:
        """A hash of the checks of an exercise, and of its points."""
        if exercise.id not in self.versions_of_checks:
            text = "".join(file.version(check) for file, check in self.checks(exercise))
            digest = hashlib.sha256(f"{text} {exercise.points}".encode()).hexdigest()[:16]
            self.versions_of_checks[exercise.id] = digest
        return self.versions_of_checks[exercise.id]

    def versions(self) -> str:
        """Of what computes."""
        jaxlib = importlib.metadata.version("jaxlib")
        return f"jitkit {jitkit.__version__} {self.reference_digest}, jaxlib {jaxlib}, Python {platform.python_version()}"

    @property
    def reference_digest(self) -> str:
        """A hash of the reference's code."""
        if "digest" not in self.known:
            files = sorted(path for path in PACKAGE.rglob("*.py") if "bench" not in path.parts)
            digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
            self.known["digest"] = {"": digest}
        return str(self.known["digest"][""])

    # --- the reference ------------------------------------------------------------------------------------------------

    def expected(self, bench: Bench, exercise: Exercise) -> dict[str, Any]:
        """What the reference computes: `{"xla": whether it needs it, "values": by check}`. JailError where it fails its own checks."""
        with self.locks[exercise.id]:
            if (
                len(self.failures.get(exercise.id, ())) >= _MOST_TRIES
            ):  # else each submission would wait for it again
                raise self.failures[exercise.id][-1]
            if exercise.id not in self.known:
                key = f"{exercise.id} {self.version(exercise)} {self.settings.seed_id} {self.versions()} {VALUES}"
                found = self.recall(key) if self.recall is not None else None
                if found is None:
                    try:
                        found = self._compute(bench, exercise)
                    except JailError as error:
                        self.failures.setdefault(exercise.id, []).append(error)
                        raise
                    if self.remember is not None:
                        self.remember(key, found)
                self.known[exercise.id] = found
        return self.known[exercise.id]

    def _compute(self, bench: Bench, exercise: Exercise) -> dict[str, Any]:
        """The values are those of an import with nothing put in afterwards; the control shows that holes come to the same."""
        trouble = ""
        for uses_xla in (False, True) if not exercise.uses_xla else (True,):
            item = self._reference_item(exercise)
            values: dict[str, Any] = {}
            for outcome in self.outcomes(bench, exercise, item, uses_xla, reference=True):
                if outcome.trouble or outcome.value is None or outcome.value.get("uncaught"):
                    trouble = f"the reference fails {outcome.check}: {outcome.sentence or outcome.value}"
                    break
                self.run_programs(bench, outcome.value, outcome.value)
                values[outcome.check] = outcome.value
            else:
                for patched in (True, False) if self.can_be_patched(bench, exercise, item) else (False,):
                    found = {"xla": uses_xla, "patched": patched, "values": values}
                    outcomes = self.outcomes(bench, exercise, item, uses_xla, patched)
                    control = self.judge(bench, exercise, outcomes, found, ())
                    failed = [r for r in control if r.status != "pass"]
                    if not failed:
                        return found
                    trouble = f"the reference, handed in, fails {failed[0].check.name}: {failed[0].sentence}"
        raise JailError(f"{exercise.id}: {trouble}")

    def _reference_item(self, exercise: Exercise) -> dict[str, Any]:
        if isinstance(exercise, rungs.Rung):
            return rungs.solution(exercise)
        modules = {t.module: self.images.modules[t.module] for t in exercise.targets}
        codes = {str(t): code for t in exercise.targets if (code := self.images.codes.get(t)) is not None}
        fits = all(t in self.images.codes or t.module.startswith(LATE) for t in exercise.targets)
        patch = marshal.dumps({"functions": codes, "helpers": []}) if fits else b""
        return {
            "modules": base64.b64encode(marshal.dumps(modules)),
            "patch": base64.b64encode(patch),
            "files": [],
        }

    # --- a student's functions -----------------------------------------------------------------------------------------

    def outcomes(
        self,
        bench: Bench,
        exercise: Exercise,
        item: dict[str, Any],
        uses_xla: bool,
        patched: bool = False,
        reference: bool = False,
        deadline: float = float("inf"),
        alone: Callable[[], bool] = lambda: False,
    ) -> list[Outcome]:
        """An outcome for each check of an exercise, in order. JailError for a fault of ours.

        Args:
          patched: the functions are put into holes, where that comes to the same.
          reference: they are the reference's, and checks keep the words of messages.
        """
        patched = patched and self.can_be_patched(bench, exercise, item)
        if time.monotonic() > deadline:
            return [Outcome(c.name, None, "time", _OUT_OF_TIME) for _, c in self.checks(exercise)]
        image, kind = self.image(bench, exercise, item, uses_xla, patched, reference)
        worker = functools.partial(self._with_one_worker, bench, kind, image)
        rest = self.checks(exercise)
        found: list[Outcome] = []
        while rest:
            done = worker(rest, reference, deadline)
            found += done
            last = done[-1]
            if last.trouble == "time" and sum(o.trouble == "time" for o in found) == 1 and alone():
                with self.gate.alone():
                    found[-1] = worker(rest[len(done) - 1 : len(done)], reference, deadline)[0]
                last = found[-1]
            rest = rest[len(done) :]
            if last.trouble == "import":  # it would fail again
                return found + [last._replace(check=check.name) for _, check in rest]
            if sum(o.trouble == "time" for o in found) >= _MOST_TIMEOUTS:
                return found + [Outcome(c.name, None, "time", _NOT_TRIED) for _, c in rest]
            if time.monotonic() > deadline:
                return found + [Outcome(c.name, None, "time", _OUT_OF_TIME) for _, c in rest]
        return found

    def image(
        self,
        bench: Bench,
        exercise: Exercise,
        item: dict[str, Any],
        uses_xla: bool,
        patched: bool,
        reference: bool,
    ) -> tuple[dict[str, Any], tuple[str, bool]]:
        """What a worker is sent before its checks, and the kind of jail that it is in."""
        kept = bench.kept()
        image: dict[str, Any] = {"own": item["files"]}
        if isinstance(exercise, rungs.Rung):
            if reference:
                image |= {
                    "climbing": self.images.ladder["climbing"],
                    "fills": self.images.fills(None, kept),
                    "own": [],
                }
                return image, (JAX, True)
            return image | {"package": base64.b64decode(item["package"]), "fills": []}, (JAXLIB, True)
        modules = base64.b64decode(item["modules"])
        if patched:
            image |= {
                "spliced": modules or None,
                "fills": self.images.fills(exercise, kept),
                "patch": base64.b64decode(item["patch"]),
            }
        elif reference:
            image["modules"] = self.images.rest(marshal.loads(modules), exercise)
        else:
            image |= {"spliced": modules, "modules": self.images.rest({}, exercise)}
        return image, (JAX if uses_xla else NUMPY, patched)

    def can_be_patched(self, bench: Bench, exercise: Exercise, item: dict[str, Any]) -> bool:
        """Whether the functions of an exercise may be put into holes."""
        return bool(item["patch"]) and not any(str(t) in bench.kept() for t in exercise.targets)

    def _with_one_worker(
        self, bench: Bench, kind: tuple[str, bool], image: dict[str, Any], checks: Sequence[tuple[CheckFile, Check]], reference: bool,
        deadline: float,
    ) -> list[Outcome]:  # fmt: skip
        """The outcomes up to the one that the worker did not survive."""
        limits = self.settings.limits
        zygote = bench.zygote(*kind)
        kills = zygote.group.kills
        name = checks[0][1].name
        with zygote.start(limits) as worker:
            began = time.monotonic()
            try:
                frame = worker.load(image, min(_IMPORT_SECONDS, max(1.0, deadline - began)))
            except TimeoutError:
                return [
                    Outcome(
                        name, None, "import", f"Importing it had not ended after {_IMPORT_SECONDS:g} seconds."
                    )
                ]
            except ProtocolError as error:
                return [Outcome(name, None, "proto", f"What came back is no answer of ours: {error}.")]
            if frame is None:
                sentence = "The process ended while jitkit was imported with your functions in it."
                return [Outcome(name, None, "import", sentence, seconds=time.monotonic() - began)]
            if frame.get("is") != "imported":
                text, line = str(frame.get("text", ""))[:2000], frame.get("line")
                place = _place(line)
                return [
                    Outcome(
                        name,
                        None,
                        "import",
                        f"jitkit could not be imported with your functions in it: {text}",
                        place,
                    )
                ]
            found: list[Outcome] = []
            for file, check in checks:
                began = time.monotonic()
                request = file.request(check, self.settings.seed, strip=not reference)
                data, trouble = worker.ask(request, min(limits.seconds, max(0.1, deadline - began)))
                spent = time.monotonic() - began
                ended, alive = _ended(worker) if not trouble else (None, False)
                starved = not data and zygote.group.kills > kills
                outcome = outcome_of(
                    check.name,
                    data,
                    "" if trouble == "gone" else trouble,
                    ended,
                    starved,
                    limits.seconds,
                    spent,
                )
                found.append(outcome)
                if not alive or (outcome.trouble and not reference and trouble):
                    break
            return found

    def judge(
        self,
        bench: Bench,
        exercise: Exercise,
        outcomes: Sequence[Outcome],
        expected: dict[str, Any],
        own: Sequence[str],
        deadline: float = float("inf"),
    ) -> list[CheckResult]:
        """The verdicts, by value."""
        results = []
        tries = _MOST_TIMEOUTS
        for (_, check), outcome in zip(self.checks(exercise), outcomes, strict=True):
            right = Outcome(check.name, expected["values"][check.name])
            try:
                if outcome.value is not None and _is_far_longer(
                    outcome.value, expected["values"][check.name]
                ):
                    sentence = "Its answer is far longer than the right one."
                    outcome = outcome._replace(value=None, trouble="limit", sentence=sentence)
                if outcome.value is not None:
                    right_value = expected["values"][check.name]
                    tries -= self.run_programs(bench, outcome.value, right_value, tries, deadline)
                results.append(self.assessor.judge(check, right, outcome, frozenset(own)))
            except JailError:
                raise
            except Exception as error:  # a value that the comparison cannot read: it is the student's
                sentence = f"The result cannot be read: {type(error).__name__}."
                results.append(
                    CheckResult(check, "fail", sentence, None, None, outcome.output, outcome.seconds)
                )
        return results

    def run_programs(
        self,
        bench: Bench,
        value: Any,
        right: Any,
        tries: int = _MOST_TIMEOUTS,
        deadline: float = float("inf"),
    ) -> int:
        """What the StableHLO in a value computes, on the inputs of the reference's: found out in a process without the student's code. What
        the value itself says of that is forgotten. There are as many as in the right value, whatever a student's has.

        Args:
          tries, deadline: how many may come to no end, and until when they are run; others are not.

        Returns:
          how many came to no end.
        """
        ours = list(programs(right))
        endless = 0
        for i, program in enumerate(list(programs(value))):
            program.pop("results", None)
            program.pop("refused", None)
            if value is not right:
                if i >= len(ours) or endless >= tries or time.monotonic() > deadline:
                    program["refused"] = _NOT_RUN
                    continue
                program["arguments"] = ours[i]["arguments"]
                if program["text"] == ours[i]["text"]:
                    program |= {k: v for k, v in ours[i].items() if k in ("results", "refused")}
                    continue
            found = self._run_program(bench, program["text"], program["arguments"], deadline)
            endless += found is None
            program |= found if found is not None else {"refused": "XLA did not come to an end with it."}
        return endless

    def _run_program(
        self, bench: Bench, text: str, arguments: list[Any], deadline: float
    ) -> dict[str, Any] | None:
        image = {
            "text": {"program": text, "arguments": arguments},
            "fills": self.images.fills(None, bench.kept()),
        }
        seconds = min(self.settings.limits.seconds + _IMPORT_SECONDS, max(1.0, deadline - time.monotonic()))
        with bench.zygote(JAX, True).start(self.settings.limits) as worker:
            try:
                return worker.load(image, seconds)
            except (TimeoutError, ProtocolError):
                return None

    # --- a submission --------------------------------------------------------------------------------------------------

    def grade(
        self,
        bench: Bench,
        student: str,
        path: pathlib.Path,
        only: Sequence[str] = (),
        known: Callable[[str], Any] | None = None,
    ) -> Graded:
        """Everything about one submission. It raises nothing: what goes wrong on our side is INFRA.

        Args:
          known: `known(key)` gives a result that is there already.
        """
        with self.gate.shared():
            try:
                return self._grade(bench, student, path, only, known or (lambda key: None))
            except Exception as error:  # one submission never stops the batch, whatever we did not think of
                row = _row(
                    student,
                    "",
                    path,
                    None,
                    None,
                    INFRA,
                    "The grader had a fault; it will be graded again.",
                    None,
                    0.0,
                )
                return Graded(student, [], [row], (f"{type(error).__name__}: {error}",))

    def _grade(
        self, bench: Bench, student: str, path: pathlib.Path, only: Sequence[str], known: Callable[[str], Any]
    ) -> Graded:
        found = bench.read(path, only, tuple(self.whole))
        if found["status"] == INFRA:
            raise JailError(found["sentence"])
        submission = found.get("digest", "")
        if found["status"] != OK:
            total = float(
                sum(
                    e.points
                    for lab in self.labs
                    if (lab.number in only if only else lab.number != rungs.NAME)
                    for e in lab.exercises
                )
            )
            row = _row(
                student, submission, path, None, None, INVALID, found["sentence"], 0.0, total, found["flags"]
            )
            row["handed_in"] = found.get("handed_in", 0.0)
            return Graded(student, [], [row])
        deadline = time.monotonic() + self.settings.submission_seconds
        again = iter(range(_MOST_ALONE))
        results, grades, troubles = [], [], list[str]()
        for lab in self.labs:
            for exercise in lab.exercises:
                item = found["exercises"].get(exercise.id)
                if item is None:
                    continue
                flags = [*found["flags"], *item["flags"]]
                row = _row(
                    student,
                    submission,
                    path,
                    lab.number,
                    exercise.id,
                    OK,
                    item["sentence"],
                    0.0,
                    float(exercise.points),
                    flags,
                )
                row["handed_in"] = found.get("handed_in", 0.0)
                grades.append(row)
                if item["status"] in (answers.MISSING, answers.INVALID):
                    row["outcome"] = INVALID
                    continue
                key = self.key(exercise, item)
                row["result"], row["grams"] = key, json.dumps(item["grams"])
                result = known(key)
                if result is None:
                    try:
                        result = self.result(
                            bench, exercise, item, path, deadline, lambda: next(again, None) is not None
                        )
                    except JailError as error:
                        row |= {
                            "outcome": INFRA,
                            "points": None,
                            "result": "",
                            "sentence": "The grader had a fault; it will be graded again.",
                        }
                        text = str(error)
                        troubles.append(text if text.startswith(exercise.id) else f"{exercise.id}: {text}")
                        bench.renew()
                        continue
                    results.append(self.stored(key, exercise, item, result))
                row["points"] = self.points(exercise, result["checks"])
        return Graded(student, results, grades, tuple(troubles))

    def key(self, exercise: Exercise, item: dict[str, Any]) -> str:
        """Of a verdict: equal keys, equal verdicts."""
        parts = [
            exercise.id,
            item.get("digest", ""),
            item["status"],
            item["sentence"],
            self.version(exercise),
            self.settings.seed_id,
        ]
        parts += [self.versions(), str(self.settings.limits), self.settings.backend]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def result(
        self,
        bench: Bench,
        exercise: Exercise,
        item: dict[str, Any],
        path: pathlib.Path,
        deadline: float,
        alone: Callable[[], bool],
    ) -> dict[str, Any]:
        """The verdicts on an exercise, as they are stored; `path` is where the submission is."""
        began = time.monotonic()
        checks = [check for _, check in self.checks(exercise)]
        if item["status"] != answers.READY:
            status = FAIL if item["status"] == answers.TODO else CRASH
            rows = [
                _told(CheckResult(c, status, item["sentence"], None, _place(item["line"]))) for c in checks
            ]
            return {"status": OK, "sentence": item["sentence"], "checks": rows, "seconds": 0.0}
        outcomes: list[Outcome] = []
        for attempt in range(2):
            try:
                expected = self.expected(bench, exercise)
                patched = expected["patched"] and self.can_be_patched(bench, exercise, item)
                if not patched and not item["modules"] and not isinstance(exercise, rungs.Rung):
                    item = self.whole_item(bench, exercise, item, path)
                run = functools.partial(self.outcomes, bench, exercise, item)
                outcomes = run(expected["xla"], patched, False, deadline, alone)
                honest = not any(flag.startswith("uses ") for flag in item["flags"])
                if not expected["xla"] and honest and any(map(_misses_jax, outcomes)):
                    # the reference runs nothing, and this answer does: not its fault that there is nothing to run it with
                    outcomes = run(True, patched, False, deadline, alone)
                verdicts = self.judge(bench, exercise, outcomes, expected, item["files"], deadline)
                break
            except JailError:
                bench.renew()
                if attempt:
                    raise
        else:
            raise AssertionError("the loop breaks or raises")
        return {
            "status": OK,
            "sentence": "",
            "checks": [_told(r) for r in verdicts],
            "seconds": time.monotonic() - began,
        }

    def whole_item(
        self, bench: Bench, exercise: Exercise, item: dict[str, Any], path: pathlib.Path
    ) -> dict[str, Any]:
        """The same with the code of its modules. JailError where the submission is another one now."""
        self.whole.add(exercise.id)
        again = bench.read(path, [exercise.lab], [exercise.id])["exercises"].get(exercise.id, {})
        if again.get("digest") != item["digest"]:
            raise JailError(f"{path} was changed while it was graded")
        return dict(again)

    def stored(
        self, key: str, exercise: Exercise, item: dict[str, Any], result: dict[str, Any]
    ) -> dict[str, Any]:
        """A row of the table of results."""
        return {
            "key": key, "exercise": exercise.id, "code": item.get("digest", ""), "checks_version": self.version(exercise),
            "seed_id": self.settings.seed_id, "versions": self.versions(), "limits": json.dumps(self.settings.limits._asdict()),
            "sandbox": self.settings.backend, "status": result["status"], "sentence": result["sentence"],
            "checks": json.dumps(result["checks"]), "seconds": result["seconds"],
        }  # fmt: skip

    def points(self, exercise: Exercise, checks: Sequence[dict[str, Any]]) -> float:
        """The points of an exercise: each check has its share."""
        each = shares(exercise.points, len(checks))
        return sum(share for share, check in zip(each, checks, strict=True) if check["status"] == PASS)


def _misses_jax(outcome: Outcome) -> bool:
    """Whether a check ended, or met an error, since there is no jax in the jail of exercises that compile nothing."""
    return outcome.value is not None and "No module named 'jax" in json.dumps(outcome.value)


def _is_far_longer(value: Any, right: Any) -> bool:
    """Whether comparing them could take long: that is in this process, and has no limit of time."""
    return len(json.dumps(value)) > (1 << 20) + 20 * len(json.dumps(right))


def _ended(worker: Worker) -> tuple[int | None, bool]:
    """How the process of a check ended, in the worker's words, and whether the worker is there for the next."""
    try:
        frame = worker.receive(time.monotonic() + 3.0)
    except (TimeoutError, ProtocolError):
        return None, False
    status = frame.get("status") if frame is not None else None
    return (status, True) if type(status) is int else (None, False)


def _told(result: CheckResult) -> dict[str, Any]:
    """A verdict on a check, as data."""
    difference = result.difference
    told: dict[str, Any] = {
        "name": result.check.name,
        "hidden": result.check.hidden,
        "about": result.check.sentence,
        "against": list(result.check.against),
        "status": NAMES.get(result.status, result.status),
        "sentence": _short(result.sentence),
        "line": [_short(result.line[0], 300), result.line[1]] if result.line is not None else None,
        "seconds": round(result.seconds, 3),
    }
    if difference is not None:
        told |= {
            "where": _short(difference.where),
            "expected": _short(difference.expected),
            "actual": _short(difference.actual),
        }
    if result.output:
        told["output"] = _short(result.output, 2000)
    return told


def _short(text: str, most: int = 4000) -> str:
    plain = "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
    return plain if len(plain) <= most else plain[:most] + " ..."


def _place(line: Any) -> tuple[str, int] | None:
    return (str(line[0]), int(line[1])) if _is_place(line) else None


def _is_place(line: Any) -> bool:
    return isinstance(line, list) and len(line) == 2 and isinstance(line[0], str) and type(line[1]) is int


def _row(
    student: str, submission: str, path: pathlib.Path, lab: str | None, exercise: str | None, outcome: str, sentence: str,
    points: float | None, most: float, flags: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    return {
        "student": student, "submission": submission, "handed_in": 0.0, "path": str(path), "lab": lab, "exercise": exercise,
        "outcome": outcome, "sentence": shown(sentence) if len(sentence) > 4000 else sentence, "points": points, "max": most,
        "flags": json.dumps(sorted(set(flags))), "result": "", "grams": "[]",
    }  # fmt: skip
