"""a package + rungs -> verdicts

One process runs the programs of some rungs with a learner's package, and another with jitkit, whose results are kept. The
results are compared as in the labs. The package cannot import jitkit, jax or torch.
"""

from __future__ import annotations

import ast
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..engine import running
from ..engine.assessor import Assessor, _reference_digest
from ..engine.checking import Check
from ..engine.climbing import load_programs
from ..engine.executables import MachineCode
from ..engine.names import tree_of
from ..engine.processes import Forks, Spare
from ..engine.running import Climb, Job, Outcome, Stop
from ..engine.statuses import Status
from ..engine.verdicts import CheckResult
from .rungs import Rung, machine_file

SECONDS = 20.0
_MOST_PROCESSES = 4  # processes that compute expected results at the same time
_loading = threading.Lock()  # only one thread at a time fills the list of programs


class Package(NamedTuple):
    """A learner's package: a folder, and its name in it."""

    folder: pathlib.Path
    name: str

    @property
    def files(self) -> list[pathlib.Path]:
        """Its files: NAME.py, or all of NAME/; and those beside it that it imports."""
        one, many = self.folder / f"{self.name}.py", self.folder / self.name
        if (many / "__init__.py").is_file():
            own = sorted(path for path in many.rglob("*.py") if path.is_file())
        else:
            own = [one] if one.is_file() else []
        beside = {path.stem: path for path in self.beside} if own else {}
        if not beside:
            return own
        texts = {self.name: list(map(_text, own)), **{name: [_text(path)] for name, path in beside.items()}}
        return own + sorted(beside[name] for name in reached(self.name, texts) if name != self.name)

    @property
    def beside(self) -> list[pathlib.Path]:
        """The files beside the package that may be a part of it."""
        return [
            path
            for path in sorted(self.folder.glob("*.py"))
            if path.stem not in (self.name, "xla", "cc", "conftest")
            and not path.stem.startswith("test")
            and path.is_file()
        ]

    @property
    def is_untouched(self) -> bool:
        """Whether nothing is written yet: one file, with only a docstring and comments."""
        try:
            return len(self.files) == 1 and _has_no_code(self.files[0].read_bytes())
        except OSError:
            return False

    def fingerprint(self) -> str:
        """Return a hash of all of its files."""
        digest = hashlib.sha256()
        for path in self.files:
            digest.update(str(path.relative_to(self.folder)).encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]


# A line that imports, to the end of its parentheses: `from . import (`, `__import__("core")`, `import_module(`. Comments match, too.
_IMPORTS = re.compile(r"(?:import|\bfrom\b)(?:\\\n|[^\n(])*(?:\([^)]*\))?")
_WORDS = re.compile(r"\w+")


def reached(name: str, texts: Mapping[str, Iterable[str]]) -> set[str]:
    """Return `name` and the names that its sources import, directly or through others. `texts` has the sources of each file or folder
    by its name.
    """
    found, rest = {name}, [name]
    while rest:
        for text in texts[rest.pop()]:
            new = {word for line in _IMPORTS.findall(text) for word in _WORDS.findall(line)} & texts.keys() - found
            found |= new
            rest += new
    return found


def _text(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@functools.lru_cache(8)
def _has_no_code(source: bytes) -> bool:
    try:
        body = tree_of(source).body
    except (SyntaxError, ValueError):
        return False
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


class RungVerdict(NamedTuple):
    """The verdict on one rung."""

    rung: Rung
    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """Whether all of its programs pass."""
        return all(r.status == Status.PASS for r in self.results)

    @property
    def ran(self) -> bool:
        """Whether any program ran: none does if the package cannot be imported."""
        return any(r.status != Status.IMPORT for r in self.results)

    @property
    def first_failure(self) -> CheckResult | None:
        """The result of the first program that does not pass, which is to be fixed first; None if all pass."""
        return next((r for r in self.results if r.status != Status.PASS), None)


class Climber:
    """Runs programs and compares results. `folder` keeps jitkit's results between runs, and the packages' machine code. A thorough
    climber also runs the programs that are too slow for a save (`hidden=True`); one that has a grader's `hidden` programs is thorough.
    """

    def __init__(
        self,
        folder: pathlib.Path | None = None,
        hidden: Sequence[tuple[str, str]] = (),
        seconds: float = SECONDS,
        is_thorough: bool = False,
    ) -> None:
        self.assessor = Assessor(folder and folder / "expected")
        self.machine_code = MachineCode(folder / "executables") if folder is not None else None
        self.hidden = tuple(hidden)
        self.is_thorough = is_thorough or bool(hidden)
        self.seconds = seconds

    def prepare(self, spare: Spare, rungs: Sequence[Rung]) -> None:
        """Prepare a process for the next climb of these rungs."""
        files = (*(rung.programs for rung in rungs), *self.hidden)
        job = self.job(Climb({}, files), (), rungs, 0)
        folder = str(self.machine_code.folder) if self.machine_code is not None else ""
        spare.prepare(job.uses_xla, running.request_ahead(job._replace(executables=folder)))

    def climb(
        self,
        package: Package,
        rungs: Sequence[Rung],
        *,
        seed: int = 0,
        spare: Spare | None = None,
        stop: Stop | None = None,
    ) -> list[RungVerdict]:
        """Return the verdicts on some rungs, all in one process as far as possible. Raise Stopped when `stop` is set, and RuntimeError if
        jitkit fails a program.
        """
        files = (*(rung.programs for rung in rungs), *self.hidden)
        checks = self.checks(rungs)
        job = self.job(Climb(self.where(package), files), checks, rungs, seed)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            expected = pool.submit(self.expected, rungs, checks, seed, spare if isinstance(spare, Forks) else None)
            outcomes = running.run(job, spare, stop)
            own = frozenset(map(str, package.files))
            judged = [
                self.assessor.judge(check, right, outcome, own)
                for check, right, outcome in zip(checks, expected.result(), outcomes, strict=True)
            ]
        return [RungVerdict(rung, tuple(r for r in judged if r.check.exercise == rung.number)) for rung in rungs]

    def where(self, package: Package) -> dict[str, str]:
        """Return the part of a request that says where the package is."""
        found = {"folder": str(package.folder), "name": package.name, "machine": str(machine_file())}
        if self.machine_code is not None and self.machine_code.is_there():
            found["executables"] = str(self.machine_code.folder)
        return found

    def checks(self, rungs: Sequence[Rung]) -> list[Check]:
        """Return the programs of some rungs, as checks. Without `is_thorough`, hidden programs are left out."""
        wanted = {rung.number for rung in rungs}
        with _loading:
            found = load_programs((*(rung.programs for rung in rungs), *self.hidden))
        return [
            Check(p.rung, p.name, p.sentence, p.against, p.run, p.tolerance, p.hidden)
            for p in found
            if p.rung in wanted and (self.is_thorough or not p.hidden)
        ]

    def job(self, climb: Climb, checks: Sequence[Check], rungs: Sequence[Rung], seed: int) -> Job:
        """Return the job of one process."""
        uses_xla = any(rung.uses_xla for rung in rungs)
        names = tuple(check.name for check in checks)
        return Job((), {}, "", "", names, seed, uses_xla, self.seconds, climb=climb)

    def expected(
        self, rungs: Sequence[Rung], checks: Sequence[Check], seed: int, forks: Forks | None = None
    ) -> list[Outcome]:
        """Return jitkit's result for each of the checks. Raise RuntimeError if jitkit fails one, which is a fault of
        ours. Results of hidden programs are kept apart, so that the others also serve a climb without hidden programs.
        """
        of_rung = {rung: [check for check in checks if check.exercise == rung.number] for rung in rungs}
        parts = {
            self.key(rung, part, seed): part
            for rung, mine in of_rung.items()
            for is_hidden in (False, True)
            if (part := [check for check in mine if check.hidden == is_hidden])
        }
        known = {key: self.assessor.kept(key, [check.name for check in part]) for key, part in parts.items()}
        found = {outcome.check: outcome for outcomes in known.values() for outcome in outcomes or ()}
        missing = {rung: [check for check in mine if check.name not in found] for rung, mine in of_rung.items()}
        new = [rung for rung in rungs if missing[rung]]
        if new:
            hands = min(len(new), os.cpu_count() or 1, _MOST_PROCESSES)
            with concurrent.futures.ThreadPoolExecutor(hands) as pool:
                shares = [new[i::hands] for i in range(hands)]
                for found_by_one in pool.map(lambda share: self.computed(share, missing, seed, forks), shares):
                    found |= {outcome.check: outcome for outcome in found_by_one}
        for key, part in parts.items():
            self.assessor.expected[key] = [found[check.name] for check in part]
            if known[key] is None:
                self.assessor.write(key, self.assessor.expected[key])
        return [found[check.name]._replace(value=in_short(found[check.name].value)) for check in checks]

    def key(self, rung: Rung, checks: Sequence[Check], seed: int) -> str:
        """Return the key under which jitkit's results of these checks of a rung are kept: a hash of everything that the results
        depend on. Either all checks are hidden, or none is.
        """
        files = (rung.programs, *(self.hidden if checks[0].hidden else ()))
        text = json.dumps([files, [check.name for check in checks], seed, _reference_digest()])
        return f"rung-{rung.number}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"

    def computed(
        self, rungs: Sequence[Rung], wanted: dict[Rung, list[Check]], seed: int, forks: Forks | None
    ) -> list[Outcome]:
        """Return jitkit's results of the wanted checks of some rungs, all from one process: an operation that it compiles for one rung
        serves the next. Raise RuntimeError if jitkit fails one of the programs.
        """
        files = (*(rung.programs for rung in rungs), *self.hidden)
        job = self.job(Climb({}, files), [check for rung in rungs for check in wanted[rung]], rungs, seed)
        # the packages' time limit does not hold for jitkit, which needed more than a minute on a busy machine
        outcomes = running.run(job._replace(uses_xla=True, seconds=30 * SECONDS), forks)
        for outcome in outcomes:
            if outcome.trouble or (outcome.value or {}).get("uncaught"):
                said = outcome.sentence or (outcome.value or {}).get("text")
                raise RuntimeError(f"jitkit fails the program {outcome.check}: {said} {outcome.output}")
        return outcomes


def in_short(value: Any) -> Any:
    """Return results in which the message of each error is cut to its first line. In jitkit's messages advice follows,
    with places in its files, which no package has to repeat: its errors are compared by their classes, and by the
    words that a program asks for.
    """
    if isinstance(value, list):
        return [in_short(x) for x in value]
    if not isinstance(value, dict):
        return value
    found = {key: in_short(x) for key, x in value.items()}
    if found.get("is") == "error":
        found["text"] = str(found["text"]).partition("\n")[0]
    return found
