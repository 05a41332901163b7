"""Finds out whether there may be accelerators, and silences the plugins of absent ones.

JAX finds the plugins of accelerators, so it is imported if there may be an accelerator. Plugins are also installed to
compile ahead of time for chips of other machines (see `targets`); JAX would try to start these as devices, and fail
with long messages.

JAX: jax/_src/xla_bridge.py:discover_pjrt_plugins
"""

from __future__ import annotations

import contextlib
import glob
import importlib
import importlib.util
import os
import pathlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..base import config

_SIGNS_OF_A_GPU = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia")
_CUDA_LIBRARIES = ("jax_cuda12_plugin", "jax_cuda13_plugin")
_CUDA_PLUGINS = ("xla_cuda12", "xla_cuda13")
# If one of these is set, the user has told JAX which platforms to start, and how.
_SAID_TO_JAX = (
    "JAX_NUM_CPU_DEVICES", "JAX_CPU_ENABLE_ASYNC_DISPATCH", "JAX_CPU_COLLECTIVES_IMPLEMENTATION", "JAX_FORCE_TPU_INIT",
    "PJRT_NAMES_AND_LIBRARY_PATHS",
)  # fmt: skip


def jax_has_to_choose() -> bool:
    """Return whether JAX must choose the devices: the user has set other platforms than the CPU, or one of JAX's
    variables in the environment; or has not chosen the CPU, and there may be an accelerator. False if JAX is not
    installed.
    """
    if _spec_of("jax") is None:
        return False
    if not os.environ.keys().isdisjoint(_SAID_TO_JAX):
        return True
    if platforms := config.value("platforms") or os.environ.get("JAX_PLATFORMS"):
        return bool(platforms != "cpu")
    return any(map(_may_be_for_this_machine, _plugins())) or (
        _spec_of("libtpu") is not None and _is_in_a_cloud_of_tpus()
    )


def _plugins() -> Iterator[str]:
    """Yield the names of plugins that JAX would find: modules of `jax_plugins`, and entry points of that group."""
    for place in map(pathlib.Path, sys.path):
        yield from (each.stem for each in place.glob("jax_plugins/*"))
        for file in place.glob("*-info/entry_points.txt"):
            text = file.read_text(encoding="utf-8", errors="replace")
            if "[jax_plugins]" in text:
                lines = text.partition("[jax_plugins]")[2].partition("[")[0].splitlines()
                yield from (line.partition("=")[0].strip() for line in lines if "=" in line)


def _may_be_for_this_machine(plugin: str) -> bool:
    if plugin in _CUDA_PLUGINS:
        return any(map(os.path.exists, _SIGNS_OF_A_GPU))
    return not plugin.startswith("__")


def _is_in_a_cloud_of_tpus() -> bool:
    vendors = glob.glob("/sys/bus/pci/devices/*/vendor")
    return any(pathlib.Path(each).read_text(encoding="utf-8").strip() == "0x1ae0" for each in vendors)  # Google


@contextlib.contextmanager
def without_libraries_of_absent_gpus() -> Iterator[None]:
    """Make imports of the CUDA plugin's libraries fail in the block, if there is no NVIDIA GPU: JAX does not need them,
    and each would complain about the missing driver.
    """
    hidden = [] if any(map(os.path.exists, _SIGNS_OF_A_GPU)) else [n for n in _CUDA_LIBRARIES if n not in sys.modules]
    modules: dict[str, Any] = dict.fromkeys(hidden)  # None: the import fails
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def pass_over_absent(bridge: Any, chosen: str | None) -> None:
    """Keep JAX from starting plugins for accelerators that this machine lacks. Those for the platforms in `chosen`, the
    user's choice, are started, and may complain.
    """
    hardware = importlib.import_module("jax._src.hardware_utils")
    if "cuda" not in (chosen or "") and "gpu" not in (chosen or "") and not hardware.has_visible_nvidia_gpu():
        for name in (f"jax_plugins.{plugin}" for plugin in _CUDA_PLUGINS):
            spec = _spec_of(name)
            if spec is not None and name not in sys.modules:
                silent: Any = types.ModuleType(name)  # a plugin that registers nothing when JAX calls its `initialize`
                silent.__spec__, silent.initialize = spec, lambda: None
                sys.modules[name] = silent
    tpu = bridge._backend_factories.get("tpu")
    forced = chosen or "JAX_FORCE_TPU_INIT" in os.environ
    if tpu is not None and not forced and not hardware.num_available_tpu_chips_and_device_id()[0]:
        tpu.factory = _no_tpu


def _spec_of(module: str) -> Any:
    """Return the spec of a module, or None if it, or its package, is not found."""
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None


def _no_tpu() -> Any:
    raise RuntimeError("no TPU on this machine")
