"""Checks and promotes the arguments of `jitkit.scipy`.

JAX: jax/_src/numpy/util.py:promote_args_inexact
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..numpy.promotion import promote_inexact
from ..numpy.util import as_array, given_array


def promoted(name: str, *args: Any) -> list[Any]:
    """Return the arguments as arrays of one inexact dtype, and of one rank, except that scalars may stay scalars."""
    return list(map(as_array, promote_inexact(name, *map(given_array, args))[1]))


def refuse_complex(name: str, x: Any) -> None:
    """Raise ValueError for complex numbers; the message says that the function `name` does not support them."""
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(f"{name} does not support complex-valued inputs.")
