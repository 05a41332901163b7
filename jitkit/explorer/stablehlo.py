"""StableHLO with locations -> Listing

`loc(#loc7)` at the end of a line refers to a definition below the module, which has the name of the equation's scope. The
listing leaves locations out.

JAX: jax/_src/interpreters/mlir.py:module_to_string
"""

from __future__ import annotations

import re

from .equations import numbers_in
from .listing import Listing, indent_of

_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_STRING = r'"(?:[^"\\]|\\.)*"'
_LOCATION = re.compile(rf" loc\((#loc\d*|unknown|{_STRING}(?:\([^()]*\))?|(?:fused|callsite)[^\n]*?)\)(?=$|[,)\s])")
_OPERATION = re.compile(r"\b(?:stablehlo|chlo)\.(\w+)")
_IN_HLO = {"dot_general": "dot", "broadcast_in_dim": "broadcast", "case": "conditional"}
_QUOTED = re.compile(_STRING)


def listing(text: str) -> Listing:
    """Return the lines of a module, each with the equation that wrote it."""
    lines = text.splitlines()
    numbers: dict[str, list[int]] = {}
    for line in lines:
        definition = _DEFINITION.match(line)
        if definition:
            name = _QUOTED.search(definition[2])
            numbers[definition[1]] = numbers_in(name[0]) if name else []
    found = Listing("stablehlo")
    for line in lines:
        if line.startswith("#"):
            continue
        locations = _LOCATION.findall(line)
        own = locations[-1] if locations and not line.lstrip().startswith(("func.func", "module")) else ""
        found.add(_LOCATION.sub("", line), numbers.get(own) or numbers_in(own))
    _link_heads(found)
    return found


def written(found: Listing) -> dict[int, set[str]]:
    """Return the operations that each equation wrote, under HLO's names."""
    wrote: dict[int, set[str]] = {}
    for line, numbers in zip(found.lines, found.equations, strict=True):
        operation = _OPERATION.search(line)
        for number in numbers:
            own = wrote.setdefault(number, set())
            if operation:
                own.add(_IN_HLO.get(operation[1], operation[1].replace("_", "-")))
    return wrote


def _link_heads(found: Listing) -> None:
    """Link the first line of an operation with regions, and the lines between its regions. MLIR writes the operation's
    location after its last line.
    """
    for row, line in enumerate(found.lines):
        if not line.lstrip().startswith("}") or not found.equations[row]:
            continue
        indent = indent_of(line)
        for above in range(row - 1, -1, -1):
            text = found.lines[above]
            if indent_of(text) > indent:
                continue
            found.equations[above] = found.equations[above] or list(found.equations[row])
            if not text.lstrip().startswith(("}", "^", "cond {", "do {")):
                break
