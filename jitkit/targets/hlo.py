"""HLO text -> what runs: kernels, loops, and the lines of Python that each came from

Optimised HLO is a set of computations. One is the entry; some are the bodies of loops, branches and calls, whose
instructions run one by one; all others are inside fusions, each of which is one pass over memory. So the launched
instructions are found by walking from the entry into everything but fusions, and a fusion has the Python lines of all
instructions inside it.

JAX: jax/_src/stages.py:Compiled.as_text
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Line(NamedTuple):
    """A line of a Python file."""

    file: str
    number: int


class Kernel(NamedTuple):
    """An instruction that runs on its own: a fusion, or an operation that was left alone."""

    name: str
    opcode: str
    kind: str  # how a fusion is run ("loop", "input", "output", "custom", ...); "" for other instructions
    operations: tuple[str, ...]  # the names of the equations that went into it
    lines: tuple[Line, ...]  # their source lines, each once, in order

    @property
    def fused(self) -> bool:
        """Whether it is a fusion: one instruction for several operations."""
        return self.opcode == "fusion"


class Loop(NamedTuple):
    """A `while`: its name, and how often it runs; None if the compiler does not know."""

    name: str
    trips: int | None


class Instruction(NamedTuple):
    """A line of a computation: `ROOT name = type opcode(rest`, where `rest` has operands and attributes."""

    name: str
    type: str
    opcode: str
    rest: str
    is_root: bool


# Instructions that cost nothing, or that only begin or end the work of another one.
_FREE = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "add-dependency", "opt-barrier",
    "domain", "partition-id", "replica-id", "copy-start", "slice-start",
})  # fmt: skip
# Instructions that run the instructions of another computation one by one.
_WALKED = frozenset({"while", "conditional", "call", "async-start"})
# Equations that apply a function: their work is that of the equations inside.
_CALLS = frozenset({"jit", "custom_jvp_call", "custom_vjp_call", "checkpoint"})

_HEAD = re.compile(r"^(?P<entry>ENTRY )?%?(?P<name>[\w.<>-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(?P<root>ROOT )?%?(?P<name>[\w.<>-]+) = (?P<rest>.*)$")
_OPCODE = re.compile(r"\s*(?P<opcode>[a-z][\w-]*)\((?P<rest>.*)$")
_CALLED = re.compile(
    r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.<>-]+)"
    r"|(?:branch_computations|called_computations|calls)=\{([^}]*)\}"
)
_KIND = re.compile(r"kind=k(\w+)")
_SOURCE = re.compile(r'source_file="((?:[^"\\]|\\.)*)" source_line=(\d+)')
_OPERATION = re.compile(r'op_name="([^"]*)"')
# How often a loop runs, from its attributes, if the compiler knows.
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


class Program:
    """An optimised program, read from its HLO text.

    `computations` has all computations by name, `entry` is the name of the first to run; walking from there gives
    `kernels` and `loops`.
    """

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[Instruction]] = {}  # name of a computation -> its instructions, in order
        self.entry = ""
        self._read(text)
        self.kernels: list[Kernel] = []  # found by `walk`, in order
        self.loops: list[Loop] = []  # found by `walk`, in order
        if self.entry:
            self.walk(self.entry, set())

    def _read(self, text: str) -> None:
        body: list[Instruction] = []
        for line in text.splitlines():
            head = _HEAD.match(line)
            if head:
                body = self.computations[head["name"]] = []
                self.entry = head["name"] if head["entry"] else self.entry
                continue
            match = _INSTRUCTION.match(line)
            if not match:
                continue
            right = match["rest"]
            after_type = _after_type(right)
            found = _OPCODE.match(after_type)
            if found:
                its_type = right[: len(right) - len(after_type)]
                body.append(Instruction(match["name"], its_type, found["opcode"], found["rest"], bool(match["root"])))

    def walk(self, computation: str, seen: set[str]) -> None:
        """Add the kernels and loops of a computation, in order, and of the computations that it runs as written.

        A `while` is a loop: its attributes (`rest`) may say how often it runs, as `"known_trip_count":{"n":"10"}`. If an
        instruction is in `_WALKED`, walk through the computations to which it refers (`called`); ignore a name that no
        computation has. All other instructions are kernels (`self._kernel(instruction)`), except instructions that cost
        nothing (`_FREE`), and those that end the work of another one (`...-update`, `...-done`). Do not walk a computation
        twice: it is counted once.

        Args:
          seen: the names of the computations that were walked. Add this one.
        """
        if computation in seen:
            return
        seen.add(computation)
        for instruction in self.computations.get(computation, ()):
            if instruction.opcode == "while":
                trips = _TRIPS.search(instruction.rest)
                self.loops.append(Loop(instruction.name, int(trips[1]) if trips else None))
            if instruction.opcode in _WALKED:
                for name in called(instruction):
                    self.walk(name, seen)
            elif instruction.opcode not in _FREE and not instruction.opcode.endswith(("-update", "-done")):
                self.kernels.append(self._kernel(instruction))

    def _kernel(self, instruction: Instruction) -> Kernel:
        """Return an instruction as a kernel: how it is fused, and the operations and lines that went into it."""
        kind = _KIND.search(instruction.rest)
        operations: dict[str, None] = {}  # ordered sets
        lines: dict[Line, None] = {}
        for inner in self._inside(instruction, set()):
            operations.update(dict.fromkeys(_operations(inner)))
            source = _SOURCE.search(inner.rest)
            if source:
                lines[Line(source[1], int(source[2]))] = None
        return Kernel(
            instruction.name,
            instruction.opcode,
            kind[1].lower() if kind else "",
            tuple(operations),
            tuple(sorted(lines)),
        )

    def _inside(self, instruction: Instruction, seen: set[str]) -> Iterator[Instruction]:
        """Yield an instruction, and all instructions inside it."""
        inner = [name for name in called(instruction) if name not in seen]
        seen.update(inner)
        for name in inner:
            for each in self.computations.get(name, ()):
                yield from self._inside(each, seen)
        yield instruction


def _operations(instruction: Instruction) -> Iterator[str]:
    """Yield the equations that an instruction came from: `jit(f)/jit(g)/mul` came from a `mul`. If XLA has merged
    several, their names follow one another. An instruction that is named after an argument, or by the compiler, came
    from none.
    """
    found = _OPERATION.search(instruction.rest)
    for path in found[1].split(";") if found else ():
        scopes, _, name = path.rpartition("/")
        if scopes.startswith("jit(") and name not in _CALLS:
            yield name


def called(instruction: Instruction) -> list[str]:
    """Return the computations that an instruction refers to."""
    found = []
    for one, several in _CALLED.findall(instruction.rest):
        found += [one] if one else [name.strip().lstrip("%") for name in several.split(",") if name.strip()]
    return found


def _after_type(text: str) -> str:
    """Return the text after the type (`f32[3]{0}`, or a tuple of such types) in an instruction's right side."""
    if not text.startswith("("):
        return text[text.find(" ") :]
    depth = 0
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[i + 1 :]
    return ""
