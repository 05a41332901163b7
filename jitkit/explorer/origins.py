"""equations + optimised HLO -> which instructions make an equation's operands, and which read its results

Names alone do not connect equations with instructions: XLA removes equations that only arrange elements, merges several
into one, and inserts others. So an operand is *of* an equation if it is the equation's value, perhaps moved; or, if
nothing is left of the equation, the value that the equation read.

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .equation import Equation, all_behind
from .flow import Key
from .hlo import Fused
from .opcodes import ARRANGING, COMMUTE, PRODUCTS
from .parts import agrees
from .values import only_reshapes

_MOST_SOURCES = 1000  # at most this many are looked at for one equation


class Origins:
    """Follows values from equations to instructions, and back. `gone` has the equations that the program does not
    contain; `_is_now` has the instructions that do the work of some of them.
    """

    def __init__(
        self, equations: Sequence[Equation], wrote: Mapping[int, set[str]], left: Fused, inside: Mapping[int, list[int]]
    ) -> None:
        self._equations, self._wrote, self._inside = equations, wrote, inside
        self._links, self._data, self._rows = left.links, left.links.data, left.rows
        self.gone: set[int] = set()
        self._is_now: dict[int, Key] = {}
        self._named: dict[int, list[Key]] = {}  # equation -> the instructions that have its number in their name
        for at, numbers in self._links.own.items():
            for number in numbers:
                self._named.setdefault(number, []).append(at)
        self._without_name: dict[int, list[Key]] = {}  # equation -> the unnamed instructions that only it reads
        for at in self._links.rules:
            if len(self._links.exact[at]) == 1 and not self._links.own.get(at) and at in self._rows:
                self._without_name.setdefault(self._links.exact[at][0], []).append(at)
        self._readers: dict[int, list[int]] = {}
        for number, equation in enumerate(equations):
            for origin in frozenset().union(*equation.operands):
                self._readers.setdefault(origin, []).append(number)

    def _arranges(self, number: int) -> bool:
        """Return whether an equation only arranges elements."""
        if self._wrote.get(number, set()) - {"constant"} <= ARRANGING:
            return number not in self._inside
        return only_reshapes(self._equations[number].primitive, self._equations[number].eqn)

    def _twins(self, number: int) -> list[int]:
        """Return the equations that compute the same and are still there."""
        return [each for each in self._equations[number].same_as if each not in self.gone or each in self._is_now]

    def _is_transparent(self, number: int) -> bool:
        """Return whether nothing is left of an equation: its readers now read its operands."""
        if number not in self.gone or number in self._is_now or self._twins(number):
            return False
        return self._arranges(number) or self._equations[number].unchanged is not None

    def _is_product(self, number: int) -> bool:
        return bool(self._wrote.get(number, set()) & PRODUCTS.keys())

    def _sources(self, number: int) -> set[int]:
        """Return the equations that make an equation's operands, and those that `_through` adds."""
        return self._through([origin for origins in self._equations[number].operands for origin in origins])

    def _through(self, origins: Iterable[int]) -> set[int]:
        """Return these equations, those that compute the same as one of them, and, for each that left nothing, those
        that it reads.
        """
        found: set[int] = set()
        waiting = [*origins]
        while waiting and len(found) < _MOST_SOURCES:
            origin = waiting.pop()
            if origin in found:
                continue
            found.add(origin)
            if origin >= 0:
                waiting += self._equations[origin].same_as
                if self._is_transparent(origin):
                    waiting += [each for origins in self._equations[origin].operands for each in origins]
        return found

    def _that_read(self, number: int, sources: set[int]) -> Iterable[Key]:
        """Yield the instructions that read an equation's result (directly, or through equations that are gone) and that
        read these sources in no other way.
        """
        seen = {number}
        waiting = [(number, each) for each in self._readers.get(number, ())]
        while waiting:
            read, reader = waiting.pop()
            equation = self._equations[reader]
            beside = [origins for origins in equation.operands if read not in origins]
            if reader in seen or any(origins & sources for origins in beside):
                continue
            seen.add(reader)
            for each in (reader, *equation.same_as):
                yield from (*self._named.get(each, ()), *self._without_name.get(each, ()))
                if each in self._is_now:
                    yield self._is_now[each]
            if reader in self.gone and self._is_transparent(reader):
                waiting += [(reader, further) for further in self._readers.get(reader, ())]

    def _reaches(self, at: Key, sources: set[int]) -> list[Key] | None:
        """Return the unnamed instructions that move a value of these sources to `at`; None if the value comes from
        elsewhere.
        """
        passed: list[Key] = []
        now = {self._is_now[each] for each in sources if each in self._is_now}
        for each in self._data.above(at):
            argument = self._data.argument(each)
            rule = self._links.rules.get(each, "")
            its = self._links.own.get(each) or (self._links.exact.get(each, []) if rule.startswith("its value") else [])
            is_moved = self._data.at[each].opcode in ARRANGING and not any(self._arranges(number) for number in its)
            if is_moved and sources.intersection(its):  # the instruction has the name of the value that it moves
                passed.append(each)
            if sources.intersection(its) or (argument is not None and ~argument in sources) or each in now:
                return passed
            if not self._links.own.get(each):
                passed.append(each)
            elif self._data.at[each].opcode == "negate" and self._is_behind(
                its, sources
            ):  # XLA negates a term, and gives the negation the name of the sum
                return self._reaches(self._data.operands[each][0], sources)
        return None

    def _is_behind(self, numbers: Sequence[int], sources: set[int]) -> bool:
        """Return whether all `sources` are computed from the equations `numbers`."""
        made = [all_behind(self._equations, each) for each in sources if each >= 0]
        return bool(made) and all({*numbers} <= each for each in made)

    def _reads_the_same(self, at: Key, number: int) -> bool:
        """Return whether an instruction has an equation's operands, in the equation's order; in any order if the
        operation is commutative.
        """
        return self._has_its_operands(at, number) and agrees(self._equations[number], at, self._equations, self._data)

    def _has_its_operands(self, at: Key, number: int) -> bool:
        asked, reads = self._equations[number].operands, self._data.operands[at]
        if len(asked) == 1 and len(reads) == 2 and reads[0] == reads[1] and self._is_square(number):
            reads = reads[:1]
        if len(asked) == len(reads) and self._data.at[at].opcode not in COMMUTE:
            pairs = zip(asked, reads, strict=True)
            return any(asked) and all(self._has([operand], origins) for origins, operand in pairs if origins)
        is_reduced = "reduce" in self._data.at[at].opcode  # its start value is an operand, too
        return any(asked) and (len(asked) == len(reads) or is_reduced) and all(self._has(reads, o) for o in asked if o)

    def _is_square(self, number: int) -> bool:
        equation = self._equations[number]
        return equation.primitive == "square" or equation.eqn.params.get("y") == 2

    def _has(self, operands: Iterable[Key], origins: frozenset[int]) -> bool:
        """Return whether one of these operands is a value of one of these origins."""
        sources = self._through(origins)
        return any(self._reaches(operand, sources) is not None for operand in operands)

    def _consumers(self, number: int) -> set[int]:
        """Return the equations that read a result, directly or through equations that are constant or left nothing."""
        found: set[int] = set()
        waiting = [number]
        while waiting:
            more = {*self._readers.get(waiting.pop(), ())} - found
            found |= more
            waiting += [each for each in more if self._is_transparent(each) or self._equations[each].constant]
        return found
