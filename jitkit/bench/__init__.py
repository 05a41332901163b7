"""Measurements: honest stopwatches for notebooks, and the benchmarks of `jitkit bench`. The only part that may import
JAX as a user does.
"""

from __future__ import annotations

from .notebook import compare as compare
from .notebook import misses as misses
from .notebook import timed as timed
