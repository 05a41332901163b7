"""Checks that the branches of a conditional agree, and that a loop's body returns a carry like the one it takes.

XLA compiles one program for all steps and all branches, so their types must be the same. Weak types need not agree:
they only decide promotion while a function is traced.

Messages name the leaf by its path in the user's own function, show both types, and say how to fix it.

JAX: jax/_src/lax/control_flow/loops.py:_check_carry_type
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import core
from ...base import edits, source_info
from ...base.errors import JaxprTypeError
from ...core import dtypes
from ...jaxpr import Jaxpr
from ...signature import api_util
from ...tree_util import PyTreeDef, equality_errors, keystr, skeleton, tree_flatten_with_path, tree_structure
from ..convert import convert_element_type
from .common import Body, Traced


def same_type(a: Any, b: Any) -> bool:
    """Return whether two types are the same except for weakness."""
    return a is b or bool(a.strip_weak_type() == b.strip_weak_type())


def check_operands(who: str, expected: Sequence[Any], given: Sequence[Any]) -> None:
    """Raise JaxprTypeError unless the operands have the types of a jaxpr's inputs (`same_type`)."""
    if len(expected) != len(given) or not all(map(same_type, expected, given)):
        raise JaxprTypeError(
            f"{who} takes input types\n{_in_a_row(expected)},\ncalled with operands of type\n{_in_a_row(given)}"
        )


def _in_a_row(avals: Sequence[Any]) -> str:
    return " ".join(aval.str_short() for aval in avals)


def promote_weak_inputs(
    leaves: Sequence[Any], avals: Sequence[Any], out_avals: Sequence[Any]
) -> tuple[list[Any], bool]:
    """Promote the initial carry of a loop, so that it may start from `0` and add floats to it.

    Args:
      leaves: the values that the carry starts from, and `avals`, their types.
      out_avals: the types that the body returned for them.

    Returns:
      The values, and whether one of them is new. If a value is weakly typed, and the body returned another type for it (not
      `same_type`), convert it, by `convert_element_type`, to the dtype where its own and the returned one meet,
      `dtypes.result_type(value, returned type)`. Return all other values themselves.
    """
    promoted = [
        convert_element_type(x, dtypes.result_type(x, out)) if aval.weak_type and not same_type(aval, out) else x
        for x, aval, out in zip(leaves, avals, out_avals, strict=True)
    ]
    return promoted, any(new is not old for new, old in zip(promoted, leaves, strict=True))


def check_carry(what: str, body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef, traced: Traced) -> None:
    """Raise TypeError unless the carry that a loop's body returns has the same tree as the one it takes, and then the same types
    (`same_type`).

    Args:
      what: the name of the loop's function, for messages.
      body: what was traced.
      in_tree: the tree of the tuple of the body's arguments, of which the carry is the first (`in_tree.children()`).
      out_tree: the tree of the carry that the body returned.
      traced: the traced body. The inputs of its jaxpr are the constants, then the carry, then whatever else the body
        takes; its outputs are the carry, then whatever else it returns.

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
    """Return the error for a body that returns the carry as another tree. For None it shows both trees, as in JAX."""
    carry_tree = in_tree.children()[0]
    if out_tree == tree_structure(None):
        differences = f"the input tree structure is:\n{carry_tree}\nthe output tree structure is:\n{out_tree}\n"
        mend = "None is what a function returns that has no `return`."
    else:
        found = _different_structures(body, in_tree, out_tree)
        differences = _sentences(found or [_both("the input carry", carry_tree, "the carry output", out_tree)])
        mend = "Or start the loop from a value with the structure that is returned."
    return TypeError(
        f"{what} function carry input and carry output must have the same pytree structure, but they differ:"
        f"\n\n{differences}\n"
        f"Revise the function so that the carry output has the same pytree structure as the carry input.\n\n{mend}"
    )


def carry_type_error(what: str, jaxpr: Jaxpr, names: Sequence[str], pairs: Sequence[tuple[Any, Any]]) -> TypeError:
    """Return the error for a carry with leaves whose types change. `names` and `pairs` have each leaf's name and two types."""
    different = [i for i, (before, after) in enumerate(pairs) if not same_type(before, after)]
    differences = [
        f"{_component(names[i])} has type {pairs[i][0].str_short()} but the corresponding output carry component "
        f"has type {pairs[i][1].str_short()}{_mismatch(*pairs[i])}"
        for i in different
    ]
    return TypeError(
        f"{what} function carry input and carry output must have equal types, but they differ:"
        f"\n\n{_sentences(differences)}\n"
        "Revise the function so that all output types match the corresponding input types.\n\n"
        f"{_made([(f'What comes back for {names[i]}' if names[i] else 'It', jaxpr, i) for i in different])}{_mend(*pairs[different[0]])}"
    )


def _component(name: str) -> str:
    """Return JAX's words for a part of the carry: `the input carry c`, `the input carry component c['w'][0]`, or, for
    an empty `name`, `the input carry`.
    """
    return "the input carry" + (" component" if name.endswith(("]", ")")) or "." in name else "") + f" {name}".rstrip()


def _both(one: str, tree: PyTreeDef, two: str, other: PyTreeDef) -> str:
    """Return the clause for two unequal structures in which no differing place was found, for example because of an
    unusual equality of their metadata.
    """
    return f"{one} has the structure {tree} and {two} the structure {other}"


def _sentences(differences: Sequence[str]) -> str:
    """Return the differences as text: a single one as a sentence, several as a list."""
    if len(differences) == 1:
        return f"{differences[0][0].upper()}{differences[0][1:]}.\n"
    return "".join(f"  * {difference};\n" for difference in differences[:-1]) + f"  * {differences[-1]}.\n"


def _mismatch(one: Any, two: Any) -> str:
    parts = [f"the {part}s do not match" for part in ("dtype", "shape") if getattr(one, part) != getattr(two, part)]
    return f", so {', and '.join(parts)}" if parts else ""


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


def _made(outputs: Sequence[tuple[str, Jaxpr, int]]) -> str:
    """Return sentences such as `v['w'] is made at train.py:31. `, one for each output whose line is known. An output is given
    by the words for it, a jaxpr, and its number among the jaxpr's outputs.
    """
    places = []
    for name, jaxpr, output in outputs:
        atom = jaxpr.outvars[output]
        eqn = next((eqn for eqn in jaxpr.eqns if atom in eqn.outvars), None)
        position = eqn.source_info.position if eqn else None
        if position:
            where = os.path.basename(source_info.place(position.file, position.line))
            places.append(f"{name} is made at {where}. ")
    return "".join(places)


def _different_structures(body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef) -> list[str]:
    """Return a clause for each place where the carry's structure changes, named by the user's parameters."""
    rest = in_tree.children()[1:]
    before, after = (
        body.view(*(skeleton(tree, itertools.repeat(_ARRAY)) for tree in (carry, *rest)))
        for carry in (in_tree.children()[0], out_tree)
    )
    parameters = api_util.names_of_whole_arguments(body.user, len(before))
    return [
        f"{_component(parameters[path[0].idx] + keystr(path[1:]))} is a {first} but the corresponding component of "
        f"the carry output is a {second}, so {reason}"
        for path, first, second, reason in equality_errors(before, after)
    ]


class _ShownAsLeaf(type):
    def __repr__(cls) -> str:
        return "pytree leaf"


# These stand for every array in a message about structure: in one about a carry, JAX names the class `ShapedArray`; in
# one about a branch, it says "pytree leaf".
_ARRAY = core.ShapedArray((), np.float32)
_LEAF = _ShownAsLeaf("Leaf", (), {})()


# --- branches -----------------------------------------------------------------------------------------------


def check_branches(what: str, names: Sequence[str], bodies: Sequence[Body], traced: Sequence[Traced]) -> None:
    """Raise TypeError unless every branch returns what the first one does: a tree of the same structure, with leaves of
    the same types (`same_type`, which ignores weakness).

        (f32[2], i32[])   and   (f32[2], i32[])     agree
        (f32[2], i32[])   and   [f32[2], i32[]]     differ in structure, though not in a single leaf
        (f32[2], i32[])   and   (f32[2], f32[])     differ in type
        (f32[2], i32[])   and   (f32[3],)           differ in structure: do not mention types

    The error is about the first branch that differs. `structure_error(what, i, names, bodies, traced)` and `type_error`,
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
    """Return the error for the i-th branch, whose tree differs from the first one's."""
    one, two = _pair(names, i)
    differences = [
        f"{one} output{_at_path(path)} is a {first} but {two} output{_at_path(path)} is a {second}, so {reason}"
        for path, first, second, reason in equality_errors(
            _with_leaves(traced[0].out_tree), _with_leaves(traced[i].out_tree)
        )
    ]
    differences = differences or [_both(f"{one} output", traced[0].out_tree, f"{two} output", traced[i].out_tree)]
    text = _sentences(differences) if len(differences) > 1 else f"{differences[0]}.\n"
    return TypeError(
        f"{what} branch outputs must have the same pytree structure, but they differ:\n\n{_sources(names, bodies, i)}\n"
        f"{text}\nRevise {one} and/or {two} so that they have the same pytree structure.\n\n"
        "All branches must return the same structure: let the branch with less return what is missing, too, such as zeros "
        f"(`jnp.zeros_like`).{edits.NO_RESULT * any(traced[at].out_tree == tree_structure(None) for at in (0, i))}"
    )


def type_error(what: str, i: int, names: Sequence[str], bodies: Sequence[Body], traced: Sequence[Traced]) -> TypeError:
    """Return the error for the i-th branch, whose types differ from the first one's."""
    first, other = traced[0].jaxpr, traced[i].jaxpr
    one, two = _pair(names, i)
    paths = [path for path, _ in tree_flatten_with_path(_with_leaves(traced[0].out_tree))[0]]
    different = [
        (k, path, a, b)
        for k, (path, a, b) in enumerate(zip(paths, first.out_avals, other.out_avals, strict=True))
        if not same_type(a, b)
    ]
    differences = [
        f"the output of {one}{_at_path(path)} has type {a.str_short()} but the corresponding output of {two} has type "
        f"{b.str_short()}{_mismatch(a, b)}"
        for _, path, a, b in different
    ]
    made = _made(
        [
            (f"That of {names[branch]}{_at_path(path)}", jaxpr, k)
            for k, path, _, _ in different
            for branch, jaxpr in ((0, first), (i, other))
        ]
    )
    advice = "Convert one of them, for example with `.astype(...)`, or with `1.0` instead of `1`."
    if any(a.shape != b.shape for _, _, a, b in different):
        advice = edits.OF_OTHER_SHAPES.strip()
    return TypeError(
        f"{what} branches must have equal output types but they differ.\n\n{_sources(names, bodies, i)}\n"
        f"{_sentences(differences)}\nRevise {one} and/or {two} so that all output types match.\n\n"
        f"{made}{advice}"
    )


def _pair(names: Sequence[str], i: int) -> tuple[str, str]:
    """Return JAX's names for the two branches. For `switch` these are "branch 0" and, without a space, "branch1"."""
    return names[0], names[i].replace("branch ", "branch")


def _sources(names: Sequence[str], bodies: Sequence[Body], i: int) -> str:
    """Return two lines: which user's function the first and the i-th branch are."""
    return "".join(
        f"{name} is {api_util.source_of(bodies[k].user)}\n" for name, k in zip(_pair(names, i), (0, i), strict=True)
    )


def _at_path(path: Any) -> str:
    return f" at path {keystr(path)}" if path else ""


def _with_leaves(tree: PyTreeDef) -> Any:
    return skeleton(tree, itertools.repeat(_LEAF))
