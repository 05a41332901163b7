"""product + transposes of its operands -> whether the product has taken a transpose into its dimension numbers

A product names the axes over which it sums. So XLA needs no transpose in front of it: `a @ b.T` is a product that sums over axis 1 of both.
If the axes in the optimised program are those of the untransposed operand, and cannot be those of the program as written, the transpose
is in them. This holds wherever the operand comes from: an argument, a loop or a branch.

JAX: jax/_src/lax/lax.py:dot_general_p
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

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
    this = equations[number]
    if this.primitive != "transpose":
        return
    order = this.eqn.params["permutation"]
    for reader in readers:
        places = [place for place, made in enumerate(equations[reader].operands) if number in made]
        if equations[reader].primitive != "dot_general" or len(places) != 1:
            continue
        left, right = equations[reader].eqn.params["dimension_numbers"][0]
        written: Axes = tuple(map(int, left)), tuple(map(int, right))
        moved = tuple(int(order[axis]) for axis in written[places[0]])
        merged: Axes = (moved, written[1]) if places[0] == 0 else (written[0], moved)
        if merged in (written, written[::-1]):  # the transpose does not change the axes, so they cannot tell
            continue
        for at in named.get(reader, ()):
            if axes(data.at[at]) in (merged, merged[::-1]):  # XLA may change the order of the operands
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
