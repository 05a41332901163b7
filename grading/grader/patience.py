"""limits of time: for what this process computes about an answer, and for a submission

A thread of the grader reaches a verdict, and only the main thread gets signals. So another thread watches the first one's
processor time, and raises an exception in it when the time is over. Nobody loses a point because the machine is busy.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Iterator
from typing import Any


class Clock(threading.local):
    """Counts the seconds of the submission that this thread grades. The clock stands still (`forgive`) while the thread waits for
    something that is not the student's fault.
    """

    forgiven = 0.0

    def now(self) -> float:
        """Return the monotonic clock without the forgiven seconds."""
        return time.monotonic() - self.forgiven

    def forgive(self, seconds: float) -> None:
        """Do not count these seconds."""
        self.forgiven += seconds

    @contextlib.contextmanager
    def stands(self, entering: contextlib.AbstractContextManager[Any] | None = None) -> Iterator[None]:
        """Do not count the time of the block; with a context to enter, do not count the wait for that."""
        began = self.now()
        with contextlib.ExitStack() as entered:
            try:
                if entering is not None:
                    entered.enter_context(entering)
                    self.forgive(self.now() - began)
                yield
            finally:
                if entering is None:
                    self.forgive(self.now() - began)


clock = Clock()

_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = [ctypes.c_ulong, ctypes.py_object]


class TooLongError(BaseException):
    """Raised in a computation that takes too long. It is not an Exception, so that no `except Exception` catches it."""


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Limit how long the block may compute; after that, TooLongError is raised in it."""
    own = threading.get_ident()
    clock = time.pthread_getcpuclockid(own)
    until = time.clock_gettime(clock) + seconds
    lock = threading.Lock()
    state = {"done": False, "fired": False}

    def look() -> None:
        with lock:
            if state["done"]:
                return
            left = until - time.clock_gettime(clock)
            if left <= 0:
                state["fired"] = True
                _raise_in(own, TooLongError)
                return
        start(left)

    def start(wait: float) -> None:
        timer = threading.Timer(wait, look)
        timer.daemon = True
        timers[:] = [timer]
        timer.start()

    timers: list[threading.Timer] = []
    start(seconds)
    try:
        yield
    finally:
        try:
            with lock:
                state["done"] = True
            for timer in timers:
                timer.cancel()
            # Wait for the TooLongError, which arrives a few instructions later: otherwise it would be raised after the block.
            if state["fired"]:
                for _ in range(10_000):
                    time.sleep(0)
        except TooLongError:
            state["done"] = True
            raise
