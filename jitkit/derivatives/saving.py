"""jaxpr + unknown inputs + policy -> what is computed now, and what is computed later or recomputed

A program with some unknown inputs becomes two. The first computes what does not depend on these, and also returns the
values that are saved: the *residuals*. The second takes the residuals, recomputes what the policy did not save, and
computes what depends on an unknown input.

Two facts are tracked for each variable: whether it is *unknown* in the first program, and whether it is *there* in the
second, as an input or recomputed. A variable that the second program reads, but that is not there, becomes a residual.
An operation with a jaxpr inside, such as a jitted call or a loop, is split in the same way, so the policy applies
inside it, too.

JAX: jax/_src/interpreters/partial_eval.py:partial_eval_jaxpr_custom
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NamedTuple

from .. import lax
from ..base.util import partition_list, split_list
from ..core import Primitive
from ..core.effects import debug_effect, io_effect, no_dce_effect, ordered_debug_effect, ordered_io_effect
from ..interpreters import ad, mlir
from ..interpreters.ad_linearize import split_jaxpr
from ..interpreters.ad_rules import primitive_jvps
from ..interpreters.batching import AxisData, Dims, Vals, batch_jaxpr, register_batcher
from ..interpreters.partial_eval import trace_to_jaxpr
from ..jaxpr import Jaxpr, JaxprEqn, Var, dce_jaxpr, dce_rules, jaxpr_as_fun, move_inputs_to_front, remembered
from ..lax.control_flow.conditionals_derivatives import merge_types, with_inputs, with_outputs
from ..pjit.jit_call import jit_p, placed, take_shardings
from .policies import Policy, nothing_saveable


class Split(NamedTuple):
    """The two halves of a jaxpr: `first` takes the known inputs, and returns the known outputs and then the residuals;
    `second` takes the residuals and the inputs that are *there* (given to it), and returns the outputs that are there
    (given to it, or computed by it).
    """

    first: Jaxpr
    second: Jaxpr
    unknown: list[bool]  # for each output
    there: list[bool]  # for each output
    num_residuals: int


class Parts(NamedTuple):
    """The two halves of an equation, one of which may be missing."""

    first: JaxprEqn | None
    second: JaxprEqn | None
    unknown: Sequence[bool]  # for each result, whether it is unknown in the first half
    there: Sequence[bool]  # for each result, whether it is there in the second half
    residuals: Sequence[Var]  # the variables that the second half needs from the first


# rule(policy, unknown, there, eqn), for operations that can be done in part, or that have jaxprs in them
split_rules: dict[Primitive, Callable[[Policy, list[bool], list[bool], JaxprEqn], Parts]] = {}


@remembered
def split_by_policy(
    jaxpr: Jaxpr,
    unknown: tuple[bool, ...],
    there: tuple[bool, ...],
    unknown_out: tuple[bool, ...],
    all_there: bool,
    policy: Policy,
) -> Split:
    """Split a jaxpr in two: one to compute now, and one to compute later, from the residuals.

    Args:
      unknown, there: for each input, whether it is unknown in the first jaxpr, and whether it is there in the second.
      unknown_out: for each output, whether to treat it as unknown.
      all_there: whether the second jaxpr must return all outputs.
      policy: says of an operation that can be done now whether its results are saved, not recomputed.
    """
    state = dict(zip(jaxpr.invars, zip(unknown, there, strict=True), strict=True))
    residuals: dict[Var, None] = {}
    now: list[JaxprEqn] = []
    later: list[JaxprEqn] = []

    def read(x: Any) -> tuple[bool, bool]:
        return state.get(x, (False, True)) if isinstance(x, Var) else (False, True)

    def need(atoms: Sequence[Any]) -> None:
        residuals.update(dict.fromkeys(x for x in atoms if not read(x)[1]))

    for eqn in jaxpr.eqns:
        inputs = list(map(read, eqn.invars))
        rule = split_rules.get(eqn.primitive)
        if not eqn.outvars and not eqn.effects.isdisjoint((debug_effect, ordered_debug_effect)):
            rule = _of_print
        if rule is not None:
            parts = rule(policy, [u for u, _ in inputs], [t for _, t in inputs], eqn)
            now += [parts.first] if parts.first else []
            later += [parts.second] if parts.second else []
            residuals.update(dict.fromkeys(parts.residuals))
            state.update(zip(eqn.outvars, zip(parts.unknown, parts.there, strict=True), strict=True))
        elif any(u for u, _ in inputs):
            need(eqn.invars)
            later.append(eqn)
            state.update(dict.fromkeys(eqn.outvars, (True, True)))
        else:
            now.append(eqn)
            is_kept = eqn.effects or policy(eqn.primitive, *[x.aval for x in eqn.invars], **eqn.params)
            if not is_kept:
                need(eqn.invars)
                later.append(eqn)
            state.update(dict.fromkeys(eqn.outvars, (False, not is_kept)))

    outs = list(map(read, jaxpr.outvars))
    if all_there:
        need(jaxpr.outvars)
    out_unknown = [u or ensured for (u, _), ensured in zip(outs, unknown_out, strict=True)]
    out_there = [t or all_there for _, t in outs]
    info = jaxpr.debug_info.with_unknown_names()
    known_outs = [x for x, u in zip(jaxpr.outvars, out_unknown, strict=True) if not u]
    first = jaxpr.replace(
        invars=[x for x, u in zip(jaxpr.invars, unknown, strict=True) if not u],
        outvars=[*known_outs, *residuals],
        eqns=now,
        debug_info=info,
    )
    second = jaxpr.replace(
        invars=[*residuals, *compress(jaxpr.invars, there)],
        outvars=list(compress(jaxpr.outvars, out_there)),
        eqns=later,
        debug_info=info,
    )
    return Split(first, second, out_unknown, out_there, len(residuals))


def check_effects(jaxpr: Jaxpr) -> None:
    """Raise NotImplementedError if a program to recompute has effects that may not happen twice and must not be left out."""
    refused = [effect for effect in (io_effect, ordered_io_effect, no_dce_effect) if effect in jaxpr.effects]
    if refused:
        raise NotImplementedError(
            f"Effects not supported in partial-eval of `checkpoint`/`remat`: {refused}\n"
            "Call what has the effect outside of the function that is checkpointed, or do not checkpoint it."
        )


def not_there(eqn: JaxprEqn, there: Sequence[bool]) -> list[Var]:
    """Return the variables that an equation of the second program reads and that are not there yet."""
    return [x for x, t in zip(eqn.invars, there, strict=True) if isinstance(x, Var) and not t]


def _of_print(policy: Policy, unknown: list[bool], there: list[bool], eqn: JaxprEqn) -> Parts:
    """Split a print: an equation with a debug effect and without results. It happens in both programs. But if an
    operand is unknown, it happens only in the second; if the policy saves it and the second program lacks an operand,
    only in the first.
    """
    if any(unknown):
        return Parts(None, eqn, [], [], not_there(eqn, there))
    is_kept = policy(eqn.primitive, *[x.aval for x in eqn.invars], **eqn.params)
    return Parts(eqn, None if is_kept and not all(there) else eqn, [], [], [])


# --- calls ------------------------------------------------------------------------------------------------------------


def _of_call(policy: Policy, unknown: list[bool], there: list[bool], eqn: JaxprEqn) -> Parts:
    """Split a call in two. The first call does not return a residual that is already its operand or result."""
    jaxpr, donated = eqn.params["jaxpr"], eqn.params["donated_invars"]
    split = split_by_policy(jaxpr, tuple(unknown), tuple(there), (False,) * len(jaxpr.outvars), False, policy)
    known, _ = partition_list(unknown, eqn.invars)
    results, _ = partition_list(split.unknown, eqn.outvars)
    inner = split.first.outvars
    inner_results, inner_residuals = inner[: len(results)], inner[len(results) :]
    forwarded: dict[Any, Any] = dict(zip(split.first.invars, known, strict=True))
    forwarded.update((x, outer) for x, outer in zip(inner_results, results, strict=True) if isinstance(x, Var))
    params = dict(eqn.params)
    ins, outs = take_shardings(params, jaxpr)
    of_known, _ = partition_list(unknown, ins)
    for x, sharding in zip(split.first.invars, of_known, strict=True):
        if sharding is not None:
            del forwarded[x]
    made = {x: Var(x.aval) for x in inner_residuals if x not in forwarded}
    residuals = [made[x] if x in made else forwarded[x] for x in inner_residuals]
    of_results, _ = partition_list(split.unknown, outs)
    first = eqn.replace(
        invars=known,
        outvars=[*results, *made.values()],
        params=params
        | {
            "jaxpr": split.first.replace(outvars=[*inner_results, *made]),
            "donated_invars": tuple(d for d, u in zip(donated, unknown, strict=True) if not u),
        }
        | placed(of_known, (*of_results, *[None] * len(made))),
        effects=split.first.effects,
    )
    second = eqn.replace(
        invars=[*residuals, *compress(eqn.invars, there)],
        outvars=list(compress(eqn.outvars, split.there)),
        params=params
        | {"jaxpr": split.second, "donated_invars": (False,) * len(residuals) + tuple(compress(donated, there))}
        | placed((*[None] * len(residuals), *compress(ins, there)), compress(outs, split.there)),
        effects=split.second.effects,
    )
    needed = [x for x in [*not_there(eqn, there), *residuals] if isinstance(x, Var)]
    return Parts(first, second, split.unknown, split.there, needed)


split_rules[jit_p] = _of_call


# --- conditionals -----------------------------------------------------------------------------------------------------


def _of_cond(policy: Policy, unknown: list[bool], there: list[bool], eqn: JaxprEqn) -> Parts:
    """Split a `cond` into two with the same index. In the first, a branch returns placeholders for residuals of other
    branches. If the index is unknown, there is no first `cond`.
    """
    branches: Sequence[Jaxpr] = eqn.params["branches"]
    needed = not_there(eqn, there)
    if unknown[0]:
        everything = [True] * len(eqn.outvars)
        return Parts(None, eqn, everything, everything, needed)
    inputs = tuple(unknown[1:])
    given = (True,) * len(inputs)
    later: tuple[bool, ...] = (False,) * len(eqn.outvars)
    for branch in branches:
        found = split_by_policy(branch, inputs, given, (False,) * len(later), True, policy).unknown
        later = tuple(before or now for before, now in zip(later, found, strict=True))
    splits = [split_by_policy(branch, inputs, given, later, True, policy) for branch in branches]
    avals, places = merge_types([each.second.in_avals[: each.num_residuals] for each in splits])
    count, kinds = later.count(False), tuple(avals)
    residuals = list(map(Var, avals))
    first = tuple(with_outputs(each.first, count, kinds, at) for each, at in zip(splits, places, strict=True))
    second = tuple(with_inputs(each.second, kinds, at) for each, at in zip(splits, places, strict=True))
    results, _ = partition_list(list(later), eqn.outvars)
    known, _ = partition_list(unknown, eqn.invars)
    return Parts(
        eqn.replace(invars=known, outvars=[*results, *residuals], params=eqn.params | {"branches": first}),
        eqn.replace(invars=[eqn.invars[0], *residuals, *eqn.invars[1:]], params=eqn.params | {"branches": second}),
        later,
        [True] * len(later),
        [*needed, *residuals],
    )


split_rules[lax.cond_p] = _of_cond


# --- loops ------------------------------------------------------------------------------------------------------------


def _of_while(policy: Policy, unknown: list[bool], there: list[bool], eqn: JaxprEqn) -> Parts:
    """Split a while loop in two: the first loop computes the known parts of the carry; there is none if the condition
    is unknown. The number of trips is unknown, so nothing inside can be saved: the second loop computes everything
    again.
    """
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    of_cond, of_body, carry = split_list(unknown, [eqn.params["cond_nconsts"], eqn.params["body_nconsts"]])
    while True:
        inputs = (*of_body, *carry)
        split = split_by_policy(body, inputs, (True,) * len(inputs), tuple(carry), True, nothing_saveable)
        if split.unknown == carry:
            break
        carry = [before or now for before, now in zip(carry, split.unknown, strict=True)]
    inputs = (*of_cond, *carry)
    test = split_by_policy(cond, inputs, (True,) * len(inputs), (False,), True, nothing_saveable)
    needed, everything = not_there(eqn, there), [True] * len(carry)
    if test.unknown[0]:
        return Parts(None, eqn, everything, everything, needed)
    known, _ = partition_list([*of_cond, *of_body, *carry], eqn.invars)
    results, _ = partition_list(carry, eqn.outvars)
    params = {
        "cond_jaxpr": test.first,
        "cond_nconsts": of_cond.count(False),
        "body_jaxpr": split.first,
        "body_nconsts": of_body.count(False),
    }
    return Parts(eqn.replace(invars=known, outvars=results, params=params), eqn, carry, everything, needed)


def _of_scan(policy: Policy, unknown: list[bool], there: list[bool], eqn: JaxprEqn) -> Parts:
    """Split a scan in two. The residuals of each step are stacked; a residual that is the same in each step is computed
    once, before the first loop.
    """
    jaxpr, num_carry = eqn.params["jaxpr"], eqn.params["num_carry"]
    of_consts, carry, of_xs = split_list(unknown, [eqn.params["num_consts"], num_carry])
    num_ys = len(jaxpr.outvars) - num_carry
    while True:
        inputs = (*of_consts, *carry, *of_xs)
        ensured = (*carry, *[False] * num_ys)
        split = split_by_policy(jaxpr, inputs, (True,) * len(inputs), ensured, True, policy)
        if split.unknown[:num_carry] == carry:
            break
        carry = [before or now for before, now in zip(carry, split.unknown, strict=False)]
    count, num_known = split.num_residuals, split.unknown.count(False)
    num_consts, num_rest = of_consts.count(False), [*carry, *of_xs].count(False)
    parts = split_jaxpr(
        split.first, (False,) * num_consts + (True,) * num_rest, (True,) * num_known + (False,) * count, False
    )
    in_loop = list(parts.nonzero[num_known:])
    avals = split.second.in_avals[:count]
    second = move_inputs_to_front(split.second, (False,) * count + (True,) * len(inputs))
    fixed_first = (*[False] * len(inputs), *(not stacked for stacked in in_loop))
    second = move_inputs_to_front(second, fixed_first)
    fixed, stacked = partition_list(in_loop, avals)
    length = eqn.params["length"]
    fixed_vars = list(map(Var, fixed))
    rows = [Var(aval.update(shape=(length, *aval.shape))) for aval in stacked]
    params = eqn.params | {"jaxpr": parts.tangent, "num_consts": parts.num_residuals, "num_carry": carry.count(False)}

    def known_part(*operands: Any) -> list[Any]:
        made = jaxpr_as_fun(parts.primal)(*operands[:num_consts])
        loop = lax.scan_p.bind(*made[len(fixed) :], *operands[num_consts:], **params)
        return [*made[: len(fixed)], *loop]

    known, _ = partition_list(list(inputs), eqn.invars)
    results, _ = partition_list(split.unknown, eqn.outvars)
    call = trace_to_jaxpr(known_part, [x.aval for x in known], parts.primal.debug_info)
    first = JaxprEqn(
        known, [*fixed_vars, *results, *rows], closed_call_p, {"call_jaxpr": call}, call.effects, eqn.source_info
    )
    again = eqn.replace(
        invars=[*fixed_vars, *eqn.invars, *rows],
        params=eqn.params | {"jaxpr": second, "num_consts": len(fixed) + len(of_consts)},
    )
    residuals = [*not_there(eqn, there), *fixed_vars, *rows]
    return Parts(first, again, split.unknown, [True] * len(eqn.outvars), residuals)


split_rules[lax.while_p] = _of_while
split_rules[lax.scan_p] = _of_scan

# --- closed_call: what is done before a loop, and the loop ------------------------------------------------------------------

closed_call_p = Primitive("closed_call", multiple_results=True, pure_shape_rule=False)
closed_call_p.effects = lambda params: params["call_jaxpr"].effects


@closed_call_p.def_abstract_eval
def _(*avals: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return call_jaxpr.out_avals


@mlir.register_lowering(closed_call_p)
def _(ctx: mlir.LoweringContext, *args: str, call_jaxpr: Jaxpr, **params: Any) -> list[str]:
    return ctx.call_jaxpr("closed_call", call_jaxpr, args)


@register_batcher(closed_call_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, call_jaxpr: Jaxpr, **params: Any) -> Any:
    on_batches, out_dims = batch_jaxpr(call_jaxpr, axis, dims)
    return closed_call_p.bind(*vals, call_jaxpr=on_batches, name="eval_jaxpr"), out_dims


def _jvp_of_call(
    primals: Sequence[Any], tangents: Sequence[Any], *, call_jaxpr: Jaxpr, **params: Any
) -> tuple[list[Any], list[Any]]:
    """JVP rule: differentiate the called jaxpr, operation by operation."""
    return ad.jvp(jaxpr_as_fun(call_jaxpr), primals, tangents)


def _dce_of_call(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    jaxpr, used = dce_jaxpr(eqn.params["call_jaxpr"], used_results)
    invars, outvars = list(compress(eqn.invars, used)), list(compress(eqn.outvars, used_results))
    return used, eqn.replace(
        invars=invars, outvars=outvars, params=eqn.params | {"call_jaxpr": jaxpr}, effects=jaxpr.effects
    )


primitive_jvps[closed_call_p] = _jvp_of_call
dce_rules[closed_call_p] = _dce_of_call
