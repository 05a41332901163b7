"""Loads the system's libraries that Python's own modules need, while they are there: an answer may import any of the modules

A jail has none of the system's files once it serves (`walls.close_system`). An extension of Python's that needs one, such as sqlite3's, can
be imported later if the library is in the process already. Each library is read to its end: if a page is read for the first time, this
takes longer, and a program could tell another one something by that.
"""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import os

# libraries that are loaded late: when a thread ends, or by C++
_LATE = ("libgcc_s.so.1", "libstdc++.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1")
_NOT_THERE = ("_test", "_ctypes_test", "_xx", "xx", "_tkinter")  # for Python's tests, and for windows


def load_libraries() -> None:
    """Load the shared libraries that may be needed later. To find them, load each extension; close it again if it
    brings no library from outside of Python's folder, since each fork would copy its mapping.
    """
    for library in _LATE:
        with contextlib.suppress(OSError):
            ctypes.CDLL(library)
    python = os.path.dirname(os.__file__)
    extensions = os.path.join(python, "lib-dynload")
    for name in sorted(os.listdir(extensions)) if os.path.isdir(extensions) else ():
        if not name.startswith(_NOT_THERE):
            before = _mapped()
            with contextlib.suppress(OSError):  # the system does not have what the extension needs
                extension = ctypes.CDLL(os.path.join(extensions, name))
                if all(path.startswith(python) for path in _mapped() - before):
                    _ctypes.dlclose(extension._handle)
    for path in _mapped():
        with contextlib.suppress(OSError), open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def _mapped() -> set[str]:
    """Return the files that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        lines = [line.rstrip("\n").split(None, 5) for line in file]
    return {line[5] for line in lines if len(line) == 6 and line[5].startswith("/")}
