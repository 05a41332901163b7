"""Names of scopes -> one text

JAX: jax/_src/source_info_util.py:NameStack
"""

from __future__ import annotations


class NameStack(tuple[str, ...]):
    """The scopes (`named_scope`) that are open, the outermost first. As a text, they are joined by slashes."""

    __slots__ = ()

    def __str__(self) -> str:
        return "/".join(self)
