"""What must agree: the branches of a conditional, and what goes into a loop's body with what comes out.

XLA compiles one program for all steps and all branches, so their types are fixed when the program is. Weak
types are no part of that: they decide what promotion does while a function is traced, and are over then.

Every message names the leaf by its path in the user's own function, shows both types, and says the mend.

JAX: jax/_src/lax/control_flow/loops.py:_check_carry_type
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ... import api_util, dtypes
from ...api_util import Arguments
from ...errors import JaxprTypeError
from ...jaxpr import Jaxpr
from ...tree_util import PyTreeDef, equality_errors, keystr, tree_flatten_with_path
from ..convert import convert_element_type
from .common import Body, Traced


def same_type(a: Any, b: Any) -> bool:
    """Whether two types are the same, but for weakness: a loop may make a weak value strong."""
    return a is b or bool(a.strip_weak_type() == b.strip_weak_type())


def check_operands(who: str, expected: Sequence[Any], given: Sequence[Any]) -> None:
    """JaxprTypeError unless the operands of an equation have the types that the inputs of its jaxpr have."""
    if len(expected) != len(given) or not all(map(same_type, expected, given)):
        raise JaxprTypeError(
            f"{who} takes input types\n{_in_a_row(expected)},\ncalled with operands of type\n{_in_a_row(given)}"
        )


def _in_a_row(avals: Sequence[Any]) -> str:
    return " ".join(aval.str_short() for aval in avals)


def promote_weak_inputs(
    leaves: Sequence[Any], avals: Sequence[Any], out_avals: Sequence[Any]
) -> tuple[list[Any], bool]:
    """The initial carry, with weakly typed values converted where the body returns another type; and whether
    there were any. So a loop may start from `0` and add floats to it.
    """
    promoted = [
        convert_element_type(x, dtypes.result_type(x, out))
        if aval.weak_type and not same_type(aval, out)
        else x
        for x, aval, out in zip(leaves, avals, out_avals, strict=True)
    ]
    return promoted, any(new is not old for new, old in zip(promoted, leaves, strict=True))


def check_carry(what: str, body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef, traced: Traced) -> None:
    """TypeError unless the carry comes out of a loop's body as it went in: in tree and types.

    `in_tree` is the tree of the body's arguments, of which the carry is the first.
    """
    carry_tree = in_tree.children()[0]
    if carry_tree is not out_tree and carry_tree != out_tree:
        differences = _different_structures(body, in_tree, out_tree)
        if differences:
            raise TypeError(
                f"{what} function carry input and carry output must have the same pytree structure, but they differ:"
                f"\n\n{differences}\n\nReturn the carry with the structure with which it comes in, or start the "
                "loop from a value with the structure that is returned."
            )
    start, count = len(traced.consts), carry_tree.num_leaves
    jaxpr = traced.jaxpr
    pairs = list(zip(jaxpr.in_avals[start : start + count], jaxpr.out_avals[:count], strict=True))
    if all(same_type(before, after) for before, after in pairs):
        return
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[start:]
    lines = [
        f"  {names[i] or 'the carry'} goes in as {before.str_short()} and comes out as {after.str_short()}"
        f"{_made_at(jaxpr, i)}"
        for i, (before, after) in enumerate(pairs)
        if not same_type(before, after)
    ]
    before, after = next(pair for pair in pairs if not same_type(*pair))
    differences = "\n".join(lines)
    raise TypeError(
        f"{what} function carry input and carry output must have equal types, but they differ:"
        f"\n\n{differences}\n\n{_mend(before, after)}"
    )


def _mend(before: Any, after: Any) -> str:
    if before.shape == after.shape:
        return (
            f"Make them agree, for example with `.astype('{before.dtype.name}')` on the way out, or by starting from "
            f"a value of dtype {after.dtype.name}."
        )
    return (
        f"Make them agree: return a value of shape {before.shape}, or start from one of shape {after.shape}. "
        "What grows in each step is an output of `scan`, not a carry."
    )


def _made_at(jaxpr: Jaxpr, output: int) -> str:
    """` (train.py:31)`: where an output was made, when that is known."""
    atom = jaxpr.outvars[output]
    eqn = next((eqn for eqn in jaxpr.eqns if atom in eqn.outvars), None)
    position = eqn.source_info.position if eqn else None
    return f" ({os.path.basename(position.file)}:{position.line})" if position else ""


def _different_structures(body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef) -> str:
    """A line for each place where the carry's structure changes, in terms of the user's parameters."""
    rest = in_tree.children()[1:]
    before, after = (
        body.view(*map(_with_leaves, (carry, *rest))) for carry in (in_tree.children()[0], out_tree)
    )
    parameters = api_util.argument_names(body.user, Arguments((0,) * len(before), {}, (), len(before)))
    return "\n".join(
        f"  {parameters[path[0].idx]}{keystr(path[1:])} is a {first} on the way in and a {second} on the way "
        f"out: {reason}"
        for path, first, second, reason in equality_errors(before, after)
    )


class _ShownAsArray(type):
    def __repr__(cls) -> str:
        return "single array"


_LEAF = _ShownAsArray("Leaf", (), {})()  # stands for every array in a message about structure


# --- branches -----------------------------------------------------------------------------------------------


def check_branches(what: str, names: Sequence[str], bodies: Sequence[Body], traced: Sequence[Traced]) -> None:
    """TypeError unless every branch returns what the first one does: a tree of the same structure, of leaves
    of the same types.
    """
    for i in range(1, len(traced)):
        pair = [f"{names[k]} ({api_util.source_of(bodies[k].user)})" for k in (0, i)]
        trees = traced[0].out_tree, traced[i].out_tree
        structures = "\n".join(
            f"  {_output(path)} is a {first} in {names[0]} and a {second} in {names[i]}: {reason}"
            for path, first, second, reason in equality_errors(*map(_with_leaves, trees))
        )
        if structures:
            raise TypeError(
                f"{what} branch outputs must have the same pytree structure, but they differ:\n\n{structures}\n\n"
                f"Return the same structure from {' and '.join(pair)}."
            )
        avals = [t.jaxpr.out_avals for t in traced]
        paths = [path for path, _ in tree_flatten_with_path(_with_leaves(trees[0]))[0]]
        types = "\n".join(
            f"  {_output(path)} is {first.str_short()} in {names[0]}{_made_at(traced[0].jaxpr, k)} "
            f"and {second.str_short()} in {names[i]}{_made_at(traced[i].jaxpr, k)}"
            for k, (path, first, second) in enumerate(zip(paths, avals[0], avals[i], strict=True))
            if not same_type(first, second)
        )
        if types:
            raise TypeError(
                f"{what} branches must have equal output types but they differ.\n\n{types}\n\n"
                f"Return the same types from {' and '.join(pair)}, for example with `.astype(...)`."
            )


def _output(path: Any) -> str:
    return f"the output at path {keystr(path)}" if path else "the output"


def _with_leaves(tree: PyTreeDef) -> Any:
    return tree.unflatten([_LEAF] * tree.num_leaves)
