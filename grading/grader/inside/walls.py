"""The inner wall: what a worker does to itself before it reads anything: namespaces, limits, and a filter of system calls"""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import signal
import struct
from typing import Any

NEW_PID, _NEW_NS, _NEW_IPC, _NEW_UTS = 0x20000000, 0x00020000, 0x08000000, 0x04000000
_DISKS, _DETACH = (b"/tmp", b"/dev/shm"), 2
_READ_ONLY, _NO_SUID, _NO_DEV, _NO_EXEC, _REC, _PRIVATE = 1, 2, 4, 8, 16384, 1 << 18
_NO_NEW_PRIVS, _CAPBSET_DROP, _SET_SECCOMP, SET_PDEATHSIG = 38, 24, 22, 1

# What a submission has no business with, by the machine's name: its number for seccomp, those of clone and fcntl, and those of system
# calls. The first four are for memory that is no process's own, which its limit does not know: shmget, msgget, memfd_create,
# memfd_secret. The second line is what workers could talk to each other by, or would see others by: socket, socketpair, semget, mq_open,
# flock, mincore, preadv2, sysinfo, inotify_init, inotify_init1, sched_setaffinity; locks by fcntl are refused below.
_FORBIDDEN = {
    "x86_64": (0xC000003E, 56, 72, (
        29, 68, 319, 447,
        41, 53, 64, 240, 73, 27, 327, 99, 253, 294, 203,
        101, 135, 155, 161, 163, 165, 166, 167, 169, 175, 246, 248, 249, 250, 272, 298, 303, 304, 308, 310, 311, 313, 321, 323,
        425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442,
    )),
    "aarch64": (0xC00000B7, 220, 25, (
        194, 186, 279, 447,
        198, 199, 190, 180, 32, 232, 286, 179, 26, 26, 122,
        117, 92, 41, 51, 89, 40, 39, 224, 142, 105, 104, 217, 218, 219, 97, 241, 264, 265, 268, 270, 271, 273, 280, 282,
        425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442,
    )),
}  # fmt: skip
_NEW_NAMESPACES = 0x7E020000  # any of clone's flags for one
_CLONE3 = 435
_LOCKS = (5, 6, 7, 36, 37, 38, 1024, 1026)  # of fcntl: locks, leases, and who is told of changes in a folder

libc = ctypes.CDLL(None, use_errno=True)


def enter_namespaces() -> None:
    """Namespaces of one's own for mounts, IPC and the host's name, and an empty /proc. No /tmp yet."""
    libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    call("unshare", _NEW_NS | _NEW_IPC | _NEW_UTS)
    call("mount", b"none", b"/", None, _REC | _PRIVATE, None)
    call("mount", b"tmpfs", b"/proc", b"tmpfs", _NO_SUID | _NO_DEV | _NO_EXEC | _READ_ONLY, b"size=4k,nr_inodes=2")


def mount_disk(limits: dict[str, int]) -> None:
    """A /tmp and a /dev/shm that are small and empty, over whatever is there."""
    tmp = f"size={limits['disk']},nr_inodes={limits['files']},mode=1777".encode()
    for place in _DISKS:
        call("mount", b"tmpfs", place, b"tmpfs", _NO_SUID | _NO_DEV | _NO_EXEC, tmp)


def unmount_disk() -> None:
    """Take away what `mount_disk` has made, with all that is in it."""
    for place in _DISKS:
        call("umount2", place, _DETACH)


def drop_privileges(user: int) -> None:
    """Another user, no capabilities, no way to new ones."""
    libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.chdir("/tmp")
    for capability in range(64):
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    if user >= 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    call("capset", header, nothing)
    call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
    _forbid()


@functools.cache
def _filter() -> bytes:
    """A seccomp filter: the calls of `_FORBIDDEN` and other architectures' are refused, clone may make no namespace."""
    number = _FORBIDDEN.get(os.uname().machine)
    if number is None:
        raise OSError(f"no list of system calls for {os.uname().machine}")
    architecture, clone, fcntl, refused = number
    load, equal, at_least, has, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, eperm, enosys = 0x7FFF0000, 0x00050001, 0x00050026
    rest = [
        *((equal, 0, 1, n, eperm) for n in refused),
        (equal, 0, 1, _CLONE3, enosys),  # its flags are in memory, where a filter cannot look; libc falls back to clone
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
    program += [(load, 0, 0, 0), (equal, 0, 1 + len(_LOCKS), fcntl), (load, 0, 0, 24)]
    program += [(equal, len(_LOCKS) - i, 0, command) for i, command in enumerate(_LOCKS)]
    program += [(answer, 0, 0, allow), (answer, 0, 0, eperm)]
    return b"".join(struct.pack("HBBI", *line) for line in program)


def _forbid() -> None:
    packed = _filter()
    buffer = ctypes.create_string_buffer(packed, len(packed))
    header = struct.pack("HxxxxxxQ", len(packed) // 8, ctypes.addressof(buffer))
    call("prctl", _SET_SECCOMP, 2, ctypes.create_string_buffer(header, len(header)), 0, 0)


def limit(limits: dict[str, int]) -> None:
    """Bound memory, the size of files, processes and what is open, for this process and all that it starts."""
    for what, most in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["disk"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def call(name: str, *arguments: Any) -> None:
    """A function of libc. OSError where it fails."""
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
