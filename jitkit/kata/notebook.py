"""What a learner's notebook imports; it is made in `screens.notebook`, which says how a notebook is taken."""

from __future__ import annotations

from .screens.notebook import check, experiment, hint

__all__ = ["check", "experiment", "hint"]
