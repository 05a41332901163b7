"""References, which programs of JAX's write to: names that libraries ask for. jitkit has none

JAX: jax/_src/core.py:new_ref
"""

from __future__ import annotations

from typing import Any, NoReturn

_NOT_HERE = (
    "`jax.{}` is not here: jitkit has no references. Pass arrays in, return them, and write with `x.at[i].set(value)`."
)


class AbstractRef:
    """The type of a reference. Nothing is of this type."""


class Ref:
    """A reference to an array that can be written to. Nothing is an instance."""

    def __new__(cls, aval: Any, refs: Any) -> NoReturn:
        """NotImplementedError."""
        raise NotImplementedError(_NOT_HERE.format("Ref"))


def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> NoReturn:
    """Would return a reference. NotImplementedError."""
    raise NotImplementedError(_NOT_HERE.format("new_ref"))
