"""linear jaxpr + cotangents of its results -> cotangents of its arguments

A cotangent says how much each element of a value contributes to the final quantity, such as a loss. To transpose, read
a linear program from its end: for each equation, the transpose rule of its primitive (`ad_rules.primitive_transposes`)
turns the cotangent of its result into cotangents of its operands. The cotangents of a value are added up: a value that
was used twice contributes twice.

JAX: jax/_src/interpreters/ad.py:backward_pass3
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
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
from .replaying import replayed


def transpose_rule(primitive: Primitive) -> TransposeRule:
    """Return the transpose rule of a primitive; raise NotImplementedError if it has none."""
    if primitive not in primitive_transposes:
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{primitive}' not implemented"
        )
    return replayed(primitive, primitive_transposes[primitive])


def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], before: Sequence[Any] = ()
) -> list[Any]:
    """Return the cotangents of those inputs in which the jaxpr is linear, and None for the others.

    The linear equations are read from the last to the first. The rule of a primitive, `transpose_rule(primitive)`, is
    called with the cotangent of its result (a list for `multiple_results`) and with its operands, an UndefinedPrimal
    for each linear one. It returns a list with an entry for each operand: its cotangent, or None. The cotangent of a
    value is the sum (`add_tangents`) of what the equations that read the value return for it, and, for an output, of
    what the caller gives. If there is nothing to add, it is a Zero of the type `tangent_aval(var.aval)`.

    Args:
      jaxpr: a linear program; `consts` are the values of its constvars (not always those in `jaxpr.consts`).
      inputs: an UndefinedPrimal for each linear input, values for the others.
      cotangents: the cotangents of the outputs. Some may be Zero; if all are, and no equation has effects, do not call
        any rule.
      before: cotangents that the first linear inputs have already; what is found here is added to them.
    """
    if all(type(ct) is Zero for ct in cotangents) and not jaxpr.effects:
        known = iter(before)
        return [next(known, Zero(x.aval)) if is_undefined(x) else None for x in inputs]
    values, linear = linear_equations(jaxpr, consts, inputs)
    linear_inputs = [var for var, x in zip(jaxpr.invars, inputs, strict=True) if is_undefined(x)]
    totals: dict[Var, Any] = dict(zip(linear_inputs, before, strict=False))

    def add(atom: Atom, ct: Any) -> None:
        if ct is not None and isinstance(atom, Var) and is_undefined(values[atom]):
            totals[atom] = add_tangents(totals[atom], ct) if atom in totals else ct

    def transpose(cts: Any, *operands: Any, **params: Any) -> None:
        for atom, ct in zip(eqn.invars, transpose_rule(eqn.primitive)(cts, *operands, **params), strict=True):
            add(atom, ct)

    def total(var: Var) -> Any:
        return totals.pop(var) if var in totals else Zero(tangent_aval(var.aval))

    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        add(atom, ct)
    for eqn in reversed(linear):
        cts = [total(var) for var in eqn.outvars]
        given = cts if eqn.primitive.multiple_results else cts[0]
        operands = [read(values, atom) for atom in eqn.invars]
        eqn.perform(transpose, given, *operands)  # the sums, too, are recorded at the equation's line
    return [total(var) if is_undefined(x) else None for var, x in zip(jaxpr.invars, inputs, strict=True)]


def linear_equations(
    jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[Any]
) -> tuple[dict[Var, Any], list[JaxprEqn]]:
    """Return a dict with the value of each variable, and the linear equations in order. An equation is linear if it
    reads a variable that depends on a linear input: the value of such a variable is an UndefinedPrimal. All other
    equations are computed here.
    """
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, inputs, strict=True))
    linear: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        operands = [read(values, atom) for atom in eqn.invars]
        if any(map(is_undefined, operands)):
            linear.append(eqn)
            values.update((var, UndefinedPrimal(tangent_aval(var.aval))) for var in eqn.outvars)
        else:
            results = eqn.perform(eqn.primitive.bind, *operands)
            made = results if eqn.primitive.multiple_results else [results]
            values.update(zip(eqn.outvars, made, strict=True))
    return values, linear


def read(values: dict[Var, Any], atom: Atom) -> Any:
    """Return the value of an operand, a variable or a literal."""
    return literal_value(atom) if isinstance(atom, Literal) else values[atom]


def transpose_jaxpr_anew(
    jaxpr: Jaxpr,
    linear: tuple[bool, ...],
    avals: tuple[Any, ...],
    instantiate: tuple[bool, ...] = (),
    of_linear: tuple[Any, ...] = (),
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Transpose a jaxpr in the inputs that are `linear`. The new jaxpr goes from the other inputs, then the cotangents
    of the outputs, to those cotangents of the linear inputs that are not Zero. Also return, for each linear input,
    whether its cotangent is among them.

    `avals` are the types of the new jaxpr's inputs, with None for a cotangent that is Zero. `instantiate` says which
    results become arrays even if they are Zero. `of_linear` are the types of the call's linear operands, if they differ
    from the jaxpr's inputs: an operand's type may be strong where the input's is weak.
    """
    known = len(linear) - sum(linear)
    given = tuple(aval is not None for aval in avals)
    nonzero: list[bool] = []

    def transposed(*values: Any) -> list[Any]:
        rest, cts = iter(values[:known]), values[known:]
        types = iter(of_linear or list(compress(jaxpr.in_avals, linear)))
        inputs = [UndefinedPrimal(tangent_aval(next(types))) if is_linear else next(rest) for is_linear in linear]
        cotangents = with_zeros(cts, given[known:], jaxpr.out_avals)
        outs = [ct for ct in backward_pass(jaxpr, jaxpr.consts, inputs, cotangents) if ct is not None]
        always = instantiate or (False,) * len(outs)
        outs = [instantiate_zeros(ct) if inst else ct for ct, inst in zip(outs, always, strict=True)]
        nonzero.extend(type(ct) is not Zero for ct in outs)
        return [ct for ct in outs if type(ct) is not Zero]

    in_avals = [aval for aval in avals if aval is not None]
    made = trace_to_jaxpr(transposed, in_avals, jaxpr.debug_info.with_unknown_names())
    return made, tuple(nonzero)


transpose_jaxpr = remembered(
    transpose_jaxpr_anew
)  # for the same arguments the same jaxpr, with the same name in a program
