"""Tracebacks that end in the user's code: jitkit's own frames are taken out of them.

An exception raised while a function is traced passes through a dozen of our frames, between the user's call
of the jitted function and the user's line that failed. `api_boundary` marks the functions that users call; on
its way out through one of them, an exception loses the frames that are ours. The whole traceback stays with
it, as its `__jitkit_traceback__`, and `JITKIT_TRACEBACK_FILTERING=off` (or
`config.update("traceback_filtering", "off")`) leaves it alone.

Invariant: a frame is hidden by the file its code comes from, never by who called it. So a learner's function
that runs in place of one of ours, compiled under the name of the learner's file, is visible.

Since CPython 3.11 a bare `raise` leaves the traceback as the handler has set it, and does not put the
handler's frame back; so the boundary itself is hidden too.

JAX: jax/_src/traceback_util.py:api_boundary
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from . import config, mixed_with_jax

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = os.path.normcase(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
# Users of the JIT that happen to live in its package: their frames are part of what the user runs.
_CALLERS = tuple(_PACKAGE + name + os.sep for name in ("kata", "bench"))
# But not the stopwatches, which call what the user wrote elsewhere.
_STOPWATCHES = tuple(os.path.join(_PACKAGE + "bench", name) for name in ("notebook.py", "calls.py", "timing.py"))

_NOTE = "(jitkit hides its own frames; JITKIT_TRACEBACK_FILTERING=off or exc.__jitkit_traceback__ shows them)"

_FRAME = r'  File "([^"\n]*)", line \d+, in (.*)\n'  # in a traceback that is text, without lines of source


@functools.lru_cache(maxsize=4096)
def is_own_file(filename: str) -> bool:
    """Whether code of this file is jitkit's own. (Code objects as keys would hash slowly.)"""
    path = os.path.normcase(os.path.abspath(filename))
    if path.startswith(_PACKAGE):
        return not path.startswith(_CALLERS) or path in _STOPWATCHES
    return False


_hidden: list[str] = []  # files and folders of libraries


@functools.lru_cache(maxsize=4096)
def is_hidden_file(filename: str) -> bool:
    """Whether frames of this file are left out of what users see: jitkit's own, and those of libraries that asked for it."""
    path = os.path.normcase(os.path.abspath(filename))
    return is_own_file(filename) or any(path == each or path.startswith(each + os.sep) for each in _hidden)


def hide_files(path: str) -> None:
    """Hide the frames of a file, or of all files below a folder: a library asks for it whose frames say nothing to its users."""
    _hidden.append(os.path.normcase(os.path.abspath(path)))
    is_hidden_file.cache_clear()


def include_frame(frame: types.FrameType) -> bool:
    """Whether a frame is shown to users."""
    return not is_hidden_file(frame.f_code.co_filename)


def stacklevel() -> int:
    """The `stacklevel` with which `warnings.warn`, called by our caller, points at the user's line. That a warning is given is noted:
    whoever remembers what was done meanwhile is to do it, and warn, each time.
    """
    config.local.state.warned = True
    level = 1
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_hidden_file(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    return level


def api_boundary(fun: Callable[P, R]) -> Callable[P, R]:
    """`fun`, as users call it: exceptions leave it without jitkit's frames. Boundaries may be nested.

    Where a further Python call is too slow, write these three lines, `except BaseException` and on, in `fun`.
    """

    @functools.wraps(fun)
    def call_and_filter_traceback(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fun(*args, **kwargs)
        except BaseException as error:
            filter_traceback(error)
            raise

    return call_and_filter_traceback


def filter_traceback(error: BaseException) -> None:
    """Take jitkit's frames out of the traceback of `error`, and of the exceptions that are printed with it.

    Of those, what jitkit itself raised and caught is left out, unless it is named as the cause (`raise ...
    from`). The whole traceback goes to `error.__jitkit_traceback__`. In mode "auto" a note says so, once;
    "on" hides without a note; "off" leaves all as it is. To be followed by a bare `raise`.

    A refusal by real JAX, of which some function was given one of our values, says then what to import.
    """
    try:
        mode = config.value("traceback_filtering")
        mixed_with_jax.amend_refusal(error)
        if mode != "off":
            for link in _chain(error):
                _unlink_own_contexts(link)
                _hide_own_frames(link)
        if mode == "auto":
            _add_note(error, _NOTE)
    except RecursionError:
        return  # The stack is used up. A boundary further out has the room.


def filter_text(text: str, entry: str) -> str:
    """An error's text without jitkit's frames in the tracebacks that it holds, as XLA writes them of what a function
    that it called has raised.

    XLA begins where the program was called. That is in the traceback of the error itself: here, each begins
    after our function called `entry`, which XLA calls.
    """

    def visible(block: re.Match[str]) -> str:
        frames = list(re.finditer(_FRAME, block[0]))
        ours = [is_hidden_file(frame[1]) for frame in frames]
        entries = [i for i, frame in enumerate(frames) if ours[i] and frame[2] == entry]
        first = entries[-1] if entries else 0
        return "".join(frame[0] for i, frame in enumerate(frames) if i >= first and not ours[i])

    return text if config.value("traceback_filtering") == "off" else re.sub(f"(?:{_FRAME})+", visible, text)


def _add_note(error: BaseException, note: str) -> None:
    if note not in getattr(error, "__notes__", ()):
        with contextlib.suppress(AttributeError):  # an exception that is a frozen dataclass refuses
            error.add_note(note)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, and those that are printed before it: its causes, or what was being handled."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ if link.__cause__ is not None or link.__suppress_context__ else link.__context__


def _unlink_own_contexts(error: BaseException) -> None:
    """Forget what was being handled when `error` was raised, where only we were: a cache miss, say."""
    context = error.__context__
    while context is not None and context is not error and _is_our_own_affair(context):
        context = context.__context__
    if context is not error.__context__:
        object.__setattr__(error, "__context__", context)


def _is_our_own_affair(context: BaseException) -> bool:
    """Whether an exception was raised and caught by jitkit, without a frame of the user's in between."""
    traceback = context.__traceback__
    return traceback is not None and _without_own_frames(traceback) is None


def _hide_own_frames(error: BaseException) -> None:
    whole = error.__traceback__
    visible = _without_own_frames(whole)
    if visible is whole:
        return
    filtered_before: tuple[types.TracebackType | None, types.TracebackType] | None
    filtered_before = getattr(error, "_jitkit_filtered", None)
    if filtered_before is not None:
        # An inner boundary has cut it already. What was added since stands in front of what that one left.
        whole = _splice(whole, *filtered_before)
    error.with_traceback(visible)
    # Not `error.x = ...`: an exception may be a frozen dataclass.
    object.__setattr__(error, "__jitkit_traceback__", whole)
    object.__setattr__(error, "_jitkit_filtered", (visible, whole))


def _nodes(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _without_own_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without jitkit's frames; the very same object where it has none."""
    kept: types.TracebackType | None = None
    for node in reversed(list(_nodes(traceback))):
        if not is_hidden_file(node.tb_frame.f_code.co_filename):
            kept = _in_front_of(kept, node)
    return kept


def _splice(
    traceback: types.TracebackType | None, tail: types.TracebackType | None, new_tail: types.TracebackType
) -> types.TracebackType:
    """`traceback` with its end, from the node `tail` on, replaced."""
    front = []
    for node in _nodes(traceback):
        if node is tail:
            break
        front.append(node)
    spliced = new_tail
    for node in reversed(front):
        spliced = _in_front_of(spliced, node)
    return spliced


def _in_front_of(rest: types.TracebackType | None, node: types.TracebackType) -> types.TracebackType:
    if node.tb_next is rest:
        return node
    return types.TracebackType(rest, node.tb_frame, node.tb_lasti, node.tb_lineno)
