"""08 while and fori: the solutions, as the reference has them, and why."""

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


# --- 08.1 The loop ------------------------------------------------------------------------------------------
# A loop that is one equation takes the same time to trace and to compile for any number of steps, and that
# number may be data. The price is a fixed type. The second trace is needed because the body may do other
# things with other types: `v + 1` is not the same equation for an int32 carry as for a float32 one. There is
# no third trace: each weak part that disagreed was promoted, so what comes out now either agrees or is an
# error.
#
# Usual mistakes:
#   - Unpacking a carry that is a tuple into several arguments: the functions take one.
#   - Using the jaxprs of the first trace after the start was promoted.
#   - Promoting before you know that the trees have the same number of leaves: then `zip` fails, with a
#     message that nobody understands.
#
# In JAX: jax/_src/lax/control_flow/loops.py:while_loop


def run_while(cond: Body, body: Body, init_val: Any) -> Any:
    """Return the last carry of a loop, a tree like `init_val`: trace both functions, and write one equation.

    Condition and body are traced once, for a carry with the types of the leaves of `init_val` (`trace_both`). If the body
    returns as many leaves as it takes, with other types for weak leaves, promote these (`promote_weak_inputs`), and trace
    both functions again. Then the carry must have the same tree and types before and after the body (`check_carry`, where
    the loop is called `while_loop body`).

    `bind_while(cond, body, init)` writes the equation for the traced functions, and returns the leaves of the last carry.
    Tracing takes the tree of a tuple of arguments: `treedef_tuple((carry_tree,))`.
    """
    init, carry_tree = tree_flatten(init_val)
    in_tree = treedef_tuple((carry_tree,))
    traced_cond, traced = trace_both(cond, body, in_tree, avals_of(init))
    if len(traced.jaxpr.outvars) == len(init):
        init, changed = promote_weak_inputs(init, avals_of(init), traced.jaxpr.out_avals)
        if changed:
            traced_cond, traced = trace_both(cond, body, in_tree, avals_of(init))
    check_carry("while_loop body", body, in_tree, traced.out_tree, traced)
    return tree_unflatten(traced.out_tree, bind_while(traced_cond, traced, init))


# --- 08.2 Starting from 0 -----------------------------------------------------------------------------------
# Without this every loop that adds floats would have to start from `0.0`, and every author would learn that
# from an error. The start is promoted, not converted to what the body returned: a start of 0.5 for a body
# that returns int32 becomes a float32, and the disagreement is reported; converting it to int32 would
# silently lose the half.
#
# Usual mistakes:
#   - Converting to the dtype that came out.
#   - Converting all leaves, or all weak ones: if weak values come out weak, the loop's result stays weak, as
#     in JAX.
#   - Comparing new and old values with `!=`: for arrays the answer is an array.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_promote_weak_typed_input


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


# --- 08.3 The carry agrees with itself ----------------------------------------------------------------------
# XLA's `while` has one place for the carry, which the next step reads. An array that grows by an element in
# each step has no such place, and a dtype that changes would need a second program for the second step.
# `while_loop`, `fori_loop` and `scan` share this check; it knows nothing about them except where the carry
# is.
#
# Usual mistakes:
#   - Counting the inputs from 0: with a closure, the first inputs are not the carry.
#   - Comparing numbers of leaves instead of trees.
#   - Refusing a weak carry that became strong: weakness matters only while tracing.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_check_carry_type


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


# --- 08.4 What never changes --------------------------------------------------------------------------------
# Users put everything that a loop needs into the carry, since that is easy; steps that return their
# parameters unchanged are common. XLA would notice, too, but later, and each stage before it would carry them
# along. The list of truth values, one for each part of the carry, is returned so that the caller can put the
# pieces together again: `bind_while` merges what was taken out into the results.
#
# Usual mistakes:
#   - Taking every forwarded input for a constant: parts may change places.
#   - Forgetting that the constants come first, so the i-th part of the carry is not input i.
#   - Taking out what the condition reads.
#
# In JAX: jax/_src/lax/control_flow/loops.py:while_loop


def without_constant_carry(cond: Traced, body: Traced) -> tuple[Jaxpr, Jaxpr, list[bool]]:
    """Take the parts that never change out of the carry. Return the jaxprs of condition and body for the smaller carry, and for
    each part of the carry whether it was taken out.

    A part is taken out if the body returns it unchanged and in its own place, and the condition does not read it. It
    becomes a constant of the body. The inputs of the given jaxprs are their constants (as many as there are `cond.consts`
    and `body.consts`), then the carry. The inputs of the returned jaxprs are

        condition    all its constants, then the parts that are left
        body         the parts that were taken out, then its constants, then the parts that are left

    each in their old order; the body returns the parts that are left. If nothing is taken out, return the given jaxprs.

    `forwarded_inputs(jaxpr)` says for each output which input it is, or None if it is computed. `dce_jaxpr(jaxpr, True,
    instantiate=keep)` returns the jaxpr without unused inputs, except the inputs to keep (`keep` has a bool for each
    input), and for each input whether it is still there. `keep_outputs` and `move_inputs_to_front` take tuples of bools,
    one for each output or input.
    """
    nconsts = len(body.consts)
    changes = [place != nconsts + i for i, place in enumerate(forwarded_inputs(body.jaxpr))]
    pruned, used = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * len(cond.consts) + changes)
    constant = [not is_used for is_used in used[len(cond.consts) :]]
    if not any(constant):
        return cond.jaxpr, body.jaxpr, constant
    jaxpr = keep_outputs(body.jaxpr, tuple(not c for c in constant))
    return pruned, move_inputs_to_front(jaxpr, (False,) * nconsts + tuple(constant)), constant


# --- 08.5 stablehlo.while -----------------------------------------------------------------------------------
# The regions of `case` read names from around them. Those of `while` could, too, but JAX passes everything
# that they read as operands, since a `while` in XLA's HLO sees nothing else. The results include the
# constants, which nobody reads, so they are cut off here. The condition is evaluated before each step, so a
# loop may make no step at all: that is what the operation means, although nothing in the text says it.
#
# Usual mistakes:
#   - Returning only the carry from the body's region: the next round lacks its constants.
#   - Giving the condition the constants of the body.
#   - Returning all results: the equation has as many as the carry.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_while_lowering


def lower_while(
    ctx: LoweringContext, *args: str, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int
) -> list[str]:
    """Write the two regions of one `stablehlo.while`; return the names of the last carry.

    `args` are names in the text: of the constants of the condition, then the constants of the body, then the carry.
    `ctx.avals_in` has their types. StableHLO's `while` has no constants: everything that its regions read is carried,
    so both regions have an argument for each of `args`, and the operation has a result for each. The region of the body
    ends with a value for each of them, of the same type; it returns the constants unchanged.

    `write_while(ctx, args, condition, body, effects)` writes the operation, with the effects of the body's jaxpr, and
    returns a name for each of `args`, constants included. `condition` and `body` are called with the names of their
    region's arguments, one by one (`condition(*names)`), write the region, and return what it ends with as pairs of
    a name and its type, which is an aval, as in `ctx.avals_in`. `ctx.lower_region(jaxpr, names, scope)` writes the equations
    of a jaxpr and returns the names of its outputs; the scopes are `while/cond` and `while/body`. The inputs of `cond_jaxpr`
    are its constants and the carry, those of `body_jaxpr` its own constants and the carry.
    """
    sizes = [cond_nconsts, body_nconsts]

    def condition(*names: str) -> list[tuple[str, Any]]:
        cond_consts, _, carry = split_list(names, sizes)
        outs = ctx.lower_region(cond_jaxpr, cond_consts + carry, "while/cond")
        return list(zip(outs, cond_jaxpr.out_avals, strict=True))

    def body(*names: str) -> list[tuple[str, Any]]:
        cond_consts, body_consts, carry = split_list(names, sizes)
        carry = ctx.lower_region(body_jaxpr, body_consts + carry, "while/body")
        return list(zip(cond_consts + body_consts + carry, ctx.avals_in, strict=True))

    outs = write_while(ctx, args, condition, body, body_jaxpr.effects)
    return outs[cond_nconsts + body_nconsts :]


# --- 08.6 fori_loop -----------------------------------------------------------------------------------------
# `fori_loop` is not a primitive: it uses two, `scan` and `while`. In a `Body`, `fun` is the function that is
# traced, and `user` the one that the user wrote. So an error names the user's own carry, not the triple of
# index, bound and value that you made of it; and a trace is found again by the user's function, although
# `step` is a new function in each call.
#
# Usual mistakes:
#   - Converting a bound that has the right dtype already: `convert_element_type` makes it strong, and the
#     index with it.
#   - Adding a Python int to the index: then in some loops `i` and the bound have different dtypes.
#   - Passing `step` as the user's function: it is traced again in each call, and errors name it.
#   - Closing over the upper bound in the condition, instead of carrying it: correct, but not JAX's jaxpr.
#
# In JAX: jax/_src/lax/control_flow/loops.py:fori_loop


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Compute `val = body_fun(i, val)` for `i` from `lower` to `upper - 1`, beginning with `val = init_val`; return the last `val`.

    With bounds that are known while tracing it is a `scan` of `known_trips(lower, upper)` steps (`count_by_scan`),
    otherwise a `while_loop` (`count_by_while`). For the `while_loop`, convert a bound whose dtype is not
    `dtype_of_bounds(lower, upper)`; leave the other bound as it is, weak if it was weak.

    Args:
      lower, upper: integer scalars of one dtype. With `upper <= lower` there are no steps.
      body_fun: takes the index and the carry, returns the carry with the same structure and types.
      init_val: the carry, a tree of arrays.
      unroll: as in `scan`, by default False; only for known bounds.

    Raises:
      TypeError: `body_fun` is not a function, the bounds are of different types, or the carry changes its type.
      ValueError: the bounds are traced, and `unroll` is a number of steps other than 1.
    """
    if not callable(body_fun):
        raise TypeError(f"lax.fori_loop: body_fun argument should be callable.{edits.FORI_ORDER}")
    dtype = dtype_of_bounds(lower, upper)
    trips = known_trips(lower, upper)
    if trips is not None:
        return count_by_scan(lower, trips, body_fun, init_val, False if unroll is None else unroll)
    if unroll not in (None, 1) and unroll is not False:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known.\n"
            "Leave `unroll` out, or make the bounds static: jit(f, static_argnames='n')."
        )
    lower, upper = (
        bound if dtypes.dtype(bound) == dtype else convert_element_type(bound, dtype) for bound in (lower, upper)
    )
    return count_by_while(lower, upper, body_fun, init_val)


def count_by_while(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Return the last value of a `fori_loop`, computed by a while loop, whose carry is (index, upper bound, value).

    `run_while(cond, body, init_val)` writes the loop; `cond` and `body` are a `Body` each. The condition is `below_upper`,
    traced for `while_cond`. The `fun` of the body takes the carry; its `user` is the user's function, traced for
    `fori_loop`; its `view` returns the arguments of `user`: the index and the value. The index is counted up by
    `add(index, one)`, where `constant_like` makes a `one` of the same dtype, which is weak if the index is.
    """

    def step(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        i, upper, val = carry
        return add(i, constant_like(i, 1)), upper, body_fun(i, val)

    body = Body(step, body_fun, "fori_loop", lambda carry: (carry[0], carry[2]))
    cond = Body(below_upper, below_upper, "while_cond")
    _, _, val = run_while(cond, body, (lower, upper, init_val))
    return val
