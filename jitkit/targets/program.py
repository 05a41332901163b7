"""answer -> TargetProgram: what a compiler made of a program, to be read and not to be run

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
    """Numbers about a program, with `source`: who counted them, and how. Empty where nobody did.

    Numbers of different sources are counted differently, and cannot be compared.
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

    `name` is the function's, `target` the chip, `compiler` the packages that compiled, with versions; `seconds` is
    the time from StableHLO to the finished program, in a process that had not compiled before or had, as it came. `passes` are the
    compiler's own that changed the program, each with the program after it, where XLA was asked to write them down.
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
        """TypeError: there is no such chip here."""
        raise TypeError(
            f"{self.name!r} was compiled for {self.target.name}, ahead of time, and cannot be called here.\n"
            "To run it on this machine, call the jitted function, or `.compile()` without a target."
        )

    def as_text(self) -> str:
        """The HLO text after the compiler's optimisation. `metadata` of a line has the Python line it came from."""
        return self._hlo

    def cost_analysis(self) -> Analysis:
        """Estimates: flops, bytes accessed, transcendentals, and more where the compiler tells."""
        return self._cost

    def memory_analysis(self) -> Analysis:
        """Bytes of arguments, results, temporaries, memory that both share, and code."""
        return self._memory

    # --- read from the HLO ----------------------------------------------------------------------------------

    @property
    def kernels(self) -> list[Kernel]:
        """What runs on its own, fused or not, each once, whether it stands in a loop or not."""
        return self._program.kernels

    @property
    def fusions(self) -> list[Kernel]:
        """The kernels that are several operations in one."""
        return [kernel for kernel in self.kernels if kernel.fused]

    @property
    def loops(self) -> list[Loop]:
        """The loops that are left in the program; others were unrolled, or became part of a kernel."""
        return self._program.loops

    @property
    def _program(self) -> Program:
        if self._read is None:
            self._read = Program(self._hlo)
        return self._read

    # --- the code -------------------------------------------------------------------------------------------

    def ptx(self) -> dict[str, str]:
        """NVIDIA's assembly, by kernel. TargetError for targets that are no GPUs."""
        return self._code_in("PTX")

    def llvm_ir(self) -> dict[str, str]:
        """LLVM's code after its optimisation, by module. TargetError for targets that are no CPUs."""
        return self._code_in("LLVM IR")

    def bundles(self) -> dict[str, int]:
        """How many instruction words (bundles, each of several instructions that begin together) a kernel has on
        a TPU: the length of its schedule, by libtpu's own count. Bundles in a loop are counted once, however often
        they run. TargetError for other targets.
        """
        code = self._code_in("VLIW bundles")
        return {kernel: self._bundles.get(kernel, count_bundles(text)) for kernel, text in code.items()}

    def launches(self) -> list[str]:
        """What a GPU is told to do, in order: kernels with their grids and threads, copies, library calls.
        TargetError for other targets.
        """
        if self.target.platform != "gpu":
            raise TargetError("unavailable", f"a list of launches is {NOT_AVAILABLE} ({self.target.name})")
        return self._launches

    def code(self) -> dict[str, str]:
        """The last stage that can be read, whatever its language is: by kernel or module; empty where there is none."""
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
        """How much code there is, and of what: lines of assembly or of LLVM IR, or bundles; None where the compiler
        does not show it. Only sizes of one kind can be compared.
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


# `0x4 LB: > { ... }`: the address, what begins or ends there, a `>` for each loop and branch around, instructions.
_BUNDLE = re.compile(r"^\s*(?:0x)?[0-9a-f]+\s+(?:[A-Z]{2})?\s*:\s+(?:>\s*)*\{", re.MULTILINE)


def count_bundles(text: str) -> int:
    """The bundles in the code of a kernel, as libtpu writes it, with those of its loops and branches."""
    return len(_BUNDLE.findall(text))
