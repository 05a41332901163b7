"""03 Pytrees: the solutions, as the reference has them, and why."""

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


# --- 03.1 One node ------------------------------------------------------------------------------------------
# A dict remembers the order of insertion, but that order hardly ever matters to anybody, and if it were in
# the key, a dict filled in another order would compile again. So the keys are sorted, as in JAX. The table
# holds each DictKeys weakly: it lives as long as a structure uses it. `unflatten` calls the class by the
# names of its fields, so it does not matter in which order the class has them, and what `__post_init__`
# checks or computes is done again.
#
# Usual mistakes:
#   - Keeping a dict's keys in the order of insertion: then two equal dicts may have two structures.
#   - Looking in the table by the keys alone: then a dict with the key True gets the keys of one with 1.
#   - Making a DictKeys without entering it in the table.
#   - Calling the class with its fields by position.
#
# In JAX: jax/_src/tree_util.py:register_dataclass


def dict_keys(order: tuple[Any, ...]) -> DictKeys:
    """Return the DictKeys of a dict that has these keys, in this order.

    They are sorted, so the order of insertion is forgotten. The same keys always give the same object: the one that
    `known_keys` has under `(types of the keys, keys)`, both tuples, or else a new one, `DictKeys(keys)`, which is
    entered there. (The types matter: 1 and True are equal, but not the same key.) The table is weak: what nothing else
    refers to is gone at once. Hold `intern_lock` to read or change it.

    Raise ValueError, "Comparator raised exception while sorting pytree dictionary keys.", if they cannot be sorted:
    whichever error a comparison raises.
    """
    try:
        keys = tuple(sorted(order))
    except Exception as error:
        raise ValueError(
            f"Comparator raised exception while sorting pytree dictionary keys.{edits.ONE_KIND_OF_KEY}"
        ) from error
    types = tuple(map(type, keys))
    with intern_lock:
        return known_keys.setdefault((types, keys), DictKeys(keys))


class DataclassNode:
    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the values of the fields named in `data_fields`, as a list, and of those in `meta_fields`, as a tuple."""
        data = tuple([getattr(node, name) for name in self.meta_fields])
        return [getattr(node, name) for name in self.data_fields], data

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return the node, by calling `cls` with all fields by their names: the inverse of `flatten`."""
        meta_fields = dict(zip(self.meta_fields, data, strict=True))
        return self.cls(**meta_fields, **dict(zip(self.data_fields, children, strict=True)))


# --- 03.2 What is a node ------------------------------------------------------------------------------------
# Every flattening asks once for each node, so the answer is one lookup in a dict that fills itself. A cache
# is right only as long as nothing changes the answers. `register` changes one, so it corrects the cache. It
# refuses to register twice, since structures that exist already were made by the first registration.
#
# Usual mistakes:
#   - Asking with `isinstance`, or going through the base classes.
#   - Treating a named tuple as a tuple: `point.x` fails on what comes back.
#   - Forgetting `leaf_types`: a class that was met before it was registered stays a leaf.
#
# In JAX: jax/_src/tree_util.py:register_pytree_node


def find_node_type(cls: type) -> NodeType | None:
    """Return what `node_types` should say of a class that it has not seen before.

    `registered` has the NodeType of a class: of exactly this one, and not of those that are derived from it. Every class
    of named tuples (`is_namedtuple`) is a node without being registered, by a NamedTupleNode of its own. For all others
    return None: then `node_types` asks JAX's registry, and instances are leaves if the class is not there either.
    """
    node_type = registered.get(cls)
    if node_type is None and is_namedtuple(cls):
        return NamedTupleNode(cls)
    return node_type


def register(node_type: RegisteredNode) -> None:
    """Make instances of `node_type.cls` nodes, from now on.

    Holding `intern_lock`, enter it in `registered`, and correct what is cached if the class was looked up before: the
    answer in `node_types`, and its place among the `leaf_types`.

    Raise ValueError if the class is registered already: "Duplicate custom PyTreeDef type registration for <class
    ...>.", with the `kind` of the node type in the place of "custom".
    """
    cls = node_type.cls
    with intern_lock:
        if cls in registered:
            raise ValueError(f"Duplicate {node_type.kind} PyTreeDef type registration for {cls!r}.")
        registered[cls] = node_types[cls] = node_type
        leaf_types.discard(cls)


# --- 03.3 Flatten -------------------------------------------------------------------------------------------
# The recursion knows nothing about any kind of node, so a class that is registered tomorrow is not a special
# case. All leaves go into one list that is passed along: joining lists at each level would copy a leaf once
# for each level above it. The reference first asks whether all children are leaves, as they are for most
# nodes at the bottom of a tree, and then is done at once.
#
# Usual mistakes:
#   - Treating None as a leaf: then `jit` gets an argument that is not an array.
#   - Calling `flatten_into` for the children in `flatten_until`: it does not know `is_leaf`.
#   - Building the structure without `make_node`: equal trees have unequal structures, and everything is
#     traced again.
#
# In JAX: jax/_src/tree_util.py:tree_flatten


def flatten_into(leaves: list[Any], tree: Any) -> PyTreeDef:
    """Append the leaves of `tree` to `leaves`, from left to right, and return the structure.

    `node_types[type(tree)]` is None for a leaf, whose structure is `LEAF`. Otherwise it is the NodeType, whose method
    `flatten` gives the children and the metadata; `make_node` makes a structure from it, the metadata, and the tuple of
    the children's structures. (`make_flat_node` does it faster where all children are leaves.)
    """
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    for child in children:
        if type(child) not in leaf_types:
            break
    else:  # leaves only
        leaves += children
        return make_flat_node(node_type, data, len(children))
    structures = []
    for child in children:
        if type(child) in leaf_types:
            leaves.append(child)
            structures.append(LEAF)
        else:
            structures.append(flatten_into(leaves, child))
    return make_node(node_type, data, tuple(structures))


def flatten_until(is_leaf: IsLeaf, leaves: list[Any], tree: Any) -> PyTreeDef:
    """Return the structure, as `flatten_into` does, but stop where `is_leaf(subtree)` is true: that subtree is a leaf.

    Call `is_leaf` once for each subtree that is reached, the whole tree and leaves too, before anything below it;
    `is_stopped_by` converts its result to a bool.
    """
    node_type = None if is_stopped_by(is_leaf(tree)) else node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    structures = [flatten_until(is_leaf, leaves, child) for child in children]
    return make_node(node_type, data, tuple(structures))


# --- 03.4 Unflatten -----------------------------------------------------------------------------------------
# Mistakes of others come to light in `unflatten`: a transformation has lost a leaf, or returned one too many.
# So it counts first, and its error says how many leaves there should be; otherwise leaves would silently end
# up in the wrong places. With an index instead of an iterator, `build` can take all the leaves of a flat node
# in one slice.
#
# Usual mistakes:
#   - Moving on by one leaf for each child, instead of by as many as it has.
#   - Ignoring leaves that are left over.
#   - Taking leaves off the list: it belongs to the caller.
#
# In JAX: jax/_src/tree_util.py:tree_unflatten


class PyTreeDef:
    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure that has these leaves.

        There must be `num_leaves` of them; otherwise raise ValueError: "Too few leaves for PyTreeDef; expected 3, got 2", or
        "Too many leaves for PyTreeDef; expected 3.". `leaves` may be a generator.
        """
        values = leaves if isinstance(leaves, (list, tuple)) else tuple(leaves)
        if len(values) < self.num_leaves:
            raise ValueError(
                f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(values)}{edits.OF_THE_SAME_TREE}"
            )
        if len(values) > self.num_leaves:
            raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.{edits.OF_THE_SAME_TREE}")
        return self.build(values, 0)

    def build(self, leaves: Sequence[Any], start: int) -> Any:
        """Return the tree of this structure whose leaves are `leaves[start : start + self.num_leaves]`.

        `leaves` may be longer: the rest belongs to other parts of a tree. If `self.node_type` is None, this is the
        structure of a leaf. Otherwise `self.node_type.unflatten` makes the node from `self.data`, the metadata, and a
        list or tuple of the children; build these from `self._children`, their structures.
        """
        if self.node_type is None:
            return leaves[start]
        if self.num_nodes == self.num_leaves + 1:  # all children are leaves: one slice, not one call for each
            return self.node_type.unflatten(self.data, leaves[start : start + self.num_leaves])
        children = []
        for child in self._children:
            children.append(child.build(leaves, start))
            start += child.num_leaves
        return self.node_type.unflatten(self.data, children)


# --- 03.5 A function of leaves ------------------------------------------------------------------------------
# `flatten_fun` is the seam between the two worlds: trees outside, leaves inside. Each call calls the user's
# function exactly once, since it may have effects and tracing takes time. A list that two closures share is
# the simplest way to hand out something besides the result; JAX uses a `Store` for it, all over its
# transformations.
#
# Usual mistakes:
#   - Calling the function once for the leaves and once more for the structure.
#   - Forgetting keyword arguments: `in_tree` is the structure of the pair.
#   - Keeping the structure of the first call for ever.
#
# In JAX: jax/_src/api_util.py:flatten_fun


def flatten_fun(
    fun: Callable[..., Any], in_tree: PyTreeDef
) -> tuple[Callable[..., list[Any]], Callable[[], PyTreeDef]]:
    """Turn a function of trees, `fun(*args, **kwargs)`, into one of leaves (in JAX `api_util.flatten_fun`).

    `in_tree` is the structure of the pair `(args, kwargs)`. The first result is a function, named like `fun`, that takes
    the leaves of such a pair, one by one, calls `fun`, and returns the list of the leaves of what `fun` returned.

    The second result is a function without arguments: it gives the structure of what `fun` returned in the last call,
    and raises RuntimeError before the first one.
    """
    out_trees: list[PyTreeDef] = []

    @functools.wraps(fun)
    def flat_fun(*leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(in_tree, leaves)
        results, structure = tree_flatten(fun(*args, **kwargs))
        out_trees[:] = [structure]
        return results

    def out_tree() -> PyTreeDef:
        if not out_trees:
            raise RuntimeError("The structure of the result is not known before the function was called.")
        return out_trees[0]

    return flat_fun, out_tree


# --- 03.6 The way to a leaf ---------------------------------------------------------------------------------
# With a path an error can say *which* of a thousand arrays has the wrong shape. This function is kept apart
# from `flatten_into`, which runs in every call and must not spend time on paths that nobody reads: paths are
# made when something went wrong, or is to be printed.
#
# Usual mistakes:
#   - Numbering the children: the path of a dict's child ends with its key.
#   - Using one list for all paths: it changes after it was handed out.
#   - Asking `stops` about the path of the parent.
#
# In JAX: jax/_src/tree_util.py:tree_flatten_with_path


def flatten_with_paths_into(
    leaves: list[tuple[KeyPath, Any]], path: KeyPath, tree: Any, stops: Callable[[KeyPath, Any], bool] | None
) -> PyTreeDef:
    """Append the leaves of `tree` to `leaves`, each in a pair after its key path, and return the structure.

    `path` leads from the root to `tree`: to a child it is one key entry longer. The method `flatten_with_keys` of a NodeType
    gives pairs of a key entry and a child, and the metadata; otherwise all is as in `tree_util.flatten_into`.

    If `stops` is a function, a subtree for which `stops(path, subtree)` is true is a leaf. Call it once for each
    subtree that is reached, before anything below it; `is_stopped_by` converts its result to a bool.
    """
    stopped = stops is not None and is_stopped_by(stops(path, tree))
    node_type = None if stopped else node_types[type(tree)]
    if node_type is None:
        leaves.append((path, tree))
        return LEAF
    pairs, data = node_type.flatten_with_keys(tree)
    structures = []
    for key, child in pairs:
        structures.append(flatten_with_paths_into(leaves, (*path, key), child, stops))
    return make_node(node_type, data, tuple(structures))
