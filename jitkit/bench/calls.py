"""program -> its calls: how long each took, which missed the cache, and why.

A program is an iterator that yields the result of each call, like the programs in `pitfalls`. Results are waited for,
and the garbage collector is kept out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jitkit
from jitkit.base import stage_log
from jitkit.misses.explain import Miss

from .timing import quiet_collector

_KINDS = {"static": "new static value", "option": "option", "passing": "passed otherwise"}


class Call(NamedTuple):
    """One call of a watched program: its number, its time, its compilations and its misses."""

    number: int  # from 1
    seconds: float
    compiles: int  # the programs compiled in it, including those of eager operations
    misses: tuple[Miss, ...]  # the misses of the user's functions

    @property
    def traces(self) -> int:
        """How many of the user's functions were traced in the call."""
        return sum(miss.traced for miss in self.misses)

    @property
    def why(self) -> str:
        """Why it missed the cache or compiled: "new function", "first use of an operation"; "" if it did neither."""
        if not self.misses:
            return "first use of an operation" if self.compiles else ""
        miss = next((miss for miss in self.misses if miss.compiled), self.misses[-1])
        if miss.reason != "new signature" or not miss.differences:
            return miss.reason
        kind = miss.differences[0].kind
        return _KINDS.get(kind, f"new {kind}")


class Calls(NamedTuple):
    """The calls of a program in order. `results` are the yielded values, `error` is the exception that ended the
    program, if any. `prepared` is its preparation, if its first `yield` was bare: it has the number 0, and does not
    count as a call.
    """

    calls: tuple[Call, ...]
    prepared: Call | None
    results: tuple[Any, ...]
    error: Exception | None

    @property
    def seconds(self) -> float:
        """The seconds of all calls together, without the preparation."""
        return sum(call.seconds for call in self.calls)

    @property
    def everything(self) -> tuple[Call, ...]:
        """All calls; the first one is the preparation, if there was one."""
        return self.calls if self.prepared is None else (self.prepared, *self.calls)

    @property
    def traces(self) -> int:
        """How many of the user's functions were traced, also in the preparation."""
        return sum(call.traces for call in self.everything)

    @property
    def compiles(self) -> int:
        """How many programs were compiled, the preparation included."""
        return sum(call.compiles for call in self.everything)

    @property
    def misses(self) -> list[Miss]:
        """The misses in order, the preparation included."""
        return [miss for call in self.everything for miss in call.misses]


def watch(program: Iterator[Any]) -> Calls:
    """Run a program to its end, or to its first error, and return its calls with their times. The error is kept, not
    raised.

    The program's work before its first `yield` belongs to the first call, unless that `yield` is bare. If the program
    yields a Python float, that is the time of the call.
    """
    calls: list[Call] = []
    results: list[Any] = []
    prepared: Call | None = None
    error: Exception | None = None
    with quiet_collector():
        while True:
            known = jitkit.explain().misses
            with stage_log.listen() as events:
                start = time.perf_counter()
                try:
                    result = jitkit.block_until_ready(next(program))
                except StopIteration:
                    break
                except Exception as raised:
                    error = raised
                    break
                seconds = time.perf_counter() - start
            compiles = sum(event.stage == "compilation" for event in events)
            if result is None:
                prepared = Call(0, seconds, compiles, _since(known))
                continue
            results.append(result)
            seconds = result if type(result) is float else seconds
            calls.append(Call(len(calls) + 1, seconds, compiles, _since(known)))
    return Calls(tuple(calls), prepared, tuple(results), error)


def _since(known: Sequence[Miss]) -> tuple[Miss, ...]:
    """Return the misses that are not in `known`. (Only the latest misses are kept, so their number does not show how many are new.)"""
    latest = jitkit.explain().misses
    last = known[-1] if known else None
    for i in range(len(latest) - 1, -1, -1):
        if latest[i] is last:
            return latest[i + 1 :]
    return latest
