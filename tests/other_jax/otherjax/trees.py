from types import SimpleNamespace

NODES = {
    tuple: (lambda t: (t, None), lambda data, cs: tuple(cs)),
    list: (lambda t: (t, None), lambda data, cs: list(cs)),
    type(None): (lambda t: ((), None), lambda data, cs: None),
    dict: (lambda d: ([d[k] for k in sorted(d)], tuple(sorted(d))), lambda keys, cs: dict(zip(keys, cs, strict=True))),
}


def flatten(tree):
    """Return the leaves, and the structure: "*" for a leaf, else (type, data, structures)."""
    if type(tree) not in NODES:
        return [tree], "*"
    children, data = NODES[type(tree)][0](tree)
    parts = [flatten(c) for c in children]
    return [x for leaves, _ in parts for x in leaves], (type(tree), data, tuple(s for _, s in parts))


def unflatten(structure, leaves):
    leaves = iter(leaves)

    def build(s):
        return next(leaves) if s == "*" else NODES[s[0]][1](s[1], [build(c) for c in s[2]])

    return build(structure)


def tree_map(f, tree, *rest):
    leaves, s = flatten(tree)
    others = [flatten(t) for t in rest]
    if any(o != s for _, o in others):
        raise ValueError("structures differ")
    return unflatten(s, [f(*xs) for xs in zip(leaves, *[ls for ls, _ in others], strict=True)])


tree_util = SimpleNamespace(
    tree_flatten=flatten, tree_unflatten=unflatten, tree_map=tree_map, tree_leaves=lambda t: flatten(t)[0],
    tree_structure=lambda t: flatten(t)[1], register_pytree_node=lambda c, a, b: NODES.update({c: (a, b)}),
)  # fmt: skip
