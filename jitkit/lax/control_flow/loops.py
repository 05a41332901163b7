"""while_loop: repeats a function of a carry, as long as another function of the carry is true.

Both functions are traced once, and the carry has the same type in all steps. If the body returns a part of the carry
unchanged, and the condition does not read it, it becomes a constant of the body.

StableHLO's `while` has no constants: everything that its two regions read is part of its carry, also the tokens of the
body's ordered effects. The condition's region returns only a bool, so a condition with ordered effects is evaluated in
the body instead, and its result is carried.

JAX: jax/_src/lax/control_flow/loops.py:while_loop
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, edits, traceback_util
from ...base.errors import ConcretizationTypeError
from ...base.util import merge_lists, partition_list, split_list
from ...core import Primitive, ShapedArray, abstract_token
from ...core.effects import Effects, io_effect, ordered_effects, ordered_io_effect
from ...interpreters.batching import AxisData, Dims, Vals, batch_jaxpr, batch_jaxpr_if, move_to, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering, type_of
from ...jaxpr import Jaxpr, dce_jaxpr, forwarded_inputs, keep_outputs, move_inputs_to_front
from ...tree_util import PyTreeDef, tree_flatten, tree_map, tree_unflatten, treedef_tuple
from ..convert import asarray
from ..reducers import inline_function
from ..reduction import reduce_or
from ..selection import select
from ..shaping import broadcast_in_dim
from .agreement import check_carry, check_operands, promote_weak_inputs
from .common import Body, Traced, avals_of, batched_carry, eval_jaxpr_p, trace_body

while_p = Primitive("while", multiple_results=True, pure_shape_rule=False)
while_p.effects = lambda params: params["cond_jaxpr"].effects | params["body_jaxpr"].effects


@while_p.def_abstract_eval
def _(*avals: Any, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int) -> list[Any]:
    cond_consts, body_consts, carry = split_list(avals, [cond_nconsts, body_nconsts])
    check_operands("while_loop cond function", cond_jaxpr.in_avals, cond_consts + carry)
    check_operands("while_loop body function", body_jaxpr.in_avals, body_consts + carry)
    return body_jaxpr.out_avals


@register_lowering(while_p)
def _(ctx: LoweringContext, *args: str, **params: Any) -> list[str]:
    if ordered_effects(params["cond_jaxpr"].effects):
        return inline_function(ctx, lambda *values: _asked_in_body(*values, **params), args, ctx.avals_in)
    lower = lower_batch_of_loops if params["cond_jaxpr"].out_avals[0].shape else lower_while
    return lower(ctx, *args, **params)


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


def lower_batch_of_loops(
    ctx: LoweringContext, *args: str, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int
) -> list[str]:
    """Write the loop for a condition that is an array of bools; return the names of the last carry. The loop goes on
    while any element does, and finished elements keep their carry.
    """
    sizes = [cond_nconsts, body_nconsts]
    [answer] = cond_jaxpr.out_avals

    def condition(*names: str) -> list[tuple[str, Any]]:
        cond_consts, _, carry = split_list(names, sizes)
        outs = ctx.lower_region(cond_jaxpr, cond_consts + carry, "while/cond")
        return [(_any(ctx, outs[0], answer), answer.update(shape=()))]

    def body(*names: str) -> list[tuple[str, Any]]:
        cond_consts, body_consts, carry = split_list(names, sizes)
        after = ctx.lower_region(body_jaxpr, body_consts + carry, "while/body")
        [goes_on] = ctx.lower_region(cond_jaxpr, cond_consts + carry, "while/body_pred")
        kept = [
            _where(ctx, goes_on, answer, *each)
            for each in zip(after, carry, cond_jaxpr.in_avals[cond_nconsts:], strict=True)
        ]
        return list(zip(cond_consts + body_consts + kept, ctx.avals_in, strict=True))

    outs = write_while(ctx, args, condition, body, body_jaxpr.effects)
    return outs[cond_nconsts + body_nconsts :]


def _any(ctx: LoweringContext, name: str, aval: ShapedArray) -> str:
    """Write the operations that compute whether any element of an array of bools is true; return their result's name.
    The array has this name and type; if it has no axes, write nothing, and return `name`.
    """
    if not aval.shape:
        return name
    return inline_function(ctx, lambda answers: [reduce_or(answers, range(aval.ndim))], [name], [aval])[0]


def _where(ctx: LoweringContext, goes_on: str, answer: ShapedArray, after: str, before: str, aval: Any) -> str:
    """Write a selection: `after` for the elements that go on, `before` for the others; return its name. `answer` is the
    type of `goes_on`, an array of bools; `aval` is the type of `after` and of `before`, whose first axes are those of
    `goes_on`.
    """

    def choose(goes_on: Any, after: Any, before: Any) -> list[Any]:
        return [select(broadcast_in_dim(goes_on, aval.shape, range(answer.ndim)), after, before)]

    return inline_function(ctx, choose, [goes_on, after, before], [answer, aval, aval])[0]


_Region = Callable[..., list[tuple[str, Any]]]


def write_while(
    ctx: LoweringContext, args: Sequence[str], condition: _Region, body: _Region, effects: Effects
) -> list[str]:
    """Write `stablehlo.while` with the operands `args`; return the names of its results. The tokens of ordered effects
    are carried before the operands; `condition` and `body` do not see them.
    """
    ordered = ordered_effects(effects)
    tokens = [ctx.tokens[effect] for effect in ordered]
    avals = [abstract_token] * len(tokens) + list(ctx.avals_in)

    def cond_region(*names: str) -> list[tuple[str, Any]]:
        return condition(*names[len(tokens) :])

    def body_region(*names: str) -> list[tuple[str, Any]]:
        outs = body(*ctx.take_tokens(ordered, names))
        return [*((ctx.tokens[effect], abstract_token) for effect in ordered), *outs]

    types = ", ".join(map(type_of, avals))
    outs = ctx.emit_regions(
        f'"stablehlo.while"({", ".join([*tokens, *args])})',
        [(avals, cond_region), (avals, body_region)],
        f"({types}) -> ({types})",
        len(avals),
    )
    return ctx.take_tokens(ordered, outs)


def _asked_in_body(*args: Any, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int) -> list[Any]:
    """Return the last carry of the loop with these parameters, by a loop that evaluates the condition in its body: the
    first part of its carry is the condition's result.
    """
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    axes = range(cond_jaxpr.out_avals[0].ndim)  # the batch axes, if each element has its own condition

    def goes_on(state: list[Any]) -> Any:
        return reduce_or(state[0], axes) if axes else state[0]

    def keep(answer: Any, after: Any, before: Any) -> Any:
        return select(broadcast_in_dim(answer, after.shape, axes), after, before) if axes else after

    def step(state: list[Any]) -> list[Any]:
        answer, *before = state
        after = eval_jaxpr_p.bind(*body_consts, *before, jaxpr=body_jaxpr)
        carry = [keep(answer, *each) for each in zip(after, before, strict=True)]
        return [*eval_jaxpr_p.bind(*cond_consts, *carry, jaxpr=cond_jaxpr), *carry]

    first = eval_jaxpr_p.bind(*cond_consts, *carry, jaxpr=cond_jaxpr)
    last: list[Any] = run_while(Body(goes_on, goes_on, "while_cond"), Body(step, step, "while_body"), [*first, *carry])
    return last[1:]


# --- batching -----------------------------------------------------------------------------------------------


@register_batcher(while_p, even_unmapped=True)
def batch_while(
    axis: AxisData, vals: Vals, dims: Dims, *,
    cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int,
) -> Any:  # fmt: skip
    """Batching rule of loops: the loop goes on as long as any element does.

    If the condition is a batch, all parts of the carry must be batches: finished elements keep their last carry
    (`lower_batch_of_loops`). Otherwise axes that the condition has from an outer batch stay in front. Return the parts of
    the last carry; and the batch axis of each, None for one that is not a batch. Raise Exception for ordered effects,
    and for unordered ones if the condition is a batch.
    """
    if ordered_io_effect in (*body_jaxpr.effects, *cond_jaxpr.effects):
        raise Exception("Ordered IO effects not supported in vmap.")
    sizes = [cond_nconsts, body_nconsts]
    cond_dims, body_dims, init_dims = split_list(dims, sizes)
    cond_consts, body_consts, init = split_list(vals, sizes)
    carry = batched_carry(body_jaxpr, axis, _are_batches(body_dims), _are_batches(init_dims))
    _, [each_asks] = batch_jaxpr_if(cond_jaxpr, axis, [*_are_batches(cond_dims), *carry])
    if each_asks and io_effect in (*body_jaxpr.effects, *cond_jaxpr.effects):
        raise Exception("Unordered IO effects not supported in while_loop with batched predicate")
    place = 0 if each_asks else cond_jaxpr.out_avals[0].ndim
    places = [place if each_asks or is_batch else None for is_batch in carry]
    body, _ = batch_jaxpr(body_jaxpr, axis, [*body_dims, *places], places)
    cond, _ = batch_jaxpr(cond_jaxpr, axis, [*cond_dims, *places], [None])
    init = [
        x if to is None else move_to(x, dim, to, axis.size) for x, dim, to in zip(init, init_dims, places, strict=True)
    ]
    outs = while_p.bind(
        *cond_consts, *body_consts, *init,
        cond_nconsts=cond_nconsts, cond_jaxpr=cond, body_nconsts=body_nconsts, body_jaxpr=body,
    )  # fmt: skip
    return outs, places


def _are_batches(dims: Dims) -> list[bool]:
    return [dim is not None for dim in dims]


# --- the function -------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Repeat `val = body_fun(val)`, from `val = init_val`, while `cond_fun(val)`; return the last `val`.

    Args:
      cond_fun: takes the carry, returns a boolean scalar.
      body_fun: takes the carry, returns it with the same structure and types.
      init_val: a tree of arrays. A weakly typed leaf, such as a Python number, takes the dtype that the body
        returns.

    Raises:
      TypeError: an argument is not a function, or one of the functions returns another structure or type than it must.
    """
    if not callable(body_fun) or not callable(cond_fun):
        raise TypeError(f"lax.while_loop: body_fun and cond_fun arguments should be callable.{edits.WHILE_ORDER}")
    if config.local.state.options.disable_jit:
        try:
            val = tree_map(asarray, init_val)
            while cond_fun(val):
                val = tree_map(asarray, body_fun(val))
            return val
        except ConcretizationTypeError:
            pass  # if the values are traced, Python cannot run the loop
    cond = Body(cond_fun, cond_fun, "while_cond")
    return run_while(cond, Body(body_fun, body_fun, "while_body"), init_val)


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


def bind_while(cond: Traced, body: Traced, init: Sequence[Any]) -> list[Any]:
    """Write the equation for traced functions; return the leaves of the last carry, of which `init` has the first values.
    A part of the carry that the body returns unchanged, and the condition does not read, becomes a constant of the body.
    """
    cond_jaxpr, body_jaxpr, constant = without_constant_carry(cond, body)
    carry, moved = partition_list(constant, init)
    body_consts = [*moved, *body.consts]
    outs = while_p.bind(
        *cond.consts,
        *body_consts,
        *carry,
        cond_nconsts=len(cond.consts),
        cond_jaxpr=cond_jaxpr,
        body_nconsts=len(body_consts),
        body_jaxpr=body_jaxpr,
    )
    return merge_lists(constant, outs, moved)


_HOW_TO_GO_ON = (
    "\nThe condition says whether the loop goes on: compare (`i < n` instead of `n - i`), and reduce arrays with "
    "`.all()` or `.any()`."
)


def trace_both(cond: Body, body: Body, in_tree: PyTreeDef, avals: Sequence[Any]) -> tuple[Traced, Traced]:
    """Return the traced condition and the traced body. `in_tree` is the tree of the tuple `(carry,)`, `avals` are the types
    of its leaves. Raise TypeError unless the condition returns a boolean scalar.
    """
    traced_cond = trace_body(cond, in_tree, avals)
    traced_body = trace_body(body, in_tree, avals)
    tree, out_avals = traced_cond.out_tree, traced_cond.jaxpr.out_avals
    if tree.node_type is not None:
        raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {tree}.{_HOW_TO_GO_ON}")
    if out_avals[0].shape != () or out_avals[0].dtype != np.bool_:
        raise TypeError(f"cond_fun must return a boolean scalar, but got output type(s) {out_avals}.{_HOW_TO_GO_ON}")
    return traced_cond, traced_body


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
