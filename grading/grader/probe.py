"""Tries what a submission might do. The self-test sends this source into the jail and runs it: each finding is a hole in the jail."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any


def probe(facts: dict[str, Any]) -> list[str]:
    """Return what this process can do and should not be able to do.

    Args:
      facts: the paths of a file outside the jail (`canary`) and of the grader's code (`here`), and the grader's `port` and `pid`.
    """
    leaks = []
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    if any(data):
        leaks.append("it has capabilities")
    if _after_exec():
        leaks.append("what it starts has capabilities")
    if os.getpid() != 1:
        leaks.append("it shares its processes")
    if os.getpgrp() == 0:  # the group's first process is not in this namespace
        leaks.append("it may signal the group of the process that started it")
    if os.listdir("/proc"):
        leaks.append("it sees /proc")
    if libc.unshare(0x10000000) == 0:
        leaks.append("it may make namespaces")
    if libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None) == 0:
        leaks.append("it may mount")
    if libc.ptrace(0, 0, 0, 0) == 0:
        leaks.append("it may trace")
    leaks += [f"it sees {path}" for path in (facts["canary"], facts["here"]) if os.path.exists(path)]
    for place in ("/", "/usr/lib", "/jail", "/dev", "/etc", os.path.dirname(os.__file__)):
        try:
            os.close(os.open(os.path.join(place, "jitkit-probe"), os.O_CREAT | os.O_WRONLY))
            leaks.append(f"it may write to {place}")
        except OSError:
            pass
    for port, host in ((facts["port"], "127.0.0.1"), (53, "1.1.1.1")):
        try:
            with socket.socket() as client:
                client.settimeout(0.5)
                client.connect((host, port))
            leaks.append(f"it reaches {host}")
        except OSError:
            pass
    leaks += [f"it may talk to others by {name}" for name, way in _WAYS.items() if _works(way)]
    try:
        with open("/tmp/large", "wb") as file:
            file.writelines(bytes(1 << 20) for _ in range(100))
        leaks.append("it may fill the disk")
    except OSError:
        pass
    if os.path.exists("/tmp/large"):
        os.unlink("/tmp/large")
    try:
        os.kill(facts["pid"], 0)
        if facts["pid"] != 1:
            leaks.append("it may signal the grader")
    except OSError:
        pass
    try:
        for _ in range(200):
            if os.fork() == 0:
                signal.pause()
        leaks.append("it may start any number of processes")
    except OSError:
        pass
    try:
        bytearray(64 << 30)
        leaks.append("it may have any amount of memory")
    except MemoryError:
        pass
    try:
        os.close(os.memfd_create("jitkit-probe"))
        leaks.append("it may have memory in files that no limit knows")
    except OSError:
        pass
    if libc.shmget(0, 1 << 20, 0o600) != -1 or libc.msgget(0, 0o600) != -1:
        leaks.append("it may have memory that is no process's")
    if len(os.environ) > 12:
        leaks.append("it sees the grader's environment")
    return leaks


def _flock() -> None:
    with open(os.__file__, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock() -> None:
    with open(os.__file__, "rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def _of_libc(name: str, *arguments: int) -> Callable[[], None]:
    def call() -> None:
        if getattr(ctypes.CDLL(None), name)(*arguments) == -1:
            raise OSError(name)

    return call


def _call_of_machine(x86_64: int, aarch64: int) -> Callable[..., None]:
    """Return a function that makes a system call, by its number on each machine, and raises OSError if the call fails."""

    def call(*arguments: Any) -> None:
        number = {"x86_64": x86_64, "aarch64": aarch64}[os.uname().machine]
        if ctypes.CDLL(None).syscall(number, *arguments) == -1:
            raise OSError(number)

    return call


def _shared_futex() -> None:
    """Try to wake a process that waits at an address in a file that others may have mapped, too."""
    number = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
    if ctypes.CDLL(None).syscall(number, ctypes.byref(ctypes.c_int()), 1, 1, None, None, 0) == -1:
        raise OSError("futex")


def _policy_of_a_file() -> None:
    """Try to set a memory policy for a file, which others that map the file could read."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    with open(os.__file__, "rb") as file:
        place = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file.fileno(), ctypes.c_long(0)))
    number = {"x86_64": 237, "aarch64": 235}[os.uname().machine]
    node = ctypes.byref(ctypes.c_ulong(1))
    if libc.syscall(number, place, ctypes.c_ulong(4096), 2, node, ctypes.c_ulong(64), 0) == -1:
        raise OSError("mbind")


def _hint_for_a_file() -> None:
    with open(os.__file__, "rb") as file:
        fcntl.fcntl(file, 1036, (2).to_bytes(8, "little"))


_WAYS: dict[str, Callable[[], object]] = {
    "sockets": socket.socket,
    "pairs of sockets": socket.socketpair,
    "abstract sockets": lambda: socket.socket(socket.AF_UNIX).bind("\0jitkit-probe"),
    "locks of files": _flock,
    "locks of parts of files": _lock,
    "semaphores": _of_libc("semget", 0, 1, 0o600),
    "what it is told of files": _of_libc("inotify_init1", 0),
    "the load of the machine": os.getloadavg,
    "the processors that it may have": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    "waiting longer for a processor": lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
    "numbers of pipes": os.pipe,
    "times of devices": lambda: os.utime("/dev/null"),
    "room on file systems": lambda: os.statvfs("/"),
    "what the kernel says": _of_libc("klogctl", 10, 0, 0),
    "what it is told of files by fanotify": _of_libc("fanotify_init", 0x200, 0),
    "advice on files": lambda: os.posix_fadvise(0, 0, 0, os.POSIX_FADV_DONTNEED),
    "terminals": lambda: os.open("/dev/ptmx", os.O_RDWR),
    "waiting for others": _shared_futex,
    "the policy of a file's memory": _policy_of_a_file,
    "hints for files": _hint_for_a_file,
    "room for asynchronous input": lambda: _call_of_machine(206, 0)(1, ctypes.byref(ctypes.c_void_p())),
    "room for events": _of_libc("epoll_create1", 0),
    "writing out what everybody has written": lambda: _call_of_machine(306, 267)(0),
    "memory that is merged": lambda: mmap.mmap(-1, 4096).madvise(12),
    "memory that is merged by itself": _of_libc("prctl", 67, 1, 0, 0, 0),
}


def _works(way: Callable[[], object]) -> bool:
    try:
        way()
    except OSError:
        return False
    return True


def _after_exec() -> bool:
    """Return whether a program started here gets capabilities, as programs of user 0 may."""
    program = (
        "import ctypes; header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(); "
        "ctypes.CDLL(None).capget(header, data); raise SystemExit(7 if any(data) else 0)"
    )
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", program])
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
