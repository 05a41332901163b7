"""The names that authors import in a lab's `mutants.py`. `engine.mutants` defines them, and says how wrong answers are written."""

from __future__ import annotations

from .engine.mutants import also_right, edit, mutant

__all__ = ["also_right", "edit", "mutant"]
