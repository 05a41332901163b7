"""while_loop: a function repeats, on a carry, as long as another function of the carry is true.

Both functions are traced once, and the carry has the same type in all steps. A part of the carry that the
body passes through, and the condition does not read, is no carry: it becomes a constant of the body.

In StableHLO it is `while`: its operands are all that the two regions read, and go round with the carry. The tokens of
ordered effects of the body go round, too. The region of the condition returns nothing but its answer: a condition with
ordered effects is asked in the body instead, and the answer is part of the carry.

JAX: jax/_src/lax/control_flow/loops.py:while_loop
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import config, traceback_util
from ...core import Primitive, abstract_token
from ...effects import no_effects, ordered_effects
from ...errors import ConcretizationTypeError
from ...interpreters.mlir import LoweringContext, register_lowering, type_of
from ...jaxpr import Jaxpr, dce_jaxpr
from ...tree_util import PyTreeDef, tree_flatten, tree_map, tree_unflatten, treedef_tuple
from ...util import merge_lists, partition_list, split_list
from ..convert import asarray
from ..reducers import inline_function
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

while_p = Primitive("while", multiple_results=True, pure_shape_rule=False)
while_p.effects = lambda params: no_effects.union(params["cond_jaxpr"].effects, params["body_jaxpr"].effects)


@while_p.def_abstract_eval
def _(*avals: Any, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int) -> list[Any]:
    cond_consts, body_consts, carry = split_list(avals, [cond_nconsts, body_nconsts])
    check_operands("while_loop cond function", cond_jaxpr.in_avals, cond_consts + carry)
    check_operands("while_loop body function", body_jaxpr.in_avals, body_consts + carry)
    return body_jaxpr.out_avals


@register_lowering(while_p)
def _lower_while(ctx: LoweringContext, *args: str, **params: Any) -> list[str]:
    if ordered_effects(params["cond_jaxpr"].effects):
        return inline_function(ctx, lambda *values: _asked_in_body(*values, **params), args, ctx.avals_in)
    return _write_while(ctx, *args, **params)


def _write_while(
    ctx: LoweringContext,
    *args: str,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[str]:
    """Two regions with the same arguments: tokens, constants of the condition, constants of the body, carry."""
    ordered = ordered_effects(body_jaxpr.effects)
    tokens = [ctx.tokens[effect] for effect in ordered]
    avals = [abstract_token] * len(tokens) + list(ctx.avals_in)
    sizes = [len(tokens), cond_nconsts, body_nconsts]

    def condition(*names: str) -> list[tuple[str, Any]]:
        _, cond_consts, _, carry = split_list(names, sizes)
        [pred] = ctx.lower_region(cond_jaxpr, cond_consts + carry, "while/cond")
        return [(pred, cond_jaxpr.out_avals[0])]

    def body(*names: str) -> list[tuple[str, Any]]:
        ctx.take_tokens(ordered, names)
        _, cond_consts, body_consts, carry = split_list(names, sizes)
        carry = ctx.lower_region(body_jaxpr, body_consts + carry, "while/body")
        tokens = [ctx.tokens[effect] for effect in ordered]
        return list(zip(tokens + cond_consts + body_consts + carry, avals, strict=True))

    types = ", ".join(map(type_of, avals))
    head, signature = f'"stablehlo.while"({", ".join([*tokens, *args])})', f"({types}) -> ({types})"
    outs = ctx.emit_regions(head, [(avals, condition), (avals, body)], signature, len(avals))
    return ctx.take_tokens(ordered, outs)[cond_nconsts + body_nconsts :]


def _asked_in_body(
    *args: Any, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int
) -> list[Any]:
    """The same loop, whose carry begins with the answer of the condition."""
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])

    def goes_on(state: list[Any]) -> Any:
        return state[0]

    def step(state: list[Any]) -> list[Any]:
        carry = eval_jaxpr_p.bind(*body_consts, *state[1:], jaxpr=body_jaxpr)
        return [*eval_jaxpr_p.bind(*cond_consts, *carry, jaxpr=cond_jaxpr), *carry]

    first = eval_jaxpr_p.bind(*cond_consts, *carry, jaxpr=cond_jaxpr)
    last: list[Any] = run_while(
        Body(goes_on, goes_on, "while_cond"), Body(step, step, "while_body"), [*first, *carry]
    )
    return last[1:]


@traceback_util.api_boundary
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """`val = init_val`; while `cond_fun(val)`: `val = body_fun(val)`; the last `val`.

    Args:
      cond_fun: takes the carry, returns a boolean scalar.
      body_fun: takes the carry, returns it with the same structure and types.
      init_val: a tree of arrays. A weakly typed leaf, such as a Python number, takes the dtype that the body
        returns.

    Raises:
      TypeError: an argument is no function, or one of the functions returns what it must not.
    """
    if not callable(body_fun) or not callable(cond_fun):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if config.local.state.options.disable_jit:
        try:
            val = tree_map(asarray, init_val)
            while cond_fun(val):
                val = tree_map(asarray, body_fun(val))
            return val
        except ConcretizationTypeError:
            pass  # the values are traced: Python cannot run the loop
    cond = Body(cond_fun, cond_fun, "while_cond")
    return run_while(cond, Body(body_fun, body_fun, "while_body"), init_val)


def run_while(cond: Body, body: Body, init_val: Any) -> Any:
    """Trace both functions, check that the carry keeps its type, and write the equation."""
    init, carry_tree = tree_flatten(init_val)
    in_tree = treedef_tuple((carry_tree,))
    traced_cond, traced = _trace_both(cond, body, in_tree, avals_of(init))
    if len(traced.jaxpr.outvars) == len(init):
        init, changed = promote_weak_inputs(init, avals_of(init), traced.jaxpr.out_avals)
        if changed:
            traced_cond, traced = _trace_both(cond, body, in_tree, avals_of(init))
    check_carry("while_loop body", body, in_tree, traced.out_tree, traced)

    cond_jaxpr, body_jaxpr, constant = _without_constant_carry(traced_cond, traced)
    init, moved = partition_list(constant, init)
    body_consts = [*moved, *traced.consts]
    outs = while_p.bind(
        *traced_cond.consts,
        *body_consts,
        *init,
        cond_nconsts=len(traced_cond.consts),
        cond_jaxpr=cond_jaxpr,
        body_nconsts=len(body_consts),
        body_jaxpr=body_jaxpr,
    )
    return tree_unflatten(traced.out_tree, merge_lists(constant, outs, moved))


_HOW_TO_GO_ON = (
    "\nIt says whether the loop goes on: compare (`i < n` instead of `n - i`), and reduce arrays with `.all()` or "
    "`.any()`."
)


def _trace_both(cond: Body, body: Body, in_tree: PyTreeDef, avals: Sequence[Any]) -> tuple[Traced, Traced]:
    """Condition and body as jaxprs of the carry. TypeError unless the condition is a boolean scalar."""
    traced_cond = trace_body(cond, in_tree, avals)
    traced_body = trace_body(body, in_tree, avals)
    tree, out_avals = traced_cond.out_tree, traced_cond.jaxpr.out_avals
    if tree.node_type is not None:
        raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {tree}.{_HOW_TO_GO_ON}")
    if out_avals[0].shape != () or out_avals[0].dtype != np.bool_:
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got output type(s) {out_avals}.{_HOW_TO_GO_ON}"
        )
    return traced_cond, traced_body


def _without_constant_carry(cond: Traced, body: Traced) -> tuple[Jaxpr, Jaxpr, list[bool]]:
    """The jaxprs of condition and body, with parts of the carry that never change as constants of the body;
    and which parts these are.
    """
    nconsts = len(body.consts)
    changes = [place != nconsts + i for i, place in enumerate(forwarded_inputs(body.jaxpr))]
    pruned, used = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * len(cond.consts) + changes)
    constant = [not is_used for is_used in used[len(cond.consts) :]]
    if not any(constant):
        return cond.jaxpr, body.jaxpr, constant
    jaxpr = keep_outputs(body.jaxpr, tuple(not c for c in constant))
    return pruned, move_inputs_to_front(jaxpr, (False,) * nconsts + tuple(constant)), constant
