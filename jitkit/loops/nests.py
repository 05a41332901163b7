"""Loops: what is stored, over which indices, and which loops become one

A nest is a loop over each axis of a shape, and inside of the outer ones one or several loops over the last axis, one after the other:

    for (i0 ...) {                          softmax of rows: three inner loops, one nest
      m = max over i1 of x[i0, i1]
      for (i1 ...) e[i1] = exp(x[i0, i1] - m), s += e[i1]
      for (i1 ...) out[i0, i1] = e[i1] / s
    }

Operations between two stores have no loops of their own: they are expressions of the loop that needs them. That is fusion. A further
loop over the same shape joins the last nest if it may: what it reads of arrays that this nest writes must have been written in the
same turn of the inner loop (then it is read from a register), or in an inner loop before, of the same outer turn. Else there is a
`Conflict`, and it begins a nest of its own. `e` above is read within one outer turn only, so one row is all of it that needs memory.

A nest over all elements in their order, whatever their shape, is `flat`: one loop.

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
FLAT: Index = ("flat",)  # the index of an element by its number: of every array with this size


class Conflict(Exception):
    """The loop cannot be part of this nest."""


class Buffer:
    """Memory for an array: of an input or an output, or in the workspace, where `plan` gives it a place."""

    def __init__(self, name: str, dtype: np.dtype[Any], size: int, pinned: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.size = size
        self.pinned = pinned  # all of it has to be there
        self.partners: list[Buffer] = []  # with which it changes places
        self.times: list[int] = []  # when it is used outside of nests

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize


class Place(NamedTuple):
    """Where an array is: in a buffer, dense, from the element `base` (an expression) on."""

    buffer: Buffer
    shape: tuple[int, ...]
    base: str = ""


class Access(NamedTuple):
    """A place in a buffer that a nest reads or writes: the expressions of its offset in the outer loops, and in the last one."""

    buffer: Buffer
    outer: str
    inner: str
    last: int  # the size of the last axis
    is_write: bool


@dataclasses.dataclass
class Inner:
    """One loop over the last axis, with what is done before and after."""

    before: list[str] = dataclasses.field(default_factory=list)
    body: list[str] = dataclasses.field(default_factory=list)
    after: list[str] = dataclasses.field(default_factory=list)
    folds: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)  # kind, accumulator, C type
    serial: bool = False  # whether a turn needs the one before

    def copied(self) -> Inner:
        """The same with lists of its own."""
        return Inner([*self.before], [*self.body], [*self.after], [*self.folds], self.serial)


class Nest:
    """Loops over a shape, and what is written in them."""

    def __init__(self, number: int, shape: tuple[int, ...], flat: bool, time: int) -> None:
        self.number = number
        self.shape = shape
        self.flat = flat
        self.time = time
        self.closed = False
        self.inner: list[Inner] = []
        self.names: dict[Any, str] = {}  # what was computed in this turn of the inner loop
        self.outer_names: dict[Any, str] = {}  # and in this one of the outer loops
        # In which inner loop, at which index, from which name, and whether after it.
        self.written: dict[Buffer, tuple[int, Index, str, bool]] = {}
        self.accesses: list[Access] = []
        self.counted = 0  # names so far
        self.flops = 0
        self.dear = 0
        self.sources: dict[str, None] = {}  # operations, in order

    _PARTS = ("names", "outer_names", "written", "accesses", "counted", "flops", "dear", "sources", "closed")

    def saved(self) -> dict[str, Any]:
        """What `restore` needs."""
        return {name: copy.copy(getattr(self, name)) for name in self._PARTS} | {
            "inner": [x.copied() for x in self.inner]
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Be as before."""
        vars(self).update(state)

    @property
    def loop(self) -> Inner:
        """The inner loop that is written now."""
        return self.inner[-1]

    @property
    def last(self) -> str:
        """The index of the innermost loop."""
        return f"i{max(len(self.shape) - 1, 0)}"

    @property
    def index(self) -> Index:
        """The index of an element in this turn."""
        return FLAT if self.flat and self.shape else tuple(f"i{k}" for k in range(len(self.shape)))

    def begin_inner(self) -> None:
        """Go on with a new loop over the last axis."""
        self.inner.append(Inner())
        self.names = {}

    def is_inner(self, *texts: str) -> bool:
        """Whether one of the expressions is another one at each turn of the innermost loop."""
        return bool(self.shape) and any(self._is_inner(text) for text in texts)

    def _is_inner(self, text: str) -> bool:
        return any(word == self.last or word[0] == "w" for word in _WORD.findall(text))

    def variable(self, key: Any, ctype: str, expression: str, operands: list[str], note: str) -> str:
        """A new variable for an expression: `w1` in the innermost loop if it has to be there, `v1` before that one if not."""
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
        """The element of an array at an index, as C: a token, which `source` makes one of when it is known how much of the
        buffer is kept.
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
        """For what this nest has written itself: the name that is there, or None where it can be read. Conflict, where it is
        not there yet.
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
        if self.flat or len(self.shape) <= 1:
            return None  # a loop before has written all of it
        if len(index) == len(self.shape) == len(where) and index[:-1] == where[:-1]:
            return None
        raise Conflict

    def store(self, place: Place, index: Index, name: str, after: bool = False, whole: bool = True) -> None:
        """Write an element. With `after`, after the innermost loop; unless `whole`, nobody can read it in this nest."""
        target = self.access(place, index, True)
        (self.loop.after if after else self.loop.body).append(f"{target} = {name};")
        readable = whole and not place.base
        self.written[place.buffer] = (len(self.inner) - 1 if readable else -1, index, name, after)

    def fold(self, kind: str, dtype: np.dtype[Any], ctype: str, name: str) -> str:
        """Combine the numbers of the innermost loop; returns the name of what comes of it."""
        self.counted += 1
        accumulator = f"a{self.counted}"
        self.loop.before.append(f"{ctype} {accumulator} = {neutral(kind, dtype)};")
        self.loop.body.append(f"{accumulator} = {COMBINE[kind].format(accumulator, name, t=ctype)};")
        self.loop.folds.append((kind, accumulator, ctype))
        return accumulator


class Emitter(Protocol):
    """What writes expressions: the `writer`."""

    def emit(self, nest: Nest, x: Atom, index: Index) -> str:
        """Write what computes an element, and return its name."""
