"""The names of `jax.experimental.layout`: how an array lies in memory. XLA chooses that here, and nothing can be asked of it

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
    """A layout and a sharding. Libraries ask whether something is one; none can be made."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """NotImplementedError."""
        raise NotImplementedError(_NOT_HERE.format(f"jax.experimental.layout.{cls.__name__}"))


class Layout(Format):
    """The order of axes in memory. None can be made."""


missing_names.explain("experimental.layout", sys.modules[__name__])
