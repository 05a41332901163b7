"""broadcasts that XLA has moved behind other operations -> the equations that wrote them, and those of these operations

XLA computes with few elements as long as it can: of `sin(broadcast(x))` it makes `broadcast(sin(x))`, and several
broadcasts behind one another become one. The broadcast that is left has the name of one equation only, which may not
have written a broadcast at all.

JAX: jax/_src/lax/lax.py:broadcast_in_dim_p
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .costs import elements_of
from .equation import Equation, all_behind
from .flow import Key
from .links import Links


def spread_behind(
    equations: Sequence[Equation], wrote: Mapping[int, Collection[str]], gone: Collection[int], links: Links
) -> dict[Key, list[int]]:
    """Return, for each broadcast that XLA has moved behind other operations, the equations that it belongs to: the one that it is named
    after, those that it was moved behind, and those that wrote broadcasts which are now this one.
    """
    found: dict[Key, list[int]] = {}
    small = {
        n
        for at, numbers in links.own.items()
        for n in numbers
        if elements_of(links.data.at[at].type) < equations[n].size
    }
    for at, instruction in links.data.at.items():
        if instruction.opcode != "broadcast" or len(links.called[at]) != 1:
            continue
        [number], [operand] = links.called[at], links.data.operands[at]
        if "broadcast" not in wrote.get(number, ()) and links.data.at[operand].opcode != "constant":
            passed = _passed(number, equations, {*gone, *small})
            if any(n in gone and "broadcast" in wrote.get(n, ()) for n in passed):
                found[at] = [number, *sorted(passed)]
                continue
        size = elements_of(instruction.type)
        source = [n for each in links.data.above(operand) for n in links.called[each]][:1]
        before = {*source, *all_behind(equations, source[0])} if source else set()
        behind = [n for n in sorted(before) if number in all_behind(equations, n)]
        readers = [n for n in behind if any(number in made for made in equations[n].operands)]
        is_behind_all = bool(source) and source[0] in small and equations[source[0]].size == size
        passed = {
            each for n in (behind if is_behind_all else readers) for each in _passed(n, equations, {*gone, *small})
        }
        others = [n for n in sorted(passed) if n in gone and equations[n].size == size]
        others = [n for n in others if "broadcast" in wrote.get(n, ())]
        if others or any("broadcast" in wrote.get(each, ()) for each in readers):
            behind = [n for n in behind if n in readers or equations[n].size == size]
            found[at] = list(dict.fromkeys([number, *behind, *others]))
            continue
        # a later operation broadcasts another operand: a number, say, with which it compares this value
        behind = [n for n in behind if "broadcast" in wrote.get(n, ())]
        if behind:
            found[at] = [number, *behind]
    return found


def _passed(number: int, equations: Sequence[Equation], these: Collection[int]) -> set[int]:
    """Return the equations before `number` that can be reached through `these` only: they are gone, or computed with fewer elements than
    their results have.
    """
    found: set[int] = set()
    waiting = [number]
    while waiting:
        made = {each for origins in equations[waiting.pop()].operands for each in origins}
        more = {n for n in made - found if n in these}
        found |= more
        waiting += more
    return found
