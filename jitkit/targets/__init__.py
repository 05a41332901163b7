"""StableHLO -> optimised program, for chips that this machine does not have

    jit(f).trace(x).lower().compile(target="tpu:v5e")

One StableHLO text, and the real compilers of CPU, GPU and TPU: what each makes of it can be read, and cannot be
run. The compilers are libraries of their own (the extras `tpu` and `gpu`) which take over the
process that loads them, and end it when something is wrong. So they run in a process of their own:

    table      name -> Target: which compilers there are, and what each needs to be installed
    process    program -> answer: the other process, its environment, and the time that it is given
    worker     what runs there, and the only module besides `runtime` that talks to jaxlib
    hlo        HLO text -> kernels, loops, and the Python lines that each came from
    program    answer -> TargetProgram: what can be asked of the result

Two rules hold throughout. Every number says who counted it, and what a compiler does not tell is said to be
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
