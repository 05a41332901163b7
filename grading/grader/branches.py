"""Branches of a zygote: for each exercise a process in its jail, in which all is prepared that does not need the exercise's functions

All workers of an exercise begin in the same way. They fill the holes with the reference's functions, except the holes for functions
that students write. Their first programs are slow, because tables are made and code is read for the first time. A branch does both
once for all students, and then starts their workers. If jitkit has to be imported with a student's functions in it, a branch of a zygote
without jitkit imports the modules that need none of these functions: no check imports them again. A branch runs no student's code, and has
nothing that its workers do not have: neither the functions of its exercise, nor checks, nor a seed.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import socket
import struct
from collections.abc import Sequence

from .bubblewrap import JailError
from .jail import START_SECONDS, Zygote
from .shipped_code import Modules


class Branch(Zygote):
    """A process that a zygote has forked, and that starts workers as the zygote does. Raise JailError if it does not start.

    Args:
      fills: the reference's code for the holes that are not in the exercise.
      modules: if the zygote has not imported jitkit, its modules without those of the exercise, besides the modules that the zygote has.
    """

    def __init__(self, zygote: Zygote, fills: Sequence[tuple[str, bytes]], modules: Modules | None = None) -> None:
        self.group, self.packages, self.backend, self.imported = (
            zygote.group,
            zygote.packages,
            zygote.backend,
            zygote.imported,
        )
        self.control, theirs = socket.socketpair()
        self.control.settimeout(START_SECONDS)
        with contextlib.suppress(OSError):
            socket.send_fds(zygote.control, [json.dumps({"do": "branch"}).encode()], [theirs.fileno()])
        theirs.close()
        data = marshal.dumps((list(fills), modules))
        said = b""
        if zygote.line():
            with contextlib.suppress(OSError):
                self.control.sendall(struct.pack(">Q", len(data)) + data)
                said = self.line()
        if said != b"ready":
            self.close()
            raise JailError(f"a process for an exercise did not start: {said.decode('utf-8', 'replace') or 'it died'}")

    def close(self) -> None:
        """End the branch, once its workers have ended."""
        self.control.close()
