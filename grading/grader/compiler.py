"""C -> machine code: the compiler that a package from scratch asks for, in a jail of its own

A compiler starts processes and reads any file that a source names (`#include`, `.incbin`), and a worker may do neither. So the compiler
does not run where a student's code runs. A check gets a channel, through which its process sends C sources and receives libraries. For
each source the grader runs the compiler in a jail that has the system's programs, headers and libraries, and an empty /tmp. The jail has
no network, sees no process outside it, and has nobody's files. A filter refuses the system calls that workers may not make, except the
few that a compiler needs. Nothing is kept from one source to the next.
"""

from __future__ import annotations

import contextlib
import functools
import os
import runpy
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jitkit.kata.ladder.rungs import given_files

from .bubblewrap import JailError
from .inside.walls import system_call_filter

LONGEST_TEXT = 4 << 20  # bytes of a source to be compiled
_TEXTS = 200  # one check may compile at most this many sources
_SECONDS, _ALL_SECONDS = 20.0, 60.0  # by the clock: limits for one source, and for all sources of a check
# limits of each process of the compiler: address space, size of a file, processor seconds, open files
_LIMITS = {"RLIMIT_AS": 2 << 30, "RLIMIT_FSIZE": 32 << 20, "RLIMIT_CPU": 10, "RLIMIT_NOFILE": 256, "RLIMIT_CORE": 0}
_SYSTEM = (
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/include",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
)
_HIDDEN = ("/usr/lib/python3/dist-packages",)
# The compiler's messages go through a file, too, whose size is limited: the grader reads no more of it than fits into a verdict.
_SCRIPT = (
    'cat > /tmp/program.c; if "$@" -shared -fPIC -o /tmp/program.so /tmp/program.c -lm 2> /tmp/said; then cat /tmp/program.so; '
    "else head -c 4000 /tmp/said >&2; exit 1; fi"
)
_PROBE = (
    '#if __has_include("/etc/passwd") || __has_include("/proc/self/maps")\n#error open\n#endif\nvoid run(void) {}\n'
)
# A program that makes harmless system calls, which only the filter refuses; none of them may succeed.
_CALLS = """#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  if (syscall(SYS_unshare, 0) == 0) return 2;
  if (syscall(SYS_socket, 1, 1, 0) >= 0) return 3;
  if (syscall(SYS_memfd_create, "x", 0) >= 0) return 4;
  if (syscall(SYS_ptrace, 0, 0, 0, 0) == 0) return 5;
  if (syscall(SYS_shmget, 0, 4096, 01600) >= 0) return 6;
  return 0; }
"""
_RUN = 'cat > /tmp/program.c && "$@" -o /tmp/program /tmp/program.c && /tmp/program'


class Command(NamedTuple):
    """The compiler in its jail.

    Attributes:
      jail: the command up to bubblewrap's last option.
      compiler: the compiler's path.
      flags: the flags that the compiler is called with.
    """

    jail: tuple[str, ...]
    compiler: str
    flags: tuple[str, ...]

    @contextlib.contextmanager
    def started(self, script: str = _SCRIPT, flags: Sequence[str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """Start a shell script in the jail, with the compiler and the flags as arguments; without `flags`, the compiler's own. At the
        end of the block, end the process.
        """
        given, ours = os.pipe()
        try:
            os.write(ours, system_call_filter(compiles=True))  # it fits into the pipe's buffer
            os.close(ours)
            filtered = [*self.jail, "--seccomp", str(given), "--"]
            words = [*filtered, "/bin/sh", "-c", script, "sh", self.compiler, *(self.flags if flags is None else flags)]
            pipe = subprocess.PIPE
            process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=[given])
        finally:
            os.close(given)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


@functools.cache
def command() -> Command:
    """Return the command that compiles a C source to a library, in its jail. Raise JailError if this machine has no compiler that the
    jail can run, or the jail does not hold.
    """
    found = next(filter(None, map(shutil.which, ("cc", "clang", "gcc"))), None)
    compiler = os.path.realpath(found) if found else ""
    if not compiler.startswith(tuple(f"{place}/" for place in _SYSTEM)):
        raise JailError(
            "it needs a C compiler, and this machine has none that the jail can run: cc, clang or gcc in /usr/bin (Debian, Ubuntu: apt "
            "install gcc libc6-dev). Without one, leave behind_the_door out of the labs"
        )
    program = shutil.which("bwrap")
    if program is None:
        raise JailError("bubblewrap is not installed")
    jail = [
        program, "--unshare-all", "--new-session", "--die-with-parent", "--clearenv", "--cap-drop", "ALL",
        "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LC_ALL", "C",
    ]  # fmt: skip
    for place in _SYSTEM:
        if os.path.exists(place):
            jail += ["--ro-bind", place, place]
    for place in _HIDDEN:
        if os.path.isdir(place):
            jail += ["--tmpfs", place]
    jail += ["--dev-bind", "/dev/null", "/dev/null", "--tmpfs", "/tmp", "--chdir", "/tmp"]
    limits = "; ".join(f"resource.setrlimit(resource.{name}, ({most}, {most}))" for name, most in _LIMITS.items())
    limited = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import os, resource, sys; {limits}; os.execv(sys.argv[1], sys.argv[1:])",
    ]
    flags = runpy.run_path(str(given_files()[1]))["FLAGS"]
    made = Command((*limited, *jail), compiler, tuple(flags))
    for text, script, given, wanted in ((_PROBE, _SCRIPT, None, b"\x7fELF"), (_CALLS, _RUN, (), b"")):
        with made.started(script, given) as process:
            written, said = process.communicate(text.encode(), timeout=4 * _SECONDS)
        if process.returncode or not written.startswith(wanted):
            told = said.decode("utf-8", "replace")[:500].strip() or f"exit status {process.returncode}"
            raise JailError(f"the C compiler does not run in its jail, or is not held there: {told}")
    return made


class Compiler:
    """The compiler of one check, which serves its channel in a thread of ours.

    Attributes:
      channel: the end of the channel that the check's process gets.
      seconds: how long compiling has taken, by the clock.
    """

    def __init__(self) -> None:
        self.command = command()
        self.ours, self.channel = socket.socketpair()
        self.seconds = 0.0
        self.running: subprocess.Popen[bytes] | None = None
        self.closed = False
        self.began = 0.0  # when the present compilation began
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def spent(self) -> float:
        """Return how many seconds it has compiled so far. They do not count as time of the check."""
        began = self.began
        return self.seconds + (time.monotonic() - began if began else 0.0)

    def close(self) -> None:
        """Close the channel, and end a compiler that runs for it."""
        self.closed = True
        for end in (self.ours, self.channel):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        if (running := self.running) is not None:
            running.kill()
        self.thread.join()
        self.ours.close()
        self.channel.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            for _ in range(_TEXTS):
                (size,) = struct.unpack(">Q", self._exactly(8))
                if size > LONGEST_TEXT:
                    self._answer(b"", f"The source is longer than {LONGEST_TEXT:,} bytes.")
                    break
                text = self._exactly(size)
                self.began = time.monotonic()
                try:
                    library, said = self._compiled(text)
                finally:
                    self.seconds, self.began = self.spent(), 0.0
                self._answer(library, said)
                if self.seconds > _ALL_SECONDS:
                    break
        with contextlib.suppress(OSError):
            self.ours.shutdown(socket.SHUT_RDWR)

    def _compiled(self, text: bytes) -> tuple[bytes, str]:
        """Compile a source. Return the library and ""; or b"" and the reason why there is none. Raise EOFError if `close` was called."""
        try:
            with self.command.started() as process:
                self.running = process
                if self.closed:
                    raise EOFError
                library, said = process.communicate(text, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return b"", f"compiling had not ended after {_SECONDS:g} seconds"
        finally:
            self.running = None
        return (
            (library, "") if not process.returncode else (b"", said.decode("utf-8", "replace")[:2000] or "no library")
        )

    def _answer(self, library: bytes, said: str) -> None:
        data = library or said.encode()
        self.ours.sendall(struct.pack(">?Q", bool(library), len(data)) + data)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.ours.recv(min(1 << 16, size - len(data)))
            if not part:
                raise EOFError
            data += part
        return bytes(data)
