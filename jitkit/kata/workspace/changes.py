"""folders -> the moment at which something in them was written, or a key was pressed

Looking at files' times fifty times a second takes 2 % of a core. So if the system reports changes (Linux: inotify), we
sleep until it does, and look only twice a second, in case another system writes a file on a network drive. Otherwise we
look often while somebody works, and less often afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import select
import sys
import time
from collections.abc import Callable, Iterable, Sequence

_BACKSTOP = 0.5  # seconds between two looks, if the system reports changes
_EAGER, _IDLE = 0.01, 0.1  # seconds between two looks if it does not: while somebody works, and later
_AT_WORK = 120.0  # somebody counts as working for this many seconds after a save or a key

# linux/inotify.h: written, attributes, closed after writing, moved from and to, created, deleted
_EVENTS = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200


# Time, size, inode, and the time of the inode: if the clock is too coarse to show a save, another of the four changes.
Stamp = tuple[int, int, int, int]


def stamp(path: str | os.PathLike[str]) -> Stamp | None:
    """Return a stamp that changes when a file is saved; None without a file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


class Changes:
    """Waits until a file in a watched folder may have changed. The wait also ends when another thread calls `wake`, and when a
    descriptor in `streams`, such as the keyboard's, has something to read.

    Args:
      folders: a function that returns the folders to watch. Each wait calls it again, since folders come and go.
    """

    def __init__(self, folders: Callable[[], Iterable[pathlib.Path]]) -> None:
        self.folders = folders
        self.streams: list[int] = []
        self.active = time.monotonic()
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)
        self._inotify = _Inotify.start()
        self._watch()

    def close(self) -> None:
        """Release the system's watches."""
        for descriptor in (self._read, self._write):
            os.close(descriptor)
        if self._inotify is not None:
            self._inotify.close()

    def wake(self) -> None:
        """End the wait that is going on, or else the next one."""
        # if the pipe is full, its reader wakes anyway; if it is closed, nobody waits
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._write, b".")

    def wait(self) -> None:
        """Wait until a file may have changed or the wait is ended, but at most half a second."""
        if sys.platform == "win32":  # there `select` works only for sockets
            time.sleep(self._pause())
            _drain(self._read)
            return
        told_by = [self._read, *self.streams, *([] if self._inotify is None else [self._inotify.descriptor])]
        ready: Sequence[int] = select.select(told_by, [], [], self._pause())[0]
        if ready:
            self.active = time.monotonic()
            _drain(self._read)
        if self._inotify is not None:
            _drain(self._inotify.descriptor)
            self._watch()

    def _pause(self) -> float:
        if self._inotify is not None:
            return _BACKSTOP
        return _EAGER if time.monotonic() - self.active < _AT_WORK else _IDLE

    def _watch(self) -> None:
        """Make the system watch all folders that exist now. A folder that is watched already is not added again."""
        if self._inotify is not None:
            for folder in self.folders():
                self._inotify.watch(folder)


class _Inotify:
    """File events of Linux; Python has no module for them."""

    def __init__(self, library: ctypes.CDLL, descriptor: int) -> None:
        self.library = library
        self.descriptor = descriptor

    @classmethod
    def start(cls) -> _Inotify | None:
        """Start watching, and return the watcher; return None if the system has no inotify, or its limit of watchers is
        reached.
        """
        if sys.platform != "linux":
            return None
        try:
            library = ctypes.CDLL(None)
            descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, AttributeError):
            return None
        return cls(library, descriptor) if descriptor >= 0 else None

    def watch(self, folder: pathlib.Path) -> None:
        """Watch a folder. If it does not exist, or too many are watched, it is only looked at twice a second."""
        self.library.inotify_add_watch(self.descriptor, os.fsencode(folder), _EVENTS)

    def close(self) -> None:
        """Stop watching."""
        os.close(self.descriptor)


def _drain(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(descriptor, 65536):
            pass
