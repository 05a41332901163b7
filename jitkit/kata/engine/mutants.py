"""The functions with which the `mutants.py` of a lab is written: it has plausible wrong answers, each with the misconception behind
it, and right answers, written in another way than the reference.

    edit("02.3", "operand order does not matter", "Which operand does `sub` read first?",
         "for var in eqn.invars", "for var in reversed(eqn.invars)")

    @mutant("02.3", "side effects survive", "What does Python do between two equations?")
    def prints_twice(jaxpr, consts, *args): ...

    @also_right("02.3", "with a stack of its own")
    def one_by_one(jaxpr, consts, *args): ...

The first is the reference with a part of its source replaced, the second a whole function. Both must fail a check that is `against`
the same misconception: so the checks are tested, too. If a learner's function fails in the same way as a mutant, the learner gets
the mutant's hint.

The third must pass every check, the hidden ones too: checks must not compare what the text of an exercise leaves open.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

from .names import tree_of
from .submission import Target


class Mutant(NamedTuple):
    """A wrong answer: the exercise, what its author believes, a hint for them, and the code."""

    exercise: str
    misconception: str
    hint: str
    name: str
    line: int  # the line in mutants.py
    edit: tuple[str, str] | None  # a part of the reference's source, and its replacement
    source: str  # the source of a function; "" if there is an edit
    target: str  # the name of the target, if the exercise has several; else ""


class RightAnswer(NamedTuple):
    """A right answer, written in another way than the reference."""

    exercise: str
    how: str  # the approach
    functions: dict[str, str]  # name of a target ("" if there is only one) -> the source of the function


_collected: list[Mutant] = []
_right: list[tuple[str, str, str, int]] = []  # the exercise, `how`, the target, and the line of the decorator


def edit(exercise: str, misconception: str, hint: str, old: str, new: str, *, target: str = "") -> None:
    """Make a mutant from the reference's function: replace `old`, which occurs once outside of its docstring, by `new`. In
    an exercise of several functions, `target` is the dotted name of the one to change.
    """
    line = _caller_line()
    _collected.append(Mutant(exercise, misconception, hint, f"edit at line {line}", line, (old, new), "", target))


def mutant(
    exercise: str, misconception: str, hint: str, *, target: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function a mutant. The function may have any name; it takes the reference's parameters."""
    line = _caller_line()

    def collect(function: Callable[..., Any]) -> Callable[..., Any]:
        _collected.append(
            Mutant(exercise, misconception, hint, function.__name__, line, None, function.__name__, target)
        )
        return function

    return collect


def also_right(exercise: str, how: str, *, target: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function a right answer to an exercise. The function may have any name. It takes the
    parameters of the reference, and its body imports everything that it needs and the exercise's file does not import.

    If an exercise has several targets, their functions with the same `how` are one answer.
    """
    line = _caller_line()

    def collect(function: Callable[..., Any]) -> Callable[..., Any]:
        _right.append((exercise, how, target, line))
        return function

    return collect


def load_mutants(source: str, path: str) -> list[Mutant]:
    """Return the mutants that a `mutants.py` defines, in its order."""
    return _load(source, path)[0]


def load_right_answers(source: str, path: str) -> list[RightAnswer]:
    """Return the right answers in a `mutants.py`, in its order."""
    return _load(source, path)[1]


def _load(source: str, path: str) -> tuple[list[Mutant], list[RightAnswer]]:
    _collected.clear()
    _right.clear()
    exec(compile(source, path, "exec"), {"__name__": "mutants", "__file__": path})
    functions = {
        decorator.lineno: node
        for node in tree_of(source).body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list[:1]  # `mutant` or `also_right`; the others are the answer's
    }

    def source_at(line: int) -> str:
        node = copy.copy(functions[line])
        node.decorator_list = node.decorator_list[1:]
        return ast.unparse(node)

    mutants = [m._replace(source=source_at(m.line)) if m.source else m for m in _collected]
    answers: dict[tuple[str, str], dict[str, str]] = {}
    for exercise, how, target, line in _right:
        answers.setdefault((exercise, how), {})[target] = source_at(line)
    _collected.clear()
    _right.clear()
    return mutants, [RightAnswer(*key, functions) for key, functions in answers.items()]


def mutant_source(mutant: Mutant, target: Target, reference: str) -> str:
    """Return a learner's file whose function for `target` is the mutant. `reference` is the source of the reference's
    function.

    Raise ValueError unless the part that an edit replaces occurs exactly once outside of the docstring.
    """
    if mutant.edit is not None:
        old, new = mutant.edit
        parts = _around_the_docstring(reference)
        count = sum(part.count(old) for part in (parts[0], parts[2]))
        if count != 1:
            raise ValueError(f"{old!r} occurs {count} times in the code of `{target}`, and should occur once")
        return in_its_class(target, parts[0].replace(old, new) + parts[1] + parts[2].replace(old, new))
    return named_as(target, mutant.source)


def _around_the_docstring(source: str) -> tuple[str, str, str]:
    """Return the source of a function in three parts: up to its docstring, the docstring, and what follows."""
    (function,) = tree_of(textwrap.dedent(source)).body
    lines = source.splitlines(keepends=True)
    assert isinstance(function, ast.FunctionDef), "a target is a function"
    first = function.body[0]
    has_one = ast.get_docstring(function) is not None
    begin, end = (first.lineno - 1, first.end_lineno) if has_one else (len(lines), len(lines))
    return "".join(lines[:begin]), "".join(lines[begin:end]), "".join(lines[end:])


def named_as(target: Target, source: str) -> str:
    """Return the source of a function, renamed to the name of a target, and in the target's class."""
    tree = tree_of(source)
    function = tree.body[0]
    if isinstance(function, ast.FunctionDef):
        function.name = target.path[-1]
    return in_its_class(target, ast.unparse(tree))


def in_its_class(target: Target, source: str) -> str:
    """Return the source of a function; for a method, wrapped in the `class` statements of its target."""
    for depth, name in enumerate(reversed(target.path[:-1])):
        source = f"class {name}:\n{textwrap.indent(source, '    ')}"
        assert depth < 3, "classes are not nested deeper"
    return source


def _caller_line() -> int:
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return caller.f_lineno if caller is not None else 0
