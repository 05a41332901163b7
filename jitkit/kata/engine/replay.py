"""a check that fails, run again -> how the learner's functions were called in it

A verdict shows the call: which function was called, with which arguments. Calls are not recorded while a check runs to be judged. The
first check that fails is run once more, on the same numbers, with a profile function, in the process that has imported everything.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import re
import reprlib
import sys
import time
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

_MOST_CALLS = 2000
_MOST_SECONDS = 1.0  # writing the arguments down takes at most this long
_LONGEST_ARGUMENT = 160
_LONGEST_CALL = 2000


def replayed(jitkit: Any, program: Callable[[], Any], file: str, names: Collection[str]) -> tuple[Recorder, list[Any]]:
    """Run a program with empty caches, since a cached function is not called again; ignore its errors. Return the recorder of the
    calls, and the misses of the cache. If the last call had tracers of a `jit`, run once more without `jit`, and return the
    recorder of that run if its last call has values instead.
    """
    _forget(jitkit)
    recorder, known = Recorder(file, names), {id(miss): miss for miss in jitkit.explain().misses}
    with contextlib.suppress(BaseException), recorder.listening():
        program()
    misses = [miss for miss in jitkit.explain().misses if id(miss) not in known]
    if recorder.calls and "JitTracer(" in recorder.calls[-1]["call"]:
        _forget(jitkit)
        other = Recorder(file, names)
        with contextlib.suppress(BaseException), jitkit.disable_jit(), other.listening():
            program()
        if other.calls and "JitTracer(" not in other.calls[-1]["call"]:
            return other, misses
    return recorder, misses


def _forget(jitkit: Any) -> None:
    importlib.import_module("jitkit.pjit.compilation_cache").forget_history()
    for thing in gc.get_objects():
        if type(thing) is jitkit.core.Primitive:
            thing._memo.clear()  # the cached results of its shape rule


class Recorder:
    """Records calls of some functions of one file, at most `_MOST_CALLS`; after `_MOST_SECONDS` of writing, without their arguments. A call
    that begins while one of these functions runs is left out.

    Args:
      file: the learner's file.
      names: the dotted names of the functions.
    """

    def __init__(self, file: str, names: Collection[str]) -> None:
        self.file = file
        self.names = frozenset(names)
        self.calls: list[dict[str, Any]] = []
        self.inside: list[FrameType] = []
        self.is_kept = True  # whether the outermost call that runs is among `calls`
        self.results: list[Any] = []
        self.spent = 0.0

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Record calls within the block."""
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        """Handle an event of the interpreter: note a call or a return."""
        code = frame.f_code
        if code.co_filename != self.file or code.co_qualname not in self.names:
            return
        if event == "call":
            if not self.inside:
                self.is_kept = len(self.calls) < _MOST_CALLS
            if not self.inside and self.is_kept:
                start = time.perf_counter()
                shown = call_text(code, frame.f_locals) if self.spent < _MOST_SECONDS else f"{code.co_name}(...)"
                self.calls.append({"call": shown, "line": code.co_firstlineno})
                self.results.append(None)
                self.spent += time.perf_counter() - start
            self.inside.append(frame)
        elif event == "return" and self.inside and self.inside[-1] is frame:
            self.inside.pop()
            if not self.inside and self.is_kept:
                self.results[-1] = value


def call_text(code: CodeType, values: dict[str, Any]) -> str:
    """Return a call as it is written: `bucket_size(17)`. Keyword-only arguments are written with their names, all others
    without; `self` is left out, and a long call is cut."""
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    shown = [
        text(values[name]) if i < code.co_argcount else f"{name}={text(values[name])}" for i, name in enumerate(names)
    ]
    name = code.co_qualname
    if "." in name and names and names[0] in ("self", "cls"):
        shown = shown[1:]
    rest = code.co_varnames[count : count + 2]
    if code.co_flags & inspect.CO_VARARGS:
        shown[code.co_argcount - ("." in name) : 0] = [text(x) for x in values[rest[0]]]
        rest = rest[1:]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        shown += [f"{key}={text(x)}" for key, x in values[rest[0]].items()]
    written = f"{name}({', '.join(shown)})"
    return written if len(written) <= _LONGEST_CALL else f"{written[:_LONGEST_CALL]} ...)"


class _Short(reprlib.Repr):
    """Writes values as a learner would, and shortens long ones."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxother, self.maxstring = 4, _LONGEST_ARGUMENT, 80
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 8

    def repr_instance(self, x: Any, level: int) -> str:
        """Return an object in one line: a class or function as its name, `<Type>` if its `repr` has an address in it."""
        if type(x).__name__ == "Jaxpr":  # printed in several lines, it would break the syntax of the call
            return " ".join(str(x).split())
        if isinstance(x, type) or inspect.isfunction(x) or inspect.ismethod(x) or inspect.isbuiltin(x):
            return "a lambda" if x.__name__ == "<lambda>" else str(x.__name__)
        if isinstance(x, np.ndarray) or type(x).__module__.startswith("jitkit.runtime.array"):
            return _array_text(np.asarray(x), bool(getattr(getattr(x, "aval", None), "weak_type", False)))
        shown = " ".join(super().repr_instance(x, level).split())
        return f"<{type(x).__name__}>" if " at 0x" in shown else re.sub(r"\bVar\(id=\d+\):", "Var:", shown)


_short = _Short()


def _array_text(array: Any, weak: bool) -> str:
    """Return an array in one line, with its ends: `float32[16] [0.52, -1.3, ..., nan, nan]`."""
    numbers = np.array2string(array, threshold=6, edgeitems=2, precision=4, separator=", ")
    shape = ",".join(map(str, array.shape))
    return f"{array.dtype.name}{'*' if weak else ''}[{shape}] {' '.join(numbers.split())}"


def text(value: Any) -> str:
    """Return a value in one line; `<Type>` if its `repr` fails: the learner may be writing it."""
    profile: Callable[..., Any] | None = sys.getprofile()
    sys.setprofile(None)
    try:
        return _short.repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    finally:
        sys.setprofile(profile)
