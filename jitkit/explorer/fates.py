"""equations + optimised HLO -> what became of the equations that XLA removed or changed, and how that is known

An equation is *there*, in the compiled program, if an instruction has the equation's name and can compute it. (The zero
that an addition adds has the addition's name, but is not an addition.)

- *dropped* before XLA: no result depends on it, or it wrote no operation.
- *removed* by XLA: its value already exists (as a constant, or another equation's), or its reader now reads its operand directly.
- *renamed*: an instruction with another name does the same to the same operands.
- *rewritten*: an instruction has its name, but is another operation: a division by a constant becomes a product.
- *unknown*: none of the above can be shown. Only what is said of such an equation is a guess.

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import dimensions, made_of, opcodes, spread
from .costs import elements_of
from .equation import Equation, all_behind, is_applied
from .flow import Key
from .hlo import Fused
from .links import OPERANDS
from .merging import Merging
from .opcodes import ARRANGING, PRODUCTS
from .values import keeps_the_order

_MERELY_MOVED = {"bitcast": "the same bytes, read in another shape: nothing is moved"}
_MOST_CANDIDATES = 64  # at most this many are looked at for one equation


def fates(
    equations: Sequence[Equation], wrote: Mapping[int, set[str]], left: Fused, inside: Mapping[int, list[int]]
) -> dict[str, dict[str, Any]]:
    """Return `{"fate", "rule", "why", "sure"}` for each equation that XLA removed or changed. If another equation
    explains it, `like` is that one's number; if an instruction does, `row` is its row.

    Also link instructions in `left` to the equations that they turn out to contain.

    Args:
      wrote: the operations that each equation wrote into StableHLO.
      left: the listing of the optimised program.
      inside: the equations in each equation's jaxprs. If one of these is there, so is the equation.
    """
    found = _Fates(equations, wrote, left, inside)
    left.credit(found.kernels, "made of what lies between")
    left.credit(found.products, "several products at once")
    left.credit(found.others, "does the same to the same")
    left.credit(left.links.followed(found.others), "")
    left.links.shared.difference_update(found.others)  # it does the arithmetic of its first equation only
    left.credit(found.spread, "an operand of several")
    left.credit(found.filled, "fills a constant")
    left.credit(found.of_two_names, "")
    left.credit(found.scatters, "a scatter and the sum with it")
    left.credit(found.clamps, "one clamp of two")
    left.credit(found.roots, "a square root and the division by it")
    left.credit(found.factored, "its number is factored out")
    left.credit(made_of.made_for_a_reader(equations, wrote, left.links), "converted for its only reader")
    left.credit(spread.spread_behind(equations, wrote, found.gone, left.links), "spread behind it, not before")
    return found.found


class _Fates(Merging):
    """Finds the fates; `found` collects them."""

    def __init__(
        self, equations: Sequence[Equation], wrote: Mapping[int, set[str]], left: Fused, inside: Mapping[int, list[int]]
    ) -> None:
        super().__init__(equations, wrote, left, inside)
        self._undone_by: dict[int, int] = {}
        for number, equation in enumerate(equations):
            if equation.unchanged and equation.unchanged.partner is not None:
                self._undone_by[equation.unchanged.partner] = number
        self._alike: dict[tuple[str, int], list[Key]] = {}
        for at in self._rows:
            instruction = self._data.at[at]
            self._alike.setdefault((instruction.opcode, elements_of(instruction.type)), []).append(at)
        there = [n in self._links.around or self._is_it(n) or is_applied(equations, n) for n in range(len(equations))]
        self.gone = {
            number
            for number in range(len(equations))
            if not any(there[each] for each in [number, *inside.get(number, ())])
        }
        for number in sorted(self.gone):
            if not (
                self._arranges(number)
                or equations[number].unchanged
                or equations[number].constant
                or self._twins(number)
                or equations[number].primitive in ("scan", "while", "cond")  # no one instruction does their work
            ):
                now = self._renamed(number)
                if now is not None:
                    self._is_now[number] = now
        lost = self.gone - self._is_now.keys()
        self.kernels = made_of.own_kernels(equations, lost, self._links, self._arranges)
        self.products = made_of.products(equations, self._is_product, self._named, self._links, self._through)
        self.spread = made_of.operands_of_several(equations, wrote, self.gone, self._links, self._has)
        self.kernels |= self._without_name_between()
        merged = [*self.kernels.items(), *self.products.items()]
        self._is_in = {number: at for at, numbers in reversed(merged) for number in numbers}
        self.others = {
            at: [number, *self._arranged_by(number, at)]
            for number, at in self._is_now.items()
            if not self._is_there_as(at)
        }
        self.filled: dict[Key, list[int]] = {}
        self.clamps: dict[Key, list[int]] = {}
        for number in range(len(equations)):
            fate = self._fate(number) if number in self.gone else self._rewritten(number)
            if fate:
                self.found[str(number)] = fate
        self.of_two_names, self.roots = self._of_two_names(), self._roots()
        self._factor_out()
        self._dead_since()
        self._wrap()

    # --- what is there ---

    def _opcodes(self, number: int) -> set[str]:
        return {self._data.at[at].opcode for at in self._named.get(number, ())}

    def _is_it(self, number: int) -> bool:
        """Return whether one of the instructions with the name of equation `number` can compute what the equation does.
        If the equation wrote only constants, any instruction can.
        """
        opcodes, wrote = self._opcodes(number), self._wrote.get(number, set())
        if wrote <= {"constant"}:
            return bool(opcodes)
        return bool(opcodes - (OPERANDS if wrote - ARRANGING - OPERANDS else {"constant"} - wrote))

    def _is_there_as(self, at: Key) -> bool:
        """Return whether the instruction `at` computes what one of the equations in its name wrote into StableHLO."""
        opcode = self._data.at[at].opcode
        return any(
            opcode in PRODUCTS.get(each, {each}) for n in self._links.own.get(at, ()) for each in self._wrote.get(n, ())
        )

    def _can_be(self, number: int) -> set[str]:
        """Return the HLO operations that can do the work of an equation that only arranges elements."""
        wrote = self._wrote.get(number, set()) & ARRANGING or {"reshape"}
        shapes = {"reshape", "broadcast"} if wrote & {"reshape", "broadcast"} else set()
        return wrote | shapes | {"bitcast"} | ({"copy"} if "transpose" in wrote else set())

    # --- what is not ---

    def _fate(self, number: int) -> dict[str, Any]:
        equation = self._equations[number]
        was_lowered = any(each in self._wrote for each in [number, *self._inside.get(number, ())])
        if equation.never_taken:
            return self._told("removed", "dead", f"dead code: never taken, since {equation.never_taken}")
        if not equation.live:
            is_part = equation.parent is not None and not self._equations[equation.parent].live
            part = "a part of an operation of which " if is_part else ""
            return self._told(
                "removed" if was_lowered else "dropped", "dead", f"dead code: {part}no result depends on it"
            )
        if equation.eqn.params.get("length") == 0:
            return self._told("dropped", "empty", "it writes no operation: the loop has no turn")
        if not was_lowered:
            if equation.parent is None or equation.unchanged or equation.primitive == "stop_gradient":
                return self._told("dropped", "no operation", "it writes no operation: its result is its operand")
            words = "it writes no operation: dead in its inner jaxpr, or its result is its operand"
            return self._told("dropped", "no operation?", words, sure=False)
        merged = None if equation.constant else self._by_algebra(number)
        return merged or self._value_is_there(number) or self._by_the_data(number) or self._guess(number)

    def _value_is_there(self, number: int) -> dict[str, Any] | None:
        equation = self._equations[number]
        if equation.unchanged and equation.unchanged.partner is None:
            return self._told("removed", "changes nothing", equation.unchanged.words)
        partner = equation.unchanged.partner if equation.unchanged else self._undone_by.get(number)
        if partner is not None and (equation.unchanged or set(self._readers.get(number, ())) <= self.gone):
            words = f"it and the {self._named_by(partner)} undo each other"
            return self._told("removed", "cancels", words, like=partner)
        for twin in () if equation.why_constant or number in self._is_in else equation.same_as:
            if self._equations[twin].live and (twin not in self.gone or twin < number):
                return self._computed_once(number, twin)
        if equation.constant and (equation.why_constant or all_behind(self._equations, number) <= self.gone):
            is_its, at = made_of.counted(number, self._readers.get(number, ()), self._named, self._links)
            if at:
                fate = "rewritten" if is_its else "renamed"
                told = self._told(fate, fate, f"is now an iota, {at[1]}", row=at)
                return told if is_its or equation.primitive == "iota" else None
            # the compiler computes constant equations that do arithmetic, and keeps only the results of the last ones
            if self._arranges(number):
                consumers = {n for each in (number, *equation.same_as) for n in (each, *self._consumers(each))}
                filled = made_of.fills(number, self._equations, consumers, self._rows, self._links)
                for at in filled:
                    self.filled[at] = list(dict.fromkeys([number, *self.filled.get(at, self._links.exact[at])]))
                if filled:
                    words = f"is now {filled[0][1]}, which fills it when the program runs"
                    return self._told("renamed", "renamed", words, row=filled[0])
            why = equation.why_constant or "it depends on no argument"
            return self._told("removed", "constant", f"constant folded: {why}, and was computed by the compiler")
        return None

    def _computed_once(self, number: int, twin: int) -> dict[str, Any]:
        words, wrote = (
            f"the same as the {self._equations[number].primitive} of {self._line(twin)}",
            self._wrote.get(number, set()),
        )
        alike = [
            at
            for opcode in wrote - ARRANGING - OPERANDS
            for each in PRODUCTS.get(opcode, {opcode})
            for at in self._alike.get((each, self._equations[number].size), [])[:_MOST_CANDIDATES]
            if twin in self._links.own.get(at, ()) or self._reads_the_same(at, number) or self._reads_as(at, twin)
        ]
        if len(alike) < 2:
            return self._told("removed", "duplicate", f"{words}, computed once (common subexpression)", like=twin)
        if wrote & PRODUCTS.keys():  # XLA computes a product only once, so one of these may be this equation's own
            names = ", ".join(at[1] for at in alike[:4])
            return self._told("unknown", "duplicate?", f"{words}, and may be one of {names}", sure=False, like=twin)
        words = f"{words} (common subexpression), which {len(alike)} instructions compute"
        return self._told("removed", "duplicate", words, like=twin)

    def _reads_as(self, at: Key, twin: int) -> bool:
        """Return whether the instruction `at` reads the same values as an instruction that has the name of the equation `twin`."""

        def read(one: Key) -> set[Key]:
            return {last for each in self._data.operands[one] for last in [*self._data.above(each)][-1:]}

        own = [one for one in self._named.get(twin, ()) if self._data.at[one].opcode == self._data.at[at].opcode]
        return any(read(one) == read(at) for one in own)

    def _renamed(self, number: int) -> Key | None:
        """Return the instruction that does an equation's work on its operands under the name of a neighbouring
        equation; None if there is none.
        """
        found = [
            at
            for opcode in self._wrote.get(number, set()) - ARRANGING - OPERANDS
            for each in PRODUCTS.get(opcode, {opcode})
            for at in self._alike.get((each, self._equations[number].size), [])[:_MOST_CANDIDATES]
            if self._applies(at, number) and self._reads_the_same(at, number)
        ]
        # if several read the same operands (perhaps with other constants), prefer one that a reader of this equation reads
        readers = {*self._readers.get(number, ())} if len(found) > 1 else set()
        return next(
            (at for at in found if readers.intersection(self._links.readers(at) or ())), next(iter(found), None)
        )

    def _by_the_data(self, number: int) -> dict[str, Any] | None:
        """Return the fate of an equation that follows from its data: an instruction reads its operand directly, or does
        the same to its operands. Otherwise return None.
        """
        equation = self._equations[number]
        if number in self._is_in:
            at = self._is_in[number]
            others = [n for n in (self.kernels | self.products)[at] if n != number]
            if not others:
                return self._told("renamed", "renamed", f"is now {at[1]}{self._owner(at)}", row=at)
            how = f"one product with that of {self._line(others[0])}"
            if at in self.kernels:
                is_kernel = self._data.at[at].opcode == "custom-call"
                what = "a kernel of the compiler's own" if is_kernel else "which has no name"
                how = f"{what}, with {len(others)} other{'s' * (len(others) != 1)}"
            return self._told("renamed", "merged", f"is in {at[1]}, {how}", row=at)
        if number in self._is_now:
            at = self._is_now[number]
            return self._told("renamed", "renamed", f"is now {at[1]}{self._owner(at)}", row=at)
        readers = self._readers.get(number, ())
        for second, at in made_of.clamps(number, self._equations, readers, self._named, self._links, self._has):
            self.clamps[at] = [number, second]
            words = f"is in {at[1]}, one clamp with the {self._equations[second].primitive} of {self._line(second)}"
            return self._told("renamed", "clamp", words, row=at)
        if not self._arranges(number):
            return None
        for at, is_result, is_operand in made_of.reads_a_constant(
            number, self._equations, readers, self._named, self._links
        ):
            folded = "constant folded: it arranges a constant, and was computed by the compiler"
            into = (
                f"merged into the dimension numbers of {at[1]}{self._lines_of(at)}, which reads its operand, a constant"
            )
            if is_result == is_operand:
                taken = dimensions.has_taken(at, number, self._equations, readers, self._data)
                is_operand, is_result = taken is True, taken is False or keeps_the_order(self._equations[number].eqn)
            if is_result != is_operand:
                return self._told("removed", *(("constant", folded) if is_result else ("merged", into)))
            return self._told("unknown", "constant?", f"{folded}; or {into}", sure=False, row=at)
        sources = self._sources(number)
        for at in dimensions.merged_into(number, self._equations, readers, self._named, self._data):
            words = (
                f"merged into the dimension numbers of {at[1]}{self._lines_of(at)}, which reads its operand directly"
            )
            return self._told("removed", "merged", words, row=at)
        for at in dimensions.made_at_once(number, self._equations, self._named, self._data, self._has):
            words = (
                f"merged into {at[1]}{self._lines_of(at)}: with its operands exchanged, it makes the transpose at once"
            )
            return self._told("removed", "merged", words, row=at)
        for at in made_of.given_by_a_loop(number, self._equations, readers, self._named, self._links):
            words = f"merged into {at[1]}{self._lines_of(at)}, which reads its operand directly"
            return self._told("removed", "merged", words, row=at)
        for at in self._that_read(number, sources):
            for operand in self._data.operands[at]:
                passed = self._reaches(operand, sources)
                if passed is None:
                    continue
                for each in passed:
                    instruction = self._data.at[each]
                    if instruction.opcode in self._can_be(number) and elements_of(instruction.type) == equation.size:
                        how = _MERELY_MOVED.get(instruction.opcode, f"a {instruction.opcode} without its name")
                        return self._told("renamed", "renamed", f"is now {each[1]}: {how}", row=each)
                words = self._converted(number, at, operand) or self._merged(number, at)
                return self._told("removed", "merged", words, row=at)
        return None

    def _merged(self, number: int, at: Key) -> str:
        """Return a sentence that says into which instruction an equation that only arranged elements was merged."""
        is_product = self._data.at[at].opcode in PRODUCTS and not self._converts(number)
        into = "the dimension numbers of " if is_product else ""
        return f"merged into {into}{at[1]}{self._lines_of(at)}, which reads its operand directly"

    def _converts(self, number: int) -> bool:
        return self._wrote.get(number, set()) == {"convert"}

    def _converted(self, number: int, at: Key, operand: Key) -> str:
        """Return a sentence if the operand of a conversion has already been computed in the conversion's type; else ""."""
        maker = self._data.source(operand) or operand
        kind = self._data.at[maker].type.partition("[")[0]
        asked = {made_of.NUMPY_S.get(kind, kind) == str(var.aval.dtype) for var in self._equations[number].eqn.outvars}
        if not self._converts(number) or asked != {True} or self._data.at[maker].opcode == "parameter":
            return ""
        return f"{maker[1]}{self._lines_of(maker)} makes {kind} at once, so that there is nothing to convert"

    def _guess(self, number: int) -> dict[str, Any]:
        equation = self._equations[number]
        for opcode in self._wrote.get(number, set()) - OPERANDS or self._wrote.get(number, set()):
            for at in self._alike.get((opcode, equation.size), [])[:_MOST_CANDIDATES]:
                lines = {self._equations[each].place for each in self._links.exact.get(at, ())}
                numbers = self._links.own.get(at, ())
                is_a_loop_s = bool(numbers) and all(
                    each in self._inside for each in numbers
                )  # such as the counter of a loop, or its condition
                if (
                    equation.place in lines
                    and number not in numbers
                    and not is_a_loop_s
                    and not self._is_another(at, number)
                    and self._applies(at, number)
                ):
                    words = f"it may be {at[1]}, of the same line, operation and size"
                    return self._told("unknown", "renamed?", words, sure=False, row=at)
        return self._told(
            "unknown", "unknown", "simplified, or merged into its neighbours: the program does not show how", sure=False
        )

    def _applies(self, at: Key, number: int) -> bool:
        """Return whether the instruction `at` reduces by the function of equation `number`; True if the equation is not a reduction."""
        asked = opcodes.REDUCES_BY.get(self._equations[number].primitive)
        return asked is None or asked in self._data.applied(at)

    def _is_another(self, at: Key, number: int) -> bool:
        """Return whether the instruction `at` belongs to another equation than `number`: all its equations are in the
        other pass of a gradient, or it is the only instruction that does the work of one of them.
        """
        equation, owners = self._equations[number], self._links.own.get(at, ())
        others = [self._equations[each] for each in owners]
        if others and all(each.way != equation.way for each in others):
            return True
        alone = [each for each in owners if self._equations[each].primitive == equation.primitive]
        opcode = self._data.at[at].opcode
        return any(
            [one for one in self._named.get(n, ()) if self._data.at[one].opcode == opcode] == [at] for n in alone
        )
