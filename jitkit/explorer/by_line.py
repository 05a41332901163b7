"""optimised HLO + its links -> what each line of Python became: kernels, the bytes that they move, flops

A kernel is an instruction that runs on its own, as `jitkit targets` counts them. It belongs to the lines of all
equations in it.

- Bytes of a kernel's operands and results cannot be split among its lines. They count fully at each line, and the line
  says how many of its kernels are shared. The totals count each kernel once.
- Flops are counted for each instruction, also inside fusions, and belong to its line. If XLA merged instructions of
  several lines, they belong to the first, or in equal parts to all equations that the instruction is known to compute.
  If a kernel's flops are not known, as in a library's routine, the line says so.
- The body of a loop is counted for one turn, and marked as in a loop.
- A TPU fetches an argument by an asynchronous copy while something else runs. Such a copy is not a kernel: its bytes
  are counted apart, for the lines whose equations read it.

JAX: jax/_src/stages.py:Compiled.cost_analysis
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..targets.hlo import Instruction, Program, called

# the ends of asynchronous copies; their type is that of the copied array
_COPIES = frozenset({"copy-done", "slice-done", "dynamic-slice-done"})


class Kernel(NamedTuple):
    """A kernel, or an asynchronous copy, in a listing."""

    row: int
    equations: list[int]  # those that are surely in it
    bytes: int  # what one run of it moves
    in_loop: bool
    untold: bool  # whether some of its flops are not known
    turns: int | None = 1  # how often it runs over all turns of loops; None if this is not known


def launched(program: Program) -> Iterator[tuple[str, Instruction, bool]]:
    """Yield `(computation, instruction, whether it is in a loop)` for each instruction that runs on its own, and for
    the end of each asynchronous copy.
    """
    names = {kernel.name for kernel in program.kernels}
    in_loop: dict[str, bool] = {}
    waiting = [(program.entry, False)] if program.entry else []
    while waiting:
        name, turns = waiting.pop()
        if in_loop.get(name) or (name in in_loop and not turns):
            continue
        in_loop[name] = turns
        for instruction in program.computations.get(name, ()):
            if instruction.name not in names:
                waiting += [(each, turns or instruction.opcode == "while") for each in called(instruction)]
    for name, turns in in_loop.items():
        for instruction in program.computations.get(name, ()):
            if instruction.name in names or is_copy(instruction):
                yield name, instruction, turns


def is_copy(instruction: Instruction) -> bool:
    """Return whether an instruction ends an asynchronous copy."""
    return instruction.opcode in _COPIES


def table(
    kernels: Sequence[Kernel],
    flops: Mapping[int | None, int],
    rows_of: Mapping[int, int],
    copies: Sequence[Kernel] = (),
    compilers: Mapping[str, float] | None = None,
    backward: Collection[int] = (),
    run_flops: Mapping[int | None, int] | None = None,
) -> dict[str, Any]:
    """Return the kernels, bytes and flops of the lines of Python: sums for the whole program, and under "lines" a dict
    for each row of the Python listing. The row None collects those of no known line.

    In the result, "besides" is the compiler's estimate of bytes minus the bytes of kernels and copies, and
    "flops_besides" its estimate of flops and transcendentals minus our count; both are None without an estimate.

    Args:
      kernels, copies: the kernels and the copies of the compiled program.
      flops: the flops of each equation, by our count, in one turn of the loops around it.
      rows_of: the row of each equation.
      compilers: the compiler's own estimates.
      backward: the equations of the reverse pass. A kernel counts as "backward" for a line if it contains such an
        equation of the line.
      run_flops: like `flops`, over all turns of the loops; None if their number is not known.
    """
    estimates = compilers or {}
    their_bytes, their_flops = estimates.get("bytes accessed"), estimates.get("flops")
    lines: dict[int | None, dict[str, Any]] = {}

    def line(row: int | None) -> dict[str, Any]:
        nothing = {
            "kernels": [],
            "shared": 0,
            "in_loop": 0,
            "backward": 0,
            "bytes": 0,
            "copied": 0,
            "flops": 0,
            "untold": 0,
            "run_bytes": 0,
            "run_flops": None if run_flops is None else 0,
        }
        return lines.setdefault(row, {"row": row, **nothing})

    def rows(kernel: Kernel) -> list[int | None]:
        return list(dict.fromkeys(rows_of.get(number) for number in kernel.equations)) or [None]

    def run(found: dict[str, Any], kernel: Kernel) -> None:
        known = kernel.turns is not None and found["run_bytes"] is not None
        found["run_bytes"] = found["run_bytes"] + kernel.bytes * (kernel.turns or 0) if known else None

    for copy in copies:
        for row in rows(copy):
            line(row)["copied"] += copy.bytes
            run(line(row), copy)
    for kernel in kernels:
        its = rows(kernel)
        for row in its:
            found = line(row)
            found["kernels"].append(kernel.row)
            found["shared"] += len(its) > 1
            found["in_loop"] += kernel.in_loop
            found["backward"] += any(rows_of.get(n) == row and n in backward for n in kernel.equations)
            found["untold"] += kernel.untold
            found["bytes"] += kernel.bytes
            run(found, kernel)
    for number, count in flops.items():
        if count:
            line(None if number is None else rows_of.get(number))["flops"] += count
    for number, count in (run_flops or {}).items():
        if count:
            line(None if number is None else rows_of.get(number))["run_flops"] += count
    turned = [(each.bytes, each.turns) for each in (*kernels, *copies)]
    moved, copied = sum(kernel.bytes for kernel in kernels), sum(copy.bytes for copy in copies)
    return {
        "kernels": len(kernels),
        "backward": sum(any(number in backward for number in kernel.equations) for kernel in kernels),
        "bytes": moved,
        "copied": copied,
        "besides": None if their_bytes is None else round(their_bytes) - moved - copied,
        "flops": sum(flops.values()),
        "flops_besides": None
        if their_flops is None
        else round(their_flops + max(0, estimates.get("transcendentals", 0))) - sum(flops.values()),
        "untold": sum(kernel.untold for kernel in kernels),
        "in_loop": sum(kernel.in_loop for kernel in kernels),
        "run_bytes": None
        if None in [turns for _, turns in turned]
        else sum(size * (turns or 0) for size, turns in turned),
        "run_flops": None if run_flops is None else sum(run_flops.values()),
        "lines": [lines[row] for row in sorted(lines, key=lambda row: (row is None, row or 0))],
    }
