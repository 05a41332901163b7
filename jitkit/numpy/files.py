"""Loads arrays from numpy's files.

JAX: jax/_src/numpy/lax_numpy.py:load
"""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from ..core.element_types import bfloat16, is_array_dtype
from .creation import asarray


def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> Any:
    """Return the array in a file that `np.save` wrote; anything else, such as an archive of `np.savez`, as numpy
    returns it.

    Files store bfloat16 as two unnamed bytes, so such data are read as bfloat16.
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == "V2":
        found = found.view(bfloat16)
    return asarray(found) if is_array_dtype(found.dtype) else found
