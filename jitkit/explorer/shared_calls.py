"""operations of a function that several equations call -> the call that each belongs to

A function is lowered once. When XLA inlines it, it puts the name of the call in front of the operations' names. It does not do so if a
library function, such as `cumsum`, has given them names relative to itself: these are the same in all calls. Such an operation belongs to
the call that reads the same values.

JAX: jax/_src/interpreters/mlir.py:lower_called_computation
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .equation import Equation
from .equations import paths_in
from .flow import Data, Key

_MOST_STEPS = 1000  # at most this many values are looked at for one operation


class SharedCalls:
    """Finds the call that an operation of a shared function belongs to.

    `waiting` maps each operation whose name does not say its call to the equation in its name.
    """

    def __init__(self, data: Data, equations: Sequence[Equation]) -> None:
        self._data, self._equations = data, equations
        self.waiting: dict[Key, int] = {}
        self._calls: dict[int, list[int]] = {}

    def is_unclear(self, name: str) -> bool:
        """Return whether a name has an equation of a function that several equations call, and does not say by which call."""
        paths = paths_in(name)
        return bool(paths) and not name.startswith("jit(") and any(len(self.calls(marks[0])) > 1 for marks in paths)

    def add(self, at: Key, name: str) -> None:
        """Note an operation whose name is unclear."""
        self.waiting[at] = paths_in(name)[0][0]

    def calls(self, number: int) -> list[int]:
        """Return the live equations that call the function in which an equation stands, directly or not, the first call
        first; [] if there is only one.
        """
        if number in self._calls:
            return self._calls[number]
        found: list[int] = []
        parent = self._equations[number].parent if number < len(self._equations) else None
        while parent is not None and not found:
            inside = _function(self._equations[parent])
            alike = [n for n, each in enumerate(self._equations) if inside is not None and _function(each) is inside]
            found = [n for n in alike if self._equations[n].live] if len(alike) > 1 else []
            found = found if len(found) > 1 else []
            parent = self._equations[parent].parent
        self._calls[number] = found
        return found

    def found(self, exact: Mapping[Key, Sequence[int]]) -> dict[Key, list[int]]:
        """Return the equation of each operation that reads what only one call reads: for the first call, the equation
        in its name; for another, the call itself.
        """
        found: dict[Key, list[int]] = {}
        for at, number in self.waiting.items():
            read = self._read(at, exact)
            calls = [n for n in self.calls(number) if read and read & self._given(n)]
            if len(calls) == 1:
                found[at] = [number if calls[0] == self.calls(number)[0] else calls[0]]
        return found

    def _given(self, call: int) -> set[int]:
        return {origin for origins in self._equations[call].operands for origin in origins}

    def _read(self, at: Key, exact: Mapping[Key, Sequence[int]]) -> set[int]:
        """Return the equations and arguments (`~i`) that make an operation's operands. An operand whose equation is not
        known is replaced by its own operands.
        """
        found: set[int] = set()
        seen, waiting = {at}, [*self._operands(at)]
        while waiting and len(seen) < _MOST_STEPS:
            value = waiting.pop()
            if value in seen or value not in self._data.at:
                continue
            seen.add(value)
            source = self._data.source(value)
            if source is None:
                continue
            argument = self._data.argument(source)
            if argument is not None:
                found.add(~argument)
            elif source in self.waiting or not exact.get(source):
                waiting += [*self._operands(source)]
            else:
                found.update(exact[source])
        return found

    def _operands(self, at: Key) -> Iterable[Key]:
        return self._data.operands[at]


def _function(equation: Equation) -> object | None:
    """Return the jaxpr that an equation calls, or None."""
    params = equation.eqn.params
    return params.get("jaxpr", params.get("call_jaxpr")) if equation.primitive != "scan" else None
