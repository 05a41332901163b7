"""equation + instruction -> whether the numbers that they read agree, and the parts of an operand that was split

An operand of an equation is known by the equations that made it. That is not enough if the operand is a number in the program
(`x * 2.0` and `x * 0.5`), or one of several results of one equation (`a, b = jnp.split(x, 2)`). The text of the program may show that
such an operand differs, so that an instruction does not do the equation's work.

JAX: jax/_src/lax/slicing.py:slice_p
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .equation import Equation
from .flow import Data, Key

_NUMBER = re.compile(r"\s*([^{}()\s]+)\)")
_RANGE = re.compile(r"\[(\d+):(\d+)")
_WORDS = {"true": 1.0, "false": 0.0}
_CLOSE = 1e-2  # relative: constants may be rounded to bfloat16


def agrees(equation: Equation, at: Key, equations: Sequence[Equation], data: Data) -> bool:
    """Return whether nothing that an instruction reads contradicts an equation's operands: neither a number nor a part
    of a split array.
    """
    return _numbers_agree(equation, at, data) and _parts_agree(equation, at, equations, data)


def _numbers_agree(equation: Equation, at: Key, data: Data) -> bool:
    """Return whether an instruction may read each number that the equation reads."""
    numbers = [_as_float(atom.val) for atom in equation.eqn.invars if hasattr(atom, "val")]
    asked = [each for each in numbers if each is not None]
    if not asked or len(equation.eqn.invars) != len(data.operands[at]) or len(asked) == len(equation.eqn.invars):
        return True
    found = [_constant(each, data) for each in data.operands[at]]
    return all(any(_may_be(one, each) for one in found) for each in asked)


def _may_be(found: float | str, number: float) -> bool:
    if isinstance(found, str):
        return found == "unknown"
    return math.isclose(found, number, rel_tol=_CLOSE) or found == number or (math.isnan(found) and math.isnan(number))


def _constant(at: Key, data: Data) -> float | str:
    """Return the number that a value is; "unknown" if it may be one; "computed" if it is another equation's value or an argument."""
    source = data.source(at)
    if source is None:
        return "unknown"
    instruction = data.at[source]
    if instruction.opcode == "constant":
        return _parsed(instruction.rest)
    comes_in = instruction.opcode in ("parameter", "get-tuple-element") and data.argument(source) is None
    return "unknown" if comes_in else "computed"


def _parsed(rest: str) -> float | str:
    found = _NUMBER.match(rest)
    if not found:
        return "unknown"
    try:
        return _WORDS[found[1]] if found[1] in _WORDS else float(found[1])
    except ValueError:
        return "unknown"


def _as_float(value: Any) -> float | None:
    if getattr(getattr(value, "dtype", None), "kind", "") == "c":
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _parts_agree(equation: Equation, at: Key, equations: Sequence[Equation], data: Data) -> bool:
    """Return whether no slice shows that an instruction reads other parts of a split array than the equation."""
    for atom, made in zip(equation.eqn.invars, equation.operands, strict=False):
        for number in made:
            maker = equations[number].eqn if number >= 0 else None
            if maker is None or equations[number].primitive != "split":
                continue
            place = next((i for i, var in enumerate(maker.outvars) if var is atom), None)
            if place is None:
                continue
            axis, sizes = maker.params["axis"], [int(size) for size in maker.params["sizes"]]
            part = sum(sizes[:place]), sum(sizes[: place + 1])
            size = maker.outvars[place].aval.size
            seen = [range_ for each in data.operands[at] for range_ in _ranges(each, axis, size, data)]
            if seen and part not in seen:
                return False
    return True


def _ranges(at: Key, axis: int, size: int, data: Data) -> list[tuple[int, int]]:
    """Return `[(start, end)]` of a slice along an axis, if a value comes from a slice; else []."""
    source = data.source(at)
    if source is None or data.at[source].opcode != "slice":
        return []
    ranges = _RANGE.findall(data.at[source].rest.partition("slice={")[2].partition("}")[0])
    return [(int(ranges[axis][0]), int(ranges[axis][1]))] if axis < len(ranges) else []
