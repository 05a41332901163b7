"""`jitkit targets` compiles one function ahead of time for every chip, and shows its kernels, the bytes that they move,
and its fusions.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

from jitkit.pjit.stages import Traced
from jitkit.targets import TARGETS, Analysis, Compilers, Target, TargetError, TargetProgram
from jitkit.targets.table import how_to_install

from ..functions import example
from ..functions.compiled import Outcome, choose, compile_for, signature, trace
from ..functions.sample_call import load_function, parse_arguments, parse_shapes
from ..problems import FAILED, OK
from ..screens.chips import lines_of, show_programs
from ..screens.terminal import Screen


def run(arguments: argparse.Namespace) -> int:
    """Compile, and show the results. Return 1 if a compiler refused the program, or a target that was named has no
    compiler here.
    """
    if arguments.function is None:
        function: Callable[..., Any] = example.layer
        given = parse_shapes(example.SHAPES)
    else:
        function = load_function(arguments.function)
        given = []
    chosen = choose(arguments.target or TARGETS)
    if arguments.shapes is not None:
        given = [*parse_arguments(",".join(arguments.shapes))]
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


# --- the table ----------------------------------------------------------------------------------------------


def show(screen: Screen, function: Callable[..., Any], traced: Traced, outcomes: dict[Target, Outcome]) -> None:
    """Show the function, the table, who counted the numbers, and what was fused."""
    screen.line()
    screen.text(signature(traced), 0, "bold")
    screen.text("One program, compiled for several chips. None of it was run.")
    show_source(screen, function)
    programs = [outcome for outcome in outcomes.values() if isinstance(outcome, TargetProgram)]
    if programs:
        screen.line()
        show_programs(screen, programs)
    for outcome in programs:
        show_fusions(screen, outcome)
    show_errors(screen, outcomes)


# --- the lines ----------------------------------------------------------------------------------------------


def show_source(screen: Screen, function: Callable[..., Any]) -> None:
    """Show the function with its line numbers, if it has a source."""
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(function))
    except (OSError, TypeError):
        return
    screen.line()
    screen.code("".join(f"{first + i:4}  {line}" for i, line in enumerate(lines)), indent=2)


def show_fusions(screen: Screen, program: TargetProgram) -> None:
    """Show which lines share a pass over memory on a target: the fusions of several operations. Then count the other
    kernels by kind, so that all kernels of the table are accounted for.
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


def show_errors(screen: Screen, outcomes: dict[Target, Outcome]) -> None:
    """Show what could not be compiled, and one command that installs all that is missing."""
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
    """Return everything as plain data: for each target what was found, or why nothing was."""
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
