"""Names each leaf by its path, and describes how two trees differ.

A *key path* is the tuple of key entries from the root to a leaf; `keystr` prints it as code: `['layers'][0].bias`.

Three functions compare trees. `prefix_errors`: one must be a prefix of the other, as for `tree_map`. `equality_errors`:
both must have the same structure, as a loop's input and output carry. `explain_difference`: `jit` says how an argument
differs from an earlier call's. The first two compare trees, the last treedefs, since a cache does not keep values.

JAX: jax/_src/tree_util.py:keystr
"""

from __future__ import annotations

import importlib
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .guessing import everywhere, written
from .key_entries import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey
from .registered_nodes import DataclassNode
from .registry import flatten_one_level_with_keys, node_types
from .skeletons import Skeleton, child_keys, skeleton
from .treedef import LEAF, PyTreeDef, fingerprint, make_node, same_key

IsLeaf = Callable[[Any], bool]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a key path as text: `['a'][0].b`, or with `simple=True, separator="/"` as `a/0/b`."""
    return separator.join(_simple(key) if simple else str(key) for key in keys)


def _simple(key: KeyEntry) -> str:
    match key:
        case SequenceKey(value) | DictKey(value) | GetAttrKey(value) | FlattenedIndexKey(value):
            return str(value)
        case _:
            return str(key)


# --- flattening with paths ----------------------------------------------------------------------------------


def is_stopped_by(verdict: Any) -> bool:
    """Return the result of an `is_leaf` function as a bool. Raise ValueError if it is neither a bool nor None."""
    if verdict is not None and not isinstance(verdict, bool):
        raise ValueError(f"is_leaf predicate returned a non-boolean value {verdict!r}; expected a boolean")
    return bool(verdict)


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Return the leaves of a tree, each after its key path, and the structure. With `is_leaf_takes_path`, `is_leaf` is
    called with the path and the subtree.
    """
    if is_leaf is None:
        guess = everywhere.flatten(tree)
        paths = None if guess is None else written("paths", guess[1])
        if guess is not None and paths is not None:
            return list(zip(paths, guess[0], strict=True)), guess[1]
    stops: Callable[[KeyPath, Any], bool] | None = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:

        def stops(path: KeyPath, subtree: Any) -> bool:
            return is_leaf(subtree)

    leaves: list[tuple[KeyPath, Any]] = []
    treedef = flatten_with_paths_into(leaves, (), tree, stops)
    if is_leaf is None:
        everywhere.learn(tree, treedef)
    return leaves, treedef


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


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, each after its key path; arguments are those of `tree_flatten_with_path`."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


generate_key_paths = tree_leaves_with_path


# --- two trees ----------------------------------------------------------------------------------------------


def _is_leaf(tree: Any, is_leaf: IsLeaf | None) -> bool:
    return node_types[type(tree)] is None or (is_leaf is not None and is_stopped_by(is_leaf(tree)))


def _class(tree: Any) -> type:
    """Return the type of a tree, or of the node that a Skeleton stands for."""
    node_type = tree.treedef.node_type if isinstance(tree, Skeleton) else None
    return node_type.cls if node_type else type(tree)


def _open(tree: Any) -> tuple[list[KeyEntry], list[Any], Any]:
    """Return the key entries and the children of a node, and its metadata."""
    pairs, data = flatten_one_level_with_keys(tree)
    pairs = list(pairs)
    return [key for key, _ in pairs], [child for _, child in pairs], data


def _only_in_one(keys: Sequence[KeyEntry], others: Sequence[KeyEntry]) -> list[KeyEntry]:
    return [key for key in keys if key not in others] + [key for key in others if key not in keys]


def _join(keys: Sequence[KeyEntry]) -> str:
    return " ".join(map(str, keys))


def prefix_errors(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Callable[[str], ValueError]]:
    """Return a function for each place where `prefix_tree` differs from `full_tree`: it takes a name for the prefix,
    and returns an error that says how they differ. The list is empty if `prefix_tree` is a prefix.
    """
    return list(_prefix_errors((), prefix_tree, full_tree, is_leaf))


def _prefix_errors(
    path: KeyPath, prefix: Any, full: Any, is_leaf: IsLeaf | None
) -> Iterator[Callable[[str], ValueError]]:
    if _is_leaf(prefix, is_leaf):  # a leaf is a prefix of anything
        return
    difference = _difference_of_nodes(prefix, full)
    if difference is not None:
        what, details = difference
        message = f"pytree structure error: {what} at key path\n    "
        yield lambda name: ValueError(f"{message}{name}{keystr(path)}\n{details}")
        return
    keys, children, _ = _open(prefix)
    for key, child, full_child in zip(keys, children, _open(full)[1], strict=True):
        yield from _prefix_errors((*path, key), child, full_child, is_leaf)


def _difference_of_nodes(prefix: Any, full: Any) -> tuple[str, str] | None:
    """Return how the roots differ, and the details; None if they do not."""
    cls, other = _class(prefix), _class(full)
    if other is not cls:
        details = f"There the prefix is a\n    {cls}\nand the full tree is a\n    {other}"
        return "different types", details
    keys, children, data = _open(prefix)
    full_keys, full_children, full_data = _open(full)
    if issubclass(cls, (tuple, list)) and len(children) != len(full_children):
        details = f"There the prefix has length {len(children)}, and the full tree has length {len(full_children)}."
        return f"different lengths of {cls.__name__}", details
    if len(children) != len(full_children):
        details = (
            f"There both are a\n    {cls}\nthe prefix with the {len(children)} keys\n    {_join(keys)}\n"
            f"and the full tree with the {len(full_children)} keys\n    {_join(full_keys)}\n"
            f"Only one of them has\n    {_join(_only_in_one(keys, full_keys))}"
        )
        return "different numbers of pytree children", details
    if data != full_data:
        changes = "\n".join(
            importlib.import_module("difflib").ndiff(str(data).splitlines(), str(full_data).splitlines())
        )
        details = (
            f"There both are a\n    {cls}\nwhose metadata differ, in the prefix (-) and the full tree (+):\n"
            f"{textwrap.indent(changes, '    ')}"
        )
        return "different pytree metadata", details
    return None


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf | None = None) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Yield where the structures of two trees differ: the key path, and three strings for "... is a {first} in one tree
    and a {second} in the other, so {third}".
    """
    return _equality_errors((), tree1, tree2, is_leaf)


def equality_errors_pytreedef(tree1: PyTreeDef, tree2: PyTreeDef) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Yield the differences of two structures, as `equality_errors` does; a leaf appears as "pytree leaf"."""
    leaf = _LeafMeta("Leaf", (), {})()
    return equality_errors(*(skeleton(tree, itertools.repeat(leaf)) for tree in (tree1, tree2)))


class _LeafMeta(type):
    def __repr__(cls) -> str:
        return "pytree leaf"


def _equality_errors(
    path: KeyPath, one: Any, two: Any, is_leaf: IsLeaf | None
) -> Iterator[tuple[KeyPath, str, str, str]]:
    if _is_leaf(one, is_leaf) and _is_leaf(two, is_leaf):
        return
    cls, other = _class(one), _class(two)
    if cls is not other:
        yield path, str(cls), str(other), "their Python types differ"
        return
    keys, children, data = _open(one)
    other_keys, other_children, other_data = _open(two)
    if issubclass(cls, (tuple, list)) and len(children) != len(other_children):
        sizes = f"{cls.__name__} of length {len(children)}", f"{cls.__name__} of length {len(other_children)}"
        yield path, *sizes, "the lengths do not match"
        return
    if len(children) != len(other_children):
        only = _only_in_one(keys, other_keys)
        named = all(isinstance(key, DictKey | FlattenedIndexKey) for key in only)
        listed = (
            f", with the symmetric difference of key sets: {{{' '.join(repr(key.key) for key in only)}}}"
            if named
            else ""
        )
        counts = f"{cls} with {_count(children)}", f"{cls} with {_count(other_children)}"
        yield path, *counts, f"the numbers of children do not match{listed}"
        return
    if data != other_data:
        both = f"{cls} with pytree metadata {data}", f"{cls} with pytree metadata {other_data}"
        yield path, *both, "the pytree node metadata does not match"
        return
    for key, child, other_child in zip(keys, children, other_children, strict=True):
        yield from _equality_errors((*path, key), child, other_child, is_leaf)


def _count(children: Sequence[Any]) -> str:
    return f"{len(children)} {'children' if len(children) > 1 else 'child'}"


# --- two treedefs -------------------------------------------------------------------------------------------


def explain_difference(before: PyTreeDef, after: PyTreeDef, root_name: str) -> list[str]:
    """Return sentences that say how a structure changed, each beginning with a path from `root_name`.

    `params['b'] is missing`, `xs was a list of 3 and is a list of 4`, `state.mode was 'train' and is 'eval'`.
    """
    return list(_changes(root_name, before, after))


def nodes_apart(before: PyTreeDef, after: PyTreeDef) -> int:
    """Return the distance of two structures, summed over the nodes that both have: 1 for another type (a list has
    become a tuple), and 1 for other keys or metadata (a dict has lost a key).
    """
    if before is after:
        return 0
    if LEAF in (before, after):
        return 1
    is_other_type = before.node_type is not after.node_type
    old = {str(key): child for key, child in zip(child_keys(before), before.children(), strict=True)}
    new = {str(key): child for key, child in zip(child_keys(after), after.children(), strict=True)}
    differs = old.keys() != new.keys() or not (is_other_type or _equal(before.data, after.data))
    return is_other_type + differs + sum(nodes_apart(old[key], new[key]) for key in old.keys() & new.keys())


def _changes(name: str, before: PyTreeDef, after: PyTreeDef) -> Iterator[str]:
    if same_key(before, after):
        return
    node_type = before.node_type
    if node_type is None or node_type is not after.node_type:
        yield f"{name} was {' and is '.join(_descriptions(before, after))}"
        return
    old = {str(key): child for key, child in zip(child_keys(before), before.children(), strict=True)}
    new = {str(key): child for key, child in zip(child_keys(after), after.children(), strict=True)}
    if len(old) != len(new) and all(map(_is_position, (*child_keys(before), *child_keys(after)))):
        yield f"{name} was {_description(before)} of {len(old)} and is {_description(after)} of {len(new)}"
        return
    yield from (f"{name}{key} is missing" for key in old if key not in new)
    yield from (f"{name}{key} is new" for key in new if key not in old)
    if list(old) == list(new):
        yield from _changes_of_metadata(name, before, after)
    elif old.keys() == new.keys():
        yield f"{name} had its keys in the order {' '.join(old)} and has them in the order {' '.join(new)}"
    for key, child in old.items():
        if key in new:
            yield from _changes(name + key, child, new[key])


def _changes_of_metadata(name: str, before: PyTreeDef, after: PyTreeDef) -> Iterator[str]:
    if _equal(before.data, after.data):
        return
    node_type = before.node_type
    if isinstance(node_type, DataclassNode):
        fields = zip(node_type.meta_fields, before.data, after.data, strict=True)
        yield from (f"{name}.{field} was {old!r} and is {new!r}" for field, old, new in fields if not _equal(old, new))
    elif node_type is not None and type(before.data) is node_type.cls:
        yield f"{name} was {before.data!r} and is {after.data!r}"  # a static node is its own metadata
    else:
        yield f"{name} is {_description(before)} whose metadata were {before.data!r} and are {after.data!r}"


def _equal(one: Any, two: Any) -> bool:
    """Return whether two metadata are the same to a cache, for which 1, True and 1.0 are different."""
    try:
        return bool(fingerprint(one) == fingerprint(two))
    except TypeError:  # metadata of a class with its own `==`
        pass
    try:
        return bool(type(one) is type(two) and one == two)
    except Exception:  # arrays and the like have no bool for `==`, and are not usable as metadata
        return False


def _is_position(key: KeyEntry) -> bool:
    return isinstance(key, (SequenceKey, FlattenedIndexKey))


def _descriptions(one: PyTreeDef, two: PyTreeDef) -> tuple[str, str]:
    """Return short descriptions of the two structures; if these are the same, longer ones."""
    first, second = _description(one), _description(two)
    if first == second:
        return _description(one, qualified=True), _description(two, qualified=True)
    return first, second


def _description(treedef: PyTreeDef, qualified: bool = False) -> str:
    if treedef.node_type is None:
        return "a leaf"
    cls = treedef.node_type.cls
    if cls is type(None):
        return "None"
    name = f"{cls.__module__}.{cls.__qualname__}" if qualified else cls.__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
