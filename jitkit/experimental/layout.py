"""The names of `jax.experimental.layout`, for the memory layout of arrays. XLA chooses that here; it cannot be read or
set

JAX: jax/_src/layout.py:Format
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..base import missing_names

_NOT_HERE = (
    "`{}` is not here: jitkit leaves it to XLA how arrays lie in memory. Give a sharding where JAX takes one, too."
)


class Format:
    """A layout and a sharding. Libraries test for instances; there are none."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(_NOT_HERE.format(f"jax.experimental.layout.{cls.__name__}"))


class Layout(Format):
    """The order of axes in memory. There are no instances."""


missing_names.explain("experimental.layout", sys.modules[__name__])
