"""14 A compiler of your own: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 14.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

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


# --- 14.1 The same element, elsewhere (3 points) ------------------------------------------------------------
# A broadcast, a transpose, a slice and a reversal compute nothing, so they need no loop and no memory: the
# loop that reads the result reads the operand instead, at another index. Write the four functions that return
# the operand's index for an index of the result. An index is a tuple of strings, each an expression of C.


def broadcast_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `broadcast_in_dim`.

    Axis k of the operand is axis `op.params["broadcast_dimensions"][k]` of the result. If an axis
    has one element in the operand, and more in the result, this element is read for all of them:
    its index is `"0"`.

    Args:
      index: an expression of C for each axis of the result, such as `("i0", "(i1 + 2)")`.

    Returns:
      An expression for each axis of the operand, `op.ins[0]`.
    """
    raise NotImplementedError("14.1")


def transpose_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `transpose`: axis k of the
    result is axis `op.params["permutation"][k]` of the operand.
    """
    raise NotImplementedError("14.1")


def slice_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `slice`: element i along an
    axis is element `start + i * stride` of the operand, with `op.params["start_indices"]` and
    `op.params["strides"]`, which is None if every stride is 1.

    A returned expression may become a factor, or a part of a sum: put parentheses around a sum.
    """
    raise NotImplementedError("14.1")


def rev_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `rev`: along the axes
    `op.params["dimensions"]` the last element comes first.
    """
    raise NotImplementedError("14.1")


# --- 14.2 When two loops may be one (4 points) --------------------------------------------------------------
# The writer tries to make each new loop a part of the last nest. That is allowed if each element that the new
# loop reads is there when it is read. Decide that for one element.


class Nest:
    def forwarded(self, place: Place, index: Index) -> str | None:
        """Decide how this nest reads an element of an array, and so whether two loops may be one.

        `written` has an entry for each buffer that the nest itself writes:
        `(when, where, name, is_after)`. `when` is the number of the inner loop that writes the
        buffer, from 0, or -1 if no part of this nest may read it; `where` is the index that is
        written; `name` is the variable that was stored. `is_after` says that it was stored behind
        the inner loop, once for each iteration of the outer loops, and not in the inner loop. The
        loop that is being written now is the last of `inner`. What is stored behind an inner loop
        can be read by all later ones, in the same iteration of the outer loops.

        Args:
          index: the index of the element. A nest that is `flat`, or has one axis, has no outer
            loops.

        Returns:
          The name of the variable that holds the element now, if it was stored in this same
          iteration. None, if the nest reads it from memory, because the nest does not write the
          buffer, or because an earlier inner loop has written the element. The latter is so if
          there are no outer loops, or if both indices have as many axes as the nest, and are equal
          except for the last entry. (What other iterations of the outer loops write is not there
          yet, or is the one row that is kept, and was overwritten.)

        Raises:
          Conflict: in all other cases: the loop cannot be a part of this nest. Also if the nest
            writes the buffer, and the place has a `base`, so that it is only a part of the buffer.
        """
        raise NotImplementedError("14.2")


# --- 14.3 One number for a row (3 points) -------------------------------------------------------------------
# A sum of a row has one result, and as many additions as there are elements. Keep it in a variable until the
# row is done, so that memory sees one number only.


class Nest:
    def fold(self, kind: str, dtype: np.dtype[Any], ctype: str, name: str, note: str) -> str:
        """Combine the numbers of the innermost loop in a variable of their own, the accumulator.

        It is declared before the loop, with the number that changes nothing (`neutral`); each
        iteration combines it with `name`, as `COMBINE` says (`{t}` stands for the type). Add
        `(kind, accumulator, ctype)` to the loop's `folds`, from which `source` writes a
        `reduction(...)` clause: then the C compiler may combine in any order, with several
        accumulators.

        Args:
          kind: `"sum"`, `"max"` or another key of `COMBINE`.
          ctype: the accumulator's type in C.
          name: the number of this iteration.
          note: a comment for the line, such as `reduce_sum  model.py:3`.

        Returns:
          The accumulator's name: `a` and a number that no other name of the nest has, from
          `counted`.
        """
        raise NotImplementedError("14.3")


def fold_in_register(writer: Writer, op: Op, place: Place) -> None:
    """Write a reduction over the last axis, or over all axes, as one loop with an accumulator that
    is stored behind it.

    The loop is over the operand: `writer.nest(x.shape, body, flat=...)` calls `body(nest, index)`,
    which writes the lines for one element. It may call `body` several times, since the loop may
    become a part of the nest before it. In `body`, `writer.emit(nest, x, index)` returns the name
    of the element, and `nest.store`, with `after`, stores a result behind the innermost loop. A
    reduction over all axes is `flat`: one loop over all elements in their order. A nest that is not
    flat would begin the accumulator anew for each row, so a reduction over all axes cannot be a
    part of such a nest: raise `Conflict`. Add one to the nest's `flops`, and the operation with its
    line, `reduce_sum  model.py:3` (two spaces), to its `sources`; the same text is the note at the
    accumulator.

    Args:
      op: `reduce_sum`, `reduce_max` or another; its kind is its name without `reduce_`.
      place: where the result goes. Over all axes, the result has one element, with the index `()`;
        over the last axis, the index of an element is the loop's index without its last entry.
    """
    raise NotImplementedError("14.3")


# --- 14.4 Who lives here (3 points) -------------------------------------------------------------------------
# A program of a hundred steps needs memory for a hundred arrays, but not at the same time. Give bytes to
# arrays, and take them back.


def placed(lives: dict[Buffer, tuple[int, int]], sizes: dict[Buffer, int]) -> dict[Buffer, int]:
    """Place buffers in one piece of memory, so that buffers that live at the same time share no
    bytes.

    The buffers are placed in the order in which their lives begin; if several begin together, the
    largest is placed first. Each buffer gets the lowest offset at which it fits: between two placed
    buffers whose lives meet its own, or behind them.

    Args:
      lives: the first and the last step that uses each buffer, both included: two lives meet if
        they have a step in common.
      sizes: the number of bytes of each buffer.

    Returns:
      The offset of each buffer, in bytes.
    """
    raise NotImplementedError("14.4")


def whole_regions(first: int, last: int, regions: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Extend a life to the end of each loop that it enters from outside: the next iteration reads
    the buffer again.

    Args:
      first, last: the steps that the life begins and ends with.
      regions: the first and last step of each loop of control flow. One lies inside of another, or
        they have no step in common.

    Returns:
      The first step and the last one. (A life that begins within a loop is not extended: each
      iteration writes the buffer anew.)
    """
    raise NotImplementedError("14.4")
