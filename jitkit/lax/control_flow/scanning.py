"""scan: applies a function along the leading axis of arrays, with a carry from step to step, and stacks its other results.

    carry, ys = init, []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, stack(ys)

The number of steps is known while tracing. If the body returns a part of the carry unchanged, it becomes a constant; if an
output is the unchanged element of one of `xs`, that array is the result, and is not stacked again.

It is lowered as a `while_loop` over an index, which `stepping` makes.

JAX: jax/_src/lax/control_flow/loops.py:scan
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, traceback_util
from ...base.jax_version import since
from ...base.util import merge_lists, partition_list, split_list
from ...core import Primitive, ShapedArray
from ...interpreters.batching import AxisData, Dims, Vals, batch_jaxpr_if, move_to, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering
from ...jaxpr import (
    Jaxpr,
    JaxprEqn,
    dce_jaxpr,
    dce_rules,
    forwarded_inputs,
    keep_outputs,
    move_inputs_to_front,
    pp_eqn_rules,
)
from ...jaxpr import printer as jaxpr_printer
from ...runtime import array
from ...tree_util import as_built, tree_flatten, tree_map, tree_unflatten, treedef_tuple
from ..reducers import inline_function
from ..slicing import index_in_dim
from .agreement import check_carry, check_operands, promote_weak_inputs
from .common import Body, Traced, avals_of, batched_carry, trace_body
from .counting import scan_length, steps_at_once
from .stepping import scan_as_while, stack_elements

scan_p = Primitive("scan", multiple_results=True, pure_shape_rule=False)
scan_p.effects = lambda params: params["jaxpr"].effects


@scan_p.def_abstract_eval
def _(*avals: Any, reverse: bool, length: int, jaxpr: Jaxpr, num_consts: int, num_carry: int, unroll: int) -> list[Any]:
    consts, carry, xs = split_list(avals, [num_consts, num_carry])
    check_operands("scan jaxpr", jaxpr.in_avals, [*consts, *carry, *map(element_of, xs)])
    carry_out, ys = split_list(jaxpr.out_avals, [num_carry])
    return [*carry_out, *(y.update(shape=(length, *y.shape)) for y in ys)]


def element_of(aval: Any) -> ShapedArray:
    """Return the type of one element of an array along its leading axis."""
    return ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)


@register_lowering(scan_p)
def _(ctx: LoweringContext, *args: str, **params: Any) -> list[str]:
    return inline_function(ctx, lambda *values: scan_as_while(*values, **params), args, ctx.avals_in)


# --- as it is printed ---------------------------------------------------------------------------------------


# jaxpr of a body -> which outputs of the user's function it still computes; a body that is not in the table computes all
_computed_ys: weakref.WeakKeyDictionary[Jaxpr, tuple[bool, ...]] = weakref.WeakKeyDictionary()


class _Words(str):
    """A text whose `repr` is the text itself, so it is printed in a tuple without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_COMPUTED, _PASSED = _Words("RightsOnly(Right(None))"), _Words("RightsOnly(Left(None))")


def _pp(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    """Return the text of the equation, with the parameters that the installed JAX prints. Up to JAX 0.10, `num_consts`
    and `num_carry` count the constants and the carried values. Later, the trees `ft_in` and `ft_out` have a None for
    each value; for an output, a label says whether it is computed or is one of `xs`.
    """
    params = dict(eqn.params)
    if since(0, 11):
        consts, carry = params.pop("num_consts"), params.pop("num_carry")
        xs, ys = len(eqn.invars) - consts - carry, len(eqn.outvars) - carry
        computed = _computed_ys.get(eqn.params["jaxpr"], (True,) * ys)
        params["ft_in"] = ((None,) * consts, (None,) * carry, (None,) * xs)
        params["ft_out"] = ((None,) * carry, tuple(_COMPUTED if c else _PASSED for c in computed))
    return jaxpr_printer.pp_eqn_plain(eqn, context, settings, dict(sorted(params.items())))


pp_eqn_rules[scan_p] = _pp


# --- batching -----------------------------------------------------------------------------------------------


def batched_step(jaxpr: Jaxpr, axis: AxisData, inputs: list[bool], musts: list[bool]) -> tuple[Jaxpr, list[bool]]:
    """Return the jaxpr of a step, batched, with batch axes first, and for each of its results whether it is a batch.
    `inputs` marks the inputs that are batches, `musts` the results that must be.
    """
    step, are_batches = batch_jaxpr_if(jaxpr, axis, inputs, musts)
    if jaxpr in _computed_ys:
        _computed_ys[step] = _computed_ys[jaxpr]
    return step, are_batches


@register_batcher(scan_p, even_unmapped=True)
def batch_scan(
    axis: AxisData, vals: Vals, dims: Dims, *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    """Batching rule of `scan`: one scan whose step does for batches what the step of `jaxpr` does for elements.

    In a step, batch axes come first (`batched_step`). In the scan's constants and carry they come first, too; in `xs` and
    ys the scan's axis comes before the batch axis. `batched_carry` says which parts of the carry are batches: make them
    batches from the start (`move_to`), and as outputs. Do not make anything else a batch.

    Returns:
      The results, the carry and then the ys; and the batch axis of each, None for one that is not a batch.
    """
    consts, carry, xs = split_list([dim is not None for dim in dims], [num_consts, num_carry])
    carry = batched_carry(jaxpr, axis, consts, carry, xs)
    num_ys = len(jaxpr.outvars) - num_carry
    is_batch = [*consts, *carry, *xs]
    step, out_is_batch = batched_step(jaxpr, axis, is_batch, [*carry, *[False] * num_ys])
    places = [0] * (num_consts + num_carry) + [1] * len(xs)
    operands = [
        move_to(x, dim, to, axis.size) if batch else x
        for x, dim, to, batch in zip(vals, dims, places, is_batch, strict=True)
    ]
    outs = scan_p.bind(*operands, jaxpr=step, num_consts=num_consts, num_carry=num_carry, **params)
    places = [0] * num_carry + [1] * num_ys
    return outs, [to if batch else None for to, batch in zip(places, out_is_batch, strict=True)]


# --- dead code ----------------------------------------------------------------------------------------------


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


def dce_scan(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """DCE rule: return which operands the used results need, and the scan without the others; None in place of the scan
    if it has neither used results nor effects.
    """
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    params, jaxpr = eqn.params, eqn.params["jaxpr"]
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    ys = used_results[num_carry:]
    carry = needed_carry(jaxpr, num_consts, used_results[:num_carry], ys)
    keep = [False] * num_consts + carry + [False] * (len(jaxpr.invars) - num_consts - num_carry)
    pruned, used = dce_jaxpr(jaxpr, carry + ys, instantiate=keep)
    left = eqn.replace(
        invars=[x for x, kept in zip(eqn.invars, used, strict=True) if kept],
        outvars=[x for x, kept in zip(eqn.outvars, carry + ys, strict=True) if kept],
        params=params | {"jaxpr": pruned, "num_consts": sum(used[:num_consts]), "num_carry": sum(carry)},
        effects=pruned.effects,
    )
    return used, left


dce_rules[scan_p] = dce_scan


# --- the function -------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Scan the leading axis of arrays with a carry: `carry, y = f(carry, x)` for each `x`.

    Args:
      f: takes the carry and a tree of elements, returns the carry and a tree of outputs.
      init: the carry before the first step, a tree of arrays. A weakly typed leaf, such as a Python number,
        takes the dtype that `f` returns.
      xs: a tree of arrays with leading axes of one size; or None, where only `length` counts.
      length: the number of steps; needed if `xs` has no arrays.
      reverse: start at the end of `xs`. The outputs are where their elements are.
      unroll: how many steps one trip of the compiled loop does; 0 or True for all of them.
      _split_transpose: accepted and not used. In JAX it splits the reverse pass into two loops, with the same results.

    Returns:
      The carry after the last step, and the outputs, stacked along a new leading axis: one row for each step.

    Raises:
      TypeError: `f` is not a function, does not return a pair, or returns another type of carry; a leaf is not an array.
      TypeError: `unroll` is not a whole number.
      ValueError: `xs` do not have one length, or not the one given, or no length is known; `length` or `unroll` is negative.
      ValueError: if jit is disabled, there are no steps.
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    return run_scan(Body(f, f, "scan"), init, xs, length, reverse, unroll)


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


def trace_step(body: Body, in_tree: Any, avals: Sequence[Any]) -> Traced:
    """Return the traced body of a scan. `in_tree` is the tree of `(carry, x)`, `avals` are the types of its leaves. Raise
    TypeError unless the body returns a pair: a tuple or a list since JAX 0.11, before that any node with two children.
    """
    traced = trace_body(body, in_tree, avals)
    node_type = traced.out_tree.node_type
    is_sequence = node_type is not None and node_type.cls in (tuple, list)
    if len(traced.out_tree.children()) != 2 or (since(0, 11) and not is_sequence):
        returned = as_built(traced.out_tree, traced.jaxpr.out_avals)
        raise TypeError(
            f"scan body output must be a pair, got {returned}.\n"
            "Return the carry for the next step and the output of this one: `carry, y`; `carry, None` without output."
        )
    return traced


def bind_scan(traced: Traced, init: list[Any], xs: list[Any], reverse: bool, length: int, unroll: int) -> list[Any]:
    """Write the equation for a traced body; return the leaves of the last carry, then of the stacked outputs. `init` and
    `xs` are lists of leaves; `unroll` is the number of steps in one trip of the loop. A part of the carry that the body
    returns unchanged becomes a constant; for an output that is the unchanged element of one of `xs`, return that array.
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
    computed_ys = tuple(place is None for place in passed)
    jaxpr = keep_outputs(jaxpr, (*[True] * len(carry), *computed_ys))
    if not all(computed_ys):
        _computed_ys[jaxpr] = computed_ys
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
