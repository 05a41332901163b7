"""Keeps executables between processes.

With `JITKIT_CACHE_DIR` (or `config.update("compilation_cache_dir", ...)`) set, compiled programs are written to that
folder and found again by the next process, 30 to 80 times faster than compiling. The key is a hash of everything that
the machine code depends on: the StableHLO text, the options, jaxlib's version, the platform and the processor's
features. A file is written under another name and then renamed, so a reader never sees half of one; a damaged or
foreign file is ignored with a warning. The folder holds at most `JITKIT_CACHE_MAX_SIZE` bytes: the least recently used
files are deleted before a new one is written; a file above the limit is not written.

Loading an executable runs native code from the folder: it must be as trusted as the program itself.

JAX: jax/_src/compilation_cache.py:get_executable_and_time
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import struct
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import runtime
from ..base import config, stage_log

if TYPE_CHECKING:  # imported when something is kept
    import hashlib

_MAGIC = b"jitkit-executable-1\n"
_SUFFIX = ".jitkit"
_UNFINISHED = (".part", ".tmp")  # files being written, as `whole_file` names them; jitkit 0.1 named them .tmp


def enabled() -> bool:
    """Return whether a folder is configured, and may hold anything."""
    wanted = config.value("enable_compilation_cache") and config.value("compilation_cache_max_size") != 0
    return wanted and config.value("compilation_cache_dir") is not None


def load(text: str, owners: Sequence[runtime.Device], options: tuple[tuple[str, Any], ...]) -> Any:
    """Return the executable for this text from the folder, or None. The text lacks source lines, which do not change the code."""
    return _load(_path(*_parts(text, owners, options)), lambda data: runtime.deserialize(data, owners, options))


def load_library(known_by: Sequence[str]) -> bytes | None:
    """Return the machine code that a C compiler made, or None; `known_by` is all that it depends on."""
    found: bytes | None = _load(_path(*known_by), lambda data: data)
    return found


def _load(path: str, made_of: Callable[[bytes], Any]) -> Any:
    """Read a file, and return `made_of(data)`; None if the file is missing. If it cannot be read or is damaged, warn
    and return None.
    """
    start = time.perf_counter()
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        warnings.warn(f"jitkit's disk cache cannot read {path}: {error}", stacklevel=3)
        return None
    try:
        loaded = made_of(_unpack(content))
    except Exception as error:  # whatever a damaged file does to the loader, compile instead
        warnings.warn(f"jitkit's disk cache ignores {path}, which is damaged or not its own: {error}", stacklevel=3)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the time of last use, for `_make_room`
    stage_log.log_stage("disk cache hit", os.path.basename(path)[:12], time.perf_counter() - start)
    return loaded


def store(text: str, owners: Sequence[runtime.Device], options: tuple[tuple[str, Any], ...], loaded: Any) -> None:
    """Write the executable to the folder; warn if that fails."""
    _store(_path(*_parts(text, owners, options)), lambda: runtime.serialize(loaded))


def store_library(known_by: Sequence[str], library: bytes) -> None:
    """Write the machine code that a C compiler made to the folder; warn if that fails."""
    _store(_path(*known_by), lambda: library)


def _store(path: str, data: Callable[[], bytes]) -> None:
    folder = os.path.dirname(path)
    try:
        content = _pack(data())
        limit: float = config.value("compilation_cache_max_size")
        limit = math.inf if limit == -1 else limit
        if len(content) > limit:
            warnings.warn(
                f"jitkit's disk cache leaves out a program of {len(content)} bytes: all of them may take {limit} "
                "(JITKIT_CACHE_MAX_SIZE)",
                stacklevel=3,
            )
            return
        os.makedirs(folder, exist_ok=True)
        _make_room(folder, limit - len(content))
        importlib.import_module("jitkit.base.whole_file").write_whole(path, content, make_folder=True)
        _make_room(folder, limit)  # other processes may have written meanwhile
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: PJRT cannot serialise on every platform
        warnings.warn(f"jitkit's disk cache cannot write to {folder}: {error}", stacklevel=3)


def _parts(text: str, owners: Sequence[runtime.Device], options: tuple[tuple[str, Any], ...]) -> tuple[str, ...]:
    """Return everything that an XLA program depends on, as texts."""
    return text, repr(options), ",".join(str(device.id) for device in owners), runtime.platform_fingerprint(owners[0])


def _path(*known_by: str) -> str:
    digest: hashlib._Hash = importlib.import_module("hashlib").sha256()
    for part in known_by:
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode())
    folder = os.path.expanduser(config.value("compilation_cache_dir"))
    return os.path.join(folder, digest.hexdigest() + _SUFFIX)


def _pack(data: bytes) -> bytes:
    return _MAGIC + struct.pack("<QI", len(data), _checksum(data)) + data


def _checksum(data: bytes) -> int:
    number: int = importlib.import_module("zlib").crc32(data)
    return number


def _unpack(content: bytes) -> bytes:
    head = len(_MAGIC) + struct.calcsize("<QI")
    if content[: len(_MAGIC)] != _MAGIC or len(content) < head:
        raise ValueError("not an executable written by jitkit")
    length, checksum = struct.unpack("<QI", content[len(_MAGIC) : head])
    data = content[head:]
    if len(data) != length or _checksum(data) != checksum:
        raise ValueError("the file is incomplete or changed")
    return data


def _make_room(folder: str, limit: float) -> None:
    """Delete the least recently used files until the others fit into the limit, and unfinished files older than an hour."""
    files, total = [], 0
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            status = os.stat(path)
            if name.endswith(_UNFINISHED) and time.time() - status.st_mtime > 3600:
                os.unlink(path)
            elif name.endswith((_SUFFIX, *_UNFINISHED)):
                total += status.st_size
            if name.endswith(_SUFFIX):
                files.append((status.st_mtime_ns, status.st_size, path))
    for _, size, path in sorted(files):
        if total <= limit:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= size
