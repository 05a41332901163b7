"""JAX itself, which the gate to jaxlib still imports -> out of the way, so that `jax` is free for jitkit

The gate opens here, with its devices, and what it has imported is taken out of `sys.modules`: it goes on working for those who hold it.
Where the gate does without JAX, nothing is set aside.

JAX: jax/_src/xla_bridge.py:backends
"""

from __future__ import annotations

import sys
import types

from .. import runtime

_modules: dict[str, types.ModuleType] = {}


def set_jax_aside() -> None:
    """Open the gate, and take the modules of JAX's that it has imported out of `sys.modules`."""
    runtime.default_device()
    for name in [name for name in sys.modules if name == "jax" or name.startswith("jax.")]:
        _modules[name] = sys.modules.pop(name)


def of_jax_itself(name: str) -> types.ModuleType | None:
    """The module of that name which was set aside, if one that was set aside, or the gate, imports it now."""
    if not _modules:
        return None
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(("jax.", "jitkit.runtime.")):
            return _modules.get(name)
        if not module.startswith(("importlib", "jitkit.as_jax.")):
            return None
        frame = frame.f_back
    return None
