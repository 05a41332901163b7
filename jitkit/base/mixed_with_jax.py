"""Says which import to change if a function of JAX is called on values that jitkit traces.

JAX's functions refuse our tracers with a TypeError. The cause is nearly always an import that was not changed. The
traceback has the user's line that called JAX, and the names in it show which import it is.

JAX: jax/_src/core.py:shaped_abstractify
"""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from . import edits, late_rooms, missing_names

_PACKAGE = __name__.partition(".")[0]
_OUR_VALUE = rf"\b{_PACKAGE}\.[\w.]*(Tracer|Array)\b|\bJitTracer\("  # our values in an error of JAX's


def amend_refusal(error: BaseException) -> None:
    """If `error` says that a function of JAX refused one of our values, add to its message what to import instead."""
    text = error.args[0] if error.args else None
    if not isinstance(text, str) or "jax" not in sys.modules or _SUMMARY in text or OF_JAX in text:
        return
    text = text.replace(edits.NO_LENGTH, "")  # what JAX asks of a value is not what the user has to change
    user, is_seen = _line_that_called_jax(error.__traceback__)
    is_about_ours = bool(re.search(_OUR_VALUE, text)) or _is_raised_for_jax(error.__traceback__)
    if not is_about_ours and not (is_seen and type(error).__module__.startswith(_PACKAGE)):
        return
    library = "" if user is None else _library_of(user.tb_frame)
    advice = [] if user is None or library else list(_names_of_jax(user.tb_frame, user.tb_lineno))
    if user and library and (is_seen or re.search(f"{_REFUSAL}|{_UNHASHABLE}", text)):
        place = f"{user.tb_frame.f_code.co_filename}:{user.tb_lineno}"
        error.args = (f"{text.rstrip()}\n\n{_SUMMARY} {_IN_A_LIBRARY.format(library, place)}", *error.args[1:])
    elif is_seen or re.search(_REFUSAL, text):
        where = (
            f" Where it was called ({user.tb_frame.f_code.co_filename}:{user.tb_lineno}):" if user and advice else ""
        )
        lines = [f"  {name}: {what}" for name, what in advice] or [_GENERAL]
        error.args = ("\n".join([f"{text.rstrip()}\n", f"{_SUMMARY}{where}", *lines]), *error.args[1:])


def _library_of(frame: types.FrameType) -> str:
    """Return the installed package that a frame belongs to, whose imports users cannot change; empty for other code."""
    installed = {"site-packages", "dist-packages"} & {*re.split(r"[\\/]", frame.f_code.co_filename)}
    module: str = frame.f_globals.get("__name__", "")
    return module.partition(".")[0] if installed else ""


def is_of_jax(module: object) -> bool:
    """Return whether a module's name is one of JAX's."""
    return isinstance(module, str) and module.partition(".")[0] in ("jax", "jaxlib")


def _line_that_called_jax(traceback: types.TracebackType | None) -> tuple[types.TracebackType | None, bool]:
    """Return the last place in a traceback where code other than JAX's called JAX, and whether JAX's frames are visible
    there. If JAX removed its own frames, return the last place outside jitkit.
    """
    found = last = None
    while traceback is not None:
        module = traceback.tb_frame.f_globals.get("__name__", "")
        if is_of_jax(module):
            found, last = last or found, None
        elif module.partition(".")[0] != _PACKAGE:
            last = traceback
        traceback = traceback.tb_next
    return found or last, found is not None


def _is_raised_for_jax(traceback: types.TracebackType | None) -> bool:
    """Return whether JAX used one of our tracers in a way that the tracer refuses, such as `len` of a tracer without axes."""
    is_jax = False
    while traceback is not None:
        frame = traceback.tb_frame
        module = frame.f_globals.get("__name__", "")
        if is_jax and module.partition(".")[0] == _PACKAGE:
            return frame.f_code.co_name.startswith("__") and type(frame.f_locals.get("self")).__name__.endswith(
                "Tracer"
            )
        is_jax = is_of_jax(module)
        traceback = traceback.tb_next
    return False


OF_JAX = "of jax itself"  # our errors say this about a value of JAX's
_SUMMARY = (
    "A function of JAX's was called on a value that jitkit traces: JAX cannot compute with it, and jitkit cannot see "
    "what JAX computes."
)
_REFUSAL = (
    "is not a valid JAX type|Error interpreting argument to|requires ndarray or scalar arguments, got"  # in JAX's words
)
_UNHASHABLE = "Non-hashable static arguments are not supported"
_IN_A_LIBRARY = (
    "It was called by {} ({}), which computes with JAX.\nCall it outside of the traced function, with arrays, or "
    "write that part with jitkit."
)
_GENERAL = (
    "Import jitkit instead of JAX: `import jitkit as jax`, `import jitkit.numpy as jnp`.\n"
    "`jnp.asarray(x)` makes an array of JAX's one of jitkit's, which a traced value can index."
)


def _names_of_jax(frame: types.FrameType, line: int) -> Iterator[tuple[str, str]]:
    """Yield the names in a line of a program, or else in the function around it, that refer to something of JAX's, each
    with what to do about it.
    """
    code = frame.f_code
    names = dict.fromkeys((*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars))
    text = linecache.getline(code.co_filename, line, frame.f_globals)
    on_line = [name for name in names if re.search(rf"(?<![\w.]){name}\b", text)]
    for candidates in (on_line, names):
        scope = {**frame.f_globals, **frame.f_locals}
        found = [(name, _instead(name, scope[name])) for name in candidates if name in scope]
        if advice := [(name, what) for name, what in found if what is not None]:
            yield from advice
            return


def _instead(name: str, value: Any) -> str | None:
    """Return what to do about a name that refers to something of JAX's; None for others."""
    if isinstance(value, types.ModuleType):
        return _import_instead(name, value.__name__) if is_of_jax(value.__name__) else None
    if not callable(value) or isinstance(value, type):
        return None
    wrapped = getattr(value, "__wrapped__", value)
    name = getattr(wrapped, "__name__", name)
    if is_of_jax(getattr(wrapped, "__module__", None)):  # such as `from jax.numpy import sin`
        return f"is JAX's. Use {_places(name)}."
    if is_of_jax(type(value).__module__):  # `jax.jit(f)` is an object of JAX's C++
        return "was made by `jax.jit`. Make it with jitkit's `jit`."
    made_by_jax = is_of_jax(getattr(value, "__globals__", {}).get("__name__"))
    return f"was made by JAX, from the function `{name}`. Make it with jitkit." if made_by_jax else None


def _places(name: str) -> str:
    """Return `sin` from jitkit.numpy or jitkit.lax: our public modules with a name."""
    modules = missing_names.public_modules()
    public = ("", "numpy", "lax", "nn", "random", "tree_util", "numpy.linalg", "numpy.fft", "scipy.special")
    having = [f"{_PACKAGE}.{each}".rstrip(".") for each in public if name in dir(modules[each])]
    return f"`{name}` from {' or '.join(having) or _PACKAGE}"


def _import_instead(name: str, module: str) -> str:
    """Return the advice about the `name` of a module of JAX: which import to write instead, or that jitkit lacks it."""
    ours = ".".join([_PACKAGE, *module.split(".")[1:]])
    try:
        late_rooms.import_room(ours)
    except ModuleNotFoundError:
        return f"is `{module}`, which jitkit does not have. docs/parity.md says what there is."
    parent, _, last = ours.rpartition(".")
    how = f"import {ours} as {name}" if last != name or not parent else f"from {parent} import {last}"
    return f"is `{module}`. Change its import to `{how}`."
