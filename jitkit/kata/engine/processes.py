"""processes that wait for a request, and answer in frames

A `Process` is a worker (`worker.py`) that has imported everything that no submission changes, so that a check begins at once. `Spare`
keeps processes ready. `Forks` has processes that answer in copies of themselves, for running hundreds of submissions. `running` knows
what to send to a process, and what an answer means.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from ...base import jax_version
from . import stacks

_PRELOAD = ("numpy.random", "ml_dtypes")
_PRELOAD_WITH_XLA = (*_PRELOAD, "xla")
_PRELOAD_TO_FORK = (*_PRELOAD, "jaxlib.xla_client")  # without a client, since a copy would not have its threads
# Ctrl-C must reach the parent only, which then stops its workers.
_IN_A_GROUP_OF_ITS_OWN: dict[str, Any] = (
    {"start_new_session": True} if os.name == "posix" else {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP
)


class Process:
    """A worker that has been started.

    Args:
      uses_xla: whether it starts XLA, ahead of its request.
      machine: for the ladder, the path of its `xla.py`, which is loaded in place of jaxlib.
      optimised: whether XLA compiles with all optimisations, as for users: an experiment needs this. Checks do not, since
        they compare what programs compute.
    """

    forks = False  # whether a copy of it answers
    imported = False  # whether its functions could be put in place
    worked = 0.0  # processor seconds from a request to its last outcome

    def __init__(self, uses_xla: bool, machine: str = "", optimised: bool = False) -> None:
        preload = _PRELOAD_TO_FORK if self.forks else _PRELOAD
        worker = str(pathlib.Path(__file__).with_name("worker.py"))
        # without the environment's options and the folder of the script on the path; packages of the user stay
        python = [sys.executable, "-E", "-P", "-X", "utf8"]
        of_kind = (*_PRELOAD, machine) if machine else _PRELOAD_WITH_XLA if uses_xla else preload
        command = [*python, worker, *of_kind]
        self.stacks = stacks.new_file()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stacks,
            env=_environment(optimised),
            **_IN_A_GROUP_OF_ITS_OWN,
        )
        self.frames: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        stream = self.process.stdout
        for line in stream or ():
            try:
                self.frames.put(json.loads(line))
            except ValueError:
                break
        self.frames.put(None)

    def next_frame(self, seconds: float) -> dict[str, Any] | None:
        """Return the next frame, or None if the process has ended. Raise TimeoutError after this many seconds."""
        try:
            return self.frames.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            raise TimeoutError from None

    def exit_code(self) -> int:
        """Return the exit status. Raise TimeoutExpired if the process does not end within a second."""
        return self.process.wait(1.0)

    def send(self, request: dict[str, Any]) -> None:
        """Send a request. If the process is gone, `next_frame` will say so."""
        with contextlib.suppress(OSError, ValueError):
            stream = self.process.stdin
            if stream is not None:
                stream.write(json.dumps(request).encode() + b"\n")
                stream.flush()

    def line_in(self, folder: str) -> tuple[str, int] | None:
        """Return the line in the learner's folder that the process is running, or was running when a signal ended it; None if
        that is not known.
        """
        if self.process.poll() is None:
            stacks.ask(self.process.pid, self.stacks)
        return stacks.innermost(self.stacks, folder)

    def kill(self) -> None:
        """End it, with everything it started."""
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def close(self) -> None:
        """End the process without waiting until the system has cleaned up after it."""
        self.kill()
        threading.Thread(target=self._put_away).start()

    def _put_away(self) -> None:
        self.process.wait()
        self.listener.join(1.0)  # longer only if something that it started has escaped, and holds the stream
        self.stacks.close()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not self.listener.is_alive():
                with contextlib.suppress(OSError):
                    stream.close()


class Spare:
    """Keeps processes of each kind ready. On the ladder, `machine` is the path of its `xla.py`."""

    def __init__(self, machine: str = "") -> None:
        self.waiting: dict[bool, list[Process]] = {False: [], True: []}
        self.machine = machine

    def prepare(self, uses_xla: bool, request: dict[str, Any] | None = None, count: int = 1) -> None:
        """Start processes to be taken later. Until then they prepare for `request`."""
        waiting = self.waiting[uses_xla]
        while len(waiting) < count:
            process = Process(uses_xla, self.machine if uses_xla else "")
            if request is not None:
                process.send(request)
            waiting.append(process)

    def take(self, uses_xla: bool) -> Process | None:
        """Return a waiting process, or None. The caller should prepare another one when there is time."""
        with contextlib.suppress(IndexError):
            while True:
                process = self.waiting[uses_xla].pop(0)
                if process.process.poll() is None:
                    return process
                process.close()
        return None

    def close(self) -> None:
        """End the processes that wait."""
        for waiting in self.waiting.values():
            while waiting:
                waiting.pop().close()


class _Forking(Process):
    """A worker whose copies answer, one after the other."""

    forks = True

    def __init__(self, owner: Forks) -> None:
        super().__init__(uses_xla=False)
        self.owner = owner
        self.ended: int | None = None  # the code of the copy that answered last

    def next_frame(self, seconds: float) -> dict[str, Any] | None:
        frame = super().next_frame(seconds)
        if frame is not None and frame["is"] == "ended":
            self.ended = int(frame["code"])
            return None
        return frame

    def exit_code(self) -> int:
        return super().exit_code() if self.ended is None else self.ended

    def send(self, request: dict[str, Any]) -> None:
        self.ended = None
        super().send(request | {"in_a_fork": True})

    def close(self) -> None:
        """Give the worker back when its copy has ended; end it if that takes too long."""
        limit = time.monotonic() + 1.0
        with contextlib.suppress(TimeoutError):
            while self.ended is None and self.next_frame(limit - time.monotonic()) is not None:
                pass
        if self.ended is None or self.process.poll() is not None:
            super().close()
        else:
            self.owner.idle.append(self)


class Forks(Spare):
    """Lends processes, one to each thread that asks, and lends them again when they come back. Without `fork` (Windows) there are
    none, and each run starts its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.idle: collections.deque[_Forking] = collections.deque()

    def take(self, uses_xla: bool) -> Process | None:
        """Return a process that nobody uses; XLA is started in its copy, if at all."""
        if not hasattr(os, "fork"):
            return None
        with contextlib.suppress(IndexError):
            return self.idle.pop()
        return _Forking(self)

    def close(self) -> None:
        """End all workers that are not lent."""
        while self.idle:
            Process.close(self.idle.pop())


# With these options a program is compiled in a tenth of the time (8 ms instead of 90), and computes the same. Without the newer
# emitters it takes half the time, in releases that have the older ones; other releases raise an error for the name of the option.
_OLDER_EMITTERS = tuple(map(int, (jax_version.installed("jaxlib") or "0.11").split(".")[:2])) < (0, 11)
CHEAP_COMPILES = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1"
    + (" --xla_cpu_use_fusion_emitters=false" if _OLDER_EMITTERS else "")
)


def _environment(optimised: bool) -> dict[str, str]:
    """Return the environment of a worker: without variables that change what jitkit does, and with the CPU as the only platform."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JITKIT_", "JAX_", "XLA_", "PYTHON"))}
    kept |= {} if optimised else {"XLA_FLAGS": CHEAP_COMPILES}
    return kept | {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
