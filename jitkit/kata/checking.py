"""What authors import in a lab's `checks.py`; it is made in `engine.checking`, which says how checks are written, and in `programs`."""

from __future__ import annotations

from .engine.checking import Stablehlo, Unordered, check, modules_of_jax, raised, run_by_numpy
from .engine.random_programs import programs
from .programs.transformed import differentiated, mapped

__all__ = [
    "Stablehlo", "Unordered", "check", "differentiated", "mapped", "modules_of_jax", "programs", "raised", "run_by_numpy",
]  # fmt: skip
