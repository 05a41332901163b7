"""optimised HLO -> by instruction: the equations that it came from, and how that is known

Most instructions have the names of their equations. If an instruction of one equation runs a computation, such as the function that a
reduction applies, that computation is part of the equation. An instruction without a name was added by the compiler, or a rewrite lost its
name. Two rules find its equations from the data flow alone; their links are facts, not guesses:

- An instruction that only moves, arranges or rounds a value belongs to the equations of the instruction that made the
  value. If it moves an argument of the program, or a constant, it belongs to the equations that read it.
- If everything that reads an instruction, directly or not, belongs to one equation, the instruction belongs to it, too.
  A result of the program counts as read by the equation that makes it.

The rest is guessed: such an instruction serves the equations of its readers, or of what it reads. Guesses are kept apart.

JAX: jax/_src/source_info_util.py:NameStack
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..targets.hlo import Instruction, Program, called
from .equation import Equation
from .equations import numbers_in, paths_in

Key = tuple[str, str]  # names an instruction: its computation, and its own name

PLUMBING = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
# operations that an equation may write in addition to the one it stands for
OPERANDS = frozenset({"constant", "broadcast", "iota", "parameter"})
_MOVES = frozenset({
    "copy", "copy-start", "copy-done", "bitcast", "transpose", "reshape", "convert", "broadcast", "get-tuple-element", "slice-start",
    "slice-done", "opt-barrier",
})  # fmt: skip
# instructions that run a computation: their operands are its parameters, and its root is their result
_RUNS = frozenset({"fusion", "call"})
# other instructions apply a computation to each element
AS_WRITTEN = _RUNS | {"while", "conditional", "async-start", "custom-call"}
_HAVE_NO_NAME = _RUNS | {"parameter", "tuple", "get-tuple-element", "async-start", "async-done"}
_INDEX = re.compile(r"\bindex=(\d+)")
_POSITION = re.compile(r"\b(?:source_line|stack_frame_id)=")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_NAME = re.compile(r"%([\w.<>-]+)")


class Links:
    """Says, for each instruction, which equations it belongs to.

    `exact` has the equations that an instruction surely belongs to, `rules` the rule by which this is known if its name does not say it,
    and `guesses` the equations that it may belong to. `called` has the equations in its name, `own` the same for instructions that
    compute or move something themselves (no fusion: it has the name of its last instruction). `data` says where values come from,
    `around` has the equations whose scopes contain others, and `shared` instructions whose arithmetic is that of all their equations.
    """

    def __init__(self, program: Program, equations: Sequence[Equation]) -> None:
        self.exact: dict[Key, list[int]] = {}
        self.rules: dict[Key, str] = {}
        self.guesses: dict[Key, list[int]] = {}
        self._program = program
        self._equations = equations
        self._results = {place: number for number, each in enumerate(equations) for place in each.returned_at}
        self.around: set[int] = set()
        self.shared: set[Key] = set()
        self._inside_of: dict[str, list[int]] = {}
        self.data = Data(program)
        self.own: dict[Key, list[int]] = {}
        lent = self._take_names()
        self.called = called_so = dict(self.exact)
        self._take_from_inside()
        order = self._callers_first()
        for name in order:
            if not self._is_turned(name):
                self._part_of_what_runs_it(name)
            if not self._is_applied(name):
                here = [
                    (name, each.name) for each in program.computations.get(name, ()) if each.opcode not in _HAVE_NO_NAME
                ]
                self.own.update((at, called_so[at] or self.exact[at]) for at in here)
        self._by_the_data(order)
        for at, numbers in lent.items():
            self.exact[at] = self.exact[at] or numbers
        # a product without a name belongs to the equation that reads it, or else to the loop that it is in
        for name in order:
            self._part_of_what_runs_it(name)
        self._take_from_inside()
        for name in order:  # instructions inside of a guess are guesses, too
            self._guess(name, program.computations.get(name, []))

    def _take_names(self) -> dict[Key, list[int]]:
        """Link by names, and return the equations of borrowed names.

        Some passes of XLA put instructions into a loop, or replace an operation in it, and give them the loop's name without a source
        line. So in the body of a loop, such a name is *borrowed*: it counts only if no rule finds anything better.
        """
        lent: dict[Key, list[int]] = {}
        positions = any(_POSITION.search(each.rest) for body in self._program.computations.values() for each in body)
        for name, body in self._program.computations.items():
            applied = self._is_applied(name)  # XLA keeps one for all reductions that apply the same, with a name of one
            for instruction in body:
                own = None if applied else _OP_NAME.search(instruction.rest)
                numbers = numbers_in(own[1], self._equations) if own else []
                if own:
                    self.around.update(number for path in paths_in(own[1]) for number in path[:-1])
                is_lent = positions and self._is_turned(name) and not _POSITION.search(instruction.rest)
                if is_lent:
                    lent[name, instruction.name] = numbers
                self.exact[name, instruction.name] = [] if is_lent else numbers
        return lent

    def _take_from_inside(self) -> None:
        """Link a fusion to all equations of the instructions in it."""
        self._inside_of.clear()
        for name, body in self._program.computations.items():
            for instruction in body:
                if instruction.opcode in ("fusion", "call", "async-start"):
                    inner = [n for each in called(instruction) for n in self._inside(each)]
                    at = self.exact[name, instruction.name]
                    self.exact[name, instruction.name] = list(dict.fromkeys([*at, *inner]))

    def _inside(self, name: str) -> list[int]:
        """Return the equations of a computation, and of those that it calls."""
        if name not in self._inside_of:
            self._inside_of[name] = []
            found: dict[int, bool] = {}
            for instruction in self._program.computations.get(name, ()):
                numbers = self.exact[name, instruction.name]
                found.update(dict.fromkeys(numbers, True))
                for each in called(instruction):
                    found.update(dict.fromkeys(self._inside(each), True))
            self._inside_of[name] = list(found)
        return self._inside_of[name]

    def _callers_first(self) -> list[str]:
        order: dict[str, bool] = {}
        waiting = [self._program.entry] if self._program.entry else []
        while waiting:
            name = waiting.pop()
            if name in order:
                continue
            order[name] = True
            for instruction in self._program.computations.get(name, ()):
                waiting += [each for each in called(instruction) if each in self._program.computations]
        return list(order)

    def _part_of_what_runs_it(self, name: str) -> None:
        callers = self.data.callers.get(name, [])
        numbers = list(dict.fromkeys(number for caller in callers for number in self.exact[caller]))
        applied = self._is_applied(name)
        if not applied and (len(callers) != 1 or len(numbers) != 1):
            return
        for instruction in self._program.computations[name]:
            if not self.exact[name, instruction.name] and (applied or instruction.opcode != "parameter"):
                self.exact[name, instruction.name] = numbers

    def _is_applied(self, name: str) -> bool:
        """Whether a computation is applied to elements, as a reduction's is."""
        callers = self.data.callers.get(name, [])
        return bool(callers) and all(self.data.at[caller].opcode not in AS_WRITTEN for caller in callers)

    def _is_turned(self, name: str) -> bool:
        """Whether a computation is the body or the condition of a loop."""
        return any(self.data.at[caller].opcode == "while" for caller in self.data.callers.get(name, []))

    def _by_the_data(self, order: Sequence[str]) -> None:
        found: dict[Key, tuple[list[int], str]] = {}
        for name in order:
            for instruction in self._program.computations.get(name, ()):
                at = name, instruction.name
                if not self.exact[at] and instruction.opcode not in ("parameter", "constant"):
                    known = self._rule(at)
                    if known:
                        found[at] = known
        for at, (numbers, rule) in found.items():
            self.exact[at], self.rules[at] = numbers, rule

    def _rule(self, at: Key) -> tuple[list[int], str] | None:
        source = self.data.moved(at)
        if source and self.exact[source] and self.data.at[source].opcode != "parameter":
            return self.exact[source], "its value, moved or rounded"
        readers = self.readers(at)
        if readers and len(readers) == 1:
            return readers, "only this equation reads it"
        if not readers or not source:
            return None
        if self.data.at[source].opcode == "constant":
            return readers, "copies a constant"
        of_the_program = source[0] == self._program.entry and self.data.at[source].opcode == "parameter"
        return (readers, "copies an argument") if of_the_program else None

    def readers(self, at: Key) -> list[int] | None:
        """Return the equations of everything that reads a value, seen through unnamed instructions; None if it cannot be followed."""
        found: dict[int, bool] = {}
        seen = {at}
        waiting = [at]
        while waiting:
            value = self.data.beyond(waiting.pop())
            ended = self._results_at(value, value)
            next_ = [] if ended else self.data.read_by(value)
            if next_ is None:
                return None
            found.update(dict.fromkeys(ended, True))
            for reader in next_:
                numbers = self.exact[reader] or self._results_at(reader, value)
                if numbers and self.data.at[reader].opcode != "parameter":
                    found.update(dict.fromkeys(numbers, True))
                elif reader not in seen:
                    seen.add(reader)
                    waiting.append(reader)
        return list(found)

    def _results_at(self, last: Key, value: Key) -> list[int]:
        """Return the equations whose results a value is, if the instruction `last` ends the program: alone, or as a tuple."""
        if last[0] != self._program.entry or not self.data.at[last].is_root:
            return []
        returned = self.data.operands[last] if self.data.at[last].opcode == "tuple" else [last]
        return [self._results[place] for place, each in enumerate(returned) if each == value and place in self._results]

    def credit(self, at: Key, numbers: list[int], rule: str) -> list[Key]:
        """Link an instruction to other equations than its name says. Return the instructions whose links changed: this one, and the
        instructions that run it.
        """
        self.exact[at] = numbers
        self.rules.update({at: rule} if rule else {})
        self.guesses.pop(at, None)
        self.shared.update([at] if len(numbers) > 1 else [])
        changed = [at]
        for caller in self.data.callers.get(at[0], ()):
            if self.data.at[caller].opcode in _RUNS:
                body = self._program.computations[at[0]]
                inside = [(at[0], each.name) for each in body if each.opcode not in PLUMBING]
                of_all = dict.fromkeys(n for each in inside for n in self.exact[each])
                first = [n for n in self.exact[caller] if n in of_all]  # the call's own numbers first
                changed += self.credit(caller, list(dict.fromkeys([*first, *of_all])), self.rules.get(caller, ""))
                self.shared.discard(caller)
        return changed

    def _guess(self, name: str, body: Sequence[Instruction]) -> None:
        """Guess by the data: first from the readers of a value to its maker, and then the other way."""
        reads = {instruction.name: operands(instruction) for instruction in body}
        readers: dict[str, list[str]] = {}
        for reader, names in reads.items():
            for each in names:
                readers.setdefault(each, []).append(reader)

        def near(keys: Sequence[Key]) -> list[int]:
            found: dict[int, bool] = {}
            for at in keys:
                found.update(dict.fromkeys(self.exact.get(at) or self.guesses.get(at, []), True))
            return list(found)[:8]

        for instruction in reversed(body):
            at = name, instruction.name
            if instruction.opcode != "parameter" and not self.exact[at] and at not in self.guesses:
                guess = near([(name, each) for each in readers.get(instruction.name, [])])
                if guess:
                    self.guesses[at] = guess
        for instruction in body:
            at = name, instruction.name
            if instruction.opcode == "parameter" or self.exact[at] or at in self.guesses:
                continue
            guess = near([(name, each) for each in reads[instruction.name]]) or near(self.data.callers.get(name, []))
            if guess:
                self.guesses[at] = guess


class Data:
    """Says where values come from and where they go, into and out of fusions."""

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
        """Return the maker of a value that is only moved here; None if something is computed."""
        start, element = at, 0
        while True:
            instruction = self.at[at]
            named = _OP_NAME.search(instruction.rest)
            if instruction.opcode == "parameter" and at[0] != self._entry:
                caller = self._runs(at[0])
                number = next((i for i, each in self._parameters[at[0]].items() if each == at), None)
                if caller is None or number is None or number >= len(self.operands[caller]):
                    return None
                at = self.operands[caller][number]
            elif instruction.opcode in _RUNS:
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
        """Yield a value, then the value of which it is a moved or rearranged copy, and so on, up to one that is computed or an argument."""
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
            if instruction.opcode in _RUNS:
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

    def argument(self, at: Key) -> int | None:
        """Return the position of the program's argument that a value is; None if it is not an argument."""
        numbers = self._parameters.get(self._entry, {}) if at[0] == self._entry else {}
        return next((i for i, each in numbers.items() if each == at), None)

    def result(self, place: int) -> Key | None:
        """Return the value that the program returns at a position, or None."""
        root = self._roots.get(self._entry)
        if root is None or self.at[root].opcode != "tuple":
            return root if place == 0 else None
        return self.operands[root][place] if place < len(self.operands[root]) else None

    def read_by(self, at: Key) -> list[Key] | None:
        """Return the readers of a value; in a fusion, the reader is a parameter. None at the end of the program, or of a loop."""
        if self.at[at].is_root:
            return None
        found: list[Key] = []
        for reader in self._readers.get(at, []):
            instruction = self.at[reader]
            inner = called(instruction)
            if instruction.opcode not in _RUNS or len(inner) != 1 or self._runs(inner[0]) is None:
                found.append(reader)
                continue
            found += [
                self._parameters[inner[0]][i]
                for i, each in enumerate(self.operands[reader])
                if each == at and i in self._parameters.get(inner[0], {})
            ]
        return found

    def beyond(self, at: Key) -> Key:
        """Return the fusion's value, if this is the instruction at its end; else the value itself."""
        caller = self._runs(at[0]) if self.at[at].is_root else None
        return at if caller is None else self.beyond(caller)

    def _runs(self, computation: str) -> Key | None:
        """Return the fusion or call that runs a computation, if nothing else runs it; else None."""
        callers = self.callers.get(computation, [])
        return callers[0] if len(callers) == 1 and self.at[callers[0]].opcode in _RUNS else None


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
