"""StableHLO -> optimised program, for chips that this machine lacks

    jit(f).trace(x).lower().compile(target="tpu:v5e")

The real compilers of CPU, GPU and TPU compile one StableHLO text: the result can be read, but not run. The compilers
are separate libraries (the extras `tpu` and `gpu`), which take over the process that loads them, and end it if
something is wrong. So they run in their own process:

    table      name -> Target: which compilers there are, and what must be installed for each
    process    program -> answer: the other process, its environment, and its time limit
    worker     what runs there: it uses jaxlib itself
    hlo        HLO text -> kernels, loops, and the Python lines that each came from
    program    answer -> TargetProgram: the compiled program, to be read

Two rules hold throughout. Every number says who counted it, and numbers that a compiler does not give are marked as
missing. And nothing ranks targets: their compilers count differently.
"""

from __future__ import annotations

from .hlo import Kernel as Kernel
from .hlo import Line as Line
from .process import Compilers as Compilers
from .program import Analysis as Analysis
from .program import TargetProgram as TargetProgram
from .table import TARGETS as TARGETS
from .table import Target as Target
from .table import TargetError as TargetError
from .table import find as find
from .table import obstacle as obstacle
