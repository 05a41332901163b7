"""Writes results piece by piece, and results that are a view of memory

JAX: jax/_src/lax/lax.py:concatenate
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .folding import with_axes
from .formulas import literal
from .index_maps import clamped, plus
from .language import Atom, Constant, Op
from .nests import Index, Nest, Place
from .writer import Later, Writer, rule

Move = Callable[[Nest, Index], Index]


def write_piece(
    writer: Writer, place: Place, x: Atom, shape: Sequence[int], read: Move | None, write: Move, name: str
) -> None:
    """Write a loop over `shape` that reads an operand at one index, and writes it at another: `read` and `write` make
    these from the loop's index. If `read` is None, the operand is read at the loop's index itself.
    """

    def body(nest: Nest, index: Index) -> None:
        found = writer.emit(nest, x, read(nest, index) if read else index)
        nest.sources[name] = None
        nest.store(place, write(nest, index), found, whole=False)

    writer.nest(tuple(shape), with_axes(body), flat=False, alone=True)


def _result(writer: Writer, op: Op) -> Place:
    (out,) = op.outs
    place = writer.aims.pop(out, None) or writer.allocate(out.aval)
    place.buffer.pinned = True
    writer.where[out] = place
    return place


@rule("concatenate")
def _concatenate(writer: Writer, op: Op) -> None:
    place, axis, start = _result(writer, op), op.params["dimension"], 0
    for x in op.ins:

        def write(nest: Nest, index: Index, start: int = start) -> Index:
            return tuple(plus(i, start) if k == axis else i for k, i in enumerate(index))

        write_piece(writer, place, x, x.shape, None, write, f"concatenate  {op.line}")
        start += x.shape[axis]


@rule("stack")
def _stack(writer: Writer, op: Op) -> None:
    place, axis = _result(writer, op), op.params["axis"] % len(op.outs[0].shape)
    for number, x in enumerate(op.ins):

        def write(nest: Nest, index: Index, number: int = number) -> Index:
            return (*index[:axis], str(number), *index[axis:])

        write_piece(writer, place, x, x.shape, None, write, f"stack  {op.line}")


@rule("pad")
def _pad(writer: Writer, op: Op) -> None:
    place, (x, value), config = _result(writer, op), op.ins, op.params["padding_config"]

    def fill(nest: Nest, index: Index) -> None:
        nest.store(place, index, literal(value.number) if isinstance(value, Constant) else writer.emit(nest, value, ()))

    writer.nest(place.shape, fill)
    begins, sizes, lows, steps = [], [], [], []
    for size, whole, (low, _, interior) in zip(x.shape, place.shape, config, strict=True):
        step = interior + 1
        first = max(0, -(low // step))  # the first element within bounds
        last = min(size, (whole - 1 - low) // step + 1)
        begins.append(first)
        sizes.append(max(last - first, 0))
        lows.append(low + first * step)
        steps.append(step)

    def read(nest: Nest, index: Index) -> Index:
        return tuple(plus(i, begin) for i, begin in zip(index, begins, strict=True))

    def write(nest: Nest, index: Index) -> Index:
        scaled = (i if step == 1 else f"({i}*{step})" for i, step in zip(index, steps, strict=True))
        return tuple(plus(i, low) for i, low in zip(scaled, lows, strict=True))

    if not x.shape:
        writer.copy(x, place)
    elif all(sizes):
        write_piece(writer, place, x, sizes, read, write, f"pad  {op.line}")


@rule("dynamic_update_slice")
def _dynamic_update_slice(writer: Writer, op: Op) -> None:
    x, update, *starts = op.ins
    place = _result(writer, op)
    writer.copy(x, place)
    if not update.shape:
        writer.copy(update, place)
        return

    def write(nest: Nest, index: Index) -> Index:
        found = []
        for i, start, size, whole in zip(index, starts, update.shape, x.shape, strict=True):
            found.append(i if size == whole else f"({i} + {clamped(writer, nest, start, whole - size)})")
        return tuple(found)

    write_piece(writer, place, update, update.shape, None, write, f"dynamic_update_slice  {op.line}")


# --- views ----------------------------------------------------------------------------------------------------------


@rule("reshape")
def _reshape(writer: Writer, op: Op) -> None:
    """Make the result a view of the operand's memory. An operand that is not in memory yet is stored where the result goes."""
    (x,), (out,) = op.ins, op.outs
    if x in writer.where and isinstance(writer.where[x], Later) and out in writer.aims and x not in writer.aims:
        aim = writer.aims.pop(out)
        writer.aims[x] = aim._replace(shape=tuple(x.shape))
    writer.where[out] = writer.place(x)._replace(shape=tuple(out.shape))


@rule("split")
def _split(writer: Writer, op: Op) -> None:
    _parts(writer, op, list(op.params["sizes"]))


@rule("unstack")
def _unstack(writer: Writer, op: Op) -> None:
    _parts(writer, op, None)


def _parts(writer: Writer, op: Op, sizes: Any) -> None:
    """Write several results, each a slice of the operand."""
    (x,), axis, start = op.ins, op.params["axis"] % len(op.ins[0].shape), 0
    writer.place(x)
    for number, out in enumerate(op.outs):
        size = 1 if sizes is None else sizes[number]
        place = writer.aims.pop(out, None) or writer.allocate(out.aval)

        def read(nest: Nest, index: Index, start: int = start) -> Index:
            if sizes is None:
                return (*index[:axis], str(start), *index[axis:])
            return tuple(plus(i, start) if k == axis else i for k, i in enumerate(index))

        def body(nest: Nest, index: Index, place: Place = place, read: Any = read) -> None:
            nest.store(place, index, writer.emit(nest, x, read(nest, index)), whole=False)
            nest.sources[f"{op.name}  {op.line}"] = None

        writer.nest(tuple(out.shape), with_axes(body) if out.shape else body, flat=False, alone=True)
        writer.where[out] = place
        start += size
