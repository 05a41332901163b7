"""jaxpr + used results -> jaxpr: dead code elimination

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core import Primitive
from .language import Jaxpr, JaxprEqn, Var, join_effects, selected

# The DCE rule of a primitive takes, for each result of an equation, whether it is used. It returns, for each operand,
# whether it is needed, and the rest of the equation (None if nothing is left).
DCERule = Callable[[list[bool], JaxprEqn], tuple[list[bool], JaxprEqn | None]]


dce_rules: dict[Primitive, DCERule] = {}  # the dead-code rules of the primitives that have one


_dce_memo: weakref.WeakKeyDictionary[Jaxpr, dict[Any, tuple[Jaxpr, list[bool]]]] = weakref.WeakKeyDictionary()


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Eliminate dead code: return the jaxpr with only what the used outputs depend on, and for each input whether it is
    there.

    `used_outputs` says for each output whether it is used, and `instantiate` for each input whether to keep it even if
    unused; one bool stands for all. Equations with effects stay. Unused consts are removed with their constvars; an
    open jaxpr keeps all its constvars. The same arguments give the same jaxpr, so that calls which shared a jaxpr still
    share one.
    """
    outputs = (used_outputs,) * len(jaxpr.outvars) if isinstance(used_outputs, bool) else tuple(used_outputs)
    inputs = (instantiate,) * len(jaxpr.invars) if isinstance(instantiate, bool) else tuple(instantiate)
    known = _dce_memo.setdefault(jaxpr, {})
    if (outputs, inputs) not in known:
        known[outputs, inputs] = prune_jaxpr(jaxpr, outputs, inputs)
    pruned, used_inputs = known[outputs, inputs]
    return pruned, list(used_inputs)


def prune_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: Sequence[bool]) -> tuple[Jaxpr, list[bool]]:
    """Return the result of `dce_jaxpr`, without its cache."""
    outputs = [atom for atom in selected(jaxpr.outvars, used_outputs) if isinstance(atom, Var)]
    eqns, live = live_equations(jaxpr.eqns, outputs)
    used_inputs = [var in live or keep for var, keep in zip(jaxpr.invars, instantiate, strict=True)]
    used_consts = [var in live or not jaxpr.consts for var in jaxpr.constvars]
    pruned = Jaxpr(
        selected(jaxpr.constvars, used_consts),
        selected(jaxpr.invars, used_inputs),
        selected(jaxpr.outvars, used_outputs),
        eqns,
        join_effects(eqns),
        jaxpr.debug_info.filter(used_inputs, used_outputs),
        selected(jaxpr.consts, used_consts) if jaxpr.consts else (),
    )
    return pruned, used_inputs


def live_equations(eqns: Sequence[JaxprEqn], outputs: Iterable[Var]) -> tuple[list[JaxprEqn], set[Var]]:
    """Return what is left of some equations, in order, if only the variables `outputs` are wanted. Also return all live
    variables: the outputs, and the variables that the remaining equations read. Leave `outputs` as it is.

    For each equation call its rule, `dce_rules[primitive]`, or `keep_or_drop` for primitives without one, with a list
    that says for each result whether it is live, and with the equation. The rule returns a list that says for each operand
    whether it is needed, and what is left of the equation, or None.
    """
    live = set(outputs)
    left: list[JaxprEqn] = []
    for eqn in reversed(eqns):
        if len(eqn.outvars) == 1 and eqn.outvars[0] in live and eqn.primitive not in dce_rules:
            for atom in eqn.invars:
                if type(atom) is Var:
                    live.add(atom)
            left.append(eqn)  # what `keep_or_drop` would do, in a fifth of the time
            continue
        rule = dce_rules.get(eqn.primitive, keep_or_drop)
        needed, rest = rule([var in live for var in eqn.outvars], eqn)
        live.update(x for x, kept in zip(eqn.invars, needed, strict=True) if kept and isinstance(x, Var))
        if rest is not None:
            left.append(rest)
    return left[::-1], live


def keep_or_drop(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """DCE rule of primitives without their own: keep an equation with all operands if a result is used or it has
    effects, else drop it.
    """
    needed = any(used_results) or bool(eqn.effects)
    return [needed] * len(eqn.invars), eqn if needed else None
