"""Nodes of classes that users registered: with their own functions, or by the names of a dataclass's fields.

JAX: jax/_src/tree_util.py:register_pytree_node
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .key_entries import FlattenedIndexKey, GetAttrKey, KeyEntry
from .nodes import NodeType

Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
FlattenWithKeys = Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]]
Unflatten = Callable[[Any, Any], Any]


_EXPECTED = "The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple"


_EXPECTED_KEYS = (
    "The to_iterable_with_keys function for a custom PyTree node should return a (key_leaf_pairs, aux_data) tuple"
)


class RegisteredNode(NodeType):
    """The node type of a class that a user has registered."""

    __slots__ = ()
    is_builtin = False
    keys_are_fixed = False
    kind = "custom"

    def format(self, data: Any, children: Sequence[str]) -> str:
        """Return the text of the node, `CustomNode(Name[metadata], [*, *])`, from those of its children."""
        return f"CustomNode({self.cls.__name__}[{data}], [{', '.join(children)}])"

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return positions: a class's own names for its children depend on the node (see `skeletons`)."""
        return [FlattenedIndexKey(i) for i in range(count)]

    def match(self, node: Any, data: Any, count: int) -> Sequence[Any]:
        """Return the children. Raise ValueError unless type, metadata and number of children are right."""
        cls = type(node)
        if cls is not self.cls:
            kind = self.kind.capitalize()
            raise ValueError(f"{kind} node type mismatch: expected type: {self.cls!r}, value: {node!r}.")
        children, node_data = self.flatten(node)
        if node_data != data:
            raise ValueError(f"Mismatch {self.kind} node data: {data!r} != {node_data!r}; value: {node!r}.")
        if len(children) != count:
            raise ValueError(f"Custom type arity mismatch: {len(children)} != {count}; value: {node!r}.")
        return children


class CustomNode(RegisteredNode):
    """The node type of a class registered with functions to flatten and unflatten its instances."""

    __slots__ = ("_flatten", "_flatten_with_keys", "_unflatten", "keys_are_fixed")

    def __init__(
        self, cls: type, flatten: Flatten, unflatten: Unflatten, flatten_with_keys: FlattenWithKeys | None = None
    ) -> None:
        super().__init__(cls)
        self._flatten = flatten
        self._unflatten = unflatten
        self._flatten_with_keys = flatten_with_keys
        self.keys_are_fixed = flatten_with_keys is None

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the result of the user's function. Raise ValueError unless it is children and metadata."""
        parts: Any = self._flatten(node)
        if not isinstance(parts, tuple) or len(parts) != 2:
            raise ValueError(f"{_EXPECTED}, got {parts!r}")
        children, data = parts
        if isinstance(children, (tuple, list)):
            return children, data
        if not isinstance(children, Iterable):
            raise ValueError(f"{_EXPECTED} where 'children' is iterable, got {parts!r}")
        return tuple(children), data

    def flatten_with_keys(self, node: Any) -> tuple[Sequence[tuple[KeyEntry, Any]], Any]:
        """Return the result of the user's function with keys, or the positions of the children if there is none. Raise
        ValueError unless it is a pair of the keyed children and the metadata.
        """
        if self._flatten_with_keys is None:
            children, data = self.flatten(node)
            return [(FlattenedIndexKey(i), child) for i, child in enumerate(children)], data
        parts: Any = self._flatten_with_keys(node)
        if not isinstance(parts, tuple) or len(parts) != 2:
            raise ValueError(f"{_EXPECTED_KEYS}, got {parts!r}")
        pairs = list(parts[0])
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    f"{_EXPECTED_KEYS} where 'key_leaf_pairs' are pairs of a key and a child, got {pair!r}"
                )
        return pairs, parts[1]

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return positions. (Keys from the user's function are known only for a node: see `skeletons`.)"""
        return [FlattenedIndexKey(i) for i in range(count)] if self.keys_are_fixed else super().keys(data, count)

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return the node, by the user's function; the children are a tuple."""
        return self._unflatten(data, tuple(children))


class DataclassNode(RegisteredNode):
    """The node type of a class whose `data_fields` are children, and whose `meta_fields` are metadata."""

    __slots__ = ("data_fields", "meta_fields")
    keys_are_fixed = True
    kind = "custom dataclass"

    def __init__(self, cls: Any, data_fields: tuple[str, ...], meta_fields: tuple[str, ...]) -> None:
        super().__init__(cls)
        self.data_fields = data_fields  # names of the fields that are children
        self.meta_fields = meta_fields  # names of the fields that are metadata

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the values of the fields named in `data_fields`, as a list, and of those in `meta_fields`, as a tuple."""
        data = tuple([getattr(node, name) for name in self.meta_fields])
        return [getattr(node, name) for name in self.data_fields], data

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return the node, by calling `cls` with all fields by their names: the inverse of `flatten`."""
        meta_fields = dict(zip(self.meta_fields, data, strict=True))
        return self.cls(**meta_fields, **dict(zip(self.data_fields, children, strict=True)))

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return a GetAttrKey for each of the `data_fields`."""
        return [GetAttrKey(name) for name in self.data_fields]
