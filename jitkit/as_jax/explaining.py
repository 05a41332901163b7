"""The misses of a run -> a table of jitted functions, the most expensive first

JAX: jax/_src/interpreters/partial_eval.py:explain
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..misses import explain
from ..misses.explain import Miss
from ..misses.record import CallRecord

_SHOWN = 8  # misses shown for a function


class _Function:
    """The misses of one function of the program: of one place in its source, even if it is made repeatedly."""

    def __init__(self) -> None:
        self.misses: list[Miss] = []

    @property
    def seconds(self) -> float:
        return sum(miss.seconds for miss in self.misses)


class Watch:
    """Records each miss of users' functions."""

    def __init__(self) -> None:
        self._functions: dict[str, _Function] = {}
        explain.listeners.append(self._hear)

    def _hear(self, fun: Callable[..., Any], miss: Miss, record: CallRecord) -> None:
        self._functions.setdefault(miss.function, _Function()).misses.append(miss)

    def _dearest_first(self) -> list[tuple[str, _Function]]:
        return sorted(self._functions.items(), key=lambda each: -each[1].seconds)

    def lines(self) -> Iterator[str]:
        """Yield the report: a line for all, one for each function, and below it the reasons of its first 8 misses, and
        a count of the rest.
        """
        functions = self._dearest_first()
        misses = [miss for _, function in functions for miss in function.misses]
        plural = "" if len(functions) == 1 else "s, the slowest first" if functions else "s"
        yield f"jitkit: {len(functions)} jitted function{plural}: {_summary(misses)}"
        for name, function in functions:
            yield ""
            yield f"{name}: {_summary(function.misses)}"
            for miss in function.misses[:_SHOWN]:
                yield f"  #{miss.number} {miss.call_site}: {miss.happened}, {explain.milliseconds(miss.seconds)}"
                yield from (f"      {line}" for line in miss.lines())
            if more := function.misses[_SHOWN:]:
                reasons = Counter(miss.reason for miss in more).most_common()
                yield f"  and {len(more)} more: {', '.join(f'{reason} ({count})' for reason, count in reasons)}"


def _summary(misses: Sequence[Miss]) -> str:
    traced, compiled = sum(miss.traced for miss in misses), sum(miss.compiled for miss in misses)
    seconds = sum(miss.seconds for miss in misses)
    count = f"{len(misses)} {'miss' if len(misses) == 1 else 'misses'} of the cache"
    return f"{count}, {traced} traced, {compiled} compiled, {explain.milliseconds(seconds)}"
