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
