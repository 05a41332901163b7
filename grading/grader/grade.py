"""one submission -> its grades: intake, a worker for each exercise, the verdict here

The secret seed, the reference's results and the comparison stay in this process. Students' code runs in other processes, which do not
have any of these. The reference runs in a worker, too, in the same way, and then once more as if a student had handed it in: a control.
If the control fails in every way that `_compute` tries, the fault is ours, and nobody gets a grade for the exercise.
"""

from __future__ import annotations

import base64
import hashlib
import json
import marshal
import pathlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.exchange import LATE
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.statuses import Status
from jitkit.kata.engine.verdicts import CheckResult

from ..shared import shares
from . import records, rungs
from .bubblewrap import JailError
from .files import shown
from .patience import clock
from .records import (
    NAMES,
    PASS,
    Grade,
    GradeStatus,
    HandIn,
    Item,
    ItemStatus,
    LabRead,
    Provenance,
    Reading,
    Result,
    reading,
)
from .reused import machine, reused
from .trials import RUN_WITH_JAX, How, Settings, Trials
from .verdict import place_of
from .workers import Workers

_NOT_THERE = (ItemStatus.MISSING, ItemStatus.INVALID)
_MOST_ALONE = 2  # at most this many checks of a submission that took too long are run again, with nothing beside them
_MOST_TRIES = 4  # how often a batch tries to compute the reference's results for one exercise
VALUES = 8  # the version of stored results; those of another version are ignored


class Graded(NamedTuple):
    """The outcome for one submission: rows for the tables `results`, `grades` and `handins`, and our own faults."""

    student: str
    results: list[tuple[Provenance, Result]]
    grades: list[Grade]
    handins: list[HandIn]
    troubles: tuple[str, ...] = ()


class Grader(Trials):
    """The labs, and the reference's results for them. All threads share one `Grader`.

    Args:
      recall, remember: a memory of the reference's results: `recall(key)` returns those of an exercise, or None; `remember(key, results)`
        keeps them.
    """

    def __init__(
        self,
        labs: Sequence[Lab],
        settings: Settings,
        recall: Callable[[str], Any] | None = None,
        remember: Callable[[str, Any], None] | None = None,
    ) -> None:
        super().__init__(labs, settings)
        self.recall, self.remember = recall, remember
        self.known: dict[str, dict[str, Any]] = {}
        self.failures: dict[str, list[JailError]] = {}
        self.locks = {e.id: threading.Lock() for lab in labs for e in lab.exercises}
        self.whole: set[str] = set()  # exercises for which the intake makes the code of whole modules

    # --- the reference ------------------------------------------------------------------------------------------------

    def expected(self, workers: Workers, exercise: Exercise) -> dict[str, Any]:
        """Return the reference's results for an exercise, and how they were computed. Raise JailError if the reference fails a
        check, or the control run fails.

        The result is `{"xla": whether the jail needs jax, "patched": whether holes may be used, "together": the checks that may share a
        process, "executables": what XLA has compiled for them, sealed, "values": the results by check}`.
        """
        with self.locks[exercise.id]:
            if (
                len(self.failures.get(exercise.id, ())) >= _MOST_TRIES
            ):  # otherwise each submission would wait for the reference again
                raise self.failures[exercise.id][-1]
            if exercise.id not in self.known:
                key = f"{exercise.id} {self.version(exercise)} {self.settings.seed_id} {self.versions} {VALUES} {machine()}"
                key += f" {self.settings.limits.random_programs} {self.settings.limits.fresh_process}"
                found = self.recall(key) if self.recall is not None else None
                if found is None:
                    try:
                        found = self._compute(workers, exercise)
                    except JailError as error:
                        self.failures.setdefault(exercise.id, []).append(error)
                        raise
                    if self.remember is not None:
                        self.remember(key, found)
                self.known[exercise.id] = found
        return self.known[exercise.id]

    def _compute(self, workers: Workers, exercise: Exercise) -> dict[str, Any]:
        """Run the reference, and return the result of `expected`. The reference's values come from an import without holes (for a rung of
        the ladder, with holes that the reference fills). A control run checks that holes, and executables that are used again, give the
        same values. Raise JailError if the reference fails a check, or every control run fails.
        """
        trouble = ""
        for uses_xla in (False, True) if not exercise.uses_xla else (True,):
            item = self._reference_item(exercise)
            values: dict[str, Any] = {}
            compiled: dict[str, dict[str, str]] = {}  # check -> what XLA made for it
            for outcome in self.outcomes(workers, exercise, item, How(uses_xla, reference=True), made=compiled):
                if outcome.trouble or outcome.value is None or outcome.value.get("uncaught"):
                    trouble = f"the reference fails {outcome.check}: {outcome.sentence or outcome.value}"
                    break
                self.programs.run(workers, outcome.value, outcome.value)
                values[outcome.check] = outcome.value
            else:
                ways = (True, False) if self.can_be_patched(workers, exercise, item) else (False,)
                for patched in ways:
                    failing: set[str] = set()
                    executables = reused(compiled, failing)
                    for _ in range(3):  # with all executables, without those for checks that fail, without any
                        found: dict[str, Any] = {
                            "xla": uses_xla,
                            "patched": patched,
                            "together": [],
                            "executables": executables,
                            "values": values,
                        }
                        outcomes = self.outcomes(workers, exercise, item, How.of(found))
                        control = self.judge(workers, self.checks(exercise), outcomes, found, ())
                        failed = [r for r in control if r.status != Status.PASS]
                        if not failed:
                            return found | {"together": self._together(workers, exercise, item, found)}
                        trouble = f"the reference, handed in, fails {failed[0].check.name}: {failed[0].sentence}"
                        if not executables:
                            break
                        failing = set(compiled) if failing else {r.check.name for r in failed}
                        executables = reused(compiled, failing)
        raise JailError(f"{exercise.id}: {trouble}")

    def _together(self, workers: Workers, exercise: Exercise, item: Item, found: dict[str, Any]) -> list[str]:
        """Return the checks that may run together in one process, if the course allows that: those that the reference
        also passes in a shared process.
        """
        if isinstance(exercise, rungs.Rung) or self.settings.limits.fresh_process:
            return []
        checks = self.checks(exercise)
        outcomes = self.together(workers, exercise, item, How.of(found), checks)
        return [r.check.name for r in self.judge(workers, checks, outcomes, found, ()) if r.status == Status.PASS]

    def _reference_item(self, exercise: Exercise) -> Item:
        if isinstance(exercise, rungs.Rung):
            return rungs.solution(exercise)
        modules = {t.module: self.shipped.modules[t.module] for t in exercise.targets}
        codes = {str(t): code for t in exercise.targets if (code := self.shipped.codes.get(t)) is not None}
        fits = all(t in self.shipped.codes or t.module.startswith(LATE) for t in exercise.targets)
        patch = marshal.dumps({"functions": codes, "helpers": []}) if fits else b""
        whole, part = (base64.b64encode(data).decode("ascii") for data in (marshal.dumps(modules), patch))
        return records.item(ItemStatus.READY) | {"modules": whole, "patch": part}

    # --- a submission --------------------------------------------------------------------------------------------------

    def grade(
        self,
        workers: Workers,
        student: str,
        path: pathlib.Path,
        only: Sequence[str] = (),
        known: Callable[[str], Result | None] | None = None,
        handed_in: float | None = None,
    ) -> Graded:
        """Grade one submission. No error is raised: a fault on our side becomes a row with the outcome INFRA.

        Args:
          only: the numbers of the labs to grade; if it is empty, all labs.
          known: `known(key)` returns a result that already exists, or None.
          handed_in: the time of the hand-in, if a learning platform gives it; otherwise the files' times count.
        """
        with self.gate.shared():
            try:
                return self._grade(workers, student, path, only, known or (lambda key: None), handed_in)
            except Exception as error:  # one submission never stops the batch, whatever the error
                row = _row(student, path, reading(GradeStatus.INFRA), None)
                row = row._replace(outcome=GradeStatus.INFRA, sentence=_FAULT)
                return Graded(student, [], [row], [], (f"{type(error).__name__}: {error}",))

    def _grade(
        self,
        workers: Workers,
        student: str,
        path: pathlib.Path,
        only: Sequence[str],
        known: Callable[[str], Result | None],
        handed_in: float | None,
    ) -> Graded:
        found = workers.read(path, only, tuple(self.whole))
        if handed_in is not None:
            found["handed_in"] = handed_in
            for read in found["labs"].values():
                read["handed_in"] = handed_in
        if found["status"] == GradeStatus.INFRA:
            raise JailError(found["sentence"])
        if found["status"] != GradeStatus.OK:
            labs = [lab for lab in self.labs if (lab.number in only if only else lab.number not in rungs.NAMES)]
            total = float(sum(e.points for lab in labs for e in lab.exercises))
            row = _row(student, path, found, None)._replace(outcome=GradeStatus.INVALID, points=0.0, max=total)
            return Graded(student, [], [row], handins(student, found))
        deadline = clock.now() + self.settings.submission_seconds
        again = iter(range(_MOST_ALONE))

        def alone() -> bool:
            return next(again, None) is not None

        graded = Graded(student, [], [], handins(student, found))
        troubles: list[str] = []
        for lab in self.labs:
            for exercise in (e for e in lab.exercises if e.id in found["exercises"]):
                item = found["exercises"][exercise.id]
                row = _row(student, path, found, lab.number, exercise, item)
                if item["status"] in _NOT_THERE:
                    graded.grades.append(row._replace(outcome=GradeStatus.INVALID))
                    continue
                keys = self.keys(exercise, item)
                key, result = next(((k, r) for k in keys if (r := known(k)) is not None), (keys[-1], None))
                if result is None:
                    try:
                        result = self.result(workers, exercise, item, path, deadline, alone)
                    except JailError as error:
                        graded.grades.append(row._replace(outcome=GradeStatus.INFRA, points=None, sentence=_FAULT))
                        text = str(error)
                        troubles.append(text if text.startswith(exercise.id) else f"{exercise.id}: {text}")
                        workers.renew()
                        continue
                    if not result.sentence and all(check["status"] == PASS for check in result.checks):
                        key = keys[0]
                    graded.results.append((self.provenance(key, exercise, item), result))
                if result.sentence == RUN_WITH_JAX:
                    row = row._replace(flags=tuple(sorted({*row.flags, RUN_WITH_JAX})))
                graded.grades.append(row._replace(result=key, points=self.points(exercise, result.checks)))
        return graded._replace(troubles=tuple(troubles))

    def keys(self, exercise: Exercise, item: Item) -> list[str]:
        """Return the keys under which the verdicts on an exercise may be known; equal keys mean equal verdicts. The last key depends on
        the line numbers of the code. The key before it does not, and has verdicts only if all checks pass. Code that may keep something
        between calls, or is in several files, has only the last key.
        """
        rest = [item["status"], item["sentence"], self.version(exercise), self.settings.seed_id]
        rest += [self.versions, str(self.settings.limits), self.settings.backend]
        codes = [] if item["keeps"] or len(item["files"]) != 1 else [f"right {item['code']}"]
        parts = [[exercise.id, code, *rest] for code in (*codes, item["digest"])]
        return [hashlib.sha256("\0".join(part).encode()).hexdigest()[:32] for part in parts]

    def result(
        self,
        workers: Workers,
        exercise: Exercise,
        item: Item,
        path: pathlib.Path,
        deadline: float,
        alone: Callable[[], bool],
    ) -> Result:
        """Return the verdicts on an exercise, as they are stored; `path` is where the submission is. Raise JailError after two faults of
        ours.
        """
        began = time.monotonic()
        checks = [check for _, check in self.checks(exercise)]
        if item["status"] != ItemStatus.READY:
            status = Status.FAIL if item["status"] == ItemStatus.TODO else Status.CRASH
            rows = [_told(CheckResult(c, status, item["sentence"], None, place_of(item["line"]))) for c in checks]
            return Result(GradeStatus.OK, item["sentence"], tuple(rows), 0.0)
        verdicts: list[CheckResult] = []
        notes: list[str] = []
        for attempt in range(2):
            try:
                with clock.stands():
                    expected = self.expected(workers, exercise)
                patched = expected["patched"] and self.can_be_patched(workers, exercise, item)
                if not patched and not item["modules"] and not isinstance(exercise, rungs.Rung):
                    item = self.whole_item(workers, exercise, item, path)
                notes.clear()
                verdicts = self.verdicts(workers, exercise, item, expected, deadline, alone, notes)
                break
            except JailError:
                workers.renew()
                if attempt:
                    raise
        else:
            raise AssertionError("the loop breaks or raises")
        return Result(GradeStatus.OK, "; ".join(notes), tuple(map(_told, verdicts)), time.monotonic() - began)

    def whole_item(self, workers: Workers, exercise: Exercise, item: Item, path: pathlib.Path) -> Item:
        """Return the item with the code of its modules, and let the intake make this code for the exercise from now on. Raise JailError if
        the submission has changed.
        """
        self.whole.add(exercise.id)
        again = workers.read(path, [exercise.lab], [exercise.id])["exercises"].get(exercise.id)
        if again is None or again["digest"] != item["digest"]:
            raise JailError(f"{path} was changed while it was graded")
        return again

    def provenance(self, key: str, exercise: Exercise, item: Item) -> Provenance:
        """Return everything on which a verdict depends."""
        limits = json.dumps(self.settings.limits._asdict())
        return Provenance(
            key, exercise.id, item["digest"], self.version(exercise), self.settings.seed_id, self.versions, limits, self.settings.backend
        )  # fmt: skip

    def points(self, exercise: Exercise, checks: Sequence[dict[str, Any]]) -> float:
        """Return the sum of the points of the checks that pass; the points of an exercise are shared equally among its checks."""
        each = shares(exercise.points, len(checks))
        return sum(share for share, check in zip(each, checks, strict=True) if check["status"] == PASS)


def _told(result: CheckResult) -> dict[str, Any]:
    """Return a check's verdict as data for JSON."""
    difference = result.difference
    place = place_of(list(result.line or ()))
    told: dict[str, Any] = {
        "name": result.check.name,
        "hidden": result.check.hidden,
        "about": result.check.sentence,
        "against": list(result.check.against),
        "status": NAMES.get(result.status, result.status),
        "sentence": _short(result.sentence),
        "line": [_short(place[0], 300), place[1]] if place is not None else None,
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


_FAULT = "The grader had a fault; this will be graded again."


def _row(
    student: str,
    path: pathlib.Path,
    found: Reading,
    lab: str | None,
    exercise: Exercise | None = None,
    item: Item | None = None,
) -> Grade:
    """Return a row of the table of grades, before its points are computed. Without an item the row is about the whole submission."""
    sentence = item["sentence"] if item is not None else found["sentence"]
    flags = [*found["flags"], *(item["flags"] if item is not None else ())]
    return Grade(
        student=student,
        submission=found["digest"],
        handed_in=found["labs"][lab]["handed_in"] if lab in found["labs"] else found["handed_in"],
        path=str(path),
        lab=lab,
        exercise=exercise.id if exercise is not None else None,
        outcome=GradeStatus.OK,
        sentence=shown(sentence) if len(sentence) > 4000 else sentence,
        points=0.0 if exercise is not None else None,
        max=float(exercise.points) if exercise is not None else 0.0,
        flags=tuple(sorted(set(flags))),
        grams=tuple(item["grams"]) if item is not None and item["status"] not in _NOT_THERE else (),
    )


def handins(student: str, found: Reading) -> list[HandIn]:
    """Return a student's hand-ins, one for each lab; if nothing of the submission was run, one whose lab is None."""
    passed = tuple((file, why) for file, why in found["passed"])
    nothing: LabRead = {"files": [], "handed_in": found["handed_in"], "digest": found["digest"]}
    labs: dict[str | None, LabRead] = (
        dict(found["labs"].items()) if found["status"] == GradeStatus.OK else {None: nothing}
    )
    return [
        HandIn(student, found["digest"], lab, read["handed_in"], read["digest"], tuple(read["files"]), passed)
        for lab, read in labs.items()
    ]
