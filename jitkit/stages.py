"""Wrapped -> Traced -> Lowered -> Compiled

The stations of a call, each as a value that can be looked at: `jit(f)` is wrapped, `.trace(x)` gives its
jaxpr, `.lower()` the StableHLO text, `.compile()` the executable, which can be called. A warm call of the
jitted function goes none of these ways; a cold one goes all of them, through the same functions.

JAX: jax/_src/stages.py:Traced
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, overload

from . import core, dtypes, report, runtime, targets, traceback_util
from .compiler import CompilerOptions, EffectfulExecutable, Executable, compile_module, explain_failure
from .core import ShapedArray
from .effects import ordered_effects
from .interpreters import mlir
from .jaxpr import Jaxpr, dce_jaxpr
from .jaxpr_html import jaxpr_to_html
from .rich_display import RichDisplay, frame, hlo_lines, plain_text, stablehlo_lines
from .tree_util import (
    PyTreeDef,
    equality_errors_pytreedef,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)


class ShapeDtypeStruct:
    """The shape and dtype of an array without its values: an argument for `trace`, `eval_shape`,
    `make_jaxpr`; what they return.
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        aval = ShapedArray(tuple(shape), dtype)
        self.shape = aval.shape
        self.dtype = aval.dtype
        self.sharding = sharding
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return ShapedArray(self.shape, self.dtype).size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, self.weak_type

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """The same with some parts replaced: `shape`, `dtype`, `sharding`, `weak_type`."""
        parts = {name: getattr(self, name) for name in ShapeDtypeStruct.__slots__} | changes
        return ShapeDtypeStruct(parts.pop("shape"), parts.pop("dtype"), **parts)

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = f", weak_type={self.weak_type}" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """What is known of one argument: its aval, and whether its buffer is given away."""

    _aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The argument's shape."""
        shape: tuple[int, ...] = self._aval.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The argument's dtype."""
        return self._aval.dtype


class Program(NamedTuple):
    """One function traced for one signature: what every later stage needs to know.

    `jaxpr` takes the leaves of `(args, kwargs)`, whose tree is `in_tree`, and returns the leaves of
    `out_tree`. `donated` has a flag per leaf, or is empty. `options` are XLA's own.
    """

    name: str
    jaxpr: Jaxpr
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    donated: tuple[bool, ...] = ()
    keep_unused: bool = False
    options: CompilerOptions = ()


class Placement(NamedTuple):
    """Where a program runs, and whether its results are committed to that place."""

    sharding: runtime.Sharding
    committed: bool
    spread: tuple[runtime.Sharding, ...] = ()  # how each argument is, when there are several devices
    results: tuple[runtime.Sharding | None, ...] = ()  # how each result has to be, if `jit` was told

    @property
    def devices(self) -> tuple[runtime.Device, ...]:
        """Its devices."""
        return runtime.sharding_devices(self.sharding)

    @property
    def platform(self) -> str:
        """The platform of its devices."""
        platform: str = self.devices[0].platform
        return platform


def default_placement() -> Placement:
    """The default device, uncommitted."""
    return Placement(runtime.single_device_sharding(runtime.default_device()), False)


def placement_of(
    keys: Sequence[Any],
    function: str,
    names: Sequence[str],
    results: Sequence[runtime.Sharding | None] = (),
) -> Placement:
    """Where a call runs: where its committed arguments are, or where its results were asked to be; else on the
    default device. ValueError when these disagree.

    `keys` are the keys of the leaves; `names` what the leaves are called in the error; `results` the shardings that
    were asked for, a leaf each, or empty.
    """
    chosen: runtime.Placed | None = None
    first = 0
    for i, key in enumerate(keys):
        if not isinstance(key, runtime.Placed):
            continue
        if chosen is None:
            chosen, first = key, i
        elif runtime.sharding_devices(key.sharding) != runtime.sharding_devices(chosen.sharding):
            raise ValueError(_incompatible_devices(function, (first, chosen), (i, key), names))
    asked_of_results = [sharding for sharding in results if sharding is not None]
    where = [chosen.sharding] if chosen is not None else []
    if not where and not asked_of_results:
        return default_placement()
    sharding = runtime.replicated([*where, *asked_of_results][0])
    owners = runtime.sharding_devices(sharding)
    if any(runtime.sharding_devices(asked) != owners for asked in asked_of_results):
        raise ValueError(
            f"Received incompatible devices for jitted computation. Got out_shardings {asked_of_results} of {function}, "
            f"which runs on device ids {[device.id for device in owners]}.\n"
            "A program runs on one set of devices. Move the result with `jitkit.device_put(x, sharding)` instead."
        )
    if len(owners) == 1:
        return Placement(sharding, True)
    spread = tuple(key.sharding if isinstance(key, runtime.Placed) else sharding for key in keys)
    if any(s.mesh.shape != sharding.mesh.shape for s in (*spread, *asked_of_results)):
        raise NotImplementedError(f"the arguments of {function} are spread over meshes of different shapes")
    return Placement(sharding, True, spread, tuple(results))


def placed_as_asked(key: Any, aval: ShapedArray, asked: runtime.Sharding | None) -> Any:
    """The key of a leaf with the sharding that `in_shardings` has for it. ValueError when it is committed to another."""
    if asked is None:
        return key
    if isinstance(key, runtime.Placed) and not runtime.is_equivalent(asked, key.sharding, aval.ndim):
        raise ValueError(
            f"Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: {asked},\n"
            f"arg sharding: {key.sharding} for arg type: {aval.str_short()}\n"
            "Put the argument there first: `jitkit.device_put(x, sharding)`."
        )
    return runtime.placed(aval, asked)


def _incompatible_devices(
    function: str, a: tuple[int, runtime.Placed], b: tuple[int, runtime.Placed], names: Sequence[str]
) -> str:
    def describe(where: tuple[int, runtime.Placed]) -> str:
        i, key = where
        owners = runtime.sharding_devices(key.sharding)
        name = names[i] if i < len(names) and names[i] else f"#{i}"
        return (
            f"argument {name} of {function} with shape {key.aval.str_short()} and with device ids "
            f"{[d.id for d in owners]} on platform {owners[0].platform.upper()}"
        )

    return (
        f"Received incompatible devices for jitted computation. Got {describe(a)} and {describe(b)}\n"
        "Both were put there on purpose. Move one of them with `jitkit.device_put(x, device)`."
    )


# --- the stations -------------------------------------------------------------------------------------------


class _Stage(RichDisplay):
    """What Traced, Lowered and Compiled have in common: the program and its signature."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def _headline(self, language: str) -> str:
        """Such as `Lowered f(x: float32[3]) -> float32[3], StableHLO`."""
        jaxpr = self._program.jaxpr
        names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))
        arguments = [
            f"{n}: {a.str_short()}" if n else a.str_short()
            for n, a in zip(names, jaxpr.in_avals, strict=True)
        ]
        results = [aval.str_short() for aval in jaxpr.out_avals]
        signature = f"{_some(arguments)} -> {_some(results) if len(results) != 1 else results[0]}"
        return f"{type(self).__name__} {self._program.name}{signature}, {language}"

    @property
    def in_tree(self) -> PyTreeDef:
        """The tree of `(args, kwargs)`."""
        return self._program.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The tree of the result."""
        return self._program.out_tree

    @property
    def in_avals(self) -> Any:
        """The avals of the arguments, as `(args, kwargs)`."""
        return tree_unflatten(self._program.in_tree, self._program.jaxpr.in_avals)

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` per argument, as `(args, kwargs)`."""
        avals = self._program.jaxpr.in_avals
        donated = self._program.donated or (False,) * len(avals)
        return tree_unflatten(
            self._program.in_tree, [ArgInfo(a, d) for a, d in zip(avals, donated, strict=True)]
        )

    @property
    def out_info(self) -> Any:
        """A `ShapeDtypeStruct` per result, in the result's tree. From `Lowered` on, nothing is weakly typed."""
        infos = [ShapeDtypeStruct(a.shape, a.dtype) for a in self._program.jaxpr.out_avals]
        return tree_unflatten(self._program.out_tree, infos)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions, among the leaves, of arguments whose buffers are given away."""
        return tuple(i for i, donated in enumerate(self._program.donated) if donated)


def _some(items: Sequence[str], most: int = 8) -> str:
    """A tuple of a few items, and of how many others."""
    more = [f"and {len(items) - most} more"] if len(items) > most else []
    return f"({', '.join([*items[:most], *more])})"


class Traced(_Stage):
    """A function traced for one signature: its jaxpr."""

    def __init__(self, program: Program, placement: Placement | None = None) -> None:
        super().__init__(program)
        self._placement = placement

    @property
    def jaxpr(self) -> Jaxpr:
        """The program that the function performs on arguments of this signature."""
        return self._program.jaxpr

    @property
    def out_avals(self) -> Any:
        """The avals of the results, in the result's tree."""
        return tree_unflatten(self._program.out_tree, self._program.jaxpr.out_avals)

    @property
    def out_info(self) -> Any:
        """A `ShapeDtypeStruct` per result, in the result's tree."""
        infos = [
            ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in self._program.jaxpr.out_avals
        ]
        return tree_unflatten(self._program.out_tree, infos)

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._program.name

    def lower(self, *, lowering_platforms: tuple[str, ...] | None = None) -> Lowered:
        """Write the program as StableHLO, for the default platform or the one given."""
        placement = self._placement
        if lowering_platforms and len(lowering_platforms) > 1:
            raise NotImplementedError(
                f"jitkit lowers for one platform at a time, got lowering_platforms={lowering_platforms}. "
                "Call `lower` once for each."
            )
        platform = lowering_platforms[0] if lowering_platforms else placement and placement.platform
        platform = {"cuda": "gpu", "rocm": "gpu"}.get(platform or "", platform)  # as devices call themselves
        return Lowered(self._program, *lower_program(self._program, platform, placement), placement)

    def __repr__(self) -> str:
        return f"{self._headline('jaxpr')}\n{plain_text(repr(self.jaxpr), 'print(traced.jaxpr)')}"

    def _repr_html_(self) -> str:
        return jaxpr_to_html(self.jaxpr, self._headline("jaxpr"), "print(traced.jaxpr)")


class Lowered(_Stage):
    """A program in StableHLO, not yet compiled."""

    def __init__(
        self, program: Program, module: mlir.Module, kept: list[int], placement: Placement | None = None
    ) -> None:
        super().__init__(program)
        self._module = module
        self._kept = kept
        self._placement = placement

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The StableHLO text; with `debug_info`, every line ends in the Python line it came from.

        With `dialect="hlo"`, the same program as XLA takes it, before optimisation.
        """
        if dialect == "hlo":
            return runtime.hlo_of_text(self._module.text(debug_info))
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"unknown dialect: {dialect}\nThe dialects are 'stablehlo' and 'hlo'.")
        return self._module.text(debug_info)

    @overload
    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled: ...

    @overload
    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        target: str,
        time_limit: float | None = None,
    ) -> targets.TargetProgram: ...

    @traceback_util.api_boundary
    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        target: str | None = None,
        time_limit: float | None = None,
    ) -> Compiled | targets.TargetProgram:
        """Compile for the device that the arguments were committed to, or the default one. `compiler_options`
        are XLA's debug options by name.

        With `target` ("cpu", "gpu:h100", "tpu:v5e", "tpu:v6e"), compile ahead of time for that chip, whether this
        machine has one or not: the result can be read, and not be called. `time_limit` is in seconds.
        `targets.TargetError` says what keeps it from being done.
        """
        options = (*self._program.options, *(compiler_options or {}).items())
        if target is not None:
            with targets.Compilers(time_limit) as compilers:
                return self._compile_for(targets.find(target), compilers, options)
        placement = self._placement or default_placement()
        executable = build_executable(self._program, self._module, self._kept, placement, options)
        return Compiled(self._program, executable, placement)

    def _compile_for(
        self, target: targets.Target, compilers: targets.Compilers, options: CompilerOptions = ()
    ) -> targets.TargetProgram:
        """Compile for a chip. Rules depend on the platform, so the program is lowered anew where that is another."""
        name, module = self._program.name, self._module
        if module.partitions > 1:
            raise NotImplementedError(
                f"{name} takes arguments that are spread over {module.partitions} devices, and is compiled ahead of time "
                "for one chip. Pass `ShapeDtypeStruct`s, or arrays on one device."
            )
        if module.platform != target.platform:
            module, _ = lower_program(self._program, target.platform)
        if module.host_callbacks:
            raise NotImplementedError(
                f"{name} calls back into this Python process while it runs (`debug.print`, `debug.callback`, ...), and "
                f"a program for {target.name} has none. Compile it without that call."
            )
        return compilers.compile(name, module.text(debug_info=True), target, options)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate for the program before optimisation: flops, bytes accessed, transcendentals."""
        return runtime.cost_of_text(self._module.text())

    def __repr__(self) -> str:
        return f"{self._headline('StableHLO')}\n{plain_text(self.as_text(), 'print(lowered.as_text())')}"

    def _repr_html_(self) -> str:
        lines = stablehlo_lines(self.as_text())
        return frame(self._headline("StableHLO"), lines, "print(lowered.as_text())")


class Compiled(_Stage):
    """An executable: call it with arguments of exactly the signature that it was made for."""

    def __init__(self, program: Program, executable: Executable, placement: Placement) -> None:
        super().__init__(program)
        self._executable = executable
        self._placement = placement

    def as_text(self) -> str:
        """The HLO text after XLA's optimisation."""
        return "\n\n".join(module.to_string() for module in self._executable.loaded.hlo_modules())

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate for the optimised program: flops, bytes accessed, and more."""
        return runtime.cost_of_executable(self._executable.loaded)

    def memory_analysis(self) -> Any:
        """Bytes of arguments, results, temporaries and code; None where the platform does not tell."""
        return runtime.memory_of_executable(self._executable.loaded)

    def __repr__(self) -> str:
        return (
            f"{self._headline(self._language())}\n{plain_text(self.as_text(), 'print(compiled.as_text())')}"
        )

    def _repr_html_(self) -> str:
        lines = hlo_lines(self.as_text())
        return frame(self._headline(self._language()), lines, "print(compiled.as_text())")

    def _language(self) -> str:
        return f"optimised HLO for {self._placement.platform}"

    def runtime_executable(self) -> Any:
        """The PJRT executable."""
        return self._executable.loaded

    @property
    def out_info(self) -> Any:
        """A `ShapeDtypeStruct` per result, in the result's tree, with its sharding."""
        shardings = self._executable.out_shardings
        infos = [
            ShapeDtypeStruct(a.shape, a.dtype, sharding=s)
            for a, s in zip(self._program.jaxpr.out_avals, shardings, strict=True)
        ]
        return tree_unflatten(self._program.out_tree, infos)

    @property
    def input_shardings(self) -> Any:
        """Where the arguments have to be, as `(args, kwargs)`."""
        return tree_unflatten(self._program.in_tree, self._shardings())

    def _shardings(self) -> list[Any]:
        count = len(self._program.jaxpr.in_avals)
        return list(self._placement.spread) or [self._placement.sharding] * count

    @property
    def output_shardings(self) -> Any:
        """Where the results are."""
        return tree_unflatten(self._program.out_tree, self._executable.out_shardings)

    @traceback_util.api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run. TypeError when the tree or a type of the arguments is not the one compiled for."""
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self._program.in_tree:
            raise TypeError(_tree_mismatch(self._program, tree))
        _check_avals(self._program, (args, kwargs), leaves)
        self._check_placement(leaves)
        try:
            results = self._executable(leaves)
        except (RuntimeError, ValueError) as error:
            raise explain_failure(error, [*leaves, *self._executable.consts]) from None
        return tree_unflatten(self._program.out_tree, results)

    def _check_placement(self, leaves: Sequence[Any]) -> None:
        """ValueError when an argument is committed to another place than the one compiled for."""
        names = self._program.jaxpr.debug_info.safe_arg_names(len(leaves))
        wrong = []
        for name, x, required in zip(names, leaves, self._shardings(), strict=True):
            key = key_of_argument(x)
            if isinstance(key, runtime.Placed) and key.sharding != required:
                wrong.append(
                    f"Argument {name} with shape {key.aval.str_short()}:\n  Passed sharding: {key.sharding}\n"
                    f"  Required sharding: {required}"
                )
        if wrong:
            raise ValueError(
                "Computation was compiled for input shardings that disagree with the shardings of arguments passed to "
                f"it. Here are the {len(wrong)} mismatches:\n" + "\n".join(wrong)
            )


class Wrapped(Protocol):
    """What `jit` returns: a function that can also be stopped after any stage."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; compile it first when arguments of this signature are new."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for the signature of these arguments, which may be `ShapeDtypeStruct`s."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower."""

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result, without computing."""

    def clear_cache(self) -> None:
        """Forget everything compiled and traced for the function."""

    def _cache_size(self) -> int: ...


def _tree_mismatch(program: Program, tree: PyTreeDef) -> str:
    found = list(equality_errors_pytreedef(tree, program.in_tree))
    headline = "Function compiled with input pytree does not match the input pytree it was called with."
    lines = [f"{headline} There are {len(found)} mismatches, including:"]
    for (first, *rest), now, then, explanation in found:
        where = ("args", "kwargs")[first.idx] + keystr(tuple(rest))
        lines.append(f"    * at {where}, seen {then} but now given {now}, so {explanation}")
    lines.append(
        f"The function is {program.jaxpr.debug_info.func_src_info}. A compiled function takes arguments of the "
        "signature that it was compiled for, and no static ones; call the jitted function itself for another one."
    )
    return "\n".join(lines)


def _check_avals(program: Program, tree: Any, leaves: Sequence[Any]) -> None:
    from_names = program.jaxpr.debug_info.safe_arg_names(len(leaves))
    wrong = []
    for i, (x, expected) in enumerate(zip(leaves, program.jaxpr.in_avals, strict=True)):
        if isinstance(x, core.Tracer):
            raise TypeError(
                "Cannot apply JAX transformations to a function lowered and compiled for a particular signature. "
                f"Detected argument of Tracer type {type(x)}.\nCall the jitted function itself here."
            )
        actual = _aval_of_value(x)
        if actual.shape != expected.shape or actual.dtype != expected.dtype:
            name = from_names[i] or keystr(tree_flatten_with_path(tree)[0][i][0])
            wrong.append(
                f"Argument '{name}' compiled with {expected.str_short()} and called with {actual.str_short()}"
            )
    if wrong:
        raise TypeError(
            "Argument types differ from the types for which this computation was compiled. Perhaps you are calling "
            "the compiled executable with a different enable_x64 mode than when it was AOT compiled? The mismatches "
            "are:\n" + "\n".join(wrong)
        )


def _aval_of_value(x: Any) -> Any:
    try:
        return core.get_aval(x)
    except TypeError as error:
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type\n{error}") from None


def aval_of_argument(x: Any) -> Any:
    """The aval of an argument where no value is needed: a `ShapeDtypeStruct`, or whatever has a shape and a
    dtype, will do.
    """
    if (
        not core.is_array_type(type(x))
        and hasattr(x, "shape")
        and dtypes.is_array_dtype(getattr(x, "dtype", None))
    ):
        return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype), getattr(x, "weak_type", False))
    return core.get_aval(x)


def key_of_argument(x: Any) -> Any:
    """What is known of the place of an argument, which may be without a value."""
    if isinstance(x, ShapeDtypeStruct) and x.sharding is not None:
        return runtime.placed(aval_of_argument(x), x.sharding)
    return runtime.key_of_buffer(x) if runtime.is_buffer(x) else getattr(x, "_key", None)


# --- the work between them ----------------------------------------------------------------------------------


def lower_program(
    program: Program, platform: str | None = None, placement: Placement | None = None
) -> tuple[mlir.Module, list[int]]:
    """Lower a traced program. Returns the module, and the positions of the arguments that it takes.

    Unless `keep_unused`, what no result depends on is left out, and so are arguments that nothing reads.
    `placement` is where the arguments will be, if they are committed.
    """
    start = time.perf_counter()
    jaxpr = program.jaxpr
    kept = list(range(len(jaxpr.invars)))
    if not program.keep_unused:
        jaxpr, used = dce_jaxpr(jaxpr, True)
        kept = [i for i, is_used in enumerate(used) if is_used]
    report.log_compiling(program.name, jaxpr.in_avals, placement.sharding if placement else None)
    attributes = _donation_attributes(
        jaxpr, [program.donated[i] for i in kept] if any(program.donated) else []
    )
    spread = [placement.spread[i] for i in kept] if placement and placement.spread else []
    if spread:
        _refuse_order(jaxpr)
        attributes = _sharding_attributes(jaxpr, spread, attributes)
    paths, _ = tree_flatten_with_path(tree_unflatten(program.out_tree, jaxpr.out_avals))
    labels = [f"result{keystr(path)}" for path, _ in paths]
    where = placement.results if placement else ()
    of_results = [
        "" if x is None else _sharding_attribute(x, a) for x, a in zip(where, jaxpr.out_avals, strict=False)
    ]
    module = mlir.lower_main(
        program.name, jaxpr, platform or runtime.lowering_platform(), attributes, labels, of_results
    )
    if placement and len(placement.devices) > 1:
        module.partitions, module.mesh = len(placement.devices), runtime.mesh_text(placement.sharding)
    report.log_stage("lowering", program.name, time.perf_counter() - start)
    return module, kept


def _refuse_order(jaxpr: Jaxpr) -> None:
    """ValueError for ordered effects in a program for several devices."""
    if ordered := ordered_effects(jaxpr.effects):
        raise ValueError(
            f"The following ordered effects are not supported for more than 1 device: {ordered}\n"
            "Devices do not wait for each other. Leave `ordered=True` out, or put the arguments on one device."
        )


def _donation_attributes(jaxpr: Jaxpr, donated: Sequence[bool]) -> list[str] | None:
    """Give each donated argument's memory to the first result of the same shape and dtype that has none yet, and
    failing that, offer it to XLA for one of the same size.
    """
    if not any(donated):
        return None
    free: dict[tuple[Any, ...], list[int]] = {}
    tokens = len(ordered_effects(jaxpr.effects))  # which are returned before all results
    for i, aval in enumerate(jaxpr.out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(i)
    attributes = []
    for aval, is_donated in zip(jaxpr.in_avals, donated, strict=True):
        results = free.get((aval.shape, aval.dtype)) if is_donated else None
        attributes.append(f"tf.aliasing_output = {tokens + results.pop(0)} : i32" if results else "")
    # What is left may do for a result of as many elements; that is for XLA to see.
    sizes = [jaxpr.out_avals[i].size for results in free.values() for i in results]
    unusable = []
    for i, (aval, is_donated) in enumerate(zip(jaxpr.in_avals, donated, strict=True)):
        if is_donated and not attributes[i]:
            if aval.size in sizes:
                sizes.remove(aval.size)
                attributes[i] = "jax.buffer_donor = true"
            else:
                unusable.append(str(aval))
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}.\n"
            "A buffer can be reused only by a result with as many elements. "
            "See an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.",
            stacklevel=traceback_util.stacklevel(),
        )
    return attributes


def _sharding_attribute(sharding: runtime.Sharding, aval: Any) -> str:
    return f"sdy.sharding = {runtime.sharding_text(sharding, core.physical_aval(aval).ndim)}"


def _sharding_attributes(jaxpr: Jaxpr, spread: Sequence[Any], donation: list[str] | None) -> list[str]:
    """How each argument is spread over the devices. Whether a donated one fits a result is then for XLA to see."""
    attributes = [
        _sharding_attribute(sharding, aval) for sharding, aval in zip(spread, jaxpr.in_avals, strict=True)
    ]
    given_away = donation or [""] * len(attributes)
    return [f"{a}, jax.buffer_donor = true" if d else a for a, d in zip(attributes, given_away, strict=True)]


def build_executable(
    program: Program,
    module: mlir.Module,
    kept: Sequence[int],
    placement: Placement,
    options: CompilerOptions = (),
) -> Executable:
    """Compile a lowered program for a placement."""
    loaded = compile_module(program.name, module, placement.devices, options)
    parts: dict[str, Any] = {
        "arg_avals": program.jaxpr.in_avals,
        "out_avals": program.jaxpr.out_avals,
        "kept": kept,
        "consts": list(module.hoisted.values()),
        "sharding": placement.sharding,
        "committed": placement.committed,
        "spread": placement.spread,
        "results": placement.results,
        "donates": any(program.donated),
    }
    if module.host_callbacks:
        ordered = ordered_effects(program.jaxpr.effects)
        return EffectfulExecutable(program.name, loaded, ordered=ordered, **parts)
    return Executable(program.name, loaded, **parts)


def compile_program(program: Program, placement: Placement) -> Executable:
    """Lower and compile."""
    module, kept = lower_program(program, placement.platform, placement if placement.committed else None)
    return build_executable(program, module, kept, placement, program.options)
