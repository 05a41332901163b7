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

ENTER = "\n"


@contextlib.contextmanager
def keys_of(stream: TextIO | None) -> Iterator[Callable[[], str]]:
    """Within the block, the function that is yielded returns the next key, or "" when there is none. Of a pipe, the first letter
    of each line is one; a line of a terminal that gives no single keys, too."""
    if stream is None:
        yield lambda: ""
    elif stream.isatty() and sys.platform == "win32":
        yield _windows_key
    elif stream.isatty():
        with _single_keys(stream) as next_key:
            yield next_key
    else:
        yield _letters_of_lines(stream)


def _windows_key() -> str:
    msvcrt: Any = importlib.import_module("msvcrt")
    return str(msvcrt.getwch()).replace("\r", ENTER) if msvcrt.kbhit() else ""


@contextlib.contextmanager
def _single_keys(stream: TextIO) -> Iterator[Callable[[], str]]:
    """A terminal of POSIX, which hands over each key for the time of the block."""
    try:
        termios: Any = importlib.import_module("termios")
        tty: Any = importlib.import_module("tty")
        select: Any = importlib.import_module("select")
        before = termios.tcgetattr(stream.fileno())
    except (ImportError, OSError, ValueError):
        yield _letters_of_lines(stream)
        return

    def next_key() -> str:
        ready, _, _ = select.select([stream], [], [], 0)
        return os.read(stream.fileno(), 1).decode(errors="replace").replace("\r", ENTER) if ready else ""

    try:
        tty.setcbreak(stream.fileno())
        yield next_key
    finally:
        termios.tcsetattr(stream.fileno(), termios.TCSADRAIN, before)


def _letters_of_lines(stream: TextIO) -> Callable[[], str]:
    letters: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                letters.put(line.strip()[:1] or ENTER)

    threading.Thread(target=listen, daemon=True).start()

    def next_key() -> str:
        with contextlib.suppress(queue.Empty):
            return letters.get_nowait()
        return ""

    return next_key
