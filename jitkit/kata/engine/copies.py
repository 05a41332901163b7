"""three streams -> a copy of this process that serves them

Copying a process that has imported numpy takes a few milliseconds, importing numpy a hundred. So `jitkit check` starts one process for all
its runs (`processes.Nursery`), which makes a copy of itself for each: one runs the learner's functions, another the reference's, at the
same time. The process has one thread, since threads do not survive a fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable

_CHILDREN = (signal.SIGCHLD,)


def make_copies(serve: Callable[[int, int], int]) -> None:
    """Make a copy of this process for each message on the socket that is stdin. A message has three streams: for requests, for
    frames (answers), and for stacks (where the copy hangs or has died). When a copy has ended, send a last frame that says how.
    Return when the socket is closed.

    Args:
      serve: takes the streams of frames and of stacks, and returns the exit status of the copy.
    """
    frames_of: dict[int, int] = {}  # id of a copy -> its stream of frames

    def reap(*_: object) -> None:
        with contextlib.suppress(ChildProcessError):  # none is left
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                frame = {"is": "ended", "code": os.waitstatus_to_exitcode(ended[1])}
                with contextlib.suppress(OSError), open(frames_of.pop(ended[0]), "w", encoding="utf-8") as frames:
                    frames.write(json.dumps(frame) + "\n")

    before = signal.signal(signal.SIGCHLD, reap)
    with socket.socket(fileno=os.dup(0)) as parent:
        while streams := socket.recv_fds(parent, 1, 3)[1]:
            requests, frames, stacks = streams
            signal.pthread_sigmask(signal.SIG_BLOCK, _CHILDREN)  # `reap` waits until `frames_of` has the copy
            copy = os.fork()
            if not copy:
                signal.signal(signal.SIGCHLD, before)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILDREN)
                for descriptor in (parent.detach(), *frames_of.values()):
                    os.close(descriptor)
                os.setsid()
                os.dup2(requests, 0)
                os.close(requests)
                sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
                os._exit(serve(frames, stacks))
            frames_of[copy] = frames
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILDREN)
            os.close(requests)
            os.close(stacks)
