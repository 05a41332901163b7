"""The time that a task in a worker may take, by the clock and of a processor"""

from __future__ import annotations

import math
import select
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compiler import Compiler
    from .jail import Worker

_LOOK = 0.25  # seconds by the clock; after them, the processor time used is measured
_LONGEST = 20.0  # by the clock nothing takes longer than its seconds times this, even on a busy machine


class Time:
    """The time that a task in a worker may take. It stands still while the worker could run but has no processor, so nobody loses a
    point because the machine is busy. Of several threads that wait at the same time, only the one that waits longest counts:
    otherwise many threads that wait for each other would stop the time.

    Args:
      seconds: the limit by the clock.
      computes: the limit of processor time.
      own: whether the worker's own process does the task, and not a process that it has started.
    """

    def __init__(self, worker: Worker, seconds: float, computes: float = math.inf, own: bool = True) -> None:
        self.worker, self.seconds, self.computes, self.own = worker, seconds, computes, own
        self.began = time.monotonic()
        self.waited = self.forgiven = 0.0  # seconds of waiting for a processor: now, and before `begin_anew`
        self.look = min(seconds, _LOOK)  # when its processor time is looked at next, by the clock
        self.used_before, self.delays = worker.zygote.look(worker.pid, True) if own and worker.loaded else (0.0, {})
        self.compiler: Compiler | None = None  # compiles for the task, outside of its time

    def is_ready(self, reads: Any = None, writes: Any = None) -> bool:
        """Wait until something can be read or written; return False if the time is over."""
        asked = ([reads] if reads is not None else []), ([writes] if writes is not None else []), list[Any]()
        while True:
            left = self.look - (time.monotonic() - self.began)
            if any(select.select(*asked, max(0.0, left))):
                return True
            if not self.goes_on():
                return False

    def begin_anew(self, seconds: float, computes: float) -> None:
        """Start again with these limits. Time that was used before counts only if it was at most `_LOOK`."""
        self.seconds, self.computes = seconds, computes
        now = time.monotonic()
        if now - self.began > _LOOK:
            self.forgiven += self.waited
            self.used_before, self.delays = self.worker.zygote.look(self.worker.pid, self.own)
            self.began, self.waited = now, 0.0
        self.look = min(seconds, _LOOK)

    def goes_on(self) -> bool:
        """Measure how much processor time the worker has used; return whether there is time left."""
        spent = time.monotonic() - self.began
        used, delays = self.worker.zygote.look(self.worker.pid, self.own)
        longest = max((delay - self.delays.get(thread, 0.0) for thread, delay in delays.items()), default=0.0)
        self.waited, self.delays = min(spent, self.waited + max(0.0, longest)), delays
        until = min(self.seconds + self.waited, self.seconds * _LONGEST)
        until += self.compiler.spent() if self.compiler is not None else 0.0
        self.look = min(until, spent + max(_LOOK, spent / 8))
        return spent < until and used - self.used_before <= self.computes
