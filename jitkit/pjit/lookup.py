"""treedef + form of a call -> a Python function that finds the entry of such calls

A warm call only has to find its entry: separate static arguments, flatten the others and make the key. But most calls
look like the one before: the same number of arguments, the same keywords, trees of the same structure. For calls of one
such form we write the steps as a function. For `f(params, n, scale=s)` with a static `n` and a dict of two arrays it
is:

    def look_up(options, args, kwargs):
        (p0, p1,) = args
        k0 = kwargs['scale']
        if type(p0) is not dict or len(p0) != 2: raise Other
        n0 = p0['b']
        n1 = p0['w']
        key = (options, tree, (1, type(p1), p1), n0._key if type(n0) is Array else key_functions[type(n0)](n0), ...)
        entry = entries[key]
        if table.crowded: table.touch(key, entry)
        return entry, (n0, n1, k0,)

This does to the look-up what `jit` does to functions: it specialises for one form and guards it. If a guard raises
`Other`, or a missing key a KeyError, the general code takes over. Calls with keyword and static arguments take half a
microsecond this way, and 2 to 4 without.

JAX: jax/_src/pjit.py:_infer_params
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..runtime import argument_keys
from ..runtime.array import Array
from ..signature.api_util import CallForm
from ..tree_util import PyTreeDef, tree_structure
from ..tree_util.compiled import Shape, Source
from .compilation_cache import Entry, Table

# (options, args, kwargs) -> the entry and the leaves; raises where there is none.
LookUp = Callable[[Any, tuple[Any, ...], dict[str, Any]], tuple[Entry, Sequence[Any]]]


def write_look_up(
    table: Table, form: CallForm, tree: PyTreeDef, is_flat: bool, of_any_call: bool = False
) -> LookUp | None:
    """Write the function that looks up calls of a form. `tree` is the structure of their dynamic arguments, a pair
    `(args, kwargs)`. Return None if the tree is too large.

    With `is_flat`, the keys are without tree and static values, the first of the two forms in `Jitted.key_of_call`.
    `jit` picks the function by the form of the call, so the function does not check the form. With `of_any_call` any
    call may come, and the function returns None or raises for other arguments.
    """
    shape = Shape(tree)
    if shape.is_too_long:
        return None
    source = Source(
        shape, {"Array": Array, "key_functions": argument_keys.key_functions, "table": table, "entries": table.entries}
    )
    arity = len(form.positions) + len(form.static_positions)
    if arity:
        source.lines.append(f"({' '.join(f'p{i},' for i in range(arity))}) = args")
    names = {name: f"k{i}" for i, name in enumerate((*form.names, *form.static_names))}
    if of_any_call:  # a missing argument raises KeyError below
        surplus = [f"len(kwargs) != {len(names)}" if names else "kwargs", *([] if arity else ["args"])]
        source.lines.append(f"if {' or '.join(surplus)}: return None")
    source.lines += [f"{variable} = kwargs[{name!r}]" for name, variable in names.items()]
    of_args, of_kwargs = tree.children()
    for position, child in zip(form.positions, of_args.children(), strict=True):
        source.take_apart(child, f"p{position}")
    for name, child in zip(sorted(form.names), of_kwargs.children(), strict=True):
        source.take_apart(child, names[name])
    statics = [f"{i}, type(p{i}), p{i}" for i in form.static_positions]
    statics += [f"{name!r}, type({names[name]}), {names[name]}" for name in form.static_names]
    begin = (
        ["options"] if is_flat else ["options", source.constant(tree), f"({''.join(f'{part}, ' for part in statics)})"]
    )
    keys = [key_of(leaf) for leaf in source.leaves]
    source.lines += [
        f"key = ({', '.join([*begin, *keys])},)",
        "entry = entries[key]",
        "if table.crowded: table.touch(key, entry)",
        f"return entry, ({''.join(f'{x}, ' for x in source.leaves)})",
    ]
    look_up: LookUp = source.function("look_up", "options, args, kwargs")
    return look_up


def key_of(leaf: str) -> str:
    """Return the expression for the key of a leaf, or of several (`*n4`)."""
    if leaf.startswith("*"):
        return f"*[{key_of('x')} for x in {leaf[1:]}]"
    return f"{leaf}._key if type({leaf}) is Array else key_functions[type({leaf})]({leaf})"


_flat_trees: list[PyTreeDef] = []  # the trees of `((*, *, ...), {})`: calls whose arguments are all arrays


def flat_tree(count: int) -> PyTreeDef:
    """Return the tree of a call with `count` positional arguments that are all leaves."""
    while len(_flat_trees) <= count:
        _flat_trees.append(tree_structure(((0,) * len(_flat_trees), {})).exact)
    return _flat_trees[count]
