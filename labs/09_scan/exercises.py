"""09 scan: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 09.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitkit import core
from jitkit.base import config
from jitkit.jaxpr import Jaxpr, dce_jaxpr
from jitkit.lax import (
    add, concatenate, dynamic_slice_in_dim, dynamic_update_slice_in_dim, empty, expand_dims,
    index_in_dim, lt, reshape, slice_in_dim, squeeze, sub,
)
from jitkit.lax.control_flow.agreement import check_carry, promote_weak_inputs
from jitkit.lax.control_flow.common import Body, avals_of
from jitkit.lax.control_flow.counting import no_leading_axis, steps_at_once, traced_length
from jitkit.lax.control_flow.loops import run_while
from jitkit.lax.control_flow.scanning import bind_scan, element_of, trace_step
from jitkit.lax.control_flow.stepping import Step, one_after_the_other
from jitkit.tree_util import tree_flatten, tree_map, tree_unflatten, treedef_tuple


# --- 09.1 What a scan means (2 points) ----------------------------------------------------------------------
# Write scan as a Python loop. It runs where jit is disabled, and it defines what everything below has to do.


def scan_in_python(
    f: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """Run `scan` as a Python loop, which calls `f` for each step: for `disable_jit`.

    Args:
      f: takes the carry and a tree of elements, returns the carry and a tree of outputs.
      carry: the carry before the first step.
      xs: a tree of arrays whose leading axes have the size `length`, or None.
      length: the number of steps.
      reverse: start at the end of `xs`. The outputs are where their elements are.

    Returns:
      The carry after the last step, and the tree of the outputs. Each leaf has the outputs of all
      steps along a new leading axis (`stack_elements`). `index_in_dim(x, i, keepdims=False)` is
      `x[i]`.

    Raises:
      ValueError: there are no steps, so it is not known what `f` would return.
    """
    raise NotImplementedError("09.1")


def stack_elements(ys: Sequence[Any], reverse: bool = False) -> Any:
    """Return arrays of one shape, or numbers, stacked along a new leading axis. With `reverse` the
    last element was made first.

    Each gets an axis of size 1 in front (`expand_dims`), along which they are joined
    (`concatenate`).
    """
    raise NotImplementedError("09.1")


# --- 09.2 How many steps (2 points) -------------------------------------------------------------------------
# The number of steps is known while tracing: from the arrays, from `length`, or from both, which must agree
# then.


def scan_length(xs: Sequence[Any], length: Any) -> int:
    """Return the number of steps of a scan over the leading axes of `xs`, as an int. The arrays
    give it, or `length`, or both:

        xs                      length
        f32[3], i32[3, 2]       None        3
        f32[3]                  3           3
        nothing                 5           5
        f32[0]                  None        0
        nothing                 None        ValueError: unknown
        f32[3]                  0           ValueError: 0 is a length, and differs
        f32[3], f32[4]          None        ValueError: they do not agree
        f32[3], f32[4]          4           ValueError, about `length`: it differs from a size
        f32[3], 1.0             3           ValueError: no axes, and no `shape` (`no_leading_axis(xs)`)
        f32[3], f32[]           4           IndexError: no axes; it is Python's own, of `shape[0]`
        f32[3]                  a tracer    ConcretizationTypeError (`traced_length(length)`)

    If several things are wrong, raise the error about leaves without an axis first, and the one
    about a traced length before any comparison.

    Args:
      xs: the leaves: arrays, or whatever was passed in their place; there may be none.
      length: None, or a value that converts to an int.
    """
    raise NotImplementedError("09.2")


# --- 09.3 One equation (4 points) ---------------------------------------------------------------------------
# Trace the body for one element, make the carry agree, and write the equation.


def run_scan(
    body: Body, init: Any, xs: Any, length: Any, reverse: bool, unroll: Any
) -> tuple[Any, Any]:
    """Return the last carry, a tree like `init`, and the outputs: trace the body once, and write
    one equation.

    If jit is disabled, Python runs the loop instead (`scan_in_python`). In both cases first call
    `avals_of`, which raises for anything but an array, and then `scan_length`.

    The body is traced by `trace_step(body, in_tree, avals)`, for the tree of a tuple of two,
    `treedef_tuple((carry_tree, xs_tree))`, and for the types of the leaves of `init` and of
    elements of `xs`: an array of the type `aval` has elements of the type `element_of(aval)`. It
    returns a pair: the first of `traced.out_tree.children()` is the tree of its carry, whose leaves
    are the first outputs of the jaxpr.

    If the body returns as many leaves for the carry as it takes, with other types for weak leaves,
    promote these, and trace the body again: `promote_weak_inputs(leaves, avals, out_avals)` returns
    the leaves, and whether one is new. Then the carry must have the same tree and types before and
    after the body: call `check_carry("scan body", body, in_tree, carry_tree, traced)`, with the
    tree of the returned carry. `bind_scan(traced, init, xs, reverse, length, unroll)` writes the
    equation for the traced body, with the leaves of `init` and `xs`, and returns the leaves of the
    result; its `unroll` is a number of steps, `steps_at_once(unroll, length)`.
    """
    raise NotImplementedError("09.3")


# --- 09.4 A scan is a while loop (4 points) -----------------------------------------------------------------
# Lower it: a loop over an index, which reads its elements from the arrays, and writes its outputs into
# others.


def loop_over(
    step: Step, carry: list[Any], xs: list[Any], y_avals: Sequence[Any], length: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """Run a while loop over the leading axes of `xs`: trip i gives `step` the i-th elements, or the
    i-th from the end.

    The step's outputs go into arrays that are made before the loop, uninitialised (`empty`), and
    are part of its state: an output is written at the index of the element that the step read.
    Without steps there is no loop.

    The loop is
    `run_while(Body(goes_on, goes_on, "while_cond"), Body(trip, trip, "while_body"), state)`. Its
    state is a tuple: the number of trips so far, which starts as `0`; the carry; the outputs so
    far. The `xs` are not part of it: the body closes over them. Use `lt`, `add` and `sub` for the
    index, and `read_element` and `write_element`.

    Args:
      step: takes the carry and one element of each of `xs`, returns the carry and one element of
        each output.
      carry: the leaves of the carry, before the first step.
      xs: arrays with leading axes of size `length`.
      y_avals: the types of one element of each output.
      length: the number of steps.
      reverse: whether to begin at the end.

    Returns:
      The last carry, and the outputs with a leading axis of size `length`.
    """
    raise NotImplementedError("09.4")


def read_element(x: Any, i: Any) -> Any:
    """Return `x[i]`, for a traced index within bounds: the slice of size 1 along the leading axis
    (`dynamic_slice_in_dim` with `allow_negative_indices=False`), without that axis.
    """
    raise NotImplementedError("09.4")


def write_element(x: Any, element: Any, i: Any) -> Any:
    """Return `x` with `x[i]` replaced, for a traced index within bounds: the element gets an axis
    in front, and is written over the slice at `i` (`dynamic_update_slice_in_dim` with
    `allow_negative_indices=False`).
    """
    raise NotImplementedError("09.4")


# --- 09.5 Unroll (3 points) ---------------------------------------------------------------------------------
# Make several steps in one trip: the same results from fewer, longer trips, and then the steps that are left
# over.


def loop_in_blocks(
    step: Step,
    carry: list[Any],
    xs: list[Any],
    y_avals: Sequence[Any],
    length: int,
    reverse: bool,
    unroll: int,
) -> tuple[list[Any], list[Any]]:
    """Return what `loop_over` returns, with fewer trips, each of which does `unroll` steps one
    after the other; 0 means all steps.

    `length // unroll` blocks of steps go into a loop. Steps that are left over are done after it:
    for the last elements, or with `reverse` for the first ones. A single block, if no steps are
    left over, needs no loop. If `length` is 0, the outputs are empty arrays, which `loop_over`
    makes.

    For the loop, `reshape` the `xs` to `(blocks, unroll, ...)`, and the outputs back.
    `one_after_the_other(step, carry, xs, count, reverse)` does `count` steps without a loop, in a
    block and for the rest. `slice_in_dim(x, start, stop)` cuts the leading axis, and
    `concatenate([...], 0)` joins the outputs, in the order of the elements.
    """
    raise NotImplementedError("09.5")


# --- 09.6 Dead code in a loop (3 points) --------------------------------------------------------------------
# Somebody uses only one of a scan's results. Which parts of the carry must stay?


def needed_carry(jaxpr: Jaxpr, num_consts: int, carry: list[bool], ys: list[bool]) -> list[bool]:
    """Return which parts of a scan's carry are needed if these parts of the last carry and these
    outputs are used.

    A part is needed if it is used after the last step, or if a step reads it to compute something
    needed: an output, or a part of the carry that a later step reads. For a carry of three, and a
    step that does `a, b, c = a + x, b + a, c * 2.0` and has no output:

        used of the last carry       needed
        a                            a
        b                            a, b           the last b is made of an a
        c                            c              a step reads its own c

    One look at the step is not enough. If it does `a, b, c = b, c, c * x`, the last a is the b of
    the step before, which is the c of the one before that.

    `dce_jaxpr(jaxpr, used outputs)[1]` says what one step reads for some outputs of its jaxpr, a
    bool for each input: the `num_consts` constants, the carry, the elements.
    """
    raise NotImplementedError("09.6")
