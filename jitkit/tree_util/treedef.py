"""leaves + treedef -> value

A PyTreeDef is a tree without its leaves: the type of each node, its metadata, and the treedefs of its children. `jit`
compiles for a treedef (and the types of the leaves), so it is a dict key in every call. Therefore treedefs are
*interned*: the same parts give the same object, so two are compared by address. Their table has only weak references.

Which metadata are the same? 1, True and 1.0 are equal in Python, but unflattening must return what was flattened. So
the table compares metadata by type and value, or by address if the class does so, too (`fingerprint`). Metadata with
their own equality, or without a hash, have `_ComparedTreeDef`s: one object only for the same metadata object.

`==` compares metadata with `==`, as in JAX: the structures of `{1: x}` and `{True: x}` are equal, and one key of a
dict. But `jit` compiles for each: its keys have `treedef.exact` in place of the treedef, which differs for the two.

JAX: jax/_src/tree_util.py:PyTreeDef
"""

from __future__ import annotations

import collections
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..base import edits
from .nodes import DictKeys, NodeType, intern_lock
from .registry import node_types


class PyTreeDef:
    """The structure of a tree. Equal structures are one object, unless their metadata prevent it.

    `num_leaves` is the number of leaves, `num_nodes` that of all nodes, leaves included.
    """

    __slots__ = (
        "__weakref__", "_children", "_exact", "_hash", "data", "is_plain", "node_type", "num_leaves", "num_nodes", "uses",
        "written",
    )  # fmt: skip

    def __init__(self, node_type: NodeType | None, data: Any, children: tuple[PyTreeDef, ...]) -> None:
        self.node_type = node_type  # None for a leaf
        self.data = data  # the node's metadata, from its `flatten`
        self._children = children  # the children's structures
        # a leaf counts itself
        self.num_leaves: int = 1 if node_type is None else sum([child.num_leaves for child in children])
        self.num_nodes: int = 1 + sum([child.num_nodes for child in children])  # leaves count, too
        self.is_plain: bool = node_type is None or (  # whether it holds no values of the user
            (node_type.is_builtin or _is_plain(data)) and all(child.is_plain for child in children)
        )
        self.uses = 0  # the uses so far: after some, functions are written for the structure (`guessing`)
        self.written: dict[str, Any] | None = None  # the written functions, by name; None before any is due
        self._hash: int | None = None
        self._exact: weakref.ref[ExactTreeDef] | None = None

    def children(self) -> list[PyTreeDef]:
        """Return the treedefs of the children."""
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """Return the type and the metadata of the root (for a dict its keys), or None for a leaf."""
        if self.node_type is None:
            return None
        return self.node_type.cls, list(self.data.keys) if isinstance(self.data, DictKeys) else self.data

    # --- putting together ---

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

    def walk(
        self, f_node: Callable[[tuple[Any, ...], Any], Any], f_leaf: Callable[[Any], Any] | None, leaves: Iterable[Any]
    ) -> Any:
        """Fold the tree of these leaves by `f_leaf(leaf)` and `f_node(results, data)`. Raise ValueError for too many
        leaves or too few.
        """
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(f"Too {'few' if len(values) < self.num_leaves else 'many'} leaves for PyTreeDef")
        return self._walk(f_node, f_leaf, iter(values))

    def _walk(
        self, f_node: Callable[[tuple[Any, ...], Any], Any], f_leaf: Callable[[Any], Any] | None, leaves: Iterator[Any]
    ) -> Any:
        if self.node_type is None:
            leaf = next(leaves)
            return leaf if f_leaf is None else f_leaf(leaf)
        results = tuple([child._walk(f_node, f_leaf, leaves) for child in self._children])
        data = self.node_type.visible_data(self.data)
        return f_node(results, list(data) if isinstance(self.data, DictKeys) else data)

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Return this structure with `inner` in place of each leaf."""
        if self.node_type is None:
            return inner
        return make_node(self.node_type, self.data, tuple([child.compose(inner) for child in self._children]))

    # --- taking apart ---

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of `tree` at the leaves' positions. Raise ValueError if this is not a prefix of the tree."""
        subtrees: list[Any] = []
        self._flatten_up_to(tree, subtrees)
        subtrees.reverse()
        return subtrees

    def _flatten_up_to(self, tree: Any, subtrees: list[Any]) -> None:
        # From the right, as in JAX, so that the same one of several mismatches is reported.
        if self.node_type is None:
            subtrees.append(tree)
            return
        matching = self.node_type.match(tree, self.data, len(self._children))
        for child, subtree in zip(reversed(self._children), reversed(matching), strict=True):
            child._flatten_up_to(subtree, subtrees)

    # --- as an object ---

    def __hash__(self) -> int:
        """Return a hash of the node types, the keys of dicts and the children. Other metadata do not count: they may be
        equal with different hashes, or have no hash.
        """
        if self._hash is None:
            keys = self.data.keys if isinstance(self.data, DictKeys) else None
            self._hash = hash((self.node_type and self.node_type.cls, keys, self._children))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return same_node(self, other) and self._children == other._children

    plain = property(lambda self: self)  # the treedef that users see: for an `ExactTreeDef`, another object

    @property
    def exact(self) -> PyTreeDef:
        """The same structure as a part of cache keys: equal to another `exact` only if their metadata are indistinguishable."""
        exact = None if self._exact is None else self._exact()
        if exact is not None:
            return exact
        with intern_lock:
            exact = None if self._exact is None else self._exact()
            if exact is None:
                exact = self._new_exact()
                self._exact = weakref.ref(exact)
        return exact

    def _new_exact(self) -> ExactTreeDef:
        return ExactTreeDef(self)

    def exact_hash(self) -> int:
        """Return a hash by identity, since equal treedefs are one object. (`_ComparedTreeDef`s are not, and hash the tree.)"""
        return object.__hash__(self)

    def __repr__(self) -> str:
        return f"PyTreeDef({self._format()})"

    def _format(self) -> str:
        if self.node_type is None:
            return "*"
        return self.node_type.format(self.data, [child._format() for child in self._children])

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Return the structure with this root (None: a leaf) and children; ignore `registry`. Raise RuntimeError for an unknown type."""
        if node_data is None:
            return LEAF
        cls, data = node_data
        node_type = node_types[cls]
        if node_type is None:
            raise RuntimeError(f"Could not find type: {cls!r}.")
        parts: Sequence[PyTreeDef] = tuple(children)
        if cls is dict:
            parts, data = node_type.flatten(dict(zip(data, parts, strict=True)))
        return make_node(node_type, data, tuple(parts))

    make_from_node_data_and_children = from_node_data_and_children

    def __reduce__(self) -> tuple[Callable[..., PyTreeDef], tuple[Any, ...]]:
        return self.from_node_data_and_children, (None, self.node_data(), self._children)


class ExactTreeDef(PyTreeDef):
    """A treedef as a part of `jit`'s keys; lives as long as such a key. An interned treedef has at most one."""

    __slots__ = ("_plain",)

    def __init__(self, plain: PyTreeDef) -> None:
        super().__init__(plain.node_type, plain.data, plain._children)
        self._plain = plain  # keeps the plain treedef interned: the same parts make the same object again

    __hash__ = object.__hash__  # by address: `jit`'s keys need no more

    def __eq__(self, other: object) -> bool:
        return self is other if isinstance(other, ExactTreeDef) else super().__eq__(other)

    exact = property(lambda self: self)
    plain = property(lambda self: self._plain)

    def exact_hash(self) -> int:
        """Return the hash of the treedef that this one stands for."""
        return self._plain.exact_hash()


class _ComparedTreeDef(PyTreeDef):
    """A treedef with metadata, here or further down, that have their own equality or no hash."""

    __slots__ = ("_exact_hash",)

    def __init__(self, node_type: NodeType, data: Any, children: tuple[PyTreeDef, ...]) -> None:
        super().__init__(node_type, data, children)
        hashes = tuple([child.exact_hash() for child in children])
        try:
            self._exact_hash = hash((node_type, _types(data), data, hashes))
        except TypeError:
            self._exact_hash = hash((node_type, hashes))

    def _new_exact(self) -> ExactTreeDef:
        return _ComparedExactTreeDef(self)

    def exact_hash(self) -> int:
        """Return the hash of the tree: of node types, and of metadata with a hash, and their types."""
        return self._exact_hash


class _ComparedExactTreeDef(ExactTreeDef):
    """The exact form of a `_ComparedTreeDef`; several of these may be equal without being one object."""

    __slots__ = ()

    def __hash__(self) -> int:
        return self._plain.exact_hash()

    def __eq__(self, other: object) -> bool:
        return same_key(self, other) if isinstance(other, ExactTreeDef) else super().__eq__(other)


def _types(data: Any) -> Any:
    """Return the type of metadata, for the hash: for a tuple, `tuple` and the types of its items."""
    return (tuple, *map(_types, data)) if type(data) is tuple else type(data)


def same_node(one: PyTreeDef, two: PyTreeDef) -> bool:
    """Return whether the roots of two structures have one type, equal metadata and as many children. Raise ValueError
    if comparing the metadata gives no bool.
    """
    if one.node_type is None or two.node_type is None:
        return one is two
    if one.node_type.cls is not two.node_type.cls or len(one._children) != len(two._children):
        return False
    data, other = one.data, two.data
    if data is other:
        return True
    if isinstance(data, DictKeys):
        return bool(data.keys == other.keys)
    try:
        return bool(data == other)
    except Exception as error:
        raise ValueError(
            "Exception raised while checking equality of metadata fields of pytree node of type "
            f"{one.node_type.cls}. Make sure that metadata fields are hashable and have simple equality semantics. "
            "(Note: arrays cannot be passed as metadata fields!)"
        ) from error


def same_key(one: PyTreeDef, two: PyTreeDef) -> bool:
    """Return whether two structures are one to `jit`'s cache: `{1: x}` and `{True: x}` are not."""
    try:
        return one is two or (one.exact_hash() == two.exact_hash() and PyTreeDef.__eq__(one, two))
    except ValueError:  # comparing the metadata gives no bool
        return False


# --- interning ----------------------------------------------------------------------------------------------

LEAF = PyTreeDef(None, None, ())  # the structure of a leaf
_known: weakref.WeakValueDictionary[Any, PyTreeDef] = weakref.WeakValueDictionary()
_flat: dict[tuple[NodeType, Any, int], PyTreeDef] = {}
_FLAT_SIZE = 1024
# Structures that nothing refers to would be made again at each use. So keep some: small ones, without values of the
# user.
_recent: collections.deque[PyTreeDef] = collections.deque(maxlen=1024)
_MOST_NODES = 256

_VALUES = frozenset({bool, int, bytes, types.BuiltinFunctionType, types.MethodType})


def _is_plain(data: Any) -> bool:
    return data is None or type(data) in _PLAIN or (type(data) is tuple and all(map(_is_plain, data)))


_PLAIN = frozenset({str, bool, int, float})


def fingerprint(data: Any) -> Any:
    """Return a stand-in for metadata in the table: equal only for metadata that are indistinguishable. Raise TypeError
    for metadata with their own equality.
    """
    cls: Any = type(data)
    if data is None or cls is str:
        return data
    if cls is tuple:
        return (tuple, *map(fingerprint, data))
    if cls is float or cls is complex:
        return cls, repr(data)  # 0.0 and -0.0 are equal
    if cls in _VALUES:
        return cls, data
    if cls.__eq__ is object.__eq__:
        return data
    if cls is PyTreeDef:
        return cls, id(data)  # a holder of the fingerprint also holds the data
    raise TypeError(f"{cls} has an equality of its own")


def make_node(node_type: NodeType, data: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    """Return the treedef with this root and these children."""
    key: Any = None
    try:
        key = (node_type, data if node_type.is_builtin else fingerprint(data), tuple(map(id, children)))
        found = _known.get(key)
    except TypeError:  # cannot be hashed
        key = found = None
    if found is not None:
        return found
    if key is None or any(isinstance(child, _ComparedTreeDef) for child in children):
        return _make_compared_node(node_type, data, children)
    with intern_lock:
        found = _known.setdefault(key, PyTreeDef(node_type, data, children))
    if found.is_plain and found.num_nodes <= _MOST_NODES:
        _recent.append(found)
    return found


def _make_compared_node(node_type: NodeType, data: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    # By the addresses of the parts: as long as the treedef lives, it keeps them alive, so no other object gets these
    # addresses.
    key = (node_type, id(data), *map(id, children))
    with intern_lock:
        return _known.setdefault(key, _ComparedTreeDef(node_type, data, children))


def make_flat_node(node_type: NodeType, data: Any, count: int) -> PyTreeDef:
    """Return the treedef with this root and `count` leaves."""
    if not node_type.is_builtin or count > _MOST_NODES:
        return make_node(node_type, data, (LEAF,) * count)
    found = _flat.get((node_type, data, count))  # for 20 leaves 0.1 us, by `make_node` 0.5 us
    if found is None:
        if len(_flat) >= _FLAT_SIZE:
            _flat.clear()
        found = _flat[node_type, data, count] = make_node(node_type, data, (LEAF,) * count)
    return found


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure has a single node: a leaf, None, or an empty container."""
    return treedef.num_nodes == 1


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure is a leaf."""
    return treedef is LEAF
