"""`jitkit targets`: one function, compiled ahead of time for every chip; what runs, what it moves, what was fused."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jitkit
from jitkit import ShapeDtypeStruct
from jitkit.base.errors import JaxRuntimeError
from jitkit.pjit.function import is_jitted, unbound
from jitkit.pjit.stages import Traced
from jitkit.targets import TARGETS, Analysis, Compilers, Kernel, Target, TargetError, TargetProgram, find
from jitkit.targets.table import how_to_install

from ..functions import example, of_jax
from ..functions.sample_call import load_function, parse_shapes, shapes_needed
from ..problems import FAILED, OK, Problem, WrongUsage
from ..screens.terminal import Screen, duration

Outcome = TargetProgram | TargetError


def run(arguments: argparse.Namespace) -> int:
    """Compile, and show. Returns 1 when a compiler refused, or one that was asked for by name is missing."""
    if arguments.function is None:
        function: Callable[..., Any] = example.layer
        given = parse_shapes(example.SHAPES)
    else:
        function = load_function(arguments.function)
        given = []
    chosen = choose(arguments.target or TARGETS)
    if arguments.shapes is not None:
        given = parse_shapes(",".join(arguments.shapes))
    traced = trace(function, given, (arguments.function or "").rpartition(":")[0])
    progress = Screen.of(sys.stderr)
    outcomes: dict[Target, Outcome] = {}
    with Compilers(arguments.time_limit) as compilers:
        for target in chosen:
            with progress.progress(f"compiling for {target.name}"):
                outcomes[target] = compile_for(traced, target, compilers)
    if arguments.json:
        print(json.dumps(as_data(traced, outcomes), indent=2))
    else:
        show(Screen.of(sys.stdout), function, traced, outcomes)
    failed = [
        outcome
        for outcome in outcomes.values()
        if isinstance(outcome, TargetError) and (arguments.target or outcome.reason != "missing")
    ]
    return FAILED if failed else OK


def choose(names: Iterable[str]) -> list[Target]:
    """The targets of these names, each once. WrongUsage for a name that is none."""
    try:
        return [find(name) for name in dict.fromkeys(names)]
    except ValueError as error:
        raise WrongUsage(str(error).replace("\n", ". ")) from None


def trace(function: Callable[..., Any], shapes: Sequence[ShapeDtypeStruct], file: str) -> Traced:
    """Trace a function of `file`, jitted or not, for these types. Problem with the reason when that fails."""
    if of_jax.made_by_jax(function):
        raise WrongUsage(of_jax.sentence(function, file))
    plain, arguments = unbound(function, shapes)
    jitted: Any = plain if is_jitted(plain) else jitkit.jit(plain)
    try:
        traced: Traced = jitted.trace(*arguments)
    except Exception as error:
        # Whatever the user's function raises is the user's to read.
        said = f"{type(error).__name__}: {error}"
        if of_jax.names_of_jax(function):
            first, *_ = said.splitlines()  # what follows is advice on imports, too
            raise WrongUsage(f"{of_jax.sentence(function, file)}\n{first}") from None
        lines = [
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == os.path.abspath(file)
        ]
        raise Problem(f"{shapes_needed(function, shapes, lines[-1] if lines else None)}\n{said}") from None
    return traced


def compile_for(traced: Traced, target: Target, compilers: Compilers) -> Outcome:
    """The program for a target, or what was in the way."""
    try:
        return traced.lower(lowering_platforms=(target.platform,))._compile_for(target, compilers)
    except TargetError as error:
        return error
    except (NotImplementedError, ValueError, JaxRuntimeError) as error:  # a rule that has none for this platform
        return TargetError("refused", str(error))


# --- the table ----------------------------------------------------------------------------------------------

_HEAD = ("target", "kernels", "fused", "loops", "flops", "bytes", "code", "compile")
_LETTERS = "abcdefgh"


def show(screen: Screen, function: Callable[..., Any], traced: Traced, outcomes: dict[Target, Outcome]) -> None:
    """The function, the table, who counted, and what was fused."""
    screen.line()
    screen.text(signature(traced), 0, "bold")
    screen.text("One program, as the compilers of several chips leave it. Nothing of this was run.")
    show_source(screen, function)
    programs = [outcome for outcome in outcomes.values() if isinstance(outcome, TargetProgram)]
    if programs:
        screen.line()
        show_programs(screen, programs)
    for outcome in programs:
        show_fusions(screen, outcome)
    show_errors(screen, outcomes)


def show_programs(screen: Screen, programs: Sequence[TargetProgram]) -> None:
    """The table with a row a target, and below it who counted what."""
    sources = list(dict.fromkeys(program.cost_analysis().source for program in programs))
    rows = [_HEAD, *(row(program, sources) for program in programs)]
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(_HEAD))]
    if 2 + sum(widths) + 2 * (len(widths) - 1) < screen.width:
        screen.table(rows, align="<" + ">" * (len(_HEAD) - 1))
    else:  # one below the other
        for cells in rows[1:]:
            screen.line(f"  {cells[0]}", "bold")
            for name, cell in zip(_HEAD[1:], cells[1:], strict=True):
                screen.line(f"    {name:<8} {cell}")
    screen.line()
    for source, letter in zip(sources, _LETTERS, strict=False):
        screen.text(f"{letter}: {source}.", 2, "dim")
    screen.text(
        "A loop's body is counted once. Code is in lines, for TPUs in bundles (words of several instructions): how much "
        "there is, not how much is executed. "
        "Targets are not ranked: each compiler counts in its own way. Compare two versions of a function on one target.",
        2,
        "dim",
    )


def row(program: TargetProgram, sources: Sequence[str]) -> tuple[str, ...]:
    """The cells of a target; "-" for what its compiler does not tell."""
    costs, size = program.cost_analysis(), program.code_size()
    letter = _LETTERS[sources.index(costs.source)]
    return (
        program.target.name,
        str(len(program.kernels)),
        str(len(program.fusions)),
        str(len(program.loops)),
        f"{amount(costs['flops'], '')} {letter}" if "flops" in costs else "-",
        f"{amount(costs['bytes accessed'], 'B')} {letter}" if "bytes accessed" in costs else "-",
        f"{size[0]:,} {size[1].removeprefix('lines of ')}" if size else "-",
        duration(program.seconds),
    )


def amount(value: float, unit: str) -> str:
    """Three digits and a prefix: `33.6 M`, `1.31 MB`."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            scaled = value / scale
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f} {prefix}{unit}"
    return f"{value:.0f} {unit}".rstrip()


# --- the lines ----------------------------------------------------------------------------------------------


def signature(traced: Traced) -> str:
    """`layer(x: float32[8], b: float32[])`."""
    avals = traced.jaxpr.in_avals
    names = traced.jaxpr.debug_info.safe_arg_names(len(avals))
    arguments = ", ".join(f"{n}: {a.str_short()}" for n, a in zip(names, avals, strict=True))
    return f"{traced.fun_name}({arguments})"


def show_source(screen: Screen, function: Callable[..., Any]) -> None:
    """The function with its line numbers, where it has a source."""
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(function))
    except (OSError, TypeError):
        return
    screen.line()
    screen.code("".join(f"{first + i:4}  {line}" for i, line in enumerate(lines)), indent=2)


def show_fusions(screen: Screen, program: TargetProgram) -> None:
    """Which lines share a pass over memory on a target: the fusions of several operations. Then how many are left, of
    each kind, so that the kernels of the table are all accounted for.
    """
    screen.line()
    screen.line(f"Fused for {program.target.name} ({program.compiler})", "bold")
    joined = [kernel for kernel in program.fusions if len(kernel.operations) > 1]
    for kernel in joined:
        screen.text(f"{lines_of(kernel)}: {', '.join(kernel.operations)}", 4)
    within = [kernel for kernel in program.fusions if len(kernel.operations) <= 1]
    alone = [kernel for kernel in program.kernels if not kernel.fused]
    for kernels, one, several in (
        (within, "fusion of the steps of one operation", "fusions of the steps of one operation each"),
        (alone, "kernel that is not fused", "kernels that are not fused"),
    ):
        if kernels:
            names = dict.fromkeys(name for kernel in kernels for name in kernel.operations or (kernel.name,))
            count = f"{len(kernels)} {one if len(kernels) == 1 else several}"
            screen.text(f"{'and ' if joined else ''}{count}: {', '.join(names)}", 4, "dim")


def lines_of(kernel: Kernel) -> str:
    """`line 12`, `lines 12, 14`, with the file where there are several: `layer.py 12, 14; util.py 3`."""
    by_file: dict[str, list[str]] = {}
    for line in kernel.lines:
        by_file.setdefault(line.file, []).append(str(line.number))
    if not by_file:
        return "no line of its own"
    if len(by_file) == 1:
        [numbers] = by_file.values()
        return f"{'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers)}"
    return "; ".join(f"{Path(file).name} {', '.join(numbers)}" for file, numbers in by_file.items())


def show_errors(screen: Screen, outcomes: dict[Target, Outcome]) -> None:
    """What could not be compiled, and one command for all that is missing."""
    errors = {target: error for target, error in outcomes.items() if isinstance(error, TargetError)}
    for error in errors.values():
        if error.reason != "missing":
            first, _, rest = str(error).partition("\n")
            screen.line()
            screen.text(first, 0, "red")
            screen.code(rest, indent=2)
    absent = [target for target, error in errors.items() if error.reason == "missing"]
    if absent:
        screen.line()
        screen.text(f"No compilers for {', '.join(target.name for target in absent)} here. Install them:")
        screen.code(how_to_install(*dict.fromkeys(target.extra for target in absent)), indent=0)


# --- data ---------------------------------------------------------------------------------------------------


def as_data(traced: Traced, outcomes: dict[Target, Outcome]) -> dict[str, Any]:
    """Everything as plain data: of each target what was found, or why it was not."""
    return {
        "function": traced.fun_name,
        "arguments": [aval.str_short() for aval in traced.jaxpr.in_avals],
        "targets": [_target_data(target, outcome) for target, outcome in outcomes.items()],
    }


def _target_data(target: Target, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, TargetError):
        return {"target": target.name, "reason": outcome.reason, "error": str(outcome)}
    size = outcome.code_size()
    return {
        "target": target.name,
        "chip": target.chip,
        "compiler": outcome.compiler,
        "seconds": outcome.seconds,
        "kernels": [
            {**kernel._asdict(), "lines": [f"{line.file}:{line.number}" for line in kernel.lines]}
            for kernel in outcome.kernels
        ],
        "fusions": len(outcome.fusions),
        "loops": [loop._asdict() for loop in outcome.loops],
        "cost": _analysis_data(outcome.cost_analysis()),
        "memory": _analysis_data(outcome.memory_analysis()),
        "code": {"size": size[0], "unit": size[1]} if size else None,
    }


def _analysis_data(analysis: Analysis) -> dict[str, Any]:
    return {"numbers": dict(analysis), "source": analysis.source}
