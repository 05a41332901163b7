"""`jitkit bench pitfalls`: each pitfall as a pair, with traces, compilations, seconds, and what `explain` says."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jitkit.pjit import compilation_cache

from ..benchmark import Benchmark, Step
from ..calls import Calls, watch
from ..tables import Column, Line
from ..timing import Spread, ratio
from ..words import duration, quartiles, times, unknown
from . import BY_NAME, THEMES
from .pair import CALLS, Counts, Pitfall

_HERE = re.compile(re.escape(str(Path(__file__).parent) + os.sep))  # this part of a path is left out of sentences


class Effort(NamedTuple):
    """How long to measure a pair."""

    least: int  # rounds
    most: int  # rounds
    seconds: float  # after this time no new round begins


FULL = Effort(least=5, most=15, seconds=4.0)
QUICK = Effort(least=1, most=5, seconds=0.15)


class Result(NamedTuple):
    """A measured pair. `slow` and `mended` are the calls of the first round, `*_seconds` the spreads of whole programs
    over the rounds, `ratio` that of slow over mended within rounds.
    """

    pitfall: Pitfall
    slow: Calls
    mended: Calls
    slow_seconds: Spread
    mended_seconds: Spread
    ratio: Spread

    @property
    def as_expected(self) -> bool:
        """Whether both programs traced and compiled as often as the pitfall says."""
        return (counts(self.slow), counts(self.mended)) == (self.pitfall.slow_counts, self.pitfall.mended_counts)

    @property
    def is_warm(self) -> bool:
        """Whether only calls after compilation are timed: the slow program says when it is ready, by a bare `yield`."""
        return self.slow.prepared is not None

    @property
    def grows(self) -> bool:
        """Whether the slow program compiles at every call. Then the ratio grows with the number of calls."""
        return bool(self.slow.calls) and all(call.compiles for call in self.slow.calls)

    @property
    def cost(self) -> str:
        """The cost of the pitfall in a word: `grows`, `wrong`, `error`, or a factor."""
        if self.pitfall.is_wrong:
            return "wrong"
        if self.slow.error is not None:
            return "error"
        return "grows" if self.grows else times(self.ratio.median)


def explanation(calls: Calls) -> tuple[str, ...]:
    """Return the words of `explain` about the last miss of a program. If the program ended with an error, return the
    error; if there was no miss, or all were first calls, say so.
    """
    misses = calls.misses
    if calls.error is not None:
        first, *others = str(calls.error).splitlines()
        cause = others[:1] if first.endswith(":") else []
        # our own first line: what the error means, and how to mend the program
        more = [line for line in others[len(cause) :] if line][:1]
        return (_sentence(f"{type(calls.error).__name__}: {' '.join([first, *cause])}"), *more)
    if not misses:
        return ("No jitted function was called, so that there was no miss.",)
    if all(miss.reason == "first call" for miss in misses):
        return ("Only first calls missed the cache: nothing was compiled again.",)
    return tuple(_sentence(_HERE.sub("", line.strip())) for line in misses[-1].lines())


def _sentence(line: str) -> str:
    return line if line.endswith((".", ":")) else f"{line}."


def counts(calls: Calls) -> Counts:
    """Return the counts of traced functions and compiled programs, for comparison with those that a pitfall declares."""
    return Counts(calls.traces, calls.compiles)


def measure_pair(pitfall: Pitfall, effort: Effort) -> Result:
    """Run both programs of a pair in turns, each from empty caches, and return the measurements. Raise an error that
    the pitfall does not declare.
    """
    rounds: list[tuple[Calls, Calls]] = []
    start = time.perf_counter()
    while len(rounds) < effort.least or (len(rounds) < effort.most and time.perf_counter() - start < effort.seconds):
        programs = (pitfall.slow, pitfall.mended)
        turns = {}
        for program in programs if len(rounds) % 2 == 0 else programs[::-1]:
            compilation_cache.forget_history()
            turns[program] = watch(program())
            error = turns[program].error
            if error is not None and not (
                program is pitfall.slow and pitfall.raises and isinstance(error, pitfall.raises)
            ):
                raise error
        rounds.append((turns[pitfall.slow], turns[pitfall.mended]))
    slow, mended = [pair[0].seconds for pair in rounds], [pair[1].seconds for pair in rounds]
    return Result(pitfall, *rounds[0], Spread.of(slow), Spread.of(mended), ratio(slow, mended))


class Pitfalls(Benchmark):
    """The benchmark: all pitfalls, or the one that is named. Raise LookupError for an unknown name."""

    name = "pitfalls"
    title = f"Pitfalls of jit, and how to fix them: programs of {CALLS} calls"
    how = (
        "Traces are those of the program's own functions; compilations include eager operations. Times are those of "
        "a whole program from empty caches, or where a `w` follows its name (for warm) of calls after everything was compiled; "
        "medians over rounds in turns, every result waited for; the first round, whose calls are plotted, is slower. `grows`: "
        f"the slow one compiles at every call, so that its ratio grows with the number of calls, here {CALLS}. `wrong`: it "
        "gives or measures something wrong. `error`: it ends with that. `jitkit bench pitfalls NAME` shows the programs of one."
    )
    columns = (
        Column("pitfall", 17, "<"),
        Column("traces", 6),
        Column("compiles", 8),
        Column("slow", 7),
        Column("quartiles", 14, ">", 2),
        Column("mended", 7),
        Column("quartiles", 14, ">", 3),
        Column("ratio", 5, ">", 1),
    )
    figure_module = "jitkit.bench.pitfalls.drawn"
    efforts = (FULL, QUICK)

    def __init__(self, *, quick: bool = False, only: str = "", name: str | None = None) -> None:
        super().__init__(quick=quick, only=only)
        if name is not None and name not in BY_NAME:
            raise LookupError(unknown("pitfall", name, BY_NAME))
        self.chosen = list(BY_NAME.values()) if name is None else [BY_NAME[name]]

    def all_steps(self) -> list[Step]:
        """Return one step for each pair."""
        return [
            Step(f"{pitfall.name}: {pitfall.title}", functools.partial(measure_pair, pitfall, self.effort))
            for pitfall in self.chosen
        ]

    def lines(self, result: Result) -> list[Line]:
        """Return counts and times, slow against mended, then the lesson and the sentence of `explain`."""
        pitfall, slow, mended = result.pitfall, result.slow, result.mended
        group = next(theme for theme, pitfalls in THEMES.items() if pitfall in pitfalls)
        cells = (
            f"{pitfall.name} w" if result.is_warm else pitfall.name,
            f"{slow.traces} -> {mended.traces}",
            f"{slow.compiles} -> {mended.compiles}",
            "error" if slow.error else duration(result.slow_seconds.median),
            "" if slow.error else quartiles(result.slow_seconds),
            duration(result.mended_seconds.median),
            quartiles(result.mended_seconds),
            result.cost,
        )
        lesson = f"{pitfall.title[0].upper()}{pitfall.title[1:]}. {pitfall.lesson}"
        return [Line(group, cells, (lesson, f"explain: {' '.join(explanation(slow))}"))]

    def row_data(self, result: Result) -> dict[str, Any]:
        """Return the result as plain data: the pitfall's texts, and the counts, times and calls of each of its two programs."""
        return {
            "name": result.pitfall.name,
            "title": result.pitfall.title,
            "lesson": result.pitfall.lesson,
            "wrong from call": result.pitfall.wrong_from,
            "compiled beforehand": result.is_warm,
            "grows with the number of calls": result.grows,
            "explain": list(explanation(result.slow)),
            "slow": _program_data(result.slow, result.slow_seconds),
            "mended": _program_data(result.mended, result.mended_seconds),
            "ratio": result.ratio._asdict(),
        }

    def summary(self, results: Sequence[Result]) -> list[str]:
        """Return sentences: how many pairs compile at every call, which of the others is the most expensive, and which
        pairs counted differently than declared.
        """
        sentences = []
        if len(results) > 1:
            growing = sum(result.grows for result in results)
            sentences.append(f"{len(results)} pitfalls; {growing} of them compile at every call.")
        for is_warm, what in ((False, "from empty caches"), (True, "once everything is compiled")):
            others = [r for r in results if r.is_warm == is_warm and r.cost.endswith("x")]
            if len(others) > 1:
                worst = max(others, key=lambda r: r.ratio.median)
                sentences.append(
                    f"The slowest of the others, {what}: {worst.pitfall.title}, {times(worst.ratio.median)} the time "
                    "of its fix."
                )
        odd = [r.pitfall.name for r in results if not r.as_expected]
        if odd:
            sentences.append(f"Counted otherwise than declared, which is a bug of ours: {', '.join(odd)}.")
        return sentences


def _program_data(calls: Calls, seconds: Spread) -> dict[str, Any]:
    return {
        "traces": calls.traces,
        "compiles": calls.compiles,
        "seconds": seconds._asdict(),
        "error": None if calls.error is None else type(calls.error).__name__,
        "calls": [{"seconds": call.seconds, "compiles": call.compiles, "why": call.why} for call in calls.calls],
    }
