"""treedef + leaves -> a tree without the user's classes

To find the names of leaves, the axis of each, or where two structures differ, we walk through a tree whose leaves do
not matter. A user's constructor may require arrays, or compute with them, so `unflatten` cannot build such a tree. In a
*skeleton* a `Skeleton` replaces each node of a user's class, with its class, metadata and children. Tuples, lists and
dicts stay.

JAX: jax/_src/tree_util.py:treedef_children
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .key_entries import KeyEntry
from .registered_nodes import RegisteredNode
from .registry import node_types, registered
from .treedef import LEAF, PyTreeDef, make_node


class Skeleton:
    """Replaces a node of a user's class: its structure, and its children, which are trees again."""

    __slots__ = ("children", "treedef")

    def __init__(self, treedef: PyTreeDef, children: Sequence[Any]) -> None:
        self.treedef = treedef
        self.children = children

    def __repr__(self) -> str:
        node_type = self.treedef.node_type
        return "" if node_type is None else node_type.format(self.treedef.data, list(map(repr, self.children)))


class _SkeletonNode(RegisteredNode):
    """Flattens a Skeleton like the node that it replaces."""

    __slots__ = ()

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the children, and the structure."""
        return node.children, node.treedef

    def flatten_with_keys(self, node: Any) -> tuple[Sequence[tuple[KeyEntry, Any]], Any]:
        """Return the children, each after its key entry, and the structure."""
        return list(zip(child_keys(node.treedef), node.children, strict=True)), node.treedef

    def visible_data(self, data: Any) -> Any:
        """Return the metadata of the node."""
        return data.node_type.visible_data(data.data)


registered[Skeleton] = _SkeletonNode(Skeleton)


def skeleton(treedef: PyTreeDef, leaves: Iterable[Any] | None = None) -> Any:
    """Return the tree of this structure with these leaves, and with a Skeleton for each node of a user's class. Without
    `leaves`, each leaf is `LEAF`, which is a leaf whatever classes a user has registered, even `int`.
    """
    return _skeleton(treedef, itertools.repeat(LEAF) if leaves is None else iter(leaves))


def _skeleton(treedef: PyTreeDef, leaves: Iterator[Any]) -> Any:
    node_type = treedef.node_type
    if node_type is None:
        return next(leaves)
    children = [_skeleton(child, leaves) for child in treedef.children()]
    if node_type.cls in (tuple, list, dict, type(None)):
        return node_type.unflatten(treedef.data, children)
    return Skeleton(treedef, children)


def as_built(treedef: PyTreeDef, leaves: Sequence[Any]) -> Any:
    """Return the tree with this structure and these leaves, for a message; or its skeleton, if a user's class refuses them."""
    try:
        return treedef.unflatten(leaves)
    except Exception:
        return skeleton(treedef, leaves)


# --- keys -----------------------------------------------------------------------------------------------------

# The key entries of nodes whose classes define their own, by structure.
_noted: weakref.WeakKeyDictionary[PyTreeDef, tuple[KeyEntry, ...]] = weakref.WeakKeyDictionary()


def child_keys(treedef: PyTreeDef) -> Sequence[KeyEntry]:
    """Return the key entries of the children of a structure's root: none for a leaf; for a class with its own keys,
    those that `note_keys` remembered.
    """
    if treedef.node_type is None:
        return ()
    return _noted.get(treedef) or treedef.node_type.keys(treedef.data, len(treedef.children()))


def note_keys(tree: Any) -> PyTreeDef:
    """Remember the key entries of all nodes of a tree whose classes define their own; return the structure."""
    node_type = node_types[type(tree)]
    if node_type is None:
        return LEAF
    pairs, data = node_type.flatten_with_keys(tree)
    treedef = make_node(node_type, data, tuple([note_keys(child) for _, child in pairs]))
    if not node_type.keys_are_fixed:
        _noted[treedef] = tuple([key for key, _ in pairs])
    return treedef
