"""name -> Target: the chips that can be compiled for, and what must be installed for each

JAX: jax/experimental/topologies.py:get_topology_desc
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import pathlib
import shutil
import sys
from typing import NamedTuple


class TargetError(RuntimeError):
    """A program could not be compiled for a target. The text says why, and how to mend it.

    `reason` is "missing" (the compiler is not installed), "refused" (it has an objection to the program), "timeout",
    "crashed", or "unavailable" (the compiler does not give what was asked of the result).
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Target(NamedTuple):
    """A chip to compile for: its `name`, such as "tpu:v5e", and `chip`, which describes it in words.

    - `platform` selects lowering rules.
    - `extra` is the extra of jitkit that installs the compiler; "" if none has to be.
    - `package` is the distribution that holds the compiler, and a module that can be imported if it is installed; None
      for a GPU (see `cuda`).
    - `code` names the compiler's last readable stage.
    - `description` describes the chip to the compiler: for a GPU, XLA's `GpuTargetConfigProto` as text; for a TPU, the
      name of a topology.
    """

    name: str
    chip: str
    platform: str
    extra: str
    package: tuple[str, str] | None
    code: str
    description: str


# The common part of the descriptions of NVIDIA's GPUs. They are XLA's own: openxla/xla,
# xla/backends/gpu/target_config/specs/*.txtpb
_GPU = """
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 6 }}
device_description_str: "{device}"
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  threads_per_core_limit: 2048
  shared_memory_per_block: 49152
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  {limits}
}}
"""


def _gpu(name: str, chip: str, device: str, limits: str) -> Target:
    """Return the Target of an NVIDIA GPU. `limits` are the lines of its description that differ between GPUs."""
    return Target(name, chip, "gpu", "gpu", None, "PTX", _GPU.format(device=device, limits=limits))


def _tpu(name: str, chip: str, topology: str) -> Target:
    """Return the Target of a TPU. `topology` is libtpu's name for a machine with one such chip."""
    return Target(name, chip, "tpu", "tpu", ("libtpu", "libtpu"), "VLIW bundles", topology)


TARGETS = {
    target.name: target
    for target in (
        Target("cpu", "this machine's processor", "cpu", "", ("jaxlib", "jaxlib"), "LLVM IR", ""),
        _gpu("gpu:h100", "one NVIDIA H100 (80 GB, SXM)", "NVIDIA H100 80GB HBM3", """
            cuda_compute_capability { major: 9 } core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
            shared_memory_per_block_optin: 232448 shared_memory_per_core: 233472
            l2_cache_size: 52428800 memory_bandwidth: 3352320000000 device_memory_size: 84942979072
        """),
        _gpu("gpu:a100", "one NVIDIA A100 (80 GB, SXM)", "NVIDIA A100-SXM4-80GB", """
            cuda_compute_capability { major: 8 } core_count: 108 fpus_per_core: 64 clock_rate_ghz: 1.41
            shared_memory_per_block_optin: 166912 shared_memory_per_core: 167936
            l2_cache_size: 41943040 memory_bandwidth: 2039040000000 device_memory_size: 85100068864
        """),
        _tpu("tpu:v5e", "one TPU v5e", "v5e:1x1"),
        _tpu("tpu:v6e", "one TPU v6e", "v6e:1x1"),
    )
}  # fmt: skip


def find(name: str) -> Target:
    """Return the target with this name. Raise ValueError if there is none."""
    try:
        return TARGETS[name]
    except KeyError:
        raise ValueError(f"unknown target: {name!r}\nThe targets are {', '.join(map(repr, TARGETS))}.") from None


class Cuda(NamedTuple):
    """A generation of NVIDIA's CUDA. Compiling for its GPUs takes two distributions, XLA's `plugin` and NVIDIA's
    `toolkit` (with the assembler, `ptxas`). Each is given with a module that can be imported if it is installed.
    """

    plugin: tuple[str, str]
    toolkit: tuple[str, str]


CUDAS = (
    Cuda(("jax-cuda12-pjrt", "jax_plugins.xla_cuda12"), ("nvidia-cuda-nvcc-cu12", "nvidia.cuda_nvcc")),
    Cuda(("jax-cuda13-pjrt", "jax_plugins.xla_cuda13"), ("nvidia-cuda-nvcc", "nvidia.cu13")),
)


def cuda() -> Cuda:
    """Return the first generation whose plugin is installed; if none is, the first of all."""
    return next((each for each in CUDAS if _is_there(each.plugin[1])), CUDAS[0])


def operations() -> str:
    """Return the name of the module with JAX's operations for the installed CUDA plugin, such as "jax_cuda12_plugin"."""
    return cuda().plugin[1].replace("jax_plugins.xla_", "jax_") + "_plugin"


def has_operations() -> bool:
    """Return whether JAX's package of operations for CUDA is installed, which the plugin needs for the routines of cuSOLVER."""
    return _is_there(operations())


def toolkit() -> pathlib.Path | None:
    """Return the folder of NVIDIA's toolkit: the one installed with the plugin, else this machine's own, by `ptxas` on
    the PATH; None if there is neither.
    """
    _, module = cuda().toolkit
    if _is_there(module):
        folder = folder_of(module)
        if (folder / "bin" / "ptxas").exists():  # other libraries of NVIDIA's are installed into the same folder
            return folder
    on_path = shutil.which("ptxas")
    return pathlib.Path(on_path).resolve().parents[1] if on_path else None


def obstacle(target: Target) -> TargetError | None:
    """Return an error that says why compiling for a target is not possible here, and which command changes that; None
    if it is possible.
    """
    absent = _absent(target)
    if absent:
        are = "is" if len(absent) == 1 else "are"
        return TargetError(
            "missing",
            f"The compiler for {target.name} is not installed: {' and '.join(absent)} {are} missing. Install it:\n"
            f"{how_to_install(target.extra)}",
        )
    if target.package is None:
        package = cuda().plugin[0]
        plugin, ours = version_of(package), version_of("jaxlib")
        if plugin != ours:  # the plugin and jaxlib share an interface that changes from version to version
            return TargetError(
                "missing",
                f"The compiler for {target.name} is {package} {plugin}, and has to be of jaxlib's version, {ours}. "
                f"Install it:\n{how_to_install(target.extra)}",
            )
    return None


def _absent(target: Target) -> list[str]:
    """Return the distributions that are missing for a target."""
    if target.package is not None:
        return [] if _is_there(target.package[1]) else [target.package[0]]
    plugin = [] if _is_there(cuda().plugin[1]) else [cuda().plugin[0]]
    return plugin + ([] if toolkit() else [cuda().toolkit[0]])


# The packages that jitkit's extras of the same names install. They are JAX's extras, since jitkit is not in a package index.
EXTRAS = {"tpu": ("jax[tpu]",), "gpu": ("jax[cuda12-local]", "nvidia-cuda-nvcc-cu12>=12.6")}


def how_to_install(*extras: str) -> str:
    """Return, as text, the commands that install these extras; without extras, the command that installs jax. On other
    systems than Linux, say that these compilers do not exist there.
    """
    if not any(extras):
        return "    pip install jax"
    if sys.platform != "linux":
        return "    (these compilers exist for Linux only)"
    needed = " ".join(f'"{package}"' for extra in extras for package in EXTRAS[extra])
    return f"    pip install {needed}\nor, in a clone, all of them (435 MB):\n    make compilers"


def _is_there(module: str) -> bool:
    """Return whether a module can be imported, without importing it, since that would start the compiler in this process."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


UNKNOWN = "unknown"


def version_of(package: str) -> str:
    """Return the version of an installed distribution; UNKNOWN if it is not installed as one."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN


def compiler_of(target: Target) -> str:
    """Return the packages that compile for a target, with their versions: `libtpu 0.0.51`. For one that is not
    installed, return `this machine's ptxas` for a GPU, and else UNKNOWN.
    """
    needed = cuda() if target.package is None else [target.package]
    versions = [(package, version_of(package)) for package, _ in needed]
    nameless = "this machine's ptxas" if target.package is None else UNKNOWN
    return ", ".join(f"{package} {version}" if version != UNKNOWN else nameless for package, version in versions)


def folder_of(module: str) -> pathlib.Path:
    """Return the folder in which a package is installed. Raise ModuleNotFoundError if it is not installed."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    return pathlib.Path(next(iter(spec.submodule_search_locations)))
