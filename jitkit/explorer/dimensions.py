"""product + transposes of its operands or its result -> whether the product has taken a transpose into its dimension
numbers

A product names the axes over which it sums. So XLA needs no transpose in front of it: `a @ b.T` is a product that sums
over axis 1 of both. If the axes in the optimised program are those of the untransposed operand, and cannot be those of
the program as written, the transpose is in them. This holds for an operand from an argument, a loop or a branch.

JAX: jax/_src/lax/lax.py:dot_general_p
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..targets.hlo import Instruction
from .equation import Equation
from .flow import Data, Key

_AXES = re.compile(r'"?([lr])hs_contracting_dim(?:s|ensions)"?[=:][{\[]([\d,"]*)[}\]]')
_LABELS = re.compile(r"dim_labels=(\w+)_(\w+)->")

Axes = tuple[tuple[int, ...], tuple[int, ...]]


def merged_into(
    number: int, equations: Sequence[Equation], readers: Sequence[int], named: Mapping[int, Sequence[Key]], data: Data
) -> Iterator[Key]:
    """Yield the products into whose dimension numbers XLA merged the equation `number`, if that is a transpose."""
    for reader in readers:
        for at in named.get(reader, ()):
            if has_taken(at, number, equations, [reader], data):
                yield at


def has_taken(at: Key, number: int, equations: Sequence[Equation], readers: Sequence[int], data: Data) -> bool | None:
    """Return whether XLA merged the transpose `number` into the dimension numbers of a product. The product is the
    instruction `at`, which belongs to one of `readers`.

    Return False if the product has the dimension numbers that were written, and None if they cannot tell, or if the
    equation `number` is not a transpose.
    """
    this = equations[number]
    for reader in readers if this.primitive == "transpose" else ():
        places = [place for place, made in enumerate(equations[reader].operands) if number in made]
        if equations[reader].primitive != "dot_general" or len(places) != 1:
            continue
        order = this.eqn.params["permutation"]
        left, right = equations[reader].eqn.params["dimension_numbers"][0]
        written: Axes = tuple(map(int, left)), tuple(map(int, right))
        moved = tuple(int(order[axis]) for axis in written[places[0]])
        merged: Axes = (moved, written[1]) if places[0] == 0 else (written[0], moved)
        found = axes(data.at[at])
        if found and merged not in (written, written[::-1]):  # XLA may change the order of the operands
            return {merged: True, merged[::-1]: True, written: False, written[::-1]: False}.get(found)
    return None


def made_at_once(
    number: int,
    equations: Sequence[Equation],
    named: Mapping[int, Sequence[Key]],
    data: Data,
    has: Callable[[Sequence[Key], frozenset[int]], bool],
) -> Iterator[Key]:
    """Yield each product that makes a transposed result at once, because XLA has exchanged its operands. The equation
    `number` is the transpose of this product, a matrix, and is gone.
    """
    this = equations[number]
    if this.primitive != "transpose" or tuple(this.eqn.params["permutation"]) != (1, 0) or len(this.operands[0]) != 1:
        return
    [product] = this.operands[0]
    if product < 0 or equations[product].primitive != "dot_general":
        return
    first, second = equations[product].operands
    for at in named.get(product, ()):
        reads = data.operands[at]
        is_told = axes(data.at[at]) and len(reads) == 2 and first and second
        if is_told and has(reads[:1], second) and has(reads[1:], first) and not has(reads[:1], first):
            yield at


def axes(product: Instruction) -> Axes | None:
    """Return the axes of both operands over which a product sums; None if its text does not say it."""
    found = {
        side: tuple(map(int, filter(None, each.replace('"', "").split(","))))
        for side, each in _AXES.findall(product.rest)
    }
    if {*found} == {"l", "r"}:
        return found["l"], found["r"]
    labels = _LABELS.search(product.rest)
    if labels is None or "f" not in labels[1] or "i" not in labels[2]:
        return None
    return (labels[1].index("f"),), (labels[2].index("i"),)
