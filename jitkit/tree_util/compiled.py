"""treedef -> Python functions that flatten such trees, and rebuild them

For the structure `({'a': *, 'b': None}, [(*, *), (*, *)])` we write:

    def f0(t):
        if type(t) is not c0 or len(t) != 2: raise Other
        (n0, n1,) = t
        return [n0, n1]
    def take_apart(t):
        try:
            ...                                           such lines for each container
            n2 = n0['a']
            n4 = [leaf for child in n1 for leaf in f0(child)]
            leaves = [n2, *n4]
        except (KeyError, Other): return None
        return leaves if leaf_types.issuperset(map(type, leaves)) else None

This does to a treedef what `jit` does to functions: specialise for what was seen, guard it, and fall back if the guard
fails. A repeated part, such as a model's layer, has its own function, and neighbouring leaves are unpacked together. So
the text grows only with the number of different parts. Python compiles a line in 20 us, so a text longer than
`_MANY_LINES` is written only for a structure that has already cost that much time without it. A text longer than
`_MOST_LINES`, or for a tree deeper than `_MOST_LEVELS`, is never written.

JAX: jax/_src/tree_util.py:tree_flatten
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .guessing import TakeApart, writers, written
from .key_entries import KeyPath
from .nodes import DictNode, NamedTupleNode, NodeType, NoneNode, SequenceNode
from .registered_nodes import DataclassNode, RegisteredNode
from .registry import leaf_types
from .treedef import LEAF, PyTreeDef, fingerprint

PutTogether = Callable[[Iterable[Any]], Any]
_MANY_LINES = 512  # up to this many lines, a structure need not come more often than `guessing.AFTER` times
_MOST_LINES = 16384
_LINES_A_USE = 100  # compiling this many lines takes as long as one use of the written function saves
_MOST_PATHS = 16384  # at most this many key paths are kept for a structure
_MANY = 24  # this many neighbouring leaves, or more, are unpacked together
_SEVERAL = 3  # more neighbouring nodes of one structure than this are handled in a loop
_DEEPEST = 24  # nested nodes in one function: Python's parser allows at most 200 brackets
_MOST_LEVELS = 256
_SMALL = 8  # a repeated part with at most this many nodes is written inline


class Other(Exception):
    """Raised by a written function for a tree of another structure."""


class Shape:
    """The size of the functions to write for some structures: the number of lines, and the repeated parts. Trees are
    large, but made of few parts: each is analysed once.
    """

    def __init__(self, *treedefs: PyTreeDef) -> None:
        self.lines = 0
        self.repeated: set[int] = set()  # ids of treedefs: `==` of treedefs would call the `==` of users' metadata
        self.has_plain_keys = True  # all keys are strings; other keys may equal the treedef's and still differ
        self.depth = 0
        met: set[int] = set()
        waiting = [(treedef, 0) for treedef in treedefs]
        while waiting and not self.is_too_long:
            treedef, depth = waiting.pop()
            self.depth = max(self.depth, depth)
            if id(treedef) in met:
                if treedef.num_nodes > _SMALL:
                    self.repeated.add(id(treedef))
                else:
                    self.lines += treedef.num_nodes
                continue
            met.add(id(treedef))
            children = treedef.children()
            if isinstance(treedef.node_type, DictNode):
                self.has_plain_keys &= all(type(key) is str for key in treedef.data.keys)
            if is_uniform(children):
                self.lines += 2
                waiting.append((children[0], depth + 1))
            else:
                self.lines += 1 + len(children)
                waiting += [(child, depth + 1) for child in children if child is not LEAF]

    @property
    def is_too_long(self) -> bool:
        """Whether the text would be longer than it is worth, or the tree is too deep."""
        return self.lines > _MOST_LINES or self.depth > _MOST_LEVELS


def is_uniform(children: Sequence[PyTreeDef]) -> bool:
    """Return whether the children all have one structure, and are enough to be handled in a loop."""
    if len(children) <= _SEVERAL or (children[0] is LEAF and len(children) <= _MANY):
        return False
    return all(child is children[0] for child in children)


class Source:
    """The text of functions while it is written: the lines of the current one, expressions for the leaves (`*n4` for
    several), and the constants that the text refers to.
    """

    def __init__(self, shape: Shape, constants: dict[str, Any], looks_at_keys: bool = False) -> None:
        self.shape = shape
        self.constants = constants
        self.looks_at_keys = looks_at_keys  # whether the text checks that keys are of type str: a subclass can be equal
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self._texts: list[str] = []  # the texts of the functions that it calls
        self._functions: dict[tuple[str, int], str] = {}
        self._variables = 0

    def constant(self, value: Any) -> str:
        """Return a name for a value in the text."""
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def function(self, name: str, parameters: str) -> Any:
        """Return the current function, compiled."""
        self.constants["Other"] = Other
        text = "".join([*self._texts, self._definition(name, parameters)])
        exec(compile(text, "<jitkit.tree_util.compiled>", "exec"), self.constants)
        return self.constants.pop(name)  # otherwise the function's constants would contain the function

    def _definition(self, name: str, parameters: str) -> str:
        body = "".join(f"    {line}\n" for line in self.lines) or "    pass\n"
        return f"def {name}({parameters}):\n{body}"

    def _variable(self, value: str) -> str:
        name = f"n{self._variables}"
        self._variables += 1
        self.lines.append(f"{name} = {value}")
        return name

    def _function_for(self, treedef: PyTreeDef, kind: str, write: Callable[[Source, PyTreeDef], str]) -> str:
        """Return the name of the function for a part of the structure; write it if it is not written yet."""
        name = self._functions.get((kind, id(treedef)))
        if name is None:
            inner = Source(self.shape, self.constants, self.looks_at_keys)
            inner._texts, inner._functions = self._texts, self._functions
            inner.lines.append(f"return {write(inner, treedef)}")
            name = self._functions[kind, id(treedef)] = f"f{len(self._functions)}"
            self._texts.append(inner._definition(name, kind))
        return name

    # --- taking apart ---

    def take_apart(self, treedef: PyTreeDef, name: str, depth: int = 0) -> None:
        """Write the lines that take the value of variable `name` apart, or raise `Other` (or KeyError) if it has
        another structure. They do not check leaves.
        """
        node_type, children = treedef.node_type, treedef.children()
        if node_type is None:
            self.leaves.append(name)
            return
        if depth and (id(treedef) in self.shape.repeated or depth > _DEEPEST):
            self.leaves.append("*" + self._variable(f"{self._taker(treedef)}({name})"))
            return
        items: list[str] = []
        sequence = name
        if isinstance(node_type, NoneNode):
            self.lines.append(f"if {name} is not None: raise Other")
        elif type(node_type) is DataclassNode and not node_type.meta_fields:
            self.lines.append(f"if type({name}) is not {self.constant(node_type.cls)}: raise Other")
            items = [f"{name}.{field}" for field in node_type.data_fields]
            sequence = f"({', '.join(items)})"
        elif isinstance(node_type, RegisteredNode):
            children_of = self.constant(_children_if_same(node_type, treedef.data, len(children)))
            sequence = self._variable(f"{children_of}({name})")
            self.lines.append(f"if {sequence} is None: raise Other")
        else:
            cls = self.constant(node_type.cls)
            self.lines.append(f"if type({name}) is not {cls} or len({name}) != {len(children)}: raise Other")
            if isinstance(node_type, DictNode):
                sequence = f"{self.constant(treedef.data.take)}({name})"
                items = [f"{name}[{self._key(key)}]" for key in treedef.data.keys]
                if self.looks_at_keys and items:  # checking one is enough: mixed keys do not occur
                    self.lines += [f"for key in {name}: break", "if type(key) is not str: raise Other"]
        if is_uniform(children):
            child = children[0]
            if child is not LEAF:
                sequence = f"[leaf for child in {sequence} for leaf in {self._taker(child)}(child)]"
            self.leaves.append("*" + (sequence if sequence == name else self._variable(sequence)))
            return
        if items:
            names = [self._variable(item) for item in items]
        else:
            names = [f"n{self._variables + i}" for i in range(len(children))]
            self._variables += len(children)
            if names:
                self.lines.append(f"({', '.join(names)},) = {sequence}")
        for child, child_name in zip(children, names, strict=True):
            self.take_apart(child, child_name, depth + 1)

    def _taker(self, treedef: PyTreeDef) -> str:
        return self._function_for(treedef, "t", _leaves_of)

    def _key(self, key: Any) -> str:
        return repr(key) if type(key) is str else self.constant(key)

    # --- putting together ---

    def put_together(self, treedef: PyTreeDef, start: int, depth: int = 0) -> str:
        """Return a Python expression that builds a tree of this structure from the leaves at `start` and after. It
        names some leaves one by one: leaf i is the variable `xi`, which is added to `self.leaves`, so that the caller
        assigns it.
        """
        node_type, children = treedef.node_type, treedef.children()
        if node_type is None:
            self.leaves.append(f"x{start}")
            return f"x{start}"
        if depth and (id(treedef) in self.shape.repeated or depth > _DEEPEST):
            return f"{self._putter(treedef)}(leaves[{start}:{start + treedef.num_leaves}])"
        if is_uniform(children):
            size, end = children[0].num_leaves, start + treedef.num_leaves
            of_leaves = f"leaves[{start}:{end}]"
            part = f"leaves[{start} + i * {size}:{start + size} + i * {size}]"
            if children[0] is LEAF:
                return self._node_of_sequence(treedef, of_leaves)
            inner = Source(self.shape, self.constants, self.looks_at_keys)
            inner._texts, inner._functions = self._texts, self._functions
            tree = inner.put_together(children[0], 0, depth + 1) if 0 < size <= _MANY else ""
            if tree and len(inner.leaves) == size:  # saves a call for each child
                each = f"({', '.join(inner.leaves)},) in zip(*[iter({of_leaves})] * {size})"
                return self._node_of_sequence(treedef, f"[{tree} for {each}]")
            sequence = f"[{self._putter(children[0])}({part}) for i in range({len(children)})]"
            return self._node_of_sequence(treedef, sequence)
        parts = []
        for child in children:
            parts.append(self.put_together(child, start, depth + 1))
            start += child.num_leaves
        return self._node(treedef, parts)

    def _putter(self, treedef: PyTreeDef) -> str:
        return self._function_for(treedef, "leaves", _tree_of)

    def _node(self, treedef: PyTreeDef, parts: list[str]) -> str:
        node_type = treedef.node_type
        if isinstance(node_type, (NoneNode, SequenceNode)):
            return node_type.format(None, parts)
        if isinstance(node_type, DictNode):
            items = zip(map(self._key, treedef.data.keys), parts, strict=True)
            return f"{{{', '.join(f'{key}: {part}' for key, part in items)}}}"
        if isinstance(node_type, NamedTupleNode):
            return f"{self.constant(node_type.cls)}({', '.join(parts)})"
        if type(node_type) is DataclassNode and not node_type.meta_fields:
            fields = [f"{field}={part}" for field, part in zip(node_type.data_fields, parts, strict=True)]
            return f"{self.constant(node_type.cls)}({', '.join(fields)})"
        return self._node_of_sequence(treedef, f"[{', '.join(parts)}]")

    def _node_of_sequence(self, treedef: PyTreeDef, sequence: str) -> str:
        assert treedef.node_type is not None, "a leaf has no children"
        unflatten, data = self.constant(treedef.node_type.unflatten), self.constant(treedef.data)
        return f"{unflatten}({data}, {sequence})"


def _leaves_of(source: Source, treedef: PyTreeDef) -> str:
    source.take_apart(treedef, "t")
    return f"[{', '.join(source.leaves)}]"


def _tree_of(source: Source, treedef: PyTreeDef) -> str:
    tree = source.put_together(treedef, 0)
    if len(source.leaves) == treedef.num_leaves:
        source.lines += [f"({', '.join(source.leaves)},) = leaves"] if source.leaves else []
    else:
        source.lines += [f"{leaf} = leaves[{leaf[1:]}]" for leaf in source.leaves]
    return tree


def compile_take_apart(treedef: PyTreeDef) -> TakeApart:
    """Return a function that returns the leaves of a tree of this structure; None for any other tree, and if the type
    of a leaf is not among the `leaf_types` yet. It always returns None if the text would be too long, or the tree is
    too deep.
    """
    shape = Shape(treedef)
    return _nothing_fits if shape.is_too_long else _take_apart(treedef, Source(shape, {"leaf_types": leaf_types}))


def _nothing_fits(tree: Any) -> None:
    return None


def _take_apart(treedef: PyTreeDef, source: Source) -> TakeApart:
    leaves = _leaves_of(source, treedef)
    inside = [f"    {line}" for line in (*source.lines, f"leaves = {leaves}")]
    source.lines = ["try:", *inside, "except (KeyError, Other): return None"]
    source.lines.append("return leaves if leaf_types.issuperset(map(type, leaves)) else None")
    take_apart: TakeApart = source.function("take_apart", "t")
    return take_apart


def _guess(treedef: PyTreeDef) -> TakeApart | None:
    shape = Shape(treedef)
    if shape.is_too_long or not shape.has_plain_keys:
        return None
    return _take_apart(treedef, Source(shape, {"leaf_types": leaf_types}, looks_at_keys=True))


def _children_if_same(node_type: NodeType, data: Any, count: int) -> Callable[[Any], Sequence[Any] | None]:
    """Return a function that returns a node's children if the node has this type and metadata, and None otherwise."""
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


def patience(treedef: PyTreeDef) -> int:
    """Return how often a structure must occur before functions are written for it."""
    lines = Shape(treedef).lines
    return 0 if lines <= _MANY_LINES else lines // _LINES_A_USE


def compile_put_together(treedef: PyTreeDef) -> PutTogether:
    """Return a function that does the same as `treedef.unflatten`, three times as fast; for a large structure it
    becomes fast after some calls. It does not check the number of leaves.
    """
    if not patience(treedef):
        return _put_together(treedef)

    def put_together(leaves: Iterable[Any]) -> Any:
        by_text: PutTogether | None = written("put_together", treedef, 0)
        return treedef.unflatten(leaves) if by_text is None else by_text(leaves)

    return put_together


def _put_together(treedef: PyTreeDef) -> PutTogether:
    shape = Shape(treedef)
    if shape.is_too_long:
        return treedef.unflatten
    source = Source(shape, {})
    tree = _tree_of(source, treedef)
    if len(source.leaves) != treedef.num_leaves:
        source.lines.insert(0, "if type(leaves) is not list: leaves = list(leaves)")
    source.lines.append(f"return {tree}")
    put_together: PutTogether = source.function("put_together", "leaves")
    return put_together


def key_paths(treedef: PyTreeDef) -> list[KeyPath] | None:
    """Return the key paths of the leaves; None if they are too many, or if the user's nodes define their own keys."""
    paths: list[KeyPath] = []
    is_known = treedef.num_nodes <= _MOST_PATHS and _paths_into(paths, (), treedef)
    return paths if is_known else None


def _paths_into(paths: list[KeyPath], path: KeyPath, treedef: PyTreeDef) -> bool:
    node_type, children = treedef.node_type, treedef.children()
    if node_type is None:
        paths.append(path)
        return True
    if not node_type.keys_are_fixed:
        return False
    keys = node_type.keys(treedef.data, len(children))
    return all(_paths_into(paths, (*path, key), child) for key, child in zip(keys, children, strict=True))


writers.guess = _guess
writers.put_together = _put_together
writers.patience = patience
writers.paths = key_paths
