"""Types for annotations: what is accepted as an array, and what names a dtype.

JAX: jax/_src/typing.py:DTypeLike
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from .runtime.array import Array


class SupportsDType(Protocol):
    """A type with a `dtype`, such as `jitkit.numpy.float32`."""

    @property
    def dtype(self, /) -> np.dtype[Any]:
        """The dtype."""
        ...


ArrayLike: TypeAlias = Array | np.ndarray[Any, Any] | np.bool_ | np.number[Any] | bool | int | float | complex
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | SupportsDType
