"""function -> the source that made it, and how many functions that source has made

`jit` knows functions by identity: two functions with the same code are two functions, each with its own trace and
program. So a lambda, a `functools.partial` or `jit(model.step)` in a loop recompiles every time, and nothing in the
arguments says why. Such functions share the source that made them: this module counts functions per source.

It keeps the counts of the sources that were used last, and does not keep functions alive.

JAX: jax/_src/interpreters/partial_eval.py:callsites_with_tracing_cache_miss
"""

from __future__ import annotations

import functools
import os
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from ..base import source_info
from ..base.traceback_util import is_own_file

_SOURCES = 4096  # at most this many sources are counted


class Origin(NamedTuple):
    """The source that made a function. `kind` is "lambda", "function", "partial", "method", "wrapper" (made by `jit` or
    `functools.cache`), "instance" (of a class with `__call__`), or "builtin", which has no source.
    """

    kind: str
    name: str  # the function's
    file: str  # the file with its code
    line: int  # the line where its code begins
    code_hash: int  # tells apart two functions on one line
    of_module: bool = False  # whether the module, or a notebook's cell, makes it, not another function

    @property
    def is_ours(self) -> bool:
        """Whether this is one of jitkit's own functions."""
        return is_own_file(self.file)

    @property
    def function(self) -> str:
        """Return `f at /path/file.py:12`, or only the name if there is no source."""
        return f"{self.name} at {self.place}" if self.file else self.name

    @property
    def place(self) -> str:
        """Return `/path/file.py:12`, or `Cell In[7], line 12`."""
        return source_info.place(self.file, self.line)

    def describe(self) -> str:
        """Return the function as part of a sentence: `the lambda at ...`, `a functools.partial of f at ...`; jitkit's own by name."""
        if self.is_ours:
            name = f"jitkit's {self.name}"
            return f"a functools.partial of {name}" if self.kind == "partial" else name
        return _DESCRIPTIONS[self.kind].format(name=self.name, place=self.place)


_DESCRIPTIONS = {
    "lambda": "the lambda at {place}",
    "function": "{name} at {place}",
    "partial": "a functools.partial of {name} at {place}",
    "method": "the method {name} at {place}",
    "wrapper": "a wrapper of {name} at {place}",
    "instance": "an instance of {name} at {place}",
    "builtin": "{name}",
}

UNKNOWN = Origin("builtin", "a function", "", 0, 0)


def origin_of(fun: Callable[..., Any]) -> Origin:
    """Return the origin of a callable, found through partials, bound methods and wrappers. Without Python code its kind
    is "builtin".
    """
    kind = ""
    inner: Any = fun
    while True:
        # the function that `jit` returns is also a partial
        if isinstance(inner, functools.partial) and not hasattr(inner, "_jitted"):
            kind, inner = kind or "partial", inner.func
        elif isinstance(inner, types.MethodType):
            kind, inner = kind or "method", inner.__func__
        elif hasattr(inner, "__wrapped__") and _hides_its_code(inner):
            kind, inner = kind or "wrapper", inner.__wrapped__
        else:
            break
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__qualname__" if kind == "method" else "__name__", type(inner).__name__)
    if code is None and not isinstance(inner, type):
        kind = kind or "instance"
        code = getattr(type(inner).__call__, "__code__", None)
    if not isinstance(code, types.CodeType):
        return Origin("builtin", name, "", 0, 0)
    kind = kind or ("lambda" if code.co_name == "<lambda>" else "function")
    of_module = kind in ("lambda", "function") and "<locals>" not in code.co_qualname
    return Origin(kind, name, os.path.normpath(code.co_filename), code.co_firstlineno, hash(code), of_module)


def made_in_loop(fun: Callable[..., Any]) -> bool:
    """Return whether the user's running code, which calls `jit` on this function, is in a loop. False for jitkit's own functions."""
    code = getattr(fun, "__code__", None)
    return not (code is not None and is_own_file(code.co_filename)) and source_info.in_loop()


def _hides_its_code(wrapper: Any) -> bool:
    """Return whether a wrapper has no Python code to show: it is written in C, such as `functools.cache`, or is jitkit's."""
    code = getattr(wrapper, "__code__", None)
    return code is None or is_own_file(code.co_filename)


# --- counting -----------------------------------------------------------------------------------------------

_counts: OrderedDict[Origin, int] = OrderedDict()
_lock = threading.Lock()


def count_another(origin: Origin) -> int:
    """Count one more function of this origin; return how many there are now. Builtins and jitkit's own functions are not counted: 1."""
    if origin.kind == "builtin" or origin.is_ours:
        return 1
    with _lock:
        count = _counts[origin] = _counts.pop(origin, 0) + 1
        if len(_counts) > _SOURCES:
            _counts.popitem(last=False)
    return count


def forget_counts() -> None:
    """Reset all counts, as in a new process."""
    with _lock:
        _counts.clear()


def made_again(origin: Origin, count: int, in_loop: bool) -> str:
    """Return a sentence that says that one source has made `count` functions, with advice. With `in_loop`, the advice
    is about the loop in which the latest of them was made.
    """
    what, make, besides = _MADE_AGAIN[origin.kind]
    if origin.of_module and not in_loop and source_info.cell(origin.file) is not None:
        advice = (
            "the cell was run again, which made a new one. In a cell that is not run again it would keep its programs"
        )
    else:
        advice = f"{make} once{', outside of the loop' if in_loop else ''}{besides}"
    what = what.format(name=origin.name, place=origin.place)
    known = _METHODS_ARE_KNOWN if origin.kind == "method" else "jit knows functions by identity"
    return f"It is the {_ordinal(count)} {what}; {known}: {advice}."


# Bound methods of one object are equal, but each access makes a new one, whose programs die with it.
_METHODS_ARE_KNOWN = (
    "to jit, the method of another instance is another function, and so is a method made after the last one is gone"
)


_MADE_AGAIN = {
    "lambda": ("function made by the lambda at {place}", "define it", ", and pass what changes as an argument"),
    "function": ("function made by `def {name}` at {place}", "define it", ", and pass what changes as an argument"),
    "partial": ("functools.partial of {name} at {place}", "make the partial", ", or pass what it holds as an argument"),
    "method": (
        "bound method of {name} at {place}",
        "jit it",
        ", or jit a function that takes the instance's arrays as arguments",
    ),
    "wrapper": ("wrapper of {name} at {place}", "make it", ", and pass what changes as an argument"),
    "instance": ("instance of {name} at {place}", "make it", ", and pass what changes as an argument"),
}


def _ordinal(n: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, `11th`."""
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"
