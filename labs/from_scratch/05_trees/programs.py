"""Rung 05: trees of arrays."""

import functools
import itertools

import numpy as np
from climbing import jaxpr, program, raised
from drawing import pick


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


def tree(rng):
    return {"w": [floats(rng, 2), (floats(rng, 3), None)], "b": floats(rng)}


@program("05", "Leaves come in the order of sorted keys.", against=["the order of insertion counts", "None is a leaf"])
def leaves(jk, rng):
    return jk.tree_util.tree_leaves(tree(rng))


@program(
    "05",
    "Flatten, then unflatten, gives the same tree, of the same types.",
    against=["a list is as good as a tuple", "None is a leaf"],
)
def back(jk, rng):
    leaves, treedef = jk.tree_util.tree_flatten(tree(rng))
    return {
        "leaves": len(leaves),
        "the tree": jk.tree_util.tree_unflatten(treedef, leaves),
        "with other leaves": jk.tree_util.tree_unflatten(treedef, "abc"),
    }


@program("05", "A dict that was filled in another order has the same structure, and a list not that of a tuple.",
         against=["the order of insertion counts", "None is a leaf", "keys are compared as strings"])  # fmt: skip
def structures(jk, rng):
    s = jk.tree_util.tree_structure
    one, other = s({"a": 1, "b": 2}), s({"b": 2, "a": 1})
    return {
        "another order is equal": one == other,
        "and hashes alike": hash(one) == hash(other),
        "a list is equal to a tuple": s([1, 2]) == s((1, 2)),
        "other keys are equal": s({"a": 1}) == s({"c": 1}),
        "1 and '1' are one key": s({1: 0}) == s({"1": 0}),
        "None is equal to a leaf": s([1, None]) == s([1, 2]),
    }


@program("05", "`tree_map` keeps the structure, and takes several trees.")
def mapped(jk, rng):
    t = tree(rng)
    return jk.tree_util.tree_map(lambda x, y: x + 2 * y, t, t)


@program(
    "05",
    "Trees that are not built alike are a ValueError.",
    against=["trees are zipped as far as they go", "trees with as many leaves are alike", "None is a leaf"],
)
def unlike(jk, rng):
    pairs = [([1, 2, 3], [1, 2]), ([1, 2], (1, 2)), ({"a": 1}, {"b": 1}), ([1, None], [None, 1])]
    return [raised(jk.tree_util.tree_map, lambda x, y: x, *pair) for pair in pairs]


@program("05", "Traced functions take and return trees.")
def traced(jk, rng):
    def f(params, x):
        return {"z": [params["b"], None], "y": params["w"][0] * x, "a": ({"b": x, "a": [2.0 * x, ()]}, None)}

    return jaxpr(jk.make_jaxpr(f)(tree(rng), floats(rng, 2)))


@program("05", "A function may change the containers that it gets; those of the caller stay as they were.")
def copies(jk, rng):
    mine = {"a": floats(rng, 2)}

    def f(d):
        d["b"] = d.pop("a") * 2.0
        return d

    closed = jk.make_jaxpr(f)(mine)
    return {"keys of the caller's dict": sorted(mine), "results": len(closed.jaxpr.outvars)}


@program(
    "05",
    "Only the exact type counts: an instance of a class derived from dict is a leaf.",
    against=["whatever is like a dict is a dict"],
)
def exact(jk, rng):
    class Config(dict):
        pass

    return {"leaves": len(jk.tree_util.tree_leaves([Config(a=1, b=2), {"a": 1, "b": 2}]))}


@program(
    "05",
    "Users register their own containers.",
    against=["`unflatten` gets what `flatten` gave, in that order", "the children of one's own container are leaves"],
)
def registered(jk, rng):
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

    jk.tree_util.register_pytree_node(Pair, lambda p: ((p.x, p.y), "pair"), lambda data, children: Pair(*children))
    t = jk.tree_util.tree_map(lambda x: x * 2, Pair(3, [4]))
    return t.x, t.y


@program("05", "The data of a registered container are a part of the structure; its children may be a tuple, or come one by one.",
         against=["children are a list or a tuple"])  # fmt: skip
def own_data(jk, rng):
    class Scaled:
        def __init__(self, x, by):
            self.x, self.by = x, by

    jk.tree_util.register_pytree_node(Scaled, lambda s: ((s.x,), s.by), lambda by, xs: Scaled(xs[0], by))

    class Drawn(Scaled):
        pass

    jk.tree_util.register_pytree_node(Drawn, lambda s: (iter((s.x, s.x)), None), lambda _, xs: Drawn(list(xs), 0))
    s, same = jk.tree_util.tree_structure, Scaled(floats(rng), "a")
    return {
        "alike": s(same) == s(Scaled(1, "a")),
        "of other data": s(same) == s(Scaled(1, "b")),
        "two that differ": raised(jk.tree_util.tree_map, lambda x, y: x, same, Scaled(1, "b")),
        "mapped": jk.tree_util.tree_map(lambda x: x * 2, Scaled(3, "a")).x,
        "drawn": jk.tree_util.tree_map(lambda x: x * 2, Drawn([3, 4], 0)).x,
    }


@program(
    "05",
    "Keys are sorted by value: 2 comes before 10. A string is one leaf.",
    against=["keys are sorted as strings", "a string is a container of letters"],
)
def keys_and_texts(jk, rng):
    t = jk.tree_util
    numbers = {int(k): float(k) for k in rng.permutation([1, 2, 10, 20, 100])}
    return (
        t.tree_leaves(numbers),
        t.tree_leaves([{"name": "abc"}, "xy", ""]),
        t.tree_map(len, {"b": "abc", "a": ("", "x")}),
    )


@program(
    "05",
    "Containers without leaves are there, too, each of its own kind; leaves may come from a generator.",
    against=["what is empty is nothing", "leaves are a list"],
)
def empty_and_drawn(jk, rng):
    t, tree = jk.tree_util, {"a": [], "b": ((), {}), "c": [None, 1, [2]]}
    treedef = t.tree_structure(tree)
    kinds = [t.tree_structure(x) for x in ([], (), {}, None)]
    return {
        "the tree": t.tree_unflatten(treedef, (x * 10 for x in range(1, 3))),
        "alike": [[a == b for b in kinds] for a in kinds],
        "mapped": t.tree_map(lambda x: -x, tree),
    }


@program(
    "05",
    "Two classes of one name are two containers, and their children are trees.",
    against=[
        "a class is known by its name",
        "`unflatten` gets what `flatten` gave, in that order",
        "the children of one's own container are leaves",
    ],
)
def one_name(jk, rng):
    def make():
        class Box:
            def __init__(self, x):
                self.x = x

        return Box

    t, (one, other) = jk.tree_util, (make(), make())
    t.register_pytree_node(one, lambda b: ((b.x,), "data"), lambda data, xs: one((data, *xs)))
    t.register_pytree_node(other, lambda b: ((), b.x), lambda data, xs: other(data))
    leaves = t.tree_leaves([one([1, 2]), other(3)])
    return leaves, t.tree_map(lambda x: x, one(5)).x, t.tree_structure(one(1)) == t.tree_structure(other(1))


@program(
    "05",
    "Everything but the containers is a leaf: sets, strings, ranges, objects. So is what `tree_map`'s function returns.",
    against=["a set is a container", "what the function returns is taken apart", "None alone is a leaf"],
)
def kinds_of_leaves(jk, rng):
    t, n = jk.tree_util, int(rng.integers(2, 9))
    leaves = t.tree_leaves([{1, n}, "ab", range(n), (b"xy", frozenset([n])), {"a": 1.5}, [[], ()]])
    mapped = t.tree_map(lambda x: [x, (x, None)], {"b": (1, n), "a": [None]})
    nothing = t.tree_map(lambda x: None, (1, [2])), t.tree_map(lambda x: 1, None)
    return [repr(x) for x in leaves], mapped, nothing, len(t.tree_leaves(mapped))


@program(
    "05",
    "Only None is built like None; two classes are two containers, even with equal data and children.",
    against=["None in the first tree goes with anything", "two classes with equal data are one structure"],
)
def unlike_kinds(jk, rng):
    class One:
        def __init__(self, x):
            self.x = x

    class Other(One):
        pass

    t = jk.tree_util
    for kind in (One, Other):
        t.register_pytree_node(kind, lambda b: ((b.x,), "data"), lambda data, xs, kind=kind: kind(*xs))
    pairs = [
        (None, [1]),
        ([None], [1]),
        (None, 1),
        ({"a": None}, {"a": {}}),
        ([], None),
        (One(1), Other(1)),
        ([1], One(1)),
    ]
    same = [t.tree_structure(a) == t.tree_structure(b) for a, b in [*pairs, (One(1), One(2)), (None, None)]]
    return same, [raised(t.tree_map, lambda *xs: xs[0], a, b) for a, b in pairs]


@program(
    "05",
    "Data are equal if `==` says so, in this structure and in one that was made at another time; equal structures hash alike.",
    against=["data are equal if they are one object"],
)
def equal_data(jk, rng):
    class Own:
        def __init__(self, data, *xs):
            self.data, self.xs = data, xs

    t = jk.tree_util
    t.register_pytree_node(Own, lambda o: (list(o.xs), o.data), lambda data, xs: Own(data, *xs))
    n = int(rng.integers(1000, 2000))
    make = [lambda: Own((n * 2, "a")), lambda: Own(str(n), {"b": 1, "a": [None, Own("x", 3)]}), lambda: {str(n): [Own(n * 1.5, ())]},
            lambda: Own(-1, 1), lambda: Own(-2, 1), lambda: Own(("a", n * 2)), lambda: {-1: 0}, lambda: {-2: 0}]  # fmt: skip
    first, again = ([t.tree_structure(f()) for f in make] for _ in range(2))
    return (
        [[a == b for b in again] for a in first],
        [(hash(a) == hash(b), {a: "found"}.get(b)) for a, b in zip(first, again, strict=True)],
        t.tree_map(lambda x, y: (x, y), make[1](), make[1]()).xs[0],
    )


@program(
    "05",
    "`tree_map` of three and more trees: each must be built like the first; each leaf is given once, in order.",
    against=["the second tree is compared with the first, and no other"],
)
def many_trees(jk, rng):
    t, seen = jk.tree_util, []
    one, numbers = {"b": [1, (2, None)], "a": 3}, [int(n) for n in rng.integers(9, size=3)]
    others = [t.tree_unflatten(t.tree_structure(one), [n * x for x in numbers]) for n in (2, 5, 7)]
    found = t.tree_map(lambda *xs: (seen.append(xs), sum(xs))[1], one, *others)
    wrong = [{"b": (1, (2, None)), "a": 3}, {"b": [1, (2, ())], "a": 3}, {"b": [1, (2, None)], "c": 3}, [1], None]
    return found, seen, [raised(t.tree_map, lambda *xs: 0, one, *others[:n], w) for n in (0, 1, 3) for w in wrong]


@program(
    "05",
    "Own containers and None go into a traced function, and come out; a structure does not change with the tree that it was made of.",
)
def own_in_programs(jk, rng):
    class Layer:
        def __init__(self, w, b):
            self.w, self.b = w, b

    t = jk.tree_util
    t.register_pytree_node(Layer, lambda o: (iter([o.b, o.w]), "layer"), lambda _, xs: Layer(*reversed(list(xs))))
    f = lambda layers, x: ([Layer(o.w * x, None) for o in layers], {"z": layers[0].b, "a": (x, [])}, None)
    mine = {"c": [1], "a": 2}
    before = t.tree_structure(mine)
    mine["b"] = 5
    mine["c"].append(7)
    layers = [Layer(floats(rng, 2), floats(rng, 2)), Layer(floats(rng, 2), None)]
    return (
        jaxpr(jk.make_jaxpr(f)(layers, floats(rng, 2))),
        t.tree_unflatten(before, [3, 4]),
        before == t.tree_structure(mine),
    )


# --- random trees -------------------------------------------------------------------------------------------------------


class Own:
    """A container of a user: its children, and data."""

    def __init__(self, xs, data=None):
        self.xs, self.data = list(xs), data


class OneByOne(Own):
    """Another one, whose children come one by one."""


class NotRegistered(Own):
    """No container, though it derives from one."""


class Kind:
    """Data that print alike. They are equal if their numbers are."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return type(other) is Kind and self.n == other.n

    def __hash__(self):
        return 3

    def __repr__(self):
        return "Kind"


NOTHING = NotRegistered([1])
KEYS = (["a", "b", "ab", ""], [1, 2, 10, -1], [(1, 2), (1,), (), (2,)], [1.5, -2.0, 3.0, 0.5])


@functools.cache
def register(jk):
    node = jk.tree_util.register_pytree_node
    node(Own, lambda o: (tuple(o.xs), o.data), lambda data, xs: Own(xs, data))
    node(OneByOne, lambda o: ((x for x in o.xs), o.data), lambda data, xs: OneByOne(xs, data))


def drawn(rng, depth, leaf):
    """Draw a tree."""
    if depth == 0 or rng.integers(5) == 0:
        return None if rng.integers(5) == 0 else leaf()
    parts = [drawn(rng, depth - 1, leaf) for _ in range(int(rng.integers(0, 4)))]
    kind = pick(rng, list, tuple, dict, list, tuple, dict, Own, OneByOne)
    if kind is dict:
        keys = pick(rng, *KEYS)
        return {keys[int(i)]: x for i, x in zip(rng.permutation(4), parts, strict=False)}
    return (
        kind(parts) if kind in (list, tuple) else kind(parts, pick(rng, None, "a", Kind(1), Kind(2), (1, "b"), -1, -2))
    )


def changed(rng, tree):
    """Return a tree that is nearly the same: another container, other keys, or other data, somewhere."""
    if type(tree) is dict:
        some = list(tree)[int(rng.integers(4)) :][:1]
        others = ({k: changed(rng, x) if k in some else x for k, x in tree.items()}, {str(k): x for k, x in tree.items()},
                  {k + k if k in some else k: x for k, x in tree.items()}, list(tree.values()))  # fmt: skip
        return pick(rng, *others)
    parts = tree.xs if type(tree) in (Own, OneByOne) else tree
    if type(parts) not in (list, tuple):
        return tree
    if parts and rng.integers(2):
        at = int(rng.integers(len(parts)))
        parts = [changed(rng, x) if i == at else x for i, x in enumerate(parts)]
        return type(tree)(parts) if parts is tree or type(tree) in (list, tuple) else type(tree)(parts, tree.data)
    if parts is not tree:
        near = (
            {-1: -2, -2: -1, "a": "A", None: ()}.get(tree.data)
            if type(tree.data) is not Kind
            else Kind(3 - tree.data.n)
        )
        data = pick(rng, tree.data, near, near, None)
        return pick(rng, OneByOne, Own)(parts, data)
    return pick(rng, tuple(parts), list(parts), Own(parts), (*parts, None), parts or None)


def plain(tree):
    """Return a tree as lists, texts and leaves."""
    if type(tree) is dict:
        return ["dict", [[repr(k), plain(x)] for k, x in sorted(tree.items())]]
    if type(tree) in (list, tuple):
        return [type(tree).__name__, [plain(x) for x in tree]]
    if type(tree) in (Own, OneByOne):
        return [type(tree).__name__, getattr(tree.data, "n", tree.data), [plain(x) for x in tree.xs]]
    return repr(tree) if type(tree) in (str, set, range, bytes) else "not registered" if tree is NOTHING else tree


def walked(jk, rng, count):
    """Take random trees apart, compare their structures with those of others, and put them together with other leaves."""
    register(jk)
    t, found, one = jk.tree_util, {}, np.float32(1)
    leaf = lambda: pick(rng, 0, 1, 2.5, False, "", "ab", one, one, NOTHING, {3}, range(2), b"", int(rng.integers(99)))
    for turn in range(count):
        tree = drawn(rng, 1 + turn % 3, leaf)
        others = [changed(rng, tree) for _ in range(4)]
        leaves, treedef = t.tree_flatten(tree)
        ways = [
            list,
            tuple,
            iter,
            lambda xs: (x for x in xs),
            dict.fromkeys,
            np.array,
            lambda xs: dict(enumerate(xs)).values(),
        ]
        many = [t.tree_map(lambda *xs: xs, tree, *[tree] * n) for n in range(3)]
        same = [(treedef == s, s == treedef, treedef != s) for s in map(t.tree_structure, (tree, *others))]
        found[f"{turn}: {plain(tree)}"] = {
            "leaves": [plain(x) for x in leaves],
            "alike": [(*each, plain(o)) for each, o in zip(same, (tree, *others), strict=True)],
            "hash": hash(treedef) == hash(t.tree_structure(t.tree_unflatten(treedef, leaves))),
            "together": [plain(t.tree_unflatten(treedef, way(range(len(leaves))))) for way in ways],
            "nothing": plain(t.tree_unflatten(treedef, [None] * len(leaves))),
            "mapped": [plain(x) for x in many],
        }
    return found


@program(
    "05",
    "Random trees are put together from their leaves, in any iterable; structures that are nearly the same are not equal.",
    against=[
        "data that print alike are equal",
        "an iterable has a truth value",
        "whatever derives from a container of one's own is one",
    ],
)
def random_trees(jk, rng):
    return walked(jk, rng, 40)


@program("05", "Hundreds of random trees are put together from their leaves.", hidden=True)
def many_random_trees(jk, rng):
    return walked(jk, rng, 300)


@program("05", "Random trees are arguments and results of traced functions.")
def random_trees_are_traced(jk, rng):
    register(jk)
    numbers = [floats(rng, 2), np.float32(1), 2.0, rng.integers(9, size=3).astype(np.int32)]
    trees = [drawn(rng, 2, lambda: pick(rng, *numbers)) for _ in range(8)]
    f = lambda *ts: [ts[::-1], jk.tree_util.tree_map(lambda x: x * 2, ts[0])]
    return [jaxpr(jk.make_jaxpr(f)(*ts)) for ts in itertools.pairwise(trees)]
