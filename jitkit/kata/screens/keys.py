"""a keyboard, or a pipe -> keys, without waiting for Enter where the terminal can"""

from __future__ import annotations

import contextlib
import importlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from ..workspace.changes import Changes

ENTER = "\n"


@contextlib.contextmanager
def keys_of(stream: TextIO | None, changes: Changes | None = None) -> Iterator[Callable[[], str]]:
    """Yield a function that returns the next key, or "" if there is none. A pipe, or a terminal that cannot read single keys,
    gives the first letter of each line. A key also wakes a thread that waits for `changes`, but not in a terminal of Windows.
    """
    if stream is None:
        yield lambda: ""
    elif stream.isatty() and sys.platform == "win32":
        yield _windows_key
    elif stream.isatty():
        with _single_keys(stream, changes) as next_key:
            yield next_key
    else:
        yield _letters_of_lines(stream, changes)


def _windows_key() -> str:
    msvcrt: Any = importlib.import_module("msvcrt")
    return str(msvcrt.getwch()).replace("\r", ENTER) if msvcrt.kbhit() else ""


@contextlib.contextmanager
def _single_keys(stream: TextIO, changes: Changes | None) -> Iterator[Callable[[], str]]:
    """Within the block, let a POSIX terminal hand over each key, or, if it cannot, the first letter of each line; yield a function that
    returns the next one.
    """
    try:
        termios: Any = importlib.import_module("termios")
        tty: Any = importlib.import_module("tty")
        select: Any = importlib.import_module("select")
        before = termios.tcgetattr(stream.fileno())
    except (ImportError, OSError, ValueError):
        yield _letters_of_lines(stream, changes)
        return
    heard = [] if changes is None else changes.streams

    def next_key() -> str:
        ready, _, _ = select.select([stream], [], [], 0)
        letter = os.read(stream.fileno(), 1) if ready else b""
        if ready and not letter:  # the terminal is gone, and `select` would always report it as ready
            heard[:] = []
        return letter.decode(errors="replace").replace("\r", ENTER)

    heard.append(stream.fileno())
    try:
        tty.setcbreak(stream.fileno())
        yield next_key
    finally:
        heard[:] = []
        termios.tcsetattr(stream.fileno(), termios.TCSADRAIN, before)


def _letters_of_lines(stream: TextIO, changes: Changes | None) -> Callable[[], str]:
    letters: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                letters.put(line.strip()[:1] or ENTER)
                if changes is not None:
                    changes.wake()

    threading.Thread(target=listen, daemon=True).start()

    def next_key() -> str:
        with contextlib.suppress(queue.Empty):
            return letters.get_nowait()
        return ""

    return next_key
