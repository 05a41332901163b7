"""Shortens tracebacks so that they end in the user's code: removes jitkit's own frames.

An exception raised while a function is traced passes through a dozen of our frames, between the user's call of the
jitted function and the user's line that failed. `api_boundary` marks the functions that users call, and removes our
frames from an exception that passes through. The whole traceback is kept as its `__jitkit_traceback__`, and
`JITKIT_TRACEBACK_FILTERING=off` (or `config.update("traceback_filtering", "off")`) leaves it alone.

Invariant: a frame is hidden by the file of its code, never by its caller. So a learner's function that replaces one of
ours, compiled under the name of the learner's file, is visible.

Since CPython 3.11 a bare `raise` leaves the traceback as the handler has set it, without the handler's frame; so the
boundary itself is hidden too.

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

from . import config, late_rooms, mixed_with_jax

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = os.path.normcase(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
# The rooms of this package that use the JIT as users do: their frames are shown.
_CALLERS = tuple(_PACKAGE + name + os.sep for name in ("kata", "bench"))
# The modules of `bench` whose frames are hidden all the same: they call the code that is measured.
_STOPWATCHES = tuple(os.path.join(_PACKAGE + "bench", name) for name in ("notebook.py", "calls.py", "timing.py"))

_NOTE = "(jitkit hides its own frames; JITKIT_TRACEBACK_FILTERING=off or exc.__jitkit_traceback__ shows them)"

_FRAME = r'  File "([^"\n]*)", line \d+, in (.*)\n'  # a frame in a traceback's text, without source lines


@functools.lru_cache(maxsize=4096)
def is_own_file(filename: str) -> bool:
    """Return whether a file is jitkit's own, and not in a room that uses the JIT as users do (`_CALLERS`; its `_STOPWATCHES` count
    as jitkit's own). (Code objects would be slower as keys.)
    """
    path = os.path.normcase(os.path.abspath(filename))
    if path.startswith(_PACKAGE):
        return not path.startswith(_CALLERS) or path in _STOPWATCHES
    return False


hidden: list[str] = []  # files and folders of libraries; flax adds and removes its own


def is_hidden_file(filename: str) -> bool:
    """Return whether frames of this file are hidden from users: jitkit's own files, and files that libraries hide."""
    return is_own_file(filename) or (bool(hidden) and _is_below(filename, tuple(hidden)))


@functools.lru_cache(maxsize=4096)
def _is_below(filename: str, paths: tuple[str, ...]) -> bool:
    path = os.path.normcase(os.path.abspath(filename))
    found = [os.path.normcase(os.path.abspath(each)) for each in paths]
    return any(path == each or path.startswith(each + os.sep) for each in found)


def hide_files(path: str) -> None:
    """Hide the frames of a file, or of all files below a folder: for libraries whose frames do not help their users."""
    hidden.append(path)


def include_frame(frame: types.FrameType) -> bool:
    """Return whether a frame is shown to users."""
    return not is_hidden_file(frame.f_code.co_filename)


def stacklevel() -> int:
    """Return the `stacklevel` with which `warnings.warn`, called by our caller, points at the user's line. Also note
    that a warning is given: results computed meanwhile must not be cached, so that it is repeated each time.
    """
    config.local.state.warned = True
    level = 1
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_hidden_file(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    return level


def api_boundary(fun: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a public function: exceptions leave it without jitkit's frames. Boundaries may be nested.

    Where another Python call is too slow, write the three lines from `except BaseException` on in the function itself.
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
    """Remove jitkit's frames from the traceback of `error`, and of the exceptions that are printed with it.

    Also remove exceptions that jitkit itself raised and caught, unless one is the cause (`raise ... from`). The whole
    traceback goes to `error.__jitkit_traceback__`. In mode "auto" a note says so, once; "on" (in JAX "remove_frames" or
    "quiet_remove_frames") hides without a note; "tracebackhide" marks the frames for pytest and IPython, and "off"
    changes nothing. Follow the call with a bare `raise`.

    If JAX refused one of our values, the message gets what to import; if Python raised the error, what to write
    instead, if known.
    """
    try:
        mode = config.value("traceback_filtering")
        mixed_with_jax.amend_refusal(error)
        late_rooms.import_room(".pythons_errors", __package__).amend(error, is_hidden_file)
        if mode == "tracebackhide":
            for link in _chain(error):
                _mark_own_frames(link)
        elif mode != "off":
            for link in _chain(error):
                _unlink_own_contexts(link)
                _hide_own_frames(link)
        if mode == "auto":
            _add_note(error, _NOTE)
    except RecursionError:
        return  # The stack is used up. An outer boundary has room to filter.


def _mark_own_frames(error: BaseException) -> None:
    """Put into jitkit's frames the variable that tells pytest and IPython not to show them."""
    node = error.__traceback__
    while node is not None:
        if is_hidden_file(node.tb_frame.f_code.co_filename):
            variables = node.tb_frame.f_locals
            variables["__tracebackhide__"] = True
            if isinstance(
                variables, dict
            ):  # before Python 3.13 a copy, which would keep the error, and so its frames, alive
                for name in [name for name, x in variables.items() if isinstance(x, BaseException)]:
                    del variables[name]
        node = node.tb_next


def filter_text(text: str, entry: str) -> str:
    """Return an error's text without jitkit's frames in tracebacks inside of it, as XLA writes them for exceptions of a
    callback. With the option `traceback_filtering` off, return the text unchanged.

    XLA's tracebacks begin where the program was called, which the error's own traceback shows, too: here, each begins
    after our function `entry`, which XLA calls.
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
    """Yield the exception, and the exceptions that are printed before it: its causes, or the ones that were being handled."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ if link.__cause__ is not None or link.__suppress_context__ else link.__context__


def _unlink_own_contexts(error: BaseException) -> None:
    """Remove the context of `error` if it is an error that only jitkit handled, such as a cache miss."""
    context = error.__context__
    while context is not None and context is not error and _is_our_own_affair(context):
        context = context.__context__
    if context is not error.__context__:
        object.__setattr__(error, "__context__", context)


def _is_our_own_affair(context: BaseException) -> bool:
    """Return whether jitkit raised and caught this exception, without a user's frame in between."""
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
        # An inner boundary has cut the traceback already. Frames added since come before those that it kept.
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
    """Return the traceback without hidden frames: the same object if there are none, None if all are hidden."""
    kept: types.TracebackType | None = None
    for node in reversed(list(_nodes(traceback))):
        if not is_hidden_file(node.tb_frame.f_code.co_filename):
            kept = _in_front_of(kept, node)
    return kept


def _splice(
    traceback: types.TracebackType | None, tail: types.TracebackType | None, new_tail: types.TracebackType
) -> types.TracebackType:
    """Return `traceback` with its end, from the node `tail` on, replaced."""
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
