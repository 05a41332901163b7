"""an equation that is gone -> the instruction of a neighbouring equation in which XLA's rules of algebra have put it

- *one factor*: `(x * 2) * 3` became `x * 6`. One of the two products is left, and reads what the first one read.
- *factored out*: `c * x + c * y` became `c * (x + y)`. The names of the instructions do not say which of them adds.
- *one root*: `x / sqrt(y)` became `x * rsqrt(y)`; the `rsqrt` is of both.
- *scattered*: `x + zeros.at[i].add(y)` became a scatter into `x`.
- *chosen*: `x * b`, where `b` is a converted truth value, became a `select` that reads the truth value itself.

All five are concluded from the operands of instructions, with the numbers in them, not from names.

JAX: jax/_src/lax/lax.py:mul
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .costs import elements_of
from .equation import Equation
from .flow import Key
from .hlo import Fused
from .links import AS_WRITTEN, OPERANDS, PLUMBING
from .made_of import between, origins_of
from .opcodes import ARRANGING, PRODUCTS
from .origins import Origins

_CLOSE = 1e-5  # relative: XLA multiplies numbers in their dtype


class Merging(Origins):
    """Finds equations that XLA's rules of algebra have merged with their neighbours. `found` collects the fates of all equations, and
    `factored` the instructions of sums whose number was factored out, and `scatters` those that add to more than zeros.
    """

    def __init__(
        self, equations: Sequence[Equation], wrote: Mapping[int, set[str]], left: Fused, inside: Mapping[int, list[int]]
    ) -> None:
        super().__init__(equations, wrote, left, inside)
        self.found: dict[str, dict[str, Any]] = {}
        self.factored: dict[Key, list[int]] = {}
        self.scatters: dict[Key, list[int]] = {}

    def _rewritten(self, number: int) -> dict[str, Any] | None:
        """Return the fate of an equation that is there as another operation; None if it is there as it was written."""
        wrote = self._wrote.get(number, set()) - ARRANGING - OPERANDS
        if number in self._inside or len(wrote) != 1:
            return None
        [own] = wrote
        computing = [at for at in self._named.get(number, ()) if self._data.at[at].opcode not in ARRANGING | OPERANDS]
        opcodes = {self._data.at[at].opcode for at in computing}
        opcodes = opcodes - {"pad"} or opcodes  # a TPU's compiler pads what it has computed
        inverse = next(filter(self._is_reciprocal, computing), None) if opcodes == {"divide", "multiply"} else None
        if own == "divide" and inverse and any(self._multiplies_all(at, number) for at in computing):
            at = next(at for at in computing if self._multiplies_all(at, number))
            words = f"is now a multiply with the reciprocal, {at[1]}; {inverse[1]} divides"
            return self._told("rewritten", "rewritten", words, row=at)
        same = PRODUCTS.get(own, {own, f"{own}-window"}) & opcodes
        if len(opcodes) != 1 or own in ("custom-call", "composite") or same:
            return None
        at = next(each for each in computing if self._data.at[each].opcode in opcodes)
        opcode = self._data.at[at].opcode
        article = "an" if opcode[0] in "aeiou" else "a"
        return self._told("rewritten", "rewritten", f"is now {article} {opcode}, {at[1]}", row=at)

    def _is_reciprocal(self, at: Key) -> bool:
        """Return whether the instruction `at` divides one by a value."""
        one = self._data.source(self._data.operands[at][0]) if self._data.at[at].opcode == "divide" else None
        return one is not None and self._data.at[one].opcode == "constant" and self._data.at[one].rest.startswith("1)")

    def _multiplies_all(self, at: Key, number: int) -> bool:
        """Return whether the instruction `at` multiplies as many elements as the equation `number` has."""
        instruction = self._data.at[at]
        return instruction.opcode == "multiply" and elements_of(instruction.type) == self._equations[number].size

    def _by_algebra(self, number: int) -> dict[str, Any] | None:
        """Return the fate of an equation that is gone, by the first rule that shows it; None if none does."""
        return next(iter([*self._chosen(number), *self._scattered(number), *self._one_factor(number)]), None)

    def _scattered(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the fate of a sum with a scatter into zeros, if XLA scatters into the other operand directly."""
        equation = self._equations[number]
        pairs = [equation.operands, equation.operands[::-1]] if equation.primitive in ("add", "add_any") else []
        for made, other in pairs:
            [scatter, *more] = [*made] or [-1]
            if (
                more
                or scatter < 0
                or not other
                or self._equations[scatter].primitive not in ("scatter-add", "scatter_add")
            ):
                continue
            for at in self._named.get(scatter, ()):
                if self._data.at[at].opcode == "scatter" and self._has(self._data.operands[at][:1], other):
                    self.scatters[at], self._is_now[number] = [scatter, number], at
                    words = f"is in {at[1]}, which adds to its other operand at once, not to zeros"
                    yield self._told("renamed", "merged", words, row=at)

    def _chosen(self, number: int) -> Iterator[dict[str, Any]]:
        equation = self._equations[number]
        readers = self._readers.get(number, ())
        if self._wrote.get(number) != {"convert"} or str(equation.eqn.invars[0].aval.dtype) != "bool":
            return
        found = [
            next((at for at in self._named.get(reader, ()) if self._is_choice_by(at, equation.operands[0])), None)
            for reader in readers
            if self._equations[reader].primitive == "mul"
        ]
        if found and len(found) == len(readers) and found[0] and all(found):
            words = f"merged into {found[0][1]}, which chooses by the truth value itself instead of multiplying with it"
            yield self._told("removed", "merged", words, row=found[0])

    def _is_choice_by(self, at: Key, origins: frozenset[int]) -> bool:
        is_select = self._data.at[at].opcode == "select"
        return is_select and bool(origins) and self._has(self._data.operands[at][:1], origins)

    def _one_factor(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the fate of a product by a number, if XLA has multiplied this number with that of a product next to it:
        one that it reads, or its only reader.
        """
        first = self._factor(number)
        if first is None:
            return
        readers = self._readers.get(number, ())
        for other, is_reader in [
            *((each, True) for each in readers),
            *((each, False) for each in first[0] if each >= 0),
        ]:
            second = self._factor(other)
            alone = readers if is_reader else self._readers.get(other, ())
            if second is None or len(alone) != 1:
                continue
            source, factor = (first if is_reader else second)[0], first[1] * second[1]
            for at in self._named.get(other, ()):
                if self._data.at[at].opcode == "multiply" and self._multiplies(at, source, factor):
                    words = f"is in {at[1]}: its number and that of the {self._equations[other].primitive} are one, {factor:g}"
                    yield self._told("renamed", "one factor", words, row=at)

        yield from self._in_a_product(number, *first)

    def _in_a_product(self, number: int, source: frozenset[int], factor: float) -> Iterator[dict[str, Any]]:
        """Yield the fate of a product by a number, if XLA has multiplied this number with that of another product, and
        the two results are multiplied: `(x * 2) * (y / 8)` became `x * (y * 0.25)`.
        """
        for reader in self._consumers(number):
            read = self._equations[reader].operands if self._equations[reader].primitive == "mul" else ()
            others = {
                n for origins in read for n in self._through(origins) if n >= 0 and n != number and n in self.gone
            }
            for other in sorted(others):
                second = self._factor(other)
                if second is None:
                    continue
                for at in self._named.get(reader, ()):
                    product = factor * second[1]
                    is_it = self._data.at[at].opcode == "multiply" and (
                        self._multiplies(at, source, product) or self._multiplies(at, second[0], product)
                    )
                    if is_it:
                        words = f"is in {at[1]}: its number and that of the {self._equations[other].primitive} are one, {product:g}"
                        yield self._told("renamed", "one factor", words, row=at)

    def _factor(self, number: int) -> tuple[frozenset[int], float] | None:
        """Return the origins of an equation's operand, and the number by which it is multiplied; None if the equation
        does not multiply by a number.
        """
        equation = self._equations[number]
        if equation.primitive not in ("mul", "div") or len(equation.operands) != 2:
            return None
        numbers = [self._number(atom, made) for atom, made in zip(equation.eqn.invars, equation.operands, strict=True)]
        if equation.primitive == "div":
            return (equation.operands[0], 1 / numbers[1]) if numbers[1] and numbers[0] is None else None
        for this, other in ((0, 1), (1, 0)):
            value = numbers[this]
            if value is not None and numbers[other] is None:
                return equation.operands[other], value
        return None

    def _number(self, atom: Any, made: frozenset[int]) -> float | None:
        """Return the number that an operand, or each of its elements, equals; None if this is not known."""
        value = getattr(atom, "val", None)
        if value is None and len(made) == 1:
            [origin] = made
            value = self._constant_number(origin) if origin >= 0 else None
        if value is None or isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "f") == "c":
            return None
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return None

    def _constant_number(self, number: int) -> Any:
        """Return the number that all elements of a constant equation's result equal; None if it is not known."""
        equation = self._equations[number]
        if equation.fill is not None or not equation.constant:
            return equation.fill
        pairs = zip(equation.eqn.invars, equation.operands, strict=True)
        numbers = [self._number(atom, made) for atom, made in pairs]
        if len(numbers) == 1 and self._arranges(number):
            return numbers[0]
        if len(numbers) != 2 or numbers[0] is None or not numbers[1]:
            return None
        return {"mul": numbers[0] * numbers[1], "div": numbers[0] / numbers[1]}.get(equation.primitive)

    def _arranged_by(self, number: int, at: Key) -> list[int]:
        """Return the equations in an instruction's name that read `number` and only arrange it: `(x @ w).T` is one product."""
        named = self._links.called[at]
        return [n for n in named if self._arranges(n) and any(number in made for made in self._equations[n].operands)]

    def _roots(self) -> dict[Key, list[int]]:
        """Return each `rsqrt` with the name of a square root, mapped to the equations of this root
        and of the division by it: `x / sqrt(y)` is `x * rsqrt(y)`.
        """
        found: dict[Key, list[int]] = {}
        for at, numbers in self._links.own.items():
            if self._data.at[at].opcode == "rsqrt" and len(numbers) == 1 and self._wrote.get(numbers[0]) == {"sqrt"}:
                divided = [n for n in self._consumers(numbers[0]) if self._equations[n].primitive == "div"]
                found.update({at: [*numbers, *divided]} if len(divided) == 1 else {})
        return found

    def _of_two_names(self) -> dict[Key, list[int]]:
        """Return the instructions with several equations in their names, only some of which wrote such an operation;
        each is mapped to these. The others arranged a constant that became a part of an operand.
        """
        found: dict[Key, list[int]] = {}
        for at, numbers in self._links.own.items():
            opcode = self._data.at[at].opcode
            if len(numbers) < 2 or opcode in ARRANGING | OPERANDS:
                continue
            able = [n for n in numbers if opcode in self._wrote.get(n, ())]
            rest = [n for n in numbers if n not in able]
            if able and rest and all(self._equations[n].constant and self._arranges(n) for n in rest):
                found[at] = able
        return found

    def _without_name_between(self) -> dict[Key, list[int]]:
        """Return the arithmetic instructions without a name that only one equation reads, if this reader did not write
        them. Each is mapped to the equations between its operands and the reader. XLA has written the instruction in
        place of these equations: a product in place of a sum of equal elements, for example.
        """
        found: dict[Key, list[int]] = {}
        for at, rule in self._links.rules.items():
            [reader, *more] = self._links.exact[at] or [-1]
            opcode, wrote = self._data.at[at].opcode, self._wrote.get(reader, set())
            is_of_it = opcode in ARRANGING | OPERANDS | PLUMBING | AS_WRITTEN or any(
                opcode in PRODUCTS.get(w, {w}) for w in wrote
            )
            if more or not wrote or is_of_it or rule != "only this equation reads it" or reader in self._inside:
                continue
            inner = between(self._equations, self.gone, origins_of(at, self._links), [reader])
            lost = [n for n in sorted(inner) if not self._arranges(n) and self._equations[n].unchanged is None]
            lost = [n for n in lost if n not in self._inside and n not in self._is_now]
            if lost:
                found[at] = lost
        return found

    def _multiplies(self, at: Key, origins: frozenset[int], factor: float | None) -> bool:
        """Return whether an instruction multiplies a value of these origins by `factor`; if `factor` is None, by any number."""
        reads = self._data.operands[at]
        numbers = [self._number_read(each) for each in reads]
        is_it = [
            each is not None and (factor is None or math.isclose(each, factor, rel_tol=_CLOSE)) for each in numbers
        ]
        return any(is_it) and self._has(
            [each for each, number in zip(reads, numbers, strict=True) if number is None], origins
        )

    def _number_read(self, at: Key) -> float | None:
        """Return the number that an operand is, perhaps broadcast; None if it is computed."""
        source = self._data.source(at)
        while source is not None and self._data.at[source].opcode == "broadcast":
            source = self._data.source(self._data.operands[source][0])
        if source is None or self._data.at[source].opcode != "constant":
            return None
        try:
            return float(self._data.at[source].rest.partition(")")[0])
        except ValueError:
            return None

    def _factored(self) -> Iterator[tuple[tuple[int, int, int], Key, Key, float]]:
        """Find each `x * c + y * c` that XLA has computed as `(x + y) * c`. Yield the equations `(product, product, sum)`, the
        instruction that adds, the one that multiplies, and the number c.
        """
        for number, equation in enumerate(self._equations):
            if equation.primitive not in ("add", "sub", "add_any") or any(len(each) != 1 for each in equation.operands):
                continue
            one, two = (next(iter(each)) for each in equation.operands)
            factors = [self._factor(each) if each >= 0 else None for each in (one, two)]
            if one == two or factors[0] is None or factors[1] is None or factors[0][1] != factors[1][1]:
                continue
            named = [at for each in (one, two, number) for at in self._named.get(each, ())]
            sums = [
                at
                for at in named
                if self._data.at[at].opcode in ("add", "subtract")
                and all(self._reads_origins(at, origins) for origins, _ in filter(None, factors))
            ]
            products = [
                at
                for at in named
                if self._data.at[at].opcode == "multiply"
                and any(self._data.source(each) == added for each in self._data.operands[at] for added in sums)
                and factors[0][1] in [self._number_read(each) for each in self._data.operands[at]]
            ]
            if len(sums) == len(products) == 1:
                yield (one, two, number), sums[0], products[0], factors[0][1]

    def _reads_origins(self, at: Key, origins: frozenset[int]) -> bool:
        """Return whether an instruction reads a value of these origins. If there are none, as for a value from outside
        a loop's body, return whether it reads a parameter, an element of a tuple or a copy.
        """
        if origins:
            return self._has(self._data.operands[at], origins)
        opcodes = [
            self._data.at[source].opcode for each in self._data.operands[at] if (source := self._data.source(each))
        ]
        return any(opcode in ("parameter", "get-tuple-element", "copy") for opcode in opcodes)

    def _factor_out(self) -> None:
        for numbers, added, multiplied, factor in self._factored():
            words = f"{factor:g} is factored out of the sum of {self._line(numbers[-1])}: {added[1]} adds, {multiplied[1]} multiplies"
            self.factored.update({added: [numbers[-1]], multiplied: [numbers[-1]]})
            self.found.update({str(n): self._told("rewritten", "factored", words, row=multiplied) for n in numbers})

    def _wrap(self) -> None:
        """Give a reason to calls of which nothing is left, if each equation in them has one."""
        for number in sorted(self.gone, reverse=True):
            inside = [self.found.get(str(each), {}) for each in self._inside.get(number, ())]
            if inside and self.found[str(number)]["fate"] == "unknown" and all(each.get("sure") for each in inside):
                words = "nothing that is in it is left, each equation for a reason of its own"
                self.found[str(number)] = self._told("removed", "inside", words)

    def _dead_since(self) -> None:
        """Mark an equation of unknown fate as dead, with the equations in it, if all its readers are gone and none of them was replaced by
        something that still needs its result.
        """
        for number in sorted(self.gone, reverse=True):
            fate = self.found[str(number)]
            readers = self._readers.get(number, ())
            if fate["fate"] != "unknown" or not readers or self._equations[number].is_result:
                continue
            if all(self._needs_no_more(each, number) for each in readers):
                words = f"dead code, once the {self._named_by(readers[0])} was removed"
                self.found[str(number)] = self._told("removed", "dead", words, like=readers[0])
                part = self._told("removed", "dead", f"dead code: a part of the {self._named_by(number)}", like=number)
                inside = [str(each) for each in self._inside.get(number, ())]
                self.found.update({each: part for each in inside if self.found[each]["rule"] != "dead"})

    def _needs_no_more(self, reader: int, number: int) -> bool:
        """Return whether the equation `reader`, which XLA removed, no longer needs the result of `number`."""
        rule, equation = self.found.get(str(reader), {}).get("rule"), self._equations[reader]
        if rule == "changes nothing" and equation.unchanged and equation.unchanged.kept is not None:
            return number not in equation.operands[equation.unchanged.kept]
        return rule in ("duplicate", "constant", "dead")

    # --- in words ---

    def _told(
        self, fate: str, rule: str, why: str, sure: bool = True, like: int | None = None, row: Key | None = None
    ) -> dict[str, Any]:
        found: dict[str, Any] = {"fate": fate, "rule": rule, "why": why, "sure": sure}
        if like is not None:
            found["like"] = like
        if row is not None and row in self._rows:
            found["row"] = self._rows[row]
        return found

    def _line(self, number: int) -> str:
        place = self._equations[number].place
        return f"line {place.line}" if place else "no line of yours"

    def _named_by(self, number: int) -> str:
        return f"{self._equations[number].primitive} of {self._line(number)}"

    def _owner(self, at: Key) -> str:
        named = [self._equations[each] for each in self._links.called[at][:1]]
        return f", which has the name of the {named[0].primitive}{self._lines_of(at)}" if named else ""

    def _lines_of(self, at: Key) -> str:
        numbers = self._links.own.get(at) or self._links.exact.get(at, [])
        return f" ({self._line(numbers[0])})" if numbers else ""
