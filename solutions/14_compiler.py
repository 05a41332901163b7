"""14 A compiler of your own: the solutions, as the reference has them, and why."""

from __future__ import annotations

import numpy as np
from collections.abc import Sequence
from typing import Any

from jitkit.loops.formulas import COMBINE, c_type, neutral
from jitkit.loops.index_maps import plus
from jitkit.loops.language import Op
from jitkit.loops.nests import Buffer, Conflict, Index, Place
from jitkit.loops.plan import meet
from jitkit.loops.writer import Writer


# --- 14.1 The same element, elsewhere -----------------------------------------------------------------------
# A compiler that stored the results of these four operations would go through memory for nothing. As maps of
# indices they are free, and a chain of them is one map: the loop that reads the last one composes them as it
# writes its index. That is why a transpose before a sum costs no copy here. It can still cost something:
# elements that are read far from each other are read slowly.
#
# Usual mistakes:
#   - Computing the result's index from the operand's: the other direction is needed.
#   - Reading an axis of size 1 at the loop's index: beyond the first element there is other memory.
#   - Leaving out the parentheses that an index needs as a part of another expression.
#
# In JAX: jax/_src/lax/lax.py:broadcast_in_dim


def broadcast_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `broadcast_in_dim`.

    Axis k of the operand is axis `op.params["broadcast_dimensions"][k]` of the result. If an axis has one element in the operand, and
    more in the result, this element is read for all of them: its index is `"0"`.

    Args:
      index: an expression of C for each axis of the result, such as `("i0", "(i1 + 2)")`.

    Returns:
      An expression for each axis of the operand, `op.ins[0]`.
    """
    shape = op.params["shape"]
    sizes = zip(op.params["broadcast_dimensions"], op.ins[0].shape, strict=True)
    return tuple(index[axis] if size == shape[axis] else "0" for axis, size in sizes)


def transpose_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `transpose`: axis k of the result is axis
    `op.params["permutation"][k]` of the operand.
    """
    order = list(op.params["permutation"])
    return tuple(index[order.index(axis)] for axis in range(len(order)))


def slice_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `slice`: element i along an axis is element `start + i * stride` of
    the operand, with `op.params["start_indices"]` and `op.params["strides"]`, which is None if every stride is 1.

    A returned expression may become a factor, or a part of a sum: put parentheses around a sum.
    """
    starts = op.params["start_indices"]
    strides = op.params["strides"] or (1,) * len(starts)
    steps = (i if s == 1 or i == "0" else f"({i}*{s})" for i, s in zip(index, strides, strict=True))
    return tuple(plus(i, start) for i, start in zip(steps, starts, strict=True))


def rev_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `rev`: along the axes `op.params["dimensions"]` the last element
    comes first.
    """
    turned = op.params["dimensions"]
    sizes = op.ins[0].shape
    return tuple(f"({sizes[k] - 1} - {i})" if k in turned else i for k, i in enumerate(index))


# --- 14.2 When two loops may be one -------------------------------------------------------------------------
# This is fusion: two loops are one if every element is there when it is wanted. Everything else in
# `jitkit.loops` follows from that. XLA decides by the same question and a model of costs; here only the
# question is asked, and the last nest is the only candidate.
#
# Usual mistakes:
#   - Taking the variable whenever the buffer is one that this nest writes: at another index it holds another
#     element.
#   - Reading memory for what this iteration has just stored: correct, but one more pass over memory.
#   - Reading another row of what is written: the outer loop has not come there, or only one row of the array
#     is kept.
#
# In JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module


class Nest:
    def forwarded(self, place: Place, index: Index) -> str | None:
        """Decide how this nest reads an element of an array, and so whether two loops may be one.

        `written` has an entry for each buffer that the nest itself writes: `(when, where, name, is_after)`. `when` is the number
        of the inner loop that writes the buffer, from 0, or -1 if no part of this nest may read it; `where` is the index that is
        written; `name` is the variable that was stored. `is_after` says that it was stored behind the inner loop, once for each
        iteration of the outer loops, and not in the inner loop. The loop that is being written now is the last of `inner`. What is
        stored behind an inner loop can be read by all later ones, in the same iteration of the outer loops.

        Args:
          index: the index of the element. A nest that is `flat`, or has one axis, has no outer loops.

        Returns:
          The name of the variable that holds the element now, if it was stored in this same iteration. None, if the nest reads it
          from memory, because the nest does not write the buffer, or because an earlier inner loop has written the element. The
          latter is so if there are no outer loops, or if both indices have as many axes as the nest, and are equal except for the
          last entry. (What other iterations of the outer loops write is not there yet, or is the one row that is kept, and was
          overwritten.)

        Raises:
          Conflict: in all other cases: the loop cannot be a part of this nest. Also if the nest writes the buffer, and the place has
            a `base`, so that it is only a part of the buffer.
        """
        if place.buffer not in self.written:
            return None
        when, where, name, is_after = self.written[place.buffer]
        if place.base or when < 0:
            raise Conflict
        if when == len(self.inner) - 1:
            if index == where and not is_after:
                return name
            raise Conflict
        if index == where and is_after:
            return name
        if self.flat or len(self.shape) == 1:
            return None  # an earlier loop has written all of it
        if len(index) == len(self.shape) == len(where) and index[:-1] == where[:-1]:
            return None
        raise Conflict


# --- 14.3 One number for a row ------------------------------------------------------------------------------
# A register is read in a fraction of the time that memory takes. And a compiler may use eight of them for one
# sum, if it is told that the order does not matter: that is what `folds` is for, since for floats the order
# does matter, in the last digit. A reduction ends a fusion only for those who need its result: they wait for
# the end of the loop, but need not read memory.
#
# Usual mistakes:
#   - Beginning with 0: the maximum of negative numbers is not 0.
#   - Adding to the result in memory, element by element.
#   - Summing everything inside of a loop over rows: the sum begins again with each row.
#
# In JAX: jax/_src/lax/lax.py:reduce_sum


class Nest:
    def fold(self, kind: str, dtype: np.dtype[Any], ctype: str, name: str, note: str) -> str:
        """Combine the numbers of the innermost loop in a variable of their own, the accumulator.

        It is declared before the loop, with the number that changes nothing (`neutral`); each iteration combines it with `name`, as
        `COMBINE` says (`{t}` stands for the type). Add `(kind, accumulator, ctype)` to the loop's `folds`, from which `source` writes a
        `reduction(...)` clause: then the C compiler may combine in any order, with several accumulators.

        Args:
          kind: `"sum"`, `"max"` or another key of `COMBINE`.
          ctype: the accumulator's type in C.
          name: the number of this iteration.
          note: a comment for the line, such as `reduce_sum  model.py:3`.

        Returns:
          The accumulator's name: `a` and a number that no other name of the nest has, from `counted`.
        """
        self.counted += 1
        accumulator = f"a{self.counted}"
        self.loop.before.append(f"{ctype} {accumulator} = {neutral(kind, dtype)};")
        self.loop.body.append(f"{accumulator} = {COMBINE[kind].format(accumulator, name, t=ctype)};  // {note}")
        self.loop.folds.append((kind, accumulator, ctype))
        return accumulator


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


# --- 14.4 Who lives here ------------------------------------------------------------------------------------
# Memory is a register file, too: the question is the same as for registers, and so is the answer, by the
# intervals in which values live. A chain of a hundred operations needs two arrays. To find the smallest
# memory for any intervals and sizes is as hard as packing; the first gap that fits is good enough, and the
# plan is easy to follow.
#
# Usual mistakes:
#   - Giving a buffer back at its last use in the text of a loop.
#   - Believing that lives do not meet if one ends where the other begins: the step that reads a is the one
#     that writes b.
#   - Placing a buffer only after everything that was placed before, and never in a gap.
#
# In JAX: jax/_src/interpreters/pxla.py:lower_sharding_computation


def placed(lives: dict[Buffer, tuple[int, int]], sizes: dict[Buffer, int]) -> dict[Buffer, int]:
    """Place buffers in one piece of memory, so that buffers that live at the same time share no bytes.

    The buffers are placed in the order in which their lives begin; if several begin together, the largest is placed first. Each
    buffer gets the lowest offset at which it fits: between two placed buffers whose lives meet its own, or behind them.

    Args:
      lives: the first and the last step that uses each buffer, both included: two lives meet if they have a step in common.
      sizes: the number of bytes of each buffer.

    Returns:
      The offset of each buffer, in bytes.
    """
    offsets: dict[Buffer, int] = {}
    for x in sorted(lives, key=lambda each: (lives[each][0], -sizes[each])):
        at = 0
        for low, high in sorted((offsets[y], offsets[y] + sizes[y]) for y in offsets if meet(lives[y], lives[x])):
            if at + sizes[x] <= low:
                break
            at = max(at, high)
        offsets[x] = at
    return offsets


def whole_regions(first: int, last: int, regions: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Extend a life to the end of each loop that it enters from outside: the next iteration reads the buffer again.

    Args:
      first, last: the steps that the life begins and ends with.
      regions: the first and last step of each loop of control flow. One lies inside of another, or they have no step in common.

    Returns:
      The first step and the last one. (A life that begins within a loop is not extended: each iteration writes the buffer anew.)
    """
    return first, max([last, *(end for begin, end in regions if first < begin <= last <= end)])
