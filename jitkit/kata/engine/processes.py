"""processes that wait for a request, and answer in frames

A `Process` is a worker (`worker.py`) that has imported everything that no submission changes, so that a check begins at once. `Spare`
keeps processes ready. `Nursery` copies one process for all runs of a command, so that numpy is imported once. `Forks` has processes that
answer in copies of themselves, for running hundreds of submissions. `running` knows what to send to a process, and what an answer means.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO, Any

from ...base import jax_version
from . import stacks

# -E and -P ignore the environment's options, and keep the script's folder off the path; the user's packages stay
_WORKER = (sys.executable, "-E", "-P", "-X", "utf8", str(pathlib.Path(__file__).with_name("worker.py")))
_PRELOAD = ("numpy.random", "ml_dtypes")
_PRELOAD_WITH_XLA = (*_PRELOAD, "xla")
_PRELOAD_TO_FORK = (*_PRELOAD, "jaxlib.xla_client")  # only import it: a copy would lack the threads of a client
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

    forks = False  # whether copies of the process answer its requests
    imported = False  # whether the learner's functions could be put in place
    worked = 0.0  # processor seconds from a request to its last outcome

    def __init__(self, uses_xla: bool, machine: str = "", optimised: bool = False) -> None:
        preload = _PRELOAD_TO_FORK if self.forks else _PRELOAD
        of_kind = (*_PRELOAD, machine) if machine else _PRELOAD_WITH_XLA if uses_xla else preload
        self.stacks = stacks.new_file()
        self.process = subprocess.Popen(
            [*_WORKER, *of_kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stacks,
            env=_environment(optimised),
            **_IN_A_GROUP_OF_ITS_OWN,
        )
        assert self.process.stdin is not None, "it is a pipe"
        assert self.process.stdout is not None, "it is a pipe"
        self._connect(self.process.pid, self.process.stdin, self.process.stdout)

    def _connect(self, pid: int | None, requests: IO[bytes], answers: IO[bytes]) -> None:
        self.pid, self.requests, self.answers = pid, requests, answers
        self.frames: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        for line in self.answers:
            try:
                self.frames.put(json.loads(line))
            except ValueError:
                break
        self.frames.put(None)

    def next_frame(self, seconds: float) -> dict[str, Any] | None:
        """Return the next frame, or None if the process has ended or has sent a line that is not JSON. Raise TimeoutError after this many
        seconds.
        """
        try:
            return self.frames.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            raise TimeoutError from None

    def exit_code(self) -> int:
        """Return the exit status. Raise TimeoutExpired if the process does not end within a second."""
        return self.process.wait(1.0)

    def has_ended(self) -> bool:
        """Return whether the process is known to have ended."""
        return self.process.poll() is not None

    def send(self, request: dict[str, Any]) -> None:
        """Send a request. If the process has ended, `next_frame` will return None."""
        with contextlib.suppress(OSError, ValueError):
            self.requests.write(json.dumps(request).encode() + b"\n")
            self.requests.flush()

    def line_in(self, folder: str) -> tuple[str, int] | None:
        """Return the line in the learner's folder that the process runs, or ran when a signal ended it; None if unknown."""
        if self.pid is not None and not self.has_ended():
            stacks.ask(self.pid, self.stacks)
        return stacks.innermost(self.stacks, folder)

    def kill(self) -> None:
        """End the process and everything that it started (on Windows, only the process)."""
        with contextlib.suppress(OSError):
            if os.name == "posix":
                if self.pid is not None:
                    os.killpg(self.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def close(self) -> None:
        """End the process without waiting until the system has cleaned up after it."""
        self.kill()
        threading.Thread(target=self._put_away).start()

    def _put_away(self) -> None:
        self.process.wait()
        self._close_streams()

    def _close_streams(self) -> None:
        self.listener.join(1.0)  # longer only if something that the process started has escaped, and holds the stream
        self.stacks.close()
        for stream in (self.requests, self.answers):
            if not self.listener.is_alive():
                with contextlib.suppress(OSError):
                    stream.close()


class Spare:
    """Keeps processes ready, with and without XLA. On the ladder, `machine` is the path of its `xla.py`."""

    def __init__(self, machine: str = "") -> None:
        self.waiting: dict[bool, list[Process]] = {False: [], True: []}
        self.machine = machine

    def prepare(self, uses_xla: bool, request: dict[str, Any] | None = None, count: int = 1) -> None:
        """Start processes, with or without XLA, until `count` of them wait to be taken. With a `request`, they prepare for it."""
        waiting = self.waiting[uses_xla]
        while len(waiting) < count:
            process = Process(uses_xla, self.machine if uses_xla else "")
            if request is not None:
                process.send(request)
            waiting.append(process)

    @property
    def for_reference(self) -> Spare | None:
        """The `Spare` whose processes compute the reference's results: None, since this one has too few."""
        return None

    def take(self, uses_xla: bool) -> Process | None:
        """Return a waiting process, with or without XLA; None if none waits. The caller should prepare another one when there is time."""
        with contextlib.suppress(IndexError):
            while True:
                process = self.waiting[uses_xla].pop(0)
                if not process.has_ended():
                    return process
                process.close()
        return None

    @property
    def unprepared(self) -> Spare:
        """The `Spare` that lends a process if one of this `Spare` turns out to have prepared for another request. Here it is this
        object itself.
        """
        return self

    def close(self) -> None:
        """End the processes that wait."""
        for waiting in self.waiting.values():
            while waiting:
                waiting.pop().close()


class _Copied(Process):
    """A process whose requests are answered by a copy (a fork); the process that was copied says when the copy has ended."""

    ended: int | None = None  # the code of the copy that answered last

    def next_frame(self, seconds: float) -> dict[str, Any] | None:
        frame = super().next_frame(seconds)
        if frame is not None and frame["is"] == "ended":
            self.ended = int(frame["code"])
            return None
        return frame


class _Child(_Copied):
    """A process of a nursery.

    Args:
      nursery: the socket that takes the streams of the next copy.
    """

    def __init__(self, nursery: socket.socket) -> None:
        self.stacks = stacks.new_file()
        (theirs, requests), (answers, frames) = os.pipe(), os.pipe()
        with contextlib.suppress(OSError):  # if the nursery is gone, the copy has ended, too
            socket.send_fds(nursery, [b"+"], [theirs, frames, self.stacks.fileno()])
        os.close(theirs)
        os.close(frames)
        self._connect(None, os.fdopen(requests, "wb"), os.fdopen(answers, "rb"))

    def next_frame(self, seconds: float) -> dict[str, Any] | None:
        frame = super().next_frame(seconds)
        if frame is not None and frame["is"] == "ready":
            self.pid = int(frame["pid"])
        return frame

    def exit_code(self) -> int:
        if self.ended is None:
            raise subprocess.TimeoutExpired("a copy", 1.0)
        return self.ended

    def has_ended(self) -> bool:
        return self.ended is not None

    def _put_away(self) -> None:
        self._close_streams()


class Nursery(Spare):
    """Makes copies of one process that has imported what all runs need: one for each run, including the reference's.
    For commands that run from a cold start, on systems with `fork`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.process: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def prepare(self, uses_xla: bool, request: dict[str, Any] | None = None, count: int = 1) -> None:
        """Start the process that is copied, if it has not been started; `request` and `count` have no effect. XLA is only imported, since
        a copy would not have its threads.
        """
        if self.process is None:
            self.socket, theirs = socket.socketpair()
            command = [*_WORKER, "--nursery", *(_PRELOAD_TO_FORK if uses_xla else _PRELOAD)]
            with theirs:
                self.process = subprocess.Popen(
                    command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env=_environment(optimised=False), **_IN_A_GROUP_OF_ITS_OWN,
                )  # fmt: skip

    @property
    def for_reference(self) -> Spare:
        """The `Spare` for the reference's results: this nursery itself."""
        return self

    def take(self, uses_xla: bool) -> Process:
        """Return a new copy."""
        with self.lock:
            self.prepare(uses_xla)
            return _Child(self.socket)

    def close(self) -> None:
        """End the process that is copied."""
        if self.process is not None:
            self.socket.close()
            self.process.wait()


def for_one_command() -> Spare:
    """Return a `Nursery` for a command that checks once and ends; without `fork`, a `Spare`."""
    return Nursery() if hasattr(os, "fork") else Spare()


class _Forking(_Copied):
    """A worker whose copies answer, one after the other."""

    forks = True

    def __init__(self, owner: Forks) -> None:
        super().__init__(uses_xla=False)
        self.owner = owner
        self.prepared = owner.request
        if self.prepared is not None:
            self.send(self.prepared)

    def exit_code(self) -> int:
        return super().exit_code() if self.ended is None else self.ended

    def send(self, request: dict[str, Any]) -> None:
        self.ended = None
        super().send(request | {"in_a_fork": True})

    def close(self) -> None:
        """Give the worker back when its copy has ended; if that takes too long, end the worker."""
        limit = time.monotonic() + 1.0
        with contextlib.suppress(TimeoutError):
            while self.ended is None and self.next_frame(limit - time.monotonic()) is not None:
                pass
        if self.ended is None or self.has_ended() or self.prepared != self.owner.request:
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
        self.request: dict[str, Any] | None = None
        self.others: list[Forks] = []

    def prepare(self, uses_xla: bool, request: dict[str, Any] | None = None, count: int = 1) -> None:
        """Let all processes prepare for a request from now on, so that their copies begin with an imported jitkit."""
        if request != self.request:
            self.request = request
            self.close()

    @property
    def for_reference(self) -> Spare:
        """The `Spare` for the reference's results: this object itself."""
        return self

    @property
    def unprepared(self) -> Forks:
        """A second `Forks`, whose processes are not prepared for a request."""
        if not self.others:
            self.others.append(Forks())
        return self.others[0]

    def take(self, uses_xla: bool) -> Process | None:
        """Return a process that nobody uses, or a new one; None on systems without `fork`. The process has not started XLA,
        whatever `uses_xla` says: its copy that answers a request does.
        """
        if not hasattr(os, "fork"):
            return None
        with contextlib.suppress(IndexError):
            return self.idle.pop()
        return _Forking(self)

    def close(self) -> None:
        """End all workers that are not lent."""
        while self.idle:
            Process.close(self.idle.pop())
        for other in self.others:
            other.close()


# With these options a program is compiled in a tenth of the time (8 ms instead of 90), and computes the same. XLA's older
# fusion emitters halve that time, in releases that have them; other releases raise an error for the name of the option.
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
