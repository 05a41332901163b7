"""A worker: a process with namespaces of its own that runs checks on a student's functions, and sends what they compute

It receives the rest of jitkit, as code, with the student's functions, and then one check after the other: a program, a
state of the random generator, and a pipe for one frame. Each check gets a fork, which enters a jail of its own before
it touches the student's code. In this jail it has no privileges, and no way to get any. (If the course wants it, checks
share one jail and one process.) The student's code may make the fork lie: its frames are only answers, which another
process compares with the right ones.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import json
import marshal
import math
import os
import resource
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from . import IMPORTED, PLAIN
from .executables import Executables
from .imports import Holes, ImageFinder
from .walls import NEW_PID, call, drop_privileges, end_first, enter_namespaces, limit, mount_disk, unmount_disk

Modules = dict[str, Any]  # name -> file, whether it is a package, code
Program = tuple[Any, Any, Any]  # jitkit, the function that turns a result into plain data, the `Executables` or None
_PROGRAMS = "jitkit.kata.engine.random_programs"  # its `grade` makes a check run more random programs
_LONGEST_OUTPUT = 10_000  # bytes: more of what a check prints is not sent
_COLLECT_AFTER = 10_000  # objects: a worker lives briefly, so it collects garbage less often than Python would
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "NPROC": "2",  # XLA's threads in each of its pools, however many processors there are
}  # fmt: skip


def work(
    channel: int, base: Modules, holes: Holes, limits: dict[str, int], user: int, own: int, jailed: bool, alone: bool
) -> None:
    """Do everything that a worker does. The function does not return.

    Args:
      channel: the descriptor of the socket to the grader.
      base, holes: the code of jitkit, and those functions of it that have no body.
      limits, jailed: the limits of a check, and whether there is a jail.
      user, own: the user to become in the jail, and the descriptor of the zygote's namespace of processes.
      alone: whether each check gets a process of its own, in a jail of its own, with functions that are imported there.
        Then this process never runs a student's code, and can tell one check nothing about another.
    """
    proc = os.open("/proc", os.O_RDONLY) if os.path.isdir("/proc") else -1
    try:
        if jailed:
            os.close(own)
            own = os.open("/proc/self/ns/pid", os.O_RDONLY) if alone else -1
            enter_namespaces()
        else:
            os.setsid()
            os.chdir("/tmp")
        flags = {"XLA_FLAGS": os.environ["XLA_FLAGS"]} if "XLA_FLAGS" in os.environ else {}
        os.environ.clear()
        os.environ.update(ENVIRONMENT | flags)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)

        def enter() -> None:
            if jailed:
                drop_privileges(user)
            limit(limits)

        if not alone:
            end_first(proc)
            if proc >= 0:  # elsewhere than on Linux there is no /proc
                os.close(proc)
            if jailed:
                mount_disk(limits)
            enter()
        pipe = socket.socket(fileno=channel)
        pipe.sendall(_frame({"is": "jailed"}))
        sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO("/dev/null", "w"), encoding="utf-8")
        image = marshal.loads(read(pipe))
        gc.disable()
        if image["fills"] is not None:
            holes.fill([(name, marshal.loads(code)) for name, code in image["fills"]])
        if alone:
            imported = functools.partial(_imported, image, base, holes)
            _serve_alone(pipe, imported, enter, own if jailed else -1, proc, limits)
        elif image["text"] is not None:
            _imported(image, base, holes, False)
            _run_program(pipe, image["text"])
        else:
            _serve_together(pipe, image, functools.partial(_imported, image, base, holes), limits)
    except BaseException as error:  # a fault of ours: the grader sees the channel end too early, and says INFRA
        with contextlib.suppress(BaseException):
            os.write(channel, _frame({"is": "broken", "text": f"{type(error).__name__}: {error}"}))
    finally:
        os._exit(0)


class _ImportFails(Exception):
    """Raised if jitkit with a student's functions in it, or a student's own package, cannot be imported. `frame` is the report to
    the grader.
    """

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(frame)
        self.frame = frame


def _imported(image: dict[str, Any], base: Modules, holes: Holes, runs: bool = True, compiler: int = -1) -> Program:
    """Import an image, which runs a student's code for the first time; return what checks need (`Program`). Raise `_ImportFails` if
    the import raises.

    Args:
      runs: whether to import jitkit; if not, the import is only prepared, and three Nones are returned.
      compiler: the channel through which C becomes machine code, if there is one.
    """
    spliced = marshal.loads(image["spliced"]) if image["spliced"] is not None else {}
    modules: Modules = {}
    if image["fills"] is None:
        modules = {**base, **image["modules"], **spliced}
        sys.meta_path.insert(0, ImageFinder(modules))
    else:
        spliced = {name: module for name, module in spliced.items() if name not in base}
        sys.meta_path.insert(0, ImageFinder(spliced))
    executables = None
    try:
        if not runs:
            return None, None, None
        if image["package"] is not None:
            jitkit, to_plain = _package(marshal.loads(image["package"]), compiler)
        else:
            jitkit = importlib.import_module("jitkit")
            plain = importlib.import_module("jitkit.kata.engine.plain")
            to_plain = plain.to_plain
            # Import all modules before a check. If a student's code is spliced in, only this worker uses the import: then import only what
            # the check needs (saves a fifth of a second). The control run, which runs the reference's functions, does the same.
            for name in () if spliced else sorted(modules):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
            if image["climbing"] is not None:  # the ladder's programs, run with jitkit
                sys.meta_path.append(ImageFinder(image["climbing"]))
                to_plain = functools.partial(importlib.import_module("climbing").to_plain, plain=plain, run=None)
        if image["own"] and "jitkit" in sys.modules:
            importlib.import_module("jitkit.interpreters.replaying").__dict__["is_on"] = False
        for path in image["own"]:
            if "jitkit" in sys.modules:
                importlib.import_module("jitkit.base.source_info")._hidden_file[path] = True
        if image["patch"] is not None:
            patch = marshal.loads(image["patch"])
            for module, code in patch["helpers"]:
                exec(code, sys.modules[module].__dict__)
            holes.fill(patch["functions"].items())
        for name in spliced:
            importlib.import_module(name)
        if image["executables"] is not None:
            executables = Executables(image["executables"], image["keeps_executables"])
            executables.install()
    except BaseException as error:
        raise _ImportFails({"is": "import failed", **_told(error, image["own"])}) from None
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
    gc.enable()
    return jitkit, to_plain, executables


def _serve_together(
    channel: socket.socket, image: dict[str, Any], imported: Callable[[], Program], limits: dict[str, int]
) -> None:
    """Run all checks in this process, which is in the jail, one after the other."""
    try:
        jitkit, to_plain, _ = imported()
    except _ImportFails as error:
        channel.sendall(_frame(error.frame))
        return
    gc.freeze()
    channel.sendall(_frame({"is": "imported"}))
    while True:
        head, fds, _, _ = socket.recv_fds(channel, 1, 1)
        if not head:
            return
        check = marshal.loads(read(channel))
        most = int(time.process_time()) + limits["cpu"] + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        _run_check(fds[0], check, jitkit, to_plain, limits["random_programs"])
        os.close(fds[0])


def _serve_alone(
    channel: socket.socket,
    imported: Callable[..., Program],
    enter: Callable[[], None],
    own: int,
    proc: int,
    limits: dict[str, int],
) -> None:
    """Run each check in a fork: the first process of a namespace, with an empty /tmp and /dev/shm, that imports the
    functions. Report how it ended once everything that it started is gone.
    """
    jailed = own >= 0  # our own namespace of processes, to come back from the child's
    gc.freeze()  # the collector skips these objects in each fork, where scanning would copy their pages
    channel.sendall(_frame({"is": "imported"}))
    while True:
        head, fds, _, _ = socket.recv_fds(channel, 1, 2)
        if not head:
            return
        compiler = fds[1] if len(fds) > 1 else -1
        request = read(channel)
        inside, says = os.pipe()
        if jailed:
            mount_disk(limits)
            call("unshare", NEW_PID)
        pid = os.fork()
        if pid == 0:
            try:
                end_first(proc)
                _open_anew(*fds, says)
                enter()
                # the first process of a namespace ignores SIGXCPU, which comes at the first limit; at the second it is killed
                _may_compute(limits["import_cpu"] + limits["cpu"])
                os.write(says, b"j")
                os.close(says)
                try:
                    jitkit, to_plain, executables = imported(compiler=compiler)
                except _ImportFails as error:
                    _write(fds[0], _frame(error.frame))
                else:
                    _write(fds[0], IMPORTED)
                    _may_compute(math.ceil(time.process_time()) + limits["cpu"])
                    kept = executables.made if executables is not None else None
                    _run_check(fds[0], marshal.loads(request), jitkit, to_plain, limits["random_programs"], kept)
            finally:
                os._exit(0)
        if jailed:
            call("setns", own, NEW_PID)
        for fd in (*fds, says):
            os.close(fd)
        _, status, used = os.wait4(pid, 0)  # when the first process of a namespace ends, so do all others
        if jailed:
            unmount_disk()
        there = os.read(inside, 1) == b"j"
        os.close(inside)
        computed = used.ru_utime + used.ru_stime
        channel.sendall(_frame({"is": "ended", "status": status, "jailed": there, "computed": computed}))


def _may_compute(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def _open_anew(*kept: int) -> None:
    """Close all descriptors except these, and open /dev/null as 0, 1 and 2: if two processes shared an open file, they
    could pass messages through its flags.
    """
    sys.stdout.close()
    before = -1
    for fd in (*sorted(kept), 1 << 16):
        os.closerange(before + 1, fd)
        before = fd
    null = os.open("/dev/null", os.O_RDWR)  # it gets the lowest number that is free: 0
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO("/dev/null", "w"), encoding="utf-8")


def _package(data: dict[str, Any], compiler: int) -> tuple[ModuleType, Callable[[Any], Any]]:
    """Import a whole package of a student's; return it, and the function that turns its results into plain data."""
    machine: Any = sys.modules["cc"]
    machine.translate = functools.partial(_translate, compiler)
    climbing: Any = sys.modules["climbing"]
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]  # a student's file may have this name
    sys.meta_path.insert(0, climbing.Refusal("/"))
    # The student's modules are found before installed ones, as for a program in a folder; what is imported already, such as numpy, stays.
    theirs = {name: m for name, m in data["modules"].items() if name.partition(".")[0] not in sys.modules}
    sys.meta_path.insert(sys.meta_path.index(PathFinder), ImageFinder(theirs))
    to_plain = functools.partial(climbing.to_plain, plain=sys.modules[PLAIN], run=None)
    return importlib.import_module(data["name"]), to_plain


def _translate(channel: int, source: str) -> bytes:
    """Return machine code for C. This replaces `cc.translate` in a jail, where no compiler runs: the grader compiles. Raise ValueError if
    the compiler refuses the source, RuntimeError if the grader does not compile it.
    """
    text = source.encode("utf-8", "replace")
    if channel < 0:
        raise RuntimeError("there is no C compiler here: only the programs of rungs 19 and up may ask for one")
    try:
        _write(channel, struct.pack(">Q", len(text)) + text)
        made, size = struct.unpack(">?Q", _as_many(channel, 9))
        data = _as_many(channel, size)
    except (OSError, EOFError):
        raise RuntimeError("the C compiler has been asked too often, or took too long") from None
    if not made:
        raise ValueError(f"the C compiler has an objection to the text:\n{data.decode()}")
    return data


def _as_many(channel: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = os.read(channel, min(1 << 20, size - len(data)))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _run_check(
    pipe: int, check: dict[str, Any], jitkit: ModuleType, to_plain: Callable[[Any], Any], programs: int,
    made: Mapping[str, bytes] | None = None,
) -> None:  # fmt: skip
    output = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    stream = io.TextIOWrapper(io.FileIO(os.dup(1), "w"), encoding="utf-8", errors="replace", write_through=True)
    sys.stdout = sys.stderr = stream
    numpy = importlib.import_module("numpy")
    bits = getattr(numpy.random, check["state"]["bit_generator"])()
    bits.state = check["state"]
    names: dict[str, Any] = {"__name__": "checks", "__file__": check["path"]}
    try:
        exec(check["code"], names)
        if _PROGRAMS in sys.modules:
            sys.modules[_PROGRAMS].__dict__["grade"](programs)
            if check.get("programs"):
                sys.modules[_PROGRAMS].__dict__["give"](marshal.loads(check["programs"]))
        value = to_plain(names[check["name"]](jitkit, numpy.random.Generator(bits)))
    except BaseException as error:
        plain: Any = sys.modules.get(PLAIN) or sys.modules["jitkit.kata.engine.plain"]
        value = plain.to_plain(plain.Raised(error)) | {"uncaught": True}
    with contextlib.suppress(BaseException):
        stream.flush()
    size = os.lseek(output, 0, os.SEEK_END)
    printed = os.pread(output, _LONGEST_OUTPUT, 0).decode("utf-8", "replace")
    os.close(output)
    answer = {"value": value, "output": printed, "printed": size}
    if made is not None:
        answer["executables"] = {name: data.hex() for name, data in made.items()}
    _write(pipe, _frame(answer))


def _run_program(channel: socket.socket, data: dict[str, Any]) -> None:
    """Run a student's StableHLO without any of the student's code: send its results, or XLA's error."""
    importlib.import_module("jitkit")
    plain = importlib.import_module("jitkit.kata.engine.plain")
    run = importlib.import_module("jitkit.kata.engine.run_stablehlo").run_stablehlo
    try:
        results = run(data["program"], [plain.array_of(x) for x in data["arguments"]])
        frame = _frame({"results": [plain.to_plain(x) for x in results]})
    except Exception as error:  # XLA refuses the program, or its results need too much memory
        frame = _frame({"refused": str(error)[:100_000] or type(error).__name__})
    channel.sendall(frame)


def _told(error: BaseException, own: Sequence[str]) -> dict[str, Any]:
    """Return `text`: why an import failed, and `line`: the last place in the traceback that is in the student's files (`own`), or None."""
    frames = [[f.filename, f.lineno] for f in traceback.extract_tb(error.__traceback__)]
    line = next((frame for frame in reversed(frames) if frame[0] in own), None)
    return {"text": f"{type(error).__name__}: {error}"[:2000], "line": line}


# --- bytes ------------------------------------------------------------------------------------------------------------


def _frame(data: dict[str, Any]) -> bytes:
    text = json.dumps(data).encode("utf-8", "surrogatepass")
    return struct.pack(">Q", len(text)) + text


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def read(channel: socket.socket) -> bytes:
    """Return a block of bytes that is sent after its length. If the channel ends, end this process."""
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
