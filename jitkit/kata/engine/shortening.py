"""a random program that shows a difference -> the shortest program found that shows one, too

First the choices by which the program was written are made fewer and smaller (`shorter`), then its lines are made fewer. In each round,
such programs, at most `_MOST`, are run with the learner's functions in one process and with the reference in another, and the shortest
one that still shows a difference is taken.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from . import running
from .choices import shorter
from .fewer_lines import fewer_lines
from .plain import Plain
from .running import Job, Outcome

_ROUNDS = 4  # each kind of change is tried in at most this many rounds
_MOST = 70  # a round runs at most this many programs
_SECONDS = 0.7  # after this time with one kind of change, no new round begins


class Short(NamedTuple):
    """A program, and its results with the reference and with the learner's functions."""

    text: str
    choices: Sequence[int]
    right: Outcome
    yours: Outcome

    @property
    def length(self) -> tuple[int, int]:
        """The number of lines, which counts first, and of characters."""
        return self.text.count("\n"), len(self.text)


def shortened(program: Plain, check: str, job: Job, differ: Callable[[Outcome, Outcome], bool]) -> Short | None:
    """Return the shortest program found that shows a difference, made from a random program of a check; None if none is found that is
    shorter than that one. `differ` says whether the results of two runs differ.
    """
    nothing = Outcome(check, None)
    now = start = Short(program["text"], program["choices"], nothing, nothing)
    for kind in (_by_choices, _by_lines):
        began = time.monotonic()
        tried: set[str] = set()
        for _ in range(_ROUNDS):
            others = [other for other in dict.fromkeys(kind(now)) if other not in tried][:_MOST]
            tried.update(others)
            failing = [short for short in _run(check, job, others) if differ(short.right, short.yours)]
            shortest = min(failing, key=lambda short: short.length, default=now)
            if shortest.length >= now.length:
                break
            now = shortest
            if time.monotonic() - began > _SECONDS:
                break
    return None if now is start else now


def _by_choices(short: Short) -> Iterator[str]:
    return (",".join(map(str, choices)) for choices in shorter(short.choices) if choices)


def _by_lines(short: Short) -> Iterator[str]:
    return (f"={text}" for text in fewer_lines(short.text))


def _run(check: str, job: Job, others: Sequence[str]) -> Iterator[Short]:
    """Run these programs with the learner's functions and with the reference; yield those that ran to the end with both."""
    job = job._replace(hurried=0.0, wanted=tuple(f"{check}@{other}" for other in others))
    if not others:
        return
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        right = pool.submit(running.run, job._replace(files=(), targets={}))
        pairs = list(zip(running.run(job), right.result(), strict=True))
    for yours, expected in pairs:
        if all(o.value is not None and o.value["is"] == "list" and not o.trouble for o in (yours, expected)):
            program = (expected.value or {})["items"][0]
            yield Short(program["text"], program["choices"], expected, yours)
