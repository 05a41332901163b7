"""Wrapped -> Traced -> Lowered -> Compiled

Each stage of a call is a value to look at: `jit(f)` is wrapped, `.trace(x)` gives its jaxpr, `.lower()` the StableHLO
text, `.compile()` the executable, which can be called. A cold call goes through the same functions; a warm one needs
none of them.

JAX: jax/_src/stages.py:Traced
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from .. import core, runtime
from ..base import config, late_rooms, traceback_util
from ..base.rich_display import RichDisplay, entry_first, frame, hlo_lines, plain_text, stablehlo_lines
from ..compiler.compiler import CompilerOptions, Executable, explain_failure
from ..compiler.placement import Placement, default_placement
from ..compiler.program import Program, build_executable, lower_program
from ..interpreters import mlir
from ..jaxpr import Jaxpr, printing
from ..runtime import argument_keys
from ..signature.api_util import CallForm
from ..signature.shape_struct import ArgInfo, ShapeDtypeStruct
from ..tree_util import PyTreeDef, tree_flatten, tree_map, tree_unflatten
from .compilation_cache import Entry, Table, run_entry
from .lookup import write_look_up

if TYPE_CHECKING:  # imported when somebody compiles for a target
    from .. import targets

_MOST_KINDS = 64  # a `Compiled` remembers at most this many combinations of kinds of arguments (see `key_of`)


# --- the stages ---------------------------------------------------------------------------------------------


class _Stage(RichDisplay):
    """The base of Traced, Lowered and Compiled: the program and its signature."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def _headline(self, language: str) -> str:
        """Return, for example, `Lowered f(x: float32[3]) -> float32[3], StableHLO`."""
        jaxpr = self._program.jaxpr
        names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))
        arguments = [
            f"{n}: {a.str_short()}" if n else a.str_short() for n, a in zip(names, jaxpr.in_avals, strict=True)
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
        return tree_unflatten(self._program.in_tree, [ArgInfo(a, d) for a, d in zip(avals, donated, strict=True)])

    @property
    def out_info(self) -> Any:
        """A `ShapeDtypeStruct` per result, in the result's tree; from `Lowered` on, never weakly typed."""
        return tree_unflatten(self._program.out_tree, [_info(a) for a in self._program.jaxpr.out_avals])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions, among the leaves, of donated arguments."""
        return tuple(i for i, donated in enumerate(self._program.donated) if donated)


def _info(aval: Any, **more: Any) -> Any:
    """Return a `ShapeDtypeStruct` of this type; for a token, return the aval."""
    return aval if aval is core.abstract_token else ShapeDtypeStruct(aval.shape, aval.dtype, **more)


def _some(items: Sequence[str], most: int = 8) -> str:
    """Return the text of a tuple with its first `most` items, and the number of the others."""
    more = [f"and {len(items) - most} more"] if len(items) > most else []
    return f"({', '.join([*items[:most], *more])})"


class Traced(_Stage):
    """A function traced for one signature: its jaxpr."""

    def __init__(self, program: Program, placement: Placement | None = None, table: Table | None = None) -> None:
        super().__init__(program)
        self._placement = placement
        self._table = table  # of the jitted function: what is compiled ahead of time serves its calls, too

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
        infos = [_info(a, weak_type=a.weak_type) for a in self._program.jaxpr.out_avals]
        return tree_unflatten(self._program.out_tree, infos)

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._program.name

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError. `jax.make_jaxpr` takes this object for JAX's Traced and reads private attributes: the
        message then says what to use instead.
        """
        hint = "\nIt is one of jitkit's. For its jaxpr, use `jitkit.make_jaxpr`." if name.startswith("_") else ""
        raise AttributeError(f"'Traced' object has no attribute {name!r}{hint}")

    def lower(self, *, lowering_platforms: tuple[str, ...] | None = None) -> Lowered:
        """Return the program as StableHLO, for the given platform, else that of the arguments' devices, else the
        default one. Raise NotImplementedError for several platforms.
        """
        placement = self._placement
        if lowering_platforms and len(lowering_platforms) > 1:
            raise NotImplementedError(
                f"jitkit lowers for one platform at a time, got lowering_platforms={lowering_platforms}. "
                "Call `lower` once for each."
            )
        platform = lowering_platforms[0] if lowering_platforms else placement and placement.platform
        platform = {"cuda": "gpu", "rocm": "gpu"}.get(platform or "", platform)  # as a device names its platform
        return Lowered(self._program, *lower_program(self._program, platform, placement), placement, self._table)

    def __repr__(self) -> str:
        return f"{self._headline('jaxpr')}\n{plain_text(repr(self.jaxpr), 'print(traced.jaxpr)')}"

    def _repr_html_(self) -> str:
        return printing.jaxpr_to_html(self.jaxpr, self._headline("jaxpr"), "print(traced.jaxpr)")


class Lowered(_Stage):
    """A program in StableHLO, not yet compiled."""

    def __init__(
        self,
        program: Program,
        module: mlir.Module,
        kept: list[int],
        placement: Placement | None = None,
        table: Table | None = None,
    ) -> None:
        super().__init__(program)
        self._module, self._kept = module, kept
        self._placement, self._table = placement, table

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the StableHLO text; with `debug_info`, the line of an operation says (by `loc`) which Python line it
        came from. With `dialect="hlo"`, return the same program in XLA's own language, before optimisation, whose
        `metadata` names the lines with `debug_info`. Raise ValueError for another dialect.
        """
        if dialect == "hlo":
            return runtime.hlo_of_text(self._module.text(debug_info=True), debug_info)
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"unknown dialect: {dialect}\nThe dialects are 'stablehlo' and 'hlo'.")
        return self._module.text(debug_info)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the program as jaxlib's object: an MLIR module, or with `dialect="hlo"` an `XlaComputation`. Raise
        ValueError for another dialect.
        """
        return (
            runtime.hlo_computation(self.as_text(debug_info=True))
            if dialect == "hlo"
            else runtime.mlir_module(self.as_text(dialect))
        )

    @overload
    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled: ...

    @overload
    def compile(
        self, compiler_options: dict[str, Any] | None = None, *, target: str, time_limit: float | None = None
    ) -> targets.TargetProgram: ...

    @traceback_util.api_boundary
    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        target: str | None = None,
        time_limit: float | None = None,
    ) -> Compiled | targets.TargetProgram:
        """Return the program, compiled for the device that the arguments were committed to, or the default one.
        `compiler_options` are XLA's debug options by name; without them, calls of the jitted function share the
        executable.

        With `target`, a name of `jitkit.targets.TARGETS` such as "tpu:v5e", compile ahead of time for that chip, which
        this machine need not have: the result can be read, but not called. `time_limit` is in seconds. Raise ValueError
        for an unknown name, `targets.TargetError` if the program cannot be compiled for the chip, and
        NotImplementedError if it calls back into Python, or takes arguments that are spread over several devices.
        """
        options = (*self._program.options, *(compiler_options or {}).items())
        if target is not None:
            late = importlib.import_module("jitkit.targets")  # not at the top: it would take a fifth of `import jitkit`
            with late.Compilers(time_limit) as compilers:
                return self._compile_for(late.find(target), compilers, options)
        placement = self._placement or default_placement()
        of_calls = self._table if not compiler_options and self._module.platform == placement.platform else None
        slot = (self._program.jaxpr, self._program.donated, placement)
        executable = of_calls.executables.get(slot) if of_calls else None
        if executable is None:
            executable = build_executable(self._program, self._module, self._kept, placement, options)
            if of_calls:
                of_calls.remember_executable(slot, executable)
        return Compiled(self._program, executable, placement)

    def _compile_for(
        self, target: targets.Target, compilers: targets.Compilers, options: CompilerOptions = ()
    ) -> targets.TargetProgram:
        """Return the program, compiled for a chip; lower it again if that is of another platform. Raise
        NotImplementedError if the program takes arguments on several devices, or calls back into Python.
        """
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
        """Return XLA's estimate for the program before optimisation: flops, bytes accessed, transcendentals."""
        return runtime.cost_of_text(self._module.text())

    def __repr__(self) -> str:
        return f"{self._headline('StableHLO')}\n{plain_text(self.as_text(), 'print(lowered.as_text())')}"

    def _repr_html_(self) -> str:
        lines = stablehlo_lines(self.as_text())
        return frame(self._headline("StableHLO"), lines, "print(lowered.as_text())")


_HLO_NOTE = "Under the pointer, on an operation: the equation that it came from, and its line."


class Compiled(_Stage):
    """An executable: call it with arguments of exactly the signature that it was made for."""

    def __init__(self, program: Program, executable: Executable, placement: Placement) -> None:
        super().__init__(program)
        self._executable = executable
        self._placement = placement
        self._table = Table()  # a key has the kinds of arguments: an Array and a numpy array may have one type
        of_args, of_kwargs = program.in_tree.children()
        form = CallForm(tuple(range(len(of_args.children()))), tuple(of_kwargs.data.keys), (), ())
        look_up = write_look_up(self._table, form, program.in_tree.exact, is_flat=False, of_any_call=True)
        self._look_up = look_up or self._find

    def as_text(self) -> str:
        """Return the HLO text after XLA's optimisation; with `jit(f, backend="c")`, the C."""
        return self._executable.text()

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimate for the optimised program: flops, bytes accessed, and more; for a program in C, our
        compiler's counts.
        """
        return self._executable.costs()

    def memory_analysis(self) -> Any:
        """Return the bytes of arguments, results, temporaries and code; None if the platform does not tell."""
        return self._executable.memory()

    def __repr__(self) -> str:
        return (
            f"{self._headline(self._language())}\n"
            f"{plain_text(entry_first(self.as_text()), 'print(compiled.as_text())')}"
        )

    def _repr_html_(self) -> str:
        lines = hlo_lines(entry_first(self.as_text()))
        return frame(self._headline(self._language()), lines, "print(compiled.as_text())", _HLO_NOTE)

    def _language(self) -> str:
        return "C" if self._program.backend == "c" else f"optimised HLO for {self._placement.platform}"

    def runtime_executable(self) -> Any:
        """Return the PJRT executable."""
        return self._executable.loaded

    @property
    def out_info(self) -> Any:
        """A `ShapeDtypeStruct` per result, in the result's tree, with its sharding."""
        shardings = self._executable.out_shardings
        infos = [_info(a, sharding=s) for a, s in zip(self._program.jaxpr.out_avals, shardings, strict=True)]
        return tree_unflatten(self._program.out_tree, infos)

    @property
    def input_shardings(self) -> Any:
        """The shardings that the arguments must have, as `(args, kwargs)`."""
        return tree_unflatten(self._program.in_tree, self._shardings())

    def _shardings(self) -> list[Any]:
        count = len(self._program.jaxpr.in_avals)
        return list(self._placement.spread) or [self._placement.sharding] * count

    @property
    def input_formats(self) -> Any:
        """The layouts and shardings of the arguments, as `(args, kwargs)`."""
        layouts = late_rooms.import_room("..runtime.layouts", __package__)
        return tree_map(layouts.format_of_type, self.in_avals, self.input_shardings)

    @property
    def output_formats(self) -> Any:
        """The layouts and shardings of the results."""
        layouts = late_rooms.import_room("..runtime.layouts", __package__)
        return tree_map(layouts.format_of_type, self.out_info, self.output_shardings)

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results."""
        return tree_unflatten(self._program.out_tree, self._executable.out_shardings)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, and return its result. Raise TypeError if the tree or a type of the arguments differs from
        the compiled one, ValueError if an argument is committed to another sharding.
        """
        try:
            found: tuple[Entry, Sequence[Any]] | None
            try:
                found = self._look_up(config.local.state.run_options, args, kwargs)
            except Exception:  # arguments of new kinds, or wrong ones
                found = None
            if found is None:
                return run_entry(*self._checked(args, kwargs))
            entry, leaves = found
            try:
                return entry.run(leaves)
            except (RuntimeError, ValueError) as error:
                raise explain_failure(error, leaves, self._executable.consts, bool(entry.is_warm)) from None
        except BaseException as error:
            traceback_util.filter_traceback(error)
            raise

    def _find(self, options: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, list[Any]]:
        """Return the entry and the leaves of a call, for trees too large for a generated `_look_up`. Raise KeyError if no
        entry is known.
        """
        leaves, tree = tree_flatten((args, kwargs))
        return self._table.entries[options, tree.exact, (), *map(argument_keys.key_of, leaves)], leaves

    def _checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, list[Any]]:
        """Check that these arguments fit the program. Return a new entry that runs calls with arguments of these kinds,
        which the next such call will find, and the leaves. Raise as `__call__` does.
        """
        compiled_arguments = late_rooms.import_room(".compiled_arguments", __package__)
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self._program.in_tree:
            raise TypeError(compiled_arguments.tree_mismatch(self._program, tree))
        compiled_arguments.check_avals(self._program, (args, kwargs), leaves)
        compiled_arguments.check_shardings(self._program, leaves, self._shardings())
        keys = [argument_keys.key_of(x) for x in leaves]
        entry = Entry(self._executable, self._program.out_tree, keys)
        if len(self._table.entries) >= _MOST_KINDS:
            self._table.entries.clear()
        self._table.entries[config.local.state.run_options, self._program.in_tree.exact, (), *keys] = entry
        return entry, leaves
