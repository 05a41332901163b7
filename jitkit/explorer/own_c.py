"""function -> the C that our own compiler writes for it, and its assembly: two listings, linked like all others

Each operation of the C has its equation in a comment, `// sin  model.py:3  eqn~12`. Each instruction of the assembly
has its line of C, from the `.loc` that debuggers read. If there is no C, or no C compiler for the assembly, the pane has a
sentence instead.

JAX: jax/_src/stages.py:Compiled.as_text
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..base.errors import JaxRuntimeError
from ..loops import native
from ..targets import Target
from .equations import numbers_in
from .listing import Listing
from .subject import Subject

TARGET = Target("c", "this machine's processor, by our own compiler", "cpu", "", None, "assembly", "")
NAME = TARGET.name
NOT_ASKED = "The page shows the assembly if the target `c` is asked for, or if no target is named."
MOST_LINES = 1500  # more lines of assembly are left out
_MARK = re.compile(r"  eqn~\d+$")
_ASSIGNED = re.compile(r"^(?:\w+ )?(\w+) = ")
_STORED = re.compile(r"= (\w+);$")
_FUNCTION = re.compile(r"^(?:INLINE|LOOP|static|void)\b[^(]*?(\w+)\(")
_CALLED = re.compile(r"\b([a-z]\w*)\(")
_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_SECTION = re.compile(r"^\s*\.section\s+\.debug|^\s*\.(?:text|section|data)\b")
_KEPT = re.compile(r"^\s+[a-z]\w*\b|^(?!\.L(?:V|B|F|debug|text|fe|fb|s?cold))[\w.$]+:")


def panes(subject: Subject, with_assembly: bool = True) -> dict[str, Any]:
    """Return the data of both panes: `listing` and `assembly`, and the counts of loops and bytes; or `error`. Writing
    the C takes milliseconds, so it is always done; the assembly needs a run of the C compiler.
    """
    if subject.c is None:
        return {"error": "Functions of jitkit's have C, those of JAX's have none." if subject.library == "jax" else ""}
    try:
        source = subject.c()
    except NotImplementedError as error:
        return {"error": str(error)}
    listing, found = c_listing(source.text), Listing("asm")
    problem = NOT_ASKED
    if with_assembly:
        problem = ""
        try:
            found = assembly_listing(native.assembly(source.text, ("-g1",)), listing)
        except JaxRuntimeError as error:
            problem = str(error)
    return {
        "listing": listing.as_data(),
        "assembly": found.as_data(),
        "no_assembly": problem,
        "costs": {
            "loops": source.loops,
            "bytes": int(source.costs["bytes accessed"]),
            "flops": int(source.costs["flops"]),
        },
        "workspace": source.workspace,
    }


def c_listing(text: str) -> Listing:
    """Return the lines of a program in C, each with its equations.

    A line has the equations in its comment. A store has the equations of the value that it stores. The head of a loop has
    the equations in the loop, which the comment above it names. The lines of a helper belong to its callers: surely if one
    equation calls it, by a guess if several do.
    """
    found = Listing("c")
    of_name: dict[str, list[int]] = {}  # variables of this function
    of_function: dict[str, list[int]] = {}
    helpers: dict[str, list[int]] = {}  # name -> rows
    above: list[int] = []
    inside = ""
    for line in text.rstrip().splitlines():
        numbers, plain = numbers_in(line), line.strip()
        if head := _FUNCTION.match(line):
            inside, of_name = head[1], {}
            of_function[inside], above = above, []
            numbers = of_function[inside]
        elif line.startswith("//"):
            above = [*above, *numbers]
        elif stored := _STORED.search(plain):
            numbers = numbers or of_name.get(stored[1], [])
        if numbers and (assigned := _ASSIGNED.match(plain)):
            of_name[assigned[1]] = numbers
        row = found.add(_MARK.sub("", line), numbers or of_function.get(plain.partition("(")[0], []))
        if inside and not of_function[inside] and inside != "run":
            helpers.setdefault(inside, []).append(row)
        if line.startswith("}") or line.endswith("; }"):
            inside = ""
    _link_helpers(found, helpers)
    return found


def _link_helpers(found: Listing, helpers: dict[str, list[int]]) -> None:
    """Give the rows of helpers the equations of the rows that call them, directly or through another helper."""
    own = {row for rows in helpers.values() for row in rows}
    users: dict[str, list[int]] = {name: [] for name in helpers}
    for row, line in enumerate(found.lines):
        if row not in own and not line.startswith("LOOP"):
            for name in _CALLED.findall(line):
                users.get(name, []).extend(found.equations[row])
    for name in reversed(helpers):  # a helper stands above those that call it
        for row in helpers[name]:
            for called in _CALLED.findall(found.lines[row]):
                if called != name:
                    users.get(called, []).extend(users[name])
    for name, rows in helpers.items():
        numbers = list(dict.fromkeys(users[name]))
        for row in rows:
            if len(numbers) == 1:
                found.equations[row] = numbers
            elif numbers:
                found.guesses[row] = numbers


def assembly_listing(text: str, c: Listing) -> Listing:
    """Return the instructions and labels of assembly, at most `MOST_LINES`, each with the equations of its line of C,
    and that line's number in the margin.
    """
    found = Listing("asm")
    before = 0
    for line, number in _instructions(text):
        if len(found.lines) >= MOST_LINES:
            found.add("... the rest is left out here")
            break
        known = 0 < number <= len(c.lines)
        note = f"C {number}" if known and number != before else ""
        row = found.add(line.expandtabs(4).rstrip(), c.equations[number - 1] if known else [], note)
        if known and number - 1 in c.guesses:
            found.guesses[row] = c.guesses[number - 1]
        before = number
    return found


def _instructions(text: str) -> Iterator[tuple[str, int]]:
    row, in_code = 0, True
    for line in text.splitlines():
        if place := _PLACE.match(line):
            row = int(place[2])
        elif _SECTION.match(line):
            in_code = ".debug" not in line and ".rodata" not in line
        elif in_code and _KEPT.match(line):
            yield line, row if line.startswith((" ", "\t")) else 0
