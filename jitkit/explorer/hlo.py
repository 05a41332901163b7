"""optimised HLO -> Listing: the program as a tree, with what each fusion takes in, and what it costs

HLO text is a flat set of computations that name each other. Here a computation stands, indented, below the first instruction
that runs it, so that a fusion is a box that opens.

Of which equations an instruction is, `links` tells.

Bytes of a fusion are those of its operands and results, by their types. Flops are counted here, by the rules of XLA's own
cost model for the common operations: one for each element of an elementwise result, two for each product of a dot. The body
of a loop is counted once.

JAX: jax/_src/stages.py:Compiled.as_text
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..targets.hlo import Instruction, Program, called
from .equations import without_marks
from .links import PLUMBING, Links, end_of_operands, operands
from .listing import Listing

_NOT_COUNTED = PLUMBING | {
    "copy", "broadcast", "reshape", "transpose", "slice", "concatenate", "pad", "iota", "gather", "convert",
    "dynamic-slice", "dynamic-update-slice", "copy-start", "copy-done", "reverse", "bitcast-convert", "custom-call",
    "fusion", "while", "conditional", "call", "reduce", "dot", "convolution", "sort", "scatter", "async-start",
    "async-done", "partition-id", "replica-id", "opt-barrier", "slice-start", "slice-done",
}  # fmt: skip
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_SHAPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_LIST = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_BITS = re.compile(r"\d+")
_DETAILS = ("metadata=", "backend_config=", "frontend_attributes=", "calls=", "to_apply=", "body=", "condition=",
            "branch_computations=", "called_computations=", "true_computation=", "false_computation=")  # fmt: skip


class Linked(NamedTuple):
    """How many operations of a program there are, and how many are linked to an equation: surely, of these by their own
    name or by what they are part of, and by a guess.
    """

    operations: int
    exact: int
    by_name: int
    guessed: int


class Fused(NamedTuple):
    """A listing of a program, and what is known of its links."""

    listing: Listing
    linked: Linked
    there: frozenset[int]  # the equations whose name something has
    done: dict[int, list[tuple[str, int]]]  # by equation: opcode and size of what is linked to it, surely or by a guess


def read(text: str, results: Mapping[int, int] | None = None) -> Fused:
    """A program as a tree of instructions. `results` has the equation that makes each of the function's results, by its place."""
    program = Program(text)
    links = Links(program, results or {})
    costs = _Costs(program)
    found = Listing("hlo")
    shown: set[str] = set()

    def write(name: str, depth: int) -> None:
        shown.add(name)
        for instruction in program.computations.get(name, ()):
            notes = [_note(program, costs, name, instruction), links.rules.get((name, instruction.name), "")]
            row = found.add(
                f"{'  ' * depth}{_line(instruction)}", links.exact[name, instruction.name], " · ".join(filter(None, notes))
            )
            guess = links.guesses.get((name, instruction.name))
            if guess:
                found.guesses[row] = guess
            inner = [each for each in called(instruction) if each in program.computations]
            for each in inner:
                if each in shown:
                    found.add(f"{'  ' * (depth + 1)}(the computation {each}, as above)", links.exact[name, instruction.name])
                    continue
                if len(inner) > 1:
                    head = found.add(f"{'  ' * (depth + 1)}{_role(instruction, each)} {each}:", links.exact[name, instruction.name])
                    if guess:
                        found.guesses[head] = guess
                write(each, depth + 1 + (len(inner) > 1))

    if program.entry:
        found.add(f"ENTRY {program.entry}")
        write(program.entry, 1)
    rows = [
        (name, instruction)
        for name in shown
        for instruction in program.computations[name]
        if instruction.opcode not in PLUMBING
    ]
    exact = sum(bool(links.exact[name, instruction.name]) for name, instruction in rows)
    by_rule = sum((name, instruction.name) in links.rules for name, instruction in rows)
    guessed = sum((name, instruction.name) in links.guesses for name, instruction in rows)
    done: dict[int, list[tuple[str, int]]] = {}
    for name, instruction in rows:
        at = name, instruction.name
        for number in (links.exact[at] or links.guesses.get(at, []))[:1]:
            done.setdefault(number, []).append((instruction.opcode, elements_of(instruction.type)))
    return Fused(found, Linked(len(rows), exact, exact - by_rule, guessed), links.named, done)


def _line(instruction: Instruction) -> str:
    """An instruction without what the page says in another way."""
    end = end_of_operands(instruction.rest)
    attributes = [each for each in _split(_METADATA.sub("", instruction.rest[end + 1 :])) if not each.startswith(_DETAILS)]
    tail = "".join(f", {without_marks(each)}" for each in attributes)
    root = "ROOT " if instruction.is_root else ""
    text = f"{root}{instruction.name} = {instruction.type} {instruction.opcode}({instruction.rest[:end]}){tail}"
    return text.replace("%", "")


def _split(attributes: str) -> list[str]:
    """`, a=1, b={2, 3}` at the commas that are outside of braces and quotes."""
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


def _note(program: Program, costs: _Costs, computation: str, instruction: Instruction) -> str:
    """What stands beside a fusion, a product or a loop."""
    if instruction.opcode == "while":
        trips = re.search(r'"known_trip_count":\{"n":"(\d+)"', instruction.rest)
        return f"runs {trips[1]} times" if trips else ""
    if instruction.opcode not in ("fusion", "dot", "convolution", "custom-call"):
        return ""
    types = costs.types(computation)
    moved = bytes_of(instruction.type) + sum(bytes_of(types.get(each, "")) for each in operands(instruction))
    parts = []
    if instruction.opcode == "fusion":
        inner = [each for name in called(instruction) for each in program.computations.get(name, ())]
        count = sum(each.opcode not in PLUMBING for each in inner)
        parts.append(f"fusion of {count} operation{'s' * (count != 1)}")
    flops = costs.flops(computation, instruction)
    parts += [f"{amount(flops)}flop"] if flops else []
    parts.append(f"{amount(moved)}B moved")
    return " · ".join(parts)


class _Costs:
    """Counts of a program, each made once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._types: dict[str, dict[str, str]] = {}
        self._flops: dict[str, int] = {}

    def types(self, computation: str) -> dict[str, str]:
        """The types of the values of a computation, by name."""
        if computation not in self._types:
            body = self._program.computations.get(computation, ())
            self._types[computation] = {each.name: each.type for each in body}
        return self._types[computation]

    def flops(self, computation: str, instruction: Instruction) -> int:
        """Arithmetic operations of an instruction, by the rules above."""
        if instruction.opcode in ("fusion", "call"):
            return sum(map(self._flops_in, called(instruction)))
        if instruction.opcode in ("dot", "reduce"):
            first = self.types(computation).get(next(iter(operands(instruction)), ""), "")
            return elements_of(first) if instruction.opcode == "reduce" else _flops_of_dot(instruction, first)
        return 0 if instruction.opcode in _NOT_COUNTED else elements_of(instruction.type)

    def _flops_in(self, computation: str) -> int:
        if computation not in self._flops:
            body = self._program.computations.get(computation, ())
            self._flops[computation] = sum(self.flops(computation, each) for each in body)
        return self._flops[computation]


def _flops_of_dot(instruction: Instruction, left: str) -> int:
    contracted, shape = _LIST.search(instruction.rest), _SHAPE.search(left)
    if not contracted or not shape:
        return 0
    sizes = [int(size) for size in shape[2].split(",") if size]
    product = 1
    for axis in contracted[1].split(","):
        product *= sizes[int(axis)] if axis else 1
    return 2 * product * elements_of(instruction.type)


def elements_of(type_: str) -> int:
    """Of all arrays in a type."""
    total = 0
    for _, sizes in _SHAPE.findall(type_):
        count = 1
        for size in sizes.split(","):
            count *= int(size) if size else 1
        total += count
    return total


def bytes_of(type_: str) -> int:
    """Of all arrays in a type, without the padding of their layout."""
    total = 0
    for dtype, sizes in _SHAPE.findall(type_):
        bits = _BITS.search(dtype)
        width = 8 if not bits else int(bits[0])
        count = 1
        for size in sizes.split(","):
            count *= int(size) if size else 1
        total += (count * width + 7) // 8
    return total


def amount(value: float) -> str:
    """Three digits and a prefix: `33.6 M`."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            scaled = value / scale
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f} {prefix}"
    return f"{value:.0f} "
