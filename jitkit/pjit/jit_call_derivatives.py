"""Differentiates a call: its derivatives are calls of the jaxprs that compute values, tangents and cotangents.

Linearizing a call gives two: the first is made now, and also returns residuals; the second computes tangents from them.

JAX: jax/_src/pjit.py:_pjit_jvp
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, cast

from ..base import source_info
from ..base.jax_version import since
from ..base.util import merge_lists, partition_list
from ..core import Trace, current_trace, get_aval, set_current_trace
from ..interpreters import ad
from ..interpreters.ad_linearize import (
    LinearizedJaxpr,
    PartialTrace,
    linearize_jaxpr,
    linearize_rules,
    partial_eval_rules,
    split_jaxpr,
)
from ..interpreters.ad_rules import Zero, is_undefined, primitive_jvps, primitive_transposes
from ..interpreters.ad_transpose import backward_pass, transpose_jaxpr
from ..jaxpr import Jaxpr, drop_unused, eval_jaxpr, forwarded_inputs, keep_outputs, move_inputs_to_front, remembered
from .jit_call import Inline, jit_p, placed, take_shardings


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, donated_invars: Sequence[bool], **params: Any
) -> tuple[list[Any], list[Any]]:
    """JVP rule: make one call, of the jaxpr that computes primals and tangents."""
    nonzero = tuple(type(t) is not Zero for t in tangents)
    pairs, nonzero_out = ad.jvp_jaxpr(jaxpr, nonzero, False)
    ins, results = take_shardings(params, jaxpr)
    params |= placed((*ins, *compress(ins, nonzero)), (*results, *compress(results, nonzero_out)))
    outs = jit_p.bind(
        *primals,
        *compress(tangents, nonzero),
        **params | {"donated_invars": (*donated_invars, *compress(donated_invars, nonzero)), "jaxpr": pairs},
    )
    count = len(jaxpr.outvars)
    return outs[:count], ad.with_zeros(outs[count:], nonzero_out, jaxpr.out_avals)


@remembered
def _of_no_line(jaxpr: Jaxpr, nonzero: tuple[bool, ...]) -> LinearizedJaxpr:
    """Return a library function's jaxpr, linearised without source lines, since all calls of the function share the
    result.
    """
    with source_info.nowhere():
        return linearize_jaxpr(jaxpr, nonzero)


def _linearize(
    nonzero: Sequence[bool], *primals: Any, jaxpr: Jaxpr, donated_invars: Sequence[bool], **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """Linearization rule: make one call now, which returns values and residuals, and record another, which computes
    tangents. The first call does not return residuals that are arguments, or results already.
    """
    ins, results = take_shardings(params, jaxpr)
    is_inlined = params["inline"] is Inline.JAX_EARLY
    both = (_of_no_line if is_inlined else linearize_jaxpr)(jaxpr, tuple(nonzero))
    count = len(jaxpr.outvars)
    first = placed(ins, (*results, *[None] * (len(both.primal.outvars) - count))) | {"donated_invars": donated_invars}
    if is_inlined:  # this call is not recorded as an equation, so it has no results to leave out
        outs = jit_p.bind(*primals, jaxpr=both.primal, **params | first)
    else:
        outs = call_without_forwarding(both.primal, primals, count, params | first)
    residuals = both.residuals([*jaxpr.consts, *primals], outs[count:])

    def linear(*tangents: Any) -> list[Any]:
        args = (*residuals, *compress(tangents, nonzero))
        if is_inlined and (len(both.tangent.eqns) < 2 or not since(0, 12)):
            return ad.with_zeros(eval_jaxpr(both.tangent, (), *args), both.nonzero, jaxpr.out_avals)
        donated = (False,) * len(residuals) + tuple(compress(donated_invars, nonzero))
        of_tangents = placed((*[None] * len(residuals), *compress(ins, nonzero)), compress(results, both.nonzero))
        # Record a call even if the function is inlined: as in JAX 0.12, the reverse pass adds up the cotangents of an
        # argument inside of the call, and inlines the result.
        made = cast(Trace, current_trace()).process_primitive(
            jit_p, args, params | {"donated_invars": donated, "jaxpr": both.tangent} | of_tangents
        )
        return ad.with_zeros(made, both.nonzero, jaxpr.out_avals)

    return outs[:count], linear


def _partial_eval(
    trace: PartialTrace, *operands: Any, jaxpr: Jaxpr, donated_invars: Sequence[bool], **params: Any
) -> list[Any]:
    """Partial evaluation rule: make one call now, of the part that depends on no tangent, and record a call of the rest."""
    unknown = tuple(map(trace.is_tangent, operands))
    ins, results = take_shardings(params, jaxpr)
    both = split_jaxpr(jaxpr, unknown)
    known, later = partition_list(unknown, operands)
    (ins, ins_later), (results, results_later) = (partition_list(unknown, ins), partition_list(both.nonzero, results))
    count = len(jaxpr.outvars) - sum(both.nonzero)
    of_known = placed(ins, (*results, *[None] * (len(both.primal.outvars) - count)))
    donated, donated_later = partition_list(unknown, donated_invars)
    with set_current_trace(trace.parent):
        outs = call_without_forwarding(
            both.primal, known, count, params | of_known | {"donated_invars": tuple(donated)}
        )
    residuals = both.residuals([*jaxpr.consts, *known], outs[count:])
    rest = drop_unused(move_inputs_to_front(both.tangent, (False,) * len(residuals) + (True,) * len(later)))
    donated_invars = (*donated_later, *[False] * len(residuals))
    params |= placed((*ins_later, *[None] * len(residuals)), results_later)
    with set_current_trace(trace.tangents):
        consts = map(trace.tangents.constant, residuals)
        made = jit_p.bind(*later, *consts, **params | {"donated_invars": donated_invars, "jaxpr": rest})
    return merge_lists(both.nonzero, outs[:count], made)


def call_without_forwarding(jaxpr: Jaxpr, args: Sequence[Any], count: int, params: dict[str, Any]) -> list[Any]:
    """Return the outputs of a call of a jaxpr: `count` results, then residuals. The call leaves out results that are
    arguments, and residuals that are results; they are filled in afterwards.
    """
    places = forwarded_inputs(jaxpr)[:count] + [None] * (len(jaxpr.outvars) - count)
    params = dict(params)
    ins, outs = take_shardings(params, jaxpr)
    places = [None if out is not None else place for place, out in zip(places, outs, strict=True)]
    results = {x for x, place in zip(jaxpr.outvars[:count], places, strict=False) if place is None}
    keep = tuple(
        place is None and (k < count or x not in results)
        for k, (x, place) in enumerate(zip(jaxpr.outvars, places, strict=True))
    )
    params = params | {"jaxpr": keep_outputs(jaxpr, keep)} | placed(ins, compress(outs, keep))
    made = iter(jit_p.bind(*args, **params))
    values: dict[Any, Any] = {}
    for x, place, kept in zip(jaxpr.outvars, places, keep, strict=True):
        values[x] = next(made) if kept else args[place] if place is not None else values[x]
    return [values[x] for x in jaxpr.outvars]


def _transpose(
    cts: Sequence[Any], *operands: Any, jaxpr: Jaxpr, donated_invars: Sequence[bool], **params: Any
) -> list[Any]:
    """Transpose rule: make one call, of the transposed jaxpr. If the function is inlined into an outer trace,
    transpose its equations here.
    """
    trace = current_trace()
    if params["inline"] is Inline.JAX_EARLY and trace is not None and not trace.keeps_calls:
        trace.writer.note([*operands, *cts])
        return backward_pass(jaxpr, jaxpr.consts, operands, cts)
    linear = tuple(map(is_undefined, operands))
    known = [x for x in operands if not is_undefined(x)]
    avals = (*map(get_aval, known), *(None if type(ct) is Zero else get_aval(ct) for ct in cts))
    types = tuple(x.aval for x in operands if is_undefined(x))
    transposed, nonzero = transpose_jaxpr(jaxpr, linear, avals, (), types)
    args = [*known, *(ct for ct in cts if type(ct) is not Zero)]
    ins, results = take_shardings(params, jaxpr)
    of_known, of_linear = partition_list(linear, ins)
    of_cts = compress(results, [type(ct) is not Zero for ct in cts])
    params |= placed((*of_known, *of_cts), compress(of_linear, nonzero))
    made = jit_p.bind(*args, **params | {"donated_invars": (False,) * len(args), "jaxpr": transposed})
    found = iter(ad.with_zeros(made, nonzero, list(compress(jaxpr.in_avals, linear))))
    return [next(found) if is_linear else None for is_linear in linear]


primitive_jvps[jit_p] = _jvp
linearize_rules[jit_p] = _linearize
partial_eval_rules[jit_p] = _partial_eval
primitive_transposes[jit_p] = _transpose
