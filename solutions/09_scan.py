"""09 scan: the solutions, as the reference has them, and why."""

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


# --- 09.1 What a scan means ---------------------------------------------------------------------------------
# The function that a scan runs has two results with two meanings: the carry goes to the next step, the output
# goes out. Because of the stacked outputs it can do more than `fori_loop`: it returns all values on the way,
# not only the last one. This loop only knows the shape of the outputs after a step, so zero steps are an
# error here. Under jit they are not, since tracing the body gives the shape.
#
# Usual mistakes:
#   - Collecting the carries instead of the outputs.
#   - Reversing the outputs in reverse: `ys[i]` belongs to `xs[i]`.
#   - Concatenating outputs along an existing axis: a scalar has none.
#
# In JAX: jax/_src/lax/control_flow/loops.py:scan


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
      The carry after the last step, and the tree of the outputs. Each leaf has the outputs of all steps along a new
      leading axis (`stack_elements`). `index_in_dim(x, i, keepdims=False)` is `x[i]`.

    Raises:
      ValueError: there are no steps, so it is not known what `f` would return.
    """
    if length == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode because the output type is unknown.")
    outputs = []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_map(lambda x, i=i: index_in_dim(x, i, keepdims=False), xs))
        outputs.append(y)
    return carry, tree_map(lambda *ys: stack_elements(ys, reverse), *outputs)


def stack_elements(ys: Sequence[Any], reverse: bool = False) -> Any:
    """Return arrays of one shape, or numbers, stacked along a new leading axis. With `reverse` the last element was made first.

    Each gets an axis of size 1 in front (`expand_dims`), along which they are joined (`concatenate`).
    """
    in_order = reversed(ys) if reverse else ys
    return concatenate([expand_dims(y, (0,)) for y in in_order], 0)


# --- 09.2 How many steps ------------------------------------------------------------------------------------
# The number of steps is the first number in the shape of the outputs, and shapes are known while tracing. In
# a while_loop the number is not known, so only a scan can return something for each step. It also makes the
# number of steps a part of what is compiled: another length is another program.
#
# Usual mistakes:
#   - Taking the length of the shortest array, instead of refusing arrays of different lengths.
#   - Letting `length` cut the arrays: `xs[:n]` says it better.
#   - Calling `int` on a tracer: that is an error as well, but one that says nothing about scan.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_infer_scan_length


def scan_length(xs: Sequence[Any], length: Any) -> int:
    """Return the number of steps of a scan over the leading axes of `xs`, as an int. The arrays give it, or `length`, or both:

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

    If several things are wrong, raise the error about leaves without an axis first, and the one about a traced length before
    any comparison.

    Args:
      xs: the leaves: arrays, or whatever was passed in their place; there may be none.
      length: None, or a value that converts to an int.
    """
    if not all(hasattr(x, "shape") for x in xs):
        raise no_leading_axis(xs)
    sizes: list[int] = [x.shape[0] for x in xs]
    if length is not None:
        if isinstance(length, core.Tracer):
            raise traced_length(length)
        if any(size != int(length) for size in sizes):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading axis sizes {sizes}.\n"
                "Leave `length` out: there are as many steps as the leading axis has elements."
            )
        return int(length)
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.\nSay how many steps: `length=n`.")
    if len(set(sizes)) > 1:
        listed = ", ".join(map(str, sizes))
        raise ValueError(
            f"scan got values with different leading axis sizes: {listed}.\n"
            "Step i gets x[i] of each array. Do not scan over what all steps share: the body can use it directly, or carry it."
        )
    return sizes[0]


# --- 09.3 One equation --------------------------------------------------------------------------------------
# There are three steps, as in `while_loop`: trace, agree, bind. Here elements are only types; slicing happens
# in lowering, and a scan in a jaxpr just says that it loops over these operands. That keeps it simple for
# later stages: the reverse pass of a scan is a scan with another body.
#
# Usual mistakes:
#   - Tracing for the arrays instead of their elements.
#   - Comparing all inputs with all outputs: the stacked outputs need not agree with anything.
#   - Using the first trace after a start was promoted.
#
# In JAX: jax/_src/lax/control_flow/loops.py:scan


def run_scan(body: Body, init: Any, xs: Any, length: Any, reverse: bool, unroll: Any) -> tuple[Any, Any]:
    """Return the last carry, a tree like `init`, and the outputs: trace the body once, and write one equation.

    If jit is disabled, Python runs the loop instead (`scan_in_python`). In both cases first call `avals_of`, which raises
    for anything but an array, and then `scan_length`.

    The body is traced by `trace_step(body, in_tree, avals)`, for the tree of a tuple of two,
    `treedef_tuple((carry_tree, xs_tree))`, and for the types of the leaves of `init` and of elements of `xs`: an
    array of the type `aval` has elements of the type `element_of(aval)`. It returns a pair: the first of
    `traced.out_tree.children()` is the tree of its carry, whose leaves are the first outputs of the jaxpr.

    If the body returns as many leaves for the carry as it takes, with other types for weak leaves, promote these, and trace
    the body again: `promote_weak_inputs(leaves, avals, out_avals)` returns the leaves, and whether one is new. Then the
    carry must have the same tree and types before and after the body: call `check_carry("scan body", body, in_tree,
    carry_tree, traced)`, with the tree of the returned carry. `bind_scan(traced, init, xs, reverse, length, unroll)`
    writes the equation for the traced body, with the leaves of `init` and `xs`, and returns the leaves of the result; its
    `unroll` is a number of steps, `steps_at_once(unroll, length)`.
    """
    init_leaves, carry_tree = tree_flatten(init)
    x_leaves, xs_tree = tree_flatten(xs)
    x_avals = avals_of(x_leaves)
    length = scan_length(x_leaves, length)
    if config.local.state.options.disable_jit:
        return scan_in_python(body.fun, init, xs, length, reverse)
    in_tree = treedef_tuple((carry_tree, xs_tree))
    elements = [element_of(aval) for aval in x_avals]
    traced = trace_step(body, in_tree, [*avals_of(init_leaves), *elements])
    if traced.out_tree.children()[0].num_leaves == len(init_leaves):
        outs = traced.jaxpr.out_avals[: len(init_leaves)]
        init_leaves, changed = promote_weak_inputs(init_leaves, avals_of(init_leaves), outs)
        if changed:
            traced = trace_step(body, in_tree, [*avals_of(init_leaves), *elements])
    check_carry("scan body", body, in_tree, traced.out_tree.children()[0], traced)
    outs = bind_scan(traced, init_leaves, x_leaves, reverse, length, steps_at_once(unroll, length))
    result: tuple[Any, Any] = tree_unflatten(traced.out_tree, outs)
    return result


# --- 09.4 A scan is a while loop ----------------------------------------------------------------------------
# Arrays never change in this language, and still a loop can fill one: each trip makes a new version of it,
# and XLA sees that the old one is dead. The number of trips is a constant in the condition. The index is
# always within bounds, so the slices need not handle negative indices, which would take three more operations
# in each trip.
#
# Usual mistakes:
#   - Carrying the rest of `xs`, shortened in each trip: its type would change, and copying it would cost more
#     than the step.
#   - In reverse, reading at the place from the end but writing at the index: then the outputs come in the
#     wrong order.
#   - Reading `x[i]` as a slice of size 1, and keeping its axis.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_scan_impl


def loop_over(
    step: Step, carry: list[Any], xs: list[Any], y_avals: Sequence[Any], length: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """Run a while loop over the leading axes of `xs`: trip i gives `step` the i-th elements, or the i-th from the end.

    The step's outputs go into arrays that are made before the loop, uninitialised (`empty`), and are part of its state: an
    output is written at the index of the element that the step read. Without steps there is no loop.

    The loop is `run_while(Body(goes_on, goes_on, "while_cond"), Body(trip, trip, "while_body"), state)`. Its state is a
    tuple: the number of trips so far, which starts as `0`; the carry; the outputs so far. The `xs` are not part of it: the
    body closes over them. Use `lt`, `add` and `sub` for the index, and `read_element` and `write_element`.

    Args:
      step: takes the carry and one element of each of `xs`, returns the carry and one element of each output.
      carry: the leaves of the carry, before the first step.
      xs: arrays with leading axes of size `length`.
      y_avals: the types of one element of each output.
      length: the number of steps.
      reverse: whether to begin at the end.

    Returns:
      The last carry, and the outputs with a leading axis of size `length`.
    """
    ys = [empty((length, *aval.shape), aval.dtype) for aval in y_avals]
    if not length:
        return carry, ys

    def trip(state: tuple[Any, ...]) -> tuple[Any, ...]:
        i, carry, ys = state
        at = sub(length - 1, i) if reverse else i
        carry, y = step(carry, [read_element(x, at) for x in xs])
        return add(i, 1), carry, [write_element(whole, part, at) for whole, part in zip(ys, y, strict=True)]

    def goes_on(state: tuple[Any, ...]) -> Any:
        return lt(state[0], length)

    _, carry, ys = run_while(Body(goes_on, goes_on, "while_cond"), Body(trip, trip, "while_body"), (0, carry, ys))
    return carry, ys


def read_element(x: Any, i: Any) -> Any:
    """Return `x[i]`, for a traced index within bounds: the slice of size 1 along the leading axis (`dynamic_slice_in_dim` with
    `allow_negative_indices=False`), without that axis.
    """
    return squeeze(dynamic_slice_in_dim(x, i, 1, allow_negative_indices=False), (0,))


def write_element(x: Any, element: Any, i: Any) -> Any:
    """Return `x` with `x[i]` replaced, for a traced index within bounds: the element gets an axis in front, and is written over
    the slice at `i` (`dynamic_update_slice_in_dim` with `allow_negative_indices=False`).
    """
    return dynamic_update_slice_in_dim(x, expand_dims(element, (0,)), i, 0, allow_negative_indices=False)


# --- 09.5 Unroll --------------------------------------------------------------------------------------------
# A trip has a cost besides its step: the condition, the index, the slices. Unrolling divides that among
# several steps, and lets XLA fuse neighbouring steps. It makes the program longer, so compiling takes longer;
# with large steps there is nothing to gain. Since a block is a step, the loop need not know about blocks.
#
# Usual mistakes:
#   - Dropping the steps that are left over, or doing them first.
#   - In reverse, cutting blocks from the beginning: then the steps come in another order, and the carries
#     differ.
#   - Writing a loop although there is only a single block.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_scan_impl


def loop_in_blocks(
    step: Step, carry: list[Any], xs: list[Any], y_avals: Sequence[Any], length: int, reverse: bool, unroll: int
) -> tuple[list[Any], list[Any]]:
    """Return what `loop_over` returns, with fewer trips, each of which does `unroll` steps one after the other; 0 means all steps.

    `length // unroll` blocks of steps go into a loop. Steps that are left over are done after it: for the last elements, or
    with `reverse` for the first ones. A single block, if no steps are left over, needs no loop. If `length` is 0, the outputs
    are empty arrays, which `loop_over` makes.

    For the loop, `reshape` the `xs` to `(blocks, unroll, ...)`, and the outputs back. `one_after_the_other(step, carry,
    xs, count, reverse)` does `count` steps without a loop, in a block and for the rest. `slice_in_dim(x, start, stop)`
    cuts the leading axis, and `concatenate([...], 0)` joins the outputs, in the order of the elements.
    """

    def block(carry: list[Any], xs: list[Any]) -> tuple[list[Any], list[Any]]:
        return one_after_the_other(step, carry, xs, unroll, reverse)

    trips, rest = divmod(length, unroll) if unroll else (0, length)
    if (trips, rest) == (1, 0):
        trips, rest = 0, length
    first, last = (rest, length) if reverse else (0, length - rest)
    blocks = [reshape(slice_in_dim(x, first, last), (trips, unroll, *x.shape[1:])) for x in xs]
    block_avals = [y.update(shape=(unroll, *y.shape)) for y in y_avals]
    carry, ys = loop_over(block, carry, blocks, block_avals, trips, reverse)
    ys = [reshape(y, (trips * unroll, *y.shape[2:])) for y in ys]
    if rest:
        first, last = (0, rest) if reverse else (length - rest, length)
        left = [slice_in_dim(x, first, last) for x in xs]
        carry, more = one_after_the_other(step, carry, left, rest, reverse)
        parts = zip(more, ys, strict=True) if reverse else zip(ys, more, strict=True)
        ys = [concatenate(pair, 0) for pair in parts]
    return carry, ys


# --- 09.6 Dead code in a loop -------------------------------------------------------------------------------
# In a straight program one pass from the end to the beginning is enough (lab 02). In a loop, the beginning
# comes after the end. Many analyses of loops are fixed points like this one; another example is to find out
# which parts of a carry have a gradient.
#
# Usual mistakes:
#   - Looking at the body only once.
#   - Forgetting parts that are used after the loop, when nothing in the body reads them.
#   - Taking the first inputs of the jaxpr for the carry: those are constants.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_scan_dce_rule


def needed_carry(jaxpr: Jaxpr, num_consts: int, carry: list[bool], ys: list[bool]) -> list[bool]:
    """Return which parts of a scan's carry are needed if these parts of the last carry and these outputs are used.

    A part is needed if it is used after the last step, or if a step reads it to compute something needed: an output, or a
    part of the carry that a later step reads. For a carry of three, and a step that does `a, b, c = a + x, b + a, c *
    2.0` and has no output:

        used of the last carry       needed
        a                            a
        b                            a, b           the last b is made of an a
        c                            c              a step reads its own c

    One look at the step is not enough. If it does `a, b, c = b, c, c * x`, the last a is the b of the step before,
    which is the c of the one before that.

    `dce_jaxpr(jaxpr, used outputs)[1]` says what one step reads for some outputs of its jaxpr, a bool for each input:
    the `num_consts` constants, the carry, the elements.
    """
    while True:
        used = dce_jaxpr(jaxpr, carry + ys)[1]
        reads = used[num_consts : num_consts + len(carry)]
        needed = [before or now for before, now in zip(carry, reads, strict=True)]
        if needed == carry:
            return carry
        carry = needed
