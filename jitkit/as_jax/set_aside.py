"""Keeps JAX itself, when the gate to jaxlib imports it, out of `sys.modules`, where `jax` is jitkit

The modules of JAX that the gate imports (for several devices, or an accelerator) are kept in a separate table. JAX's
functions import more JAX modules when they are called. So JAX's modules get their own `import`, during which
`sys.modules` has the entries of the table.

JAX: jax/_src/xla_bridge.py:backends
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import runtime

_modules: dict[str, types.ModuleType] = {}
_lock = threading.RLock()


def set_jax_aside() -> None:
    """Let `runtime` import JAX, from now on, within `jax_itself()`: afterwards `jax` is jitkit again."""
    runtime.keep_apart(jax_itself)


@contextlib.contextmanager
def jax_itself() -> Iterator[None]:
    """Within the block, which other threads wait for, the name `jax` means JAX."""
    with _lock:
        if _Finder in sys.meta_path:
            yield
            return
        ours = _taken_out()
        sys.modules.update(_modules)
        sys.meta_path.insert(0, _Finder)
        try:
            yield
        finally:
            sys.meta_path.remove(_Finder)
            _modules.update(_taken_out())
            sys.modules.update(ours)


def _taken_out() -> dict[str, types.ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name == "jax" or name.startswith("jax.")}


class _Finder:
    """Finds the modules of JAX and of its plugins where they are installed, and gives them their `import`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ("jax", "jax_plugins"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute: Any = spec.loader.exec_module

            def execute_with_own_import(module: types.ModuleType) -> None:
                vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import}
                execute(module)
                if look_up := vars(module).get("__getattr__"):  # some modules import a submodule when it is needed
                    vars(module)["__getattr__"] = lambda name: _among_jax(look_up, name)

            vars(spec.loader)["exec_module"] = execute_with_own_import
        return spec


def _among_jax(look_up: Callable[[str], Any], name: str) -> Any:
    with jax_itself():
        return look_up(name)


def _import(name: str, globals_: Any = None, locals_: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """Import a module for JAX's own modules and plugins, as their `__import__`; for them `jax` means JAX."""
    if level == 0 and name.partition(".")[0] != "jax":
        return builtins.__import__(name, globals_, locals_, fromlist, level)
    with jax_itself():
        return builtins.__import__(name, globals_, locals_, fromlist, level)
