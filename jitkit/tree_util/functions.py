"""value -> leaves + treedef

Flattening turns a tree of tuples, lists, dicts and other nodes into the list of its leaves, from left to right, and its
structure. Everything inside `jit` works on the leaves; the structure rebuilds the result at the end. So a user's
`params["layers"][3].bias` is a number in a list to all later stages.

    leaves, treedef = tree_flatten({"b": 1, "a": (2, None)})    # [2, 1], PyTreeDef({'a': (*, None), 'b': *})
    tree_unflatten(treedef, leaves)                             # {'a': (2, None), 'b': 1}

`nodes` flattens one node, `registry` says what is a node, `treedef` defines structures, `paths` names leaves and
describes differences of two trees. `guessing` and `compiled` write functions for frequent structures. All public names
are here.

JAX: jax/_src/tree_util.py:tree_flatten
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..base import edits
from ..base.util import refuse_values, unzip2
from .guessing import Guesses, everywhere, written
from .key_entries import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey
from .paths import (
    equality_errors,
    equality_errors_pytreedef,
    explain_difference,
    generate_key_paths,
    is_stopped_by,
    keystr,
    prefix_errors,
    tree_flatten_with_path,
    tree_leaves_with_path,
)
from .registry import (
    Partial,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    leaf_types,
    node_types,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from .skeletons import skeleton
from .treedef import (
    LEAF,
    PyTreeDef,
    make_flat_node,
    make_node,
    same_node,
    treedef_children,
    treedef_is_leaf,
    treedef_is_strict_leaf,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "default_registry",
    "equality_errors",
    "equality_errors_pytreedef",
    "explain_difference",
    "flatten_fun",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "generate_key_paths",
    "is_tree_node",
    "keystr",
    "prefix_errors",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_is_strict_leaf",
    "treedef_tuple",
]

IsLeaf = Callable[[Any], bool]


# --- flatten and unflatten ----------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a tree, from left to right, and its structure. If `is_leaf(subtree)` is true, the whole
    subtree counts as a leaf. Raise ValueError for a dict whose keys cannot be sorted.
    """
    if is_leaf is None:
        return flatten_by(everywhere, tree)
    leaves: list[Any] = []
    treedef = flatten_until(is_leaf, leaves, tree)
    return leaves, treedef


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


def flatten_by(guesses: Guesses, tree: Any) -> tuple[list[Any], PyTreeDef]:
    """Return the same as `tree_flatten`, faster for trees whose structures are often the same."""
    found = guesses.flatten(tree)
    if found is not None:
        return found
    leaves: list[Any] = []
    treedef = flatten_into(leaves, tree)
    guesses.learn(tree, treedef)
    return leaves, treedef


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Return the tree with this structure and these leaves. Raise ValueError if they are too many or too few."""
    put_together = written("put_together", treedef) if isinstance(treedef, PyTreeDef) else None
    values = leaves if isinstance(leaves, (list, tuple)) else tuple(leaves)
    if put_together is None or len(values) != treedef.num_leaves:
        return treedef.unflatten(values)
    return put_together(values)


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaves of a tree, from left to right; `is_leaf` is as for `tree_flatten`."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of a tree; `is_leaf` is as for `tree_flatten`."""
    return tree_flatten(tree, is_leaf)[1]


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


# --- map and reduce -----------------------------------------------------------------------------------------


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply `f` to each leaf of `tree` and to the subtrees at its place in the other trees; return a tree like the
    first. `is_leaf` is as for `tree_flatten`. Raise ValueError, with the key path and both sides, if the first tree is
    not a prefix of another.
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    refuse_values(f, leaves)
    if not rest:
        return tree_unflatten(treedef, [f(leaf) for leaf in leaves])
    columns = [leaves, *[_flatten_up_to(treedef, tree, other, "tree_map tree", is_leaf) for other in rest]]
    return tree_unflatten(treedef, [f(*row) for row in zip(*columns, strict=True)])


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Return `tree_map(f, tree, *rest)` for an `f` that takes the key path of the leaf first. Errors are those of `tree_map`."""
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [_flatten_up_to(treedef, tree, other, "tree_map_with_path tree", None) for other in rest]
    return tree_unflatten(treedef, [f(*row) for row in zip(*unzip2(pairs), *columns, strict=True)])


def _flatten_up_to(treedef: PyTreeDef, tree: Any, other: Any, name: str, is_leaf: IsLeaf | None) -> list[Any]:
    """Return the parts of `other` at the leaves of `tree`. Raise ValueError, which says where, if their structures differ."""
    take_apart = written("guess", treedef)
    parts = None if take_apart is None else take_apart(other)  # in most calls `other` has the same structure
    if parts is not None:
        return list(parts)
    try:
        return treedef.flatten_up_to(other)
    except ValueError as error:
        in_words = next(iter(prefix_errors(tree, other, is_leaf)), None)
        raise ValueError(f"{error if in_words is None else in_words(name)}{edits.ONE_STRUCTURE}") from None


class Unspecified:
    """The default of an argument that may be None: the argument was not given."""


_UNSPECIFIED = Unspecified()


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _UNSPECIFIED, is_leaf: IsLeaf | None = None
) -> Any:
    """Return the leaves, folded with `functools.reduce` from left to right. Raise TypeError for no leaves and no initializer."""
    leaves = tree_leaves(tree, is_leaf)
    if isinstance(initializer, Unspecified):
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _UNSPECIFIED, is_leaf: IsLeaf | None = None
) -> Any:
    """Return the leaves, reduced in halves: each goes through about log2(number of leaves) operations. Raise TypeError
    for no leaves and no identity.
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _reduce_halves(operation, leaves)
    if isinstance(identity, Unspecified):
        raise TypeError("Must specify identity for parallel reduction of empty sequence.")
    return identity


def _reduce_halves(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return operation(_reduce_halves(operation, values[:middle]), _reduce_halves(operation, values[middle:]))


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Return whether all leaves are true; `is_leaf` is as for `tree_flatten`."""
    return all(tree_leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Return whether all items are leaves; `is_leaf` is as for `tree_flatten`."""
    items = list(iterable)
    leaves = tree_leaves(items, is_leaf)
    return len(leaves) == len(items) and all(leaf is item for leaf, item in zip(leaves, items, strict=True))


# --- trees of trees -----------------------------------------------------------------------------------------


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Return an outer tree of inner trees, turned inside out: `[(1, 2), (3, 4)]` into `([1, 3], [2, 4])`. If
    `inner_treedef` is None, it is that of the first subtree. Raise TypeError if the number of leaves is wrong.
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    size = inner_treedef.num_leaves
    if len(leaves) != outer_treedef.num_leaves * size:
        raise TypeError(f"Mismatch\n{treedef}\n != \n{outer_treedef.compose(inner_treedef)}")
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::size]) for i in range(size) if leaves])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Return a tree like `full_tree`, each leaf of the prefix repeated below it. Raise ValueError if `prefix_tree` is not a prefix."""
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return a list with each leaf of the prefix, repeated once per leaf of the full tree below it. Raise ValueError if
    `prefix_tree` is not a prefix of `full_tree`.
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = _flatten_up_to(treedef, prefix_tree, full_tree, "broadcast_prefix prefix_tree", is_leaf)
    return [leaf for leaf, subtree in zip(leaves, subtrees, strict=True) for _ in tree_leaves(subtree)]


def broadcast_over(prefix_tree: Any, full: PyTreeDef, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the same as `broadcast_prefix`, for the structure of a full tree."""
    leaves, prefix = tree_flatten(prefix_tree, is_leaf)
    counts: list[int] = []
    if not _count_below(prefix, full, counts):
        in_words = next(iter(prefix_errors(prefix_tree, skeleton(full), is_leaf)), None)
        raise ValueError(f"{prefix} is not a prefix of {full}.") if in_words is None else in_words("prefix_tree")
    return [leaf for leaf, count in zip(leaves, counts, strict=True) for _ in range(count)]


def _count_below(prefix: PyTreeDef, full: PyTreeDef, counts: list[int]) -> bool:
    """Return whether `prefix` is a prefix of `full`. Append to `counts`, for each leaf of `prefix`, the number of leaves below it."""
    if prefix is LEAF:
        counts.append(full.num_leaves)
        return True
    pairs = zip(prefix.children(), full.children(), strict=False)
    return same_node(prefix, full) and all(_count_below(one, two, counts) for one, two in pairs)


# --- structures ---------------------------------------------------------------------------------------------


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees with these structures."""
    return PyTreeDef.from_node_data_and_children(default_registry, (tuple, None), treedefs)


class _Registry:
    """The registry as an object, for code that uses JAX's `default_registry`."""

    flatten = staticmethod(tree_flatten)
    is_node = staticmethod(is_tree_node)
    register_node = staticmethod(register_pytree_node)

    @staticmethod
    def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any] | None:
        """Return the result of the function `flatten_one_level`; None for a leaf."""
        return flatten_one_level(tree) if is_tree_node(type(tree)) else None

    @staticmethod
    def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[KeyEntry, Any]], Any] | None:
        """Return the result of the function `flatten_one_level_with_keys`; None for a leaf."""
        return flatten_one_level_with_keys(tree) if is_tree_node(type(tree)) else None


default_registry = _Registry()
