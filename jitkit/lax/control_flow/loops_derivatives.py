"""Differentiates `while_loop`, in forward mode only: without a known number of steps, residuals cannot be allocated.

The JVP's loop carries the primal carry, and tangents for those parts of it whose tangent is not known to be zero. To
find these parts, repeat until nothing changes: a part whose tangent is zero at first may get a tangent in a step.

To linearise the loop, run the loop of primals now, and record the whole JVP: without residuals, its tangents need the
primals of each step again.

JAX: jax/_src/lax/control_flow/loops.py:_while_loop_jvp
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NoReturn

from ... import core
from ...base.util import merge_lists, split_list
from ...interpreters import ad
from ...interpreters.ad_linearize import PartialTrace, partial_eval_rules, split_jaxpr
from ...interpreters.ad_rules import Zero, instantiate_zeros, primitive_jvps, primitive_transposes, tangent_aval
from ...jaxpr import Jaxpr, Var, dce_jaxpr, in_order, interleaved, keep_outputs, known_outputs, remembered
from .loops import while_p


def _jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    cond_nconsts: int,
    cond_jaxpr: Jaxpr,
    body_nconsts: int,
    body_jaxpr: Jaxpr,
) -> tuple[list[Any], list[Any]]:
    _, const_nz, carry_nz = split_list([type(t) is not Zero for t in tangents], [cond_nconsts, body_nconsts])
    while True:
        pairs, found = ad.jvp_jaxpr(body_jaxpr, (*const_nz, *carry_nz), tuple(carry_nz))
        if list(found) == carry_nz:
            break
        carry_nz = [before or now for before, now in zip(carry_nz, found, strict=True)]
    cond_consts, body_consts, carry = split_list(primals, [cond_nconsts, body_nconsts])
    _, const_dots, carry_dots = split_list(tangents, [cond_nconsts, body_nconsts])
    const_dots = list(compress(const_dots, const_nz))
    carry_dots = [instantiate_zeros(t) for t in compress(carry_dots, carry_nz)]
    count, dots = len(carry), len(carry_dots)
    body = in_order(pairs, interleaved((body_nconsts, count), (len(const_dots), dots)), interleaved((count,), (dots,)))
    outs = while_p.bind(
        *cond_consts, *body_consts, *const_dots, *carry, *carry_dots,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=with_unread_inputs(cond_jaxpr, tuple(tangent_aval(core.get_aval(t)) for t in carry_dots)),
        body_nconsts=body_nconsts + len(const_dots),
        body_jaxpr=body,
    )  # fmt: skip
    return outs[:count], ad.with_zeros(outs[count:], carry_nz, body_jaxpr.out_avals)


@remembered
def with_unread_inputs(jaxpr: Jaxpr, avals: tuple[Any, ...]) -> Jaxpr:
    """Return the jaxpr with an input for each of these types added at the end, which it does not read."""
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars)) + ("",) * len(avals)
    return jaxpr.replace(
        invars=[*jaxpr.invars, *map(Var, avals)], debug_info=jaxpr.debug_info._replace(arg_names=names)
    )


def _partial_eval(
    trace: PartialTrace, *operands: Any, cond_nconsts: int, cond_jaxpr: Jaxpr, body_nconsts: int, body_jaxpr: Jaxpr
) -> list[Any]:
    """Partial evaluation rule: record the whole loop for the parts of the carry that depend on tangents. If the
    condition depends on none, run the loop now for the other parts, if there are any.
    """
    known = [not trace.is_tangent(x) for x in operands]
    cond_known, body_known, carry_known = split_list(known, [cond_nconsts, body_nconsts])
    while True:
        body = split_jaxpr(body_jaxpr, tuple(not k for k in (*body_known, *carry_known)))
        found = [before and not later for before, later in zip(carry_known, body.nonzero, strict=True)]
        if found == carry_known:
            break
        carry_known = found
    params = {"cond_nconsts": cond_nconsts, "cond_jaxpr": cond_jaxpr}
    params |= {"body_nconsts": body_nconsts, "body_jaxpr": body_jaxpr}
    with core.set_current_trace(trace.tangents):
        written = while_p.bind(*operands, **params)
    if not any(carry_known) or not known_outputs(cond_jaxpr, [*cond_known, *carry_known])[0]:
        return list(written)
    mask = [*cond_known, *body_known, *carry_known]
    is_known = [k for k, unknown in zip(carry_known, body.nonzero, strict=True) if not unknown]
    with core.set_current_trace(trace.parent):
        outs = while_p.bind(
            *compress(operands, mask),
            cond_nconsts=sum(cond_known),
            cond_jaxpr=dce_jaxpr(cond_jaxpr, True, instantiate=[*cond_known, *carry_known])[0],
            body_nconsts=sum(body_known),
            body_jaxpr=keep_outputs(body.primal, (*is_known, *[False] * body.num_residuals)),
        )
    unknown = [x for x, is_known in zip(written, carry_known, strict=True) if not is_known]
    return merge_lists(carry_known, unknown, outs)


def _refuse(*_: Any, **params: Any) -> NoReturn:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values. "
        "Try using lax.scan, or using fori_loop with static start/stop.\n"
        "The reverse mode must keep the values of every turn, and the number of turns is not known. With Python "
        "numbers as bounds, `fori_loop(0, 10, ...)` becomes a `scan`, which has a derivative. The forward mode "
        "works as it is: `jvp`, `jacfwd`."
    )


primitive_jvps[while_p] = _jvp
partial_eval_rules[while_p] = _partial_eval
primitive_transposes[while_p] = _refuse
