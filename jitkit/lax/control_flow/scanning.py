"""scan: a function goes over the leading axis of arrays, with a carry from step to step, and what it returns
beside the carry is stacked.

    carry, ys = init, []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, stack(ys)

The number of steps is known while tracing. A part of the carry that the body passes through becomes a
constant, and an output that is an element of `xs` as it came in does not go through the loop.

It is lowered as a `while_loop` over an index: a step reads its `x` by a dynamic slice, and writes its `y` into
an array that goes round with the carry. With `unroll`, a step of that loop is several of this one.

JAX: jax/_src/lax/control_flow/loops.py:scan
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import array, config, core, traceback_util
from ...core import Primitive, ShapedArray
from ...errors import ConcretizationTypeError
from ...interpreters.mlir import LoweringContext, register_lowering
from ...jaxpr import Jaxpr, JaxprEqn, dce_jaxpr, dce_rules
from ...tree_util import tree_flatten, tree_map, tree_unflatten, treedef_tuple
from ...util import merge_lists, partition_list, split_list
from ..creation import empty
from ..elementwise import add, lt, sub
from ..joining import concatenate
from ..reducers import inline_function
from ..shaping import expand_dims, reshape, squeeze
from ..slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim, index_in_dim, slice_in_dim
from .agreement import check_carry, check_operands, promote_weak_inputs
from .common import (
    Body,
    Traced,
    avals_of,
    eval_jaxpr_p,
    forwarded_inputs,
    keep_outputs,
    move_inputs_to_front,
    trace_body,
)
from .loops import run_while

scan_p = Primitive("scan", multiple_results=True, pure_shape_rule=False)
scan_p.effects = lambda params: params["jaxpr"].effects


@scan_p.def_abstract_eval
def _(
    *avals: Any, reverse: bool, length: int, jaxpr: Jaxpr, num_consts: int, num_carry: int, unroll: int
) -> list[Any]:
    consts, carry, xs = split_list(avals, [num_consts, num_carry])
    check_operands("scan jaxpr", jaxpr.in_avals, [*consts, *carry, *map(_element, xs)])
    carry_out, ys = split_list(jaxpr.out_avals, [num_carry])
    return [*carry_out, *(y.update(shape=(length, *y.shape)) for y in ys)]


def _element(aval: Any) -> ShapedArray:
    """The type of one element of an array along its leading axis."""
    return ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)


# --- lowering -----------------------------------------------------------------------------------------------


@register_lowering(scan_p)
def _(ctx: LoweringContext, *args: str, **params: Any) -> list[str]:
    return inline_function(ctx, lambda *values: scan_as_while(*values, **params), args, ctx.avals_in)


def scan_as_while(
    *args: Any, reverse: bool, length: int, jaxpr: Jaxpr, num_consts: int, num_carry: int, unroll: int
) -> list[Any]:
    """What `scan` does, in terms of a while loop: of `length` trips, or of `length // unroll` trips that do
    `unroll` steps each, with the rest of the steps after it.
    """
    consts, carry, xs = split_list(args, [num_consts, num_carry])

    def step(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        outs = eval_jaxpr_p.bind(*consts, *carry, *x, jaxpr=jaxpr)
        return outs[:num_carry], outs[num_carry:]

    def block(carry: list[Any], xs: list[Any]) -> tuple[list[Any], list[Any]]:
        return _one_after_the_other(step, carry, xs, unroll, reverse)

    y_avals = jaxpr.out_avals[num_carry:]
    if unroll == 1:
        carry, ys = _loop(step, carry, xs, y_avals, length, reverse)
        return [*carry, *ys]
    trips, rest = divmod(length, unroll) if unroll else (0, length)
    if (trips, rest) == (1, 0):
        trips, rest = 0, length  # a single trip needs no loop
    first, last = (rest, length) if reverse else (0, trips * unroll)
    blocks = [reshape(slice_in_dim(x, first, last), (trips, unroll, *x.shape[1:])) for x in xs]
    block_avals = [y.update(shape=(unroll, *y.shape)) for y in y_avals]
    carry, ys = _loop(block, carry, blocks, block_avals, trips, reverse)
    ys = [reshape(y, (trips * unroll, *y.shape[2:])) for y in ys]
    if rest:
        first, last = (0, rest) if reverse else (trips * unroll, length)
        left = [slice_in_dim(x, first, last) for x in xs]
        carry, more = _one_after_the_other(step, carry, left, rest, reverse)
        parts = zip(more, ys, strict=True) if reverse else zip(ys, more, strict=True)
        ys = [concatenate(pair, 0) for pair in parts]
    return [*carry, *ys]


_Step = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]


def _loop(
    step: _Step, carry: list[Any], xs: list[Any], y_avals: Sequence[Any], trips: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """A while loop over the leading axis: trip i gives `step` the i-th elements of `xs`, and writes what it
    returns beside the carry as the i-th elements of `ys`.
    """
    ys = [empty((trips, *aval.shape), aval.dtype) for aval in y_avals]
    if not trips:
        return carry, ys

    def trip(state: tuple[Any, ...]) -> tuple[Any, ...]:
        i, carry, ys = state
        at = sub(trips - 1, i) if reverse else i
        carry, y = step(carry, [read_element(x, at) for x in xs])
        return add(i, 1), carry, [write_element(whole, part, at) for whole, part in zip(ys, y, strict=True)]

    def goes_on(state: tuple[Any, ...]) -> Any:
        return lt(state[0], trips)

    _, carry, ys = run_while(
        Body(goes_on, goes_on, "while_cond"), Body(trip, trip, "while_body"), (0, carry, ys)
    )
    return carry, ys


def read_element(x: Any, i: Any) -> Any:
    """`x[i]` for an index that is within bounds."""
    return squeeze(dynamic_slice_in_dim(x, i, 1, allow_negative_indices=False), (0,))


def write_element(x: Any, element: Any, i: Any) -> Any:
    """`x` with `x[i]` replaced, for an index that is within bounds."""
    return dynamic_update_slice_in_dim(x, expand_dims(element, (0,)), i, 0, allow_negative_indices=False)


def _one_after_the_other(
    step: _Step, carry: list[Any], xs: list[Any], count: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """`count` steps without a loop, over the leading axis of `xs`; what they return is stacked."""
    outputs = []
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = step(carry, [index_in_dim(x, i, keepdims=False) for x in xs])
        outputs.append(y)
    return carry, [stack_elements(ys, reverse) for ys in zip(*outputs, strict=True)]


def stack_elements(ys: Sequence[Any], reverse: bool = False) -> Any:
    """Arrays of one shape along a new leading axis; `reverse` says that the last one was made first."""
    in_order = reversed(ys) if reverse else ys
    return concatenate([expand_dims(y, (0,)) for y in in_order], 0)


# --- dead code ----------------------------------------------------------------------------------------------


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """A carry stays while anything that stays depends on it, in this step or a later one: so the question is
    asked again with what was found, until nothing is new.
    """
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    params, jaxpr = eqn.params, eqn.params["jaxpr"]
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    num_xs = len(jaxpr.invars) - num_consts - num_carry
    carry, ys = used_results[:num_carry], used_results[num_carry:]
    while True:
        keep = [False] * num_consts + carry + [False] * num_xs
        pruned, used = dce_jaxpr(jaxpr, carry + ys, instantiate=keep)
        needed = used[num_consts : num_consts + num_carry]
        if needed == carry:
            break
        carry = needed
    left = eqn.replace(
        invars=[x for x, kept in zip(eqn.invars, used, strict=True) if kept],
        outvars=[x for x, kept in zip(eqn.outvars, carry + ys, strict=True) if kept],
        params=params | {"jaxpr": pruned, "num_consts": sum(used[:num_consts]), "num_carry": sum(carry)},
        effects=pruned.effects,
    )
    return used, left


dce_rules[scan_p] = _dce


# --- the function -------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Go over the leading axis of arrays with a carry: `carry, y = f(carry, x)` for each `x`.

    Args:
      f: takes the carry and a tree of elements, returns the carry and a tree of outputs.
      init: the carry before the first step, a tree of arrays. A weakly typed leaf, such as a Python number,
        takes the dtype that `f` returns.
      xs: a tree of arrays with leading axes of one size; or None, where only `length` counts.
      length: the number of steps; needed where `xs` has no arrays.
      reverse: start at the end of `xs`. The outputs are where their elements are.
      unroll: how many steps one trip of the compiled loop does; 0 or True for all of them.

    Returns:
      The carry after the last step, and the outputs with a leading axis of size `length`.

    Raises:
      TypeError: `f` is no function, does not return a pair, or returns another type of carry.
      ValueError: `xs` do not say one length, or not the one given; `unroll` is negative.
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    return run_scan(Body(f, f, "scan"), init, xs, length, reverse, unroll)


def run_scan(body: Body, init: Any, xs: Any, length: Any, reverse: bool, unroll: Any) -> tuple[Any, Any]:
    """Trace the body, check that the carry keeps its type, and write the equation."""
    init_leaves, carry_tree = tree_flatten(init)
    x_leaves, xs_tree = tree_flatten(xs)
    x_avals = avals_of(x_leaves)
    length = scan_length(x_leaves, length)
    if config.local.state.options.disable_jit:
        return _scan_in_python(body.fun, init, xs, length, reverse)
    in_tree = treedef_tuple((carry_tree, xs_tree))
    elements = [_element(aval) for aval in x_avals]
    traced = _trace_step(body, in_tree, [*avals_of(init_leaves), *elements])
    carry_out = traced.out_tree.children()[0]
    if carry_out.num_leaves == len(init_leaves):
        outs = traced.jaxpr.out_avals[: len(init_leaves)]
        init_leaves, changed = promote_weak_inputs(init_leaves, avals_of(init_leaves), outs)
        if changed:
            traced = _trace_step(body, in_tree, [*avals_of(init_leaves), *elements])
            carry_out = traced.out_tree.children()[0]
    check_carry("scan body", body, in_tree, carry_out, traced)
    outs = _bind_scan(traced, init_leaves, x_leaves, reverse, length, _trips_at_once(unroll, length))
    result: tuple[Any, Any] = tree_unflatten(traced.out_tree, outs)
    return result


def _trace_step(body: Body, in_tree: Any, avals: Sequence[Any]) -> Traced:
    """The body as a jaxpr. TypeError unless it returns a pair."""
    traced = trace_body(body, in_tree, avals)
    if len(traced.out_tree.children()) != 2:
        returned = traced.out_tree.unflatten(traced.jaxpr.out_avals)
        raise TypeError(
            f"scan body output must be a pair, got {returned}.\n"
            "Return the carry for the next step and the output of this one: `carry, y`; `carry, None` without output."
        )
    return traced


def scan_length(xs: Sequence[Any], length: Any) -> int:
    """The number of steps: the size of the leading axes, and `length`, if it is given."""
    try:
        sizes: list[int] = [x.shape[0] for x in xs]
    except AttributeError as error:
        scalars = ", ".join(str(x) for x in xs if not hasattr(x, "shape"))
        raise ValueError(f"scan got value with no leading axis to scan over: {scalars}.") from error
    if length is not None:
        if isinstance(length, core.Tracer):
            raise ConcretizationTypeError(
                length,
                "The `length` argument to `scan` expects a concrete `int` value. For scan-like iteration with a "
                "dynamic length, use `while_loop` or `fori_loop`.",
            )
        length = int(length)
        if any(size != length for size in sizes):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading axis sizes {sizes}.\n"
                "Leave `length` out: there are as many steps as the leading axis has elements."
            )
        return int(length)
    if not sizes:
        raise ValueError(
            "scan got no values to scan over and `length` not provided.\nSay how many steps: `length=n`."
        )
    if len(set(sizes)) > 1:
        listed = ", ".join(map(str, sizes))
        raise ValueError(
            f"scan got values with different leading axis sizes: {listed}.\n"
            "Step i sees x[i] of each. What all steps share is closed over, or carried, and not scanned over."
        )
    return sizes[0]


def _trips_at_once(unroll: Any, length: int) -> int:
    """`unroll` as a number of steps; 0 is all of them."""
    message = "The `unroll` argument to `scan` expects a concrete `int` or `bool` value."
    steps: int = core.concrete_or_error(_as_it_is, unroll, message)
    if isinstance(steps, bool):
        return builtins.max(length, 1) if steps else 1
    if steps < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    return steps


def _as_it_is(x: Any) -> Any:
    return x


def _bind_scan(
    traced: Traced, init: list[Any], xs: list[Any], reverse: bool, length: int, unroll: int
) -> list[Any]:
    """Write the equation, around which goes what the body passes through: a part of the carry that it does not
    change becomes a constant, and an element of `xs` that it returns is not collected anew.
    """
    jaxpr, consts, num_ys = traced.jaxpr, list(traced.consts), len(traced.jaxpr.outvars) - len(init)
    sources = forwarded_inputs(jaxpr)
    constant = [place == len(consts) + i for i, place in enumerate(sources[: len(init)])]
    first_x = len(consts) + len(init)
    passed = [None if place is None or place < first_x else place - first_x for place in sources[len(init) :]]
    if any(constant):
        jaxpr = keep_outputs(jaxpr, (*(not c for c in constant), *[True] * num_ys))
        move = (False,) * len(consts) + tuple(constant) + (False,) * len(xs)
        jaxpr = move_inputs_to_front(jaxpr, move)
    carry, moved = partition_list(constant, init)
    jaxpr = keep_outputs(jaxpr, (*[True] * len(carry), *(place is None for place in passed)))
    outs = scan_p.bind(
        *moved,
        *consts,
        *carry,
        *xs,
        reverse=reverse,
        length=length,
        jaxpr=jaxpr,
        num_consts=len(moved) + len(consts),
        num_carry=len(carry),
        unroll=unroll,
    )
    computed = iter(outs[len(carry) :])
    ys = [next(computed) if place is None else _on_device(xs[place]) for place in passed]
    return merge_lists(constant, outs[: len(carry)], moved) + ys


def _on_device(x: Any) -> Any:
    return array.as_array(x) if isinstance(x, np.ndarray) else x


def _scan_in_python(
    f: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """The scan as a loop of Python, for `disable_jit`."""
    if length == 0:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type is unknown."
        )
    outputs = []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_map(lambda x, i=i: index_in_dim(x, i, keepdims=False), xs))
        outputs.append(y)
    return carry, tree_map(lambda *ys: stack_elements(ys, reverse), *outputs)
