"""The one gate to jaxlib: devices, buffers, data placement, compiling text, running executables.

Everything else in jitkit is plain Python; here it meets PJRT, XLA's interface to devices. A buffer is a
`jax.Array` that we treat as a handle: we never compute with it except by passing it to an executable. Two
imports of this file cost a second, so the gate opens late, when the first buffer, device or executable is
asked for (`gate()`).

jaxlib's entry points are private and change; all of them are named here and nowhere else.

JAX: jax/_src/interpreters/pxla.py:ExecuteReplicated
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import os
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import config, core, dtypes, errors, traceback_util
from .core import ShapedArray

Buffer = Any  # a jax.Array, used as a handle on a PJRT buffer
Device = Any  # a PJRT device
Sharding = Any  # jax.sharding.Sharding: which devices hold which part


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


# --- devices and placement ----------------------------------------------------------------------------------


def devices(platform: str | None = None) -> list[Device]:
    """The devices of a platform ("cpu", "gpu", "tpu", ...), or of the default one. RuntimeError when there is
    none.
    """
    found: list[Device] = gate().jax.devices(platform)
    return found


@functools.cache
def default_device() -> Device:
    """Where uncommitted values live."""
    return devices()[0]


def default_backend() -> str:
    """The platform of the default device: "cpu", "gpu" or "tpu"."""
    platform: str = gate().jax.default_backend()
    return platform


def lowering_platform() -> str:
    """The platform to lower for: the default one, or "cpu" with no jax, since writing text needs no device."""
    try:
        return default_backend()
    except ModuleNotFoundError:
        return "cpu"


@functools.lru_cache(maxsize=1024)
def single_device_sharding(device: Device) -> Sharding:
    """The sharding that puts a whole array on one device."""
    return gate().jax.sharding.SingleDeviceSharding(device)


def sharding_devices(sharding: Sharding) -> tuple[Device, ...]:
    """The devices of a sharding, in the order of their assignment."""
    return tuple(sharding._device_assignment)


def is_equivalent(a: Sharding, b: Sharding, ndim: int) -> bool:
    """Whether two shardings put the same part of an array of `ndim` axes on the same device."""
    return bool(a.is_equivalent_to(b, ndim))


class Placed:
    """What a cache must know of a value that was put somewhere on purpose: its aval and its sharding.
    Interned.
    """

    __slots__ = ("aval", "sharding")

    def __init__(self, aval: Any, sharding: Sharding) -> None:
        self.aval = aval
        self.sharding = sharding

    def __repr__(self) -> str:
        return f"{self.aval.str_short()} on {describe_sharding(self.sharding)}"


class OnHost:
    """What a cache must know of a value that is not on a device yet (numpy, Python scalar): its aval.
    Interned.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"{self.aval.str_short()} on the host"


_placed: dict[tuple[Any, Sharding], Placed] = {}
_on_host: dict[Any, OnHost] = {}
_LIMIT = 1 << 14  # interned keys kept; when full they are dropped, which costs a cache miss and nothing else


def placed(aval: Any, sharding: Sharding) -> Placed:
    """The interned key of a committed value."""
    key = (aval, sharding)
    found = _placed.get(key)
    if found is None:
        _make_room(_placed)
        found = _placed.setdefault(key, Placed(aval, sharding))
    return found


def on_host(aval: Any) -> OnHost:
    """The interned key of a host value."""
    found = _on_host.get(aval)
    if found is None:
        _make_room(_on_host)
        found = _on_host.setdefault(aval, OnHost(aval))
    return found


def _make_room(table: dict[Any, Any]) -> None:
    if len(table) >= _LIMIT:
        table.clear()


def describe_sharding(sharding: Sharding) -> str:
    """`cpu:0`, or the sharding's own text when it has several devices."""
    owners = sharding_devices(sharding)
    return f"{owners[0].platform}:{owners[0].id}" if len(owners) == 1 else str(sharding)


# --- avals of jax.Array -------------------------------------------------------------------------------------

_aval_of_jax_aval: dict[Any, ShapedArray] = {}


def aval_of_buffer(buffer: Buffer) -> ShapedArray:
    """Our aval of a jax.Array. JAX's own is interned, so this is one dictionary lookup."""
    jax_aval = buffer.aval
    found = _aval_of_jax_aval.get(jax_aval)
    if found is None:
        if not dtypes.is_array_dtype(jax_aval.dtype):
            raise TypeError(f"jax.Array of dtype {jax_aval.dtype} is not supported by jitkit")
        _make_room(_aval_of_jax_aval)
        found = _aval_of_jax_aval[jax_aval] = ShapedArray(jax_aval.shape, jax_aval.dtype, jax_aval.weak_type)
    return found


def key_of_buffer(buffer: Buffer) -> Any:
    """What a cache must know of a jax.Array: its aval, and where it is when that is not the default."""
    aval = aval_of_buffer(buffer)
    return placed(aval, buffer.sharding) if buffer._committed else aval


def _ask_about_type(t: type) -> Callable[[Any], Any] | None:
    """`core` asks this about types that it does not know; only a `jax.Array` is answered."""
    if t.__name__ == "ArrayImpl" and t.__module__.startswith("jaxlib"):
        return aval_of_buffer
    return None


core.foreign_types.append(_ask_about_type)


def is_buffer(x: Any) -> bool:
    """Whether x is a jax.Array with a value."""
    t = type(x)
    return t.__name__ == "ArrayImpl" and t.__module__.startswith("jaxlib")


@functools.lru_cache(maxsize=_LIMIT)
def jax_aval(aval: ShapedArray) -> Any:
    """JAX's aval for ours: buffers carry it, and know what they hold and not what it stands for."""
    physical = core.physical_aval(aval)
    return gate().jax.core.ShapedArray(physical.shape, physical.dtype, weak_type=physical.weak_type)


# --- data in and out ----------------------------------------------------------------------------------------


def put(x: Any, aval: ShapedArray, sharding: Sharding, committed: bool) -> Buffer:
    """Copy a host value (numpy, Python scalar), or a buffer that is elsewhere, to the devices of a sharding."""
    if is_buffer(x):
        return gate().jax.device_put(x, sharding) if committed or x.sharding != sharding else x
    aval = core.physical_aval(aval)
    if type(x) is np.ndarray and x.dtype == aval.dtype:
        value = x
    else:
        with np.errstate(over="ignore"):  # what does not fit is inf
            value = np.asarray(x, aval.dtype)
    owners = sharding_devices(sharding)
    with _x64_of(aval.dtype):
        if len(owners) > 1:
            return gate().jax.device_put(value, sharding)
        return gate().ext.batched_device_put(jax_aval(aval), sharding, [value], list(owners), committed)


def _x64_of(dtype: np.dtype[Any]) -> contextlib.AbstractContextManager[Any]:
    """JAX halves 64-bit values on their way to a device, unless its own switch is on, which need not be ours."""
    jax = gate().jax
    if dtype not in _WIDE or jax.config.jax_enable_x64:
        return _NOTHING
    switch: contextlib.AbstractContextManager[Any] = jax.enable_x64(True)
    return switch


_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
_NOTHING = contextlib.nullcontext()


def from_dlpack(x: Any) -> Buffer:
    """A buffer on the memory of whatever speaks DLPack: torch tensors, cupy and numpy arrays, jax.Arrays.

    Without a copy where alignment and dtype allow it. TypeError for other values.
    """
    jax = gate().jax
    with jax.enable_x64(config.x64()):
        return jax.dlpack.from_dlpack(x)


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


# --- compiling ----------------------------------------------------------------------------------------------


def compile_text(text: str, owners: Sequence[Device], options: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Compile StableHLO text for these devices, and load it. XLA's complaints are shown with our line of the
    text.

    Several devices mean one program partitioned over all of them (SPMD, by Shardy). `options` are XLA's own
    debug options.
    """
    g = gate()
    compile_options = _compile_options(owners, options)
    try:
        return owners[0].client.compile_and_load(text, list(owners), compile_options)
    except g.runtime_error as error:
        raise errors.JaxRuntimeError(_with_source_line(str(error), text)) from None


def compile_with_callbacks(
    text: str,
    owners: Sequence[Device],
    options: tuple[tuple[str, Any], ...],
    callbacks: Sequence[Callable[..., Any]],
) -> Any:
    """The same for a program that calls Python functions, which it knows by their index in `callbacks`.

    The executable keeps them alive. For such a program jaxlib wants a parsed module instead of text.
    """
    g = gate()
    parsed = importlib.import_module("jaxlib.mlir.ir").Module.parse(text, mlir_context())
    devices_of_program = g.xla_client.DeviceList(tuple(owners))
    try:
        return owners[0].client.compile_and_load(
            parsed, devices_of_program, _compile_options(owners, options), list(callbacks)
        )
    except g.runtime_error as error:
        raise errors.JaxRuntimeError(_with_source_line(str(error), text)) from None


def mlir_context() -> Any:
    """What MLIR needs to parse our text: the dialects in it."""
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
    if options:
        compile_options.env_option_overrides = list(options)
    return compile_options


def serialize(executable: Any) -> bytes:
    """The executable as bytes that `deserialize` takes, in this or another process on the same kind of
    machine.
    """
    data: bytes = executable.serialize()
    return data


def deserialize(data: bytes, owners: Sequence[Device], options: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Load an executable that was serialised. Damaged data raises."""
    return owners[0].client.deserialize_executable(data, list(owners), _compile_options(owners, options))


def platform_fingerprint(device: Device) -> str:
    """What an executable depends on besides its text: jaxlib's version, the platform and the machine's
    features.
    """
    client = device.client
    version = importlib.import_module("jaxlib.version").__version__
    parts = (
        f"jaxlib {version}",
        client.platform,
        client.platform_version,
        device.device_kind,
        _cpu_features(),
    )
    return "; ".join(parts)


@functools.cache
def _cpu_features() -> str:
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


# --- running ------------------------------------------------------------------------------------------------


def result_handlers(avals: Sequence[Any], shardings: Sequence[Sharding], committed: bool) -> list[Any]:
    """One function per result that makes a buffer of what comes out of an executable. It believes the aval
    that it is given.
    """
    g = gate()
    extra = {"_skip_checks": True} if g.skip_checks else {}
    return [
        g.ext.array_result_handler(jax_aval(aval), sharding, committed=committed, **extra)
        for aval, sharding in zip(avals, shardings, strict=True)
    ]


def execute_with_tokens(
    loaded: Any, buffers: Sequence[Buffer], tokens: int, handlers: Sequence[Any]
) -> tuple[list[Buffer], dict[Device, Any], list[Buffer]]:
    """Run an executable whose first `tokens` results are tokens. Returns these; for each of its devices something that
    `wait_for` takes, which waits until the program has ended; and the other results.
    """
    results = loaded.execute_sharded(list(buffers), with_tokens=True)
    returned = results.consume_with_handlers([_on_first_device] * tokens, strict=False)
    running = results.consume_token()
    ends = {device: running.get_token(i) for i, device in enumerate(loaded.local_devices())}
    return returned, ends, results.consume_with_handlers(list(handlers))


def _on_first_device(buffers: Sequence[Buffer]) -> Buffer:
    return buffers[0]


def wait_for(token: Any) -> None:
    """Wait for a token of either kind."""
    try:
        token.block_until_ready()
    except RuntimeError as error:
        raise explained(error) from None


def host_dispatcher(
    name: str,
    execute: Callable[[list[Any]], list[Buffer]],
    executable: Any,
    *,
    count: int,
    sharding: Sharding,
    out_avals: Sequence[Any],
) -> Callable[..., tuple[Buffer, ...]]:
    """jaxlib's dispatcher in C++ around one executable for one device: it takes buffers and numpy values, and
    returns buffers.

    Copying a host value from Python costs 2.8 us, half of a warm call; this dispatcher copies on its way.
    `execute` runs the program by ordinary means, at the first call of each combination of kinds of arguments.
    Arrays must have the program's dtypes.
    """
    g = gate()
    registry = g.ext.pytree.default_registry()
    _, out_tree = registry.flatten(tuple(range(len(out_avals))))
    fast = _FastPath(
        xla_executable=executable,
        out_pytree_def=out_tree,
        in_shardings=[sharding] * count,
        out_shardings=[sharding] * len(out_avals),
        out_avals=[jax_aval(aval) for aval in out_avals],
        out_committed=[False] * len(out_avals),
        kept_var_bitvec=[True] * count,
        in_device_local_layouts=[None] * count,
        const_args=[],
    )

    x64 = config.x64()

    def cache_miss(*args: Any) -> tuple[Any, Any, bool]:
        # JAX's own x64 switch decides what C++ makes of a Python float; where it is not ours, Python keeps
        # doing the work.
        agreed = bool(g.jax.config.jax_enable_x64) == x64
        return tuple(execute(list(args))), fast if agreed else None, False

    def shard(x: Any, to: Sharding, layout: Any) -> Buffer:
        return g.jax.device_put(x, to)

    dispatcher: Callable[..., tuple[Buffer, ...]] = g.ext.pjit(
        name,
        cache_miss,
        cache_miss,
        [],
        [],
        _CacheKey(),
        registry,
        shard,
        g.ext.PjitFunctionCache(capacity=64),
    )
    return dispatcher


class _FastPath(NamedTuple):
    """What jaxlib's dispatcher reads after a miss: how to run the program without asking Python again."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: list[Any]
    out_shardings: list[Any]
    out_avals: list[Any]
    out_committed: list[bool]
    kept_var_bitvec: list[bool]
    in_device_local_layouts: list[Any]
    const_args: list[Any]


class _CacheKey:
    """Tells one dispatcher's entries from another's, by identity."""


def block_until_ready(buffers: Sequence[Buffer]) -> None:
    """Wait until all of these are computed."""
    if buffers:
        try:
            gate().ext.batched_block_until_ready(list(buffers))
        except RuntimeError as error:
            raise explained(error) from None


def result_shardings(executable: Any, sharding: Sharding, count: int) -> list[Sharding]:
    """Where the partitioner put the results of a program for several devices."""
    found = executable.get_output_shardings()
    if found is None:
        return [sharding] * count
    parse = importlib.import_module("jax._src.sharding_impls").parse_flatten_op_sharding
    named = gate().jax.sharding.NamedSharding
    return [named(sharding.mesh, parse(each, sharding.mesh)[0]) for each in found]


def replicated(sharding: Sharding) -> Sharding:
    """The sharding that puts a whole array on each device of a sharding.

    NotImplementedError for shardings of several devices without a mesh, which Shardy's text cannot express.
    """
    owners = sharding_devices(sharding)
    if len(owners) == 1:
        return single_device_sharding(owners[0])
    if not hasattr(sharding, "mesh"):
        raise NotImplementedError(
            f"arrays sharded by {type(sharding).__name__}: jitkit knows `jax.sharding.NamedSharding` only"
        )
    jax = gate().jax
    return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())


def mesh_text(sharding: Sharding) -> str:
    """The mesh of a sharding in Shardy's text: `<["x"=4, "y"=2]>`."""
    axes = ", ".join(f'"{name}"={size}' for name, size in sharding.mesh.shape.items())
    return f"<[{axes}]>"


def sharding_text(sharding: Sharding, ndim: int) -> str:
    """A sharding of an array in Shardy's text: for each axis the axes of the mesh that it is spread over."""
    axes = [axis if isinstance(axis, tuple) else () if axis is None else (axis,) for axis in sharding.spec]
    axes += [()] * (ndim - len(axes))
    listed = ", ".join("{" + ", ".join(f'"{name}"' for name in names) + "}" for names in axes)
    return f"#sdy.sharding<@mesh, [{listed}]>"


# --- what XLA says about a program --------------------------------------------------------------------------


def hlo_of_text(text: str) -> str:
    """StableHLO text as HLO text, before optimisation."""
    convert = gate().ext.mlir.mlir_module_to_xla_computation
    hlo: str = convert(text, use_tuple_args=False, return_tuple=False).as_hlo_text()
    return hlo


def cost_of_text(text: str) -> dict[str, float]:
    """XLA's cost estimate for StableHLO text, before optimisation."""
    g = gate()
    computation = g.ext.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    return dict(g.ext.hlo_module_cost_analysis(default_device().client, computation.get_hlo_module()))


def cost_of_executable(executable: Any) -> dict[str, float]:
    """XLA's cost estimate for a compiled program."""
    costs = executable.cost_analysis()
    return dict(costs[0] if isinstance(costs, (list, tuple)) else costs)


def memory_of_executable(executable: Any) -> Any:
    """Memory statistics of a compiled program, or None where the platform does not tell."""
    try:
        return executable.get_compiled_memory_stats()
    except gate().runtime_error:
        return None
