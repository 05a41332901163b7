"""Where workers run: bubblewrap around a zygote, limits of the kernel, and the self-test that says whether all of it holds

The outer wall is bubblewrap's: a file system of the interpreter, its libraries, numpy and jax, read-only, and nothing else; no network; no
process but its own. The inner wall (`zygote.enter_jail`) is around each worker. Control groups bound memory and processes where we may make
some; limits of each process are there in any case.

`Zygote` is one such jail with its process, and starts workers; `Worker` is one of them. A zygote serves one caller at a time.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import itertools
import json
import marshal
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
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.reference import PACKAGE
from jitkit.kata.engine.reference_code import STANDARD_LIBRARY
from jitkit.kata.engine.running import CHEAP_COMPILES

from .images import Modules

_ZYGOTE = pathlib.Path(__file__).with_name("zygote.py")
NUMPY, JAX, JAXLIB = "numpy", "jax", "jaxlib"  # what a jail has beside Python
_PACKAGES = {
    NUMPY: ("numpy", "ml_dtypes"),
    JAX: ("numpy", "ml_dtypes", "jax", "jaxlib", "scipy", "opt_einsum"),
    JAXLIB: ("numpy", "ml_dtypes", "jaxlib", "scipy"),
}
_PRELOAD = {
    NUMPY: ("numpy", "numpy.random", "ml_dtypes"),
    JAX: ("numpy", "numpy.random", "ml_dtypes", "jax"),
    JAXLIB: ("numpy", "numpy.random", "ml_dtypes", "jaxlib._jax", "jaxlib.xla_client"),
}
_USERS = itertools.count(61_000)  # a user for each zygote's workers, where we are root and may choose
_GROUPS = pathlib.Path("/sys/fs/cgroup")
_START_SECONDS = 120.0
# Without the newer emitters XLA compiles small programs in two thirds of the time, where a release still has the older ones.
_OLDER_EMITTERS = tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2])) < (0, 11)
_XLA_FLAGS = CHEAP_COMPILES + (" --xla_cpu_use_fusion_emitters=false" if _OLDER_EMITTERS else "")
_MOST_CHANNEL = 4 << 20

# The parts of what a worker is sent: for code that is run in it see `zygote._serve`.
_NOTHING: dict[str, Any] = {
    "text": None,  # StableHLO, and nothing else
    "fills": None,  # the reference's code for holes; without it jitkit is imported afresh, with `modules` and `spliced` in it
    "modules": {},
    "spliced": None,  # modules with a student's functions in them
    "patch": None,  # a student's functions for holes
    "package": None,  # a package from scratch
    "climbing": None,  # what the programs of the ladder import, where jitkit runs them
    "own": [],  # the files that are a student's
    "together": False,  # whether the worker itself runs the checks, and not a fork for each
}

BUBBLEWRAP, NONE = "bubblewrap", "none"


class JailError(Exception):
    """The jail cannot be made, or is no jail; or its process is gone. Our fault, never a student's."""


class Limits(NamedTuple):
    """What one worker may use."""

    seconds: float = 10.0  # of a check, by the clock
    memory: int = 3 << 30  # bytes of address space of a process; XLA takes one and a half without using them
    processes: int = 64 + 4 * (os.cpu_count() or 1)  # XLA has a few threads for each core
    disk: int = 32 << 20
    files: int = 1024
    frame: int = 16 << 20  # bytes of an answer


class Worker:
    """A process in the jail that runs one student's functions of one exercise."""

    def __init__(self, zygote: Zygote, pid: int, channel: socket.socket, limits: Limits) -> None:
        self.zygote = zygote
        self.pid = pid
        self.channel = channel
        self.limits = limits

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()
        self.zygote.stop(self.pid)

    def load(self, image: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Send what is to be imported (some of `_NOTHING`); the frame that comes back. None where the worker died, TimeoutError."""
        data = marshal.dumps(_NOTHING | image)
        deadline = time.monotonic() + seconds
        if not self.send(struct.pack(">Q", len(data)) + data, deadline):
            return None
        return self.receive(deadline)

    def send(self, data: bytes, deadline: float) -> bool:
        """Whether it was taken. TimeoutError where nobody reads."""
        view = memoryview(data)
        while view:
            if not select.select([], [self.channel], [], max(0.0, deadline - time.monotonic()))[1]:
                raise TimeoutError
            try:
                view = view[self.channel.send(view, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                continue
            except OSError:
                return False
        return True

    def receive(self, deadline: float) -> dict[str, Any] | None:
        """One frame of the channel; ProtocolError for what is none."""
        head = self._exactly(8, deadline)
        if head is None:
            return None
        (size,) = struct.unpack(">Q", head)
        if size > self.limits.frame:
            raise ProtocolError("a frame is too long")
        body = self._exactly(size, deadline)
        return None if body is None else parse_object(body)

    def _exactly(self, size: int, deadline: float) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            if not select.select([self.channel], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            try:
                part = self.channel.recv(min(1 << 20, size - len(data)))
            except OSError:
                return None
            if not part:
                return None
            data += part
        return bytes(data)

    def ask(self, request: dict[str, Any], seconds: float) -> tuple[bytes, str]:
        """Run one check: the bytes that it answered, and "", "time", "long" (more than a frame) or "gone" (the worker died)."""
        deadline = time.monotonic() + seconds
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                socket.send_fds(self.channel, [b"c"], [theirs])
                data = marshal.dumps(request)
                sent = self.send(struct.pack(">Q", len(data)) + data, deadline)
            except OSError:
                sent = False
            finally:
                os.close(theirs)
            if not sent:
                return b"", "gone"
            return self._drain(ours, deadline)
        except TimeoutError:
            return b"", "time"
        finally:
            os.close(ours)

    def _drain(self, pipe: int, deadline: float) -> tuple[bytes, str]:
        data = bytearray()
        whole = 0.0  # when a frame was complete: what keeps the pipe open after that is not waited for
        while True:
            now = time.monotonic()
            limit = min(deadline, whole + 0.5) if whole else deadline
            if not select.select([pipe], [], [], max(0.0, limit - now))[0]:
                return bytes(data), "" if whole else "time"
            part = os.read(pipe, 1 << 20)
            if not part:
                return bytes(data), ""
            data += part
            if len(data) > self.limits.frame + 8:
                return b"", "long"
            if not whole and len(data) >= 8 and len(data) >= 8 + struct.unpack(">Q", data[:8])[0]:
                whole = time.monotonic()


class ProtocolError(Exception):
    """Bytes that are no frame."""


class Zygote:
    """A jail, and the clean process in it.

    Args:
      base: the code of jitkit that every worker has.
      packages: what is in the jail beside Python: NUMPY, JAX or JAXLIB.
      backend: BUBBLEWRAP, or NONE: then students' code runs as we do.
      imported: whether `base` is imported at once, with holes (`holes`), or by each worker with the functions in it.

    Attributes:
      called: the holes that were called while it was imported.
    """

    def __init__(
        self, base: Modules, packages: str, backend: str = BUBBLEWRAP, imported: bool = False
    ) -> None:
        self.packages = packages
        self.backend = backend
        self.imported = imported
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="jitkit-zygote-"))
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
                env={"PATH": "/usr/bin:/bin", "XLA_FLAGS": _XLA_FLAGS},
                start_new_session=True,
            )
        except (OSError, JailError) as error:
            for end in (self.control, theirs):
                end.close()
            self.group.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise JailError(str(error)) from None
        theirs.close()
        self.control.settimeout(_START_SECONDS)
        word, _, called = self.line().partition(b" ")
        if word != b"ready":
            said = (
                self.process.stderr.read(2000).decode("utf-8", "replace")
                if self.process.stderr is not None
                else ""
            )
            self.close()
            raise JailError(f"the jail did not start: {said.strip() or 'it says nothing'}")
        self.called = frozenset(json.loads(called))

    def command(self, control: int) -> list[str]:
        """How the zygote is started."""
        jailed = self.backend == BUBBLEWRAP
        places = ["/jail/site"] if jailed else [str(_site())]
        user = next(_USERS) if os.getuid() == 0 else -1
        base = "/jail/base" if jailed else str(self.folder / "base")
        script = "/jail/zygote.py" if jailed else str(_ZYGOTE)
        python = [os.path.realpath(sys.executable), "-I", "-S", "-B", "-X", "utf8", script]
        run = [
            *python,
            str(control),
            str(user),
            "jailed" if jailed else str(PACKAGE.parent),
            json.dumps(places),
            base,
            "imported" if self.imported else "plain",
            *STANDARD_LIBRARY,
            *_PRELOAD[self.packages],
        ]
        return self.group.wrap([*bubblewrap(self.folder, self.packages), *run] if jailed else run)

    def line(self) -> bytes:
        """A line from the zygote, or nothing where it is gone."""
        data = b""
        with contextlib.suppress(OSError):
            while not data.endswith(b"\n"):
                part = self.control.recv(1)
                if not part:
                    return b""
                data += part
        return data.strip()

    def start(self, limits: Limits) -> Worker:
        """A worker, in its jail. JailError where that fails."""
        ours, theirs = socket.socketpair()
        data = {
            "memory": limits.memory, "processes": limits.processes, "disk": limits.disk, "files": limits.files,
            "cpu": int(limits.seconds * 2) + 2,
        }  # fmt: skip
        with contextlib.suppress(OSError):
            socket.send_fds(
                self.control, [json.dumps({"do": "start", "limits": data}).encode()], [theirs.fileno()]
            )
        theirs.close()
        answer = self.line()
        if not answer:
            ours.close()
            raise JailError("the zygote is gone")
        worker = Worker(self, int(json.loads(answer)["pid"]), ours, limits)
        frame = None
        with contextlib.suppress(TimeoutError, ProtocolError):
            frame = worker.receive(time.monotonic() + 30.0)
        if frame is None or frame.get("is") != "jailed":
            worker.__exit__()
            raise JailError(f"a worker could not be jailed: {(frame or {}).get('text', 'it died')}")
        return worker

    def stop(self, pid: int) -> int:
        """End a worker with all that it started; its wait status."""
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps({"do": "stop", "pid": pid}).encode())
        answer = self.line()
        return int(json.loads(answer)["status"]) if answer else -1

    def close(self) -> None:
        """End the jail."""
        self.control.close()
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self.group.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def parse_object(body: bytes) -> dict[str, Any]:
    """The object that JSON text is. ProtocolError for anything else."""
    try:
        data = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProtocolError(f"a frame is no JSON: {type(error).__name__}") from None
    if not isinstance(data, dict):
        raise ProtocolError("a frame is no object")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not used")


# --- the outer wall -----------------------------------------------------------------------------------------------------


def bubblewrap(folder: pathlib.Path, packages: str) -> list[str]:
    """The command that the zygote's is appended to. JailError where there is no bubblewrap."""
    program = shutil.which("bwrap")
    if program is None:
        raise JailError(
            "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)"
        )
    command = [
        program, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--new-session",
        "--die-with-parent", "--clearenv", "--cap-drop", "ALL",
    ]  # fmt: skip
    if os.getuid() != 0:
        command += ["--unshare-user"]
    # the zygote needs these to build the inner wall; workers have none of them
    for capability in ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL"):
        command += ["--cap-add", f"CAP_{capability}"]
    command += [
        "--setenv",
        "JAX_PLATFORMS",
        "cpu",
        "--setenv",
        "OPENBLAS_NUM_THREADS",
        "1",
        "--setenv",
        "TF_CPP_MIN_LOG_LEVEL",
        "3",
    ]
    command += [
        "--setenv",
        "HOME",
        "/tmp",
        "--setenv",
        "LANG",
        "C.UTF-8",
        "--setenv",
        "XLA_FLAGS",
        _XLA_FLAGS,
    ]
    binds = [(path, path) for path in _system()]
    python = pathlib.Path(sys.base_prefix)
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    executable = os.path.realpath(sys.executable)
    bound = [str(python / library), executable, *map(str, sorted((python / "lib").glob("libpython*")))]
    binds += [(path, path) for path in bound]
    binds += [(str(path), f"/jail/site/{name}") for name, path in _packages(_PACKAGES[packages])]
    for stub in sorted(PACKAGE.rglob("*.pyi")):  # where names of packages come from; no code
        binds.append((str(stub), f"/jitkit/{stub.relative_to(PACKAGE).as_posix()}"))
    binds += [(str(_ZYGOTE), "/jail/zygote.py"), (str(folder / "base"), "/jail/base")]
    for parent in dict.fromkeys(
        str(p) for _, place in binds for p in reversed(pathlib.PurePath(place).parents)
    ):
        command += ["--perms", "0755", "--dir", parent]  # bubblewrap would make them for its own user only
    for path, place in binds:
        command += ["--ro-bind", path, place]
    for hidden in ("site-packages", "dist-packages"):
        if (python / library / hidden).is_dir():
            command += ["--tmpfs", str(python / library / hidden)]
    if pathlib.Path("/usr/lib/python3/dist-packages").is_dir():
        command += ["--tmpfs", "/usr/lib/python3/dist-packages"]
    command += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--remount-ro",
        "/",
        "--chdir",
        "/tmp",
        "--",
    ]
    return command


def _system() -> Iterator[str]:
    """The system's libraries."""
    for path in ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache"):
        if os.path.exists(path):
            yield path


def _site() -> pathlib.Path:
    spec = importlib.util.find_spec("numpy")
    if spec is None or spec.origin is None:
        raise JailError("numpy is not installed")
    return pathlib.Path(spec.origin).parents[1]


def _packages(names: Sequence[str]) -> Iterator[tuple[str, pathlib.Path]]:
    """The folders of packages, with those of their shared libraries, and what they ask importlib.metadata about."""
    for name in names:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        folder = pathlib.Path(spec.origin).parent
        yield folder.name, folder
        for beside in (*folder.parent.glob(f"{name}.libs"), *folder.parent.glob(f"{name}-*.dist-info")):
            yield beside.name, beside


class ControlGroup:
    """A control group of our own for one jail, where we may make one; with the second version of groups or the first."""

    MEMORY = 4 << 30
    PROCESSES = 256 + 4 * (os.cpu_count() or 1)

    def __init__(self) -> None:
        self.folders: list[pathlib.Path] = []
        name = f"jitkit-{os.getpid()}-{next(_USERS)}"
        with contextlib.suppress(OSError):
            if (_GROUPS / "cgroup.controllers").is_file():
                own = (
                    pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("::")[2].strip()
                )
                self._make(
                    (_GROUPS / own.lstrip("/")).parent / name,
                    {"pids.max": self.PROCESSES, "memory.max": self.MEMORY},
                )
            else:
                self._make(_GROUPS / "pids" / name, {"pids.max": self.PROCESSES})
                self._make(_GROUPS / "memory" / name, {"memory.limit_in_bytes": self.MEMORY})

    def _make(self, folder: pathlib.Path, values: dict[str, int]) -> None:
        folder.mkdir()
        try:
            for file, value in values.items():
                (folder / file).write_text(str(value), encoding="ascii")
        except OSError:
            folder.rmdir()
            raise
        self.folders.append(folder)

    def wrap(self, command: list[str]) -> list[str]:
        """The command, run in the group."""
        if not self.folders:
            return command
        enter = "; ".join(f"echo $$ > {folder}/cgroup.procs" for folder in self.folders)
        return ["/bin/sh", "-c", f'{enter}; exec "$@"', "sh", *command]

    @property
    def kills(self) -> int:
        """How many processes ended since the group's memory was used up."""
        for folder in self.folders:
            for file in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    words = (folder / file).read_text(encoding="ascii").split()
                    return int(words[words.index("oom_kill") + 1])
        return 0

    def close(self) -> None:
        """Remove it."""
        for folder in self.folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.02)
