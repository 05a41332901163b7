"""`jitkit bench seeds`: the measurements of four tutorials on jit, repeated with jitkit and with JAX.

The published times are those of other machines and older versions. So a claim is taken as its lesson: one way is some
factor faster than another. It holds if the measured factor is at least the square root of the published one, and at
least 1.1. A claim without a published number cannot hold or fail.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import timing
from .benchmark import Benchmark, Step
from .claims import CLAIMS, SOURCES, Claim
from .libraries import LIBRARIES, OURS, THEIRS, Library
from .tables import Column, Line
from .timing import Action, Spread
from .words import duration, quartiles, times


class Measured(NamedTuple):
    """A claim with its measurements: for each side, the spread for each library."""

    claim: Claim
    spreads: tuple[dict[str, Spread], ...]

    def factor(self, library: Library) -> float:
        """Return how many times as long the first side takes as the last: the ratio of the medians in the table."""
        slow, fast = self.spreads[0][library.name], self.spreads[-1][library.name]
        return slow.median / fast.median

    def verdict(self, library: Library) -> str:
        """Return the verdict on the claim with this library today."""
        return verdict(self.claim.factor, self.factor(library))


UNPUBLISHED = "no number was published"


def needed(published: float) -> float:
    """Return the least factor with which a claim holds: the square root of the published one, but not less than 1.1."""
    return max(math.sqrt(published), 1.1)


def verdict(published: float | None, measured: float) -> str:
    """Return the verdict on a claim: `holds`, `holds, but less so`, `no longer holds`; or that no number was published."""
    if published is None:
        return UNPUBLISHED
    if measured < 1.1:
        return "no longer holds"
    return "holds" if measured >= needed(published) else "holds, but less so"


# --- measuring them -------------------------------------------------------------------------------------------


class Effort(NamedTuple):
    """How long to measure."""

    rounds: int
    batch: float  # seconds of a batch
    once: int  # rounds of actions that cannot be repeated in a batch, since each starts afresh


FULL = Effort(rounds=201, batch=0.004, once=15)
QUICK = Effort(rounds=15, batch=0.003, once=2)


def measure_claim(claim: Claim, effort: Effort) -> Measured:
    """Return a claim with its measurements: every side with both libraries, in turns."""
    seconds: dict[tuple[str, str], list[float]] = {}
    repeated: dict[tuple[str, str], Action] = {}
    once: dict[tuple[str, str], Callable[[], float]] = {}
    for side, library in itertools.product(claim.sides, LIBRARIES):
        (once if side.is_once else repeated)[side.name, library.name] = side.prepare(library)
    if repeated:
        names = {f"{side}/{library}": (side, library) for side, library in repeated}
        actions = {name: repeated[key] for name, key in names.items()}
        measured = timing.measure(actions, rounds=effort.rounds, batch=effort.batch)
        seconds |= {names[name]: values for name, values in measured.items()}
    if once:
        seconds |= timing.measure_once(once, effort.once)
    spreads = tuple(
        {library.name: Spread.of(seconds[side.name, library.name]) for library in LIBRARIES} for side in claim.sides
    )
    return Measured(claim, spreads)


class Seeds(Benchmark):
    """The benchmark: all claims, or those whose name contains a word."""

    name = "seeds"
    title = "What four tutorials on jit measured, and what is measured here"
    how = (
        "A factor says how many times longer the first line of a claim takes than its last: the ratio of the medians above. A "
        "claim holds where that is at least the square root of the published factor (for 9,400x that is 97x): other machines "
        "and versions were measured, and what is asked is whether the lesson stands. Rounds in turns, each result waited "
        "for; `jax` is the JAX installed here, beside jitkit in one process."
    )
    columns = (
        Column("", 21, "<"),
        Column("published", 9),
        Column("jitkit", 8),
        Column("quartiles", 13, ">", 2),
        Column("jax", 8, ">"),
        Column("quartiles", 13, ">", 3),
    )
    figure_module = "jitkit.bench.seeds_figure"
    efforts = (FULL, QUICK)

    def all_steps(self) -> list[Step]:
        """Return one step for each claim."""
        return [Step(claim.name, functools.partial(measure_claim, claim, self.effort)) for claim in CLAIMS]

    def lines(self, result: Measured) -> list[Line]:
        """Return a line for each side, and the verdict under the last."""
        lines = []
        for side, spreads in zip(result.claim.sides, result.spreads, strict=True):
            ours, theirs = spreads[OURS.name], spreads[THEIRS.name]
            cells = (
                side.name,
                "-" if side.published is None else duration(side.published),
                duration(ours.median),
                quartiles(ours),
                duration(theirs.median),
                quartiles(theirs),
            )
            lines.append(Line(result.claim.title, cells))
        lines[-1] = lines[-1]._replace(notes=tuple(conclusion(result)))
        return lines

    def summary(self, results: Sequence[Measured]) -> list[str]:
        """Return a sentence, in a list: how many of the claims with a number hold."""
        verdicts = [result.verdict(OURS) for result in results]
        published = len(verdicts) - verdicts.count(UNPUBLISHED)
        return [f"{verdicts.count('holds')} of {published} published claims hold with jitkit, on this machine."]

    def footnotes(self) -> list[str]:
        """Return the sources, by their numbers."""
        return [f"[{i}] {source}" for i, source in enumerate(SOURCES, 1)]

    def row_data(self, result: Measured) -> dict[str, Any]:
        """Return the sides, the factors, the verdicts."""
        claim = result.claim
        sides = [
            {"name": side.name, "published": side.published, **{n: s._asdict() for n, s in spreads.items()}}
            for side, spreads in zip(claim.sides, result.spreads, strict=True)
        ]
        return {
            "claim": claim.name,
            "source": claim.source._asdict(),
            "sides": sides,
            "published factor": claim.factor,
            "factors": {library.name: result.factor(library) for library in LIBRARIES},
            "verdicts": {library.name: result.verdict(library) for library in LIBRARIES},
            "remark": claim.remark,
        }


def conclusion(result: Measured) -> list[str]:
    """Return the factors and the verdict in words, and the remark on the claim."""
    claim = result.claim
    published = "" if claim.factor is None else f"published {times(claim.factor)}, "
    factors = ", ".join(f"{library.name} {times(result.factor(library))}" for library in LIBRARIES)
    ours, theirs = result.verdict(OURS), result.verdict(THEIRS)
    words = ours if ours == theirs else f"{ours} (with JAX: {theirs})"
    return [f"{published}{factors}: {words}.", claim.remark]
