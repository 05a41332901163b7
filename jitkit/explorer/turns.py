"""optimised HLO -> how many turns each loop takes

XLA's compilers for CPUs and GPUs write the number beside a `while`. If it is not there, as on a TPU, it can often be read from the loop
itself: the condition compares a counter with a constant, the counter starts at a constant, and each turn adds a constant to it.

JAX: jax/_src/lax/control_flow/loops.py:fori_loop
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..targets.hlo import Instruction, Program
from .flow import operands

_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_INDEX = re.compile(r"\bindex=(\d+)")
_INTEGER = re.compile(r"\s*(-?\d+)\)")
_DIRECTION = re.compile(r"direction=(LT|LE|GT|GE)")
_RUN = re.compile(r"\b(condition|body)=%?([\w.<>-]+)")
_MOST_STEPS = 20  # at most this many instructions are followed back to the one that makes a value


class _Counter(NamedTuple):
    """A number that the condition of a loop compares with a bound: its place in the carry, the bound, and how it compares."""

    place: int
    bound: int
    direction: str


def trips(program: Program, computation: str, loop: Instruction) -> int | None:
    """Return how many turns a `while` in a computation takes; None if this is not known."""
    written = _TRIPS.search(loop.rest)
    if written:
        return int(written[1])
    runs = dict(_RUN.findall(loop.rest))
    counter = _counter(program, runs.get("condition", ""))
    if counter is None:
        return None
    start = _initial(program, computation, loop, counter.place)
    step = _step(program, runs.get("body", ""), counter.place)
    if start is None or not step:
        return None
    is_up = counter.direction in ("LT", "LE")
    if is_up != (step > 0):
        return None
    distance = (counter.bound - start if is_up else start - counter.bound) + (counter.direction in ("LE", "GE"))
    return max(0, -(-distance // abs(step)))


def _named(program: Program, computation: str) -> dict[str, Instruction]:
    return {each.name: each for each in program.computations.get(computation, ())}


def _root(program: Program, computation: str) -> Instruction | None:
    return next((each for each in program.computations.get(computation, ()) if each.is_root), None)


def _made_by(body: dict[str, Instruction], name: str) -> Instruction | None:
    """Return the instruction that makes a value; copies are skipped. Return None if it is not in `body`, or behind too many copies."""
    found = body.get(name)
    for _ in range(_MOST_STEPS):
        if found is None or found.opcode not in ("copy", "bitcast", "copy-done", "copy-start"):
            return found
        found = body.get(operands(found)[0])
    return None


def _integer(instruction: Instruction | None) -> int | None:
    """Return the number in a constant; None if the instruction is something else."""
    if instruction is None or instruction.opcode != "constant":
        return None
    found = _INTEGER.match(instruction.rest)
    return int(found[1]) if found else None


def _place(instruction: Instruction | None, body: dict[str, Instruction]) -> int | None:
    """Return the place in the carry from which an instruction takes its value; None if it takes it from elsewhere."""
    if instruction is None or instruction.opcode != "get-tuple-element":
        return None
    source = _made_by(body, operands(instruction)[0])
    found = _INDEX.search(instruction.rest)
    return int(found[1]) if found and source is not None and source.opcode == "parameter" else None


def _counter(program: Program, condition: str) -> _Counter | None:
    """Return the counter of a condition, if it compares a part of the carry with a constant; else None."""
    body, root = _named(program, condition), _root(program, condition)
    direction = _DIRECTION.search(root.rest) if root is not None and root.opcode == "compare" else None
    if root is None or direction is None:
        return None
    counted, bound = (_made_by(body, each) for each in operands(root))
    place, number = _place(counted, body), _integer(bound)
    return None if place is None or number is None else _Counter(place, number, direction[1])


def _initial(program: Program, computation: str, loop: Instruction, place: int) -> int | None:
    """Return the number with which a part of the carry starts; None if it is not a constant."""
    body = _named(program, computation)
    given = _made_by(body, operands(loop)[0])
    if given is None or given.opcode != "tuple" or place >= len(operands(given)):
        return None
    return _integer(_made_by(body, operands(given)[place]))


def _step(program: Program, name: str, place: int) -> int | None:
    """Return the number that a turn adds to a part of the carry; None if it is not a constant."""
    body, root = _named(program, name), _root(program, name)
    if root is None or root.opcode != "tuple" or place >= len(operands(root)):
        return None
    added = _made_by(body, operands(root)[place])
    if added is None or added.opcode != "add":
        return None
    one, other = (_made_by(body, each) for each in operands(added))
    for counted, number in ((one, other), (other, one)):
        if _place(counted, body) == place:
            return _integer(number)
    return None
