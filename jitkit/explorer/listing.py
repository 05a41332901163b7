"""text -> Listing: lines of a program, each with the equations that it came from

A pane of the page shows a listing. Indented lines can be folded.

JAX: jax/_src/pretty_printer.py:Doc
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any

MOST_COLUMNS = 600  # a longer line is cut here, and the listing says how much is left out
_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]{24})([0-9A-Fa-f]{40,})">')


@dataclasses.dataclass
class Listing:
    """Lines in a language. For each row, `equations` has the equations that the line surely came from, `guesses` the equations
    that it may have come from, and `notes` the text in the margin.
    """

    language: str
    lines: list[str] = dataclasses.field(default_factory=list)
    equations: list[list[int]] = dataclasses.field(default_factory=list)
    guesses: dict[int, list[int]] = dataclasses.field(default_factory=dict)
    notes: dict[int, str] = dataclasses.field(default_factory=dict)

    def add(self, line: str, equations: Iterable[int] = (), note: str = "") -> int:
        """Add a line, and return its row."""
        row = len(self.lines)
        self.lines.append(shortened(line))
        self.equations.append(list(dict.fromkeys(equations)))
        if note:
            self.notes[row] = note
        return row

    def as_data(self) -> dict[str, Any]:
        """Return the listing as plain data, as `docs/explorer.md` describes it."""
        return {
            "language": self.language,
            "lines": self.lines,
            "equations": self.equations,
            "guesses": {str(row): numbers for row, numbers in self.guesses.items()},
            "notes": {str(row): note for row, note in self.notes.items()},
        }


def shortened(line: str) -> str:
    """Return a line without the elements of large constants, cut at `MOST_COLUMNS` characters."""
    line = _HEX.sub(lambda m: f'dense<"0x{m[1]}..." /* {(len(m[1]) + len(m[2])) // 2} bytes */>', line)
    if len(line) <= MOST_COLUMNS:
        return line
    return f"{line[:MOST_COLUMNS]} ... ({len(line) - MOST_COLUMNS} characters more)"


def indent_of(line: str) -> int:
    """Return the indentation of a line."""
    return len(line) - len(line.lstrip(" "))


def owners(lines: Sequence[str], begun: Sequence[int | None]) -> list[int | None]:
    """Return the equation that each line of a jaxpr belongs to. `begun` has the equation that begins in each line; the
    lines of its parameters, and the line that closes them, belong to it.
    """
    open_: list[tuple[int, int]] = []  # indentation, equation
    found: list[int | None] = []
    for line, number in zip(lines, begun, strict=True):
        indent = indent_of(line)
        if number is not None:
            while open_ and open_[-1][0] >= indent:
                open_.pop()
            open_.append((indent, number))
        else:
            closes = line.lstrip().startswith(("]", ")", "}"))
            while open_ and (open_[-1][0] > indent or (open_[-1][0] == indent and not closes)):
                open_.pop()
        found.append(open_[-1][1] if open_ else None)
    return found
