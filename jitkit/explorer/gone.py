"""equations + what is left of them -> why the others are gone

That an operation is gone is known: no instruction has its number. Why, a compiler does not say. Two reasons are certain, since
they are our own doing: no result depended on it, or it never wrote an operation. Of the others the equations tell what is
likely, and these are called guesses.

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .equations import Equation

# What says how the same elements are arranged: it is taken into whatever reads it.
_ARRANGING = frozenset({
    "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "convert_element_type", "copy", "copy_p", "rev",
    "slice", "concatenate", "pad", "iota", "bitcast_convert_type", "split", "stop_gradient", "name", "reduce_precision",
})  # fmt: skip


def gone(
    equations: Sequence[Equation],
    lowered: frozenset[int],
    there: frozenset[int],
    inside: dict[int, list[int]],
) -> dict[str, dict[str, Any]]:
    """By number of each equation of which nothing is left: `{"why": ..., "sure": bool}`.

    `lowered` are the equations with an operation in StableHLO, `there` those with an instruction; `inside` the equations in
    each equation's jaxprs, of which it lives on.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, equation in enumerate(equations):
        family = [number, *inside.get(number, ())]
        if any(each in there for each in family):
            continue
        found[str(number)] = _why(number, equation, equations, any(each in lowered for each in family), there)
    return found


def _why(
    number: int, equation: Equation, equations: Sequence[Equation], was_lowered: bool, there: frozenset[int]
) -> dict[str, Any]:
    if not equation.live:
        return {"why": "dead: no result depends on it", "sure": True}
    outer = equation.parent
    while outer is not None:
        if not equations[outer].live:
            return {"why": "dead: it is part of an operation that no result depends on", "sure": True}
        outer = equations[outer].parent
    if not was_lowered and outer is None and equation.parent is None:
        return {"why": "it wrote no operation: its result is an operand under another name", "sure": True}
    if not was_lowered:
        return {"why": "it wrote no operation of its own: dead in there, or an operand under another name", "sure": False}
    if equation.constant:
        return {"why": "constant folded: it depends on no argument", "sure": False}
    survivors = [other for other in equation.same_as if other in there]
    if survivors:
        return {"why": "common: the same is computed by another equation", "sure": False, "like": survivors[0]}
    if equation.primitive in _ARRANGING:
        return {"why": "taken in: it only arranges elements, and what reads it does so", "sure": False}
    return {"why": "gone: simplified or merged into its neighbours; the compiler does not say how", "sure": False}
