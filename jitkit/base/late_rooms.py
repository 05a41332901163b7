"""Imports rooms (the packages and modules of jitkit), and names in them, on first use

Most programs use only a few rooms, and each costs time at every start: with all of them, `import jitkit` took twice as
long. So a package's stub, `__init__.pyi`, says where its names come from, for type checkers and editors, too
(https://scientific-python.org/specs/spec-0001), and each is imported on first use. `package.name`, `from package import
name` and `import package.room` work as usual.

In the other direction, a lower room may call a function of a higher one through a slot, which the higher room fills
when it is imported. Using an empty slot imports the room that `jitkit` names for it.

JAX: jax/_src/lazy_loader.py:attach
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
import types
from typing import TYPE_CHECKING, Any

_LINE = r"(?m)^from (\S+) import (\w+) as (\w+)$"


def attach(package: str) -> None:
    """Let a package import the names of its stub, and its rooms, on first use. `dir` shows them from the start.

    (The function is set here: with a `def __getattr__` in the package, mypy would accept every name.)
    """
    module = sys.modules[package]

    @functools.cache
    def places() -> dict[str, tuple[str, str]]:
        """Return a dict: name -> the module that has it, and its name there."""
        with open(os.path.join(os.path.dirname(str(module.__file__)), "__init__.pyi"), encoding="utf-8") as stub:
            return {name: (origin, original) for origin, original, name in re.findall(_LINE, stub.read())}

    def load(name: str) -> Any:
        if name == "__all__":  # `from package import *`
            return [each for each in places() if not each.startswith("_")]
        if name in places():
            origin, original = places()[name]
            found = import_room(f".{original}" if origin == "." else origin, package)
            found = vars(module)[name] = found if origin == "." else getattr(found, original)
            return found
        room = f"{package}.{name}"
        try:
            return import_room(room)
        except ModuleNotFoundError as error:
            if error.name != room:
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    vars(module).update(__getattr__=load, __dir__=lambda: sorted({*vars(module), *places()}))
    _late.append(module)
    if isinstance(sys.modules[_ROOT], _WithAllNames):
        module.__class__ = _WithAllNames


def hand_on(module: str, **places: str) -> None:
    """Give a module names that it has in JAX, but that are defined in rooms above it (`room:name`), to be imported on first use."""

    def load(name: str) -> Any:
        if name not in places:
            if before is not None:
                return before(name)
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=None)
        room, _, original = places[name].partition(":")
        found = vars(sys.modules[module])[name] = getattr(import_room(room), original)
        return found

    names = vars(sys.modules[module])
    before = names.get("__getattr__")
    others = names.get("__dir__", list)
    names.update(__getattr__=load, __dir__=lambda: sorted({*names, *others(), *places}))


def _all_names(module: types.ModuleType) -> dict[str, Any]:
    names: dict[str, Any] = vars(types.ModuleType)["__dict__"].__get__(module)
    asker = sys._getframe(1).f_globals.get("__name__", "")
    if not asker.startswith((f"{_ROOT}.", "importlib", "_frozen_importlib")):
        for name in dir(module):
            getattr(module, name)
    return names


_ROOT = __name__.partition(".")[0]
_WithAllNames: type[types.ModuleType] = type("_WithAllNames", (types.ModuleType,), {"__dict__": property(_all_names)})
_late: list[types.ModuleType] = []


def show_all_names() -> None:
    """Let `vars` of a package have all names that `dir` has. They are imported when a program first asks for its `vars`, as
    libraries do that wrap all functions of `jax.numpy`. (It makes each use of a name slower, by a few hundredths of a microsecond.)
    """
    for module in _late:
        module.__class__ = _WithAllNames


def import_room(name: str, package: str | None = None) -> Any:
    """Import a module, and return it. An AttributeError in it becomes an ImportError, since Python would take it for a
    missing name; other errors pass through.
    """
    try:
        return importlib.import_module(name, package)
    except AttributeError as error:
        raise ImportError(f"{name} could not be imported: {error}", name=name) from error


class Slots:
    """Base of classes with slots: the attributes are functions that rooms above set when they are imported."""

    if not TYPE_CHECKING:  # with this method, mypy would accept every name

        def __getattr__(self, name: str) -> Any:
            if name not in fillers:
                raise AttributeError(f"{type(self).__name__} has no slot {name!r}")
            import_room(fillers[name])
            return vars(self)[name]


fillers: dict[str, str] = {}  # slot -> the room that fills it
