"""Makes instances of classes that only JAX's registry of pytrees has nodes of our trees, too.

A dataclass of a program written for JAX, or an equinox module, is in JAX's registry alone. If JAX is imported,
`tree_util.registry` looks up each class that it does not know there.

JAX: jax/_src/tree_util.py:default_registry
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tree_util import registry
from ..tree_util.key_entries import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, SequenceKey
from ..tree_util.nodes import NodeType
from ..tree_util.registered_nodes import RegisteredNode
from .beside_jax import pytrees_of_jax


class JaxNode(RegisteredNode):
    """A class whose instances JAX's registry can flatten and unflatten."""

    __slots__ = ("_leaf", "_trees")

    def __init__(self, cls: type, trees: Any) -> None:
        super().__init__(cls)
        self._trees = trees
        self._leaf = trees.default_registry().flatten(0)[1]  # JAX's treedef of a leaf

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the node's children and metadata, by JAX."""
        children, data = self._trees.default_registry().flatten_one_level(node)
        return tuple(children), data

    def flatten_with_keys(self, node: Any) -> tuple[Sequence[tuple[KeyEntry, Any]], Any]:
        """Return the node's children with their key entries, converted to ours, and its metadata, by JAX."""
        pairs, data = self._trees.default_registry().flatten_one_level_with_keys(node)
        return [(_own_key(key), child) for key, child in pairs], data

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return JAX's treedef `data`, unflattened with these children."""
        make = self._trees.PyTreeDef.from_node_data_and_children
        node_data, leaves = (self.cls, data), [self._leaf] * len(children)
        return make(self._trees.default_registry(), node_data, leaves).unflatten(children)


_OWN_KEYS: dict[str, Any] = {
    "SequenceKey": lambda key: SequenceKey(key.idx),
    "DictKey": lambda key: DictKey(key.key),
    "GetAttrKey": lambda key: GetAttrKey(key.name),
    "FlattenedIndexKey": lambda key: FlattenedIndexKey(key.key),
}


def _own_key(key: Any) -> KeyEntry:
    """Convert a key entry of JAX to ours; return any other object unchanged: classes may use any objects as keys."""
    is_of_jax = type(key).__module__.partition(".")[0] in ("jax", "jaxlib")
    return _OWN_KEYS[type(key).__name__](key) if is_of_jax and type(key).__name__ in _OWN_KEYS else key


def _ask_jax(cls: type) -> NodeType | None:
    """Return a NodeType for a class that JAX's registry knows; None for other classes, or if JAX is not imported."""
    trees = pytrees_of_jax()
    if trees is None or not trees.default_registry().is_node(cls):
        return None
    return JaxNode(cls, trees)


registry.foreign.node_type = _ask_jax
