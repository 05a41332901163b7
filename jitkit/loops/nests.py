"""Loops: what is stored, over which indices, and which loops are fused

A nest has a loop over each axis of a shape; over the last axis there may be several, one after the other:

    for (i0 ...) {                          softmax of rows: three inner loops, one nest
      m = max over i1 of x[i0, i1]
      for (i1 ...) e[i1] = exp(x[i0, i1] - m), s += e[i1]
      for (i1 ...) out[i0, i1] = e[i1] / s
    }

Operations between two stores have no loops of their own: they are expressions in the loop that needs them. That is
fusion. The next loop over the same shape joins the last nest if it can. It may read an array that this nest writes if
each element was written before: in the same iteration of the inner loop (then it is in a register), or in an earlier
inner loop of the same outer iteration. Otherwise there is a `Conflict`, and the loop begins a new nest. `e` above is
read within one outer iteration only, so only one row of it needs memory.

A nest over all elements in order, ignoring their shape, is `flat`: one loop.

JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module
"""

from __future__ import annotations

import copy
import dataclasses
import re
from typing import Any, NamedTuple, Protocol

import numpy as np

from .formulas import COMBINE, neutral
from .language import Atom

Index = tuple[str, ...]
_WORD = re.compile(r"[a-z]\w*")
FLAT: Index = ("flat",)  # stands for the element's number in row-major order


class Conflict(Exception):
    """Raised if a loop cannot be part of the nest that it would join."""


class Buffer:
    """The memory of an array: an input, an output, or a part of the workspace, where `plan` places it."""

    def __init__(self, name: str, dtype: np.dtype[Any], size: int, pinned: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.size = size
        self.pinned = pinned  # whether the whole array is needed, not only one row
        self.partners: list[Buffer] = []  # buffers with which it is swapped
        self.times: list[int] = []  # the steps outside of nests that use it

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self.size * self.dtype.itemsize


class Place(NamedTuple):
    """Where an array is stored: without gaps in a buffer, from element `base` (an expression) on."""

    buffer: Buffer  # the memory that contains it
    shape: tuple[int, ...]
    base: str = ""  # the element of the buffer at which it begins, an expression of C; "" is 0


class Access(NamedTuple):
    """An element of a buffer that a nest reads or writes. Its offset is the sum of two expressions: `outer`, of the
    outer loops' indices, and `inner`, of the last loop's index.
    """

    buffer: Buffer
    outer: str
    inner: str
    last: int  # the size of the last axis
    is_write: bool


@dataclasses.dataclass
class Inner:
    """One loop over the last axis, with the code before and after it."""

    before: list[str] = dataclasses.field(default_factory=list)
    body: list[str] = dataclasses.field(default_factory=list)
    after: list[str] = dataclasses.field(default_factory=list)
    # for each fold: its kind, its accumulator, the C type
    folds: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    serial: bool = False  # whether an iteration needs the one before

    def copied(self) -> Inner:
        """Return a copy, with its own lists."""
        return Inner([*self.before], [*self.body], [*self.after], [*self.folds], self.serial)


class Nest:
    """Loops over a shape, and the code in them."""

    def __init__(self, number: int, shape: tuple[int, ...], flat: bool, time: int) -> None:
        self.number = number
        self.shape = shape  # the number of elements along each axis
        self.flat = flat  # whether it is one loop over all elements
        self.time = time  # the number of the step in which it runs
        self.closed = False  # whether no other loop may join it
        self.inner: list[Inner] = []  # the inner loops, the current one last
        self.names: dict[Any, str] = {}  # names of values that this iteration of the inner loop has computed
        self.outer_names: dict[Any, str] = {}  # names of values that this iteration of the outer loops has computed
        # buffer -> the inner loop that writes it, the index, the name that is stored, and whether it is stored after the loop
        self.written: dict[Buffer, tuple[int, Index, str, bool]] = {}
        self.accesses: list[Access] = []
        self.counted = 0  # how many names there are so far
        self.flops = 0  # operations for each element
        self.dear = 0  # how many of these operations are in `DEAR`
        self.sources: dict[str, None] = {}  # operations, in order

    _PARTS = ("names", "outer_names", "written", "accesses", "counted", "flops", "dear", "sources", "closed")

    def saved(self) -> dict[str, Any]:
        """Return the state for `restore`."""
        return {name: copy.copy(getattr(self, name)) for name in self._PARTS} | {
            "inner": [x.copied() for x in self.inner]
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore an earlier state."""
        vars(self).update(state)

    @property
    def loop(self) -> Inner:
        """The current inner loop."""
        return self.inner[-1]

    @property
    def last(self) -> str:
        """The index of the innermost loop."""
        return f"i{max(len(self.shape) - 1, 0)}"

    @property
    def index(self) -> Index:
        """Return the index of an element in this iteration."""
        return FLAT if self.flat and self.shape else tuple(f"i{k}" for k in range(len(self.shape)))

    def begin_inner(self) -> None:
        """Begin a new loop over the last axis."""
        self.inner.append(Inner())
        self.names = {}

    def is_inner(self, *texts: str) -> bool:
        """Return whether one of these expressions may change in each iteration of the innermost loop."""
        return bool(self.shape) and any(self._is_inner(text) for text in texts)

    def _is_inner(self, text: str) -> bool:
        return any(word == self.last or word[0] == "w" for word in _WORD.findall(text))

    def variable(self, key: Any, ctype: str, expression: str, operands: list[str], note: str) -> str:
        """Write a new variable for an expression, and return its name: `w1` if it must be inside the innermost loop,
        else `v1`, before that loop.
        """
        self.counted += 1
        is_inner = self.is_inner(*operands)
        name = f"{'w' if is_inner else 'v'}{self.counted}"
        line = f"{ctype} {name} = {expression};{f'  // {note}' if note else ''}"
        if is_inner:
            self.loop.body.append(line)
            self.names[key] = name
        else:
            self.loop.before.append(line)
            self.outer_names[key] = name
        return name

    # --- memory -----------------------------------------------------------------------------------------------------

    def access(self, place: Place, index: Index, is_write: bool) -> str:
        """Return the element of an array at an index, as C: a placeholder, which `source` replaces once it is known how
        much of the buffer is kept.
        """
        shape = place.shape
        if index is FLAT:
            index, shape = ("i0",), (int(np.prod(place.shape)),)
        terms, stride = [], 1
        for size, part in zip(reversed(shape), reversed(index), strict=True):
            terms.append(part if stride == 1 else f"{part}*{stride}" if part != "0" else "0")
            stride *= size
        inner = terms[0] if terms else "0"
        outer = " + ".join(term for term in [place.base, *terms[:0:-1]] if term not in ("", "0"))
        access = Access(place.buffer, outer, inner, shape[-1] if shape else 1, is_write)
        self.accesses.append(access)
        return f"\x01{place.buffer.name}|{outer}|{inner}\x02"

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

    def store(self, place: Place, index: Index, name: str, after: bool = False, whole: bool = True) -> None:
        """Write the line that stores an element: in the innermost loop, or, with `after`, after it. Without `whole`, no
        later loop of this nest can read the array.
        """
        target = self.access(place, index, True)
        (self.loop.after if after else self.loop.body).append(f"{target} = {name};")
        readable = whole and not place.base
        self.written[place.buffer] = (len(self.inner) - 1 if readable else -1, index, name, after)

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


class Emitter(Protocol):
    """Writes the C of expressions for a nest; `writer` implements it."""

    def emit(self, nest: Nest, x: Atom, index: Index) -> str:
        """Write the code that computes an element; return the name of its variable."""
