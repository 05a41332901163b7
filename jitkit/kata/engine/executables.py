"""a program's StableHLO text -> its executable, which another process has compiled for an earlier save

After a save, mostly the same programs are compiled as after the save before. A folder keeps machine code under a hash of
everything that it depends on; reading it takes a tenth of the time of compiling. The locations in the text, which name
lines of Python, are left out of the hash, since the machine code does not depend on them. Code that cannot be read is
compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import os
import pathlib
import platform
import re
from collections.abc import Callable, Sequence
from typing import Any


class MachineCode:
    """A folder with the machine code of programs."""

    most = 2000  # programs; a climb has about 400, and each of a lab's exercises up to 60

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def is_there(self) -> bool:
        """Make the folder; if it has more than `most` programs, keep only those used last, half of `most`. Return
        whether this worked; if not, everything is compiled again.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            files = list(self.folder.iterdir())
            if len(files) > self.most:
                for path in sorted(files, key=lambda path: path.stat().st_mtime)[: -self.most // 2]:
                    path.unlink()
        except OSError:
            return False
        return True


def remembered(
    folder: pathlib.Path, program: str, jaxlib: str, load: Callable[[bytes], Any], make: Callable[[], Any]
) -> Any:
    """Return the executable of a program. `load` makes it from bytes in the folder; if there are none, or they are damaged,
    `make` compiles it, and its bytes are kept if they can be written.

    Args:
      program: its text, and the options with which it is compiled.
      jaxlib: the file of the jaxlib that compiles.
    """
    path = folder / f"{_build(jaxlib)}-{_digest(program)}"
    with contextlib.suppress(Exception):  # not there yet, or damaged
        found = _ready.pop(path, None) or load(path.read_bytes())
        os.utime(path)
        return found
    found = make()
    with contextlib.suppress(Exception):  # a full disk, or machine code that cannot be written down
        _whole_file().write_whole(path, found.serialize(), make_folder=True)
    return found


def remembering(folder: pathlib.Path, cc: Any) -> Callable[[str], bytes]:
    """Return `translate` of the ladder's module `cc`, which compiles C to a library, with a cache on disk. Its `FLAGS` are read at each
    call, since a package can set others.
    """
    translate: Callable[[str], bytes] = cc.translate

    def find_or_translate(text: str) -> bytes:
        command = [*cc.compiler(), *cc.FLAGS]
        path = folder / f"c-{_digest(repr((command, os.stat(command[0]).st_mtime_ns, platform.node(), text)))}"
        with contextlib.suppress(OSError):  # not there yet
            found = path.read_bytes()
            os.utime(path)
            return found
        library = translate(text)
        with contextlib.suppress(Exception):  # a full disk
            _whole_file().write_whole(path, library, make_folder=True)
        return library

    return find_or_translate


@functools.cache
def _whole_file() -> Any:
    """Load `jitkit.base.whole_file` by its path: a process of the ladder cannot import jitkit."""
    path = pathlib.Path(__file__).resolve().parents[2] / "base" / "whole_file.py"
    spec: Any = importlib.util.spec_from_file_location("_jitkit_whole_file", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_ready: dict[pathlib.Path, Any] = {}  # executables that are loaded and not yet used


def load_ahead(folder: pathlib.Path, jaxlib: str, load: Callable[[bytes], Any], is_wanted: Callable[[], bool]) -> None:
    """Load the executables that were used last, at most `_MOST_AHEAD`, in a process that waits for the next save: most of the time of a
    climb goes into reading machine code. Stop as soon as `is_wanted` says that a request has come.
    """
    with contextlib.suppress(OSError):
        paths = sorted(folder.glob(f"{_build(jaxlib)}-*"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in paths[:_MOST_AHEAD]:
            if is_wanted():
                return
            with contextlib.suppress(Exception):  # a damaged file is noticed when its executable is needed
                _ready[path] = load(path.read_bytes())


_MOST_AHEAD = 300


def _build(jaxlib: str) -> str:
    """Return a hash of everything but the program on which machine code depends: jaxlib, the machine, XLA's flags."""
    return _digest(
        "\n".join([jaxlib, str(os.stat(jaxlib).st_mtime_ns), platform.node(), os.environ.get("XLA_FLAGS", "")])
    )[:8]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def keep_executables(folder: pathlib.Path) -> None:
    """Make jitkit compile each program only once: it looks in `folder` for the executable of an earlier save.

    If the learner's program sets `compilation_cache_dir`, `folder` is not used: jitkit then writes executables to disk
    itself, and XLA cannot write one that was loaded from disk.
    """
    runtime: Any = importlib.import_module("jitkit.runtime")
    config: Any = importlib.import_module("jitkit.base.config")
    compile_text = runtime.compile_text

    def compile_or_find(text: str, owners: Sequence[Any], options: tuple[tuple[str, Any], ...] = ()) -> Any:
        if config.value("compilation_cache_dir"):
            return compile_text(text, owners, options)
        program = repr((without_lines(text), [owner.id for owner in owners], options))
        return remembered(
            folder, program, runtime.gate().ext.__file__,
            lambda data: runtime.deserialize(data, owners, options),
            lambda: compile_text(text, owners, options),
        )  # fmt: skip

    runtime.compile_text = compile_or_find


_LOCATION = re.compile(
    r"""("(?:[^"\\]|\\.)*")"""  # a quoted string, which may contain anything, is kept
    r"""| loc\((?:[^()"]|"(?:[^"\\]|\\.)*")*\)"""
    r"""|^\#loc\d+ = .*\n""",
    re.MULTILINE,
)


def without_lines(text: str) -> str:
    """Return StableHLO text without the lines of Python that its operations came from."""
    return _LOCATION.sub(lambda match: match[1] or "", text)
