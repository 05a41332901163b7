"""text -> Listing: lines of a program, each with the equations that it came from

A listing is what a pane of the page shows. What folds is seen from the indentation, so nothing else says it.

JAX: jax/_src/pretty_printer.py:Doc
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any

MOST_COLUMNS = 600  # of a line; the rest of a longer one is left out, and its length said
_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]{24})([0-9A-Fa-f]{40,})">')


@dataclasses.dataclass
class Listing:
    """Lines in a language. By row: `equations` are those that a line surely came from, `guesses` those that it may have come
    from, `notes` what stands beside it in the margin.
    """

    language: str
    lines: list[str] = dataclasses.field(default_factory=list)
    equations: list[list[int]] = dataclasses.field(default_factory=list)
    guesses: dict[int, list[int]] = dataclasses.field(default_factory=dict)
    notes: dict[int, str] = dataclasses.field(default_factory=dict)

    def add(self, line: str, equations: Iterable[int] = (), note: str = "") -> int:
        """One more line; its row."""
        row = len(self.lines)
        self.lines.append(shortened(line))
        self.equations.append(list(dict.fromkeys(equations)))
        if note:
            self.notes[row] = note
        return row

    def as_data(self) -> dict[str, Any]:
        """Plain data, as `docs/explorer.md` describes it."""
        return {
            "language": self.language,
            "lines": self.lines,
            "equations": self.equations,
            "guesses": {str(row): numbers for row, numbers in self.guesses.items()},
            "notes": {str(row): note for row, note in self.notes.items()},
        }


def shortened(line: str) -> str:
    """A line without the elements of large constants, and not longer than a reader would follow."""
    line = _HEX.sub(lambda m: f'dense<"0x{m[1]}..." /* {(len(m[1]) + len(m[2])) // 2} bytes */>', line)
    if len(line) <= MOST_COLUMNS:
        return line
    return f"{line[:MOST_COLUMNS]} ... ({len(line) - MOST_COLUMNS} characters more)"


def indent_of(line: str) -> int:
    """How far a line is to the right."""
    return len(line) - len(line.lstrip(" "))


def owners(lines: Sequence[str], begun: Sequence[int | None]) -> list[int | None]:
    """The equation that each line of a jaxpr belongs to. `begun` has the one that begins in a line; the lines of its
    parameters, and the one that closes them, are its own.
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
