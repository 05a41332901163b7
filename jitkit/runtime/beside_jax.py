"""Connects us with JAX, in programs that import it or need what only JAX can do

`jax()` imports it for several devices, for meshes and shardings over them, for DLPack requests that jaxlib cannot
serve, and to find an accelerator's plugin. A process that needs none of these, and does not import JAX itself, never
loads it.

If both are loaded, they share one CPU client, and so accept each other's buffers without a copy. JAX is told that an
Array holds a buffer. Only a buffer's aval differs: `for_jax` replaces it by JAX's.

JAX: jax/_src/xla_bridge.py:register_backend_factory
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from ..base import config
from ..base.mixed_with_jax import is_of_jax
from ..core import ShapedArray
from . import accelerators


def is_here() -> bool:
    """Return whether JAX is loaded in this process. Under `as_jax` the module `jax` is jitkit, and does not count."""
    return bool(_met) or sys.modules.get("jax") not in (None, sys.modules[__name__.partition(".")[0]])


def jax() -> Any:
    """Return JAX, imported if need be, after the two have been introduced (`_meet`)."""
    if _met:
        return _met[0]
    with _apart(), contextlib.nullcontext() if is_here() else accelerators.without_libraries_of_absent_gpus():
        module = importlib.import_module("jax")
        _meet(module)
    return module


def module_of_jax(name: str) -> Any:
    """Return a module of JAX's; import it if `import jax` has not."""
    jax()
    with _apart():
        return importlib.import_module(name)


def apart() -> contextlib.AbstractContextManager[None]:
    """Return a block in which the name `jax` means JAX, also where jitkit is in its place: jaxlib imports `jax.core` in some calls."""
    return _apart()


def keep_apart(within: Callable[[], contextlib.AbstractContextManager[None]]) -> None:
    """From now on, import JAX in a block `with within():`, outside of which the name `jax` means something else."""
    global _apart
    _apart = within


def is_asked_by_jax(asker: types.FrameType) -> bool:
    """Return whether `asker`, the frame of a function that looks up an array's `__jax_array__`, is of JAX. If not, and
    jitkit is in JAX's place, raise AttributeError: JAX's arrays do not have this attribute.
    """
    is_jax = is_of_jax(asker.f_globals.get("__name__"))
    if _apart is not contextlib.nullcontext and not is_jax:
        raise AttributeError("'Array' object has no attribute '__jax_array__'")
    return is_jax


_apart: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
_meeting = threading.RLock()
_met: list[types.ModuleType] = []
_holders: list[type] = []


def let_jax_take(holder: type) -> None:
    """Make JAX accept values of a class whose `_buf` is a buffer, as soon as JAX is loaded."""
    with _meeting:
        _holders.append(holder)
        if _met:
            with _apart():
                _introduce(holder)


def _meet(module: Any) -> None:
    """Set up what JAX and jitkit share, such as the CPU client and its options; once in a process."""
    with _meeting:
        if _met:
            return
        bridge: Any = importlib.import_module("jax._src.xla_bridge")
        if config.value("platforms"):
            module.config.update("jax_platforms", config.value("platforms"))
        if config.value("num_cpu_devices") != -1:
            module.config.update("jax_num_cpu_devices", config.value("num_cpu_devices"))
        accelerators.pass_over_absent(bridge, module.config.jax_platforms)
        bridge.discover_pjrt_plugins = _looking_apart(bridge.discover_pjrt_plugins)
        _share_cpu_client(module.config, bridge)
        for holder in _holders:
            _introduce(holder)
        _notice_blocks(importlib.import_module("jax._src.mesh"))
        _met.append(module)


def _looking_apart(discover: Callable[[], None]) -> Callable[[], None]:
    """Return `discover`, JAX's search for plugins, run where the name `jax` means JAX: plugins import JAX."""

    @functools.wraps(discover)
    def discover_apart() -> None:
        with _apart():
            discover()

    return discover_apart


def _notice_blocks(module: Any) -> None:
    """Make JAX report blocks `with mesh:`: what is traced in one is not used outside of it."""

    def noticing(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def noticed(*args: Any) -> Any:
            result = method(*args)
            mesh = module.thread_resources.env.physical_mesh
            config.local.state.mesh_block = None if mesh.empty else mesh
            config.local.state.refresh()
            return result

        return noticed

    for name in ("__enter__", "__exit__"):
        setattr(module.Mesh, name, noticing(getattr(module.Mesh, name)))


def _introduce(holder: type) -> None:
    """Make `jax.numpy` and `jax.jit` accept values of a class that holds a buffer."""
    core, pxla = importlib.import_module("jax._src.core"), importlib.import_module("jax._src.interpreters.pxla")
    core.pytype_aval_mappings[holder] = lambda x: buffer_for_jax(x).aval
    shard = pxla.shard_arg_handlers[importlib.import_module("jaxlib._jax").ArrayImpl]
    pxla.shard_arg_handlers[holder] = lambda xs, *how: shard([buffer_for_jax(x) for x in xs], *how)
    canonicalize = getattr(importlib.import_module("jax._src.dtypes"), "canonicalize_value_handlers", {})
    canonicalize[holder] = buffer_for_jax  # until JAX 0.11


def buffer_for_jax(holder: Any) -> Any:
    """Return the buffer that a value holds, in a form for JAX. From then on the value holds that form."""
    holder._buf = for_jax(holder._buf)
    return holder._buf


def for_jax(buffer: Any) -> Any:
    """Return a buffer with JAX's aval: the same one, or another on the same memory."""
    aval = buffer.aval
    if type(aval) is not ShapedArray:
        return buffer
    of_jax = jax().core.ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)
    return buffer._rewrap_with_aval_and_sharding(of_jax, buffer._sharding)


def jaxlib_has_x64() -> bool:
    """Return whether jaxlib's dispatcher keeps 64-bit values: JAX's own switch decides."""
    return is_here() and bool(jax().config.jax_enable_x64)


def pytrees_of_jax() -> Any:
    """Return jaxlib's pytree module, with JAX's registry of classes; None while JAX is not imported."""
    ext = sys.modules.get("jaxlib._jax") if is_here() else None
    return getattr(ext, "pytree", None)


# --- when JAX comes second --------------------------------------------------------------------------------------


@functools.cache
def watch_for_jax() -> None:
    """From now on, call `_meet` when anyone imports JAX."""
    sys.meta_path.insert(0, _Watch())


class _Watch(threading.local):
    """An import hook that finds JAX as the other hooks do, and calls `_meet` at the end of its import."""

    is_asked = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of JAX, changed so that `_meet` is called after its import; None for other modules, and without JAX."""
        if name != "jax" or self.is_asked:
            return None
        self.is_asked = True
        try:
            spec: Any = next(filter(None, (each.find_spec(name, path, target) for each in sys.meta_path)), None)
        finally:
            self.is_asked = False
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_meet(module: types.ModuleType) -> None:
            execute(module)
            _meet(module)

        spec.loader.exec_module = execute_and_meet
        return spec


# --- the client of the CPU --------------------------------------------------------------------------------------

_making = threading.Lock()
_cpu_clients: list[Any] = []


def cpu_client(make: Callable[[], Any]) -> Any:
    """Return this process's only CPU client, which is made at the first call."""
    with _making:
        if not _cpu_clients:
            _cpu_clients.append(make())
        return _cpu_clients[0]


def _share_cpu_client(options: Any, bridge: Any) -> None:
    registered = bridge._backend_factories["cpu"]
    make = registered.factory

    def shared() -> Any:
        client, count = cpu_client(make), options.jax_num_cpu_devices
        if count not in (-1, client.device_count()):
            raise RuntimeError(
                f"jax_num_cpu_devices is {count}, but jitkit has started the CPU with {client.device_count()} device(s) already, and "
                "shares it with JAX. Import jax and set the option before the first array, or set JAX_NUM_CPU_DEVICES."
            )
        return client

    registered.factory = shared
