"""optimised HLO -> where values come from and where they go

A fusion or a call runs a computation: its operands are the computation's parameters, and its result is the
computation's root. So a value is followed into and out of fusions, and through instructions that only move or round it.

JAX: jax/_src/stages.py:Compiled.as_text
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..targets.hlo import Instruction, Program, called

Key = tuple[str, str]  # names an instruction: its computation, and its own name

_MOVES = frozenset({
    "copy", "copy-start", "copy-done", "bitcast", "transpose", "reshape", "convert", "broadcast", "get-tuple-element", "slice-start",
    "slice-done", "opt-barrier",
})  # fmt: skip
# instructions that run a computation: their operands are its parameters, and its root is their result
RUNS = frozenset({"fusion", "call"})
_INDEX = re.compile(r"\bindex=(\d+)")
OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_NAME = re.compile(r"%([\w.<>-]+)")


class Data:
    """Follows values to where they come from and where they go, into and out of fusions."""

    def __init__(self, program: Program) -> None:
        self.at: dict[Key, Instruction] = {}
        self.callers: dict[str, list[Key]] = {}
        self._entry = program.entry
        self.operands: dict[Key, list[Key]] = {}
        self._readers: dict[Key, list[Key]] = {}
        self._parameters: dict[str, dict[int, Key]] = {}
        self._roots: dict[str, Key] = {}
        for name, body in program.computations.items():
            for instruction in body:
                at = name, instruction.name
                self.at[at] = instruction
                if instruction.is_root:
                    self._roots[name] = at
                if instruction.opcode == "parameter":
                    self._parameters.setdefault(name, {})[int(instruction.rest.partition(")")[0])] = at
                self.operands[at] = [(name, each) for each in operands(instruction)]
                for each in dict.fromkeys(self.operands[at]):
                    self._readers.setdefault(each, []).append(at)
                for inner in called(instruction):
                    self.callers.setdefault(inner, []).append(at)

    def moved(self, at: Key) -> Key | None:
        """Return the instruction whose value `at` only moves; None if `at` computes something, or cannot be
        followed.
        """
        start, element = at, 0
        while True:
            instruction = self.at[at]
            named = OP_NAME.search(instruction.rest)
            if instruction.opcode == "parameter" and at[0] != self._entry:
                caller = self._runs(at[0])
                number = next((i for i, each in self._parameters[at[0]].items() if each == at), None)
                if caller is None or number is None or number >= len(self.operands[caller]):
                    return None
                at = self.operands[caller][number]
            elif instruction.opcode in RUNS:
                root = next((self._roots[each] for each in called(instruction) if each in self._roots), None)
                if root is None:
                    return at
                whole = self.at[root].opcode == "tuple"
                at = self.operands[root][element] if whole and element < len(self.operands[root]) else root
            elif instruction.opcode in _MOVES and (at == start or not named):
                index = _INDEX.search(instruction.rest) if instruction.opcode == "get-tuple-element" else None
                element = int(index[1]) if index else 0
                first = next(iter(self.operands[at]), None)
                if first not in self.at:
                    return None
                at = first
            else:
                return None if at == start else at

    def above(self, at: Key) -> Iterator[Key]:
        """Yield the value `at`, the value that it is a moved or rearranged copy of, and so on, up to a computed value
        or an argument.
        """
        element = 0
        while at in self.at:
            instruction = self.at[at]
            if instruction.opcode == "parameter" and at[0] != self._entry:
                caller = self._runs(at[0])
                place = next((i for i, each in self._parameters[at[0]].items() if each == at), -1)
                if caller is None or not 0 <= place < len(self.operands[caller]):
                    return
                at = self.operands[caller][place]
                continue
            if instruction.opcode in RUNS:
                root = next((self._roots[each] for each in called(instruction) if each in self._roots), None)
                if root is None:
                    yield at
                    return
                inner = self.operands[root]
                at = inner[element] if self.at[root].opcode == "tuple" and element < len(inner) else root
                continue
            yield at
            if instruction.opcode not in _MOVES or not self.operands[at]:
                return
            index = _INDEX.search(instruction.rest) if instruction.opcode == "get-tuple-element" else None
            element = int(index[1]) if index else 0
            at = self.operands[at][0]

    def applied(self, at: Key) -> set[str]:
        """Return the operations of the function that an instruction applies, as a reduction does."""
        return {self.at[one].opcode for name in called(self.at[at]) for one in self.at if one[0] == name}

    def source(self, at: Key) -> Key | None:
        """Return the computed value or argument of which the value `at` is a copy, the last one of `above`; None if
        there is none.
        """
        return next(iter([*self.above(at)][-1:]), None)

    def argument(self, at: Key) -> int | None:
        """Return the position of the program's argument that the value `at` is; None if it is not an argument."""
        numbers = self._parameters.get(self._entry, {}) if at[0] == self._entry else {}
        return next((i for i, each in numbers.items() if each == at), None)

    def result(self, place: int) -> Key | None:
        """Return the value that the program returns at a position; None if there is none."""
        root = self._roots.get(self._entry)
        if root is None or self.at[root].opcode != "tuple":
            return root if place == 0 else None
        return self.operands[root][place] if place < len(self.operands[root]) else None

    def read_by(self, at: Key) -> list[Key] | None:
        """Return the instructions that read a value (in a fusion they read a parameter); None if it is the last value
        of a computation (see `beyond`).
        """
        if self.at[at].is_root:
            return None
        found: list[Key] = []
        for reader in self._readers.get(at, []):
            instruction = self.at[reader]
            inner = called(instruction)
            if instruction.opcode not in RUNS or len(inner) != 1 or self._runs(inner[0]) is None:
                found.append(reader)
                continue
            found += [
                self._parameters[inner[0]][i]
                for i, each in enumerate(self.operands[reader])
                if each == at and i in self._parameters.get(inner[0], {})
            ]
        return found

    def beyond(self, at: Key) -> Key:
        """Return the outermost fusion or call whose result is the value `at`; `at` itself if there is none."""
        caller = self._runs(at[0]) if self.at[at].is_root else None
        return at if caller is None else self.beyond(caller)

    def _runs(self, computation: str) -> Key | None:
        """Return the fusion or call that runs a computation, if nothing else runs it; else None."""
        callers = self.callers.get(computation, [])
        return callers[0] if len(callers) == 1 and self.at[callers[0]].opcode in RUNS else None


def operands(instruction: Instruction) -> list[str]:
    """Return the names of the values that an instruction reads."""
    listed = instruction.rest[: end_of_operands(instruction.rest)]
    return _NAME.findall(listed) or [part.strip() for part in listed.split(",") if part.strip()]


def end_of_operands(rest: str) -> int:
    """Return the position of the parenthesis that closes an instruction's operands."""
    depth = 1
    for i, character in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return i
    return len(rest)
