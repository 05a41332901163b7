"""Programs that XLA has compiled, kept for the next run of the tests, and for the process beside this one.

To read machine code takes a tenth of the time that it takes to compile it (1 ms for 11), and to compile took a third of the time of all
tests. A program is found by its text and options, and by what machine code depends on besides: jaxlib, XLA's flags and the machine.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import re
from collections.abc import Callable
from typing import Any

import jaxlib._jax

MOST_BYTES = 400_000_000
bytes_of: dict[int, bytes] = {}  # of executables that were loaded, by `id`: XLA cannot serialise these again
OF_THIS_PROCESS = re.compile("callback|host_compute")  # programs that hold addresses


@functools.cache
def build() -> str:
    """Return what machine code depends on besides the program."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        machine = re.search(r"^flags.*$", file.read(), re.MULTILINE)
        file = jaxlib._jax.__file__
        return repr(
            (file, os.stat(file).st_mtime_ns, os.environ.get("XLA_FLAGS"), machine and machine[0], platform.node())
        )
    return ""


def prune(folder: pathlib.Path, most: int = MOST_BYTES) -> None:
    """Delete the programs that were used longest ago, if all of them take more than `most` bytes."""
    with contextlib.suppress(OSError):  # the process beside this one does the same
        total = 0
        for _, size, path in sorted(((p.stat().st_mtime, p.stat().st_size, p) for p in folder.iterdir()), reverse=True):
            total += size
            if total > most:
                path.unlink(missing_ok=True)


def kept(folder: pathlib.Path | None, program: str, load: Callable[[bytes], Any], compile: Callable[[], Any]) -> Any:
    """Return the executable of a program, its text with its options: `load` makes it from the folder's bytes, or else `compile`
    does, and it is kept.
    """
    if folder is None or not build() or OF_THIS_PROCESS.search(program):
        return compile()
    path = folder / hashlib.sha256((build() + program).encode()).hexdigest()[:40]
    with contextlib.suppress(Exception):  # not there yet, or damaged
        data = path.read_bytes()
        found = load(data)
        bytes_of[id(found)] = data
        os.utime(path)
        return found
    found = compile()
    with contextlib.suppress(Exception):  # a full disk, or machine code that cannot be written down
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_bytes(found.serialize())
        beside.replace(path)
    return found
