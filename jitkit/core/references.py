"""Defines the names of JAX's mutable references, which libraries import. jitkit does not support references.

JAX: jax/_src/core.py:new_ref
"""

from __future__ import annotations

from typing import Any, NoReturn

_NOT_HERE = (
    "`jax.{}` is not here: jitkit has no references. Pass arrays in, return them, and write with `x.at[i].set(value)`."
)


class AbstractRef:
    """The type of a reference. No value has it."""


class Ref:
    """A mutable reference to an array. There are no instances."""

    def __new__(cls, aval: Any, refs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(_NOT_HERE.format("Ref"))


def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> NoReturn:
    """Raise NotImplementedError; in JAX it returns a reference."""
    raise NotImplementedError(_NOT_HERE.format("new_ref"))
