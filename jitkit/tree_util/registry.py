"""Says which Python types are nodes, and registers classes as nodes.

A *pytree* is made of nodes; everything that is not a node is a leaf. Nodes are None, tuples, lists, dicts, named
tuples, and instances of classes that are registered, here (as OrderedDict and defaultdict are) or with JAX. Only the
exact type counts: an instance of a subclass of dict is a leaf, unless the subclass was registered too.
`node_types[type(x)]` is the NodeType of x, or None if x is a leaf.

JAX: jax/_src/tree_util.py:register_pytree_node
"""

from __future__ import annotations

import collections
import functools
import operator
import types
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Self, TypeVar

from ..base import edits, traceback_util
from ..base.late_rooms import Slots
from ..base.util import safe_zip
from .key_entries import DictKey, KeyEntry
from .nodes import DictNode, NamedTupleNode, NodeType, NoneNode, SequenceNode, intern_lock, is_namedtuple
from .registered_nodes import CustomNode, DataclassNode, Flatten, FlattenWithKeys, RegisteredNode, Unflatten

Class = TypeVar("Class", bound=type[Any])

registered: dict[type, NodeType] = {  # class -> its NodeType: of the built-in containers, and what users registered
    tuple: SequenceNode(tuple),
    list: SequenceNode(list),
    dict: DictNode(dict),
    type(None): NoneNode(type(None)),
}
leaf_types: set[type] = set()  # the types in `node_types` known to be leaves
_MOST_TYPES = 4096


# Iterators and views of collections, which were probably meant to be tuples.
_GONE_OVER: tuple[Any, ...] = ([], (), {1}, {}, {}.values(), {}.items())
_ITERATED: tuple[type, ...] = (
    *(types.GeneratorType, map, zip, filter, enumerate, reversed, type({}.values())),
    *(type(iter(x)) for x in _GONE_OVER),
)


class _NodeTypes(dict[type, NodeType | None]):
    """Maps a type to its NodeType, or to None for leaves. Answers are cached, also for named tuples and leaves, but not
    for iterators, since each of these gets a warning.
    """

    def __missing__(self, cls: type) -> NodeType | None:
        if len(self) >= _MOST_TYPES:  # classes made on the fly must not be kept alive
            self.clear()
            leaf_types.clear()
        node_type = find_node_type(cls)
        if node_type is None:
            node_type = foreign.node_type(cls)
        if node_type is None:
            if issubclass(cls, _ITERATED):
                _warn_of_iterator(cls)
                return None
            leaf_types.add(cls)
        self[cls] = node_type
        return node_type


def _warn_of_iterator(cls: type) -> None:
    warnings.warn(
        f"Python iterable type '{cls.__name__}' is treated as a leaf in PyTree. Use is_leaf to suppress this warning if you want "
        "this behavior. In a future version of JAX, this will become an error.\n"
        "Make a tuple or a list of it, whose items are leaves.",
        DeprecationWarning,
        stacklevel=traceback_util.stacklevel(),
    )


node_types = _NodeTypes()


class _Foreign(Slots):
    """A slot that `runtime` fills: `node_type(cls)` asks JAX's registry about a class that is not registered here."""

    node_type: Callable[[type], NodeType | None]


foreign = _Foreign()


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


# --- registering --------------------------------------------------------------------------------------------


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


def register_pytree_node(
    nodetype: type[Any],
    flatten_func: Flatten,
    unflatten_func: Unflatten,
    flatten_with_keys_func: FlattenWithKeys | None = None,
) -> None:
    """From now on, treat instances of a class as nodes of trees.

    `flatten_func(node)` returns children and metadata, `unflatten_func(metadata, children)` the node. The metadata need
    a hash and an equality: `jit` compiles for them. `flatten_with_keys_func` returns pairs of a key entry and a child
    in place of the children. Raise ValueError if the class is registered already, and TypeError for functions that
    cannot be called.
    """
    given = (flatten_func, unflatten_func, *(() if flatten_with_keys_func is None else (flatten_with_keys_func,)))
    if not all(map(callable, given)):
        raise TypeError(
            "register_node(): incompatible function arguments. The following argument types are supported:\n"
            "    (type, to_iterable: callable, from_iterable: callable, to_iterable_with_keys: callable | None)\n"
            f"Invoked with types: {', '.join(type(f).__name__ for f in (nodetype, *given))}"
        )
    register(CustomNode(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_node_class(cls: Class) -> Class:
    """Register a class with its method `tree_flatten` and class method `tree_unflatten`, and return it: a decorator."""
    register_pytree_node(cls, operator.methodcaller("tree_flatten"), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type[Any],
    flatten_with_keys: FlattenWithKeys,
    unflatten_func: Unflatten,
    flatten_func: Flatten | None = None,
) -> None:
    """Register a class whose nodes name their children. `flatten_with_keys(node)` returns pairs of a key entry and a
    child, and the metadata; `flatten_func` leaves out the key entries, and may be omitted.
    """

    def flatten_without_keys(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, data = flatten_with_keys(node)
        return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Decorator: register a class with its method `tree_flatten_with_keys`, its class method `tree_unflatten`, and its
    method `tree_flatten` if there is one.
    """
    flatten = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, operator.methodcaller("tree_flatten_with_keys"), cls.tree_unflatten, flatten)
    return cls


def register_static(cls: Class) -> Class:
    """Decorator of a class: make its instances nodes without children, which are their own metadata. To `jit` they are
    static: it compiles for each of them, and tells them apart by hash and equality.
    """
    register_pytree_with_keys(cls, lambda node: ((), node), lambda data, children: data)
    return cls


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Make instances nodes with the `data_fields` as children and the `meta_fields` as metadata. Return the class.

    For a dataclass both may be left out: then the fields with `metadata={"static": True}` are metadata, and all others
    children. Each field that
    `__init__` takes must be in one of the two or in `drop_fields`.

    Raises:
      TypeError: for one of the two without the other, or for neither unless the class is a dataclass.
      ValueError: for fields that a dataclass lacks or that are missing here, a field in both, or a registered class.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either is specified."
            f" Got {data_fields=} {meta_fields=}."
        )
    if data_fields is None or meta_fields is None:
        if not is_dataclass(nodetype):
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is not a "
                f"dataclass. Got {nodetype=}.{edits.A_DATACLASS_FIRST}"
            )
        kept = [field for field in fields(nodetype) if field.name not in drop_fields]
        data_fields = [field.name for field in kept if not field.metadata.get("static", False)]
        meta_fields = [field.name for field in kept if field.metadata.get("static", False)]
    if is_dataclass(nodetype):
        required = {field.name for field in fields(nodetype) if field.init}
        _check_fields(required.difference(drop_fields), {*data_fields, *meta_fields})
    if overlap := {*data_fields} & {*meta_fields}:
        raise ValueError(f"data_fields and meta_fields must not overlap. Overlapping fields: {overlap}.")
    register(DataclassNode(nodetype, tuple(data_fields), tuple(meta_fields)))
    return nodetype


def _check_fields(required: set[str], given: set[str]) -> None:
    if required == given:
        return
    message = "data_fields and meta_fields must include all dataclass fields with ``init=True`` and only them."
    if missing := required - given:
        message += f" Missing fields: {missing}. Add them to drop_fields to suppress this error."
    if unexpected := given - required:
        message += f" Unexpected fields: {unexpected}."
    raise ValueError(message)


class _OrderedDictNode(CustomNode):
    """The node type of OrderedDicts; their metadata are the keys."""

    __slots__ = ()

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return a DictKey for each key."""
        return [DictKey(key) for key in data]

    def flatten_with_keys(self, node: Any) -> tuple[Sequence[tuple[KeyEntry, Any]], Any]:
        """Return the children, each after its key."""
        children, data = self.flatten(node)
        return list(zip(self.keys(data, len(children)), children, strict=True)), data


class _DefaultDictNode(_OrderedDictNode):
    """The node type of defaultdicts; their metadata are the default factory and the keys."""

    __slots__ = ()

    def keys(self, data: Any, count: int) -> Sequence[KeyEntry]:
        """Return a DictKey for each key."""
        return [DictKey(key) for key in data[1]]


def _flatten_defaultdict(node: collections.defaultdict[Any, Any]) -> tuple[list[Any], Any]:
    keys = tuple(sorted(node))
    return [node[key] for key in keys], (node.default_factory, keys)


register(
    _OrderedDictNode(
        collections.OrderedDict,
        lambda node: (list(node.values()), tuple(node)),
        lambda keys, children: collections.OrderedDict(safe_zip(keys, children)),
    )
)
register(
    _DefaultDictNode(
        collections.defaultdict,
        _flatten_defaultdict,
        lambda data, children: collections.defaultdict(data[0], safe_zip(data[1], children)),
    )
)


# --- Partial ------------------------------------------------------------------------------------------------


class _HashableCallableShim:
    """Wraps a partial, so that `functools.partial` does not merge with it. Called, compared and hashed like the partial."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __eq__(self, other: object) -> bool:
        return bool(self.fun == (other.fun if isinstance(other, _HashableCallableShim) else other))

    def __repr__(self) -> str:
        return f"_HashableCallableShim({self.fun!r})"


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a node: its arguments are children, and its function is metadata. So it can be an
    argument of a jitted function: the bound arguments are traced, the function is static.
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Self:
        """Return the Partial. Wrap a `func` that is itself a partial: `functools.partial` would merge the two, and the
        arguments of `func` would become children.
        """
        boxed = _HashableCallableShim(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, boxed, *args, **kwargs)


register_pytree_node(
    Partial,
    lambda node: ((node.args, node.keywords), node.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


# --- asking -------------------------------------------------------------------------------------------------


def is_tree_node(typ: type) -> bool:
    """Return whether instances of a type are nodes."""
    return node_types[typ] is not None


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """Return the children and the metadata of a node. Raise ValueError for a leaf."""
    node_type = _node_type_of(tree)
    children, data = node_type.flatten(tree)
    return children, node_type.visible_data(data)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[KeyEntry, Any]], Any]:
    """Return the children of a node, each after its key entry, and the metadata. Raise ValueError for a leaf."""
    node_type = _node_type_of(tree)
    pairs, data = node_type.flatten_with_keys(tree)
    return pairs, node_type.visible_data(data)


def _node_type_of(node: Any) -> NodeType:
    node_type = node_types[type(node)]
    if node_type is None:
        raise ValueError(f"can't tree-flatten type: {type(node)}")
    return node_type
