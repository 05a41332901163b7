"""a program's text -> its executable, which was compiled before: in another process, for the last save

Most of what a save needs compiled is what the save before needed. A folder keeps machine code under a hash of all that it depends on;
reading it takes a tenth of the time. Lines of Python, which are in the text and change nothing, do not count. What cannot be read
is compiled.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
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
        """Make it, and throw away what was not asked for lately. False where that is not possible: then all is compiled again."""
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
    """The executable of a program: what `load` makes of the folder's bytes, else what `make` gives, which is kept.

    Args:
      program: its text, and what it is compiled with.
      jaxlib: the file of the jaxlib that compiles.
    """
    build = os.stat(jaxlib).st_mtime_ns
    whole = "\n".join([jaxlib, str(build), platform.node(), os.environ.get("XLA_FLAGS", ""), program])
    path = folder / hashlib.sha256(whole.encode()).hexdigest()[:32]
    with contextlib.suppress(Exception):  # not there yet, or damaged
        found = load(path.read_bytes())
        os.utime(path)
        return found
    found = make()
    with contextlib.suppress(Exception):  # a full disk, or machine code that cannot be written down
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(found.serialize())
        partial.replace(path)
    return found


def keep_executables(folder: pathlib.Path) -> None:
    """Have jitkit compile each program once, and find it in `folder` at the next save."""
    runtime: Any = importlib.import_module("jitkit.runtime")
    compile_text = runtime.compile_text

    def compile_or_find(text: str, owners: Sequence[Any], options: tuple[tuple[str, Any], ...] = ()) -> Any:
        program = repr((without_lines(text), [owner.id for owner in owners], options))
        return remembered(
            folder, program, runtime.gate().ext.__file__,
            lambda data: runtime.deserialize(data, owners, options),
            lambda: compile_text(text, owners, options),
        )  # fmt: skip

    runtime.compile_text = compile_or_find


_LOCATION = re.compile(
    r"""("(?:[^"\\]|\\.)*")"""  # a text may have anything in it
    r"""| loc\((?:[^()"]|"(?:[^"\\]|\\.)*")*\)"""
    r"""|^\#loc\d+ = .*\n""",
    re.MULTILINE,
)


def without_lines(text: str) -> str:
    """StableHLO without the lines of Python that it came from."""
    return _LOCATION.sub(lambda match: match[1] or "", text)
