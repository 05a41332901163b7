"""numbered equations -> which equations make the operands of each, through calls

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .equation import Dialect, Equation
from .values import CALLS, jaxprs_of


def find_operands(jaxpr: Any, equations: list[Equation], by_eqn: dict[int, int], dialect: Dialect) -> None:
    """Set `operands` and `is_result` of each equation: which equations make its operands, through calls (`~i` is the
    i-th argument), and whether it makes a result of the function, of a branch or of a loop's turn.
    """
    origins: dict[int, frozenset[int]] = {id(var): frozenset({~i}) for i, var in enumerate(jaxpr.invars)}
    seen: set[Any] = set()

    def fill(jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            number = by_eqn[id(eqn)]
            equation = equations[number]
            reads = [
                frozenset() if dialect.is_literal(atom) else origins.get(id(atom), frozenset()) for atom in eqn.invars
            ]
            known = equation.operands or (frozenset(),) * len(reads)
            equation.operands = tuple(one | other for one, other in zip(known, reads, strict=True))
            inner = list(jaxprs_of(eqn, dialect))
            made = [frozenset({number})] * len(eqn.outvars)
            is_call = equation.primitive in CALLS and len(inner) == 1 and len(inner[0].invars) == len(reads)
            if not equation.live:  # leave out jaxprs that are live for another call, which runs them on other values
                inner = [each for each in inner if not any(equations[by_eqn[id(e)]].live for e in each.eqns)]
            if is_call and inner:
                for var, own in zip(inner[0].invars, reads, strict=True):
                    origins[id(var)] = origins.get(id(var), frozenset()) | own
            for each in inner:
                key = id(each), tuple(reads)
                if key not in seen:  # a jaxpr that is called twice has the operands of both calls
                    seen.add(key)
                    fill(each)
                if not is_call:
                    mark_results(each)
            if is_call and inner and len(inner[0].outvars) == len(made):
                made = [made[0] if dialect.is_literal(v) else origins.get(id(v)) or made[0] for v in inner[0].outvars]
            for var, own in zip(eqn.outvars, made, strict=True):
                origins[id(var)] = origins.get(id(var), frozenset()) | own

    def mark_results(jaxpr: Any) -> None:
        for atom in jaxpr.outvars:
            for origin in origins.get(id(atom), ()):
                if origin >= 0:
                    equations[origin].is_result = True

    fill(jaxpr)
    mark_results(jaxpr)


def given(equations: Sequence[Equation]) -> dict[int, Any]:
    """Return, for each variable in a jaxpr that always is a value from outside (an operand of a call, of a branch, or a constant of a
    loop), and for each result that is an operand, what it is: `id(variable) -> variable or literal`.
    """
    found: dict[int, Any] = {}
    clashes: set[int] = set()
    for each in equations:
        params, operands = each.eqn.params, each.eqn.invars
        pairs = [
            (params[name], operands) for name in ("jaxpr", "call_jaxpr") if name in params and each.primitive in CALLS
        ]
        if each.primitive == "scan":
            pairs = [(params["jaxpr"], operands[: params["num_consts"]])]
        elif each.primitive == "cond":
            pairs = [(branch, operands[1:]) for branch in params["branches"]]
        elif each.primitive == "while":
            first, second = params["cond_nconsts"], params["body_nconsts"]
            pairs = [(params["cond_jaxpr"], operands[:first]), (params["body_jaxpr"], operands[first : first + second])]
        for jaxpr, atoms in pairs:
            for var, atom in zip(getattr(jaxpr, "jaxpr", jaxpr).invars, atoms, strict=False):
                if found.setdefault(id(var), atom) is not atom:
                    clashes.add(id(var))
        if each.unchanged and each.unchanged.kept is not None:
            found[id(each.eqn.outvars[0])] = operands[each.unchanged.kept]
    return {key: atom for key, atom in found.items() if key not in clashes}


def source_of(atom: Any, sources: Mapping[int, Any]) -> Any:
    """Return the value from outside that a variable is, as `given` says, or the variable itself."""
    while id(atom) in sources:
        atom = sources[id(atom)]
    return atom
