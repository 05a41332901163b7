"""choices -> programs on trees: built-in containers, named tuples, classes that are nodes, and leaves of many kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..engine.choices import Choices
from .definitions import defined

_LEAVES = ("1", "'a'", "2.5", "True", "(1).real", "{3}", "b'x'", "Empty()", "0", "''")
_KEYS = (("'b'", "'a'"), ("10", "2", "1"), ("'x'",), ("True", "0"), ("(1, 2)", "(1,)"), ("1.5", "1"))
_DEFINITIONS = {
    "Point": 'import collections\nPoint = collections.namedtuple("Point", "x y")',
    "Derived": "class Derived(dict): pass",
    "Empty": """\
class Empty:
    def __repr__(self): return "Empty()\"""",
    "Layer": """\
import dataclasses
@dataclasses.dataclass
class Layer:
    w: object
    b: object = None
    name: str = "layer"
jax.tree_util.register_dataclass(Layer, ["w", "b"], ["name"])""",
    "Bare": """\
import dataclasses
@dataclasses.dataclass
class Bare:
    name: str
jax.tree_util.register_dataclass(Bare, [], ["name"])""",
    "Fields": "class Fields: _fields = ('x',)",
    "Alone": """\
class Alone:
    def __lt__(self, other): raise LookupError("there is no order")""",
    "Box": """\
class Box:
    def __init__(self, *inside): self.inside = inside
    def __repr__(self): return f"Box{self.inside}"
jax.tree_util.register_pytree_node(Box, lambda box: (box.inside[::-1], len(box.inside)), lambda n, inside: Box(*inside[::-1]))""",
}
_OF_TREES: dict[str, Sequence[str]] = {
    "flatten": (
        "jax.tree.leaves({0})",
        "str(jax.tree.structure({0}))",
        "jax.tree.structure({0}) == jax.tree.structure({1})",
        "len({{jax.tree.structure({0}), jax.tree.structure({1}), jax.tree.structure({0})}})",
        "jax.tree.leaves({0}, is_leaf={2})",
        "str(jax.tree.structure({0}, is_leaf={2}))",
    ),
    "unflatten": (
        "jax.tree.map(lambda x: [x], {0})",
        "jax.tree.unflatten(jax.tree.structure({0}), range(jax.tree.structure({0}).num_leaves + {3}))",
        "jax.tree.unflatten(jax.tree.structure({0}), [(i, None) for i in range(jax.tree.structure({0}).num_leaves)])",
        "jax.tree.unflatten(jax.tree.structure({0}), iter(jax.tree.leaves({0})))",
        "jax.tree.map(lambda x, y: (x, y), {0}, {0})",
        "jax.tree.unflatten(jax.tree.structure({4}), range(1 + {3}))",
    ),
    "paths": (
        "[(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path({0})]",
        "jax.tree_util.tree_flatten_with_path({0}, is_leaf={2})[0]",
        "str(jax.tree_util.tree_flatten_with_path({0})[1])",
        "jax.tree_util.tree_map_with_path(lambda path, x: (len(path), x), {0})",
    ),
}
_WITHOUT_ORDER = ("{1: 0, 'a': 0}", "{Alone(): 0, Alone(): 0}", "{None: 0, 1: 0}", "{'b': 0, (1,): 0, 'a': 0}")
_ONE_LEAF = ("5", "[5]", "{'a': (5,)}", "Box(5)")
_FIELDS = ("None", "[1, 2]", "(3,)", "{}", "{'a': 1}", "Layer(5, None)", "Layer(6, [7])", "4", "[]", "(None, 6)")
_STOPS = (
    "lambda t: isinstance(t, dict)", "lambda t: type(t) is tuple", "lambda t: False", "lambda t: t is None",
    "lambda t: isinstance(t, (list, Box))", "lambda t: t == []", "lambda t: True", "lambda t: not t",
)  # fmt: skip


def trees(*kinds: str) -> Callable[[Choices], str]:
    """Return a writer of programs that take trees apart (`flatten`), put them together (`unflatten`), or name the path
    to a leaf (`paths`).
    """

    def write(choices: Choices) -> str:
        one = _tree(choices, 3)
        other = one if choices.chance(30) else _tree(choices, 2)
        ways = [way for kind in kinds for way in _OF_TREES[kind]]
        results = [
            choices.of(ways).format(
                "one", "other", choices.of(_STOPS), choices.of((0, 0, 0, 0, 1, -1)), choices.of(_ONE_LEAF)
            )
            for _ in range(1 + choices.below(3))
        ]
        return defined(_DEFINITIONS, f"one = {one}\nother = {other}\nrepr(({', '.join(results)},))")

    return write


def _tree(choices: Choices, depth: int) -> str:
    kind = choices.below(10) if depth else 0
    if kind == 0:
        return choices.of(_LEAVES)
    if kind in (1, 9):
        return choices.of(("None", "()", "[]", "{}", "Box()", "Bare('a')"))
    parts = [_tree(choices, depth - 1) for _ in range(1 + choices.below(3))]
    if kind in (2, 3):
        return f"({', '.join(parts)},)" if kind == 2 else f"[{', '.join(parts)}]"
    if kind in (4, 5):
        keys = choices.of(_KEYS)
        if choices.chance(50):
            keys = keys[::-1]
        listed = ", ".join(f"{key}: {part}" for key, part in zip(keys, parts, strict=False))
        return f"{{{listed}}}" if choices.chance(80) or kind == 4 else f"Derived({{{listed}}})"
    if kind == 6:
        return f"Point({parts[0]}, {parts[-1]})"
    return f"Layer({', '.join(parts)[:200]})" if kind == 7 and len(parts) < 3 else f"Box({', '.join(parts)})"


def functions_of_leaves(choices: Choices) -> str:
    """Return a program that turns functions of trees into functions of leaves, and calls them one after the other, or
    two in turn.
    """
    lines = ["from jitkit.tree_util.functions import flatten_fun", "found = []"]
    count = 1 + choices.below(2)
    names = []
    for i in range(count):
        name = choices.of(("f", "g")) if i else "f"
        result = choices.of(
            ("(args, kwargs)", "kwargs", "[args, None]", "len(args)", "dict(kwargs, n=args)", "args[::-1]")
        )
        keys = choices.of(((), ("b", "a"), ("scale",)))
        args, kwargs = [_tree(choices, 1) for _ in range(choices.below(3))], [(key, _tree(choices, 1)) for key in keys]
        lines.append(f"def {name}(*args, **kwargs): return {result}")
        given = f"(({', '.join(args)}{',' if args else ''}), {{{', '.join(f'{k!r}: {v}' for k, v in kwargs)}}})"
        lines.append(f"given{i} = {given}")
        lines.append(f"flat{i}, tree{i} = flatten_fun({name}, jax.tree.structure(given{i}))")
        names.append(i)
    called = [choices.of(names) for _ in range(1 + choices.below(3))]
    for i in called:
        lines.append(f"found.append(flat{i}(*jax.tree.leaves(given{i})))")
        lines.append(f"found.append((flat{i}.__name__, str(tree{i}())))")
    lines += [f"found.append(str(tree{i}()))" for i in dict.fromkeys(called)]
    if choices.chance(30):
        other = choices.of(("*leaves, 5", "*leaves, *leaves, 6", "*leaves[1:]"))
        lines.append(f"leaves = jax.tree.leaves(given0)\ntry: flat0({other})")
        lines.append("except ValueError as error: found.append(type(error).__name__)")
    if choices.chance(30):
        lines.append("def h(x, base, scale): return x, base - scale")
        lines.append("flat, tree = flatten_fun(h, jax.tree.structure(((10,), dict(scale=7, base=2))))")
        lines.append("found.append(flat(10, 2, 7))")
    lines.append("repr(found)")
    return defined(_DEFINITIONS, "\n".join(lines))


def registered(choices: Choices) -> str:
    """Return a program that asks whether an object is a node, before and after its class, or a base class, is
    registered.
    """
    lines = ["found = []", "class Late: pass", "class Later(Late): pass"]
    bases = choices.of(("object", "dict", "list", "tuple", "Point", "Point", "Box"))
    lines.append(f"class Mine({bases}): pass")
    subjects = (
        "Late()",
        "Later()",
        "Mine()" if bases != "Point" else "Mine(1, 2)",
        "Point(1, [2])",
        "Box(1)",
        "None",
        "{}",
        "Fields()",
        "Point(1, [2])",
    )
    registrations = ("Late", "Mine", "Later", "Late", "Box", "Point")
    for _ in range(2 + choices.below(4)):
        if choices.chance(50):
            cls = choices.of(registrations)
            lines.append(
                f"try: jax.tree_util.register_pytree_node({cls}, lambda x: ((1, 2, 3), None), lambda data, x: {len(lines)})"
            )
            lines.append("except ValueError as error: found.append('refused')")
        else:
            subject = subjects[2] if choices.chance(30) else choices.of(subjects)
            lines.append(f"found.append(len(jax.tree.leaves({subject})))")
    lines.append("found")
    return defined(_DEFINITIONS, "\n".join(lines))


def keys_of_dicts(choices: Choices) -> str:
    """Return a program on dicts with the same keys in other orders, with keys of several types, and on their
    structures.
    """
    keys = choices.of((*_KEYS, ("'10'", "'9'", "'1'"), ("3", "20", "100"), ("-1", "-2"), ("'a'", "'B'")))
    one = ", ".join(f"{key}: {i}" for i, key in enumerate(keys))
    other = ", ".join(f"{key}: {i}" for i, key in reversed(list(enumerate(keys))))
    third = choices.of(("{}", "{1: 0}", "{True: 0}", "{1.0: 0}", "{'a': 0}"))
    shown = ("jax.tree.leaves(one)", "repr(jax.tree.structure(one))", "jax.tree.structure(one) == jax.tree.structure(other)",
             "repr(jax.tree.map(lambda x: x + 1, other))", "repr(jax.tree.structure((third, {1: 0}, {True: 5})))",
             "jax.tree.structure(third) == jax.tree.structure({1: 0})",
             "[jax.tree.structure(d) is jax.tree.structure(dict(d)) for d in ({}, one, third)]")  # fmt: skip
    results = [choices.of(shown) for _ in range(1 + choices.below(3))]
    return f"one, other, third = {{{one}}}, {{{other}}}, {third}\n({', '.join(results)},)"


def _equal_keys(choices: Choices) -> str:
    """Return a program that flattens and rebuilds dicts whose keys are equal, but not all of the same types, such as 1 and
    True.
    """
    twins = [f"{{{one}: 0, {two}: 0}}" for one in ("1", "True", "1.0") for two in ("2", "2.0")]
    trees = ", ".join(choices.of(twins) for _ in range(2 + choices.below(3)))
    return f"structures = [jax.tree.structure(tree) for tree in ({trees})]\nrepr([jax.tree.unflatten(s, (3, 4)) for s in structures])"


def _keys_without_order(choices: Choices) -> str:
    """Return a program that flattens a dict whose keys cannot be sorted; its result is the name of the error's class."""
    lines = ["try: found = jax.tree.leaves({})", "except Exception as error: found = type(error).__name__", "found"]
    return defined(_DEFINITIONS, "\n".join(lines).format(choices.of(_WITHOUT_ORDER)))


def _dataclasses(choices: Choices) -> str:
    """Return a program that takes apart, and puts together again, a dataclass whose fields are trees."""
    fields = ", ".join(choices.of(_FIELDS) for _ in range(2))
    ways = ("jax.tree.leaves(one)", "jax.tree.map(lambda x: [x], one)", "str(jax.tree.structure(one))")
    return defined(_DEFINITIONS, f"one = Layer({fields}, 'n')\nrepr(({choices.of(ways)}, {choices.of(ways)}))")


def nodes(choices: Choices) -> str:
    """Return a program that compares the structures of dicts with the same keys, or one that takes trees apart and puts
    them together.
    """
    writers = (
        keys_of_dicts,
        keys_of_dicts,
        _equal_keys,
        _keys_without_order,
        _dataclasses,
        _dataclasses,
        trees("flatten", "unflatten"),
    )
    return choices.of(writers)(choices)
