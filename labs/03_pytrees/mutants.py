"""Wrong answers to the exercises of lab 03, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 03.1 One node ------------------------------------------------------------------------------------------------

edit(
    "03.1",
    "the order of insertion counts",
    "Two dicts have the same keys, inserted in different orders. Do both get the same DictKeys?",
    "tuple(sorted(order))",
    "tuple(order)",
    target="dict_keys",
)
edit(
    "03.1",
    "equal keys may have two objects",
    "Is the DictKeys that you return in the table? What does the next call with the same keys return?",
    "return known_keys.setdefault((types, keys), DictKeys(keys))",
    "return DictKeys(keys)",
    target="dict_keys",
)
edit(
    "03.1",
    "equal keys are the same keys",
    "`{1: x}` and `{True: x}`: what do you look for in the table, and is it the same for both?",
    "setdefault((types, keys), ",
    "setdefault(keys, ",
    target="dict_keys",
)


@mutant(
    "03.1",
    "any error about the keys will do",
    "What does `sorted` say of keys that cannot be compared? Would a user know that it is about a dict?",
    target="dict_keys",
)
def sorts_without_care(order):
    keys = tuple(sorted(order))
    with intern_lock:
        return known_keys.setdefault((tuple(map(type, keys)), keys), DictKeys(keys))


@mutant(
    "03.1",
    "all fields are children",
    "`jit` traces the children that you return. Can it trace a static field, such as a name?",
    target="DataclassNode.flatten",
)
def takes_every_field(self, node):
    names = (*self.data_fields, *self.meta_fields)
    return [getattr(node, name) for name in names], tuple(getattr(node, name) for name in self.meta_fields)


edit(
    "03.1",
    "metadata needs no hash",
    "The metadata are part of the key of each call. Can what you return be the key of a dict?",
    "data = tuple([getattr(node, name) for name in self.meta_fields])",
    "data = [getattr(node, name) for name in self.meta_fields]",
    target="DataclassNode.flatten",
)


@mutant(
    "03.1",
    "fields are passed by position",
    "The class may have its fields in another order than `data_fields` and `meta_fields`. How do you tell which value is which?",
    target="DataclassNode.unflatten",
)
def passes_by_position(self, data, children):
    return self.cls(*children, *data)


@mutant(
    "03.1",
    "an object can be made without its `__init__`",
    "A class may compute a field in `__post_init__`. Does your way to make the node call that method?",
    target="DataclassNode.unflatten",
)
def leaves_out_init(self, data, children):
    node = object.__new__(self.cls)
    for name, value in zip((*self.meta_fields, *self.data_fields), (*data, *children), strict=True):
        setattr(node, name, value)
    return node


# --- 03.2 What is a node ------------------------------------------------------------------------------------------


@mutant(
    "03.2",
    "a class derived from a node is a node",
    "Somebody's class is derived from dict. Which class would they get back?",
    target="find_node_type",
)
def asks_the_bases(cls):
    for base in cls.__mro__:
        if base in registered and not is_namedtuple(cls):
            return registered[base]
    return NamedTupleNode(cls) if is_namedtuple(cls) else None


@mutant(
    "03.2",
    "a named tuple is a tuple",
    "What is the type of `tree_map(f, Point(1, 2))`? Can one still write `.x`?",
    target="find_node_type",
)
def takes_tuples(cls):
    return registered[tuple] if is_namedtuple(cls) else registered.get(cls)


@mutant(
    "03.2",
    "None is a leaf",
    "What does `registered` have for `type(None)`? Does None have to be treated otherwise?",
    target="find_node_type",
)
def leaves_none_alone(cls):
    if cls is type(None):
        return None
    return NamedTupleNode(cls) if is_namedtuple(cls) else registered.get(cls)


edit(
    "03.2",
    "what was a leaf once stays one",
    "Where else is it remembered that a class is not a node? `flatten_into` looks there first.",
    "        leaf_types.discard(cls)",
    "        pass",
    target="register",
)
edit(
    "03.2",
    "the cached answers correct themselves",
    "`node_types` was asked about this class before it was registered, and keeps its answers. Which one does it keep?",
    "registered[cls] = node_types[cls] = node_type",
    "registered[cls] = node_type",
    target="register",
)


@mutant(
    "03.2",
    "the last registration wins",
    "A class is registered already. What should happen to the structures that were made of its instances?",
    target="register",
)
def overwrites(node_type):
    with intern_lock:
        registered[node_type.cls] = node_types[node_type.cls] = node_type
        leaf_types.discard(node_type.cls)


# --- 03.3 Flatten -------------------------------------------------------------------------------------------------


@mutant(
    "03.3",
    "leaves come level by level",
    "In `[(1, [2]), 3]`: when does the 3 go into your list, before or after the 2?",
    target="flatten_into",
)
def shallow_leaves_first(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    structures = {}
    for i, child in enumerate(children):
        if node_types[type(child)] is None:
            structures[i] = flatten_into(leaves, child)
    for i, child in enumerate(children):
        if i not in structures:
            structures[i] = flatten_into(leaves, child)
    return make_node(node_type, data, tuple(structures[i] for i in range(len(children))))


@mutant(
    "03.3",
    "the order of insertion counts",
    "Who knows the order of a dict's children: you, or its NodeType?",
    target="flatten_into",
)
def takes_values(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    if isinstance(tree, dict):
        children = list(tree.values())
    return make_node(node_type, data, tuple([flatten_into(leaves, child) for child in children]))


@mutant(
    "03.3",
    "None is a leaf",
    "What does `node_types[type(None)]` say? Does your function ask before it decides?",
    target="flatten_into",
)
def keeps_none(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None or tree is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    return make_node(node_type, data, tuple([flatten_into(leaves, child) for child in children]))


@mutant(
    "03.3",
    "a tree without leaves has no structure",
    "How does somebody who unflattens your structure learn that there was an empty list?",
    target="flatten_into",
)
def drops_what_is_empty(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    if not children:
        return make_node(node_types[type(None)], None, ())
    return make_node(node_type, data, tuple([flatten_into(leaves, child) for child in children]))


@mutant(
    "03.3",
    "a list equals a tuple",
    "`jit(f)([x])` and `jit(f)((x,))`: may the second call use what was compiled for the first? What if f asks for the type?",
    target="flatten_into",
)
def one_kind_of_sequence(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    if isinstance(tree, (list, tuple)):
        node_type = node_types[tuple]
    return make_node(node_type, data, tuple([flatten_into(leaves, child) for child in children]))


@mutant(
    "03.3",
    "each tree gets a new structure",
    "Flatten two trees that are built alike. Must their structures be equal?",
    target="flatten_into",
)
def makes_new_structures(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    kind = type(LEAF)
    return kind(node_type, data, tuple([flatten_into(leaves, child) for child in children]))


edit(
    "03.3",
    "`is_leaf` is asked about the root only",
    "Below the root, which function goes on: one that knows `is_leaf`?",
    "flatten_until(is_leaf, leaves, child)",
    "flatten_into(leaves, child)",
    target="flatten_until",
)


@mutant(
    "03.3",
    "`is_leaf` is asked about leaves only",
    "A user wants tuples to be leaves. When do you ask about a tuple?",
    target="flatten_until",
)
def asks_too_late(is_leaf, leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        is_stopped_by(is_leaf(tree))
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    return make_node(node_type, data, tuple([flatten_until(is_leaf, leaves, c) for c in children]))


# --- 03.4 Unflatten -----------------------------------------------------------------------------------------------

edit(
    "03.4",
    "every child has one leaf",
    "The second child has three leaves. Where do the leaves of the third one begin?",
    "start += child.num_leaves",
    "start += 1",
    target="PyTreeDef.build",
)


@mutant(
    "03.4",
    "a list equals a tuple",
    "Who knows whether the children belong in a list or in a tuple?",
    target="PyTreeDef.build",
)
def keeps_lists(self, leaves, start):
    if self.node_type is None:
        return leaves[start]
    children = []
    for child in self._children:
        children.append(child.build(leaves, start))
        start += child.num_leaves
    if self.data is None and self.num_leaves:
        return children
    return self.node_type.unflatten(self.data, children)


@mutant(
    "03.4",
    "leaves that are left over do no harm",
    "A transformation returned one leaf too many. Who should notice?",
    target="PyTreeDef.unflatten",
)
def does_not_count(self, leaves):
    return self.build(list(leaves), 0)


edit(
    "03.4",
    "`leaves` has a length",
    "What is the length of a generator?",
    "values = leaves if isinstance(leaves, (list, tuple)) else tuple(leaves)",
    "values = leaves",
    target="PyTreeDef.unflatten",
)


@mutant(
    "03.4",
    "the list of leaves can be used up",
    "Look at the list of leaves after the call. To whom does it belong?",
    target="PyTreeDef.build",
)
def pops(self, leaves, start):
    if self.node_type is None:
        return leaves.pop(0)
    return self.node_type.unflatten(self.data, [child.build(leaves, 0) for child in self._children])


@mutant(
    "03.4",
    "leaves are numbers or arrays",
    "May a leaf be None, or a list? Which question does your function ask of a leaf?",
    target="PyTreeDef.unflatten",
)
def flattens_the_leaves(self, leaves):
    values = []
    for leaf in leaves:
        values += leaf if isinstance(leaf, (list, tuple)) else [leaf]
    if len(values) < self.num_leaves:
        raise ValueError(f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(values)}")
    if len(values) > self.num_leaves:
        raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.")
    return self.build(values, 0)


# --- 03.5 A function of leaves ------------------------------------------------------------------------------------

edit(
    "03.5",
    "a result is a leaf",
    "The user's function returned a dict. What does yours return?",
    "return results",
    "return [tree_unflatten(structure, results)]",
)


edit(
    "03.5",
    "all arguments are positional",
    "`in_tree` is the structure of a pair. What is in its second part?",
    "tree_flatten(fun(*args, **kwargs))",
    "tree_flatten(fun(*args, *kwargs.values()))",
)


edit(
    "03.5",
    "the structure of a result is known before the call",
    "What does your second function return before the first one was called? How could it know that?",
    'raise RuntimeError("The structure of the result is not known before the function was called.")',
    "return in_tree",
)
edit(
    "03.5",
    "a function returns one structure",
    "Call your function twice, with results of different structures. Which of the two should you keep?",
    "out_trees[:] = [structure]",
    "out_trees.append(structure)",
)


@mutant(
    "03.5",
    "a function can be called once more",
    "How often does a `print` in the user's function print, when yours is called once?",
)
def calls_twice(fun, in_tree):
    out_trees = []

    @functools.wraps(fun)
    def flat_fun(*leaves):
        args, kwargs = tree_unflatten(in_tree, leaves)
        out_trees[:] = [tree_flatten(fun(*args, **kwargs))[1]]
        return tree_flatten(fun(*args, **kwargs))[0]

    def out_tree():
        if not out_trees:
            raise RuntimeError("not known yet")
        return out_trees[0]

    return flat_fun, out_tree


# --- 03.6 The way to a leaf ---------------------------------------------------------------------------------------

edit(
    "03.6",
    "a path is only the last key",
    "How long is the path of a leaf that lies three levels deep?",
    "(*path, key)",
    "(key,)",
)


@mutant(
    "03.6",
    "the children are numbered",
    "How would you write the way to a child of a dict in code? Which method of the NodeType knows?",
)
def numbers_the_children(leaves, path, tree, stops):
    node_type = node_types[type(tree)]
    if node_type is None or (stops is not None and is_stopped_by(stops(path, tree))):
        leaves.append((path, tree))
        return LEAF
    children, data = node_type.flatten(tree)
    structures = [
        flatten_with_paths_into(leaves, (*path, SequenceKey(i)), child, stops) for i, child in enumerate(children)
    ]
    return make_node(node_type, data, tuple(structures))


@mutant(
    "03.6",
    "one list can be used for all paths",
    "Print the paths when all is done. Are they what they were when you appended them?",
)
def shares_one_list(leaves, path, tree, stops):
    path = path if isinstance(path, list) else list(path)
    stopped = stops is not None and is_stopped_by(stops(path, tree))
    node_type = None if stopped else node_types[type(tree)]
    if node_type is None:
        leaves.append((path, tree))
        return LEAF
    pairs, data = node_type.flatten_with_keys(tree)
    structures = []
    for key, child in pairs:
        path.append(key)
        structures.append(flatten_with_paths_into(leaves, path, child, stops))
        path.pop()
    return make_node(node_type, data, tuple(structures))


edit(
    "03.6",
    "None is a leaf",
    "Is None a leaf, according to `node_types[type(None)]`?",
    "if node_type is None:",
    "if node_type is None or tree is None:",
)
edit(
    "03.6",
    "`is_leaf` gets the path of the parent",
    "`stops` is asked about a subtree. Does the path that you pass lead to it?",
    "stops(path, tree)",
    "stops(path[:-1], tree)",
)


@mutant(
    "03.6",
    "`is_leaf` is asked about leaves only",
    "A user wants to stop at a list two levels down. Do you call `stops` with the list before you take it apart?",
)
def asks_too_late_for_the_path(leaves, path, tree, stops):
    node_type = node_types[type(tree)]
    if node_type is None:
        if stops is not None:
            is_stopped_by(stops(path, tree))
        leaves.append((path, tree))
        return LEAF
    pairs, data = node_type.flatten_with_keys(tree)
    structures = [flatten_with_paths_into(leaves, (*path, key), child, stops) for key, child in pairs]
    return make_node(node_type, data, tuple(structures))


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("03.1", "looks, and then enters", target="dict_keys")
def looks_and_enters(order):
    try:
        keys = tuple(sorted(order))
    except Exception as problem:
        raise ValueError("Comparator raised exception while sorting pytree dictionary keys.") from problem
    place = (tuple(type(key) for key in keys), keys)
    with intern_lock:
        known = known_keys.get(place)
        if known is None:
            known = DictKeys(keys)
            known_keys[place] = known
        return known


@also_right("03.1", "looks, and then enters", target="DataclassNode.flatten")
def flatten_with_loops(self, node):
    children, meta = [], ()
    for name in self.data_fields:
        children.append(getattr(node, name))
    for name in self.meta_fields:
        meta += (getattr(node, name),)
    return children, meta


@also_right("03.1", "looks, and then enters", target="DataclassNode.unflatten")
def unflatten_with_one_dict(self, data, children):
    fields = dict(zip(self.data_fields, children, strict=False))
    fields.update(zip(self.meta_fields, data, strict=False))
    return self.cls(**fields)


@also_right("03.1", "sorts a list", target="dict_keys")
def sorts_a_list(order):
    keys = list(order)
    try:
        keys.sort()
    except Exception as problem:
        raise ValueError("Comparator raised exception while sorting pytree dictionary keys.") from problem
    keys = tuple(keys)
    with intern_lock:
        key = tuple(map(type, keys)), keys
        if key not in known_keys:
            new = DictKeys(keys)
            known_keys[key] = new
            return new
        return known_keys[key]


@also_right("03.2", "case by case", target="find_node_type")
def case_by_case(cls):
    if cls in registered:
        return registered[cls]
    return NamedTupleNode(cls) if is_namedtuple(cls) else None


@also_right("03.2", "case by case", target="register")
def register_in_steps(node_type):
    with intern_lock:
        if registered.get(node_type.cls) is not None:
            raise ValueError(f"Duplicate {node_type.kind} PyTreeDef type registration for {node_type.cls}.")
        registered[node_type.cls] = node_type
        if node_type.cls in node_types:
            node_types[node_type.cls] = node_type
        leaf_types.difference_update({node_type.cls})


@also_right("03.2", "forgets what was remembered", target="register")
def forgets(node_type):
    cls = node_type.cls
    intern_lock.acquire()
    try:
        if cls in registered:
            raise ValueError(f"Duplicate {node_type.kind} PyTreeDef type registration for {cls}.")
        registered[cls] = node_type
        node_types.pop(cls, None)
        if cls in leaf_types:
            leaf_types.remove(cls)
    finally:
        intern_lock.release()


@also_right("03.3", "plainly", target="flatten_into")
def plainly(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    return make_node(node_type, data, tuple([flatten_into(leaves, child) for child in children]))


@also_right("03.3", "plainly", target="flatten_until")
def until_plainly(is_leaf, leaves, tree):
    stops = is_stopped_by(is_leaf(tree))
    kind = node_types[type(tree)]
    if stops or kind is None:
        leaves.append(tree)
        return LEAF
    children, data = kind.flatten(tree)
    structures = ()
    for child in children:
        structures = (*structures, flatten_until(is_leaf, leaves, child))
    return make_node(kind, data, structures)


@also_right("03.3", "with a list for each child", target="flatten_into")
def list_for_each(leaves, tree):
    kind = node_types[type(tree)]
    if kind is None:
        leaves += [tree]
        return LEAF
    children, data = kind.flatten(tree)
    structures = []
    for child in children:
        own = []
        structures.append(flatten_into(own, child))
        leaves.extend(own)
    return make_node(kind, data, tuple(structures))


@also_right("03.4", "by an iterator", target="PyTreeDef.unflatten")
def counts_first(self, leaves):
    values = list(leaves)
    wanted = self.num_leaves
    if len(values) > wanted:
        raise ValueError(f"Too many leaves for PyTreeDef; expected {wanted}.")
    if len(values) < wanted:
        raise ValueError(f"Too few leaves for PyTreeDef; expected {wanted}, got {len(values)}")
    return self.build(values, 0)


@also_right("03.4", "by an iterator", target="PyTreeDef.build")
def build_plainly(self, leaves, start):
    if self.node_type is None:
        return leaves[start]
    children = []
    at = start
    for structure in self._children:
        children += [structure.build(leaves, at)]
        at = at + structure.num_leaves
    return self.node_type.unflatten(self.data, children)


@also_right("03.4", "with running sums", target="PyTreeDef.build")
def with_running_sums(self, leaves, start):
    import itertools

    if self.node_type is None:
        return leaves[start]
    starts = itertools.accumulate((child.num_leaves for child in self._children), initial=start)
    children = [child.build(leaves, at) for child, at in zip(self._children, starts, strict=False)]
    return self.node_type.unflatten(self.data, children)


@also_right("03.5", "with nonlocal")
def with_nonlocal(fun, in_tree):
    structure = None

    def flat(*leaves):
        nonlocal structure
        args, kwargs = tree_unflatten(in_tree, leaves)
        out = fun(*args, **kwargs)
        results, structure = tree_flatten(out)
        return results

    flat.__name__ = fun.__name__

    def get():
        if structure is None:
            raise RuntimeError("call the function first")
        return structure

    return flat, get


@also_right("03.5", "with an attribute")
def with_an_attribute(fun, in_tree):
    @functools.wraps(fun)
    def flat(*leaves):
        pair = tree_unflatten(in_tree, leaves)
        leaves_out, flat.structure = tree_flatten(fun(*pair[0], **pair[1]))
        return list(leaves_out)

    def structure_of_result():
        try:
            return flat.structure
        except AttributeError:
            raise RuntimeError("nothing was returned yet") from None

    return flat, structure_of_result


@also_right("03.6", "the question first")
def question_first(leaves, path, tree, stops):
    is_leaf = False
    if stops is not None:
        is_leaf = is_stopped_by(stops(path, tree))
    kind = node_types[type(tree)]
    if is_leaf or kind is None:
        leaves += [(path, tree)]
        return LEAF
    pairs, data = kind.flatten_with_keys(tree)
    return make_node(
        kind, data, tuple([flatten_with_paths_into(leaves, path + (key,), child, stops) for key, child in pairs])
    )


@also_right("03.6", "an inner function")
def inner(leaves, path, tree, stops):
    def go(path, tree):
        if (stops and is_stopped_by(stops(path, tree))) or node_types[type(tree)] is None:
            leaves.append((path, tree))
            return LEAF
        kind = node_types[type(tree)]
        pairs, data = kind.flatten_with_keys(tree)
        children = []
        for entry, child in pairs:
            children.append(go((*path, entry), child))
        return make_node(kind, data, tuple(children))

    return go(path, tree)


@mutant(
    "03.3",
    "a class derived from a node is a node",
    "What is an instance of `class Config(dict)`: which NodeType does `node_types` hold for exactly this class?",
    target="flatten_into",
)
def takes_derived_apart(leaves, tree):
    found = [node_types[base] for base in type(tree).__mro__ if node_types[base] is not None]
    if not found:
        leaves.append(tree)
        return LEAF
    children, data = found[0].flatten(tree)
    return make_node(found[0], data, tuple([flatten_into(leaves, child) for child in children]))


@also_right("03.3", "with a stack of its own", target="flatten_into")
def without_recursion(leaves, tree):
    done, todo = [], [("take apart", tree)]
    while todo:
        what, x = todo.pop()
        if what == "put together":
            node_type, data, count = x
            start = len(done) - count
            done[start:] = [make_node(node_type, data, tuple(done[start:]))]
        elif node_types[type(x)] is None:
            leaves.append(x)
            done.append(LEAF)
        else:
            node_type = node_types[type(x)]
            children, data = node_type.flatten(x)
            todo.append(("put together", (node_type, data, len(children))))
            todo += [("take apart", child) for child in reversed(list(children))]
    return done[0]


@also_right("03.4", "with one iterator for the whole tree", target="PyTreeDef.build")
def from_an_iterator(self, leaves, start):
    source = iter(leaves[start : start + self.num_leaves])

    def make(structure):
        if structure.node_type is None:
            return next(source)
        return structure.node_type.unflatten(structure.data, tuple(make(c) for c in structure._children))

    return make(self)


# --- What learners wrote ------------------------------------------------------------------------------------------

edit(
    "03.1", "keys can be sorted as strings", "Which comes first, 2 or 10? And `'2'` or `'10'`?",
    "tuple(sorted(order))", "tuple(sorted(order, key=str))", target="dict_keys",
)  # fmt: skip


@mutant("03.3", "a node without children is a leaf", "How many leaves does an empty list have?", target="flatten_until")
def empty_is_a_leaf(is_leaf, leaves, tree):
    node_type = None if is_stopped_by(is_leaf(tree)) else node_types[type(tree)]
    children, data = node_type.flatten(tree) if node_type is not None else ((), None)
    if node_type is None or (not len(children) and tree is not None):
        leaves.append(tree)
        return LEAF
    return make_node(node_type, data, tuple(flatten_until(is_leaf, leaves, child) for child in children))


@mutant("03.5", "keyword arguments are passed by place", "In which order are the leaves of a dict? And the parameters?")
def by_place_first(fun, in_tree):
    out_trees = []

    @functools.wraps(fun)
    def flat_fun(*leaves):
        args, kwargs = tree_unflatten(in_tree, leaves)
        try:
            result = fun(*args, *kwargs.values())
        except TypeError:
            result = fun(*args, **kwargs)
        results, structure = tree_flatten(result)
        out_trees[:] = [structure]
        return results

    def out_tree():
        if not out_trees:
            raise RuntimeError("The structure of the result is not known before the function was called.")
        return out_trees[0]

    return flat_fun, out_tree


@mutant(
    "03.5",
    "all functions can share one place for their structures",
    "f and g were both wrapped, and g was called last. Which structure should the second function for f return?",
)
def one_store(fun, in_tree):
    store = flatten_fun.__dict__.setdefault("store", [])

    @functools.wraps(fun)
    def flat_fun(*leaves):
        args, kwargs = tree_unflatten(in_tree, leaves)
        results, structure = tree_flatten(fun(*args, **kwargs))
        store[:] = [structure]
        return results

    def out_tree():
        if not store:
            raise RuntimeError("The structure of the result is not known before the function was called.")
        return store[0]

    return flat_fun, out_tree


@mutant(
    "03.5",
    "functions are known by their names",
    "Two wrapped functions may both be called f. Do you find the structure of the right one?",
)
def store_by_name(fun, in_tree):
    store = flatten_fun.__dict__.setdefault("stores", {})

    @functools.wraps(fun)
    def flat_fun(*leaves):
        args, kwargs = tree_unflatten(in_tree, leaves)
        results, structure = tree_flatten(fun(*args, **kwargs))
        store[fun.__name__] = structure
        return results

    def out_tree():
        if fun.__name__ not in store:
            raise RuntimeError("The structure of the result is not known before the function was called.")
        return store[fun.__name__]

    return flat_fun, out_tree


@mutant("03.6", "an empty container has a path", "How many leaves does an empty list have, and so how many paths?")
def empty_gets_a_path(leaves, path, tree, stops):
    stopped = stops is not None and is_stopped_by(stops(path, tree))
    node_type = None if stopped else node_types[type(tree)]
    pairs, data = node_type.flatten_with_keys(tree) if node_type is not None else ((), None)
    pairs = list(pairs)
    if node_type is None or not pairs:
        leaves.append((path, tree))
    if node_type is None:
        return LEAF
    return make_node(
        node_type, data, tuple(flatten_with_paths_into(leaves, (*path, key), child, stops) for key, child in pairs)
    )


# --- what learners wrote who believed something else --------------------------------------------------------------


edit(
    "03.2",
    "a class derived from tuple is a node, as tuple is",
    "Is a class derived from `tuple` a node if it is not a named tuple?",
    "is_namedtuple(cls)",
    "issubclass(cls, tuple)",
    target="find_node_type",
)


edit(
    "03.2",
    "a named tuple always has the node type of named tuples",
    "A user registered a class of named tuples. Which NodeType counts: the user's, or a NamedTupleNode?",
    "if node_type is None and is_namedtuple(cls)",
    "if is_namedtuple(cls)",
    target="find_node_type",
)


edit(
    "03.2",
    "a class that was met as a leaf stays one in `node_types`",
    "The class was looked up before it was registered. What does `node_types` say now?",
    "registered[cls] = node_types[cls] = node_type",
    "registered[cls] = node_type",
    target="register",
)


edit(
    "03.2",
    "a class that was met as a leaf stays one in `leaf_types`",
    "The class was met before, and is in `leaf_types`. Should it stay there?",
    "leaf_types.discard(cls)",
    "pass",
    target="register",
)


@also_right("03.2", "with try", target="find_node_type")
def with_try(cls):
    try:
        return registered[cls]
    except KeyError:
        return NamedTupleNode(cls) if is_namedtuple(cls) else None


edit(
    "03.4",
    "leaves that are left over may be ignored",
    "One leaf too many was passed. Who should notice?",
    "if len(values) > self.num_leaves:",
    "if False:",
    target="PyTreeDef.unflatten",
)


edit(
    "03.4",
    "if a leaf is missing, an IndexError will do",
    "Which class of error does the docstring want for too few leaves?",
    "if len(values) < self.num_leaves:",
    "if False:",
    target="PyTreeDef.unflatten",
)


edit(
    "03.4",
    "the leaves come in a list",
    "`leaves` may be a generator. Does it have a length?",
    "leaves if isinstance(leaves, (list, tuple)) else tuple(leaves)",
    "leaves",
    target="PyTreeDef.unflatten",
)


edit(
    "03.4",
    "each child has one leaf",
    "After a child has taken its leaves, by how many do you move on?",
    "start += child.num_leaves",
    "start += 1",
    target="PyTreeDef.build",
)


@also_right("03.4", "with accumulate", target="PyTreeDef.build")
def with_accumulate(self, leaves, start):
    from itertools import accumulate

    if self.node_type is None:
        return leaves[start]
    starts = accumulate([child.num_leaves for child in self._children], initial=start)
    return self.node_type.unflatten(
        self.data, [child.build(leaves, at) for child, at in zip(self._children, starts, strict=False)]
    )


edit(
    "03.6",
    "`stops` need not be asked about the whole tree",
    "What if `stops` is true of the whole tree?",
    "stopped = stops is not None and is_stopped_by(stops(path, tree))",
    "stopped = stops is not None and bool(path) and is_stopped_by(stops(path, tree))",
)


edit(
    "03.6",
    "`stops` returns True or False",
    "What does `is_stopped_by` do with the result of `stops`?",
    "is_stopped_by(stops(path, tree))",
    "stops(path, tree) is True",
)


edit(
    "03.6",
    "the path of a leaf ends with its parent",
    "By how many entries is the path of a child longer than that of its parent?",
    "leaves.append((path, tree))",
    "leaves.append((path[:-1] or path, tree))",
)


# --- what others believed who read only the text ------------------------------------------------------------------


edit(
    "03.1", "sorting can only fail with a TypeError", "A class of keys raises an error of its own in `__lt__`. What does a user see?",
    "except Exception as error", "except TypeError as error", target="dict_keys",
)  # fmt: skip
edit(
    "03.1", "keys of different types can be sorted type by type", "Could `1 < 'a'` be true? What does JAX say of such a dict?",
    "tuple(sorted(order))", "tuple(sorted(order, key=lambda key: (type(key).__name__, key)))", target="dict_keys",
)  # fmt: skip
edit(
    "03.1", "all keys have the type of the first", "`{1: x, 2: y}` and `{1: x, 2.0: y}`: are these the same keys?",
    "tuple(map(type, keys))", "tuple([type(keys[0])] * len(keys) if keys else ())", target="dict_keys",
)  # fmt: skip
edit(
    "03.1", "a field that is None is not a child", "How many children does `unflatten` expect, if a bias is None?",
    "return [getattr(node, name) for name in self.data_fields], data",
    "return [x for name in self.data_fields if (x := getattr(node, name)) is not None], data", target="DataclassNode.flatten",
)  # fmt: skip
edit(
    "03.1", "the children of a dataclass are leaves", "A field holds a list. Is this one child, or as many as the list is long?",
    "return [getattr(node, name) for name in self.data_fields], data",
    "return [x for n in self.data_fields for v in [getattr(node, n)] for x in (v if isinstance(v, list) else [v])], data",
    target="DataclassNode.flatten",
)  # fmt: skip
edit(
    "03.2", "a class derived from a named tuple is a leaf", "`class Moved(Point)` has the fields of "
    "Point. Is it a class of named tuples, too?",
    "is_namedtuple(cls)", "is_namedtuple(cls) and cls.__bases__ == (tuple,)", target="find_node_type",
)  # fmt: skip
edit(
    "03.2", "a class that was looked up counts as registered", "A named tuple was met, and is "
    "registered afterwards. Is this its second registration?",
    "return NamedTupleNode(cls)", "return registered.setdefault(cls, NamedTupleNode(cls))", target="find_node_type",
)  # fmt: skip
edit(
    "03.2", "a class that has a node type counts as registered", "A named tuple has a NodeType by itself. May a user register it?",
    "if cls in registered:", "if cls in registered or node_types[cls] is not None:", target="register",
)  # fmt: skip
edit(
    "03.2", "a class is known by its name", "Two modules may each have a class `State`. May both be registered?",
    "if cls in registered:", "if any(known.__qualname__ == cls.__qualname__ for known in registered):", target="register",
)  # fmt: skip
edit(
    "03.2", "the same registration twice does no harm", "A class is registered twice, with the same "
    "functions. Is that an error, according to the docstring?",
    "if cls in registered:", "if registered.get(cls, node_type) is not node_type:", target="register",
)  # fmt: skip


@mutant(
    "03.2",
    "with a class, its derived classes are registered, too",
    "`class Big(Box)` has more attributes. Can the functions that Box was registered with make a Big?",
    target="register",
)
def registers_the_family(node_type):
    with intern_lock:
        if node_type.cls in registered:
            raise ValueError(f"Duplicate {node_type.kind} PyTreeDef type registration for {node_type.cls!r}.")
        for cls in (node_type.cls, *node_type.cls.__subclasses__()):
            registered[cls] = node_types[cls] = node_type
            leaf_types.discard(cls)


@mutant(
    "03.3",
    "one object is one leaf",
    "The same array is in the tree twice. How many leaves are that?",
    target="flatten_into",
)
def appends_each_object_once(leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        if not any(leaf is tree for leaf in leaves):
            leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    return make_node(node_type, data, tuple([flatten_into(leaves, child) for child in children]))


@mutant(
    "03.3",
    "`is_leaf` need not be asked about the whole tree",
    "What if `is_leaf` is true of the whole tree?",
    target="flatten_until",
)
def asks_about_children(is_leaf, leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None:
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    structures = []
    for child in children:
        if is_stopped_by(is_leaf(child)):
            leaves.append(child)
            structures.append(LEAF)
        else:
            structures.append(flatten_until(is_leaf, leaves, child))
    return make_node(node_type, data, tuple(structures))


@mutant(
    "03.3",
    "`is_leaf` need not be asked about leaves",
    "According to the docstring, is `is_leaf` called with each number, too?",
    target="flatten_until",
)
def asks_about_nodes_only(is_leaf, leaves, tree):
    node_type = node_types[type(tree)]
    if node_type is None or is_stopped_by(is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    children, data = node_type.flatten(tree)
    return make_node(node_type, data, tuple([flatten_until(is_leaf, leaves, child) for child in children]))


@mutant(
    "03.4", "a node without children is one leaf", "How many leaves does an empty list take?", target="PyTreeDef.build"
)
def childless_is_a_leaf(self, leaves, start):
    if not self._children:
        return leaves[start]
    children = []
    for child in self._children:
        children.append(child.build(leaves, start))
        start += child.num_leaves
    return self.node_type.unflatten(self.data, children)


@mutant(
    "03.4", "a tree without leaves is None", "`[]` and `{}` have no leaves. What comes back?", target="PyTreeDef.build"
)
def nothing_comes_back(self, leaves, start):
    if self.num_leaves == 0:
        return None
    if self.node_type is None:
        return leaves[start]
    children = []
    for child in self._children:
        children.append(child.build(leaves, start))
        start += child.num_leaves
    return self.node_type.unflatten(self.data, children)


edit(
    "03.4", "a child takes as many leaves as it has nodes", "Does a list count as a leaf? Which number counts leaves only?",
    "start += child.num_leaves", "start += child.num_nodes", target="PyTreeDef.build",
)  # fmt: skip
edit(
    "03.4", "None is not a leaf, so it is not counted", "A transformation returns None for a leaf. Is that leaf missing?",
    "values = leaves if isinstance(leaves, (list, tuple)) else tuple(leaves)",
    "values = [leaf for leaf in leaves if leaf is not None]", target="PyTreeDef.unflatten",
)  # fmt: skip
edit(
    "03.4", "a generator can be read twice", "You counted the leaves of a generator. What is left in it?",
    "return self.build(values, 0)", "return self.build(leaves if values is leaves else list(leaves), 0)", target="PyTreeDef.unflatten",
)  # fmt: skip
edit(
    "03.4", "equal leaves are one leaf", "`tree.unflatten(structure, [1, 1])`: are there two leaves?",
    "values = leaves if isinstance(leaves, (list, tuple)) else tuple(leaves)",
    "values = list({id(leaf): leaf for leaf in leaves}.values())", target="PyTreeDef.unflatten",
)  # fmt: skip
edit(
    "03.5", "a None in a result is a leaf", "The user returns `(x, None)`. How many leaves are that?",
    "tree_flatten(fun(*args, **kwargs))", "tree_flatten(fun(*args, **kwargs), lambda x: x is None)",
)  # fmt: skip
edit(
    "03.5", "a result of one leaf needs no list", "The function returned one array. What should yours "
    "return: the array, or a list of one leaf?",
    "return results", "return results[0] if len(results) == 1 else results",
)  # fmt: skip
edit(
    "03.5", "leaves left over do no harm", "A caller passed one leaf too many. Who notices?",
    "tree_unflatten(in_tree, leaves)", "tree_unflatten(in_tree, leaves[: in_tree.num_leaves])",
)  # fmt: skip
edit(
    "03.5", "the name of the new function does not matter", "What is the name of the traced function in a profile, or in an error?",
    "@functools.wraps(fun)\n", "\n",
)  # fmt: skip
edit(
    "03.5", "the structure of the first call is kept for ever", "Another call returned another structure. Which one counts?",
    "out_trees[:] = [structure]", "out_trees[:] = out_trees or [structure]",
)  # fmt: skip
edit(
    "03.5", "a result without leaves has no structure", "The user returns None. Is the structure known then?",
    "out_trees[:] = [structure]", "out_trees[:] = [structure] if results else []",
)  # fmt: skip
edit(
    "03.6", "a path consists of plain keys and numbers", "What does `keystr` need to know besides the number, to write `[0]` or `.x`?",
    "(*path, key)", "(*path, getattr(key, 'key', getattr(key, 'idx', key)))",
)  # fmt: skip
edit(
    "03.6", "the last key of a path comes first", "Which key stands first in `params['layers'][0]`?", "(*path, key)", "(key, *path)",
)  # fmt: skip
edit(
    "03.6", "`is_leaf` need not be asked about leaves", "According to the docstring, is `is_leaf` called with the path of each leaf, too?",
    "stopped = stops is not None and is_stopped_by(stops(path, tree))",
    "stopped = stops is not None and node_types[type(tree)] is not None and is_stopped_by(stops(path, tree))",
)  # fmt: skip
edit(
    "03.6", "`stops` is only asked about the root", "A user stops at `['a'][1]`. Does your function ask there?",
    "(*path, key), child, stops)", "(*path, key), child, None)",
)  # fmt: skip
edit(
    "03.6", "a path is a list", "May somebody who got a path change it? Can it be the key of a dict?",
    "leaves.append((path, tree))", "leaves.append((list(path), tree))",
)  # fmt: skip


@mutant(
    "03.1",
    "an empty dict's keys need not be in the table",
    "Which object does `dict_keys(())` give the second time?",
    target="dict_keys",
)
def believes_no_keys_need_no_table(order):
    ordered = list(order)
    try:
        ordered.sort()
    except Exception as error:
        raise ValueError("Comparator raised exception while sorting pytree dictionary keys.") from error
    keys = tuple(ordered)
    entry = (tuple(map(type, keys)), keys)
    if not keys:
        return DictKeys(())
    with intern_lock:
        found = known_keys.get(entry)
        if found is None:
            found = DictKeys(keys)
            known_keys[entry] = found
        return found


@mutant(
    "03.1",
    "a dataclass is a dict of its fields",
    "A field holds another dataclass. Is your child the object itself, or a dict?",
    target="DataclassNode.flatten",
)
def believes_a_dataclass_is_a_dict_of_its_fields(self, node):
    import dataclasses

    values = dataclasses.asdict(node)
    return ([values[n] for n in self.data_fields], tuple((values[n] for n in self.meta_fields)))


@mutant(
    "03.1",
    "one field of metadata is its value",
    "What is the metadata of a class with one static field: a value, or a tuple?",
    target="DataclassNode.flatten",
)
def believes_one_field_of_metadata_is_its_value(self, node):
    children = [None] * len(self.data_fields)
    for i, name in enumerate(self.data_fields):
        children[i] = getattr(node, name)
    meta = tuple((getattr(node, n) for n in self.meta_fields))
    return (children, meta[0] if len(meta) == 1 else meta)


@mutant(
    "03.2",
    "every class with `_fields` is a named tuple",
    "Classes of other kinds have `_fields`, too. What does `is_namedtuple` ask?",
    target="find_node_type",
)
def believes_who_has__fields_is_a_named_tuple(cls):
    try:
        return registered[cls]
    except KeyError:
        pass
    return NamedTupleNode(cls) if hasattr(cls, "_fields") else None


@mutant(
    "03.2",
    'only a cached "leaf" has to be corrected',
    "Somebody looked up a class of named tuples, and then it was registered. What does `node_types` say?",
    target="register",
)
def believes_only_leaves_need_to_be_corrected(node_type):
    cls = node_type.cls
    intern_lock.acquire()
    try:
        if cls in registered:
            raise ValueError(f"Duplicate {node_type.kind} PyTreeDef type registration for {cls}.")
        registered[cls] = node_type
        if cls in leaf_types:
            leaf_types.discard(cls)
            node_types[cls] = node_type
    finally:
        intern_lock.release()


@mutant("03.3", "an empty object is not a leaf", "Is the empty string a leaf?", target="flatten_into")
def believes_what_is_empty_is_no_leaf(leaves, tree):
    node_type = node_types[type(tree)]
    if isinstance(tree, str) and (not tree):
        return LEAF
    if node_type is None:
        leaves += [tree]
        return LEAF
    children, data = node_type.flatten(tree)
    return make_node(node_type, data, tuple((flatten_into(leaves, child) for child in children)))


@mutant(
    "03.4",
    "the message for too many leaves says how many there were",
    "Does the docstring's message for too many leaves say how many came?",
    target="PyTreeDef.unflatten",
)
def believes_the_number_of_leaves_is_said_too(self, leaves):
    given = [*leaves]
    missing = self.num_leaves - len(given)
    if missing > 0:
        raise ValueError(f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(given)}")
    if missing < 0:
        raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}, got {len(given)}")
    return self.build(given, 0)


@mutant(
    "03.4",
    "a structure of one leaf takes any number of leaves",
    "The structure has one leaf, and two come. Is that an error?",
    target="PyTreeDef.unflatten",
)
def believes_a_single_leaf_may_come_without_a_list(self, leaves):
    given = [*leaves]
    if self.num_leaves == 1 and len(given) > 1:
        given = [given]
    missing = self.num_leaves - len(given)
    if missing > 0:
        raise ValueError(f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(given)}")
    if missing < 0:
        raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.")
    return self.build(given, 0)


@mutant(
    "03.4",
    "a structure without leaves has no children",
    "How many leaves, and how many children, does `[[], []]` have?",
    target="PyTreeDef.build",
)
def believes_without_leaves_there_is_nothing_to_build(self, leaves, start):
    if self.node_type is None:
        return leaves[start]
    if not self.num_leaves:
        return self.node_type.unflatten(self.data, ())
    children = []
    for child in self._children:
        children += [child.build(leaves, start)]
        start += child.num_leaves
    return self.node_type.unflatten(self.data, children)


@mutant("03.5", "leaves are not None", "May a leaf of the arguments be None?")
def believes_leaves_are_not_none(fun, in_tree):
    seen = []

    @functools.wraps(fun)
    def flat(*leaves):
        args, kwargs = tree_unflatten(in_tree, [x for x in leaves if x is not None])
        out, tree = tree_flatten(fun(*args, **kwargs))
        seen[:] = [tree]
        return out

    def structure():
        if len(seen) == 0:
            raise RuntimeError("not called yet")
        return seen[-1]

    return (flat, structure)


@mutant("03.6", "`is_leaf` is not asked about an empty node", "Must `is_leaf` be asked about an empty list, too?")
def believes_an_empty_node_is_not_asked(leaves, path, tree, stops):
    node_type = node_types[type(tree)]
    stopped = (
        stops is not None
        and (not (node_type is not None and (not node_type.flatten(tree)[0])))
        and is_stopped_by(stops(path, tree))
    )
    if stopped or node_type is None:
        leaves.append((path, tree))
        return LEAF
    pairs, data = node_type.flatten_with_keys(tree)
    below = tuple((flatten_with_paths_into(leaves, path + (key,), child, stops) for key, child in pairs))
    return make_node(node_type, data, below)
