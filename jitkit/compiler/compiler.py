"""StableHLO -> executable

XLA compiles the text of a module for its devices once, to an `Executable`, which takes buffers and returns buffers. A
configured disk cache is searched first.

An `Executable` also knows the large constants that lowering took out of the text (they are passed first), the used
arguments, and the avals and placement of the results.

JAX: jax/_src/compiler.py:backend_compile_and_load
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .. import core, runtime
from ..base import config, stage_log
from ..base.errors import JaxRuntimeError
from ..base.jax_version import since
from ..core import ShapedArray
from ..core.effects import Effect
from ..interpreters.mlir_module import Module
from ..runtime import tokens
from ..runtime.array import Array, as_array
from . import disk_cache

CompilerOptions = tuple[tuple[str, Any], ...]


def compile_module(name: str, module: Module, owners: Sequence[runtime.Device], options: CompilerOptions = ()) -> Any:
    """Return the executable of a module for these devices, from the disk cache or else compiled by XLA.

    XLA gets the text with source lines; the cache's key lacks them, so that moving a function does not recompile it.
    """
    start = time.perf_counter()
    if module.host_callbacks:  # it calls functions of this process, so do not store it
        text = module.text(debug_info=True)
        loaded = runtime.compile_with_callbacks(text, owners, options, module.host_callbacks)
    else:
        loaded = load_or_compile(module, owners, options)
    stage_log.log_stage("compilation", name, time.perf_counter() - start)
    return loaded


def load_or_compile(module: Module, owners: Sequence[runtime.Device], options: CompilerOptions) -> Any:
    """Turn StableHLO text into machine code: load it from the disk cache, or else call `runtime.compile_text`.

    If the cache is `enabled`, call `load` first, which returns None if the program is not there; then compile, and call
    `store`. The cache's key is `module.text()`, which does not depend on where the function is in its file. XLA compiles
    `module.text(debug_info=True)`, in which each line names its line of Python. If the cache is not enabled, do not call
    `module.text()`: writing a text takes time.
    """
    known_by = module.text() if disk_cache.enabled() else ""
    loaded = disk_cache.load(known_by, owners, options) if known_by else None
    if loaded is None:
        loaded = runtime.compile_text(module.text(debug_info=True), owners, options)
        if known_by:
            disk_cache.store(known_by, owners, options, loaded)
    return loaded


class Executable:
    """A compiled program and all that a call on a flat list of arguments needs.

    `loaded` is XLA's executable. `kept` has the positions of the arguments that the program uses, `consts` the buffers
    that are passed before them; `arg_avals` has the types of all arguments, `out_avals` those of the results, and
    `donates` says whether the program may reuse an argument's memory.

    `sharding` says on which devices the program runs, and so where arguments and results are. In a program for several
    devices, `spread` has the sharding of each argument, and `results` the one asked for each result; None leaves it to
    XLA.

    The argument `committed` says that a user chose the devices: then results are committed to them. The attribute
    `committed` is also True if the program does not run on the first device. Then arguments that are elsewhere are
    moved to the program's devices.
    """

    __slots__ = (
        "arg_avals",
        "committed",
        "consts",
        "donates",
        "execute",
        "handlers",
        "host_call",
        "kept",
        "loaded",
        "name",
        "out_avals",
        "out_keys",
        "out_shardings",
        "sharding",
        "spread",
    )

    def __init__(
        self,
        name: str,
        loaded: Any,
        *,
        arg_avals: Sequence[Any],
        out_avals: Sequence[Any],
        kept: Sequence[int],
        consts: Sequence[Any],
        sharding: runtime.Sharding,
        committed: bool,
        donates: bool = False,
        spread: Sequence[runtime.Sharding] = (),
        results: Sequence[runtime.Sharding | None] = (),
    ) -> None:
        self.name = name
        self.loaded = loaded
        self.arg_avals = list(arg_avals)
        self.out_avals = list(out_avals)
        self.kept = list(kept)
        self.sharding = sharding
        self.spread = list(spread) or [sharding] * len(self.arg_avals)
        self.committed = committed or not runtime.is_first(sharding)
        self.donates = donates
        self.consts = [self.place_const(value) for value in consts]
        self.execute = loaded.execute_sharded
        self.host_call: Callable[..., Any] | None = None
        self.out_shardings = output_shardings(loaded, sharding, len(self.out_avals), results)
        self.handlers = runtime.result_handlers(out_avals, self.out_shardings, committed)
        self.out_keys = [
            runtime.placed(aval, s) if committed else runtime.uncommitted(aval, s)
            for aval, s in zip(out_avals, self.out_shardings, strict=True)
        ]

    has_effects: ClassVar[bool] = False  # whether running it does more than compute results
    is_pure: bool = True  # whether the traced program has no effects; a `pure_callback` does not count as an effect

    def place(self, x: Any, aval: ShapedArray, sharding: runtime.Sharding | None = None) -> runtime.Buffer:
        """Return the buffer of an argument on this program's devices, copied only if it is elsewhere. Raise
        RuntimeError for a deleted array.
        """
        sharding = sharding or self.sharding
        if type(x) is Array:
            x = x._buf
        elif not runtime.is_buffer(x):
            return runtime.put(x.as_argument() if type(x) is tokens.Token else x, aval, sharding, False)
        if x.is_deleted():
            raise runtime.deleted_error(aval)
        here = x.sharding
        if (
            runtime.sharding_devices(here) == runtime.sharding_devices(sharding)
            and here.memory_kind == sharding.memory_kind
        ):
            return x
        return runtime.put(x, aval, sharding, False)

    def place_const(self, value: Any) -> runtime.Buffer:
        """Return the buffer of a constant on this program's devices."""
        return self.place(value, core.get_aval(value))

    def __call__(self, args: Sequence[Any]) -> list[Array]:
        """Run on a flat list of arguments of any accepted kind; return the results. Raise RuntimeError with the option `no_execution`."""
        if config.local.state.options.no_execution:
            raise not_to_be_run(self.name)
        buffers = self.consts + [self.place(args[i], self.arg_avals[i], self.spread[i]) for i in self.kept]
        return self.wrap(self.run(buffers))

    def run(self, buffers: list[runtime.Buffer]) -> list[runtime.Buffer]:
        """Return the result buffers for buffers that are in place: constants first, then the used arguments."""
        results: list[runtime.Buffer] = self.execute(buffers).consume_with_handlers(self.handlers)
        return results

    def host_dispatcher(self) -> Callable[..., Any]:
        """Return a function, made at first use, that runs the program on buffers and on host values of the right
        dtypes. It returns the buffers of the results, or of one result the buffer itself.
        """
        if self.host_call is None:
            count = len(self.consts) + len(self.kept)
            taken = [self.arg_avals[i] for i in self.kept]

            def execute(args: list[Any]) -> list[runtime.Buffer]:
                values = args[len(self.consts) :]
                return self.run([*self.consts, *[self.place(x, aval) for x, aval in zip(values, taken, strict=True)]])

            self.host_call = runtime.host_dispatcher(
                self.name, execute, self.loaded, count=count, sharding=self.sharding, out_avals=self.out_avals
            )
        return self.host_call

    def text(self) -> str:
        """Return the program in the compiler's language: HLO."""
        return "\n\n".join(module.to_string() for module in self.loaded.hlo_modules())

    def costs(self) -> dict[str, float]:
        """Return the compiler's cost estimate."""
        return runtime.cost_of_executable(self.loaded)

    def memory(self) -> Any:
        """Return statistics of the memory that the program takes; None on a platform without any."""
        return runtime.memory_of_executable(self.loaded)

    def wrap(self, buffers: Sequence[runtime.Buffer]) -> list[Array]:
        """Return the result buffers as Arrays."""
        return [Array(b, aval, key) for b, aval, key in zip(buffers, self.out_avals, self.out_keys, strict=True)]


class EffectfulExecutable(Executable):
    """A compiled program with effects: tokens are passed and returned beside the buffers."""

    __slots__ = ("is_pure", "ordered")

    has_effects = True

    def __init__(
        self, name: str, loaded: Any, *, ordered: Sequence[Effect], is_pure: bool = False, **parts: Any
    ) -> None:
        super().__init__(name, loaded, **parts)
        self.ordered, self.is_pure = ordered, is_pure

    def run(self, buffers: list[runtime.Buffer]) -> list[runtime.Buffer]:
        """Return the result buffers for buffers that are in place, after earlier programs with the same ordered effects have run."""
        return tokens.run(self.loaded, buffers, self.handlers, self.ordered, self.place)


def output_shardings(
    loaded: Any, sharding: runtime.Sharding, count: int, asked: Sequence[runtime.Sharding | None] = ()
) -> list[runtime.Sharding]:
    """Return the shardings of the `count` results of the executable `loaded`. On one device, each is the one `asked` for, which
    may name another memory, or else `sharding`, the program's; over a mesh, the one asked for, or else the one that XLA's
    partitioner has chosen. `asked` has None where nothing was asked for, or is empty.
    """
    if not runtime.is_over_mesh(sharding):
        return [x or sharding for x in asked] or [sharding] * count
    found = runtime.result_shardings(loaded, sharding, count)
    return [x or decided for x, decided in zip(asked, found, strict=True)] if asked else found


def not_to_be_run(name: str) -> RuntimeError:
    """Return the error for running a program with the option `no_execution`."""
    return RuntimeError(f"JAX tried to execute function jit({name}), but the no_execution config option is set")


def explain_failure(
    error: Exception, values: Sequence[Any], consts: Sequence[Any] = (), warm: bool = False, in_cpp: bool = False
) -> Exception:
    """Return a better error for a failed run: about a deleted or donated array among `values`, the arguments, or `consts`;
    otherwise with XLA's message. JAX up to 0.10 does not check arguments in a `warm` call of a jitted function: then an
    error about an argument is XLA's ValueError. An error of a callback is a ValueError, too, if JAX runs the call in
    C++ (`in_cpp`).
    """
    for x in (*values, *consts):
        buffer = x._buf if type(x) is Array else x
        if runtime.is_buffer(buffer) and buffer.is_deleted():
            deleted = runtime.deleted_error(as_array(x).aval)
            is_argument = any(x is value for value in values)
            said = str(error).split("\n")[0]
            by_xla = warm and is_argument and "deleted or donated" in said and not since(0, 11)
            return ValueError(f"{said}\n{deleted}") if by_xla else deleted
    explained = runtime.explained(error)
    is_of_callback = type(explained) is JaxRuntimeError and _OF_A_CALLBACK in str(explained)
    return ValueError(str(explained)) if in_cpp and is_of_callback else explained


_OF_A_CALLBACK = "CpuCallback error calling callback"  # in XLA's words, on each platform
