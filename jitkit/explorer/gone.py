"""equations + what is left of them -> why the others are gone

That nothing has the name of an operation is known: no instruction has its number. Why, a compiler does not say. Two reasons are
certain, since they are our own doing: no result depended on it, or it never wrote an operation. Of the others the equations tell
what is likely, and these are called guesses. Where the same line of Python has an instruction that does what the equation does, that may
be it, under the name of a neighbour, and nothing is said to be gone.

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from .equations import Equation
from .hlo import Fused

# What says how the same elements are arranged: it is taken into whatever reads it.
_ARRANGING = frozenset({
    "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "convert_element_type", "copy", "copy_p", "rev",
    "slice", "concatenate", "pad", "iota", "bitcast_convert_type", "split", "stop_gradient", "name", "reduce_precision",
})  # fmt: skip

# The instructions that do what a primitive does, where they are called otherwise.
_CALLED = {
    "dot_general": ("dot", "convolution", "custom-call"), "conv_general_dilated": ("convolution", "custom-call"),
    "broadcast_in_dim": ("broadcast",), "mul": ("multiply",), "sub": ("subtract",), "div": ("divide",), "max": ("maximum",),
    "min": ("minimum",), "neg": ("negate",), "exp": ("exponential",), "select_n": ("select",), "add_any": ("add",),
    "convert_element_type": ("convert",), "pow": ("power",), "transpose": ("transpose", "copy"), "integer_pow": ("multiply",),
    "square": ("multiply",), **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), ("compare",)),
}  # fmt: skip


def gone(
    equations: Sequence[Equation],
    lowered: frozenset[int],
    left: Fused,
    inside: dict[int, list[int]],
) -> dict[str, dict[str, Any]]:
    """By number of each equation whose name nothing has: `{"why": ..., "sure": bool}`.

    `lowered` are the equations with an operation in StableHLO, `left` what the compiler made of them; `inside` the equations in
    each equation's jaxprs, of which it lives on.
    """
    found: dict[str, dict[str, Any]] = {}
    nameless = _nameless(equations, left)
    makers = {id(var): number for number, equation in enumerate(equations) for var in equation.eqn.outvars}
    for number, equation in enumerate(equations):
        family = [number, *inside.get(number, ())]
        if any(each in left.there for each in family):
            continue
        was_lowered = any(each in lowered for each in family)
        alike = [opcode for opcode in _opcodes(equation) if nameless[_line(equation), opcode, _size(equation)] > 0]
        is_fed = any(makers.get(id(atom)) in left.there for atom in equation.eqn.invars)
        found[str(number)] = _why(number, equation, equations, was_lowered, left.there, alike, is_fed)
    return found


def _nameless(equations: Sequence[Equation], left: Fused) -> collections.Counter[Any]:
    """By line, opcode and size: how many instructions there are beyond those which have the name of their equation."""
    found: collections.Counter[Any] = collections.Counter()
    for number, done in left.done.items():
        equation = equations[number]
        found.update((_line(equation), opcode, size) for opcode, size in done)
        if number in left.there:
            own = [opcode for opcode, size in done if opcode in _opcodes(equation) and size == _size(equation)]
            found[_line(equation), own[0] if own else "", _size(equation)] -= len(own)
    return found


def _opcodes(equation: Equation) -> tuple[str, ...]:
    return _CALLED.get(equation.primitive, (equation.primitive.replace("_", "-"),))


def _line(equation: Equation) -> Any:
    return equation.place and equation.place[:2]


def _size(equation: Equation) -> int:
    return sum(getattr(var.aval, "size", 0) for var in equation.eqn.outvars)


def _why(
    number: int,
    equation: Equation,
    equations: Sequence[Equation],
    was_lowered: bool,
    there: frozenset[int],
    alike: Sequence[str],
    is_fed: bool,
) -> dict[str, Any]:
    if not equation.live:
        by_whom = "the compiler left it out" if was_lowered else "left out before the compiler saw it"
        return {"why": f"dead: no result depends on it; {by_whom}", "sure": True}
    outer = equation.parent
    while outer is not None:
        if not equations[outer].live:
            return {"why": "dead: it is part of an operation that no result depends on", "sure": True}
        outer = equations[outer].parent
    if not was_lowered and outer is None and equation.parent is None:
        return {"why": "not written: its result is an operand under another name", "sure": True}
    if not was_lowered:
        return {"why": "not written: dead in there, or an operand under another name", "sure": False}
    survivors = [other for other in equation.same_as if other in there]
    if survivors:
        return {"why": "common: the same is computed by another equation", "sure": False, "like": survivors[0]}
    if alike:
        return {"why": f"renamed: a `{alike[0]}` of the same line and size may be it", "sure": False}
    if equation.constant and not is_fed:
        return {"why": "constant folded: it depends on no argument", "sure": False}
    if equation.primitive in _ARRANGING:
        return {"why": "taken in: it only arranges elements, and what reads it does so", "sure": False}
    return {"why": "gone: simplified or merged into its neighbours; the compiler does not say how", "sure": False}
