"""Makes the errors for imports that cannot be answered: JAX itself was imported before, or jitkit lacks the module

The messages name the importer.

JAX: jax/_src/deprecations.py:deprecation_getattr
"""

from __future__ import annotations

import sys
import types

from ..base import names_of_jax

_IMPORTED_BEFORE = (
    "JAX itself has been imported in this process{}, so `jax` cannot mean jitkit any more: neither knows what the other has made.\n"
    "Install jitkit first: `python -m jitkit.as_jax FILE`, or `import jitkit.as_jax; jitkit.as_jax.install()` above the first import."
)
_NO_MODULE = "No module named {!r}{}\n{}"
_PRIVATE = (
    "It is a private module of JAX's, which jitkit lacks: `jitkit.as_jax.private_names` lists what libraries were seen to take from "
    "`jax._src`."
)
_PRIVATE_NAME = (
    "The module is private to JAX, and jitkit has few of its names: `jitkit.as_jax.private_names` lists what libraries "
    "were seen to take."
)
_PUBLIC = "JAX has it, and jitkit has not: docs/parity.md lists what is missing."
_NOT_WHOLE = "Of this module of JAX, jitkit has only what libraries ask for when they are imported: docs/parity.md lists what is missing."
_NOT_A_MODULE = "`{0}` has it, but it is not a module: `from {0} import {1}`."
_UNKNOWN = "Neither JAX nor jitkit has it, as far as jitkit knows."


def imported_before() -> str:
    """Return the sentence for a process that has imported JAX, with the modules that did so."""
    importers = _importers()
    more = f" and {len(importers) - _NAMED} more" if len(importers) > _NAMED else ""
    return _IMPORTED_BEFORE.format(f" by {', '.join(importers[:_NAMED])}{more}" if importers else "")


_NAMED = 3


def _importers() -> list[str]:
    """Return the modules that refer to something of JAX, with their files: first the program, then the others in the
    order of `sys.modules`, which is the order of import.
    """
    modules = list(sys.modules.items())
    done = [name for name, _ in modules].index("jax")
    found = [module for name, module in modules[done:] if not _is_of_jax(name) and _holds_jax(module)]
    return [_in_words(module) for module in ([sys.modules["__main__"]] * _holds_jax(sys.modules["__main__"]) + found)]


def _in_words(module: types.ModuleType) -> str:
    file = getattr(module, "__file__", None)
    what = "the program" if module.__name__ == "__main__" else f"`{module.__name__}`"
    return f"{what} ({file})" if file else what


def _holds_jax(module: types.ModuleType) -> bool:
    values = list(getattr(module, "__dict__", {}).values())
    return any(isinstance(value, types.ModuleType) and _is_of_jax(value.__name__) for value in values) or any(
        _is_of_jax(getattr(value, "__module__", None)) for value in values if callable(value)
    )


def _is_of_jax(name: object) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in ("jax", "jaxlib")


def no_module(name: str) -> str:
    """Return the sentence for a JAX module that jitkit lacks, with the line that imported it."""
    inside = name.partition(".")[2]
    parent, _, last = inside.rpartition(".")
    is_known = names_of_jax.is_in_jax(parent, last)
    about = _PRIVATE if inside.partition(".")[0] == "_src" else _PUBLIC if is_known else _UNKNOWN
    above = sys.modules.get(f"jax.{parent}" if parent else "jax")
    if about is not _PRIVATE and hasattr(above, last):
        about = _NOT_A_MODULE.format(f"jax.{parent}" if parent else "jax", last)
    asker = _asker()
    return _NO_MODULE.format(name, f", which {asker} imports" if asker else "", about)


def no_private_name(inside: str, name: str) -> str:
    """Return the sentence for a name of a private JAX module that jitkit lacks, with the line that asks for it."""
    asker = _asker()
    about = _PRIVATE_NAME if inside.startswith("jax._src") else _NOT_WHOLE
    return f"module {inside!r} has no attribute {name!r}{f', which {asker} asks for' if asker else ''}\n{about}"


def _asker() -> str:
    """Return the importer, as `module (file:line)`: the first frame that belongs neither to Python's import system nor
    to this package; "" if there is none.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(("importlib", "jitkit.as_jax.", "_frozen_importlib")):
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            return where if module == "__main__" else f"{module} ({where})"
        frame = frame.f_back
    return ""
