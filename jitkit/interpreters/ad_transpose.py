"""linear jaxpr + cotangents of its results -> cotangents of its arguments

Transposing: a linear program is read from its end. A cotangent says how much each element of a value counts for what
one wants to know, a loss. Those of the results are given; an equation is asked, by the rule of its primitive
(`ad_rules.primitive_transposes`), how much its operands count for that, and each operand adds it to what it was told
before: a value that was used twice counts for both.

JAX: jax/_src/interpreters/ad.py:backward_pass3
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import Primitive
from ..jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, literal_value, remembered
from .ad import with_zeros
from .ad_rules import (
    TransposeRule,
    UndefinedPrimal,
    Zero,
    add_tangents,
    instantiate_zeros,
    is_undefined,
    primitive_transposes,
    tangent_aval,
)
from .partial_eval import trace_to_jaxpr


def transpose_rule(primitive: Primitive) -> TransposeRule:
    """The rule of a primitive that is linear in some operands; NotImplementedError where there is none."""
    if primitive not in primitive_transposes:
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{primitive}' not implemented"
        )
    return primitive_transposes[primitive]


def backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any],
    before: Sequence[Any] = (),
) -> list[Any]:
    """The cotangents of those inputs that are an UndefinedPrimal, in which the jaxpr is linear, and None for the others.

    `cotangents` are those of the outputs. Some of them, and of the result, may be Zero. An equation that reads nothing
    linear is computed first. `before` are cotangents that the first linear inputs have already.
    """
    if all(type(ct) is Zero for ct in cotangents) and not jaxpr.effects:
        return [Zero(x.aval) if is_undefined(x) else None for x in inputs]
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, inputs, strict=True))
    linear_invars = [var for var, x in zip(jaxpr.invars, inputs, strict=True) if is_undefined(x)]
    totals: dict[Var, Any] = dict(zip(linear_invars, before, strict=False))

    def read(atom: Atom) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    def add(atom: Atom, ct: Any) -> None:
        if ct is not None and isinstance(atom, Var) and is_undefined(env[atom]):
            totals[atom] = add_tangents(totals[atom], ct) if atom in totals else ct

    def total(var: Var) -> Any:
        return totals.pop(var) if var in totals else Zero(tangent_aval(var.aval))

    linear: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        if any(map(is_undefined, operands)):
            linear.append(eqn)
            env.update((var, UndefinedPrimal(tangent_aval(var.aval))) for var in eqn.outvars)
        else:
            results = eqn.primitive.bind(*operands, **eqn.params)
            env.update(
                zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True)
            )
    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        add(atom, ct)
    for eqn in reversed(linear):
        cts = [total(var) for var in eqn.outvars]
        given = cts if eqn.primitive.multiple_results else cts[0]
        rule = transpose_rule(eqn.primitive)
        for atom, ct in zip(eqn.invars, rule(given, *map(read, eqn.invars), **eqn.params), strict=True):
            add(atom, ct)
    return [total(var) if is_undefined(x) else None for var, x in zip(jaxpr.invars, inputs, strict=True)]


@remembered
def transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], avals: tuple[Any, ...], instantiate: tuple[bool, ...] = ()
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The jaxpr that is transposed in the inputs that are `linear`: from the other inputs, then the cotangents of the
    outputs, to the cotangents of the linear inputs that are not Zero; and which these are.

    `avals` are the types of its inputs, with None for a cotangent that is Zero. `instantiate` says which results are to be
    arrays in any case.
    """
    known = len(linear) - sum(linear)
    given = tuple(aval is not None for aval in avals)
    nonzero: list[bool] = []

    def transposed(*values: Any) -> list[Any]:
        rest, cts = iter(values[:known]), values[known:]
        inputs = [
            UndefinedPrimal(tangent_aval(aval)) if is_linear else next(rest)
            for aval, is_linear in zip(jaxpr.in_avals, linear, strict=True)
        ]
        cotangents = with_zeros(cts, given[known:], jaxpr.out_avals)
        outs = [ct for ct in backward_pass(jaxpr, jaxpr.consts, inputs, cotangents) if ct is not None]
        always = instantiate or (False,) * len(outs)
        outs = [instantiate_zeros(ct) if inst else ct for ct, inst in zip(outs, always, strict=True)]
        nonzero.extend(type(ct) is not Zero for ct in outs)
        return [ct for ct in outs if type(ct) is not Zero]

    in_avals = [aval for aval in avals if aval is not None]
    made = trace_to_jaxpr(transposed, in_avals, jaxpr.debug_info.with_unknown_names())
    return made, tuple(nonzero)
