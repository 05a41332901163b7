"""content -> a file, written atomically

A reader sees the old content or the new one, never a part; of several writers the last one wins. The content is written
to another file, which is then renamed. It is not forced onto the disk: after a power failure the file may be empty.

This file imports nothing of jitkit: the ladder's processes, which cannot import jitkit, load it by its path.

JAX: jax/_src/lru_cache.py:LRUCache.put
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

PART = ".part"  # suffix of a file that is being written, or that a killed process left behind
_REPLACE_ATTEMPTS = 20
_NAP = 0.02  # seconds between two attempts


def write_whole(path: str | os.PathLike[str], content: bytes, make_folder: bool = False) -> None:
    """Write a file atomically, with the permissions that `open` gives a new file.

    Args:
      make_folder: make the file's folder if there is none, even if it has just been removed.

    Raises:
      OSError: nothing was written, and nothing is left behind. The error names the file, or the missing folder.
    """
    path = os.fspath(path)
    folder, name = os.path.split(path)
    # the process, the thread and the time, since a folder may be shared by machines
    writer = f"{os.getpid()}-{threading.get_ident()}-{time.time_ns()}"
    part = os.path.join(folder, f".{name[:40]}.{writer}{PART}")
    try:
        try:
            _write_new(part, content)
        except FileNotFoundError:
            if not make_folder:
                raise
            os.makedirs(folder, exist_ok=True)
            _write_new(part, content)
        replace(part, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (part, None):
            missing = isinstance(error, FileNotFoundError)
            raise OSError(error.errno, error.strerror, folder if missing else path) from None
        raise


def _write_new(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Call `os.replace`. On Windows, which refuses while another process reads the target, try again for 0.4 s."""
    for attempt in range(_REPLACE_ATTEMPTS):
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if os.name != "nt" or attempt == _REPLACE_ATTEMPTS - 1:
                raise
            time.sleep(_NAP)
