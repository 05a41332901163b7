"""One pitfall: a program that falls in, and a program that means the same and does not.

A program is a generator. Each `yield` ends one call, whose time is taken with the wait for the result. A yielded
`float` is the reading of the program's own stopwatch, and replaces ours. A bare `yield` says that the program is ready:
the work before it, such as compiling, is not part of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

CALLS = 8  # each program makes this many calls


class Counts(NamedTuple):
    """The counts of a program from empty caches: how many of the user's functions are traced, and how many programs are
    compiled, including those of eager operations.
    """

    traces: int
    compiles: int


class Pitfall(NamedTuple):
    """A pair of programs, `slow` and `mended`, the counts of each, and the lesson.

    `raises` is the error that ends the slow program. If its fault is a wrong result, or a wrong reading of its
    stopwatch, `wrong_from` is the number of the first wrong call, counted from 1; else 0.
    """

    name: str
    title: str
    slow: Callable[[], Iterator[Any]]
    mended: Callable[[], Iterator[Any]]
    slow_counts: Counts
    mended_counts: Counts
    lesson: str
    raises: type[Exception] | None = None
    wrong_from: int = 0

    @property
    def is_wrong(self) -> bool:
        """Whether the slow program gives a wrong result or a wrong time."""
        return self.wrong_from > 0
