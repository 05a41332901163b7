"""Differentiates `scan`. Its JVP is a scan. Linearised, it becomes two scans: one that saves residuals, and a linear one, whose
transpose is a scan in the other direction.

The scan that saves residuals computes the results, and stacks the residuals of all steps, one row for each step.
Residuals that are the same in each step are computed once, before the loop, and inputs of the loop are not stacked again.

The transposed loop runs from the last step to the first. It carries the cotangents of the carry, and adds up the
cotangents of the operands that all steps share.

JAX: jax/_src/lax/control_flow/loops.py:_scan_linearize
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from ... import core
from ...base.util import merge_lists, partition_list, split_list
from ...interpreters import ad
from ...interpreters.ad_linearize import (
    LinearizedJaxpr,
    PartialTrace,
    linearize_jaxpr,
    linearize_rules,
    partial_eval_rules,
    split_jaxpr,
)
from ...interpreters.ad_rules import (
    UndefinedPrimal,
    Zero,
    instantiate_zeros,
    is_undefined,
    primitive_jvps,
    primitive_transposes,
    tangent_aval,
)
from ...interpreters.ad_transpose import backward_pass
from ...interpreters.partial_eval import DynamicJaxprTrace, empty_name_stack, trace_to_jaxpr
from ...jaxpr import (
    Jaxpr,
    convert_constvars_jaxpr,
    dce_jaxpr,
    drop_unused,
    in_order,
    interleaved,
    jaxpr_as_fun,
    move_inputs_to_front,
    remembered,
    sort_consts,
)
from ..creation import zeros_like_aval
from .scanning import element_of, scan_p

# --- forward ----------------------------------------------------------------------------------------------------------


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    sizes, num_ys = [num_consts, num_carry], len(jaxpr.outvars) - num_carry
    const_nz, carry_nz, xs_nz = split_list([type(t) is not Zero for t in tangents], sizes)
    while True:
        always = (*carry_nz, *[False] * num_ys)
        pairs, nonzero_out = ad.jvp_jaxpr(jaxpr, (*const_nz, *carry_nz, *xs_nz), always)
        if list(nonzero_out[:num_carry]) == carry_nz:
            break
        carry_nz = [before or now for before, now in zip(carry_nz, nonzero_out, strict=False)]
    masks = const_nz, carry_nz, xs_nz
    dots = [
        [instantiate_zeros(t) for t in compress(part, mask)]
        for part, mask in zip(split_list(tangents, sizes), masks, strict=True)
    ]
    consts, carry, xs = split_list(primals, sizes)
    counts = [len(part) for part in dots]
    out_dots = counts[1], sum(nonzero_out) - counts[1]
    body = in_order(
        pairs, interleaved((num_consts, num_carry, len(xs)), counts), interleaved((num_carry, num_ys), out_dots)
    )
    outs = scan_p.bind(
        *consts, *dots[0], *carry, *dots[1], *xs, *dots[2],
        **params | {"jaxpr": body, "num_consts": num_consts + counts[0], "num_carry": num_carry + counts[1]},
    )  # fmt: skip
    last, last_dots, ys, ys_dots = split_list(outs, [num_carry, counts[1], num_ys])
    results = [*last, *ys]
    return results, ad.with_zeros([*last_dots, *ys_dots], nonzero_out, [core.get_aval(x) for x in results])


# --- linearise --------------------------------------------------------------------------------------------------------


def _linearize(
    nonzero: Sequence[bool], *primals: Any, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    both, mask = _linearized_body(nonzero, primals, jaxpr, num_consts, num_carry)
    outs, residuals, has_rows = _first_loop(
        both, jaxpr.consts, primals[:num_consts], primals[num_consts:], num_carry, params
    )
    num_tangents = len(both.tangent.invars) - len(residuals)
    tangent = move_inputs_to_front(both.tangent, (*(not r for r in has_rows), *[True] * num_tangents))
    shared, rows = partition_list(has_rows, residuals)

    def linear(*tangents: Any) -> list[Any]:
        made = scan_p.bind(
            *shared,
            *(instantiate_zeros(t) for t in compress(tangents, mask)),
            *rows,
            **params
            | {
                "jaxpr": tangent,
                "num_consts": len(shared) + sum(mask[:num_consts]),
                "num_carry": sum(mask[num_consts : num_consts + num_carry]),
            },
        )
        return ad.with_zeros(made, both.nonzero, [core.get_aval(x) for x in outs])

    return outs, linear


def _linearized_body(
    nonzero: Sequence[bool], primals: Sequence[Any], jaxpr: Jaxpr, num_consts: int, num_carry: int
) -> tuple[LinearizedJaxpr, list[bool]]:
    """Return the body, linearised to two jaxprs, and for each operand of the loop whether it has a tangent, which a
    part of the carry may also get in a step. `nonzero` says which operands have one before the first step.
    """
    const_nz, carry_nz, xs_nz = split_list(nonzero, [num_consts, num_carry])
    forward = (True,) * len(jaxpr.consts) + tuple(_may_be_residual(primals, num_consts, num_carry))
    while True:
        mask = [*const_nz, *carry_nz, *xs_nz]
        always = (*carry_nz, *[False] * (len(jaxpr.outvars) - num_carry))
        both = linearize_jaxpr(jaxpr, tuple(mask), always, forward)
        if list(both.nonzero[:num_carry]) == carry_nz:
            return both, mask
        carry_nz = [before or now for before, now in zip(carry_nz, both.nonzero, strict=False)]


def _first_loop(
    both: LinearizedJaxpr,
    closed_over: Sequence[Any],
    consts: Sequence[Any],
    rest: Sequence[Any],
    num_carry: int,
    params: dict[str, Any],
) -> tuple[list[Any], list[Any], list[bool]]:
    """Run the loop that saves residuals, whose body is `both.primal`. Return its results, the residuals, and for each
    residual whether it has a row for each step. `closed_over` are the body's constants before it was split, `consts` the
    constants of this loop; `rest` has its carry, of `num_carry` parts, and its `xs`; `params` are its other parameters.
    """
    count = len(both.primal.outvars) - both.num_residuals
    primal, left, hoisted, values = hoist(both.primal, list(consts), both.num_residuals)
    outs: list[Any] = []
    if primal.outvars or primal.effects:
        arguments = params | {"jaxpr": primal, "num_consts": len(left), "num_carry": num_carry}
        outs = scan_p.bind(*left, *rest, **arguments)
    computed = merge_lists(hoisted, outs[count:], values)
    residuals = both.residuals([*closed_over, *consts, *rest], computed)
    first_x, in_loop = len(closed_over) + len(consts) + num_carry, iter(hoisted)
    has_rows = [not next(in_loop) if place is None else place >= first_x for place in both.forwarded]
    return outs[:count], residuals, has_rows


def hoist(jaxpr: Jaxpr, consts: list[Any], num_residuals: int) -> tuple[Jaxpr, list[Any], list[bool], list[Any]]:
    """Compute now, before the loop, the part of its body that depends only on its constants.

    Return the jaxpr of the rest, without the residuals (its last outputs) that are known now; its constants; for each
    residual whether it is known; and the known values.
    """
    parent = core.current_trace()
    rest = DynamicJaxprTrace(parent, jaxpr.debug_info)
    trace = PartialTrace(parent, rest)
    count = len(jaxpr.outvars) - num_residuals
    try:
        others = [rest.new_arg(aval) for aval in jaxpr.in_avals[len(consts) :]]
        with core.set_current_trace(trace), empty_name_stack():
            outs = jaxpr_as_fun(jaxpr)(*consts, *others)
        known = [not trace.is_tangent(x) for x in outs[count:]]
        stacked, values = partition_list(known, outs[count:])
        written = rest.to_jaxpr([*outs[:count], *stacked], jaxpr.debug_info.with_unknown_names())
    finally:
        trace.end()
        rest.end()
    left = drop_unused(sort_consts(dce_jaxpr(written, True, instantiate=True)[0]))
    return convert_constvars_jaxpr(left), list(left.consts), known, values


# --- a loop with operands that come later --------------------------------------------------------------------------


def _partial_eval(
    trace: PartialTrace, *operands: Any, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    """Partial evaluation rule, for the JVP of a scan before it is transposed: run a loop now for everything that
    depends on no tangent, and record another for the rest, which reads the first one's residuals.
    """
    sizes, num_ys = [num_consts, num_carry], len(jaxpr.outvars) - num_carry
    const_later, carry_later, xs_later = split_list(list(map(trace.is_tangent, operands)), sizes)
    may_be_residual = (True,) * len(jaxpr.consts) + tuple(_may_be_residual(operands, num_consts, num_carry))
    while True:
        later = (*const_later, *carry_later, *xs_later)
        both = split_jaxpr(jaxpr, later, (*carry_later, *[False] * num_ys), may_be_residual)
        if list(both.nonzero[:num_carry]) == carry_later:
            break
        carry_later = [before or now for before, now in zip(carry_later, both.nonzero, strict=False)]
    known, waiting = partition_list(later, operands)
    counts = [const_later.count(False), carry_later.count(False)]
    with core.set_current_trace(trace.parent):
        outs, residuals, has_rows = _first_loop(
            both, jaxpr.consts, known[: counts[0]], known[counts[0] :], counts[1], params
        )
    second = move_inputs_to_front(both.tangent, (*(not r for r in has_rows), *[True] * len(waiting)))
    shared, rows = partition_list(has_rows, residuals)
    arguments = {"jaxpr": second, "num_consts": len(shared) + sum(const_later), "num_carry": sum(carry_later)}
    with core.set_current_trace(trace.tangents):
        made = scan_p.bind(*shared, *waiting, *rows, **params | arguments)
    return merge_lists(both.nonzero, outs, made)


def _may_be_residual(operands: Sequence[Any], num_consts: int, num_carry: int) -> list[bool]:
    """Return for each operand whether it may be a residual itself. A carry may not, since it changes; a numpy array may
    not, since it would be copied at each use.
    """
    last = num_consts + num_carry
    return [not num_consts <= i < last and not isinstance(x, np.ndarray) for i, x in enumerate(operands)]


# --- transpose --------------------------------------------------------------------------------------------------------


def transpose_scan(
    cts: Sequence[Any], *operands: Any, reverse: bool, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    """Transpose a scan that is linear in some constants, in its carry and in some of its `xs`: bind a scan in the other
    direction, with the body `transposed_body` (see there for its inputs and outputs). The constants of the new scan are
    the shared residuals; its carry are the sums, and the cotangents of the carry; its `xs` are the cotangents of outputs,
    except those that are a Zero, and the rows of residuals.

    Args:
      cts: the cotangents of the last carry and of the stacked outputs; some may be Zero.
      operands: constants, carry, and `xs`. The linear ones, which need a cotangent, are UndefinedPrimals; the other
        constants are the shared residuals, and the other `xs` the rows of residuals. A part of the carry may be an
        array, and is carried like the others.
      params: the parameters of `scan_p` that do not change, `length` and `unroll`.

    Returns:
      A cotangent for each operand that is an UndefinedPrimal, and None for each that is not.
    """
    consts, carry, xs = split_list(operands, [num_consts, num_carry])
    ct_carry, ct_ys = split_list(cts, [num_carry])
    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]
    shared = [x for x in consts if not is_undefined(x)]
    rows = [x for x in xs if not is_undefined(x)]
    sums = [zeros_like_aval(tangent_aval(x.aval)) for x in consts if is_undefined(x)]
    start = [*sums, *ct_carry]
    nonzero = tuple(type(ct) is not Zero for ct in ct_ys)
    scanned = [*compress(ct_ys, nonzero), *rows]
    avals = (*map(core.get_aval, (*shared, *start)), *(element_of(core.get_aval(x)) for x in scanned))
    body = transposed_body(jaxpr, len(shared), len(sums), num_carry, len(rows), nonzero, avals)
    made = iter(
        scan_p.bind(
            *shared,
            *start,
            *scanned,
            reverse=not reverse,
            jaxpr=body,
            num_consts=len(shared),
            num_carry=len(start),
            **params,
        )
    )
    of_consts = [next(made) if is_undefined(x) else None for x in consts]
    of_carry = [ct if is_undefined(x) else None for x, ct in zip(carry, made, strict=False)]
    return [*of_consts, *of_carry, *(next(made) if is_undefined(x) else None for x in xs)]


@remembered
def transposed_body(
    jaxpr: Jaxpr,
    num_shared: int,
    num_sums: int,
    num_carry: int,
    num_rows: int,
    nonzero_ys: tuple[bool, ...],
    avals: tuple[Any, ...],
) -> Jaxpr:
    """Return the body of the loop that runs backwards: one step of the linear loop, transposed (`backward_pass`).

        linear loop     shared residuals, linear constants, carry, linear elements, rows of residuals
                            -> carry, ys
        transposed      shared residuals, sums, cotangents of carry, cotangents of ys, rows of residuals
                            -> sums, cotangents of carry, cotangents of elements

    All steps read the same constants: the cotangent of a constant is the sum over all steps, and this sum is carried.

    Args:
      jaxpr: the body of the linear loop, with a value for each of its constants (`consts`).
      num_shared, num_sums, num_carry, num_rows: how many shared residuals, linear constants, parts of the carry, and
        rows of residuals there are.
      nonzero_ys: for each of the ys, whether it has a cotangent; those without one are not inputs.
      avals: the types of the inputs of the new body.

    Returns:
      A jaxpr, all of whose outputs are arrays.
    """

    def body(*args: Any) -> list[Any]:
        sizes = [num_shared, num_sums, num_carry, sum(nonzero_ys)]
        shared, sums, ct_carry, ct_ys, rows = split_list(args, sizes)
        elements = jaxpr.in_avals[num_shared + num_sums + num_carry : len(jaxpr.invars) - num_rows]
        # A cotangent of the carry is weakly typed if the incoming cotangent is; it does not matter whether the carry was.
        linear = [*map(core.get_aval, [*sums, *ct_carry]), *map(tangent_aval, elements)]
        inputs = [*shared, *map(UndefinedPrimal, linear), *rows]
        cts = [*ct_carry, *ad.with_zeros(ct_ys, nonzero_ys, jaxpr.out_avals[num_carry:])]
        found = backward_pass(jaxpr, jaxpr.consts, inputs, cts, before=sums)
        return [instantiate_zeros(ct) for ct in found if ct is not None]

    return trace_to_jaxpr(body, avals, jaxpr.debug_info.with_unknown_names())


primitive_jvps[scan_p] = _jvp
linearize_rules[scan_p] = _linearize
partial_eval_rules[scan_p] = _partial_eval
primitive_transposes[scan_p] = transpose_scan
