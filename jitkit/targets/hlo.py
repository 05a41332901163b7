"""HLO text -> what runs: kernels, loops, and the lines of Python that each came from

Optimised HLO is a set of computations. One is the entry; some are the bodies of loops, branches and calls, which
run as they are written; the others are what a fusion does inside, all of it in one pass over memory. So what is
launched is found by walking from the entry into everything but fusions, and the Python lines of a fusion are those
of everything that is inside of it.

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
    """An instruction that runs on its own: a fusion, or an operation that was left alone.

    `kind` is how a fusion is run ("loop", "input", "output", "custom", ...), "" for what is none; `operations` are the
    names of the equations that went into it, and `lines` where they were written, each once, in order.
    """

    name: str
    opcode: str
    kind: str
    operations: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def fused(self) -> bool:
        """Whether it is several operations in one."""
        return self.opcode == "fusion"


class Loop(NamedTuple):
    """A `while`: its name, and how often it runs, where the compiler knows."""

    name: str
    trips: int | None


class Instruction(NamedTuple):
    """A line of a computation: `ROOT name = type opcode(rest`, where `rest` has operands and attributes."""

    name: str
    type: str
    opcode: str
    rest: str
    is_root: bool


# What costs nothing, or is the end, or the beginning, of what another instruction does.
_FREE = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "add-dependency", "opt-barrier",
    "domain", "partition-id", "replica-id", "copy-start", "slice-start",
})  # fmt: skip
# What runs other computations as they are written.
_WALKED = frozenset({"while", "conditional", "call", "async-start"})
# Equations that apply a function: what they do is what the equations in it do.
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
# How often a loop runs, in its attributes, where the compiler knows.
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


class Program:
    """An optimised program, read from its HLO text.

    `computations` are all of them by name, `entry` is the name of the first one that runs; `kernels` and `loops` are what
    is found by walking from there.
    """

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[Instruction]] = {}  # by name, each with its instructions in order
        self.entry = ""
        self._read(text)
        self.kernels: list[Kernel] = []  # what `walk` found, in order
        self.loops: list[Loop] = []  # the same of loops
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
        """Add the kernels and loops of a computation, in its order, with those of what it runs as it is written.

        A `while` is a loop: how often it runs stands in its attributes (`rest`), as `"known_trip_count":{"n":"10"}`, or does not.
        What an instruction of `_WALKED` refers to (`called`) runs as it is written; a name that no computation has is passed over.
        All other instructions are kernels (`self._kernel(instruction)`), but for those that cost nothing (`_FREE`) and the ends of
        what another one began (`...-update`, `...-done`). A computation that was seen is not walked again: it is counted once.

        Args:
          seen: names of computations that were walked. This one is added.
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
        """An instruction as a kernel: with how it is fused, and the operations and lines that went into it."""
        kind = _KIND.search(instruction.rest)
        operations: dict[str, None] = {}  # as ordered sets
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
        """An instruction, and all that it is made of."""
        inner = [name for name in called(instruction) if name not in seen]
        seen.update(inner)
        for name in inner:
            for each in self.computations.get(name, ()):
                yield from self._inside(each, seen)
        yield instruction


def _operations(instruction: Instruction) -> Iterator[str]:
    """The equations that an instruction came from: `jit(f)/jit(g)/mul` from a `mul`, and where XLA has merged several,
    their names stand one behind the other. What has the name of an argument, or one that the compiler made up, came
    from none.
    """
    found = _OPERATION.search(instruction.rest)
    for path in found[1].split(";") if found else ():
        scopes, _, name = path.rpartition("/")
        if scopes.startswith("jit(") and name not in _CALLS:
            yield name


def called(instruction: Instruction) -> list[str]:
    """The computations that an instruction refers to."""
    found = []
    for one, several in _CALLED.findall(instruction.rest):
        found += [one] if one else [name.strip().lstrip("%") for name in several.split(",") if name.strip()]
    return found


def _after_type(text: str) -> str:
    """What follows the type that an instruction's right side begins with: `f32[3]{0}`, or a tuple of such."""
    if not text.startswith("("):
        return text[text.find(" ") :]
    depth = 0
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[i + 1 :]
    return ""
