"""links -> the equations that are computed in several kernels

XLA computes an operation anew in each fusion that reads it, if that is cheaper than to write the result to memory and
read it back. Then each of these fusions contains an instruction of the same name, operation and type. (The same holds
if the program itself contains the operation several times, as after the unrolling of a loop.) If a function is called
several times, each call is counted by itself. Operations that only arrange elements cost next to nothing, and are left
out.

JAX: jax/_src/ad_checkpoint.py:checkpoint
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..targets.hlo import Instruction
from .equations import paths_in
from .flow import OP_NAME
from .links import OPERANDS, PLUMBING, Links

_ARRANGES = frozenset({"copy", "transpose", "reshape", "slice", "reverse", "concatenate", "pad", "convert"})

_NOT_COMPUTED = OPERANDS | _ARRANGES | PLUMBING


def computed_again(
    links: Links, wrote: Mapping[int, Collection[str]], inside: Mapping[int, Collection[int]]
) -> dict[str, int]:
    """Return the number of kernels that compute an equation, for each equation that several compute, by its number.

    Only equations that wrote one operation into StableHLO count (`wrote` has the operations). Others, such as random
    bits, wrote many, and different kernels may compute one each. Equations that contain others (`inside`) are left out.
    """
    places: dict[tuple[Any, ...], set[str]] = {}
    opcodes: dict[int, set[str]] = {}  # equation -> the operations that compute it now: a product, say, for a division
    for at, numbers in links.own.items():
        opcode = links.data.at[at].opcode
        for number in numbers if opcode not in _NOT_COMPUTED else ():
            opcodes.setdefault(number, set()).add(opcode)
    for at, numbers in links.own.items():
        instruction = links.data.at[at]
        if len(numbers) != 1 or numbers[0] in inside:
            continue
        asked, done = {*wrote.get(numbers[0], ())} - _NOT_COMPUTED, opcodes.get(numbers[0], set())
        if len(asked) == 1 and instruction.opcode in asked | (done if len(done) == 1 else set()):
            key = numbers[0], instruction.opcode, instruction.type, _calls(instruction)
            places.setdefault(key, set()).add(at[0])
    found: dict[str, int] = {}
    for (number, *_), computations in places.items():
        if len(computations) > 1:
            found[str(number)] = max(found.get(str(number), 0), len(computations))
    return found


def _calls(instruction: Instruction) -> tuple[tuple[int, ...], ...]:
    """Return the paths of equations in an instruction's name, the outermost equation first. They tell apart two calls
    of one function, which are two computations.
    """
    name = OP_NAME.search(instruction.rest)
    return tuple(map(tuple, paths_in(name[1]))) if name else ()
