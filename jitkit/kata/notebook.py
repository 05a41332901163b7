"""The functions that a learner's notebook imports. `screens.notebook` defines them, and says how a notebook is read."""

from __future__ import annotations

from .screens.notebook import check, experiment, hint

__all__ = ["check", "experiment", "hint"]
