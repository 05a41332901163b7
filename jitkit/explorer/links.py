"""optimised HLO -> by instruction: the equations that it came from, and how that is known

Most instructions have the names of their equations. If an instruction of one equation runs a computation, such as the function that a
reduction applies, that computation is part of the equation. An instruction without a name was added by the compiler, or a rewrite lost its
name. A fusion or a call belongs to all equations of the instructions in it. For the others, rules find the equations from the data flow
alone; their links are facts, not guesses:

- An instruction that only moves, arranges or rounds a value belongs to the equations of the instruction that made the
  value. If it moves an argument of the program, or a constant, it belongs to the equations that read it.
- If everything that reads an instruction, directly or not, belongs to one equation, the instruction belongs to it, too.
  A result of the program counts as read by the equation that makes it.
- An instruction that applies a function belongs to the equation that is named in it, if nothing else applies that function.

The rest is guessed: the equations of its readers, or else of what it reads, or else of what runs its computation. Guesses are kept apart.

JAX: jax/_src/source_info_util.py:NameStack
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ..targets.hlo import Instruction, Program, called
from .equation import Equation
from .equations import numbers_in, paths_in
from .flow import OP_NAME, RUNS, Data, Key, operands
from .shared_calls import SharedCalls

PLUMBING = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
# operations that an equation may write in addition to its own
OPERANDS = frozenset({"constant", "broadcast", "iota", "parameter"})
# instructions that run their computation as it is written, once or in each turn; all others apply it to elements
AS_WRITTEN = RUNS | {"while", "conditional", "async-start", "custom-call"}
_HAVE_NO_NAME = RUNS | {"parameter", "tuple", "get-tuple-element", "async-start", "async-done"}
_BY_READERS = frozenset({"only this equation reads it", "copies a constant", "copies an argument"})
_POSITION = re.compile(r"\b(?:source_line|stack_frame_id)=")


class Links:
    """Says which equations each instruction belongs to.

    - `exact` has the equations that it surely belongs to; `rules` says how this is known if its name does not say it.
    - `guesses` has the equations that it may belong to.
    - `called` has the equations in its name; `own` has the same for instructions that compute or move something
      themselves. (A fusion has the name of its last instruction.)
    - `data` says where values come from, `around` has the equations that contain others, and `shared` the instructions
      whose arithmetic is that of all their equations.
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
        self._shared = SharedCalls(self.data, equations)
        lent = self._take_names()
        self._take_from_applied()
        self.exact.update(self._shared.found(self.exact))
        self.called = called_so = {at: [] if at in self.rules else numbers for at, numbers in self.exact.items()}
        self._take_from_inside()
        order = self._callers_first()
        for name in order:
            if not self._is_turned(name) and not self._is_branch(name):
                self._part_of_what_runs_it(name)
            if not self._is_applied(name):
                here = [
                    (name, each.name) for each in program.computations.get(name, ()) if each.opcode not in _HAVE_NO_NAME
                ]
                self.own.update((at, called_so[at] or self.exact[at]) for at in here)
        self._by_the_data(order)
        for at, numbers in lent.items():
            self.exact[at] = self.exact[at] or numbers
        # a product without a name belongs to the equation that reads it, or else to the loop or the cond that it is in
        for name in order:
            self._part_of_what_runs_it(name)
        self._take_from_inside()
        for name in order:  # links of instructions inside of fusions and loops are guesses, too
            self._guess(name, program.computations.get(name, []))

    def _take_names(self) -> dict[Key, list[int]]:
        """Link instructions to the equations in their names. Return the equations in *borrowed* names, by instruction.

        Some passes of XLA put instructions into a loop, or replace an operation in it, and give them the loop's name
        without a source line. So in the body of a loop, such a name is *borrowed*: it counts only if no rule finds
        anything better.
        """
        lent: dict[Key, list[int]] = {}
        positions = any(_POSITION.search(each.rest) for body in self._program.computations.values() for each in body)
        for name, body in self._program.computations.items():
            applied = self._is_applied(name)  # reductions may share a computation, which then names only one of them
            for instruction in body:
                own = None if applied else OP_NAME.search(instruction.rest)
                numbers = numbers_in(own[1], self._equations) if own else []
                if own and self._shared.is_unclear(own[1]):
                    self._shared.add((name, instruction.name), own[1])
                    numbers = []
                if own:
                    self.around.update(number for path in paths_in(own[1]) for number in path[:-1])
                is_lent = positions and self._is_turned(name) and not _POSITION.search(instruction.rest)
                if is_lent:
                    lent[name, instruction.name] = numbers
                self.exact[name, instruction.name] = [] if is_lent else numbers
        return lent

    def _take_from_applied(self) -> None:
        """Link an operation without a name that applies a function, such as a `reduce-window`, to the equation in that
        function's names, if nothing else applies the function.
        """
        for at, instruction in self.data.at.items():
            for name in called(instruction) if instruction.opcode not in AS_WRITTEN and not self.exact[at] else ():
                named = [OP_NAME.search(each.rest) for each in self._program.computations.get(name, ())]
                numbers = {number for own in named if own for number in numbers_in(own[1], self._equations)}
                unclear = next((own[1] for own in named if own and self._shared.is_unclear(own[1])), None)
                if len(self.data.callers[name]) == len(numbers) == 1:
                    self.rules[at] = "applies its function"
                    self.exact[at] = [] if unclear else [*numbers]
                    if unclear:
                        self._shared.add(at, unclear)

    def _take_from_inside(self) -> None:
        """Link each fusion and call to all equations of the instructions in it."""
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
        """Return whether a computation is applied to elements, as a reduction's is."""
        callers = self.data.callers.get(name, [])
        return bool(callers) and all(self.data.at[caller].opcode not in AS_WRITTEN for caller in callers)

    def _is_turned(self, name: str) -> bool:
        """Return whether a computation is the body or the condition of a loop."""
        return any(self.data.at[caller].opcode == "while" for caller in self.data.callers.get(name, []))

    def _is_branch(self, name: str) -> bool:
        """Return whether a computation is a branch of a `cond`."""
        return any(self.data.at[caller].opcode == "conditional" for caller in self.data.callers.get(name, []))

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

    def _is_of_an_unknown(self, at: Key) -> bool:
        """Return whether an instruction has the name of an operation but of no equation, because JAX has lowered
        several equations to one function.
        """
        own = OP_NAME.search(self.data.at[at].rest)
        is_operation = self.data.at[at].opcode not in PLUMBING | {"copy"} and not self._is_applied(at[0])
        return is_operation and own is not None and "(" not in own[1] and not paths_in(own[1])

    def _rule(self, at: Key) -> tuple[list[int], str] | None:
        source = self.data.moved(at)
        if source and self.exact[source] and self.data.at[source].opcode != "parameter":
            return self.exact[source], "its value, moved or rounded"
        readers = None if self._is_of_an_unknown(at) else self.readers(at)
        if readers and len(readers) == 1:
            return readers, "only this equation reads it"
        if not readers or not source:
            return None
        if self.data.at[source].opcode == "constant":
            return readers, "copies a constant"
        of_the_program = source[0] == self._program.entry and self.data.at[source].opcode == "parameter"
        return (readers, "copies an argument") if of_the_program else None

    def readers(self, at: Key) -> list[int] | None:
        """Return the equations that read a value, directly or through unnamed instructions; None if the value cannot be
        followed.
        """
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
                elif self._is_of_an_unknown(reader):
                    return None
                elif reader not in seen:
                    seen.add(reader)
                    waiting.append(reader)
        return list(found)

    def _results_at(self, last: Key, value: Key) -> list[int]:
        """Return the equations whose results the program returns in the places where its last instruction returns `value`; [] if `last`
        is not that instruction.
        """
        if last[0] != self._program.entry or not self.data.at[last].is_root:
            return []
        returned = self.data.operands[last] if self.data.at[last].opcode == "tuple" else [last]
        return [self._results[place] for place, each in enumerate(returned) if each == value and place in self._results]

    def followed(self, changed: Collection[Key]) -> dict[Key, list[int]]:
        """Return new links for instructions that were linked to their readers, after the links of these readers, `changed`, were
        changed by `credit`. Change nothing.
        """
        new = {number for at in changed for number in self.exact[at]}
        asked = {at: self.exact[at] for at, rule in self.rules.items() if rule in _BY_READERS and at not in changed}
        self.exact.update({at: [] for at in asked})
        found = {at: self._rule(at) for at in asked}
        self.exact.update(asked)
        return {at: known[0] for at, known in found.items() if known and known[0] != asked[at] and {*known[0]} <= new}

    def credit(self, at: Key, numbers: list[int], rule: str) -> list[Key]:
        """Link the instruction `at` to the equations `numbers`, others than those in its name; `rule` says how this is known. Return the
        instructions whose links changed: this one, and the fusions and calls that contain it.
        """
        self.exact[at] = numbers
        self.rules.update({at: rule} if rule else {})
        self.guesses.pop(at, None)
        self.shared.update([at] if len(numbers) > 1 else [])
        changed = [at]
        for caller in self.data.callers.get(at[0], ()):
            if self.data.at[caller].opcode in RUNS:
                body = self._program.computations[at[0]]
                inside = [(at[0], each.name) for each in body if each.opcode not in PLUMBING]
                of_all = dict.fromkeys(n for each in inside for n in self.exact[each])
                first = [n for n in self.exact[caller] if n in of_all]  # the call's own numbers first
                changed += self.credit(caller, list(dict.fromkeys([*first, *of_all])), self.rules.get(caller, ""))
                self.shared.discard(caller)
        return changed

    def _guess(self, name: str, body: Sequence[Instruction]) -> None:
        """Guess at most eight equations for each instruction that has none: those of its readers; if these have none,
        those of what it reads; if these have none, those of what runs the computation.
        """
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
