"""The names that authors import in a lab's `checks.py`. `engine.checking` says how checks are written; the others are defined in
`engine.random_programs` and `programs`.
"""

from __future__ import annotations

from .engine.checking import Stablehlo, Unordered, check, module, modules_of_jax, raised, run_by_numpy
from .engine.random_programs import random_programs
from .programs import calls as of_calls
from .programs import chips as of_chips
from .programs import compiled as of_c
from .programs import loops as of_loops
from .programs import mended as of_mended
from .programs import texts as of_texts
from .programs import tracers as of_tracers
from .programs import transformed as of_arrays
from .programs import trees as of_trees

__all__ = [
    "Stablehlo", "Unordered", "check", "module", "modules_of_jax", "of_arrays", "of_c", "of_calls", "of_chips", "of_loops", "of_mended",
    "of_texts", "of_tracers", "of_trees", "raised", "random_programs", "run_by_numpy",
]  # fmt: skip
