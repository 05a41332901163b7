"""The inner wall of a jail: namespaces, limits and a filter of system calls, which a worker gives itself before it reads anything"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import signal
import struct
from typing import Any

NEW_PID, _NEW_NS, _NEW_IPC, _NEW_UTS = 0x20000000, 0x00020000, 0x08000000, 0x04000000
_DISKS, _DETACH = (b"/tmp", b"/dev/shm"), 2
_READ_ONLY, _NO_SUID, _NO_DEV, _NO_EXEC, _REMOUNT, _BIND, _MOVE, _REC, _PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    8192,
    16384,
    1 << 18,
)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_NO_NEW_PRIVS, _CAPBSET_DROP, _SET_SECCOMP, SET_PDEATHSIG = 38, 24, 22, 1

# This table has, for each machine: its number for seccomp; the numbers of clone, fcntl, futex, mmap, madvise and
# prctl; and the numbers of the system calls that a submission may not make. First row: memory that belongs to no
# process, so that no limit counts it (shmget, msgget, memfd_create). Second row: calls by which workers could talk to
# each other, or see each other (socket, socketpair, semget, mq_open, flock, sysinfo, sched_setaffinity, syslog; pipe
# and pipe2, whose inodes are numbered for the whole machine; io_setup and epoll_create, of which all processes, or
# all of a user, share a limited number; sync and syncfs, which write out what others have written). Third row: calls
# that show what others do with shared files and file systems (mincore, preadv2, fadvise64, readahead, inotify_init,
# inotify_init1, fanotify_init, statfs, fstatfs, ustat; mbind, get_mempolicy, migrate_pages and move_pages, since the
# kernel keeps with a file in memory from which nodes its pages are to come, and tells whoever maps it). Fourth row:
# calls that make a process wait longer for a processor, which the limits of time do not count (setpriority,
# sched_setparam, sched_setscheduler, ioprio_set, sched_setattr). Last rows: calls that reach out of the jail (ptrace,
# mount, setns, bpf, io_uring_setup, pidfd_open, and so on). Locks by fcntl are refused below.
_FORBIDDEN = {
    "x86_64": (0xC000003E, 56, 72, 202, 9, 28, 157, (
        29, 68, 319,
        41, 53, 64, 240, 73, 99, 203, 103, 22, 293, 206, 213, 291, 162, 306,
        27, 327, 221, 187, 253, 294, 300, 137, 138, 136, 237, 239, 256, 279,
        141, 142, 144, 251, 314,
        101, 135, 139, 155, 161, 163, 165, 166, 167, 169, 175, 179, 246, 248, 249, 250, 272, 298, 303, 304, 308, 310, 311, 312, 313, 321,
        323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442,
    )),
    "aarch64": (0xC00000B7, 220, 25, 98, 222, 233, 167, (
        194, 186, 279,
        198, 199, 190, 180, 32, 179, 122, 116, 59, 59, 0, 20, 20, 81, 267,
        232, 286, 223, 213, 26, 26, 262, 43, 44, 44, 235, 236, 238, 239,
        140, 118, 119, 30, 274,
        117, 92, 41, 51, 89, 40, 39, 224, 142, 60, 105, 104, 217, 218, 219, 97, 241, 264, 265, 268, 270, 271, 272, 273, 280, 282,
        425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442,
    )),
}  # fmt: skip
_STATX = {"x86_64": 332, "aarch64": 291}  # statx shows a mount's number; mounts are numbered for the whole machine
_NEWER = 443  # these calls and higher ones are newer than this filter: cachestat, statmount, new futex calls
# From the first number to before the second, system calls do not exist or are new (uretprobe).
_UNUSED = {"x86_64": (335, 424), "aarch64": (295, 424)}
_CLONE_FLAGS = (
    0x7E021000  # all flags that ask for a new namespace, or for a descriptor whose inode counts the machine's processes
)
_OF_ONE_PROCESS = 128  # a flag of futex; without it, two processes that map one file may wait for each other
_HUGE_PAGES = 0x40000  # a flag of mmap; all processes share one pool of huge pages
_CLONE3 = 435
# A compiler also needs these calls: its driver starts processes, reports through a pipe if one cannot start, and asks
# how much memory there is.
_OF_COMPILERS = {"x86_64": (22, 293, 99, 137, 138), "aarch64": (59, 179, 43, 44)}
_LOCKS = (
    5,
    6,
    7,
    36,
    37,
    38,
    1024,
    1026,
    1031,
)  # commands of fcntl: locks, leases, and notifications of changes in a folder
_NEWER_LOCKS = 1035  # these and higher: hints on how long data will live, which the file keeps; and newer commands
# Advice of madvise: merge pages that are equal in several processes; page out, remove or collapse pages of a file.
_ADVICE = (12, 20, 21, 9, 25)
_MERGES = 67  # an option of prctl: equal pages of this process and of others may be merged

libc = ctypes.CDLL(None, use_errno=True)
_CAPABILITIES_OF_THIS, _NONE = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # what capset takes


def enter_namespaces() -> None:
    """Enter new namespaces for mounts, IPC and the host's name, with an empty /proc. /tmp comes later (`mount_disk`)."""
    libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    call("unshare", _NEW_NS | _NEW_IPC | _NEW_UTS)
    call("mount", b"none", b"/", None, _REC | _PRIVATE, None)
    call("mount", b"tmpfs", b"/proc", b"tmpfs", _NO_SUID | _NO_DEV | _NO_EXEC | _READ_ONLY, b"size=4k,nr_inodes=2")


def close_system(kept: str) -> None:
    """Make devices read-only, since their times could be set and read, and remove the system's libraries, for all
    workers and for good. The libraries that are needed have been loaded before. If the files stayed, one worker could leave
    a message for another (the first read of a file is slow), and programs could be started.

    Args:
      kept: Python's own library, which stays.
    """
    call("mount", b"none", b"/", None, _REC | _PRIVATE, None)
    for name in _DEVICES:
        call("mount", None, f"/dev/{name}".encode(), None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_EXEC, None)
    aside = b"/tmp/kept"
    for place in ("/usr/lib", "/usr/lib64", "/lib", "/lib64"):
        if not os.path.isdir(place):
            continue
        inside = kept.startswith(f"{place}/")
        if inside:
            os.makedirs(aside, exist_ok=True)
            call("mount", kept.encode(), aside, None, _BIND | _REC, None)
        call("mount", b"tmpfs", place.encode(), b"tmpfs", _NO_SUID | _NO_DEV, b"size=64k,nr_inodes=16,mode=755")
        if inside:
            os.makedirs(kept)
            call("mount", aside, kept.encode(), None, _MOVE, None)
            os.rmdir(aside)
        call("mount", None, place.encode(), None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEV | _NO_EXEC, None)


def prepare() -> None:
    """Do once what is the same for all workers: make sure that programs which are started get no capabilities, and
    write the filter.
    """
    for capability in range(64):
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    _filter_of_workers()


def end_first(proc: int) -> None:
    """Ask the kernel to end this process, and all that it starts, before others if memory runs out; `proc` is the
    descriptor of /proc.
    """
    with contextlib.suppress(OSError):
        file = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=proc)
        os.write(file, b"1000")
        os.close(file)


def mount_disk(limits: dict[str, int]) -> None:
    """Mount a small, empty /tmp and /dev/shm over the present ones."""
    tmp = f"size={limits['disk']},nr_inodes={limits['files']},mode=1777".encode()
    for place in _DISKS:  # machine code can be loaded only from /tmp, and only if checks get compiled libraries
        runs = limits["compiles"] and place == _DISKS[0]
        call("mount", b"tmpfs", place, b"tmpfs", _NO_SUID | _NO_DEV | (0 if runs else _NO_EXEC), tmp)


def unmount_disk() -> None:
    """Unmount what `mount_disk` has mounted, with all that is in it."""
    for place in _DISKS:
        call("umount2", place, _DETACH)


def drop_privileges(user: int) -> None:
    """Become another user (unless `user` is negative), without capabilities, and without a way to get any. Leave the group of processes
    to which the zygote belongs: a signal to one's group reaches all processes in it that have the same user, whatever their namespace.
    """
    libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.setsid()
    os.chdir("/tmp")
    if user >= 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    call("capset", _CAPABILITIES_OF_THIS, _NONE)
    call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
    _forbid()


@functools.cache
def system_call_filter(compiles: bool = False) -> bytes:
    """Return a seccomp filter. It refuses the calls in `_FORBIDDEN`, newer calls, those of other architectures, a clone into new
    namespaces, and uses of fcntl, futex, mmap, madvise and prctl that could tell other processes something.
    Raise OSError for a machine whose calls are not listed.

    Args:
      compiles: whether the filter is for a compiler, in a jail that nothing else uses.
    """
    number = _FORBIDDEN.get(os.uname().machine)
    if number is None:
        raise OSError(f"no list of system calls for {os.uname().machine}")
    architecture, clone, fcntl, futex, mmap, madvise, prctl, refused = number
    if compiles:
        refused = tuple(n for n in refused if n not in _OF_COMPILERS[os.uname().machine])
    load, equal, at_least, has, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, eperm, enosys, again = 0x7FFF0000, 0x00050001, 0x00050026, 0x0005000B
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (answer, 0, 0, eperm),
        (load, 0, 0, 0),
    ]
    program += [(at_least, 0, 1, 0x40000000), (answer, 0, 0, eperm)]  # calls of the x32 ABI
    for code, value, result in (
        *((equal, n, eperm) for n in refused),
        (equal, _CLONE3, enosys),  # its flags are in memory, where a filter cannot look; libc falls back to clone
        (equal, _STATX[os.uname().machine], enosys),  # libc falls back to stat
        (at_least, _NEWER, enosys),
    ):
        program += [(code, 0, 1, value), (answer, 0, 0, result)]
    first, end = _UNUSED[os.uname().machine]
    program += [(at_least, 0, 2, first), (at_least, 1, 0, end), (answer, 0, 0, enosys)]
    for call_, argument, flag, yes, no in (
        (clone, 0, _CLONE_FLAGS, eperm, allow),
        (mmap, 3, _HUGE_PAGES, eperm, allow),
        (futex, 1, _OF_ONE_PROCESS, allow, again),  # with EAGAIN, a wait for the end of a thread polls
    ):
        program += [(equal, 0, 4, call_), (load, 0, 0, 16 + 8 * argument)]
        program += [(has, 0, 1, flag), (answer, 0, 0, yes), (answer, 0, 0, no)]
    for call_, argument, tests in (
        (fcntl, 1, [*((equal, command) for command in _LOCKS), (at_least, _NEWER_LOCKS)]),
        (madvise, 2, [(equal, advice) for advice in _ADVICE]),
        (prctl, 0, [(equal, _MERGES)]),
    ):
        program += [(equal, 0, 3 + len(tests), call_), (load, 0, 0, 16 + 8 * argument)]
        program += [(code, len(tests) - i, 0, value) for i, (code, value) in enumerate(tests)]
        program += [(answer, 0, 0, allow), (answer, 0, 0, eperm)]
    program += [(answer, 0, 0, allow)]
    return b"".join(struct.pack("HBBI", *line) for line in program)


@functools.cache
def _filter_of_workers() -> tuple[Any, Any]:
    """Return the filter in the form that the kernel reads: the number of lines, their address, and the lines. It is
    made once.
    """
    packed = system_call_filter()
    buffer = ctypes.create_string_buffer(packed, len(packed))
    header = struct.pack("HxxxxxxQ", len(packed) // 8, ctypes.addressof(buffer))
    return ctypes.create_string_buffer(header, len(header)), buffer


def _forbid() -> None:
    header, _ = _filter_of_workers()
    call("prctl", _SET_SECCOMP, 2, header, 0, 0)


def limit(limits: dict[str, int]) -> None:
    """Limit memory, the size of files, processes and open files, for this process and all that it starts."""
    for what, most in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["disk"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_SIGPENDING, 256),  # counted by user: all workers share one count if they run as one user
    ):
        resource.setrlimit(what, (most, most))


def call(name: str, *arguments: Any) -> None:
    """Call a function of libc; raise OSError if it fails."""
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
