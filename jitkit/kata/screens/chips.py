"""one function's programs for several chips -> a table, and the lines of each kernel"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jitkit.targets import Kernel, TargetProgram

from .terminal import Screen, duration

_HEAD = ("target", "kernels", "fused", "loops", "flops", "bytes", "code", "compile")
_LETTERS = "abcdefgh"


def show_programs(screen: Screen, programs: Sequence[TargetProgram]) -> None:
    """Show the table with a row for each target, and below it which compiler or library counted each number."""
    sources = list(dict.fromkeys(program.cost_analysis().source for program in programs))
    rows = [_HEAD, *(row(program, sources) for program in programs)]
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(_HEAD))]
    if 2 + sum(widths) + 2 * (len(widths) - 1) < screen.width:
        screen.table(rows, align="<" + ">" * (len(_HEAD) - 1))
    else:  # write the lines one below the other
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
    """Return the table cells of a target. A cell is "-" if the compiler does not give the number."""
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
    """Return a number with a prefix and a unit: `33.6 M`, `1.31 MB`. The number has three digits from 1,000 to 999 T, and no
    decimals below 1,000.
    """
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            scaled = value / scale
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f} {prefix}{unit}"
    return f"{value:.0f} {unit}".rstrip()


def lines_of(kernel: Kernel) -> str:
    """Return the lines of a kernel: `line 12`, or `lines 12, 14`; if they are in several files, `layer.py 12, 14; util.py 3`. For a
    kernel without lines, return `no line of its own`.
    """
    by_file: dict[str, list[str]] = {}
    for line in kernel.lines:
        by_file.setdefault(line.file, []).append(str(line.number))
    if not by_file:
        return "no line of its own"
    if len(by_file) == 1:
        [numbers] = by_file.values()
        return f"{'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers)}"
    return "; ".join(f"{Path(file).name} {', '.join(numbers)}" for file, numbers in by_file.items())
