"""stdin -> stdout: runs a compiler that reads programs, a line of JSON each, and answers with a line each

    python -m jitkit.targets.worker PLATFORM FOLDER

Started by `process`, which makes the environment; not to be imported. The compiler writes its dumps into FOLDER, which
is emptied for each program. jaxlib does the work; jax is not imported, so that it does not look for plugins itself.

The CPU's compiler is part of jaxlib. Those of GPU and TPU are PJRT plugins: shared libraries with one table of C
functions, which can describe a machine that is not there (a topology), and compile for it. Each reports different facts
about its result; every number is passed on with its source.

JAX: jax/_src/interpreters/mlir.py:make_ir_context
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import re
import sys
import time
from typing import Any

import numpy as np

from .. import runtime
from . import table
from .program import NOT_AVAILABLE
from .table import Target

_ext = importlib.import_module("jaxlib._jax")
_xla_client = importlib.import_module("jaxlib.xla_client")

_GENERIC = (
    "XLA's general cost model (HloCostAnalysis) on the optimised HLO, as this compiler has no estimate of its own"
)


class Compiler:
    """The CPU's compiler, and the base of the others."""

    def __init__(self, dumps: pathlib.Path) -> None:
        self.dumps = dumps
        self.host = _xla_client.make_cpu_client()

    def device(self, target: Target) -> Any:
        """Return the device to compile for. A chip of another machine is only described."""
        return self.host.local_devices()[0]

    def options(self) -> list[tuple[str, Any]]:
        """Return XLA's options, names and values, that make it write its code into the folder."""
        return [
            ("xla_dump_to", str(self.dumps)),
            ("xla_dump_hlo_as_text", True),
            # On request only, jaxlib 0.12 writes LLVM IR and 0.11 PTX. Asking for MLIR's logs as well, as by ".*",
            # sometimes crashes it: several threads write them at once.
            ("xla_dump_emitter_re", "llvm|ptx"),
        ]

    def compile(self, device: Any, text: str, options: Any) -> Any:
        """Return the executable of StableHLO text for a device; `options` are jaxlib's `CompileOptions`."""
        runtime.prepare_lapack(text)
        return self.host.compile_and_load(text, [device], options)

    def hlo(self, executable: Any) -> str:
        """Return the optimised program, as HLO text."""
        return "\n\n".join(module.to_string() for module in executable.hlo_modules())

    def cost(self, executable: Any) -> tuple[dict[str, float], str]:
        """Return estimates by name ("flops"), and who made them."""
        return _plain(executable.cost_analysis()), "XLA's cost model for CPUs, on the optimised HLO"

    def code(self) -> dict[str, str]:
        """Return the code that the compiler wrote into the folder, by kernel."""
        return self._files(r"module_\d+\.[^.]*\.(?P<name>.*)\.ir-with-opt\.ll")

    def bundles(self) -> dict[str, int]:
        """Return the number of instruction words of each kernel, if the compiler counts them; else {}."""
        return {}

    def launches(self) -> list[str]:
        """Return the steps that the device executes, a line for each, if the compiler writes them; else []."""
        return []

    def passes(self) -> list[tuple[str, str]]:
        """Return the passes that changed the program, each with the program after it; none unless the compiler was
        asked to dump them.
        """
        first = self._files(r"(?P<name>module_\d+\.[^.]*)\.before_optimizations\.txt")
        module = min(first, default="")  # a compiler may also compile variants, which have later numbers
        steps = self._files(rf"{re.escape(module)}\.(?P<name>\d{{4}}\..*)\.txt") if module else {}
        named = [("before XLA's passes", first[module])] if steps else []
        for name, text in sorted(steps.items()):
            _, pipeline, step = (*name.split(".", 2), "")[:3]
            done = re.sub(r"\.?before_.*", "", step).removeprefix("after_")
            named.append((f"{done} ({pipeline})", text))
        return named

    def _files(self, pattern: str) -> dict[str, str]:
        found = {}
        for path in sorted(self.dumps.iterdir()):
            match = re.fullmatch(pattern, path.name)
            if match:
                found[match["name"]] = path.read_text(encoding="utf-8", errors="replace")
        return found


class Plugin(Compiler):
    """A compiler that is a PJRT plugin."""

    def __init__(self, dumps: pathlib.Path) -> None:
        super().__init__(dumps)
        self.api = self.load()
        self.devices: dict[str, Any] = {}
        self.context = runtime.mlir_context()

    def load(self) -> Any:
        """Return the plugin's table of functions."""
        raise NotImplementedError

    def topology(self, target: Target) -> tuple[str, dict[str, Any]]:
        """Return the name and the options that describe a machine with one such chip to the compiler."""
        raise NotImplementedError

    def device(self, target: Target) -> Any:
        """Return the device to compile for, made once for each chip."""
        if target.name not in self.devices:
            machine = _ext.get_c_api_topology(self.api, *self.topology(target))
            self.devices[target.name] = machine._make_compile_only_devices()[0]
        return self.devices[target.name]

    def compile(self, device: Any, text: str, options: Any) -> Any:
        """Return the executable of StableHLO text, as the base does. These compilers take MLIR, so the text is parsed here."""
        with self.context:
            module = importlib.import_module("jaxlib.mlir.ir").Module.parse(text)
            return device.client.compile(module, _xla_client.DeviceList((device,)), options)


class Cuda(Plugin):
    """XLA's compiler for NVIDIA GPUs, and NVIDIA's assembler."""

    def load(self) -> Any:
        """Load the plugin, from the folder in which JAX would look; return its table of functions."""
        package = table.cuda().plugin[1]
        api = _load_plugin("cuda", str(table.folder_of(package) / "xla_cuda_plugin.so"))
        _register_routines(api)
        return api

    def topology(self, target: Target) -> tuple[str, dict[str, Any]]:
        """Return the description of one GPU, as XLA has it; the plugin does not read the name."""
        return target.name, {"topology": "1x1x1", "target_config": target.description}

    def options(self) -> list[tuple[str, Any]]:
        """Return the base's options, and one that names the folder of the assembler and of NVIDIA's library of
        functions (libdevice).
        """
        return [*super().options(), ("xla_gpu_cuda_data_dir", str(table.toolkit()))]

    def cost(self, executable: Any) -> tuple[dict[str, float], str]:
        """Return the estimates of XLA's general cost model, and a text that says so: this plugin has no cost model."""
        [module] = executable.hlo_modules()
        return _plain(_ext.hlo_module_cost_analysis(self.host, module)), _GENERIC

    def code(self) -> dict[str, str]:
        """Return PTX by kernel. PTX without a kernel holds only constants, and is left out."""
        texts = self._files(r"module_\d+\.[^.]*\.(?P<name>.*)\.ptx").values()
        entries = [(re.search(r"\.entry\s+(\w+)", text), text) for text in texts]
        return {entry[1]: text for entry, text in entries if entry}

    def launches(self) -> list[str]:
        """Return the launches, which XLA calls thunks, a line each."""
        lines = "".join(self._files(r"(?P<name>module_.*\.thunk_sequence)\.txt").values()).splitlines()
        bare = [re.sub(r"^\s*\d+: |\[(?:source|prev)[^\]]*\]", "", line) for line in lines]
        return [" ".join(line.split()) for line in bare if line.strip()]


class Tpu(Plugin):
    """The TPU's compiler."""

    def load(self) -> Any:
        """Load libtpu, which is possible only once in a process; return its table of functions."""
        library = importlib.import_module("libtpu").get_library_path()
        return _load_plugin("tpu", library)

    def topology(self, target: Target) -> tuple[str, dict[str, Any]]:
        """Return libtpu's name of the kind of chip, and options for a machine with one of them."""
        return target.description, {"chips_per_host_bounds": [1, 1, 1]}

    def options(self) -> list[tuple[str, Any]]:
        """Return no options: libtpu's environment says where to write."""
        return []

    def hlo(self, executable: Any) -> str:
        """Return the optimised HLO of the executable, or from the dump if jaxlib cannot read the executable of a newer libtpu."""
        try:
            return super().hlo(executable)
        except _ext.JaxRuntimeError:
            texts = self._files(r"(?P<name>\d+-TLP)-hlo\.txt")
            if not texts:
                raise
            return "\n\n".join(texts.values())

    def cost(self, executable: Any) -> tuple[dict[str, float], str]:
        """Return libtpu's estimates, without an unknown (negative) time, and a text that names the source."""
        numbers = _plain(executable.cost_analysis())
        if numbers.get("optimal_seconds", 0.0) < 0:
            del numbers["optimal_seconds"]
        return numbers, "libtpu's cost model, on the optimised HLO with its padded layouts"

    def code(self) -> dict[str, str]:
        """Return the instruction bundles of each kernel as text; "TLP" is the program around the kernels."""
        return self._files(r"\d+-(?P<name>.*)-\d+-final_bundles\.txt")

    def bundles(self) -> dict[str, int]:
        """Return the number of bundles of each kernel, from libtpu's analysis of its schedule."""
        analyses = self._files(r"\d+-(?P<name>.*)-\d+-schedule-analysis_final_bundles\.txt")
        totals = {name: re.search(r"total scheduled bundles:\s*(\d+)", text) for name, text in analyses.items()}
        return {name: int(total[1]) for name, total in totals.items() if total}


COMPILERS = {"cpu": Compiler, "gpu": Cuda, "tpu": Tpu}


def _load_plugin(name: str, library: str) -> Any:
    api = _ext.load_pjrt_plugin(name, library, None)
    _ext.initialize_pjrt_plugin(name)
    return api


def _register_routines(api: Any) -> None:
    """Register the routines that programs call by name, such as those of cuSOLVER and cuSPARSE: XLA does not compile
    calls of unknown routines. The routines are in JAX's package of operations for CUDA, which need not be installed.
    """
    operations = table.operations()
    parts = ("cuda_plugin_extension", "_solver", "_hybrid", "_sparse", "_linalg")
    try:
        extension, *libraries = (importlib.import_module(f"{operations}.{part}") for part in parts)
    except ImportError:
        return
    for library in libraries:
        for name, routine in library.registrations().items():
            extension.register_custom_call_target(api, name, routine, "CUDA", 1)


def _plain(costs: Any) -> dict[str, float]:
    """Return the totals of a cost analysis. Numbers of single operands, whose names have braces, are left out."""
    numbers = costs[0] if isinstance(costs, (list, tuple)) else costs
    return {key: float(value) for key, value in numbers.items() if "{" not in key}


def _memory(executable: Any) -> tuple[dict[str, float], str]:
    """Return how many bytes of memory the compiler plans for, by use, and the source of the numbers; no numbers without such a plan."""
    try:
        stats = executable.get_compiled_memory_stats()
    except _ext.JaxRuntimeError:
        return {}, NOT_AVAILABLE
    parts = {"arguments": "argument", "results": "output", "aliased": "alias", "temporaries": "temp"}
    numbers = {name: float(getattr(stats, f"{part}_size_in_bytes")) for name, part in parts.items()}
    if stats.generated_code_size_in_bytes:  # 0 if the compiler does not count it
        numbers["code"] = float(stats.generated_code_size_in_bytes)
    return numbers, "the compiler's own assignment of buffers (CompiledMemoryStats)"


def answer(compiler: Compiler, request: dict[str, Any]) -> dict[str, Any]:
    """Compile one program, and return all facts about it. `request` is what `process` sends: a dict with the StableHLO
    "text", the "target"'s name, and "options", pairs of a name and a value.
    """
    for path in compiler.dumps.iterdir():
        path.unlink()
    device = compiler.device(table.find(request["target"]))
    options = _xla_client.CompileOptions()
    assignment = _xla_client.DeviceAssignment.create(np.array([[device.id]], np.int32))
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = assignment
    options.executable_build_options.device_assignment = assignment
    options.env_option_overrides = [*compiler.options(), *(tuple(option) for option in request["options"])]
    start = time.perf_counter()
    executable = compiler.compile(device, request["text"], options)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "hlo": compiler.hlo(executable),
        "cost": compiler.cost(executable),
        "memory": _memory(executable),
        "code": compiler.code(),
        "bundles": compiler.bundles(),
        "launches": compiler.launches(),
        "passes": compiler.passes(),
    }


def main() -> None:
    """Answer each line of the standard input, until it ends. The answer to a program that cannot be compiled has the key "error"."""
    # The compilers write to the standard output as they like, so answers are written to a copy of it.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    platform, folder = sys.argv[1:]
    compiler = COMPILERS[platform](pathlib.Path(folder))
    for line in sys.stdin:
        try:
            reply = answer(compiler, json.loads(line))
        except Exception as error:
            # The user should read the error of a compiler or a parser.
            reply = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
