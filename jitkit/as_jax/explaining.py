"""The misses of a run -> a table of jitted functions, the most expensive first; and the Explorer's page of each

JAX: jax/_src/interpreters/partial_eval.py:explain
"""

from __future__ import annotations

import pathlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..explorer import explore
from ..explorer.api import file_name
from ..misses import explain
from ..misses.explain import Miss
from ..misses.record import CallRecord, aval_of
from ..pjit.jitted import Jitted
from ..signature.shape_struct import ShapeDtypeStruct
from ..tree_util import tree_unflatten

_SHOWN = 8  # misses shown for a function
_KEYWORD = re.compile(r"\w+\['(.+)'\]$")


class _Function:
    """The misses of one function of the program: of one place in its source, even if it is made repeatedly."""

    def __init__(self) -> None:
        self.misses: list[Miss] = []
        self.latest: tuple[Callable[..., Any], CallRecord] | None = None

    @property
    def seconds(self) -> float:
        return sum(miss.seconds for miss in self.misses)


class Watch:
    """Records each miss of users' functions; with `with_calls` also the latest call of each, to explore it."""

    def __init__(self, with_calls: bool = False) -> None:
        self._functions: dict[str, _Function] = {}
        self._with_calls = with_calls
        explain.listeners.append(self._hear)

    def _hear(self, fun: Callable[..., Any], miss: Miss, record: CallRecord) -> None:
        function = self._functions.setdefault(miss.function, _Function())
        function.misses.append(miss)
        if self._with_calls and (miss.compiled or function.latest is None):
            function.latest = fun, record

    def _dearest_first(self) -> list[tuple[str, _Function]]:
        return sorted(self._functions.items(), key=lambda each: -each[1].seconds)

    def lines(self) -> Iterator[str]:
        """Return the report: a line for all, one for each function, and below it the reason of each miss."""
        functions = self._dearest_first()
        misses = [miss for _, function in functions for miss in function.misses]
        yield f"jitkit: {len(functions)} jitted functions, the dearest first: {_summary(misses)}"
        for name, function in functions:
            yield ""
            yield f"{name}: {_summary(function.misses)}"
            for miss in function.misses[:_SHOWN]:
                yield f"  #{miss.number} {miss.call_site}: {miss.happened}, {explain.milliseconds(miss.seconds)}"
                yield from (f"      {line}" for line in miss.lines())
            if more := function.misses[_SHOWN:]:
                reasons = Counter(miss.reason for miss in more).most_common()
                yield f"  and {len(more)} more: {', '.join(f'{reason} ({count})' for reason, count in reasons)}"

    def explore(self, folder: pathlib.Path) -> Iterator[str]:
        """Write the Explorer's page of each function, for this machine; yield the path of each."""
        folder.mkdir(parents=True, exist_ok=True)
        used: Counter[str] = Counter()
        for _, function in self._dearest_first():
            if function.latest is None:
                continue
            fun, args, kwargs = _call_again(*function.latest)
            page = explore(fun, *args, targets="cpu", **kwargs)
            stem = file_name(page.data["function"])
            used[stem] += 1
            number = f"-{used[stem]}" if used[stem] > 1 else ""
            yield str(page.save(folder / f"{stem}{number}.html"))


def _call_again(fun: Callable[..., Any], record: CallRecord) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """Return the jitted function with its cache, and the arguments of a call: types, and the static values."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in record.arguments:
        if argument.static is not None:
            value: Any = argument.static.value
        else:
            avals = [aval_of(key) for key in argument.keys]
            types = [ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in avals]
            value = None if argument.tree is None else tree_unflatten(argument.tree, types)
        if argument.by_keyword:
            in_kwargs = _KEYWORD.match(argument.name)
            kwargs[in_kwargs[1] if in_kwargs else argument.name] = value
        else:
            args.append(value)
    return Jitted(fun, record.jit_options).make_dispatcher(), args, kwargs


def _summary(misses: Sequence[Miss]) -> str:
    traced, compiled = sum(miss.traced for miss in misses), sum(miss.compiled for miss in misses)
    seconds = sum(miss.seconds for miss in misses)
    count = f"{len(misses)} {'miss' if len(misses) == 1 else 'misses'} of the cache"
    return f"{count}, {traced} traced, {compiled} compiled, {explain.milliseconds(seconds)}"
