"""The checks of lab 03 that are used in grading only."""

from __future__ import annotations

import collections
import dataclasses
from typing import NamedTuple

import numpy as np

from jitkit.kata.checking import check, raised


@check("03.1", "Whole programs: dicts filled in two orders share what was traced for them.", hidden=True)
def one_trace_for_both_orders(jk, rng):
    keys = [str(key) for key in rng.permutation(list("abcdefghijkl"))[:6]]
    traced = []

    @jk.jit
    def total(d):
        traced.append(list(d))
        return sum(d.values())

    def f(x):
        return total(dict.fromkeys(keys, x)) + total(dict.fromkeys(reversed(keys), x))

    return jk.make_jaxpr(f)(float(rng.normal())), traced


@check("03.1", "Numbers and texts as keys, and a dataclass in a dataclass.", hidden=True)
def nested_dataclasses(jk, rng):
    register, static = jk.tree_util.register_dataclass, dataclasses.field(metadata={"static": True})
    Inner = register(dataclasses.make_dataclass("Inner", [("mode", str, static), ("value", object)]))
    static = dataclasses.field(metadata={"static": True})
    fields = [("inner", object), ("rate", float, static), ("table", dict)]
    Outer = register(dataclasses.make_dataclass("Outer", fields))
    n, m = (int(k) for k in rng.permutation(99)[:2])
    tree = Outer(Inner("train", n), 0.5, {n: 1, m: Inner("eval", m)})
    leaves, structure = jk.tree_util.tree_flatten(tree)
    again = jk.tree_util.tree_unflatten(structure, leaves)
    return leaves, structure, again == tree, jk.tree_util.nodes.dict_keys((n, m)).keys


class Point(NamedTuple):
    """A node with two children."""

    x: object
    y: object


@check("03.2", "Registered classes of each kind are nodes at any depth.", hidden=True)
def registered_kinds(jk, rng):

    @jk.tree_util.register_pytree_node_class
    class Wrapped:
        def __init__(self, *parts):
            self.parts = parts

        def tree_flatten(self):
            return self.parts, len(self.parts)

        @classmethod
        def tree_unflatten(cls, data, children):
            return cls(*children)

    Mode = jk.tree_util.register_static(dataclasses.make_dataclass("Mode", [("name", str)], frozen=True))
    a, b = (int(k) for k in rng.integers(99, size=2))
    tree = {"w": Wrapped(a, Point(b, [Mode("fast")])), "o": collections.OrderedDict(z=a, y=b)}
    again = raised(jk.tree_util.register_static, Mode, parts=["Duplicate custom PyTreeDef"])
    return jk.tree_util.tree_flatten(tree), again


@check("03.3", "Large trees of lists, tuples and dicts.", hidden=True)
def large_trees(jk, rng):
    def tree(depth):
        if depth == 0:
            return [None, (), int(rng.integers(99)), "text"][int(rng.integers(4))]
        children = [tree(depth - 1) for _ in range(int(rng.integers(1, 4)))]
        kinds = [list, tuple, lambda c: dict(zip("zyx", c, strict=False))]
        return kinds[int(rng.integers(3))](children)

    flattened = [jk.tree_util.tree_flatten(tree(4)) for _ in range(20)]
    kept = [jk.tree_util.tree_leaves(tree(3), is_leaf=lambda x: x is None) for _ in range(5)]
    refused = raised(jk.tree_util.tree_leaves, [1], is_leaf=lambda x: 1, parts=["non-boolean"])
    return flattened, kept, refused


@check("03.4", "Results of traced functions are put together again.", hidden=True)
def results_of_programs(jk, rng):
    def f(x):
        return {"z": (x, [x + 1, None]), "a": [], "m": (x.sum(),)}

    shapes = jk.eval_shape(f, np.ones(int(rng.integers(2, 9)), "float32"))
    leaves, structure = jk.tree_util.tree_flatten(shapes)
    plain = structure.unflatten([leaf.shape for leaf in leaves])
    return plain, raised(structure.unflatten, iter(leaves[:-1]), parts=["expected 3, got 2"])


@check("03.4", "Maps over several trees.", hidden=True)
def maps(jk, rng):
    one = {"a": [int(rng.integers(99)), (1, 2)], "b": (None, 3)}
    return jk.tree_util.tree_map(lambda x, y: x * y, one, one), jk.tree_util.tree_map(str, [one, ()])


@check("03.5", "Two functions, each called in between of the other's calls.", hidden=True)
def two_functions(jk, rng):
    _, in_tree = jk.tree_util.tree_flatten((([0, 0],), {"k": {"a": 0}}))
    pairs = [jk.tree_util.flatten_fun(f, in_tree) for f in (lambda x, k: (x, k), lambda x, k: {"only": k["a"]})]
    n = [int(k) for k in rng.integers(99, size=3)]
    results = [flat(*n) for flat, _ in pairs]
    return results, [out_tree() for _, out_tree in pairs], raised(pairs[0][0], 1, parts=["Too few"])


@check("03.6", "Fields of dataclasses, and what has no names for its children.", hidden=True)
def other_keys(jk, rng):
    Layer = jk.tree_util.register_dataclass(dataclasses.make_dataclass("Layer", ["weight", "bias"]))

    class Opaque:
        def __init__(self, *parts):
            self.parts = parts

    jk.tree_util.register_pytree_node(Opaque, lambda o: (o.parts, None), lambda _, parts: Opaque(*parts))
    n = int(rng.integers(99))
    tree = [Layer(n, {"k": Opaque(n, (n,))}), collections.OrderedDict(b=1, a=[n])]
    pairs, structure = jk.tree_util.tree_flatten_with_path(tree)
    simple = [jk.tree_util.keystr(path, simple=True, separator="/") for path, _ in pairs]
    return [(jk.tree_util.keystr(path), leaf) for path, leaf in pairs], simple, structure
