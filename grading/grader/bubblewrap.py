"""The outer wall of a jail: bubblewrap around a zygote, the process that forks workers

A jail has the interpreter, its libraries, numpy and, if its kind is JAX or JAXLIB, jax or jaxlib, all read-only. It has no network, and
its processes see no others.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence

from jitkit.kata.engine.reference import PACKAGE

from .in_memory import in_memory

INSIDE = pathlib.Path(__file__).with_name("inside")
NUMPY, JAX, JAXLIB = "numpy", "jax", "jaxlib"  # packages that a jail may have
_PACKAGES = {
    NUMPY: ("numpy", "ml_dtypes"),
    JAX: ("numpy", "ml_dtypes", "jax", "jaxlib", "scipy", "opt_einsum"),
    JAXLIB: ("numpy", "ml_dtypes", "jaxlib", "scipy"),
}

_USERS = range(61_000, 65_000)


class JailError(Exception):
    """Raised if the jail cannot be made, has holes, or its process is gone. This is never a student's fault."""


class User:
    """A user for the workers of one jail, if we are root on Linux. No other grader of this machine has it until `close`: the system limits
    the processes of a user as a whole, so one grader's fork bomb would end another's workers. Raise JailError if none is free.

    Attributes:
      number: the user's number; -1 if workers run as we do.
    """

    def __init__(self) -> None:
        self.number = -1
        self.place: socket.socket | None = None
        if os.getuid() != 0 or sys.platform != "linux":
            return
        for number in _USERS:
            place = socket.socket(socket.AF_UNIX)
            try:
                place.bind(f"\0jitkit-user-{number}")  # a name without a file, which is free again when we end
            except OSError:
                place.close()
                continue
            self.number, self.place = number, place
            return
        raise JailError("other graders have all users that workers may have")

    def close(self) -> None:
        """Let others have the user."""
        if self.place is not None:
            self.place.close()


def bubblewrap(folder: pathlib.Path, packages: str, environment: Mapping[str, str]) -> list[str]:
    """Return the beginning of a command for a jail; the zygote's command is appended to it. Raise JailError without
    bubblewrap.

    Args:
      folder: the folder with the file that the zygote reads.
      packages: what the jail has besides Python: NUMPY, JAX or JAXLIB.
    """
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
        # for any user but 0, bubblewrap would make a second user namespace, and from there the zygote could not return
        # from its workers' namespaces
        command += ["--unshare-user", "--uid", "0", "--gid", "0"]
    # the zygote needs these to build the inner wall; workers have none of them
    for capability in ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL"):
        command += ["--cap-add", f"CAP_{capability}"]
    for name, value in environment.items():
        command += ["--setenv", name, value]
    system = [(path, path) for path in _system()]
    python = pathlib.Path(sys.base_prefix)
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    executable = os.path.realpath(sys.executable)
    bound = [str(python / library), executable, *map(str, sorted((python / "lib").glob("libpython*.so*")))]
    binds = [(path, path) for path in bound]
    binds += [(str(path), f"/jail/site/{name}") for name, path in _packages(_PACKAGES[packages])]
    for stub in sorted(PACKAGE.rglob("*.pyi")):  # stubs say where a package's names come from, and have no code
        binds.append((str(stub), f"/jitkit/{stub.relative_to(PACKAGE).as_posix()}"))
    binds.append((str(INSIDE), "/jail/inside"))
    binds = [(str(in_memory(pathlib.Path(path))), place) for path, place in binds]
    binds = [*system, *binds, (str(folder / "base"), "/jail/base")]  # the zygote hides the system's folders later
    for parent in dict.fromkeys(str(p) for _, place in binds for p in reversed(pathlib.PurePath(place).parents)):
        command += ["--perms", "0755", "--dir", parent]  # bubblewrap would make them for its own user only
    for path, place in binds:
        command += ["--ro-bind", path, place]
    command += [
        "--tmpfs",
        "/dev",
        "--dir",
        "/dev/shm",
    ]  # bubblewrap's own /dev has terminals, whose number the whole machine shares
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        command += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for hidden in ("site-packages", "dist-packages"):
        if (in_memory(python / library) / hidden).is_dir():  # a copy in memory has no such folder
            command += ["--tmpfs", str(python / library / hidden)]
    if pathlib.Path("/usr/lib/python3/dist-packages").is_dir():
        command += ["--tmpfs", "/usr/lib/python3/dist-packages"]
    command += [
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
        "--chdir",
        "/tmp",
        "--",
    ]
    return command


def _system() -> Iterator[str]:
    """Yield the paths that exist of those in which the system finds its libraries."""
    for path in ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache"):
        if os.path.exists(path):
            yield path


def site() -> pathlib.Path:
    """Return the folder in which numpy and the other packages are installed. Raise JailError if numpy is not installed."""
    spec = importlib.util.find_spec("numpy")
    if spec is None or spec.origin is None:
        raise JailError("numpy is not installed")
    return pathlib.Path(spec.origin).parents[1]


def _packages(names: Sequence[str]) -> Iterator[tuple[str, pathlib.Path]]:
    """Yield the name and the path of each folder of these packages: their code, their shared libraries, and the metadata
    that importlib.metadata reads. Packages that are not installed are left out.
    """
    for name in names:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        folder = pathlib.Path(spec.origin).parent
        yield folder.name, folder
        for beside in (*folder.parent.glob(f"{name}.libs"), *folder.parent.glob(f"{name}-*.dist-info")):
            yield beside.name, beside
