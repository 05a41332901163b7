"""08 while and fori: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 08.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitkit.base import edits
from jitkit.base.util import split_list
from jitkit.core import dtypes
from jitkit.interpreters.mlir import LoweringContext
from jitkit.jaxpr import Jaxpr, dce_jaxpr, forwarded_inputs, keep_outputs, move_inputs_to_front
from jitkit.lax import add, convert_element_type
from jitkit.lax.control_flow.agreement import carry_structure_error, carry_type_error, same_type
from jitkit.lax.control_flow.common import Body, Traced, avals_of
from jitkit.lax.control_flow.derived import below_upper, count_by_scan, dtype_of_bounds, known_trips
from jitkit.lax.control_flow.loops import bind_while, trace_both, write_while
from jitkit.lax.utils import constant_like
from jitkit.tree_util import PyTreeDef, tree_flatten, tree_unflatten, treedef_tuple


# --- 08.1 The loop (4 points) -------------------------------------------------------------------------------
# Trace condition and body for the carry's type, see that the carry comes out of the body as it went in, and
# write one equation.


def run_while(cond: Body, body: Body, init_val: Any) -> Any:
    """Return the last carry of a loop, a tree like `init_val`: trace both functions, and write one
    equation.

    Condition and body are traced once, for a carry with the types of the leaves of `init_val`
    (`trace_both`). If the body returns as many leaves as it takes, with other types for weak
    leaves, promote these (`promote_weak_inputs`), and trace both functions again. Then the carry
    must have the same tree and types before and after the body (`check_carry`, where the loop is
    called `while_loop body`).

    `bind_while(cond, body, init)` writes the equation for the traced functions, and returns the
    leaves of the last carry. Tracing takes the tree of a tuple of arguments:
    `treedef_tuple((carry_tree,))`.
    """
    raise NotImplementedError("08.1")


# --- 08.2 Starting from 0 (2 points) ------------------------------------------------------------------------
# `total = 0`, and then floats are added. Which initial values may change their type for the loop, and to
# which type?


def promote_weak_inputs(
    leaves: Sequence[Any], avals: Sequence[Any], out_avals: Sequence[Any]
) -> tuple[list[Any], bool]:
    """Promote the initial carry of a loop, so that it may start from `0` and add floats to it.

    Args:
      leaves: the values that the carry starts from, and `avals`, their types.
      out_avals: the types that the body returned for them.

    Returns:
      The values, and whether one of them is new. If a value is weakly typed, and the body returned
      another type for it (not `same_type`), convert it, by `convert_element_type`, to the dtype
      where its own and the returned one meet, `dtypes.result_type(value, returned type)`. Return
      all other values themselves.
    """
    raise NotImplementedError("08.2")


# --- 08.3 The carry agrees with itself (2 points) -----------------------------------------------------------
# Refuse a body if the carry comes out with another tree or other types than it went in with.


def check_carry(
    what: str, body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef, traced: Traced
) -> None:
    """Raise TypeError unless the carry that a loop's body returns has the same tree as the one it
    takes, and then the same types (`same_type`).

    Args:
      what: the name of the loop's function, for messages.
      body: what was traced.
      in_tree: the tree of the tuple of the body's arguments, of which the carry is the first
        (`in_tree.children()`).
      out_tree: the tree of the carry that the body returned.
      traced: the traced body. The inputs of its jaxpr are the constants, then the carry, then
        whatever else the body takes; its outputs are the carry, then whatever else it returns.

    `carry_structure_error(what, body, in_tree, out_tree)` makes the error for the tree; and for
    types `carry_type_error(what, jaxpr, names, pairs)`, where `names` are the names of the jaxpr's
    inputs (`jaxpr.debug_info.safe_arg_names(count)`) from the first of the carry on, and `pairs`
    the types of each leaf of the carry: as it goes in, and as it comes out.
    """
    raise NotImplementedError("08.3")


# --- 08.4 What never changes (3 points) ---------------------------------------------------------------------
# If the body returns a part of the carry unchanged, that part need not go round. Make it a constant of the
# body.


def without_constant_carry(cond: Traced, body: Traced) -> tuple[Jaxpr, Jaxpr, list[bool]]:
    """Take the parts that never change out of the carry. Return the jaxprs of condition and body
    for the smaller carry, and for each part of the carry whether it was taken out.

    A part is taken out if the body returns it unchanged and in its own place, and the condition
    does not read it. It becomes a constant of the body. The inputs of the given jaxprs are their
    constants (as many as there are `cond.consts` and `body.consts`), then the carry. The inputs of
    the returned jaxprs are

        condition    all its constants, then the parts that are left
        body         the parts that were taken out, then its constants, then the parts that are left

    each in their old order; the body returns the parts that are left. If nothing is taken out,
    return the given jaxprs.

    `forwarded_inputs(jaxpr)` says for each output which input it is, or None if it is computed.
    `dce_jaxpr(jaxpr, True, instantiate=keep)` returns the jaxpr without unused inputs, except the
    inputs to keep (`keep` has a bool for each input), and for each input whether it is still there.
    `keep_outputs` and `move_inputs_to_front` take tuples of bools, one for each output or input.
    """
    raise NotImplementedError("08.4")


# --- 08.5 stablehlo.while (3 points) ------------------------------------------------------------------------
# Write the two regions of the loop: decide what each of them reads, and what goes round.


def lower_while(
    ctx: LoweringContext,
    *args: str,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[str]:
    """Write the two regions of one `stablehlo.while`; return the names of the last carry.

    `args` are names in the text: of the constants of the condition, then the constants of the body,
    then the carry. `ctx.avals_in` has their types. StableHLO's `while` has no constants: everything
    that its regions read is carried, so both regions have an argument for each of `args`, and the
    operation has a result for each. The region of the body ends with a value for each of them, of
    the same type; it returns the constants unchanged.

    `write_while(ctx, args, condition, body, effects)` writes the operation, with the effects of the
    body's jaxpr, and returns a name for each of `args`, constants included. `condition` and `body`
    are called with the names of their region's arguments, one by one (`condition(*names)`), write
    the region, and return what it ends with as pairs of a name and its type, which is an aval, as
    in `ctx.avals_in`. `ctx.lower_region(jaxpr, names, scope)` writes the equations of a jaxpr and
    returns the names of its outputs; the scopes are `while/cond` and `while/body`. The inputs of
    `cond_jaxpr` are its constants and the carry, those of `body_jaxpr` its own constants and the
    carry.
    """
    raise NotImplementedError("08.5")


# --- 08.6 fori_loop (3 points) ------------------------------------------------------------------------------
# Write a loop that counts: a scan if the bounds are known (`count_by_scan` is given), otherwise a while loop,
# which you write, too.


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Compute `val = body_fun(i, val)` for `i` from `lower` to `upper - 1`, beginning with
    `val = init_val`; return the last `val`.

    With bounds that are known while tracing it is a `scan` of `known_trips(lower, upper)` steps
    (`count_by_scan`), otherwise a `while_loop` (`count_by_while`). For the `while_loop`, convert a
    bound whose dtype is not `dtype_of_bounds(lower, upper)`; leave the other bound as it is, weak
    if it was weak.

    Args:
      lower, upper: integer scalars of one dtype. With `upper <= lower` there are no steps.
      body_fun: takes the index and the carry, returns the carry with the same structure and types.
      init_val: the carry, a tree of arrays.
      unroll: as in `scan`, by default False; only for known bounds.

    Raises:
      TypeError: `body_fun` is not a function, the bounds are of different types, or the carry
        changes its type.
      ValueError: the bounds are traced, and `unroll` is a number of steps other than 1.
    """
    raise NotImplementedError("08.6")


def count_by_while(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """Return the last value of a `fori_loop`, computed by a while loop, whose carry is (index,
    upper bound, value).

    `run_while(cond, body, init_val)` writes the loop; `cond` and `body` are a `Body` each. The
    condition is `below_upper`, traced for `while_cond`. The `fun` of the body takes the carry; its
    `user` is the user's function, traced for `fori_loop`; its `view` returns the arguments of
    `user`: the index and the value. The index is counted up by `add(index, one)`, where
    `constant_like` makes a `one` of the same dtype, which is weak if the index is.
    """
    raise NotImplementedError("08.6")
