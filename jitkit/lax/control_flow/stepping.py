"""scan -> a while loop over an index.

A step of the loop reads its `x` by a dynamic slice, and writes its `y` into an array that is part of the loop's carry.
With `unroll`, a trip of the loop is several steps of the scan.

The lowering of `scan` calls the library's own functions, so what works for while loops and slices works for a scan.

JAX: jax/_src/lax/control_flow/loops.py:_scan_impl
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.util import split_list
from ...core import dtypes
from ...jaxpr import Jaxpr
from ..creation import empty
from ..dynamic_slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from ..elementwise import add, lt, sub
from ..joining import concatenate
from ..shaping import expand_dims, reshape, squeeze
from ..slicing import index_in_dim, slice_in_dim
from .common import Body, eval_jaxpr_p
from .loops import run_while

Step = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]  # (carry, elements) -> (carry, outputs)


def scan_as_while(
    *args: Any, reverse: bool, length: int, jaxpr: Jaxpr, num_consts: int, num_carry: int, unroll: int
) -> list[Any]:
    """Return the results of a `scan`, by a while loop. Raise OverflowError for a length that the counter's dtype cannot hold."""
    consts, carry, xs = split_list(args, [num_consts, num_carry])

    def step(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        outs = eval_jaxpr_p.bind(*consts, *carry, *x, jaxpr=jaxpr)
        return outs[:num_carry], outs[num_carry:]

    if length > np.iinfo(dtypes.default_int_dtype()).max:
        raise OverflowError(
            "An overflow was encountered while parsing an argument to a jitted computation, whose argument path is y. "
            f"Got {type(length)} with value {length}\n"
            "It is the number of steps of a loop, whose counter has 32 bits by default. Enable 64-bit types."
        )
    y_avals = jaxpr.out_avals[num_carry:]
    if unroll == 1:
        carry, ys = loop_over(step, carry, xs, y_avals, length, reverse)
    else:
        carry, ys = loop_in_blocks(step, carry, xs, y_avals, length, reverse, int(unroll))
    return [*carry, *ys]


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


def one_after_the_other(
    step: Step, carry: list[Any], xs: list[Any], count: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """Do `count` steps without a loop, over the leading axis of `xs`; return the carry and the stacked outputs."""
    outputs = []
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = step(carry, [index_in_dim(x, i, keepdims=False) for x in xs])
        outputs.append(y)
    return carry, [stack_elements(ys, reverse) for ys in zip(*outputs, strict=True)]


def stack_elements(ys: Sequence[Any], reverse: bool = False) -> Any:
    """Return arrays of one shape, or numbers, stacked along a new leading axis. With `reverse` the last element was made first.

    Each gets an axis of size 1 in front (`expand_dims`), along which they are joined (`concatenate`).
    """
    in_order = reversed(ys) if reverse else ys
    return concatenate([expand_dims(y, (0,)) for y in in_order], 0)
