"""Wrong versions of rung 05, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the order of insertion counts',
    'Two dicts with the same entries, filled in another order: the same structure?',
    '    keys = tuple(sorted(x))\n',
    '    keys = tuple(x)\n',
)
edit(
    'a list is as good as a tuple',
    '[x] and (x,): does your structure tell them apart?',
    'containers[list] = (lambda x: (x, None), lambda data, children: children)',
    'containers[list] = (lambda x: (x, None), lambda data, children: tuple(children))',
)
edit(
    'None is a leaf',
    'Is there an array in None?',
    'containers[type(None)] = (lambda x: ((), None), lambda data, children: None)\n',
    '',
)
edit(
    'trees are zipped as far as they go',
    '[1, 2, 3] and [1, 2] are mapped together. What should happen?',
    '    for _, other in others:\n        if other != treedef:\n            raise ValueError(f"the trees are not built alike: {treedef} and {other}")\n    return unflatten(treedef, [f(*xs) for xs in zip(leaves, *[ls for ls, _ in others], strict=True)])',
    '    return unflatten(treedef, [f(*xs) for xs in zip(leaves, *[ls for ls, _ in others])] + leaves)',
)
edit(
    'whatever is like a dict is one',
    'A class derived from dict has attributes of its own. Who could make one from its leaves?',
    '    if type(tree) not in containers:\n        leaves.append(tree)',
    '    if isinstance(tree, dict):\n        tree = dict(tree)\n    if type(tree) not in containers:\n        leaves.append(tree)',
)
