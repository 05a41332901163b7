"""Copies Python and its packages into memory for a jail: on a disk, one worker could tell what another has read

The first read of a file waits for the disk, and so does the first look for a name that does not exist; the next one does
not wait. So one worker can leave a message for another: we measured 2,700 bits a second without an error, and the two
workers need not run at the same time. In memory everything is there from the start, and nothing is cached about names
that do not exist.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import pathlib
import shutil
import tempfile
import threading

from .leftovers import MEMORY, name_for

_LEFT_OUT = shutil.ignore_patterns(
    "test", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "config-*", "site-packages", "dist-packages"
)  # fmt: skip
_ROOM = 2 << 30  # bytes that must be free; all packages together take two thirds of a gigabyte
_numbers = itertools.count()
_lock = threading.Lock()
_copies: dict[pathlib.Path, pathlib.Path] = {}


@functools.cache
def folder() -> pathlib.Path | None:
    """Return the folder of the copies, which lasts as long as this process. Return None if there is no file system in memory, or
    it is too small, or does not allow running code.
    """
    try:
        has = os.statvfs(MEMORY)
    except OSError:
        return None
    if has.f_flag & os.ST_NOEXEC or has.f_bavail * has.f_frsize < _ROOM or not os.access(MEMORY, os.W_OK):
        return None
    place = pathlib.Path(tempfile.mkdtemp(prefix=name_for("copies"), dir=MEMORY))
    place.chmod(0o755)
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(place, ignore_errors=True) if os.getpid() == owner else None)
    return place


def in_memory(path: pathlib.Path) -> pathlib.Path:
    """Return the path of a copy of a folder or file, made once; the path itself if there is no `folder` for copies."""
    top = folder()
    if top is None:
        return path
    with _lock:
        if path not in _copies:
            place = top / str(next(_numbers))
            if path.is_dir():
                shutil.copytree(path, place, ignore=_LEFT_OUT, ignore_dangling_symlinks=True)
            else:
                shutil.copy2(path, place)
            _copies[path] = place
        return _copies[path]
