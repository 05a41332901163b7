"""Finds where in the user's program a value was made: recorded cheaply while tracing, resolved only on demand.

While an equation is recorded we keep the code object of the innermost frame that is not ours, and the index of its
current instruction. Turning them into a file, a line and a column costs microseconds, and happens only when an error is
written, a jaxpr is printed with `source_info=True`, or a program is lowered.

JAX: jax/_src/source_info_util.py:SourceInfo
"""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from . import config
from .traceback_util import is_hidden_file
from .util import NameStack, Transform


class _HiddenFiles(dict[str, bool]):
    """Caches `is_hidden_file` of each file, which is needed once a frame, for every equation."""

    def __missing__(self, filename: str) -> bool:
        self[filename] = is_hidden_file(filename)
        return self[filename]


_hidden_file = _HiddenFiles()


def forget_files() -> None:
    """Clear the cache of `is_hidden_file`: more files may be hidden now."""
    _hidden_file.clear()


class SourceInfo:
    """A position in the user's code, and the names of the scopes (`named_scope`) that were open there."""

    __slots__ = ("code", "instruction", "name_stack")

    def __init__(self, code: CodeType | None, instruction: int, name_stack: tuple[str, ...]) -> None:
        self.code = code
        self.instruction = instruction
        self.name_stack = name_stack

    @property
    def position(self) -> Position | None:
        """Return file, line and column, or None when the value was not made by user code."""
        return None if self.code is None else _resolve(self.code, self.instruction)

    @property
    def traceback(self) -> SourceInfo:
        """The object itself: `jax.extend.source_info_util.user_context` takes it, to record equations here again."""
        return self


class Position(NamedTuple):
    """A resolved place: 1-based line and column, and the name of the function there."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


UNKNOWN = SourceInfo(None, 0, NameStack())


def user_frame(skip: int = 1) -> FrameType | None:
    """Return the innermost frame on the stack that is neither jitkit's nor of a file that a library hides, or None. The
    `skip` innermost frames, known to be jitkit's, are not looked at.
    """
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None and _hidden_file[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def in_loop() -> bool:
    """Return whether the user's running code is in a `for`, a `while` or a comprehension, itself or a caller of it, up
    to a module's top level or a library.
    """
    frame = user_frame(2)
    while frame is not None:
        code = frame.f_code
        if not is_hidden_file(code.co_filename):
            if _is_of_a_library(code.co_filename):
                return False
            if any(first <= frame.f_lasti <= last for first, last in _loops(code)):
                return True
            if code.co_name == "<module>":
                return False
        frame = frame.f_back
    return False


_JUMPS_BACK = frozenset(
    code
    for name, code in dis.opmap.items()
    if "JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name  # with NO_INTERRUPT it belongs to an `await`
)
_LONGER, _CACHE = dis.opmap["EXTENDED_ARG"], dis.opmap["CACHE"]


@functools.lru_cache(maxsize=1024)
def _loops(code: CodeType) -> list[tuple[int, int]]:
    """Return the loops of a code object, as ranges from the first to the last instruction: a backward jump ends a loop.
    They are read from its bytes: `dis` takes thirty times as long, a seventh of the time of short programs.
    """
    text = code.co_code
    if _JUMPS_BACK.isdisjoint(text[::2]):
        return []
    found, high = [], 0
    for at in range(0, len(text), 2):
        far = high | text[at + 1]
        high = far << 8 if text[at] == _LONGER else 0
        if text[at] in _JUMPS_BACK:
            behind = at + 2  # a jump is relative to the next instruction
            while text[behind : behind + 1] == bytes([_CACHE]):
                behind += 2
            found.append((behind - 2 * far, at))
    return found


@functools.lru_cache(maxsize=1024)
def _is_of_a_library(file: str) -> bool:
    """Return whether a file belongs to Python's standard library or an installed package."""
    path = os.path.normcase(os.path.abspath(file))
    return any(path.startswith(folder) for folder in _libraries())


@functools.cache
def _libraries() -> tuple[str, ...]:
    folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple(os.path.normcase(os.path.abspath(folder)) + os.sep for folder in folders)


def current(skip: int = 0) -> SourceInfo:
    """Return the user's position that is running now, or, while an equation is traced again, the equation's position.
    The `skip` innermost frames, from the caller's on, are known to be jitkit's: looking at one costs 60 ns.
    """
    state = config.local.state
    again = state.source
    if again is not None:
        stack = state.name_stack
        scopes = NameStack(_joined(stack, again.name_stack)) if stack else again.name_stack
        return SourceInfo(again.code, again.instruction, scopes) if stack else again
    frame = user_frame(skip + 2)
    if frame is None:
        return UNKNOWN
    return SourceInfo(frame.f_code, frame.f_lasti, state.name_stack)


def _joined(stack: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scopes of an equation that is traced again: the current ones, then its own. If the last current one is
    a transformation, and the equation was recorded within the others (as when it is transposed), these are not
    repeated.
    """
    around = stack[:-1]
    return stack + own[len(around) :] if type(stack[-1]) is Transform and own[: len(around)] == around else stack + own


@contextlib.contextmanager
def transform(name: str) -> Iterator[None]:
    """Put the name of a transformation around the scope of each equation recorded in the block: `jvp(A)` for one in scope A."""
    state = config.local.state
    before = state.name_stack
    state.name_stack = NameStack((*before, Transform(name)))
    try:
        yield
    finally:
        state.name_stack = before


@contextlib.contextmanager
def at(source: SourceInfo | None) -> Iterator[None]:
    """Record equations in the block with this source, or with None the user's running position."""
    state = config.local.state
    before, state.source = state.source, source
    try:
        yield
    finally:
        state.source = before


def nowhere() -> contextlib.AbstractContextManager[None]:
    """Record equations in the block without source lines: for a program that several calls share, each with a line of its own."""
    return at(UNKNOWN)


def _resolve(code: CodeType, instruction: int) -> Position:
    positions = _positions(code)
    line, end_line, column, end_column = positions[min(max(instruction // 2, 0), len(positions) - 1)]
    first = line or code.co_firstlineno
    return Position(
        code.co_filename, first, (column or 0) + 1, end_line or first, (end_column or 0) + 1, code.co_qualname
    )


@functools.lru_cache(maxsize=1024)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def summarize(source: SourceInfo) -> str:
    """Return `/path/file.py:12:8 (function)`, as JAX writes it: columns count from 0, and 0 is left out. In a notebook
    it is `Cell In[7], line 12 (function)`, without a position `unknown`.
    """
    position = source.position
    if position is None:
        return "unknown"
    in_cell = cell(position.file) is not None
    column = f":{position.column - 1}" if position.column > 1 and not in_cell else ""
    function = "" if in_cell and position.function == "<module>" else f" ({position.function})"
    return f"{place(position.file, position.line)}{column}{function}"


def place(file: str, line: int) -> str:
    """Return `/path/file.py:12`; for a line of a notebook `Cell In[7], line 12`, as in IPython's tracebacks."""
    name = cell(file)
    return f"{file}:{line}" if name is None else f"{name}, line {line}"


def cell(file: str) -> str | None:
    """Return `Cell In[7]` for code typed into IPython or a notebook, else None. A cell that is run again unchanged
    keeps its file, and gets its latest number.
    """
    ipython: Any = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    with contextlib.suppress(AttributeError):  # no shell, or a version without this attribute
        named: tuple[str, str] | None = shell.compile.format_code_name(file)
        return None if named is None else " ".join(named)
    return None
