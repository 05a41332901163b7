"""The programs that the exercises of lab 03 must run like the reference."""

from __future__ import annotations

import collections
import dataclasses
import gc
import threading
from typing import NamedTuple

import numpy as np

from jitkit.kata.checking import check, of_trees, raised, random_programs


def names(rng, count):
    """Return different names in random order."""
    return [f"{letter}{int(rng.integers(100))}" for letter in rng.permutation(list("abcdefghijk"))[:count]]


def numbers(rng, count):
    return [int(n) for n in rng.integers(1000, size=count)]


class Lock:
    """Stands for a lock, and knows whether somebody has it."""

    is_held = False

    def acquire(self):
        """Take the lock."""
        self.is_held = True

    def release(self):
        """Give it back."""
        self.is_held = False

    def __enter__(self):
        self.acquire()

    def __exit__(self, *error):
        self.release()


class Watched:
    """Stands for a table; notes at each use whether the lock is held."""

    def __init__(self, table, lock, uses):
        self.table, self.lock, self.uses = table, lock, uses

    def __getattr__(self, name):
        self.uses.append(self.lock.is_held)
        return getattr(self.table, name)

    def __getitem__(self, key):
        return self.__getattr__("__getitem__")(key)

    def __setitem__(self, key, value):
        self.__getattr__("__setitem__")(key, value)

    def __contains__(self, key):
        return self.__getattr__("__contains__")(key)


def with_the_lock(module, tables, call):
    """Return whether a call used the tables of a module, which are given by name, and whether it held `intern_lock` at each use."""
    kept = {name: getattr(module, name) for name in ("intern_lock", *tables)}
    module.intern_lock, uses = Lock(), []
    for name in tables:
        setattr(module, name, Watched(kept[name], module.intern_lock, uses))
    try:
        call()
    finally:
        for name, value in kept.items():
            setattr(module, name, value)
    return {"used": bool(uses), "used by who holds the lock": all(uses)}


# --- 03.1 One node ------------------------------------------------------------------------------------------------


@check(
    "03.1",
    "The order in which a dict was filled makes no difference: its keys are sorted.",
    against=["the order of insertion counts"],
)
def sorted_keys(jk, rng):
    keys = names(rng, 4)
    orders = [tuple(keys), tuple(reversed(keys)), tuple(sorted(keys))]
    return [jk.tree_util.nodes.dict_keys(order).keys for order in orders]


@check("03.1", "The same keys give the same object.", against=["equal keys may have two objects"])
def one_object(jk, rng):
    keys = names(rng, 3)
    one, two = (jk.tree_util.nodes.dict_keys(tuple(order)) for order in (keys, reversed(keys)))
    structures = [jk.tree_util.tree_structure(dict.fromkeys(order, 0)) for order in (keys, reversed(keys))]
    types = tuple(type(key) for key in one.keys)
    n = int(rng.integers(9))
    mixed = [jk.tree_util.nodes.dict_keys(order) for order in ((n, n + 0.5), (n + 0.5, n))]
    known = jk.tree_util.nodes.known_keys.get((types, one.keys))
    return one is two, structures[0] == structures[1], known is one, mixed[0] is mixed[1], mixed[0].keys


@check("03.1", "The table of keys is used under the lock.", fixed="the lock is held, or it is not")
def locked_keys(jk, rng):
    nodes, keys = jk.tree_util.nodes, tuple(names(rng, 3))
    return with_the_lock(nodes, ["known_keys"], lambda: nodes.dict_keys(keys)), is_free(nodes.intern_lock)


def is_free(lock):
    """Return whether another thread can take a lock within a second."""
    found = []
    thread = threading.Thread(target=lambda: found.append(lock.acquire(timeout=1.0)) or (found[0] and lock.release()))
    thread.start()
    thread.join()
    return found[0]


@check(
    "03.1",
    "A DictKeys that nobody uses any more leaves the table, and nothing else keeps it.",
    fixed="there, and then gone",
)
def forgotten_keys(jk, rng):
    nodes, keys = jk.tree_util.nodes, tuple(sorted(names(rng, 3)))
    kept = nodes.dict_keys(keys)
    there = [(str, str, str), keys] in [list(key) for key in nodes.known_keys]
    del kept
    gc.collect()
    return there, [(str, str, str), keys] in [list(key) for key in nodes.known_keys]


@check(
    "03.1",
    "A dict with the key 1 and one with the key True are told apart, though 1 == True.",
    against=["equal keys are the same keys", "all keys have the type of the first"],
)
def keys_of_two_types(jk, rng):
    n = int(rng.integers(2, 99))
    first, second = jk.tree_util.nodes.dict_keys((1, n)), jk.tree_util.nodes.dict_keys((n, True))
    trees = [{1: 0, n: 0}, {1: 0, float(n): 0}, {1.0: 0, n: 0}]
    structures = [jk.tree_util.tree_structure(tree) for tree in trees]
    again = [list(structure.unflatten([0, 0])) for structure in structures]
    return first is second, first.keys, second.keys, again


class Alone:
    """A key that refuses to be compared, with an error of its own."""

    def __lt__(self, other):
        raise LookupError("there is no order")


@check(
    "03.1",
    "Keys that cannot be sorted are an error that says so.",
    against=[
        "any error about the keys will do",
        "sorting can only fail with a TypeError",
        "keys of different types can be sorted type by type",
    ],
    fixed="an error of one kind",
)
def keys_without_order(jk, rng):
    n = int(rng.integers(99))
    parts = ["Comparator raised exception while sorting"]
    trees = [{n: 1, "b": 2}, {Alone(): 1, Alone(): 2}]
    errors = [raised(jk.tree_util.tree_leaves, tree, parts=parts) for tree in trees]
    return errors, is_free(jk.tree_util.nodes.intern_lock)


def layer_class(slots=False):
    """Return a dataclass whose fields mix data and metadata, in another order than the lists by which they are registered. Its field
    `area` is computed after `__init__`.
    """

    def compute(self):
        self.area = self.size * self.size

    fields = [("name", str), ("weight", object), ("size", int), ("bias", object)]
    computed = ("area", int, dataclasses.field(init=False))
    return dataclasses.make_dataclass("Layer", [*fields, computed], namespace={"__post_init__": compute}, slots=slots)


def layer(jk, rng, slots=False):
    """Return the node type of a `layer_class`, and an instance of the class."""
    cls = layer_class(slots)
    w, b, size = numbers(rng, 3)
    node_type = jk.tree_util.registered_nodes.DataclassNode(cls, ("weight", "bias"), ("size", "name"))
    return node_type, cls(names(rng, 1)[0], w, size, b)


@check(
    "03.1",
    "The data fields of a dataclass are children, and the other fields are metadata with a hash.",
    against=[
        "all fields are children",
        "metadata needs no hash",
        "a field that is None is not a child",
        "the children of a dataclass are leaves",
    ],
)
def dataclass_apart(jk, rng):
    (nested, instance), *others = layer(jk, rng), layer(jk, rng), layer(jk, rng, slots=True)
    instance.weight, instance.bias = numbers(rng, 3), None
    return [node_type.flatten(each) for node_type, each in ((nested, instance), *others)]


@check(
    "03.1",
    "A dataclass is put together by the names of its fields, and by its own `__init__`.",
    against=["fields are passed by position", "an object can be made without its `__init__`"],
)
def dataclass_together(jk, rng):
    node_type, instance = layer(jk, rng)
    again = node_type.unflatten((instance.size, instance.name), [instance.weight, instance.bias])
    return type(again) is type(instance), vars(again)


# --- 03.2 What is a node ------------------------------------------------------------------------------------------


def kind_of(jk, cls):
    node_type = jk.tree_util.registry.find_node_type(cls)
    return node_type if node_type is None else f"{type(node_type).__name__} of {node_type.cls.__name__}"


@check(
    "03.2",
    "Tuples, lists, dicts and None are nodes; numbers, strings, sets and arrays are not.",
    against=["None is a leaf"],
)
def built_in_nodes(jk, rng):
    classes = [tuple, list, dict, type(None), int, float, str, set, np.ndarray, np.float32]
    return [kind_of(jk, classes[i]) for i in rng.permutation(len(classes))]


@check(
    "03.2",
    "A class that is derived from dict or list is a leaf, as long as nobody registers it.",
    against=["a class derived from a node is a node", "a class derived from tuple is a node, as tuple is"],
)
def derived_classes(jk, rng):
    bases = [dict, list, tuple, collections.OrderedDict]
    derived = [type("Derived", (bases[i],), {}) for i in rng.permutation(len(bases))]
    classes = [*bases, *derived]
    return [kind_of(jk, classes[i]) for i in rng.permutation(len(classes))]


@check(
    "03.2",
    "A registered named tuple is handled by the functions that it was registered with.",
    against=[
        "a named tuple always has the node type of named tuples",
        "a class that was looked up counts as registered",
        "a class that has a node type counts as registered",
    ],
)
def registered_named_tuples(jk, rng):
    class Point(NamedTuple):
        x: int
        y: int

    before = kind_of(jk, Point)  # asking about a class does not register it
    jk.tree_util.register_pytree_node(Point, lambda p: ((p.y,), p.x), lambda x, children: Point(x, *children))
    x, y = numbers(rng, 2)
    return before, kind_of(jk, Point), jk.tree_util.tree_leaves(Point(x, y))


@check("03.2", "The tables are changed under the lock.", fixed="the lock is held, or it is not")
def locked_tables(jk, rng):
    registry = jk.tree_util.registry
    mine = type(f"Mine{rng.integers(99)}", (), {})
    new = jk.tree_util.registered_nodes.DataclassNode(mine, (), ())
    return with_the_lock(registry, ["registered", "node_types"], lambda: registry.register(new))


@check(
    "03.2",
    "A named tuple is a node, and what comes back has its fields again.",
    against=["a named tuple is a tuple", "a class derived from a named tuple is a leaf"],
)
def named_tuples(jk, rng):
    x, y = names(rng, 2)
    Point = NamedTuple("Point", [(x, int), (y, int)])
    shifted = jk.tree_util.tree_map(lambda n: n + 1, Point(*numbers(rng, 2)))
    derived = type("Derived", (Point,), {})
    kinds = kind_of(jk, Point), kind_of(jk, derived), jk.tree_util.tree_leaves(derived(*numbers(rng, 2)))
    return kinds, type(shifted).__name__, getattr(shifted, x, None), getattr(shifted, y, None)


class Box:
    """A container that holds some values."""

    def __init__(self, content):
        self.content = content


def make_box_class(jk, kind="a box"):
    """Return a new class, and the node type that takes its instances apart."""
    cls = type("Box", (Box,), {})
    return cls, jk.tree_util.registered_nodes.CustomNode(
        cls, lambda box: ((box.content,), kind), lambda data, xs: cls(xs[0])
    )


@check(
    "03.2",
    "A registered class is taken apart by its own functions, and made again by them.",
    against=["a class derived from a node is a node", "with a class, its derived classes are registered, too"],
)
def registered_class(jk, rng):
    cls, node_type = make_box_class(jk)
    (derived,) = [type("Derived", (cls,), {})]
    jk.tree_util.registry.register(node_type)
    leaves, structure = jk.tree_util.tree_flatten([cls(numbers(rng, 2))])
    again = jk.tree_util.tree_unflatten(structure, leaves)
    return leaves, structure, vars(again[0]), kind_of(jk, cls), kind_of(jk, derived)


@check(
    "03.2",
    "A class can be registered after its instances were met as leaves.",
    against=[
        "what was a leaf once stays one",
        "the cached answers correct themselves",
        "a class that was met as a leaf stays one in `node_types`",
        "a class that was met as a leaf stays one in `leaf_types`",
        "a class is known by its name",
    ],
)
def registered_late(jk, rng):
    cls, node_type = make_box_class(jk)
    other, its_type = make_box_class(jk)
    tree = [cls(numbers(rng, 2)), 5]
    before = len(jk.tree_util.tree_leaves([*tree, other(6)]))
    registry = jk.tree_util.registry
    known = [each in registry.leaf_types for each in (cls, other, int)]
    registry.register(node_type)
    known += [each in registry.leaf_types for each in (cls, other, int)]
    registry.register(its_type)  # the other class has the same name
    return before, known, jk.tree_util.tree_leaves([*tree, other(6)]), jk.tree_util.tree_structure(tree)


@check(
    "03.2",
    "To register a class twice is an error, and the first registration stays.",
    against=["the last registration wins", "the same registration twice does no harm"],
)
def registered_twice(jk, rng):
    cls, node_type = make_box_class(jk, f"the first, {rng.integers(999)}")
    jk.tree_util.registry.register(node_type)
    second = jk.tree_util.registered_nodes.DataclassNode(cls, ("content",), ())
    refused = [
        raised(jk.tree_util.registry.register, again, parts=[f"Duplicate {again.kind} PyTreeDef", f"{cls}."])
        for again in (node_type, second)
    ]
    return *refused, jk.tree_util.tree_structure(cls(numbers(rng, 2)))


# --- 03.3 Flatten -------------------------------------------------------------------------------------------------


def random_tree(rng, depth):
    """Return a random tree of lists, tuples, dicts, None and numbers."""
    kind = int(rng.integers(5)) if depth else 4
    children = [random_tree(rng, depth - 1) for _ in range(int(rng.integers(4)))] if kind < 3 else []
    if kind == 2:
        return dict(zip(names(rng, len(children)), children, strict=True))
    return [children, tuple(children), None, None, int(rng.integers(1000))][kind]


@check("03.3", "Leaves come from left to right, however deep they are.", against=["leaves come level by level"])
def left_to_right(jk, rng):
    a, b, c, d, e = numbers(rng, 5)
    return jk.tree_util.tree_flatten([(a, [b]), c, ([(d,)], e)])


@check(
    "03.3",
    "The children of a dict come sorted by key, not in the order in which they were put in.",
    against=["the order of insertion counts"],
)
def dicts(jk, rng):
    keys = sorted(names(rng, 5), reverse=True)  # in random order they would sometimes be sorted already
    tree = {key: (n, [n + 1]) for key, n in zip(keys, numbers(rng, 5), strict=True)}
    return jk.tree_util.tree_flatten(tree)


@check("03.3", "An object that occurs twice in a tree is two leaves.", against=["one object is one leaf"])
def twice_the_same(jk, rng):
    x, y = numbers(rng, 2)
    shared = [x, (y,)]
    trees = [[x, x], {"a": shared, "b": shared}, (shared, [shared, y])]
    return [jk.tree_util.tree_flatten(tree) for tree in trees]


@check("03.3", "None is a node without children: it adds no leaf.", against=["None is a leaf"])
def nothing(jk, rng):
    (n,) = numbers(rng, 1)
    return jk.tree_util.tree_flatten({"bias": None, "weight": [n, None]}), jk.tree_util.tree_flatten(None)


@check(
    "03.3",
    "An instance of a class that is derived from dict, list or tuple is a leaf: only the exact type counts.",
    against=["a class derived from a node is a node"],
)
def derived_instances(jk, rng):
    derived = [type("Derived", (base,), {}) for base in (dict, list, tuple)]
    a, b = numbers(rng, 2)
    parts = [derived[0]({"a": a}), derived[1]([a, b]), (derived[2]((b, a)), a), [b]]
    tree = [parts[i] for i in rng.permutation(4)]
    plain = jk.tree_util.tree_flatten(tree)
    until = jk.tree_util.tree_flatten(tree, lambda x: x == b)
    return [([type(leaf).__mro__[1].__name__ for leaf in leaves], structure) for leaves, structure in (plain, until)]


@check(
    "03.3", "An empty list is in the structure, and is not None.", against=["a tree without leaves has no structure"]
)
def empty_containers(jk, rng):
    trees = [([], {}, ()), [None], [[]], [()], {"a": []}]
    return [jk.tree_util.tree_flatten([trees[i], *numbers(rng, 1)]) for i in rng.permutation(5)]


class Pair(NamedTuple):
    """A node with two children."""

    left: object
    right: object


@check(
    "03.3",
    "A list, a tuple and a named tuple of the same leaves have three structures.",
    against=["a list equals a tuple"],
)
def three_structures(jk, rng):
    x, y = numbers(rng, 2)
    trees = [[x, y], (x, y), Pair(x, y)]
    structures = [jk.tree_util.tree_structure(((x,), trees[i])) for i in rng.permutation(3)]
    return structures, len({*structures})


@check(
    "03.3",
    "Trees that are built alike have the same structure, and it is one object.",
    against=["each tree gets a new structure"],
)
def equal_structures(jk, rng):
    a, b = names(rng, 2)
    structures = [jk.tree_util.tree_structure({a: [x, (x, None)], b: x}) for x in numbers(rng, 2)]
    return structures[0] is structures[1], structures[0] == structures[1], structures


@check(
    "03.3",
    "`is_leaf` is asked about each subtree that is reached, before it is opened.",
    against=[
        "`is_leaf` is asked about the root only",
        "`is_leaf` is asked about leaves only",
        "`is_leaf` need not be asked about the whole tree",
        "`is_leaf` need not be asked about leaves",
    ],
)
def stops_where_told(jk, rng):
    a, b, c = numbers(rng, 3)
    asked = []

    def is_leaf(subtree):
        asked.append(subtree)
        return subtree is None or isinstance(subtree, tuple)

    number = raised(jk.tree_util.tree_leaves, [a, b], lambda subtree: 0, parts=["non-boolean"])
    return jk.tree_util.tree_flatten([[a, (b, [c])], None, {"x": (c,)}], is_leaf), asked, number


# --- 03.4 Unflatten -----------------------------------------------------------------------------------------------


@check(
    "03.4",
    "A child takes as many leaves as its structure has, even none.",
    against=[
        "every child has one leaf",
        "each child has one leaf",
        "a node without children is one leaf",
        "a tree without leaves is None",
        "a child takes as many leaves as it has nodes",
    ],
)
def children_of_many_leaves(jk, rng):
    structure = jk.tree_util.tree_structure((0, [0, (0, 0)], None, [], {"x": 0, "y": [0]}, 0))
    return structure.unflatten(numbers(rng, 7))


@check(
    "03.4",
    "The result has the types that were taken apart: lists, tuples, named tuples.",
    against=["a list equals a tuple"],
)
def types_come_back(jk, rng):
    x, y, z = numbers(rng, 3)
    tree = [(x, y), [z], Pair(x, [y]), ([x], (y,))]
    leaves, structure = jk.tree_util.tree_flatten(tree)
    again = structure.unflatten(leaves)
    return again[:2], again[3], type(again[2]).__name__, tuple(again[2])


@check(
    "03.4",
    "Too few leaves, or too many, are an error.",
    against=[
        "leaves that are left over do no harm",
        "the message for too many leaves says how many there were",
        "a structure of one leaf takes any number of leaves",
        "leaves that are left over may be ignored",
        "if a leaf is missing, an IndexError will do",
    ],
)
def wrong_number(jk, rng):
    structure = jk.tree_util.tree_structure([0, (0, 0)])
    few, many = int(rng.integers(0, 3)), int(rng.integers(4, 9))
    (key,) = names(rng, 1)
    single = [jk.tree_util.tree_structure(tree) for tree in (0, [0], {key: (0,)})]
    return (
        [raised(each.unflatten, [1] * many, parts=["Too many leaves", "expected 1."]) for each in single],
        raised(structure.unflatten, [1] * few, parts=["Too few leaves", f"expected 3, got {few}"]),
        raised(structure.unflatten, [1] * many, parts=["Too many leaves", "expected 3."]),
    )


@check(
    "03.4",
    "Leaves may come from a generator.",
    against=["`leaves` has a length", "the leaves come in a list", "a generator can be read twice"],
)
def leaves_from_a_generator(jk, rng):
    structure = jk.tree_util.tree_structure({"a": 0, "b": (0, 0)})
    return structure.unflatten(n * n for n in numbers(rng, 3))


@check("03.4", "The list of leaves is the caller's: it stays as it was.", against=["the list of leaves can be used up"])
def leaves_stay(jk, rng):
    structure = jk.tree_util.tree_structure([0, (0, [0])])
    leaves = numbers(rng, 3)
    return structure.unflatten(leaves), structure.unflatten(leaves), leaves


@check(
    "03.4",
    "A leaf may be anything, and is not looked into.",
    against=["leaves are numbers or arrays", "None is not a leaf, so it is not counted", "equal leaves are one leaf"],
)
def any_leaf(jk, rng):
    n = numbers(rng, 2)
    structure = jk.tree_util.tree_structure([0, (0, 0)])
    same = structure.unflatten([n, n, n])
    return same, structure.unflatten([None, n, ("a", {"b": n})]), jk.tree_util.tree_structure(0).unflatten([None])


# --- 03.5 A function of leaves ------------------------------------------------------------------------------------


def arguments_tree(jk, *args, **kwargs):
    return jk.tree_util.tree_flatten((args, kwargs))


@check(
    "03.5",
    "The new function takes leaves, and returns a list of leaves.",
    against=["a result is a leaf", "a None in a result is a leaf", "a result of one leaf needs no list"],
)
def leaves_to_leaves(jk, rng):
    _, in_tree = arguments_tree(jk, {"x": 0, "y": 0}, [0])
    flat, _ = jk.tree_util.flatten_fun(lambda d, z: {"sum": d["x"] + d["y"], "pair": (z, None)}, in_tree)
    one, _ = jk.tree_util.flatten_fun(lambda d, z: {"y": (d["y"],)}, in_tree)
    return flat(*numbers(rng, 3)), one(*numbers(rng, 3))


@check(
    "03.5",
    "Keyword arguments reach the user's function as keyword arguments.",
    against=["all arguments are positional"],
)
def keyword_arguments(jk, rng):
    _, in_tree = arguments_tree(jk, 0, scale=(0, 0), base=0)
    flat, _ = jk.tree_util.flatten_fun(lambda x, *, base, scale: [x + base, scale], in_tree)
    return flat(*numbers(rng, 4))


@check(
    "03.5",
    "There are as many leaves as `in_tree` has; one more, or one less, is an error.",
    against=["leaves left over do no harm"],
)
def leaves_are_counted(jk, rng):
    _, in_tree = arguments_tree(jk, [0, 0], scale=0)
    flat, _ = jk.tree_util.flatten_fun(lambda xs, scale: [*xs, scale], in_tree)
    errors = [raised(flat, *[1] * count, parts=["leaves", "expected 3"]) for count in (4, 2)]
    return errors, flat(*numbers(rng, 3))


@check(
    "03.5",
    "The structure of the result is known after a call, and asking earlier is an error.",
    against=["the structure of a result is known before the call"],
)
def known_after_the_call(jk, rng):
    _, in_tree = arguments_tree(jk, 0)
    flat, out_tree = jk.tree_util.flatten_fun(lambda x: {"a": x, "b": [x, None]}, in_tree)
    early = raised(out_tree)
    leaves = flat(*numbers(rng, 1))
    return early, out_tree(), jk.tree_util.tree_unflatten(out_tree(), leaves)


@check(
    "03.5",
    "Another call may return another structure: that of the last call counts.",
    against=[
        "a function returns one structure",
        "the structure of the first call is kept for ever",
        "a result without leaves has no structure",
    ],
)
def the_last_structure(jk, rng):
    _, in_tree = arguments_tree(jk, 0)
    flat, out_tree = jk.tree_util.flatten_fun(lambda n: [n] * n, in_tree)
    structures = []
    for n in rng.permutation(5):
        flat(int(n))
        structures.append(out_tree())
    return structures


@check("03.5", "Each call calls the user's function once.", against=["a function can be called once more"])
def one_call(jk, rng):
    _, in_tree = arguments_tree(jk, 0)
    seen = []
    flat, out_tree = jk.tree_util.flatten_fun(lambda x: seen.append(x) or {"x": x}, in_tree)
    for n in numbers(rng, 3):
        flat(n)
        out_tree()
    return seen


@check(
    "03.5",
    "The new function can be traced: it has one input for each leaf, and the name of the user's function.",
    against=["the name of the new function does not matter"],
)
def it_traces(jk, rng):
    _, in_tree = arguments_tree(jk, {"w": 0, "b": 0}, 0)

    def predict(params, x):
        return {"y": x * params["w"] + params["b"], "x": x}

    flat, out_tree = jk.tree_util.flatten_fun(predict, in_tree)
    shape = (int(rng.integers(2, 9)),)
    program = jk.make_jaxpr(flat)(*[np.ones(shape, "float32")] * 3)
    return program, out_tree(), flat.__name__


# --- 03.6 The way to a leaf ---------------------------------------------------------------------------------------


def with_paths(jk, tree, **options):
    """Return each path as text, each leaf, and the structure."""
    pairs, structure = jk.tree_util.tree_flatten_with_path(tree, **options)
    return [(jk.tree_util.keystr(path), leaf) for path, leaf in pairs], structure


@check(
    "03.6",
    "A path leads from the root to the leaf, one entry a level.",
    against=[
        "a path is only the last key",
        "the path of a leaf ends with its parent",
        "a path consists of plain keys and numbers",
        "the last key of a path comes first",
    ],
)
def levels(jk, rng):
    a, b, c, d = numbers(rng, 4)
    return with_paths(jk, [a, ([b], (c, [[d]]))])


@check(
    "03.6", "Children of a dict have a key, and those of a named tuple a name.", against=["the children are numbered"]
)
def keys_and_names(jk, rng):
    tree = {key: Pair(n, [n]) for key, n in zip(names(rng, 3), numbers(rng, 3), strict=True)}
    return with_paths(jk, tree)


@check(
    "03.6",
    "A path that was handed out does not change.",
    against=["one list can be used for all paths", "a path is a list"],
)
def paths_are_tuples(jk, rng):
    pairs, _ = jk.tree_util.tree_flatten_with_path([numbers(rng, 2), [numbers(rng, 1)]])
    return [(type(path).__name__, [key.idx for key in path], leaf) for path, leaf in pairs]


@check("03.6", "None and empty containers have no leaves, so there are no paths for them.", against=["None is a leaf"])
def nothing_to_lead_to(jk, rng):
    return with_paths(jk, {"a": None, "b": [], "c": [None, *numbers(rng, 2)]}), with_paths(jk, None)


@check(
    "03.6",
    "`is_leaf` gets the path of the subtree it is asked about, and can stop there.",
    against=[
        "`is_leaf` gets the path of the parent",
        "`is_leaf` is asked about leaves only",
        "`stops` need not be asked about the whole tree",
        "`stops` returns True or False",
        "`is_leaf` need not be asked about leaves",
        "`stops` is only asked about the root",
    ],
)
def stopping_by_path(jk, rng):
    asked = []

    def is_leaf(path, subtree):
        asked.append(jk.tree_util.keystr(path))
        return len(path) == 2

    tree = {"a": [numbers(rng, 2), 1], "b": {"c": (2, 3)}}
    tuples = with_paths(jk, tree, is_leaf=lambda path, subtree: isinstance(subtree, tuple), is_leaf_takes_path=True)
    number = raised(
        with_paths, jk, tree, is_leaf=lambda path, subtree: len(path), is_leaf_takes_path=True, parts=["non-boolean"]
    )
    return with_paths(jk, tree, is_leaf=is_leaf, is_leaf_takes_path=True), asked, tuples, number


# --- What learners wrote ------------------------------------------------------------------------------------------


@check(
    "03.1",
    "Keys are sorted by value, and not as strings: 2 comes before 10.",
    against=["keys can be sorted as strings"],
)
def numbers_as_keys(jk, rng):
    keys = [int(n) for n in rng.permutation([2, 10, 9, 100, *rng.choice(range(101, 2000), 2, replace=False)])]
    return repr(jk.tree_util.tree_structure(dict.fromkeys(keys, 0))), jk.tree_util.tree_leaves({k: k for k in keys})


@check(
    "03.3",
    "An empty container has no leaves, even if `is_leaf` is asked about it.",
    against=["a node without children is a leaf"],
)
def empty_and_asked(jk, rng):
    n = numbers(rng, 2)
    trees = [[(), n[0], {}], {"a": [], "b": (n[1], None)}, (), [[[]]]]
    return [jk.tree_util.tree_leaves(tree, is_leaf=lambda x: False) for tree in trees]


@check(
    "03.5",
    "Keyword arguments go by their names, whatever the order of the parameters.",
    against=["keyword arguments are passed by place"],
)
def keywords_by_name(jk, rng):
    _, in_tree = arguments_tree(jk, 0, scale=0, base=0)
    flat, _ = jk.tree_util.flatten_fun(lambda x, scale, base: x * scale + base, in_tree)
    return flat(*numbers(rng, 3))


@check(
    "03.5",
    "Two functions that were made of leaves share nothing, even if they have the same name.",
    against=["all functions can share one place for their structures", "functions are known by their names"],
)
def two_memories(jk, rng):
    (name,) = names(rng, 1)

    def made(result):
        def f(x):
            return result(x)

        return jk.tree_util.flatten_fun(f, arguments_tree(jk, 0)[1])

    (one, one_tree), (other, other_tree) = made(lambda x: [x, x]), made(lambda x: {name: x})
    first = raised(other_tree) if one(*numbers(rng, 1)) else None
    other(*numbers(rng, 1))
    return first, one_tree(), other_tree()


@check(
    "03.6",
    "An empty container has no leaves, and so no paths; unless `is_leaf` says that it is a leaf.",
    against=["an empty container has a path", "`is_leaf` is not asked about an empty node"],
)
def empty_without_a_path(jk, rng):
    tree = {"a": [], "b": ((), numbers(rng, 1)[0]), "c": None}
    return [
        [
            (jk.tree_util.keystr(path), leaf)
            for path, leaf in jk.tree_util.tree_flatten_with_path(tree, is_leaf=stops)[0]
        ]
        for stops in (None, lambda x: isinstance(x, list), lambda x: x == ())
    ]


@check(
    "03.1",
    "The keys of an empty dict are in the table, too.",
    against=["an empty dict's keys need not be in the table"],
)
def no_keys(jk, rng):
    none, some = jk.tree_util.nodes.dict_keys(()), jk.tree_util.nodes.dict_keys(tuple(names(rng, 2)))
    table = jk.tree_util.nodes.known_keys
    return jk.tree_util.nodes.dict_keys(()) is none, table.get(((), ())) is none, none.keys, some.keys


@check(
    "03.1",
    "A field that is a node, or None, is a child like any other: one level is taken apart.",
    against=["a dataclass is a dict of its fields", "one field of metadata is its value"],
)
def one_level_of_a_dataclass(jk, rng):
    cls = dataclasses.make_dataclass("Pair", ["one", "other", "name"])
    node_type = jk.tree_util.registered_nodes.DataclassNode(cls, ("other", "one"), ("name",))
    inner, n = cls(*numbers(rng, 3)), numbers(rng, 2)
    children, data = node_type.flatten(cls(n, inner, names(rng, 1)[0]))
    return children[0] is inner, children[1] is n, data


@check(
    "03.2",
    "A class that has `_fields` and is not a tuple is not a named tuple.",
    against=["every class with `_fields` is a named tuple"],
)
def fields_alone(jk, rng):
    class Fields:
        _fields = tuple(names(rng, 2))

    named = NamedTuple("Named", [(name, object) for name in names(rng, 2)])
    found = jk.tree_util.tree_leaves([Fields(), named(*numbers(rng, 2))])
    return len(found), found[1:]


@check(
    "03.2",
    "A class of named tuples that was seen before can be registered, and then counts as registered.",
    against=['only a cached "leaf" has to be corrected'],
)
def named_tuples_registered_late(jk, rng):
    named, (n, m) = NamedTuple("Named", [(name, object) for name in names(rng, 2)]), numbers(rng, 2)
    before = jk.tree_util.tree_leaves(named(n, m))
    jk.tree_util.register_pytree_node(named, lambda x: ((x[1],), x[0]), lambda data, x: named(data, *x))
    return before, jk.tree_util.tree_leaves(named(n, m))


@check(
    "03.3",
    "Strings, sets and ranges are leaves, also if nothing is in them.",
    against=["an empty object is not a leaf"],
)
def empty_leaves(jk, rng):
    n, m = numbers(rng, 2)
    leaves = ["", n, b"", frozenset(), range(0), set(), m]
    found, structure = jk.tree_util.tree_flatten(leaves)
    return repr(found), structure, len(jk.tree_util.tree_leaves(leaves, is_leaf=lambda x: False))


@check(
    "03.4",
    "A container without leaves comes back with its metadata, and with the empty containers in it.",
    against=["a structure without leaves has no children"],
)
def empty_containers_come_back(jk, rng):
    (name,) = names(rng, 1)
    cls = dataclasses.make_dataclass("Bare", ["name"])
    jk.tree_util.register_dataclass(cls, [], ["name"])
    tree = [[], ({}, [()]), {name: None}, cls(name)]
    again = jk.tree_util.tree_structure(tree).unflatten([])
    return again[:3], again[3].name


@check("03.5", "A leaf may be anything, None too.", against=["leaves are not None"])
def leaves_of_any_kind(jk, rng):
    _leaves, in_tree = arguments_tree(jk, [0, 1], 2)
    flat, out_tree = jk.tree_util.flatten_fun(lambda pair, x: (x, pair), in_tree)
    given = [None, "text", numbers(rng, 1)[0]]
    return flat(*(given[int(i)] for i in rng.permutation(3))), out_tree()


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("03.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_trees.nodes, 24, graded=40, by_numpy=False)


@check("03.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_trees.registered, 24, by_numpy=False)


@check("03.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_trees.trees("flatten"), 24, by_numpy=False)


@check("03.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_trees.trees("unflatten"), 24, by_numpy=False)


@check("03.5", NEW, drawn=True)
def programs_5(jk, rng):
    return random_programs(jk, rng, of_trees.functions_of_leaves, 24, by_numpy=False)


@check("03.6", NEW, drawn=True)
def programs_6(jk, rng):
    return random_programs(jk, rng, of_trees.trees("paths"), 24, by_numpy=False)
