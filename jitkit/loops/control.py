"""`cond`, `while` and `scan` as C

A carry has two places in memory: an iteration reads one and writes the other, then they are swapped. A scan writes each
iteration's outputs in their final place.

JAX: jax/_src/lax/control_flow/loops.py:while_p
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.source_info import UNKNOWN
from ..core import ShapedArray
from .language import Atom, Block, Constant, Op, Value
from .nests import Place
from .writer import Writer, rule


def _settle(writer: Writer, x: Atom) -> None:
    """Store a value in memory, so that not every iteration of the loop recomputes it."""
    if isinstance(x, Value):
        writer.place(x)


def _result(writer: Writer, out: Value) -> Place:
    """Return the place of a result. Its whole buffer is kept (`pinned`)."""
    place = writer.aims.pop(out, None) or writer.allocate(out.aval)
    place.buffer.pinned = True
    return place


def _enter(writer: Writer, block: Block, ins: list[Atom | Place]) -> None:
    for value, x in zip(block.ins, ins, strict=True):
        writer.where[value] = x if isinstance(x, Place) else writer.place(x)


@rule("cond")
def _cond(writer: Writer, op: Op) -> None:
    index, *operands = op.ins
    for x in operands:
        _settle(writer, x)
    constants = {x: writer.place(x) for x in operands if isinstance(x, Constant)}
    results = [_result(writer, out) for out in op.outs]
    which = writer.place(index)
    last = len(op.blocks) - 1
    for number, block in enumerate(op.blocks):
        test = f"{which.buffer.name}[{which.base or 0}] <= {number}" if number < last else ""
        word = "if" if number == 0 else "} else if" if test else "} else"
        writer.text(f"{word} ({test}) {{" if test else f"{word} {{" if number else "{", which, *results)
        _enter(writer, block, [constants[x] if isinstance(x, Constant) else x for x in operands])
        writer.block(block, results)
    writer.text("}", which, *results)
    writer.where.update(zip(op.outs, results, strict=True))


@rule("while")
def _while(writer: Writer, op: Op) -> None:
    cond, body = op.blocks
    count, more = op.params["cond_nconsts"], op.params["body_nconsts"]
    of_cond, of_body, begin = op.ins[:count], op.ins[count : count + more], op.ins[count + more :]
    for x in (*of_cond, *of_body):
        _settle(writer, x)
    consts: dict[Atom, Atom | Place] = {x: writer.place(x) for x in (*of_cond, *of_body)}
    now, then = _carries(writer, op.outs, begin, body.ins[more:], body.outs)
    start = writer.time + 1
    writer.text("for (;;) {", *now, *then)
    _enter(writer, cond, [*(consts[x] for x in of_cond), *now])
    at = writer.allocate(cond.outs[0].aval, pinned=True)
    writer.block(cond, [at])
    go_on = at
    if at.shape:  # a batch of loops goes on while one of them does; those that have ended keep their carry
        body, go_on = _batched(writer, body, more, at)
    writer.text(f"if (!{go_on.buffer.name}[0]) break;", go_on, at)
    _enter(writer, body, [*(consts[x] for x in of_body), *now])
    _turn(writer, body, now, then)
    writer.text("}", *now, *then, at, go_on)
    writer.regions.append((start, writer.time))
    writer.where.update(zip(op.outs, now, strict=True))


def _batched(writer: Writer, body: Block, consts: int, at: Place) -> tuple[Block, Place]:
    """Return the body for a batch of loops, and the place that says whether one of them goes on. The body changes only
    the carries of loops that go on.
    """
    which, one = Value(ShapedArray(at.shape, np.dtype(bool))), Value(ShapedArray((), np.dtype(bool)))
    writer.where[which] = at
    any_goes_on = Op("reduce_or", {"axes": tuple(range(len(at.shape)))}, [which], [one], UNKNOWN)
    writer.write(any_goes_on)
    ops, outs = [*body.ops], []
    for old, new in zip(body.ins[consts:], body.outs, strict=True):
        spread, kept = Value(old.aval.update(dtype=np.dtype(bool))), Value(old.aval)
        params = {"shape": old.shape, "broadcast_dimensions": tuple(range(len(at.shape)))}
        ops.append(Op("broadcast_in_dim", params, [which], [spread], UNKNOWN))
        ops.append(Op("select_n", {}, [spread, old, new], [kept], UNKNOWN))
        outs.append(kept)
    return Block(body.ins, ops, [*outs]), writer.place(one)


def _carries(
    writer: Writer, outs: list[Value], begin: list[Atom], ins: list[Value], ends: list[Atom]
) -> tuple[list[Place], list[Place]]:
    """Return the two places of each carry, the first with the initial value. A carry that never changes has one place."""
    now = [writer.allocate(out.aval, pinned=True) for out in outs]
    then = [
        a if value is end else writer.allocate(out.aval, pinned=True)
        for a, out, value, end in zip(now, outs, ins, ends, strict=True)
    ]
    for x, a, b in zip(begin, now, then, strict=True):
        writer.copy(x, a)
        a.buffer.partners.append(b.buffer)
        b.buffer.partners.append(a.buffer)
    return now, then


def _turn(writer: Writer, body: Block, now: list[Place], then: list[Place], rows: Sequence[Place] = ()) -> None:
    """Write one iteration: the new carries, a scan's outputs, and the swap."""
    writer.block(body, [*then, *rows])
    for a, b in zip(now, then, strict=True):
        if a != b:
            writer.text(
                f"{{ void *p = {a.buffer.name}; {a.buffer.name} = {b.buffer.name}; {b.buffer.name} = p; }}", a, b
            )


@rule("scan")
def _scan(writer: Writer, op: Op) -> None:
    (body,), length = op.blocks, op.params["length"]
    of_body, carried = op.params["num_consts"], op.params["num_carry"]
    consts, begin, xs = op.ins[:of_body], op.ins[of_body : of_body + carried], op.ins[of_body + carried :]
    outs, ys = op.outs[:carried], op.outs[carried:]
    for x in (*consts, *xs):
        _settle(writer, x)
    const_places: list[Atom | Place] = [writer.place(x) for x in consts]
    arrays = [writer.place(x) for x in xs]
    results = [_result(writer, y) for y in ys]
    now, then = _carries(writer, outs, begin, body.ins[of_body : of_body + carried], body.outs[:carried])
    writer.counters += 1
    k = f"k{writer.counters}"
    steps = f"{k} = {length - 1}; {k} >= 0; {k}--" if op.params["reverse"] else f"{k} = 0; {k} < {length}; {k}++"
    start = writer.time + 1
    writer.text(f"for (i64 {steps}) {{", *now, *then, *arrays, *results)
    rows = [_row(place, k) for place in arrays]
    _enter(writer, body, [*const_places, *now, *rows])
    outer, writer.trips = writer.trips, writer.trips * length
    _turn(writer, body, now, then, [_row(place, k) for place in results])
    writer.trips = outer
    writer.text("}", *now, *then, *arrays, *results)
    writer.regions.append((start, writer.time))
    writer.where.update(zip(outs, now, strict=True))
    writer.where.update(zip(ys, results, strict=True))


def _row(place: Place, k: str) -> Place:
    """Return the place of element k, along the first axis, of the array at a place."""
    size = 1
    for each in place.shape[1:]:
        size *= each
    base = f"{place.base} + {k}*{size}" if place.base else f"{k}*{size}"
    return Place(place.buffer, place.shape[1:], base)
