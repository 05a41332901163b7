"""the reference's modules -> their code, read before it is needed

Most of the time that importing jitkit's modules takes goes into finding and reading their files. A process that waits for a learner's
next save does that ahead: it keeps the code of every module, and does not run it. When the functions arrive, the modules run:
changed modules from spliced code, all others from here. Since no module of the reference has run before, the learner's
functions are there from the start.

This file is loaded by its path, without the package around it: importing that would run jitkit.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import pathlib
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import CodeType, ModuleType

# Modules of the standard library that jitkit imports, and Python has not imported at its start. A test checks this list.
STANDARD_LIBRARY = (
    "ast", "base64", "collections", "concurrent.futures", "contextvars", "copy", "dataclasses", "datetime",
    "decimal", "difflib", "dis", "enum", "fractions", "functools", "getpass", "hashlib", "html",
    "importlib.metadata", "inspect", "itertools", "json", "keyword", "linecache", "logging", "math", "numbers",
    "operator", "pathlib", "pickle", "pprint", "queue", "random", "shutil", "statistics", "string", "struct", "sysconfig",
    "subprocess", "tempfile", "textwrap", "threading", "timeit", "tokenize", "traceback", "types", "typing",
    "unicodedata", "uuid", "warnings", "weakref", "zlib",
)  # fmt: skip

_OF_THE_COURSE = (
    "kata/__init__.py", "kata/engine/__init__.py", "kata/engine/plain.py", "kata/engine/numpy_jaxpr.py",
    "kata/engine/executables.py", "kata/engine/checking.py", "kata/checking.py",
    "kata/engine/random_programs.py", "kata/engine/choices.py", "kata/programs",
)  # fmt: skip
_NOT_THE_REFERENCE = ("kata", "bench")


class ReferenceCode(MetaPathFinder):
    """Imports jitkit's modules from code that was read before, not from the disk.

    Args:
      package: the folder `.../jitkit`.
    """

    def __init__(self, package: pathlib.Path) -> None:
        self.specs: dict[str, tuple[str, bool]] = {}
        self.code: dict[str, CodeType] = {}
        for path in files_of_reference(package):
            parts = path.relative_to(package.parent).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            with contextlib.suppress(ImportError, OSError, SyntaxError):
                code = importlib.machinery.SourceFileLoader(name, str(path)).get_code(name)
                if code is not None:
                    self.code[name] = code
                    self.specs[name] = (str(path), is_package)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of jitkit, whose loader runs the code that is here; None for any other module."""
        if fullname not in self.specs:
            return None
        origin, is_package = self.specs[fullname]
        return importlib.util.spec_from_file_location(
            fullname,
            origin,
            loader=_Runner(self.code[fullname]),
            submodule_search_locations=[str(pathlib.Path(origin).parent)] if is_package else None,
        )


class _Runner(Loader):
    def __init__(self, code: CodeType) -> None:
        self.code = code

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def files_of_reference(package: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the files of jitkit that a program may import, and those of the course that a check needs."""
    for entry in sorted(package.iterdir()):
        if entry.suffix == ".py":
            yield entry
        elif entry.is_dir() and entry.name not in _NOT_THE_REFERENCE:
            yield from sorted(entry.rglob("*.py"))
    for name in _OF_THE_COURSE:
        yield from sorted((package / name).rglob("*.py")) if not name.endswith(".py") else [package / name]
