"""In the jail: a clean process that forks workers, and what a worker does.

It is run by its path, with the standard library, numpy and, where an exercise compiles, jax; nothing of this repository is there
but the code of those modules of jitkit that no exercise is taken out of. It never receives anything but "start a worker, which
speaks to this socket" and "end that worker": so there is nothing to be found in its memory, of which each worker has a copy.

A worker is alone in namespaces of its own, has no privileges, and may not make new ones (seccomp). It is sent the rest of
jitkit with the student's functions in it, as code, and then one check after the other: a program, a state of the random
generator, and a pipe for one frame. Each check runs in a fork of its own, so it cannot change what the next one meets; before the
next one everything that it started is killed. The worker may be lied in by the student's code, since that is what it is for: what
comes out of the pipe is an answer, which is compared elsewhere with the right one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import importlib.util
import io
import json
import marshal
import os
import resource
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType
from typing import Any

_NEW_PID, _NEW_NS, _NEW_IPC, _NEW_UTS = 0x20000000, 0x00020000, 0x08000000, 0x04000000
_READ_ONLY, _NO_SUID, _NO_DEV, _NO_EXEC, _REC, _PRIVATE = 1, 2, 4, 8, 16384, 1 << 18
_NO_NEW_PRIVS, _CAPBSET_DROP, _SET_SECCOMP, _SET_PDEATHSIG = 38, 24, 22, 1
_LONGEST_OUTPUT = 10_000
_HAS_DOCSTRING = 0x4000000

# What a submission has no business with: by the machine's name, its number for seccomp and those of its system calls.
_FORBIDDEN = {
    "x86_64": (0xC000003E, 56, (
        101, 135, 155, 161, 163, 165, 166, 167, 169, 175, 246, 248, 249, 250, 272, 298, 303, 304, 308, 310, 311, 313, 321, 323,
        425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442,
    )),
    "aarch64": (0xC00000B7, 220, (
        117, 92, 41, 51, 89, 40, 39, 224, 142, 105, 104, 217, 218, 219, 97, 241, 264, 265, 268, 270, 271, 273, 280, 282,
        425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442,
    )),
}  # fmt: skip
_NEW_NAMESPACES = 0x7E020000  # any of clone's flags for one
_CLONE3 = 435

libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: Sequence[str]) -> int:
    """Serve until the socket is closed. Arguments: its number, the user for workers (-1: as we are), modules to import."""
    control = socket.socket(fileno=int(arguments[0]))
    user = int(arguments[1])
    jailed = arguments[2] == "jailed"
    ImageFinder.root = "" if jailed else arguments[2]
    sys.path[:] = [*(p for p in sys.path if "lib" in p), *json.loads(arguments[3])]
    with open(arguments[4], "rb") as file:
        base = marshal.load(file)
    holes = _Holes("jitkit_holes")
    if arguments[5] == "imported":
        sys.modules[holes.__name__] = holes
        sys.meta_path.insert(0, ImageFinder(base))
    for name in (*arguments[6:], *(sorted(base) if arguments[5] == "imported" else ())):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.modules.pop(holes.__name__, None)
    sys.dont_write_bytecode = True
    own = os.open("/proc/self/ns/pid", os.O_RDONLY) if jailed else -1
    gc.collect()
    gc.freeze()
    control.sendall(b"ready " + json.dumps(sorted(holes.calls)).encode() + b"\n")
    while True:
        try:
            message, fds, _, _ = socket.recv_fds(control, 4096, 1)
        except ConnectionError:
            return 0
        if not message:
            return 0
        request = json.loads(message)
        if request["do"] == "start":
            if jailed:
                _call("unshare", _NEW_PID)  # the next child is the first process of a namespace
            pid = os.fork()
            if pid == 0:
                control.close()
                _work(fds[0], base, holes, request["limits"], user, own, jailed)
            if jailed:
                _call("setns", own, _NEW_PID)
            os.close(fds[0])
            control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(request["pid"], signal.SIGKILL)  # the first process: all others die with it
            if not jailed:
                with contextlib.suppress(OSError):
                    os.killpg(request["pid"], signal.SIGKILL)
            _, status = os.waitpid(request["pid"], 0)
            control.sendall(json.dumps({"status": status}).encode() + b"\n")


# --- a worker ---------------------------------------------------------------------------------------------------------


def _work(
    channel: int,
    base: dict[str, Any],
    holes: _Holes,
    limits: dict[str, int],
    user: int,
    own: int,
    jailed: bool,
) -> None:
    """Everything that a worker does. It does not return."""
    try:
        if jailed:
            os.close(own)
            enter_jail(limits, user)
        else:
            os.setsid()
            os.chdir("/tmp")
        _limit(limits)
        flags = {"XLA_FLAGS": os.environ["XLA_FLAGS"]} if "XLA_FLAGS" in os.environ else {}
        os.environ.clear()
        os.environ.update(ENVIRONMENT | flags)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        _serve(socket.socket(fileno=channel), base, holes, jailed, limits)
    except (
        BaseException
    ) as error:  # ours: the controller sees the end of the channel, and says INFRA when it was early
        with contextlib.suppress(BaseException):
            os.write(channel, _frame({"is": "broken", "text": f"{type(error).__name__}: {error}"}))
    finally:
        os._exit(0)


def _serve(
    channel: socket.socket, base: dict[str, Any], holes: _Holes, jailed: bool, limits: dict[str, int]
) -> None:
    channel.sendall(_frame({"is": "jailed"}))
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO("/dev/null", "w"), encoding="utf-8")
    image = marshal.loads(_read(channel))
    gc.disable()
    spliced = marshal.loads(image["spliced"]) if image["spliced"] is not None else {}
    modules: dict[str, Any] = {}
    if image["fills"] is None:
        modules = {**base, **image["modules"], **spliced}
        sys.meta_path.insert(0, ImageFinder(modules))
    else:
        spliced = {name: module for name, module in spliced.items() if name not in base}
        sys.meta_path.insert(0, ImageFinder(spliced))
        holes.fill([(name, marshal.loads(code)) for name, code in image["fills"]])
    if image["text"] is not None:
        _run_program(channel, image["text"])
        return
    try:
        if image["package"] is not None:
            jitkit, to_plain = _package(marshal.loads(image["package"]))
        else:
            jitkit = importlib.import_module("jitkit")
            plain = importlib.import_module("jitkit.kata.engine.plain")
            to_plain = plain.to_plain
            for name in sorted(
                modules
            ):  # all rooms are open before a check, as where jitkit was imported at once
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
            if image["climbing"] is not None:  # jitkit, asked by the programs of the ladder
                sys.meta_path.append(ImageFinder({"climbing": image["climbing"]}))
                to_plain = functools.partial(
                    importlib.import_module("climbing").to_plain, plain=plain, run=None
                )
        for path in image["own"]:
            if "jitkit" in sys.modules:
                importlib.import_module("jitkit.base.source_info")._own_file[path] = True
        if image["patch"] is not None:
            patch = marshal.loads(image["patch"])
            for module, code in patch["helpers"]:
                exec(code, sys.modules[module].__dict__)
            holes.fill(patch["functions"].items())
        for name in spliced:
            importlib.import_module(name)
        gc.freeze()  # what is here is not walked over again in each check's fork, which would copy its pages
        gc.enable()
    except BaseException as error:
        channel.sendall(_frame({"is": "import failed", **_told(error, image["own"])}))
        return
    channel.sendall(_frame({"is": "imported"}))
    while True:
        head, fds, _, _ = socket.recv_fds(channel, 1, 1)
        if not head:
            return
        check = marshal.loads(_read(channel))
        if image["together"]:
            most = int(time.process_time()) + limits["cpu"] + 1
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            _run_check(fds[0], check, jitkit, to_plain)
            os.close(fds[0])
            continue
        pid = os.fork()
        if pid == 0:
            try:
                channel.close()
                resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu"], limits["cpu"] + 1))
                _run_check(fds[0], check, jitkit, to_plain)
            finally:
                os._exit(0)
        os.close(fds[0])
        _, status = os.waitpid(pid, 0)
        if jailed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(
                    -1, signal.SIGKILL
                )  # whatever it started; not us, who are the first of this namespace
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
        channel.sendall(_frame({"is": "ended", "status": status}))


def _package(data: dict[str, Any]) -> tuple[ModuleType, Callable[[Any], Any]]:
    """A whole package of a student's, imported, and what makes plain data of its results."""
    climbing: Any = sys.modules["climbing"]
    sys.meta_path.insert(0, climbing.Refusal("/"))
    sys.meta_path.append(ImageFinder(data["modules"]))  # last: no file of theirs stands for numpy
    to_plain = functools.partial(climbing.to_plain, plain=sys.modules["plain"], run=None)
    return importlib.import_module(data["name"]), to_plain


def _run_check(pipe: int, check: dict[str, Any], jitkit: ModuleType, to_plain: Callable[[Any], Any]) -> None:
    output = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    stream = io.TextIOWrapper(
        io.FileIO(os.dup(1), "w"), encoding="utf-8", errors="replace", write_through=True
    )
    sys.stdout = sys.stderr = stream
    numpy = importlib.import_module("numpy")
    bits = getattr(numpy.random, check["state"]["bit_generator"])()
    bits.state = check["state"]
    names: dict[str, Any] = {"__name__": "checks", "__file__": check["path"]}
    try:
        exec(check["code"], names)
        value = to_plain(names[check["name"]](jitkit, numpy.random.Generator(bits)))
    except BaseException as error:
        plain: Any = sys.modules.get("plain") or sys.modules["jitkit.kata.engine.plain"]
        value = plain.to_plain(plain.Raised(error)) | {"uncaught": True}
    with contextlib.suppress(BaseException):
        stream.flush()
    size = os.lseek(output, 0, os.SEEK_END)
    printed = os.pread(output, _LONGEST_OUTPUT, 0).decode("utf-8", "replace")
    os.close(output)
    data = _frame({"value": value, "output": printed, "printed": size})
    while data:
        data = data[os.write(pipe, data) :]


def _run_program(channel: socket.socket, data: dict[str, Any]) -> None:
    """StableHLO of a student's, run without any code of theirs: what it computes, or what XLA says of it."""
    importlib.import_module("jitkit")
    plain = importlib.import_module("jitkit.kata.engine.plain")
    run = importlib.import_module("jitkit.kata.engine.run_stablehlo").run_stablehlo
    try:
        results = run(data["program"], [plain.array_of(x) for x in data["arguments"]])
        found: dict[str, Any] = {"results": [plain.to_plain(x) for x in results]}
    except Exception as error:
        found = {"refused": str(error)[:100_000]}
    channel.sendall(_frame(found))


class _Holes(ModuleType):
    """The functions of jitkit whose bodies are somewhere else, by name (`holes`), and which of them were called.
    It is a module so that the code of jitkit reaches it, while that is imported.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.functions: dict[str, FunctionType] = {}
        self.calls: set[str] = set()

    def keep(self, name: str) -> Callable[[FunctionType], FunctionType]:
        """A decorator."""

        def kept(function: FunctionType) -> FunctionType:
            self.functions[name] = function
            return function

        return kept

    def called(self, name: str) -> None:
        """What a hole says."""
        self.calls.add(name)

    def fill(self, codes: Iterable[tuple[str, CodeType]]) -> None:
        """Put code, with the docstring in it, where there is none."""
        for name, code in codes:
            function = self.functions[name]
            function.__code__ = code
            has_doc = sys.version_info < (3, 14) or code.co_flags & _HAS_DOCSTRING
            doc = code.co_consts[0] if has_doc and code.co_consts else None
            function.__doc__ = doc if isinstance(doc, str) else None


class ImageFinder(MetaPathFinder):
    """Finds jitkit's modules among code that was handed over. What is not there is nowhere; the stubs of packages, which say where
    names come from, are files below `root`.
    """

    root = ""

    def __init__(self, modules: dict[str, tuple[str, bool, CodeType]]) -> None:
        self.modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the image."""
        if fullname not in self.modules:
            return None
        origin, is_package, code = self.modules[fullname]
        origin = self.root + origin
        return importlib.util.spec_from_file_location(
            fullname,
            origin,
            loader=_Runner(code),
            submodule_search_locations=[os.path.dirname(origin)] if is_package else None,
        )


class _Runner(Loader):
    def __init__(self, code: CodeType) -> None:
        self.code = code

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def _told(error: BaseException, own: Sequence[str]) -> dict[str, Any]:
    """Why jitkit could not be imported, and the student's line."""
    frames = [[f.filename, f.lineno] for f in traceback.extract_tb(error.__traceback__)]
    line = next((frame for frame in reversed(frames) if frame[0] in own), None)
    return {"text": f"{type(error).__name__}: {error}"[:2000], "line": line}


# --- bytes ------------------------------------------------------------------------------------------------------------


def _frame(data: dict[str, Any]) -> bytes:
    text = json.dumps(data).encode("utf-8", "surrogatepass")
    return struct.pack(">Q", len(text)) + text


def _read(channel: socket.socket) -> bytes:
    """A block with its length before it."""
    (size,) = struct.unpack(">Q", _exactly(channel, 8))
    return _exactly(channel, size)


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = channel.recv(min(1 << 20, size - len(data)))
        if not part:
            os._exit(0)
        data += part
    return bytes(data)


# --- the inner wall -----------------------------------------------------------------------------------------------------

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}  # fmt: skip


def enter_jail(limits: dict[str, int], user: int) -> None:
    """Namespaces, a small /tmp, an empty /proc, another user, no capabilities, no way to new ones."""
    libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _call("unshare", _NEW_NS | _NEW_IPC | _NEW_UTS)
    _call("mount", b"none", b"/", None, _REC | _PRIVATE, None)
    tmp = f"size={limits['disk']},nr_inodes={limits['files']},mode=1777".encode()
    for place in (b"/tmp", b"/dev/shm"):
        _call("mount", b"tmpfs", place, b"tmpfs", _NO_SUID | _NO_DEV | _NO_EXEC, tmp)
    _call(
        "mount",
        b"tmpfs",
        b"/proc",
        b"tmpfs",
        _NO_SUID | _NO_DEV | _NO_EXEC | _READ_ONLY,
        b"size=4k,nr_inodes=2",
    )
    os.chdir("/tmp")
    for capability in range(64):
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    if user >= 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _call("capset", header, nothing)
    _call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
    _forbid()


def _forbid() -> None:
    """A seccomp filter: the calls of `_FORBIDDEN` and other architectures' are refused, clone may make no namespace."""
    number = _FORBIDDEN.get(os.uname().machine)
    if number is None:
        raise OSError(f"no list of system calls for {os.uname().machine}")
    architecture, clone, refused = number
    load, equal, at_least, has, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, eperm, enosys = 0x7FFF0000, 0x00050001, 0x00050026
    rest = [
        *((equal, 0, 1, n, eperm) for n in refused),
        (
            equal,
            0,
            1,
            _CLONE3,
            enosys,
        ),  # its flags are in memory, where a filter cannot look; libc falls back to clone
    ]
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (answer, 0, 0, eperm),
        (load, 0, 0, 0),
    ]
    program += [(at_least, 0, 1, 0x40000000), (answer, 0, 0, eperm)]  # x32
    for code, yes, no, value, result in rest:
        program += [(code, yes, no, value), (answer, 0, 0, result)]
    program += [(equal, 0, 3, clone), (load, 0, 0, 16), (has, 0, 1, _NEW_NAMESPACES), (answer, 0, 0, eperm)]
    program += [(answer, 0, 0, allow)]
    packed = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer))
    _call("prctl", _SET_SECCOMP, 2, ctypes.create_string_buffer(header, len(header)), 0, 0)


def _limit(limits: dict[str, int]) -> None:
    for what, most in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["disk"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
    ):
        if what == resource.RLIMIT_NPROC and os.getuid() == 0:
            continue
        resource.setrlimit(what, (most, most))


def _call(name: str, *arguments: Any) -> None:
    """A function of libc. OSError where it fails."""
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
