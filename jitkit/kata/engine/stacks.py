"""a process that hangs or has died -> the learner's line that it was running

A worker writes its stack if a crash (a signal that `faulthandler` handles, such as SIGSEGV) or `os._exit` ends it, or if another signal
asks for the stack. On Windows a process cannot be asked.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
from typing import IO, NoReturn

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)
_ESCAPED = re.compile(
    r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})"
)  # a letter outside of ASCII, as faulthandler writes it
_PATIENCE = 0.5  # seconds for an answer, which usually takes less than 0.01
_CAN_BE_ASKED = sys.platform != "win32"


def new_file() -> IO[bytes]:
    """Return a new temporary file for the stacks of a worker."""
    return tempfile.TemporaryFile()


def write_to(stream: int) -> None:
    """In a worker: make Python write its stack to a stream when a crash or `os._exit` ends the process, or when a signal asks
    for the stack.
    """
    file = os.fdopen(os.dup(stream), "wb", 0)
    faulthandler.enable(file, all_threads=False)
    if _CAN_BE_ASKED:
        faulthandler.register(signal.SIGUSR1, file, all_threads=False)
    leave = os._exit

    def leave_a_stack(status: int) -> NoReturn:
        faulthandler.dump_traceback(file, all_threads=False)
        leave(status)

    vars(os)["_exit"] = leave_a_stack


def ask(process: int, file: IO[bytes]) -> None:
    """Make a process that still runs write its stack to `file`, and wait at most `_PATIENCE` until it is there. On Windows, do nothing."""
    if not _CAN_BE_ASKED:
        return
    limit = time.monotonic() + _PATIENCE
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGUSR1)
        while not _FRAME.search(_text(file)) and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(0.01)  # a stack is written line by line, the innermost first


def innermost(file: IO[bytes], folder: str) -> tuple[str, int] | None:
    """Return the innermost line in `folder`, which may be a file, of the stack that was written last; None if no line of it is there."""
    inside = pathlib.Path(folder).resolve()
    for path, line in _FRAME.findall(_text(file).rpartition("(most recent call first)")[2]):
        place = pathlib.Path(path).resolve()
        if inside == place or inside in place.parents:
            return path, int(line)
    return None


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    text = file.read().decode("ascii", "replace")
    if sys.platform == "win32":  # there a backslash is part of a path
        return text
    return _ESCAPED.sub(lambda found: chr(int(next(filter(None, found.groups())), 16)), text)
