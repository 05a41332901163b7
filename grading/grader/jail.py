"""Where workers run, seen from outside: a jail with its zygote, and the workers that it starts

The outer wall is around the zygote (`bubblewrap`), the inner wall around each worker (`inside.walls`).

A `Zygote` is a jail with its process, and starts `Worker`s. It serves one caller at a time.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import math
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

from jitkit.kata.engine.processes import CHEAP_COMPILES
from jitkit.kata.engine.random_programs import GRADED
from jitkit.kata.engine.reference import PACKAGE
from jitkit.kata.engine.reference_code import STANDARD_LIBRARY

from .bubblewrap import INSIDE, JAX, JAXLIB, NUMPY, JailError, User, bubblewrap, site
from .compiler import Compiler
from .control_groups import ControlGroup
from .inside import ASK_FOR_CHECK, IMPORTED
from .leftovers import name_for
from .shipped_code import Modules
from .time_limits import Time

_PRELOAD = {
    NUMPY: ("numpy", "numpy.random", "ml_dtypes"),
    # The jail JAX also lets jax be imported.
    JAX: ("numpy", "numpy.random", "ml_dtypes", "jaxlib._jax", "jaxlib.xla_client"),
    JAXLIB: ("numpy", "numpy.random", "ml_dtypes", "jaxlib._jax", "jaxlib.xla_client"),
}
START_SECONDS = 120.0  # a zygote or a branch may take this long to start
IMPORT_SECONDS = 20.0  # taking an image, and importing jitkit without a student's code in it, may take this long
_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "HOME": "/tmp", "LANG": "C.UTF-8",
    "XLA_FLAGS": CHEAP_COMPILES, "NPROC": "2",
}  # fmt: skip

# The image: what a worker is sent before its checks. A hole is an exercise's function that jitkit was imported without (`holes`).
# `inside.worker` says what a worker does with the parts.
_NOTHING: dict[str, Any] = {
    "text": None,  # StableHLO to run; an image with it has no other part
    "fills": None,  # the reference's code for holes; if None, the worker imports jitkit itself, with `modules` and `spliced`
    "modules": {},  # the modules of jitkit that are not in the jail, for a worker that imports jitkit itself
    "spliced": None,  # modules with a student's functions in them
    "patch": None,  # a student's functions for holes
    "package": None,  # a package from scratch
    "climbing": None,  # the modules that the programs of the ladder import, if jitkit runs them
    "own": [],  # the names of the student's own files
    "executables": None,  # sealed executables of programs, which need not be compiled: see `inside.executables`
    "keeps_executables": False,  # whether to send, with each answer, the executables that were compiled for it
}

BUBBLEWRAP, NONE = "bubblewrap", "none"


class Limits(NamedTuple):
    """The limits of one worker."""

    # The seconds of a check by the clock, less those in which it waits for a processor; a student's check may compute for half of them.
    seconds: float = 10.0
    import_seconds: float = 10.0  # the same for the import before a check, which may also compute for half of them
    memory: int = 3 << 30  # bytes of address space of a process; XLA reserves 1.5 GiB of it without using them
    processes: int = 64 + 4 * (os.cpu_count() or 1)  # XLA has a few threads for each core
    disk: int = 32 << 20  # the most bytes in /tmp, in /dev/shm, and in one file
    files: int = 1024  # files and folders in /tmp, and as many in /dev/shm
    frame: int = 16 << 20  # bytes of an answer
    random_programs: int = GRADED  # a check of random programs runs this many
    # Whether each check gets a process of its own; else only some checks do (`trials` says which).
    fresh_process: bool = True


class Worker:
    """A process in the jail that runs one student's functions of one exercise.

    Attributes:
      loaded: whether it has been sent what to import.
      waited: how long the last check waited for a processor; 0 if the check took only a moment.
      processor: the processor seconds of the worker, with all that it started; 0 until the worker is stopped.
    """

    def __init__(
        self, zygote: Zygote, pid: int, channel: socket.socket, limits: Limits, alone: bool = False, compiles: bool = False
    ) -> None:  # fmt: skip
        self.zygote, self.compiles = zygote, compiles
        self.pid = pid
        self.channel = channel
        self.limits = limits
        self.alone = alone
        self.processor = 0.0
        self.waited = 0.0
        self.loaded = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()
        self.processor = self.zygote.stop(self.pid)

    def load(self, image: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Send an image (some keys of `_NOTHING`), and return the frame that comes back; None if the worker died. Raise
        TimeoutError after `seconds`, ProtocolError for bytes that are not a frame.
        """
        data = marshal.dumps(_NOTHING | image)
        allowed = Time(self, seconds)
        self.loaded = True
        if not self.send(struct.pack(">Q", len(data)) + data, allowed):
            return None
        return self.receive(allowed)

    def send(self, data: bytes, allowed: Time) -> bool:
        """Send a frame; return False if the worker is gone. Raise TimeoutError if the worker does not read the frame in time."""
        view = memoryview(data)
        while view:
            if not allowed.is_ready(writes=self.channel):
                raise TimeoutError
            try:
                view = view[self.channel.send(view, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                continue
            except OSError:
                return False
        return True

    def receive(self, allowed: Time) -> dict[str, Any] | None:
        """Return one frame of the channel; None if the worker is gone. Raise ProtocolError if the bytes are not a
        frame, TimeoutError if none comes in time.
        """
        head = self._exactly(8, allowed)
        if head is None:
            return None
        (size,) = struct.unpack(">Q", head)
        if size > self.limits.frame:
            raise ProtocolError("a frame is too long")
        body = self._exactly(size, allowed)
        return None if body is None else parse_object(body)

    def _exactly(self, size: int, allowed: Time) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            if not allowed.is_ready(self.channel):
                raise TimeoutError
            try:
                part = self.channel.recv(min(1 << 20, size - len(data)))
            except OSError:
                return None
            if not part:
                return None
            data += part
        return bytes(data)

    def ask(
        self, request: bytes, seconds: float, computes: float = math.inf, imports: tuple[float, float] | None = None
    ) -> tuple[bytes, str]:
        """Run one check. Return the bytes of its answer, and a word:

            ""          none of what follows; if the bytes are too few, the process ended in the middle of the check
            "time"      the time is over
            "import"    the time is over, and the functions are not imported yet
            "died"      the process ended before it had imported the functions
            "long"      the answer is longer than a frame may be
            "gone"      the worker had ended, and the check was not sent

        Args:
          seconds, computes: the limits of time, as for `Time`.
          imports: the limits for the import of the functions, if each check has a process that imports them; by default those of the
            check.
        """
        allowed = Time(
            self, *(imports if imports is not None and self.alone else (seconds, computes)), own=not self.alone
        )
        compiler = allowed.compiler = Compiler() if self.compiles else None
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                socket.send_fds(
                    self.channel, [ASK_FOR_CHECK], [theirs, *([compiler.channel.fileno()] if compiler else [])]
                )
                sent = self.send(struct.pack(">Q", len(request)) + request, allowed)
            except OSError:
                sent = False
            finally:
                os.close(theirs)
            if not sent:
                return b"", "gone"
            return self._drain(ours, allowed, (seconds, computes) if self.alone else None)
        except TimeoutError:
            return b"", "time"
        finally:
            self.waited = allowed.forgiven + allowed.waited
            os.close(ours)
            if compiler is not None:
                compiler.close()

    def _drain(self, pipe: int, allowed: Time, then: tuple[float, float] | None) -> tuple[bytes, str]:
        """Read an answer, and return its bytes and a word (`ask`). With `then`, one byte comes before the answer, and
        the limits of time in `then` hold from that byte on.
        """
        data = bytearray()
        whole = 0.0  # when the frame was complete; if somebody keeps the pipe open, wait half a second
        while True:
            if whole and not select.select([pipe], [], [], max(0.0, whole + 0.5 - time.monotonic()))[0]:
                return bytes(data), ""
            if not whole and not allowed.is_ready(pipe):
                return bytes(data), "time" if then is None else "import"
            part = os.read(pipe, 1 << 20)
            if not part:
                return bytes(data), "" if then is None or data else "died"
            if then is not None and part[:1] == IMPORTED:
                allowed.begin_anew(*then)
                part, then = part[1:], None
            data += part
            if len(data) > self.limits.frame + 8:
                return b"", "long"
            if not whole and len(data) >= 8 and len(data) >= 8 + struct.unpack(">Q", data[:8])[0]:
                whole = time.monotonic()


class ProtocolError(Exception):
    """Raised for bytes that are not a frame."""


class Zygote:
    """A jail, and the clean process in it. Raise JailError if the process does not start.

    Args:
      base: the code of jitkit that every worker has.
      packages: what is in the jail besides Python: NUMPY, JAX or JAXLIB.
      backend: BUBBLEWRAP; or NONE, with which students' code runs without a jail, with our rights.
      imported: whether the zygote imports `base`, with holes (`holes`); if not, each worker does, with the functions in it.

    Attributes:
      called: the holes that were called while `base` was imported.
    """

    def __init__(self, base: Modules, packages: str, backend: str = BUBBLEWRAP, imported: bool = False) -> None:
        self.packages = packages
        self.backend = backend
        self.imported = imported
        self.user = User()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=name_for("zygote")))
        (self.folder / "base").write_bytes(marshal.dumps(base))
        (self.folder / "base").chmod(0o444)
        self.group = ControlGroup()
        self.control, theirs = socket.socketpair()
        try:
            self.process = subprocess.Popen(
                self.command(theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env={"PATH": "/usr/bin:/bin", "XLA_FLAGS": CHEAP_COMPILES},
                start_new_session=True,
            )
        except (OSError, JailError) as error:
            for end in (self.control, theirs):
                end.close()
            self.group.close()
            self.user.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise JailError(str(error)) from None
        theirs.close()
        self.control.settimeout(START_SECONDS)
        word, _, called = self.line().partition(b" ")
        if word != b"ready":
            said = self.process.stderr.read(2000).decode("utf-8", "replace") if self.process.stderr is not None else ""
            self.close()
            raise JailError(f"the jail did not start: {said.strip() or 'it says nothing'}")
        self.called = frozenset(json.loads(called))

    def command(self, control: int) -> list[str]:
        """Return the command that starts the zygote."""
        jailed = self.backend == BUBBLEWRAP
        places = ["/jail/site"] if jailed else [str(site())]
        base = "/jail/base" if jailed else str(self.folder / "base")
        home = "/jail" if jailed else str(INSIDE.parent)
        start = f"import sys; sys.path.insert(0, {home!r}); from inside import zygote; del sys.path[0]; zygote.main(sys.argv[1:])"
        python = [os.path.realpath(sys.executable), "-I", "-S", "-B", "-X", "utf8", "-c", start]
        run = [
            *python,
            str(control),
            str(self.user.number),
            "jailed" if jailed else str(PACKAGE.parent),
            json.dumps(places),
            base,
            "imported" if self.imported else "plain",
            *STANDARD_LIBRARY,
            *_PRELOAD[self.packages],
        ]
        return self.group.wrap([*bubblewrap(self.folder, self.packages, _ENVIRONMENT), *run] if jailed else run)

    def line(self) -> bytes:
        """Return one line that the zygote sends; b"" if the zygote is gone."""
        data = b""
        with contextlib.suppress(OSError):
            while not data.endswith(b"\n"):
                part = self.control.recv(1 << 16)  # the zygote sends a line for each request, and nothing else
                if not part:
                    return b""
                data += part
        return data.strip()

    def start(self, limits: Limits, computes: float = 2.0, alone: bool = False, compiles: bool = False) -> Worker:
        """Start a worker in its jail, and return it. Raise JailError if that fails.

        Args:
          alone: whether each check gets a process and a jail of its own; else the worker runs them all.
          computes: how long a check may compute, as a share of its seconds by the clock. The time of all threads is added up.
          compiles: whether checks may ask for the machine code of C, and run it.
        """
        ours, theirs = socket.socketpair()
        data = {
            "memory": limits.memory, "processes": limits.processes, "disk": limits.disk, "files": limits.files,
            "cpu": math.ceil(limits.seconds * computes), "import_cpu": math.ceil(limits.import_seconds * computes),
            "random_programs": limits.random_programs, "compiles": compiles,
        }  # fmt: skip
        with contextlib.suppress(OSError):
            socket.send_fds(
                self.control, [json.dumps({"do": "start", "limits": data, "alone": alone}).encode()], [theirs.fileno()]
            )
        theirs.close()
        answer = self.line()
        if not answer:
            ours.close()
            raise JailError("the zygote is gone")
        worker = Worker(self, int(json.loads(answer)["pid"]), ours, limits, alone, compiles)
        frame = None
        with contextlib.suppress(TimeoutError, ProtocolError):
            frame = worker.receive(Time(worker, 30.0))
        if frame is None or frame.get("is") != "jailed":
            worker.__exit__()
            raise JailError(f"a worker could not be jailed: {(frame or {}).get('text', 'it died')}")
        return worker

    def look(self, pid: int, own: bool) -> tuple[float, dict[str, float]]:
        """Return the processor time of a worker so far (without `own`, only that of the processes it started), and how
        long each of its threads waited for a processor. Return infinity and {} if the zygote is gone.
        """
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps({"do": "look", "pid": pid, "own": own}).encode())
        answer = self.line()
        told: dict[str, Any] = json.loads(answer) if answer else {"processor": math.inf, "waited": {}}
        return float(told["processor"]), told["waited"]

    def stop(self, pid: int) -> float:
        """End a worker and all that it started; return the processor seconds that they used, or 0 if the zygote is
        gone.
        """
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps({"do": "stop", "pid": pid}).encode())
        answer = self.line()
        return float(json.loads(answer)["processor"]) if answer else 0.0

    def close(self) -> None:
        """End the jail."""
        self.control.close()
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self.group.close()
        self.user.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raise ProtocolError for anything else."""
    try:
        data = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProtocolError(f"a frame is not JSON: {type(error).__name__}") from None
    if not isinstance(data, dict):
        raise ProtocolError("a frame is not a JSON object")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not used")
