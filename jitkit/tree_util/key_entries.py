"""Defines the steps of the way to a leaf: each says which child of a node it goes to.

A step from a node to a child is a *key entry*: an index, a key of a dict, an attribute; a tuple of them is a key path.

JAX: jax/_src/tree_util.py:SequenceKey
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]


class _KeyEntry:
    """One step to a leaf: an immutable value, equal to another of the same kind and attribute.

    (Four frozen dataclasses took 1.5 ms of every start, and these 0.1 ms.)
    """

    __slots__ = ()
    __match_args__: tuple[str] = ("",)  # the name of its one attribute

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to {name!r} of a {type(self).__name__}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(_attribute(self) == _attribute(other))

    def __hash__(self) -> int:
        return hash((type(self), _attribute(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__match_args__[0]}={_attribute(self)!r})"

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        return type(self), (_attribute(self),)


def _attribute(entry: Any) -> Any:
    return getattr(entry, entry.__match_args__[0])


_set = object.__setattr__


class SequenceKey(_KeyEntry):
    """A child of a tuple or list: `[0]`."""

    __slots__ = __match_args__ = ("idx",)
    idx: int

    def __init__(self, idx: int) -> None:
        _set(self, "idx", idx)

    def __str__(self) -> str:
        return f"[{self.idx}]"


class DictKey(_KeyEntry):
    """A child of a dict: `['name']`."""

    __slots__ = __match_args__ = ("key",)
    key: Hashable

    def __init__(self, key: Hashable) -> None:
        _set(self, "key", key)

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class GetAttrKey(_KeyEntry):
    """A child of a named tuple or a dataclass: `.name`."""

    __slots__ = __match_args__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        _set(self, "name", name)

    def __str__(self) -> str:
        return f".{self.name}"


class FlattenedIndexKey(_KeyEntry):
    """A child of a node without names for its children: by position."""

    __slots__ = __match_args__ = ("key",)
    key: int

    def __init__(self, key: int) -> None:
        _set(self, "key", key)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"
