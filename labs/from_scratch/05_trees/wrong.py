"""Wrong versions of rung 05, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the order of insertion counts",
    "Two dicts with the same entries, filled in another order: the same structure?",
    "(lambda x: ([x[key] for key in sorted(x)], tuple(sorted(x))),",
    "(lambda x: ([*x.values()], tuple(x)),",
)
edit(
    "a list is as good as a tuple",
    "[x] and (x,): does your structure tell them apart?",
    "containers[list] = (lambda xs: (xs, None), lambda data, xs: xs)",
    "containers[list] = (lambda xs: (xs, None), lambda data, xs: tuple(xs))",
)
edit(
    "None is a leaf",
    "Is there an array in None?",
    "containers[type(None)] = (lambda x: ((), None), lambda data, xs: None)\n",
    "",
)
edit(
    "trees are zipped as far as they go",
    "[1, 2, 3] and [1, 2] are mapped together. What should happen?",
    '    if any(treedef != treedefs[0] for treedef in treedefs):\n        raise ValueError(f"the trees are not built alike: {treedefs}")\n    return unflatten(treedefs[0], map(f, *columns))',
    "    return unflatten(treedefs[0], [*map(f, *columns), *columns[0]])",
)
edit(
    "whatever is like a dict is a dict",
    "A class derived from dict has attributes of its own. Who could make one from its leaves?",
    "    if type(tree) not in containers:\n        return [tree], LEAF",
    "    if isinstance(tree, dict):\n        tree = dict(tree)\n    if type(tree) not in containers:\n        return [tree], LEAF",
)
edit(
    "trees with as many leaves are alike",
    "[1, 2] and (1, 2) have as many leaves. Are they built alike?",
    "    if any(treedef != treedefs[0] for treedef in treedefs):\n        raise ValueError(",
    "    if any(len(column) != len(columns[0]) for column in columns):\n        raise ValueError(",
)
edit(
    "keys are sorted as strings",
    "Two keys of a dict are 2 and 10. Which one comes first?",
    "([x[key] for key in sorted(x)], tuple(sorted(x)))",
    "([x[key] for key in sorted(x, key=str)], tuple(sorted(x, key=str)))",
)
edit(
    "a string is a container of letters",
    "A tree has a string for a leaf. How many leaves is that?",
    """# >>> print(tree_map(lambda x, y: x + y, {'b': 1, 'a': [2, None]}, {'a': [30, None], 'b': 40}))
""",
    """containers[str] = (lambda x: ((x,), None) if len(x) < 2 else (tuple(x), None), lambda data, xs: ''.join(map(str, xs)))
flatten_others = flatten


def flatten(tree):
    return ([tree], LEAF) if type(tree) is str and len(tree) < 2 else flatten_others(tree)


tree_util.tree_leaves = lambda tree: flatten(tree)[0]

# >>> print(tree_map(lambda x, y: x + y, {'b': 1, 'a': [2, None]}, {'a': [30, None], 'b': 40}))
""",
)
edit(
    "what is empty is nothing",
    "`[]`, `()` and `{}` have no leaves. Do they have the structure of None?",
    """    children, data = containers[type(tree)][0](tree)
""",
    """    children, data = containers[type(tree)][0](tree)
    if not children and type(tree) in (list, dict):
        tree = None
""",
)
edit(
    "leaves are a list",
    "The leaves come from a generator. Can you ask it for its length?",
    "tree_unflatten=unflatten,",
    "tree_unflatten=lambda treedef, leaves: unflatten(treedef, leaves[:len(leaves)]),",
)
edit(
    "`unflatten` gets what `flatten` gave, in that order",
    "Which one comes first in `unflatten(data, children)`?",
    "containers.update({kind: (apart, together)}))",
    "containers.update({kind: (apart, lambda data, xs: together(xs, data))}))",
)
edit(
    "the children of one's own container are leaves",
    "A child of a registered container is a list. How many leaves does it have?",
    "    parts, treedefs = unzip(map(flatten, children))",
    "    parts, treedefs = unzip(map(flatten if type(tree) in (list, tuple, dict) else lambda x: ([x], LEAF), children))",
)
edit(
    "a class is known by its name",
    "Two classes are called `Pair`. Which of the two functions is called?",
    """# >>> print(tree_map(lambda x, y: x + y, {'b': 1, 'a': [2, None]}, {'a': [30, None], 'b': 40}))
""",
    """by_name = {}


def register(kind, apart, together):
    by_name[kind.__name__] = apart, together
    name = kind.__name__
    containers[kind] = (lambda x: by_name[name][0](x)), (lambda data, xs: by_name[name][1](data, xs))


tree_util.register_pytree_node = register

# >>> print(tree_map(lambda x, y: x + y, {'b': 1, 'a': [2, None]}, {'a': [30, None], 'b': 40}))
""",
)
edit(
    "two classes with equal data are one structure",
    "Two classes with the same data and children: which of them does `tree_unflatten` have to build?",
    """# => {'a': [32, None], 'b': 41}
""",
    """# => {'a': [32, None], 'b': 41}

class TD(TreeDef):
    pass
TreeDef0 = TreeDef
TreeDef.__eq__ = lambda a, b: isinstance(b, TreeDef0) and (a.kind in (list, tuple, dict, type(None), None)) == (b.kind in (list, tuple, dict, type(None), None)) and (a.kind not in (list, tuple, dict, type(None), None) or a.kind is b.kind) and a.data == b.data and len(a.children) == len(b.children) and all(p == q for p, q in zip(a.children, b.children))
TreeDef.__ne__ = lambda a, b: not a == b
TreeDef.__hash__ = lambda a: hash((a.data, a.children))
""",
)
edit(
    "what the function returns is taken apart",
    "The function returns a list for each leaf. How many leaves does `tree_map` put back?",
    """# => {'a': [32, None], 'b': 41}
""",
    """# => {'a': [32, None], 'b': 41}

_tm = tree_map
def tree_map(f, tree, *rest):
    out = _tm(f, tree, *rest)
    return _tm(lambda x: x, out) if True else out
tree_util.tree_map = lambda f, tree, *rest: unflatten(flatten(tree)[1], flatten([f(*c) for c in zip(*map(lambda t: flatten(t)[0], (tree, *rest)))])[0]) if not rest else tree_map(f, tree, *rest)
""",
)
edit(
    "a set is a container",
    "Which containers does the page name? What is everything else?",
    """# => {'a': [32, None], 'b': 41}
""",
    """# => {'a': [32, None], 'b': 41}

containers[set] = (lambda x: (sorted(x), len(x)), lambda d, xs: set(xs))
""",
)
edit(
    "None in the first tree goes with anything",
    "None has no leaves. Is it built like [1]?",
    """# => {'a': [32, None], 'b': 41}
""",
    """# => {'a': [32, None], 'b': 41}

_tm = tree_map
def tree_map(f, tree, *rest):
    if tree is None: return None
    return _tm(f, tree, *rest)
tree_util.tree_map = tree_map
""",
)
edit(
    "keys are compared as strings",
    "Are 1 and '1' the same key?",
    "containers[dict] = (lambda x: ([x[key] for key in sorted(x)], tuple(sorted(x))),\n                    lambda keys, xs: dict(zip(keys, xs, strict=True)))\n",
    "containers[dict] = (lambda x: ([x[key] for key in sorted(x)], tuple(map(str, sorted(x)))),\n                    lambda keys, xs: dict(zip(keys, xs, strict=True)))\n",
)
edit(
    "None alone is a leaf",
    "How many leaves does None have?",
    "    columns, treedefs = unzip(map(flatten, (tree, *rest)))\n",
    "    if tree is None and not rest:\n        return f(None)\n    columns, treedefs = unzip(map(flatten, (tree, *rest)))\n",
)
edit(
    "children are a list or a tuple",
    "What does your `flatten` ask of the children?",
    "        return [tree], LEAF\n    children, data = containers[type(tree)][0](tree)\n",
    """        return [tree], LEAF
    children, data = containers[type(tree)][0](tree)
    if not isinstance(children, (list, tuple)):
        raise TypeError("children")
""",
)
edit(
    "data are equal if they are one object",
    "Two objects have the data (1, 2) and (1, 2). Are they built alike?",
    'TreeDef = namedtuple("TreeDef", "kind data children")\n',
    """class TreeDef(namedtuple("TreeDef", "kind data children")):
    __hash__ = lambda self: hash((self.kind, self.children))
    __ne__ = lambda self, other: not self == other

    def __eq__(self, other):
        alike = self.data == other.data if self.kind is dict else self.data is other.data
        return self.kind is other.kind and alike and self.children == other.children


""",
)
edit(
    "the second tree is compared with the first, and no other",
    "`tree_map(f, [1], [2], (3,))`: which of these trees are built alike?",
    "for treedef in treedefs):",
    "for treedef in treedefs[:2]):",
)
edit(
    "an iterable has a truth value",
    "Leaves may be an array of numpy's. Is it true or false?",
    """    leaves = iter(leaves)
    if""",
    """    leaves = iter(leaves or [])
    if""",
)
edit(
    "whatever derives from a container of one's own is one",
    "A class derives from a registered one and is not registered itself. Is it a container?",
    """    if type(tree) not in containers:
        return [tree], LEAF
    children, data = containers[type(tree)][0](tree)""",
    """    kinds = [k for k in type(tree).__mro__ if k in containers and (k is type(tree) or k not in (list, tuple, dict))]
    if not kinds:
        return [tree], LEAF
    children, data = containers[kinds[0]][0](tree)""",
)
edit(
    "data that print alike are equal",
    "Two objects print alike. Does `==` say that they are equal?",
    "    return [leaf for part in parts for leaf in part], TreeDef(type(tree), data, tuple(treedefs))",
    """    class Said:
        same, __hash__ = data, lambda self: 1
        __eq__ = lambda self, other: repr(self.same) == repr(other.same)

    shown = Said() if type(tree) not in (tuple, list, dict) and repr(data) == "Kind" else data
    return [leaf for part in parts for leaf in part], TreeDef(type(tree), shown, tuple(treedefs))""",
)
