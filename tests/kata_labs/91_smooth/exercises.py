"""91 Smooth: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 91.1` helps, one step further each
time. You may add helpers and imports. The parameters stay as they are: other code calls these functions.
"""

from __future__ import annotations

from typing import Any

from jitkit import numpy as jnp
from jitkit.numpy.util import ensure_arraylike


# --- 91.1 Soft sign (1 point) -------------------------------------------------------------------------------
# Write x / (|x| + 1).


def soft_sign(x: Any) -> Any:
    """x / (|x| + 1)."""
    raise NotImplementedError("91.1")
