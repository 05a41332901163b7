"""Shows the tour's function on chips that are not here, if their compilers are installed; else how to get them."""

from __future__ import annotations

from typing import Any

import jitkit
from jitkit.targets import TARGETS, Compilers, TargetProgram, obstacle

from ..functions.compiled import compile_for
from ..screens.chips import lines_of, show_programs
from ..screens.terminal import Screen
from .example import selu


def show(screen: Screen, x: Any) -> None:
    """Show a row for each chip whose compiler is installed, and what was fused. If only CPUs have one, show how to get the others."""
    screen.heading("Other chips", "compiled ahead of time")
    there = [target for target in TARGETS.values() if obstacle(target) is None]
    if all(target.platform == "cpu" for target in there):
        others = [target.name for target in TARGETS.values() if target.platform != "cpu"]
        screen.text(
            f"With their compilers, `jitkit targets` shows what {', '.join(others)} would make of a function, "
            "without such a chip. In a clone, `make compilers` installs them (435 MB to download, for Linux).",
            2,
        )
        return
    traced = jitkit.jit(selu).trace(x)
    programs = []
    with Compilers() as compilers:
        for target in there:
            with screen.progress(f"compiling for {target.name}"):
                outcome = compile_for(traced, target, compilers)
            if isinstance(outcome, TargetProgram):
                programs.append(outcome)
    show_programs(screen, programs)
    by_fusions: dict[str, list[str]] = {}
    for program in programs:
        fused = [f"{lines_of(kernel)} ({', '.join(kernel.operations)})" for kernel in program.fusions]
        by_fusions.setdefault("; ".join(fused) or "nothing", []).append(program.target.name)
    for fused_text, names in by_fusions.items():
        screen.text(f"Fused into one kernel for {', '.join(names)}: {fused_text}.", 2)
