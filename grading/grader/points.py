"""points in cents: what is shared out adds up, in every format

A lab's points are shared among its exercises, an exercise's among its checks, and what lateness leaves among the checks that passed. Each
time whole cents are given, so that a student who adds up sees one number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def cents(points: float) -> int:
    """Points as whole cents; half a cent is one."""
    return math.floor(100 * points + 0.5)


def split(total: int, weights: Sequence[float]) -> list[int]:
    """Whole parts of a whole number, in proportion to weights, which sum to it. Nothing has a weight: nothing has a part."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    edges = [0]
    so_far = 0.0
    for weight in weights:
        so_far += weight
        edges.append(math.floor(total * so_far / whole + 0.5))
    return [after - before for before, after in itertools.pairwise(edges)]
