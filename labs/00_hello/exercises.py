"""00 Hello: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 00.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

from typing import Any

from jitkit import numpy as jnp


# --- 00.1 Your first function (1 point) ---------------------------------------------------------------------
# Write `relu`, which neural networks put between their layers: what is negative becomes 0, everything else
# stays. One line is enough.


def relu(x: Any) -> Any:
    """Return the larger of x and 0, elementwise, with the shape and the dtype of x; nan stays nan.
    """
    raise NotImplementedError("00.1")
