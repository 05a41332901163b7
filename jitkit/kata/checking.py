"""What authors import in a lab's `checks.py`; it is made in `engine.checking`, which says how checks are written."""

from __future__ import annotations

from .engine.checking import Stablehlo, Unordered, check, modules_of_jax, raised, run_by_numpy

__all__ = ["Stablehlo", "Unordered", "check", "modules_of_jax", "raised", "run_by_numpy"]
