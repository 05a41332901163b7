"""rows -> text, HTML: tables whose columns are declared, so that a row can be shown as soon as it is measured."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Column(NamedTuple):
    """A column. If the window is too narrow, columns of the highest `rank` are left out first; those of rank 0 stay."""

    name: str
    width: int  # in characters
    align: str = ">"  # "<" or ">"
    rank: int = 0


class Line(NamedTuple):
    """A row: its group, a string for each column, and sentences below it. `is_good` says whether the last cell is good
    news (True) or bad news (False); None if it is neither.
    """

    group: str
    cells: tuple[str, ...]
    notes: tuple[str, ...] = ()
    is_good: bool | None = None


INDENT, GAP = 2, 2


def fitting(columns: Sequence[Column], width: int) -> list[int]:
    """Return the indices of the columns that fit into this width; those of rank 0 are always among them."""
    kept = list(range(len(columns)))
    while INDENT + sum(columns[i].width + GAP for i in kept) - GAP > width:
        worst = max(kept, key=lambda i: (columns[i].rank, i))
        if not columns[worst].rank:
            break
        kept.remove(worst)
    return kept


def row(columns: Sequence[Column], cells: Sequence[str], kept: Sequence[int]) -> str:
    """Return one row as a line. A cell that is too long pushes the cells after it to the right: nothing is cut off."""
    texts = [f"{cells[i]:{columns[i].align}{columns[i].width}}" for i in kept]
    return (" " * INDENT + (" " * GAP).join(texts)).rstrip()


def head(columns: Sequence[Column], kept: Sequence[int]) -> str:
    """Return the names of the columns."""
    return row(columns, [column.name for column in columns], kept)


def text(columns: Sequence[Column], lines: Sequence[Line], width: int = 100) -> str:
    """Return a whole table as text."""
    return "\n".join(_text_lines(columns, lines, width))


def _text_lines(columns: Sequence[Column], lines: Sequence[Line], width: int) -> Iterator[str]:
    kept = fitting(columns, width)
    yield head(columns, kept)
    group = ""
    for line in lines:
        if line.group != group:
            yield line.group
        group = line.group
        yield row(columns, line.cells, kept)
        for note in line.notes:
            yield " " * 2 * INDENT + note


def as_html(columns: Sequence[Column], lines: Sequence[Line]) -> str:
    """Return a whole table for notebooks."""
    sides = {"<": "left", ">": "right"}
    names = "".join(f"<th style='text-align: {sides[c.align]}'>{html.escape(c.name)}</th>" for c in columns)
    rows = [f"<tr>{names}</tr>"]
    group = ""
    for line in lines:
        if line.group != group:
            rows.append(
                f"<tr><th colspan='{len(columns)}' style='text-align: left'>{html.escape(line.group)}</th></tr>"
            )
        group = line.group
        cells = zip(columns, line.cells, strict=True)
        rows.append(
            "".join(
                [
                    "<tr>",
                    *[f"<td style='text-align: {sides[c.align]}'>{html.escape(cell)}</td>" for c, cell in cells],
                    "</tr>",
                ]
            )
        )
        for note in line.notes:
            style = "text-align: left; white-space: pre-wrap; opacity: 0.75"
            rows.append(f"<tr><td colspan='{len(columns)}' style='{style}'>{html.escape(note)}</td></tr>")
    return f"<table>{''.join(rows)}</table>"
