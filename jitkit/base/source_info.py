"""Where in the user's program a value was made: captured cheaply while tracing, resolved only when somebody
asks.

While an equation is recorded we keep two things of the innermost frame that is not ours: its code object and
the index of its current instruction. Turning them into a file, a line and a column costs microseconds, and
happens only when an error is written, a jaxpr is printed with `source_info=True`, or a program is lowered.

JAX: jax/_src/source_info_util.py:SourceInfo
"""

from __future__ import annotations

import functools
import sys
from types import CodeType, FrameType
from typing import NamedTuple

from . import config
from .traceback_util import is_own_file

_own_file: dict[
    str, bool
] = {}  # a plain dict in front of `is_own_file`: it is asked once a frame, in every equation


class SourceInfo:
    """A position in the user's code, plus the names of the scopes (`named_scope`) that were open there."""

    __slots__ = ("code", "instruction", "name_stack")

    def __init__(self, code: CodeType | None, instruction: int, name_stack: tuple[str, ...]) -> None:
        self.code = code
        self.instruction = instruction
        self.name_stack = name_stack

    @property
    def position(self) -> Position | None:
        """File, line and column, or None when the value was not made by user code."""
        return None if self.code is None else _resolve(self.code, self.instruction)


class Position(NamedTuple):
    """A resolved place: 1-based line and column, and the name of the function there."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


UNKNOWN = SourceInfo(None, 0, ())


def user_frame(skip: int = 1) -> FrameType | None:
    """The innermost frame on the stack that is not jitkit's own. The `skip` innermost ones are known to be."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None:
        filename = frame.f_code.co_filename
        own = _own_file.get(filename)
        if own is None:
            own = _own_file[filename] = is_own_file(filename)
        if not own:
            break
        frame = frame.f_back
    return frame


def current() -> SourceInfo:
    """The position of the user's code that is running now."""
    frame = user_frame(2)
    if frame is None:
        return UNKNOWN
    return SourceInfo(frame.f_code, frame.f_lasti, config.local.state.name_stack)


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
    """`/path/file.py:12:8 (function)`, as JAX writes it: columns count from 0, which is left out."""
    position = source.position
    if position is None:
        return "unknown"
    column = f":{position.column - 1}" if position.column > 1 else ""
    return f"{position.file}:{position.line}{column} ({position.function})"
