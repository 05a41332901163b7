"""optimised HLO -> Listing: the program as a tree, with what is in each fusion, and what it costs

HLO text is a flat set of computations that name each other. Here each computation stands, indented, below the first
instruction that runs it, so that a fusion is a box that opens. `links` says which equations an instruction belongs to.

The bytes of a fusion are those of its operands and results, by their types. Flops are counted by the rules of XLA's own
cost model for the common operations: one for each element of an elementwise result, two for each product of a dot or a
convolution. A loop's body is counted once.

JAX: jax/_src/stages.py:Compiled.as_text
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..targets.hlo import Instruction, Program, called
from . import by_line
from .equation import Equation
from .equations import without_marks
from .links import AS_WRITTEN, PLUMBING, Key, Links, end_of_operands, operands
from .listing import Listing

_NOT_COUNTED = PLUMBING | {
    "copy", "broadcast", "reshape", "transpose", "slice", "concatenate", "pad", "iota", "gather", "convert",
    "dynamic-slice", "dynamic-update-slice", "copy-start", "copy-done", "reverse", "bitcast-convert", "custom-call",
    "fusion", "while", "conditional", "call", "reduce", "dot", "convolution", "sort", "scatter", "async-start",
    "async-done", "partition-id", "replica-id", "opt-barrier", "slice-start", "slice-done",
}  # fmt: skip
_SLICES = frozenset({"slice", "dynamic-slice", "gather"})  # they read no more of an array than they give
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_SHAPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_LIST = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_GEMM = re.compile(r'"?lhs_contracting_dimensions"?:\[([\d,"]*)\]')
_LABELS = re.compile(r"dim_labels=\w+_(\w+)->")
_DILATED = re.compile(r"lhs_dilate|rhs_reversal|batch_group_count")
_BITS = re.compile(r"\d+")
_DETAILS = ("metadata=", "backend_config=", "frontend_attributes=", "calls=", "to_apply=", "body=", "condition=",
            "branch_computations=", "called_computations=", "true_computation=", "false_computation=")  # fmt: skip


class Linked(NamedTuple):
    """Counts a program's operations, and those that are linked to an equation: surely (by their own name, or by what
    contains them) or by a guess.
    """

    operations: int
    exact: int
    by_name: int
    guessed: int


class Fused:
    """A listing of a program, with its links; `rows` has the rows of instructions in the listing.

    `kernels` and asynchronous `copies` run on their own. `flops` are those of each equation, and under None those that
    belong to no known equation.
    """

    def __init__(self, listing: Listing, links: Links, rows: dict[Key, int], program: Program, costs: _Costs) -> None:
        self.listing, self.links, self.rows = listing, links, rows
        self.program, self._costs = program, costs

    def credit(self, found: Mapping[Key, list[int]], rule: str) -> None:
        """Link instructions to the equations that they have turned out to be, whatever their names say."""
        for at, numbers in found.items():
            for each in self.links.credit(at, numbers, rule):
                row = self.rows[each]
                self.listing.equations[row] = list(self.links.exact[each])
                self.listing.guesses.pop(row, None)
            row = self.rows[at]
            self.listing.notes[row] = " · ".join(filter(None, [self.listing.notes.get(row, ""), rule]))

    def flops_at(self, at: Key) -> int:
        """Count the arithmetic operations of an instruction."""
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
        """The instructions that run on their own."""
        return [
            by_line.Kernel(
                self.rows[at], self.links.exact[at], self._costs.moved(name, each), in_loop, self._costs.untold(each)
            )
            for name, each, in_loop in by_line.launched(self.program)
            if not by_line.is_copy(each)
            for at in [(name, each.name)]
        ]

    @property
    def copies(self) -> list[by_line.Kernel]:
        """Asynchronous copies; each reads its bytes once, and writes them once."""
        return [
            by_line.Kernel(self.rows[at], self.links.exact[at], 2 * bytes_of(each.type), in_loop, False)
            for name, each, in_loop in by_line.launched(self.program)
            if by_line.is_copy(each)
            for at in [(name, each.name)]
        ]

    @property
    def flops(self) -> dict[int | None, int]:
        """The flops of each equation."""
        found: dict[int | None, int] = {}
        for name, each in self._costs.counted():
            its: list[int | None] = [*self.links.exact[name, each.name]] or [None]
            total = self._costs.flops(name, each)
            shares = its if (name, each.name) in self.links.shared else its[:1]
            for place, number in enumerate(shares):  # the rest belongs to the first one
                part = total // len(shares) + (total % len(shares) if place == 0 else 0)
                found[number] = found.get(number, 0) + part
        return found


def read(text: str, equations: Sequence[Equation] = ()) -> Fused:
    """Return a program as a tree of instructions; `equations` are those that it was compiled from."""
    program = Program(text)
    links = Links(program, equations)
    costs = _Costs(program)
    found = Listing("hlo")
    written: set[str] = set()
    row_of: dict[tuple[str, str], int] = {}

    def write(name: str, depth: int) -> None:
        written.add(name)
        for instruction in program.computations.get(name, ()):
            notes = [_note(program, costs, name, instruction), links.rules.get((name, instruction.name), "")]
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
    """Return an instruction's text without what the page says in another way."""
    end = end_of_operands(instruction.rest)
    attributes = [
        each for each in _split(_METADATA.sub("", instruction.rest[end + 1 :])) if not each.startswith(_DETAILS)
    ]
    tail = "".join(f", {without_marks(each)}" for each in attributes)
    root = "ROOT " if instruction.is_root else ""
    text = f"{root}{instruction.name} = {instruction.type} {instruction.opcode}({instruction.rest[:end]}){tail}"
    return text.replace("%", "")


def _split(attributes: str) -> list[str]:
    """Split `, a=1, b={2, 3}` at the commas outside of braces and quotes."""
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
    """Return the note beside a fusion, a product or a loop."""
    if instruction.opcode == "while":
        trips = re.search(r'"known_trip_count":\{"n":"(\d+)"', instruction.rest)
        return f"runs {trips[1]} times" if trips else ""
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


class _Costs:
    """Counts a program's bytes and flops, each once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._types: dict[str, dict[str, str]] = {}
        self._flops: dict[str, int] = {}

    def types(self, computation: str) -> dict[str, str]:
        """Return the types of the values of a computation, by name."""
        if computation not in self._types:
            body = self._program.computations.get(computation, ())
            self._types[computation] = {each.name: each.type for each in body}
        return self._types[computation]

    def moved(self, computation: str, instruction: Instruction) -> int:
        """Count the bytes of an instruction's operands and results, each array once; of an array that is only sliced,
        those of the slices.
        """
        types = self.types(computation)
        reads = dict.fromkeys(operands(instruction))
        if instruction.opcode == "fusion":
            return self._moved_by_fusion(instruction)
        if instruction.opcode in _SLICES:
            rest = [bytes_of(types.get(each, "")) for each in list(reads)[1:]]
            return 2 * bytes_of(instruction.type) + sum(rest)
        if instruction.opcode == "dynamic-update-slice":  # the rest of the array stays where it is
            update, *starts = [bytes_of(types.get(each, "")) for each in list(reads)[1:]]
            return 2 * update + sum(starts)
        return bytes_of(instruction.type) + sum(bytes_of(types.get(each, "")) for each in reads)

    def _moved_by_fusion(self, instruction: Instruction) -> int:
        body = [each for name in called(instruction) for each in self._program.computations.get(name, ())]
        by_name = {each.name: each for each in body}
        readers: dict[str, list[Instruction]] = {}
        for each in body:
            for name in dict.fromkeys(operands(each)):
                readers.setdefault(name, []).append(each)

        def read(each: Instruction) -> int:
            """Count the bytes that are read of a parameter: those of its slices, if nothing else reads it."""
            whole, sliced = bytes_of(each.type), 0
            waiting = [each.name]
            while waiting:
                name = waiting.pop()
                for reader in readers.get(name, ()):
                    if reader.opcode == "bitcast" and not reader.is_root:
                        waiting.append(reader.name)
                    elif reader.opcode in _SLICES and operands(reader)[0] == name:
                        sliced += bytes_of(reader.type)
                    elif reader.opcode != "dynamic-update-slice" or operands(reader)[0] != name:
                        return whole
            return min(whole, sliced)

        def written(each: Instruction | None) -> int:
            while each is not None and each.opcode == "bitcast":
                each = by_name.get(operands(each)[0])
            if each is None:
                return 0
            if each.opcode == "tuple":
                return sum(written(by_name.get(name)) for name in operands(each))
            place = by_name.get(operands(each)[1]) if each.opcode == "dynamic-update-slice" else None
            return bytes_of(each.type if place is None else place.type)

        parameters = [each for each in body if each.opcode == "parameter"]
        root = next((each for each in body if each.is_root), None)
        return sum(map(read, parameters)) + written(root)

    def counted(self) -> Iterator[tuple[str, Instruction]]:
        """Yield each instruction that runs and may do arithmetic, as `(computation, instruction)`; those that only run
        a computation are left out.
        """
        waiting, seen = [self._program.entry], {""}
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for instruction in self._program.computations.get(name, ()):
                if instruction.opcode in AS_WRITTEN:
                    waiting += called(instruction)
                if instruction.opcode not in ("fusion", "call"):
                    yield name, instruction

    def untold(self, instruction: Instruction) -> bool:
        """Whether an instruction has flops that cannot be counted here: those of a library's routine, or of a dilated
        product.
        """
        if instruction.opcode in ("fusion", "call", "async-start"):
            inner = [each for name in called(instruction) for each in self._program.computations.get(name, ())]
            return any(map(self.untold, inner))
        if instruction.opcode == "convolution":
            return _DILATED.search(instruction.rest) is not None
        return (
            instruction.opcode == "custom-call"
            and not _GEMM.search(instruction.rest)
            and "AllocateBuffer" not in instruction.rest
        )

    def flops(self, computation: str, instruction: Instruction) -> int:
        """Count the arithmetic operations of an instruction, by the rules above."""
        if instruction.opcode in ("fusion", "call"):
            return sum(map(self._flops_in, called(instruction)))
        if instruction.opcode in ("dot", "reduce", "convolution", "custom-call"):
            types = self.types(computation)
            first, second, *_ = [*(types.get(each, "") for each in operands(instruction)), "", ""]
            if instruction.opcode == "convolution":
                return 0 if self.untold(instruction) else _flops_of_convolution(instruction, second)
            if instruction.opcode == "reduce":  # of n elements that become one, n - 1 are added to another
                return max(0, elements_of(first) - elements_of(instruction.type.partition("]")[0] + "]"))
            return _flops_of_dot(instruction, first)
        return 0 if instruction.opcode in _NOT_COUNTED else elements_of(instruction.type)

    def _flops_in(self, computation: str) -> int:
        if computation not in self._flops:
            body = self._program.computations.get(computation, ())
            self._flops[computation] = sum(self.flops(computation, each) for each in body)
        return self._flops[computation]


def _flops_of_dot(instruction: Instruction, left: str) -> int:
    """Count the flops of a `dot`, or of a call of cuBLAS that is one. Those of other calls are not known."""
    found = _LIST if instruction.opcode == "dot" else _GEMM
    contracted, shape = found.search(instruction.rest), _SHAPE.search(left)
    if not contracted or not shape:
        return 0
    sizes = [int(size) for size in shape[2].split(",") if size]
    product = 1
    for axis in contracted[1].replace('"', "").split(","):
        product *= sizes[int(axis)] if axis else 1
    made = _SHAPE.search(instruction.type)  # the first: a scratch buffer may stand behind it
    return 2 * product * elements_of(made[0] if made else "")


def _flops_of_convolution(instruction: Instruction, kernel: str) -> int:
    """Count the flops of a convolution: each element of the result sums over the part of the kernel that makes one
    feature. Padding is counted.
    """
    labels, shape = _LABELS.search(instruction.rest), _SHAPE.search(kernel)
    if not labels or not shape or "o" not in labels[1]:
        return 0
    sizes = [int(size) for size in shape[2].split(",") if size]
    features = sizes[labels[1].index("o")]
    return 2 * elements_of(instruction.type) * (elements_of(kernel) // max(features, 1))


def elements_of(type_: str) -> int:
    """Count the elements of all arrays in a type."""
    total = 0
    for _, sizes in _SHAPE.findall(type_):
        count = 1
        for size in sizes.split(","):
            count *= int(size) if size else 1
        total += count
    return total


def bytes_of(type_: str) -> int:
    """Count the bytes of all arrays in a type, without the padding of their layout."""
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
    """Write a number with three digits and a prefix: `33.6 M`."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            scaled = value / scale
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f} {prefix}"
    return f"{value:.0f} "
