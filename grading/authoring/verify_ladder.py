"""The proofs of the ladder: that each rung is red below it, green at it, and tells mistakes apart.

For each rung:

    empty       a package with nothing in it fails every program, and the first failure says what is missing
    below       the solution up to the rung before fails
    solution    the solution up to this rung passes, also the hidden programs; the section of a rung behind the door passes, too, if only
                the rungs that it needs are below it
    wrong       twelve or more wrong versions fail; the first program that a version fails is against what its author believes, and its
                author is asked the version's question
    programs    there are six or more for learners and two or more hidden ones, all with different names
    jitkit      runs every program (else nothing is compared)
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import pathlib
import random
import tempfile
from collections.abc import Sequence

from jitkit.kata.engine.processes import Forks
from jitkit.kata.engine.statuses import Status
from jitkit.kata.ladder.climber import Climber, Package, RungVerdict
from jitkit.kata.ladder.rungs import Rung, all_rungs, below, prefix, section, solution_text
from jitkit.kata.ladder.wrong import Wrong, beliefs, wrong_versions

from ..shared import HIDDEN_BEHIND, HIDDEN_RUNGS
from .verify import Finding

_FEWEST_PROGRAMS = 6
_FEWEST_HIDDEN = 2
_FEWEST_WRONG = 12
REFRESH = "run python -m grading.authoring.failures, since it fails otherwise now"
_EMPTY = '"""A package with nothing in it."""\n'


def verify_ladder(workers: int = 2, only: Sequence[str] = (), kept: pathlib.Path | None = None) -> list[Finding]:
    """Return all findings of some rungs, or of all. `kept` is the folder where jitkit's results are kept; None for a temporary one."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(Forks()) as forks,
        concurrent.futures.ThreadPoolExecutor(workers) as pool,
    ):
        prover = Prover(pathlib.Path(folder), kept, forks)
        rungs = [rung for rung in all_rungs() if not only or rung.number in only]
        proofs = [pool.submit(prover.solution, rung) for rung in rungs]
        for rung in rungs:
            proofs.append(pool.submit(prover.empty, rung))
            proofs.append(pool.submit(prover.below, rung))
            proofs += [pool.submit(prover.wrong, rung, version) for version in wrong_versions(rung)]
        return [*(f for rung in rungs for f in shortages(rung)), *(f for proof in proofs for f in proof.result())]


def hidden_programs() -> tuple[tuple[str, str], ...]:
    """Return the programs that only grading uses, as path and source."""
    return tuple((str(path), path.read_text(encoding="utf-8")) for path in (*HIDDEN_RUNGS, HIDDEN_BEHIND))


def shortages(rung: Rung) -> list[Finding]:
    """Return the findings about a rung's programs and wrong versions that need no run: too few of a kind, a name that two programs share,
    a label that only a program or only a wrong version has.
    """
    checks, wrong = Climber(hidden=hidden_programs()).checks([rung]), wrong_versions(rung)
    programs = [check for check in checks if not check.hidden]
    names = [check.name for check in checks]  # results are kept by name
    found = [
        Finding(rung.number, "programs", f"two are called {n}")
        for n in sorted({n for n in names if names.count(n) > 1})
    ]
    if len(checks) - len(programs) < _FEWEST_HIDDEN:
        found.append(Finding(rung.number, "programs", f"there should be {_FEWEST_HIDDEN} or more hidden ones"))
    if len(programs) < _FEWEST_PROGRAMS:
        found.append(
            Finding(rung.number, "programs", f"there are {len(programs)}, and should be {_FEWEST_PROGRAMS} or more")
        )
    if len(wrong) < _FEWEST_WRONG:
        found.append(Finding(rung.number, "wrong", f"there are {len(wrong)}, and should be {_FEWEST_WRONG} or more"))
    refuted = {label for p in programs for label in p.against}
    found += [
        Finding(rung.number, "wrong", f"no program is against {w.label!r}") for w in wrong if w.label not in refuted
    ]
    labels = {w.label for w in wrong}
    found += [
        Finding(rung.number, "wrong", f"a program is against {label!r}, and nobody believes it")
        for label in refuted - labels
    ]
    return found


class Prover:
    """Runs the proofs; writes packages into `folder`. Each proof returns its findings; [] means that it is proven. With `forks`, each
    package runs in a copy of a process that has imported numpy and jaxlib.
    """

    def __init__(self, folder: pathlib.Path, kept: pathlib.Path | None, forks: Forks | None = None) -> None:
        self.folder = folder
        self.forks = forks
        self.text = solution_text()
        self.climber = Climber(kept or folder / "kept", hidden_programs())
        self.learners = Climber(kept or folder / "kept")

    def package(self, text: str) -> Package:
        """Write a package whose only file has this source, and return it."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "myjax.py").write_text(text, encoding="utf-8")
        return Package(folder, "myjax")

    def verdict(self, text: str, rung: Rung, seed: int = 0) -> RungVerdict:
        """Return the verdict on one rung, hidden programs included, for a package with this source."""
        return self.climber.climb(self.package(text), [rung], seed=seed, spare=self.forks)[0]

    def solution(self, rung: Rung) -> list[Finding]:
        """Prove that the solution up to a rung passes, with the learners' seed. For a rung behind the door, prove also that its section
        passes with only those rungs below it that it needs.
        """
        texts = {"solution": prefix(self.text, rung.number)}
        if rung.is_behind:
            texts[f"upon {rung.needs}"] = self.early(rung)
        return [
            Finding(rung.number, what, f"{r.check.name}: {r.sentence}")
            for what, text in texts.items()
            for r in self.verdict(text, rung).results
            if r.status != Status.PASS
        ]

    def early(self, rung: Rung) -> str:
        """Return the solution of a rung behind the door, without the rungs of the first file that it does not need."""
        return below(rung) + section(self.text, rung.number)

    def empty(self, rung: Rung) -> list[Finding]:
        """Prove that an empty package fails everything, and that its first failure names what is missing."""
        verdict = self.verdict(_EMPTY, rung)
        found = [
            Finding(rung.number, "empty", f"{r.check.name} passes") for r in verdict.results if r.status == Status.PASS
        ]
        failure = verdict.first_failure
        said = failure.difference.actual if failure is not None and failure.difference is not None else ""
        if "has no attribute" not in said:
            found.append(Finding(rung.number, "empty", f"it is not told what is missing: {said!r}"))
        return found

    def below(self, rung: Rung) -> list[Finding]:
        """Run the solution up to the previous rung. Return a finding if it passes this rung, too, and one for each program that
        neither passes, fails, crashes nor meets a limit. Return [] for rung 01.
        """
        if rung.number == "01":
            return []
        before = f"{int(rung.number) - 1:02}"
        verdict = self.verdict(prefix(self.text, before), rung)
        if verdict.passed:
            return [Finding(rung.number, "below", f"the solution up to {before} passes, too")]
        dead = [r for r in verdict.results if r.status not in (Status.PASS, Status.FAIL, Status.CRASH, Status.LIMIT)]
        return [Finding(rung.number, "below", f"{r.check.name}: {r.status} {r.sentence}") for r in dead]

    def of_wrong(self, rung: Rung, version: Wrong) -> RungVerdict:
        """Return the verdict that the author of a wrong version would see."""
        return self.learners.climb(self.package(version.applied(self.text, rung)), [rung], spare=self.forks)[0]

    def wrong(self, rung: Rung, version: Wrong) -> list[Finding]:
        """Prove that a wrong version fails, that the first program that fails is against it, and that the version is recognised, so that
        its question is asked.
        """
        verdict = self.of_wrong(rung, version)
        failure = verdict.first_failure
        if failure is None:
            return [Finding(rung.number, "wrong", f"{version.label!r} passes")]
        if version.label not in failure.check.against:
            return [Finding(rung.number, "wrong", f"{version.label!r} first fails {failure.check.name}")]
        if version not in beliefs(verdict):
            return [Finding(rung.number, "wrong", f"{version.label!r} is not recognised: {REFRESH}")]
        return []

    def new_seed(self, rung: Rung) -> list[Finding]:
        """Prove that the solution up to a rung passes on inputs of a new seed."""
        verdict = self.verdict(prefix(self.text, rung.number), rung, random.SystemRandom().randrange(1, 1 << 30))
        return [
            Finding(rung.number, "seed", f"{r.check.name}: {r.sentence}")
            for r in verdict.results
            if r.status != Status.PASS
        ]
