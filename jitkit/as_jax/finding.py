"""Name of a JAX module -> our module of that name, one object, executed once

`import jax.numpy` and `import jitkit.numpy` give the same module, whichever comes first: the finder imports ours, and
the loader returns it instead of a new one. (If a finder fills `sys.modules` itself, Python executes each package
twice.)

JAX: jax/_src/lazy_loader.py:attach
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
import types
from collections.abc import Callable, Sequence

import jitkit

from ..base import config, jax_version, late_rooms
from ..base.options import from_variables_of_jax
from . import private_names, refusals, set_aside

_OURS = jitkit.__name__


def is_installed() -> bool:
    """Return whether `jax` means jitkit in this process."""
    return sys.modules.get("jax") is jitkit


def install() -> None:
    """Make `import jax`, and the import of each JAX module, give jitkit's. A second call does nothing.

    `jitkit.__version__` becomes the version of JAX that jitkit follows, since libraries compare it. JAX's environment
    variables, such as `JAX_ENABLE_X64`, set the options.

    Raises:
      ImportError: if JAX itself has been imported in this process; the message says by whom.
      ValueError: if one of these variables has a value that the option does not take.
    """
    if is_installed():
        return
    if "jax" in sys.modules:
        raise ImportError(refusals.imported_before(), name="jax")
    for name, value in from_variables_of_jax().items():
        config.update(name, value)
    set_aside.set_jax_aside()
    sys.meta_path.insert(0, _Finder)
    jitkit.__version__ = jax_version.text()
    vars(jitkit)["__version_info__"] = tuple(int(part) for part in jax_version.text().split(".") if part.isdigit())
    vars(jitkit)["version"] = private_names.module("jax.version")
    vars(jitkit)["_src"] = private_names.module("jax._src")  # some programs use `jax._src.core` after `import jax`
    sys.modules["jax"] = jitkit
    late_rooms.show_all_names()
    for ours, theirs in {"jitkit": "jax", "jitkit.lax.callback": "jax._src.callback"}.items():
        logging.getLogger(ours).addFilter(_what_passes(logging.getLogger(theirs)))


def _what_passes(theirs: logging.Logger) -> Callable[[logging.LogRecord], bool]:
    """Return a filter that accepts the records which a logger of JAX's would accept, by its level and the filters that
    programs gave it. An accepted record gets the name of JAX's logger, since filters ask for it.
    """

    def passes(record: logging.LogRecord) -> bool:
        record.name = theirs.name
        return theirs.isEnabledFor(record.levelno) and bool(theirs.filter(record))

    return passes


class _Finder:
    """Finds the modules of JAX. It is the first finder in `sys.meta_path`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != "jax":
            return None
        module = _module(name)
        is_package = hasattr(module, "__path__")
        return importlib.util.spec_from_loader(name, _Loader(module), is_package=is_package)


class _Loader(importlib.abc.Loader):
    """Returns a module that already exists. Python's import writes a new spec into it, so the loader restores the old one."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self.module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self.spec
        if not hasattr(
            module, "__path__"
        ):  # with a path, Python asks our finder for submodules, whose error names the importer
            module.__path__ = []


def _module(name: str) -> types.ModuleType:
    """Return our module for a module of JAX. If there is none, raise ModuleNotFoundError that names the importer."""
    found = private_names.module(name)
    if found is not None:
        return found
    ours = f"{_OURS}{name.removeprefix('jax')}"
    try:
        return importlib.import_module(ours)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{ours}.".startswith(f"{error.name}."):
            raise
        raise ModuleNotFoundError(refusals.no_module(name), name=name) from None
