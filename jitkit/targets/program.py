"""answer -> TargetProgram: a compiled program, to be read, not run

JAX: jax/_src/stages.py:Compiled
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from . import table
from .hlo import Kernel, Loop, Program
from .table import Target, TargetError

NOT_AVAILABLE = "not available from this compiler"


class Analysis(Mapping[str, float]):
    """Numbers about a program; `source` says who counted them, and how. It is empty if nobody did. Numbers of different
    sources are counted differently, and cannot be compared.
    """

    def __init__(self, numbers: Mapping[str, float], source: str) -> None:
        self._numbers = dict(numbers)
        self.source = source

    def __getitem__(self, key: str) -> float:
        if key not in self._numbers:
            raise KeyError(f"{key}: {NOT_AVAILABLE if not self._numbers else 'not among ' + ', '.join(self)}")
        return self._numbers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{key}: {value:,.6g}" for key, value in self.items())
        return f"Analysis({numbers}{'; ' if numbers else ''}source: {self.source})"


class TargetProgram:
    """A program compiled ahead of time for a target: HLO, costs, memory and code. It cannot be called.

    `name` is the function's, `target` the chip, `compiler` the packages that compiled, with versions; `seconds` is the
    time from StableHLO to the finished program, whether or not the process had compiled before. `passes` are the
    compiler's passes that changed the program, each with the program after it, if XLA was asked to dump them.
    """

    def __init__(self, name: str, target: Target, answer: Mapping[str, Any]) -> None:
        self.name = name
        self.target = target
        self.compiler = table.compiler_of(target)
        self.seconds: float = answer["seconds"]
        self._hlo: str = answer["hlo"]
        self._cost = Analysis(*answer["cost"])
        self._memory = Analysis(*answer["memory"])
        self._code: dict[str, str] = answer["code"]
        self._bundles: dict[str, int] = answer["bundles"]
        self._launches: list[str] = answer["launches"]
        self.passes: list[tuple[str, str]] = [(name, text) for name, text in answer.get("passes", ())]
        self._read: Program | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise TypeError: a program that was compiled ahead of time can only be read, even if this machine has the chip."""
        raise TypeError(
            f"{self.name!r} was compiled for {self.target.name}, ahead of time, and cannot be called here.\n"
            "To run it on this machine, call the jitted function, or `.compile()` without a target."
        )

    def as_text(self) -> str:
        """Return the HLO text after the compiler's optimisation. `metadata` of a line has its Python line."""
        return self._hlo

    def cost_analysis(self) -> Analysis:
        """Return estimates: flops, bytes accessed, transcendentals, and more if the compiler has them."""
        return self._cost

    def memory_analysis(self) -> Analysis:
        """Return the bytes of arguments, of results, of memory that both share, of temporaries and of code."""
        return self._memory

    # --- read from the HLO ----------------------------------------------------------------------------------

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels, fused or not, each once, whether in a loop or not."""
        return self._program.kernels

    @property
    def fusions(self) -> list[Kernel]:
        """The kernels that fuse several operations."""
        return [kernel for kernel in self.kernels if kernel.fused]

    @property
    def loops(self) -> list[Loop]:
        """The loops left in the program; others were unrolled, or became part of a kernel."""
        return self._program.loops

    @property
    def _program(self) -> Program:
        if self._read is None:
            self._read = Program(self._hlo)
        return self._read

    # --- the code -------------------------------------------------------------------------------------------

    def ptx(self) -> dict[str, str]:
        """Return NVIDIA's assembly, by kernel. Raise TargetError for targets that are not GPUs, or if the compiler shows none."""
        return self._code_in("PTX")

    def llvm_ir(self) -> dict[str, str]:
        """Return LLVM's code after its optimisation, by module. Raise TargetError for targets that are not CPUs, or if
        the compiler shows none.
        """
        return self._code_in("LLVM IR")

    def bundles(self) -> dict[str, int]:
        """Return the number of bundles of each kernel on a TPU (a bundle is an instruction word of several instructions
        that start together): the length of the kernel's schedule, as libtpu counts it, or if libtpu gives no number, as
        its code shows. Bundles in a loop count once, however often they run. Raise TargetError for other targets, or if
        the compiler shows no bundles.
        """
        code = self._code_in("VLIW bundles")
        return {kernel: self._bundles.get(kernel, count_bundles(text)) for kernel, text in code.items()}

    def launches(self) -> list[str]:
        """Return what a GPU executes, in order: kernels with their grids and threads, copies, library calls. Raise
        TargetError for other targets.
        """
        if self.target.platform != "gpu":
            raise TargetError("unavailable", f"a list of launches is {NOT_AVAILABLE} ({self.target.name})")
        return self._launches

    def code(self) -> dict[str, str]:
        """Return the last readable stage, in its own language, by kernel or module; {} if there is none."""
        return self._code

    def _code_in(self, language: str) -> dict[str, str]:
        if language != self.target.code:
            raise TargetError(
                "unavailable", f"{language} is {NOT_AVAILABLE}: {self.target.name} is compiled to {self.target.code}."
            )
        if not self._code:
            raise TargetError(
                "unavailable",
                f"{self.compiler} has shown no {language} for this program, as it shows none for what it leaves to a library.",
            )
        return self._code

    def code_size(self) -> tuple[int, str] | None:
        """Return the amount of code and its unit: lines of assembly or of LLVM IR, or bundles; None if the compiler
        does not show it. Only sizes of the same unit can be compared.
        """
        if not self._code:
            return None
        if self.target.code == "VLIW bundles":
            return sum(self.bundles().values()), "bundles"
        return sum(text.count("\n") for text in self._code.values()), f"lines of {self.target.code}"

    def __repr__(self) -> str:
        size = self.code_size()
        code = f"{size[0]} {size[1]}" if size else f"{self.target.code} {NOT_AVAILABLE}"
        return (
            f"<TargetProgram {self.name} for {self.target.name}: {len(self.kernels)} kernels, "
            f"{len(self.fusions)} of them fused, {len(self.loops)} loops, {code}; {self.compiler}>"
        )


# `0x4 LB: > { ... }`: the address, what begins or ends there, a `>` for each enclosing loop and branch, instructions.
_BUNDLE = re.compile(r"^\s*(?:0x)?[0-9a-f]+\s+(?:[A-Z]{2})?\s*:\s+(?:>\s*)*\{", re.MULTILINE)


def count_bundles(text: str) -> int:
    """Return the number of bundles in a kernel's code, as libtpu writes it, with those of its loops and branches."""
    return len(_BUNDLE.findall(text))
