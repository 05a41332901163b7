"""What the `mutants.py` of a lab is written with: plausible wrong answers, each with the misconception that it embodies.

    edit("02.3", "operand order does not matter", "Which operand does `sub` read first?",
         "for var in eqn.invars", "for var in reversed(eqn.invars)")

    @mutant("02.3", "side effects survive", "What does Python do between two equations?")
    def prints_twice(jaxpr, consts, *args): ...

The first is the reference with some of its text replaced; the second a function of its own. Either must fail, on a check that
is said to be `against` the same misconception: that is how the checks are checked. And when a learner's function fails the
checks that a mutant fails, the mutant's hint is the one for them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

from .engine.splice import Target


class Mutant(NamedTuple):
    """A wrong answer: the exercise, what whoever writes it believes, a hint for them, and how to make it."""

    exercise: str
    misconception: str
    hint: str
    name: str
    line: int  # in mutants.py
    edit: tuple[str, str] | None  # text of the reference, and what stands there instead
    source: str  # or a function; empty with an edit
    target: str  # the name of the target, where the exercise has several; else empty


_collected: list[Mutant] = []


def edit(exercise: str, misconception: str, hint: str, old: str, new: str, *, target: str = "") -> None:
    """A mutant that is the reference with `old`, which occurs once in it, replaced by `new`. An exercise of several
    functions needs `target`, the dotted name of one."""
    line = _caller_line()
    _collected.append(
        Mutant(exercise, misconception, hint, f"edit at line {line}", line, (old, new), "", target)
    )


def mutant(
    exercise: str, misconception: str, hint: str, *, target: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a mutant. It may have any name; it takes the parameters of the reference."""
    line = _caller_line()

    def collect(function: Callable[..., Any]) -> Callable[..., Any]:
        _collected.append(
            Mutant(exercise, misconception, hint, function.__name__, line, None, function.__name__, target)
        )
        return function

    return collect


def load_mutants(source: str, path: str) -> list[Mutant]:
    """The mutants that a `mutants.py` defines, in its order."""
    _collected.clear()
    exec(compile(source, path, "exec"), {"__name__": "mutants", "__file__": path})
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    found = []
    for m in _collected:
        if m.source:
            node = functions[m.source]
            node.decorator_list = []
            m = m._replace(source=ast.unparse(node))
        found.append(m)
    _collected.clear()
    return found


def mutant_source(mutant: Mutant, target: Target, reference: str) -> str:
    """A learner's file whose function for `target` is the mutant. `reference` is the source of the function there.

    ValueError where the text that an edit replaces does not occur exactly once.
    """
    if mutant.edit is not None:
        old, new = mutant.edit
        if reference.count(old) != 1:
            raise ValueError(
                f"{old!r} occurs {reference.count(old)} times in `{target}`, and should occur once"
            )
        return in_its_class(target, reference.replace(old, new))
    tree = ast.parse(mutant.source)
    function = tree.body[0]
    if isinstance(function, ast.FunctionDef):
        function.name = target.path[-1]
    return in_its_class(target, ast.unparse(tree))


def in_its_class(target: Target, source: str) -> str:
    """The source of a function, inside of `class` statements where its target is a method."""
    for depth, name in enumerate(reversed(target.path[:-1])):
        source = f"class {name}:\n{textwrap.indent(source, '    ')}"
        assert depth < 3, "classes are not nested deeper"
    return source


def _caller_line() -> int:
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return caller.f_lineno if caller is not None else 0
