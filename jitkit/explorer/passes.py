"""XLA's dumps after each of its passes -> a listing: which instructions each pass removed, and which it wrote in their
place

XLA's optimiser has about a hundred passes; about a dozen of them change a given program. The compiler dumps the program
after each of these. Two dumps are compared instruction by instruction, by their text without layouts. So if the page
does not know why an operation is gone, this names the pass that removed it, and the instructions in its place.

JAX: jax/_src/compiler.py:get_compile_options
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Sequence

from ..targets.hlo import Program
from . import hlo
from .equation import Equation
from .equations import numbers_in
from .listing import Listing

_LAYOUT = re.compile(r"(?<=\])\{[\d,]*(?::[^{}]*)?\}")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')

Line = tuple[str, tuple[int, ...]]


def listing(steps: Sequence[tuple[str, str]], equations: Sequence[Equation] = ()) -> Listing:
    """Return the lines that each pass removed and wrote. `steps` has each pass with the program after it; the first is
    the program before all passes.
    """
    found = Listing("hlo")
    before: list[Line] = []
    for place, (name, text) in enumerate(steps):
        after = list(_lines(text, equations))
        gone, new = _without(before, after), _without(after, before)
        if place and (gone or new):
            found.add(f"{name}:", note=f"{_count(gone)} gone, {len(new)} new")
            for sign, lines in (("-", gone), ("+", new)):
                for shown, numbers in lines:
                    found.add(f"  {sign} {shown}", numbers)
        before = after
    return found


def _count(lines: Sequence[Line]) -> str:
    return f"{len(lines)} instruction{'s' * (len(lines) != 1)}"


def _lines(text: str, equations: Sequence[Equation]) -> Iterable[Line]:
    """Yield the instructions of a program as the page shows them, each with its equations."""
    for body in Program(text).computations.values():
        for instruction in body:
            name = _OP_NAME.search(instruction.rest)
            numbers = tuple(numbers_in(name[1], equations)) if name else ()
            yield _LAYOUT.sub("", hlo.shown(instruction)), numbers


def _without(lines: Sequence[Line], others: Sequence[Line]) -> list[Line]:
    """Return the lines that `others` does not contain. A line that occurs n times more often than in `others` is
    returned n times.
    """
    left = collections.Counter(shown for shown, _ in others)
    found = []
    for line in lines:
        if left[line[0]]:
            left[line[0]] -= 1
        else:
            found.append(line)
    return found
