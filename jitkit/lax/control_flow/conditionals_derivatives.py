"""Differentiates `cond` and `switch`: the derivative chooses between the branches' derivatives.

All branches of an equation have the same results. So a tangent that is zero in some branches only becomes an array of
zeros there, and a branch returns an uninitialised array for a residual that only another branch needs.

JAX: jax/_src/lax/control_flow/conditionals.py:_cond_linearize
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from ...base.jax_version import since
from ...base.util import merge_lists, partition_list
from ...core import get_aval, set_current_trace
from ...interpreters import ad
from ...interpreters.ad_linearize import (
    LinearizedJaxpr,
    PartialTrace,
    linearize_jaxpr,
    linearize_rules,
    partial_eval_rules,
    split_jaxpr,
)
from ...interpreters.ad_rules import Zero, is_undefined, primitive_jvps, primitive_transposes
from ...interpreters.ad_transpose import transpose_jaxpr, transpose_jaxpr_anew
from ...interpreters.partial_eval import trace_to_jaxpr
from ...jaxpr import Jaxpr, Var, jaxpr_as_fun
from ..creation import empty_like_aval
from .conditionals import cond_p


def _any(columns: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
    return tuple(map(any, zip(*columns, strict=True)))


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, branches: Sequence[Jaxpr], **params: Any
) -> tuple[list[Any], list[Any]]:
    nonzero = tuple(type(t) is not Zero for t in tangents[1:])
    nonzero_out = _any([ad.jvp_jaxpr(branch, nonzero, False)[1] for branch in branches])
    pairs = tuple(ad.jvp_jaxpr(branch, nonzero, nonzero_out)[0] for branch in branches)
    outs = cond_p.bind(*primals, *compress(tangents[1:], nonzero), branches=pairs, **params)
    count = len(nonzero_out)
    return outs[:count], ad.with_zeros(outs[count:], nonzero_out, branches[0].out_avals)


def _linearize(
    nonzero: Sequence[bool], *primals: Any, branches: Sequence[Jaxpr], **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    mask, forward = tuple(nonzero[1:]), since(0, 12)
    nonzero_out = _any([linearize_jaxpr(branch, mask, False, False).nonzero for branch in branches])
    both = [linearize_jaxpr(branch, mask, nonzero_out, forward) for branch in branches]
    count = len(nonzero_out)
    computed, places = merge_types([each.primal.out_avals[count:] for each in both])
    first = [with_outputs(each.primal, count, tuple(computed), at) for each, at in zip(both, places, strict=True)]
    forwarded, places = _with_forwarded(branches, both, places, len(computed), primals[1:])
    given = (*computed, *map(get_aval, forwarded))
    tangent = [with_inputs(each.tangent, given, at) for each, at in zip(both, places, strict=True)]
    outs = cond_p.bind(*primals, branches=tuple(first), **params)

    def linear(*tangents: Any) -> list[Any]:
        operands = [*outs[count:], *forwarded, *compress(tangents[1:], mask)]
        made = cond_p.bind(primals[0], *operands, branches=tuple(tangent), **params)
        return ad.with_zeros(made, nonzero_out, branches[0].out_avals)

    return outs[:count], linear


def _with_forwarded(
    branches: Sequence[Jaxpr],
    both: Sequence[LinearizedJaxpr],
    places: Sequence[Sequence[int]],
    count: int,
    operands: Sequence[Any],
) -> tuple[list[Any], list[tuple[int, ...]]]:
    """Return the forwarded residuals, which are operands or constants, and for each branch the places of its residuals
    in the list of all residuals: first the `count` computed ones, whose places are `places`, then the forwarded ones.
    """
    values: list[Any] = []
    found: dict[Any, int] = {}
    all_places = []
    for k, (branch, each, computed) in enumerate(zip(branches, both, places, strict=True)):
        rest, mine, consts = iter(computed), [], branch.consts
        for i in each.forwarded:
            if i is None:
                mine.append(next(rest))
                continue
            key = (k, i) if i < len(consts) else i - len(consts)
            if key not in found:
                found[key] = count + len(values)
                values.append([*consts, *operands][i])
            mine.append(found[key])
        all_places.append(tuple(mine))
    return values, all_places


def _partial_eval(
    trace: PartialTrace, index: Any, *operands: Any, branches: Sequence[Jaxpr], **params: Any
) -> list[Any]:
    """Partial evaluation rule: bind a `cond` now for the results that depend on no tangent in any branch, and record
    another for the rest. If the index depends on a tangent, record the whole `cond`.
    """
    if trace.is_tangent(index):
        with set_current_trace(trace.tangents):
            return list(cond_p.bind(index, *operands, branches=branches, **params))
    unknown = tuple(map(trace.is_tangent, operands))
    later_out = _any([split_jaxpr(branch, unknown, (), False).nonzero for branch in branches])
    both = [split_jaxpr(branch, unknown, later_out, False) for branch in branches]
    count = len(later_out) - sum(later_out)
    avals, places = merge_types([each.primal.out_avals[count:] for each in both])
    given = tuple(avals)
    first = [with_outputs(each.primal, count, given, at) for each, at in zip(both, places, strict=True)]
    second = [with_inputs(each.tangent, given, at) for each, at in zip(both, places, strict=True)]
    known, rest = partition_list(unknown, operands)
    with set_current_trace(trace.parent):
        outs = cond_p.bind(index, *known, branches=tuple(first), **params)
    with set_current_trace(trace.tangents):
        made = cond_p.bind(index, *outs[count:], *rest, branches=tuple(second), **params)
    return merge_lists(later_out, outs[:count], made)


def merge_types(per_branch: Sequence[Sequence[Any]]) -> tuple[list[Any], list[tuple[int, ...]]]:
    """Merge the branches' lists of types into one, in which equal types of different branches share a place, and equal
    types of one branch do not. Return the list, and for each branch the places of its types.
    """
    merged: dict[tuple[Any, int], int] = {}
    places = []
    for avals in per_branch:
        seen: dict[Any, int] = {}
        mine = []
        for aval in avals:
            seen[aval] = seen.get(aval, -1) + 1
            mine.append(merged.setdefault((aval, seen[aval]), len(merged)))
        places.append(tuple(mine))
    return [aval for aval, _ in merged], places


def with_outputs(jaxpr: Jaxpr, count: int, avals: tuple[Any, ...], places: tuple[int, ...]) -> Jaxpr:
    """Return the jaxpr with an output for each of these types after its first `count` outputs. Its further outputs are
    at `places`; the others are uninitialised arrays. The returned jaxpr is new each time, as in JAX: if two branches
    share a jaxpr, their derivatives are printed as two.
    """

    def fun(*args: Any) -> list[Any]:
        outs = jaxpr_as_fun(jaxpr)(*args)
        rest = [empty_like_aval(aval) for aval in avals]
        for place, x in zip(places, outs[count:], strict=True):
            rest[place] = x
        return [*outs[:count], *rest]

    return trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info.with_unknown_names())


def with_inputs(jaxpr: Jaxpr, avals: tuple[Any, ...], places: tuple[int, ...]) -> Jaxpr:
    """Return the jaxpr with an input for each of these types in front. Those at `places` are its own first inputs; the
    others are not read.
    """
    front = [Var(aval) for aval in avals]
    for place, var in zip(places, jaxpr.invars, strict=False):
        front[place] = var
    return jaxpr.replace(invars=[*front, *jaxpr.invars[len(places) :]])


def _transpose(cts: Sequence[Any], index: Any, *operands: Any, branches: Sequence[Jaxpr], **params: Any) -> list[Any]:
    linear = tuple(map(is_undefined, operands))
    known = [x for x in operands if not is_undefined(x)]
    avals = (*map(get_aval, known), *(None if type(ct) is Zero else get_aval(ct) for ct in cts))
    nonzero = _any([transpose_jaxpr(branch, linear, avals)[1] for branch in branches])
    # As in JAX, each branch is transposed to a new jaxpr, even if it equals another branch.
    transposed = tuple(transpose_jaxpr_anew(branch, linear, avals, nonzero)[0] for branch in branches)
    made = cond_p.bind(index, *known, *(ct for ct in cts if type(ct) is not Zero), branches=transposed, **params)
    found = iter(ad.with_zeros(made, nonzero, list(compress(branches[0].in_avals, linear))))
    return [None, *(next(found) if is_linear else None for is_linear in linear)]


primitive_jvps[cond_p] = _jvp
linearize_rules[cond_p] = _linearize
partial_eval_rules[cond_p] = _partial_eval
primitive_transposes[cond_p] = _transpose
