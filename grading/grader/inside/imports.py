"""jitkit in a process of the jail: its modules came as code, and some of its functions are holes"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType

_HAS_DOCSTRING = 0x4000000  # a flag of code objects since Python 3.14: the first constant is a docstring


class Holes(ModuleType):
    """The functions of jitkit without a body, by name (`functions`), and the names of those that were called (`calls`). This is a module,
    so that jitkit's code can reach it while jitkit is imported.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.functions: dict[str, FunctionType] = {}
        self.calls: set[str] = set()

    def keep(self, name: str) -> Callable[[FunctionType], FunctionType]:
        """Return a decorator that keeps a function as the hole of this name."""

        def kept(function: FunctionType) -> FunctionType:
            self.functions[name] = function
            return function

        return kept

    def called(self, name: str) -> None:
        """Note that a hole was called."""
        self.calls.add(name)

    def fill(self, codes: Iterable[tuple[str, CodeType]]) -> None:
        """Fill holes, by name, with code; each gets the docstring of its code, too."""
        for name, code in codes:
            function = self.functions[name]
            function.__code__ = code
            has_doc = sys.version_info < (3, 14) or code.co_flags & _HAS_DOCSTRING
            doc = code.co_consts[0] if has_doc and code.co_consts else None
            function.__doc__ = doc if isinstance(doc, str) else None


class ImageFinder(MetaPathFinder):
    """Finds modules only among the code that was handed over. The packages' stub files, which say where names come
    from, are files below `root`.
    """

    root = ""

    def __init__(self, modules: dict[str, tuple[str, bool, CodeType]]) -> None:
        self.modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that was handed over, or None."""
        if fullname not in self.modules:
            return None
        origin, is_package, code = self.modules[fullname]
        origin = self.root + origin
        return importlib.util.spec_from_file_location(
            fullname,
            origin,
            loader=_Runner(code),
            submodule_search_locations=[os.path.dirname(origin)] if is_package else None,
        )


class _Runner(Loader):
    def __init__(self, code: CodeType) -> None:
        self.code = code

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


class _MissingError(BaseException):
    """Raised for a module that is not there. It is not an ImportError, which a module may catch to go on without the other."""


class _Refusal(MetaPathFinder):
    """Stands behind an `ImageFinder`, and refuses all modules of its packages that the `ImageFinder` has not found."""

    def __init__(self, packages: Iterable[str]) -> None:
        self.packages = frozenset(packages)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise `_MissingError` for a module of these packages; return None for all others."""
        if fullname.partition(".")[0] in self.packages:
            raise _MissingError(fullname)
        return None


def import_early(modules: Mapping[str, tuple[str, bool, CodeType]]) -> None:
    """Import those of the modules that can be imported without modules that are not among them. A fork tries it first: this process does
    not begin an import that does not end well.
    """
    finders = ImageFinder(dict(modules)), _Refusal(name.partition(".")[0] for name in modules)
    sys.meta_path[:0] = finders
    try:
        names = sorted(modules)
        # more than once, since in a circle of imports a module may stay although one that it needs does not
        while (found := _imported_in_a_fork(names)) != names:
            names = found
        for name in names:
            importlib.import_module(name)
    finally:
        for finder in finders:
            sys.meta_path.remove(finder)


def _imported_in_a_fork(names: Sequence[str]) -> list[str]:
    """Return those of the names whose import succeeds in a fork, one after the other."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            found = []
            for name in names:
                with contextlib.suppress(ImportError, _MissingError):
                    importlib.import_module(name)
                    found.append(name)
            with open(writes, "w", encoding="utf-8") as stream:
                json.dump(found, stream)
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, encoding="utf-8") as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return list(json.loads(text or "[]"))
