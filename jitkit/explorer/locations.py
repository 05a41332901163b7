"""StableHLO with locations -> the same, where each operation of a function that one equation alone calls has that
equation's number

JAX lowers some operations, such as `cumsum`, to a separate function, and writes the number of the equation at the calls
only. When XLA inlines these calls, it does not add their names to the operations. So we write the number into the
function first.

JAX: jax/_src/interpreters/mlir.py:_emit_cached_call
"""

from __future__ import annotations

import re

from .equations import numbers_in

_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_FUNCTION = re.compile(r"^  func\.func private @([\w.$-]+)\(")
_CALL = re.compile(r"\bcall @([\w.$-]+)\(.* loc\((#loc\d*)\)$")
_LAST = re.compile(r" loc\((#loc\d*)\)$")
_NAMED = re.compile(r'^"((?:[^"\\]|\\.)*)"')


def with_numbers(text: str) -> str:
    """Return the module; its operations without a number get that of the equation that calls their function, if it is
    the only one.
    """
    lines = text.split("\n")
    known = {found[1]: found[2] for line in lines if (found := _DEFINITION.match(line))}
    numbers = {each: numbers_in(named[0]) if (named := _NAMED.match(what)) else [] for each, what in known.items()}
    bodies = _bodies(lines)
    callers: dict[str, set[int | None]] = {}
    for line in lines:
        if call := _CALL.search(line):
            callers.setdefault(call[1], set()).add(next(iter(numbers.get(call[2], [])), None))
    new: dict[tuple[str, int], str] = {}
    for function, rows in bodies.items():
        [number, *others] = callers.get(function, {None})
        places = {row: found[1] for row in rows if (found := _LAST.search(lines[row])) and "call @" not in lines[row]}
        own = {at for row, place in places.items() if "return" not in lines[row] for at in numbers.get(place, [])}
        if number is None or others or own - {number}:
            continue
        for row, place in places.items():
            named = _NAMED.match(known.get(place, ""))
            if named and not numbers.get(place):
                alias = new.setdefault((place, number), f"#loc{len(known) + len(new) + 1}")
                lines[row] = lines[row][: lines[row].rindex(" loc(")] + f" loc({alias})"
    added = [f'{alias} = loc("eqn~{number}/{known[place][1:]})' for (place, number), alias in new.items()]
    return "\n".join([*lines[:-1], *added, lines[-1]]) if added else text


def _bodies(lines: list[str]) -> dict[str, list[int]]:
    """Return the rows of each private function's body, without its first and last row."""
    found: dict[str, list[int]] = {}
    rows: list[int] | None = None
    for row, line in enumerate(lines):
        if function := _FUNCTION.match(line):
            rows = found.setdefault(function[1], [])
        elif line.startswith("  }"):
            rows = None
        elif rows is not None:
            rows.append(row)
    return found
