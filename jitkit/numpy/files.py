"""Arrays in files of numpy's.

JAX: jax/_src/numpy/lax_numpy.py:load
"""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from ..core.element_types import bfloat16, is_array_dtype
from .creation import asarray


def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> Any:
    """The array in a file that `np.save` wrote; what is no array, such as an archive of `np.savez`, as numpy has it.

    Files keep bfloat16 as two bytes without a name, which are taken to be it.
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == "V2":
        found = found.view(bfloat16)
    return asarray(found) if is_array_dtype(found.dtype) else found
