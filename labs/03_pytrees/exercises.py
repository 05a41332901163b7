"""03 Pytrees: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 03.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jitkit.base import edits
from jitkit.tree_util import IsLeaf, KeyPath, tree_flatten, tree_unflatten
from jitkit.tree_util.nodes import (
    DictKeys, NamedTupleNode, NodeType, intern_lock, is_namedtuple, known_keys,
)
from jitkit.tree_util.paths import is_stopped_by
from jitkit.tree_util.registered_nodes import RegisteredNode
from jitkit.tree_util.registry import leaf_types, node_types, registered
from jitkit.tree_util.treedef import LEAF, make_flat_node, make_node


# --- 03.1 One node (2 points) -------------------------------------------------------------------------------
# Take a node apart, one level: into its children, and into whatever else is needed to put it together again.
# Do it for a dataclass. For a dict, decide in which order the children come, and keep one object for each set
# of keys.


def dict_keys(order: tuple[Any, ...]) -> DictKeys:
    """Return the DictKeys of a dict that has these keys, in this order.

    They are sorted, so the order of insertion is forgotten. The same keys always give the same
    object: the one that `known_keys` has under `(types of the keys, keys)`, both tuples, or else a
    new one, `DictKeys(keys)`, which is entered there. (The types matter: 1 and True are equal, but
    not the same key.) The table is weak: what nothing else refers to is gone at once. Hold
    `intern_lock` to read or change it.

    Raise ValueError, "Comparator raised exception while sorting pytree dictionary keys.", if they
    cannot be sorted: whichever error a comparison raises.
    """
    raise NotImplementedError("03.1")


class DataclassNode:
    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the values of the fields named in `data_fields`, as a list, and of those in
        `meta_fields`, as a tuple.
        """
        raise NotImplementedError("03.1")

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return the node, by calling `cls` with all fields by their names: the inverse of
        `flatten`.
        """
        raise NotImplementedError("03.1")


# --- 03.2 What is a node (2 points) -------------------------------------------------------------------------
# Everything that is not a node is a leaf, and only the exact type decides. Say whether a class is a node, and
# let users register their own classes at any time.


def find_node_type(cls: type) -> NodeType | None:
    """Return what `node_types` should say of a class that it has not seen before.

    `registered` has the NodeType of a class: of exactly this one, and not of those that are derived
    from it. Every class of named tuples (`is_namedtuple`) is a node without being registered, by a
    NamedTupleNode of its own. For all others return None: then `node_types` asks JAX's registry,
    and instances are leaves if the class is not there either.
    """
    raise NotImplementedError("03.2")


def register(node_type: RegisteredNode) -> None:
    """Make instances of `node_type.cls` nodes, from now on.

    Holding `intern_lock`, enter it in `registered`, and correct what is cached if the class was
    looked up before: the answer in `node_types`, and its place among the `leaf_types`.

    Raise ValueError if the class is registered already: "Duplicate custom PyTreeDef type
    registration for <class ...>.", with the `kind` of the node type in the place of "custom".
    """
    raise NotImplementedError("03.2")


# --- 03.3 Flatten (3 points) --------------------------------------------------------------------------------
# Take a whole tree apart: the list of its leaves, from left to right, and its structure. Then once more for
# users who want to stop earlier.


def flatten_into(leaves: list[Any], tree: Any) -> PyTreeDef:
    """Append the leaves of `tree` to `leaves`, from left to right, and return the structure.

    `node_types[type(tree)]` is None for a leaf, whose structure is `LEAF`. Otherwise it is the
    NodeType, whose method `flatten` gives the children and the metadata; `make_node` makes a
    structure from it, the metadata, and the tuple of the children's structures. (`make_flat_node`
    does it faster where all children are leaves.)
    """
    raise NotImplementedError("03.3")


def flatten_until(is_leaf: IsLeaf, leaves: list[Any], tree: Any) -> PyTreeDef:
    """Return the structure, as `flatten_into` does, but stop where `is_leaf(subtree)` is true: that
    subtree is a leaf.

    Call `is_leaf` once for each subtree that is reached, the whole tree and leaves too, before
    anything below it; `is_stopped_by` converts its result to a bool.
    """
    raise NotImplementedError("03.3")


# --- 03.4 Unflatten (2 points) ------------------------------------------------------------------------------
# Write the way back: make a tree of a structure and a list of leaves.


class PyTreeDef:
    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure that has these leaves.

        There must be `num_leaves` of them; otherwise raise ValueError: "Too few leaves for
        PyTreeDef; expected 3, got 2", or "Too many leaves for PyTreeDef; expected 3.". `leaves` may
        be a generator.
        """
        raise NotImplementedError("03.4")

    def build(self, leaves: Sequence[Any], start: int) -> Any:
        """Return the tree of this structure whose leaves are
        `leaves[start : start + self.num_leaves]`.

        `leaves` may be longer: the rest belongs to other parts of a tree. If `self.node_type` is
        None, this is the structure of a leaf. Otherwise `self.node_type.unflatten` makes the node
        from `self.data`, the metadata, and a list or tuple of the children; build these from
        `self._children`, their structures.
        """
        raise NotImplementedError("03.4")


# --- 03.5 A function of leaves (3 points) -------------------------------------------------------------------
# Users write functions of trees; tracing wants functions of leaves. Turn a function of the first kind into
# one of the second.


def flatten_fun(
    fun: Callable[..., Any], in_tree: PyTreeDef
) -> tuple[Callable[..., list[Any]], Callable[[], PyTreeDef]]:
    """Turn a function of trees, `fun(*args, **kwargs)`, into one of leaves (in JAX
    `api_util.flatten_fun`).

    `in_tree` is the structure of the pair `(args, kwargs)`. The first result is a function, named
    like `fun`, that takes the leaves of such a pair, one by one, calls `fun`, and returns the list
    of the leaves of what `fun` returned.

    The second result is a function without arguments: it gives the structure of what `fun` returned
    in the last call, and raises RuntimeError before the first one.
    """
    raise NotImplementedError("03.5")


# --- 03.6 The way to a leaf (2 points) ----------------------------------------------------------------------
# `params['layers'][0].bias` says more than `leaf 17`. Flatten once more, with the way from the root to each
# leaf.


def flatten_with_paths_into(
    leaves: list[tuple[KeyPath, Any]],
    path: KeyPath,
    tree: Any,
    stops: Callable[[KeyPath, Any], bool] | None,
) -> PyTreeDef:
    """Append the leaves of `tree` to `leaves`, each in a pair after its key path, and return the
    structure.

    `path` leads from the root to `tree`: to a child it is one key entry longer. The method
    `flatten_with_keys` of a NodeType gives pairs of a key entry and a child, and the metadata;
    otherwise all is as in `tree_util.flatten_into`.

    If `stops` is a function, a subtree for which `stops(path, subtree)` is true is a leaf. Call it
    once for each subtree that is reached, before anything below it; `is_stopped_by` converts its
    result to a bool.
    """
    raise NotImplementedError("03.6")
