"""standing grades -> strings: table cells that no spreadsheet runs, JSON, and what a student may read about a check

Names and sentences come from students. So no cell is a formula, and control characters are removed.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from .records import PASS, HandIn

# What begins a formula: one of these characters at the start of a cell, or after a semicolon, which separates cells in
# many countries. Some spreadsheets accept the full-width characters of East Asian fonts, too.
_FORMULA = re.compile("(^\\s*|;\\s*)(?=[=+\\-@|%\uff1d\uff0b\uff0d\uff20])")


class ExportError(Exception):
    """Raised if an export cannot be made, with the reason."""


def cell(value: Any) -> str:
    """Return a value as a table cell: text that a spreadsheet does not run."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:g}"
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return _FORMULA.sub(r"\1'", text)


def table(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([cell(x) for x in row] for row in rows)
    return stream.getvalue()


def as_json(data: Any) -> str:
    """Return JSON that can be encoded in UTF-8: it has no lone surrogates."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")


def what_was_taken(handins: Sequence[HandIn]) -> str:
    """Return a line for each lab: the files that were taken from the student's last hand-in of the lab. Below is a line
    for each file of the very last hand-in that was passed over.
    """
    lines = [f"taken for lab {h.lab}: {', '.join(h.taken) or 'nothing'}" for h in handins if h.lab is not None]
    passed = dict.fromkeys(pair for h in handins[-1:] for pair in h.passed)
    return "\n".join([*lines, *(f"passed over: {path} ({why})" for path, why in passed)])


def told(check: dict[str, Any]) -> str:
    """Return what a student may read about a check: only its status if it is hidden or passes, else everything."""
    if check["hidden"] or check["status"] == PASS:
        return str(check["status"])
    lines = [f"{check['status']}: {check['sentence']}"]
    if check["line"] is not None:
        lines.append(f"{check['line'][0]}:{check['line'][1]}")
    if "expected" in check:
        lines += [f"at {check['where']}", f"expected: {check['expected']}", f"yours: {check['actual']}"]
    if check.get("output"):
        lines.append(f"printed: {check['output']}")
    return "\n".join(lines)
