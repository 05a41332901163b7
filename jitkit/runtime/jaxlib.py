"""The gate to jaxlib: jax, jaxlib and what else is behind it, imported when the first of them is asked for.

Two imports of this file cost a second, so the gate opens late: `gate()`. What is installed for accelerators that this
machine does not have is kept from speaking up meanwhile. Errors of XLA leave in our own classes.

JAX: jax/_src/xla_bridge.py:get_backend
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..base import config, errors, traceback_util


class _Gate(NamedTuple):
    jax: Any
    ext: Any  # jaxlib._jax
    xla_client: Any
    array_type: type  # the concrete class of a jax.Array
    runtime_error: type[Exception]
    skip_checks: bool  # whether `array_result_handler` has the argument `_skip_checks`, as jaxlib <= 0.11 has


_opening = threading.Lock()


@functools.cache
def _open() -> _Gate:
    with _interrupts_after():
        return _imported()


@contextlib.contextmanager
def _interrupts_after() -> Iterator[None]:
    """Ctrl-C within the block is heard after it. C++ modules that are interrupted while they are imported end the process."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


def _imported() -> _Gate:
    with _without_libraries_of_absent_gpus():
        jax = importlib.import_module("jax")
    if config.value("platforms"):
        jax.config.update("jax_platforms", config.value("platforms"))
    ext = importlib.import_module("jaxlib._jax")
    xla_client = importlib.import_module("jaxlib.xla_client")
    skip = "_skip_checks" in (inspect.getdoc(ext.array_result_handler) or "")
    for array_type in buffer_holders:
        _introduce(array_type, ext.ArrayImpl)
    _pass_over_absent_accelerators(jax.config.jax_platforms)
    return _Gate(jax, ext, xla_client, ext.ArrayImpl, jax.errors.JaxRuntimeError, skip)


@contextlib.contextmanager
def _without_libraries_of_absent_gpus() -> Iterator[None]:
    """Within the block, the libraries that CUDA's plugin brings for JAX's own operations cannot be imported, unless there
    is an NVIDIA GPU: each of them says at once that it misses the driver, and JAX does without them.
    """
    hidden = [] if any(map(os.path.exists, _SIGNS_OF_A_GPU)) else [n for n in _CUDA_LIBRARIES if n not in sys.modules]
    modules: dict[str, Any] = dict.fromkeys(hidden)  # None: a module that is not to be found
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


_SIGNS_OF_A_GPU = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia")
_CUDA_LIBRARIES = ("jax_cuda12_plugin", "jax_cuda13_plugin")


def _pass_over_absent_accelerators(chosen: str | None) -> None:
    """Keep plugins for accelerators that this machine does not have from being started as its devices.

    They are installed to compile ahead of time (see `targets`), and fail here at great length. `chosen` are the
    platforms that the user asked for, if any: those are started, and may complain.
    """
    hardware = importlib.import_module("jax._src.hardware_utils")
    bridge = importlib.import_module("jax._src.xla_bridge")
    if "cuda" not in (chosen or "") and "gpu" not in (chosen or "") and not hardware.has_visible_nvidia_gpu():
        for name in ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13"):
            spec = _spec_of(name)
            if spec is not None and name not in sys.modules:
                silent: Any = types.ModuleType(name)  # JAX finds it, and asks it to register what it has
                silent.__spec__, silent.initialize = spec, lambda: None
                sys.modules[name] = silent
    tpu = bridge._backend_factories.get("tpu")
    forced = chosen or "JAX_FORCE_TPU_INIT" in os.environ
    if tpu is not None and not forced and not hardware.num_available_tpu_chips_and_device_id()[0]:
        tpu.factory = _no_tpu


def _spec_of(module: str) -> Any:
    """Where a module is; None when it is nowhere, or the package around it."""
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None


def _no_tpu() -> Any:
    raise RuntimeError("no TPU on this machine")


buffer_holders: list[type] = []  # classes whose `_buf` is a buffer, to be taken by JAX like the buffer itself


def _introduce(holder: type, array_type: type) -> None:
    """Let `jax.numpy` and functions made by `jax.jit` take values of a class that holds a buffer."""
    core, pxla = importlib.import_module("jax._src.core"), importlib.import_module("jax._src.interpreters.pxla")
    core.pytype_aval_mappings[holder] = lambda x: x._buf.aval
    shard = pxla.shard_arg_handlers[array_type]
    pxla.shard_arg_handlers[holder] = lambda xs, *how: shard([x._buf for x in xs], *how)
    canonicalize = getattr(importlib.import_module("jax._src.dtypes"), "canonicalize_value_handlers", {})
    canonicalize[holder] = lambda x: x._buf  # until JAX 0.11


def gate() -> _Gate:
    """The modules behind the gate; imports jax the first time."""
    with _opening:
        return _open()


# --- errors ---------------------------------------------------------------------------------------------------


def deleted_error(aval: Any) -> RuntimeError:
    """The error for an array whose buffer was donated or deleted."""
    return RuntimeError(f"Array has been deleted with shape={aval.str_short()}.\n{_WHERE_IT_WENT}")


_WHERE_IT_WENT = (
    "Its memory was given away: it was passed to a function with `donate_argnums`/`donate_argnames`, or deleted by "
    "`.delete()`. Use the result of that call instead, or do not donate an argument that is needed afterwards."
)


def explained(error: Exception) -> Exception:
    """An error of XLA in our class, with the mend when an array was used that is deleted; others as they are.

    What a callback has raised is in the text, with a traceback.
    """
    text = traceback_util.filter_text(str(error), "called_by_xla")
    if "deleted or donated" in text:
        text = f"{text}\n{_WHERE_IT_WENT}"
    if isinstance(error, gate().runtime_error):
        return errors.JaxRuntimeError(text)
    return ValueError(text) if type(error) is ValueError else error


def pytrees_of_jax() -> Any:
    """What jaxlib has for pytrees, with JAX's registry of classes; None where nobody has imported JAX, and registered one."""
    ext = sys.modules.get("jaxlib._jax") if "jax" in sys.modules else None
    return getattr(ext, "pytree", None)
