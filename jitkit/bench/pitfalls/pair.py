"""One pitfall: two programs that mean the same, one of which falls in.

A program is a generator. Each `yield` ends one call, whose time is taken (the result is waited for); a `float`
that it yields is its own stopwatch's reading, and stands in place of ours. With a bare `yield` it is ready: what
came before, compiling above all, is not part of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

CALLS = 8  # of each program


class Counts(NamedTuple):
    """From empty caches: how many functions of the user are traced, and how many programs are compiled, those of
    eager operations included.
    """

    traces: int
    compiles: int


class Pitfall(NamedTuple):
    """A pair of programs, `slow` and `mended`, what each must count, and what is to be learned.

    `raises` is the error that the slow one ends with. Where its fault is not its speed but what it gives, `wrong_from` is
    the number of the first call, counted from 1, whose result or reading is wrong; else 0.
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
        """Whether the slow program gives something else than the mended one."""
        return self.wrong_from > 0
