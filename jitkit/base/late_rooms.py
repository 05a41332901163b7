"""name of a room -> the room, imported when somebody asks for it

Most programs enter a few rooms only, and each costs at every start. A package lists here those that nothing of its own stands
on: `package.room`, `from package import room` and `import package.room` work as if they had been imported with it.

JAX: jax/_src/lazy_loader.py:attach
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType


def attach(package: str, names: Sequence[str]) -> None:
    """Give a package rooms that are imported when they are asked for, and that `dir` shows before.

    (With a `def __getattr__`, the package would have every name in the eyes of mypy.)
    """
    module = sys.modules[package]

    def load(name: str) -> ModuleType:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{name}")

    vars(module).update(__getattr__=load, __dir__=lambda: sorted({*vars(module), *names}))
