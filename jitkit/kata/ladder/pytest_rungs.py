"""Where the `test_ladder.py` of a learner's folder imported `programs_of` from, when it was written."""

from __future__ import annotations

from ..pytest.rungs import programs_of

__all__ = ["programs_of"]
