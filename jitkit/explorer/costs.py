"""optimised HLO -> what each instruction moves and computes: bytes, flops, and how often its loop turns

The bytes of a fusion are the bytes of its operands and results, by their types. Flops are counted by the rules of XLA's
own cost model for the common operations: one for each element of an elementwise result, two for each product of a dot
or a convolution, and, for a reduction of n elements to one, n - 1 applications of its function. A conversion, which XLA
counts, has none. Both branches of a `cond` are counted. The module `turns` finds the number of a loop's turns.

JAX: jax/_src/stages.py:Compiled.cost_analysis
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ..targets.hlo import Instruction, Program, called
from .flow import operands
from .links import AS_WRITTEN, PLUMBING
from .turns import trips

_NOT_COUNTED = PLUMBING | {
    "copy", "broadcast", "reshape", "transpose", "slice", "concatenate", "pad", "iota", "gather", "convert",
    "dynamic-slice", "dynamic-update-slice", "copy-start", "copy-done", "reverse", "bitcast-convert", "custom-call",
    "fusion", "while", "conditional", "call", "reduce", "dot", "convolution", "sort", "scatter", "async-start",
    "async-done", "partition-id", "replica-id", "opt-barrier", "slice-start", "slice-done",
}  # fmt: skip
_REDUCES = frozenset({"reduce", "reduce-window", "select-and-scatter"})
_WINDOW = re.compile(r"window=\{size=([\dx]+)")
_SLICES = frozenset({"slice", "dynamic-slice", "gather"})  # they read only the elements that they return
_SHAPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_LIST = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_GEMM = re.compile(r'"?lhs_contracting_dimensions"?:\[([\d,"]*)\]')
_LABELS = re.compile(r"dim_labels=\w+_(\w+)->")
_DILATED = re.compile(r"lhs_dilate|rhs_reversal|batch_group_count")
_LENGTHS = re.compile(r"fft_length=\{([\d,]+)\}")
_BITS = re.compile(r"\d+")


class Costs:
    """Counts the bytes and flops of a program's instructions, and keeps the counts."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._types: dict[str, dict[str, str]] = {}
        self._flops: dict[str, int] = {}
        self._turns: dict[str, int | None] = {program.entry: 1}
        self._runs: dict[str, list[tuple[str, Instruction]]] = {}
        for name, body in program.computations.items():
            for each in body:
                for inner in called(each):
                    self._runs.setdefault(inner, []).append((name, each))

    def turns(self, computation: str) -> int | None:
        """Return how often a computation runs, over all turns of the loops around it; None if this is not known."""
        if computation not in self._turns:
            self._turns[computation] = total = 0
            for name, instruction in self._runs.get(computation, ()):
                around, own = self.turns(name), self.trips(name, instruction) if instruction.opcode == "while" else 1
                if around is None or own is None:
                    self._turns[computation] = None
                    return None
                total += around * own
            self._turns[computation] = total
        return self._turns[computation]

    def trips(self, computation: str, loop: Instruction) -> int | None:
        """Return how many turns a `while` takes each time that it runs; None if this is not known."""
        return trips(self._program, computation, loop)

    def types(self, computation: str) -> dict[str, str]:
        """Return the types of the values of a computation, by name."""
        if computation not in self._types:
            body = self._program.computations.get(computation, ())
            self._types[computation] = {each.name: each.type for each in body}
        return self._types[computation]

    def moved(self, computation: str, instruction: Instruction) -> int:
        """Return the bytes that an instruction moves: its operands and results, each array once. If an array is only sliced, count the
        slices.
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
            """Return the bytes that a fusion reads of a parameter: only those of its slices, if every reader is a slice."""
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
        """Yield each instruction that runs and may do arithmetic, as `(computation, instruction)`. Leave out fusions and
        calls, whose instructions are yielded themselves.
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
        """Return whether an instruction has flops that cannot be counted here: those of a sort, a library's routine or
        a dilated convolution.
        """
        if instruction.opcode in ("fusion", "call", "async-start"):
            inner = [each for name in called(instruction) for each in self._program.computations.get(name, ())]
            return any(map(self.untold, inner))
        if instruction.opcode == "convolution":
            return _DILATED.search(instruction.rest) is not None
        if instruction.opcode == "sort":  # the number of comparisons depends on the algorithm
            return True
        return (
            instruction.opcode == "custom-call"
            and not _GEMM.search(instruction.rest)
            and "AllocateBuffer" not in instruction.rest
        )

    def flops(self, computation: str, instruction: Instruction) -> int:
        """Return the number of arithmetic operations of an instruction, by this module's rules."""
        if instruction.opcode in ("fusion", "call"):
            return sum(map(self._flops_in, called(instruction)))
        if instruction.opcode in ("dot", "convolution", "custom-call"):
            types = self.types(computation)
            first, second, *_ = [*(types.get(each, "") for each in operands(instruction)), "", ""]
            if instruction.opcode == "convolution":
                return 0 if self.untold(instruction) else _flops_of_convolution(instruction, second)
            return _flops_of_dot(instruction, first)
        if instruction.opcode == "fft":
            return _flops_of_fft(instruction, self.types(computation).get(operands(instruction)[0], ""))
        if instruction.opcode in _REDUCES:
            return self._flops_of_reduction(computation, instruction)
        return 0 if instruction.opcode in _NOT_COUNTED else elements_of(instruction.type)

    def _flops_of_reduction(self, computation: str, instruction: Instruction) -> int:
        """Return the flops of a reduction: n elements that become one take n - 1 applications of its function. The padding
        of a window counts, too.
        """
        types, reads = self.types(computation), operands(instruction)
        made, window = elements_of(_first_of(instruction.type)), _WINDOW.search(instruction.rest)
        each = math.prod(map(int, window[1].split("x"))) if window else 1
        flops = [max(1, self._flops_in(name)) for name in called(instruction)] or [1]
        if (
            instruction.opcode == "select-and-scatter"
        ):  # select-and-scatter adds each element of its source at the window's greatest element
            source = elements_of(types.get(reads[1], ""))
            return source * (each - 1) * flops[0] + source * flops[-1]
        if instruction.opcode == "reduce-window":
            return made * (each - 1) * flops[0]
        return max(0, elements_of(types.get(reads[0], "")) - made) * flops[0]

    def _flops_in(self, computation: str) -> int:
        if computation not in self._flops:
            body = self._program.computations.get(computation, ())
            self._flops[computation] = sum(self.flops(computation, each) for each in body)
        return self._flops[computation]


def _flops_of_dot(instruction: Instruction, left: str) -> int:
    """Return the flops of a `dot`, or of a call of cuBLAS that computes one; 0 for other calls, whose flops are not known."""
    found = _LIST if instruction.opcode == "dot" else _GEMM
    contracted, shape = found.search(instruction.rest), _SHAPE.search(left)
    if not contracted or not shape:
        return 0
    sizes = [int(size) for size in shape[2].split(",") if size]
    product = 1
    for axis in contracted[1].replace('"', "").split(","):
        product *= sizes[int(axis)] if axis else 1
    made = _SHAPE.search(instruction.type)  # the first array: a scratch buffer may follow
    return 2 * product * elements_of(made[0] if made else "")


def _flops_of_fft(instruction: Instruction, given: str) -> int:
    """Return the flops of a Fourier transform as XLA counts them: 8 times the elements of the operand, times log2 of each length, rounded
    down.
    """
    found = _LENGTHS.search(instruction.rest)
    halvings = math.prod(max(int(length), 1).bit_length() - 1 for length in found[1].split(",")) if found else 0
    return 8 * halvings * elements_of(given)


def _flops_of_convolution(instruction: Instruction, kernel: str) -> int:
    """Return the flops of a convolution: each element of the result is a sum over the kernel's part for one output
    feature, padding included. Return 0 if the text does not tell.
    """
    labels, shape = _LABELS.search(instruction.rest), _SHAPE.search(kernel)
    if not labels or not shape or "o" not in labels[1]:
        return 0
    sizes = [int(size) for size in shape[2].split(",") if size]
    features = sizes[labels[1].index("o")]
    return 2 * elements_of(instruction.type) * (elements_of(kernel) // max(features, 1))


def _first_of(type_: str) -> str:
    """Return the first array in a type."""
    found = _SHAPE.search(type_)
    return found[0] if found else ""


def elements_of(type_: str) -> int:
    """Return the number of elements of all arrays in a type."""
    total = 0
    for _, sizes in _SHAPE.findall(type_):
        count = 1
        for size in sizes.split(","):
            count *= int(size) if size else 1
        total += count
    return total


def bytes_of(type_: str) -> int:
    """Return the number of bytes of all arrays in a type, without the padding of their layout."""
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
    """Return a number, a space, and the prefix of the unit that follows: `33.6 M`. The number has three digits from
    1,000 to 999 T; below 1,000 it has neither decimals nor a prefix.
    """
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            scaled = value / scale
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f} {prefix}"
    return f"{value:.0f} "
