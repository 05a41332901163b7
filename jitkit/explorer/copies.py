"""optimised HLO -> why each copy is there, as far as the program tells

A copy computes nothing. XLA writes one if a value has to stand in two places: a loop writes its carry in place, but its
initial value has to stay; a donated argument is written over before all its readers have read it; or a result is an argument. Or
the value is needed in another layout, or in another memory. The text of the program tells these cases apart.

JAX: jax/_src/interpreters/mlir.py:_set_up_aliases
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..targets.hlo import Instruction, Program, called
from .flow import operands

_ALIASED = re.compile(r"\{\s*(\d*)[\d,\s]*\}:\s*\((\d+),")
_LAYOUT = re.compile(r"\{([\d,]*)(?::[^}]*)?\}")
_MEMORY = re.compile(r"S\((\d+)\)")
_INDEX = re.compile(r"\bindex=(\d+)")
_MOST_STEPS = 20  # at most this many instructions are followed back to the one that makes a value
_MOVES = frozenset({"copy", "bitcast", "copy-start", "copy-done"})


class Copies:
    """Finds out why a compiled program copies values."""

    def __init__(self, program: Program, text: str) -> None:
        self._program = program
        self._named = {name: {each.name: each for each in body} for name, body in program.computations.items()}
        head = text.partition("\n")[0].partition("input_output_alias={")[2].partition("entry_computation_layout")[0]
        self._donated = {int(argument): int(result or 0) for result, argument in _ALIASED.findall(head)}
        self._loops = {
            inner: each
            for body in program.computations.values()
            for each in body
            if each.opcode == "while"
            for inner in called(each)
        }
        self._readers: dict[str, dict[str, list[Instruction]]] = {}

    def why(self, computation: str, copy: Instruction) -> str:
        """Return why a copy is there; "" if the program does not tell."""
        if copy.opcode != "copy" or computation not in self._named:
            return ""
        source = self._named[computation].get(operands(copy)[0])
        if source is None or source.type.startswith("("):
            return ""
        return (
            _arranged(source.type, copy.type)
            or self._in_a_loop(computation, copy)
            or self._into_a_loop(computation, copy)
            or self._of_an_argument(computation, copy)
        )

    def _maker(self, computation: str, name: str) -> Instruction | None:
        """Return the instruction that makes a value; skip instructions that only move it. Return None if it is not in this
        computation, or too far away.
        """
        found = self._named[computation].get(name)
        for _ in range(_MOST_STEPS):
            if found is None or found.opcode not in _MOVES:
                return found
            found = self._named[computation].get(operands(found)[0])
        return None

    def _read_by(self, computation: str, name: str) -> list[Instruction]:
        if computation not in self._readers:
            known = self._readers.setdefault(computation, {})
            for each in self._program.computations[computation]:
                for operand in operands(each):
                    known.setdefault(operand, []).append(each)
        return self._readers[computation].get(name, [])

    def _place(self, computation: str, name: str) -> int | None:
        """Return the index of a part of a loop's carry, if a value is this part as it is at the beginning of a turn; else
        None.
        """
        maker = self._maker(computation, name)
        if maker is None or maker.opcode != "get-tuple-element":
            return None
        index, source = _INDEX.search(maker.rest), self._named[computation].get(operands(maker)[0])
        return int(index[1]) if index and source is not None and source.opcode == "parameter" else None

    def _in_a_loop(self, computation: str, copy: Instruction) -> str:
        loop = self._loops.get(computation)
        if loop is None:
            return ""
        root = next((each for each in self._program.computations[computation] if each.is_root), None)
        following = operands(root) if root is not None and root.opcode == "tuple" else []
        begun = self._place(computation, copy.name)
        ends = [place for place, each in enumerate(following) if each == copy.name]
        if begun is not None:
            moved = [place for place in ends if place != begun]
            if moved:
                return f"a turn hands part {begun} of the carry of {loop.name} on as part {moved[0]}, and each part has a place of its own"
            written = self._maker(computation, following[begun]) if begun < len(following) else None
            if written is None or written.opcode == "get-tuple-element":
                return ""
            return self._read_late(computation, copy, written, loop)
        if ends:
            return f"the carry of {loop.name} has a place of its own, and the value was made in another"
        return ""

    def _read_late(self, computation: str, copy: Instruction, following: Instruction, loop: Instruction) -> str:
        """Return a sentence if something reads a part of a carry that need not run before `following`, which makes the
        part for the next turn in the same place; else "".
        """
        before = self._needed_by(computation, following)
        readers = [each for each in self._read_by(computation, copy.name) if each.opcode != "tuple"]
        late = next((each for each in readers if each.name not in before), None)
        if late is None:
            return ""
        after = following.name in self._needed_by(computation, late)
        how = "runs after" if after else "need not run before"
        return (
            f"a turn of {loop.name} writes its carry in place: {late.name} reads this part, and {how} {following.name}, "
            "which makes the next one"
        )

    def _needed_by(self, computation: str, last: Instruction) -> set[str]:
        """Return the names of the instructions that an instruction depends on, and its own."""
        found, waiting = {last.name}, [last.name]
        while waiting:
            each = self._named[computation].get(waiting.pop())
            more = {*operands(each)} - found if each is not None else set()
            found |= more
            waiting += more
        return found

    def _into_a_loop(self, computation: str, copy: Instruction) -> str:
        given = [each for each in self._read_by(computation, copy.name) if each.opcode == "tuple"]
        loop = next((found for each in given for found in self._loops_of(computation, each.name)), None)
        if loop is None:
            return ""
        maker = self._maker(computation, copy.name)
        alone = maker is not None and len(self._read_by(computation, maker.name)) == 1
        kept = "the value may be read elsewhere" if alone else "others read this value, too"
        source = self._named[computation][operands(copy)[0]]
        if source.opcode == "copy" and len(self._read_by(computation, source.name)) > 1:
            return f"{loop.name} writes its carry in place, and others read this value, too"
        if maker is not None and maker.opcode == "constant":
            kept = "a constant has to stay as it is"
        elif maker is not None and maker.opcode == "parameter" and computation == self._program.entry:
            kept = (
                "the argument is not donated" if self._argument(maker) not in self._donated else "others read it, too"
            )
        return f"{loop.name} writes its carry in place, and {kept}"

    def _loops_of(self, computation: str, given: str) -> Iterator[Instruction]:
        """Yield the loops whose initial carry is the tuple `given`, here or in computations that are called with it."""
        for reader in self._read_by(computation, given):
            if reader.opcode == "while":
                yield reader
            for inner in called(reader) if reader.opcode == "call" else ():
                for each in self._program.computations.get(inner, ()):
                    if each.opcode == "parameter":
                        yield from self._loops_of(inner, each.name)

    def _argument(self, parameter: Instruction) -> int:
        return int(parameter.rest.partition(")")[0])

    def _of_an_argument(self, computation: str, copy: Instruction) -> str:
        if computation != self._program.entry:
            return ""
        maker = self._maker(computation, copy.name)
        root = next((each for each in self._program.computations[computation] if each.is_root), None)
        returned = [] if root is None else [root.name] if root.opcode != "tuple" else operands(root)
        is_result = copy.name in returned
        if maker is None or maker.opcode != "parameter":
            if is_result and maker is not None and returned.count(copy.name) == 1:
                makers = [self._maker(computation, each) for each in returned]
                if makers.count(maker) > 1:
                    return "the function returns this value twice, and each result has memory of its own"
                argument = next((n for n, each in self._donated.items() if each == returned.index(copy.name)), None)
                if argument is not None:
                    return f"this result is written into the memory of argument {argument}, which is donated, and was made elsewhere"
            return ""
        place = self._donated.get(self._argument(maker))
        if is_result and (place is None or place != returned.index(copy.name)):
            return "a result of the function is this argument, and has memory of its own"
        if place is None:
            return ""
        return f"the argument is donated: result {place} is written into its memory, perhaps before all its readers have read it"


def _arranged(before: str, after: str) -> str:
    """Return in words how the layout or the memory of a copy differs from its source's; "" if both are the same."""
    one, other = _LAYOUT.search(before), _LAYOUT.search(after)
    if one and other and one[1] != other[1]:
        return f"in another layout: the axes in memory are {{{other[1]}}} after {{{one[1]}}}"
    places = [found[1] if found else "0" for found in (_MEMORY.search(before), _MEMORY.search(after))]
    return f"into another memory: S({places[1]}) from S({places[0]})" if places[0] != places[1] else ""
