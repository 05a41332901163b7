"""Flattens one node of a tree, and rebuilds it.

Flattening splits a node, one level, into its children (trees again) and its metadata: everything else needed to rebuild
it, such as the keys of a dict or the static fields of a dataclass. Each Python type has one `NodeType` that does this.

JAX: jax/_src/tree_util.py:flatten_one_level
"""

from __future__ import annotations

import functools
import operator
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..base import edits
from .key_entries import DictKey, GetAttrKey, KeyEntry, SequenceKey


class NodeType:
    """Flattens and rebuilds the nodes of one Python type, `cls`."""

    __slots__ = ("cls",)
    is_builtin = True  # its metadata hold no values of the user
    keys_are_fixed = True  # the metadata fix the key entries of the children, so that no node has to be asked

    def __init__(self, cls: type) -> None:
        self.cls = cls  # the type of the nodes

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the children and the metadata of a node."""
        raise NotImplementedError

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return the node with these metadata and children."""
        raise NotImplementedError

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return the key entries of `count` children."""
        raise NotImplementedError

    def format(self, data: Any, children: Sequence[str]) -> str:
        """Return the node as a PyTreeDef prints it, from the text of the children."""
        raise NotImplementedError

    def match(self, node: Any, data: Any, count: int) -> Sequence[Any]:
        """Return the children of a node that must have these metadata and `count` children. Raise ValueError if it does not."""
        raise NotImplementedError

    def flatten_with_keys(self, node: Any) -> tuple[Sequence[tuple[KeyEntry, Any]], Any]:
        """Return the children, each after its key entry, and the metadata."""
        children, data = self.flatten(node)
        return tuple(zip(self.keys(data, len(children)), children, strict=True)), data

    def visible_data(self, data: Any) -> Any:
        """Return the metadata as `flatten_one_level` shows them."""
        return data


class NoneNode(NodeType):
    """The node type of None, which has no children."""

    __slots__ = ()

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return no children, and no metadata."""
        return (), None

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return None."""
        return None

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return no keys, since None has no children."""
        return ()

    def format(self, data: Any, children: Sequence[str]) -> str:
        """Return `None` as text."""
        return "None"

    def match(self, node: Any, data: Any, count: int) -> Sequence[Any]:
        """Return no children. Raise ValueError for anything but None: None is not a prefix of a leaf."""
        if node is not None:
            raise ValueError(
                f"Expected None, got {node!r}.\n\n"
                "None is a node without children, and matches nothing but None. "
                "To treat it as a leaf, say so: `is_leaf=lambda x: x is None`."
            )
        return ()


@functools.lru_cache(maxsize=64)
def _indices(count: int) -> tuple[KeyEntry, ...]:
    return tuple([SequenceKey(i) for i in range(count)])


class SequenceNode(NodeType):
    """The node type of tuples, or of lists."""

    __slots__ = ()

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the items, and None as metadata."""
        return node, None

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return a tuple or list of the items."""
        return self.cls(children)

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return a SequenceKey for each item, with its index."""
        return _indices(count)

    def format(self, data: Any, children: Sequence[str]) -> str:
        """Return the text of the node, `[*, *]` or `(*, *)`, from those of its children."""
        if self.cls is list:
            return f"[{', '.join(children)}]"
        return f"({children[0]},)" if len(children) == 1 else f"({', '.join(children)})"

    def match(self, node: Any, data: Any, count: int) -> Sequence[Any]:
        """Return the items. Raise ValueError for a node of another type or length."""
        name, cls = self.cls.__name__, type(node)
        if cls is not self.cls:
            raise ValueError(f"Expected {name}, got {node!r}.")
        children: Sequence[Any] = node
        if len(children) != count:
            kind = name.capitalize()
            raise ValueError(f"{kind} arity mismatch: {len(children)} != {count}; {name}: {node!r}.")
        return children


class NamedTupleNode(NodeType):
    """The node type of one class of named tuples."""

    __slots__ = ("field_keys",)

    def __init__(self, cls: Any) -> None:
        super().__init__(cls)
        self.field_keys = tuple(GetAttrKey(name) for name in cls._fields)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the items, and None as metadata."""
        return list(node), None

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return an instance of the class with these items."""
        return self.cls(*children)

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return a GetAttrKey for each field."""
        return self.field_keys

    def format(self, data: Any, children: Sequence[str]) -> str:
        """Return the text of the node, `CustomNode(namedtuple[Point], [*, *])`, from those of its children."""
        return f"CustomNode(namedtuple[{self.cls.__name__}], [{', '.join(children)}])"

    def match(self, node: Any, data: Any, count: int) -> Sequence[Any]:
        """Return the items. Raise ValueError for a node of another class or length."""
        cls = type(node)
        if not is_namedtuple(cls):
            raise ValueError(f"Expected named tuple, got {node!r}.")
        if len(node) != count:
            raise ValueError(f"Named tuple arity mismatch: {len(node)} != {count}; tuple: {node!r}.")
        if cls is not self.cls:
            raise ValueError(f"Named tuple type mismatch: expected type: {self.cls!r}, tuple: {node!r}.")
        return list(node)

    def visible_data(self, data: Any) -> Any:
        """Return the class itself."""
        return self.cls


def is_namedtuple(cls: type) -> bool:
    """Return whether instances of the class are named tuples."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


class DictKeys:
    """The sorted keys of a dict. Equal keys are one object, so that they compare by address.

    `take(d)` is the tuple of the values of d, sorted by key.
    """

    __slots__ = ("__weakref__", "_entries", "keys", "take")

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self.keys = keys
        self._entries: list[KeyEntry] | None = None
        self.take: Callable[[dict[Any, Any]], tuple[Any, ...]] = (
            operator.itemgetter(*keys) if len(keys) > 1 else lambda node: tuple([node[key] for key in keys])
        )

    def entries(self) -> list[KeyEntry]:
        """Return the key entries, made once."""
        if self._entries is None:
            self._entries = [DictKey(key) for key in self.keys]
        return self._entries


intern_lock = threading.RLock()  # for the tables; reentrant, since a garbage collection may call back into here
# (types of keys, keys) -> DictKeys
known_keys: weakref.WeakValueDictionary[Any, DictKeys] = weakref.WeakValueDictionary()
_str_keys_by_order: dict[tuple[str, ...], DictKeys] = {}  # keys in the order of a dict -> their DictKeys
_MOST_ORDERS = 1024
_MOST_KEYS = 4096  # of a dict with more keys, the order is not remembered


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


def _remember_order(order: tuple[Any, ...], keys: DictKeys) -> None:
    """Remember the order, so that keys in it need not be sorted next time; for strings only, which equal nothing else."""
    if len(order) <= _MOST_KEYS and all(type(key) is str for key in order):
        if len(_str_keys_by_order) >= _MOST_ORDERS:
            _str_keys_by_order.clear()
        _str_keys_by_order[order] = keys


_NO_KEYS = DictKeys(())
known_keys[(), ()] = _NO_KEYS


class DictNode(NodeType):
    """The node type of dicts. Children are sorted by key, so that the order of insertion does not matter."""

    __slots__ = ()

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return the values sorted by key, and the DictKeys."""
        if not node:
            return (), _NO_KEYS  # the keyword arguments of most calls: saves 0.3 us
        order = tuple(node)
        keys = _str_keys_by_order.get(order)
        if keys is None or type(order[0]) is not str:
            # Not found, or found although the keys are of a subclass of str. Checking one key is enough, since mixed
            # keys do not occur; checking all would cost 0.4 us of 2.1.
            keys = dict_keys(order)
            _remember_order(order, keys)
        return keys.take(node), keys

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """Return a dict sorted by key."""
        return dict(zip(data.keys, children, strict=True))

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return a DictKey for each key."""
        entries: list[KeyEntry] = data.entries()
        return entries

    def format(self, data: Any, children: Sequence[str]) -> str:
        """Return the text of the node, `{'a': *, 'b': *}`, from those of its children."""
        items = (f"{key!r}: {child}" for key, child in zip(data.keys, children, strict=True))
        return f"{{{', '.join(items)}}}"

    def match(self, node: Any, data: Any, count: int) -> Sequence[Any]:
        """Return the values, sorted by key. Raise ValueError for anything but a dict with the same keys."""
        cls = type(node)
        if cls is not dict:
            raise ValueError(f"Expected dict, got {node!r}.")
        _, present = self.flatten(node)
        if present.keys != data.keys:
            expected, actual = list(data.keys), list(present.keys)
            raise ValueError(f"Dict key mismatch; expected keys: {expected}; present keys: {actual}.")
        children: Sequence[Any] = data.take(node)
        return children

    def visible_data(self, data: Any) -> Any:
        """Return the tuple of the keys."""
        return data.keys
