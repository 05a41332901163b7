"""StableHLO text -> loaded executable; XLA's analyses of both; serialised executables

JAX: jax/_src/compiler.py:backend_compile_and_load
"""

from __future__ import annotations

import atexit
import enum
import functools
import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import errors
from ..base.jax_version import since
from .devices import Device, default_device
from .jaxlib import gate


def compile_text(text: str, owners: Sequence[Device], options: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Compile StableHLO text for these devices; return the loaded executable.

    Several devices mean one program partitioned over all of them (SPMD, by Shardy). `options` are XLA's own debug
    options. If XLA refuses the text, raise JaxRuntimeError, with the line of the text that XLA names.
    """
    g = gate()
    compile_options = _compile_options(owners, options)
    prepare_lapack(text)
    try:
        return _waited_for(lambda: owners[0].client.compile_and_load(text, list(owners), compile_options))
    except g.runtime_error as error:
        raise errors.JaxRuntimeError(_with_source_line(str(error), text)) from None


def compile_with_callbacks(
    text: str, owners: Sequence[Device], options: tuple[tuple[str, Any], ...], callbacks: Sequence[Callable[..., Any]]
) -> Any:
    """Compile a program that calls Python functions, each by its index in `callbacks`; return the loaded executable,
    which keeps them alive. jaxlib wants a parsed module for it. Raise JaxRuntimeError if XLA refuses the text.
    """
    g = gate()
    prepare_lapack(text)
    parsed = mlir_module(text)
    devices_of_program = g.xla_client.DeviceList(tuple(owners))
    try:
        compile_options = _compile_options(owners, options)
        return _waited_for(
            lambda: owners[0].client.compile_and_load(parsed, devices_of_program, compile_options, list(callbacks))
        )
    except g.runtime_error as error:
        raise errors.JaxRuntimeError(_with_source_line(str(error), text)) from None


def _waited_for(compile_: Callable[[], Any]) -> Any:
    """Return `compile_()`, run so that Ctrl-C can interrupt it, and Python still waits for its end at exit.

    XLA compiles in its own threads. After Ctrl-C it would go on while Python destroys devices and compiler, and the
    process would die with a segmentation fault. So the main thread, which Ctrl-C interrupts, hands the call to another
    thread, for which exit waits. That costs about 50 us, where compiling takes 10 ms and more. Ctrl-C does not
    interrupt other threads, but if one is a daemon, Python may end before it.
    """
    done = threading.Event()  # not `join`: in Python 3.11 an interrupted `join` marks the thread as ended
    results: list[Any] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(compile_())
        except BaseException as error:
            failures.append(error)
        finally:
            _compiling.discard(done)
            done.set()

    _wait_at_exit()
    _compiling.add(done)
    if threading.current_thread() is threading.main_thread():
        threading.Thread(target=work, name="jitkit compiles", daemon=True).start()
    else:
        work()
    while not done.wait(0.5):  # with a timeout, so that Ctrl-C can interrupt it on Windows
        pass
    if failures:
        raise failures[0]
    return results[0]


_compiling: set[threading.Event] = set()


@functools.cache
def _wait_at_exit() -> None:
    # Registered at the first compilation, after jax is imported: what is registered last runs first, while devices
    # still live.
    atexit.register(_wait_for_compilers)


def _wait_for_compilers() -> None:
    try:
        for done in list(_compiling):
            if not done.wait(1.0):
                print(
                    "jitkit waits for XLA, which cannot be stopped while it compiles. Ctrl-C again ends it the hard way.",
                    file=sys.stderr,
                )
                done.wait()
    except KeyboardInterrupt:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)  # the shell's status for Ctrl-C; skips cleanup, which would crash


def prepare_lapack(program: str | bytes) -> None:
    """If a program calls LAPACK, make jaxlib find the routines (scipy has them), and register jaxlib's functions with
    XLA.

    On GPUs, routines of JAX's plugin call LAPACK on the host. JAX registers them when it finds the plugin.
    """
    data = program.encode() if isinstance(program, str) else program
    if b"lapack_" in data:
        lapack = importlib.import_module("jaxlib.lapack")
        lapack._lapack.initialize()
        _register(lapack)
    if b"cuhybrid_" in data:
        importlib.import_module("jaxlib.gpu_solver").initialize_hybrid_kernels()


@functools.cache
def _register(library: Any) -> None:
    """Register a library's functions with XLA under the names in programs. JAX does it at its import, which may come later."""
    for platform, targets in library.registrations().items():
        for name, function, version in targets:
            gate().xla_client.register_custom_call_target(name, function, platform=platform, api_version=version)


def mlir_context() -> Any:
    """Return MLIR's context for parsing our text, with its dialects."""
    ir = importlib.import_module("jaxlib.mlir.ir")
    registry = ir.DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    dialects = (
        importlib.import_module("jaxlib.mlir.dialects.stablehlo"),
        importlib.import_module("jaxlib.mlir.dialects.chlo"),
        importlib.import_module("jaxlib.mlir.dialects.sdy"),
    )
    for dialect in dialects:
        dialect.register_dialect(context)
    return context


class CompilerEffortLevel(enum.Enum):
    """How hard XLA works at an executable's speed (`optimization_level`) or memory (`memory_fitting_level`), as JAX 0.12 names it."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39

    @classmethod
    def _missing_(cls, value: object) -> CompilerEffortLevel | None:
        return cls.__members__.get(value) if isinstance(value, str) else None


def _field_of_options(name: str, value: Any) -> Any:
    """Return what a field of XLA's options takes: a level by its name from JAX 0.12 on, before as a number."""
    if not name.endswith("_level"):
        return value
    if since(0, 12):
        return CompilerEffortLevel(value).value
    return int(value) if isinstance(value, float) else value


# Options that XLA does not take by name: they are fields of its object of options. (That of JAX 0.12 lacks the first two.)
_FIELDS = ("exec_time_optimization_effort", "memory_fitting_effort", "optimization_level", "memory_fitting_level")


def _compile_options(owners: Sequence[Device], options: tuple[tuple[str, Any], ...]) -> Any:
    g = gate()
    compile_options = g.xla_client.CompileOptions()
    n = len(owners)
    assignment = g.xla_client.DeviceAssignment.create(np.array([[device.id for device in owners]], np.int32))
    compile_options.num_replicas = 1
    compile_options.num_partitions = n
    compile_options.device_assignment = assignment
    build = compile_options.executable_build_options
    build.num_replicas = 1
    build.num_partitions = n
    build.device_assignment = assignment
    if n > 1:
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
    fields = [name for name in _FIELDS if hasattr(build, name)]
    for name, value in options:
        if name in fields:
            setattr(build, name, _field_of_options(name, value))
    compile_options.env_option_overrides = [(name, value) for name, value in options if name not in fields]
    return compile_options


def serialize(executable: Any) -> bytes:
    """Return an executable as bytes for `deserialize`, in this or another process on the same kind of machine."""
    data: bytes = executable.serialize()
    return data


def deserialize(data: bytes, owners: Sequence[Device], options: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Load an executable from the bytes that `serialize` returned, and return it. Raise an error for damaged data."""
    prepare_lapack(data)
    return owners[0].client.deserialize_executable(data, list(owners), _compile_options(owners, options))


def avals_of_results(loaded: Any) -> list[core.ShapedArray]:
    """Return the shape and dtype of each result of an executable: for a program known only by its text."""
    program = gate().xla_client.XlaComputation(loaded.hlo_modules()[0].as_serialized_hlo_module_proto())
    shape = program.program_shape().result_shape()
    parts = shape.tuple_shapes() if shape.is_tuple() else [shape]
    return [core.ShapedArray(part.dimensions(), part.numpy_dtype()) for part in parts]


def platform_fingerprint(device: Device) -> str:
    """Return the other things that an executable depends on, besides text, options and devices: jaxlib's version, the
    platform and the machine's features.
    """
    client = device.client
    version = importlib.import_module("jaxlib.version").__version__
    parts = (f"jaxlib {version}", client.platform, client.platform_version, device.device_kind, cpu_features())
    return "; ".join(parts)


@functools.cache
def cpu_features() -> str:
    """Return the machine's name, and its processor's features."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            match = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", file.read(), re.MULTILINE)
    except OSError:
        match = None
    platform = importlib.import_module("platform")
    return f"{platform.machine()} {match.group(1) if match else platform.processor()}"


def _with_source_line(message: str, text: str) -> str:
    match = re.search(r":(\d+):(\d+)", message)
    lines = text.splitlines()
    if not match or not 0 < int(match.group(1)) <= len(lines):
        return message
    line, column = int(match.group(1)), int(match.group(2))
    return f"{message}\n\nline {line} of the StableHLO text:\n  {lines[line - 1]}\n  {' ' * (column - 1)}^"


# --- what XLA says about a program --------------------------------------------------------------------------


def hlo_of_text(text: str, debug_info: bool = False) -> str:
    """Return StableHLO text as HLO text, before optimisation; with `debug_info`, with the Python lines that `loc` gives in the text."""
    options = importlib.import_module("jaxlib._hlo").HloPrintOptions.short_parsable()
    options.print_metadata = debug_info
    hlo: str = hlo_computation(text).as_hlo_module().to_string(options)
    return hlo


def hlo_computation(text: str) -> Any:
    """Return StableHLO text as an `XlaComputation`, before optimisation."""
    return gate().ext.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)


def mlir_module(text: str) -> Any:
    """Return StableHLO text as jaxlib's MLIR module."""
    return importlib.import_module("jaxlib.mlir.ir").Module.parse(text, mlir_context())


def cost_of_text(text: str) -> dict[str, float]:
    """Return XLA's cost estimate for StableHLO text, before optimisation."""
    return dict(gate().ext.hlo_module_cost_analysis(default_device().client, hlo_computation(text).get_hlo_module()))


def cost_of_executable(executable: Any) -> dict[str, float]:
    """Return XLA's cost estimate for a compiled program."""
    costs = executable.cost_analysis()
    return dict(costs[0] if isinstance(costs, (list, tuple)) else costs)


def memory_of_executable(executable: Any) -> Any:
    """Return memory statistics of a compiled program, or None if the platform has none."""
    try:
        return executable.get_compiled_memory_stats()
    except gate().runtime_error:
        return None


def portable_artifact(text: str) -> bytes:
    """Return StableHLO text in its portable form, for the XLA of four weeks ago and every later version."""
    dialect = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    version = dialect.get_version_from_compatibility_requirement(dialect.StablehloCompatibilityRequirement.WEEK_4)
    data: bytes = gate().ext.mlir.serialize_portable_artifact(mlir_module(text), version, True)
    return data


def text_of_artifact(data: bytes) -> str:
    """Return the StableHLO text of a portable artifact."""
    return str(gate().ext.mlir.deserialize_portable_artifact(data, mlir_context()))


def register_call_target(name: str, function: Any, platform: str, version: int, **more: Any) -> None:
    """Make a compiled function known to XLA under a name. `function` is a capsule, or a dict of them by stage."""
    gate().xla_client.register_custom_call_target(name, function, platform, version, **more)


def register_call_type(name: str, registration: Any, platform: str) -> None:
    """Make a type that compiled functions keep between calls known to XLA under a name."""
    gate().xla_client.register_custom_type(name, registration, platform=platform)


def folder_of_headers() -> str:
    """Return the folder of the headers that come with jaxlib."""
    return os.path.join(os.path.dirname(os.path.abspath(gate().xla_client.__file__)), "include")
