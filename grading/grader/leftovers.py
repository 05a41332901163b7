"""Removes what killed graders have left on this machine: the next grader sweeps"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterator

from .control_groups import GROUPS

_OURS = re.compile(r"jitkit-(?:zygote-|canary-|copies-)?(\d+)-\w+")
MEMORY = pathlib.Path("/dev/shm")  # a file system in memory
_AGE = 60.0  # seconds: a younger folder may belong to a process that we cannot see, in another container


def name_for(kind: str) -> str:
    """Return the first part of a temporary name, which tells a later grader whether the owner still runs."""
    return f"jitkit-{kind}-{os.getpid()}-"


def sweep() -> int:
    """Remove what graders that are gone have left: temporary files and folders older than a minute, and empty control groups. Return
    how many were removed.
    """
    count = 0
    for path in (*_left(pathlib.Path(tempfile.gettempdir())), *_left(MEMORY)):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _AGE:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                count += 1
    places = [GROUPS, *(GROUPS / name for name in ("pids", "memory"))]
    own = pathlib.Path("/proc/self/cgroup")
    with contextlib.suppress(OSError):
        line = own.read_text(encoding="utf-8").rpartition("::")[2].strip()
        places.append((GROUPS / line.lstrip("/")).parent)
    for folder in dict.fromkeys(places):
        for group in _left(folder):
            with contextlib.suppress(OSError):  # the group still has processes
                group.rmdir()
                count += 1
    return count


def _left(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the files and groups with one of our names whose owner no longer runs."""
    with contextlib.suppress(OSError):
        for path in sorted(folder.iterdir()):
            found = _OURS.fullmatch(path.name)
            if found is not None and not pathlib.Path("/proc", found[1]).exists():
                yield path
