"""an exercise's functions, and its checks -> verdicts: run in workers, judged here

A worker runs the functions, and there the student's code may do whatever it likes. Only this process knows the right results; it compares
the answers with them. All threads share `Trials`: the labs with their checks, and how they are run.

**Each check alone.** By default a check runs in a process and a jail of its own, which import the functions anew: nothing that
code does in one check can be seen in another. If the course says `fresh_process = false`, one worker runs the checks of an exercise
one after the other, as the learner's own `check` does; a check that the reference does not pass in this way runs alone. If one of the
checks in the shared process does not pass, only the verdict on the first of them stands, if that check gave an answer: no check ran before
it. All other checks run again, each alone, and only this second run counts. So code that behaves differently in a fresh process and in a
used one cannot pass some checks with one behaviour and other checks with the other. If code seems to keep something between calls
(`suspicion.keeps_state`), or looks suspicious, each check runs alone.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import marshal
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jitkit
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.plain import Plain
from jitkit.kata.engine.reference import PACKAGE
from jitkit.kata.engine.running import Outcome
from jitkit.kata.engine.statuses import Status
from jitkit.kata.engine.verdicts import CheckResult

from ..shared import hidden_checks
from . import rungs
from .bubblewrap import JAX, JAXLIB, NUMPY, JailError
from .drawn import drawn_programs
from .jail import BUBBLEWRAP, IMPORT_SECONDS, Limits, ProtocolError, Worker, parse_object
from .patience import TooLongError, clock, patience
from .records import Item
from .right_answers import RightAnswers, output_if_right
from .shipped_code import CheckFile, ShippedCode
from .stablehlo import MOST_TIMEOUTS, Programs
from .verdict import (
    end_of,
    endless_import,
    is_far_longer,
    misses_jax,
    outcome_of,
    place_of,
    stands,
    without_fixed_alone,
)
from .workers import Gate, Workers

RUN_WITH_JAX = "asked for jax, where the reference does not: run again with it"
_NOT_TRIED = "It was not tried: two checks before it did not end."
_OUT_OF_TIME = "It was not tried: the submission had used up its time."
_TOGETHER_SECONDS = 2.0  # a check in a shared process may take this long; then it runs again in one of its own
_VERDICT_SECONDS = 1.0  # the comparison of an answer may take this much processor time
_SHORT = 1 << 14  # answers below this size cannot take a second to compare, and need no watching thread
_COMPUTES = 0.5  # a check that has computed for this share of its seconds is taken for an endless one
_STOPPED_BY_ITSELF = 1.0  # processor seconds beyond that share: a single process has met its own limit by then
_WAITED_FOR_NOTHING = 0.9  # a check that ran out of time and computed less than this part of its share may have waited


Kind = tuple[str, bool, Exercise | None]  # the kind of a jail: the arguments of `Workers.zygote`


class Settings(NamedTuple):
    """How a course is graded."""

    seed: int  # secret: whoever knows it knows the inputs of all checks
    seed_id: str  # a name for the seed that does not reveal the seed
    limits: Limits = Limits()
    submission_seconds: float = 900.0  # after these, no other check of a submission begins
    backend: str = BUBBLEWRAP
    zone: str = "UTC"  # the course's time zone


class How(NamedTuple):
    """How functions are run."""

    uses_xla: bool  # whether the jail has jax
    patched: bool = False  # whether they fill holes (`holes`) in a jitkit that is imported already
    reference: bool = False  # whether they are the reference's: only then requests keep the `parts` of `raised`
    executables: Mapping[str, str] = {}  # sealed executables, as hexadecimal digits: see `inside.executables`
    programs: Mapping[str, bytes] = {}  # the random programs of checks: see `drawn`
    right: Mapping[str, tuple[bytes, Plain]] = {}  # the right answers of checks: see `right_answers`

    @classmethod
    def of(cls, expected: dict[str, Any]) -> How:
        """Return how students' functions are run: as the reference was in its control run (`expected` is `Grader.expected`'s result)."""
        return cls(
            expected["xla"], expected["patched"], False, expected["executables"], drawn_programs(expected["values"])
        )


class Trials:
    """The labs with their checks, and how functions are run and judged."""

    def __init__(self, labs: Sequence[Lab], settings: Settings) -> None:
        self.labs = list(labs)
        self.settings = settings
        self.shipped = ShippedCode(labs)
        self.programs = Programs(self.shipped, settings.limits)
        self.files: dict[str, tuple[CheckFile, ...]] = {}  # exercise -> its files of checks, the hidden ones last
        for lab in labs:
            if isinstance(lab, rungs.Ladder):
                self.files |= {rung.id: rungs.program_files(rung) for rung in lab.exercises}
            else:
                both = CheckFile.read(lab.folder / "checks.py"), CheckFile.read(hidden_checks(lab))
                self.files |= dict.fromkeys(lab.ids, both)
        self.versions_of_checks: dict[str, str] = {}
        self.assessor = Assessor()
        self.right = RightAnswers(self.assessor)
        self.gate = Gate()

    def workers(self) -> Workers:
        """Return the processes for one thread."""
        return Workers(self.shipped, self.labs[0].folder.parent, self.settings.backend, self.settings.zone)

    def checks(self, exercise: Exercise) -> list[tuple[CheckFile, Check]]:
        """Return all checks of an exercise, the hidden ones last."""
        return [(file, check) for file in self.files[exercise.id] for check in file.of(exercise.id)]

    def version(self, exercise: Exercise) -> str:
        """Return a hash of an exercise's checks and points."""
        if exercise.id not in self.versions_of_checks:
            text = "".join(file.version(check) for file, check in self.checks(exercise))
            digest = hashlib.sha256(f"{text} {exercise.points}".encode()).hexdigest()[:16]
            self.versions_of_checks[exercise.id] = digest
        return self.versions_of_checks[exercise.id]

    @functools.cached_property
    def versions(self) -> str:
        """Return the versions of jitkit, jaxlib and Python, on which a verdict depends."""
        ours = f"jitkit {jitkit.__version__} {self.reference_digest}"
        return f"{ours}, jaxlib {importlib.metadata.version('jaxlib')}, Python {platform.python_version()}"

    @functools.cached_property
    def reference_digest(self) -> str:
        """Return the first digits of a hash of all Python files of jitkit but those of `jitkit.bench`."""
        files = sorted(path for path in PACKAGE.rglob("*.py") if "bench" not in path.parts)
        return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]

    # --- running ------------------------------------------------------------------------------------------------------

    def verdicts(
        self,
        workers: Workers,
        exercise: Exercise,
        item: Item,
        expected: dict[str, Any],
        deadline: float = float("inf"),
        alone: Callable[[], bool] = lambda: False,
        notes: list[str] | None = None,
    ) -> list[CheckResult]:
        """Return the verdicts on an exercise, check by check. Raise JailError for a fault of ours.

        Args:
          notes: a list to which remarks for a person are added.
          expected: the result of `Grader.expected`.
          deadline: a time of `patience.clock`; a check that has not begun by then gets the status TIME.
          alone: returns whether a check that ran out of time, and may have waited for a processor, may run again with nothing beside it.
        """
        checks = self.checks(exercise)
        how = How.of(expected)._replace(right=self.right.of(checks, expected["values"]))
        passed: dict[str, CheckResult] = {}
        ended = 0
        if not item.get("keeps", True) and not self.settings.limits.fresh_process:
            first = [(file, check) for file, check in checks if check.name in expected["together"]]
            outcomes = self.together(workers, exercise, item, how, first, deadline)
            results = self.judge(workers, first, outcomes, expected, item["files"], deadline)
            if outcomes and outcomes[0].trouble == Status.IMPORT:  # all other checks would end in the same way
                told = results[0]
                return [told._replace(check=check) for _, check in checks]
            first_stands = bool(outcomes) and stands(outcomes[0])  # no check ran before the first in this process
            if any(r.status != Status.PASS for r in results) or len(results) < len(first):
                results = results[:1] if first_stands else []  # keep what stands: a second try may give another answer
            passed = {r.check.name: r for r in results}
            ended = sum(o.trouble == Status.TIME for o in outcomes)
        rest = [(file, check) for file, check in checks if check.name not in passed]
        run = functools.partial(self.outcomes, workers, exercise, item)
        outcomes = run(how, deadline, alone, rest, ended)
        honest = not any(flag.startswith("uses ") for flag in item["flags"])
        if (
            not how.uses_xla
            and honest
            and any(misses_jax(o) for o in outcomes if o.value is not expected["values"][o.check])
        ):
            # the reference compiles nothing, so there was no jax; this answer compiles: run it again with jax
            outcomes = run(how._replace(uses_xla=True), deadline, alone, rest, ended)
            if notes is not None:
                notes.append(RUN_WITH_JAX)
        for result in self.judge(workers, rest, outcomes, expected, item["files"], deadline):
            passed[result.check.name] = result
        return without_fixed_alone([passed[check.name] for _, check in checks])

    def together(
        self,
        workers: Workers,
        exercise: Exercise,
        item: Item,
        how: How,
        checks: Sequence[tuple[CheckFile, Check]],
        deadline: float = float("inf"),
    ) -> list[Outcome]:
        """Return the outcomes of these checks in one process (see `_answers`); [] after the deadline or without checks."""
        if not checks or clock.now() > deadline:
            return []
        image, kind = self.image(workers, exercise, item, how)
        return self._with_one_worker(workers, kind, image, checks, how, deadline, True)[0]

    def outcomes(
        self,
        workers: Workers,
        exercise: Exercise,
        item: Item,
        how: How,
        deadline: float = float("inf"),
        alone: Callable[[], bool] = lambda: False,
        wanted: Sequence[tuple[CheckFile, Check]] | None = None,
        ended: int = 0,
        made: dict[str, dict[str, str]] | None = None,
    ) -> list[Outcome]:
        """Return an outcome for each check of an exercise, in order, each of its own process. Raise JailError for our faults.

        Args:
          wanted: the checks to run; by default all. `deadline` and `alone` are as for `verdicts`.
          ended: how many checks of the exercise have run out of time before this call.
          made: a dict that gets the executables of each check. For the reference only: a student's process may send anything.
        """
        rest = self.checks(exercise) if wanted is None else list(wanted)
        if clock.now() > deadline:
            return [Outcome(c.name, None, Status.TIME, _OUT_OF_TIME) for _, c in rest]
        image, kind = self.image(workers, exercise, item, how)
        image |= {"keeps_executables": made is not None}
        worker = functools.partial(self._with_one_worker, workers, kind, image, compiled=made)
        most = max(1, MOST_TIMEOUTS - ended)
        found: list[Outcome] = []
        while rest:
            done, processor = worker(rest, how, deadline)
            found += done
            last = done[-1]
            computed = processor - sum(o.seconds for o in done[:-1])
            waited = computed < _WAITED_FOR_NOTHING * _COMPUTES * self.settings.limits.seconds
            if last.trouble == Status.TIME and sum(o.trouble == Status.TIME for o in found) == 1 and waited and alone():
                with clock.stands(self.gate.alone()):
                    found[-1] = worker(rest[len(done) - 1 : len(done)], how, deadline)[0][0]
                last = found[-1]
            rest = rest[len(done) :]
            if not last.imported and last.trouble in (Status.IMPORT, Status.TIME):  # the import would fail again
                return found + [last._replace(check=check.name) for _, check in rest]
            if sum(o.trouble == Status.TIME for o in found) >= most:
                return found + [Outcome(c.name, None, Status.TIME, _NOT_TRIED) for _, c in rest]
            if clock.now() > deadline:
                return found + [Outcome(c.name, None, Status.TIME, _OUT_OF_TIME) for _, c in rest]
        return found

    def image(self, workers: Workers, exercise: Exercise, item: Item, how: How) -> tuple[dict[str, Any], Kind]:
        """Return what a worker receives before its checks (`jail._NOTHING` lists the keys), and the kind of jail that the worker needs."""
        patched = how.patched and self.can_be_patched(workers, exercise, item)
        image: dict[str, Any] = {"own": item["files"]}
        if isinstance(exercise, rungs.Rung):
            if how.reference:
                image |= {
                    "climbing": {name: self.shipped.ladder[name] for name in ("climbing", "behind", "drawing")},
                    "fills": self.shipped.fills(None, workers.kept()),
                    "own": [],
                }
                return image, (JAX, True, None)
            package = {"package": base64.b64decode(item["package"]), "fills": [], "compiles": exercise.is_behind}
            return image | package, (JAXLIB, True, None)
        modules = base64.b64decode(item["modules"])
        if patched:
            patch = base64.b64decode(item["patch"])
            image |= {"spliced": modules or None, "fills": [], "patch": patch}  # the branch has filled all other holes
        elif how.reference:
            image["modules"] = self.shipped.rest(marshal.loads(modules), exercise)
        else:
            image |= {"spliced": modules, "modules": self.shipped.rest({}, exercise)}
        if how.uses_xla:
            image["executables"] = {name: bytes.fromhex(data) for name, data in how.executables.items()}
        return image, (JAX if how.uses_xla else NUMPY, patched, None if how.reference else exercise)

    def can_be_patched(self, workers: Workers, exercise: Exercise, item: Item) -> bool:
        """Return whether the functions of an exercise can be put into holes of a jitkit that is imported already."""
        return bool(item["patch"]) and not any(str(t) in workers.kept() for t in exercise.targets)

    def _with_one_worker(
        self, workers: Workers, kind: Kind, image: dict[str, Any], checks: Sequence[tuple[CheckFile, Check]], how: How,
        deadline: float, together: bool = False, compiled: dict[str, dict[str, str]] | None = None,
    ) -> tuple[list[Outcome], float]:  # fmt: skip
        """Return the outcomes (see `_answers`), and a worker's processor seconds. Unless `together`, the worker forks for each check."""
        computes = 2.0 if how.reference else _COMPUTES
        zygote, compiles = workers.zygote(*kind), image.get("compiles", False)
        with zygote.start(self.settings.limits, computes, not together, compiles) as worker:
            found = self._answers(worker, image, checks, how, deadline, together, compiled, computes)
        return found, worker.processor

    def _answers(
        self, worker: Worker, image: dict[str, Any], checks: Sequence[tuple[CheckFile, Check]], how: How, deadline: float,
        together: bool, compiled: dict[str, dict[str, str]] | None, computes: float,
    ) -> list[Outcome]:  # fmt: skip
        """Return the outcomes, up to the first check that takes too long, gives too long an answer, or after which the worker is gone."""
        limits = self.settings.limits
        kills = worker.zygote.group.kills
        name = checks[0][1].name
        began = clock.now()
        try:
            frame = worker.load(
                image, min(limits.import_seconds, max(1.0, deadline - began)) if together else IMPORT_SECONDS
            )
        except TimeoutError:
            if not together:  # no code of a student's has run there
                raise JailError("a worker does not answer") from None
            return [Outcome(name, None, Status.IMPORT, endless_import(limits.import_seconds), imported=False)]
        except ProtocolError as error:
            return [Outcome(name, None, Status.PROTO, f"What came back is no answer of ours: {error}.")]
        if frame is None:
            sentence = "The process ended while jitkit was imported with your functions in it."
            return [Outcome(name, None, Status.IMPORT, sentence, seconds=clock.now() - began, imported=False)]
        if frame.get("is") == "broken" and not together:  # no code of a student's has run there
            raise JailError(f"a worker is broken: {frame.get('text')}")
        if frame.get("is") != "imported":
            text = str(frame.get("text", ""))[:2000]
            sentence = f"jitkit could not be imported with your functions in it: {text}"
            return [Outcome(name, None, Status.IMPORT, sentence, place_of(frame.get("line")), imported=False)]
        seconds = min(limits.seconds, _TOGETHER_SECONDS) if together and not how.reference else limits.seconds
        found: list[Outcome] = []
        for file, check in checks:
            began = clock.now()
            request = file.request(check, self.settings.seed, not how.reference, how.programs.get(check.name, b""))
            most = min(seconds, max(0.1, deadline - began))
            imports = limits.import_seconds, limits.import_seconds * computes + _STOPPED_BY_ITSELF
            data, trouble = worker.ask(request, most, limits.seconds * computes + _STOPPED_BY_ITSELF, imports)
            clock.forgive(worker.waited)
            spent = clock.now() - began
            ended, alive, computed = None, together and bool(data) and not trouble, 0.0
            if not together and trouble in ("", "died"):
                ended, alive, computed = end_of(worker)
            if compiled is not None and not trouble and len(data) > 8:
                compiled[check.name] = parse_object(data[8:]).get("executables", {})
            starved = not data and worker.zygote.group.kills > kills
            limited = computed >= limits.seconds * computes
            answer, value = how.right.get(check.name, (b"", None))
            if value is not None and not trouble and (output := output_if_right(data, answer)) is not None:
                found.append(Outcome(check.name, value, output=output, seconds=spent))
            else:
                found.append(outcome_of(check.name, data, trouble, ended, starved, seconds, spent, limited, imports[0]))
            broke_off = found[-1].trouble and not how.reference and trouble not in ("", "gone", "died")
            if not alive or found[-1].trouble == Status.TIME or broke_off:
                break
        return found

    def judge(
        self,
        workers: Workers,
        checks: Sequence[tuple[CheckFile, Check]],
        outcomes: Sequence[Outcome],
        expected: dict[str, Any],
        own: Sequence[str],
        deadline: float = float("inf"),
    ) -> list[CheckResult]:
        """Return a verdict for each outcome. The outcomes are those of the first checks, in order; the last checks may have none."""
        results = []
        tries = MOST_TIMEOUTS
        for (_, check), outcome in zip(checks, outcomes, strict=False):
            right = Outcome(check.name, expected["values"][check.name])
            if outcome.value is right.value and not outcome.trouble:  # `output_if_right` has compared them
                results.append(CheckResult(check, Status.PASS, output=outcome.output, seconds=outcome.seconds))
                continue
            try:
                if outcome.value is not None and is_far_longer(outcome.value, expected["values"][check.name]):
                    sentence = "Its answer is far longer than the right one."
                    outcome = outcome._replace(value=None, trouble=Status.LIMIT, sentence=sentence)
                if outcome.value is not None:
                    right_value = expected["values"][check.name]
                    tries -= self.programs.run(workers, outcome.value, right_value, tries, deadline)
                text = json.dumps(outcome.value)
                short = (
                    len(text) < _SHORT and '"void"' not in text
                )  # arrays without bytes are short, and printed they are long
                with contextlib.nullcontext() if short else patience(_VERDICT_SECONDS):
                    result = self.assessor.judge(check, right, outcome, frozenset(own))
                results.append(result)
            except JailError:
                raise
            except TooLongError:
                sentence = "Its answer cannot be compared with the right one in a second."
                results.append(CheckResult(check, Status.PROTO, sentence, None, None, outcome.output, outcome.seconds))
            except Exception as error:  # the comparison cannot read the value: the fault is the student's
                sentence = f"The result cannot be read: {type(error).__name__}."
                results.append(CheckResult(check, Status.FAIL, sentence, None, None, outcome.output, outcome.seconds))
        return results
