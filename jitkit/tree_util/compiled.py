"""treedef -> Python functions that take such trees apart, and put them together

Nearly every call of a jitted function has arguments of the structure that the last call had. Then the
structure need not be found: it can be guessed, and a guess is sooner checked than a structure is found. For
the structure `({'a': *, 'b': None}, *)` this is written:

    def take_apart(t):
        try:
            if type(t) is not tuple or len(t) != 2: return None
            (t_0, t_1,) = t
            if type(t_0) is not dict or len(t_0) != 2: return None
            t_0_0 = t_0['a']
            t_0_1 = t_0['b']
            if t_0_1 is not None: return None
        except KeyError: return None
        leaves = [t_0_0, t_1]
        return leaves if leaf_types.issuperset(map(type, leaves)) else None

That is what `jit` does to functions, done to a treedef: specialise for what was seen, guard it, and fall back
where the guard fails. A dict of 20 arrays in a tuple comes apart in 1.0 us this way, in 2.1 us by
`tree_flatten`, in 2.1 us by JAX's C++.

JAX: jax/_src/tree_util.py:tree_flatten
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .functions import shortcut, tree_flatten
from .nodes import DataclassNode, DictNode, NamedTupleNode, NodeType, NoneNode, RegisteredNode, SequenceNode
from .registry import leaf_types
from .treedef import LEAF, PyTreeDef, fingerprint

TakeApart = Callable[[Any], list[Any] | None]
PutTogether = Callable[[Iterable[Any]], Any]
_MOST_NODES = 256  # to compile for more takes milliseconds
_GREATEST_DEPTH = 50  # Python's parser takes no more than 200 brackets in each other


class Source:
    """The text of a function that takes trees apart, while it is written: lines, the variables that hold leaves, and the
    constants that it refers to.
    """

    def __init__(self, constants: dict[str, Any] | None = None) -> None:
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.constants: dict[str, Any] = constants or {}

    def constant(self, value: Any) -> str:
        """A name for a value in the text."""
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def function(self, name: str, parameters: str) -> Any:
        """The function, compiled."""
        body = "".join(f"    {line}\n" for line in self.lines) or "    pass\n"
        exec(compile(f"def {name}({parameters}):\n{body}", "<jitkit.tree_util.compiled>", "exec"), self.constants)
        return self.constants[name]

    def take_apart(self, treedef: PyTreeDef, name: str) -> None:
        """Write the lines that take the value of variable `name` apart, or return None if it is not of this structure. Leaves
        are not looked at.
        """
        node_type, children = treedef.node_type, treedef.children()
        names = [f"{name}_{i}" for i in range(len(children))]
        if node_type is None:
            self.leaves.append(name)
        elif isinstance(node_type, NoneNode):
            self.lines.append(f"if {name} is not None: return None")
        elif isinstance(node_type, RegisteredNode):
            self._take_registered_apart(node_type, treedef.data, name, names)
        else:
            cls = self.constant(node_type.cls)
            self.lines.append(f"if type({name}) is not {cls} or len({name}) != {len(children)}: return None")
            if isinstance(node_type, DictNode):
                keys = [repr(key) if type(key) is str else self.constant(key) for key in treedef.data.keys]
                self.lines += [f"{child} = {name}[{key}]" for child, key in zip(names, keys, strict=True)]
            else:
                self._unpack(names, name)
        for child, child_name in zip(children, names, strict=True):
            self.take_apart(child, child_name)

    def _take_registered_apart(self, node_type: RegisteredNode, data: Any, name: str, names: list[str]) -> None:
        if type(node_type) is DataclassNode and not node_type.meta_fields:
            self.lines.append(f"if type({name}) is not {self.constant(node_type.cls)}: return None")
            self.lines += [
                f"{child} = {name}.{field}" for child, field in zip(names, node_type.data_fields, strict=True)
            ]
            return
        children_of = self.constant(_children_if_same(node_type, data, len(names)))
        self.lines += [f"{name}_all = {children_of}({name})", f"if {name}_all is None: return None"]
        self._unpack(names, f"{name}_all")

    def _unpack(self, names: list[str], sequence: str) -> None:
        if names:
            self.lines.append(f"({', '.join(names)},) = {sequence}")


class Flattener:
    """`tree_flatten` for one place in a program: it guesses that a tree has the structure of the last two.

    Keys of dicts are compared as dicts do, so the treedef may have `1` where the tree has a key that equals
    it.
    """

    __slots__ = ("_guess", "_last")

    def __init__(self) -> None:
        self._guess: tuple[TakeApart, PyTreeDef] = (lambda tree: None, LEAF)
        self._last = LEAF

    def __call__(self, tree: Any) -> tuple[list[Any], PyTreeDef]:
        """The leaves and the structure of a tree."""
        take_apart, treedef = self._guess
        leaves = take_apart(tree)
        if leaves is not None:
            return leaves, treedef
        leaves, treedef = tree_flatten(tree)
        if treedef is self._last and treedef.num_nodes <= _MOST_NODES:
            self._guess = compile_take_apart(treedef), treedef
        self._last = treedef
        return leaves, treedef


class Mapper:
    """`tree_map` over one tree, which guesses that it has the structure of the last ones."""

    __slots__ = ("_guess", "_last", "_times")
    AFTER = 8  # trees of one structure, one after the other, it is worth half a millisecond to write its functions

    def __init__(self) -> None:
        self._guess: tuple[TakeApart, PutTogether] = (lambda tree: None, LEAF.unflatten)
        self._last = LEAF
        self._times = 0

    def __call__(self, f: Callable[[Any], Any], tree: Any) -> Any:
        """A tree like this one, of what `f` makes of its leaves."""
        take_apart, put_together = self._guess
        leaves = take_apart(tree)
        if leaves is not None:
            return put_together([f(x) for x in leaves])
        leaves, treedef = tree_flatten(tree)
        self._times = self._times + 1 if treedef is self._last else 0
        self._last = treedef
        if self._times == self.AFTER and treedef.num_nodes <= _MOST_NODES and _has_plain_keys(treedef):
            self._guess = compile_take_apart(treedef), compile_put_together(treedef)
        return treedef.unflatten([f(x) for x in leaves])


def _has_plain_keys(treedef: PyTreeDef) -> bool:
    """Whether the keys of its dicts are strings: of others, a tree may have one that equals the treedef's and is another."""
    keys = treedef.data.keys if isinstance(treedef.node_type, DictNode) else ()
    return all(type(key) is str for key in keys) and all(map(_has_plain_keys, treedef.children()))


shortcut.map = Mapper()


# --- taking apart -------------------------------------------------------------------------------------------

_compiled: weakref.WeakKeyDictionary[PyTreeDef, TakeApart] = weakref.WeakKeyDictionary()


def compile_take_apart(treedef: PyTreeDef) -> TakeApart:
    """A function that returns the leaves of a tree that has this structure, and None for any other tree."""
    if treedef in _compiled:
        return _compiled[treedef]
    source = Source({"leaf_types": leaf_types})
    source.take_apart(treedef, "t")
    source.lines += [
        f"leaves = [{', '.join(source.leaves)}]",
        "return leaves if leaf_types.issuperset(map(type, leaves)) else None",
    ]
    inside = [f"    {line}" for line in source.lines]
    source.lines = ["try:", *inside, "except KeyError: return None"]
    take_apart: TakeApart = source.function("take_apart", "t")
    return _compiled.setdefault(treedef, take_apart)


def _children_if_same(node_type: NodeType, data: Any, count: int) -> Callable[[Any], Sequence[Any] | None]:
    """A function that returns the children of a node of this type and metadata, and None for others."""
    expected = _fingerprint_or_none(data)

    def children_of(node: Any) -> Sequence[Any] | None:
        if type(node) is not node_type.cls:
            return None
        children, node_data = node_type.flatten(node)
        if len(children) != count:
            return None
        same = node_data is data or (expected is not None and _fingerprint_or_none(node_data) == expected)
        return children if same else None

    return children_of


def _fingerprint_or_none(data: Any) -> tuple[Any] | None:
    try:
        return (fingerprint(data),)
    except TypeError:
        return None


# --- putting together ---------------------------------------------------------------------------------------


def compile_put_together(treedef: PyTreeDef) -> PutTogether:
    """`treedef.unflatten` as a function that is three times as fast. The number of leaves must be right."""
    if treedef.num_nodes > _MOST_NODES or _depth(treedef) > _GREATEST_DEPTH:
        return treedef.unflatten
    source = Source()
    leaves = [f"x{i}" for i in range(treedef.num_leaves)]
    tree = _expression(treedef, iter(leaves), source)
    if leaves:
        source.lines.append(f"({', '.join(leaves)},) = leaves")
    source.lines.append(f"return {tree}")
    put_together: PutTogether = source.function("put_together", "leaves")
    return put_together


def _expression(treedef: PyTreeDef, leaves: Iterator[str], source: Source) -> str:
    """The Python expression that makes the tree of the next leaves."""
    node_type = treedef.node_type
    if node_type is None:
        return next(leaves)
    children = [_expression(child, leaves, source) for child in treedef.children()]
    if isinstance(node_type, (NoneNode, SequenceNode)):
        return node_type.format(None, children)
    if isinstance(node_type, DictNode):
        keys = [repr(key) if type(key) is str else source.constant(key) for key in treedef.data.keys]
        return f"{{{', '.join(f'{key}: {child}' for key, child in zip(keys, children, strict=True))}}}"
    if isinstance(node_type, NamedTupleNode):
        return f"{source.constant(node_type.cls)}({', '.join(children)})"
    if type(node_type) is DataclassNode and not node_type.meta_fields:
        fields = [f"{field}={child}" for field, child in zip(node_type.data_fields, children, strict=True)]
        return f"{source.constant(node_type.cls)}({', '.join(fields)})"
    unflatten, data = source.constant(node_type.unflatten), source.constant(treedef.data)
    return f"{unflatten}({data}, [{', '.join(children)}])"


def _depth(treedef: PyTreeDef) -> int:
    return 1 + max(map(_depth, treedef.children()), default=0)
