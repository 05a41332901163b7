"""a class of the reference -> its instances' methods and values, its own and inherited ones

A method is described by its signature and its docstring. A value (one that `__init__` sets, or that a named tuple has)
is described by its annotation, and by its line under `Attributes:` in the class's docstring, or the comment beside it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .name_origins import source_path
from .names import Function, tree_of
from .reference import PACKAGE


class Member(NamedTuple):
    """A method or value of an instance.

    Attributes:
      name: without the class.
      value: the method; for a value its type as a string, "" if it has no annotation.
      told: the description of a value; "" for a method, or if there is no description.
      is_value: whether it is a value.
    """

    name: str
    value: Any
    told: str
    is_value: bool


def members_of(cls: type) -> list[Member]:
    """Return the public members of a class, sorted by name. Methods without a docstring are left out."""
    found: dict[str, Member] = {}
    for owner in _owners(cls):
        for name, value in vars(owner).items():
            method = getattr(value, "__func__", value)
            if _is_method(method) and inspect.getdoc(method):
                found.setdefault(name, Member(name, method, "", False))
        for name, (kind, comment) in _values_of(owner).items():
            found.setdefault(name, Member(name, kind, _told(owner).get(name, comment), True))
    return [found[name] for name in sorted(found) if not name.startswith("_")]


def member(cls: type, name: str) -> Member | None:
    """Return the member of this name, which may be private; None if there is none."""
    for owner in _owners(cls):
        method = getattr(vars(owner).get(name), "__func__", vars(owner).get(name))
        if _is_method(method):
            return Member(name, method, "", False)
        if name in _values_of(owner):
            kind, comment = _values_of(owner)[name]
            return Member(name, kind, _told(owner).get(name, comment), True)
    return None


def _owners(cls: type) -> Iterator[type]:
    return (owner for owner in cls.__mro__ if owner.__module__.partition(".")[0] == "jitkit")


def _is_method(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | functools.cached_property)


@functools.cache
def _values_of(owner: type) -> dict[str, tuple[str, str]]:
    """Return the values in a class's own source, each with its type and the comment beside it."""
    path = pathlib.Path(source_path(owner.__module__, str(PACKAGE)))
    source = path.read_text(encoding="utf-8")
    node = next((n for n in tree_of(source).body if isinstance(n, ast.ClassDef) and n.name == owner.__name__), None)
    lines, found = source.splitlines(), dict[str, tuple[str, str]]()
    for statement in node.body if node is not None else ():
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = ast.unparse(statement.annotation), _comment(lines, statement)
        elif isinstance(statement, Function) and statement.name == "__init__":
            types = {a.arg: ast.unparse(a.annotation) for a in statement.args.args if a.annotation is not None}
            for part in ast.walk(statement):
                for target, kind in _assigned(part, types):
                    found.setdefault(target, (kind, _comment(lines, part)))
    return found


def _assigned(statement: ast.AST, types: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of `self` that a statement assigns, with their types: the statement's annotation, or that of
    the parameter that it assigns, else "".
    """
    if isinstance(statement, ast.AnnAssign):
        pairs: list[tuple[ast.expr, str]] = [(statement.target, ast.unparse(statement.annotation))]
    elif isinstance(statement, ast.Assign):
        kind = types.get(statement.value.id, "") if isinstance(statement.value, ast.Name) else ""
        pairs = [(target, kind) for target in statement.targets]
    else:
        return
    for target, kind in pairs:
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            yield target.attr, kind


def _comment(lines: list[str], statement: ast.AST) -> str:
    """Return the comment beside a statement, or the comment lines before it; "" if there is neither."""
    place = getattr(statement, "lineno", 1) - 1
    before = itertools.takewhile(lambda line: line.startswith("# "), (line.strip() for line in reversed(lines[:place])))
    return lines[place].partition("  # ")[2] or " ".join(line[2:] for line in reversed(list(before)))


@functools.cache
def _told(owner: type) -> dict[str, str]:
    """Return the descriptions under `Attributes:`, and under `Args:` of the constructor, by name."""
    found: dict[str, str] = {}
    for part in re.findall(
        r"^(?:Attributes|Args):\n((?:[ \n].*\n?)*)", inspect.cleandoc(owner.__doc__ or ""), re.MULTILINE
    ):
        for names, text in re.findall(r"^  (\w[\w, ]*): ((?:.*\n?)(?:    .*\n?)*)", part, re.MULTILINE):
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found
