"""jitkit in a process of the jail: its modules came as code, and some of its functions are holes"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
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
