"""Reductions and other operations along an axis: loops with an accumulator

A sum over the last axis, or over all elements in their order, has its accumulator in a register; the compiler may use several (`omp simd
reduction`) and add them up at the end, as XLA does. A sum over other axes adds to its result in memory, row by row, to
read memory in order.

JAX: jax/_src/lax/lax.py:reduce_sum
"""

from __future__ import annotations

from typing import Any

from .formulas import COMBINE, c_type, neutral
from .language import Op
from .nests import FLAT, Conflict, Index, Nest, Place
from .writer import Writer, rule


@rule(*(f"reduce_{kind}" for kind in COMBINE))
def _reduce(writer: Writer, op: Op) -> None:
    """Write `reduce_sum` and the other reductions."""
    (x,), (out,) = op.ins, op.outs
    axes, ndim = sorted(op.params["axes"]), len(x.shape)
    place = writer.aims.pop(out, None) or writer.allocate(out.aval)
    writer.where[out] = place
    if not axes:
        writer.copy(x, place)
    elif axes == [ndim - 1] or (len(axes) == ndim and _is_flat(writer, x)):
        fold_in_register(writer, op, place)
    else:
        fold_in_memory(writer, op, place)


def fold_in_register(writer: Writer, op: Op, place: Place) -> None:
    """Write a reduction over the last axis, or over all axes, as one loop with an accumulator that is stored behind it.

    The loop is over the operand: `writer.nest(x.shape, body, flat=...)` calls `body(nest, index)`, which writes the lines for one
    element. It may call `body` several times, since the loop may become a part of the nest before it. In `body`,
    `writer.emit(nest, x, index)` returns the name of the element, and `nest.store`, with `after`, stores a result behind the innermost
    loop. A reduction over all axes is `flat`: one loop over all elements in their order. A nest that is not flat would begin the
    accumulator anew for each row, so a reduction over all axes cannot be a part of such a nest: raise `Conflict`. Add one to the
    nest's `flops`, and the operation with its line, `reduce_sum  model.py:3` (two spaces), to its `sources`; the same text is the
    note at the accumulator.

    Args:
      op: `reduce_sum`, `reduce_max` or another; its kind is its name without `reduce_`.
      place: where the result goes. Over all axes, the result has one element, with the index `()`; over the last axis, the index
        of an element is the loop's index without its last entry.
    """
    (x,), (out,) = op.ins, op.outs
    kind, is_all = op.name.removeprefix("reduce_"), len(op.params["axes"]) == len(x.shape)

    def body(nest: Nest, index: Index) -> None:
        if is_all and not nest.flat:
            raise Conflict
        name = writer.emit(nest, x, index)
        accumulator = nest.fold(kind, out.aval.dtype, c_type(out.aval), name, f"{op.name}  {op.line}")
        nest.sources[f"{op.name}  {op.line}"] = None
        nest.flops += 1
        nest.store(place, () if is_all else index[:-1], accumulator, after=True)

    writer.nest(x.shape, body, flat=is_all)


def fold_in_memory(writer: Writer, op: Op, place: Place) -> None:
    """Write a reduction that `fold_in_register` cannot write, as a loop that adds to its result in memory. An earlier loop
    fills this memory with the neutral element.
    """
    (x,), (out,) = op.ins, op.outs
    kind, axes, ndim = op.name.removeprefix("reduce_"), sorted(op.params["axes"]), len(x.shape)
    ctype, dtype = c_type(out.aval), out.aval.dtype

    def add_up(nest: Nest, index: Index) -> None:
        kept = tuple(i for axis, i in enumerate(index) if axis not in axes)
        name = writer.emit(nest, x, index)
        target, after = nest.access(place, kept, True), axes[-1] == ndim - 1
        name = nest.fold(kind, dtype, ctype, name, f"{op.name}  {op.line}") if after else name
        line = f"{target} = {COMBINE[kind].format(target, name, t=ctype)};  // {op.name}  {op.line}"
        nest.sources[f"{op.name}  {op.line}"] = None
        nest.flops += 1
        (nest.loop.after if after else nest.loop.body).append(line)

    place.buffer.pinned = True
    writer.nest(out.shape, lambda nest, index: nest.store(place, index, neutral(kind, dtype)))
    writer.nest(x.shape, add_up, flat=False, alone=True)


def _is_flat(writer: Writer, x: Any) -> bool:
    """Return whether a value can be read element by element in one loop, without its axes."""
    if len(x.shape) <= 1:
        return True

    def read(nest: Nest, index: Index) -> None:
        writer.emit(nest, x, FLAT)

    probe = Nest(0, (1,), True, 0)
    return writer.attempt(probe, read, True)


def _along(writer: Writer, op: Op, axis: int) -> tuple[tuple[int, ...], Any]:
    """Return the operand's shape with `axis` moved to the end, and a function from indices in this shape to indices of the operand."""
    shape = op.ins[0].shape
    axis %= len(shape)
    order = (*shape[:axis], *shape[axis + 1 :], shape[axis])

    def back(index: Index, i: str) -> Index:
        return (*index[:axis], i, *index[axis:-1])

    return order, back


@rule("argmax", "argmin")
def _position(writer: Writer, op: Op) -> None:
    """Write the position of the greatest or the least element: the first of equal ones, or the first nan."""
    (x,), (out,) = op.ins, op.outs
    (axis,) = op.params["axes"]
    shape, back = _along(writer, op, axis)
    place = writer.aims.pop(out, None) or writer.allocate(out.aval)
    writer.where[out] = place
    ctype, itype, sign = c_type(x.aval), c_type(out.aval), ">" if op.name == "argmax" else "<"

    def body(nest: Nest, index: Index) -> None:
        i = nest.last
        name = writer.emit(nest, x, back(index, i))
        nest.counted += 1
        best, at = f"a{nest.counted}", f"at{nest.counted}"
        nest.loop.before += [f"{ctype} {best} = 0;", f"{itype} {at} = 0;"]
        nan = f" || ({name} != {name} && {best} == {best})" if ctype[0] == "f" else ""
        nest.loop.body.append(f"if ({i} == 0 || {name} {sign} {best}{nan}) {{ {best} = {name}; {at} = {i}; }}")
        nest.loop.serial = True
        nest.sources[f"{op.name}  {op.line}"] = None
        nest.store(place, index[:-1], at, after=True)

    writer.nest(shape, with_axes(body), flat=False)


@rule("cumsum", "cumprod", "cummax", "cummin")
def _cumulative(writer: Writer, op: Op) -> None:
    """Write a fold that stores its intermediate result at each step, such as `cumsum`."""
    (x,), (out,) = op.ins, op.outs
    kind, axis = op.name.removeprefix("cum"), op.params["axis"] % len(op.ins[0].shape)
    shape, back = _along(writer, op, axis)
    place = writer.aims.pop(out, None) or writer.allocate(out.aval)
    writer.where[out] = place
    ctype = c_type(out.aval)

    def body(nest: Nest, index: Index) -> None:
        i = f"({shape[-1] - 1} - {nest.last})" if op.params["reverse"] else nest.last
        at = back(index, i)
        name = writer.emit(nest, x, at)
        nest.counted += 1
        total = f"a{nest.counted}"
        nest.loop.before.append(f"{ctype} {total} = {neutral(kind, out.aval.dtype)};")
        nest.loop.body.append(f"{total} = {COMBINE[kind].format(total, name, t=ctype)};")
        nest.loop.serial = True
        nest.flops += 1
        nest.sources[f"{op.name}  {op.line}"] = None
        nest.store(place, at, total, whole=False)

    writer.nest(shape, with_axes(body), flat=False, alone=True)


def with_axes(body: Any) -> Any:
    """Return `body`, which takes an index for each axis, for a loop over one axis that may be flat: then it gets `("i0",)`."""
    return lambda nest, index: body(nest, ("i0",) if index is FLAT else index)
