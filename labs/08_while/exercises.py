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
# Trace condition and body for the carry's type, make the carry agree with itself, and write one equation.


def run_while(cond: Body, body: Body, init_val: Any) -> Any:
    """Return the last carry of a loop, a tree like `init_val`: trace both functions, and write one
    equation.

    Condition and body are traced once, for a carry of the types that the leaves of `init_val` have
    (`trace_both`). When the body returns as many leaves as it gets, and other types for weak ones,
    these are promoted (`promote_weak_inputs`), and both functions traced again. Then the carry must
    come out as it went in (`check_carry`, where the loop is called `while_loop body`).

    `bind_while(cond, body, init)` writes the equation for what was traced, and returns the leaves
    of the last carry. The tree of arguments that tracing wants is that of a tuple:
    `treedef_tuple((carry_tree,))`.
    """
    raise NotImplementedError("08.1")


# --- 08.2 Starting from 0 (2 points) ------------------------------------------------------------------------
# `total = 0`, and then floats are added. Which initial values may change their type for the loop, and to
# which?


def promote_weak_inputs(
    leaves: Sequence[Any], avals: Sequence[Any], out_avals: Sequence[Any]
) -> tuple[list[Any], bool]:
    """Promote the initial carry of a loop, so that it may start from `0` and add floats to it.

    Args:
      leaves: the values that the carry starts from, and `avals`, their types.
      out_avals: the types that the body returned for them.

    Returns:
      The values, and whether one of them is new. A weakly typed one whose body returned another
      type (not `same_type`) is converted, by `convert_element_type`, to the dtype where its own and
      the returned one meet, `dtypes.result_type(value, returned type)`. All others are the objects
      that they were.
    """
    raise NotImplementedError("08.2")


# --- 08.3 The carry agrees with itself (2 points) -----------------------------------------------------------
# Refuse a body if the carry comes out with another tree or other types than it went in with.


def check_carry(
    what: str, body: Body, in_tree: PyTreeDef, out_tree: PyTreeDef, traced: Traced
) -> None:
    """Raise TypeError unless the carry comes out of a loop's body as it went in: first in tree,
    then in types (`same_type`).

    Args:
      what: the name of the loop's function, for messages.
      body: what was traced.
      in_tree: the tree of the tuple of the body's arguments, of which the carry is the first
        (`in_tree.children()`).
      out_tree: the tree of the carry that the body returned.
      traced: what tracing gave. The inputs of its jaxpr are the constants, then the carry, then
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
    """Take out of the carry what never changes; return the jaxprs of condition and body for the
    smaller carry, and for each part of the carry whether it was taken out.

    A part is taken out when the body returns it unchanged and in its own place, and the condition
    does not read it. It becomes a constant of the body. The inputs of both jaxprs are their
    constants, as many as there are `cond.consts` and `body.consts`, and then the carry. Afterwards
    they are

        of the condition    its constants, all of them, and the parts that are left
        of the body         the parts that were taken out, its constants, and the parts that are left

    (which the body returns), each in the order that they had. If nothing is taken out, return the
    jaxprs that were given.

    `forwarded_inputs(jaxpr)` says for each output which input it is, None for what is computed.
    `dce_jaxpr(jaxpr, True, instantiate=keep)` returns the jaxpr without unused inputs, except those
    to keep (`keep` has a bool for each input), and for each input whether it is there.
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

    `args` are names in the text: of the constants of the condition, then of those of the body, then
    of the carry. `ctx.avals_in` are their types. StableHLO's `while` has no constants: everything
    that its regions read is carried, so both regions have arguments for all of `args`, and the
    operation has as many results. The region of the body ends with a value for each of them, of the
    same type: constants as they came.

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
    """Compute `val = body_fun(i, val)`, from `val = init_val`, for `i` from `lower` up to but
    without `upper`; return the last `val`.

    With bounds that are known while tracing it is a `scan` of `known_trips(lower, upper)` steps
    (`count_by_scan`), otherwise a `while_loop` (`count_by_while`). Pass this one bounds of one
    dtype (`dtype_of_bounds`): convert a bound of another dtype, and leave one that has it as it is,
    weak if it was weak.

    Args:
      lower, upper: integer scalars of one dtype. With `upper <= lower` there are no steps.
      body_fun: takes the index and the carry, returns the carry with the same structure and types.
      init_val: the carry, a tree of arrays.
      unroll: as for `scan`, False where it is not given; only for known bounds.

    Raises:
      TypeError: `body_fun` is not a function, the bounds are of different types, or the carry
        changes its type.
      ValueError: the bounds are traced, and `unroll` is neither None nor False nor 1.
    """
    raise NotImplementedError("08.6")


def count_by_while(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """Do `fori_loop` as a while loop, whose carry is the index, the upper bound and the value.

    `run_while(cond, body, init_val)` writes the loop, for two `Body`. The condition is
    `below_upper`, traced for `while_cond`. The body's `fun` takes the carry, its `user` is the
    user's function, traced for `fori_loop`; its `view` returns the arguments of that, the index and
    the value. The index is counted up by `add(index, one)`, with a one of its own type: of its
    dtype, and weak where the index is, as `constant_like` makes it.
    """
    raise NotImplementedError("08.6")
