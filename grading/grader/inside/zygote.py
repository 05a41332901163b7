"""In the jail: a clean process that forks workers

The process has the standard library, numpy and, if an exercise compiles, jax (jaxlib for a package from scratch). Of this
repository it has only the modules of jitkit that contain no exercise, or all with holes for the functions of exercises
(`grader.holes`). It receives nothing but "start a worker that speaks to this socket", "say how long that worker
computed", "end it", and "fork a branch for an exercise" (`grader.branches`). A branch is a process that receives the same
requests, and has the reference's code for the functions of all other exercises. A worker has a copy of the memory of its
zygote or branch, so neither may contain a secret.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import marshal
import os
import signal
import socket
import sys
import sysconfig
from collections.abc import Sequence

from .first_programs import compile_patterns, run_first_programs
from .imports import Holes, ImageFinder, import_early
from .large_pages import in_large_pages
from .libraries import load_libraries
from .walls import NEW_PID, call, close_system, prepare
from .warmth import warm_up
from .worker import Modules, read, work


def main(arguments: Sequence[str]) -> int:
    """Serve until the socket is closed, and return 0.

    Args:
      arguments: the number of the socket; the user for workers (-1: ours); "jailed", or, without a jail, the folder that has jitkit;
        the folders to import from, as JSON; the file with jitkit's code; "imported" if jitkit is imported here, else "plain"; then
        the names of other modules to import.
    """
    control = socket.socket(fileno=int(arguments[0]))
    user = int(arguments[1])
    jailed = arguments[2] == "jailed"
    ImageFinder.root = "" if jailed else arguments[2]
    sys.path[:] = [*(p for p in sys.path if "lib" in p), *json.loads(arguments[3])]
    with open(arguments[4], "rb") as file:
        base = marshal.load(file)
    holes = Holes("jitkit_holes")
    if arguments[5] == "imported":
        sys.modules[holes.__name__] = holes
        sys.meta_path.insert(0, ImageFinder(base))
    for name in (*arguments[6:], *(sorted(base) if arguments[5] == "imported" else ())):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if arguments[5] == "imported" and "jitkit.base.errors" in base:
        compile_patterns()
    sysconfig.get_paths()  # cached now: jitkit calls it when it first looks up a source line
    if "jaxlib.xla_client" in sys.modules and jailed:
        warm_up()
        if "jitkit.runtime" in sys.modules:
            sys.modules["jitkit.runtime"].__dict__["gate"]()
    sys.modules.pop(holes.__name__, None)
    sys.dont_write_bytecode = True
    own = os.open("/proc/self/ns/pid", os.O_RDONLY) if jailed else -1
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(
            "500"
        )  # if memory runs out, the kernel kills checks (1000) first, then this process, then the grader
    if jailed:
        load_libraries()
        close_system(os.path.dirname(os.__file__))
        prepare()
    gc.collect()
    gc.freeze()
    if jailed:
        in_large_pages()
    control.sendall(b"ready " + json.dumps(sorted(holes.calls)).encode() + b"\n")
    return _serve(control, base, holes, user, own, jailed)


def _branch(control: socket.socket, base: Modules, holes: Holes) -> None:
    """Fill the holes whose code is received, and run programs once, because a process's first programs are slow. If modules are received,
    jitkit is not imported yet: import what does not need the functions of the exercise.
    """
    fills, modules = marshal.loads(read(control))
    holes.fill([(name, marshal.loads(code)) for name, code in fills])
    if modules is None:
        run_first_programs()
    else:
        import_early({**base, **modules})
    gc.collect()
    gc.freeze()
    control.sendall(b"ready\n")


def _serve(control: socket.socket, base: Modules, holes: Holes, user: int, own: int, jailed: bool) -> int:
    """Do what each request says, until the socket is closed; return 0."""
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
                call("unshare", NEW_PID)  # the next child is the first process of a namespace
            pid = os.fork()
            if pid == 0:
                control.close()
                work(fds[0], base, holes, request["limits"], user, own, jailed, request["alone"])
            if jailed:
                call("setns", own, NEW_PID)
            os.close(fds[0])
            control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        elif request["do"] == "branch":
            pid = os.fork()
            if pid == 0:
                control.close()
                control = socket.socket(fileno=fds[0])
                try:
                    _branch(control, base, holes)
                    _serve(control, base, holes, user, own, jailed)
                except BaseException as error:
                    with contextlib.suppress(OSError):
                        control.sendall(f"{type(error).__name__}: {error}".replace("\n", " ").encode() + b"\n")
                finally:
                    os._exit(0)
            os.close(fds[0])
            control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        elif request["do"] == "look":
            which = request["pid"], request["own"]
            told = {"processor": seconds_of_processor(*which), "waited": seconds_of_waiting(*which)}
            control.sendall(json.dumps(told).encode() + b"\n")
        else:
            used = seconds_of_processor(request["pid"])
            with contextlib.suppress(ProcessLookupError):
                os.kill(request["pid"], signal.SIGKILL)  # the first process: all others die with it
            if not jailed:
                with contextlib.suppress(OSError):
                    os.killpg(request["pid"], signal.SIGKILL)
            os.waitpid(request["pid"], 0)
            control.sendall(json.dumps({"processor": used}).encode() + b"\n")


def seconds_of_processor(pid: int, own: bool = True) -> float:
    """Return the processor time that a process and all that it started have used so far, also those that have ended and
    were waited for. Without `own`, leave out the process itself. Return 0 without /proc.
    """
    return sum(_family(pid, own).values()) / os.sysconf("SC_CLK_TCK")


def seconds_of_waiting(pid: int, own: bool = True) -> dict[str, float]:
    """Return how long each living thread of a process, and of all that it started, was ready to run but had no
    processor, by the thread's number. Without `own`, leave out the process itself. Return {} if Linux does not count
    this.
    """
    waited = {}
    for member in _family(pid, own):
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{member}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{member}/task/{thread}/schedstat", "rb") as file:
                    waited[thread] = int(file.read().split()[1]) / 1e9
    return waited


def _family(pid: int, own: bool) -> dict[int, int]:
    """Return the processor ticks of a process and of all that it started, by process number. Without `own`, leave out
    the process itself.
    """
    ticks, parents = dict[int, int](), dict[int, int]()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()  # the process's name before it may contain anything
                parents[int(name)] = int(fields[1])
                ticks[int(name)] = sum(map(int, fields[11:15]))
    family = {pid}
    while grown := {child for child, parent in parents.items() if parent in family} - family:
        family |= grown
    return {member: ticks[member] for member in family if member in ticks and (own or member != pid)}
