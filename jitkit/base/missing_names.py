"""Explains a name that a module of jitkit lacks: whether JAX has it, and what was perhaps meant.

A bare AttributeError does not say whether a name is misspelt, is in another module, or was never implemented;
`names_of_jax` has the last kind.

JAX: jax/_src/deprecations.py:deprecation_getattr
"""

from __future__ import annotations

import dis
import functools
import importlib
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from . import habits, late_rooms

_PACKAGE = __name__.partition(".")[0]


def explain(inside: str, module: types.ModuleType, sentences: Mapping[str, str] | None = None) -> None:
    """Make a module, `jitkit.inside` to users, explain its missing names; `sentences` has special texts for some.

    (The function is set here: with a `def __getattr__` in the module, mypy would accept every name.)
    """
    before = vars(module).get("__getattr__")
    vars(module)["__getattr__"] = functools.partial(_look_up, inside, module, before, sentences or {})
    explained[inside] = module


explained: dict[str, types.ModuleType] = {}  # name for users -> a module that was given to `explain`
_PUBLIC = (
    "debug", "distributed", "errors",
    "experimental", "experimental.hijax", "experimental.jet", "experimental.layout", "experimental.ode", "experimental.sparse",
    "export", "ffi", "flatten_util", "image", "lax", "lax.linalg", "monitoring", "nn", "numpy", "numpy.fft", "numpy.linalg", "ops",
    "profiler", "random",
    "scipy", "scipy.fft",
    "scipy.cluster", "scipy.cluster.vq", "scipy.integrate",
    "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.sparse", "scipy.sparse.linalg",
    "scipy.special", "scipy.stats", "sharding", "stages", "tree", "tree_util",
)  # fmt: skip


def public_modules() -> dict[str, types.ModuleType]:
    """Return the modules that explain their missing names, among them all public ones, by their names for users."""
    for name in _PUBLIC:
        importlib.import_module(f"{_PACKAGE}.{name}")
    return explained


def _look_up(
    inside: str, module: types.ModuleType, before: Callable[[str], Any] | None, sentences: Mapping[str, str], name: str
) -> Any:
    """Return a module's attribute, made on first use by the function `before`, if there is one.

    Otherwise raise AttributeError, or, if the user's line is `from module import name`, ImportError with the same text:
    Python would replace an AttributeError there by an ImportError without the text.
    """
    if before is not None:
        try:
            return before(name)
        except AttributeError:
            pass
    public = _public(_PACKAGE, inside)
    text = sentences.get(name) or f"module {public!r} has no attribute {name!r}"
    if name not in sentences and not name.startswith("_"):
        text = "\n".join(filter(None, [text, _about(inside, module, name)]))
    is_import = is_import_from(sys._getframe(1))
    # With a name and an object that has no similar names, Python does not append its own guess.
    raise (ImportError(text, name=public) if is_import else AttributeError(text, name=name, obj=None))


def is_import_from(frame: types.FrameType) -> bool:
    """Return whether a frame is at `from module import name`."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def _names_of_jax() -> Any:
    return late_rooms.import_room(".names_of_jax", __package__)


class _MissingRooms:
    """An import hook, called last: for a module that JAX has and jitkit lacks, `import` says so."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        package, _, inside = name.partition(".")
        if package == _PACKAGE and inside:
            parent, _, last = inside.rpartition(".")
            if _names_of_jax().is_in_jax(parent, last):
                text = _names_of_jax().sentence(_public("jax", inside))
                raise ModuleNotFoundError(f"No module named {name!r}\n{text}", name=name)


sys.meta_path.append(_MissingRooms)


def _public(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _about(inside: str, module: types.ModuleType, name: str) -> str:
    if _names_of_jax().is_in_jax(inside, name):
        return str(_names_of_jax().sentence(_public("jax", inside, name)))
    habit = habits.NAMES.get(inside, {}).get(name)
    if habit:
        return habit
    places = [
        place
        for place, other in public_modules().items()
        if place in _PUBLIC and other is not module and name in dir(other)
    ]
    places.sort(key=lambda place: place.startswith("lax"))  # `jnp.linalg.svd` rather than `lax.linalg.svd`
    if places:
        return f"There is `{_public(_PACKAGE, places[0], name)}`."
    known = [each for each in dir(module) if not each.startswith("_")]
    near: list[Any] = importlib.import_module("difflib").get_close_matches(name, known, 1, 0.75)
    near = [name.lower()] if name.lower() in known else near
    return f"Did you mean `{near[0]}`?" if near else ""
