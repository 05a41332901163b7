"""equations + optimised HLO -> which results XLA computes, or keeps, in a smaller type than the program asks for

JAX: jax/_src/lax/lax.py:DotAlgorithmPreset
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..targets.hlo import Instruction
from .costs import elements_of
from .equation import Equation
from .hlo import Fused
from .links import OPERANDS

_FLOAT = re.compile(r"\b(?:f|bf)(\d+)")


def rounded(equations: Sequence[Equation], left: Fused) -> dict[str, str]:
    """Return the smaller type in which XLA computes or keeps the result of an equation, by the equation's number."""
    found: dict[str, str] = {}
    for at, instruction in left.links.data.at.items():
        rule = left.links.rules.get(at, "")
        numbers = left.links.own.get(at) or (left.links.exact.get(at, []) if rule.startswith("its value") else [])
        if len(numbers) != 1 or instruction.opcode in OPERANDS:
            continue
        [number] = numbers
        written, kept = _FLOAT.search(equations[number].results), _FLOAT.match(instruction.type)
        if written and kept and int(kept[1]) < int(written[1]) and _is_whole(instruction, equations[number]):
            found[str(number)] = kept[0]
    return found


def _is_whole(instruction: Instruction, equation: Equation) -> bool:
    """Return whether an instruction makes all elements of an equation's result. A product may also make more, as padding."""
    size = elements_of(instruction.type)
    return size == equation.size or (instruction.opcode in ("dot", "convolution") and size > equation.size)
