"""Block -> nests: each operation is an expression until something has to be stored

The writer goes through the operations in order. An operation that has a formula, or only moves indices, is postponed
(`Later`). An operation that needs an array in memory (a result, a reduction, a matrix product, control flow) writes a
nest, including the expressions that it reads. If several nests would compute one expression, and this costs more than
to store and read it, it is stored once: `stored_values`.

JAX: jax/_src/interpreters/mlir.py:jaxpr_subcomp
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .formulas import DEAR, FORMULAS, c_type, cost, literal
from .index_maps import INDEX_MAPS, NeedsAxes
from .language import Atom, Block, Constant, Op, Value
from .nests import FLAT, Buffer, Conflict, Index, Nest, Place

RECOMPUTED = 6  # a value that costs less than this many additions is recomputed in each loop that needs it
DEEPEST = 100  # nesting of expressions: Python's stack is limited


@dataclasses.dataclass
class Later:
    """A value that `op` computes where it is read. `depth` says how deep its expression is nested."""

    op: Op
    depth: int


Body = Callable[[Nest, Index], None]


class Writer:
    """The nests, other steps and buffers of a program, in order."""

    def __init__(self) -> None:
        self.where: dict[Value, Place | Later] = {}
        self.aims: dict[Value, Place] = {}  # where a value must be stored
        self.stored: set[Value] = set()  # expressions to store once (`stored_values`)
        self.steps: list[Nest | str] = []
        self.buffers: list[Buffer] = []
        self.time = 0  # the number of steps so far
        self.regions: list[tuple[int, int]] = []  # first and last step of each loop of control flow
        self.trips = 1  # iterations of the enclosing loops of control flow
        self.trips_of: dict[int, int] = {}  # number of a nest -> how often it runs
        self.counters = 0  # the number of counters of scans so far: k1, k2, ...
        self.costs = {"flops": 0, "transcendentals": 0, "bytes accessed": 0}  # the costs of steps that are not nests

    def add_cost(self, flops: int, moved: int) -> None:
        """Count the costs of a step that is not a nest."""
        self.costs["flops"] += flops * self.trips
        self.costs["bytes accessed"] += moved * self.trips

    # --- memory -----------------------------------------------------------------------------------------------------

    def allocate(self, aval: Any, pinned: bool = False) -> Place:
        """Return the place of new memory in the workspace, for an array of this type; `pinned` is as for `Buffer`."""
        shape = tuple(aval.shape)
        buffer = Buffer(f"t{len(self.buffers)}", aval.dtype, int(np.prod(shape)), pinned)
        self.buffers.append(buffer)
        return Place(buffer, shape)

    def text(self, line: str, *used: Place) -> None:
        """Add a line of C as its own step, which is not a nest, and note that it uses the memory of these places."""
        self.time += 1
        self.steps.append(line)
        for place in used:
            place.buffer.pinned = True
            place.buffer.times.append(self.time)

    def place(self, x: Atom) -> Place:
        """Return the place of an operand in memory; store the operand now if necessary."""
        if isinstance(x, Constant):
            place = self.allocate(x.aval)
            self.nest(x.shape, lambda nest, index: nest.store(place, index, literal(x.number)))
            return place
        found = self.where[x]
        return found if isinstance(found, Place) else self.store(x)

    def store(self, x: Value) -> Place:
        """Store a value where it must be (`aims`), or else in the workspace; return the place."""
        place = self.aims.pop(x, None) or self.allocate(x.aval)
        self.copy(x, place)
        self.where[x] = place
        return place

    def copy(self, x: Atom, place: Place) -> None:
        """Write an operand into the memory at `place`."""

        def body(nest: Nest, index: Index) -> None:
            nest.store(place, index, self.emit(nest, x, index))

        self.nest(x.shape, body)

    # --- nests ------------------------------------------------------------------------------------------------------

    def nest(self, shape: tuple[int, ...], body: Body, flat: bool = True, alone: bool = False) -> Nest:
        """Write a loop over a shape, into the last nest if possible, and return its nest: with one loop for each axis,
        or, for `flat` and if possible, as one loop over all elements. With `alone`, the nest has no other loop.
        """
        ways: list[tuple[tuple[int, ...], bool]] = [((math.prod(shape),), True)] if flat and len(shape) > 0 else []
        ways.append((shape, False))
        if len(shape) <= 1:
            ways = [(shape, True)]
        last = self.steps[-1] if self.steps else None
        if isinstance(last, Nest) and not last.closed and not alone:
            for over, is_flat in ways:
                fits = (last.shape, last.flat) == (over, is_flat)
                if fits and (self.attempt(last, body, False) or (shape and self.attempt(last, body, True))):
                    return last
        for over, is_flat in ways:
            fresh = Nest(len(self.trips_of) + 1, over, is_flat, self.time + 1)
            if self.attempt(fresh, body, True):
                self.time += 1
                fresh.closed = alone
                self.steps.append(fresh)
                self.trips_of[fresh.number] = self.trips
                return fresh
        raise AssertionError("a nest of its own can be written for every value")

    def attempt(self, nest: Nest, body: Body, with_new_loop: bool) -> bool:
        """Try to write a loop into a nest, in its last inner loop or in a new one. If it does not fit, undo this and return False."""
        state = nest.saved()
        try:
            if with_new_loop:
                nest.begin_inner()
            elif nest.loop.serial:
                raise Conflict
            body(nest, nest.index)
        except (Conflict, NeedsAxes):
            nest.restore(state)
            return False
        return True

    # --- expressions ------------------------------------------------------------------------------------------------

    def emit(self, nest: Nest, x: Atom, index: Index) -> str:
        """Write the code that computes an element; return the name of its variable."""
        if isinstance(x, Constant):
            return literal(x.number)
        if not x.shape:
            index = ()
        elif index is FLAT and len(x.shape) == 1:
            index = ("i0",)
        key = (x, index)
        known = nest.names.get(key) or nest.outer_names.get(key)
        if known:
            return known
        found = self.where[x]
        if isinstance(found, Place):
            at = FLAT if nest.flat and len(x.shape) == 1 and index == ("i0",) else index
            forwarded = nest.forwarded(found, nest.index if at is FLAT else at)
            if forwarded is not None:
                return forwarded
            operands = [nest.last] if index is FLAT else [*index, found.base]
            return nest.variable(key, c_type(x.aval), nest.access(found, index, False), operands, "")
        op = found.op
        if op.name in INDEX_MAPS:
            result = INDEX_MAPS[op.name](self, nest, op, index)
            nest.sources[f"{op.name}  {op.line}"] = None
            (nest.names if nest.is_inner(result) else nest.outer_names)[key] = result
            return result
        operands = [self.emit(nest, each, _index_of_operand(each, x, index)) for each in op.ins]
        expression = FORMULAS[op.name](op, operands, c_type(op.ins[0].aval))
        nest.sources[f"{op.name}  {op.line}"] = None
        nest.flops += 1
        nest.dear += op.name in DEAR
        return nest.variable(key, c_type(x.aval), expression, operands, f"{op.name}  {op.line}".rstrip())

    # --- blocks -----------------------------------------------------------------------------------------------------

    def block(self, block: Block, aims: Sequence[Place]) -> None:
        """Write a block whose inputs are already in `where`; store its results at the places `aims`."""
        for out, place in zip(block.outs, aims, strict=True):
            if isinstance(out, Value) and out not in self.aims:
                self.aims[out] = place
        self.stored |= stored_values(block)
        for op in block.ops:
            self.write(op)
        for out, place in zip(block.outs, aims, strict=True):
            if isinstance(out, Value) and self.where[out] == place:
                continue
            self.copy(out, place)

    def write(self, op: Op) -> None:
        """Write one operation, or postpone it."""
        if op.name not in FORMULAS and op.name not in INDEX_MAPS:
            RULES[op.name](self, op)
            return
        (out,) = op.outs
        depths = [found.depth for x in op.ins if isinstance(x, Value) and isinstance(found := self.where[x], Later)]
        later = self.where[out] = Later(op, 1 + max(depths, default=0))
        if out in self.stored or out in self.aims or later.depth > DEEPEST:
            self.store(out)


def _index_of_operand(operand: Atom, out: Value, index: Index) -> Index:
    """Return the index in an operand for an index of the result. An axis of size 1 in the operand is read at 0. Raise
    NeedsAxes if one number stands for all axes of the result.
    """
    if operand.shape == out.shape or not operand.shape:
        return index
    if index is FLAT:
        raise NeedsAxes
    return tuple("0" if size == 1 else i for i, size in zip(index, operand.shape, strict=True))


RULES: dict[str, Callable[[Writer, Op], None]] = {}  # operations that write nests or other steps


def rule(*names: str) -> Callable[[Callable[[Writer, Op], None]], Callable[[Writer, Op], None]]:
    """Decorator: register the rule of these operations."""

    def register(function: Callable[[Writer, Op], None]) -> Callable[[Writer, Op], None]:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def known_primitives() -> set[str]:
    """Return the operations for which there is C."""
    return {*FORMULAS, *INDEX_MAPS, *RULES}


def stored_values(block: Block) -> set[Value]:
    """Return the expressions to store: expensive ones that several steps read, or that a broadcast repeats. Readers of
    stored values become cheaper, so this takes two passes.
    """
    return _stored(block, _stored(block, set()))


def _stored(block: Block, before: set[Value]) -> set[Value]:
    price: dict[Value, int] = {}
    for op in block.ops:
        if op.name in FORMULAS or op.name in INDEX_MAPS:
            own = cost(op.name) if op.name in FORMULAS else 0
            of_operands = sum(price.get(x, 0) for x in op.ins if isinstance(x, Value) and x not in before)
            price[op.outs[0]] = min(own + of_operands, 1000)
    readers: dict[Value, set[int]] = {}
    stored: set[Value] = set()
    for number, op in enumerate(reversed(block.ops)):
        reading = {number}
        if op.outs[0] in price:
            (out,) = op.outs
            found = readers.get(out, set())
            if len(found) > 1 and price[out] >= RECOMPUTED:
                stored.add(out)
            elif out not in block.outs:
                reading = found
            if _repeats(op) and isinstance(x := op.ins[0], Value) and price.get(x, 0) >= RECOMPUTED:
                stored.add(x)
        for each in op.ins:
            if isinstance(each, Value):
                readers.setdefault(each, set()).update(reading)
    return stored


def _repeats(op: Op) -> bool:
    """Return whether a loop over the result needs each element of the operand in several outer iterations."""
    if op.name != "broadcast_in_dim":
        return op.name == "tile"
    shape, axes = op.params["shape"], op.params["broadcast_dimensions"]
    kept = [axis for axis, size in zip(axes, op.ins[0].shape, strict=True) if size == shape[axis]]
    last = max(kept, default=-1)
    return bool(kept) and any(size > 1 and axis not in kept for axis, size in enumerate(shape[:last]))
