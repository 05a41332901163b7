"""name of a room, or of what a room hands on -> that, imported when somebody asks for it

Most programs enter a few rooms only, and each costs at every start: with all of them, `import jitkit` took twice as long. So a
package says in its stub, `__init__.pyi`, where its names come from, in lines that type checkers and editors read as well
(https://scientific-python.org/specs/spec-0001), and nothing of it is imported before. `package.name`, `from package import
name` and `import package.room` work as if everything had been.

In the other direction, what stands below may call what stands above through an open slot, which the room above fills when it
is imported. `jitkit` says which room that is, so a slot that is asked for before is filled then.

JAX: jax/_src/lazy_loader.py:attach
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

_LINE = r"(?m)^from (\S+) import (\w+) as (\w+)$"


def attach(package: str) -> None:
    """Give a package the names of its stub, and its rooms, when they are asked for; `dir` shows the names before.

    (With a `def __getattr__`, the package would have every name in the eyes of mypy.)
    """
    module = sys.modules[package]

    @functools.cache
    def places() -> dict[str, tuple[str, str]]:
        """name -> the module that it comes from, and its name there."""
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


def hand_on(module: str, **places: str) -> None:
    """Give a module names that it has in JAX, and that are written in rooms above it, `room:name`, when they are asked for."""

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=None)
        room, _, original = places[name].partition(":")
        found = vars(sys.modules[module])[name] = getattr(import_room(room), original)
        return found

    names = vars(sys.modules[module])
    names.update(__getattr__=load, __dir__=lambda: sorted({*names, *places}))


def import_room(name: str, package: str | None = None) -> Any:
    """The module. One that fails raises its own error; an AttributeError, which Python would take for a missing name, as an
    ImportError.
    """
    try:
        return importlib.import_module(name, package)
    except AttributeError as error:
        raise ImportError(f"{name} could not be imported: {error}", name=name) from error


class Slots:
    """Base of open slots: attributes that are functions of rooms above, which put them there when they are imported."""

    if not TYPE_CHECKING:  # it would have every name in the eyes of mypy

        def __getattr__(self, name: str) -> Any:
            if name not in fillers:
                raise AttributeError(f"{type(self).__name__} has no slot {name!r}")
            import_room(fillers[name])
            return vars(self)[name]


fillers: dict[str, str] = {}  # slot -> the room that fills it
