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

from ...base import source_info
from ...base.errors import JaxprTypeError
from ...core import dtypes
from ...jaxpr import Jaxpr
from ...signature import api_util
from ...signature.api_util import Arguments
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
    """The initial carry of a loop, so that it may start from `0` and add floats to it.

    Args:
      leaves: the values that the carry starts from, and `avals`, their types.
      out_avals: the types that the body returned for them.

    Returns:
      The values, and whether one of them is new. A weakly typed one whose body returned another type (not
      `same_type`) is converted, by `convert_element_type`, to the dtype where its own and the returned one meet,
      `dtypes.result_type(value, returned type)`. All others are the objects that they were.
    """
    promoted = [
        convert_element_type(x, dtypes.result_type(x, out))
        if aval.weak_type and not same_type(aval, out)
        else x
        for x, aval, out in zip(leaves, avals, out_avals, strict=True)
    ]
    return promoted, any(new is not old for new, old in zip(promoted, leaves, strict=True))


def check_carry(what: str, body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef, traced: Traced) -> None:
    """TypeError unless the carry comes out of a loop's body as it went in: first in tree, then in types (`same_type`).

    Args:
      what: the name of the loop's function, for messages.
      body: what was traced.
      in_tree: the tree of the tuple of the body's arguments, of which the carry is the first.
      out_tree: the tree of the carry that the body returned.
      traced: what tracing gave. The inputs of its jaxpr are the constants, then the carry, then whatever else the
        body takes; its outputs are the carry, then whatever else it returns.

    `carry_structure_error(what, body, in_tree, out_tree)` makes the error for the tree; and for types
    `carry_type_error(what, jaxpr, names, pairs)`, where `names` are the names of the jaxpr's inputs
    (`jaxpr.debug_info.safe_arg_names(count)`) from the first of the carry on, and `pairs` the types of each leaf of
    the carry: as it goes in, and as it comes out.
    """
    carry_tree = in_tree.children()[0]
    if carry_tree != out_tree:
        raise carry_structure_error(what, body, in_tree, out_tree)
    start, count, jaxpr = len(traced.consts), carry_tree.num_leaves, traced.jaxpr
    pairs = list(zip(jaxpr.in_avals[start : start + count], jaxpr.out_avals[:count], strict=True))
    if not all(same_type(before, after) for before, after in pairs):
        names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[start:]
        raise carry_type_error(what, jaxpr, names, pairs)


def carry_structure_error(what: str, body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef) -> TypeError:
    """The error for a carry that comes out as another tree."""
    return TypeError(
        f"{what} function carry input and carry output must have the same pytree structure, but they differ:"
        f"\n\n{_different_structures(body, in_tree, out_tree)}\n\nReturn the carry with the structure with which it "
        "comes in, or start the loop from a value with the structure that is returned."
    )


def carry_type_error(
    what: str, jaxpr: Jaxpr, names: Sequence[str], pairs: Sequence[tuple[Any, Any]]
) -> TypeError:
    """The error for a carry of which a leaf, with this name and these two types, comes out as another type."""
    different = [i for i, (before, after) in enumerate(pairs) if not same_type(before, after)]
    differences = "\n".join(
        f"  {names[i] or 'the carry'} goes in as {pairs[i][0].str_short()} and comes out as {pairs[i][1].str_short()}"
        f"{_made_at(jaxpr, i)}"
        for i in different
    )
    return TypeError(
        f"{what} function carry input and carry output must have equal types, but they differ:"
        f"\n\n{differences}\n\n{_mend(*pairs[different[0]])}"
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
    return f" ({os.path.basename(source_info.place(position.file, position.line))})" if position else ""


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
    """TypeError unless every branch returns what the first one does: a tree of the same structure, with leaves of
    the same types (`same_type`).

    The branches are compared with the first, in their order, and of two branches the structures first: leaves
    of different trees do not belong together. `structure_error(what, i, names, bodies, traced)` and `type_error`,
    with the same parameters, make the error for the i-th branch.
    """
    first = traced[0]
    for i, other in enumerate(traced):
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True)
        if not all(same_type(one, two) for one, two in pairs):
            raise type_error(what, i, names, bodies, traced)


def structure_error(
    what: str, i: int, names: Sequence[str], bodies: Sequence[Body], traced: Sequence[Traced]
) -> TypeError:
    """The error for the i-th branch, which returns another tree than the first one."""
    differences = "\n".join(
        f"  {_output(path)} is a {one} in {names[0]} and a {other} in {names[i]}: {reason}"
        for path, one, other, reason in equality_errors(
            _with_leaves(traced[0].out_tree), _with_leaves(traced[i].out_tree)
        )
    )
    return TypeError(
        f"{what} branch outputs must have the same pytree structure, but they differ:\n\n{differences}\n\n"
        f"Return the same structure from {_both(names, bodies, i)}."
    )


def type_error(
    what: str, i: int, names: Sequence[str], bodies: Sequence[Body], traced: Sequence[Traced]
) -> TypeError:
    """The error for the i-th branch, which returns leaves of other types than the first one."""
    first, other = traced[0].jaxpr, traced[i].jaxpr
    paths = [path for path, _ in tree_flatten_with_path(_with_leaves(traced[0].out_tree))[0]]
    differences = "\n".join(
        f"  {_output(path)} is {one.str_short()} in {names[0]}{_made_at(first, k)} "
        f"and {two.str_short()} in {names[i]}{_made_at(other, k)}"
        for k, (path, one, two) in enumerate(zip(paths, first.out_avals, other.out_avals, strict=True))
        if not same_type(one, two)
    )
    return TypeError(
        f"{what} branches must have equal output types but they differ.\n\n{differences}\n\n"
        f"Return the same types from {_both(names, bodies, i)}, for example with `.astype(...)`."
    )


def _both(names: Sequence[str], bodies: Sequence[Body], i: int) -> str:
    """`true_fun (train.py:31) and false_fun (train.py:32)`."""
    return " and ".join(f"{names[k]} ({api_util.source_of(bodies[k].user)})" for k in (0, i))


def _output(path: Any) -> str:
    return f"the output at path {keystr(path)}" if path else "the output"


def _with_leaves(tree: PyTreeDef) -> Any:
    return tree.unflatten([_LEAF] * tree.num_leaves)
