"""The old place of `programs_of`, for the `test_ladder.py` in learners' folders."""

from __future__ import annotations

from ..pytest.rungs import programs_of

__all__ = ["programs_of"]
