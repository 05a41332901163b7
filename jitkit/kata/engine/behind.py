"""a package with its own compiler -> answers to the programs of rungs 19 and up

Like `climbing`, this module is loaded by its path, without jitkit. The package runs with `xla`, and with `cc` if it
imports that. The reference has neither, and returns the expected answers.

A package's C is watched. We put lines before each C source that count how often it evaluates `exp` and other functions of
C's library, and how much of C's stack `run` uses. The machine code says which functions of other libraries it calls, and
how many static bytes it has.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import re
import struct
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

COUNTED = ("exp", "tanh", "sin", "cos", "log")  # functions of C's library
_MARK = 165  # the bytes behind an array's end
MOST_STATIC, MOST_STACK = 2048, 16384  # bytes: a C source may have a few static numbers, and a tile on the stack


def _is_package() -> bool:
    return "xla" in sys.modules


def own(jk: Any, f: Callable[..., Any], **static: Any) -> Callable[..., Any]:
    """Return `f`, compiled by the package's own compiler, whose C is watched if there is a `cc`. In the reference, return
    `jit(f)`, compiled by XLA, which computes the same.
    """
    if not _is_package():
        by_xla: Callable[..., Any] = jk.jit(f, **static)
        return by_xla
    with contextlib.suppress(ImportError):
        watch(importlib.import_module("cc"))
    by_own: Callable[..., Any] = jk.jit(f, backend="own", **static)
    return by_own


def as_numpy(jk: Any, f: Callable[..., Any], x: Any) -> list[bool]:
    """Return for each result of `f`, compiled by the package's own compiler, whether it equals numpy's result to the bit. `f` uses
    operators only. The reference returns True for each result, since XLA computes some in another way, such as (x + c) - c.
    """
    right = f(x)
    found = own(jk, f)(jk.numpy.asarray(x)) if _is_package() else right
    return [bool(np.array_equal(np.asarray(y), z)) for y, z in zip(found, right, strict=True)]


def behind(
    f: Callable[..., Any],
    *args: Any,
    compiled: int | None = None,
    loops: int | None = None,
    memory: int | None = None,
    kept: int | None = None,
    evaluations: Mapping[str, int] | None = None,
    without: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the result of a call, and counts of what it asked of `cc`.

    The numbers among the keyword arguments are bounds. A count within its bound is returned as the bound, as the
    reference does; a count without a bound is left out. Also returned are the C's static bytes and its stack, which have
    fixed bounds (the C should work in memory from `cc.alloc`); how many programs XLA ran; whether `cc` ran a program; and
    how often the C wrote something behind the end of an array.

    Args:
      compiled: how many C sources are compiled.
      loops: how many outermost loops these sources have.
      memory: bytes alive at one time.
      kept: bytes alive after the call.
      evaluations: how often the C evaluates functions of C's library (`{"sin": 100}` counts sinf, too).
      without: functions that the C should not call; those that it calls are returned.
    """
    before = _asked(start=True)
    found = {"result": f(*args)}
    gc.collect()
    after = _asked()
    made = [of_library(library) for library in _libraries[before["libraries"] :]]
    bounds = {
        "texts of C that were compiled": (compiled, after["compiled"] - before["compiled"]),
        "loops that stand in no other": (loops, after["loops"] - before["loops"]),
        "bytes alive at one time": (memory, after["most"] - before["alive"]),
        "bytes alive after the call": (kept, after["alive"] - before["alive"]),
        "bytes that are static in the C": (MOST_STATIC, max([static for static, _ in made], default=0)),
        "bytes of C's stack": (MOST_STACK, after["stack"]),
    }
    for word, times in (evaluations or {}).items():
        bounds[f"evaluations of {word}"] = times, after["times"][word] - before["times"][word]
    found |= {what: max(bound, actual) for what, (bound, actual) in bounds.items() if bound is not None}
    if without:
        called = [name for _, names in made for name in names]
        found["functions of C's library"] = sorted({n for n in called if _plain_names(n) & set(without)})
    found["programs executed by XLA"] = after["by xla"] - before["by xla"]
    found["times that something was written behind an array's end"] = after["behind"] - before["behind"]
    found["a program of cc was run"] = not _is_package() or after["executed"] > before["executed"]
    return found


def _asked(start: bool = False) -> dict[str, Any]:
    """Return the counts of `cc` and `xla` so far. With `start`, the peaks of memory and stack are counted anew from here."""
    cc: Any = sys.modules.get("cc")
    if start:
        _peak.clear()
        gc.collect()
    if cc is not None and start:
        cc.most = cc.alive
    found = {name: getattr(cc, name, 0) for name in ("compiled", "loops", "executed", "alive", "most")}
    times = {word: sum(library.times(word) for library in _loaded) for word in COUNTED}
    found |= {"libraries": len(_libraries), "times": times, "stack": max(_peak, default=0), "behind": len(_written)}
    return found | {"by xla": getattr(sys.modules.get("xla"), "executed", 0)}


# --- the C of a package, watched --------------------------------------------------------------------------------------

_BEFORE = """#include <math.h>
__attribute__((noinline)) void paint_stack(void) { volatile long room[1 << 14]; for (long i = 0; i < 1 << 14; i++) room[i] = 90; }
__attribute__((noinline)) long used_stack(void) {
  volatile long room[1 << 14]; long i = 0; while (i < 1 << 14 && room[i] == 90) i++; return ((1 << 14) - i) * sizeof(long); }
"""
_COUNTS = "".join(
    f"volatile long times_{name};\n"
    + "".join(f"#define {word}(x) (times_{name}++, ({word})(x))\n" for word in (name, f"{name}f", f"__builtin_{name}f"))
    for name in COUNTED
)
_SAME_LINES = '#line 1 "program.c"\n'

_libraries: list[bytes] = []  # machine code, in the order in which it was asked for
_loaded: list[Watched] = []
_peak: list[int] = []  # for each call, how many bytes of C's stack it used
_ends: list[tuple[weakref.ref[Any], int, int]] = []  # memory; where the bytes behind its array begin and end
_written: list[int] = []  # where something was written behind an array's end


def watch(cc: Any) -> None:
    """Make `cc` compile each C source with `_BEFORE` and `_COUNTS` in front of it, or without them if that fails, and keep
    the machine code in `_libraries`. New memory is full of nan and -1, to show numbers that nobody stored; the bytes
    behind its end are marked, to show numbers that are stored there. A second call does nothing.
    """
    if isinstance(cc.ctypes, _Ctypes):
        return
    translate, alloc = cc.translate, cc.alloc

    def alloc_full(shape: Any, dtype: Any) -> Any:
        memory = whole = alloc(shape, dtype)
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        start, end = whole.ctypes.data, memory.ctypes.data + memory.nbytes
        ctypes.memset(start, 255, whole.nbytes)
        ctypes.memset(end, _MARK, start + whole.nbytes - end)
        _ends.append((weakref.ref(whole), end, start + whole.nbytes))
        return memory

    def translate_and_count(text: str) -> bytes:
        try:
            library: bytes = translate(_BEFORE + _COUNTS + _SAME_LINES + text)
        except ValueError:  # a source that defines its own `exp`, or is not valid C
            library = translate(_SAME_LINES + text)
        _libraries.append(library)
        return library

    cc.translate, cc.ctypes, cc.alloc = translate_and_count, _Ctypes("ctypes"), alloc_full


def look_behind() -> None:
    """Note in `_written` where something was written behind the end of an array that is alive, and forget the other arrays."""
    _ends[:] = [each for each in _ends if each[0]() is not None]
    for _, end, stop in _ends:
        if ctypes.string_at(end, stop - end).strip(bytes([_MARK])):
            _written.append(end)
            ctypes.memset(end, _MARK, stop - end)


class Watched:
    """A library whose `run` is a function of C. If it was compiled with `_BEFORE`, each call notes how much of C's stack it uses."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        run, has_paint = self.library.run, hasattr(self.library, "paint_stack")
        run.restype = None
        if has_paint:
            self.library.paint_stack.restype, self.library.used_stack.restype = None, ctypes.c_long

        def call(*pointers: Any) -> None:
            if has_paint:
                self.library.paint_stack()
            run(*pointers)
            if has_paint:
                _peak.append(self.library.used_stack())
            look_behind()

        self.run = call
        _loaded.append(self)

    def times(self, word: str) -> int:
        """Return how often this library has evaluated a function of C's library; 0 if it was compiled without `_COUNTS`."""
        try:
            return ctypes.c_long.in_dll(self.library, f"times_{word}").value
        except ValueError:
            return 0


class _Ctypes(ModuleType):
    """Replaces `ctypes` in `cc`: its `CDLL` is `Watched`."""

    CDLL = Watched

    def __getattr__(self, name: str) -> Any:
        return getattr(ctypes, name)


def of_library(library: bytes) -> tuple[int, list[str]]:
    """Return how many writable bytes a library has, and the names that it takes from other libraries. A file whose format is not
    Linux's ELF is not read: return 0, and no names.
    """
    if library[:6] != b"\x7fELF\2\1":
        return 0, []
    [start] = struct.unpack_from("<Q", library, 40)
    size, count, names = struct.unpack_from("<HHH", library, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", library, start + i * size) for i in range(count)]

    def text(table: int, at: int) -> str:
        first = sections[table][4] + at
        return library[first : library.index(b"\0", first)].decode()

    static, taken = 0, []
    for name, kind, _, _, offset, length, link, *_ in sections:
        if re.match(r"\.(bss|data|tbss|tdata)(?!\.rel\.ro)", text(names, name)):
            static += length
        if kind == 11:  # symbols for the linker; a symbol of section 0 is in another library
            for at in range(offset, offset + length, 24):
                symbol, _, _, section = struct.unpack_from("<IBBH", library, at)
                if symbol and not section:
                    taken.append(text(link, symbol))
    return static, taken


def _plain_names(name: str) -> set[str]:
    """Return the names that a function of C's library may have for doubles: exp and expf for expf, __expf_finite and
    _ZGVbN4v_expf; erf and er for erf.
    """
    bare = re.sub(r"^_ZGV\w+?_|^__|_finite$", "", name)
    return {bare, bare.removesuffix("f"), bare.removesuffix("l")}


def optimised(jk: Any, f: Callable[..., Any], *args: Any, left: Sequence[str]) -> dict[str, Any]:
    """Return a program's result after `core.optimise`, the names of the primitives in the equations that remain, and
    whether the new program has as many arguments and constants as the old one, and the same results to the bit (if there
    are no calls in it), and the old program was not changed. The reference, which has no `optimise`, returns the names
    `left`.
    """
    closed = jk.make_jaxpr(f)(*args)
    names = list(left)
    found = {
        "its arguments and constants": "as before",
        "its results": "the same to the bit",
        "what went in": "as before",
    }
    if _is_package():
        before, told, right = closed, _told(closed), _bits(jk, closed, args)
        closed = jk.core.optimise(closed)
        names = [str(eqn.primitive.name) for eqn in closed.jaxpr.eqns]
        params = [value for eqn in before.jaxpr.eqns for value in eqn.params.values()]
        calls = any(
            hasattr(value, "jaxpr") or hasattr(value, "eqns") for value in params
        )  # XLA runs them, to other bits
        counts = [[len(c.jaxpr.invars), len(c.jaxpr.constvars), len(c.consts)] for c in (before, closed)]
        if counts[0] != counts[1]:
            found["its arguments and constants"] = f"{counts[1]}, and were {counts[0]}"
        if _told(before) != told:
            found["what went in"] = "another program now"
        if not calls and _bits(jk, closed, args) != right:
            found["its results"] = "not the same to the bit"
    result = jk.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return {"result": list(result), "equations that are left": sorted(names)} | found


def _told(closed: Any) -> list[Any]:
    """Return what a program consists of: its equations' primitives and operands, its arguments and its results."""
    parts = [closed.jaxpr.invars, closed.jaxpr.outvars, *[eqn.invars for eqn in closed.jaxpr.eqns]]
    return [[id(v) for v in part] for part in parts] + [[eqn.primitive.name for eqn in closed.jaxpr.eqns]]


def _bits(jk: Any, closed: Any, args: Sequence[Any]) -> list[Any]:
    """Return the bytes, types and weakness of a program's results; a nan is a nan, whatever its bits."""
    results = [jk.numpy.asarray(x) for x in jk.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)]
    numbers = [np.asarray(x) for x in results]
    bits = [(x != x).tobytes() + np.where(x != x, 0, x).astype(x.dtype).tobytes() for x in numbers]
    types = [(x.shape, x.dtype, getattr(y, "weak_type", None)) for x, y in zip(numbers, results, strict=True)]
    return [bits, types]


def refused(f: Callable[..., Any], *args: Any, word: str, instead: str = "") -> str:
    """Return a fixed sentence if calling `f` raises a NotImplementedError whose message contains `word` or `instead`;
    otherwise a sentence on the call. Other errors pass through. The reference returns the sentence without a call.
    """
    right = f"a NotImplementedError that says {word}"
    if not _is_package():
        return right
    try:
        f(*args)
    except NotImplementedError as error:
        return right if word in str(error) or (instead and instead in str(error)) else f"NotImplementedError: {error}"
    return "it was not refused"
