"""optimised HLO -> Listing: the program as a tree, with the contents of each fusion, and their costs

HLO text is a flat set of computations that name each other. Here each computation stands, indented, below the first
instruction that runs it. `links` says which equations an instruction belongs to. `costs` counts bytes and flops. A
loop's body is counted once.

JAX: jax/_src/stages.py:Compiled.as_text
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..targets.hlo import Instruction, Program, called
from . import by_line
from .copies import Copies
from .costs import Costs, amount, bytes_of
from .equation import Equation
from .equations import without_marks
from .flow import Key, end_of_operands
from .links import OPERANDS, PLUMBING, Links
from .listing import Listing

_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_DETAILS = ("metadata=", "backend_config=", "frontend_attributes=", "calls=", "to_apply=", "body=", "condition=",
            "branch_computations=", "called_computations=", "true_computation=", "false_computation=")  # fmt: skip


class Linked(NamedTuple):
    """The numbers of a program's operations."""

    operations: int  # all
    exact: int  # those with a sure link to an equation
    by_name: int  # those whose sure link comes from a name: their own, or their container's
    guessed: int  # those with a guessed link


class Fused:
    """A listing of a program, with its links; `rows` maps instructions to their rows in the listing.

    `kernels` and asynchronous `copies` run on their own. `flops` has the flops of each equation, and under None those
    of no known equation.
    """

    def __init__(self, listing: Listing, links: Links, rows: dict[Key, int], program: Program, costs: Costs) -> None:
        self.listing, self.links, self.rows = listing, links, rows
        self.program, self._costs = program, costs

    def credit(self, found: Mapping[Key, list[int]], rule: str) -> None:
        """Link instructions to equations that they compute under other names. `rule` says how this is known, and is
        noted beside the instructions.
        """
        for at, numbers in found.items():
            for each in self.links.credit(at, numbers, rule):
                row = self.rows[each]
                self.listing.equations[row] = list(self.links.exact[each])
                self.listing.guesses.pop(row, None)
            row = self.rows[at]
            self.listing.notes[row] = " · ".join(filter(None, [self.listing.notes.get(row, ""), rule]))

    def flops_at(self, at: Key) -> int:
        """Return the number of arithmetic operations of an instruction."""
        return self._costs.flops(at[0], self.links.data.at[at])

    @property
    def linked(self) -> Linked:
        """How many operations are linked, and how."""
        links = self.links
        computing = [at for at in self.rows if links.data.at[at].opcode not in PLUMBING]
        exact = sum(bool(links.exact[at]) for at in computing)
        by_rule = sum(at in links.rules and not set(links.called[at]) & set(links.exact[at]) for at in computing)
        return Linked(len(computing), exact, exact - by_rule, sum(at in links.guesses for at in computing))

    @property
    def kernels(self) -> list[by_line.Kernel]:
        """The instructions that run on their own, apart from asynchronous copies."""
        return [
            by_line.Kernel(
                self.rows[at],
                self._computed_in(at),
                self._costs.moved(name, each),
                in_loop,
                self._costs.untold(each),
                self._costs.turns(name),
            )
            for name, each, in_loop in by_line.launched(self.program)
            if not by_line.is_copy(each)
            for at in [(name, each.name)]
        ]

    def _computed_in(self, at: Key) -> list[int]:
        """Return the equations of which a kernel has more than an operand, such as a broadcast; all of its equations if
        there are none.
        """
        inside = [
            (name, each) for name in called(self.links.data.at[at]) for each in self.program.computations.get(name, ())
        ]
        done = [(name, each.name) for name, each in inside if each.opcode not in OPERANDS | PLUMBING]
        numbers = {number for one in done for number in self.links.exact.get(one, ())}
        return [number for number in self.links.exact[at] if number in numbers] or self.links.exact[at]

    @property
    def copies(self) -> list[by_line.Kernel]:
        """Asynchronous copies; each reads its bytes once, and writes them once."""
        return [
            by_line.Kernel(
                self.rows[at], self.links.exact[at], 2 * bytes_of(each.type), in_loop, False, self._costs.turns(name)
            )
            for name, each, in_loop in by_line.launched(self.program)
            if by_line.is_copy(each)
            for at in [(name, each.name)]
        ]

    @property
    def flops(self) -> dict[int | None, int]:
        """The flops of each equation, in one turn of the loops around it."""
        return self._flops(lambda name: 1)

    @property
    def run_flops(self) -> dict[int | None, int] | None:
        """The flops of each equation over all turns of the loops around it; None if the number of turns is not known."""
        turns = {name: self._costs.turns(name) for name, _ in self._costs.counted()}
        return None if None in turns.values() else self._flops(lambda name: turns[name] or 0)

    def _flops(self, times: Callable[[str], int]) -> dict[int | None, int]:
        found: dict[int | None, int] = {}
        for name, each in self._costs.counted():
            its: list[int | None] = [*self.links.exact[name, each.name]] or [None]
            total = self._costs.flops(name, each) * times(name)
            shares = its if (name, each.name) in self.links.shared else its[:1]
            for place, number in enumerate(shares):  # the first equation gets the remainder, too
                part = total // len(shares) + (total % len(shares) if place == 0 else 0)
                found[number] = found.get(number, 0) + part
        return found


def read(text: str, equations: Sequence[Equation] = ()) -> Fused:
    """Return the listing of an optimised program's HLO text, as a tree. `equations` are those of the program's jaxpr."""
    program = Program(text)
    links = Links(program, equations)
    costs, copies = Costs(program), Copies(program, text)
    found = Listing("hlo")
    written: set[str] = set()
    row_of: dict[tuple[str, str], int] = {}

    def write(name: str, depth: int) -> None:
        written.add(name)
        for instruction in program.computations.get(name, ()):
            at = name, instruction.name
            notes = [_note(program, costs, name, instruction), links.rules.get(at, ""), copies.why(name, instruction)]
            notes.append(_of_rows(links, equations, at))
            row = found.add(
                f"{'  ' * depth}{shown(instruction)}",
                links.exact[name, instruction.name],
                " · ".join(filter(None, notes)),
            )
            row_of[name, instruction.name] = row
            guess = links.guesses.get((name, instruction.name))
            if guess:
                found.guesses[row] = guess
            inner = [each for each in called(instruction) if each in program.computations]
            for each in inner:
                if each in written:
                    found.add(
                        f"{'  ' * (depth + 1)}(the computation {each}, as above)", links.exact[name, instruction.name]
                    )
                    continue
                if len(inner) > 1:
                    head = found.add(
                        f"{'  ' * (depth + 1)}{_role(instruction, each)} {each}:", links.exact[name, instruction.name]
                    )
                    if guess:
                        found.guesses[head] = guess
                write(each, depth + 1 + (len(inner) > 1))

    if program.entry:
        found.add(f"ENTRY {program.entry}")
        write(program.entry, 1)
    return Fused(found, links, row_of, program, costs)


def shown(instruction: Instruction) -> str:
    """Return an instruction's text without the attributes that the page shows elsewhere."""
    end = end_of_operands(instruction.rest)
    attributes = [
        each for each in _split(_METADATA.sub("", instruction.rest[end + 1 :])) if not each.startswith(_DETAILS)
    ]
    tail = "".join(f", {without_marks(each)}" for each in attributes)
    root = "ROOT " if instruction.is_root else ""
    text = f"{root}{instruction.name} = {instruction.type} {instruction.opcode}({instruction.rest[:end]}){tail}"
    return text.replace("%", "")


def _split(attributes: str) -> list[str]:
    """Return the parts of `, a=1, b={2, 3}` between the commas outside of brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    previous = ""
    for i, character in enumerate(attributes):
        if character == '"' and previous != "\\":
            quoted = not quoted
        elif not quoted:
            depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(character, 0)
            if character == "," and depth == 0:
                parts.append(attributes[start:i].strip())
                start = i + 1
        previous = character
    parts.append(attributes[start:].strip())
    return [part for part in parts if part]


def _role(instruction: Instruction, name: str) -> str:
    found = re.search(rf"(\w+)=%?{re.escape(name)}\b", instruction.rest)
    return {"body": "body", "condition": "condition", "to_apply": "applies"}.get(found[1] if found else "", "branch")


# --- what it costs --------------------------------------------------------------------------------------------


def _note(program: Program, costs: Costs, computation: str, instruction: Instruction) -> str:
    """Return the note beside a fusion, a product or a loop; "" beside anything else."""
    if instruction.opcode == "while":
        turns = costs.trips(computation, instruction)
        return "" if turns is None else f"runs {turns} times"
    if instruction.opcode not in ("fusion", "dot", "convolution", "custom-call"):
        return ""
    parts = []
    if instruction.opcode == "fusion":
        inner = [each for name in called(instruction) for each in program.computations.get(name, ())]
        count = sum(each.opcode not in PLUMBING for each in inner)
        parts.append(f"fusion of {count} operation{'s' * (count != 1)}")
    flops = costs.flops(computation, instruction)
    parts += [f"{amount(flops)}flop"] if flops else []
    parts.append(f"{amount(costs.moved(computation, instruction))}B moved")
    return " · ".join(parts)


def _of_rows(links: Links, equations: Sequence[Equation], at: Key) -> str:
    """Return the purpose of an instruction that the lowering of a `while` adds if its condition differs by row, as
    under `vmap`; "" for any other instruction.
    """
    opcode, loops = links.data.at[at].opcode, [equations[n] for n in links.called.get(at, []) if n < len(equations)]
    if opcode not in ("select", "reduce") or len(loops) != 1:
        return ""
    condition = getattr(loops[0].eqn, "params", {}).get("cond_jaxpr")  # only a `while` has one
    if condition is None or not getattr(condition, "jaxpr", condition).outvars[0].aval.shape:
        return ""
    if opcode == "select":
        return "added since vmap has many rows in one loop: a row whose condition is false keeps its values"
    return "added since vmap has many rows in one loop: it goes on while the condition of any row is true"
