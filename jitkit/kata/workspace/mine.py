"""`from jitkit.kata import mine`: puts the functions that you finished in place in the jitkit of this process

It works in a notebook, or in any program that is started in a workspace, and says which functions are in place.
Everything that the program has imported from jitkit is replaced by a new import. Arrays, and functions that were jitted
before, are still the reference's, so this line should be the first. A function that you change later comes with the
next start of the kernel. If `jitkit run` has put the functions in place before, nothing more is done.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from ..engine import in_place, splice
from ..problems import Problem
from .finished import Own, own_functions, request_of
from .workspace import Workspace

__all__ = ["functions", "left_out"]


def _put_in_place(own: Own) -> None:
    """Import jitkit again, with the functions in it, and let the program's names (`__main__`) stand for the new objects. If the import
    fails, restore everything and raise ImportError.
    """
    targets = {binding.target.module for binding in own.bindings}
    before = {name: module for name, module in sys.modules.items() if _is_replaced(name, targets)}
    for name in before:
        del sys.modules[name]
    request = request_of(own)
    finders = list(sys.meta_path)
    try:
        jitkit = in_place.put_in_place(request, splice)
    except Exception as error:
        sys.meta_path[:] = finders
        for name in [name for name in sys.modules if _is_replaced(name, targets)]:
            del sys.modules[name]
        sys.modules.update(before)
        sentence = in_place.sentence_of(error, splice, request["files"])
        raise ImportError(f"{sentence}. `jitkit check` tells more; the reference is in place.") from None
    vars(jitkit)["kata"] = sys.modules["jitkit.kata"]
    program = sys.modules["__main__"].__dict__
    program.update({name: new for name, old in list(program.items()) if (new := _renewed(old)) is not old})


def _is_replaced(name: str, targets: set[str]) -> bool:
    return name in targets or name == "jitkit" or (name.startswith("jitkit.") and not name.startswith("jitkit.kata"))


def _renewed(value: Any) -> Any:
    """Return the new version of one of jitkit's modules, classes or functions; return anything else unchanged."""
    if isinstance(value, ModuleType):
        name = value.__name__
        return importlib.import_module(name) if _is_replaced(name, set()) else value
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str) or not _is_replaced(module, set()):
        return value
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part, value)
    return found


try:
    _own = own_functions(Workspace.find())
except Problem as problem:
    raise ImportError(str(problem)) from None
if not in_place.is_in_place():
    _put_in_place(_own)
    print(_own)
functions: tuple[str, ...] = tuple(str(binding.target) for binding in _own.bindings)
left_out: tuple[str, ...] = _own.left_out
